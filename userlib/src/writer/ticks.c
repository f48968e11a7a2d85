// SPDX-License-Identifier: LGPL-2.1-or-later
/* The present time for a program: the begin of a scope, and at_ticks(). */
#include <errno.h>

#include "beside.h"
#include "rseq.h"

AT_PUBLIC uint64_t at_ticks_(uint32_t gate)
{
	const volatile struct asynctrace_control *c = at_control();
	bool cut;

	if (likely(at_thread.gate == gate))
		return at_counter();
	while (!at_thread_learn(gate)) {
		if (at_gate_beside(gate))
			return at_beside_ticks();
		gate = at_gate_same_run(gate, &cut);
		/*
		 * The begin does not matter: at_scope_end_() also finds that the gate has changed,
		 * and writes no record. It counts the record unless the run has ended.
		 */
		if (gate == ASYNCTRACE_GATE_OFF || gate == ASYNCTRACE_GATE_ATTACH || cut)
			return 0;
		if (at_beside_on())
			return at_beside_ticks();
	}
	if (at_thread.path == ASYNCTRACE_PATH_NONE)
		return 0;
	return at_clock(c->clock_offset, c->clock);
}

AT_PUBLIC uint64_t at_ticks(void)
{
	const volatile struct asynctrace_control *c = at_control();
	uint32_t gate = at_gate_now();
	const int saved = errno;
	bool forbidden;

	if (likely(gate != ASYNCTRACE_GATE_OFF && at_thread.gate == gate))
		return at_counter();
	/* Only a registered process knows the clock of the module's sessions. */
	if (gate == ASYNCTRACE_GATE_ATTACH && !at_library_mixed())
		at_attach();
	forbidden = at_counter_known_forbidden();
	errno = saved;
	if (c->clock == ASYNCTRACE_CLOCK_COUNTER)
		return forbidden ? 0 : at_counter();
	/* Make at_clock() call the kernel, because the vDSO also reads the forbidden counter. */
	if (forbidden)
		at_thread.raw_clock = true;
	return at_clock(c->clock_offset, c->clock);
}
