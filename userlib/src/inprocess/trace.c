// SPDX-License-Identifier: LGPL-2.1-or-later
/* In-process traces: start and stop */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <asynctrace/compose.h>

#include "compose/internal.h"
#include "writer/child_trace.h"
#include "writer/internal.h"
#include "flight.h"
#include "inproc.h"
#include "session.h"

#define AT_SPARE_BYTES	(4ul << 20)

static struct {
	bool running;
	bool from_environment;	/* started by ASYNCTRACE_OUT */
	bool closed;		/* the trace is being stopped: it takes no more records */
	bool stopping;		/* the thread that stops the trace writes the rest of the file */
	uint32_t mode;
	struct at_output out;
	struct at_drain drain;
	struct at_compose *composer;
	uint32_t collisions;	/* at_fallback_collisions() at the start */
} trace = { .out.fd = -1 };

static int to_composer(void *arg, const struct asynctrace_chunk *chunk, const void *payload)
{
	return chunk ? at_compose_chunk(arg, chunk, payload) : at_compose_flush(arg);
}

/*
 * Lets at_drain_pause() return during a write(2): fork() must not wait for write(2), which may last
 * long, for instance with a pipe.
 */
static int before_write(void *arg)
{
	const int fd = at_output_fd(&trace.out);

	if (fd < 0)
		return fd;
	at_drain_write(arg);
	if (trace.stopping)
		at_inproc_allow_fork();
	return fd;
}

static void after_write(void *arg)
{
	if (trace.stopping)
		at_inproc_forbid_fork();
	at_output_wrote(&trace.out);
	at_drain_enter(arg);
}

static void before_fork(void)
{
	if (trace.running)
		at_drain_pause(&trace.drain);
}

static void after_fork(void)
{
	if (trace.running)
		at_drain_resume(&trace.drain);
}

/*
 * The child closes its copy of the descriptor, because the reader of a pipe waits until all
 * copies are closed. The child may start a trace of its own at its first macro.
 */
static void in_child(void)
{
	if (!trace.running)
		return;
	at_output_close(&trace.out);
	if (trace.from_environment && !trace.closed)
		at_child_trace_want(at_rings_beside());
	trace.running = trace.closed = trace.stopping = false;
}

static const struct at_fork_handlers fork_handlers = {
	.before = before_fork, .after = after_fork, .child = in_child,
};

int at_trace_share(void)
{
	if (!trace.running)
		return 0;
	switch (trace.mode) {
	case ASYNCTRACE_MODE_STREAMING:
		return at_drain_share(&trace.drain);
	case ASYNCTRACE_MODE_CIRCULAR:
		/* In circular mode, the thread does not read the rings before the end. */
		return at_drain_live(&trace.drain);
	default:
		return -EBUSY;
	}
}

static int open_output(const struct at_target *to)
{
	return to->name ? at_output_open(&trace.out, to->name, to->has_pid) :
			  at_output_adopt(&trace.out, to->fd);
}

/*
 * Ignores records before the start of this trace, because the flight recorder was already using
 * the rings.
 */
static void ignore_earlier_records(struct at_drain *d)
{
	struct at_mark m;

	for (uint32_t i = 0; i <= d->area->shape.nr_rings; i++) {
		at_reader_mark(&d->readers[i], &m);
		at_reader_begin(&d->readers[i], &m);
	}
}

static int start_thread(const struct at_target *to)
{
	if (!to->caller_drains)
		return at_drain_start(&trace.drain);
	at_drain_adopt(&trace.drain);
	return 0;
}

static int start_drain(const struct at_target *to, const struct at_trace_options *o,
		       enum at_start_step *step)
{
	struct at_compose_options co = { .size = sizeof(co), .fd = trace.out.fd };
	int err;

	trace.composer = at_compose_new(&co);
	if (!trace.composer)
		return -errno;
	at_compose_around_writes(trace.composer, before_write, after_write, &trace.drain);
	err = at_drain_init(&trace.drain, at_rings_area(), o->name ?: at_default_name(),
			    to_composer, trace.composer);
	if (err)
		goto fail;
	trace.drain.at_end = trace.mode == ASYNCTRACE_MODE_CIRCULAR;
	if (at_rings_shared()) {
		at_compose_join(trace.composer);
		err = at_drain_live(&trace.drain);
		ignore_earlier_records(&trace.drain);
	}
	if (err)
		goto fail;
	/* Write to the file now: another process may use an empty file for its own trace. */
	if (trace.out.callers < 0 && trace.out.regular)
		at_compose_flush(trace.composer);
	*step = AT_START_THREAD;
	err = start_thread(to);
	if (err)
		goto fail;
	*step = AT_START_MEMORY;
	err = at_rings_show();
	if (!err) {
		at_drain_go(&trace.drain);
		return 0;
	}
	if (!to->caller_drains)
		at_drain_stop(&trace.drain);
fail:
	at_drain_free(&trace.drain);
	at_compose_free(trace.composer);
	return err;
}

/*
 * Is there address space for the thread and for what it allocates? If a limit leaves less, fail at
 * the start. Otherwise, the thread would fail later, and lose all records.
 */
static int check_spare_memory(void)
{
	const struct at_area *area = at_rings_area();
	/* at_rings_show() maps the area a second time, for the writers. */
	const size_t second = at_rings_shared() ? 0 : area->control_size + area->rw_size;
	void *spare = mmap(NULL, AT_SPARE_BYTES + second, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (spare == MAP_FAILED)
		return -errno;
	munmap(spare, AT_SPARE_BYTES + second);
	return 0;
}

static int start_trace(const struct at_target *to, const struct at_trace_options *o,
		       enum at_start_step *step)
{
	struct at_shape shape;
	const char *categories = o->categories, *wrong;
	size_t n;
	int err;

	*step = AT_START_OPTIONS;
	err = at_shape_init(&shape, o);
	if (err)
		return err;
	if (at_categories_check(categories, &wrong, &n))
		return -EINVAL;
	/* Only commas: all categories, so that the flight recorder can share the rings. */
	if (!n)
		categories = NULL;
	/* The rings of the flight recorder are circular and full of older records. */
	if (at_rings_shared() && shape.mode == ASYNCTRACE_MODE_ONESHOT)
		return -EBUSY;
	*step = AT_START_MEMORY;
	err = at_inproc_handle_fork(&fork_handlers);
	if (err)
		return err;
	trace.mode = shape.mode;
	err = at_rings_get(&shape, categories);
	if (err)
		return err;
	err = check_spare_memory();
	if (err)
		goto fail_rings;
	*step = AT_START_OUTPUT;
	err = open_output(to);
	if (err)
		goto fail_rings;
	*step = AT_START_MEMORY;
	trace.collisions = at_fallback_collisions();
	err = start_drain(to, o, step);
	if (!err)
		return 0;
	at_output_discard(&trace.out);
fail_rings:
	at_rings_put();
	return err;
}

AT_PUBLIC int at_trace_start(int fd, const struct at_trace_options *options)
{
	struct at_trace_options o = { .size = sizeof(o) };
	const struct at_target to = { .fd = fd };
	enum at_start_step step;
	struct at_quiet quiet;
	int err = -EBUSY;

	if (options) {
		if (options->size < offsetof(struct at_trace_options, ring_size))
			return -EINVAL;
		memcpy(&o, options, options->size < sizeof(o) ? options->size : sizeof(o));
	}
	if (o.name && (!*o.name || strlen(o.name) > ASYNCTRACE_NAME_MAX))
		return -EINVAL;
	if (!at_child_trace_wait())
		return -EBUSY;
	/* A session records the process beside the trace, but no child whose parent it does not. */
	if (!at_child_trace_alone())
		at_module_join();
	at_inproc_lock(&quiet);
	if (!trace.running) {
		err = start_trace(&to, &o, &step);
		trace.running = !err;
		trace.from_environment = false;
		if (!err)
			at_child_trace_forget();
	}
	at_inproc_unlock(&quiet);
	return err;
}

int at_trace_start_file(const struct at_target *to, const struct at_trace_options *options,
			const struct at_output **out, enum at_start_step *step)
{
	struct at_quiet quiet;
	int err = -EBUSY;

	*out = &trace.out;
	*step = AT_START_OPTIONS;
	at_inproc_lock(&quiet);
	if (!trace.running) {
		err = start_trace(to, options, step);
		trace.running = trace.from_environment = !err;
		if (!err)
			at_child_trace_forget();
	}
	at_inproc_unlock(&quiet);
	return err;
}

void at_trace_drain(void)
{
	at_drain_run(&trace.drain);
}

/* The reader has counted all records that it has read as delivered. Finds those in the file. */
static void divide_delivered(struct at_trace_result *res)
{
	struct at_compose_counts total;

	at_compose_totals(trace.composer, &total);
	res->unwritten = res->delivered - total.delivered - total.malformed;
	res->malformed = total.malformed;
	res->delivered = total.delivered;
}

/* Ignores records from now on. The flight recorder continues to use the rings. */
static void ignore_later_records(struct at_drain *d)
{
	struct at_mark m;

	for (uint32_t i = 0; i <= d->area->shape.nr_rings; i++) {
		at_reader_mark(&d->readers[i], &m);
		at_reader_end(&d->readers[i], &m);
	}
}

/* *@collided: of the dropped records, those that found the fallback ring locked */
static void stop(struct at_trace_result *res, uint32_t *collided)
{
	const bool last = at_rings_close();
	int err;

	trace.closed = true;
	/* The thread may be waiting for the reader of a pipe. */
	at_inproc_allow_fork();
	at_drain_stop(&trace.drain);
	at_inproc_forbid_fork();
	trace.stopping = true;
	if (!last)
		ignore_later_records(&trace.drain);
	at_drain_round(&trace.drain, true);
	at_drain_result(&trace.drain, res);
	err = at_compose_finish(trace.composer);
	if (!res->error)
		res->error = err;
	divide_delivered(res);
	*collided = at_fallback_collisions() - trace.collisions;
	at_drain_free(&trace.drain);
	at_compose_free(trace.composer);
	at_rings_put();
	err = at_output_close(&trace.out);
	if (!res->error)
		res->error = err;
	trace.running = trace.closed = trace.stopping = false;
}

AT_PUBLIC int at_trace_stop(struct at_trace_result *result)
{
	struct at_trace_result res = { .size = sizeof(res), .error = -ESRCH };
	struct at_quiet quiet;
	uint32_t collided;
	int ended;

	if (result && result->size < sizeof(result->size))
		return -EINVAL;
	/* The trace of a forked child that has not begun yet ends without a record. */
	ended = at_child_trace_end();
	if (ended < 0)
		return ended;
	if (ended) {
		res.error = 0;
	} else {
		at_inproc_lock(&quiet);
		ended = trace.running;
		if (ended)
			stop(&res, &collided);
		at_inproc_unlock(&quiet);
	}
	if (ended && result)
		memcpy((char *)result + sizeof(res.size), (char *)&res + sizeof(res.size),
		       (result->size < sizeof(res) ? result->size : sizeof(res)) -
		       sizeof(res.size));
	return res.error;
}

int at_trace_stop_file(struct at_trace_result *res, const struct at_output **out,
		       uint32_t *collided)
{
	struct at_quiet quiet;

	*out = &trace.out;
	res->error = -ESRCH;
	at_inproc_lock(&quiet);
	/* A trace that the program started is stopped by the program. */
	if (trace.running && trace.from_environment)
		stop(res, collided);
	at_inproc_unlock(&quiet);
	return res->error;
}
