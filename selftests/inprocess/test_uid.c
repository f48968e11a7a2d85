// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of unique ids: all users of an id get the same number, and different ids have different
 * numbers
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>

#include <asynctrace/operation.h>
#include <asynctrace/probe.h>

#include "tape.h"

static void *take_number(void *arg)
{
	return (void *)(uintptr_t)at_uid_get(arg);
}

static void share(void)
{
	struct at_uid uid = ASYNCTRACE_UID_INIT, copy = at_uid_share(&uid), second;
	pthread_t th;
	void *other;

	check(uid.number_ && copy.number_ == uid.number_);
	second = at_uid_share(&copy);
	pthread_create(&th, NULL, take_number, &second);
	pthread_join(th, &other);
	check((uintptr_t)other == at_uid_get(&uid));
	done("U8_shared_id_has_its_number_in_a_thread");
}

#define THREADS		32
#define IDS		2000

static struct at_uid uids[THREADS][IDS];

static void *take_numbers(void *arg)
{
	struct at_uid *mine = arg;

	for (int i = 0; i < IDS; i++)
		at_uid_get(&mine[i]);
	return NULL;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void unique(void)
{
	uint64_t *const all = &uids[0][0].number_;
	struct at_operation op;
	unsigned int twice = 0;
	pthread_t th[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&th[i], NULL, take_numbers, uids[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(th[i], NULL);
	qsort(all, THREADS * IDS, sizeof(*all), by_number);
	for (int i = 1; i < THREADS * IDS; i++)
		twice += all[i] == all[i - 1];
	check(all[0] && !twice, "%u numbers twice", twice);
	at_operation_begin(&op, "operation", "op");
	check(!bsearch(&op.id, all, THREADS * IDS, sizeof(*all), by_number));
	done("U9_numbers_are_unique_with_32_threads");
}

/* Only x86-64 lets a program set a flag that raises a signal after each instruction. */
#if defined(__x86_64__)
#define TRAP_FLAG	0x100

static struct at_uid stepped;
static volatile long step, stop_at;
static volatile uint64_t inner;

static void on_step(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	(void)info;
	if (++step < stop_at)
		return;
	uc->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
	if (step == stop_at)
		inner = at_uid_get(&stepped);
}

/*
 * Interrupts a call of at_uid_get() before its instruction @n with another call for the same id.
 * Returns false if the first call has fewer instructions.
 */
static bool step_to(long n)
{
	uint64_t outer;

	stepped = (struct at_uid)ASYNCTRACE_UID_INIT;
	step = 0;
	inner = 0;
	stop_at = n;
	/* The compiler does not know that the flag makes a handler run. */
	__asm__ volatile("" : : : "memory");
	__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | TRAP_FLAG);
	outer = at_uid_get(&stepped);
	__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~TRAP_FLAG);
	check(!inner || inner == outer, "at instruction %ld", n);
	check(outer == stepped.number_);
	return inner;
}

static void shared_by_pointer(void)
{
	struct sigaction sa = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };
	long n = 1;

	sigaction(SIGTRAP, &sa, NULL);
	while (step_to(n))
		n++;
	signal(SIGTRAP, SIG_DFL);
	check(n > 20, "%ld instructions", n);
	done("U10_users_that_share_an_id_get_one_number");
}
#endif

int main(void)
{
	share();
	unique();
#if defined(__x86_64__)
	shared_by_pointer();
#endif
	return finish();
}
