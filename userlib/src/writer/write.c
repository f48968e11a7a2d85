// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Writing a record into the ring of the CPU that the thread runs on
 *
 * The public functions write a record if the thread is bound to its CPU's ring and the sub-buffer
 * has room. If not, they call at_write_record(), which binds the thread, enters the next
 * sub-buffer, uses the fallback ring, or counts a dropped record.
 */
#include "beside.h"
#include "rseq.h"

/* Aborts after which a record is dropped: a debugger may be stepping through the section. */
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

/* Do the format and this run's sub-buffers allow a record of this many words? */
static bool fits_ever(const volatile struct asynctrace_control *c, unsigned int words)
{
	return words <= ASYNCTRACE_FXT_WORDS_MAX &&
	       words + ASYNCTRACE_SUBBUF_WORDS <= (uint64_t)c->sub_mask + 1;
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
	if (!fits_ever(d->control, rec->words))
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

/* Returns false if the gate has changed. Then the record is neither written nor counted. */
static bool write_or_drop(uint32_t gate, const struct at_record *rec)
{
	struct at_destination d;

	if (at_thread.gate != gate && !at_thread_learn(gate))
		return false;
	d = at_destination_present();
	return at_destination_write(&d, gate, rec);
}

/*
 * A record of one run must not be written or counted in another run. If only the categories have
 * changed during the run, the record is written.
 */
AT_COLD void at_write_record(uint32_t gate, const struct at_record *rec)
{
	if (unlikely(at_gate_beside(gate))) {
		at_beside_write(gate, rec);
		return;
	}
	do {
		if (unlikely(at_beside_on()) ? at_beside_write_with_names(gate, rec) :
					       write_or_drop(gate, rec))
			return;
		gate = at_gate_renew_(gate);
	} while (gate);
}

void at_write_pieces(uint32_t gate, const struct at_record *rec)
{
	const struct at_put put = {
		.pieces = rec->pieces,
		.end = rec->pieces + rec->npieces,
		.words = rec->words,
		.stamp = (uint64_t)rec->stamp * 8,
	};

	/* at_thread may be stale; the critical section checks it again. */
	*rec->slot = at_thread.slot;
	if (likely(at_thread.gate == gate && fits_ever(at_control(), rec->words) &&
		   at_cs_put(&at_thread, &at_gate_.gate, gate, &put) == AT_CS_DONE))
		return;
	at_write_record(gate, rec);
}

AT_COLD void at_write_n_slowly(uint32_t gate, uint64_t *w, unsigned int n, unsigned int stamp)
{
	const struct at_piece piece = { w, n };

	at_write_record(gate, &(struct at_record){ &piece, 1, n, stamp, &w[2], 0 });
}

/* a, b, c: the record's words except header, stamp and slot. */
AT_COLD void at_write_slowly(uint32_t gate, uint64_t w0, uint64_t a, uint64_t b, uint64_t c,
			     unsigned int n_and_stamp)
{
	const unsigned int n = n_and_stamp & 0xff, stamp = n_and_stamp >> 8;
	uint64_t w[] = { w0, 0, 0, a, b, c };
	const struct at_piece piece = { w, n };

	if (stamp != 1) {
		w[1] = a;
		w[3] = b;
	}
	at_write_record(gate, &(struct at_record){ &piece, 1, n, stamp, &w[2], 0 });
}

/* On x86-64, write_x86_64.S defines the functions below. */
#ifndef __x86_64__

AT_PUBLIC void at_write_n_(uint32_t gate, uint64_t *w, unsigned int n, unsigned int stamp)
{
	const struct at_piece piece = { w, n };

	at_write_pieces(gate, &(struct at_record){ &piece, 1, n, stamp, &w[2], 0 });
}

/* Six words fit into the smallest sub-buffer: no check is needed. */
#define AT_WRITE(n, stamp, stores, inputs, a, b, c) \
	do { \
		if (unlikely(at_thread.gate != gate)) \
			goto aborted; \
		AT_CS_PUT(gate, n, stamp, AT_CS_STORE(0) stores, [w0] "r"(w0) inputs); \
		return; \
aborted: \
stale: \
full: \
		at_write_slowly(gate, w0, a, b, c, (n) | (stamp) << 8); \
	} while (0)

#define AT_INPUT(w) , [w] "r"(w)

AT_PUBLIC void at_write_3_(uint32_t gate, uint64_t w0)
{
	AT_WRITE(3, 1, , , 0, 0, 0);
}

AT_PUBLIC void at_write_4_(uint32_t gate, uint64_t w0, uint64_t w3)
{
	AT_WRITE(4, 1, AT_CS_STORE(3), AT_INPUT(w3), w3, 0, 0);
}

AT_PUBLIC void at_write_5_(uint32_t gate, uint64_t w0, uint64_t w3, uint64_t w4)
{
	AT_WRITE(5, 1, AT_CS_STORE(3) AT_CS_STORE(4), AT_INPUT(w3) AT_INPUT(w4), w3, w4, 0);
}

AT_PUBLIC void at_write_6_(uint32_t gate, uint64_t w0, uint64_t w3, uint64_t w4, uint64_t w5)
{
	AT_WRITE(6, 1, AT_CS_STORE(3) AT_CS_STORE(4) AT_CS_STORE(5),
		 AT_INPUT(w3) AT_INPUT(w4) AT_INPUT(w5), w3, w4, w5);
}

AT_PUBLIC void at_duration_4_(uint32_t gate, uint64_t w0, uint64_t w1)
{
	AT_WRITE(4, 3, AT_CS_STORE(1), AT_INPUT(w1), w1, 0, 0);
}

AT_PUBLIC void at_duration_5_(uint32_t gate, uint64_t w0, uint64_t w1, uint64_t w3)
{
	AT_WRITE(5, 4, AT_CS_STORE(1) AT_CS_STORE(3), AT_INPUT(w1) AT_INPUT(w3), w1, w3, 0);
}

#endif
