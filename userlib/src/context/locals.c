// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Local storage: values that a new context inherits
 *
 * A list has the current values of all storages. It never changes, so contexts and threads can
 * share it. Each list has a reference to each of its values. When the last list that contains a
 * value is freed, the value is released.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "contexts.h"

/* @epoch: counts calls of at_local_disable(). Values of earlier epochs are invisible. */
struct at_local {
	uint32_t refs;
	uint32_t epoch;
	struct at_local_options options;
};

struct at_value {
	uint32_t refs;
	uint32_t epoch;
	struct at_local *local;
	void *value;
};

struct at_locals_ {
	uint32_t refs;
	uint32_t n;
	struct at_value *of[];
};

/* --- storages -------------------------------------------------------------------------- */

AT_PUBLIC int at_local_new(struct at_local **local, const struct at_local_options *options)
{
	struct at_local *l;

	if (!local || (options && options->size < offsetof(struct at_local_options, propagate)))
		return -EINVAL;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	if (options)
		memcpy(&l->options, options, options->size < sizeof(l->options) ? options->size :
							     sizeof(l->options));
	l->refs = 1;
	*local = l;
	return 0;
}

AT_PUBLIC void at_local_put(struct at_local *l)
{
	if (l && !__atomic_sub_fetch(&l->refs, 1, __ATOMIC_ACQ_REL))
		free(l);
}

AT_PUBLIC void at_local_disable(struct at_local *l)
{
	__atomic_fetch_add(&l->epoch, 1, __ATOMIC_RELAXED);
}

/* --- values ---------------------------------------------------------------------------- */

static bool is_visible(const struct at_value *v)
{
	return v->epoch == __atomic_load_n(&v->local->epoch, __ATOMIC_RELAXED);
}

static void put_value(struct at_value *v)
{
	if (__atomic_sub_fetch(&v->refs, 1, __ATOMIC_ACQ_REL))
		return;
	if (v->local->options.release)
		v->local->options.release(v->value);
	at_local_put(v->local);
	free(v);
}

struct at_locals_ *at_locals_get(struct at_locals_ *l)
{
	if (l)
		__atomic_fetch_add(&l->refs, 1, __ATOMIC_RELAXED);
	return l;
}

void at_locals_drop(struct at_locals_ *l)
{
	if (!l || __atomic_sub_fetch(&l->refs, 1, __ATOMIC_ACQ_REL))
		return;
	for (uint32_t i = 0; i < l->n; i++)
		put_value(l->of[i]);
	free(l);
}

static struct at_locals_ *new_list(uint32_t room)
{
	struct at_locals_ *l = malloc(sizeof(*l) + room * sizeof(l->of[0]));

	if (l) {
		l->refs = 1;
		l->n = 0;
	}
	return l;
}

static void append(struct at_locals_ *l, struct at_value *v)
{
	__atomic_fetch_add(&v->refs, 1, __ATOMIC_RELAXED);
	l->of[l->n++] = v;
}

int at_locals_change(struct at_local *local, void *value, struct at_locals_ **values)
{
	const struct at_locals_ *old = at_context_thread.locals;
	struct at_value *v = value ? malloc(sizeof(*v)) : NULL;
	struct at_locals_ *l = new_list((old ? old->n : 0) + 1);

	if (!l || (value && !v)) {
		free(v);
		free(l);
		return -ENOMEM;
	}
	for (uint32_t i = 0; old && i < old->n; i++)
		if (old->of[i]->local != local && is_visible(old->of[i]))
			append(l, old->of[i]);
	if (v) {
		__atomic_fetch_add(&local->refs, 1, __ATOMIC_RELAXED);
		*v = (struct at_value){
			1, __atomic_load_n(&local->epoch, __ATOMIC_RELAXED), local, value,
		};
		l->of[l->n++] = v;
	}
	if (!l->n) {
		free(l);
		l = NULL;
	}
	*values = l;
	return 0;
}

AT_PUBLIC void *at_local_get(const struct at_local *local)
{
	const struct at_locals_ *l = at_context_thread.locals;

	for (uint32_t i = 0; l && i < l->n; i++)
		if (l->of[i]->local == local)
			return is_visible(l->of[i]) ? l->of[i]->value : NULL;
	return NULL;
}

/* --- contexts -------------------------------------------------------------------------- */

static bool is_inherited(const struct at_value *v, struct at_context *c)
{
	return is_visible(v) && (!v->local->options.propagate ||
				 v->local->options.propagate(v->value, c));
}

/*
 * Returns the list of the values in @from that @c inherits. Returns NULL if there are none, or if
 * there is no memory: then @from cannot be used, because it has values that @c must not have.
 */
struct at_locals_ *at_locals_inherit(struct at_locals_ *from, struct at_context *c)
{
	struct at_locals_ *l = NULL;
	uint32_t i, j;

	for (i = 0; i < from->n && is_inherited(from->of[i], c); i++)
		;
	if (i == from->n)
		return at_locals_get(from);
	l = new_list(from->n);
	if (!l) {
		at_misuse(c, "no memory for the local storage of a context");
		return NULL;
	}
	for (j = 0; j < from->n; j++)
		if (j < i || (j > i && is_inherited(from->of[j], c)))
			append(l, from->of[j]);
	if (l->n)
		return l;
	at_locals_drop(l);
	return NULL;
}
