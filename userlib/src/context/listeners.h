/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lists of listeners, and the inline part of calling listeners
 *
 * A list never changes, so contexts can share it: a new context inherits the list of the current
 * one and only takes a reference. Masks in the context hold the state of its listeners: bit i
 * belongs to listener i of the list. So removing a listener from a context needs no memory, and
 * values keep their places. Adding a listener makes a new list for the current context. The new
 * list omits removed listeners whose destroy() and after() need not be called any more.
 */
#ifndef AT_CONTEXT_LISTENERS_H
#define AT_CONTEXT_LISTENERS_H

#include "contexts.h"

struct at_listener {
	uint32_t refs;
	uint32_t providers;
	void *data;
	struct at_listener_options calls;
};

/**
 * struct at_listeners_ - a list of listeners
 * @refs: number of references
 * @n: number of listeners
 * @calls: for each phase, the mask of the listeners that have a callback for it
 * @of: the listeners, in the order in which they were added
 */
struct at_listeners_ {
	uint32_t refs;
	uint32_t n;
	uint32_t calls[AT_PHASE_ERROR];
	struct at_listener *of[];
};

/* Number of values of listeners that struct at_context itself has room for */
#define AT_INLINE_VALUES	2

/* Number of spare references that a thread takes at a time */
#define AT_SPARES		64u

#pragma GCC visibility push(hidden)

/*
 * Copies the listeners in the mask @keep, and appends @more unless it is NULL. @list may be NULL.
 * Returns NULL without memory.
 */
struct at_listeners_ *at_listeners_copy(const struct at_listeners_ *list, uint32_t keep,
					struct at_listener *more);
/* Returns the index of @l in @list, which may be NULL, or -1. */
int at_listeners_find(const struct at_listeners_ *list, const struct at_listener *l);
/* Takes spare references to @list for contexts that the thread makes. */
void at_listeners_stock(struct at_listeners_ *list);
/*
 * Allocates memory for the values of all listeners except the first AT_INLINE_VALUES. Returns
 * false without memory.
 */
bool at_listeners_room(struct at_context *c, const struct at_listeners_ *list);
/* Calls the listeners in the mask @bits. At least one of them must have the callback. */
void at_listeners_call_create(struct at_context *c, uint32_t bits);
void at_listeners_call_before(struct at_context *c, uint32_t bits);
void at_listeners_call_after(struct at_context *c);
void at_listeners_call_destroy(struct at_context *c);

#pragma GCC visibility pop

static inline uint32_t at_listeners_all(const struct at_listeners_ *list)
{
	return list ? (uint32_t)((1ull << list->n) - 1) : 0;
}

static inline void **at_listener_cell(struct at_context *c, uint32_t i)
{
	return i < AT_INLINE_VALUES ? &c->values_[i] : &c->more_[i - AT_INLINE_VALUES];
}

/* Returns the mask of the listeners that follow contexts of the provider of @c. */
static inline uint32_t at_listeners_wanting(const struct at_context *c,
					    const struct at_listeners_ *list)
{
	uint32_t bits = 0;

	for (uint32_t i = 0; i < list->n; i++)
		bits |= (uint32_t)!!(list->of[i]->providers & c->provider) << i;
	return bits & ~c->gone_;
}

/* Gives @list to the new context @c, without the listeners in @gone, and calls create(). */
static inline void at_listeners_inherit(struct at_context *c, struct at_listeners_ *list,
					uint32_t gone)
{
	struct at_context_thread *t = &at_context_thread;
	uint32_t bits;

	if (unlikely(list->n > AT_INLINE_VALUES) && !at_listeners_room(c, list))
		return;
	if (unlikely(t->spare != list || !t->spares))
		at_listeners_stock(list);
	t->spares--;
	c->listeners_ = list;
	c->gone_ = gone;
	for (uint32_t i = 0; i < list->n; i++)
		*at_listener_cell(c, i) = list->of[i]->data;
	bits = at_listeners_wanting(c, list);
	if (bits & list->calls[AT_PHASE_CREATE])
		at_listeners_call_create(c, bits);
	else
		c->created_ = bits;
}

static inline void at_listeners_before(struct at_context *c)
{
	const uint32_t bits = at_listeners_wanting(c, c->listeners_);

	if (bits & c->listeners_->calls[AT_PHASE_BEFORE])
		at_listeners_call_before(c, bits);
	else
		c->ran_ = bits;
}

static inline void at_listeners_after(struct at_context *c)
{
	if (c->ran_ & c->listeners_->calls[AT_PHASE_AFTER])
		at_listeners_call_after(c);
}

static inline void at_listeners_destroy(struct at_context *c)
{
	if (c->created_ & c->listeners_->calls[AT_PHASE_DESTROY])
		at_listeners_call_destroy(c);
}

#endif /* AT_CONTEXT_LISTENERS_H */
