// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lint of thundering herds. Wakeups by one waker shortly after each other form a herd. Each
 * woken thread is judged when its turn is over. So there are at most as many herds at a time as
 * threads and wakers.
 */
#include <errno.h>
#include <stdlib.h>

#include "lints.h"

struct herd {
	size_t waker;		/* index of the waker */
	uint64_t number;
	uint64_t first;		/* time of the first wakeup */
	uint64_t woken, judged, futile;
	uint64_t futile_ns;	/* running time of the futile turns */
	unsigned int refs;	/* references of threads whose turn is not over, and of the waker */
	struct lint_example winner;
};

struct lint_waker {
	const struct analysis_thread *thread;	/* NULL: interrupts */
	struct herd *herd;	/* the herd that the next wakeup may join */
	uint64_t count, woken, futile, futile_ns;	/* of thundering herds */
	struct lint_example example;
};

static struct lint_waker *waker_of(struct lints *l, const struct analysis_thread *t)
{
	struct fxt_entry *e = fxt_make(&l->by_waker, t ? analysis_thread_key(t) : 1);

	if (!e)
		return NULL;
	if (!e->a) {
		if (!more_room(&l->wakers, l->nr_wakers, &l->room_wakers, sizeof(*l->wakers)))
			return NULL;
		l->wakers[l->nr_wakers] = (struct lint_waker){ .thread = t };
		e->a = ++l->nr_wakers;
	}
	return &l->wakers[e->a - 1];
}

/* Counts @h if it is large enough, all of its turns are over, and all but one were futile. */
static void count_herd(struct lint_waker *w, const struct herd *h)
{
	if (h->woken < LINT_HERD || h->judged != h->woken || h->futile != h->woken - 1)
		return;
	if (!w->count++)
		w->example = h->winner;
	w->woken += h->woken;
	w->futile += h->futile;
	w->futile_ns += h->futile_ns;
}

static void put_herd(struct lints *l, struct herd *h)
{
	if (--h->refs)
		return;
	count_herd(&l->wakers[h->waker], h);
	free(h);
}

static bool is_futile(const struct analysis_turn *turn)
{
	return turn->exact && !turn->id && turn->running_ns <= LINT_FUTILE_NS &&
	       (turn->reason == ANALYSIS_SLEEP || turn->reason == ANALYSIS_DISK ||
		turn->reason == ANALYSIS_IOWAIT);
}

int lints_turn_over(struct lints *l, const struct analysis_turn *turn)
{
	struct lint_thread *t = lint_thread_of(l, turn->thread);
	struct herd *h;

	if (!t)
		return -ENOMEM;
	h = t->herd;
	if (!h)
		return 0;
	t->herd = NULL;
	h->judged++;
	if (is_futile(turn)) {
		h->futile++;
		h->futile_ns += turn->running_ns;
	} else {
		h->winner = example_of(turn->id, turn->thread, turn->from);
	}
	put_herd(l, h);
	return 0;
}

/* Begins the next herd of waker @w at @ns. Returns false if there is no memory. */
static bool new_herd(struct lints *l, struct lint_waker *w, uint64_t ns)
{
	struct herd *h = calloc(1, sizeof(*h));

	if (!h)
		return false;
	if (w->herd)
		put_herd(l, w->herd);
	w->herd = h;
	h->waker = w - l->wakers;
	h->number = ++l->herds;
	h->first = ns;
	h->refs = 1;
	return true;
}

int lints_woken(struct lints *l, const struct analysis_turn *turn)
{
	struct lint_thread *t = lint_thread_of(l, turn->thread);
	struct fxt_entry *last;
	struct lint_waker *w;

	/* Hidden tasks share one id, so the waker is not known. */
	if (turn->waker_kind == ANALYSIS_OTHER_HIDDEN)
		return 0;
	w = waker_of(l, turn->waker);
	last = w ? fxt_make(&l->last_herds, fxt_hash(w - l->wakers,
					     analysis_thread_key(turn->thread))) : NULL;
	if (!t || !last)
		return -ENOMEM;
	/* A herd has one wakeup of each thread: a second one begins the next herd. */
	if ((!w->herd || turn->to - w->herd->first > LINT_HERD_NS ||
	     w->herd->number == last->a) && !new_herd(l, w, turn->to))
		return -ENOMEM;
	t->herd = w->herd;
	last->a = w->herd->number;
	w->herd->woken++;
	w->herd->refs++;
	return 0;
}

void lints_find_herds(struct lints *l)
{
	for (size_t i = 0; i < l->nr_wakers; i++) {
		struct lint_waker *w = &l->wakers[i];

		if (w->herd)
			put_herd(l, w->herd);
		w->herd = NULL;
		if (w->count)
			lints_add(l, &(struct finding){
				.lint = LINT_THUNDERING_HERD, .thread = w->thread,
				.count = w->count,
				.type = { .provider = "", .category = "", .name = "" },
				.part = w->futile, .all = w->woken, .ns = w->futile_ns,
				.example = w->example,
			});
	}
}

void lints_free_herds(struct lints *l)
{
	for (size_t i = 0; i < l->nr_threads; i++)
		if (l->threads[i].herd)
			put_herd(l, l->threads[i].herd);
	for (size_t i = 0; i < l->nr_wakers; i++)
		if (l->wakers[i].herd)
			put_herd(l, l->wakers[i].herd);
	free(l->wakers);
	fxt_table_free(&l->by_waker);
	fxt_table_free(&l->last_herds);
}
