// SPDX-License-Identifier: GPL-2.0-or-later
/* Frees history before a given time, and threads that ended before it. */
#include <stdlib.h>
#include <string.h>

#include "busy.h"
#include "engine.h"

void thread_free(struct thread *t)
{
	free(t->spans.of);
	free(t->changes.of);
	free(t->turnovers.of);
	works_free(&t->works);
	ends_free(t);
	works_free(&t->entered);
	while (t->depth)
		durations_pop(t);
	free(t->stack);
	busy_free(t);
	identities_free(t);
	free(t);
}

/* Drops changes before @ns. */
static void forget_changes(struct changes *c, uint64_t ns)
{
	size_t n = 0;

	while (n < c->nr && c->of[n].told < ns)
		n++;
	c->nr -= n;
	if (n)
		memmove(c->of, c->of + n, c->nr * sizeof(*c->of));
}

static void forget_turnovers(struct turnovers *all, uint64_t ns)
{
	size_t n = 0;

	while (n < all->nr && all->of[n].told < ns)
		n++;
	all->nr -= n;
	if (n)
		memmove(all->of, all->of + n, all->nr * sizeof(*all->of));
}

/* Drops spans and works that end before @ns. */
static void forget_thread(struct analysis *a, struct thread *t, uint64_t ns)
{
	struct spans *s = &t->spans;
	struct works *w = &t->works;
	size_t old = s->first, kept = 0;

	/* The stretches of busy.c refer to operations, which works keep in memory until here. */
	busy_free(t);
	while (s->first + 1 < s->nr && s->of[s->first + 1].from <= ns)
		s->first++;
	a->history -= s->first - old;
	if (s->first > s->nr / 2) {
		s->nr -= s->first;
		memmove(s->of, s->of + s->first, s->nr * sizeof(*s->of));
		s->first = 0;
	}
	for (size_t i = w->first; i < w->nr; i++) {
		if (work_end(w->of[i]) <= ns)
			work_put(w->of[i]);
		else
			w->of[kept++] = w->of[i];
	}
	a->history -= w->nr - w->first - kept;
	w->first = 0;
	w->nr = kept;
	ends_forget(t);
	forget_changes(&t->changes, ns);
	forget_turnovers(&t->turnovers, ns);
}

static void forget_cpu(struct analysis *a, struct cpu *c, uint64_t ns)
{
	size_t old = c->first;

	while (c->first + 1 < c->nr && c->of[c->first + 1].from <= ns)
		c->first++;
	a->history -= c->first - old;
	if (c->first > c->nr / 2) {
		c->nr -= c->first;
		memmove(c->of, c->of + c->first, c->nr * sizeof(*c->of));
		c->first = 0;
	}
}

static bool is_over(struct analysis *a, struct thread *t, uint64_t ns)
{
	const struct span *last = last_span(t);

	if (!last || last->from >= ns || last->state != ANALYSIS_BLOCKED ||
	    last->reason != ANALYSIS_EXITED || t->waiting)
		return false;
	durations_release(a, t);
	return !t->depth && !t->refs;
}

void scheduling_release(struct analysis *a, uint64_t ns)
{
	for (size_t i = 0; a->threads.entries && i <= a->threads.mask;) {
		struct fxt_entry *e = &a->threads.entries[i];
		struct thread *t = (struct thread *)(uintptr_t)e->a;

		/* fxt_remove() may move another entry to this index. */
		if (e->key && t && is_over(a, t, ns)) {
			a->history -= t->spans.nr - t->spans.first;
			thread_free(t);
			fxt_remove(&a->threads, e);
		} else {
			i++;
		}
	}
}

void scheduling_forget(struct analysis *a, uint64_t ns)
{
	fxt_each(&a->threads, e)
		forget_thread(a, (struct thread *)(uintptr_t)e->a, ns);
	for (size_t i = 0; i < a->nr_cpus; i++)
		forget_cpu(a, &a->cpus[i], ns);
}
