// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The rings of the process, which a trace and the flight recorder share, and the fork handlers
 *
 * Threads write each record once. The trace and the flight recorder read the same rings, each
 * with its own readers. The first of the two allocates the rings, the last one frees them. All
 * functions except at_rings_area() require the lock of at_inproc_lock().
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "writer/beside.h"
#include "writer/child_trace.h"
#include "writer/internal.h"
#include "writer/registration.h"
#include "flight.h"
#include "inproc.h"
#include "session.h"

#define AT_RINGS_USERS	2	/* trace.c and flight.c */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t idle;	/* @busy has become false */
	bool busy;		/* a thread is in at_inproc_allow_fork() */
	bool fork_handled;
	const struct at_fork_handlers *handlers[AT_RINGS_USERS];
	unsigned int users;
	bool shown;		/* writers see the area */
	bool beside;		/* a session of the module records, too */
	bool all;		/* every category is recorded */
	enum at_reason why;	/* why only the fallback ring is used, or OK */
	struct at_area area;
} rings = { .lock = PTHREAD_MUTEX_INITIALIZER, .idle = PTHREAD_COND_INITIALIZER };

/*
 * The holder of the lock may call cancellation points and functions that raise SIGPIPE. If the
 * thread ended there, the lock would stay held. So begin a quiet section first.
 */
void at_inproc_lock(struct at_quiet *quiet)
{
	at_quiet_begin(quiet);
	pthread_mutex_lock(&rings.lock);
	while (rings.busy)
		pthread_cond_wait(&rings.idle, &rings.lock);
}

void at_inproc_unlock(struct at_quiet *quiet)
{
	pthread_mutex_unlock(&rings.lock);
	at_quiet_end(quiet);
}

void at_inproc_allow_fork(void)
{
	rings.busy = true;
	pthread_mutex_unlock(&rings.lock);
}

void at_inproc_forbid_fork(void)
{
	pthread_mutex_lock(&rings.lock);
	rings.busy = false;
	pthread_cond_broadcast(&rings.idle);
}

struct at_area *at_rings_area(void)
{
	return &rings.area;
}

/* --- fork ----------------------------------------------------------------- */

static void before_fork(void)
{
	pthread_mutex_lock(&rings.lock);
	for (int i = 0; i < AT_RINGS_USERS; i++)
		if (rings.handlers[i] && rings.handlers[i]->before)
			rings.handlers[i]->before();
}

static void after_fork(void)
{
	for (int i = 0; i < AT_RINGS_USERS; i++)
		if (rings.handlers[i] && rings.handlers[i]->after)
			rings.handlers[i]->after();
	pthread_mutex_unlock(&rings.lock);
}

/*
 * The child shares the mapped rings with its parent, but it has no threads of the library. Memory
 * that the parent has allocated is leaked in the child.
 */
static void in_child(void)
{
	pthread_mutex_init(&rings.lock, NULL);
	pthread_cond_init(&rings.idle, NULL);
	rings.busy = false;
	for (int i = 0; i < AT_RINGS_USERS; i++)
		if (rings.handlers[i])
			rings.handlers[i]->child();
	at_child_trace_forked();
	if (!rings.users)
		return;
	rings.users = 0;
	rings.shown = false;
	at_backend_forked();
	at_beside_forked();
	/*
	 * With ATTACH, the child registers at its first event, so that the module's session records
	 * it, or starts a trace of its own.
	 */
	at_gate_reset(rings.beside || at_child_trace_pending() ? ASYNCTRACE_GATE_ATTACH :
		      ASYNCTRACE_GATE_OFF);
	rings.beside = false;
	at_area_detach();
	at_slots_forked();
	at_backend_set(ASYNCTRACE_BACKEND_NONE, NULL, NULL);
	at_backend_why(at_child_trace_pending() ? ASYNCTRACE_REASON_UNREGISTERED :
		       ASYNCTRACE_REASON_FORKED, 0);
}

static int register_fork(void)
{
	int err = 0;

	if (!rings.fork_handled)
		err = -pthread_atfork(before_fork, after_fork, in_child);
	rings.fork_handled = !err;
	return err;
}

int at_inproc_fork_first(void)
{
	struct at_quiet quiet;
	int err;

	at_inproc_lock(&quiet);
	err = register_fork();
	at_inproc_unlock(&quiet);
	return err;
}

int at_inproc_handle_fork(const struct at_fork_handlers *handlers)
{
	int err, i = 0;

	err = register_fork();
	if (err)
		return err;
	while (rings.handlers[i] && rings.handlers[i] != handlers)
		i++;
	rings.handlers[i] = handlers;
	return 0;
}

/* --- users ---------------------------------------------------------------- */

static int make_rings(struct at_shape *shape, const char *categories)
{
	int err;

	err = at_slots_init();
	if (err)
		return err;
	at_rseq_init();
	rings.why = ASYNCTRACE_REASON_OK;
	if (!at_membarrier_init()) {
		/*
		 * Without membarrier(2), a stop cannot wait until the last writer has left a ring.
		 */
		shape->nr_rings = 0;
		rings.why = ASYNCTRACE_REASON_NO_MEMBARRIER;
	}
	return at_area_create(&rings.area, shape, categories);
}

int at_rings_get(struct at_shape *shape, const char *categories)
{
	const bool all = !categories || !*categories;
	int err;

	if (rings.users) {
		/*
		 * Each record is written once, for both users. If one user did not record its
		 * category, the other user would miss the record.
		 */
		if (!all || !rings.all)
			return -EBUSY;
		rings.users++;
		return 0;
	}
	err = make_rings(shape, categories);
	if (err)
		return err;
	rings.all = all;
	rings.users = 1;
	return 0;
}

bool at_rings_beside(void)
{
	return rings.beside;
}

bool at_rings_shared(void)
{
	return rings.shown;
}

/*
 * Shows the rings to writers, with the back end's lock held. If a session of the module records the
 * process, the gate is ATTACH during the change. Then writers wait for the lock, and the session
 * loses none of their records. While a forked child starts its trace, the gate remains at ATTACH
 * for the same reason.
 */
static int show_locked(void)
{
	uint32_t generation = at_new_generation();
	uint32_t meanwhile = at_child_trace_pending() ? ASYNCTRACE_GATE_ATTACH :
							ASYNCTRACE_GATE_OFF;
	int err;

	rings.beside = at_session_records();
	if (rings.beside) {
		generation += AT_GENERATION_BESIDE - AT_GENERATION_FIRST;
		meanwhile = ASYNCTRACE_GATE_ATTACH;
		err = at_beside_begin(&at_module, at_module_fd_is_ours());
		if (err)
			return err;
	}
	err = at_area_attach(&rings.area, meanwhile);
	if (err) {
		at_beside_end();
		at_module_resume();
		return err;
	}
	if (rings.why != ASYNCTRACE_REASON_OK)
		at_backend_why(rings.why, 0);
	at_area_gate(&rings.area, generation);
	return 0;
}

int at_rings_show(void)
{
	int err;

	if (rings.shown)
		return 0;
	at_backend_lock();
	err = show_locked();
	at_backend_unlock();
	if (err)
		return err;
	if (rings.area.fd >= 0)
		close(rings.area.fd);
	rings.area.fd = -1;
	rings.shown = true;
	return 0;
}

/* Ends beside mode. Shows the module's gate at once, because its session still records. */
static bool close_beside(void)
{
	bool left;

	at_backend_lock();
	at_area_hold(&rings.area);
	left = at_writers_quiesce();
	at_beside_end();
	at_module_resume();
	at_backend_unlock();
	return left;
}

bool at_rings_close(void)
{
	bool left;

	if (rings.users > 1)
		return false;
	if (rings.beside) {
		left = close_beside();
	} else {
		at_area_gate(&rings.area, ASYNCTRACE_GATE_OFF);
		left = at_writers_quiesce();
	}
	if (!left)
		at_warn("a thread does not leave the fallback ring: counts may be too low");
	return true;
}

void at_rings_put(void)
{
	if (--rings.users)
		return;
	if (rings.shown) {
		at_backend_lock();
		/* In beside mode, close_beside() has already shown the module's gate. */
		if (!rings.beside)
			at_module_resume();
		at_area_detach();
		at_backend_unlock();
	}
	rings.shown = rings.beside = false;
	at_area_destroy(&rings.area);
}
