// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Contexts: how they are made, entered, left and destroyed, if there is more to do than the inline
 * functions of asynctrace/context.h do
 *
 * The contexts that a thread has entered are a list from at_current_.context along outer_. Local
 * storage: a run moves the thread's values into outer_locals_, and its end moves them back.
 */
#include <pthread.h>
#include <stdlib.h>

#include "listeners.h"
#include "record.h"

__thread struct at_flow at_flow __attribute__((tls_model("initial-exec")));

/* --- what a thread has ------------------------------------------------------------------- */

static pthread_key_t ends;
static pthread_once_t ends_once = PTHREAD_ONCE_INIT;
static bool ends_known;

static void thread_ends(void *unused)
{
	struct at_flow *f = &at_flow;

	(void)unused;
	f->watched = false;
	at_listeners_drop(f->listeners);
	f->listeners = NULL;
	at_locals_drop(f->locals);
	f->locals = NULL;
	at_listeners_flush();
	at_flow_changed();
}

static void make_key(void)
{
	ends_known = !pthread_key_create(&ends, thread_ends);
}

/* Without a key, what the thread itself has at its end is not freed. */
void at_flow_watch(void)
{
	if (at_flow.watched)
		return;
	pthread_once(&ends_once, make_key);
	at_flow.watched = ends_known && !pthread_setspecific(ends, &at_flow);
}

/* at_current_ comes last: a signal handler finds the context as it was, or as it is to be. */
AT_COLD void at_context_settle(void)
{
	struct at_context *c = at_context_current();

	c->outer_ = NULL;
	c->entered_ = (struct at_entered){ .thread_ = &at_current_, .kind_ = TRACE_ENTER_ };
	c->state_ |= TRACE_CONTEXT_RUNS_;
	__atomic_signal_fence(__ATOMIC_RELEASE);
	at_current_.context = TRACE_ADDRESS_(c);
}

/* --- making ---------------------------------------------------------------------------- */

void at_context_fill(struct at_context *c)
{
	if (at_context_is_full(c))
		return;
	c->listeners_ = NULL;
	c->more_ = NULL;
	c->gone_ = c->created_ = c->ran_ = c->flags_ = 0;
	c->locals_ = c->outer_locals_ = NULL;
	c->state_ |= TRACE_CONTEXT_FULL_;
}

static bool alive(const struct at_context *c)
{
	return (c->state_ & ~TRACE_CONTEXT_BITS_) == TRACE_CONTEXT_READY_;
}

static bool runs(const struct at_context *c)
{
	return c->state_ & TRACE_CONTEXT_RUNS_;
}

static void inherit(struct at_context *c, struct at_context *parent)
{
	struct at_context *current = at_context_here();
	struct at_listeners_ *list = at_flow.listeners;
	struct at_locals_ *locals = at_flow.locals;
	uint32_t gone = 0;

	if (!parent)
		parent = current;
	if (parent != current)
		locals = at_context_is_full(parent) ? parent->locals_ : NULL;
	if (parent) {
		list = at_context_is_full(parent) ? parent->listeners_ : NULL;
		gone = list ? parent->gone_ : 0;
	}
	if (locals)
		locals = at_locals_inherit(locals, c);
	if (locals) {
		at_context_fill(c);
		c->locals_ = locals;
	}
	if (at_flow.phase == AT_PHASE_NONE && at_listeners_all(list) & ~gone) {
		at_context_fill(c);
		at_listeners_inherit(c, list, gone);
	}
}

static __attribute__((noinline)) void init_any(struct at_context *c, uint32_t provider,
					       struct at_context_type *type, void *object,
					       struct at_context *parent)
{
	if (unlikely(parent && !alive(parent))) {
		at_misuse(parent, "a context that does not exist is a parent");
		parent = NULL;
	}
	at_operation_start_(&c->operation,
			    parent ? parent->operation.id : at_operation_current());
	c->object = object;
	c->type_ = type;
	c->provider = provider;
	c->state_ = TRACE_CONTEXT_READY_ | (type ? TRACE_CONTEXT_TYPED_ : 0);
	if (at_gate_load_() != ASYNCTRACE_GATE_OFF)
		at_context_record_begin(c);
	if (parent || at_current_.inherits)
		inherit(c, parent);
}

AT_PUBLIC void at_context_init_(struct at_context *c, uint32_t provider,
				struct at_context_type *type, void *object,
				struct at_context *parent)
{
	const uint32_t gate = at_gate_load_(), inherits = at_current_.inherits;
	const struct at_context *current = inherits ? at_context_here() : NULL;
	uint64_t id;

	if (unlikely(parent || type || gate == ASYNCTRACE_GATE_ATTACH) ||
	    (inherits && unlikely(!current || at_flow.locals || at_flow.phase != AT_PHASE_NONE)) ||
	    !(id = at_id_())) {
		init_any(c, provider, type, object, parent);
		return;
	}
	at_context_set_(c, id, provider, object);
	if (gate != ASYNCTRACE_GATE_OFF)
		at_context_record_begin(c);
	if (likely(!inherits || !(at_listeners_all(current->listeners_) & ~current->gone_)))
		return;
	at_context_fill(c);
	at_listeners_inherit(c, current->listeners_, current->gone_);
}

AT_PUBLIC void at_context_init_under(struct at_context *c, uint32_t provider, void *object,
				     struct at_context *parent)
{
	at_context_init_(c, provider, NULL, object, parent);
}

AT_PUBLIC void at_context_init_type(struct at_context *c, struct at_context_type *type,
				    void *object, struct at_context *parent)
{
	at_context_init_(c, type->provider, type, object, parent);
}

/* --- running --------------------------------------------------------------------------- */

static AT_COLD void enter_wrong(const struct at_context *c)
{
	at_misuse(c, alive(c) ? "a context that runs is entered" :
		  "a context that does not exist is entered");
}

AT_PUBLIC void at_context_enter_(struct at_context *c)
{
	struct at_context *outer = at_context_here();
	const uint32_t state = c->state_ & ~TRACE_CONTEXT_TYPED_;
	struct at_flow *f = &at_flow;
	struct at_locals_ *locals;

	if (unlikely((state & ~TRACE_CONTEXT_FULL_) != TRACE_CONTEXT_READY_)) {
		enter_wrong(c);
		return;
	}
	c->outer_ = outer;
	at_current_.context = TRACE_ADDRESS_(c);
	if (likely(!at_current_.inherits && !(state & TRACE_CONTEXT_FULL_))) {
		c->state_ |= TRACE_CONTEXT_RUNS_;
		at_context_record_run(c);
		return;
	}
	at_context_fill(c);
	c->state_ |= TRACE_CONTEXT_RUNS_;
	c->outer_locals_ = f->locals;
	locals = c->locals_;
	f->locals = locals ? at_locals_get(locals) : NULL;
	c->ran_ = c->flags_ = 0;
	at_context_record_run(c);
	at_current_.inherits = c->listeners_ || locals;
	if (c->listeners_ && f->phase == AT_PHASE_NONE)
		at_listeners_before(c);
}

void at_context_pop(void)
{
	struct at_context *c = at_context_here();
	struct at_flow *f = &at_flow;

	if (unlikely(f->scopes))
		at_locals_unwind_run(c);
	at_current_.context = TRACE_ADDRESS_(c->outer_);
	if (at_context_is_full(c)) {
		struct at_locals_ *locals = f->locals;

		f->locals = c->outer_locals_;
		if (locals)
			at_locals_drop(locals);
	}
	c->state_ &= ~TRACE_CONTEXT_RUNS_;
	at_operation_leave(&c->entered_);
	/* Listeners of the thread itself last until it has left all contexts: N53. */
	if (!at_current_.context && f->listeners)
		at_listeners_end_thread();
	at_flow_changed();
}

/* Is it one of the contexts that this thread has entered? */
static bool runs_here(const struct at_context *c)
{
	const struct at_context *here = at_context_here();

	if (!alive(c) || !runs(c))
		return false;
	while (here && here != c)
		here = here->outer_;
	return here;
}

static AT_COLD void leave_wrong(const struct at_context *c)
{
	at_misuse(c, !alive(c) ? "a context that does not exist is left" :
		  runs(c) ? "a context is left on another thread" :
		  "a context that was not entered is left");
}

AT_PUBLIC void at_context_leave_(struct at_context *c)
{
	/* Without listeners and values, this is the common case. */
	if (likely(at_current_.context == TRACE_ADDRESS_(c) && !at_current_.inherits &&
		   (c->state_ & TRACE_CONTEXT_BITS_ & ~TRACE_CONTEXT_TYPED_) ==
		   TRACE_CONTEXT_RUNS_)) {
		at_current_.context = TRACE_ADDRESS_(c->outer_);
		c->state_ ^= TRACE_CONTEXT_RUNS_;
		at_operation_leave(&c->entered_);
		return;
	}
	if (at_context_here() != c && !runs_here(c)) {
		leave_wrong(c);
		return;
	}
	while (unlikely(at_context_here() != c)) {
		at_misuse(at_context_here(), "a context is still entered when one around it is left");
		at_context_pop();
	}
	if (at_context_is_full(c) && c->ran_ && !(c->flags_ & AT_CONTEXT_FAILED))
		at_listeners_after(c);
	at_context_pop();
}

/* --- destroying ------------------------------------------------------------------------ */

/*
 * The values around the run of @c are to be current again where its own first were replaced: in the
 * outermost scope of its run, or in the run within it.
 */
static void unlink_locals(struct at_context *c, struct at_context *inner)
{
	struct at_locals_ **before, *around;

	at_context_fill(inner);
	before = &inner->outer_locals_;
	for (struct at_local_scope *s = at_flow.scopes; s; s = s->outer) {
		if (s->context != c)
			continue;
		s->context = c->outer_;
		before = &s->before;
	}
	around = *before;
	if (at_context_is_full(c)) {
		*before = c->outer_locals_;
		at_locals_drop(around);
	}
}

/*
 * Takes a context from the middle of the list. The record of the end of its run cannot come before
 * those of what runs within it, so the end of the inner run writes both.
 */
static void unlink_run(struct at_context *c)
{
	struct at_context *inner = at_context_here();

	while (inner->outer_ != c)
		inner = inner->outer_;
	inner->outer_ = c->outer_;
	inner->entered_.previous_ = c->entered_.previous_;
	if (inner->entered_.depth_ != c->entered_.depth_ && c->entered_.site_) {
		inner->entered_.site_ = c->entered_.site_;
		inner->entered_.mode_ = c->entered_.mode_;
		inner->entered_.kind_ = c->entered_.kind_;
	}
	inner->entered_.depth_ = c->entered_.depth_;
	unlink_locals(c, inner);
	c->state_ &= ~TRACE_CONTEXT_RUNS_;
}

static void end_run(struct at_context *c)
{
	for (struct at_catch *k = at_flow.catch; k; k = k->outer) {
		if (k->context == c)
			k->context = NULL;
		if (k->around == c)
			k->around = c->outer_;
	}
	if (at_context_is_full(c) && c->ran_ && !(c->flags_ & AT_CONTEXT_FAILED))
		at_listeners_after(c);
	if (at_context_here() == c)
		at_context_pop();
	else
		unlink_run(c);
}

AT_PUBLIC void at_context_destroy_(struct at_context *c)
{
	at_context_here();
	if (unlikely(!alive(c) || (runs(c) && !runs_here(c)) || at_emission_of(c))) {
		at_misuse(c, !alive(c) ? "a context that does not exist is destroyed" :
			  at_emission_of(c) ? "a context is destroyed in its listener's callback" :
			  "a context that runs on another thread is destroyed");
		return;
	}
	if (runs(c))
		end_run(c);
	at_context_record_end(c);
	if (at_context_is_full(c)) {
		if (c->created_)
			at_listeners_destroy(c);
		at_listeners_drop(c->listeners_);
		at_locals_drop(c->locals_);
		if (c->more_)
			free(c->more_);
	}
	c->state_ = TRACE_CONTEXT_DEAD_;
}
