// SPDX-License-Identifier: GPL-2.0-or-later
/* asynctrace record: actions at alerts of programs */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "record/record.h"
#include "tool.h"

/* How long to retry a snapshot while the session has another reader, which soon ends */
#define WAIT_SECONDS	2

bool record_take_trigger(struct record_options *o, char *text)
{
	struct record_trigger *t = &o->triggers[o->nr_triggers];
	char *colon = strrchr(text, ':');

	if (o->nr_triggers == RECORD_TRIGGERS_MAX) {
		tool_error("at most %d triggers are allowed", RECORD_TRIGGERS_MAX);
		return false;
	}
	if (!colon || (strcmp(colon, ":stop") && strcmp(colon, ":snapshot"))) {
		tool_error("--trigger takes ALERT:stop or ALERT:snapshot, not '%s'", tool_text(text));
		return false;
	}
	*colon = '\0';
	if (!*text || strlen(text) > ASYNCTRACE_ALERT_MAX) {
		tool_error("--trigger: an alert's name has 1 to %d bytes", ASYNCTRACE_ALERT_MAX);
		return false;
	}
	t->alert = text;
	t->snapshot = !strcmp(colon + 1, "snapshot");
	o->snapshots |= t->snapshot;
	o->nr_triggers++;
	return true;
}

int record_open_triggers(struct recorder *r)
{
	int err;

	if (!r->opt.nr_triggers)
		return 0;
	err = at_notifications_open(&r->alerts, ASYNCTRACE_NOTIFICATION_KINDS_ALERT, r->session);
	if (err)
		tool_error("cannot monitor alerts: %s", at_notifications_error(r->alerts));
	return err;
}

/* Reads a snapshot into the next file. Returns 0, or a negative errno after a message. */
static int copy_snapshot(struct recorder *r, struct trace_out *out, int fd)
{
	ssize_t got;
	int err, late;

	err = trace_out_open(out);
	while (!err) {
		got = read(fd, r->buffer, ASYNCTRACE_READ_MIN);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			err = -errno;
			tool_error("cannot read the snapshot: %s", strerror(-err));
		}
		if (got <= 0)
			break;
		err = trace_out_chunk(out, r->buffer, got);
	}
	if (!err)
		err = record_rest_throttling(r);
	if (!err)
		err = trace_out_check(out, record_copy_throttling(r, out->compose));
	if (!err)
		err = trace_out_check(out, record_copy_listing(r, out->compose));
	record_finish_cpu_time(r, out);
	late = trace_out_finish(out, true);
	return err ? err : late;
}

/* Returns the descriptor of a snapshot, or a negative errno. */
static int open_snapshot(struct recorder *r)
{
	const struct timespec moment = { .tv_nsec = 20 * 1000 * 1000 };
	double end = record_now() + WAIT_SECONDS;
	int fd;

	for (;;) {
		fd = at_session_open_snapshot(r->ctl, r->session);
		if (fd != -EBUSY || record_now() >= end)
			return fd;
		nanosleep(&moment, NULL);
	}
}

/*
 * Writes a snapshot. A failure is only reported, because the recording matters more. Returns
 * false if the session is gone.
 */
static bool snapshot(struct recorder *r, const char *why)
{
	struct trace_out *out = calloc(1, sizeof(*out));
	int err, fd;

	if (!out) {
		tool_error("no snapshot at %s: %s", why, strerror(ENOMEM));
		return true;
	}
	*out = (struct trace_out){
		.path = r->out.path, .numbered = true, .number = r->nr_snapshots, .fd = -1,
		.continued = true, .ends = "the snapshot ends here, the recording goes on",
		.wait_fd = -1, .cpu_time = r->out.cpu_time,
	};
	record_list_again(r);
	fd = open_snapshot(r);
	err = fd < 0 ? fd : 0;
	if (err)
		tool_error("no snapshot at %s: %s", why, at_ctl_error(r->ctl));
	else
		err = copy_snapshot(r, out, fd);
	if (!err) {
		r->nr_snapshots++;
		fprintf(stderr, "%s: wrote %s\n", why, tool_text(trace_out_name(out)));
	}
	if (fd >= 0)
		close(fd);
	trace_out_free(out);
	free(out);
	return fd != -ENOENT;
}

/*
 * Reports lost alerts, once for each provider. The provider raised them too fast, or the
 * recorder was too slow. The summary has their number.
 */
static void tell_missed(struct recorder *r, const struct at_notification *e)
{
	unsigned int i;

	if (!e->lost)
		return;
	r->missed += e->lost;
	for (i = 0; i < r->nr_missed_of && r->missed_of[i] != e->provider; i++)
		;
	if (i < r->nr_missed_of || i == RECORD_MISSED_MAX)
		return;
	r->missed_of[r->nr_missed_of++] = e->provider;
	record_line_clear(r);
	fprintf(stderr, "%u alert%s before '%s' of %s (process %u) came too fast and were lost: a --trigger may have missed one\n",
		e->lost, e->lost == 1 ? "" : "s", tool_text(e->alert), tool_text(e->name), e->pid);
}

/*
 * Acts on pending alerts. Takes one snapshot, even if several alerts ask for one. Returns 1 to
 * continue, 0 to stop, or a negative errno after a message.
 */
int record_take_alerts(struct recorder *r)
{
	struct at_notification alert = { .size = sizeof(alert) };
	bool stop = false, shoot = false;
	char why[384] = "";
	int err;

	if (!r->alerts)
		return 1;
	while (!(err = at_notifications_next(r->alerts, &alert))) {
		tell_missed(r, &alert);
		for (size_t i = 0; i < r->opt.nr_triggers; i++) {
			const struct record_trigger *t = &r->opt.triggers[i];

			if (strcmp(t->alert, alert.alert))
				continue;
			stop |= !t->snapshot;
			shoot |= t->snapshot;
			snprintf(why, sizeof(why), "alert '%s' of %s (process %u)",
				 tool_text(alert.alert), tool_text(alert.name), alert.pid);
		}
	}
	if (err != -EAGAIN) {
		tool_error("cannot monitor alerts any more, so triggers do not work: %s", at_notifications_error(r->alerts));
		return err;
	}
	if (stop || shoot)
		record_line_clear(r);
	if (shoot && !snapshot(r, why))
		return 0;
	if (stop)
		fprintf(stderr, "%s: recording stops\n", why);
	return !stop;
}
