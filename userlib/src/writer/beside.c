// SPDX-License-Identifier: LGPL-2.1-or-later
/* In-process traces beside a session of the module: see beside.h */
#include <errno.h>

#include "beside.h"
#include "operation.h"
#include "registration.h"
#include "rseq.h"

/**
 * struct beside - state of beside mode
 * @on: beside mode
 * @epoch: changes when threads must learn their slots of the module again
 * @run: the module's run that was last seen in beside mode; the run of gates of an in-process trace
 *	that has ended
 */
static struct beside {
	bool on;
	uint32_t epoch;
	uint32_t run;
} beside;

/* The calling thread's bindings to rings of the module and of the in-process trace. */
static __thread struct at_thread in_module, in_process
	__attribute__((tls_model("initial-exec"))) = { .cpu = AT_NO_CPU };

bool at_beside_on(void)
{
	return __atomic_load_n(&beside.on, __ATOMIC_ACQUIRE);
}

bool at_beside_own(uint32_t gate)
{
	return gate >= AT_GENERATION_FIRST;
}

void at_beside_renew(void)
{
	__atomic_store_n(&beside.epoch, beside.epoch + 1, __ATOMIC_RELEASE);
}

void at_beside_begin(void)
{
	at_beside_renew();
	__atomic_store_n(&beside.on, true, __ATOMIC_RELEASE);
}

void at_beside_end(void)
{
	__atomic_store_n(&beside.on, false, __ATOMIC_RELEASE);
}

static const volatile struct asynctrace_control *module_control(void)
{
	return (const volatile void *)__atomic_load_n(&at_module.control, __ATOMIC_ACQUIRE);
}

static uint32_t module_gate(void)
{
	const volatile struct asynctrace_control *c = module_control();

	return c ? __atomic_load_n(&c->gate, __ATOMIC_ACQUIRE) : ASYNCTRACE_GATE_OFF;
}

static bool is_open(uint32_t gate)
{
	return gate != ASYNCTRACE_GATE_OFF && gate != ASYNCTRACE_GATE_ATTACH;
}

/* Reads the run of the open gate *@gate, which may change meanwhile. Returns false if it closes. */
static bool module_run(uint32_t *gate, uint32_t *run)
{
	do {
		*gate = module_gate();
		if (!is_open(*gate))
			return false;
		*run = module_control()->run;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (module_gate() != *gate);
	return true;
}

static uint32_t mode_of_run(uint32_t run)
{
	return run << AT_MODE_RUN_SHIFT;
}

/* Returns the bits of a site that the module records, or 0. */
static uint32_t learn_module(const char *category)
{
	uint32_t gate, run;
	bool on;

	do {
		if (!module_run(&gate, &run))
			return 0;
		__atomic_store_n(&beside.run, run, __ATOMIC_RELAXED);
		on = at_category_wanted_by(module_control(), at_module.control, category);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (module_gate() != gate);
	return on ? AT_MODE_MODULE | mode_of_run(run) : 0;
}

bool at_beside_learn(const char *category, uint32_t gate, int *mode)
{
	uint32_t to = learn_module(category);

	if (at_beside_own(gate) && at_category_wanted(category))
		to |= AT_MODE_INPROCESS;
	*mode = to ? TRACE_SITE_INLINE_ | to : TRACE_SITE_OFF_;
	return at_gate_still(gate);
}

/* Gives the calling thread its slot and cell of the module. */
static void learn_slot(uint32_t clock)
{
	const uint32_t epoch = __atomic_load_n(&beside.epoch, __ATOMIC_ACQUIRE);
	const int saved = errno;
	uint64_t *cell = NULL, signals;
	int slot;

	if (in_module.epoch != epoch) {
		slot = at_module_slot(&cell);
		/* A handler must see all of these fields or none. */
		at_signals_block(&signals);
		if (in_module.epoch != epoch) {
			in_module.slot = slot > 0 ? slot : 0;
			in_module.epoch = epoch;
			if (slot > 0)
				at_cell_set(cell);
		}
		at_signals_restore(&signals);
		errno = saved;
	}
	in_module.rseq = at_hot.rseq ? at_rseq_area() : NULL;
	in_module.path = !in_module.slot || at_thread.path == ASYNCTRACE_PATH_NONE ?
			 ASYNCTRACE_PATH_NONE :
			 clock == ASYNCTRACE_CLOCK_COUNTER && at_hot.rseq && at_rseq_cpu() >= 0 ?
			 ASYNCTRACE_PATH_RSEQ : ASYNCTRACE_PATH_FALLBACK;
}

/* The module's rings. Call it after the gate was read: see module_run(). */
static struct at_destination module_destination(void)
{
	const volatile struct asynctrace_control *c = module_control();

	return (struct at_destination){
		.control = c, .area = (const char *)c,
		.rw = __atomic_load_n(&at_module.rw, __ATOMIC_RELAXED),
		.gate = (const uint32_t *)&c->gate, .thread = &in_module,
		.fallback = &at_fallback_module,
	};
}

/* Returns false if the gate has changed. */
static bool write_to_module(uint32_t gate, const struct at_record *rec)
{
	const struct at_destination d = module_destination();

	learn_slot(d.control->clock);
	return at_destination_write(&d, gate, rec);
}

/*
 * The begin of a complete duration is a time of the in-process trace's clock. If the module's run
 * has another clock, the duration counts as dropped. Returns false if the gate has changed.
 */
static bool convert_to_module(uint32_t gate, const struct at_record *rec)
{
	const struct at_destination d = module_destination();

	return rec->stamp > 1 && d.control->clock != at_control()->clock ?
	       at_destination_drop(&d, gate) : write_to_module(gate, rec);
}

/* Writes a record into the module's rings, unless it began in another run, given by its mode. */
static void put_in_module(const struct at_record *rec)
{
	uint32_t gate, run;

	do {
		if (!module_run(&gate, &run))
			return;
		if (rec->mode && (rec->mode ^ mode_of_run(run)) >> AT_MODE_RUN_SHIFT)
			return;
	} while (!convert_to_module(gate, rec));
}

/* Writes a record with references to the module's names. */
static void put_with_names(uint32_t gate, const struct at_record *rec)
{
	do {
		gate = at_beside_same_run(gate);
	} while (is_open(gate) && !write_to_module(gate, rec));
}

/* The record is of the in-process trace's run, so it is over if the gate has changed. */
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
	if (!at_beside_own(gate)) {
		put_with_names(gate, rec);
		return;
	}
	if (!rec->mode || rec->mode & AT_MODE_INPROCESS)
		put_in_process(gate, rec);
	if (!rec->mode || rec->mode & AT_MODE_MODULE)
		put_in_module(rec);
}

bool at_beside_wanted(const char *category)
{
	return learn_module(category);
}

void at_beside_drop(uint32_t n)
{
	uint32_t gate, run;
	struct at_destination d;

	do {
		if (!n || !module_run(&gate, &run))
			return;
		d = module_destination();
	} while (!at_fallback_count(&d, gate, n));
}

uint32_t at_beside_same_run(uint32_t gate)
{
	uint32_t now, run;

	if (!module_run(&now, &run))
		return ASYNCTRACE_GATE_OFF;
	if (at_beside_own(gate))
		return run == __atomic_load_n(&beside.run, __ATOMIC_RELAXED) ? now :
		       ASYNCTRACE_GATE_OFF;
	return now - gate <= now - run ? now : ASYNCTRACE_GATE_OFF;
}
