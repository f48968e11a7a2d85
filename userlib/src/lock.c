// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The back end's lock: one holder at a time changes at_hot, the gate and the
 * registration
 *
 * The holder blocks all signals and disables cancellation. So no signal handler
 * and no cleanup handler of the program runs under the lock, and no thread ends
 * while it holds it.
 *
 * The lock lies in a page that the kernel clears in a forked child: a lock that
 * another thread of the parent held is free there, however the child was made.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

/* One holder is waited for so long, by all of its waiters together. */
#define AT_PATIENCE_NS	1000000000ull

enum { FREE, HELD, WAITED_FOR };

struct lock_page {
	uint32_t state;
	uint32_t hopeless;	/* the present holder was waited for too long */
	uint32_t known;		/* this process has held the lock before */
};

static struct lock_page *page;
/* If there is no memory for a page: not cleared in a forked child. */
static struct lock_page without_page;

/* Of the holder, to be restored. */
static uint64_t held_signals;
static int held_cancel;

static struct lock_page *the_page(void)
{
	struct lock_page *p = __atomic_load_n(&page, __ATOMIC_ACQUIRE), *other = NULL;

	if (p)
		return p;
	p = at_mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		p = &without_page;
	else
		madvise(p, at_page_size(), MADV_WIPEONFORK);
	if (__atomic_compare_exchange_n(&page, &other, p, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return p;
	if (p != &without_page)
		munmap(p, at_page_size());
	return other;
}

static void set_signals(const uint64_t *set, uint64_t *old)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, set, old, sizeof(*set));
}

bool at_backend_trylock(void)
{
	struct lock_page *p = the_page();
	const uint64_t all = ~0ull;
	uint32_t state = FREE;
	uint64_t signals;
	int cancel;

	set_signals(&all, &signals);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (!__atomic_compare_exchange_n(&p->state, &state, HELD, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED)) {
		set_signals(&signals, NULL);
		pthread_setcancelstate(cancel, NULL);
		return false;
	}
	held_signals = signals;
	held_cancel = cancel;
	if (!p->known) {
		at_names_forked();
		at_fallback_forked();
		at_module_forked();
		p->known = 1;
	}
	return true;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Sleeps until the lock is free; after @limit ns, unless that is 0, returns false. */
static bool wait_free(struct lock_page *p, uint64_t limit)
{
	const uint64_t end = limit ? now_ns() + limit : 0;
	uint32_t state;

	while ((state = __atomic_load_n(&p->state, __ATOMIC_RELAXED)) != FREE) {
		struct timespec ts = { .tv_sec = 1 };

		if (limit) {
			const uint64_t now = now_ns();

			if (now >= end || __atomic_load_n(&p->hopeless, __ATOMIC_RELAXED))
				return false;
			ts.tv_sec = (end - now) / 1000000000;
			ts.tv_nsec = (end - now) % 1000000000;
		}
		if (state == HELD &&
		    !__atomic_compare_exchange_n(&p->state, &state, WAITED_FOR, false,
						 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		syscall(SYS_futex, &p->state, FUTEX_WAIT_PRIVATE, WAITED_FOR, &ts, NULL, 0);
	}
	return true;
}

bool at_backend_wait(void)
{
	struct lock_page *p = the_page();

	if (wait_free(p, AT_PATIENCE_NS))
		return true;
	__atomic_store_n(&p->hopeless, 1, __ATOMIC_RELAXED);
	return false;
}

void at_backend_lock(void)
{
	while (!at_backend_trylock())
		wait_free(the_page(), 0);
}

void at_backend_release(void)
{
	struct lock_page *p = the_page();
	const uint64_t signals = held_signals;
	const int cancel = held_cancel;

	__atomic_store_n(&p->hopeless, 0, __ATOMIC_RELAXED);
	if (__atomic_exchange_n(&p->state, FREE, __ATOMIC_RELEASE) == WAITED_FOR)
		syscall(SYS_futex, &p->state, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
	set_signals(&signals, NULL);
	pthread_setcancelstate(cancel, NULL);
}

void at_backend_unlock(void)
{
	at_backend_release();
	at_missed_settle();
}

void at_backend_forked(void)
{
	*the_page() = (struct lock_page){ FREE };
}
