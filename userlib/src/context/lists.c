// SPDX-License-Identifier: LGPL-2.1-or-later
/* Memory of listeners and of lists of listeners; see listeners.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "listeners.h"

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

static void drop_many(struct at_listeners_ *list, uint32_t refs)
{
	if (__atomic_sub_fetch(&list->refs, refs, __ATOMIC_ACQ_REL))
		return;
	for (uint32_t i = 0; i < list->n; i++)
		at_listener_put(list->of[i]);
	free(list);
}

void at_listeners_flush(void)
{
	struct at_context_thread *t = &at_context_thread;
	struct at_listeners_ *list = t->spare;

	t->spare = NULL;
	if (list && t->spares)
		drop_many(list, t->spares);
	t->spares = 0;
}

/* If the thread has spare references to @list, adds this one to them, for the next context. */
void at_listeners_drop(struct at_listeners_ *list)
{
	struct at_context_thread *t = &at_context_thread;

	if (list && list == t->spare && t->spares < 2 * AT_SPARES)
		t->spares++;
	else if (list)
		drop_many(list, 1);
}

struct at_listeners_ *at_listeners_copy(const struct at_listeners_ *list, uint32_t keep,
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

int at_listeners_find(const struct at_listeners_ *list, const struct at_listener *l)
{
	for (uint32_t i = 0; list && i < list->n; i++)
		if (list->of[i] == l)
			return i;
	return -1;
}
