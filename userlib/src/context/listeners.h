/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libasynctrace: lists of listeners, and the part of telling them that calls nothing
 *
 * A list never changes, so that contexts share it: a new one takes over the list of the current
 * context, at the price of a reference. What becomes of listeners in one context is in its masks,
 * where bit i is for the listener at i: so removing needs no memory, and a listener's value stays
 * at its place. Adding makes another list for the current context, without listeners of which
 * nothing is left to be told.
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

/* @calls: for each phase, which listeners have a callback for it */
struct at_listeners_ {
	uint32_t refs;
	uint32_t n;
	uint32_t calls[AT_PHASE_ERROR];
	struct at_listener *of[];
};

#define AT_INLINE_VALUES	2

#pragma GCC visibility push(hidden)

/* Makes the thread have references of @list for contexts that it makes. */
void at_listeners_stock(struct at_listeners_ *list);
/* Room for the values of listeners from the third on. False: no memory */
bool at_listeners_room(struct at_context *c, const struct at_listeners_ *list);
/* Tells those of the mask @bits, of which some have a callback. */
void at_listeners_tell_create(struct at_context *c, uint32_t bits);
void at_listeners_tell_before(struct at_context *c, uint32_t bits);
void at_listeners_tell_after(struct at_context *c);
void at_listeners_tell_destroy(struct at_context *c);

#pragma GCC visibility pop

static inline uint32_t at_listeners_all(const struct at_listeners_ *list)
{
	return list ? (uint32_t)((1ull << list->n) - 1) : 0;
}

static inline void **at_listener_cell(struct at_context *c, uint32_t i)
{
	return i < AT_INLINE_VALUES ? &c->values_[i] : &c->more_[i - AT_INLINE_VALUES];
}

/* Those that want to be told of contexts like @c */
static inline uint32_t at_listeners_wanting(const struct at_context *c,
					    const struct at_listeners_ *list)
{
	uint32_t bits = 0;

	for (uint32_t i = 0; i < list->n; i++)
		bits |= (uint32_t)!!(list->of[i]->providers & c->provider) << i;
	return bits & ~c->gone_;
}

/* @c is new: takes over @list, without those of the mask @gone, and tells create(). */
static inline void at_listeners_inherit(struct at_context *c, struct at_listeners_ *list,
					uint32_t gone)
{
	struct at_flow *f = &at_flow;
	uint32_t bits;

	if (unlikely(list->n > AT_INLINE_VALUES) && !at_listeners_room(c, list))
		return;
	if (unlikely(f->spare != list || !f->spares))
		at_listeners_stock(list);
	f->spares--;
	c->listeners_ = list;
	c->gone_ = gone;
	for (uint32_t i = 0; i < list->n; i++)
		*at_listener_cell(c, i) = list->of[i]->data;
	bits = at_listeners_wanting(c, list);
	if (bits & list->calls[AT_PHASE_CREATE])
		at_listeners_tell_create(c, bits);
	else
		c->created_ = bits;
}

static inline void at_listeners_before(struct at_context *c)
{
	const uint32_t bits = at_listeners_wanting(c, c->listeners_);

	if (bits & c->listeners_->calls[AT_PHASE_BEFORE])
		at_listeners_tell_before(c, bits);
	else
		c->ran_ = bits;
}

static inline void at_listeners_after(struct at_context *c)
{
	if (c->ran_ & c->listeners_->calls[AT_PHASE_AFTER])
		at_listeners_tell_after(c);
}

static inline void at_listeners_destroy(struct at_context *c)
{
	if (c->created_ & c->listeners_->calls[AT_PHASE_DESTROY])
		at_listeners_tell_destroy(c);
}

#endif /* AT_CONTEXT_LISTENERS_H */
