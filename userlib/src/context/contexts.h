/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Declarations that the files of context/ share
 *
 * A run of a context is the time from at_context_enter() to at_context_leave(). An emission is a
 * series of calls: one callback of each listener of a context.
 */
#ifndef AT_CONTEXTS_H
#define AT_CONTEXTS_H

#include <setjmp.h>

#include <asynctrace/context.h>
#include <asynctrace/listener.h>
#include <asynctrace/local.h>

#include "writer/internal.h"

#pragma GCC visibility push(hidden)

/* Bit of struct at_context.flags_: the current run has had an error. */
#define AT_CONTEXT_FAILED	1u

/* Callbacks of listeners that are being called */
enum at_phase {
	AT_PHASE_NONE,
	AT_PHASE_CREATE,
	AT_PHASE_BEFORE,
	AT_PHASE_AFTER,
	AT_PHASE_DESTROY,
	AT_PHASE_ERROR,		/* or the handler of unhandled errors is being called */
};

/**
 * struct at_catch - a call of at_context_run(), to which at_throw() unwinds
 * @to: where at_throw() continues
 * @outer: the enclosing call, or NULL
 * @context: the context of this call; NULL after the context was destroyed
 * @around: current context before this call, or NULL
 * @locals: innermost scope of local storage before this call, or NULL
 * @emission: innermost emission before this call, or NULL
 * @here: scopes of operations before this call
 * @phase: phase of the thread before this call
 */
struct at_catch {
	jmp_buf to;
	struct at_catch *outer;
	struct at_context *context;
	struct at_context *around;
	struct at_local_scope *locals;
	struct at_emission *emission;
	struct at_entered here;
	enum at_phase phase;
};

/**
 * struct at_emission - an emission that has not ended
 * @outer: the emission whose callback began this one, or NULL
 * @context: the context of the listeners; NULL: an error outside of all contexts
 * @list: the listeners
 * @held: the emission owns a reference to @list, because the context has another list now
 */
struct at_emission {
	struct at_emission *outer;
	const struct at_context *context;
	struct at_listeners_ *list;
	bool held;
};

/**
 * struct at_local_scope - a call of at_local_run() that has not returned
 * @outer: the enclosing scope, or NULL
 * @before: values before the call; the scope owns the reference
 * @context: current context at the call, or NULL
 */
struct at_local_scope {
	struct at_local_scope *outer;
	struct at_locals_ *before;
	const struct at_context *context;
};

/**
 * struct at_context_thread - state of the calling thread, besides at_current_
 * @listeners: listeners of the thread itself, which contexts inherit while none is entered
 * @locals: current values of local storage
 * @scopes: innermost scope of local storage, or NULL
 * @catch: innermost call of at_context_run(), or NULL
 * @emission: innermost emission, or NULL
 * @spare: a list of which the thread owns @spares references. New contexts take them, which
 *	saves an atomic instruction for each context.
 * @spares: number of references to @spare
 * @phase: enum at_phase
 * @stop: a callback has failed; the emission calls no further listeners
 * @watched: the end of the thread drops the references in this structure
 */
struct at_context_thread {
	struct at_listeners_ *listeners;
	struct at_locals_ *locals;
	struct at_local_scope *scopes;
	struct at_catch *catch;
	struct at_emission *emission;
	struct at_listeners_ *spare;
	uint32_t spares;
	uint8_t phase;
	bool stop;
	bool watched;
};

/* --- thread.c -------------------------------------------------------------------------- */

extern __thread struct at_context_thread at_context_thread
	__attribute__((tls_model("initial-exec")));

/* Makes @c, which is complete, the current context; NULL: none */
static inline void at_context_place(const struct at_context *c)
{
	__atomic_signal_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&at_current_.context, TRACE_ADDRESS_(c) | TRACE_BUSY_, __ATOMIC_RELAXED);
}

/* Returns the current context with all of its members complete, or NULL. */
static inline struct at_context *at_context_here(void)
{
	if (unlikely(at_context_word_() & TRACE_LIGHT_))
		at_context_complete_();
	return at_context_current();
}

/* Are the members from listeners_ on initialized? */
static inline bool at_context_is_full(const struct at_context *c)
{
	return (c->state_ & ~(TRACE_CONTEXT_BITS_ ^ TRACE_CONTEXT_FULL_)) ==
	       (TRACE_CONTEXT_READY_ | TRACE_CONTEXT_FULL_);
}

/* Initializes the members from listeners_ on: no listeners and no values of local storage. */
static inline void at_context_fill(struct at_context *c)
{
	if (at_context_is_full(c))
		return;
	c->listeners_ = NULL;
	c->more_ = NULL;
	c->gone_ = c->created_ = c->ran_ = c->flags_ = 0;
	c->locals_ = c->outer_locals_ = NULL;
	c->state_ |= TRACE_CONTEXT_FULL_;
}

/* Would a new context inherit anything while @c is current? NULL: while no context is entered */
static inline bool at_context_inherits(const struct at_context *c)
{
	const struct at_listeners_ *list = !c ? at_context_thread.listeners :
					   at_context_is_full(c) ? c->listeners_ : NULL;

	return list || at_context_thread.locals;
}

/* Updates at_current_.inherits after a change of the thread's listeners or values. */
static inline void at_context_thread_changed(void)
{
	const struct at_context *c = at_context_here();

	at_current_.inherits = at_context_inherits(c);
	if (!c)
		at_context_place(NULL);
}

/* --- thread_end.c ---------------------------------------------------------------------- */

/* Makes the end of the calling thread drop the references in at_context_thread. */
void at_context_thread_watch(void);

/* --- context.c ------------------------------------------------------------------------- */

/* Ends the run of the current context without calling listeners. */
void at_context_pop(void);

/* --- records.c ------------------------------------------------------------------------- */

/* Returns the name of the records of @c: the name of its type or of its provider. */
const char *at_context_name(const struct at_context *c);
void at_context_record_error(uint64_t id, const struct at_error *error, bool handled);
void at_context_record_misuse(uint64_t id, uint64_t expected, const char *what);

/* --- lists.c and listeners.c ----------------------------------------------------------- */

/*
 * Calls error() of the listeners of the current context, or of the thread if no context is
 * entered. Returns true if a listener has handled the error.
 */
bool at_listeners_error(const struct at_error *error);
/* Drops a reference to @list, which may be NULL. */
void at_listeners_drop(struct at_listeners_ *list);
/* Removes the listeners that the thread has outside of all contexts. */
void at_listeners_end_thread(void);
/* Drops the spare references of the thread. */
void at_listeners_flush(void);
/* Ends all emissions within @to, whose callbacks at_throw() has left. NULL: all emissions */
void at_emissions_end(struct at_emission *to);
/* Is a listener of @c being called on this thread? */
bool at_emission_of(const struct at_context *c);

/* --- locals.c and scopes.c ------------------------------------------------------------- */

/*
 * Returns a reference to the values that the new context @c inherits from the values @from; NULL:
 * it inherits none.
 */
struct at_locals_ *at_locals_inherit(struct at_locals_ *from, struct at_context *c);
/*
 * Copies the thread's current values to *@values, with @value for @local, or without a value for
 * @local if @value is NULL. *@values is NULL if no value is left. Returns 0 or -ENOMEM.
 */
int at_locals_change(struct at_local *local, void *value, struct at_locals_ **values);
/* Takes a reference to @l and returns @l, which may be NULL. */
struct at_locals_ *at_locals_get(struct at_locals_ *l);
/* Drops a reference to @l, which may be NULL. */
void at_locals_drop(struct at_locals_ *l);
/* Ends scopes of the thread until @to is the innermost one; NULL: all scopes. */
void at_locals_unwind(struct at_local_scope *to);
/* Ends the innermost scopes, as long as they began in the current run of @c. */
void at_locals_unwind_run(const struct at_context *c);

/* --- error.c --------------------------------------------------------------------------- */

/*
 * Reports an error of the current context to its listeners and, if none of them handles it, to the
 * handler of unhandled errors. Returns true if a listener has handled the error, and false if the
 * handler has. Ends the process if neither has.
 */
bool at_raise(int error, const char *message);

/* --- misuse.c -------------------------------------------------------------------------- */

/*
 * Counts and records misuse of @c; in debug mode, aborts the process. @c: NULL, or any address,
 * also of memory that is no context
 */
void at_misuse(const struct at_context *c, const char *what);
/* Is debug mode on? */
bool at_misuse_aborts(void);

#pragma GCC visibility pop

#endif /* AT_CONTEXTS_H */
