// SPDX-License-Identifier: GPL-2.0
/* Providers that asynctrace record finds without reading the session: each is watched once */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "record/record.h"

#define SESSION	7

static const struct at_provider_info *listed;
static size_t nr_listed;
static char watched[256];	/* the processes that ftrace_watch() got */

/* --- stand-ins for the rest of the recorder ------------------------------------------------ */

int at_for_each_provider(struct at_ctl *ctl,
			 int (*fn)(const struct at_provider_info *provider, void *arg), void *arg)
{
	(void)ctl;
	for (size_t i = 0; i < nr_listed; i++)
		assert_int_equal(fn(&listed[i], arg), 0);
	return 0;
}

int ftrace_watch(struct ftrace *f, pid_t pid)
{
	const size_t used = strlen(watched);

	(void)f;
	snprintf(watched + used, sizeof(watched) - used, "%d ", (int)pid);
	return 0;
}

struct quotas *quotas_new(const char *root, uint64_t (*now)(void))
{
	(void)root, (void)now;
	return (struct quotas *)watched;
}

void quotas_free(struct quotas *q)
{
	(void)q;
}

int quotas_watch(struct quotas *q, pid_t pid)
{
	(void)q, (void)pid;
	return 0;
}

size_t quotas_nr(const struct quotas *q)
{
	(void)q;
	return 0;
}

int quotas_read(struct quotas *q, int (*grown)(void *arg, const struct quota_growth *g), void *arg)
{
	(void)q, (void)grown, (void)arg;
	return 0;
}

/* No cgroup has a quota here, so nothing is composed. */
int at_compose_add_counter(struct at_compose *c, const struct at_compose_counter *counter)
{
	(void)c, (void)counter;
	fail();
	return 0;
}

const struct at_compose_stats *at_compose_stats(struct at_compose *c)
{
	(void)c;
	return NULL;
}

int trace_out_check(struct trace_out *o, int err)
{
	(void)o;
	return err;
}

int trace_out_flush(struct trace_out *o)
{
	(void)o;
	return 0;
}

bool session_args_is_small(const struct session_args *a, const struct at_provider_info *p)
{
	(void)a, (void)p;
	return false;
}

void session_args_tell_small(const struct session_args *a, const struct at_provider_info *p)
{
	(void)a, (void)p;
}

void record_line_clear(const struct recorder *r)
{
	(void)r;
}

void ftrace_close(struct ftrace *f)
{
	(void)f;
}

void record_list_provider(struct recorder *r, uint32_t id, uint64_t serial, pid_t pid)
{
	(void)r, (void)id, (void)serial, (void)pid;
}

/* --- tests --------------------------------------------------------------------------------- */

static const struct at_provider_info providers[] = {
	{ .session = SESSION, .serial = 1, .pid = 101 },
	{ .session = SESSION + 1, .serial = 2, .pid = 102 },
	{ .session = SESSION, .serial = 3 },
	{ .session = SESSION, .serial = 4, .pid = 104 },
	{ .session = SESSION, .serial = 5, .pid = 101 },
};

/* Begins a recording of tracepoints while the first @nr providers are registered. */
static void begin(struct recorder *r, uint32_t sched, size_t nr)
{
	*r = (struct recorder){
		.session = SESSION, .ftrace = (struct ftrace *)watched, .opt.args.sched = sched,
		.opt.args.mode = ASYNCTRACE_MODE_CIRCULAR,
	};
	listed = providers;
	nr_listed = nr;
	*watched = '\0';
	assert_int_equal(record_start_throttling(r), 0);
}

static void end(struct recorder *r)
{
	record_free_throttling(r);
	record_free_tracepoints(r);
}

static void poll_list(struct recorder *r)
{
	r->throttling.next_list = record_now();
	assert_int_equal(record_poll_throttling(r), 0);
}

static void providers_of_the_session_are_watched(void **state)
{
	struct recorder r;

	(void)state;
	begin(&r, ASYNCTRACE_SCHED_TARGETS, 3);
	assert_string_equal(watched, "101 ");
	end(&r);
}

static void late_provider_is_watched_once(void **state)
{
	struct recorder r;

	(void)state;
	begin(&r, ASYNCTRACE_SCHED_OFF, 1);
	nr_listed = 4;
	poll_list(&r);
	assert_string_equal(watched, "101 104 ");
	poll_list(&r);
	assert_string_equal(watched, "101 104 ");
	/* A process that registers again may have threads that were not watched. */
	nr_listed = 5;
	poll_list(&r);
	assert_string_equal(watched, "101 104 101 ");
	end(&r);
}

static void recording_of_all_threads_watches_none(void **state)
{
	struct recorder r;

	(void)state;
	begin(&r, ASYNCTRACE_SCHED_ALL, 5);
	assert_string_equal(watched, "");
	end(&r);
}

/* The module reports a late provider. The list of it does not wait for the usual pause. */
static void reported_provider_is_listed_soon(void **state)
{
	struct recorder r;
	double next;

	(void)state;
	begin(&r, ASYNCTRACE_SCHED_TARGETS, 1);
	for (int i = 0; i < 10; i++)
		poll_list(&r);
	next = record_next_throttling(&r);
	assert_true(next - r.throttling.earliest_list >= 0.99);
	record_list_soon(&r);
	next = record_next_throttling(&r);
	assert_true(next == r.throttling.earliest_list);
	/* A second report does not delay the list. */
	record_list_soon(&r);
	assert_true(record_next_throttling(&r) == next);
	end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(providers_of_the_session_are_watched),
		cmocka_unit_test(late_provider_is_watched_once),
		cmocka_unit_test(recording_of_all_threads_watches_none),
		cmocka_unit_test(reported_provider_is_listed_soon),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
