// SPDX-License-Identifier: GPL-2.0
/* The list of live processes of asynctrace record, at its limit */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "record/record.h"

#define LIMIT	65536

static pid_t nr_processes;
static int proc_error;

/* --- stand-ins for the rest of the recorder -------------------------------------------------- */

int proc_for_each(const char *root, int (*fn)(void *arg, pid_t pid), void *arg)
{
	int err = 0;

	(void)root;
	for (pid_t pid = 1; pid <= nr_processes && !err; pid++)
		err = fn(arg, pid);
	return err ? err : proc_error;
}

int at_for_each_provider(struct at_ctl *ctl,
			 int (*fn)(const struct at_provider_info *provider, void *arg), void *arg)
{
	(void)ctl, (void)fn, (void)arg;
	return 0;
}

bool proc_is_ours(const char *root)
{
	(void)root;
	return true;
}

int proc_threads_open(struct proc_threads *t, const char *root, pid_t pid)
{
	(void)t, (void)root, (void)pid;
	return -ESRCH;
}

int proc_threads_next(struct proc_threads *t, struct proc_state *state)
{
	(void)t, (void)state;
	return 0;
}

void proc_threads_close(struct proc_threads *t)
{
	(void)t;
}

int at_compose_add_thread(struct at_compose *c, const struct at_compose_thread *t)
{
	(void)c, (void)t;
	return 0;
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

/* --- tests ---------------------------------------------------------------------------------- */

/*
 * Returns the summary of a recording while @processes processes live. @again: the processes are
 * listed again at the end, as in circular mode. The caller frees the summary.
 */
static char *summary(pid_t processes, int error, bool again)
{
	struct recorder r = { .opt.args.sched = ASYNCTRACE_SCHED_ALL };
	FILE *terminal = stderr;
	char *said;
	size_t length;

	nr_processes = processes;
	proc_error = error;
	assert_int_equal(record_start_listing(&r), 0);
	if (again)
		record_list_again(&r);
	stderr = open_memstream(&said, &length);
	record_listing_summary(&r);
	fclose(stderr);
	stderr = terminal;
	record_free_listing(&r);
	return said;
}

static void expect(pid_t processes, int error, const char *part)
{
	for (int again = 0; again < 2; again++) {
		char *text = summary(processes, error, again);

		if (part ? !strstr(text, part) : *text)
			fail_msg("no '%s' in: %s", part ? part : "", text);
		free(text);
	}
}

static void all_processes_up_to_the_limit_are_listed(void **state)
{
	(void)state;
	expect(LIMIT, 0, NULL);
}

static void processes_above_the_limit_are_counted(void **state)
{
	(void)state;
	expect(LIMIT + 1, 0, "Of 1 process, threads that slept all the time are not in the trace, because at most 65536 processes are listed at a time\n");
	expect(LIMIT + 70, 0, "Of 70 processes,");
}

static void other_reasons_are_named(void **state)
{
	(void)state;
	expect(1, -EACCES, "because /proc does not show them: Permission denied\n");
	expect(1, -ENOMEM, "because they could not be listed: Cannot allocate memory\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_processes_up_to_the_limit_are_listed),
		cmocka_unit_test(processes_above_the_limit_are_counted),
		cmocka_unit_test(other_reasons_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
