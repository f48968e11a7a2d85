// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Records that could not wait for the registration, counted by category
 *
 * A thread does not wait for another thread that registers without progress. Its records are
 * missed and counted here. When the rings exist, the counts of recorded categories
 * are added to the dropped records of the session.
 */
#include <string.h>

#include "beside.h"
#include "internal.h"

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
	__atomic_fetch_add(category ? counter_of(category) : &others, n, __ATOMIC_RELAXED);
	__atomic_fetch_add(&pending, 1, __ATOMIC_RELEASE);
}

bool at_missed_pending(void)
{
	return __atomic_load_n(&pending, __ATOMIC_RELAXED);
}

/*
 * Reads all counters into @counts; the last one is of categories without an entry. The caller
 * holds the lock. Returns how many of these records the run of @wanted wanted.
 */
static uint32_t read_counts(uint32_t counts[AT_MISSED_CATEGORIES + 1],
			    bool (*wanted)(const char *category))
{
	uint32_t n = counts[AT_MISSED_CATEGORIES] = __atomic_load_n(&others, __ATOMIC_RELAXED);

	for (unsigned int i = 0; i < AT_MISSED_CATEGORIES; i++) {
		counts[i] = 0;
		if (__atomic_load_n(&table[i].state, __ATOMIC_ACQUIRE) != READY)
			continue;
		counts[i] = __atomic_load_n(&table[i].count, __ATOMIC_RELAXED);
		if (counts[i] && wanted(table[i].category))
			n += counts[i];
	}
	return n;
}

void at_missed_drop(void)
{
	uint32_t counts[AT_MISSED_CATEGORIES + 1], more[AT_MISSED_CATEGORIES + 1], gate, n;

	/*
	 * Clear @pending before the counters are read. A record that is added later sets @pending
	 * again.
	 */
	__atomic_exchange_n(&pending, 0, __ATOMIC_ACQUIRE);
	do {
		gate = at_gate_now();
		if (gate == ASYNCTRACE_GATE_ATTACH) {
			__atomic_store_n(&pending, 1, __ATOMIC_RELAXED);
			return;
		}
		n = read_counts(counts, at_category_wanted);
		if (gate == ASYNCTRACE_GATE_OFF)
			n = 0;
	} while (!at_gate_still(gate) || (n && !at_fallback_drop_many(gate, n)));
	if (at_beside_on())
		at_beside_drop(read_counts(more, at_beside_wanted));
	__atomic_fetch_sub(&others, counts[AT_MISSED_CATEGORIES], __ATOMIC_RELAXED);
	for (unsigned int i = 0; i < AT_MISSED_CATEGORIES; i++)
		__atomic_fetch_sub(&table[i].count, counts[i], __ATOMIC_RELAXED);
}

void at_missed_forget(void)
{
	__atomic_store_n(&pending, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&others, 0, __ATOMIC_RELAXED);
	for (struct missed *m = table; m < table + AT_MISSED_CATEGORIES; m++)
		__atomic_store_n(&m->count, 0, __ATOMIC_RELAXED);
}
