// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The back end's lock: its holder may change at_hot, the gate and the registration
 *
 * The holder blocks signals and disables cancellation. So neither a signal handler nor a cleanup
 * handler of the program runs under the lock. Signals that the kernel forces on a thread are not
 * blocked, because the kernel would kill the process. If a handler of such a signal traces, its
 * records count as missed.
 *
 * The lock is in a page that the kernel clears in a forked child. A lock that another thread of
 * the parent held is free in the child, whatever call made the child.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#include <asynctrace/detail/operation.h>

#include "internal.h"
#include "sys.h"

/* All waiters together wait at most this long for one holder. */
#define AT_PATIENCE_NS	1000000000ull
/* Interval at which a waiter checks that the holder is still alive. */
#define AT_LOOK_NS	100000000ull

/* The lock word: 0, or the holder's thread id and these flags. */
#define AT_LOCK_WAITERS	0x80000000u
#define AT_LOCK_HOPELESS 0x40000000u	/* waiters have given up */
#define AT_LOCK_TID	0x3fffffffu

/**
 * struct lock_page - state that a forked child must not inherit
 * @word: the lock
 * @pid: the process, if the kernel does not clear the page in a child
 * @known: this process has held the lock before
 * @salt: salt of this process's ids; 0: none yet
 */
struct lock_page {
	uint32_t word;
	uint32_t pid;
	uint32_t known;
	uint32_t salt;
};

static struct lock_page *page;
static const uint32_t no_salt;

AT_PUBLIC const uint32_t *at_salted_ = &no_salt;

/* Used if mmap() fails. A forked child inherits its state. */
static struct lock_page without_page;

/* Signal mask and cancel state of the holder, restored on release. */
static uint64_t held_signals;
static int held_cancel;

static struct lock_page *make_page(void)
{
	struct lock_page *p, *other = NULL;

	p = at_mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		p = &without_page;
	if (p == &without_page || at_sys_madvise(p, at_page_size(), MADV_WIPEONFORK))
		p->pid = at_sys_getpid();
	if (__atomic_compare_exchange_n(&page, &other, p, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE)) {
		/* Elsewhere, a forked child would find the salt of its parent. */
		if (!p->pid)
			__atomic_store_n(&at_salted_, &p->salt, __ATOMIC_RELEASE);
		return p;
	}
	if (p != &without_page)
		at_sys_munmap(p, at_page_size());
	return other;
}

static struct lock_page *the_page(void)
{
	struct lock_page *p = __atomic_load_n(&page, __ATOMIC_ACQUIRE);
	uint32_t pid;

	if (!p)
		p = make_page();
	pid = __atomic_load_n(&p->pid, __ATOMIC_RELAXED);
	/* Without MADV_WIPEONFORK, the child finds the page of its parent: clear it. */
	if (pid && pid != at_sys_getpid() &&
	    __atomic_compare_exchange_n(&p->pid, &pid, at_sys_getpid(), false,
					__ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
		p->known = 0;
		__atomic_store_n(&p->salt, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&p->word, 0, __ATOMIC_RELEASE);
	}
	return p;
}

bool at_backend_trylock(void)
{
	struct lock_page *p = the_page();
	uint32_t word = 0;
	uint64_t signals;
	int cancel;

	at_signals_block(&signals);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (!__atomic_compare_exchange_n(&p->word, &word, at_sys_gettid(), false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED)) {
		at_signals_restore(&signals);
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

	at_sys_clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void wake_all(struct lock_page *p)
{
	at_sys_futex(&p->word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL);
}

/* Sleeps until the lock word changes, at most AT_LOOK_NS. */
static void sleep_on(struct lock_page *p, uint32_t word)
{
	const struct timespec ts = { .tv_nsec = AT_LOOK_NS };

	if (!(word & AT_LOCK_WAITERS) &&
	    !__atomic_compare_exchange_n(&p->word, &word, word | AT_LOCK_WAITERS, false,
					 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	word |= AT_LOCK_WAITERS;
	at_sys_futex(&p->word, FUTEX_WAIT_PRIVATE, word, &ts);
	/* A thread that was killed alone, as seccomp can do, leaves the lock held. */
	if (at_sys_tkill(word & AT_LOCK_TID, 0) && errno == ESRCH &&
	    __atomic_compare_exchange_n(&p->word, &word, 0, false, __ATOMIC_RELAXED,
					__ATOMIC_RELAXED))
		wake_all(p);
}

bool at_backend_wait(void)
{
	struct lock_page *p = the_page();
	const uint32_t self = at_sys_gettid();
	const uint64_t end = now_ns() + AT_PATIENCE_NS;
	uint32_t word;

	while ((word = __atomic_load_n(&p->word, __ATOMIC_RELAXED))) {
		if (word & AT_LOCK_HOPELESS || (word & AT_LOCK_TID) == self)
			return false;
		if (now_ns() < end)
			sleep_on(p, word);
		else if (__atomic_compare_exchange_n(&p->word, &word, word | AT_LOCK_HOPELESS,
						     false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			wake_all(p);
	}
	return true;
}

void at_backend_lock(void)
{
	struct lock_page *p = the_page();
	uint32_t word;

	while (!at_backend_trylock()) {
		word = __atomic_load_n(&p->word, __ATOMIC_RELAXED);
		if (word)
			sleep_on(p, word);
	}
}

void at_backend_release(void)
{
	struct lock_page *p = the_page();
	const uint64_t signals = held_signals;
	const int cancel = held_cancel;

	if (__atomic_exchange_n(&p->word, 0, __ATOMIC_RELEASE) & AT_LOCK_WAITERS)
		wake_all(p);
	at_signals_restore(&signals);
	pthread_setcancelstate(cancel, NULL);
}

void at_backend_forked(void)
{
	struct lock_page *p = the_page();

	p->known = 0;
	p->salt = 0;
	__atomic_store_n(&p->word, 0, __ATOMIC_RELEASE);
}

uint32_t *at_salt_word(void)
{
	return &the_page()->salt;
}
