// SPDX-License-Identifier: LGPL-2.1-or-later
/* In-process traces beside a session of the module: see beside.h */
#include <errno.h>

#include "beside.h"
#include "module_view.h"
#include "operation.h"
#include "rseq.h"

/* The calling thread's binding to the module's rings */
static __thread struct at_thread in_module __attribute__((tls_model("initial-exec"))) = {
	.cpu = AT_NO_CPU,
};
/* The calling thread's binding to rings of the in-process trace */
static __thread struct at_thread in_process __attribute__((tls_model("initial-exec"))) = {
	.cpu = AT_NO_CPU,
};

bool at_beside_ready(void)
{
	while (at_beside_gate() == ASYNCTRACE_GATE_ATTACH)
		if (!at_module_attach())
			return false;
	return true;
}

/*
 * Waits while the process registers, and reads the module's present run. Returns false if there is
 * none; then @r->gate is OFF, or ATTACH if the registration takes too long.
 */
static bool wait_for_run(struct at_run *r)
{
	do {
		if (!at_beside_ready()) {
			r->gate = ASYNCTRACE_GATE_ATTACH;
			return false;
		}
		if (at_run_present(r))
			return true;
		/* A new registration may have begun since at_beside_ready(). */
	} while (r->gate == ASYNCTRACE_GATE_ATTACH);
	return false;
}

/* --- sites -------------------------------------------------------------------------------- */

static uint32_t mode_of_run(uint32_t run)
{
	return (run & AT_MODE_RUNS) << AT_MODE_RUN_SHIFT;
}

/*
 * Does the record belong to the module's run? If the process has registered again during that run,
 * the new registration goes on with the records of the old one. The answer is valid if
 * at_run_still() is true afterwards: a registration changes the state that at_module_cut() reads.
 */
static bool is_of_run(uint32_t mode, uint32_t run)
{
	const uint32_t back = (run - (mode >> AT_MODE_RUN_SHIFT)) & AT_MODE_RUNS;

	return !back || at_module_cut(run - back, run);
}

/* Do the trace and the module's run measure time in different ways? */
static bool clocks_differ(const struct at_run *r)
{
	const volatile struct asynctrace_control *a = at_control(), *b = r->view->control;

	return a->clock != b->clock || a->clock_offset != b->clock_offset;
}

/*
 * Stores in *@mode the bits AT_MODE_* of a site whose category the module records, or 0 if the
 * module does not record it. Returns false if the process is registering: the module may record the
 * category afterwards.
 */
static bool learn_module(const char *category, uint32_t *mode)
{
	struct at_run r;

	do {
		*mode = 0;
		if (!at_run_present(&r))
			return r.gate != ASYNCTRACE_GATE_ATTACH;
		if (at_run_wants(&r, category))
			*mode = AT_MODE_MODULE | mode_of_run(r.run) |
				(clocks_differ(&r) ? AT_MODE_CLOCKS : 0);
	} while (!at_run_still(&r));
	return true;
}

bool at_beside_learn(const char *category, uint32_t gate, int *mode)
{
	uint32_t to;

	*mode = TRACE_SITE_OFF_;
	if (!learn_module(category, &to))
		return false;
	if (at_category_wanted(category))
		to |= AT_MODE_INPROCESS;
	if (to)
		*mode = TRACE_SITE_INLINE_ | to;
	return at_gate_still(gate);
}

/* --- the module's rings ------------------------------------------------------------------- */

/* Gives the calling thread its slot and cell of the module. */
static void learn_slot(uint32_t epoch)
{
	const int saved = errno;
	const bool forbidden = at_counter_learn();
	uint64_t *cell, signals;
	int slot = at_module_slot(&cell);

	/* A signal handler must see all of these fields changed or none. */
	at_signals_block(&signals);
	if (in_module.epoch != epoch) {
		in_module.slot = slot > 0 ? slot : 0;
		in_module.raw_clock = at_thread.raw_clock = forbidden;
		in_module.epoch = epoch;
		if (slot > 0)
			at_cell_set(cell);
	}
	at_signals_restore(&signals);
	errno = saved;
}

/* Decides how the calling thread writes into the module's rings. */
static enum at_path path_to_module(uint32_t clock)
{
	if (!in_module.slot)
		return ASYNCTRACE_PATH_NONE;
	if (clock != ASYNCTRACE_CLOCK_COUNTER)
		return ASYNCTRACE_PATH_FALLBACK;
	if (in_module.raw_clock)
		return ASYNCTRACE_PATH_NONE;
	return at_hot.rseq && at_rseq_cpu() >= 0 ? ASYNCTRACE_PATH_RSEQ : ASYNCTRACE_PATH_FALLBACK;
}

/* Returns false if the gate has changed. */
static bool write_to_module(const struct at_run *r, const struct at_record *rec, uint32_t mode)
{
	const struct at_destination d = at_run_rings(r, &in_module);
	const uint32_t epoch = at_view_epoch();

	if (in_module.epoch != epoch)
		learn_slot(epoch);
	in_module.rseq = at_hot.rseq ? at_rseq_area() : NULL;
	in_module.path = path_to_module(d.control->clock);
	/*
	 * If the begin of a duration is given (stamp > 1), it is a time of the in-process trace's
	 * clock. It cannot be converted to the module's clock, so drop the record.
	 */
	if (mode & AT_MODE_CLOCKS && rec->stamp > 1)
		return at_destination_drop(&d, r->gate);
	return at_destination_write(&d, r->gate, rec);
}

/*
 * Writes a record into the module's rings, unless its scope began in another run. A mode without
 * AT_MODE_BESIDE does not tell the run; then the record is written. This happens if a signal
 * handler interrupted the begin of the scope. The scope then began under a gate of the module, but
 * ends under one of beside mode.
 */
static void put_in_module(const struct at_record *rec, uint32_t mode)
{
	struct at_run r;

	while (wait_for_run(&r)) {
		if (mode & AT_MODE_BESIDE && !is_of_run(mode, r.run)) {
			if (at_run_still(&r))
				return;
		} else if (write_to_module(&r, rec, mode)) {
			return;
		}
	}
	if (r.gate == ASYNCTRACE_GATE_ATTACH)
		at_missed_add(NULL, 1);
}

bool at_beside_write_with_names(uint32_t gate, const struct at_record *rec)
{
	struct at_run r;

	return at_run_present(&r) && r.gate == gate && write_to_module(&r, rec, TRACE_SITE_ON_);
}

/* --- both destinations -------------------------------------------------------------------- */

/*
 * An in-process trace has one gate value. If the gate has changed, that trace has ended, and the
 * record belongs to no trace.
 */
static void put_in_process(uint32_t gate, const struct at_record *rec)
{
	struct at_destination d;

	if (at_thread.gate != gate && !at_thread_learn(gate))
		return;
	in_process.slot = at_thread.slot;
	in_process.path = at_thread.path;
	in_process.rseq = at_thread.rseq;
	d = at_destination_present();
	d.thread = &in_process;
	at_destination_write(&d, gate, rec);
}

void at_beside_write(uint32_t gate, const struct at_record *rec)
{
	const uint32_t mode = *rec->slot;

	if (mode & AT_MODE_INPROCESS)
		put_in_process(gate, rec);
	if (mode & AT_MODE_MODULE || !(mode & AT_MODE_BESIDE))
		put_in_module(rec, mode);
}

uint64_t at_beside_ticks(void)
{
	const volatile struct asynctrace_control *c;
	uint64_t offset;
	uint32_t clock;
	struct at_run r;

	do {
		if (!wait_for_run(&r))
			return 0;
		c = r.view->control;
		clock = c->clock;
		offset = c->clock_offset;
	} while (!at_run_still(&r));
	if (clock == ASYNCTRACE_CLOCK_COUNTER && at_counter_forbidden())
		return 0;
	return at_clock(offset, clock);
}

uint32_t at_beside_same_run(uint32_t gate, bool *cut)
{
	struct at_run r;

	do {
		*cut = false;
		if (!wait_for_run(&r))
			return r.gate;
		if (at_gate_inprocess(gate))
			return ASYNCTRACE_GATE_OFF;
		*cut = at_module_cut(gate, r.run);
	} while (!at_run_still(&r));
	return *cut || r.gate - gate <= r.gate - r.run ? r.gate : ASYNCTRACE_GATE_OFF;
}
