// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of probes: arguments that a tracer gets, records, and evaluation of arguments
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/rseq.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asynctrace/operation.h>
#include <asynctrace/probe.h>

#include "kept.h"
#include "usdt.h"

TRACE_PROBE_DEFINE(my_prov, event__start);
TRACE_PROBE_DEFINE(my_prov, event__done);
TRACE_PROBE_DEFINE(my_prov, alone);
TRACE_PROBE_DEFINE(my_prov, waypoint);
TRACE_PROBE_DEFINE(my_prov, widths);
TRACE_PROBE_DEFINE(my_prov, twelve);
TRACE_PROBE_DEFINE(my_prov, many);
TRACE_PROBE_DEFINE(names, plain);
TRACE_PROBE_DEFINE(names, a_b);
TRACE_PROBE_DEFINE(names, a__b__c);
TRACE_PROBE_DEFINE(names, a___b);
TRACE_PROBE_DEFINE(names, _a_);
TRACE_PROBE_DEFINE(names, end__);
TRACE_PROBE_DEFINE(names, a____b);

#define NONE	0xabcdefULL	/* value for a missing argument */
#define NUMBER	((1ULL << 42) - 1)	/* mask of the bits of an id that are not the salt */

/* Hits of probes, in the order in which the tracer got them */
static struct usdt_hit hits[4096];
static unsigned int nr_hits;

static void note_hit(const struct usdt_hit *hit)
{
	const unsigned int i = __atomic_fetch_add(&nr_hits, 1, __ATOMIC_RELAXED);

	if (i < sizeof(hits) / sizeof(*hits))
		hits[i] = *hit;
}

static void attach(const char *provider, const char *name)
{
	nr_hits = 0;
	check(usdt_attach(provider, name, note_hit) > 0, "no probe %s:%s", provider, name ?: "*");
}

static bool hit_is(unsigned int i, const char *name, unsigned int nargs)
{
	return i < nr_hits && !strcmp(hits[i].site->name, name) && hits[i].nargs == nargs;
}

/* --- unique ids -------------------------------------------------------------------------- */

static int evaluated;

static int count(int value)
{
	evaluated++;
	return value;
}

/* Must be the first test, because no id may have been made before. */
static void number_is_made_late(void)
{
	struct at_uid uid = ASYNCTRACE_UID_INIT, zeros;
	uint64_t number;

	memset(&zeros, 0, sizeof(zeros));
	check(!memcmp(&uid, &zeros, sizeof(uid)));
	kept_begin("another");
	TRACE_PROBE(my_prov, alone, at_uid_get(&uid));
	kept_end();
	check(!uid.number_ && !nr_kept);
	attach("my_prov", "alone");
	TRACE_PROBE(my_prov, alone, at_uid_get(&uid));
	usdt_detach("my_prov", "alone");
	number = uid.number_;
	check((number & NUMBER) == TRACE_IDS_, "the first number is %#llx",
	      (unsigned long long)number);
	kept_begin("my_prov");
	TRACE_PROBE(my_prov, alone, at_uid_get(&uid));
	kept_end();
	check(uid.number_ == number && at_uid_get(&uid) == number);
	check(hit_is(0, "alone", 1) && (uint64_t)hits[0].arg[0] == number);
	check(nr_kept == 1 && kept_number(&kept[0], "arg0", NONE) == number);
	done("U6_U7_number_is_made_by_an_enabled_probe");
}

static void *ten_waypoints(void *arg)
{
	for (int i = 0; i < 10; i++)
		TRACE_PROBE(my_prov, waypoint, at_uid_get(arg), i);
	return NULL;
}

/* A copy of the id is used in another thread. Tracer and trace must see the same id in both. */
static void waypoints(void)
{
	struct at_uid uid = ASYNCTRACE_UID_INIT, copy;
	unsigned int wrong = 0;
	pthread_t th;

	attach("my_prov", "waypoint");
	kept_begin(NULL);
	copy = at_uid_share(&uid);
	pthread_create(&th, NULL, ten_waypoints, &copy);
	ten_waypoints(&uid);
	pthread_join(th, NULL);
	kept_end();
	usdt_detach("my_prov", "waypoint");
	check(nr_hits == 20 && nr_kept == 20);
	for (unsigned int i = 0; i < 20 && i < nr_kept; i++)
		wrong += (uint64_t)hits[i].arg[0] != uid.number_ ||
			 kept_number(&kept[i], "arg0", NONE) != uid.number_;
	check(!wrong && copy.number_ == uid.number_, "%u other ids", wrong);
	done("U4_U8_twenty_waypoints_have_one_id");
}

/* --- arguments --------------------------------------------------------------------------- */

static void evaluated_only_if_enabled(void)
{
	evaluated = 0;
	TRACE_PROBE(my_prov, alone, count(1), count(2));
	check(!TRACE_PROBE_ENABLED(my_prov, alone));
	kept_begin("another");
	TRACE_PROBE(my_prov, alone, count(1), count(2));
	check(!TRACE_PROBE_ENABLED(my_prov, alone));
	kept_end();
	check(!evaluated && !nr_kept, "%d values", evaluated);

	attach("my_prov", "alone");
	check(TRACE_PROBE_ENABLED(my_prov, alone) && !TRACE_PROBE_ENABLED(my_prov, many));
	TRACE_PROBE(my_prov, alone, count(1), count(2));
	check(evaluated == 2 && hit_is(0, "alone", 2) && nr_hits == 1);
	kept_begin("another");
	TRACE_PROBE(my_prov, alone, count(1), count(2));
	kept_end();
	check(evaluated == 4 && nr_hits == 2 && !nr_kept);
	kept_begin("my_prov");
	TRACE_PROBE(my_prov, alone, count(1), count(2));
	kept_end();
	check(evaluated == 6 && nr_hits == 3 && nr_kept == 1);
	usdt_detach("my_prov", "alone");
	kept_begin(NULL);
	check(TRACE_PROBE_ENABLED(my_prov, alone));
	TRACE_PROBE(my_prov, alone, count(1), count(2));
	kept_end();
	check(evaluated == 8 && nr_hits == 3 && nr_kept == 1);
	check(kept_number(&kept[0], "arg0", NONE) == 1 && kept_number(&kept[0], "arg1", NONE) == 2);
	TRACE_PROBE(my_prov, alone, count(1), count(2));
	check(evaluated == 8 && nr_hits == 3);
	done("U11_values_are_evaluated_once_if_enabled");
}

enum color { RED = 3 };

/* The tracer must get the smallest and the largest value of each type, with its sign. */
static void widths(void)
{
	static const int64_t want[] = {
		true, -128, 255, -32768, 65535, INT32_MIN, UINT32_MAX, INT64_MIN, -1, INT64_MAX,
		RED,
	};
	const uint64_t largest = UINT64_MAX;
	const signed char sc = -128;
	const unsigned char uc = 255;
	const short s = INT16_MIN;
	const unsigned short us = UINT16_MAX;
	const enum color color = RED;
	const long long ll = INT64_MAX;

	attach("my_prov", "widths");
	kept_begin(NULL);
	TRACE_PROBE(my_prov, widths, 1, (bool)4, sc, uc, s, us, INT32_MIN, UINT32_MAX, INT64_MIN,
		    largest, ll, color);
	kept_end();
	usdt_detach("my_prov", "widths");
	check(nr_hits == 1 && hit_is(0, "widths", 12));
	for (int i = 0; i < 11; i++) {
		char key[8];

		snprintf(key, sizeof(key), "arg%d", i + 1);
		check(hits[0].arg[i + 1] == want[i], "%s is %lld for the tracer", key,
		      (long long)hits[0].arg[i + 1]);
		check(nr_kept == 1 && (int64_t)kept_number(&kept[0], key, NONE) ==
		      (i == 1 || i == 3 || i == 5 ? (int64_t)(uint32_t)want[i] : want[i]),
		      "%s is recorded as %#llx", key,
		      (unsigned long long)kept_number(&kept[0], key, NONE));
	}
	check(nr_kept == 1 && kept[0].ev.args[2].type == ASYNCTRACE_FXT_ARG_INT32 &&
	      kept[0].ev.args[1].type == ASYNCTRACE_FXT_ARG_BOOL);
	done("U12_widths_and_signs_reach_the_tracer");
}

static void texts(void)
{
	static const char text[] = "some text";
	char array[8] = "array";
	int n = 5, *p = &n;

	attach("my_prov", "twelve");
	kept_begin(NULL);
	TRACE_PROBE(my_prov, twelve, 0, text, array, "literal", p, (void *)p, 5, 6, 7, 8, 9, 10);
	kept_end();
	usdt_detach("my_prov", "twelve");
	check(nr_hits == 1 && hit_is(0, "twelve", 12));
	check(hits[0].arg[1] == (intptr_t)text && hits[0].arg[2] == (intptr_t)array &&
	      !strcmp((const char *)hits[0].arg[3], "literal"));
	check(hits[0].arg[4] == (intptr_t)p && hits[0].arg[5] == (intptr_t)p);
	check(nr_kept == 1 && !strcmp(kept_text(&kept[0], "arg1"), text) &&
	      !strcmp(kept_text(&kept[0], "arg2"), "array") &&
	      !strcmp(kept_text(&kept[0], "arg3"), "literal"));
	for (int i = 6; i < 12; i++)
		check(hits[0].arg[i] == i - 1);
	check(kept[0].ev.nargs == 12 && kept_number(&kept[0], "arg11", NONE) == 10);
	done("U12_strings_pointers_and_12_arguments");
}

/* A program passes JSON, or after a failure an empty text, NULL, or a text that is too long. */
static void json(void)
{
	static char much[1 << 17];
	const char *const documents[] = { "{\"ok\":{\"a\":[1,null]}}", "{\"err\":\"why\"}", "", NULL,
					  much };

	memset(much, '{', sizeof(much) - 1);
	attach("my_prov", "alone");
	kept_begin(NULL);
	for (int i = 0; i < 5; i++)
		TRACE_PROBE(my_prov, alone, i + 1, documents[i]);
	kept_end();
	usdt_detach("my_prov", "alone");
	check(nr_hits == 5 && nr_kept == 5);
	for (int i = 0; i < 5; i++) {
		const char *text = kept_text(&kept[i], "arg1");

		check(hit_is(i, "alone", 2) && hits[i].arg[1] == (intptr_t)documents[i]);
		if (i < 4)
			check(!strcmp(text, documents[i] ?: ""), "%d: %.20s", i, text);
		else
			check(strlen(text) == ASYNCTRACE_FXT_STRING_MAX, "%zu", strlen(text));
	}
	done("U12_documents_and_failed_documents_are_texts");
}

/* --- names and sites ----------------------------------------------------------------------- */

static void probe_all_names(void)
{
	TRACE_PROBE(names, plain, 1);
	TRACE_PROBE(names, a_b, 1);
	TRACE_PROBE(names, a__b__c, 1);
	TRACE_PROBE(names, a___b, 1);
	TRACE_PROBE(names, _a_, 1);
	TRACE_PROBE(names, end__, 1);
	TRACE_PROBE(names, a____b, 1);
}

static void names(void)
{
	static const char *const want[] = {
		"plain", "a_b", "a-b-c", "a-_b", "_a_", "end-", "a--b",
	};

	kept_begin(NULL);
	attach("names", NULL);
	probe_all_names();
	usdt_detach("names", NULL);
	kept_end();
	check(nr_hits == 7 && nr_kept == 7);
	for (int i = 0; i < 7; i++) {
		check(hit_is(i, want[i], 1), "the note of %s", want[i]);
		check(kept_is(&kept[i], ASYNCTRACE_FXT_INSTANT, want[i]) &&
		      !strcmp(kept[i].category, "names"), "the record of %s", want[i]);
	}
	done("U13_two_underscores_become_a_dash");
}

/*
 * libbpf limits the number of different lists of arguments to 256, but not the number of sites. A
 * function has only ten sites, and no sanitizer checks it. Otherwise the compiler takes a minute.
 */
#define ONE	TRACE_PROBE(my_prov, many, evaluated++)
#define TEN(n) \
	__attribute__((noinline, no_sanitize("address", "undefined"))) \
	static void ten_##n(void) \
	{ \
		ONE; ONE; ONE; ONE; ONE; ONE; ONE; ONE; ONE; ONE; \
	}
#define EACH_TEN(m) \
	m(0) m(1) m(2) m(3) m(4) m(5) m(6) m(7) m(8) m(9) m(10) m(11) m(12) m(13) m(14) m(15) \
	m(16) m(17) m(18) m(19) m(20) m(21) m(22) m(23) m(24) m(25) m(26) m(27) m(28) m(29) \
	m(30) m(31) m(32) m(33) m(34) m(35) m(36) m(37) m(38) m(39)
#define NAME_TEN(n) ten_##n,

EACH_TEN(TEN)

static void (*const tens[])(void) = { EACH_TEN(NAME_TEN) };

/* Runs the first @n sites. */
static void pass_sites(unsigned int n)
{
	for (unsigned int i = 0; i < n / 10; i++)
		tens[i]();
}

static void many_sites(void)
{
	unsigned int sites = 0;
	unsigned short *one = NULL;

	for (unsigned int i = 0; i < usdt_nr_sites; i++) {
		if (strcmp(usdt_sites[i].name, "many"))
			continue;
		check(!one || one == usdt_sites[i].semaphore, "two counters for one probe");
		one = usdt_sites[i].semaphore;
		sites++;
	}
	check(sites >= 400 && one, "%u sites", sites);
	for (unsigned int n = 100; n <= 400; n += n == 100 ? 200 : 100) {
		attach("my_prov", "many");
		check(one && *one == sites);
		evaluated = 0;
		pass_sites(n);
		usdt_detach("my_prov", "many");
		check(nr_hits == n, "%u hits", nr_hits);
		for (unsigned int i = 0; i < n; i++)
			check(hits[i].arg[0] == (int)i);
		pass_sites(n);
		check(nr_hits == n && evaluated == (int)n && one && *one == 0);
	}
	done("U15_400_sites_share_one_counter");
}

/* --- what consumers do -------------------------------------------------------------------- */

/* Does what userlib/examples/uid/uid.bt does: a start stores the id, and an end looks it up. */
static uint64_t started[64];
static unsigned int nr_started, nr_done;

static void script(const struct usdt_hit *hit)
{
	if (!strcmp(hit->site->name, "event-start")) {
		started[nr_started++] = hit->arg[0];
		return;
	}
	for (unsigned int i = 0; i < nr_started; i++) {
		if (started[i] != (uint64_t)hit->arg[0])
			continue;
		started[i] = 0;
		nr_done++;
	}
}

static struct at_uid early = ASYNCTRACE_UID_INIT, a = ASYNCTRACE_UID_INIT, b = ASYNCTRACE_UID_INIT;

static void start(struct at_uid *uid)
{
	TRACE_PROBE(my_prov, event__start, at_uid_get(uid));
}

static void *finish_it(void *uid)
{
	TRACE_PROBE(my_prov, event__done, at_uid_get(uid), 0);
	return NULL;
}

static void interleaved(void)
{
	pthread_t th;

	start(&early);
	usdt_attach("my_prov", "event-start", script);
	usdt_attach("my_prov", "event-done", script);
	start(&a);
	start(&b);
	pthread_create(&th, NULL, finish_it, &a);
	pthread_join(th, NULL);
	finish_it(&early);
	finish_it(&a);
	usdt_detach("my_prov", "event-start");
	usdt_detach("my_prov", "event-done");
	check(nr_started == 2 && nr_done == 1, "%u started, %u done", nr_started, nr_done);
	check(started[1] == at_uid_get(&b));
	done("U1_U2_U5_a_consumer_keyed_by_id_finds_one_done");
}

/* A task has two children at the same time. Each child has its own id and the same parent. */
static void children(void)
{
	struct at_operation task, child[2];
	struct at_entered e;

	kept_begin(NULL);
	TRACE_OPERATION_BEGIN(&task, "op", "task");
	TRACE_OPERATION_ENTER(&e, task.id, "op", "join");
	for (int i = 0; i < 2; i++) {
		TRACE_OPERATION_BEGIN(&child[i], "op", "child");
		TRACE_PROBE(my_prov, event__start, child[i].id, child[i].parent);
	}
	for (int i = 0; i < 2; i++)
		TRACE_PROBE(my_prov, event__done, child[i].id, 0);
	at_operation_leave(&e);
	kept_end();
	check(child[0].id != child[1].id && child[0].parent == task.id);
	for (unsigned int i = 0, n = 0; i < nr_kept; i++) {
		if (!kept_is(&kept[i], ASYNCTRACE_FXT_INSTANT, "event-start"))
			continue;
		check(n < 2 && kept_number(&kept[i], "arg0", NONE) == child[n].id &&
		      kept_number(&kept[i], "arg1", NONE) == task.id);
		n++;
	}
	check(kept_count(ASYNCTRACE_FXT_INSTANT, "event-start") == 2 &&
	      kept_count(ASYNCTRACE_FXT_INSTANT, "event-done") == 2);
	done("U3_children_at_once_have_ids_and_a_parent");
}

static pthread_barrier_t barrier;

/* Threads reach the same probe for the first time at the same time. */
static void *attach_and_probe(void *unused)
{
	(void)unused;
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 100; i++)
		TRACE_PROBE(my_prov, alone, i);
	return NULL;
}

static void first_use_of_many_threads(void)
{
	pthread_t th[8];
	uint64_t dropped;

	pthread_barrier_init(&barrier, NULL, 8);
	kept_begin(NULL);
	attach("my_prov", "alone");
	for (int i = 0; i < 8; i++)
		pthread_create(&th[i], NULL, attach_and_probe, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(th[i], NULL);
	usdt_detach("my_prov", "alone");
	dropped = kept_end();
	check(nr_hits == 800, "%u hits", nr_hits);
	/* Without rseq, a record is dropped and counted if the ring is busy. */
	check(kept_count(ASYNCTRACE_FXT_INSTANT, "alone") + dropped == 800 &&
	      (!dropped || !__rseq_size), "%u and %llu dropped",
	      kept_count(ASYNCTRACE_FXT_INSTANT, "alone"), (unsigned long long)dropped);
	attach("my_prov", "alone");
	TRACE_PROBE(my_prov, alone, 1);
	usdt_detach("my_prov", "alone");
	check(nr_hits == 1);
	pthread_barrier_destroy(&barrier);
	done("U14_first_use_by_8_threads_and_attaching_again");
}

/* --- what a disabled probe costs ------------------------------------------------------------ */

__attribute__((noinline)) static void instant(long n)
{
	TRACE_INSTANT("my_prov", "alone", TRACE_SCOPE_THREAD, "arg0", n);
	__asm__ volatile("" : : "r"(n) : "memory");
}

__attribute__((noinline)) static void with(long n)
{
	TRACE_PROBE(my_prov, alone, n);
	__asm__ volatile("" : : "r"(n) : "memory");
}

/* Counts the instructions of @fn by single steps. */
static long steps_of(void (*fn)(long n))
{
	long steps = 0;
	int status;
	pid_t pid = fork();

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		fn(1);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	while (WIFSTOPPED(status)) {
		steps++;
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL))
			return -1;
		waitpid(pid, &status, 0);
	}
	return steps;
}

static void disabled(void)
{
	long event, probe;

	kept_begin("another");
	kept_end();
	event = steps_of(instant);
	probe = steps_of(with);
	/* An event loads the gate and branches. A probe also loads its counter. */
	check(event > 0 && probe - event <= 5, "%ld instructions more", probe - event);
	done("U15_a_disabled_probe_is_a_load_and_a_branch");
}

int main(void)
{
	usdt_read(NULL);
	number_is_made_late();
	waypoints();
	evaluated_only_if_enabled();
	widths();
	texts();
	json();
	names();
	many_sites();
	interleaved();
	children();
	first_use_of_many_threads();
	/* A sanitizer, or a compiler that does not optimize, adds other instructions. */
#ifdef __OPTIMIZE__
	if (!SANITIZED)
		disabled();
#else
	(void)disabled;
#endif
	check(!usdt_strange, "%u arguments that are not understood", usdt_strange);
	done("U4_notes_describe_all_arguments");
	return finish();
}
