// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Local storage: the values that contexts take over from what makes them
 *
 * All values of a thread or a context are a list that never changes and is shared. A value counts
 * the lists that it is in, and is released with the last.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "contexts.h"

/* @epoch: changes when the storage is disabled; values of another epoch are not seen. */
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

static bool is_current(const struct at_value *v)
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

/*
 * The current values, but @value for @local; NULL: none for that. A list without values is NULL.
 */
static int change(struct at_local *local, void *value, struct at_locals_ **values)
{
	const struct at_locals_ *old = at_flow.locals;
	struct at_value *v = value ? malloc(sizeof(*v)) : NULL;
	struct at_locals_ *l = new_list((old ? old->n : 0) + 1);

	if (!l || (value && !v)) {
		free(v);
		free(l);
		return -ENOMEM;
	}
	for (uint32_t i = 0; old && i < old->n; i++)
		if (old->of[i]->local != local && is_current(old->of[i]))
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
	const struct at_locals_ *l = at_flow.locals;

	for (uint32_t i = 0; l && i < l->n; i++)
		if (l->of[i]->local == local)
			return is_current(l->of[i]) ? l->of[i]->value : NULL;
	return NULL;
}

/* --- contexts -------------------------------------------------------------------------- */

static bool wanted(const struct at_value *v, struct at_context *c)
{
	return is_current(v) && (!v->local->options.propagate ||
				 v->local->options.propagate(v->value, c));
}

/* Without memory for a list of its own, the context gets no values rather than a wrong one. */
struct at_locals_ *at_locals_inherit(struct at_locals_ *from, struct at_context *c)
{
	struct at_locals_ *l = NULL;
	uint32_t i, j;

	for (i = 0; i < from->n && wanted(from->of[i], c); i++)
		;
	if (i == from->n)
		return at_locals_get(from);
	l = new_list(from->n);
	if (!l) {
		at_misuse(c, "no memory for the local storage of a context");
		return NULL;
	}
	for (j = 0; j < from->n; j++)
		if (j < i || (j > i && wanted(from->of[j], c)))
			append(l, from->of[j]);
	if (l->n)
		return l;
	at_locals_drop(l);
	return NULL;
}

/* --- what a thread has ----------------------------------------------------------------- */

/* The reference to the values before goes to the scope. */
static void begin(struct at_local_scope *s, struct at_locals_ *values)
{
	struct at_flow *f = &at_flow;

	*s = (struct at_local_scope){ f->scopes, f->locals, at_context_here() };
	f->scopes = s;
	f->locals = values;
	at_flow_changed();
}

static void end_innermost(void)
{
	struct at_flow *f = &at_flow;
	struct at_local_scope *s = f->scopes;
	struct at_locals_ *values = f->locals;

	f->scopes = s->outer;
	f->locals = s->before;
	at_locals_drop(values);
}

void at_locals_unwind(struct at_local_scope *to)
{
	while (at_flow.scopes != to)
		end_innermost();
	at_flow_changed();
}

void at_locals_unwind_run(const struct at_context *c)
{
	while (at_flow.scopes && at_flow.scopes->context == c)
		end_innermost();
}

AT_PUBLIC int at_local_run(struct at_local *local, void *value, int (*fn)(void *arg), void *arg)
{
	struct at_locals_ *values;
	struct at_local_scope s;
	int result = change(local, value, &values);

	if (result)
		return result;
	begin(&s, values);
	result = fn(arg);
	at_locals_unwind(s.outer);
	return result;
}

AT_PUBLIC int at_local_exit(struct at_local *local, int (*fn)(void *arg), void *arg)
{
	return at_local_run(local, NULL, fn, arg);
}

AT_PUBLIC int at_local_enter_with(struct at_local *local, void *value)
{
	struct at_locals_ *values, *before = at_flow.locals;
	const int err = change(local, value, &values);

	if (err)
		return err;
	/* The end of its run brings back the values before. */
	if (at_context_here())
		at_context_fill(at_context_here());
	else
		at_flow_watch();
	at_flow.locals = values;
	at_locals_drop(before);
	at_flow_changed();
	return 0;
}
