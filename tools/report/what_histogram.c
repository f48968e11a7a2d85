// SPDX-License-Identifier: GPL-2.0-or-later
/* Cells that several reports share */
#include "what.h"

void sheet_histogram(struct sheet *s, const struct histogram *h)
{
	sheet_number(s, h->from);
	sheet_number(s, h->to);
	sheet_number(s, h->count);
	sheet_share(s, h->count, h->samples->nr);
}

void sheet_percentile(struct sheet *s, const struct samples *of, double percent)
{
	if (of->nr)
		sheet_number(s, samples_percentile(of, percent));
	else
		sheet_absent(s);
}
