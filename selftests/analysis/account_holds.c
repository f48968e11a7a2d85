// SPDX-License-Identifier: GPL-2.0
/* Tests that the account of each operation in a trace equals its latency */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "account_holds.h"
#include "analysis/analysis.h"

/* Result of the sink for an operation whose rows are wrong */
#define WRONG	1

static bool leads(const struct analysis_interval *of, size_t nr, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < nr; i++) {
		if (of[i].from != from || of[i].to <= from)
			return false;
		from = of[i].to;
	}
	return from == to;
}

static const char *fault(const struct analysis_operation *op)
{
	uint64_t ns[ANALYSIS_STATES] = { 0 }, sum = 0;

	if (!leads(op->intervals, op->nr_intervals, op->begin, op->end))
		return "its intervals have a gap";
	if (op->complete && !leads(op->path, op->nr_path, op->begin, op->end))
		return "its critical path has a gap";
	for (size_t i = 0; i < op->nr_intervals; i++)
		ns[op->intervals[i].state] += op->intervals[i].to - op->intervals[i].from;
	for (int s = 0; s < ANALYSIS_STATES; s++)
		sum += op->ns[s];
	if (memcmp(ns, op->ns, sizeof(ns)))
		return "its intervals do not add up to its states";
	return sum == op->end - op->begin ? NULL : "its states do not add up to its latency";
}

static int on_operation(void *arg, const struct analysis_operation *op)
{
	const char *text = fault(op);

	if (!text)
		return 0;
	fprintf(stderr, "%s: operation %s 0x%" PRIx64 ", begun at %" PRIu64 ": %s\n",
		(const char *)arg, op->id.name, op->id.id, op->begin, text);
	return WRONG;
}

bool account_holds(const char *path)
{
	struct analysis_options opts = { 0 };
	struct analysis_sink sink = { .operation = on_operation, .arg = (void *)path };
	struct analysis *a = analysis_new(&opts, &sink);
	struct fxt_record rec;
	struct fxt_reader *r;
	int err;

	r = fxt_open(path, &err);
	while (a && r && !err && fxt_next(r, &rec) > 0)
		err = analysis_record(a, &rec);
	if (a && !err)
		err = analysis_finish(a);
	if (!a || (err && err != WRONG))
		fprintf(stderr, "%s: %s\n", path, a ? fxt_error_text(err) : "no memory");
	fxt_close(r);
	analysis_free(a);
	return a && !err;
}
