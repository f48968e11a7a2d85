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
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <asynctrace/detail/operation.h>

#include "internal.h"
#include "sys.h"

/*
 * One waiter, the watcher, looks at the holder at this interval. If the CPUs are busy, the watcher
 * runs as rarely as the holder. So the waiters give up after a number of looks, not after a time.
 */
#define AT_LOOK_NS	100000000ull
/* Looks without progress of the holder, after which all waiters give up. */
#define AT_PATIENCE	10
/*
 * If the holder is busy, the waiters give up only after this number of looks without a step. A
 * system call of the holder may take long, and a thousand other threads may need the CPUs and the
 * kernel's lock of the process's memory.
 */
#define AT_PATIENCE_BUSY	50
/* If the watcher does not look again within this time, another waiter becomes the watcher. */
#define AT_WATCH_NS	1000000000ull
/*
 * The other waiters sleep until the lock is free. They wake up only to replace a watcher that is
 * gone: first after AT_WATCH_NS, then more rarely. A thousand waiters that wake up more often would
 * take the CPUs from the holder.
 */
#define AT_SLEEP_NS_MAX	4000000000ull

/* The lock word: 0, or the holder's thread id and these flags. */
#define AT_LOCK_WAITERS	0x80000000u
#define AT_LOCK_HOPELESS 0x40000000u	/* waiters have given up */
#define AT_LOCK_TID	0x3fffffffu

/**
 * struct lock_page - state that a forked child must not inherit
 * @word: the lock
 * @pid: the process, if the kernel does not clear the page in a child
 * @known: this process has held the lock before
 * @steps: changes when the holder makes a step
 * @seen: @steps at the last look
 * @looks: looks since @steps changed
 * @watched: CLOCK_MONOTONIC time until which a waiter watches the holder
 */
struct lock_page {
	uint32_t word;
	uint32_t pid;
	uint32_t known;
	uint32_t steps;
	uint32_t seen;
	uint32_t looks;
	uint64_t watched;
};

static struct lock_page *page;

/* Replaces the page if mmap() fails. A forked child finds the parent in @pid, and clears it. */
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
					__ATOMIC_ACQUIRE))
		return p;
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
		__atomic_store_n(&p->watched, 0, __ATOMIC_RELAXED);
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

	/*
	 * Check the lock first to save the system calls: while another thread registers, each
	 * record comes here.
	 */
	if (__atomic_load_n(&p->word, __ATOMIC_RELAXED))
		return false;
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
	at_backend_step();
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

/* Sleeps until the lock word changes, at most @ns. */
static void sleep_on(struct lock_page *p, uint32_t word, uint64_t ns)
{
	const struct timespec ts = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	if (!(word & AT_LOCK_WAITERS) &&
	    !__atomic_compare_exchange_n(&p->word, &word, word | AT_LOCK_WAITERS, false,
					 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	at_sys_futex(&p->word, FUTEX_WAIT_PRIVATE, word | AT_LOCK_WAITERS, &ts);
}

/*
 * Makes the calling thread the watcher if there is none, and returns true if it is the watcher.
 * @own: in, out: the value that this thread stored last in @p->watched; 0: none
 */
static bool watch(struct lock_page *p, uint64_t *own)
{
	const uint64_t now = now_ns();
	uint64_t until = __atomic_load_n(&p->watched, __ATOMIC_RELAXED);

	if (until != *own && until > now)
		return false;
	*own = now + AT_WATCH_NS;
	return __atomic_compare_exchange_n(&p->watched, &until, *own, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
}

bool at_thread_is_busy(uint32_t tid)
{
	/* Signal handlers may call this, so it must not call snprintf(3). */
	char path[] = "/proc/self/task/0000000000/stat", stat[64];
	char *digit = path + strlen("/proc/self/task/0000000000");
	ssize_t n;
	int fd;

	/* Linux accepts no leading zeros, but several slashes. */
	memset(path + strlen("/proc/self/task"), '/', strlen("/0000000000"));
	for (; tid; tid /= 10)
		*--digit = '0' + tid % 10;
	fd = at_sys_open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = at_sys_read(fd, stat, sizeof(stat));
	at_sys_close(fd);
	/* proc(5): "TID (NAME) STATE ...", and NAME may contain parentheses. */
	while (n > 2 && stat[n - 3] != ')')
		n--;
	return n > 2 && (stat[n - 1] == 'R' || stat[n - 1] == 'D');
}

/* Returns true if the holder has made no step for too long. */
static bool is_hopeless(struct lock_page *p, uint32_t tid)
{
	const uint32_t steps = __atomic_load_n(&p->steps, __ATOMIC_RELAXED);
	uint32_t looks;

	if (__atomic_exchange_n(&p->seen, steps, __ATOMIC_RELAXED) != steps) {
		__atomic_store_n(&p->looks, 0, __ATOMIC_RELAXED);
		return false;
	}
	looks = __atomic_add_fetch(&p->looks, 1, __ATOMIC_RELAXED);
	return looks >= AT_PATIENCE && (looks >= AT_PATIENCE_BUSY || !at_thread_is_busy(tid));
}

/*
 * Checks if the holder makes progress. Only the watcher calls this. Unless @patient, a holder that
 * makes no step for too long is marked as hopeless: then all waiters give up.
 */
static void look(struct lock_page *p, bool patient)
{
	uint32_t word = __atomic_load_n(&p->word, __ATOMIC_RELAXED);

	if (!word)
		return;
	/* A thread that was killed alone, as seccomp can do, leaves the lock held. */
	if (at_sys_tkill(word & AT_LOCK_TID, 0) && errno == ESRCH) {
		if (__atomic_compare_exchange_n(&p->word, &word, 0, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			wake_all(p);
		return;
	}
	if (is_hopeless(p, word & AT_LOCK_TID) && !patient &&
	    __atomic_compare_exchange_n(&p->word, &word, word | AT_LOCK_HOPELESS, false,
					__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		wake_all(p);
}

/*
 * Sleeps until the lock is free. Unless @patient, returns false if the waiters have given up or the
 * calling thread holds the lock.
 */
static bool wait_for_holder(bool patient)
{
	struct lock_page *p = the_page();
	const uint32_t self = at_sys_gettid();
	uint64_t own = 0, ns = AT_WATCH_NS;
	uint32_t word;

	while ((word = __atomic_load_n(&p->word, __ATOMIC_RELAXED))) {
		if (!patient && (word & AT_LOCK_HOPELESS || (word & AT_LOCK_TID) == self))
			return false;
		if (watch(p, &own)) {
			sleep_on(p, word, AT_LOOK_NS);
			look(p, patient);
		} else {
			sleep_on(p, word, ns);
			ns = ns < AT_SLEEP_NS_MAX ? 2 * ns : ns;
		}
	}
	/* Stop watching, so that a waiter for the next holder becomes the watcher. */
	if (own)
		__atomic_compare_exchange_n(&p->watched, &own, 0, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
	return true;
}

bool at_backend_wait(void)
{
	return wait_for_holder(false);
}

void at_backend_lock(void)
{
	while (!at_backend_trylock())
		wait_for_holder(true);
}

void at_backend_step(void)
{
	struct lock_page *p = the_page();

	__atomic_fetch_add(&p->steps, 1, __ATOMIC_RELAXED);
	/* Let threads that have given up wait again. */
	__atomic_fetch_and(&p->word, ~AT_LOCK_HOPELESS, __ATOMIC_RELAXED);
}

bool at_backend_held(void)
{
	return __atomic_load_n(&the_page()->word, __ATOMIC_RELAXED);
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
	at_salt_forget();
	p->watched = 0;
	__atomic_store_n(&p->word, 0, __ATOMIC_RELEASE);
}
