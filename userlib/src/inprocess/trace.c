// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A program that traces itself: start, stop and fork
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <asynctrace/compose.h>

#include "writer/internal.h"
#include "inproc.h"

static struct {
	pthread_mutex_t lock;
	bool running;
	bool fork_handled;
	bool from_environment;	/* started by ASYNCTRACE_OUT */
	struct at_output out;
	struct at_area area;
	struct at_drain drain;
	struct at_compose *composer;
	uint32_t meetings;	/* at_fallback_meetings() at the start */
} trace = { .lock = PTHREAD_MUTEX_INITIALIZER, .out.fd = -1 };

/*
 * Start and stop take the lock here only. What they call under it may be a cancellation
 * point or raise SIGPIPE: a thread that ended there would leave the lock held.
 */
static void lock(struct at_quiet *quiet)
{
	at_quiet_begin(quiet);
	pthread_mutex_lock(&trace.lock);
}

static void unlock(struct at_quiet *quiet)
{
	pthread_mutex_unlock(&trace.lock);
	at_quiet_end(quiet);
}

static int to_composer(void *arg, const struct asynctrace_chunk *chunk, const void *payload)
{
	return chunk ? at_compose_chunk(arg, chunk, payload) : at_compose_flush(arg);
}

/* write(2) may last as long as it likes, for instance to a pipe: fork() does not wait for it. */
static int before_write(void *arg)
{
	const int err = at_output_check(&trace.out);

	if (!err)
		at_drain_leave(arg);
	return err;
}

static void after_write(void *arg)
{
	at_drain_enter(arg);
}

static void before_fork(void)
{
	pthread_mutex_lock(&trace.lock);
	if (trace.running)
		at_drain_pause(&trace.drain);
}

static void after_fork(void)
{
	if (trace.running)
		at_drain_resume(&trace.drain);
	pthread_mutex_unlock(&trace.lock);
}

/*
 * The child shares its parent's memory, but the thread runs in the parent only. The child
 * closes its copy of the descriptor, because a reader of a pipe waits for the last copy.
 * What the parent has allocated is lost to the child.
 */
static void in_child(void)
{
	pthread_mutex_init(&trace.lock, NULL);
	if (!trace.running)
		return;
	trace.running = false;
	if (trace.out.own)
		at_output_close(&trace.out);
	trace.out.fd = -1;
	at_backend_forked();
	at_gate_reset(ASYNCTRACE_GATE_OFF);
	at_area_detach();
	at_slots_forked();
	at_backend_set(ASYNCTRACE_BACKEND_NONE, NULL, NULL);
	at_backend_why(ASYNCTRACE_REASON_FORKED, 0);
}

/* Where a trace goes: to @fd, or if @name is not NULL to a file. */
struct target {
	int fd;
	const char *name;
	bool has_pid;
};

static int open_output(const struct target *to)
{
	return to->name ? at_output_open(&trace.out, to->name, to->has_pid) :
			  at_output_adopt(&trace.out, to->fd);
}

static int start(const struct target *to, const struct at_trace_options *o,
		 enum at_start_step *step)
{
	struct at_compose_options co = { .size = sizeof(co) };
	enum at_reason why = ASYNCTRACE_REASON_OK;
	struct at_shape shape;
	const char *wrong;
	size_t n;
	int err;

	*step = AT_START_OPTIONS;
	err = at_shape_init(&shape, o);
	if (err)
		return err;
	if (at_categories_check(o->categories, &wrong, &n))
		return -EINVAL;
	*step = AT_START_MEMORY;
	err = at_slots_init();
	if (err)
		return err;
	at_rseq_init();
	if (!at_membarrier_init()) {
		/* Without it no stop could be sure that the last writer is out. */
		shape.nr_rings = 0;
		why = ASYNCTRACE_REASON_NO_MEMBARRIER;
	}
	err = at_area_create(&trace.area, &shape, o->categories);
	if (err)
		return err;
	*step = AT_START_OUTPUT;
	err = open_output(to);
	if (err)
		goto fail_area;
	*step = AT_START_MEMORY;
	co.fd = trace.out.fd;
	trace.composer = at_compose_new(&co);
	if (!trace.composer) {
		err = -errno;
		goto fail_output;
	}
	at_compose_around_writes(trace.composer, before_write, after_write, &trace.drain);
	err = at_drain_init(&trace.drain, &trace.area, o->name ?: at_default_name(), to_composer,
			    trace.composer);
	if (err)
		goto fail_drain;
	if (!trace.fork_handled) {
		err = -pthread_atfork(before_fork, after_fork, in_child);
		if (err)
			goto fail_drain;
		trace.fork_handled = true;
	}
	/* From here on the file has content: no other process takes it for an empty one. */
	if (trace.out.own && trace.out.regular)
		at_compose_flush(trace.composer);
	*step = AT_START_THREAD;
	err = at_drain_start(&trace.drain);
	if (err)
		goto fail_drain;
	*step = AT_START_MEMORY;
	at_backend_lock();
	err = at_area_attach(&trace.area);
	if (err)
		at_module_resume();
	else if (why != ASYNCTRACE_REASON_OK)
		at_backend_why(why, 0);
	at_backend_unlock();
	if (err) {
		at_drain_stop(&trace.drain);
		goto fail_drain;
	}
	if (trace.area.fd >= 0)
		close(trace.area.fd);
	trace.area.fd = -1;
	trace.meetings = at_fallback_meetings();
	at_area_gate(&trace.area, at_new_generation());
	return 0;

fail_drain:
	at_drain_free(&trace.drain);
	at_compose_free(trace.composer);
fail_output:
	at_output_discard(&trace.out);
fail_area:
	at_area_destroy(&trace.area);
	return err;
}

AT_PUBLIC int at_trace_start(int fd, const struct at_trace_options *options)
{
	struct at_trace_options o = { .size = sizeof(o) };
	const struct target to = { .fd = fd };
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
	lock(&quiet);
	if (!trace.running) {
		err = start(&to, &o, &step);
		trace.running = !err;
		trace.from_environment = false;
	}
	unlock(&quiet);
	return err;
}

int at_trace_start_file(const char *name, bool has_pid, const struct at_trace_options *options,
			const struct at_output **out, enum at_start_step *step)
{
	const struct target to = { .fd = -1, .name = name, .has_pid = has_pid };
	struct at_quiet quiet;
	int err = -EBUSY;

	*out = &trace.out;
	*step = AT_START_OPTIONS;
	lock(&quiet);
	if (!trace.running) {
		err = start(&to, options, step);
		trace.running = trace.from_environment = !err;
	}
	unlock(&quiet);
	return err;
}

/* Records that were taken out of the rings and are not in the file. */
static uint64_t count_missing(const struct at_trace_result *res)
{
	const struct at_compose_stats *stats = at_compose_stats(trace.composer);

	return stats ? res->delivered - stats->total.delivered - stats->total.malformed : 0;
}

static void stop(struct at_trace_result *res, struct at_trace_losses *losses)
{
	int err;

	at_area_gate(&trace.area, 0);
	if (!at_area_quiesce())
		at_say("a thread does not leave the fallback ring: counts may be too low");
	at_drain_stop(&trace.drain);
	at_drain_round(&trace.drain, true);
	at_drain_result(&trace.drain, res);
	err = at_compose_finish(trace.composer);
	if (!res->error)
		res->error = err;
	losses->missing = count_missing(res);
	losses->met = at_fallback_meetings() - trace.meetings;
	at_backend_lock();
	at_module_resume();
	at_area_detach();
	at_backend_unlock();
	at_drain_free(&trace.drain);
	at_compose_free(trace.composer);
	at_area_destroy(&trace.area);
	err = at_output_close(&trace.out);
	if (!res->error)
		res->error = err;
	trace.running = false;
}

AT_PUBLIC int at_trace_stop(struct at_trace_result *result)
{
	struct at_trace_result res = { .size = sizeof(res), .error = -ESRCH };
	struct at_quiet quiet;
	struct at_trace_losses losses;
	bool running;

	if (result && result->size < sizeof(result->size))
		return -EINVAL;
	lock(&quiet);
	running = trace.running;
	if (running)
		stop(&res, &losses);
	unlock(&quiet);
	if (running && result)
		memcpy((char *)result + sizeof(res.size), (char *)&res + sizeof(res.size),
		       (result->size < sizeof(res) ? result->size : sizeof(res)) -
		       sizeof(res.size));
	return res.error;
}

int at_trace_stop_file(struct at_trace_result *res, const struct at_output **out,
		       struct at_trace_losses *losses)
{
	struct at_quiet quiet;

	*out = &trace.out;
	res->error = -ESRCH;
	lock(&quiet);
	/* A trace that the program started itself, it stops itself. */
	if (trace.running && trace.from_environment)
		stop(res, losses);
	unlock(&quiet);
	return res->error;
}
