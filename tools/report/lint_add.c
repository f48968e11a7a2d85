// SPDX-License-Identifier: GPL-2.0-or-later
/* Lists that all lints add to: threads, and findings */
#include <stdlib.h>

#include "lints.h"

struct lint_thread *lint_thread_of(struct lints *l, const struct analysis_thread *t)
{
	struct fxt_entry *e = fxt_make(&l->by_thread, analysis_thread_key(t));

	if (!e)
		return NULL;
	if (!e->a) {
		if (!more_room(&l->threads, l->nr_threads, &l->room_threads, sizeof(*l->threads)))
			return NULL;
		l->threads[l->nr_threads] = (struct lint_thread){ .thread = t };
		e->a = ++l->nr_threads;
	}
	return &l->threads[e->a - 1];
}

void lints_add(struct lints *l, const struct finding *finding)
{
	if (!more_room(&l->of, l->nr, &l->room, sizeof(*l->of)))
		l->failed = true;
	else
		l->of[l->nr++] = *finding;
}
