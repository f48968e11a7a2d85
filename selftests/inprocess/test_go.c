// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of Go's runtime/trace, for traces of a program by itself and the flight recorder.
 * doc/statements.md has the names of these tests in Go.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/rseq.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <asynctrace/flight.h>
#include <asynctrace/inprocess.h>
#include <asynctrace/operation.h>
#include <linux/asynctrace_fxt.h>

#include "flown.h"
#include "kept.h"

#define HOUR	3600000000000ull
#define THREADS	8
#define u(x)	((unsigned long long)(x))

static int memory(void)
{
	return memfd_create("go", MFD_CLOEXEC);
}

static off_t size_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? -1 : st.st_size;
}

/* --- start and stop ----------------------------------------------------------------------- */

static bool go_on;
static uint64_t numbers[THREADS];

static void *write_on(void *writer)
{
	const uintptr_t w = (uintptr_t)writer;

	while (__atomic_load_n(&go_on, __ATOMIC_RELAXED))
		flown_write(w, numbers[w]++);
	return NULL;
}

static void start_writers(pthread_t *th, int n)
{
	go_on = true;
	memset(numbers, 0, sizeof(numbers));
	for (uintptr_t i = 0; i < (uintptr_t)n; i++)
		pthread_create(&th[i], NULL, write_on, (void *)i);
}

static void end_writers(pthread_t *th, int n)
{
	__atomic_store_n(&go_on, false, __ATOMIC_RELAXED);
	for (int i = 0; i < n; i++)
		pthread_join(th[i], NULL);
}

static void nothing_after_stop(void)
{
	pthread_t th[2];
	struct flown f;
	int fd = memory();
	off_t size;

	check(!at_trace_start(fd, NULL) && !at_trace_stop(NULL));
	check(size_of(fd) > 0 && flown_valid(fd), "an empty trace");
	close(fd);
	fd = memory();
	start_writers(th, 2);
	check(!at_trace_start(fd, NULL));
	usleep(5000);
	check(!at_trace_stop(NULL));
	size = size_of(fd);
	usleep(100000);
	check(size_of(fd) == size, "%lld bytes, then %lld", (long long)size, (long long)size_of(fd));
	end_writers(th, 2);
	flown_read(fd, &f);
	check(!f.broken && flown_valid(fd));
	close(fd);
	done("G3_G10_file_is_complete_when_stop_returns");
}

/* The library's thread writes to the file without a stop, and while the rings have room. */
static void written_meanwhile(void)
{
	const struct at_trace_options large = { .size = sizeof(large), .ring_size = 8 << 20 };
	const int fd = memory();
	struct flown f;
	uint64_t n = 0;
	off_t before;

	check(!at_trace_start(fd, &large));
	before = size_of(fd);
	while (size_of(fd) < before + (64 << 10) && n < 1000000) {
		for (int i = 0; i < 1000; i++)
			flown_write(0, n++);
		usleep(1000);
	}
	check(size_of(fd) >= before + (64 << 10), "%lld bytes, then %lld after %llu events",
	      (long long)before, (long long)size_of(fd), u(n));
	flown_read(fd, &f);
	check(f.events && !f.first[0], "%llu events while it runs", u(f.events));
	check(!at_trace_stop(NULL) && flown_valid(fd));
	close(fd);
	done("G7_file_grows_while_the_trace_runs");
}

/* --- live threads ------------------------------------------------------------------------- */

static pthread_barrier_t asleep;

static void *sleep_on(void *name)
{
	pthread_setname_np(pthread_self(), name);
	pthread_barrier_wait(&asleep);
	pthread_barrier_wait(&asleep);
	return NULL;
}

/* Does the file name a thread @name of this process? */
static bool names_thread(int fd, const char *name)
{
	static uint64_t words[65536];
	const ssize_t bytes = pread(fd, words, sizeof(words), 0);
	size_t size;

	for (size_t at = 0; at < (size_t)bytes / 8; at += size) {
		const uint64_t head = words[at];

		size = ASYNCTRACE_FXT_WORDS(head);
		if (!size)
			return false;
		if (ASYNCTRACE_FXT_TYPE(head) == ASYNCTRACE_FXT_KERNELOBJ &&
		    (head >> 16 & 0xff) == ASYNCTRACE_FXT_OBJ_THREAD &&
		    (head >> 24 & 0x7fff) == strlen(name) &&
		    !memcmp(&words[at + 2], name, strlen(name)))
			return words[at + size - 1] == (uint64_t)getpid();
	}
	return false;
}

/* These threads never write a record. */
static void sleepers_are_named(void)
{
	static char names[100][16];
	pthread_t th[100];
	const int fd = memory();

	pthread_barrier_init(&asleep, NULL, 101);
	for (int i = 0; i < 100; i++) {
		snprintf(names[i], sizeof(names[i]), "sleeper-%d", i);
		check(!pthread_create(&th[i], NULL, sleep_on, names[i]));
	}
	pthread_barrier_wait(&asleep);
	check(!at_trace_start(fd, NULL) && !at_trace_stop(NULL));
	for (int i = 0; i < 100; i++)
		check(names_thread(fd, names[i]), "%s", names[i]);
	check(!names_thread(fd, "sleeper-100"));
	check(flown_valid(fd));
	pthread_barrier_wait(&asleep);
	for (int i = 0; i < 100; i++)
		pthread_join(th[i], NULL);
	pthread_barrier_destroy(&asleep);
	close(fd);
	done("G11_live_threads_without_records_are_named");
}

static long rounds;
/* One ring has room for all records of the test, because the library's thread may get no CPU. */
static struct at_trace_options roomy = { .size = sizeof(roomy), .ring_size = 1 << 20 };
static uint64_t refused, traced;

/* A thread that has started a trace must find in the file all records that it wrote meanwhile. */
static void *start_and_stop(void *writer)
{
	const uintptr_t w = (uintptr_t)writer;
	uint64_t n = 0;

	for (long i = 0; i < rounds; i++) {
		struct at_trace_result r = { .size = sizeof(r) };
		const int fd = memory();
		struct flown f;
		int err;

		err = at_trace_start(fd, &roomy);
		for (int k = 0; k < 50; k++)
			flown_write(w, n++);
		if (err) {
			check(err == -EBUSY && !size_of(fd), "%d", err);
			__atomic_fetch_add(&refused, 1, __ATOMIC_RELAXED);
			close(fd);
			continue;
		}
		err = at_trace_stop(&r);
		check(!err, "%d", err);
		flown_read(fd, &f);
		/* Without rseq, a record is dropped and counted if the ring is busy. */
		check(!r.dropped || !__rseq_size, "%llu dropped", u(r.dropped));
		check(!f.broken && f.of[w] <= 50 && f.of[w] + r.dropped >= 50 &&
		      (r.dropped || f.first[w] == n - 50), "%llu of writer %lu",
		      u(f.of[w]), (unsigned long)w);
		if (i % 16 == 0)
			check(flown_valid(fd));
		close(fd);
		__atomic_fetch_add(&traced, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void parallel(void)
{
	pthread_t th[THREADS];

	rounds = scale("SESSIONS", 100);
	while (roomy.ring_size < (uint64_t)rounds * THREADS * 50 * 64 &&
	       roomy.ring_size < ASYNCTRACE_RING_MAX)
		roomy.ring_size *= 2;
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&th[i], NULL, start_and_stop, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(th[i], NULL);
	check(traced + refused == (uint64_t)rounds * THREADS && traced);
	check(at_trace_stop(NULL) == -ESRCH);
	done("G4_G5_8_threads_start_and_stop: %llu traces, %llu refused", u(traced), u(refused));
}

/* --- the edge of the buffer ----------------------------------------------------------------- */

static void three(uint64_t n)
{
	(void)n;
	TRACE_INSTANT("edge", "e", TRACE_SCOPE_THREAD);
}

static void four(uint64_t n)
{
	TRACE_INSTANT("edge", "e", TRACE_SCOPE_THREAD, "n", TA_INT32((int)n));
}

static void five(uint64_t n)
{
	TRACE_INSTANT("edge", "e", TRACE_SCOPE_THREAD, "n", TA_UINT64(n));
}

static void seven(uint64_t n)
{
	TRACE_INSTANT("edge", "e", TRACE_SCOPE_THREAD, "n", TA_UINT64(n), "m", TA_UINT64(n));
}

static void text(uint64_t n)
{
	TRACE_INSTANT("edge", "e", TRACE_SCOPE_THREAD, "n", TA_UINT64(n), "t",
		      TA_CHAR_ARRAY("twenty-four bytes of it.", 24));
}

static void scope(uint64_t n)
{
	TRACE_DURATION("edge", "e", "n", TA_UINT64(n));
}

static const struct edge {
	void (*write)(uint64_t n);
	uint32_t words;
} edges[] = { { three, 3 }, { four, 4 }, { five, 5 }, { seven, 7 }, { text, 9 }, { scope, 6 } };

static uint64_t next_number;

static void in_order(const struct tape_event *ev, void *words)
{
	check(ev->words == *(const uint32_t *)words, "%u words", ev->words);
	if (ev->nargs)
		check(ev->args[0].value == next_number, "%llu", u(next_number));
	next_number++;
}

/*
 * Writes @more records more than fit into the ring, or fewer if @more is negative. All that fit are
 * delivered, also one that ends where its sub-buffer ends. The surplus is dropped, because a
 * one-shot ring keeps its first records.
 */
static void edge_of(const struct edge *e, bool cpu_rings, int more)
{
	const struct tape_options o = {
		.mode = ASYNCTRACE_MODE_ONESHOT, .ring_size = 16384, .sub_size = 4096,
		.no_cpu_rings = !cpu_rings,
	};
	const uint64_t fit = 4 * ((4096 / 8 - ASYNCTRACE_SUBBUF_WORDS) / e->words);
	const uint64_t n = fit + more;
	struct tape t;

	next_number = 0;
	tape_new(&t, &o, in_order, (void *)&e->words);
	tape_attach(&t);
	tape_gate(&t, true);
	for (uint64_t i = 0; i < n; i++)
		e->write(i);
	tape_end(&t, true);
	tape_check(&t);
	check(t.result.delivered == (more > 0 ? fit : n));
	check(t.result.delivered + t.result.dropped == n,
	      "%u words: %llu of %llu fit, %llu did", e->words, u(fit), u(n), u(t.result.delivered));
	tape_free(&t);
}

static void edges_of_buffers(void)
{
	pin(nth_cpu(0));
	for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++)
		for (int more = -3; more <= 3; more++) {
			edge_of(&edges[i], true, more);
			edge_of(&edges[i], false, more);
		}
	done("P40_records_fill_the_ring_to_its_last_word");
}

/* --- tasks and regions ------------------------------------------------------------------------ */

static void take_apart(const struct tape_options *o, struct tape *t)
{
	kept_forget();
	tape_new(t, o, kept_take, NULL);
	tape_attach(t);
}

/* An event that must be in the trace, in this order; @of_task: it belongs to task0, not to none */
struct wanted {
	uint32_t type;
	const char *name;
	bool of_task;
};

static void check_wanted(const struct wanted *want, unsigned int n, uint64_t task)
{
	check(nr_kept == n, "%u", nr_kept);
	for (unsigned int i = 0; i < nr_kept && i < n; i++) {
		const struct kept *k = &kept[i];

		check(kept_is(k, want[i].type, want[i].name), "%u: %s", i, k->name);
		if (k->ev.type == ASYNCTRACE_FXT_ASYNC_BEGIN ||
		    k->ev.type == ASYNCTRACE_FXT_ASYNC_END)
			check(k->ev.id == task, "%u: %llx", i, u(k->ev.id));
		else if (k->ev.type != ASYNCTRACE_FXT_DURATION_END)
			check(kept_number(k, "operation", 1) == (want[i].of_task ? task : 0),
			      "%u", i);
	}
}

static void *do_task0(void *op)
{
	struct at_operation *task = op;
	struct at_entered outer, inner;

	TRACE_OPERATION_ENTER(&outer, task->id, "task", "region0");
	TRACE_REGION_BEGIN(&inner, "task", "region1");
	TRACE_LOG("key0", "0123456789abcdef");
	at_region_end(&inner);
	at_operation_leave(&outer);
	TRACE_OPERATION_END(task, "task", "task0");
	return NULL;
}

static void user_task_region(void)
{
	static const struct tape_options o = {
		.mode = ASYNCTRACE_MODE_ONESHOT, .ring_size = 1 << 20,
	};
	static const struct wanted want[] = {
		{ ASYNCTRACE_FXT_ASYNC_BEGIN, "task0", true },
		{ ASYNCTRACE_FXT_DURATION_BEGIN, "region0", true },
		{ ASYNCTRACE_FXT_DURATION_BEGIN, "region1", true },
		{ ASYNCTRACE_FXT_INSTANT, "log", true },
		{ ASYNCTRACE_FXT_DURATION_END, "region1", true },
		{ ASYNCTRACE_FXT_DURATION_END, "region0", true },
		{ ASYNCTRACE_FXT_ASYNC_END, "task0", true },
		{ ASYNCTRACE_FXT_DURATION_BEGIN, "post-existing region", false },
	};
	struct at_entered before, after;
	struct at_operation op;
	struct tape t;
	pthread_t th;

	take_apart(&o, &t);
	TRACE_REGION_BEGIN(&before, "task", "pre-existing region");
	tape_gate(&t, true);
	TRACE_OPERATION_BEGIN(&op, "task", "task0");
	pthread_create(&th, NULL, do_task0, &op);
	pthread_join(th, NULL);
	at_region_end(&before);
	TRACE_REGION_BEGIN(&after, "task", "post-existing region");
	tape_end(&t, true);
	at_region_end(&after);
	kept_sort();
	tape_check(&t);
	tape_free(&t);
	check_wanted(want, sizeof(want) / sizeof(want[0]), op.id);
	check(!strcmp(kept[3].category, "key0") &&
	      !strcmp(kept_text(&kept[3], "message"), "0123456789abcdef"));
	done("G43_G44_G50_user_task_region_is_exact");
}

static void *log_late(void *id)
{
	TRACE_OPERATION_SCOPE(*(uint64_t *)id, "task", "later");
	TRACE_LOG("task", "after the end");
	return NULL;
}

static void late_log(void)
{
	static const struct tape_options o = {
		.mode = ASYNCTRACE_MODE_ONESHOT, .ring_size = 1 << 20,
	};
	struct at_operation op;
	struct tape t;
	pthread_t th;

	take_apart(&o, &t);
	tape_gate(&t, true);
	TRACE_OPERATION_BEGIN(&op, "task", "ended");
	TRACE_OPERATION_END(&op, "task", "ended");
	pthread_create(&th, NULL, log_late, &op.id);
	pthread_join(th, NULL);
	tape_end(&t, true);
	kept_sort();
	tape_free(&t);
	check(nr_kept == 5 && kept_is(&kept[3], ASYNCTRACE_FXT_INSTANT, "log") &&
	      kept_number(&kept[3], "operation", 0) == op.id);
	done("G30_log_of_another_thread_after_the_end");
}

/* --- the flight recorder -------------------------------------------------------------------- */

static uint64_t winners;

static void *fly(void *arg)
{
	struct at_flight_result r = { .size = sizeof(r) };
	struct flown f;
	int fd, err;

	(void)arg;
	for (long i = 0; i < rounds; i++) {
		fd = memory();
		err = at_flight_write(fd, &r);
		if (err) {
			check(err == -EBUSY && !r.bytes && !size_of(fd), "%d, %lld bytes", err,
			      (long long)size_of(fd));
		} else {
			flown_read(fd, &f);
			check((uint64_t)size_of(fd) == r.bytes, "%llu bytes, not %lld", u(r.bytes),
			      (long long)size_of(fd));
			check(!f.broken && f.events == r.delivered, "%llu of %llu", u(f.events),
			      u(r.delivered));
			if (i % 16 == 0)
				check(flown_valid(fd));
			__atomic_fetch_add(&winners, 1, __ATOMIC_RELAXED);
		}
		close(fd);
	}
	return NULL;
}

static void concurrent_writes(void)
{
	pthread_t th[THREADS], writers[2];

	rounds = scale("FLIGHTS", 30);
	check(!at_flight_start(HOUR, 1 << 20));
	start_writers(writers, 2);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&th[i], NULL, fly, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(th[i], NULL);
	end_writers(writers, 2);
	check(winners > 0);
	check(!at_flight_stop());
	done("G72_concurrent_writes_of_8_threads: %llu won", u(winners));
}

/* Does @fd have a log with this category and message? */
static bool has_log(int fd, const char *category, const char *message)
{
	char command[256];

	snprintf(command, sizeof(command),
		 "build/asynctrace report --json /proc/%d/fd/%d logs 2> /dev/null | sed 's/.*,\"category/{\"category/' | grep -qx '{\"category\":\"%s\",\"message\":\"%s\"}'",
		 getpid(), fd, category, message);
	fflush(stdout);
	return !system(command);
}

static void log_in_snapshot(void)
{
	int fd = memory();

	check(!at_flight_start(HOUR, 0));
	TRACE_LOG("message", "hello");
	check(!at_flight_write(fd, NULL) && flown_valid(fd) && has_log(fd, "message", "hello"));
	check(!has_log(fd, "message", "hell") && !has_log(fd, "other", "hello"));
	check(!at_flight_stop());
	check(at_flight_write(fd, NULL) == -ESRCH && at_flight_stop() == -ESRCH);
	close(fd);
	done("G72_G74_log_is_in_the_snapshot");
}

/* Programs can see whether the recorder or a trace runs. Five recorders follow each other. */
static void enabled(void)
{
	struct at_flight_result r = { .size = sizeof(r) };

	for (int i = 0; i < 5; i++) {
		int fd = memory();

		check(!TRACE_ENABLED() && !TRACE_CATEGORY_ENABLED("flight"));
		check(!at_flight_start(0, 0));
		check(TRACE_ENABLED() && TRACE_CATEGORY_ENABLED("flight"));
		check(!at_flight_write(fd, &r) && r.bytes >= 16 &&
		      r.bytes == (uint64_t)size_of(fd));
		check(flown_valid(fd));
		check(!at_flight_stop());
		check(!TRACE_ENABLED() && !TRACE_CATEGORY_ENABLED("flight"));
		close(fd);
	}
	done("G6_program_sees_whether_the_recorder_runs");
}

/* The trace has all events. The recorder has few bytes, and so the latest events only. */
static void small_recorder(void)
{
	const int trace = memory(), recorder = memory();
	struct flown f;

	check(!at_trace_start(trace, &roomy));
	check(!at_flight_start(0, 16));
	for (int i = 0; i < 10000; i++)
		flown_write(0, i);
	check(!at_flight_write(recorder, NULL));
	check(!at_flight_stop());
	check(!at_trace_stop(NULL));
	check(flown_valid(trace) && flown_valid(recorder));
	check(size_of(recorder) > 0 && size_of(trace) > size_of(recorder), "%lld, %lld bytes",
	      (long long)size_of(trace), (long long)size_of(recorder));
	flown_read(trace, &f);
	check(f.events == 10000 && flown_whole(&f, 0));
	close(trace);
	close(recorder);
	done("G71_trace_is_longer_than_a_small_recorder");
}

/* --- threads of many kinds -------------------------------------------------------------------- */

#define MAIN_WRITER	(FLOWN_WRITERS - 1)

static bool crowd_goes;

static void do_operation(void)
{
	struct at_operation op;

	TRACE_OPERATION_BEGIN(&op, "crowd", "operation");
	{
		TRACE_OPERATION_SCOPE(op.id, "crowd", "scope");
		TRACE_LOGF("crowd", "operation %d", 1);
		sched_yield();
	}
	TRACE_OPERATION_END(&op, "crowd", "operation");
}

static void do_timer(void)
{
	TRACE_REGION("crowd", "timer");
	usleep(500);
}

static void *write_byte(void *fd)
{
	TRACE_REGION("crowd", "write");
	check(write((intptr_t)fd, "", 1) == 1);
	return NULL;
}

/* Reads from a pipe into which a new thread writes. */
static void do_pipe(void)
{
	TRACE_REGION("crowd", "pipe");
	pthread_t th;
	int ends[2];
	char c;

	check(!pipe2(ends, O_CLOEXEC));
	check(!at_thread_create(&th, NULL, write_byte, (void *)(intptr_t)ends[1]));
	check(read(ends[0], &c, 1) == 1);
	pthread_join(th, NULL);
	close(ends[0]);
	close(ends[1]);
}

static void *connect_to(void *listener)
{
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un to;
	socklen_t size = sizeof(to);

	TRACE_REGION("crowd", "connect");
	check(!getsockname((intptr_t)listener, (struct sockaddr *)&to, &size));
	check(!connect(fd, (struct sockaddr *)&to, size) && write(fd, "", 1) == 1);
	close(fd);
	return NULL;
}

static void do_socket(void)
{
	const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const struct sockaddr_un any = { .sun_family = AF_UNIX };
	TRACE_REGION("crowd", "accept");
	pthread_t th;
	char c;
	int fd;

	/* Without a path, Linux chooses an address. */
	check(!bind(listener, (const struct sockaddr *)&any, sizeof(sa_family_t)));
	check(!listen(listener, 1));
	check(!at_thread_create(&th, NULL, connect_to, (void *)(intptr_t)listener));
	fd = accept(listener, NULL, NULL);
	check(fd >= 0 && read(fd, &c, 1) == 1);
	pthread_join(th, NULL);
	close(fd);
	close(listener);
}

static void (*const kinds[])(void) = { do_operation, do_operation, do_timer, do_pipe, do_socket };

#define KINDS	(sizeof(kinds) / sizeof(kinds[0]))

static void *do_kind(void *kind)
{
	while (__atomic_load_n(&crowd_goes, __ATOMIC_RELAXED))
		kinds[(intptr_t)kind]();
	return NULL;
}

/* This thread sleeps from before the first trace until the last one runs. */
static void *read_late(void *pipe)
{
	char c;

	check(read((intptr_t)pipe, &c, 1) == 1);
	TRACE_REGION("crowd", "late");
	TRACE_LOG("crowd", "read at last");
	return NULL;
}

/* Runs @command with $f set to the path of @fd. Returns true if the command succeeds. */
static bool sh_with(int fd, const char *command)
{
	char line[512];

	snprintf(line, sizeof(line), "f=/proc/%d/fd/%d; %s", getpid(), fd, command);
	fflush(stdout);
	return !system(line);
}

/*
 * Checks that the trace is valid and has all events @from to @until - 1 of the main writer.
 * --allow-open excuses durations and operations that begin before the trace or end after it.
 */
static void check_trace(int fd, uint64_t from, uint64_t until, const struct at_trace_result *r)
{
	struct flown f;

	flown_read(fd, &f);
	check(!f.broken && !r->malformed && !r->unwritten);
	/* Without rseq, a record is dropped and counted if the ring is busy. */
	check(r->dropped || (f.of[MAIN_WRITER] == until - from && f.first[MAIN_WRITER] == from &&
			     f.last[MAIN_WRITER] == until - 1),
	      "%llu to %llu, not %llu to %llu", u(f.first[MAIN_WRITER]), u(f.last[MAIN_WRITER]),
	      u(from), u(until - 1));
	check(sh_with(fd, "said=$(build/asynctrace validate --allow-open $f 2>&1) || { echo \"# $said\"; exit 1; }"));
}

static void crowd(void)
{
	const struct at_trace_options large = { .size = sizeof(large), .ring_size = 8 << 20 };
	pthread_t th[KINDS], late;
	const long traces = 11;
	uint64_t n = 0;
	int ends[2];

	check(!pipe2(ends, O_CLOEXEC));
	pthread_create(&late, NULL, read_late, (void *)(intptr_t)ends[0]);
	__atomic_store_n(&crowd_goes, true, __ATOMIC_RELAXED);
	for (uintptr_t i = 0; i < KINDS; i++)
		pthread_create(&th[i], NULL, do_kind, (void *)i);
	for (long i = 1; i <= traces; i++) {
		struct at_trace_result r = { .size = sizeof(r) };
		const uint64_t from = n;
		const int fd = memory();

		check(!at_trace_start(fd, &large));
		usleep(1000 * (i % 4));
		if (i == traces) {
			check(write(ends[1], "", 1) == 1);
			pthread_join(late, NULL);
		}
		while (n < from + 50)
			flown_write(MAIN_WRITER, n++);
		check(!at_trace_stop(&r));
		check_trace(fd, from, n, &r);
		check(i < traces || r.dropped || has_log(fd, "crowd", "read at last"));
		check(sh_with(fd, "a=$(build/asynctrace dump --json $f) && [ \"$a\" ] && [ \"$a\" = \"$(build/asynctrace dump --json $f)\" ]"));
		close(fd);
	}
	__atomic_store_n(&crowd_goes, false, __ATOMIC_RELAXED);
	for (size_t i = 0; i < KINDS; i++)
		pthread_join(th[i], NULL);
	close(ends[0]);
	close(ends[1]);
	done("G5_G12_traces_of_threads_of_many_kinds");
}

/* --- trace and flight recorder in all orders -------------------------------------------------- */

/**
 * struct run - state of the trace or of the recorder
 * @on: it has been started and not stopped
 * @fd: the trace's file; not used for the recorder
 * @from: number of the first event in its files
 */
struct run {
	bool on;
	int fd;
	uint64_t from;
};

static uint64_t number;

static void write_some(void)
{
	for (int i = 0; i < 100; i++)
		flown_write(0, number++);
}

static void toggle_trace(struct run *t, bool valid)
{
	struct at_trace_result r = { .size = sizeof(r) };
	struct flown f;

	t->on = !t->on;
	if (t->on) {
		t->fd = memory();
		t->from = number;
		check(!at_trace_start(t->fd, NULL));
		return;
	}
	check(!at_trace_stop(&r));
	flown_read(t->fd, &f);
	check(f.events == number - t->from && r.delivered == f.events, "%llu of %llu", u(f.events),
	      u(number - t->from));
	check(!f.events || (f.first[0] == t->from && flown_whole(&f, 0)));
	check(!valid || flown_valid(t->fd));
	close(t->fd);
}

static void toggle_recorder(struct run *r)
{
	r->on = !r->on;
	r->from = number;
	check(!(r->on ? at_flight_start(HOUR, 16 << 20) : at_flight_stop()));
}

static void snapshot(const struct run *r, bool valid)
{
	int fd = memory();
	struct flown f;

	check(!at_flight_write(fd, NULL));
	flown_read(fd, &f);
	check(f.events == number - r->from && (!f.events || f.first[0] == r->from), "%llu of %llu",
	      u(f.events), u(number - r->from));
	check(!valid || flown_valid(fd));
	close(fd);
}

/* In step i, the trace starts or stops if bit i of @order is 1, otherwise the recorder does. */
static void in_steps(unsigned int order, unsigned int steps)
{
	struct run trace = { .fd = -1 }, recorder = { .fd = -1 };

	for (unsigned int i = 0; i < steps; i++) {
		const bool last = i == steps - 1;

		if (order >> i & 1)
			toggle_trace(&trace, last);
		else
			toggle_recorder(&recorder);
		write_some();
		if (recorder.on)
			snapshot(&recorder, last);
	}
	if (trace.on)
		toggle_trace(&trace, false);
	if (recorder.on)
		toggle_recorder(&recorder);
}

static void subscribers(void)
{
	for (unsigned int order = 0; order < 1 << 6; order++)
		in_steps(order, 6);
	done("G71_64_orders_of_6_starts_and_stops");
}

int main(void)
{
	nothing_after_stop();
	written_meanwhile();
	sleepers_are_named();
	parallel();
	edges_of_buffers();
	user_task_region();
	late_log();
	concurrent_writes();
	log_in_snapshot();
	enabled();
	small_recorder();
	crowd();
	subscribers();
	return finish();
}
