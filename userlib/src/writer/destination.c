// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Writing a record into the rings of a destination: binds the thread to the ring of its CPU, enters
 * the next sub-buffer, uses the fallback ring, or counts a dropped record
 */
#include "destination.h"
#include "rseq.h"

/*
 * A record is dropped after this many aborts of its critical section. A debugger that steps through
 * the section aborts it each time.
 */
#define AT_TRIES	100

#ifdef AT_TEST_HOOKS
uint64_t at_race_delay, at_race_delay_early;
#endif

enum found { FOUND, NO_RING, STALE };

/* Finds the ring of the CPU that the thread runs on. */
static enum found find_ring(struct at_ring *r, const struct at_destination *d, uint32_t gate)
{
	const volatile struct asynctrace_control *c = d->control;
	uint32_t cpu;

	if (d->thread->path != ASYNCTRACE_PATH_RSEQ || at_rseq_cpu() < 0)
		return NO_RING;
	cpu = at_rseq_cpu_start();
	if (cpu >= c->nr_rings)
		return NO_RING;
	r->cpu = cpu;
	r->gate = gate;
	r->now = d->gate;
	r->thread = d->thread;
	r->line = (uint64_t *)(d->rw + c->headers + (uint64_t)cpu * ASYNCTRACE_LINE);
	r->data = (uint64_t *)(d->rw + c->rings + cpu * c->ring_stride);
	r->sub_mask = c->sub_mask;
	r->ring_mask = c->ring_mask;
	/* Check that these fields belong to one run before they are used. */
	return at_destination_still(d, gate) ? FOUND : STALE;
}

/* If the CPU's ring cannot count the record, the fallback ring does. */
AT_COLD bool at_destination_drop(const struct at_destination *d, uint32_t gate)
{
	enum at_cs_result res;
	struct at_ring r;

	for (int i = 0; i < AT_TRIES && find_ring(&r, d, gate) == FOUND; i++) {
		res = at_cs_drop(&r);
		if (res != AT_CS_ABORTED)
			return res == AT_CS_DONE;
	}
	return at_fallback_count(d, gate, 1);
}

/*
 * Moves the ring to its next sub-buffer. Returns AT_CS_DONE if there may be room now, AT_CS_FULL
 * if there is none.
 */
static AT_COLD enum at_cs_result enter_next(const struct at_destination *d, const struct at_ring *r)
{
	const uint64_t sub_words = (uint64_t)r->sub_mask + 1;
	const uint64_t *limits = (const uint64_t *)(d->area + d->control->limits);
	struct at_enter e = { .line = r->line };
	uint64_t lin, start, records = 0;

	if (!at_destination_still(d, r->gate))
		return AT_CS_STALE;
	e.old = __atomic_load_n(&r->line[0], __ATOMIC_RELAXED);
	lin = e.old & ASYNCTRACE_POS_MASK;
	start = (lin + sub_words - 1) & ~(sub_words - 1);
	/*
	 * Pairs with the release of the limit: words that the reader has taken may be overwritten
	 * only after this load.
	 */
	if (start + sub_words > __atomic_load_n(&limits[r->cpu], __ATOMIC_ACQUIRE))
		return AT_CS_FULL;
	if (lin) {
		uint64_t base = (lin - 1) & ~(sub_words - 1);

		/*
		 * If the position moves on meanwhile, this word may be another record's; then
		 * at_cs_enter() fails.
		 */
		records = __atomic_load_n(&r->data[(base & r->ring_mask) + 2], __ATOMIC_RELAXED) +
			  (e.old >> ASYNCTRACE_POS_BITS);
	}
	e.to = &r->data[start & r->ring_mask];
	e.pos = (start + ASYNCTRACE_SUBBUF_WORDS) & ASYNCTRACE_POS_MASK;
	e.head[0] = ASYNCTRACE_SUBBUF_MAGIC | (uint64_t)r->gate << 32;
	e.head[1] = start / sub_words;
	e.head[2] = records;
	e.head[3] = lin;
	return at_cs_enter(r, &e);
}

AT_COLD bool at_destination_write(const struct at_destination *d, uint32_t gate,
				  const struct at_record *rec)
{
	const struct at_put put = {
		.pieces = rec->pieces,
		.end = rec->pieces + rec->npieces,
		.words = rec->words,
		.stamp = (uint64_t)rec->stamp * 8,
	};
	struct at_ring r;
	int aborts = 0;

	*rec->slot = d->thread->slot;
	if (!at_record_fits(d->control, rec->words))
		return at_destination_drop(d, gate);
	while (aborts < AT_TRIES) {
		enum at_cs_result res;

		switch (find_ring(&r, d, gate)) {
		case FOUND:
			break;
		case NO_RING:
			return at_fallback_put(d, gate, rec);
		case STALE:
			return false;
		}
		res = at_cs_bind(&r);
		if (res == AT_CS_DONE)
			res = at_cs_put(d->thread, d->gate, gate, &put);
		if (res == AT_CS_FULL) {
			res = enter_next(d, &r);
			if (res == AT_CS_DONE)
				continue;
		}
		if (res == AT_CS_DONE || res == AT_CS_STALE)
			return res == AT_CS_DONE;
		if (res == AT_CS_FULL)
			break;
		aborts++;
	}
	return at_destination_drop(d, gate);
}
