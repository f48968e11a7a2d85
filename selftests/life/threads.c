// SPDX-License-Identifier: GPL-2.0
/*
 * Cases of threads: they are cancelled at any instruction, their signal handlers trace and leave by
 * siglongjmp(3), and there are thousands of them
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include <asynctrace/operation.h>
#include <asynctrace/trace.h>

#include "life.h"

static pthread_key_t key;

/*
 * Writes a record, so that the path of the thread is known. Returns true if the thread uses the
 * fallback ring. If two threads write to that ring at once, one of them may drop its record.
 */
static bool uses_fallback(void)
{
	struct at_status_info st = { .size = sizeof(st) };

	life_write(1);
	at_status(&st);
	life->may_drop = st.path != ASYNCTRACE_PATH_RSEQ;
	return life->may_drop;
}

/* --- cancellation ------------------------------------------------------------------------ */

/*
 * Most records that a thread writes before it ends. A ring has room for that many from each thread
 * of a round.
 */
#define ENOUGH	3000

static uint32_t running;

static void write_last(void *arg)
{
	(void)arg;
	life_write(1);
}

static void *until_cancelled(void *arg)
{
	pthread_setspecific(key, &key);
	pthread_cleanup_push(write_last, NULL);
	__atomic_fetch_add(&running, 1, __ATOMIC_RELEASE);
	for (int i = 0;; i++) {
		if (i < ENOUGH)
			life_write(1);
		pthread_testcancel();
	}
	pthread_cleanup_pop(1);
	return arg;
}

/*
 * A cancelled thread writes all its records, because macros are no cancellation points, not even
 * the first one.
 */
static void *cancelled_before(void *arg)
{
	pthread_setspecific(key, &key);
	pthread_cancel(pthread_self());
	life_write(3);
	pthread_testcancel();
	return arg;
}

static void cancel_and_join(pthread_t *th, int n)
{
	void *ret;

	for (int i = 0; i < n; i++) {
		pthread_cancel(th[i]);
		pthread_join(th[i], &ret);
		if (ret != PTHREAD_CANCELED)
			life_fail("thread %d was not cancelled", i);
	}
}

static void cancellations(unsigned long rounds)
{
	pthread_t th[8];

	uses_fallback();
	LIFE_NEED(!pthread_key_create(&key, write_last));
	while (rounds--) {
		running = 0;
		for (int i = 0; i < 8; i++)
			LIFE_NEED(!pthread_create(&th[i], NULL, i % 2 ? until_cancelled :
						  cancelled_before, NULL));
		while (__atomic_load_n(&running, __ATOMIC_ACQUIRE) < 4)
			sched_yield();
		cancel_and_join(th, 8);
	}
	life_write(100);
}

static void *cancelled_anywhere(void *arg)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	__atomic_fetch_add(&running, 1, __ATOMIC_RELEASE);
	for (volatile int i = 0;; i++)
		if (i < ENOUGH)
			life_write(1);
	return arg;
}

/*
 * Cancels threads at any instruction, but not while they use the fallback ring. Such a
 * cancellation, or a jump out of a signal handler, may leave that ring locked. Rings of CPUs have
 * no lock.
 */
static void asynchronous(unsigned long rounds)
{
	pthread_t th[4];

	LIFE_NEED(!uses_fallback());
	/*
	 * The records of all rounds stay in the rings. Slow cancellations let the threads of each
	 * round write more of them, and the rings may become full.
	 */
	life->may_drop = true;
	while (rounds--) {
		running = 0;
		for (int i = 0; i < 4; i++)
			LIFE_NEED(!pthread_create(&th[i], NULL, cancelled_anywhere, NULL));
		while (__atomic_load_n(&running, __ATOMIC_ACQUIRE) < 4)
			sched_yield();
		usleep(rounds * 37 % 500);
		cancel_and_join(th, 4);
		life_write(100);
	}
}

/* --- signal handlers ---------------------------------------------------------------------- */

static void on_signal(int sig)
{
	const int saved = errno;

	life_write(1 + sig % 2);
	errno = saved;
}

static void set_timers(unsigned int us)
{
	const struct itimerval real = { { 0, us }, { 0, us } };
	const struct itimerval other = { { 0, 2 * us }, { 0, 2 * us } };

	setitimer(ITIMER_REAL, &real, NULL);
	setitimer(ITIMER_PROF, &other, NULL);
}

static uint32_t handlers_go_on;

static void *write_on(void *arg)
{
	for (int i = 0; __atomic_load_n(&handlers_go_on, __ATOMIC_RELAXED); i++)
		if (i < ENOUGH)
			life_write(1);
	return arg;
}

/* Signal handlers interrupt each other, and the first macro of new threads. */
static void handlers(unsigned long threads)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART | SA_NODEFER };
	pthread_t th[4];

	uses_fallback();
	sigaction(SIGALRM, &sa, NULL);
	sigaction(SIGPROF, &sa, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	set_timers(300);
	for (unsigned long i = 0; i < threads; i++) {
		handlers_go_on = 1;
		for (int k = 0; k < 4; k++)
			LIFE_NEED(!pthread_create(&th[k], NULL, write_on, NULL));
		for (int k = 0; k < 40; k++) {
			pthread_kill(th[k % 4], SIGUSR1);
			life_write(20);
		}
		__atomic_store_n(&handlers_go_on, 0, __ATOMIC_RELAXED);
		for (int k = 0; k < 4; k++)
			pthread_join(th[k], NULL);
	}
	set_timers(0);
}

static sigjmp_buf back;
static volatile sig_atomic_t jumps;

static void jump(int sig)
{
	(void)sig;
	life_write(1);
	jumps++;
	siglongjmp(back, 1);
}

/*
 * Writes records until a signal handler leaves this function, at any instruction of a macro, of a
 * scope or of a slow path. The scopes have the category "other", which no session records, because
 * a jump may leave their begins without ends.
 */
static void write_in_scopes(void)
{
	for (volatile int i = 0;; i++) {
		if (i < 30) {
			TRACE_OPERATION_SCOPE(7, "other", "scope");
			life_write(7);
		}
	}
}

static void long_jumps(unsigned long times)
{
	const struct sigaction sa = { .sa_handler = jump };
	struct at_entered here, left;

	LIFE_NEED(!uses_fallback());
	here = at_operation_here();
	sigaction(SIGALRM, &sa, NULL);
	if (!sigsetjmp(back, 1))
		setitimer(ITIMER_REAL, &(const struct itimerval){ { 0, 170 }, { 0, 170 } }, NULL);
	left = here;
	at_operation_leave(&left);
	if (at_operation_current())
		life_fail("jump %d: the thread still works on an operation", (int)jumps);
	if ((unsigned long)jumps < times)
		write_in_scopes();
	setitimer(ITIMER_REAL, &(const struct itimerval){ { 0, 0 }, { 0, 0 } }, NULL);
	life_write(100);
}

/* --- many threads ------------------------------------------------------------------------- */

static pthread_barrier_t all;

static void *one_of_many(void *arg)
{
	life_write(2);
	pthread_barrier_wait(&all);
	life_write(1);
	return arg;
}

static void many_threads(unsigned long most)
{
	const char *less = getenv("LIFE_THREADS");
	const unsigned long n = less ? strtoul(less, NULL, 0) : most;
	pthread_t *th = calloc(n, sizeof(*th));
	pthread_attr_t attr;

	uses_fallback();
	pthread_barrier_init(&all, NULL, n);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	for (unsigned long i = 0; i < n; i++) {
		errno = pthread_create(&th[i], &attr, one_of_many, NULL);
		LIFE_NEED(!errno);
	}
	for (unsigned long i = 0; i < n; i++)
		pthread_join(th[i], NULL);
	free(th);
	life->threads = life->may_drop ? 0 : n + 1;
}

const struct life_case life_thread_cases[] = {
	{ "cancelled_threads_are_exact", cancellations, 20, 0 },
	{ "cancellation_at_any_instruction_is_exact", asynchronous, 60, LIFE_RSEQ },
	{ "nested_signal_handlers_are_exact", handlers, 20, 0 },
	{ "siglongjmp_at_any_instruction_is_exact", long_jumps, 500, LIFE_RSEQ },
	{ "4096_threads_at_once_are_exact", many_threads, 4096, 0 },
};

const unsigned int life_nr_thread_cases = sizeof(life_thread_cases) / sizeof(life_thread_cases[0]);
