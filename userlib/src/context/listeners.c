// SPDX-License-Identifier: LGPL-2.1-or-later
/* Listeners: making, adding, removing and telling them; see listeners.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "listeners.h"

#define AT_SPARES		64u

/* --- listeners ------------------------------------------------------------------------- */

AT_PUBLIC int at_listener_new(struct at_listener **listener,
			      const struct at_listener_options *options, void *data,
			      uint32_t providers)
{
	struct at_listener *l;
	size_t size;

	if (!listener || !options || options->size < offsetof(struct at_listener_options, create))
		return -EINVAL;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	size = options->size < sizeof(l->calls) ? options->size : sizeof(l->calls);
	memcpy(&l->calls, options, size);
	l->refs = 1;
	l->providers = providers;
	l->data = data;
	*listener = l;
	return 0;
}

AT_PUBLIC void at_listener_put(struct at_listener *l)
{
	if (l && !__atomic_sub_fetch(&l->refs, 1, __ATOMIC_ACQ_REL))
		free(l);
}

/* --- lists ----------------------------------------------------------------------------- */

static void give_up(struct at_listeners_ *list, uint32_t refs)
{
	if (__atomic_sub_fetch(&list->refs, refs, __ATOMIC_ACQ_REL))
		return;
	for (uint32_t i = 0; i < list->n; i++)
		at_listener_put(list->of[i]);
	free(list);
}

void at_listeners_flush(void)
{
	struct at_flow *f = &at_flow;
	struct at_listeners_ *list = f->spare;

	f->spare = NULL;
	if (list && f->spares)
		give_up(list, f->spares);
	f->spares = 0;
}

/* The thread keeps a few references of the list that it used last. */
void at_listeners_drop(struct at_listeners_ *list)
{
	struct at_flow *f = &at_flow;

	if (list && list == f->spare && f->spares < 2 * AT_SPARES)
		f->spares++;
	else if (list)
		give_up(list, 1);
}

void at_listeners_stock(struct at_listeners_ *list)
{
	struct at_flow *f = &at_flow;

	at_listeners_flush();
	__atomic_fetch_add(&list->refs, AT_SPARES, __ATOMIC_RELAXED);
	f->spare = list;
	f->spares = AT_SPARES;
	at_flow_watch();
}

bool at_listeners_room(struct at_context *c, const struct at_listeners_ *list)
{
	c->more_ = malloc((list->n - AT_INLINE_VALUES) * sizeof(*c->more_));
	if (!c->more_)
		at_misuse(c, "no memory for the listeners of a context");
	return c->more_;
}

/* Its listeners of the mask @keep, and @more unless it is NULL. NULL: no memory */
static struct at_listeners_ *copy(const struct at_listeners_ *list, uint32_t keep,
				  struct at_listener *more)
{
	const uint32_t n = list ? list->n : 0;
	struct at_listeners_ *new = malloc(sizeof(*new) + (n + 1) * sizeof(new->of[0]));

	if (!new)
		return NULL;
	new->refs = 1;
	new->n = 0;
	for (uint32_t i = 0; i < n; i++)
		if (keep >> i & 1)
			new->of[new->n++] = list->of[i];
	if (more)
		new->of[new->n++] = more;
	memset(new->calls, 0, sizeof(new->calls));
	for (uint32_t i = 0; i < new->n; i++) {
		const struct at_listener_options *calls = &new->of[i]->calls;

		__atomic_fetch_add(&new->of[i]->refs, 1, __ATOMIC_RELAXED);
		new->calls[AT_PHASE_CREATE] |= (uint32_t)!!calls->create << i;
		new->calls[AT_PHASE_BEFORE] |= (uint32_t)!!calls->before << i;
		new->calls[AT_PHASE_AFTER] |= (uint32_t)!!calls->after << i;
		new->calls[AT_PHASE_DESTROY] |= (uint32_t)!!calls->destroy << i;
	}
	return new;
}

/* Its place, or -1 */
static int find(const struct at_listeners_ *list, const struct at_listener *l)
{
	for (uint32_t i = 0; list && i < list->n; i++)
		if (list->of[i] == l)
			return i;
	return -1;
}

/* The outermost emission that walks the replaced list gets its reference. */
static void replace(struct at_listeners_ **place, struct at_listeners_ *new)
{
	struct at_listeners_ *old = *place;
	struct at_emission *holder = NULL;

	for (struct at_emission *e = at_flow.emission; e; e = e->outer)
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
	const int i = c && at_context_is_full(c) ? find(c->listeners_, l) : -1;

	return i < 0 || c->gone_ >> i & 1 ? NULL : *at_listener_cell((struct at_context *)c, i);
}

void at_listeners_end_thread(void)
{
	replace(&at_flow.listeners, NULL);
}

/* --- adding and removing --------------------------------------------------------------- */

static uint32_t moved(uint32_t bits, uint32_t keep)
{
	uint32_t to = 0, n = 0;

	for (uint32_t i = 0; i < ASYNCTRACE_LISTENERS_MAX; i++)
		if (keep >> i & 1)
			to |= (bits >> i & 1) << n++;
	return to;
}

/* After its list has become one of those of the mask @keep, and of others behind them */
static void keep_values(struct at_context *c, uint32_t n, uint32_t keep)
{
	uint32_t to = 0;

	for (uint32_t i = 0; i < n; i++)
		if (keep >> i & 1)
			*at_listener_cell(c, to++) = *at_listener_cell(c, i);
	c->gone_ = moved(c->gone_, keep);
	c->created_ = moved(c->created_, keep);
	c->ran_ = moved(c->ran_, keep);
}

static int add_to(struct at_context *c, struct at_listener *l)
{
	const uint32_t n = c->listeners_ ? c->listeners_->n : 0;
	/* An emission walks the list by places. */
	const uint32_t keep = at_emission_of(c) ? ~0u : ~c->gone_ | c->created_ | c->ran_;
	struct at_listeners_ *list = copy(c->listeners_, keep, l);
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
	keep_values(c, n, keep & at_listeners_all(c->listeners_));
	*at_listener_cell(c, list->n - 1) = l->data;
	replace(&c->listeners_, list);
	return 0;
}

static int add_to_thread(struct at_flow *f, struct at_listener *l)
{
	struct at_listeners_ *list;

	if (find(f->listeners, l) >= 0)
		return 0;
	if (f->listeners && f->listeners->n == ASYNCTRACE_LISTENERS_MAX)
		return -ENOSPC;
	list = copy(f->listeners, ~0u, l);
	if (!list)
		return -ENOMEM;
	replace(&f->listeners, list);
	at_flow_watch();
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
		i = find(c->listeners_, l);
		if (i >= 0)
			c->gone_ &= ~(1u << i);
		else
			err = add_to(c, l);
	} else {
		err = add_to_thread(&at_flow, l);
	}
	at_flow_changed();
	return err;
}

static int remove_from_thread(struct at_flow *f, const struct at_listener *l)
{
	const int i = find(f->listeners, l);
	struct at_listeners_ *list = NULL;

	if (i < 0)
		return 0;
	if (f->listeners->n > 1) {
		list = copy(f->listeners, ~(1u << i), NULL);
		if (!list)
			return -ENOMEM;
	}
	replace(&f->listeners, list);
	return 0;
}

AT_PUBLIC int at_listener_remove(struct at_listener *l)
{
	int i, err;

	if (!l)
		return -EINVAL;
	err = remove_from_thread(&at_flow, l);
	if (err)
		return err;
	for (struct at_context *c = at_context_here(); c; c = c->outer_) {
		i = at_context_is_full(c) ? find(c->listeners_, l) : -1;
		if (i >= 0)
			c->gone_ |= 1u << i;
	}
	at_flow_changed();
	return 0;
}

/* --- emissions ------------------------------------------------------------------------- */

bool at_emission_of(const struct at_context *c)
{
	for (const struct at_emission *e = at_flow.emission; e; e = e->outer)
		if (e->context == c)
			return true;
	return false;
}

void at_emissions_end(struct at_emission *to)
{
	struct at_flow *f = &at_flow;

	while (f->emission != to) {
		struct at_emission *e = f->emission;

		f->emission = e->outer;
		if (e->held)
			at_listeners_drop(e->list);
	}
}

/* Tells the listener at @i of @c, which has a callback for that. */
static inline void tell(struct at_context *c, const struct at_listener *l, uint32_t i,
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
 * Tells listeners of the mask @bits, in their order, and notes in *@told, unless it is NULL, those
 * that had their turn. Inlined, because the phase is a constant. Names at_flow like
 * at_current_set_() does at_current_.
 */
__attribute__((always_inline))
static inline void emit(struct at_context *c, uint32_t bits, enum at_phase phase, uint32_t *told)
{
	struct at_emission e = { at_flow.emission, c, c->listeners_, false };
	uint32_t calls = bits & e.list->calls[phase];
	const uint8_t before = at_flow.phase;
	const bool stopped = at_flow.stop;

	at_flow.emission = &e;
	at_flow.phase = phase;
	at_flow.stop = false;
	do {
		const uint32_t i = __builtin_ctz(calls);

		/* A create() that fails has made no value; a before() needs its after(). */
		if (told && phase == AT_PHASE_BEFORE)
			*told |= bits & ((2u << i) - 1);
		tell(c, e.list->of[i], i, phase);
		if (told && phase == AT_PHASE_CREATE)
			*told |= bits & ((2u << i) - 1);
		calls &= calls - 1;
	} while (calls && !at_flow.stop);
	bits = at_flow.stop ? 0 : bits;
	at_flow.stop = stopped;
	at_flow.phase = before;
	if (unlikely(e.held))
		at_listeners_drop(e.list);
	at_flow.emission = e.outer;
	if (told)
		*told |= bits;
}

void at_listeners_tell_create(struct at_context *c, uint32_t bits)
{
	emit(c, bits, AT_PHASE_CREATE, &c->created_);
}

void at_listeners_tell_before(struct at_context *c, uint32_t bits)
{
	emit(c, bits, AT_PHASE_BEFORE, &c->ran_);
}

void at_listeners_tell_after(struct at_context *c)
{
	emit(c, c->ran_, AT_PHASE_AFTER, NULL);
}

void at_listeners_tell_destroy(struct at_context *c)
{
	emit(c, c->created_, AT_PHASE_DESTROY, NULL);
}

bool at_listeners_error(const struct at_error *error)
{
	struct at_flow *f = &at_flow;
	struct at_context *c = error->context;
	struct at_listeners_ *list = c ? c->listeners_ : f->listeners;
	struct at_emission e = { f->emission, c, list, false };
	bool handled = false;

	f->emission = &e;
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
