// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Linux gives the id of a thread that has ended to a new thread. Both have one history, but each
 * has its own name in the rows. A thread object has no time, but it stands before the first use of
 * the new thread. So an object that stands after the exit of the thread with this id names a new
 * thread, which has the id since that exit. An object that names another process is one of a new
 * thread, too. If its exit is not recorded, the new thread has the id since its first event.
 * All other objects tell that the thread has another name.
 */
#include <errno.h>
#include <stdlib.h>

#include "engine.h"

#define NOT_KNOWN	UINT64_MAX

const struct analysis_thread *thread_at(const struct thread *t, uint64_t ns)
{
	for (const struct identity *i = t->newest_identity; i; i = i->older)
		if (ns > i->since)
			return &i->out;
	return &t->out;
}

int identity_name(struct thread *t, const char *name, uint32_t pid)
{
	struct identity *newest = t->newest_identity, *i;
	struct analysis_thread *last = newest ? &newest->out : &t->out;
	const bool ended = t->exit_read && *last->name;
	const bool same = last->name == name && (!pid || last->pid == pid);

	if (same || (!ended && (!pid || !last->pid || last->pid == pid))) {
		last->name = name;
		last->pid = pid ? pid : last->pid;
		return 0;
	}
	i = calloc(1, sizeof(*i));
	if (!i)
		return -ENOMEM;
	*i = (struct identity){
		.out = *last, .since = ended ? t->exit_read : NOT_KNOWN, .older = newest,
	};
	i->out.name = name;
	i->out.pid = pid ? pid : last->pid;
	i->out.generation++;
	t->newest_identity = i;
	t->exit_read = 0;
	return 0;
}

void identity_exit(struct thread *t, uint64_t ns)
{
	/* The object of the new thread stood before this record. */
	if (t->newest_identity && t->newest_identity->since == NOT_KNOWN)
		t->newest_identity->since = ns;
	else
		t->exit_read = ns;
}

void identity_event(struct thread *t, uint64_t ns, uint32_t pid)
{
	struct identity *i = t->newest_identity;

	if (!i)
		t->out.pid = pid;
	else if (i->since == NOT_KNOWN && i->out.pid == pid)
		i->since = ns ? ns - 1 : 0;
}

void identity_follow(struct thread *t)
{
	t->out.followed = true;
	for (struct identity *i = t->newest_identity; i; i = i->older)
		i->out.followed = true;
}

void identities_free(struct thread *t)
{
	for (struct identity *i = t->newest_identity, *older; i; i = older) {
		older = i->older;
		free(i);
	}
}
