// SPDX-License-Identifier: GPL-2.0
/*
 * Accounting of events read from ftrace: each one is delivered or unwritten, exactly once, also
 * if the composer fails
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <linux/asynctrace.h>

#include "ftrace/priv.h"
#include "tool.h"

#define EVENTS	20
#define CPUS	2
#define CLOCK	5000	/* the last known moment of the clock */

/* The failure of the event .at, with the error .err */
static struct {
	bool write, on_cpu, memory;
	unsigned int at;
	int err;
} fails;

static unsigned int nr_composed;
static bool no_memory;
static int read_error;	/* errno of tracefs_iterate_raw_events(); 0: it succeeds */

void *__real_calloc(size_t n, size_t bytes);

void *__wrap_calloc(size_t n, size_t bytes)
{
	return no_memory ? NULL : __real_calloc(n, bytes);
}

/* --- stand-ins for the other files of tools/ftrace and for libtracefs ---------------------- */

/* Writing a message may change errno. */
void tool_error(const char *format, ...)
{
	(void)format;
	errno = 0;
}

const struct ftrace_join *ftrace_join(const struct ftrace *f, const struct tep_event *event)
{
	(void)f, (void)event;
	return NULL;
}

uint64_t ftrace_join_id(const struct ftrace_join *j, const void *data, int size)
{
	(void)j, (void)data, (void)size;
	return 0;
}

const struct ftrace_task *ftrace_task(struct ftrace *f, pid_t tid)
{
	(void)f, (void)tid;
	return NULL;
}

void ftrace_renew_tasks(struct ftrace *f)
{
	(void)f;
}

void ftrace_decode(struct ftrace_fields *d, struct tep_event *event, void *data, int size)
{
	(void)event, (void)data, (void)size;
	d->nr = 0;
}

/* Each event has a thread of its own, which the composer has to introduce. */
int tep_data_pid(struct tep_handle *tep, struct tep_record *record)
{
	int tid;

	(void)tep;
	memcpy(&tid, record->data, sizeof(tid));
	return tid;
}

char *tracefs_instance_file_read(struct tracefs_instance *i, const char *file, int *size)
{
	(void)i, (void)file, (void)size;
	return NULL;
}

static struct tep_event event = { .system = (char *)"block", .name = (char *)"rq_issue" };

int tracefs_iterate_raw_events(struct tep_handle *tep, struct tracefs_instance *i, cpu_set_t *cpus,
			       int cpu_size,
			       int (*fn)(struct tep_event *, struct tep_record *, int, void *),
			       void *arg)
{
	(void)tep, (void)i, (void)cpus, (void)cpu_size;
	if (read_error) {
		errno = read_error;
		return -1;
	}
	for (int n = 0; n < EVENTS; n++) {
		int tid = 1000 + n;
		struct tep_record record = { .ts = 1000 + n, .data = &tid, .size = sizeof(tid) };

		fn(&event, &record, 0, arg);
	}
	/* Other CPUs have an event that is too late for the composer. */
	for (int cpu = 1; cpu < CPUS; cpu++) {
		int tid = 2000 + cpu;
		struct tep_record record = { .ts = CLOCK + 1, .data = &tid, .size = sizeof(tid) };

		fn(&event, &record, cpu, arg);
	}
	return 0;
}

/* --- the composer -------------------------------------------------------------------------- */

static ssize_t write_or_fail(void *arg, const void *buf, size_t len)
{
	(void)arg, (void)buf;
	return fails.write && nr_composed >= fails.at ? fails.err : (ssize_t)len;
}

/* Called before each event. Writes earlier records and handles errors like trace_out_ring(). */
static int on_cpu(void *arg, uint32_t cpu)
{
	struct at_compose *c = arg;
	int err = at_compose_flush(c);

	(void)cpu;
	nr_composed++;
	no_memory = fails.memory && nr_composed == fails.at;
	if (!err && fails.on_cpu && nr_composed == fails.at)
		err = fails.err;
	if (err)
		at_compose_next(c, NULL);
	return err;
}

/* Gives a reading of the clock, so that the composer knows times up to @ns. */
static void give_clock(struct at_compose *c, uint32_t what, uint64_t ns)
{
	struct asynctrace_clock_pair pair = {
		.ticks = ns, .boottime = ns, .realtime = ns, .what = what,
	};
	struct asynctrace_chunk h = {
		.size = sizeof(h), .kind = ASYNCTRACE_CHUNK_CLOCK, .bytes = sizeof(pair),
	};

	assert_int_equal(at_compose_chunk(c, &h, &pair), 0);
}

/* Reads and composes all events. @expected: the result of ftrace_compose() */
static void assert_each_is_counted_once(int expected)
{
	struct ftrace_cpu accounts[CPUS] = { { 0 } };
	struct ftrace f = {
		.of = { { .tracefs = (void *)accounts, .cpus = accounts } },
		.clock = ASYNCTRACE_CLOCK_COUNTER, .nr_cpus = CPUS,
	};
	struct at_compose_options o = { .size = sizeof(o), .fd = -1, .write = write_or_fail };
	struct at_compose *c = at_compose_new(&o);
	struct at_compose_counts n;

	assert_non_null(c);
	give_clock(c, ASYNCTRACE_MOMENT_START, 500);
	give_clock(c, ASYNCTRACE_MOMENT_RUNNING, CLOCK);
	nr_composed = 0;
	ftrace_on_cpu(&f, on_cpu, c);
	assert_int_equal(ftrace_read(&f), 0);
	assert_int_equal(ftrace_compose(&f, c), expected);
	no_memory = false;
	ftrace_finish(&f, c);
	n = at_compose_stats(c)->total;
	assert_int_equal(n.delivered + n.unwritten, EVENTS + CPUS - 1);
	assert_int_equal(n.unwritten > CPUS - 1, expected != 0);
	at_compose_free(c);
	free(f.queue);
	memset(&fails, 0, sizeof(fails));
}

static void all_events_are_delivered(void **state)
{
	(void)state;
	assert_each_is_counted_once(0);
}

static void write_without_memory_counts_once(void **state)
{
	(void)state;
	fails = (typeof(fails)){ .write = true, .at = 7, .err = -ENOMEM };
	assert_each_is_counted_once(-ENOMEM);
}

static void filter_without_memory_counts_once(void **state)
{
	(void)state;
	fails = (typeof(fails)){ .on_cpu = true, .at = 7, .err = -ENOMEM };
	assert_each_is_counted_once(-ENOMEM);
}

static void full_disk_counts_once(void **state)
{
	(void)state;
	fails = (typeof(fails)){ .write = true, .at = 7, .err = -ENOSPC };
	assert_each_is_counted_once(-ENOSPC);
}

/* -EINVAL is also at_compose_add_tracepoint()'s result for a wrong event. */
static void invalid_write_counts_once(void **state)
{
	(void)state;
	fails = (typeof(fails)){ .write = true, .at = 7, .err = -EINVAL };
	assert_each_is_counted_once(-EINVAL);
}

static void thread_without_memory_counts_once(void **state)
{
	(void)state;
	fails = (typeof(fails)){ .memory = true, .at = 7 };
	assert_each_is_counted_once(-ENOMEM);
}

/* The composer has no account of the CPU then. */
static void ring_without_memory_counts_once(void **state)
{
	(void)state;
	fails = (typeof(fails)){ .memory = true, .at = 1 };
	assert_each_is_counted_once(-ENOMEM);
}

static void failed_reading_is_reported(void **state)
{
	struct ftrace f = { .of = { { .tracefs = (void *)&event } } };

	(void)state;
	read_error = EIO;
	assert_int_equal(ftrace_read(&f), -EIO);
	read_error = EAGAIN;
	assert_int_equal(ftrace_read(&f), 0);
	read_error = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_events_are_delivered),
		cmocka_unit_test(write_without_memory_counts_once),
		cmocka_unit_test(filter_without_memory_counts_once),
		cmocka_unit_test(full_disk_counts_once),
		cmocka_unit_test(invalid_write_counts_once),
		cmocka_unit_test(thread_without_memory_counts_once),
		cmocka_unit_test(ring_without_memory_counts_once),
		cmocka_unit_test(failed_reading_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
