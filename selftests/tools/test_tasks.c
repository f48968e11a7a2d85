// SPDX-License-Identifier: GPL-2.0
/* Names of threads that change their names, end, or have the id of an earlier thread */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "ftrace/priv.h"

static time_t second = 1;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	(void)clock;
	*ts = (struct timespec){ .tv_sec = second };
	return 0;
}

static void pass_time(struct ftrace *f)
{
	second++;
	ftrace_renew_tasks(f);
}

static void expect(struct ftrace *f, pid_t tid, pid_t pid, const char *comm)
{
	const struct ftrace_task *t = ftrace_task(f, tid);

	assert_non_null(t);
	assert_int_equal(t->pid, pid);
	assert_string_equal(t->comm, comm);
}

static void new_name_of_a_thread_is_found(void **state)
{
	struct ftrace f = { 0 };

	(void)state;
	prctl(PR_SET_NAME, "first");
	ftrace_renew_tasks(&f);
	expect(&f, getpid(), getpid(), "first");
	prctl(PR_SET_NAME, "second");
	/* Each thread is looked up once a second at most. */
	ftrace_renew_tasks(&f);
	expect(&f, getpid(), getpid(), "first");
	pass_time(&f);
	expect(&f, getpid(), getpid(), "second");
	ftrace_tasks_free(&f);
}

static void name_of_an_ended_thread_stays(void **state)
{
	struct ftrace f = { 0 };
	pid_t child = fork();

	(void)state;
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	assert_true(child > 0);
	prctl(PR_SET_NAME, "parent");
	ftrace_renew_tasks(&f);
	ftrace_task(&f, child);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	pass_time(&f);
	assert_int_equal(ftrace_task(&f, child)->pid, child);
	assert_int_not_equal(ftrace_task(&f, child)->comm[0], 0);
	ftrace_tasks_free(&f);
}

/* The id of an ended thread, which a later look-up finds again as that of another process */
static void next_thread_of_an_id_is_found(void **state)
{
	struct ftrace f = { 0 };
	struct ftrace_task *t;

	(void)state;
	prctl(PR_SET_NAME, "later");
	ftrace_renew_tasks(&f);
	t = (struct ftrace_task *)ftrace_task(&f, getpid());
	t->pid = 1;
	strcpy(t->comm, "earlier");
	expect(&f, getpid(), 1, "earlier");
	pass_time(&f);
	expect(&f, getpid(), getpid(), "later");
	ftrace_tasks_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(new_name_of_a_thread_is_found),
		cmocka_unit_test(name_of_an_ended_thread_stays),
		cmocka_unit_test(next_thread_of_an_id_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
