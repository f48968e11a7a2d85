// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Gives threads access to the module's gate and rings while an in-process trace also runs. During
 * that time, the gate that macros check is the trace's.
 *
 * The registration calls these functions, and taking the back end's lock may register. So these
 * functions must neither register nor take that lock: see at_module in registration.h.
 */
#include <errno.h>
#include <sys/mman.h>

#include "module_view.h"
#include "registration.h"
#include "sys.h"

/**
 * struct beside - state of beside mode
 * @on: beside mode is on; see beside.h
 * @closed: the gate of @view is a private page
 * @epoch: changes when threads must learn their slots of the module again
 * @view: the module's rings; NULL: this process has not been in beside mode
 *
 * Only the holder of the back end's lock changes this.
 */
static struct beside {
	bool on;
	bool closed;
	uint32_t epoch;
	struct at_view *view;
} beside;

bool at_beside_on(void)
{
	return __atomic_load_n(&beside.on, __ATOMIC_ACQUIRE);
}

/* Maps a view whose gate is a private page at ATTACH. */
static struct at_view *make_view(const struct at_module *module)
{
	const size_t page = at_page_size();
	struct at_view *v = at_mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (v == MAP_FAILED)
		return NULL;
	v->control = (void *)((char *)v + page);
	v->control->gate = ASYNCTRACE_GATE_ATTACH;
	v->area = module->control;
	v->rw = module->rw;
	return v;
}

static void publish(struct at_view *v, bool closed)
{
	beside.closed = closed;
	__atomic_store_n(&beside.epoch, beside.epoch + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&beside.view, v, __ATOMIC_RELEASE);
}

static int open_view(const struct at_module *module)
{
	struct at_view *v = make_view(module);
	int err;

	if (!v)
		return -ENOMEM;
	if (at_mmap(v->control, at_page_size(), PROT_READ, MAP_SHARED | MAP_FIXED, module->fd,
		    0) == MAP_FAILED) {
		err = -errno;
		at_sys_munmap(v, 2 * at_page_size());
		return err;
	}
	publish(v, false);
	return 0;
}

/* Publishes a view whose gate is at ATTACH, so that threads wait for the next registration. */
static int hold_view(const struct at_module *module)
{
	struct at_view *v = make_view(module);

	if (!v)
		return -ENOMEM;
	publish(v, true);
	return 0;
}

int at_beside_begin(const struct at_module *module, bool open)
{
	int err = 0;

	if (!open)
		err = hold_view(module);
	else if (!beside.view || beside.closed)
		err = open_view(module);
	if (!err)
		__atomic_store_n(&beside.on, true, __ATOMIC_RELEASE);
	return err;
}

void at_beside_end(void)
{
	__atomic_store_n(&beside.on, false, __ATOMIC_RELEASE);
}

static void close_view(uint32_t gate)
{
	if (!beside.view)
		return;
	if (!beside.closed &&
	    !at_page_replace(beside.view->control, gate) &&
	    !at_void_map(beside.view->control, at_page_size()))
		return;
	beside.closed = true;
	__atomic_store_n(&beside.view->control->gate, gate, __ATOMIC_RELEASE);
}

void at_beside_hold(void)
{
	if (!beside.closed)
		close_view(ASYNCTRACE_GATE_ATTACH);
}

int at_beside_registered(const struct at_module *module)
{
	return beside.view ? open_view(module) : 0;
}

void at_beside_refuse(void)
{
	close_view(ASYNCTRACE_GATE_OFF);
}

void at_beside_forked(void)
{
	close_view(ASYNCTRACE_GATE_OFF);
	at_beside_end();
	publish(NULL, false);
}

static uint32_t gate_of(const struct at_view *v)
{
	return v ? __atomic_load_n(&v->control->gate, __ATOMIC_ACQUIRE) : ASYNCTRACE_GATE_OFF;
}

static const struct at_view *present_view(void)
{
	return __atomic_load_n(&beside.view, __ATOMIC_ACQUIRE);
}

uint32_t at_beside_gate(void)
{
	return gate_of(present_view());
}

bool at_run_present(struct at_run *r)
{
	do {
		r->view = present_view();
		r->gate = gate_of(r->view);
		if (r->gate == ASYNCTRACE_GATE_OFF || r->gate == ASYNCTRACE_GATE_ATTACH)
			return false;
		r->run = *(const volatile uint32_t *)&r->view->control->run;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (gate_of(r->view) != r->gate);
	return true;
}

bool at_run_still(const struct at_run *r)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return gate_of(r->view) == r->gate;
}

uint32_t at_view_epoch(void)
{
	return __atomic_load_n(&beside.epoch, __ATOMIC_ACQUIRE);
}

bool at_run_wants(const struct at_run *r, const char *category)
{
	return at_category_wanted_by(r->view->control, r->view->area, category);
}

struct at_destination at_run_rings(const struct at_run *r, struct at_thread *thread)
{
	return (struct at_destination){
		.control = r->view->control, .area = r->view->area, .rw = r->view->rw,
		.gate = &r->view->control->gate, .thread = thread,
		.fallback = &at_fallback_module,
	};
}

bool at_beside_wanted(const char *category)
{
	struct at_run r;

	return at_run_present(&r) && at_run_wants(&r, category);
}

bool at_beside_drop(uint32_t gate, uint32_t n)
{
	struct at_destination d;
	struct at_run r;

	if (!at_run_present(&r) || r.gate != gate)
		return false;
	d = at_run_rings(&r, NULL);
	return at_fallback_count(&d, gate, n);
}
