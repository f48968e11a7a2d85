/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers of each operation type: since the start, and of the last seconds. Memory is bounded:
 * operations of types beyond the first TYPES_MAX share one row.
 */
#ifndef TOP_TALLY_H
#define TOP_TALLY_H

#include "analysis/analysis.h"
#include "fxt/names.h"
#include "buckets.h"

#define TYPES_MAX	100
/* Longer names of types are cut to this number of bytes, or up to 3 fewer. */
#define TYPE_NAME_MAX	256
#define TYPE_TEXT_SIZE	(2 * TYPE_NAME_MAX + 2)
/* The last seconds, as slices of one second of trace time */
#define SLICES		10
#define SLICE_NS	1000000000ull

/* Complete operations of one type */
struct sums {
	struct buckets latencies;
	double ns[ANALYSIS_STATES], sum_ns;	/* a trace may have times whose sum
						   exceeds 64 bits */
};

struct top_type {
	const char *provider, *category, *name;
	struct sums all;
	struct {
		uint64_t number;	/* begin of the slice / SLICE_NS */
		struct sums sums;
	} slices[SLICES];
	uint64_t open;
	uint64_t before;		/* complete operations at the previous snapshot */
	double rate;
};

/* A struct filled with zeros is valid and empty. */
struct tally {
	struct top_type *of[TYPES_MAX + 1];	/* the last one is "(other types)" */
	size_t nr;
	struct fxt_names names;
	struct fxt_table index;		/* hash of the names: .a the row */
	uint64_t now;			/* operations that ended before this time have been added */
	uint64_t previous;		/* .now at the previous snapshot */
	uint64_t interval;		/* ns over which .rate was computed; 0: no rates yet */
};

/* Writes "category/name" of @t, or its name alone, to @text and returns it. */
const char *top_type_text(const struct top_type *t, char text[TYPE_TEXT_SIZE]);
/* Returns the number of bytes to keep of a name of @len bytes. */
size_t tally_name_len(const char *s, size_t len);
/* Returns the row of a type, and makes it if the type is new. Rows never move. NULL: no memory */
struct top_type *tally_type(struct tally *m, const char *provider, const char *category,
			    const char *name);
/* Adds a complete operation of type @t. */
void tally_add(struct top_type *t, const struct analysis_operation *op);
/* Notes that all operations that ended before @ns have been added. */
void tally_settled(struct tally *m, uint64_t ns);
/* Computes the rates since the last call, or since @begin if this is the first call. */
void tally_rates(struct tally *m, uint64_t begin);
/* Adds the numbers of @t in the last seconds to @sum, which must start as zero bytes. */
void tally_recent(const struct tally *m, const struct top_type *t, struct sums *sum);
/* Clears all numbers but .open, which open_clear() clears; the rows stay. */
void tally_reset(struct tally *m);
void tally_free(struct tally *m);

#endif /* TOP_TALLY_H */
