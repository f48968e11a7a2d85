// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The flight recorder: start, write and stop
 *
 * at_flight_write() may run in a signal handler, at any instruction of any thread. So it takes no
 * lock. If it is called several times at once, the first call writes, and the others fail with
 * -EBUSY, or with -EDEADLK if their handler has interrupted the first. at_flight_stop() waits for
 * the call that writes. All memory of at_flight_write() is reserved at the start.
 */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <asynctrace/compose.h>
#include <asynctrace/flight.h>

#include "compose/mem.h"
#include "writer/child_trace.h"
#include "writer/internal.h"
#include "flight.h"
#include "inproc.h"
#include "session.h"
#include "window.h"

#define AT_BYTES_MAX	(1ull << 40)
/*
 * Address space of the arena: AT_ARENA_BYTES for the composer's tables, and AT_ARENA_FACTOR bytes
 * for each byte of the rings. These are for the copies of the records, and for the events that the
 * composer remembers. Pages are allocated when they are touched.
 */
#define AT_ARENA_BYTES	(16ull << 20)
#define AT_ARENA_FACTOR	10

enum state {
	OFF,
	ON,
	STOPPING,	/* waiting for a call that writes */
};

static struct {
	uint32_t state;		/* changes only under the lock */
	uint32_t writer;	/* thread whose call is writing; 0: none */
	bool module;		/* a session of the module records */
	struct at_session session;
	struct at_window window;
	struct atc_arena arena;
} flight = { .session.socket = -1 };

static void free_memory(void)
{
	if (flight.arena.start)
		atc_arena_free(&flight.arena);
	free(flight.window.begin);
	free(flight.window.readers);
	flight.window = (struct at_window){ 0 };
}

static void in_child(void)
{
	const bool on = flight.state != OFF;

	flight.state = OFF;
	flight.writer = 0;
	if (!on)
		return;
	/* Do not call free(3): another thread of the parent may have held the lock of malloc(3). */
	if (flight.arena.start)
		atc_arena_free(&flight.arena);
	flight.window = (struct at_window){ 0 };
	at_session_forked(&flight.session);
}

/*
 * Returns the largest ring size with which the rings of all online CPUs together have at most
 * @max_bytes, but at least ASYNCTRACE_RING_MIN. CPUs that are offline do not count, because their
 * share would remain unused.
 */
static uint64_t ring_size(uint64_t max_bytes)
{
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	const uint64_t share = max_bytes / (cpus > 0 ? cpus : 1);
	uint64_t size = ASYNCTRACE_RING_MIN;

	while (size * 2 <= share && size < ASYNCTRACE_RING_MAX)
		size *= 2;
	return size;
}

static int allocate(struct at_window *w, const struct at_shape *shape)
{
	const size_t rings = (size_t)shape->nr_rings + 1, sub = (size_t)shape->sub_words * 8;
	uint64_t bytes = rings * sub * shape->nsub;

	/* A window has at most @max_bytes, plus the sub-buffers in use. */
	if (bytes > w->max_bytes + rings * sub)
		bytes = w->max_bytes + rings * sub;
	w->begin = calloc(rings, sizeof(*w->begin));
	w->readers = calloc(rings, sizeof(*w->readers));
	if (!w->begin || !w->readers)
		return -ENOMEM;
	return atc_arena_init(&flight.arena, AT_ARENA_BYTES + AT_ARENA_FACTOR * bytes);
}

static int start_rings(uint64_t min_age, uint64_t max_bytes)
{
	struct at_trace_options o = {
		.size = sizeof(o),
		.mode = ASYNCTRACE_MODE_CIRCULAR,
		.ring_size = ring_size(max_bytes),
	};
	struct at_window *w = &flight.window;
	struct at_shape shape;
	int err;

	err = at_shape_init(&shape, &o);
	if (!err)
		err = at_rings_get(&shape, NULL);
	if (err)
		return err;
	*w = (struct at_window){
		.area = at_rings_area(),
		.min_age = min_age,
		.max_bytes = max_bytes,
	};
	memcpy(w->name, at_default_name(), strnlen(at_default_name(), ASYNCTRACE_NAME_MAX));
	err = allocate(w, &w->area->shape);
	if (!err)
		err = at_trace_share();
	if (!err) {
		at_window_begin(w);
		err = at_rings_show();
	}
	if (!err)
		return 0;
	free_memory();
	at_rings_put();
	return err;
}

static int start_session(uint64_t max_bytes)
{
	const uint64_t size = ring_size(max_bytes);
	const long cpus = sysconf(_SC_NPROCESSORS_CONF);
	int err;

	/*
	 * Twice the size, because the session has as many rings for the kernel's records. The arena
	 * has room for the rings of all CPUs, because those that are offline now may come online.
	 */
	err = atc_arena_init(&flight.arena, AT_ARENA_BYTES +
			     2 * AT_ARENA_FACTOR * size * ((cpus > 0 ? cpus : 1) + 1));
	if (err)
		return err;
	err = at_session_begin(&flight.session, ASYNCTRACE_MODE_CIRCULAR, size);
	if (err)
		free_memory();
	return err;
}

static int start_recorder(uint64_t min_age, uint64_t max_bytes)
{
	static const struct at_fork_handlers handlers = { .child = in_child };
	int err = at_inproc_handle_fork(&handlers);

	if (err)
		return err;
	flight.module = at_session_possible() && !at_session_records();
	if (flight.module) {
		err = start_session(max_bytes);
		/*
		 * Another session has this process, perhaps a stopped one. A process can be in only
		 * one session, so use in-process rings instead.
		 */
		if (err != -EBUSY)
			return err;
		flight.module = false;
	}
	return start_rings(min_age, max_bytes);
}

AT_PUBLIC int at_flight_start(uint64_t min_age, uint64_t max_bytes)
{
	struct at_quiet quiet;
	int err = -EBUSY;

	if (max_bytes > AT_BYTES_MAX)
		return -EINVAL;
	/* The thread that starts the trace of a child needs the lock. */
	if (at_child_trace_pending())
		at_attach();
	if (!at_child_trace_wait())
		return -EBUSY;
	at_inproc_lock(&quiet);
	if (flight.state == OFF) {
		err = start_recorder(min_age ?: ASYNCTRACE_FLIGHT_AGE,
				     max_bytes ?: ASYNCTRACE_FLIGHT_BYTES);
		if (!err)
			__atomic_store_n(&flight.state, ON, __ATOMIC_RELEASE);
	}
	at_inproc_unlock(&quiet);
	return err;
}

/*
 * Is the calling thread forbidden to read the counter? Reading would kill the thread, or enter its
 * handler of SIGSEGV again.
 */
static bool counter_forbidden(void)
{
	return !flight.module && flight.window.area->shape.clock == ASYNCTRACE_CLOCK_COUNTER &&
	       at_counter_forbidden();
}

static ssize_t no_descriptor(void *arg, const void *buf, size_t len)
{
	(void)arg;
	(void)buf;
	(void)len;
	return -EBADF;
}

static void write_file(int fd, struct at_flight_result *res)
{
	/* at_compose_new() refuses a negative descriptor, but the records must be counted. */
	struct at_compose_options o = {
		.size = sizeof(o), .fd = fd, .write = fd < 0 ? no_descriptor : NULL,
	};
	struct atc_arena *before = atc_arena_use(&flight.arena);
	struct at_compose *c = at_compose_new(&o);

	res->error = c ? 0 : -errno;
	if (c && flight.module)
		at_session_write(&flight.session, c, res);
	else if (c)
		at_window_write(&flight.window, c, res);
	atc_arena_use(before);
	atc_arena_reset(&flight.arena);
}

/* Writes, unless another call is writing. */
static void write_alone(int fd, struct at_flight_result *res)
{
	const uint32_t self = syscall(SYS_gettid);
	uint32_t writer = 0;

	if (!__atomic_compare_exchange_n(&flight.writer, &writer, self, false, __ATOMIC_SEQ_CST,
					 __ATOMIC_RELAXED)) {
		/* This thread's own call cannot end before this handler returns. */
		res->error = writer == self ? -EDEADLK : -EBUSY;
		return;
	}
	/* Pairs with at_flight_stop(): this load sees STOPPING, or at_flight_stop() sees writer. */
	if (__atomic_load_n(&flight.state, __ATOMIC_SEQ_CST) != ON)
		res->error = -ESRCH;
	else if (counter_forbidden())
		res->error = -EPERM;
	else
		write_file(fd, res);
	__atomic_store_n(&flight.writer, 0, __ATOMIC_RELEASE);
}

AT_PUBLIC int at_flight_write(int fd, struct at_flight_result *result)
{
	struct at_flight_result res = { .size = sizeof(res) };
	const int saved = errno;
	struct at_quiet quiet;

	if (result && result->size < offsetof(struct at_flight_result, bytes))
		return -EINVAL;
	at_quiet_begin(&quiet);
	if (__atomic_load_n(&flight.state, __ATOMIC_ACQUIRE) == ON)
		write_alone(fd, &res);
	else
		res.error = -ESRCH;
	at_quiet_end(&quiet);
	if (result)
		memcpy((char *)result + sizeof(res.size), (char *)&res + sizeof(res.size),
		       (result->size < sizeof(res) ? result->size : sizeof(res)) -
		       sizeof(res.size));
	errno = saved;
	return res.error;
}

static void wait_for_writer(void)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	while (__atomic_load_n(&flight.writer, __ATOMIC_SEQ_CST))
		/* The system call is no cancellation point. */
		syscall(SYS_nanosleep, &ms, NULL);
}

AT_PUBLIC int at_flight_stop(void)
{
	struct at_quiet quiet;
	int err = -ESRCH;

	at_inproc_lock(&quiet);
	if (flight.state == ON) {
		__atomic_store_n(&flight.state, STOPPING, __ATOMIC_SEQ_CST);
		err = 0;
	}
	at_inproc_unlock(&quiet);
	if (err)
		return err;
	/* Not under the lock, because the call that writes may wait for the reader of a pipe. */
	wait_for_writer();
	at_inproc_lock(&quiet);
	if (flight.module)
		at_session_end(&flight.session);
	else
		at_rings_close();
	free_memory();
	if (!flight.module)
		at_rings_put();
	flight.state = OFF;
	at_inproc_unlock(&quiet);
	return 0;
}
