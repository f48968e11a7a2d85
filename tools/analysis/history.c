// SPDX-License-Identifier: GPL-2.0-or-later
/* The histories of threads and CPUs: additions, and look-ups by time */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

struct thread *thread_of(struct analysis *a, uint32_t tid)
{
	struct fxt_entry *e = fxt_find(&a->threads, (uint64_t)tid + 1);
	struct thread *t;

	/* fxt_make() may move the table even if the key exists, and callers walk the table. */
	if (e)
		return (struct thread *)(uintptr_t)e->a;
	/* Allocate first: callers that walk the table rely on every entry having a thread. */
	t = calloc(1, sizeof(*t));
	e = t ? fxt_make(&a->threads, (uint64_t)tid + 1) : NULL;
	if (!e) {
		free(t);
		return NULL;
	}
	t->out.tid = tid;
	t->out.name = "";
	e->a = (uintptr_t)t;
	return t;
}

const struct analysis_thread *analysis_thread_at(const struct analysis *a, uint32_t tid,
						 uint64_t ns)
{
	const struct fxt_entry *e = fxt_find(&a->threads, (uint64_t)tid + 1);

	return e ? thread_at((const struct thread *)(uintptr_t)e->a, ns) : NULL;
}

int add_span(struct analysis *a, struct thread *t, const struct span *s)
{
	struct span *last = last_span(t), new = *s;

	new.lost_until = t->lost_until;
	/* The last span does not begin earlier: it has no length, and the new one replaces it. */
	if (last && last->from >= s->from) {
		new.from = last->from;
		new.wait = last->wait;
		*last = new;
		return 0;
	}
	if (!more_room(&t->spans.of, t->spans.nr, &t->spans.room, sizeof(*t->spans.of)))
		return -ENOMEM;
	last = last_span(t);
	new.wait = last ? last->wait + (last->state != ANALYSIS_RUNNABLE) : 0;
	t->spans.of[t->spans.nr++] = new;
	a->history++;
	return 0;
}

int note_change(struct analysis *a, struct thread *t)
{
	const struct span *last = last_span(t);
	struct changes *c = &t->changes;

	/* Only analysis_needs() uses the changes, and it requires .lead. */
	if (!a->opts.lead)
		return 0;
	if (!more_room(&c->of, c->nr, &c->room, sizeof(*c->of)))
		return -ENOMEM;
	c->of[c->nr] = (struct change){ .told = a->now, .none = !last };
	if (last)
		c->of[c->nr].was = *last;
	c->nr++;
	return 0;
}

struct cpu *cpu_of(struct analysis *a, unsigned int cpu)
{
	if (cpu >= a->nr_cpus) {
		struct cpu *cpus = realloc(a->cpus, (cpu + 1) * sizeof(*cpus));

		if (!cpus)
			return NULL;
		memset(cpus + a->nr_cpus, 0, (cpu + 1 - a->nr_cpus) * sizeof(*cpus));
		a->cpus = cpus;
		a->nr_cpus = cpu + 1;
	}
	return &a->cpus[cpu];
}

int push_occupant(struct analysis *a, struct cpu *c, uint64_t ns, uint32_t tid)
{
	if (!more_room(&c->of, c->nr, &c->room, sizeof(*c->of)))
		return -ENOMEM;
	c->of[c->nr++] = (struct occupant){ .from = ns, .tid = tid };
	a->history++;
	return 0;
}

const struct span *span_at(const struct thread *t, uint64_t ns, uint64_t *to)
{
	size_t low = t->spans.first, high = t->spans.nr;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (t->spans.of[middle].from <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	*to = low < t->spans.nr ? t->spans.of[low].from : STILL_OPEN;
	return low > t->spans.first ? &t->spans.of[low - 1] : NULL;
}

struct thread *occupant_at(struct analysis *a, unsigned int cpu, uint64_t ns,
			   enum analysis_other *kind, uint64_t *to)
{
	const struct cpu *c;
	size_t low, high;
	uint32_t tid;

	*kind = ANALYSIS_OTHER_NONE;
	*to = STILL_OPEN;
	if (cpu >= a->nr_cpus)
		return NULL;
	c = &a->cpus[cpu];
	low = c->first;
	high = c->nr;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (c->of[middle].from <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < c->nr)
		*to = c->of[low].from;
	if (low == c->first || c->of[low - 1].tid == NO_THREAD)
		return NULL;
	tid = c->of[low - 1].tid;
	*kind = !tid ? ANALYSIS_OTHER_IDLE : tid > FXT_TID_REAL_MAX ? ANALYSIS_OTHER_HIDDEN :
		ANALYSIS_OTHER_THREAD;
	return *kind == ANALYSIS_OTHER_THREAD ? thread_of(a, tid) : NULL;
}
