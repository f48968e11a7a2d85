// SPDX-License-Identifier: GPL-2.0-or-later
/* The engine's interface: turns records into items, and decides how long history is kept. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "entered.h"
#include "throttling.h"

#define HISTORY_DEFAULT	(1u << 20)

const char *text_of(const struct analysis *a, uint32_t name)
{
	return name < a->names.nr ? a->names.of[name] : "";
}

const char *analysis_state_name(enum analysis_state state)
{
	static const char *const names[ANALYSIS_STATES] = {
		[ANALYSIS_RUNNING] = "running", [ANALYSIS_UNKNOWN] = "unknown",
		[ANALYSIS_RUNNABLE] = "runnable", [ANALYSIS_BLOCKED] = "blocked",
		[ANALYSIS_QUEUED] = "queued",
	};

	return names[state];
}

const char *analysis_reason_name(enum analysis_reason reason)
{
	static const char *const names[ANALYSIS_REASONS] = {
		[ANALYSIS_NO_REASON] = "", [ANALYSIS_PREEMPTED] = "preempted",
		[ANALYSIS_YIELDED] = "yielded", [ANALYSIS_WOKEN] = "woken", [ANALYSIS_SLEEP] = "sleep",
		[ANALYSIS_DISK] = "disk sleep", [ANALYSIS_IOWAIT] = "iowait", [ANALYSIS_STOPPED] = "stopped",
		[ANALYSIS_EXITED] = "exited", [ANALYSIS_LOST] = "records were lost",
		[ANALYSIS_UNSCHEDULED] = "no scheduling was recorded",
		[ANALYSIS_DROPPED] = "not kept in memory",
	};

	return names[reason];
}

struct analysis *analysis_new(const struct analysis_options *opts,
			      const struct analysis_sink *sink)
{
	struct analysis *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->opts = *opts;
	a->sink = *sink;
	a->totals.begin = UINT64_MAX;
	a->names.max_bytes = opts->names;
	if (!a->opts.history)
		a->opts.history = HISTORY_DEFAULT;
	return a;
}

void analysis_free(struct analysis *a)
{
	struct operation *op, *newer;

	if (!a)
		return;
	for (op = a->oldest; op; op = newer) {
		newer = op->newer;
		operation_drop_works(op);
		operation_put(op);
	}
	fxt_each(&a->threads, e)
		thread_free((struct thread *)(uintptr_t)e->a);
	for (size_t i = 0; i < a->nr_cpus; i++)
		free(a->cpus[i].of);
	free(a->cpus);
	fxt_table_free(&a->threads);
	fxt_asyncs_free(&a->asyncs);
	fxt_each(&a->providers, e) {
		struct strings *s = (struct strings *)(uintptr_t)e->b;

		if (s)
			fxt_sparse_free(&s->of);
		free(s);
	}
	fxt_table_free(&a->providers);
	fxt_names_free(&a->names);
	order_free(&a->order);
	late_free(&a->late);
	free(a->losses.rows);
	free(a->losses.of);
	throttling_free(a);
	free(a->whole.of);
	free(a->intervals.of);
	free(a->path.of);
	free(a->parts.of);
	free(a->scratch.works);
	free(a->scratch.pieces);
	free(a->scratch.edges);
	free(a->scratch.threads);
	free(a->needs.threads);
	free(a->needs.cpus);
	free(a->needs.operations);
	free(a->marks.of);
	free(a);
}

const struct analysis_totals *analysis_totals(const struct analysis *a)
{
	return &a->totals;
}

/* --- what is kept for how long ------------------------------------------------------ */

/*
 * Drops works that ended before @a->floor. A single operation may be open for the whole trace, so
 * works of open operations must be limited, too.
 */
static void give_up_works(struct analysis *a)
{
	for (struct operation *op = a->oldest; op && op->begin < a->floor; op = op->newer)
		operation_forget(op, a->floor);
}

/*
 * Drops the history before the begin of the oldest open operation. If the remaining history exceeds
 * half of the limit, repeatedly drops the older half of its time.
 */
static void forget(struct analysis *a)
{
	uint64_t ns = a->oldest && a->oldest->begin < a->now ? a->oldest->begin : a->now;
	const uint64_t floor = a->floor;

	if (threads_wanted(&a->sink))
		ns = threads_needed(a, ns);
	if (ns < a->horizon)
		ns = a->horizon;
	ns = ns > a->opts.lead ? ns - a->opts.lead : 0;
	if (ns < a->floor)
		ns = a->floor;
	scheduling_forget(a, ns);
	losses_forget(a, ns);
	throttling_forget(a, ns);
	while (a->history > a->opts.history / 2 && ns < a->now) {
		ns += (a->now - ns + 1) / 2;
		a->floor = ns;
		scheduling_forget(a, ns);
	}
	if (a->floor > floor)
		give_up_works(a);
	if (a->opts.names)
		scheduling_release(a, ns);
	a->forget_at = 2 * a->history < a->opts.history ? 2 * a->history : a->opts.history;
	/*
	 * Each thread keeps its last span, so the history of many threads may stay above the
	 * limit. Raise the threshold to avoid a scan for each item.
	 */
	if (a->forget_at < a->history + a->history / 4 + 4096)
		a->forget_at = a->history + a->history / 4 + 4096;
}

/* --- items ---------------------------------------------------------------------------- */

int thread_exits(struct analysis *a, struct thread *t, uint64_t ns)
{
	const int err = entered_exit(a, t, ns);

	return err ? err : durations_exit(a, t, ns);
}

/* Handles a switch. If the leaving thread exits, it works on nothing from then on. */
static int switch_item(struct analysis *a, const struct item *it)
{
	int err = scheduling_switch(a, it);
	struct thread *t;

	if (err || it->reason != ANALYSIS_EXITED || !is_real(it->id) || it->inferred)
		return err;
	t = thread_of(a, it->id);
	if (!t)
		return -ENOMEM;
	identity_exit(t, it->ns);
	return thread_exits(a, t, it->ns);
}

int engine_item(struct analysis *a, const struct item *it)
{
	if (it->ns > a->now)
		a->now = it->ns;
	if (a->history >= a->forget_at)
		forget(a);
	switch (it->kind) {
	case ITEM_SWITCH:
		return switch_item(a, it);
	case ITEM_WAKEUP:
		return scheduling_wakeup(a, it);
	case ITEM_LOSS:
		return losses_item(a, it);
	case ITEM_MARK:
		return selection_item(a, it);
	case ITEM_THROTTLED:
		return throttling_item(a, it);
	case ITEM_PARENT:
		a->child = it->id;
		a->parent = it->record;
		return 0;
	default:
		return durations_item(a, it);
	}
}

/* --- records --------------------------------------------------------------------------- */

static int add_switch(struct analysis *a, const struct fxt_record *rec)
{
	/*
	 * Skip a switch that the recorder of slow operations wrote for viewers. It is not a switch
	 * of the kernel.
	 */
	if (selection_apart(rec))
		return 0;
	a->totals.switches++;
	return off_cpu_switch(a, rec);
}

static int add_wakeup(struct analysis *a, const struct fxt_record *rec)
{
	a->totals.wakeups++;
	return off_cpu_wakeup(a, rec);
}

/*
 * Returns the strings of a provider. Caches the last provider, because records of one provider
 * mostly follow each other.
 */
static const struct strings *strings_of(struct analysis *a, uint32_t provider)
{
	struct fxt_entry *e;

	if (a->strings && a->strings_of == provider)
		return a->strings;
	e = fxt_find(&a->providers, (uint64_t)provider + 1);
	a->strings = e ? (struct strings *)(uintptr_t)e->b : NULL;
	a->strings_of = provider;
	return a->strings;
}

/*
 * Returns the number of the name @t in @rec. A look-up by string index is cheaper than hashing
 * the text.
 */
static uint32_t name_of(struct analysis *a, const struct fxt_record *rec, const struct fxt_text *t)
{
	const struct strings *s = t->index ? strings_of(a, rec->provider) : NULL;
	const uint32_t *name = s ? fxt_element(&s->of, t->index, sizeof(*name)) : NULL;

	if (name && *name)
		return *name - 1;
	return fxt_name(&a->names, t->s, t->len);
}

static int add_string(struct analysis *a, const struct fxt_record *rec)
{
	struct fxt_entry *e = fxt_make(&a->providers, (uint64_t)rec->provider + 1);
	uint32_t name = fxt_name(&a->names, rec->name.s, rec->name.len);
	struct strings *s;
	uint32_t *of;

	if (!e || name == NO_NAME)
		return -ENOMEM;
	if (!e->b)
		e->b = (uintptr_t)calloc(1, sizeof(*s));
	s = (struct strings *)(uintptr_t)e->b;
	if (!s)
		return -ENOMEM;
	of = fxt_make_element(&s->of, rec->number, sizeof(*of));
	if (!of)
		return -ENOMEM;
	*of = name + 1;
	return 0;
}

/* Finds the place in the source that the begin of a scope names. Returns 0 or a negative errno. */
static int find_place(struct analysis *a, const struct fxt_record *rec, uint32_t *place)
{
	static const char before[] = "at ";
	const uint32_t skip = sizeof(before) - 1;

	*place = NO_NAME;
	for (unsigned int i = 0; i < rec->nargs && a->sink.region; i++) {
		struct fxt_text name = rec->args[i].name;

		if (rec->args[i].type != ASYNCTRACE_FXT_ARG_NULL || name.len <= skip ||
		    memcmp(name.s, before, skip))
			continue;
		name = (struct fxt_text){ .s = name.s + skip, .len = name.len - skip };
		*place = name_of(a, rec, &name);
		return *place == NO_NAME ? -ENOMEM : 0;
	}
	return 0;
}

/*
 * Takes the arguments of the library's records of operations. They tell the operation that the
 * thread works on from then on, and the parent of an operation that begins: see asynctrace(5).
 * Returns 0 or a negative errno.
 */
static int add_operation(struct analysis *a, const struct fxt_record *rec, struct item *it)
{
	static const char *const keys[] = {
		[ASYNCTRACE_FXT_DURATION_BEGIN] = "operation", [ASYNCTRACE_FXT_DURATION_END] = "resumed",
		[ASYNCTRACE_FXT_ASYNC_BEGIN] = "parent",
	};
	const char *key = rec->number <= ASYNCTRACE_FXT_ASYNC_BEGIN ? keys[rec->number] : NULL;
	const struct fxt_arg *arg = key ? fxt_arg(rec, key) : NULL;

	if (!arg || arg->type != ASYNCTRACE_FXT_ARG_UINT64)
		return 0;
	it->entered = true;
	if (rec->number != ASYNCTRACE_FXT_ASYNC_BEGIN) {
		it->id = arg->u;
		return find_place(a, rec, &it->place);
	}
	return order_add(a, &(struct item){
		.ns = it->ns, .kind = ITEM_PARENT, .id = it->id, .record = arg->u,
	});
}

static bool is_duration(const struct fxt_record *rec)
{
	return rec->number >= ASYNCTRACE_FXT_DURATION_BEGIN &&
	       rec->number <= ASYNCTRACE_FXT_DURATION;
}

static int add_event(struct analysis *a, const struct fxt_record *rec)
{
	struct item it = {
		.ns = rec->ns, .kind = ITEM_EVENT + rec->number, .tid = rec->thread.tid,
		.pid = rec->thread.pid, .provider = rec->provider, .record = rec->offset,
		.id = rec->number == ASYNCTRACE_FXT_DURATION ? rec->end_ns : rec->id,
	};
	int first;

	if (a->opts.pair && !is_duration(rec))
		return pair_event(a, rec);
	if (rec->number == ASYNCTRACE_FXT_INSTANT && a->sink.note)
		return entered_note(a, rec);
	/* Other instants and counters belong to no operation. */
	if (rec->number < ASYNCTRACE_FXT_DURATION_BEGIN || rec->number > ASYNCTRACE_FXT_FLOW_END)
		return 0;
	/* Names of flow events matter only in rows of orphans. */
	if (rec->number < ASYNCTRACE_FXT_FLOW_BEGIN || a->sink.orphan) {
		it.category = name_of(a, rec, &rec->category);
		it.name = name_of(a, rec, &rec->name);
		if (it.category == NO_NAME || it.name == NO_NAME)
			return -ENOMEM;
	}
	if (a->totals.selection && rec->number == ASYNCTRACE_FXT_ASYNC_BEGIN)
		it.wanted = selection_wants(a, rec);
	/*
	 * An async instant in a selection stands for an async begin that was left out, so it shows
	 * the work of its thread.
	 */
	it.apart = a->totals.selection && rec->number != ASYNCTRACE_FXT_ASYNC_INSTANT &&
		   selection_apart(rec);
	first = add_operation(a, rec, &it);
	if (first)
		return first;
	if (!a->opts.pair)
		return order_add(a, &it);
	/*
	 * With .opts.pair, the begin or end of a duration may also begin or end an operation. This
	 * counts as inside of the duration: add it after the begin and before the end.
	 */
	first = rec->number == ASYNCTRACE_FXT_DURATION_END ? pair_event(a, rec) : order_add(a, &it);
	if (first)
		return first;
	return rec->number == ASYNCTRACE_FXT_DURATION_END ? order_add(a, &it) : pair_event(a, rec);
}

/*
 * Adds an event of a tracepoint. Events of a CPU's idle task, such as many interrupts, are on a
 * pseudo thread.
 */
static int add_tracepoint(struct analysis *a, const struct fxt_record *rec)
{
	a->totals.tracepoints++;
	if (rec->thread.tid <= FXT_TID_REAL_MAX)
		return add_event(a, rec);
	return a->sink.note ? entered_note(a, rec) : 0;
}

static int name_thread(struct analysis *a, const struct fxt_record *rec)
{
	const struct fxt_arg *process = fxt_arg(rec, "process");
	struct thread *t;
	uint32_t name;

	if (rec->number != ASYNCTRACE_FXT_OBJ_THREAD)
		return 0;
	name = fxt_name(&a->names, rec->name.s, rec->name.len);
	t = thread_of(a, rec->id);
	if (!t || name == NO_NAME)
		return -ENOMEM;
	if (identity_name(t, text_of(a, name), process && process->type == ASYNCTRACE_FXT_ARG_KOID ?
			  process->u : 0))
		return -ENOMEM;
	return off_cpu_state(a, t, rec);
}

static int name_provider(struct analysis *a, const struct fxt_record *rec)
{
	struct fxt_entry *e = fxt_make(&a->providers, (uint64_t)rec->provider + 1);
	uint32_t name = fxt_name(&a->names, rec->name.s, rec->name.len);

	if (!e || name == NO_NAME)
		return -ENOMEM;
	e->a = name + 1;
	/* A provider that is introduced again starts an empty string table. */
	if (e->b)
		fxt_sparse_free(&((struct strings *)(uintptr_t)e->b)->of);
	return 0;
}

static void note_time(struct analysis *a, uint64_t from, uint64_t to)
{
	if (from < a->totals.begin)
		a->totals.begin = from;
	if (to > a->totals.end)
		a->totals.end = to;
}

/*
 * A session may be read long after it was stopped. Then the recorder's own events of later times
 * do not belong to the time of the trace.
 */
static void note_event(struct analysis *a, const struct fxt_record *rec)
{
	const uint64_t stopped = a->losses.stopped;
	uint64_t to = rec->number == ASYNCTRACE_FXT_DURATION && rec->end_ns > rec->ns ?
		      rec->end_ns : rec->ns;

	if (stopped && to > stopped &&
	    (rec->thread.tid > FXT_TID_REAL_MAX || fxt_is_throttling(rec)))
		to = stopped;
	note_time(a, rec->ns, to);
}

static int add_clock(struct analysis *a, const struct fxt_record *rec)
{
	const int err = losses_moment(a, rec);

	note_event(a, rec);
	return err ? err : selection_record(a, rec);
}

int analysis_record(struct analysis *a, const struct fxt_record *rec)
{
	a->totals.records++;
	if (rec->damaged)
		return 0;
	switch (rec->kind) {
	case FXT_SWITCH:
		note_time(a, rec->ns, rec->ns);
		return add_switch(a, rec);
	case FXT_WAKEUP:
		note_time(a, rec->ns, rec->ns);
		return add_wakeup(a, rec);
	case FXT_EVENT:
		if (fxt_is_clock(rec))
			return add_clock(a, rec);
		note_event(a, rec);
		if (fxt_is_throttling(rec))
			return throttling_record(a, rec);
		if (fxt_is_tracepoint(rec))
			return add_tracepoint(a, rec);
		if (rec->thread.tid <= FXT_TID_REAL_MAX)
			return add_event(a, rec);
		if (rec->number == ASYNCTRACE_FXT_DURATION && fxt_text_is(&rec->name, "lost records"))
			return losses_record(a, rec);
		a->totals.unreal += rec->number == ASYNCTRACE_FXT_ASYNC_BEGIN;
		return 0;
	case FXT_OBJECT:
		return name_thread(a, rec);
	case FXT_PROVIDER_INFO:
		fxt_asyncs_provider(&a->asyncs, rec);
		return name_provider(a, rec);
	case FXT_STRING:
		return add_string(a, rec);
	case FXT_PROVIDER_EVENT:
		a->filled++;
		return 0;
	default:
		return 0;
	}
}

int analysis_settle(struct analysis *a, uint64_t ns)
{
	int err = order_settle(a, ns);

	if (err || !a->opts.patience || ns <= a->opts.patience)
		return err;
	return operations_overdue(a, ns - a->opts.patience);
}

int analysis_end(struct analysis *a)
{
	int err = order_settle(a, UINT64_MAX);

	a->totals.unnamed = a->names.refused;
	/* asynctrace also writes a duration for each loss. Other writers do not. */
	a->totals.filled = a->totals.losses ? 0 : a->filled;

	a->over = true;
	a->busy_version++;
	return err ? err : scheduling_finish(a);
}

int analysis_finish(struct analysis *a)
{
	int err = analysis_end(a);

	if (!err)
		err = operations_finish(a);
	if (!err)
		err = orphans_finish(a);
	if (!err)
		err = entered_finish(a);
	return err || !threads_wanted(&a->sink) ? err : threads_finish(a);
}
