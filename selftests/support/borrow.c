// SPDX-License-Identifier: GPL-2.0
/*
 * Processes that use the thread-local storage of sleeping threads
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../userlib/src/writer/internal.h"
#include "borrow.h"
#include "common.h"

#define STACK		(64 << 10)
/* The C library registers __rseq_size bytes, but not less than the first version had. */
#define RSEQ_BYTES	32

static int rseq(char *tp, int flags)
{
	const unsigned int size = __rseq_size < RSEQ_BYTES ? RSEQ_BYTES : __rseq_size;

	return syscall(SYS_rseq, tp + __rseq_offset, size, flags, RSEQ_SIG);
}

/* Unregisters the thread's struct rseq, so that the borrower can use it, and sleeps. */
static void *lender(void *arg)
{
	struct borrow *b = arg;
	char *tp = __builtin_thread_pointer();

	if (__rseq_size)
		must(!rseq(tp, RSEQ_FLAG_UNREGISTER));
	b->self = &at_thread;
	__atomic_store_n(&b->tp, tp, __ATOMIC_RELEASE);
	for (;;)
		pause();
	return NULL;
}

void borrow_make(struct borrow *b)
{
	sigset_t all, old;
	pthread_t thread;

	memset(b, 0, sizeof(*b));
	b->stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(b->stack != MAP_FAILED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	must(!pthread_create(&thread, NULL, lender, b));
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	while (!__atomic_load_n(&b->tp, __ATOMIC_ACQUIRE))
		sleep_us(200);
}

static int child(void *arg)
{
	struct borrow *b = arg;
	struct rseq *area = (struct rseq *)(b->tp + __rseq_offset);

	if (__rseq_size && b->rseq == BORROW_RSEQ) {
		if (rseq(b->tp, 0))
			_exit(98);
	} else if (__rseq_size && b->rseq == BORROW_FAKE) {
		area->rseq_cs = 0;
		area->cpu_id = area->cpu_id_start = sched_getcpu();
	}
	b->fn(b->arg);
	_exit(0);
}

pid_t borrow_spawn(struct borrow *b, enum borrow_rseq rseq, void (*fn)(void *), void *arg)
{
	struct rseq *area = (struct rseq *)(b->tp + __rseq_offset);
	struct at_thread fresh = { .cpu = -1 };
	pid_t pid;

	/* Reset the state that the previous borrower left in the thread. */
	memcpy(b->self, &fresh, sizeof(fresh));
	if (__rseq_size) {
		area->rseq_cs = 0;
		area->cpu_id_start = 0;
		area->cpu_id = -2;	/* RSEQ_CPU_ID_REGISTRATION_FAILED */
	}
	b->rseq = rseq;
	b->fn = fn;
	b->arg = arg;
	pid = clone(child, b->stack + STACK, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SETTLS |
		    SIGCHLD, b, NULL, b->tp, NULL);
	must(pid > 0);
	return pid;
}
