// SPDX-License-Identifier: GPL-2.0
/*
 * asynctrace record --cpu-time: whether a file ends as one of a session that has missed threads,
 * because then a thread without a switch did not have a CPU all the time
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/record.h"

/* The module's answer about the session */
static struct at_session_info session;
static int session_error;

/* Threads that the module misses while the recorder reads a snapshot */
static uint64_t missed_meanwhile;

/* Alerts that are pending, and files that have ended */
static unsigned int nr_alerts, nr_ended;
/* The last file that has ended counts as one of a session that has missed threads. */
static bool counts_as_missed;

/* --- stand-ins for the module, and for the rest of the recorder ------------------------------ */

int at_session_get(struct at_ctl *ctl, uint32_t id,
		   int (*fn)(const struct at_session_info *session, void *arg), void *arg)
{
	(void)ctl, (void)id;
	return session_error ? session_error : fn(&session, arg);
}

int at_session_open_snapshot(struct at_ctl *ctl, uint32_t id)
{
	const int fd = memfd_create("snapshot", 0);

	(void)ctl, (void)id;
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, "chunk", 5, 0), 5);
	return fd;
}

const char *at_ctl_error(const struct at_ctl *ctl)
{
	(void)ctl;
	return "as the test has it";
}

int at_notifications_open(struct at_notifications **n, uint32_t kinds, uint32_t id)
{
	(void)n, (void)kinds, (void)id;
	return 0;
}

const char *at_notifications_error(const struct at_notifications *n)
{
	(void)n;
	return "as the test has it";
}

int at_notifications_next(struct at_notifications *n, struct at_notification *alert)
{
	(void)n;
	if (!nr_alerts)
		return -EAGAIN;
	nr_alerts--;
	alert->alert = alert->name = "late";
	return 0;
}

int trace_out_open(struct trace_out *o)
{
	assert_true(o->cpu_time);
	return 0;
}

int trace_out_chunk(struct trace_out *o, const void *buffer, size_t got)
{
	(void)o, (void)buffer, (void)got;
	session.threads_missed += missed_meanwhile;
	return 0;
}

int trace_out_check(struct trace_out *o, int err)
{
	(void)o;
	return err;
}

int trace_out_settle(struct trace_out *o, uint64_t ns)
{
	(void)ns;
	counts_as_missed = o->missed;
	return 0;
}

int trace_out_finish(struct trace_out *o, bool goes_on)
{
	(void)goes_on;
	nr_ended++;
	counts_as_missed = o->missed;
	return 0;
}

void trace_out_free(struct trace_out *o)
{
	(void)o;
}

const char *trace_out_name(const struct trace_out *o)
{
	return o->path;
}

uint64_t cputime_known(const struct cputime *c)
{
	(void)c;
	return 0;
}

uint64_t cputime_unknown(const struct cputime *c)
{
	(void)c;
	return 0;
}

int record_rest_throttling(struct recorder *r)
{
	(void)r;
	return 0;
}

int record_copy_throttling(const struct recorder *r, struct at_compose *c)
{
	(void)r, (void)c;
	return 0;
}

int record_copy_listing(const struct recorder *r, struct at_compose *c)
{
	(void)r, (void)c;
	return 0;
}

void record_list_again(struct recorder *r)
{
	(void)r;
}

void record_line_clear(const struct recorder *r)
{
	(void)r;
}

/* --- tests ---------------------------------------------------------------------------------- */

static char chunk[ASYNCTRACE_READ_MIN];

static struct recorder recorder(void)
{
	return (struct recorder){
		.opt = {
			.triggers = { { .alert = "late", .snapshot = true } },
			.nr_triggers = 1, .snapshots = true,
		},
		.out = { .path = "t.fxt", .cpu_time = true },
		.alerts = (struct at_notifications *)&session, .buffer = chunk,
	};
}

static void at_snapshot(struct recorder *r)
{
	nr_alerts = 1;
	nr_ended = 0;
	assert_int_equal(record_take_alerts(r), 1);
	assert_int_equal(nr_ended, 1);
}

static void at_round(struct recorder *r)
{
	record_begin_round(r);
	assert_int_equal(record_end_round(r, true), 0);
}

static void at_end(struct recorder *r)
{
	record_finish_cpu_time(r, &r->out);
	trace_out_finish(&r->out, false);
}

static void at_end_of_gone_session(struct recorder *r)
{
	r->ended = true;
	at_end(r);
}

static void files_know_that_threads_are_missed(void **state)
{
	static const struct {
		const char *what;
		void (*write)(struct recorder *r);
		uint64_t missed, meanwhile;
		int error;
		bool counts;
	} rows[] = {
		{ "round", at_round, 0, 0, 0, false },
		{ "round, one is missed", at_round, 1, 0, 0, true },
		{ "round, session is gone", at_round, 0, 0, -ENOENT, true },
		{ "snapshot", at_snapshot, 0, 0, 0, false },
		{ "snapshot, many are missed", at_snapshot, 1ULL << 32, 0, 0, true },
		{ "snapshot, one is missed meanwhile", at_snapshot, 0, 1, 0, true },
		{ "snapshot, session is gone", at_snapshot, 0, 0, -ENOENT, true },
		{ "end", at_end, 0, 0, 0, false },
		{ "end, one is missed", at_end, 1, 0, 0, true },
		{ "end, session is gone", at_end_of_gone_session, 0, 0, -ENOENT, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct recorder r = recorder();

		session = (struct at_session_info){ .threads_missed = rows[i].missed };
		session_error = rows[i].error;
		missed_meanwhile = rows[i].meanwhile;
		counts_as_missed = !rows[i].counts;
		rows[i].write(&r);
		if (counts_as_missed != rows[i].counts)
			fail_msg("%s: the file %s as one with missed threads", rows[i].what,
				 counts_as_missed ? "counts" : "does not count");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_know_that_threads_are_missed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
