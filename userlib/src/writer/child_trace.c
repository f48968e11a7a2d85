// SPDX-License-Identifier: LGPL-2.1-or-later
/* The trace of a forked child: see child_trace.h */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <time.h>

#include "child_trace.h"
#include "internal.h"
#include "sys.h"

/*
 * Threads that wait for the start look at it at this interval, and give up after a number of looks.
 * Later ones do not wait. If the CPUs are busy, the threads that wait run as rarely as the one that
 * starts the trace. So they count looks instead of time.
 */
#define AT_LOOK_NS	100000000l
#define AT_PATIENCE	50
#define AT_PATIENCE_BUSY 500	/* if the thread that starts the trace is busy */

enum { NONE, WANTED, STARTING, LATE };

static const struct at_child_starter *starter;

static struct {
	uint32_t state;		/* becomes STARTING with the back end's lock held */
	uint32_t pid;		/* a child of clone(2) must not start its parent's trace */
	uint32_t tid;		/* the thread that starts the trace; 0: it has not run yet */
	bool beside;
} child;

/* The calling thread creates the thread that starts the trace, or is that thread. */
static __thread bool starts __attribute__((tls_model("initial-exec")));

void at_child_trace_prepare(const struct at_child_starter *s)
{
	starter = s;
}

void at_child_trace_want(bool beside)
{
	if (!starter)
		return;
	child.beside = beside;
	child.state = WANTED;
}

void at_child_trace_forked(void)
{
	starts = false;
	if (child.state == NONE)
		return;
	child.pid = at_sys_getpid();
	child.state = WANTED;
}

static uint32_t get_state(void)
{
	return __atomic_load_n(&child.state, __ATOMIC_ACQUIRE);
}

bool at_child_trace_pending(void)
{
	return get_state() != NONE;
}

bool at_child_trace_alone(void)
{
	return at_child_trace_pending() && !child.beside;
}

static void set_state(uint32_t state)
{
	__atomic_store_n(&child.state, state, __ATOMIC_RELEASE);
	at_sys_futex(&child.state, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL);
}

void at_child_trace_forget(void)
{
	set_state(NONE);
}

/*
 * The caller holds the back end's lock. If a session of the module recorded the parent, the gate
 * remains at ATTACH, so that the child registers at its next macro.
 */
static void give_up(void)
{
	if (!child.beside && at_gate_now() == ASYNCTRACE_GATE_ATTACH) {
		at_gate_reset(ASYNCTRACE_GATE_OFF);
		at_backend_why(ASYNCTRACE_REASON_FORKED, 0);
	}
	set_state(NONE);
}

static void *start_and_drain(void *arg)
{
	starts = true;
	__atomic_store_n(&child.tid, at_sys_gettid(), __ATOMIC_RELAXED);
	if (starter->start(child.beside)) {
		starts = false;
		starter->drain();
		return arg;
	}
	at_backend_lock();
	give_up();
	at_backend_unlock();
	pthread_detach(pthread_self());
	return arg;
}

/* The caller holds the back end's lock, so it takes no signals and cannot be cancelled. */
static int create_thread(void)
{
	pthread_t thread;
	int err;

	starts = true;
	__atomic_store_n(&child.tid, 0, __ATOMIC_RELAXED);
	set_state(STARTING);
	err = at_library_thread(&thread, start_and_drain, NULL);
	if (err)
		give_up();
	starts = false;
	return err;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	at_sys_clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static bool is_hopeless(unsigned int looks)
{
	const uint32_t tid = __atomic_load_n(&child.tid, __ATOMIC_RELAXED);

	/*
	 * A sandbox may have killed the thread, for instance because it opened a file. Ask this
	 * first: at_thread_is_busy() opens a file, too.
	 */
	if (tid && at_sys_tkill(tid, 0) && errno == ESRCH)
		return true;
	return looks >= AT_PATIENCE &&
	       (looks >= AT_PATIENCE_BUSY || (tid && !at_thread_is_busy(tid)));
}

/* Sleeps until the state changes, at most for the interval of looks. */
static void look(void)
{
	const struct timespec interval = { .tv_nsec = AT_LOOK_NS };
	const uint64_t end = now_ns() + AT_LOOK_NS;

	/* A signal ends the sleep, too. */
	do {
		at_sys_futex(&child.state, FUTEX_WAIT_PRIVATE, STARTING, &interval);
	} while (get_state() == STARTING && now_ns() < end);
}

bool at_child_trace_wait(void)
{
	unsigned int looks = 0;
	uint32_t state;

	while ((state = get_state()) == STARTING) {
		if (is_hopeless(looks++))
			__atomic_compare_exchange_n(&child.state, &state, LATE, false,
						    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
		else
			look();
	}
	return state != LATE;
}

bool at_child_trace_start(void)
{
	int err = 0;

	if (starts || child.pid != at_sys_getpid())
		return false;
	if (get_state() == WANTED) {
		if (!at_backend_trylock())
			return at_backend_wait();
		if (get_state() == WANTED)
			err = create_thread();
		at_backend_unlock();
		if (err)
			starter->no_thread(err);
	}
	return at_child_trace_wait();
}

int at_child_trace_end(void)
{
	bool pending = get_state() == WANTED;

	if (pending) {
		at_backend_lock();
		pending = get_state() == WANTED;
		if (pending)
			give_up();
		at_backend_unlock();
	}
	if (!at_child_trace_wait())
		return -EBUSY;
	return pending;
}
