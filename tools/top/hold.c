// SPDX-License-Identifier: GPL-2.0-or-later
/* Computes how long records are held back before they are analysed */
#include "hold.h"

void hold_duration(struct hold *h, uint64_t ns)
{
	if (ns > h->longest[0])
		h->longest[0] = ns;
}

void hold_sample(struct hold *h, uint64_t wall, uint64_t ns)
{
	const size_t last = (h->nr - 1) % HOLD_SAMPLES;

	if (!h->since)
		h->since = wall;
	if (wall - h->since >= HOLD_MEMORY) {
		h->longest[1] = h->longest[0];
		h->longest[0] = 0;
		h->since = wall;
	}
	if (h->nr && wall - h->samples[last].wall < HOLD_SPACING)
		return;
	h->samples[h->nr % HOLD_SAMPLES].wall = wall;
	h->samples[h->nr % HOLD_SAMPLES].ns = ns;
	h->nr++;
}

uint64_t hold_ns(const struct hold *h)
{
	uint64_t ns = h->longest[0] > h->longest[1] ? h->longest[0] : h->longest[1];

	/* The next duration may be a little longer. */
	ns = ns < HOLD_MAX ? ns + ns / 4 : HOLD_MAX;
	return ns < HOLD_MIN ? HOLD_MIN : ns > HOLD_MAX ? HOLD_MAX : ns;
}

uint64_t hold_until(const struct hold *h, uint64_t wall)
{
	const uint64_t hold = hold_ns(h);

	for (size_t i = h->nr; i && i + HOLD_SAMPLES > h->nr; i--) {
		const size_t at = (i - 1) % HOLD_SAMPLES;

		if (h->samples[at].wall + hold <= wall)
			return h->samples[at].ns + 1;
	}
	return 0;
}
