/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The numbers of one moment. They stay as they are while the trace goes on. */
#ifndef TOP_SNAPSHOT_H
#define TOP_SNAPSHOT_H

#include "feed.h"
#include "live.h"

struct numbers {
	uint64_t count, p50, p99, max;		/* ns */
	uint64_t ns[ANALYSIS_STATES], sum_ns;
};

struct type_row {
	const struct top_type *type;
	struct numbers all, recent;
	uint64_t open;
	double rate;
};

struct snapshot {
	uint64_t settled;	/* trace time up to which operations are complete */
	uint64_t delay;		/* that lies behind the records read */
	uint64_t interval;	/* of the rates; 0: no time has passed */
	struct at_compose_counts counts;
	double record_rate;	/* analysed in a second, since the last snapshot */
	uint64_t wall;		/* when it was taken */
	uint64_t late, losses;
	unsigned int restarts;
	bool ended, damaged, incomplete;

	struct type_row types[TYPES_MAX + 1];
	size_t nr_types;
	struct open_operation open[OPEN_MAX];	/* the oldest first; no pointers between them */
	uint64_t ages[OPEN_MAX];
	size_t nr_open;
	uint64_t more_open;	/* that are not listed */
};

/* Each call computes rates since the one before with the same @s, which starts as zeros. */
void snapshot_take(struct snapshot *s, struct feed *f, struct live *l, uint64_t wall);
/* Records that were to be written, and the share of them that was analysed; 1 if none was */
uint64_t snapshot_attempted(const struct snapshot *s);
double snapshot_share(const struct snapshot *s);

#endif /* TOP_SNAPSHOT_H */
