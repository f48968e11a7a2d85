// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * asynctrace record: starts and stops the session, reads it or takes a snapshot of it, and writes
 * the file
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "record/record.h"
#include "tool.h"

/* Chunks to read before signals and time are checked again */
#define BURST	64

/* Bounds the loss if the recorder is killed or the machine dies. */
#define FLUSH_SECONDS	0.5

/*
 * Ends the file at --max-size, which is not an error. Returns 0, or a negative errno after a
 * message.
 */
static int end_full(struct recorder *r)
{
	int err = trace_out_end(&r->out);

	if (err)
		return err;
	record_line_clear(r);
	tool_error("%s: --max-size %s is reached; %s", tool_text(trace_out_name(&r->out)),
		   tool_short_size(r->out.max_size), r->out.ends);
	return 0;
}

/* Watches the process of a provider that a chunk introduces. @buffer: what read(2) has returned */
static void watch_provider(struct recorder *r, const void *buffer, size_t got)
{
	const struct asynctrace_chunk *chunk = buffer;
	struct asynctrace_provider_info info;

	if (got < sizeof(*chunk) || chunk->kind != ASYNCTRACE_CHUNK_PROVIDER ||
	    got < chunk->size + sizeof(info))
		return;
	memcpy(&info, (const char *)buffer + chunk->size, sizeof(info));
	if (info.pid <= 0 || info.flags & ASYNCTRACE_PROVIDER_F_GONE)
		return;
	record_watch_provider(r, info.serial, info.pid);
	record_watch_cgroups(r, info.pid);
	record_list_provider(r, info.id, info.serial, info.pid);
}

/*
 * Reads one chunk and writes its records. Returns 1 if there may be more, 0 if nothing is there
 * at the moment, or a negative errno after a message. -ECANCELED: the file has reached
 * --max-size.
 */
static int take_chunk(struct recorder *r)
{
	ssize_t got;
	int err;

	if (trace_out_full(&r->out)) {
		err = end_full(r);
		return err ? err : -ECANCELED;
	}
	got = read(r->in, r->buffer, ASYNCTRACE_READ_MIN);
	r->drained = !got;
	if (got > 0) {
		watch_provider(r, r->buffer, got);
		err = trace_out_chunk(&r->out, r->buffer, got);
		if (!err)
			err = record_compose_introduced(r, r->buffer, got);
		return err ? err : 1;
	}
	if (!got || errno == EAGAIN)
		return 0;
	if (errno == EINTR)
		return 1;
	err = -errno;
	tool_error("cannot read the session: %s", strerror(-err));
	r->unreadable = true;
	return err;
}

/* Writes buffered data that is older than FLUSH_SECONDS. Returns 0 or a negative errno. */
static int flush(struct recorder *r, bool took)
{
	double now = record_now();

	if (took && !r->next_flush)
		r->next_flush = now + FLUSH_SECONDS;
	if (!r->next_flush || now < r->next_flush)
		return 0;
	r->next_flush = 0;
	return trace_out_flush(&r->out);
}

/* Returns how long poll() may sleep, in milliseconds; -1: without limit. */
static int next_timeout(const struct recorder *r, double end)
{
	const double throttling = record_next_throttling(r), listing = record_next_listing(r);
	double next = end;

	if (r->next_line && (!next || r->next_line < next))
		next = r->next_line;
	if (r->next_flush && (!next || r->next_flush < next))
		next = r->next_flush;
	if (r->next_ftrace && (!next || r->next_ftrace < next))
		next = r->next_ftrace;
	if (throttling && (!next || throttling < next))
		next = throttling;
	if (listing && (!next || listing < next))
		next = listing;
	if (!next)
		return -1;
	next = (next - record_now()) * 1000 + 1;
	return next < 0 ? 0 : next > 60000 ? 60000 : next;
}

static void tell_taken(struct recorder *r)
{
	record_line_clear(r);
	taken_tell(&r->taken, r->ctl);
}

static int copy_state(const struct at_session_info *s, void *arg)
{
	*(uint32_t *)arg = s->state;
	return 0;
}

/*
 * Returns 1 if no more records can come, 0 if they can, or a negative errno after a message. A
 * one-shot session is over when it has been stopped. A session that has not been started is not
 * over.
 */
static int is_over(struct recorder *r)
{
	uint32_t state = ASYNCTRACE_SESSION_STATE_TERMINATED;
	int err;

	if (!r->drained || r->opt.args.mode != ASYNCTRACE_MODE_ONESHOT)
		return 0;
	err = at_session_get(r->ctl, r->session, copy_state, &state);
	/* The next read(2) reports that the session is gone. */
	if (err == -ENOENT)
		return 0;
	if (err)
		tool_error("%s", at_ctl_error(r->ctl));
	if (err || state != ASYNCTRACE_SESSION_STATE_STOPPED)
		return err;
	/* The session may have run after the last read. Its rings hold all that is left. */
	do {
		err = take_chunk(r);
	} while (err > 0);
	return err < 0 ? err : r->drained;
}

/*
 * Records until something ends it. Returns 0 or a negative errno. -ECANCELED: the file has reached
 * --max-size.
 */
static int record_loop(struct recorder *r)
{
	double end = r->opt.seconds ? r->started + r->opt.seconds : 0;
	/*
	 * A new session is read before its end only in streaming mode, where reading frees room.
	 * In circular mode, records that are read early would not be the last ones. With --attach,
	 * the session does not end with the recording, so it is read now.
	 */
	bool drain = r->opt.attach || r->opt.args.mode == ASYNCTRACE_MODE_STREAMING;
	struct pollfd fds[] = {
		{ .fd = r->signals, .events = POLLIN },
		{ .fd = drain ? r->in : -1, .events = POLLIN },
		{ .fd = r->alerts ? at_notifications_fd(r->alerts) : -1, .events = POLLIN },
		{ .fd = taken_fd(&r->taken), .events = POLLIN },
	};

	for (;;) {
		bool busy = false, took = false;
		int err;

		record_take_signals(r);
		/* Alerts first: the command may have exited right after it raised one. */
		err = record_take_alerts(r);
		if (err <= 0)
			return err;
		if (record_is_ending(r))
			return 0;
		if (drain)
			record_begin_round(r);
		for (int i = 0; drain && i < BURST; i++) {
			err = take_chunk(r);
			if (err < 0)
				return err;
			busy = err;
			if (!busy)
				break;
			took = true;
		}
		err = record_end_round(r, !busy);
		if (!err)
			err = record_poll_tracepoints(r, busy);
		if (!err)
			err = record_poll_throttling(r);
		if (!err)
			err = record_poll_listing(r);
		if (err < 0)
			return err;
		busy |= err;
		err = flush(r, took);
		if (err)
			return err;
		if (r->rotate) {
			r->rotate = false;
			err = trace_out_rotate(&r->out);
			if (err)
				return err;
		}
		record_line(r);
		err = is_over(r);
		if (err)
			return err < 0 ? err : 0;
		/* The session was destroyed, so there are no more records. */
		if (!busy && fds[1].revents & POLLHUP) {
			r->ended = true;
			return 0;
		}
		if (fds[3].revents) {
			tell_taken(r);
			/* Chunks introduce providers, but only if they are read. */
			if (!drain)
				record_list_soon(r);
		}
		fds[3].fd = taken_fd(&r->taken);
		if (poll(fds, 4, busy ? 0 : next_timeout(r, end)) < 0 && errno != EINTR) {
			err = -errno;
			tool_error("cannot wait for records: %s", strerror(-err));
			return err;
		}
	}
}

/*
 * Returns the error to report of two, the first one usually. -ECANCELED says only that the file is
 * full, so it hides no error.
 */
static int first_error(int err, int more)
{
	return err && !(err == -ECANCELED && more) ? err : more;
}

/* Reads until nothing is left, or until the first error. */
static int take_all(struct recorder *r)
{
	int err;

	do {
		err = take_chunk(r);
		record_take_signals(r);
	} while (err > 0);
	return err;
}

/* Limit of the time for reading the rest of a session that continues */
#define REST_SECONDS	1

/*
 * Reads the rest of a session that continues, at the end of an attachment or if the session cannot
 * be stopped. Programs may write faster than this function reads. So reading stops after
 * REST_SECONDS, or at another signal.
 */
static int take_rest(struct recorder *r)
{
	double end = record_now() + REST_SECONDS;
	unsigned int signals = r->nr_signals;
	int err;

	do {
		err = take_chunk(r);
		record_take_signals(r);
	} while (err > 0 && r->nr_signals == signals && record_now() < end);
	return err > 0 ? 0 : err;
}

/*
 * Reads with @take, which is take_all() or take_rest(). If the file ends or fails meanwhile, reads
 * on, because the composer counts the records that are not in the file. Returns the first error.
 */
static int take_and_count(struct recorder *r, int (*take)(struct recorder *r))
{
	int err = 0, more;
	bool over;

	do {
		over = r->out.over;
		more = take(r);
		err = first_error(err, more);
	} while (more && !over && r->out.over);
	return err;
}

/*
 * Opens the stream. Waits while another process reads the session, such as asynctrace session
 * snapshot. Returns 0, or a negative errno after a message.
 */
static int consume(struct recorder *r)
{
	const struct timespec moment = { .tv_nsec = 20 * 1000 * 1000 };
	unsigned int before = r->nr_signals;
	bool told = false;
	double told_at = record_now() + 1;

	for (;;) {
		r->in = at_session_open_stream(r->ctl, r->session);
		if (r->in >= 0)
			return 0;
		record_take_signals(r);
		if (r->in != -EBUSY || r->nr_signals > before)
			break;
		if (!told && record_now() > told_at) {
			fputs("another process reads the session, perhaps asynctrace session snapshot: waiting; Ctrl-C gives up\n",
			      stderr);
			told = true;
		}
		nanosleep(&moment, NULL);
	}
	tool_error("%s", at_ctl_error(r->ctl));
	return r->in;
}

/*
 * Stops the session and reads the rest, if only to count it. @err: an earlier error, which is
 * returned
 */
static int stop(struct recorder *r, int err)
{
	bool stopped;
	int more;

	/* Stop tracepoints first, so that the session's last clock reading is after every event. */
	err = first_error(err, record_stop_tracepoints(r));
	err = first_error(err, record_stop_throttling(r));
	/*
	 * Read states of threads again: in circular mode, the rings may have lost the records since
	 * the states were read at the start.
	 */
	if (r->opt.args.mode == ASYNCTRACE_MODE_CIRCULAR)
		record_list_again(r);
	more = at_session_stop(r->ctl, r->session);
	stopped = !more || more == -ENOENT;
	tell_taken(r);
	taken_close(&r->taken);
	if (more == -ENOENT) {
		r->ended = true;
		tool_error("another process ended the session%s", r->in < 0 ?
			   "; the records in its rings are lost" :
			   "; the file has the records until then");
		err = first_error(err, more);
		if (r->in < 0) {
			r->unreadable = true;
			return err;
		}
	} else if (!stopped) {
		tool_error("cannot stop the session: %s", at_ctl_error(r->ctl));
		err = first_error(err, more);
	}
	if (r->in < 0) {
		more = consume(r);
		if (more)
			return first_error(err, more);
	}
	/* If the session has stopped, no writer is left, so take_all() ends. */
	if (!r->unreadable)
		err = first_error(err, take_and_count(r, stopped ? take_all : take_rest));
	err = first_error(err, record_finish_tracepoints(r));
	err = first_error(err, record_finish_throttling(r));
	return first_error(err, record_finish_listing(r));
}

/* Ends an attachment. Its session goes on, or has ended already. */
static int detach(struct recorder *r)
{
	int err = r->ended ? 0 : take_rest(r);
	int more = record_finish_throttling(r);

	err = err ? err : more;
	more = record_finish_listing(r);
	return err ? err : more;
}

static int begin(struct recorder *r)
{
	int err = r->opt.attach ? 0 : at_session_start(r->ctl, r->session, NULL);

	if (err) {
		tool_error("%s", at_ctl_error(r->ctl));
		return err;
	}
	/* Start tracepoints now, so that no event is before the session's first clock reading. */
	err = record_start_tracepoints(r);
	if (!err)
		err = record_start_listing(r);
	if (!err)
		err = record_start_throttling(r);
	if (err)
		return err;
	r->started = record_now();
	if (isatty(STDERR_FILENO) && !r->opt.snapshot)
		r->next_line = r->started;
	tell_taken(r);
	return r->opt.cmd ? record_start_child(r) : 0;
}

/*
 * Records. Returns 0 or a negative errno. If the command could not be executed, returns the exit
 * status for asynctrace.
 */
int record_run(struct recorder *r)
{
	bool goes_on;
	int err;

	err = begin(r);
	if (!err)
		err = r->opt.snapshot ? take_and_count(r, take_all) : record_loop(r);
	if (!err && r->opt.snapshot)
		err = record_finish_throttling(r);
	if (!err && r->opt.snapshot)
		err = record_finish_listing(r);
	if (!err && r->opt.attach && !r->opt.snapshot)
		err = detach(r);
	record_line_clear(r);
	if (!r->opt.attach && r->started)
		err = stop(r, err);
	record_finish_cpu_time(r, &r->out);
	goes_on = r->opt.attach && !r->ended;
	if (err == -ECANCELED)
		err = 0;
	/* An earlier error of the session says nothing about the end of the file. */
	err = first_error(err, trace_out_finish(&r->out, goes_on));
	if (err <= 0 && r->started && !record_summary(r) && !err)
		err = -EIO;
	if (err <= 0)
		record_tell_child(r);
	return err;
}

void record_free(struct recorder *r)
{
	at_ctl_close(r->ctl);
	if (r->in >= 0)
		close(r->in);
	at_notifications_close(r->alerts);
	taken_close(&r->taken);
	record_free_tracepoints(r);
	record_free_throttling(r);
	record_free_listing(r);
	trace_out_free(&r->out);
	free(r->buffer);
}
