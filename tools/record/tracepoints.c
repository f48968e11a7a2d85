// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * asynctrace record -e, -k: events of the kernel's tracepoints
 */
#include <errno.h>

#include "record/record.h"
#include "tool.h"

#define READ_SECONDS	0.1

bool record_take_tracepoints(struct record_options *o, char *text, bool sets)
{
#ifndef HAVE_TRACEFS
	tool_error("%s is not in this build, because pkg-config did not find libtracefs: apt-get install pkg-config libtracefs-dev libtraceevent-dev, and build again",
		   sets ? "-k" : "-e");
	return false;
#endif
	return sets ? ftrace_add_sets(&o->tracepoints, text) :
		      ftrace_add_events(&o->tracepoints, text);
}

bool record_check_tracepoints(const struct record_options *o)
{
	if (!o->tracepoints.nr)
		return true;
	if (o->snapshots) {
		tool_error("-e and -k with --trigger ALERT:snapshot are not supported yet");
		return false;
	}
	return ftrace_lists_exist(&o->tracepoints);
}

static int on_cpu(void *arg, uint32_t cpu)
{
	struct recorder *r = arg;

	return trace_out_ring(&r->out, 0, ASYNCTRACE_COMPOSE_RING_TRACEPOINTS | cpu);
}

int record_open_tracepoints(struct recorder *r)
{
	const struct session_args *a = &r->opt.args;
	const struct ftrace_options o = {
		.clock = r->info.clock,
		.buffer = a->ring_size,
		.keep_last = a->mode == ASYNCTRACE_MODE_CIRCULAR,
		.all = a->sched == ASYNCTRACE_SCHED_ALL,
	};

	int err;

	if (!r->opt.tracepoints.nr)
		return 0;
	err = ftrace_open(&r->ftrace, &r->opt.tracepoints, &o);
	if (!err)
		ftrace_on_cpu(r->ftrace, on_cpu, r);
	return err;
}

int record_start_tracepoints(struct recorder *r)
{
	if (!r->ftrace)
		return 0;
	if (r->opt.args.mode == ASYNCTRACE_MODE_STREAMING)
		r->next_ftrace = record_now() + READ_SECONDS;
	return ftrace_start(r->ftrace);
}

/* Composes queued events. After the file's end, the composer counts them as unwritten. */
static int compose(struct recorder *r)
{
	int err = ftrace_compose(r->ftrace, r->out.compose);

	return r->out.over ? 0 : trace_out_check(&r->out, err);
}

int record_poll_tracepoints(struct recorder *r, bool busy)
{
	double now = record_now();
	int err;

	if (!r->next_ftrace || now < r->next_ftrace)
		return 0;
	r->next_ftrace = now + READ_SECONDS;
	err = ftrace_read(r->ftrace);
	/*
	 * While the reader is busy, the next chunks may introduce processes to whose operations the
	 * events belong. A crowded queue does not wait: it would soon lose events.
	 */
	if (err || (busy && !ftrace_is_crowded(r->ftrace)))
		return err;
	return compose(r);
}

void record_watch_tracepoints(struct recorder *r, pid_t pid)
{
	if (r->ftrace && r->opt.args.sched != ASYNCTRACE_SCHED_ALL)
		ftrace_watch(r->ftrace, pid);
}

void record_watch_provider(struct recorder *r, uint64_t serial, pid_t pid)
{
	/* Each call of ftrace_watch() adds all threads of the process again, so call it once. */
	if (!r->ftrace || fxt_find(&r->watched, serial))
		return;
	/* Without memory for this entry, the next list watches the provider once more. */
	fxt_make(&r->watched, serial);
	record_watch_tracepoints(r, pid);
}

void record_free_tracepoints(struct recorder *r)
{
	ftrace_close(r->ftrace);
	fxt_table_free(&r->watched);
}

int record_stop_tracepoints(struct recorder *r)
{
	return r->ftrace ? ftrace_stop(r->ftrace) : 0;
}

int record_finish_tracepoints(struct recorder *r)
{
	int err, more;

	if (!r->ftrace)
		return 0;
	err = ftrace_read(r->ftrace);
	more = compose(r);
	err = err ? err : more;
	more = ftrace_finish(r->ftrace, r->out.compose);
	return err ? err : r->out.over ? 0 : trace_out_check(&r->out, more);
}
