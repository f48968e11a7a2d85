// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * How a thread gets its slot and its path. A slot is valid for one registration or in-process
 * trace, a path for one run.
 */
#include <errno.h>
#include <sys/prctl.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "beside.h"
#include "operation.h"
#include "rseq.h"
#include "sys.h"

/* Returns false and changes nothing if the gate has changed. */
static bool learn_slot(uint32_t epoch, uint32_t gate)
{
	struct at_thread *t = &at_thread;
	const bool forbidden = at_counter_learn();
	const bool inprocess = at_backend() == ASYNCTRACE_BACKEND_INPROCESS;
	uint64_t *cell = NULL;
	int slot = inprocess ? at_inproc_slot() : at_module_slot(&cell);
	enum at_path path = ASYNCTRACE_PATH_FALLBACK;
	enum at_reason reason = ASYNCTRACE_REASON_OK;
	uint64_t signals;

	/* If the process has registered anew meanwhile, slot and cell may not belong together. */
	if (!at_gate_still(gate))
		return false;
	if (slot <= 0) {
		path = ASYNCTRACE_PATH_NONE;
		reason = ASYNCTRACE_REASON_NO_SLOT;
	} else if (forbidden && at_control()->clock == ASYNCTRACE_CLOCK_COUNTER) {
		path = ASYNCTRACE_PATH_NONE;
		reason = ASYNCTRACE_REASON_TSC_FORBIDDEN;
	} else if (at_control()->clock != ASYNCTRACE_CLOCK_COUNTER) {
		reason = ASYNCTRACE_REASON_CLOCK;
	} else if (!at_hot.rseq || at_rseq_cpu() < 0) {
		reason = ASYNCTRACE_REASON_NO_RSEQ;
	} else {
		path = ASYNCTRACE_PATH_RSEQ;
	}
	/*
	 * A signal handler may have learned a later epoch since @epoch was read. Block signals, so
	 * that a handler sees all of these fields or none, and invalidate the handler's binding.
	 */
	at_signals_block(&signals);
	/* Keep the slot of a handler that learned this epoch: a thread has one slot. */
	if (t->epoch == epoch) {
		at_signals_restore(&signals);
		return true;
	}
	t->raw_clock = forbidden;
	t->path = path;
	t->reason = reason;
	t->rseq = at_hot.rseq ? at_rseq_area() : NULL;
	t->slot = slot > 0 ? slot : 0;
	t->epoch = epoch;
	t->gate = ASYNCTRACE_GATE_OFF;
	/* In beside mode the kernel still reads the cell of the module's registration. */
	if (!inprocess || !at_beside_on())
		at_cell_set(cell);
	at_signals_restore(&signals);
	return true;
}

AT_COLD bool at_thread_learn(uint32_t gate)
{
	struct at_thread *t = &at_thread;
	const uint32_t epoch = at_epoch();
	const int saved = errno;
	bool learned = true;

	if (t->epoch != epoch)
		learned = learn_slot(epoch, gate);
	else if (t->path != ASYNCTRACE_PATH_NONE)
		/* The next run may have another clock. */
		t->path = at_control()->clock == ASYNCTRACE_CLOCK_COUNTER && at_hot.rseq &&
			  at_rseq_cpu() >= 0 ? ASYNCTRACE_PATH_RSEQ : ASYNCTRACE_PATH_FALLBACK;
	errno = saved;
	return learned && at_gate_still(gate);
}
