/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Collections of garbage in a trace: durations that asynctrace/memory.h writes */
#ifndef REPORT_COLLECTIONS_H
#define REPORT_COLLECTIONS_H

#include "fxt/fxt.h"

/*
 * The begin or the end of a duration of category "memory". After collections_pair(), a collection.
 */
struct collection {
	uint64_t from, to;	/* .to: the end of the trace if the collection does not end */
	uint64_t pid, tid;	/* process and thread that collected */
	char *type;
	bool complete;
	/* Until collections_pair(): */
	bool begin, own;	/* .own: the begin of a duration of the program, not a collection */
	size_t at;		/* number of the record */
};

/* A struct filled with zeros is valid and empty. */
struct collections {
	struct collection *of;
	size_t nr, room;
};

/* Takes the record if it belongs to a collection. Returns 0 or -ENOMEM. */
int collections_record(struct collections *c, const struct fxt_record *rec);
/*
 * Joins begins and ends after the last record, and sorts collections by begin. @end: the end of
 * the trace. Ends without a begin are dropped.
 */
void collections_pair(struct collections *c, uint64_t end);
void collections_free(struct collections *c);

#endif /* REPORT_COLLECTIONS_H */
