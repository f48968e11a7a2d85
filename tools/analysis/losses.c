// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Losses of records. The recorder writes each loss as a duration "lost records" on a pseudo
 * thread. "cpu-N losses" is the thread for scheduling records of CPU N. Losses of tracepoints have
 * the argument "tracepoints". They hide nothing that the account of an operation depends on.
 *
 * If a session is stopped and started again, the time between is like a loss of all records, but it
 * has no row.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "sum.h"

#define KERNEL	"asynctrace-kernel"

static uint64_t number(const struct fxt_record *rec, const char *name)
{
	const struct fxt_arg *arg = fxt_arg(rec, name);

	return arg && arg->type == ASYNCTRACE_FXT_ARG_UINT64 ? arg->u : 0;
}

/* Returns the CPU of the ring of scheduling records called @name, or -1. */
static int cpu_of_ring(const char *name)
{
	unsigned int cpu;
	int end = 0;

	sscanf(name, "cpu-%5u losses%n", &cpu, &end);
	return end && !name[end] && cpu <= UINT16_MAX ? (int)cpu : -1;
}

int losses_add(struct analysis *a, const struct loss *loss, struct item *it)
{
	struct losses *l = &a->losses;

	if (!more_room(&l->rows, l->nr_rows, &l->room_rows, sizeof(*l->rows)))
		return -ENOMEM;
	it->id = l->nr_rows;
	l->rows[l->nr_rows++] = *loss;
	l->nr_waiting++;
	return 0;
}

int losses_record(struct analysis *a, const struct fxt_record *rec)
{
	const struct fxt_arg *provider = fxt_arg(rec, "provider");
	struct thread *t = thread_of(a, rec->thread.tid);
	struct item it = { .ns = rec->ns, .kind = ITEM_LOSS };
	struct loss loss;
	int err;

	if (!t)
		return -ENOMEM;
	loss = (struct loss){
		.from = rec->ns, .to = rec->end_ns, .cpu = -1,
		.dropped = number(rec, "dropped"), .overwritten = number(rec, "overwritten"),
		.malformed = number(rec, "malformed"),
		.provider = provider && provider->type == ASYNCTRACE_FXT_ARG_STRING ?
			fxt_name(&a->names, provider->text.s, provider->text.len) :
			fxt_name(&a->names, "", 0),
		.ring = fxt_name(&a->names, t->out.name, strlen(t->out.name)),
	};
	if (loss.provider == NO_NAME || loss.ring == NO_NAME)
		return -ENOMEM;
	if (!strcmp(text_of(a, loss.provider), KERNEL)) {
		loss.cpu = cpu_of_ring(t->out.name);
		loss.tracepoints = fxt_arg(rec, "tracepoints");
	}
	a->totals.losses++;
	sum_add(&a->totals.lost, loss.dropped);
	sum_add(&a->totals.lost, loss.overwritten);
	sum_add(&a->totals.malformed, loss.malformed);
	err = losses_add(a, &loss, &it);
	return err ? err : order_add(a, &it);
}

int losses_moment(struct analysis *a, const struct fxt_record *rec)
{
	struct losses *l = &a->losses;
	struct item it = { .ns = l->stopped ? l->stopped : l->continued, .kind = ITEM_LOSS };
	struct loss loss = { .from = it.ns, .to = rec->ns, .cpu = -1, .stopped = true };
	int err;

	if (fxt_text_is(&rec->name, "session continued"))
		l->continued = rec->ns;
	if (fxt_text_is(&rec->name, "session stop") && !l->stopped)
		l->stopped = rec->ns;
	if (!fxt_text_is(&rec->name, "session start"))
		return 0;
	l->stopped = l->continued = 0;
	if (!loss.from || loss.from >= loss.to)
		return 0;
	sum_add(&a->totals.stopped_ns, loss.to - loss.from);
	err = losses_add(a, &loss, &it);
	return err ? err : order_add(a, &it);
}

/* Adds a window. Windows come in order of their begins; overlapping ones are merged. */
static int add_window(struct losses *l, uint64_t from, uint64_t to)
{
	struct window *last = l->nr > l->first ? &l->of[l->nr - 1] : NULL;

	if (l->after <= to)
		l->after = to < UINT64_MAX ? to + 1 : to;
	if (last && from <= last->to) {
		if (last->to < to)
			last->to = to;
		return 0;
	}
	if (!more_room(&l->of, l->nr, &l->room, sizeof(*l->of)))
		return -ENOMEM;
	l->of[l->nr++] = (struct window){ .from = from, .to = to };
	return 0;
}

int losses_item(struct analysis *a, const struct item *it)
{
	struct losses *l = &a->losses;
	const struct loss loss = l->rows[it->id];
	int err = 0;

	if (!--l->nr_waiting)
		l->nr_rows = 0;
	if (loss.cpu >= 0)
		err = scheduling_lost(a, loss.cpu, loss.from, loss.to);
	else if (loss.stopped)
		err = scheduling_stopped(a, loss.from, loss.to);
	if (!err && loss.cpu < 0 && !loss.tracepoints) {
		err = add_window(l, loss.from, loss.to);
		/* Durations of the time of the loss suggest no works any more. */
		a->busy_version++;
	}
	if (err || loss.stopped || !a->sink.loss)
		return err;
	return a->sink.loss(a->sink.arg, &(struct analysis_loss){
		.from = loss.from, .to = loss.to, .provider = text_of(a, loss.provider),
		.ring = text_of(a, loss.ring), .dropped = loss.dropped,
		.overwritten = loss.overwritten, .malformed = loss.malformed,
	});
}

/* Returns the first window that ends after @ns, or NULL. */
static const struct window *window_after(const struct losses *l, uint64_t ns)
{
	size_t low = l->first, high = l->nr;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (l->of[middle].to <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low < l->nr ? &l->of[low] : NULL;
}

uint64_t losses_until(const struct analysis *a, uint64_t from, uint64_t to)
{
	const struct losses *l = &a->losses;
	size_t low = l->first, high = l->nr;
	const struct window *last;

	/* Find the last window that begins before @to. */
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (l->of[middle].from < to)
			low = middle + 1;
		else
			high = middle;
	}
	last = low > l->first ? &l->of[low - 1] : NULL;
	if (!last || last->to <= from)
		return 0;
	return last->to < to ? last->to : to;
}

bool losses_within(const struct analysis *a, uint64_t from, uint64_t to)
{
	const struct window *w = window_after(&a->losses, from);

	/*
	 * A lost duration may end at @to and lie within a recorded one, so @to counts as
	 * inside.
	 */
	return w && w->from <= to;
}

bool losses_hide(const struct analysis *a, uint64_t from, uint64_t to)
{
	return from < a->losses.forgotten || losses_within(a, from, to);
}

void losses_forget(struct analysis *a, uint64_t ns)
{
	struct losses *l = &a->losses;

	while (l->first < l->nr && l->of[l->first].to <= ns) {
		l->forgotten = l->of[l->first++].to;
		a->busy_version++;
	}
	if (l->first > l->nr / 2) {
		l->nr -= l->first;
		memmove(l->of, l->of + l->first, l->nr * sizeof(*l->of));
		l->first = 0;
	}
}
