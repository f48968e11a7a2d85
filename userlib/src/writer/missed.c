// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Records that could not wait for the registration, counted by category
 *
 * A thread stops waiting if the thread that registers the process makes no progress. Then the
 * records of the waiting thread are missed, and counted here. When the rings exist, the counts of
 * recorded categories are added to the dropped records of the session.
 */
#include <string.h>

#include "internal.h"
#include "module_view.h"

/* Limit of categories. Missed records of further categories always count as dropped. */
#define AT_MISSED_CATEGORIES	32

enum { EMPTY, FILLING, READY };

static struct missed {
	uint32_t state;
	uint32_t count;
	/* One byte longer than the longest pattern, so that a cut name matches no exact pattern. */
	char category[ASYNCTRACE_CATEGORY_MAX + 2];
} table[AT_MISSED_CATEGORIES];

static uint32_t others;		/* records of categories that have no entry */
static uint32_t known;		/* records whose category is known to be recorded */
static uint32_t pending;	/* set while an entry may have records; read without the lock */

/* Finds the counter of a category. Copies the name, because its plug-in may be unloaded. */
static uint32_t *counter_of(const char *category)
{
	const size_t bytes = strnlen(category, sizeof(table[0].category) - 1);

	for (struct missed *m = table; m < table + AT_MISSED_CATEGORIES; m++) {
		uint32_t state = EMPTY;

		if (__atomic_compare_exchange_n(&m->state, &state, FILLING, false,
						__ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
			memcpy(m->category, category, bytes);
			__atomic_store_n(&m->state, READY, __ATOMIC_RELEASE);
			return &m->count;
		}
		if (state == READY && !m->category[bytes] && !memcmp(m->category, category, bytes))
			return &m->count;
	}
	return &others;
}

void at_missed_count(const char *category, uint32_t n)
{
	__atomic_fetch_add(category ? counter_of(category) : &known, n, __ATOMIC_RELAXED);
	__atomic_fetch_add(&pending, 1, __ATOMIC_RELEASE);
}

bool at_missed_pending(void)
{
	return __atomic_load_n(&pending, __ATOMIC_RELAXED);
}

/**
 * struct counts - values of the counters at one moment
 * @of: records by category
 * @others: records of categories without an entry
 * @known: records whose category is known to be recorded; in beside mode, by the module
 */
struct counts {
	uint32_t of[AT_MISSED_CATEGORIES];
	uint32_t others;
	uint32_t known;
};

static void read_counts(struct counts *c)
{
	c->others = __atomic_load_n(&others, __ATOMIC_RELAXED);
	c->known = __atomic_load_n(&known, __ATOMIC_RELAXED);
	for (unsigned int i = 0; i < AT_MISSED_CATEGORIES; i++)
		c->of[i] = __atomic_load_n(&table[i].state, __ATOMIC_ACQUIRE) == READY ?
			   __atomic_load_n(&table[i].count, __ATOMIC_RELAXED) : 0;
}

/*
 * Returns the number of missed records in @c whose category @wanted accepts, plus those whose
 * category found no room in the table.
 */
static uint32_t count_wanted(const struct counts *c, bool (*wanted)(const char *category))
{
	uint32_t n = c->others;

	for (unsigned int i = 0; i < AT_MISSED_CATEGORIES; i++)
		if (c->of[i] && wanted(table[i].category))
			n += c->of[i];
	return n;
}

static void subtract(const struct counts *c)
{
	__atomic_fetch_sub(&others, c->others, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&known, c->known, __ATOMIC_RELAXED);
	for (unsigned int i = 0; i < AT_MISSED_CATEGORIES; i++)
		__atomic_fetch_sub(&table[i].count, c->of[i], __ATOMIC_RELAXED);
}

/* Adds the records to those that the module's session has dropped, in beside mode. */
static void drop_beside(const struct counts *c)
{
	uint32_t gate, n;

	do {
		gate = at_beside_gate();
		if (gate == ASYNCTRACE_GATE_OFF || gate == ASYNCTRACE_GATE_ATTACH)
			return;
		n = count_wanted(c, at_beside_wanted) + c->known;
	} while (n && !at_beside_drop(gate, n));
}

bool at_missed_must_wait(void)
{
	return at_gate_now() == ASYNCTRACE_GATE_ATTACH ||
	       (at_beside_on() && at_beside_gate() == ASYNCTRACE_GATE_ATTACH);
}

void at_missed_drop(void)
{
	const bool beside = at_beside_on();
	uint32_t gate, n;
	struct counts c;

	/*
	 * Clear @pending before the counters are read. A record that is added later sets @pending
	 * again.
	 */
	__atomic_exchange_n(&pending, 0, __ATOMIC_ACQUIRE);
	do {
		if (at_missed_must_wait()) {
			__atomic_store_n(&pending, 1, __ATOMIC_RELAXED);
			return;
		}
		gate = at_gate_now();
		read_counts(&c);
		n = count_wanted(&c, at_category_wanted) + (beside ? 0 : c.known);
		if (gate == ASYNCTRACE_GATE_OFF)
			n = 0;
	} while (!at_gate_still(gate) || (n && !at_fallback_drop_many(gate, n)));
	if (beside)
		drop_beside(&c);
	subtract(&c);
}

void at_missed_forget(void)
{
	__atomic_store_n(&pending, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&others, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&known, 0, __ATOMIC_RELAXED);
	for (struct missed *m = table; m < table + AT_MISSED_CATEGORIES; m++)
		__atomic_store_n(&m->count, 0, __ATOMIC_RELAXED);
}
