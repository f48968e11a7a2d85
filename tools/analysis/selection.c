// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A selection has only the records that slow operations need (asynctrace record --slower-than).
 * Marks name these operations, and the states of threads and CPUs right before their first records.
 * asynctrace(5) describes the marks.
 */
#include <errno.h>

#include "engine.h"
#include "entered.h"

static const struct fxt_arg *arg_of(const struct fxt_record *rec, const char *name,
				    unsigned int type)
{
	const struct fxt_arg *arg = fxt_arg(rec, name);

	return arg && arg->type == type ? arg : NULL;
}

static uint64_t number(const struct fxt_record *rec, const char *name)
{
	const struct fxt_arg *arg = arg_of(rec, name, ASYNCTRACE_FXT_ARG_UINT64);

	return arg ? arg->u : 0;
}

static bool flag(const struct fxt_record *rec, const char *name)
{
	const struct fxt_arg *arg = arg_of(rec, name, ASYNCTRACE_FXT_ARG_BOOL);

	return arg && arg->u;
}

static enum analysis_state state_of(const struct fxt_record *rec)
{
	const struct fxt_arg *arg = arg_of(rec, "state", ASYNCTRACE_FXT_ARG_STRING);

	/* Operations are queued, but not threads. */
	for (int state = 0; arg && state < ANALYSIS_QUEUED; state++)
		if (fxt_text_is(&arg->text, analysis_state_name(state)))
			return state;
	return ANALYSIS_STATES;
}

static bool fits(enum analysis_reason reason, enum analysis_state state)
{
	switch (reason) {
	case ANALYSIS_PREEMPTED:
	case ANALYSIS_YIELDED:
	case ANALYSIS_WOKEN:
		return state == ANALYSIS_RUNNABLE;
	case ANALYSIS_LOST:
	case ANALYSIS_UNSCHEDULED:
	case ANALYSIS_DROPPED:
		return state == ANALYSIS_UNKNOWN;
	default:
		return state == ANALYSIS_BLOCKED;
	}
}

/* Returns the reason of the mark @rec, unless it contradicts the mark's state @state. */
static enum analysis_reason reason_of(const struct fxt_record *rec, enum analysis_state state)
{
	const struct fxt_arg *arg = arg_of(rec, "reason", ASYNCTRACE_FXT_ARG_STRING);

	for (int reason = 0; arg && reason < ANALYSIS_REASONS; reason++)
		if (fits(reason, state) && fxt_text_is(&arg->text, analysis_reason_name(reason)))
			return reason;
	return ANALYSIS_NO_REASON;
}

int add_mark(struct analysis *a, uint64_t ns, const struct mark *m)
{
	struct marks *l = &a->marks;

	if (!more_room(&l->of, l->nr, &l->room, sizeof(*l->of)))
		return -ENOMEM;
	l->of[l->nr] = *m;
	l->nr_waiting++;
	return order_add(a, &(struct item){ .ns = ns, .kind = ITEM_MARK, .id = l->nr++ });
}

static int thread_mark(struct analysis *a, const struct fxt_record *rec)
{
	const struct fxt_arg *tid = arg_of(rec, "thread", ASYNCTRACE_FXT_ARG_KOID);
	const struct fxt_arg *cpu = arg_of(rec, "cpu", ASYNCTRACE_FXT_ARG_UINT32);
	const struct fxt_arg *file = arg_of(rec, "file", ASYNCTRACE_FXT_ARG_UINT32);
	const struct fxt_arg *duration = arg_of(rec, "duration", ASYNCTRACE_FXT_ARG_STRING);
	const struct fxt_arg *in = arg_of(rec, "in", ASYNCTRACE_FXT_ARG_STRING);
	struct mark m = {
		.kind = MARK_THREAD,
		.first_seen = number(rec, "first seen"), .followed = flag(rec, "followed"),
		.span = {
			.state = state_of(rec), .reason = reason_of(rec, state_of(rec)),
			.cpu = cpu && cpu->u < NO_CPU ? cpu->u : NO_CPU,
			.inferred = flag(rec, "inferred"), .pending = flag(rec, "pending"),
			.seen = flag(rec, "seen"), .woken = flag(rec, "woken"),
			.duration = NO_NAME, .argument = number(rec, "argument"),
			.has_argument = arg_of(rec, "argument", ASYNCTRACE_FXT_ARG_UINT64),
			.file = file ? ASYNCTRACE_FXT_OFF_FILE(file->u << 4) : 0,
			.lost_until = number(rec, "lost until"),
		},
	};

	if (!tid || tid->u > FXT_TID_REAL_MAX)
		return 0;
	m.tid = tid->u;
	if (in) {
		m.span.in = fxt_name(&a->names, in->text.s, in->text.len);
		if (m.span.in++ == NO_NAME)
			return -ENOMEM;
	}
	if (duration) {
		m.span.duration = fxt_name(&a->names, duration->text.s, duration->text.len);
		if (m.span.duration == NO_NAME)
			return -ENOMEM;
	}
	return add_mark(a, rec->ns, &m);
}

static int cpu_mark(struct analysis *a, const struct fxt_record *rec)
{
	const struct fxt_arg *cpu = arg_of(rec, "cpu", ASYNCTRACE_FXT_ARG_UINT32);
	const struct fxt_arg *tid = arg_of(rec, "thread", ASYNCTRACE_FXT_ARG_KOID);

	if (!cpu || cpu->u >= NO_CPU || (tid && tid->u > UINT32_MAX))
		return 0;
	return add_mark(a, rec->ns, &(struct mark){
		.kind = MARK_CPU, .cpu = cpu->u, .tid = tid ? (uint32_t)tid->u : NO_THREAD,
	});
}

static int work_mark(struct analysis *a, const struct fxt_record *rec)
{
	const struct fxt_arg *tid = arg_of(rec, "thread", ASYNCTRACE_FXT_ARG_KOID);

	if (!tid || tid->u > FXT_TID_REAL_MAX)
		return 0;
	return add_mark(a, rec->ns, &(struct mark){
		.kind = MARK_WORK, .tid = tid->u, .operation = number(rec, "operation"),
		.entered = arg_of(rec, "operation", ASYNCTRACE_FXT_ARG_UINT64),
		.begin = number(rec, "newest"), .shown = flag(rec, "shown"),
	});
}

static int exit_mark(struct analysis *a, const struct fxt_record *rec)
{
	const struct fxt_arg *tid = arg_of(rec, "thread", ASYNCTRACE_FXT_ARG_KOID);

	if (!tid || tid->u > FXT_TID_REAL_MAX)
		return 0;
	return add_mark(a, rec->ns, &(struct mark){ .kind = MARK_EXIT, .tid = tid->u });
}

int selection_record(struct analysis *a, const struct fxt_record *rec)
{
	if (fxt_text_is(&rec->name, "slower than"))
		a->totals.selection = true;
	if (!a->totals.selection)
		return 0;
	if (fxt_text_is(&rec->name, "slow operation")) {
		a->wants = true;
		a->wanted_id = number(rec, "id");
	}
	if (fxt_text_is(&rec->name, "thread state"))
		return thread_mark(a, rec);
	if (fxt_text_is(&rec->name, "thread work"))
		return work_mark(a, rec);
	if (fxt_text_is(&rec->name, "thread exited"))
		return exit_mark(a, rec);
	if (fxt_text_is(&rec->name, "operation entered"))
		return add_mark(a, rec->ns, &(struct mark){
			.kind = MARK_OPERATION, .operation = number(rec, "id"),
			.begin = number(rec, "begin"),
		});
	return fxt_text_is(&rec->name, "cpu state") ? cpu_mark(a, rec) : 0;
}

bool selection_wants(struct analysis *a, const struct fxt_record *rec)
{
	if (!a->wants || a->wanted_id != rec->id)
		return false;
	a->wants = false;
	return true;
}

bool selection_apart(const struct fxt_record *rec)
{
	return flag(rec, "asynctrace filtered");
}

int selection_item(struct analysis *a, const struct item *it)
{
	struct marks *l = &a->marks;
	const struct mark m = l->of[it->id];
	struct thread *t;

	if (!--l->nr_waiting)
		l->nr = 0;
	if (m.kind == MARK_OPERATION) {
		entered_operation(a, m.operation, m.begin);
		return 0;
	}
	if (m.kind == MARK_EXIT) {
		t = thread_of(a, m.tid);
		return t ? thread_exits(a, t, it->ns) : -ENOMEM;
	}
	if (m.kind == MARK_READ)
		return scheduling_read(a, &m);
	return m.kind == MARK_WORK ? cells_mark(a, it->ns, &m) : scheduling_mark(a, it->ns, &m);
}
