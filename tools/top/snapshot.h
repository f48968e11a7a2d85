/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A snapshot: all numbers at one moment, which do not change while the trace continues */
#ifndef TOP_SNAPSHOT_H
#define TOP_SNAPSHOT_H

#include "feed.h"
#include "live.h"

struct numbers {
	uint64_t count, p50, p99, max;		/* in ns, except .count */
	double ns[ANALYSIS_STATES], sum_ns;
};

struct type_row {
	const struct top_type *type;
	struct numbers all, recent;
	uint64_t open;
	double rate;
};

struct snapshot {
	uint64_t settled;	/* trace time: all operations that ended before it are counted */
	uint64_t delay;		/* time between .settled and the newest record */
	uint64_t interval;	/* time that rates are based on; 0: no time has passed */
	struct at_compose_counts counts;
	double record_rate;	/* records analysed per second since the last snapshot */
	uint64_t wall;		/* when the snapshot was taken */
	uint64_t late, losses;
	unsigned int restarts;
	bool ended, damaged, incomplete;

	struct type_row types[TYPES_MAX + 1];
	size_t nr_types;
	struct open_operation open[OPEN_MAX];	/* the oldest first; links between them are
						   not valid */
	uint64_t ages[OPEN_MAX];
	size_t nr_open;
	uint64_t more_open;	/* open operations that are not in .open */
};

/*
 * Takes a snapshot. Rates are since the previous call with @s, which must be zero bytes at
 * first.
 */
void snapshot_take(struct snapshot *s, struct feed *f, struct live *l, uint64_t wall);
/*
 * snapshot_attempted(): records that were to be written. snapshot_share(): the analysed share
 * of these; 1 if there are none
 */
uint64_t snapshot_attempted(const struct snapshot *s);
double snapshot_share(const struct snapshot *s);

#endif /* TOP_SNAPSHOT_H */
