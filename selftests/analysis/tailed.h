/* SPDX-License-Identifier: GPL-2.0 */
/* A whole trace, and the part that record --slower-than keeps of it */
#ifndef ANALYSIS_TAILED_H
#define ANALYSIS_TAILED_H

#include "build.h"
#include "tail/tail.h"

struct tailed_options {
	uint64_t slower_than, before;	/* ns */
	uint64_t window;		/* bytes */
	bool torn;			/* input and output come in random pieces; uses rnd() */
};

/*
 * Filters @t as record --slower-than does. Fails unless the kept part is a valid file and gives the
 * same answers about slow operations as @t, and no others. Each record must be counted once.
 *
 * Compares no answers if the filter's counts .late or .hasty (see tail.h) are not 0. Adds the
 * number of compared answers to *@compared.
 *
 * If TAIL_DUMP names a directory and answers differ, part.fxt and whole.fxt are left there;
 * part.fxt also if the kept part is no valid file.
 */
struct tail_counts tailed_check(const struct trace *t, const struct tailed_options *o,
				uint64_t *compared);

#endif /* ANALYSIS_TAILED_H */
