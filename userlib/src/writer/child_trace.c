// SPDX-License-Identifier: LGPL-2.1-or-later
/* The trace of a forked child: see child_trace.h */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <time.h>

#include "child_trace.h"
#include "internal.h"
#include "sys.h"

/* Threads wait at most this long for the start. Later ones do not wait. */
#define AT_START_MAX_NS	5000000000ull
#define AT_LOOK_NS	100000000l

enum { NONE, WANTED, STARTING, LATE };

static const struct at_child_starter *starter;

static struct {
	uint32_t state;		/* becomes STARTING with the back end's lock held */
	uint32_t pid;		/* a child of clone(2) must not start its parent's trace */
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

bool at_child_trace_wait(void)
{
	const struct timespec look = { .tv_nsec = AT_LOOK_NS };
	const uint64_t end = now_ns() + AT_START_MAX_NS;
	uint32_t state;

	while ((state = get_state()) == STARTING) {
		if (now_ns() >= end)
			__atomic_compare_exchange_n(&child.state, &state, LATE, false,
						    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
		else
			at_sys_futex(&child.state, FUTEX_WAIT_PRIVATE, STARTING, &look);
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
