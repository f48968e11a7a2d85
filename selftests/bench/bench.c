// SPDX-License-Identifier: GPL-2.0
/*
 * What an event costs the program that writes it, in the in-process back end:
 * beside a bare read of the counter, and beside a write(2) of the same bytes
 *
 * The rings are as of a flight recorder (circular): what is measured is a steady
 * state in which nothing is dropped. Rows that end in _streaming have a thread on
 * the other CPU that takes the records away meanwhile; none may be dropped.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <asynctrace/inprocess.h>
#include <asynctrace/trace.h>

#include "timing.h"

#define RECORD_BYTES	40	/* of an async event with one integer */
#define FILE_BYTES	32	/* of the same in a file */

static inline uint64_t counter(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	uint64_t t;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(t));
	return t;
#endif
}

static void w_empty(int thread)
{
	for (long i = 0; i < WINDOW; i++)
		OPAQUE(i);
	(void)thread;
}

static void w_counter(int thread)
{
	for (long i = 0; i < WINDOW; i++) {
		uint64_t t = counter();

		OPAQUE(t);
	}
	(void)thread;
}

static void w_async_1arg(int thread)
{
	for (long i = 0; i < WINDOW; i++) {
		OPAQUE(i);
		TRACE_ASYNC_BEGIN("bench", "operation", thread, "n", TA_INT32(i));
	}
}

static void w_async_2arg(int thread)
{
	for (long i = 0; i < WINDOW; i++) {
		OPAQUE(i);
		TRACE_ASYNC_BEGIN("bench", "operation", thread, "n", TA_INT32(i), "m", TA_INT32(i));
	}
}

static void w_async_string(int thread)
{
	const char *s = "/index.html";

	for (long i = 0; i < WINDOW; i++) {
		OPAQUE(s);
		TRACE_ASYNC_BEGIN("bench", "operation", thread, "n", TA_INT32(i), "s", TA_STRING(s));
	}
}

static void w_instant(int thread)
{
	for (long i = 0; i < WINDOW; i++) {
		OPAQUE(i);
		TRACE_INSTANT("bench", "instant", TRACE_SCOPE_THREAD);
	}
	(void)thread;
}

static void w_flow(int thread)
{
	for (long i = 0; i < WINDOW; i++) {
		OPAQUE(i);
		TRACE_FLOW_STEP("bench", "flow", thread);
	}
}

static void w_counter_event(int thread)
{
	for (long i = 0; i < WINDOW; i++) {
		OPAQUE(i);
		TRACE_COUNTER("bench", "depth", thread, "n", TA_INT32(i));
	}
}

static void w_duration(int thread)
{
	for (long i = 0; i < WINDOW; i++) {
		OPAQUE(i);
		TRACE_DURATION("bench", "scope");
	}
	(void)thread;
}

static void w_duration_1arg(int thread)
{
	for (long i = 0; i < WINDOW; i++) {
		OPAQUE(i);
		TRACE_DURATION("bench", "scope", "n", TA_INT32(i));
	}
	(void)thread;
}

/* Recorded, but not this category. */
static void w_disabled_category(int thread)
{
	for (long i = 0; i < WINDOW; i++) {
		OPAQUE(i);
		TRACE_ASYNC_BEGIN("other", "operation", thread, "n", TA_INT32(i));
	}
}

/* Nothing is recorded. */
static void w_disabled(int thread)
{
	for (long i = 0; i < WINDOW; i++) {
		OPAQUE(i);
		TRACE_ASYNC_BEGIN("bench", "operation", thread, "n", TA_INT32(i));
	}
}

static int files[THREADS_MAX];

static void w_write(int thread)
{
	char bytes[RECORD_BYTES];

	memset(bytes, thread, sizeof(bytes));
	for (long i = 0; i < WINDOW; i++) {
		memcpy(bytes, &i, sizeof(i));
		if (write(files[thread], bytes, sizeof(bytes)) != sizeof(bytes))
			exit(2);
	}
	lseek(files[thread], 0, SEEK_SET);
}

static int trace_fd = -1;
static uint64_t streamed;	/* bytes of the file that these events are at least */

static void w_async_1arg_streaming(int thread)
{
	w_async_1arg(thread);
	__atomic_fetch_add(&streamed, WINDOW * FILE_BYTES, __ATOMIC_RELAXED);
}

/* Between windows the drainer catches up, however busy the machine is. */
static void w_catch_up(int thread)
{
	const struct timespec ts = { .tv_nsec = 1000000 };
	struct stat st;

	(void)thread;
	for (int i = 0; i < 20000; i++) {
		if (fstat(trace_fd, &st) ||
		    (uint64_t)st.st_size >= __atomic_load_n(&streamed, __ATOMIC_RELAXED))
			return;
		nanosleep(&ts, NULL);
	}
}

#define ROWS(r) (sizeof(r) / sizeof((r)[0]))

static void die(const char *what, int err)
{
	fprintf(stderr, "bench: %s: %s\n", what, strerror(-err));
	exit(2);
}

static void begin(uint32_t mode, uint64_t ring)
{
	const struct at_trace_options o = { .size = sizeof(o), .mode = mode, .ring_size = ring,
					    .categories = "bench" };
	struct at_status_info st = { .size = sizeof(st) };
	int err;

	trace_fd = mode == ASYNCTRACE_MODE_STREAMING ? memfd_create("trace", MFD_CLOEXEC) :
					       open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (trace_fd < 0)
		die("the trace's file", -errno);
	err = at_trace_start(trace_fd, &o);
	if (err)
		die("at_trace_start", err);
	at_status(&st);
	if (st.path != ASYNCTRACE_PATH_RSEQ)
		fprintf(stderr, "bench: %s\n", at_reason_text(st.reason));
}

static void end(const char *what)
{
	struct at_trace_result r = { .size = sizeof(r) };
	int err = at_trace_stop(&r);

	if (err)
		die("at_trace_stop", err);
	close(trace_fd);
	if (r.dropped) {
		fprintf(stderr, "bench: %s: %llu records dropped: not a measurement\n", what,
			(unsigned long long)r.dropped);
		exit(1);
	}
}

int main(void)
{
	static struct row off[] = {
		{ .name = "empty_loop", .window = w_empty },
		{ .name = "disabled_site", .window = w_disabled },
	};
	static struct row on[] = {
		{ .name = "counter_read", .window = w_counter },
		{ .name = "async_begin_1arg", .window = w_async_1arg },
		{ .name = "async_begin_2arg", .window = w_async_2arg },
		{ .name = "async_begin_2arg_string", .window = w_async_string },
		{ .name = "instant_0arg", .window = w_instant },
		{ .name = "flow_step", .window = w_flow },
		{ .name = "counter_1arg", .window = w_counter_event },
		{ .name = "duration_scoped", .window = w_duration },
		{ .name = "duration_scoped_1arg", .window = w_duration_1arg },
		{ .name = "disabled_category", .window = w_disabled_category },
		{ .name = "write_1arg", .window = w_write },
	};
	static struct row streaming[] = {
		{ .name = "async_begin_1arg_streaming", .window = w_async_1arg_streaming },
		{ .name = NULL, .window = w_catch_up },
	};

	for (int i = 0; i < THREADS_MAX; i++) {
		files[i] = memfd_create("bench", MFD_CLOEXEC);
		if (files[i] < 0)
			die("memfd_create", -errno);
	}
	for (int n = 1; n <= THREADS_MAX; n++)
		measure(off, ROWS(off), n, 500);
	begin(ASYNCTRACE_MODE_CIRCULAR, 1 << 20);
	for (int n = 1; n <= THREADS_MAX; n++)
		measure(on, ROWS(on), n, 1500);
	end("flight recorder");
	begin(ASYNCTRACE_MODE_STREAMING, 2 << 20);
	for (int n = 1; n <= THREADS_MAX; n++)
		measure(streaming, ROWS(streaming), n, 60);
	end("streaming");
	print_rows(off, ROWS(off), THREADS_MAX);
	print_rows(on, ROWS(on), THREADS_MAX);
	print_rows(streaming, 1, THREADS_MAX);
	return 0;
}
