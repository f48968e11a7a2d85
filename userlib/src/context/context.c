// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Making, entering, leaving and destroying contexts
 *
 * The inline functions of asynctrace/context.h call these functions unless nothing is recorded
 * and nothing is inherited. The contexts that a thread has entered are a list: it begins at
 * at_current_.context, and outer_ is the next one. The begin of a run moves the thread's values of
 * local storage into outer_locals_, and the end of the run moves them back.
 */
#include <stdlib.h>

#include "listeners.h"
#include "record.h"

/*
 * Removes a TRACE_BUSY_ that remained in at_current_.context without an address, unless the thread
 * has an operation or inherits values. If a signal handler gives the thread a cell meanwhile,
 * stores the word again: see at_cell_set().
 */
static AT_COLD void rest(void)
{
	const uint64_t *cell;

	if (at_current_.id || at_current_.inherits)
		return;
	do {
		cell = __atomic_load_n(&at_current_.cell, __ATOMIC_RELAXED);
		__atomic_store_n(&at_current_.context, cell ? TRACE_CELL_ : 0, __ATOMIC_RELAXED);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	} while (unlikely(__atomic_load_n(&at_current_.cell, __ATOMIC_RELAXED) != cell));
}

/* --- creation -------------------------------------------------------------------------- */

static bool is_alive(const struct at_context *c)
{
	return (c->state_ & ~TRACE_CONTEXT_BITS_) == TRACE_CONTEXT_READY_;
}

static bool is_entered(const struct at_context *c)
{
	return c->state_ & TRACE_CONTEXT_RUNS_;
}

/* Gives the new context @c the values and listeners of @parent; NULL: of the current context */
static void inherit(struct at_context *c, struct at_context *parent)
{
	struct at_context *current = at_context_here();
	struct at_listeners_ *list = at_context_thread.listeners;
	struct at_locals_ *locals = at_context_thread.locals;
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
	if (at_context_thread.phase == AT_PHASE_NONE && at_listeners_all(list) & ~gone) {
		at_context_fill(c);
		at_listeners_inherit(c, list, gone);
	}
}

static void init_any(struct at_context *c, uint32_t provider, struct at_context_type *type,
		     void *object, struct at_context *parent)
{
	if (unlikely(parent && !is_alive(parent))) {
		at_misuse(parent, "the parent was destroyed or is no context");
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

/*
 * Initializes @c with the current operation as its cause. Returns false if at_id_() cannot make an
 * id: then at_operation_start_() must make it.
 */
static inline bool init_current(struct at_context *c, uint32_t provider, void *object)
{
	const uint64_t id = at_id_();

	if (unlikely(!id))
		return false;
	c->operation.id = id;
	c->operation.parent = at_operation_current();
	c->object = object;
	c->provider = provider;
	c->state_ = TRACE_CONTEXT_READY_;
	return true;
}

/* Not inlined, so that at_context_init_() saves no registers. */
static __attribute__((noinline)) void init_heir(struct at_context *c, uint32_t provider,
						struct at_context_type *type, void *object,
						struct at_context *parent)
{
	const struct at_context *current = at_context_current();

	if (unlikely(parent || type || at_gate_load_() == ASYNCTRACE_GATE_ATTACH || !current ||
		     !at_current_.inherits || at_context_thread.locals ||
		     at_context_thread.phase != AT_PHASE_NONE) ||
	    unlikely(!init_current(c, provider, object))) {
		init_any(c, provider, type, object, parent);
		return;
	}
	if (at_gate_load_() != ASYNCTRACE_GATE_OFF)
		at_context_record_begin(c);
	if (!(at_listeners_all(current->listeners_) & ~current->gone_))
		return;
	at_context_fill(c);
	at_listeners_inherit(c, current->listeners_, current->gone_);
}

AT_PUBLIC void at_context_init_(struct at_context *c, uint32_t provider,
				struct at_context_type *type, void *object,
				struct at_context *parent)
{
	const uint32_t gate = at_gate_load_();

	if (gate == ASYNCTRACE_GATE_OFF && at_context_word_() == TRACE_BUSY_)
		rest();
	if (unlikely(parent || type || gate == ASYNCTRACE_GATE_ATTACH) || at_current_.inherits ||
	    unlikely(!init_current(c, provider, object)))
		init_heir(c, provider, type, object, parent);
	else if (gate != ASYNCTRACE_GATE_OFF)
		at_context_record_begin(c);
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

static AT_COLD void report_wrong_enter(const struct at_context *c)
{
	at_misuse(c, is_alive(c) ? "entered a context that is entered already" :
		  "entered a context that was destroyed or not made");
}

/*
 * Enters @c like the inline at_context_enter(), but also if the thread has a cell or a TRACE_BUSY_
 * that is not needed any more. Returns false if @c or the thread needs more than that.
 */
static bool enter_light(struct at_context *c)
{
	if (at_context_word_() == TRACE_BUSY_)
		rest();
	if (at_context_word_() & ~TRACE_CELL_ || c->state_ != TRACE_CONTEXT_READY_)
		return false;
	at_current_.context |= TRACE_ADDRESS_(c) | TRACE_LIGHT_;
	at_cell_store_(c->operation.id);
	return true;
}

/* Enters @c, which has or inherits listeners or values. Not inlined: see init_heir(). */
static __attribute__((noinline)) void enter_heir(struct at_context *c)
{
	struct at_locals_ *locals;

	at_context_fill(c);
	c->state_ |= TRACE_CONTEXT_RUNS_;
	c->outer_locals_ = at_context_thread.locals;
	locals = c->locals_;
	at_context_thread.locals = locals ? at_locals_get(locals) : NULL;
	c->ran_ = c->flags_ = 0;
	at_context_record_run(c);
	at_current_.inherits = c->listeners_ || locals;
	if (c->listeners_ && at_context_thread.phase == AT_PHASE_NONE)
		at_listeners_before(c);
}

AT_PUBLIC void at_context_enter_(struct at_context *c)
{
	struct at_context *outer = at_context_here();
	const uint32_t state = c->state_ & ~TRACE_CONTEXT_TYPED_;

	if (!outer && at_gate_load_() == ASYNCTRACE_GATE_OFF && enter_light(c))
		return;
	if (unlikely((state & ~TRACE_CONTEXT_FULL_) != TRACE_CONTEXT_READY_)) {
		report_wrong_enter(c);
		return;
	}
	c->outer_ = outer;
	at_context_place(c);
	if (unlikely(at_current_.inherits || state & TRACE_CONTEXT_FULL_)) {
		enter_heir(c);
		return;
	}
	c->state_ |= TRACE_CONTEXT_RUNS_;
	at_context_record_run(c);
}

/* Ends the run of @c, the current context. */
static void pop(struct at_context *c)
{
	struct at_context *outer;

	if (unlikely(at_context_thread.scopes))
		at_locals_unwind_run(c);
	if (at_context_is_full(c)) {
		struct at_locals_ *locals = at_context_thread.locals;

		at_context_thread.locals = c->outer_locals_;
		if (locals)
			at_locals_drop(locals);
	}
	c->state_ &= ~TRACE_CONTEXT_RUNS_;
	at_operation_leave(&c->entered_);
	outer = c->outer_;
	/* The thread has left all contexts, so its own listeners end (N53 in doc/statements.md). */
	if (!outer && at_context_thread.listeners)
		at_listeners_end_thread();
	at_current_.inherits = at_context_inherits(outer);
	at_context_place(outer);
}

void at_context_pop(void)
{
	pop(at_context_here());
}

static bool is_entered_here(const struct at_context *c)
{
	const struct at_context *here = at_context_here();

	if (!is_alive(c) || !is_entered(c))
		return false;
	while (here && here != c)
		here = here->outer_;
	return here;
}

static AT_COLD void report_wrong_leave(const struct at_context *c)
{
	at_misuse(c, !is_alive(c) ? "left a context that was destroyed or not made" :
		  is_entered(c) ? "left a context that another thread has entered" :
		  "left a context that was not entered");
}

/*
 * Leaves @c like the inline at_context_leave(), if the thread has a cell and enter_light() has
 * entered @c. Otherwise returns false.
 */
static bool leave_light(struct at_context *c)
{
	if (at_context_word_() != (TRACE_ADDRESS_(c) | TRACE_LIGHT_ | TRACE_CELL_))
		return false;
	__atomic_store_n(&at_current_.context, TRACE_CELL_, __ATOMIC_RELAXED);
	at_cell_store_(0);
	if (unlikely(__atomic_load_n(&at_current_.id, __ATOMIC_RELAXED)))
		at_context_left_(c);
	return true;
}

static void leave_current(struct at_context *c)
{
	if (at_context_is_full(c) && c->ran_ && !(c->flags_ & AT_CONTEXT_FAILED))
		at_listeners_after(c);
	pop(c);
}

AT_PUBLIC void at_context_leave_(struct at_context *c)
{
	if (likely(at_context_word_() == (TRACE_ADDRESS_(c) | TRACE_BUSY_))) {
		/* Common case: no listeners and no values of local storage. */
		if (unlikely(at_current_.inherits) ||
		    (c->state_ & TRACE_CONTEXT_BITS_ & ~TRACE_CONTEXT_TYPED_) !=
		    TRACE_CONTEXT_RUNS_) {
			leave_current(c);
			return;
		}
		c->state_ ^= TRACE_CONTEXT_RUNS_;
		at_operation_leave(&c->entered_);
		at_context_place(c->outer_);
		return;
	}
	if (leave_light(c))
		return;
	if (at_context_here() != c && !is_entered_here(c)) {
		report_wrong_leave(c);
		return;
	}
	while (unlikely(at_context_here() != c)) {
		at_misuse(at_context_here(), "left a context before one that was entered later");
		at_context_pop();
	}
	leave_current(c);
}

/* --- destroying ------------------------------------------------------------------------ */

/*
 * Ends the use of @c's local values, although another context was entered after @c. The values that
 * @c began with are saved somewhere, to be restored later: in the outermost scope that began in the
 * run of @c; without such a scope, in @inner, the context entered after @c. Puts the values from
 * before the run of @c there instead.
 */
static void unlink_locals(struct at_context *c, struct at_context *inner)
{
	struct at_locals_ **before, *around;

	at_context_fill(inner);
	before = &inner->outer_locals_;
	for (struct at_local_scope *s = at_context_thread.scopes; s; s = s->outer) {
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
 * Removes a context from the middle of the thread's list. Durations must end in the reverse order
 * of their begins. So the record of the end of this run is not written now: the end of the run
 * within it writes both.
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
	for (struct at_catch *k = at_context_thread.catch; k; k = k->outer) {
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
	if (unlikely(!is_alive(c) || (is_entered(c) && !is_entered_here(c)) || at_emission_of(c))) {
		at_misuse(c, !is_alive(c) ? "destroyed a context twice, or one that was not made" :
			  at_emission_of(c) ? "destroyed a context in a callback of its listener" :
			  "destroyed a context that another thread has entered");
		return;
	}
	if (is_entered(c))
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
