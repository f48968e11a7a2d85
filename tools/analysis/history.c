// SPDX-License-Identifier: GPL-2.0-or-later
/* Look-ups in the histories of threads and CPUs */
#include "engine.h"

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
