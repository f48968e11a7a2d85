// SPDX-License-Identifier: GPL-2.0
/*
 * Threads that are cancelled where the library holds its lock: the macros are no
 * cancellation points, and no lock stays behind. Neither needs the module.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asynctrace/inprocess.h>
#include <asynctrace/trace.h>

#include "tape.h"

static bool passed_macro;

static void *cancelled_before(void *arg)
{
	pthread_cancel(pthread_self());
	TRACE_INSTANT("cancel", "first", TRACE_SCOPE_THREAD);
	passed_macro = true;
	pthread_testcancel();
	return arg;
}

/* In a child that has not traced yet. Exit status: a bit for each thing that is wrong. */
static int first_macro(void)
{
	pthread_t thread;
	void *result;
	int err, bad;

	alarm(60);
	pthread_create(&thread, NULL, cancelled_before, NULL);
	pthread_join(thread, &result);
	bad = !passed_macro;
	bad |= (result != PTHREAD_CANCELED) << 1;
	/* It returns, whatever it finds. */
	err = at_provider_register(NULL);
	bad |= (err && err != -ENOENT && err != -EACCES) << 2;
	return bad;
}

static void in_child(const char *name, int (*fn)(void))
{
	pid_t pid = fork();
	int status = -1;

	if (!pid)
		_exit(fn());
	check(waitpid(pid, &status, 0) == pid);
	check(WIFEXITED(status) && !WEXITSTATUS(status), "status %#x", status);
	done("%s", name);
}

static bool go_on;

static void *ask(void *arg)
{
	struct at_observed o = { .size = sizeof(o) };
	struct at_category c = { .name = "cancel", .description = "a test" };

	while (__atomic_load_n(&go_on, __ATOMIC_RELAXED)) {
		at_provider_register(NULL);
		at_provider_announce(&c, 1);
		at_provider_observe(&o);
		at_provider_fd();
		at_provider_unregister();
		pthread_testcancel();
	}
	return arg;
}

/* Each time, threads are somewhere in these functions when they are cancelled. */
static int all_functions(void)
{
	const int rounds = scale("CANCELS", 200);
	pthread_t threads[4];

	go_on = true;
	alarm(600);
	for (int i = 0; i < rounds; i++) {
		for (int t = 0; t < 4; t++)
			if (pthread_create(&threads[t], NULL, ask, NULL))
				return 1;
		for (int t = 0; t < 4; t++)
			pthread_cancel(threads[t]);
		for (int t = 0; t < 4; t++)
			pthread_join(threads[t], NULL);
	}
	at_provider_register(NULL);
	at_provider_unregister();
	return 0;
}

int main(void)
{
	in_child("I20_first_macro_cancelled_thread_leaves_no_lock", first_macro);
	in_child("I20_provider_functions_cancelled_leave_no_lock", all_functions);
	return finish();
}
