/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The trace of a forked child, which begins at the child's first macro
 *
 * Starting a trace allocates memory and needs many kilobytes of stack. The first macro may be in a
 * signal handler that interrupted malloc(3), or on a small stack. So a new thread starts the trace,
 * and then drains it. The thread that reached the macro waits, but not for ever: the new thread may
 * need a lock that the interrupted code has.
 */
#ifndef AT_CHILD_TRACE_H
#define AT_CHILD_TRACE_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

/**
 * struct at_child_starter - how to trace a child
 * @start: starts the trace, calls at_child_trace_forget() and returns true, or returns false.
 *	@beside: at the fork, a session of the module recorded the parent
 * @drain: drains the trace, and returns when it has ended
 * @no_thread: tells the user that there is no thread because of the error @err
 */
struct at_child_starter {
	bool (*start)(bool beside);
	void (*drain)(void);
	void (*no_thread)(int err);
};

/* Traces the children of this process from now on, if they call at_child_trace_want(). */
void at_child_trace_prepare(const struct at_child_starter *starter);
/* In a forked child: its first macro shall start a trace. */
void at_child_trace_want(bool beside);
/* In a forked child, after at_child_trace_want(): forgets the threads of the parent. */
void at_child_trace_forked(void);
/* Forgets the pending trace, because a trace runs. */
void at_child_trace_forget(void);
/*
 * Forgets the pending trace, because the child exits or does not want it. Waits for a start that is
 * under way. Returns 1 if a trace was pending and never starts, otherwise 0. Returns -EBUSY if the
 * start takes too long: the thread that starts the trace may have been killed with its locks.
 */
int at_child_trace_end(void);
/*
 * Waits for a start that is under way. Returns false if it takes too long. Then the caller must not
 * take a lock that the start needs.
 */
bool at_child_trace_wait(void);
/* Has the trace still to be started? */
bool at_child_trace_pending(void);
/* Is the trace pending, and did no session of the module record the parent? */
bool at_child_trace_alone(void);
/*
 * Starts the pending trace, or waits until another thread has. Then the gate is at ATTACH no more,
 * unless the process must still register. Returns false if that takes too long, or if the calling
 * thread is the one that starts the trace. Async-signal-safe, except in a handler that interrupts
 * pthread_create(3) or dlopen(3), or malloc(3) if at_library_thread() finds no unused stack.
 */
bool at_child_trace_start(void);

#pragma GCC visibility pop

#endif /* AT_CHILD_TRACE_H */
