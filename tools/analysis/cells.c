// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Operations of threads, from scheduling records
 *
 * Each recorded thread of a program has a cell: memory in which the program stores the id of the
 * thread's current operation. The kernel copies the id into scheduling records. So the
 * operation is known even if the program's own record is missing. That record is missing if the
 * thread entered the operation before the trace began, or if the category is not recorded.
 */
#include <errno.h>

#include "engine.h"
#include "entered.h"

/*
 * Returns the time from which @t has worked on the operation @id. A record at @ns has shown @id.
 * If @t has not left its previous operation, it has worked on that one until @ns. Otherwise, @t has
 * worked on @id since the begin of its current state. This is exact for a thread that does not run,
 * because it cannot change its cell. It is a guess for a thread that runs.
 *
 * After a loss, @t may have entered @id at any time since the loss began. So this returns the begin
 * of the unknown state of @t, in which the operation's state is unknown, too.
 */
static uint64_t since(struct thread *t, uint64_t ns, uint64_t id)
{
	const struct span *last = last_span(t);
	const bool lost = last && last->state == ANALYSIS_UNKNOWN && last->reason == ANALYSIS_LOST;

	/* @t entered the id before an operation with this id began. */
	if (t->known && t->operation == id)
		return t->changed;
	if (!lost && (entered_open(t) || !last || last->state == ANALYSIS_UNKNOWN))
		return ns;
	return last->from > t->changed ? last->from : t->changed;
}

/*
 * Handles a scheduling record at @ns, which shows that @t works on the operation with the id @id;
 * 0: on none.
 */
static int show(struct analysis *a, struct thread *t, uint64_t ns, uint64_t id)
{
	/*
	 * Before the first record with an id of @t, a record without an id shows nothing: the
	 * session may not record ids at all, or not the ids of this thread.
	 */
	if (!id && !t->shown_since)
		return 0;
	if (!t->shown_since)
		t->shown_since = ns;
	return entered_show(a, t, ns, since(t, ns, id), id, UINT64_MAX);
}

int cells_own(struct analysis *a, struct thread *t, const struct item *it, uint64_t id)
{
	/* Only followed threads have cells. */
	if (id)
		identity_follow(t, it->ns, it->ns);
	return show(a, t, it->ns, id);
}

/*
 * Handles a wakeup that shows an operation of @waker. A wakeup has the waker's operation only if
 * the waker is followed. So @waker is followed from this record on, and it ran, as if it had
 * written an event. Its next state is not known, because @waker may be about to sleep.
 */
static int show_waker(struct analysis *a, struct thread *waker, const struct item *it)
{
	int err = thread_at(waker, it->ns)->followed ? 0 : scheduling_follow(a, waker, it->ns);

	if (!err && !last_span(waker) && !waker->first_seen && it->ns > a->totals.begin)
		waker->first_seen = it->ns;
	return err ? err : show(a, waker, it->ns, it->other_operation);
}

int cells_wakeup(struct analysis *a, struct thread *t, const struct item *it)
{
	struct thread *waker;
	int err = cells_own(a, t, it, it->operation);

	if (err || !is_real(it->other) || !it->other_operation)
		return err;
	waker = thread_of(a, it->other);
	return waker ? show_waker(a, waker, it) : -ENOMEM;
}

int cells_mark(struct analysis *a, uint64_t ns, const struct mark *m)
{
	/*
	 * The mark tells what the thread did before @ns: a record at @ns may already belong to
	 * its next operation.
	 */
	const uint64_t before = ns ? ns - 1 : 0;
	struct thread *t = thread_of(a, m->tid);

	if (!t)
		return -ENOMEM;
	if (m->shown && !t->shown_since)
		t->shown_since = before;
	return m->entered ? entered_show(a, t, before, before, m->operation, m->begin) : 0;
}
