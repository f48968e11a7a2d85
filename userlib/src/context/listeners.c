// SPDX-License-Identifier: LGPL-2.1-or-later
/* Adding, removing and calling listeners; see listeners.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "listeners.h"

void at_listeners_stock(struct at_listeners_ *list)
{
	struct at_context_thread *t = &at_context_thread;

	at_listeners_flush();
	__atomic_fetch_add(&list->refs, AT_SPARES, __ATOMIC_RELAXED);
	t->spare = list;
	t->spares = AT_SPARES;
	at_context_thread_watch();
}

bool at_listeners_room(struct at_context *c, const struct at_listeners_ *list)
{
	c->more_ = malloc((list->n - AT_INLINE_VALUES) * sizeof(*c->more_));
	if (!c->more_)
		at_misuse(c, "no memory for the listeners of a context");
	return c->more_;
}

/*
 * Replaces the list at *@place. If emissions walk the old list, the outermost of them takes over
 * the reference to the old list, and drops it when it ends.
 */
static void replace(struct at_listeners_ **place, struct at_listeners_ *new)
{
	struct at_listeners_ *old = *place;
	struct at_emission *holder = NULL;

	for (struct at_emission *e = at_context_thread.emission; e; e = e->outer)
		if (e->list == old)
			holder = e;
	*place = new;
	if (holder && !holder->held)
		holder->held = true;
	else
		at_listeners_drop(old);
}

AT_PUBLIC void *at_listener_value(const struct at_listener *l, const struct at_context *c)
{
	const int i = c && at_context_is_full(c) ? at_listeners_find(c->listeners_, l) : -1;

	return i < 0 || c->gone_ >> i & 1 ? NULL : *at_listener_cell((struct at_context *)c, i);
}

void at_listeners_end_thread(void)
{
	replace(&at_context_thread.listeners, NULL);
}

/* --- adding and removing --------------------------------------------------------------- */

/* Returns the bits of @bits at the positions that are set in @keep, packed from bit 0 on. */
static uint32_t compress(uint32_t bits, uint32_t keep)
{
	uint32_t to = 0, n = 0;

	for (uint32_t i = 0; i < ASYNCTRACE_LISTENERS_MAX; i++)
		if (keep >> i & 1)
			to |= (bits >> i & 1) << n++;
	return to;
}

/*
 * Moves the values and the bits of listeners to the places that they have in the new list, which
 * begins with the listeners in the mask @keep. @n: number of listeners in the old list
 */
static void move_values(struct at_context *c, uint32_t n, uint32_t keep)
{
	uint32_t to = 0;

	for (uint32_t i = 0; i < n; i++)
		if (keep >> i & 1)
			*at_listener_cell(c, to++) = *at_listener_cell(c, i);
	c->gone_ = compress(c->gone_, keep);
	c->created_ = compress(c->created_, keep);
	c->ran_ = compress(c->ran_, keep);
}

static int add_to(struct at_context *c, struct at_listener *l)
{
	const uint32_t n = c->listeners_ ? c->listeners_->n : 0;
	/* An emission walks the list by index, so the places must not change. */
	const uint32_t keep = at_emission_of(c) ? ~0u : ~c->gone_ | c->created_ | c->ran_;
	struct at_listeners_ *list = at_listeners_copy(c->listeners_, keep, l);
	void **more = c->more_;

	if (!list)
		return -ENOMEM;
	if (list->n > ASYNCTRACE_LISTENERS_MAX) {
		at_listeners_drop(list);
		return -ENOSPC;
	}
	if (list->n > AT_INLINE_VALUES && list->n > n) {
		more = realloc(more, (list->n - AT_INLINE_VALUES) * sizeof(*more));
		if (!more) {
			at_listeners_drop(list);
			return -ENOMEM;
		}
		c->more_ = more;
	}
	move_values(c, n, keep & at_listeners_all(c->listeners_));
	*at_listener_cell(c, list->n - 1) = l->data;
	replace(&c->listeners_, list);
	return 0;
}

static int add_to_thread(struct at_context_thread *t, struct at_listener *l)
{
	struct at_listeners_ *list;

	if (at_listeners_find(t->listeners, l) >= 0)
		return 0;
	if (t->listeners && t->listeners->n == ASYNCTRACE_LISTENERS_MAX)
		return -ENOSPC;
	list = at_listeners_copy(t->listeners, ~0u, l);
	if (!list)
		return -ENOMEM;
	replace(&t->listeners, list);
	at_context_thread_watch();
	return 0;
}

AT_PUBLIC int at_listener_add(struct at_listener *l)
{
	struct at_context *c = at_context_here();
	int i, err = 0;

	if (!l)
		return -EINVAL;
	if (c) {
		at_context_fill(c);
		i = at_listeners_find(c->listeners_, l);
		if (i >= 0)
			c->gone_ &= ~(1u << i);
		else
			err = add_to(c, l);
	} else {
		err = add_to_thread(&at_context_thread, l);
	}
	at_context_thread_changed();
	return err;
}

static int remove_from_thread(struct at_context_thread *t, const struct at_listener *l)
{
	const int i = at_listeners_find(t->listeners, l);
	struct at_listeners_ *list = NULL;

	if (i < 0)
		return 0;
	if (t->listeners->n > 1) {
		list = at_listeners_copy(t->listeners, ~(1u << i), NULL);
		if (!list)
			return -ENOMEM;
	}
	replace(&t->listeners, list);
	return 0;
}

AT_PUBLIC int at_listener_remove(struct at_listener *l)
{
	int i, err;

	if (!l)
		return -EINVAL;
	err = remove_from_thread(&at_context_thread, l);
	if (err)
		return err;
	for (struct at_context *c = at_context_here(); c; c = c->outer_) {
		i = at_context_is_full(c) ? at_listeners_find(c->listeners_, l) : -1;
		if (i >= 0)
			c->gone_ |= 1u << i;
	}
	at_context_thread_changed();
	return 0;
}

/* --- emissions ------------------------------------------------------------------------- */

bool at_emission_of(const struct at_context *c)
{
	for (const struct at_emission *e = at_context_thread.emission; e; e = e->outer)
		if (e->context == c)
			return true;
	return false;
}

void at_emissions_end(struct at_emission *to)
{
	struct at_context_thread *t = &at_context_thread;

	while (t->emission != to) {
		struct at_emission *e = t->emission;

		t->emission = e->outer;
		if (e->held)
			at_listeners_drop(e->list);
	}
}

/* Calls the callback of @l, listener @i of @c. The listener must have this callback. */
static inline void call(struct at_context *c, const struct at_listener *l, uint32_t i,
			enum at_phase phase)
{
	void *value = *at_listener_cell(c, i);

	switch (phase) {
	case AT_PHASE_CREATE:
		value = l->calls.create(l->data, at_context_name(c), c->object);
		if (value != ASYNCTRACE_KEEP)
			*at_listener_cell(c, i) = value;
		break;
	case AT_PHASE_BEFORE:
		l->calls.before(c->object, value);
		break;
	case AT_PHASE_AFTER:
		l->calls.after(c->object, value);
		break;
	default:
		l->calls.destroy(c->object, value);
	}
}

/*
 * Calls the listeners in the mask @bits, in the order of the list. Sets their bits in *@called
 * unless @called is NULL; if a callback fails, *@called lacks the listeners after it. Inlined,
 * because @phase is a constant. Uses the name at_context_thread, not its address: see
 * at_current_set_().
 */
__attribute__((always_inline))
static inline void emit(struct at_context *c, uint32_t bits, enum at_phase phase, uint32_t *called)
{
	struct at_emission e = { at_context_thread.emission, c, c->listeners_, false };
	uint32_t calls = bits & e.list->calls[phase];
	const uint8_t before = at_context_thread.phase;
	const bool stopped = at_context_thread.stop;

	at_context_thread.emission = &e;
	at_context_thread.phase = phase;
	at_context_thread.stop = false;
	do {
		const uint32_t i = __builtin_ctz(calls);

		/*
		 * Mark a listener before its before(), so that after() follows unless the run
		 * fails. Mark it after its create(): if at_throw() leaves create(), there is no
		 * value to destroy.
		 */
		if (called && phase == AT_PHASE_BEFORE)
			*called |= bits & ((2u << i) - 1);
		call(c, e.list->of[i], i, phase);
		if (called && phase == AT_PHASE_CREATE)
			*called |= bits & ((2u << i) - 1);
		calls &= calls - 1;
	} while (calls && !at_context_thread.stop);
	bits = at_context_thread.stop ? 0 : bits;
	at_context_thread.stop = stopped;
	at_context_thread.phase = before;
	if (unlikely(e.held))
		at_listeners_drop(e.list);
	at_context_thread.emission = e.outer;
	if (called)
		*called |= bits;
}

void at_listeners_call_create(struct at_context *c, uint32_t bits)
{
	emit(c, bits, AT_PHASE_CREATE, &c->created_);
}

void at_listeners_call_before(struct at_context *c, uint32_t bits)
{
	emit(c, bits, AT_PHASE_BEFORE, &c->ran_);
}

void at_listeners_call_after(struct at_context *c)
{
	emit(c, c->ran_, AT_PHASE_AFTER, NULL);
}

void at_listeners_call_destroy(struct at_context *c)
{
	emit(c, c->created_, AT_PHASE_DESTROY, NULL);
}

bool at_listeners_error(const struct at_error *error)
{
	struct at_context_thread *t = &at_context_thread;
	struct at_context *c = error->context;
	struct at_listeners_ *list = c ? c->listeners_ : t->listeners;
	struct at_emission e = { t->emission, c, list, false };
	bool handled = false;

	t->emission = &e;
	for (uint32_t bits = at_listeners_all(list) & ~(c ? c->gone_ : 0); bits; bits &= bits - 1) {
		const uint32_t i = __builtin_ctz(bits);
		const struct at_listener *l = list->of[i];

		void *value = c ? *at_listener_cell(c, i) : l->data;

		if (l->calls.error && l->calls.error(c ? c->object : NULL, value, error, handled))
			handled = true;
	}
	at_emissions_end(e.outer);
	return handled;
}
