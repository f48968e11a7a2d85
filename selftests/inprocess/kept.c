// SPDX-License-Identifier: GPL-2.0
/* Keeps the events of a trace of this process, ordered by time */
#include <stdlib.h>
#include <string.h>

#include "kept.h"

struct kept *kept;
unsigned int nr_kept;
static unsigned int room;

static char *copy_of(const char *s, size_t n)
{
	char *p = malloc(n + 1);

	memcpy(p, s, n);
	p[n] = '\0';
	return p;
}

void kept_take(const struct tape_event *ev, void *unused)
{
	struct kept *k;

	(void)unused;
	if (nr_kept == room) {
		room = 2 * room + 64;
		kept = realloc(kept, room * sizeof(*kept));
		if (!kept)
			exit(2);
	}
	k = &kept[nr_kept++];
	*k = (struct kept){ .ev = *ev };
	k->category = copy_of(ev->category, ev->category_len);
	k->name = copy_of(ev->name, ev->name_len);
	for (uint32_t i = 0; i < ev->nargs; i++) {
		const struct tape_arg *a = &ev->args[i];

		k->key[i] = copy_of(a->name, a->name_len);
		k->text[i] = a->type == ASYNCTRACE_FXT_ARG_STRING ?
				     copy_of(a->text, a->value) : NULL;
	}
}

/* Sorts by insertion, because few events are out of order. */
void kept_sort(void)
{
	for (unsigned int i = 1; i < nr_kept; i++) {
		const struct kept k = kept[i];
		unsigned int at = i;

		for (; at && kept[at - 1].ev.time > k.ev.time; at--)
			kept[at] = kept[at - 1];
		kept[at] = k;
	}
}

void kept_forget(void)
{
	for (unsigned int i = 0; i < nr_kept; i++) {
		free(kept[i].category);
		free(kept[i].name);
		for (uint32_t k = 0; k < kept[i].ev.nargs; k++) {
			free(kept[i].key[k]);
			free(kept[i].text[k]);
		}
	}
	free(kept);
	kept = NULL;
	nr_kept = room = 0;
}

static int find(const struct kept *k, const char *key)
{
	for (uint32_t i = 0; i < k->ev.nargs; i++)
		if (!strcmp(k->key[i], key))
			return i;
	return -1;
}

uint64_t kept_number(const struct kept *k, const char *key, uint64_t otherwise)
{
	const int i = find(k, key);

	return i < 0 || k->text[i] ? otherwise : k->ev.args[i].value;
}

const char *kept_text(const struct kept *k, const char *key)
{
	const int i = find(k, key);

	return i < 0 || !k->text[i] ? "" : k->text[i];
}

bool kept_is(const struct kept *k, uint32_t type, const char *name)
{
	return k->ev.type == type && !strcmp(k->name, name);
}

unsigned int kept_count(uint32_t type, const char *name)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < nr_kept; i++)
		n += kept_is(&kept[i], type, name);
	return n;
}

/* --- contexts -------------------------------------------------------------------------- */

enum { UNKNOWN, MADE, RUNS, DESTROYED };

struct life {
	uint64_t id;
	int state;
};

static int by_id(const void *a, const void *b)
{
	const struct life *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static bool is_context(const struct kept *k)
{
	return !strcmp(k->category, "context");
}

/* Returns the id of the context that @k begins, runs or ends, or 0. */
static uint64_t context_of(const struct kept *k)
{
	if (!is_context(k))
		return 0;
	return k->ev.type == ASYNCTRACE_FXT_DURATION_BEGIN ? kept_number(k, "operation", 0) :
	       k->ev.type == ASYNCTRACE_FXT_ASYNC_BEGIN || k->ev.type == ASYNCTRACE_FXT_ASYNC_END ?
	       k->ev.id : 0;
}

void kept_check_contexts(void)
{
	struct life *lives = calloc(nr_kept + 1, sizeof(*lives)), *l;
	/* Durations that have not ended, each with its thread, innermost last */
	struct {
		uint32_t slot;
		struct life *life;
	} *open = calloc(nr_kept + 1, sizeof(*open));
	unsigned int n = 0, nr_open = 0;

	for (unsigned int i = 0; i < nr_kept; i++)
		if (kept[i].ev.type == ASYNCTRACE_FXT_ASYNC_BEGIN && is_context(&kept[i]))
			lives[n++].id = kept[i].ev.id;
	qsort(lives, n, sizeof(*lives), by_id);
	for (unsigned int i = 1; i < n; i++)
		check(lives[i].id != lives[i - 1].id, "a context is made twice");
	for (unsigned int i = 0; i < nr_kept; i++) {
		const struct life key = { .id = context_of(&kept[i]) };
		unsigned int at = nr_open;

		l = key.id ? bsearch(&key, lives, n, sizeof(*lives), by_id) : NULL;
		switch (kept[i].ev.type) {
		case ASYNCTRACE_FXT_ASYNC_BEGIN:
			if (l)
				l->state = MADE;
			break;
		case ASYNCTRACE_FXT_DURATION_BEGIN:
			/* Ignores contexts that were made before the trace began. */
			if (l) {
				check(l->state == MADE, "a context runs in state %d", l->state);
				l->state = RUNS;
			}
			open[nr_open].slot = kept[i].ev.slot;
			open[nr_open++].life = l;
			break;
		case ASYNCTRACE_FXT_DURATION_END:
			while (at && open[at - 1].slot != kept[i].ev.slot)
				at--;
			if (!check(at, "a duration ends that has not begun"))
				break;
			if (open[at - 1].life && open[at - 1].life->state == RUNS)
				open[at - 1].life->state = MADE;
			memmove(&open[at - 1], &open[at], (nr_open-- - at) * sizeof(*open));
			break;
		case ASYNCTRACE_FXT_ASYNC_END:
			if (l) {
				check(l->state == MADE || l->state == RUNS, "a context ends in state %d",
				      l->state);
				l->state = DESTROYED;
			}
			break;
		}
	}
	free(lives);
	free(open);
}

/* --- a trace of this process -------------------------------------------------------------- */

static struct tape tape;

void kept_begin(const char *categories)
{
	const struct tape_options o = {
		.mode = ASYNCTRACE_MODE_ONESHOT, .ring_size = 8 << 20, .categories = categories,
	};

	kept_forget();
	tape_new(&tape, &o, kept_take, NULL);
	tape_attach(&tape);
	tape_gate(&tape, true);
}

uint64_t kept_end(void)
{
	uint64_t dropped;

	tape_end(&tape, true);
	dropped = tape.result.dropped;
	kept_sort();
	tape_check(&tape);
	tape_free(&tape);
	return dropped;
}
