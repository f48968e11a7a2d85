/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Groups the time of an operation by the threads that had a part in it. */
#ifndef REPORT_PARTIES_H
#define REPORT_PARTIES_H

#include "analysis/analysis.h"
#include "fxt/table.h"

#define PARTY_IDS_MAX	3

/* Intervals of one state with the same thread, reason and other party; see key_of() for more */
struct party {
	uint64_t ns;
	uint64_t throttled_ns;	/* at most this part of .ns was spent waiting for the quota of
				   .row.cgroup */
	struct analysis_interval row;	/* the first interval */
	/* Operations that the other party worked on, those with the most time first */
	struct {
		const struct analysis_id *id;
		uint64_t ns;
	} ids[PARTY_IDS_MAX];
	size_t nr_ids;		/* number of all different ids, also of those not in .ids */
	struct fxt_table all;	/* all ids: .a the id, .b ns */
};

struct parties {
	struct party *of;	/* the longest first */
	size_t nr, room;
	struct fxt_table index;	/* while .of is being filled: .a index of the party + 1 */
};

/* Groups the time of @op in @state. Returns 0 or -ENOMEM. */
int parties_of(const struct analysis_operation *op, enum analysis_state state,
	       struct parties *p);
void parties_free(struct parties *p);

#endif /* REPORT_PARTIES_H */
