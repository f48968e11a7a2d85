// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of events without their counterpart, or that contradict each other */
#include "engine.h"

const char *analysis_orphan_name(enum analysis_orphan_kind kind)
{
	static const char *const names[ANALYSIS_ORPHANS] = {
		[ANALYSIS_END_ALONE] = "end without begin",
		[ANALYSIS_BEGIN_ALONE] = "begin without end",
		[ANALYSIS_BEGUN_AGAIN] = "begun again while open",
		[ANALYSIS_STEP_ALONE] = "instant of an operation that is not open",
		[ANALYSIS_FLOW_ALONE] = "flow event outside of a duration",
		[ANALYSIS_DURATION_END_ALONE] = "duration's end without begin",
		[ANALYSIS_DURATION_BEGIN_ALONE] = "duration's begin without end",
		[ANALYSIS_DURATION_MISMATCH] = "duration ends by another name",
	};

	return names[kind];
}

int orphan_event(struct analysis *a, enum analysis_orphan_kind kind, const struct item *it)
{
	const struct thread *t = a->sink.orphan ? thread_of(a, it->tid) : NULL;

	return !t ? 0 : a->sink.orphan(a->sink.arg, &(struct analysis_orphan){
		.kind = kind, .ns = it->ns, .thread = thread_at(t, it->ns),
		.has_id = kind <= ANALYSIS_FLOW_ALONE,
		.id = id_of_item(a, it),
	});
}

int orphan_operation(struct analysis *a, const struct operation *op)
{
	return !a->sink.orphan ? 0 : a->sink.orphan(a->sink.arg, &(struct analysis_orphan){
		.kind = ANALYSIS_BEGIN_ALONE, .ns = op->begin,
		.thread = thread_at(op->begin_thread, op->begin),
		.has_id = true, .id = op->out,
	});
}

int orphan_duration(struct analysis *a, const struct thread *t, const struct duration *d)
{
	const struct analysis_thread *thread = thread_at(t, d->begin);

	return !a->sink.orphan ? 0 : a->sink.orphan(a->sink.arg, &(struct analysis_orphan){
		.kind = ANALYSIS_DURATION_BEGIN_ALONE, .ns = d->begin, .thread = thread,
		.id = { .provider = "", .category = "", .name = text_of(a, d->name),
			.pid = thread->pid },
	});
}

int orphans_finish(struct analysis *a)
{
	int err = 0;

	if (!a->sink.orphan)
		return 0;
	fxt_each(&a->threads, e) {
		const struct thread *t = (const struct thread *)(uintptr_t)e->a;

		for (size_t i = 0; i < t->depth && !err; i++)
			if (t->stack[i].end == STILL_OPEN)
				err = orphan_duration(a, t, &t->stack[i]);
		if (err)
			break;
	}
	return err;
}
