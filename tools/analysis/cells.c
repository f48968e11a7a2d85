// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel reads from a thread's cell what the thread works on, and writes it into scheduling
 * records. So these records tell it also if the program's own record is missing: the thread
 * entered the operation before the trace began, or the category is not recorded.
 */
#include <errno.h>

#include "engine.h"
#include "entered.h"

/*
 * Returns the time from which @t has worked on the operation @id, which a record at @ns shows.
 * If the operation before is still open, @t has worked on that one until now. Otherwise it has
 * worked on @id since it has been in its state. That is a guess while the thread runs. A thread
 * that does not run does not change its cell.
 */
static uint64_t since(struct thread *t, uint64_t ns, uint64_t id)
{
	const struct span *last = last_span(t);

	/* The operation began after @t entered it. */
	if (t->known && t->operation == id)
		return t->changed;
	if (entered_open(t) || !last || last->state == ANALYSIS_UNKNOWN)
		return ns;
	return last->from > t->changed ? last->from : t->changed;
}

int cells_show(struct analysis *a, struct thread *t, uint64_t ns, uint64_t id)
{
	/* Without any id so far, the session may not record ids, or not of this thread. */
	if (!id && !t->shown_since)
		return 0;
	if (!t->shown_since)
		t->shown_since = ns;
	return entered_show(a, t, since(t, ns, id), id, UINT64_MAX);
}

int cells_mark(struct analysis *a, uint64_t ns, const struct mark *m)
{
	/* The thread worked on it until right before @ns, because a record at @ns changes that. */
	const uint64_t before = ns ? ns - 1 : 0;
	struct thread *t = thread_of(a, m->tid);

	if (!t)
		return -ENOMEM;
	if (m->shown && !t->shown_since)
		t->shown_since = before;
	return m->entered ? entered_show(a, t, before, m->operation, m->begin) : 0;
}
