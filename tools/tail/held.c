// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Held records have left the window, but a later slow operation may need them. They began
 * something that has not ended, or determine what a thread still works on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "priv.h"

struct tail_thread *thread_find(const struct tail *t, uint32_t tid)
{
	struct fxt_entry *e = fxt_find(&t->threads, (uint64_t)tid + 1);

	return e ? (struct tail_thread *)(uintptr_t)e->a : NULL;
}

struct tail_thread *thread_make(struct tail *t, uint32_t tid)
{
	struct tail_thread *thread = thread_find(t, tid);
	struct fxt_entry *e;

	if (thread)
		return thread;
	thread = calloc(1, sizeof(*thread));
	e = thread ? fxt_make(&t->threads, (uint64_t)tid + 1) : NULL;
	if (!e) {
		free(thread);
		return NULL;
	}
	e->a = (uintptr_t)thread;
	return thread;
}

struct tail_held *held_find(const struct tail *t, uint64_t number)
{
	struct fxt_entry *e = fxt_find(&t->held, number);

	return e ? (struct tail_held *)(uintptr_t)e->a : NULL;
}

static uint64_t bytes_of(const struct tail_held *h)
{
	return sizeof(*h) + h->nr * 8;
}

struct tail_held *held_add(struct tail *t, const struct tail_entry *e, uint64_t number,
			   const uint64_t *words, size_t nr)
{
	struct tail_thread *thread = thread_make(t, e->tid);
	struct tail_held *h = thread ? calloc(1, sizeof(*h)) : NULL;
	struct fxt_entry *place = NULL;

	if (h)
		h->words = malloc(nr ? nr * 8 : 1);
	if (h && h->words)
		place = fxt_make(&t->held, number);
	if (!place) {
		free(h ? h->words : NULL);
		free(h);
		return NULL;
	}
	memcpy(h->words, words, nr * 8);
	h->nr = nr;
	h->entry = *e;
	h->number = number;
	h->next = thread->held;
	if (h->next)
		h->next->previous = h;
	thread->held = h;
	h->older = t->newest;
	if (h->older)
		h->older->newer = h;
	else
		t->oldest = h;
	t->newest = h;
	place->a = (uintptr_t)h;
	t->held_bytes += bytes_of(h);
	return h;
}

void held_drop(struct tail *t, struct tail_held *h)
{
	struct tail_thread *thread = thread_find(t, h->entry.tid);

	if (!h->written)
		out_filtered(t, &h->entry);
	if (h->next)
		h->next->previous = h->previous;
	if (h->previous)
		h->previous->next = h->next;
	else
		thread->held = h->next;
	if (h->newer)
		h->newer->older = h->older;
	else
		t->newest = h->older;
	if (h->older)
		h->older->newer = h->newer;
	else
		t->oldest = h->newer;
	fxt_remove(&t->held, fxt_find(&t->held, h->number));
	t->held_bytes -= bytes_of(h);
	free(h->words);
	free(h);
}

/*
 * Writes an instant instead of an operation's begin or end: an instant with the operation's id
 * also shows that the thread works on it.
 */
static void write_instant(struct tail *t, struct tail_held *h)
{
	const uint64_t head = h->words[0];
	struct tail_entry e = h->entry;

	/* The instant is not a record of a ring, so it must not be counted. */
	e.flags = 0;
	e.entered = 0;
	h->words[0] = (head & ~(0xfULL << 16)) | ASYNCTRACE_FXT_ASYNC_INSTANT << 16;
	emit_event(t, &e, h->words, h->nr, true);
	h->words[0] = head;
}

/*
 * True if the operation that @h began has ended and will not be in the file. The file can have the
 * operation in two cases: @h has ENTRY_KEEP, or the operation's end is still in the window. The
 * end may come first, if its ring was read earlier; then keep_partner() sets ENTRY_KEEP of @h.
 */
static bool is_over(const struct tail *t, const struct tail_held *h)
{
	return h->entry.type == ASYNCTRACE_FXT_ASYNC_BEGIN &&
	       !(h->entry.flags & (ENTRY_OPEN | ENTRY_KEEP)) &&
	       !window_has(&t->window, h->entry.partner);
}

void held_write(struct tail *t, struct tail_held *h, bool apart)
{
	const bool whole = h->written || !is_over(t, h);

	if (!h->written && whole)
		emit_event(t, &h->entry, h->words, h->nr, apart);
	else if (!h->told && !apart)
		write_instant(t, h);
	h->written = whole;
	h->told |= !apart;
	/* The begin goes into the file, so its end must follow. */
	if (window_has(&t->window, h->entry.partner))
		window_entry(&t->window, h->entry.partner)->flags |= ENTRY_KEEP;
}

/* --- held records that one slow operation needs ---------------------------------------- */

int held_want(struct tail *t, struct tail_held *h, bool apart)
{
	if (!more_room(&t->wanted, t->nr_wanted, &t->room_wanted, sizeof(*t->wanted)))
		return -ENOMEM;
	t->wanted[t->nr_wanted++] = (struct tail_wanted){ .held = h, .apart = apart };
	return 0;
}

/*
 * Sorts by number. If one record has two entries, puts the one without .apart first: after its
 * write, the other one has nothing to write.
 */
static int by_number(const void *a, const void *b)
{
	const struct tail_wanted *x = a, *y = b;

	if (x->held->number != y->held->number)
		return x->held->number < y->held->number ? -1 : 1;
	return x->apart - y->apart;
}

static void write_wanted(struct tail *t, struct tail_held *h, bool apart)
{
	if (h->entry.type != ASYNCTRACE_FXT_ASYNC_END) {
		held_write(t, h, apart);
		return;
	}
	/*
	 * The record ends an operation, but also shows that the thread works on other operations
	 * with the same id. Write an instant instead, which shows this work and ends nothing.
	 */
	if (!h->told)
		write_instant(t, h);
	h->told = true;
}

void held_write_wanted(struct tail *t)
{
	if (t->nr_wanted)
		qsort(t->wanted, t->nr_wanted, sizeof(*t->wanted), by_number);
	for (size_t i = 0; i < t->nr_wanted; i++)
		write_wanted(t, t->wanted[i].held, t->wanted[i].apart);
	t->nr_wanted = 0;
}

/* --- how long records are held --------------------------------------------------------- */

static bool is_needed(const struct tail *t, const struct tail_held *h)
{
	const struct tail_entry *e = &h->entry;

	if (e->flags & ENTRY_OPEN || window_has(&t->window, e->partner))
		return true;
	return !h->told && (e->ongoing || e->end > t->passed);
}

/* Drops @h for lack of memory. Threads of later operations may still work on what it began. */
static void give_up(struct tail *t, struct tail_held *h)
{
	if (!h->told && (h->entry.ongoing || h->entry.end > t->passed))
		thread_find(t, h->entry.tid)->lacks = true;
	held_drop(t, h);
}

void held_forget(struct tail *t)
{
	for (struct tail_held *h = t->oldest, *newer; h; h = newer) {
		newer = h->newer;
		if (!is_needed(t, h))
			held_drop(t, h);
	}
	/* Programs may begin things that never end: drop the oldest. */
	while (t->oldest && t->held_bytes > t->opts.window / 4)
		give_up(t, t->oldest);
}
