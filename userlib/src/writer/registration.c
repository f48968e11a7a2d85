// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The state of the registration with the module: its mappings and descriptor, and how it ends
 *
 * The back end's lock depends on this file, because the first holder in a forked child ends the
 * registration that the child has inherited. So nothing here takes the lock.
 */
#include <sys/mman.h>
#include <sys/stat.h>

#include "internal.h"
#include "module_view.h"
#include "registration.h"
#include "operation.h"
#include "sys.h"

struct at_module at_module = { .fd = -1 };

/**
 * struct cut - a run that this process left by a new registration, and entered again
 * @run: the gate value with which the run began; 0: no such run
 * @gate: the last gate value before the new registration
 * @next: the run in which the new registration is
 *
 * Changes only while the module's gate is at ATTACH or OFF. The process may register again several
 * times in one run.
 */
static struct cut {
	uint32_t run;
	uint32_t gate;
	uint32_t next;
} cut;

bool at_module_fd_is_ours(void)
{
	struct stat st;

	return at_module.fd >= 0 && !at_sys_fstat(at_module.fd, &st) && S_ISCHR(st.st_mode) &&
	       st.st_rdev == at_module.rdev;
}

bool at_module_is_ours(void)
{
	return at_module.registered && at_module_fd_is_ours();
}

/*
 * Stores in "cut" the run that the process leaves, and waits until no thread is about to publish a
 * record of that run. Must be called before the rings are unmapped.
 */
static void leave_run(void)
{
	const volatile struct asynctrace_control *c = (const void *)at_module.control;
	const struct cut before = cut;
	uint32_t run, gate;

	cut = (struct cut){ 0 };
	if (!at_module.registered ||
	    (at_backend() != ASYNCTRACE_BACKEND_MODULE && !at_beside_on()))
		return;
	do {
		gate = __atomic_load_n(&c->gate, __ATOMIC_ACQUIRE);
		run = c->run;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (__atomic_load_n(&c->gate, __ATOMIC_RELAXED) != gate);
	if (gate == ASYNCTRACE_GATE_OFF || gate == ASYNCTRACE_GATE_ATTACH)
		return;
	cut.run = before.run && before.next == run ? before.run : run;
	cut.gate = gate;
	at_membarrier_init();
	at_writers_quiesce();
}

void at_module_unmap(void)
{
	if (at_module.rw)
		at_void_map(at_module.rw, at_module.rw_size);
	if (at_module.control)
		at_void_map(at_module.control, at_module.control_size);
	if (at_module.cells)
		at_void_map(at_module.cells, at_module.nr_cells * sizeof(*at_module.cells));
	__atomic_store_n(&at_module.cells, NULL, __ATOMIC_RELEASE);
}

void at_module_forget(void)
{
	at_beside_hold();
	leave_run();
	if (at_module_fd_is_ours())
		at_sys_close(at_module.fd);
	at_module.fd = -1;
	at_module_unmap();
	at_module.registered = false;
	if (at_backend() == ASYNCTRACE_BACKEND_MODULE)
		at_backend_set(ASYNCTRACE_BACKEND_NONE, NULL, NULL);
}

void at_module_enter_run(void)
{
	const volatile struct asynctrace_control *c = (const void *)at_module.control;

	if (cut.run && __atomic_load_n(&c->gate, __ATOMIC_ACQUIRE) > ASYNCTRACE_GATE_ATTACH)
		cut.next = c->run;
	else
		cut.run = 0;
}

bool at_module_cut(uint32_t gate, uint32_t run)
{
	return cut.run && cut.next == run && gate - cut.run <= cut.gate - cut.run;
}

void at_module_forget_run(void)
{
	cut = (struct cut){ 0 };
}

void at_module_forked(void)
{
	at_missed_forget();
	at_beside_forked();
	if (at_module.registered)
		at_module_forget();
	/* The thread that forked has a cell in the parent's registration. */
	at_cell_set(NULL);
}
