// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * CPU time of the calling thread, from its cell
 */
#include <time.h>

#include <asynctrace/operation.h>

#include "internal.h"
#include "rseq.h"

/*
 * Maximum number of attempts to read a cell. An attempt fails if the kernel changes the cell during
 * it. A change takes only a few instructions, so all attempts fail only if the cell is damaged.
 */
#define AT_TRIES	10

struct reading {
	uint64_t cpu_ns;
	uint64_t since;
	uint64_t now;
	uint32_t generation;
};

/* Reads what the kernel has written when the thread last began to run. */
static bool read_cell(const struct asynctrace_cell *cell, struct reading *r)
{
	const volatile struct asynctrace_control *c = at_control();
	uint32_t sequence;

	for (int i = 0; i < AT_TRIES; i++) {
		sequence = __atomic_load_n(&cell->sequence, __ATOMIC_ACQUIRE);
		if (sequence & 1)
			continue;
		r->generation = __atomic_load_n(&cell->generation, __ATOMIC_RELAXED);
		r->cpu_ns = __atomic_load_n(&cell->cpu_ns, __ATOMIC_RELAXED);
		r->since = __atomic_load_n(&cell->since, __ATOMIC_RELAXED);
		/*
		 * Read the clock before the sequence is read again: if the sequence is unchanged,
		 * the thread has not switched until this time.
		 */
		r->now = at_clock(c->clock_offset, c->clock);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&cell->sequence, __ATOMIC_RELAXED) == sequence)
			return true;
	}
	return false;
}

/* Returns false if the kernel does not update the cell in the present run. */
static bool cell_time(uint64_t *ns)
{
	const volatile struct asynctrace_control *c = at_control();
	const void *cell = at_current_.cell;
	const uint32_t gate = at_gate_now();
	struct reading r;
	uint64_t ticks;

	if (!cell || gate == ASYNCTRACE_GATE_OFF || gate == ASYNCTRACE_GATE_ATTACH ||
	    at_thread.raw_clock || !c->clock_mult)
		return false;
	if (!read_cell(cell, &r) || r.generation != gate)
		return false;
	ticks = r.now > r.since ? r.now - r.since : 0;
	/* Use 128 bits, because a thread may run for hours without a switch. */
	*ns = r.cpu_ns + (uint64_t)((unsigned __int128)ticks * c->clock_mult >> c->clock_shift);
	return at_gate_still(gate);
}

AT_PUBLIC uint64_t at_thread_cpu_ns(void)
{
	struct timespec ts;
	uint64_t ns;

	if (cell_time(&ns))
		return ns;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}
