// SPDX-License-Identifier: GPL-2.0-or-later
/* Lints of single threads, and the list of all findings */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lints.h"

const char *lint_name(enum lint lint)
{
	static const char *const names[LINTS] = {
		[LINT_SELF_WAKE] = "self-wake", [LINT_NEVER_YIELDS] = "never-yields",
		[LINT_LOST_WAKE] = "lost-wake", [LINT_THUNDERING_HERD] = "thundering-herd",
		[LINT_MANY_TYPES] = "many-types", [LINT_CREATION_BURST] = "creation-burst",
	};

	return names[lint];
}

const char *lint_meaning(enum lint lint)
{
	static const char *const meanings[LINTS] = {
		[LINT_SELF_WAKE] = "Most wakeups of the thread come from itself: it polls instead of waiting.",
		[LINT_NEVER_YIELDS] = "The thread ran for 1 s or longer without a sleep: its other work waited.",
		[LINT_LOST_WAKE] = "All threads of an open operation slept to the end: a wakeup may be missing.",
		[LINT_THUNDERING_HERD] = "Threads are woken together, and all but one sleep again without work.",
		[LINT_MANY_TYPES] = "There are more than 1,000 types: their names may contain ids or values.",
		[LINT_CREATION_BURST] = "1,000 operations or more began within 1 ms: most of them have to queue.",
	};

	return meanings[lint];
}

int lints_wakeup(struct lints *l, const struct analysis_wakeup *wakeup)
{
	struct lint_thread *t = lint_thread_of(l, wakeup->woken);

	if (!t)
		return -ENOMEM;
	t->wakeups++;
	if (wakeup->waker != wakeup->woken)
		return 0;
	if (!t->self_wakes++)
		t->self_wake = example_of(wakeup->woken_id, t->thread, wakeup->ns);
	return 0;
}

int lints_turn(struct lints *l, const struct analysis_turn *turn)
{
	struct lint_thread *t;

	if (turn->running_ns < LINT_LONG_TURN_NS)
		return 0;
	t = lint_thread_of(l, turn->thread);
	if (!t)
		return -ENOMEM;
	t->long_turns++;
	t->long_ns += turn->running_ns;
	if (turn->running_ns <= t->longest_ns)
		return 0;
	t->longest_ns = turn->running_ns;
	t->longest = example_of(turn->id, t->thread, turn->from);
	return 0;
}

void lints_find_threads(struct lints *l, uint64_t ns)
{
	for (size_t i = 0; i < l->nr_threads; i++) {
		const struct lint_thread *t = &l->threads[i];

		if (t->wakeups >= LINT_SELF_WAKES && t->self_wakes > t->wakeups / 2)
			lints_add(l, &(struct finding){
				.lint = LINT_SELF_WAKE, .thread = t->thread, .count = t->self_wakes,
				.part = t->self_wakes, .all = t->wakeups, .example = t->self_wake,
			});
		if (t->long_turns)
			lints_add(l, &(struct finding){
				.lint = LINT_NEVER_YIELDS, .thread = t->thread,
				.count = t->long_turns, .part = t->long_ns, .all = ns,
				.ns = t->longest_ns, .example = t->longest,
			});
	}
}

static int by_lint(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;
	const uint32_t s = x->thread ? x->thread->tid : 0, t = y->thread ? y->thread->tid : 0;
	int order;

	if (x->lint != y->lint)
		return (int)x->lint - (int)y->lint;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	if (s != t)
		return s > t ? 1 : -1;
	if (x->thread)
		return 0;
	order = strcmp(x->type.provider, y->type.provider);
	if (!order)
		order = strcmp(x->type.category, y->type.category);
	return order ? order : strcmp(x->type.name, y->type.name);
}

void lints_find(struct lints *l, uint64_t ns)
{
	lints_find_threads(l, ns);
	lints_find_herds(l);
	lints_find_types(l);
	if (l->nr)
		qsort(l->of, l->nr, sizeof(*l->of), by_lint);
}

void lints_free(struct lints *l)
{
	lints_free_herds(l);
	lints_free_types(l);
	free(l->threads);
	fxt_table_free(&l->by_thread);
	free(l->of);
	*l = (struct lints){ 0 };
}
