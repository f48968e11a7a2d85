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
 * If the run has changed, the record is neither written nor counted: it belongs to the old run. If
 * only the categories have changed, it is written.
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
	if (likely(at_thread.gate == gate && at_record_fits(at_control(), rec->words))) {
		*rec->slot = at_thread.slot;
		if (likely(at_cs_put(&at_thread, &at_gate_.gate, gate, &put) == AT_CS_DONE))
			return;
	}
	at_write_record(gate, rec);
}

AT_COLD void at_write_n_slowly(uint32_t gate, uint64_t *w, unsigned int n, unsigned int stamp)
{
	const struct at_piece piece = { w, n };

	w[2] = TRACE_SITE_ON_;
	at_write_record(gate, &(struct at_record){ &piece, 1, n, stamp, &w[2] });
}

/* a, b, c: the record's words except header, stamp and slot. */
AT_COLD void at_write_slowly(uint32_t gate, uint64_t w0, uint64_t a, uint64_t b, uint64_t c,
			     unsigned int n_and_stamp)
{
	const unsigned int n = n_and_stamp & 0xff, stamp = n_and_stamp >> 8;
	uint64_t w[] = { w0, 0, TRACE_SITE_ON_, a, b, c };
	const struct at_piece piece = { w, n };

	if (stamp != 1) {
		w[1] = a;
		w[3] = b;
	}
	at_write_record(gate, &(struct at_record){ &piece, 1, n, stamp, &w[2] });
}

/* On x86-64, write_x86_64.S defines the functions below. */
#ifndef __x86_64__

AT_PUBLIC void at_write_n_(uint32_t gate, uint64_t *w, unsigned int n, unsigned int stamp)
{
	const struct at_piece piece = { w, n };

	at_write_pieces(gate, &(struct at_record){ &piece, 1, n, stamp, &w[2] });
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
