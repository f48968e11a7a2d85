// SPDX-License-Identifier: GPL-2.0-or-later
/* Lints of operations: lost wakeups, too many types, bursts */
#include <errno.h>
#include <stdlib.h>

#include "lints.h"

/* The last begins of operations of one type, at most LINT_BURST */
struct begins {
	uint64_t *of;		/* a ring when it is full */
	size_t nr, room, oldest;
};

struct bursts {
	uint64_t operations;	/* number of operations in bursts */
	uint64_t counted;	/* number of the type's last operation that was counted in a
				   burst */
	uint64_t count;
	struct lint_example example;
};

/* Open operations whose threads slept until the end of the trace */
struct lost_wakes {
	uint64_t count, longest_ns;
	struct lint_example example;
};

/*
 * A type of operations. Bursts and lost wakeups are allocated when they are found, because most
 * types have neither.
 */
struct lint_type {
	const char *provider, *category, *name;
	uint64_t operations, open;
	struct begins begins;
	struct bursts *bursts;
	struct lost_wakes *lost;
};

struct lint_provider {
	const char *name;
	uint64_t types, operations;
	struct lint_example example;	/* of the first type above the limit */
};

static struct lint_provider *provider_of(struct lints *l, const char *name)
{
	struct fxt_entry *e = fxt_make(&l->by_provider, fxt_hash((uintptr_t)name, 0));

	if (!e)
		return NULL;
	if (!e->a) {
		if (!more_room(&l->providers, l->nr_providers, &l->room_providers,
			       sizeof(*l->providers)))
			return NULL;
		l->providers[l->nr_providers] = (struct lint_provider){ .name = name };
		e->a = ++l->nr_providers;
	}
	return &l->providers[e->a - 1];
}

/*
 * Returns the type of @id. Makes the type if there is none. The key is the addresses of the three
 * names, because the analysis stores each name once. NULL: no memory
 */
static struct lint_type *type_of(struct lints *l, const struct analysis_id *id)
{
	struct fxt_entry *e = fxt_make(&l->by_type, fxt_hash(fxt_hash((uintptr_t)id->provider,
								      (uintptr_t)id->category),
							     (uintptr_t)id->name));

	if (!e)
		return NULL;
	if (!e->a) {
		if (!more_room(&l->types, l->nr_types, &l->room_types, sizeof(*l->types)))
			return NULL;
		l->types[l->nr_types] = (struct lint_type){
			.provider = id->provider, .category = id->category, .name = id->name,
		};
		e->a = ++l->nr_types;
	}
	return &l->types[e->a - 1];
}

/* --- bursts ------------------------------------------------------------------------- */

/*
 * Adds a begin at @ns. Returns 1 if LINT_BURST operations began within LINT_BURST_NS up to @ns,
 * else 0, or -ENOMEM.
 */
static int add_begin(struct begins *b, uint64_t ns)
{
	if (b->nr == LINT_BURST) {
		b->of[b->oldest] = ns;
		b->oldest = (b->oldest + 1) % LINT_BURST;
	} else {
		/* The previous begins are too old to share a burst with this one. */
		if (b->nr && ns - b->of[b->nr - 1] >= LINT_BURST_NS)
			b->nr = 0;
		if (!more_room(&b->of, b->nr, &b->room, sizeof(*b->of)))
			return -ENOMEM;
		b->of[b->nr++] = ns;
	}
	return b->nr == LINT_BURST && ns - b->of[b->oldest] < LINT_BURST_NS;
}

/*
 * Counts the last LINT_BURST operations of @t, up to @begin, as a burst. Returns 0 or -ENOMEM.
 */
static int count_burst(struct lint_type *t, const struct analysis_begin *begin)
{
	struct bursts *b = t->bursts;
	uint64_t fresh;

	if (!b)
		b = t->bursts = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	fresh = t->operations - b->counted;
	if (!b->count)
		b->example = example_of(&begin->id, begin->thread, begin->ns);
	/*
	 * Overlapping bursts count as one, so count only operations that no burst has counted
	 * yet.
	 */
	b->count += fresh >= LINT_BURST;
	b->operations += fresh < LINT_BURST ? fresh : LINT_BURST;
	b->counted = t->operations;
	return 0;
}

int lints_begin(struct lints *l, const struct analysis_begin *begin)
{
	struct lint_provider *p = provider_of(l, begin->id.provider);
	struct lint_type *t = type_of(l, &begin->id);
	int burst;

	if (!p || !t)
		return -ENOMEM;
	p->operations++;
	if (!t->operations++ && ++p->types == LINT_TYPES + 1)
		p->example = example_of(&begin->id, begin->thread, begin->ns);
	burst = add_begin(&t->begins, begin->ns);
	return burst > 0 ? count_burst(t, begin) : burst;
}

/* --- lost wakeups -------------------------------------------------------------------- */

/*
 * Returns the time since which all threads of @op slept or had ended, or the end of @op if one
 * of them did not.
 */
static uint64_t asleep_since(const struct analysis_operation *op)
{
	size_t i = op->nr_intervals;

	for (; i; i--) {
		const struct analysis_interval *row = &op->intervals[i - 1];

		if (row->state != ANALYSIS_BLOCKED ||
		    (row->reason != ANALYSIS_SLEEP && row->reason != ANALYSIS_EXITED))
			break;
	}
	return i < op->nr_intervals ? op->intervals[i].from : op->end;
}

int lints_operation(struct lints *l, const struct analysis_operation *op)
{
	const uint64_t since = asleep_since(op);
	struct lint_type *t;

	if (op->complete)
		return 0;
	t = type_of(l, &op->id);
	if (!t)
		return -ENOMEM;
	t->open++;
	if (op->end - since < LINT_LOST_WAKE_NS)
		return 0;
	if (!t->lost)
		t->lost = calloc(1, sizeof(*t->lost));
	if (!t->lost)
		return -ENOMEM;
	t->lost->count++;
	if (op->end - since <= t->lost->longest_ns)
		return 0;
	t->lost->longest_ns = op->end - since;
	t->lost->example = example_of(&op->id, op->intervals[op->nr_intervals - 1].thread, since);
	return 0;
}

/* --- findings ------------------------------------------------------------------------- */

static void find_of_type(struct lints *l, const struct lint_type *t)
{
	const struct analysis_id id = {
		.provider = t->provider, .category = t->category, .name = t->name,
	};

	if (t->lost)
		lints_add(l, &(struct finding){
			.lint = LINT_LOST_WAKE, .type = id, .count = t->lost->count,
			.part = t->lost->count, .all = t->open, .ns = t->lost->longest_ns,
			.example = t->lost->example,
		});
	if (t->bursts)
		lints_add(l, &(struct finding){
			.lint = LINT_CREATION_BURST, .type = id, .count = t->bursts->count,
			.part = t->bursts->operations, .all = t->operations,
			.example = t->bursts->example,
		});
}

void lints_find_types(struct lints *l)
{
	for (size_t i = 0; i < l->nr_types; i++)
		find_of_type(l, &l->types[i]);
	for (size_t i = 0; i < l->nr_providers; i++) {
		const struct lint_provider *p = &l->providers[i];

		if (p->types > LINT_TYPES)
			lints_add(l, &(struct finding){
				.lint = LINT_MANY_TYPES, .count = p->types, .part = p->types,
				.type = { .provider = p->name, .category = "", .name = "" },
				.all = p->operations, .example = p->example,
			});
	}
}

void lints_free_types(struct lints *l)
{
	for (size_t i = 0; i < l->nr_types; i++) {
		free(l->types[i].begins.of);
		free(l->types[i].bursts);
		free(l->types[i].lost);
	}
	free(l->types);
	free(l->providers);
	fxt_table_free(&l->by_type);
	fxt_table_free(&l->by_provider);
}
