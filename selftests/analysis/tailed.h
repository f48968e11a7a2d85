/* SPDX-License-Identifier: GPL-2.0 */
/* A trace as a whole, and what record --slower-than keeps of it */
#ifndef ANALYSIS_TAILED_H
#define ANALYSIS_TAILED_H

#include "build.h"
#include "tail/tail.h"

struct tailed_options {
	uint64_t slower_than, before;	/* ns */
	uint64_t window;		/* bytes */
	bool torn;			/* records come and go in random pieces; uses rnd() */
};

/*
 * Fails unless what is kept of @t gives the same answers about slow operations as @t, has no
 * others, and is a valid file, and unless each record is counted once. Adds the number of answers
 * that were compared to *@compared: none if the counts say that records were late, or hasty.
 *
 * If TAIL_DUMP names a directory, a failure leaves the traces part.fxt and whole.fxt there.
 */
struct tail_counts tailed_check(const struct trace *t, const struct tailed_options *o,
				uint64_t *compared);

#endif /* ANALYSIS_TAILED_H */
