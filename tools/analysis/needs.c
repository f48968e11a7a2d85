// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds what the row of an operation depends on: the threads and CPUs that its intervals and its
 * critical path name, the states of these threads at the begin of the kept records, and the
 * operations that they worked on since then.
 *
 * A later record may change the state that a thread had at an earlier time. So a state is given as
 * only the records before its time show it. The file has the later records, too, and its reader
 * applies their changes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/asynctrace.h>

#include "engine.h"

/*
 * Returns the first change that a record at or after @from made to the span right before @from, or
 * NULL.
 */
static const struct change *told_after(const struct thread *t, uint64_t from)
{
	const struct changes *c = &t->changes;

	for (size_t i = 0; i < c->nr; i++)
		if (c->of[i].told >= from && (c->of[i].none || c->of[i].was.from < from))
			return &c->of[i];
	return NULL;
}

/* Fills in the operation of @t right before @from, as only the records before @from show it. */
static void operation_at(const struct thread *t, uint64_t from, struct analysis_thread_state *state)
{
	const struct turnovers *all = &t->turnovers;

	state->entered = t->known;
	state->operation = t->operation;
	state->newest = t->newest;
	for (size_t i = 0; i < all->nr; i++) {
		if (all->of[i].told < from)
			continue;
		state->entered = all->of[i].known;
		state->operation = all->of[i].operation;
		state->newest = all->of[i].newest;
		return;
	}
}

/* Fills in the state of @t right before @from. */
static void thread_state(const struct analysis *a, const struct thread *t, uint64_t from,
			 struct analysis_thread_state *state)
{
	const struct change *change = told_after(t, from);
	const struct analysis_thread *out = thread_at(t, from);
	uint64_t to;
	const struct span *s = change ? &change->was : from ? span_at(t, from - 1, &to) : NULL;

	*state = (struct analysis_thread_state){
		.tid = t->out.tid, .cpu = NO_CPU,
		.followed = out->followed && out->followed_at < from,
		.shown = t->shown_since && t->shown_since < from,
	};
	operation_at(t, from, state);
	if (!s || (change && change->none)) {
		state->first_seen = t->first_seen < from ? t->first_seen : 0;
		return;
	}
	state->known = true;
	state->state = s->state;
	state->reason = s->reason;
	state->cpu = s->cpu;
	state->duration = s->duration != NO_NAME ? text_of(a, s->duration) : NULL;
	state->in = s->in ? text_of(a, s->in - 1) : NULL;
	state->argument = s->argument;
	state->has_argument = s->has_argument;
	state->file = s->file;
	state->inferred = s->inferred;
	state->pending = s->pending;
	state->seen = s->seen;
	state->woken = s->woken;
	/*
	 * Records that were lost until .lost_until may hide a switch of @t. If a later record shows
	 * that @t has left its CPU, the analysis of the kept records must call its state unknown
	 * until then, so it needs the time.
	 */
	state->lost_until = s->reason == ANALYSIS_LOST || s->lost_until >= from ? s->lost_until : 0;
}

static int add_thread(struct analysis *a, const struct analysis_thread *out, uint64_t from)
{
	struct needs_room *n = &a->needs;
	struct thread *t = out ? thread_of(a, out->tid) : NULL;

	if (!t || t->counted == a->counted)
		return 0;
	if (!more_room(&n->threads, n->nr_threads, &n->room_threads, sizeof(*n->threads)))
		return -ENOMEM;
	t->counted = a->counted;
	thread_state(a, t, from, &n->threads[n->nr_threads++]);
	return 0;
}

/*
 * A loss since the first event of a thread may hide its first scheduling record. If the thread has
 * written no event, any loss since the begin of the session may hide it.
 */
static void add_first_seen(struct analysis *a, struct analysis_needs *needs)
{
	const struct needs_room *n = &a->needs;

	for (size_t i = 0; i < n->nr_threads; i++) {
		const struct analysis_thread_state *state = &n->threads[i];
		const struct thread *t = state->known ? NULL : thread_of(a, state->tid);
		uint64_t ns = state->first_seen;

		if (t && !t->first_seen)
			ns = a->totals.begin;
		if (ns && ns < needs->losses_from)
			needs->losses_from = ns;
	}
}

/* Adds the CPU that @row, which is runnable, waits for. */
static int add_cpu(struct analysis *a, const struct analysis_interval *row)
{
	struct needs_room *n = &a->needs;
	const struct thread *t = thread_of(a, row->thread->tid), *who;
	unsigned int cpu = t ? awaited_cpu(t, row->from) : NO_CPU;
	enum analysis_other kind;
	uint64_t to;

	if (cpu == NO_CPU)
		return 0;
	if (!more_room(&n->cpus, n->nr_cpus, &n->room_cpus, sizeof(*n->cpus)))
		return -ENOMEM;
	who = occupant_at(a, cpu, row->from, &kind, &to);
	n->cpus[n->nr_cpus++] = (struct analysis_cpu_state){
		.cpu = cpu, .from = row->from, .to = row->to,
		.tid = kind == ANALYSIS_OTHER_NONE ? NO_THREAD : kind == ANALYSIS_OTHER_IDLE ? 0 :
		       who ? who->out.tid : (uint32_t)ASYNCTRACE_TID_OTHER_ON(cpu),
	};
	return 0;
}

static int add_rows(struct analysis *a, const struct analysis_interval *rows, size_t nr,
		    uint64_t from)
{
	int err = 0;

	for (size_t i = 0; i < nr && !err; i++) {
		err = add_thread(a, rows[i].thread, from);
		if (!err)
			err = add_thread(a, rows[i].other, from);
		if (!err && rows[i].state == ANALYSIS_RUNNABLE)
			err = add_cpu(a, &rows[i]);
	}
	return err;
}

static int add_operation(struct needs_room *n, uint64_t begin_record, uint64_t end_record)
{
	if (!more_room(&n->operations, n->nr_operations, &n->room_operations,
		       sizeof(*n->operations)))
		return -ENOMEM;
	n->operations[n->nr_operations++] = (struct analysis_other_operation){
		.begin_record = begin_record, .end_record = end_record,
	};
	return 0;
}

/* Adds the operations by which @op is a part of the operation @id: its parent, and so on. */
static int add_chain(struct needs_room *n, const struct operation *op, uint64_t id)
{
	size_t depth = 0;
	int err = 0;

	while (depth < ANCESTORS_MAX && op->ancestors[depth] && op->ancestors[depth] != id)
		depth++;
	if (depth == ANCESTORS_MAX || !op->ancestors[depth])
		return 0;
	for (size_t i = 0; i < depth && !err; i++)
		err = add_operation(n, op->ancestor_records[i], 0);
	return err;
}

/* Adds operations that the thread @tid works on from @from on. @id: of the row's operation */
static int add_operations(struct analysis *a, uint32_t tid, uint64_t from, uint64_t id,
			  struct analysis_needs *needs)
{
	struct needs_room *n = &a->needs;
	const struct thread *t = thread_of(a, tid);
	int err;

	for (size_t i = t ? t->works.first : 0; t && i < t->works.nr; i++) {
		const struct work *w = t->works.of[i];

		if (work_end(w) < from)
			continue;
		err = add_operation(n, w->op->begin_record, w->op->end_record);
		if (!err)
			err = add_chain(n, w->op, id);
		if (err)
			return err;
		if (w->since < needs->losses_from)
			needs->losses_from = w->since;
	}
	return 0;
}

int analysis_needs(struct analysis *a, const struct analysis_operation *op, uint64_t from,
		   struct analysis_needs *needs)
{
	struct needs_room *n = &a->needs;
	int err = 0;

	*needs = (struct analysis_needs){ .until = a->now, .losses_from = from };
	n->nr_threads = 0;
	n->nr_cpus = 0;
	n->nr_operations = 0;
	a->counted++;
	for (size_t i = 0; i < op->nr_threads && !err; i++)
		err = add_thread(a, op->threads[i], from);
	if (!err)
		err = add_rows(a, op->intervals, op->nr_intervals, from);
	if (!err)
		err = add_rows(a, op->path, op->nr_path, from);
	for (size_t i = 0; i < n->nr_threads && !err; i++)
		err = add_operations(a, n->threads[i].tid, from, op->id.id, needs);
	add_first_seen(a, needs);
	needs->threads = n->threads;
	needs->cpus = n->cpus;
	needs->operations = n->operations;
	needs->nr_threads = n->nr_threads;
	needs->nr_cpus = n->nr_cpus;
	needs->nr_operations = n->nr_operations;
	return err;
}
