// SPDX-License-Identifier: GPL-2.0
/*
 * Analyses the trace that a fuzzer has made, and tests that the parts of each row of the account
 * add up to the whole
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/analysis.h"
#include "fuzz_rows.h"
#include "report/explain.h"
#include "report/lints.h"

/* For a sink: ends the analysis if @x is false. */
#define MUST(x) do { \
	if (!(x)) { \
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); \
		return -EINVAL; \
	} \
} while (0)

static FILE *null;

static int on_operation(void *arg, const struct analysis_operation *op)
{
	uint64_t sum = 0;

	for (int i = 0; i < ANALYSIS_STATES; i++)
		sum += op->ns[i];
	MUST(op->end >= op->begin && sum == op->end - op->begin);
	explain_sentence(null, op);
	explain_account(null, op);
	explain_path(null, op);
	explain_json(null, op, true, NULL);
	return lints_operation(arg, op);
}

static int on_thread(void *arg, const struct analysis_thread_row *row)
{
	uint64_t sum = row->exited_ns;

	for (int i = 0; i < ANALYSIS_STATES; i++)
		sum += row->ns[i];
	MUST(row->thread && sum == row->to - row->from);
	return 0;
}

static int on_wakeup(void *arg, const struct analysis_wakeup *w)
{
	MUST(w->woken && !w->waker == (w->waker_kind != ANALYSIS_OTHER_THREAD));
	return lints_wakeup(arg, w);
}

static int on_wait(void *arg, const struct analysis_wait *wait)
{
	uint64_t at = wait->from;

	for (size_t i = 0; i < wait->nr_parts; i++) {
		MUST(wait->parts[i].from == at && wait->parts[i].to > at);
		at = wait->parts[i].to;
	}
	MUST(at == wait->to);
	return 0;
}

static int on_turn(void *arg, const struct analysis_turn *turn)
{
	MUST(turn->thread && turn->from <= turn->sleep && turn->sleep <= turn->to);
	MUST(turn->running_ns <= turn->sleep - turn->from);
	MUST(!turn->waker == (turn->waker_kind != ANALYSIS_OTHER_THREAD));
	MUST(turn->woken == (turn->waker_kind != ANALYSIS_OTHER_NONE));
	return lints_turn(arg, turn) || lints_turn_over(arg, turn) ||
	       (turn->woken && lints_woken(arg, turn)) ? -ENOMEM : 0;
}

static int on_begin(void *arg, const struct analysis_begin *begin)
{
	MUST(begin->thread && begin->id.provider && begin->id.category && begin->id.name);
	return lints_begin(arg, begin);
}

static int on_orphan(void *arg, const struct analysis_orphan *o)
{
	MUST(o->thread && o->id.name && o->id.category && analysis_orphan_name(o->kind));
	return 0;
}

int fuzz_rows(struct fxt_reader *r, uint64_t choices)
{
	static const struct analysis_pair pair = {
		.name = "work:work", .start = "work", .done = "cat/work", .key = "n",
	};
	struct analysis_options opts = {
		.window = choices & 1 ? 1 + (choices >> 8) % 100 : 0,
		.history = choices & 2 ? 1 + (choices >> 16) % 1000 : 0,
		.totals_only = choices & 4, .pair = choices & 8 ? &pair : NULL,
	};
	struct lints lints = { 0 };
	struct analysis_sink sink = {
		.operation = on_operation, .thread = choices & 16 ? on_thread : NULL,
		.wakeup = choices & 32 ? on_wakeup : NULL, .wait = choices & 64 ? on_wait : NULL,
		.orphan = choices & 128 ? on_orphan : NULL,
		.turn = choices & 1 << 24 ? on_turn : NULL,
		.begin = choices & 1 << 25 ? on_begin : NULL, .arg = &lints,
	};
	struct analysis *a = analysis_new(&opts, &sink);
	struct fxt_record rec;
	int err = a ? 0 : -ENOMEM;

	if (!null)
		null = fopen("/dev/null", "we");
	while (!err && fxt_next(r, &rec) > 0)
		err = analysis_record(a, &rec);
	if (!err)
		err = analysis_finish(a);
	if (!err)
		lints_find(&lints, 1);
	lints_free(&lints);
	analysis_free(a);
	return err;
}
