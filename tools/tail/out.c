// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes whole records to the file and counts the records that are not in it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "priv.h"

#define ROOM_WORDS	(32 * 1024)

static void count(struct tail_left *l, uint8_t kind)
{
	if (kind == FXT_SWITCH)
		l->switches++;
	else if (kind == FXT_WAKEUP)
		l->wakeups++;
	else
		l->events++;
}

void out_unwritten(struct tail *t, const struct tail_entry *e)
{
	if (e->flags & ENTRY_COUNTED)
		count(&t->sources[e->source].unwritten, e->kind);
}

void out_filtered(struct tail *t, const struct tail_entry *e)
{
	/*
	 * After a failure, the analysis does not tell which records are needed. So the record was
	 * not filtered out, but lost.
	 */
	if (t->failed)
		out_unwritten(t, e);
	else if (e->flags & ENTRY_COUNTED)
		count(&t->sources[e->source].filtered, e->kind);
}

/*
 * Handles a failed write: @written bytes of the buffer are in the file, of which only whole
 * records count.
 */
static void fail(struct tail *t, size_t written)
{
	struct tail_out *o = &t->out;
	size_t whole = 0;

	while (whole < o->used) {
		size_t next = whole + ASYNCTRACE_FXT_WORDS(o->buf[whole]);

		if (next * 8 > written)
			break;
		whole = next;
	}
	o->written += whole * 8;
	for (size_t i = 0; i < o->nr_placed; i++)
		if (o->placed[i].at >= whole)
			count(&t->sources[o->placed[i].source].unwritten, o->placed[i].kind);
}

void out_flush(struct tail *t)
{
	struct tail_out *o = &t->out;
	const size_t bytes = o->used * 8;
	size_t written = 0;

	while (written < bytes && !o->error) {
		ssize_t n = t->opts.write(t->opts.arg, (const char *)o->buf + written,
					  bytes - written);

		if (n > 0 && (size_t)n <= bytes - written)
			written += n;
		else
			o->error = n < 0 ? n : -EIO;
	}
	if (written < bytes)
		fail(t, written);
	else
		o->written += bytes;
	o->used = 0;
	o->nr_placed = 0;
}

static int open_buffer(struct tail_out *o)
{
	if (!o->buf) {
		o->buf = malloc(ROOM_WORDS * 8);
		o->placed = malloc(ROOM_WORDS / 2 * sizeof(*o->placed));
		o->room = ROOM_WORDS;
		o->room_placed = ROOM_WORDS / 2;
	}
	return o->buf && o->placed ? 0 : -ENOMEM;
}

void out_put(struct tail *t, const uint64_t *words, size_t nr, const struct tail_entry *e)
{
	struct tail_out *o = &t->out;
	const bool counted = e && e->flags & ENTRY_COUNTED;

	if (!o->error && open_buffer(o))
		o->error = -ENOMEM;
	if (!o->error && (nr > o->room - o->used || o->nr_placed == o->room_placed))
		out_flush(t);
	if (o->error) {
		if (counted)
			out_unwritten(t, e);
		return;
	}
	if (counted)
		o->placed[o->nr_placed++] = (struct tail_placed){ o->used, e->source, e->kind };
	memcpy(o->buf + o->used, words, nr * 8);
	o->used += nr;
}
