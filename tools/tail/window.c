// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The window: a ring of waiting records. Each record is contiguous, so words at the end of the
 * ring may stay unused.
 */
#include <stdlib.h>
#include <string.h>

#include "priv.h"

#define ENTRIES_MIN	1024
#define WORDS_MIN	(2 * (ASYNCTRACE_FXT_WORDS_MAX + 1))

bool window_has(const struct tail_window *w, uint64_t number)
{
	return number >= w->first && number < w->next;
}

struct tail_entry *window_entry(const struct tail_window *w, uint64_t number)
{
	return &w->entries[number & (w->room_entries - 1)];
}

uint64_t *window_words(const struct tail_window *w, const struct tail_entry *e)
{
	return w->words + e->at;
}

uint64_t window_bytes(const struct tail_entry *e)
{
	return sizeof(*e) + e->words * 8;
}

static bool grow_entries(struct tail_window *w)
{
	struct tail_window more = {
		.room_entries = w->room_entries ? 2 * w->room_entries : ENTRIES_MIN,
	};

	more.entries = malloc(more.room_entries * sizeof(*more.entries));
	if (!more.entries)
		return false;
	for (uint64_t n = w->first; n < w->next; n++)
		*window_entry(&more, n) = *window_entry(w, n);
	free(w->entries);
	w->entries = more.entries;
	w->room_entries = more.room_entries;
	return true;
}

/* Moves the records to the begin of a larger ring. */
static bool grow_words(struct tail_window *w)
{
	size_t room = w->room_words ? 2 * w->room_words : WORDS_MIN;
	uint64_t *words = malloc(room * 8);

	if (!words)
		return false;
	w->head = 0;
	for (uint64_t n = w->first; n < w->next; n++) {
		struct tail_entry *e = window_entry(w, n);

		memcpy(words + w->head, window_words(w, e), e->words * 8);
		e->at = w->head;
		w->head += e->words;
	}
	free(w->words);
	w->words = words;
	w->room_words = room;
	return true;
}

/* Makes room for a record of @nr words at .head. Returns false if the ring must grow. */
static bool has_room(struct tail_window *w, size_t nr)
{
	size_t tail = w->first < w->next ? window_entry(w, w->first)->at : w->head;
	bool empty = w->first == w->next;

	if (empty) {
		w->head = 0;
		return nr <= w->room_words;
	}
	if (w->head <= tail)
		return nr < tail - w->head;
	if (nr <= w->room_words - w->head)
		return true;
	if (nr >= tail)
		return false;
	w->head = 0;
	return true;
}

struct tail_entry *window_add(struct tail_window *w, const uint64_t *words, size_t nr)
{
	struct tail_entry *e;

	if (w->next - w->first == w->room_entries && !grow_entries(w))
		return NULL;
	while (!has_room(w, nr))
		if (!grow_words(w))
			return NULL;
	e = window_entry(w, w->next++);
	*e = (struct tail_entry){ .at = w->head, .words = nr };
	memcpy(w->words + w->head, words, nr * 8);
	w->head += nr;
	w->bytes += window_bytes(e);
	return e;
}

void window_drop(struct tail_window *w)
{
	w->bytes -= window_bytes(window_entry(w, w->first++));
}

void window_free(struct tail_window *w)
{
	free(w->entries);
	free(w->words);
}
