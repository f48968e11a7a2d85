// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The names and processes of threads that had one id after each other. Linux gives the id of a
 * thread that has ended to a new thread. Both share one struct thread with one history of states,
 * but rows name each by its own name.
 *
 * An object record of the file names a thread. It has no time, but it precedes the first use of the
 * new thread in the file. So if an object record follows the exit of the thread with its id, it
 * names a new thread, which has the id since that exit. If an object record names another process,
 * it is about a new thread, too. Then the new name waits until the items, which are handed on in
 * order of time, tell since when the new thread has the id: since the exit of the thread before it,
 * or else since its first event. All other object records rename the same thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

/*
 * Linux uses all other ids before it uses an id again. So records that are read but not yet handed
 * on have few threads of one id. This limits the time for files in which they have many.
 */
#define AHEAD_MAX	16

/* Returns the number of identities that have their id at @ns or had it before. */
static size_t number_at(const struct identities *all, uint64_t ns)
{
	size_t low = 0, high = all->nr;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (all->of[middle]->since < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct analysis_thread *thread_at(const struct thread *t, uint64_t ns)
{
	const size_t nr = number_at(&t->identities, ns);

	return nr ? &t->identities.of[nr - 1]->out : &t->out;
}

static bool is_later(const struct identity *i, const struct identity *than)
{
	return i->since != than->since ? i->since > than->since :
	       i->out.generation > than->out.generation;
}

/* Puts @i in order of time. There is room. Frees it if too many others are later. */
static void place(struct identities *all, struct identity *i)
{
	size_t at = all->nr;

	while (at && is_later(all->of[at - 1], i)) {
		if (all->nr - at == AHEAD_MAX) {
			free(i);
			return;
		}
		at--;
	}
	memmove(&all->of[at + 1], &all->of[at], (all->nr - at) * sizeof(all->of[0]));
	all->of[at] = i;
	all->nr++;
}

/* Takes the identity at @link from those that wait. */
static struct identity *take(struct identities *all, struct identity **link)
{
	struct identity *i = *link;

	*link = i->next;
	all->nr_waiting--;
	return i;
}

/* The identity at @link has waited until now: it has its id since @ns. */
static void begin(struct identities *all, struct identity **link, uint64_t ns)
{
	struct identity *i = take(all, link);

	i->since = ns;
	place(all, i);
}

/* Lets @i wait. If too many wait, the first one is given up. */
static void wait_for_begin(struct identities *all, struct identity *i)
{
	struct identity **link = &all->waiting;

	if (all->nr_waiting == AHEAD_MAX)
		free(take(all, link));
	while (*link)
		link = &(*link)->next;
	*link = i;
	all->nr_waiting++;
}

/* Returns the thread that the next object may give another name. */
static struct analysis_thread *last_thread(struct thread *t)
{
	struct identity *last = t->identities.nr ? t->identities.of[t->identities.nr - 1] : NULL;

	for (struct identity *i = t->identities.waiting; i; i = i->next)
		if (!last || last->out.generation < i->out.generation)
			last = i;
	return last ? &last->out : &t->out;
}

int identity_name(struct thread *t, const char *name, uint32_t pid)
{
	struct identities *all = &t->identities;
	struct analysis_thread *last = last_thread(t);
	const uint64_t since = all->nr ? all->of[all->nr - 1]->since : 0;
	const bool ended = t->exit_read > since && *last->name;
	const bool other = pid && last->pid && last->pid != pid;
	const bool same = last->name == name && (!pid || last->pid == pid);
	struct identity *i;

	if (same || (!ended && !other)) {
		last->name = name;
		last->pid = pid ? pid : last->pid;
		return 0;
	}
	if (!more_room(&all->of, all->nr + all->nr_waiting, &all->room, sizeof(all->of[0])))
		return -ENOMEM;
	i = calloc(1, sizeof(*i));
	if (!i)
		return -ENOMEM;
	i->out = *last;
	i->out.name = name;
	i->out.followed = false;
	i->out.pid = pid ? pid : last->pid;
	i->out.generation = ++all->named;
	/* If threads of other processes wait, the exit may be that of the thread before them. */
	if (!ended || (other && all->waiting)) {
		i->after = ended ? since : t->exit_read;
		wait_for_begin(all, i);
	} else {
		i->since = t->exit_read;
		place(all, i);
	}
	return 0;
}

void identity_exit_read(struct thread *t, uint64_t ns)
{
	if (ns > t->exit_read)
		t->exit_read = ns;
}

void identity_exit(struct thread *t, uint64_t ns)
{
	struct identities *all = &t->identities;
	struct identity **link = &all->waiting;

	while (*link && (*link)->after >= ns)
		link = &(*link)->next;
	if (*link)
		begin(all, link, ns);
}

bool identity_event(struct thread *t, uint64_t ns, uint32_t pid)
{
	struct identities *all = &t->identities;
	struct identity **link = &all->waiting;

	if (!all->nr && !all->waiting)
		t->out.pid = pid;
	if (!all->waiting || thread_at(t, ns)->pid == pid)
		return false;
	while (*link && (*link)->out.pid != pid)
		link = &(*link)->next;
	if (!*link)
		return false;
	begin(all, link, ns ? ns - 1 : 0);
	return true;
}

void identity_follow(struct thread *t, uint64_t ns, uint64_t from)
{
	const size_t nr = number_at(&t->identities, ns);
	struct analysis_thread *out = nr ? &t->identities.of[nr - 1]->out : &t->out;

	/* A state from the recorder may tell more than the records, some of which come first. */
	if (out->followed && out->followed_at <= from)
		return;
	out->followed = true;
	out->followed_at = from;
}

void identities_free(struct thread *t)
{
	struct identities *all = &t->identities;

	for (size_t i = 0; i < all->nr; i++)
		free(all->of[i]);
	free(all->of);
	while (all->waiting)
		free(take(all, &all->waiting));
}
