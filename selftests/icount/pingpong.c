// SPDX-License-Identifier: GPL-2.0
/* Two tasks that pass a byte, or only the CPU, to each other */
#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asynctrace/operation.h>

#include "pingpong.h"

/**
 * struct pair_shared - a page that both tasks share
 * @ready: the partner has its priority
 * @yielding: while true, the partner does not sleep
 * @work: enum work
 * @working: enum work of the partner
 */
struct pair_shared {
	volatile bool ready;
	volatile bool yielding;
	volatile int work;
	volatile int working;
};

#define PRIORITY	10

/*
 * Makes the task a real-time task: then only another real-time task can interfere, and the moment
 * of preemption is certain.
 */
static void be_realtime(int priority)
{
	struct sched_param param = { .sched_priority = priority };

	if (sched_setscheduler(0, priority ? SCHED_FIFO : SCHED_OTHER, &param))
		err(1, "sched_setscheduler");
}

static void put(int fd)
{
	char byte = 0;

	if (write(fd, &byte, 1) != 1)
		err(1, "write to a pipe");
}

static bool get(int fd)
{
	char byte;

	return read(fd, &byte, 1) == 1;
}

/* An operation stays entered when the function returns. */
static void begin_work(enum work work)
{
	static __thread struct at_entered entered;
	static __thread bool inside;

	if (work != WORK_NONE)
		TRACE_INSTANT("icount", "work", TRACE_SCOPE_THREAD);
	if (inside)
		at_operation_leave(&entered);
	inside = work == WORK_OPERATION;
	if (inside)
		at_operation_enter(&entered, 4711);
}

static void *partner(void *arg)
{
	struct pair *p = arg;

	be_realtime(p->pattern == PATTERN_HALF ? PRIORITY + 1 : PRIORITY);
	p->shared->ready = true;
	while (get(p->to[0])) {
		if (p->shared->work != p->shared->working) {
			begin_work(p->shared->work);
			p->shared->working = p->shared->work;
		}
		if (p->pattern == PATTERN_YIELD)
			while (p->shared->yielding)
				sched_yield();
		else
			put(p->from[1]);
	}
	return NULL;
}

void pair_start(struct pair *p, enum pattern pattern, bool process)
{
	p->pattern = pattern;
	p->process = 0;
	if (pipe2(p->to, O_CLOEXEC) || pipe2(p->from, O_CLOEXEC))
		err(1, "pipe2");
	p->shared = mmap(NULL, sizeof(*p->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p->shared == MAP_FAILED)
		err(1, "mmap");
	if (process) {
		p->process = fork();
		if (p->process < 0)
			err(1, "fork");
		if (!p->process) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(p->to[1]);
			partner(p);
			_exit(0);
		}
	} else if (pthread_create(&p->thread, NULL, partner, p)) {
		errx(1, "cannot create a thread");
	}
	while (!p->shared->ready)
		usleep(1000);
}

void pair_stop(struct pair *p)
{
	close(p->to[1]);
	if (p->process)
		waitpid(p->process, NULL, 0);
	else
		pthread_join(p->thread, NULL);
	close(p->to[0]);
	close(p->from[0]);
	close(p->from[1]);
	munmap(p->shared, sizeof(*p->shared));
}

static void round_trip(struct pair *p)
{
	if (p->pattern == PATTERN_YIELD) {
		sched_yield();
		return;
	}
	put(p->to[1]);
	if (!get(p->from[0]))
		errx(1, "the partner is gone");
}

void pair_work(struct pair *p, enum work work)
{
	begin_work(work);
	if ((int)work == p->shared->working)
		return;
	p->shared->work = work;
	put(p->to[1]);
	if (p->pattern != PATTERN_YIELD && !get(p->from[0]))
		errx(1, "the partner is gone");
	while (p->shared->working != (int)work)
		usleep(1000);
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * Returns the mean of the rounds without interrupts. The counter is exact: rounds are equal within
 * a few hundred instructions, or an interrupt adds thousands.
 */
static double undisturbed(uint32_t *ticks, unsigned int rounds)
{
	uint64_t sum = 0;
	unsigned int n;

	qsort(ticks, rounds, sizeof(*ticks), compare);
	for (n = 0; n < rounds && ticks[n] < ticks[rounds / 2] + 1000; n++)
		sum += ticks[n];
	if (rounds - n > rounds / 50)
		errx(1, "%u of %u rounds were interrupted", rounds - n, rounds);
	return (double)sum / n;
}

/*
 * Other tasks cannot run beside real-time tasks. Let them run between batches, because a waiting
 * kernel thread makes the scheduler take another path.
 */
static void play(struct pair *p, uint32_t *ticks)
{
	uint64_t begin, end;

	usleep(20000);
	be_realtime(PRIORITY);
	if (p->pattern == PATTERN_YIELD) {
		p->shared->yielding = true;
		put(p->to[1]);
	}
	/* In the first rounds the partner may still be at another point of its loop. */
	for (unsigned int i = 0; i < WARM_UP; i++)
		round_trip(p);
	begin = counter();
	for (unsigned int i = 0; i < BATCH; i++) {
		round_trip(p);
		end = counter();
		ticks[i] = end - begin;
		begin = end;
	}
	p->shared->yielding = false;
	be_realtime(0);
}

double pair_rounds(struct pair *p)
{
	static uint32_t ticks[ROUNDS];

	play(p, ticks);
	for (unsigned int i = 0; i < ROUNDS; i += BATCH)
		play(p, ticks + i);
	return undisturbed(ticks, ROUNDS);
}

bool counter_counts_instructions(void)
{
	const uint64_t turns = 10000;
	uint64_t left = turns, begin = counter(), ticks;

	__asm__ volatile("1: dec %0; jnz 1b" : "+r" (left) : : "cc");
	ticks = counter() - begin;
	/* A timer interrupt takes some thousand instructions. */
	return ticks >= 2 * turns && ticks < 2 * turns + 20000;
}
