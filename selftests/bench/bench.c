// SPDX-License-Identifier: GPL-2.0
/*
 * Costs of an event for the program that writes it, in the in-process back end, compared with a
 * read of the CPU's counter and a write(2) of 40 bytes
 *
 * Rows end in _off if nothing is recorded, and in _other if the event's category is not. The rings
 * are those of a flight recorder (circular), so that a steady state without drops is measured. In
 * rows that end in _streaming, a thread on the other CPU reads the records meanwhile, and none may
 * be dropped.
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
#include <asynctrace/listener.h>
#include <asynctrace/operation.h>
#include <asynctrace/probe.h>
#include <asynctrace/trace.h>

#include "timing.h"

TRACE_PROBE_DEFINE(bench, probe);
TRACE_PROBE_DEFINE(other, probe);

#define RECORD_BYTES	40	/* of an async event with one integer */
#define FILE_BYTES	32	/* of the same event in a file */

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

/*
 * A window is a loop that runs a statement WINDOW times. Each event has two: in one it may be
 * recorded, in the other it has a category that never is.
 */
#define EVENT(name, needs, limit, statement, lttng) \
	static void w_##name(int thread) \
	{ \
		const uint64_t id = thread + 1; \
		for (long i = 0; i < WINDOW; i++) { \
			OPAQUE(i); \
			statement; \
		} \
		(void)id; \
	}
#define CAT "bench"
#define PROVIDER bench
#include "events.h"
#include "other_events.h"
#undef CAT
#undef PROVIDER
#undef EVENT

#define EVENT(name, needs, limit, statement, lttng) \
	static void w_##name##_other(int thread) \
	{ \
		const uint64_t id = thread + 1; \
		for (long i = 0; i < WINDOW; i++) { \
			OPAQUE(i); \
			statement; \
		} \
		(void)id; \
	}
#define CAT "other"
#define PROVIDER other
#include "events.h"
#include "other_events.h"
#undef CAT
#undef PROVIDER
#undef EVENT

/* Windows that write no event */
static void w_enabled(int thread)
{
	for (long i = 0; i < WINDOW; i++) {
		bool on = TRACE_ENABLED();

		OPAQUE(on);
	}
	(void)thread;
}

static void w_category_enabled(int thread)
{
	for (long i = 0; i < WINDOW; i++) {
		bool on = TRACE_CATEGORY_ENABLED("bench");

		OPAQUE(on);
	}
	(void)thread;
}

static void w_category_enabled_other(int thread)
{
	for (long i = 0; i < WINDOW; i++) {
		bool on = TRACE_CATEGORY_ENABLED("other");

		OPAQUE(on);
	}
	(void)thread;
}

static void w_probe_enabled(int thread)
{
	for (long i = 0; i < WINDOW; i++) {
		bool on = TRACE_PROBE_ENABLED(bench, probe);

		OPAQUE(on);
	}
	(void)thread;
}

/* Contexts that are made, entered and left; contexts around them, without and with a listener */
static struct at_context contexts[THREADS_MAX], around[THREADS_MAX], listened[THREADS_MAX];

static void w_context(int thread)
{
	struct at_context *c = &contexts[thread];

	for (long i = 0; i < WINDOW; i++) {
		OPAQUE(i);
		at_context_init(c, ASYNCTRACE_ASYNC_TIMER, c);
		at_context_enter(c);
		at_context_leave(c);
	}
}

static void w_context_scope(int thread)
{
	struct at_context *c = &contexts[thread];

	at_context_init(c, ASYNCTRACE_ASYNC_TIMER, c);
	for (long i = 0; i < WINDOW; i++) {
		OPAQUE(i);
		TRACE_CONTEXT_SCOPE(c);
	}
}

TRACE_CONTEXT_TYPE(timer, ASYNCTRACE_ASYNC_TIMER, "timer");

static void w_context_type(int thread)
{
	struct at_context *c = &contexts[thread];

	for (long i = 0; i < WINDOW; i++) {
		OPAQUE(i);
		at_context_init_type(c, &timer, c, NULL);
		at_context_enter(c);
		at_context_leave(c);
	}
}

static void w_context_nested(int thread)
{
	at_context_enter(&around[thread]);
	w_context(thread);
	at_context_leave(&around[thread]);
}

/*
 * Contexts that inherit a listener: they are not destroyed, so their list of listeners is never
 * freed.
 */
static void w_context_listener(int thread)
{
	at_context_enter(&listened[thread]);
	w_context(thread);
	at_context_leave(&listened[thread]);
}

/* The listener has no callbacks, because the limit is for the time that the library takes. */
static void make_contexts(void)
{
	const struct at_listener_options o = { .size = sizeof(o) };
	struct at_listener *l;

	if (at_listener_new(&l, &o, NULL, ASYNCTRACE_ASYNC_ALL))
		exit(2);
	for (int i = 0; i < THREADS_MAX; i++) {
		at_context_init(&around[i], ASYNCTRACE_ASYNC_USER, NULL);
		at_context_init(&listened[i], ASYNCTRACE_ASYNC_USER, NULL);
		at_context_enter(&listened[i]);
		at_listener_add(l);
		at_context_leave(&listened[i]);
	}
	at_listener_put(l);
}

static void w_alert(int thread)
{
	for (long i = 0; i < WINDOW; i++)
		TRACE_ALERT("bench", "alert");
	(void)thread;
}

static void w_alert_other(int thread)
{
	for (long i = 0; i < WINDOW; i++)
		TRACE_ALERT("other", "alert");
	(void)thread;
}

static void w_nonce(int thread)
{
	for (long i = 0; i < WINDOW; i++) {
		uint64_t id = TRACE_NONCE();

		OPAQUE(id);
	}
	(void)thread;
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
static uint64_t streamed;	/* least size of the file with these events */

static void w_streaming(int thread)
{
	w_async_begin_int32(thread);
	__atomic_fetch_add(&streamed, WINDOW * FILE_BYTES, __ATOMIC_RELAXED);
}

/* Between windows the drainer catches up, also on a busy machine. */
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
					    .categories = "bench,context" };
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
#define EVENT(name, needs, limit, statement, lttng) { #name "_off", w_##name, { 0 } },
	static struct row off[] = {
		{ .name = "empty_loop", .window = w_empty },
		{ .name = "enabled_off", .window = w_enabled },
		{ .name = "category_enabled_off", .window = w_category_enabled },
		{ .name = "probe_enabled_off", .window = w_probe_enabled },
		{ .name = "alert_off", .window = w_alert },
		{ .name = "context_off", .window = w_context },
		{ .name = "context_scope_off", .window = w_context_scope },
		{ .name = "context_type_off", .window = w_context_type },
		{ .name = "context_nested_off", .window = w_context_nested },
		{ .name = "context_listener_off", .window = w_context_listener },
#include "events.h"
#include "other_events.h"
	};
#undef EVENT
#define EVENT(name, needs, limit, statement, lttng) \
	{ #name, w_##name, { 0 } }, { #name "_other", w_##name##_other, { 0 } },
	static struct row on[] = {
		{ .name = "counter_read", .window = w_counter },
#include "events.h"
#include "other_events.h"
		{ .name = "enabled", .window = w_enabled },
		{ .name = "category_enabled", .window = w_category_enabled },
		{ .name = "category_enabled_other", .window = w_category_enabled_other },
		{ .name = "probe_enabled", .window = w_probe_enabled },
		{ .name = "alert", .window = w_alert },
		{ .name = "alert_other", .window = w_alert_other },
		{ .name = "context", .window = w_context },
		{ .name = "context_scope", .window = w_context_scope },
		{ .name = "context_type", .window = w_context_type },
		{ .name = "context_nested", .window = w_context_nested },
		{ .name = "nonce", .window = w_nonce },
		{ .name = "write", .window = w_write },
	};
#undef EVENT
	static const struct {
		const char *name;
		double needs, limit;
		bool always;	/* does something also if nothing is recorded */
	} bars[] = {
#define EVENT(name, needs, limit, statement, lttng) { #name, needs, limit, false },
#include "events.h"
#undef EVENT
#define EVENT(name, needs, limit, statement, lttng) { #name, needs, limit, true },
#include "other_events.h"
#undef EVENT
	};
	static struct row streaming[] = {
		{ .name = "async_begin_int32_streaming", .window = w_streaming },
		{ .name = NULL, .window = w_catch_up },
	};

	for (int i = 0; i < THREADS_MAX; i++) {
		files[i] = memfd_create("bench", MFD_CLOEXEC);
		if (files[i] < 0)
			die("memfd_create", -errno);
	}
	make_contexts();
	for (int n = 1; n <= THREADS_MAX; n++)
		measure(off, ROWS(off), n, 300);
	begin(ASYNCTRACE_MODE_CIRCULAR, 1 << 20);
	for (int n = 1; n <= THREADS_MAX; n++)
		measure(on, ROWS(on), n, 500);
	end("flight recorder");
	begin(ASYNCTRACE_MODE_STREAMING, 2 << 20);
	for (int n = 1; n <= THREADS_MAX; n++)
		measure(streaming, ROWS(streaming), n, 60);
	end("streaming");
	for (unsigned int i = 0; i < ROWS(bars); i++)
		printf("bar %s %g %g%s\n", bars[i].name, bars[i].needs, bars[i].limit,
		       bars[i].always ? " always" : "");
	/*
	 * Limits for making, entering and leaving a context, which writes three records if on. All
	 * are in readings of the counter, because nanoseconds depend on the processor.
	 */
	printf("most context_off 0.22\nmost context_listener_off 2.6\nmost context 3.6\n");
	print_rows(off, ROWS(off), THREADS_MAX);
	print_rows(on, ROWS(on), THREADS_MAX);
	print_rows(streaming, 1, THREADS_MAX);
	return 0;
}
