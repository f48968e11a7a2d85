// SPDX-License-Identifier: GPL-2.0-or-later
/* asynctrace record: makes the session or finds an existing one, and opens the file */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "record/record.h"
#include "tool.h"

static int copy_session(const struct at_session_info *s, void *arg)
{
	struct session_args *a = arg;

	a->mode = s->mode;
	a->sched = s->sched;
	a->ring_size = s->ring_size;
	/* The summary needs only the lengths of the lists, which are freed after this callback. */
	a->categories.nr = s->nr_categories;
	a->patterns.nr = s->nr_patterns;
	a->nr_pids = s->nr_pids;
	a->nr_uids = s->nr_users;
	a->nr_cgroups = s->nr_cgroups;
	return 0;
}

/* Finds the session that --attach names. */
static int find_session(struct recorder *r)
{
	struct session_args *a = &r->opt.args;
	int err;

	err = session_find(r->ctl, r->opt.attach, &r->session);
	if (err)
		return err;
	err = at_session_get(r->ctl, r->session, copy_session, a);
	if (err) {
		tool_error("%s", at_ctl_error(r->ctl));
		return err;
	}
	if (r->opt.snapshot && a->mode != ASYNCTRACE_MODE_CIRCULAR) {
		tool_error("session '%s' is in %s mode, but snapshots need circular mode; use asynctrace session attach",
			   tool_text(r->opt.attach), tool_mode(a->mode));
		return -EINVAL;
	}
	return 0;
}

static int make_session(struct recorder *r)
{
	struct session_args *a = &r->opt.args;
	int err;

	if (a->follow && r->opt.cmd) {
		if (a->nr_pids == SESSION_LIST_MAX) {
			tool_error("at most %d processes are allowed with --follow and a command",
				   SESSION_LIST_MAX - 1);
			return -E2BIG;
		}
		/*
		 * The command does not exist yet. It will be a descendant of this process, and
		 * so will the processes that it orphans.
		 */
		a->pids[a->nr_pids++] = getpid();
		if (prctl(PR_SET_CHILD_SUBREAPER, 1)) {
			err = -errno;
			tool_error("cannot follow the command: %s", strerror(-err));
			return err;
		}
	}
	err = session_args_create(a, r->ctl, &r->info, ASYNCTRACE_SESSION_FLAGS_REASONS,
				  &r->session);
	return err ? err : session_args_init_session(a, r->ctl, &r->info, r->session);
}

/*
 * Computes the size of the largest chunk that read(2) returns: a sub-buffer of the largest
 * ring.
 */
static int copy_chunk(const struct at_session_info *s, void *arg)
{
	uint64_t *bytes = arg;

	*bytes = s->sub_size;
	for (size_t i = 0; i < s->nr_buffers; i++) {
		uint64_t sub = s->buffers[i].ring_size / 16;

		if (sub > ASYNCTRACE_SUBBUF_MAX)
			sub = ASYNCTRACE_SUBBUF_MAX;
		if (sub > *bytes)
			*bytes = sub;
	}
	return 0;
}

/* Prints how a program can record itself without the module. */
static void hint_out(const struct recorder *r)
{
	fprintf(stderr, "Without the module, a program that uses libasynctrace records itself, without its scheduling:\n"
		"  ASYNCTRACE_OUT=%s %s%s\n",
		strcmp(r->out.path, "-") ? tool_text(r->out.path) : "trace.fxt",
		r->opt.cmd ? tool_text(r->opt.cmd[0]) : "PROGRAM",
		r->opt.cmd && r->opt.cmd[1] ? " ..." : "");
}

static int open_session(struct recorder *r)
{
	int err;

	r->info.size = sizeof(r->info);
	err = at_ctl_open(&r->ctl);
	if (err) {
		tool_error("%s", at_ctl_error(r->ctl));
		if (err == -ENOENT && !r->opt.attach)
			hint_out(r);
		return err;
	}
	err = at_info(r->ctl, &r->info);
	if (err) {
		tool_error("%s", at_ctl_error(r->ctl));
		return err;
	}
	err = r->opt.attach ? find_session(r) : make_session(r);
	if (err)
		return err;
	err = at_session_get(r->ctl, r->session, copy_chunk, &r->out.chunk);
	if (err) {
		tool_error("%s", at_ctl_error(r->ctl));
		return err;
	}
	/* An error only disables messages about providers that other sessions hold. */
	if (!r->opt.attach)
		taken_open(&r->taken, r->session);
	r->in = r->opt.snapshot ? at_session_open_snapshot(r->ctl, r->session) :
				  at_session_open_stream(r->ctl, r->session);
	if (r->in < 0) {
		tool_error("%s", at_ctl_error(r->ctl));
		return r->in;
	}
	/* A session has one reader at a time: leave the place to snapshots, until stop(). */
	if (r->opt.snapshots) {
		close(r->in);
		r->in = -1;
	}
	err = record_open_tracepoints(r);
	return err ? err : record_open_triggers(r);
}

int record_setup(struct recorder *r)
{
	int err;

	err = record_open_signals(r);
	if (err) {
		tool_error("cannot take signals: %s", strerror(-err));
		return err;
	}
	r->buffer = malloc(ASYNCTRACE_READ_MIN);
	if (!r->buffer) {
		tool_error("%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	err = open_session(r);
	if (err)
		return err;
	r->out.wait_fd = r->signals;
	r->out.interrupted = record_interrupted;
	r->out.arg = r;
	r->out.continued = r->opt.attach;
	r->out.ends = r->opt.snapshot ? "the snapshot ends here, the session goes on" :
		      r->opt.attach ? "reading ends here, the session goes on" :
				      "recording ends here";
	err = trace_out_open(&r->out);
	/* A signal came while a named pipe had no reader, so the command is not started. */
	if (err == -EINTR && r->nr_signals && r->opt.cmd)
		return record_exit_status(r->signal);
	return err;
}
