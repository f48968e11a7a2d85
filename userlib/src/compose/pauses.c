// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Times in which the session was stopped
 *
 * A session that is stopped can start again, and one file can have the records of both runs. What
 * happened in between is unknown. Rings are read one after the other, so records of the first run
 * may arrive after the second start. Records are therefore compared with the times of all pauses.
 */
#include <errno.h>

#include "mem.h"
#include "pauses.h"

int atc_pauses_take(struct atc_pauses *p, uint32_t what, uint64_t ns)
{
	struct atc_pause *of;

	/* A damaged chunk may have any time. Keep the times in order for the search. */
	if (ns < p->known)
		ns = p->known;
	/* A start shows that a stop came before it: see atc_pauses_lack_stop(). */
	if (what == ASYNCTRACE_MOMENT_START && p->known) {
		if (p->nr == p->room) {
			of = atc_realloc(p->of, (2 * p->room + 8) * sizeof(*of));
			if (!of)
				return -ENOMEM;
			p->of = of;
			p->room = 2 * p->room + 8;
		}
		p->of[p->nr++] = (struct atc_pause){ p->known, ns };
	}
	if (what != ASYNCTRACE_MOMENT_START && p->stopped)
		return 0;
	p->stopped = what == ASYNCTRACE_MOMENT_STOP;
	p->known = ns;
	return 0;
}

const struct atc_pause *atc_pause_search(const struct atc_pauses *p, uint64_t from, uint64_t to)
{
	size_t low = 0, high = p->nr;

	/* Find the first pause that ends after @from. */
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (p->of[middle].start <= from)
			low = middle + 1;
		else
			high = middle;
	}
	return low < p->nr && p->of[low].start <= to ? p->of + low : NULL;
}
