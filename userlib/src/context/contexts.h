/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libasynctrace: what the files of contexts share
 */
#ifndef AT_CONTEXTS_H
#define AT_CONTEXTS_H

#include <setjmp.h>

#include <asynctrace/context.h>
#include <asynctrace/listener.h>
#include <asynctrace/local.h>

#include "writer/internal.h"

#pragma GCC visibility push(hidden)

/* struct at_context.flags_ */
#define AT_CONTEXT_FAILED	1u	/* there was an error in this run */

/* The moment of which listeners are being told */
enum at_phase {
	AT_PHASE_NONE,
	AT_PHASE_CREATE,
	AT_PHASE_BEFORE,
	AT_PHASE_AFTER,
	AT_PHASE_DESTROY,
	AT_PHASE_ERROR,		/* also while the handler of unhandled errors runs */
};

/**
 * struct at_catch - where at_throw() continues
 * @outer: the one around it
 * @context: whose run it is; NULL: the context was destroyed
 * @around: innermost context around that run
 * @locals: innermost scope of local storage around it
 * @emission: innermost emission around it
 * @here: scopes around it
 * @phase: what listeners were being told
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
 * struct at_emission - listeners are being told something
 * @outer: the emission in a callback of which this one is
 * @context: of which; NULL: of an error outside of contexts
 * @list: the listeners
 * @held: @list has been replaced, and this has its reference
 */
struct at_emission {
	struct at_emission *outer;
	const struct at_context *context;
	struct at_listeners_ *list;
	bool held;
};

/**
 * struct at_local_scope - a call of at_local_run() that has not returned
 * @outer: the one around it
 * @before: a reference to the values before
 * @context: in whose run it is, or NULL
 */
struct at_local_scope {
	struct at_local_scope *outer;
	struct at_locals_ *before;
	const struct at_context *context;
};

/**
 * struct at_flow - what a thread has for contexts, beside at_current_
 * @listeners: of the thread itself, while it has entered no context
 * @locals: the current values of local storage
 * @scopes: calls of at_local_run() that have not returned, the innermost first
 * @catch: the innermost at_context_run(), or NULL
 * @emission: the innermost emission, or NULL
 * @spare: a list of which this thread has @spares references for contexts that it makes: so that a
 *	context costs no atomic instruction
 * @phase: enum at_phase
 * @stop: an error in a callback: further listeners are not told
 * @watched: the thread's end gives up what this has
 */
struct at_flow {
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

extern __thread struct at_flow at_flow __attribute__((tls_model("initial-exec")));

/* --- context.c ------------------------------------------------------------------------- */

void at_context_settle(void);
/* The thread's current context, with all that says where it runs; or NULL */
static inline struct at_context *at_context_here(void)
{
	if (unlikely(at_current_.context & TRACE_LIGHT_))
		at_context_settle();
	return (struct at_context *)at_current_.context;
}

/* Gives @c all members, with neither listeners nor values. */
void at_context_fill(struct at_context *c);
static inline bool at_context_is_full(const struct at_context *c)
{
	return (c->state_ & ~(TRACE_CONTEXT_BITS_ ^ TRACE_CONTEXT_FULL_)) ==
	       (TRACE_CONTEXT_READY_ | TRACE_CONTEXT_FULL_);
}

/* Looks up again what a context that the thread makes or enters takes over from it. */
static inline void at_flow_changed(void)
{
	const struct at_context *c = at_context_current();
	const struct at_listeners_ *list = !c ? at_flow.listeners :
					   at_context_is_full(c) ? c->listeners_ : NULL;

	at_current_.inherits = list || at_flow.locals;
}

/* Ends the run of the thread's current context, without telling listeners. */
void at_context_pop(void);
/* Puts what the thread itself has, when it ends. */
void at_flow_watch(void);

/* --- records.c ------------------------------------------------------------------------- */

const char *at_context_name(const struct at_context *c);
void at_context_record_error(uint64_t id, const struct at_error *error, bool handled);
void at_context_record_misuse(uint64_t id, uint64_t expected, const char *what);

/* --- listeners.c ----------------------------------------------------------------------- */

/* Tells those of the current context, or of the thread, of an error. True: one has handled it */
bool at_listeners_error(const struct at_error *error);
void at_listeners_drop(struct at_listeners_ *list);
/* The thread itself has no listeners any more. */
void at_listeners_end_thread(void);
/* Gives up the references that the thread has for contexts. */
void at_listeners_flush(void);
/* Emissions within @to end, because callbacks do not return. */
void at_emissions_end(struct at_emission *to);
/* Is some listener of @c being told something? */
bool at_emission_of(const struct at_context *c);

/* --- locals.c -------------------------------------------------------------------------- */

/* Returns a reference to the values that @c takes over from @from, or NULL. */
struct at_locals_ *at_locals_inherit(struct at_locals_ *from, struct at_context *c);
struct at_locals_ *at_locals_get(struct at_locals_ *l);
void at_locals_drop(struct at_locals_ *l);
/* Ends calls of at_local_run() until @to is the innermost one. */
void at_locals_unwind(struct at_local_scope *to);
/* Ends those that began in the run of @c. */
void at_locals_unwind_run(const struct at_context *c);

/* --- error.c --------------------------------------------------------------------------- */

/*
 * Tells listeners and the handler of an error of the current context. True: a listener has handled
 * it. Does not return if nobody takes it.
 */
bool at_raise(int error, const char *message);

/* --- misuse.c -------------------------------------------------------------------------- */

/* @c: may be anything; NULL: none */
void at_misuse(const struct at_context *c, const char *what);
/* Is this debug mode? */
bool at_misuse_aborts(void);

#pragma GCC visibility pop

#endif /* AT_CONTEXTS_H */
