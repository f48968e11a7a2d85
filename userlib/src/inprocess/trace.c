// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A program that traces itself: start, stop, and what the environment asks for
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <asynctrace/compose.h>

#include "../internal.h"
#include "inproc.h"

static struct {
	pthread_mutex_t lock;
	bool running;
	bool fork_handled;
	int own_fd;		/* opened for ASYNCTRACE_OUT */
	struct at_area area;
	struct at_drain drain;
	struct at_compose *composer;
} trace = { .lock = PTHREAD_MUTEX_INITIALIZER, .own_fd = -1 };

static int to_composer(void *arg, const struct asynctrace_chunk *chunk, const void *payload)
{
	return chunk ? at_compose_chunk(arg, chunk, payload) : at_compose_flush(arg);
}

static void before_fork(void)
{
	pthread_mutex_lock(&trace.lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&trace.lock);
}

/*
 * The child has its parent's memory in common and not its thread. It leaves
 * both alone; what the parent had allocated is lost to it.
 */
static void in_child(void)
{
	pthread_mutex_init(&trace.lock, NULL);
	if (!trace.running)
		return;
	trace.running = false;
	trace.own_fd = -1;
	at_backend_forked();
	at_gate_reset(ASYNCTRACE_GATE_OFF);
	at_area_detach();
	at_slots_forked();
	at_backend_set(AT_BACKEND_NONE, NULL, NULL);
	at_backend_why(AT_REASON_FORKED, 0);
}

static int start(int fd, const struct at_trace_options *o)
{
	struct at_compose_options co = { .size = sizeof(co), .fd = fd };
	enum at_reason why = AT_REASON_OK;
	struct at_shape shape;
	int err;

	err = at_shape_init(&shape, o);
	if (!err)
		err = at_slots_init();
	if (err)
		return err;
	at_rseq_init();
	if (!at_membarrier_init()) {
		/* Without it no stop could be sure that the last writer is out. */
		shape.nr_rings = 0;
		why = AT_REASON_NO_MEMBARRIER;
	}
	err = at_area_create(&trace.area, &shape, o->categories);
	if (err)
		return err;
	trace.composer = at_compose_new(&co);
	if (!trace.composer) {
		err = -errno;
		goto fail_area;
	}
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
	err = at_drain_start(&trace.drain);
	if (err)
		goto fail_drain;
	at_backend_lock();
	err = at_area_attach(&trace.area);
	if (err)
		at_module_resume();
	else if (why != AT_REASON_OK)
		at_backend_why(why, 0);
	at_backend_unlock();
	if (err) {
		at_drain_stop(&trace.drain);
		goto fail_drain;
	}
	close(trace.area.fd);
	trace.area.fd = -1;
	at_area_gate(&trace.area, at_new_generation());
	return 0;

fail_drain:
	at_drain_free(&trace.drain);
	at_compose_free(trace.composer);
fail_area:
	at_area_destroy(&trace.area);
	return err;
}

AT_PUBLIC int at_trace_start(int fd, const struct at_trace_options *options)
{
	struct at_trace_options o = { .size = sizeof(o) };
	int err = -EBUSY;

	if (options) {
		if (options->size < offsetof(struct at_trace_options, ring_size))
			return -EINVAL;
		memcpy(&o, options, options->size < sizeof(o) ? options->size : sizeof(o));
	}
	if (o.name && (!*o.name || strlen(o.name) > ASYNCTRACE_NAME_MAX))
		return -EINVAL;
	pthread_mutex_lock(&trace.lock);
	if (!trace.running) {
		err = start(fd, &o);
		trace.running = !err;
	}
	pthread_mutex_unlock(&trace.lock);
	return err;
}

AT_PUBLIC int at_trace_stop(struct at_trace_result *result)
{
	struct at_trace_result res = { .size = sizeof(res) };
	int err;

	if (result && result->size < sizeof(result->size))
		return -EINVAL;
	pthread_mutex_lock(&trace.lock);
	if (!trace.running) {
		pthread_mutex_unlock(&trace.lock);
		return -ESRCH;
	}
	at_area_gate(&trace.area, 0);
	if (!at_area_quiesce())
		fprintf(stderr, "asynctrace: a thread hangs in the fallback ring; counts may be short\n");
	at_drain_stop(&trace.drain);
	at_drain_round(&trace.drain, true);
	at_drain_result(&trace.drain, &res);
	err = at_compose_finish(trace.composer);
	if (!res.error)
		res.error = err;
	at_backend_lock();
	at_module_resume();
	at_area_detach();
	at_backend_unlock();
	at_drain_free(&trace.drain);
	at_compose_free(trace.composer);
	at_area_destroy(&trace.area);
	if (trace.own_fd >= 0) {
		if (close(trace.own_fd) && !res.error)
			res.error = -errno;
		trace.own_fd = -1;
	}
	trace.running = false;
	pthread_mutex_unlock(&trace.lock);

	if (result)
		memcpy((char *)result + sizeof(res.size), (char *)&res + sizeof(res.size),
		       (result->size < sizeof(res) ? result->size : sizeof(res)) -
		       sizeof(res.size));
	return res.error;
}

/* --- the environment ------------------------------------------------------------------- */

static bool parse_mode(const char *s, uint32_t *mode)
{
	static const char *const names[] = {
		[AT_MODE_ONESHOT] = "oneshot",
		[AT_MODE_CIRCULAR] = "circular",
		[AT_MODE_STREAMING] = "streaming",
	};

	for (uint32_t i = AT_MODE_ONESHOT; i <= AT_MODE_STREAMING; i++) {
		if (!strcmp(s, names[i])) {
			*mode = i;
			return true;
		}
	}
	return false;
}

static bool parse_size(const char *s, uint64_t *size)
{
	char *end;
	unsigned int shift = 0;
	unsigned long long n = strtoull(s, &end, 10);

	switch (*end) {
	case 'G':
	case 'g':
		shift += 10;
		/* fall through */
	case 'M':
	case 'm':
		shift += 10;
		/* fall through */
	case 'K':
	case 'k':
		shift += 10;
		end++;
	}
	*size = n << shift;
	return end != s && !*end && n && *s != '-' && n <= ASYNCTRACE_RING_MAX >> shift;
}

static void complain(const char *what, const char *value, const char *remedy)
{
	fprintf(stderr, "asynctrace: %s=%s: %s; not tracing\n", what, value, remedy);
}

void at_trace_from_environment(void)
{
	struct at_trace_options o = { .size = sizeof(o) };
	const char *out = secure_getenv("ASYNCTRACE_OUT"), *s;
	int fd, err;

	if (!out || !*out)
		return;
	s = secure_getenv("ASYNCTRACE_MODE");
	if (s && *s && !parse_mode(s, &o.mode)) {
		complain("ASYNCTRACE_MODE", s, "use oneshot, circular or streaming");
		return;
	}
	s = secure_getenv("ASYNCTRACE_BUFFER_SIZE");
	if (s && *s && !parse_size(s, &o.ring_size)) {
		complain("ASYNCTRACE_BUFFER_SIZE", s, "use 16K to 1G");
		return;
	}
	o.categories = secure_getenv("ASYNCTRACE_CATEGORIES");
	fd = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0) {
		complain("ASYNCTRACE_OUT", out, strerror(errno));
		return;
	}
	err = at_trace_start(fd, &o);
	if (err) {
		complain("ASYNCTRACE_OUT", out, strerror(-err));
		close(fd);
		return;
	}
	trace.own_fd = fd;
}

static __attribute__((destructor)) void stop_at_exit(void)
{
	struct at_trace_result res = { .size = sizeof(res) };

	/* What a program started itself, it stops itself. */
	if (trace.own_fd < 0 || !trace.running)
		return;
	if (at_trace_stop(&res) && res.error)
		fprintf(stderr, "asynctrace: writing the trace: %s\n", strerror(-res.error));
	if (res.dropped || res.overwritten)
		fprintf(stderr, "asynctrace: %llu records dropped, %llu overwritten; a larger ASYNCTRACE_BUFFER_SIZE helps\n",
			(unsigned long long)res.dropped, (unsigned long long)res.overwritten);
}
