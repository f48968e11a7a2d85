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
	unsigned int found = 0;

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
	for (unsigned int i = 0; i < nr_kept; i++)
		for (int k = 0; k < 5; k++)
			found += kept_is(&kept[i], ASYNCTRACE_FXT_INSTANT, "follows from") &&
				 kept_number(&kept[i], "cause", 0) == causes[k].id &&
				 kept_number(&kept[i], "operation", 0) == op.id;
	check(found == 5 && kept_count(ASYNCTRACE_FXT_INSTANT, "follows from") == 6, "%u", found);
	check(!op.parent);
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
	child_polls();
	follows_from();
	levels_change();
	missed_sites();
	circular_mode();
	streaming_mode();
	shutdown_when_full();
	maximum_record();
	return finish();
}
