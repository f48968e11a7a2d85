// SPDX-License-Identifier: GPL-2.0
/*
 * In-process traces, tested like Rust's tracing crate and Fuchsia's trace engine.
 * doc/statements.md lists which of their tests each test here corresponds to.
 */
#include <errno.h>
#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <asynctrace/flight.h>
#include <asynctrace/inprocess.h>
#include <asynctrace/operation.h>

#include "kept.h"

#define BEGIN	ASYNCTRACE_FXT_DURATION_BEGIN
#define END	ASYNCTRACE_FXT_DURATION_END
#define THREADS	4
#define u(x)	((unsigned long long)(x))

static struct tape tape;

static void begin(uint32_t mode, uint64_t ring_size, const char *categories)
{
	const struct tape_options o = {
		.mode = mode, .ring_size = ring_size, .categories = categories,
	};

	kept_forget();
	tape_new(&tape, &o, kept_take, NULL);
	tape_attach(&tape);
	tape_gate(&tape, true);
}

static void end(void)
{
	tape_end(&tape, true);
	kept_sort();
	tape_check(&tape);
	tape_free(&tape);
}

static unsigned int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* --- without a subscriber ------------------------------------------------------------------ */

static void no_subscriber(void)
{
	const unsigned int before = descriptors();
	struct at_entered e;
	struct at_operation op;

	TRACE_OPERATION_BEGIN(&op, "none", "operation");
	TRACE_OPERATION_ENTER(&e, op.id, "none", "scope");
	check(at_operation_current() == op.id);
	TRACE_OPERATION_FOLLOWS(op.id, "none", 1);
	TRACE_LOG("none", "text");
	at_operation_leave(&e);
	TRACE_OPERATION_END(&op, "none", "operation");
	check(!at_operation_current());
	check(!TRACE_ENABLED() && !TRACE_CATEGORY_ENABLED("none"));
	check(at_trace_stop(NULL) == -ESRCH && at_flight_write(1, NULL) == -ESRCH);
	check(descriptors() == before);
	done("without_a_recording_everything_is_a_no_op");
}

/* --- spans ---------------------------------------------------------------------------------- */

static pthread_barrier_t inside;

static void *enter_too(void *id)
{
	TRACE_OPERATION_SCOPE(*(uint64_t *)id, "span", "elsewhere");
	check(at_operation_current() == *(uint64_t *)id);
	pthread_barrier_wait(&inside);
	return NULL;
}

/* An operation is entered by two threads at once, twice by one of them, and again later. */
static void entered_many_times(void)
{
	struct at_operation op;
	struct at_entered e, twice;
	pthread_t th;

	begin(ASYNCTRACE_MODE_ONESHOT, 1 << 20, NULL);
	pthread_barrier_init(&inside, NULL, 2);
	TRACE_OPERATION_BEGIN(&op, "span", "span");
	TRACE_OPERATION_ENTER(&e, op.id, "span", "here");
	pthread_create(&th, NULL, enter_too, &op.id);
	TRACE_OPERATION_ENTER(&twice, op.id, "span", "here again");
	pthread_barrier_wait(&inside);
	at_operation_leave(&twice);
	check(at_operation_current() == op.id);
	at_operation_leave(&e);
	check(!at_operation_current());
	pthread_join(th, NULL);
	for (int i = 0; i < 10; i++) {
		TRACE_OPERATION_SCOPE(op.id, "span", "poll");
		check(at_operation_current() == op.id);
	}
	TRACE_OPERATION_END(&op, "span", "span");
	end();
	check(kept_count(BEGIN, "poll") == 10 && kept_count(END, "poll") == 10);
	check(kept_count(BEGIN, "elsewhere") == 1 && kept_count(END, "elsewhere") == 1);
	for (unsigned int i = 0; i < nr_kept; i++) {
		if (kept[i].ev.type == BEGIN)
			check(kept_number(&kept[i], "operation", 0) == op.id);
		if (kept_is(&kept[i], END, "here again"))
			check(kept_number(&kept[i], "resumed", 0) == op.id);
	}
	check(nr_kept == 2 + 2 * 13, "%u", nr_kept);
	done("G27_operation_is_entered_many_times");
}

/* An event that must be in the trace, in this order; @operation: its operation's id; 0: any */
struct wanted {
	uint32_t type;
	const char *name;
	uint64_t operation;
};

static void check_wanted(const struct wanted *want, unsigned int n)
{
	check(nr_kept == n, "%u of %u", nr_kept, n);
	for (unsigned int i = 0; i < nr_kept && i < n; i++) {
		const bool async = kept[i].ev.type == ASYNCTRACE_FXT_ASYNC_BEGIN ||
				   kept[i].ev.type == ASYNCTRACE_FXT_ASYNC_END;
		const uint64_t id = async ? kept[i].ev.id : kept_number(&kept[i], "operation", 0);

		check(kept_is(&kept[i], want[i].type, want[i].name), "%u: %s", i, kept[i].name);
		check(!want[i].operation || id == want[i].operation, "%u: %llx", i, u(id));
	}
}

static void poll_times(struct at_operation *op, int times)
{
	for (int i = 0; i < times; i++) {
		TRACE_OPERATION_SCOPE(op->id, "span", "poll");
	}
}

static void polls(void)
{
	static const int times[] = { 1, 2, 10 };
	struct at_operation op;

	for (int i = 0; i < 3; i++) {
		begin(ASYNCTRACE_MODE_ONESHOT, 1 << 20, NULL);
		TRACE_OPERATION_BEGIN(&op, "span", "task");
		poll_times(&op, times[i]);
		TRACE_OPERATION_END(&op, "span", "task");
		end();
		check(kept_count(BEGIN, "poll") == (unsigned int)times[i] &&
		      kept_count(END, "poll") == (unsigned int)times[i]);
		check(nr_kept == 2u + 2 * times[i]);
	}
	done("G27_task_is_polled_1_2_and_10_times");
}

/* The error is a log within the last poll, before the scope and the operation end. */
static void async_fn(void)
{
	struct at_operation op;

	begin(ASYNCTRACE_MODE_ONESHOT, 1 << 20, NULL);
	TRACE_OPERATION_BEGIN(&op, "span", "async_fn");
	{
		TRACE_OPERATION_SCOPE(op.id, "span", "poll");
		TRACE_LOG("span", "awaiting");
	}
	poll_times(&op, 1);
	{
		TRACE_OPERATION_SCOPE(op.id, "span", "poll");
		TRACE_LOG("error", "out of range");
	}
	TRACE_OPERATION_END(&op, "span", "async_fn");
	end();
	check_wanted((const struct wanted[]) {
		{ ASYNCTRACE_FXT_ASYNC_BEGIN, "async_fn", op.id },
		{ BEGIN, "poll", op.id }, { ASYNCTRACE_FXT_INSTANT, "log", op.id }, { END, "poll", 0 },
		{ BEGIN, "poll", op.id }, { END, "poll", 0 },
		{ BEGIN, "poll", op.id }, { ASYNCTRACE_FXT_INSTANT, "log", op.id }, { END, "poll", 0 },
		{ ASYNCTRACE_FXT_ASYNC_END, "async_fn", op.id },
	}, 10);
	check(!strcmp(kept_text(&kept[2], "message"), "awaiting"));
	check(!strcmp(kept[7].category, "error") &&
	      !strcmp(kept_text(&kept[7], "message"), "out of range"));
	done("operation_is_entered_for_polls_only");
}

static void async_fn_nested(void)
{
	struct at_operation outer, inner;

	begin(ASYNCTRACE_MODE_ONESHOT, 1 << 20, NULL);
	TRACE_OPERATION_BEGIN(&outer, "span", "outer");
	{
		TRACE_OPERATION_SCOPE(outer.id, "span", "poll outer");
		TRACE_OPERATION_BEGIN(&inner, "span", "inner");
		{
			TRACE_OPERATION_SCOPE(inner.id, "span", "poll");
			TRACE_LOG("span", "nested");
		}
		poll_times(&inner, 1);
		TRACE_OPERATION_END(&inner, "span", "inner");
	}
	TRACE_LOG("span", "outside");
	poll_times(&outer, 1);
	TRACE_OPERATION_END(&outer, "span", "outer");
	end();
	check_wanted((const struct wanted[]) {
		{ ASYNCTRACE_FXT_ASYNC_BEGIN, "outer", outer.id }, { BEGIN, "poll outer", outer.id },
		{ ASYNCTRACE_FXT_ASYNC_BEGIN, "inner", inner.id }, { BEGIN, "poll", inner.id },
		{ ASYNCTRACE_FXT_INSTANT, "log", inner.id }, { END, "poll", 0 },
		{ BEGIN, "poll", inner.id }, { END, "poll", 0 },
		{ ASYNCTRACE_FXT_ASYNC_END, "inner", inner.id }, { END, "poll outer", 0 },
		{ ASYNCTRACE_FXT_INSTANT, "log", 0 },
		{ BEGIN, "poll", outer.id }, { END, "poll", 0 },
		{ ASYNCTRACE_FXT_ASYNC_END, "outer", outer.id },
	}, 14);
	check(inner.parent == outer.id && kept_number(&kept[2], "parent", 0) == outer.id);
	check(kept_number(&kept[10], "operation", 1) == 0, "the log outside belongs to none");
	done("operation_is_entered_within_its_parent");
}

/* The work of a child counts for the child: the parent is resumed afterwards. */
static void child_polls(void)
{
	struct at_operation parent, child;

	begin(ASYNCTRACE_MODE_ONESHOT, 1 << 20, NULL);
	TRACE_OPERATION_BEGIN(&parent, "span", "parent");
	{
		TRACE_OPERATION_SCOPE(parent.id, "span", "parent's poll");
		TRACE_OPERATION_BEGIN(&child, "span", "child");
		for (int i = 0; i < 3; i++) {
			TRACE_OPERATION_SCOPE(child.id, "span", "child's poll");
			check(at_operation_current() == child.id);
		}
		check(at_operation_current() == parent.id);
	}
	TRACE_OPERATION_END(&child, "span", "child");
	TRACE_OPERATION_END(&parent, "span", "parent");
	end();
	check(child.parent == parent.id && !parent.parent);
	check(kept_count(BEGIN, "parent's poll") == 1 && kept_count(BEGIN, "child's poll") == 3);
	for (unsigned int i = 0; i < nr_kept; i++)
		if (kept_is(&kept[i], END, "child's poll"))
			check(kept_number(&kept[i], "resumed", 0) == parent.id);
	done("G20_work_of_a_child_is_the_childs");
}

static void follows_from(void)
{
	struct at_operation op, causes[5];
	struct at_entered e;
	unsigned int found = 0, at = 0;

	begin(ASYNCTRACE_MODE_ONESHOT, 1 << 20, NULL);
	for (int i = 0; i < 5; i++)
		TRACE_OPERATION_BEGIN(&causes[i], "span", "cause");
	TRACE_OPERATION_BEGIN(&op, "span", "effect");
	for (int i = 0; i < 5; i++) {
		TRACE_OPERATION_FOLLOWS(op.id, "span", causes[i].id);
		TRACE_OPERATION_END(&causes[i], "span", "cause");
	}
	/* A cause may have ended, and a cause may follow from its effect. */
	TRACE_OPERATION_FOLLOWS(causes[0].id, "span", op.id);
	end();
	for (unsigned int i = 0; i < nr_kept && found < 5; i++)
		if (kept_is(&kept[i], ASYNCTRACE_FXT_INSTANT, "follows from")) {
			check(kept_number(&kept[i], "cause", 0) == causes[found].id &&
			      kept_number(&kept[i], "operation", 0) == op.id, "%u", found);
			found++;
		}
	check(found == 5 && kept_count(ASYNCTRACE_FXT_INSTANT, "follows from") == 6, "%u", found);
	check(!op.parent);

	begin(ASYNCTRACE_MODE_ONESHOT, 1 << 20, NULL);
	TRACE_OPERATION_BEGIN(&causes[0], "span", "cause");
	TRACE_OPERATION_ENTER(&e, causes[0].id, "span", "scope");
	TRACE_OPERATION_BEGIN(&op, "span", "effect");
	TRACE_OPERATION_FOLLOWS(op.id, "span", at_operation_current());
	at_operation_leave(&e);
	end();
	while (at < nr_kept && !kept_is(&kept[at], ASYNCTRACE_FXT_INSTANT, "follows from"))
		at++;
	check(at == 3 && kept_number(&kept[at], "cause", 0) == causes[0].id &&
	      kept_number(&kept[at], "operation", 0) == op.id && op.parent == causes[0].id);
	done("operation_follows_from_many_others");
}

/* --- what sites know of their categories ------------------------------------------------------ */

static bool go_on;

static void write_each(uint64_t n)
{
	TRACE_INSTANT("level.a", "a", TRACE_SCOPE_THREAD, "n", TA_UINT64(n));
	TRACE_INSTANT("level.b", "b", TRACE_SCOPE_THREAD, "n", TA_UINT64(n));
}

static void *write_on(void *arg)
{
	while (__atomic_load_n(&go_on, __ATOMIC_RELAXED))
		write_each(0);
	return arg;
}

/* Fails if an event is not named @wanted, or if not exactly 10 have a number from @first on. */
static void check_level(const char *wanted, uint64_t first)
{
	unsigned int mine = 0, wrong = 0;

	for (unsigned int i = 0; i < nr_kept; i++) {
		wrong += strcmp(kept[i].name, wanted) != 0;
		mine += kept_number(&kept[i], "n", 0) >= first;
	}
	check(!wrong, "%u of another category", wrong);
	check(mine == 10 && !tape.result.dropped, "%u of 10 events", mine);
}

static void levels_change(void)
{
	const long rounds = scale("SESSIONS", 100);
	pthread_t th[THREADS];
	uint64_t n = 1;

	go_on = true;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&th[i], NULL, write_on, NULL);
	for (long r = 0; r < rounds; r++) {
		begin(ASYNCTRACE_MODE_CIRCULAR, 64 << 10, r % 2 ? "level.a" : "level.b,-level.a");
		for (int i = 0; i < 3; i++)
			write_each(n++);
		end();
		for (unsigned int i = 0; i < nr_kept; i++)
			if (strcmp(kept[i].name, r % 2 ? "a" : "b"))
				check(false, "round %ld: an event of %s", r, kept[i].name);
	}
	__atomic_store_n(&go_on, false, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++)
		pthread_join(th[i], NULL);
	for (long r = 0; r < rounds; r++) {
		const uint64_t first = n;

		begin(ASYNCTRACE_MODE_ONESHOT, 64 << 10, r % 2 ? "level.a" : "level.b,-level.a");
		for (int i = 0; i < 10; i++)
			write_each(n++);
		end();
		check_level(r % 2 ? "a" : "b", first);
	}
	done("P33_sites_follow_changes_of_categories: %ld", rounds);
}

#define SITES	256

static struct at_site_ sites[SITES];
static uint64_t site_refs[SITES][1];
static uint32_t reached;

static void visit(unsigned int i)
{
	static const struct at_arg_ none[1];
	const uint32_t gate = at_gate_load_();
	uint64_t found;

	if (!gate)
		return;
	found = at_site_test_(&sites[i], gate);
	if (found >> 32)
		at_event_(&sites[i], site_refs[i], found, ASYNCTRACE_FXT_INSTANT, 0, none, 0);
}

/* Reaches each site for the first time while main() changes what is recorded. */
static void *visit_all(void *arg)
{
	for (unsigned int i = 0; i < SITES; i++) {
		visit(i);
		__atomic_store_n(&reached, i + 1, __ATOMIC_RELEASE);
	}
	return arg;
}

static void new_sites(void)
{
	static const char *const keys[] = { "" };

	for (int i = 0; i < SITES; i++) {
		site_refs[i][0] = 0;
		sites[i] = (struct at_site_){
			.refs = site_refs[i], .keys = keys, .category = "new", .name = "site",
		};
	}
}

/* A site that was first reached while its category was off must not stay off. */
static void missed_sites(void)
{
	const long rounds = scale("SESSIONS", 100);
	pthread_t th;

	for (long r = 0; r < rounds; r++) {
		new_sites();
		reached = 0;
		begin(ASYNCTRACE_MODE_ONESHOT, 64 << 10, "old");
		pthread_create(&th, NULL, visit_all, NULL);
		while (__atomic_load_n(&reached, __ATOMIC_ACQUIRE) < (uint32_t)(r * 7 % SITES))
			;
		end();
		check(!nr_kept, "%u events of another category", nr_kept);
		begin(ASYNCTRACE_MODE_ONESHOT, 64 << 10, "new");
		pthread_join(th, NULL);
		for (unsigned int i = 0; i < SITES; i++)
			visit(i);
		end();
		check(nr_kept >= SITES && nr_kept <= 2 * SITES, "%u of %u sites", nr_kept, SITES);
	}
	done("P33_site_reached_while_off_is_not_missed: %ld", rounds);
}

/* Returns the site's state under the current gate: known, or learnt if *@learnt becomes true. */
static uint64_t look(struct at_site_ *site, bool *learnt)
{
	const uint32_t gate = at_gate_load_();

	*learnt = !at_site_known_(site, gate);
	return at_site_test_(site, gate) >> 32;
}

/*
 * A site learns once whether its category is recorded. A second site learns by itself, although it
 * has the same texts. A start makes each learn anew, and without a gate no site is looked at.
 */
static void sites_learn_once(void)
{
	struct at_site_ *const on = &sites[0], *const again = &sites[1], *const off = &sites[2];
	bool learnt;

	new_sites();
	off->category = "other";
	for (int run = 0; run < 2; run++) {
		check(!at_gate_load_());
		begin(ASYNCTRACE_MODE_ONESHOT, 64 << 10, "new");
		check(look(on, &learnt) == TRACE_SITE_ON_ && learnt);
		check(look(off, &learnt) == TRACE_SITE_OFF_ && learnt);
		for (int i = 0; i < 3; i++) {
			check(look(on, &learnt) == TRACE_SITE_ON_ && !learnt);
			check(look(off, &learnt) == TRACE_SITE_OFF_ && !learnt);
		}
		check(look(again, &learnt) == TRACE_SITE_ON_ && learnt);
		check(look(again, &learnt) == TRACE_SITE_ON_ && !learnt);
		end();
	}
	done("P33_each_site_learns_its_category_once");
}

/* --- Fuchsia's engine ------------------------------------------------------------------------ */

static void in_file(uint64_t n, const char *text)
{
	TRACE_ASYNC_INSTANT("engine", "numbered", n, "text", TA_STRING(text));
}

/* The oldest events are overwritten. The others still have their names and texts. */
static void circular_mode(void)
{
	uint64_t last = 0;
	unsigned int gaps = 0;

	pin(nth_cpu(0));
	begin(ASYNCTRACE_MODE_CIRCULAR, 16384, NULL);
	for (uint64_t n = 1; n <= 5000; n++)
		in_file(n, "eleven char");
	end();
	check(tape.result.overwritten + nr_kept == 5000 && !tape.result.dropped, "%llu, %u",
	      u(tape.result.overwritten), nr_kept);
	for (unsigned int i = 0; i < nr_kept; i++) {
		gaps += i && kept[i].ev.id != last + 1;
		last = kept[i].ev.id;
		check(!strcmp(kept[i].name, "numbered") && !strcmp(kept[i].category, "engine"));
		check(!strcmp(kept_text(&kept[i], "text"), "eleven char"));
	}
	/* Two of the four sub-buffers are full and can be read. */
	check(nr_kept >= 2 * ((4096 / 8 - ASYNCTRACE_SUBBUF_WORDS) / 7) && last == 5000 && !gaps,
	      "%u kept to %llu", nr_kept, u(last));
	done("P41_circular_ring_keeps_the_latest_and_names");
}

/* A ring that was full takes records again after it was read, and keeps the first ones. */
static void streaming_mode(void)
{
	uint64_t dropped;
	unsigned int first;

	pin(nth_cpu(0));
	begin(ASYNCTRACE_MODE_STREAMING, 16384, NULL);
	for (uint64_t n = 1; n <= 1000; n++)
		in_file(n, "first");
	at_drain_round(&tape.drain, false);
	first = nr_kept;
	for (uint64_t n = 1001; n <= 1050; n++)
		in_file(n, "second");
	end();
	dropped = tape.result.dropped;
	check(first && kept[0].ev.id == 1 && kept[first - 1].ev.id == first);
	check(nr_kept + dropped == 1050 && nr_kept - first >= 50 && dropped, "%u, %u, %llu", first,
	      nr_kept, u(dropped));
	check(kept[nr_kept - 1].ev.id == 1050);
	done("P42_streaming_ring_goes_on_when_it_is_read");
}

/* A ring that stays full: the stop succeeds, and the dropped records are counted. */
static void shutdown_when_full(void)
{
	pin(nth_cpu(0));
	begin(ASYNCTRACE_MODE_ONESHOT, 16384, NULL);
	for (uint64_t n = 1; n <= 5000; n++)
		in_file(n, "eleven char");
	end();
	check(nr_kept && nr_kept + tape.result.dropped == 5000 && !tape.result.overwritten);
	for (unsigned int i = 0; i < nr_kept; i++)
		check(kept[i].ev.id == i + 1);
	done("P40_P43_full_ring_stops_and_counts_its_drops");
}

/* A streaming ring that becomes full right before the stop, when no reader has freed any of it */
static void shutdown_when_streaming_is_full(void)
{
	pin(nth_cpu(0));
	begin(ASYNCTRACE_MODE_STREAMING, 16384, NULL);
	for (uint64_t n = 1; n <= 5000; n++)
		in_file(n, "eleven char");
	end();
	check(nr_kept && tape.result.dropped && nr_kept + tape.result.dropped == 5000);
	check(kept[0].ev.id == 1 && kept[nr_kept - 1].ev.id == nr_kept);
	done("P42_P43_full_streaming_ring_stops");
}

static uint64_t heads[16];
static uint32_t slots[16];
static unsigned int nr_heads;

static void take_head(const struct tape_event *ev, void *unused)
{
	(void)unused;
	if (nr_heads < 16) {
		heads[nr_heads] = ev->raw[0];
		slots[nr_heads++] = ev->slot;
	}
}

static unsigned int name_of(unsigned int i)
{
	return heads[i] >> 48;
}

static void *write_strings(void *arg)
{
	TRACE_INSTANT("engine", "string1", TRACE_SCOPE_THREAD);
	TRACE_INSTANT("engine", "string2", TRACE_SCOPE_THREAD);
	TRACE_INSTANT("engine", "string3", TRACE_SCOPE_THREAD);
	TRACE_INSTANT("engine", "string1", TRACE_SCOPE_THREAD);
	return arg;
}

/*
 * Each text has one index, and each thread one slot. Fuchsia has a table of texts for each thread.
 * Here the threads of a process share one.
 */
static void names_and_threads(void)
{
	const struct tape_options o = { .mode = ASYNCTRACE_MODE_ONESHOT, .ring_size = 1 << 20 };
	pthread_t th;

	pin(nth_cpu(0));
	tape_new(&tape, &o, take_head, NULL);
	tape_attach(&tape);
	tape_gate(&tape, true);
	write_strings(NULL);
	TRACE_INSTANT("engine", "", TRACE_SCOPE_THREAD);
	pthread_create(&th, NULL, write_strings, NULL);
	pthread_join(th, NULL);
	tape_end(&tape, true);
	tape_check(&tape);
	tape_free(&tape);
	check(nr_heads == 9, "%u", nr_heads);
	for (unsigned int i = 0; i < 3; i++)
		check(name_of(i) && !(name_of(i) & ASYNCTRACE_FXT_INLINE) &&
		      name_of(i) == name_of(5 + i), "%x, %x", name_of(i), name_of(5 + i));
	check(name_of(0) != name_of(1) && name_of(0) != name_of(2) && name_of(1) != name_of(2));
	check(name_of(3) == name_of(0) && name_of(8) == name_of(0));
	check(!name_of(4), "the empty text has no index");
	for (unsigned int i = 1; i < 9; i++)
		check(slots[i] == (i < 5 ? slots[0] : slots[5]));
	check(slots[0] != slots[5] && slots[0] && slots[5]);
	done("A22_texts_have_one_index_threads_one_slot");
}

/* The largest blob is recorded. A blob that is one word larger is dropped. */
static void maximum_record(void)
{
	static char blob[TRACE_MAX_BLOB_SIZE + 8];
	struct at_trace_result r = { .size = sizeof(r) };
	int fd = memfd_create("engine", MFD_CLOEXEC);

	check(!at_trace_start(fd, NULL));
	TRACE_BLOB(TRACE_BLOB_TYPE_DATA, "largest", blob, TRACE_MAX_BLOB_SIZE);
	TRACE_BLOB(TRACE_BLOB_TYPE_DATA, "too large", blob, TRACE_MAX_BLOB_SIZE + 8);
	check(!at_trace_stop(&r));
	check(r.delivered == 1 && r.dropped == 1, "%llu, %llu", u(r.delivered), u(r.dropped));
	close(fd);
	done("A18_A22_largest_record_fits_and_8_bytes_more_do_not");
}

int main(void)
{
	no_subscriber();
	entered_many_times();
	polls();
	async_fn();
	async_fn_nested();
	child_polls();
	follows_from();
	levels_change();
	missed_sites();
	sites_learn_once();
	circular_mode();
	streaming_mode();
	shutdown_when_full();
	shutdown_when_streaming_is_full();
	names_and_threads();
	maximum_record();
	return finish();
}
