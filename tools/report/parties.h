/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parties: the threads that had a part in the time of an operation, and how much */
#ifndef REPORT_PARTIES_H
#define REPORT_PARTIES_H

#include "analysis/analysis.h"
#include "fxt/table.h"

#define PARTY_IDS_MAX	3

/* Intervals of one state with the same thread, duration and other party */
struct party {
	uint64_t ns;
	struct analysis_interval row;	/* the first of them */
	/* Operations that the other party worked on, those with the most time first */
	struct {
		const struct analysis_id *id;
		uint64_t ns;
	} ids[PARTY_IDS_MAX];
	size_t nr_ids;		/* different ones, also those that are not in ids */
	struct fxt_table all;	/* of them: .a the id, .b ns */
};

struct parties {
	struct party *of;	/* the longest first */
	size_t nr, room;
	struct fxt_table index;	/* while it is filled: .a index of the party and 1 */
};

/* The parties of @op's time in @state. 0 or -ENOMEM */
int parties_of(const struct analysis_operation *op, enum analysis_state state,
	       struct parties *p);
void parties_free(struct parties *p);

#endif /* REPORT_PARTIES_H */
