// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The fallback ring: for threads without rseq, CPUs without a ring, and all threads if the
 * machine's counter is not trusted
 *
 * The ring has one lock. A thread waits for it only briefly, because the owner may be preempted. A
 * signal handler does not wait if the code that it interrupted may be the owner. If the lock stays
 * busy, the record is dropped and counted. The owner may be preempted until the run has ended and
 * the next has begun. So the position carries a tag, the low bits of the run's generation, and is
 * published by compare-and-swap.
 *
 * A signal handler that leaves put_record() by siglongjmp(3) leaves the lock held. All later
 * records of this ring are dropped and counted. No cheap check can tell this case from a handler
 * that still runs. libasynctrace(3) says that programs must not do this.
 */
#include <time.h>

#include "destination.h"
#include "internal.h"
#include "rseq.h"
#include "sys.h"

static struct asynctrace_ring_header *fallback_line(const struct at_destination *d)
{
	const volatile struct asynctrace_control *c = d->control;

	return (struct asynctrace_ring_header *)(d->rw + c->headers +
						 (uint64_t)c->nr_rings * ASYNCTRACE_LINE);
}

/*
 * Returns false if the gate has changed. @nested: out: the caller is a signal handler that has
 * interrupted the thread between enter_ring() and leave_ring()
 */
static bool enter_ring(const struct at_destination *d, uint32_t gate, bool *nested)
{
	*nested = at_thread.in_fallback;
	at_thread.in_fallback = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_fetch_add(&d->fallback->users, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(d->gate, __ATOMIC_SEQ_CST) == gate)
		return true;
	__atomic_fetch_sub(&d->fallback->users, 1, __ATOMIC_RELEASE);
	at_thread.in_fallback = *nested;
	return false;
}

static void leave_ring(const struct at_destination *d, bool nested)
{
	__atomic_fetch_sub(&d->fallback->users, 1, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	at_thread.in_fallback = nested;
}

/*
 * Adds @n to the dropped records, or nothing if the ring's tag shows another run. Returns false
 * if the gate has changed.
 */
static bool count_drops(const struct at_destination *d, uint32_t gate, uint32_t n)
{
	struct asynctrace_ring_header *line = fallback_line(d);
	const uint64_t tag = (uint64_t)d->control->run << ASYNCTRACE_FALLBACK_DROPS_SHIFT;
	__u64 old = __atomic_load_n(&line->dropped, __ATOMIC_RELAXED), drops;

	do {
		drops = (old + n) & ASYNCTRACE_FALLBACK_DROPS_MASK;
		if (!at_destination_still(d, gate))
			return false;
		if ((old & ~ASYNCTRACE_FALLBACK_DROPS_MASK) != tag)
			return true;
	} while (!__atomic_compare_exchange_n(&line->dropped, &old, tag | drops, false,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return true;
}

AT_COLD bool at_fallback_count(const struct at_destination *d, uint32_t gate, uint32_t n)
{
	bool counted, nested;

	if (!enter_ring(d, gate, &nested))
		return false;
	counted = count_drops(d, gate, n);
	leave_ring(d, nested);
	return counted;
}

bool at_fallback_drop_many(uint32_t gate, uint32_t n)
{
	const struct at_destination d = at_destination_present();

	return at_fallback_count(&d, gate, n);
}

bool at_fallback_drop(uint32_t gate)
{
	return at_fallback_drop_many(gate, 1);
}

static void copy_record(uint64_t *to, const struct at_record *rec)
{
	for (unsigned int i = 0; i < rec->npieces; i++) {
		const char *from = rec->pieces[i].from;

		for (uint64_t k = 0; k < rec->pieces[i].words; k++, from += 8) {
			uint64_t w;

			__builtin_memcpy(&w, from, 8);
			*to++ = w;
		}
	}
}

/*
 * Publishes the linear offset @lin and the number @count of records in its sub-buffer. @pos: in:
 * the position as read, with the tag of this run; out: the new position. Returns false and
 * publishes nothing if the position has changed.
 */
static bool publish(struct asynctrace_ring_header *line, uint64_t *pos, uint64_t lin,
		    uint64_t count)
{
	__u64 old = *pos;

	*pos = (old & ASYNCTRACE_FALLBACK_TAG_MASK) | (lin & ASYNCTRACE_FALLBACK_POS_MASK) |
	       count << ASYNCTRACE_POS_BITS;
	return __atomic_compare_exchange_n(&line->position, &old, *pos, false, __ATOMIC_RELEASE,
					   __ATOMIC_RELAXED);
}

enum put { PUT, FULL, STALE };

/*
 * Writes a record. The caller holds the lock. Returns FULL if the caller must count the record as
 * dropped, and STALE if the gate has changed. If the ring's tag shows that the run is over, the
 * record belongs to no run: returns PUT, so that the caller does not count it.
 */
static enum put put_record(const struct at_destination *d, uint32_t gate,
			   const struct at_record *rec)
{
	const volatile struct asynctrace_control *c = d->control;
	const uint64_t sub_words = (uint64_t)c->sub_mask + 1, ring_mask = c->ring_mask;
	const uint32_t ring = c->nr_rings, clock = c->clock, run = c->run;
	const uint64_t offset = c->clock_offset;
	const uint64_t *limits = (const uint64_t *)(d->area + c->limits);
	struct asynctrace_ring_header *line = fallback_line(d);
	uint64_t *data = (uint64_t *)(d->rw + c->rings + ring * c->ring_stride);
	uint64_t pos, lin, count;

	if (!at_destination_still(d, gate))
		return STALE;
	pos = __atomic_load_n(&line->position, __ATOMIC_RELAXED);
	if ((pos & ASYNCTRACE_FALLBACK_TAG_MASK) >> ASYNCTRACE_FALLBACK_TAG_SHIFT !=
	    (run & (ASYNCTRACE_FALLBACK_TAG_MASK >> ASYNCTRACE_FALLBACK_TAG_SHIFT)))
		return PUT;
	lin = pos & ASYNCTRACE_FALLBACK_POS_MASK;
	count = pos >> ASYNCTRACE_POS_BITS;
	if (((lin - 1) & (sub_words - 1)) + rec->words >= sub_words) {
		uint64_t start = (lin + sub_words - 1) & ~(sub_words - 1);
		uint64_t records = 0, *head = &data[start & ring_mask];

		/* Pairs with the release of the limit: see enter_next() in destination.c. */
		if (start + sub_words > __atomic_load_n(&limits[ring], __ATOMIC_ACQUIRE))
			return FULL;
		if (lin)
			records = data[((lin - 1) & ~(sub_words - 1) & ring_mask) + 2] + count;
		/* Order the commit that filled the last sub-buffer before this header. */
		__atomic_thread_fence(__ATOMIC_RELEASE);
		head[0] = ASYNCTRACE_SUBBUF_MAGIC | (uint64_t)gate << 32;
		head[1] = start / sub_words;
		head[2] = records;
		head[3] = lin;
		if (!publish(line, &pos, start + ASYNCTRACE_SUBBUF_WORDS, 0))
			return PUT;
		lin = start + ASYNCTRACE_SUBBUF_WORDS;
		count = 0;
	}
	copy_record(&data[lin & ring_mask], rec);
	/* A time that is read before the lock is taken may be less than that of the last owner. */
	at_counter_fence();
	data[(lin & ring_mask) + rec->stamp] = at_clock(offset, clock);
	publish(line, &pos, lin + rec->words, count + 1);
	return PUT;
}

/*
 * An owner that runs writes its record within two microseconds. This many attempts last 5 to 40
 * microseconds, so several threads can wait for each other. An owner that holds the lock longer is
 * preempted: the record is dropped, because the owner may come back after many milliseconds.
 */
#define LOCK_ATTEMPTS	1000

/* @nested: this thread may own the lock itself, and must not wait. */
static bool take_lock(struct at_fallback *f, bool nested)
{
	unsigned int attempts = nested ? 1 : LOCK_ATTEMPTS;

	while (__atomic_load_n(&f->lock, __ATOMIC_RELAXED) ||
	       __atomic_exchange_n(&f->lock, 1, __ATOMIC_ACQUIRE)) {
		if (!--attempts)
			return false;
		at_pause();
	}
	return true;
}

AT_COLD bool at_fallback_put(const struct at_destination *d, uint32_t gate,
			     const struct at_record *rec)
{
	struct at_fallback *f = d->fallback;
	enum put res = FULL;
	bool counted, nested, collided = false;

	if (!enter_ring(d, gate, &nested))
		return false;
	if (d->thread->path != ASYNCTRACE_PATH_NONE) {
		collided = !take_lock(f, nested);
		if (!collided) {
			res = put_record(d, gate, rec);
			__atomic_store_n(&f->lock, 0, __ATOMIC_RELEASE);
		}
	}
	counted = res == FULL ? count_drops(d, gate, 1) : res == PUT;
	if (collided && counted)
		__atomic_fetch_add(&f->collisions, 1, __ATOMIC_RELAXED);
	leave_ring(d, nested);
	return counted;
}

uint32_t at_fallback_collisions(void)
{
	return __atomic_load_n(&at_fallback_inprocess.collisions, __ATOMIC_RELAXED);
}

bool at_fallback_quiesce(void)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	for (int i = 0; i < 2000; i++) {
		if (!__atomic_load_n(&at_fallback_module.users, __ATOMIC_SEQ_CST) &&
		    !__atomic_load_n(&at_fallback_inprocess.users, __ATOMIC_SEQ_CST))
			return true;
		at_sys_nanosleep(&ms);
	}
	return false;
}

void at_fallback_forked(void)
{
	at_fallback_module.lock = at_fallback_inprocess.lock = 0;
	at_fallback_module.users = at_fallback_inprocess.users = 0;
}
