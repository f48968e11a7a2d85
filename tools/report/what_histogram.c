// SPDX-License-Identifier: GPL-2.0-or-later
/* The cells that reports with histograms share */
#include "what.h"

void sheet_histogram(struct sheet *s, const struct histogram *h)
{
	sheet_number(s, h->from);
	sheet_number(s, h->to);
	sheet_number(s, h->count);
	sheet_share(s, h->count, h->samples->nr);
}
