// SPDX-License-Identifier: GPL-2.0-or-later
/* A session as a feed: its chunks go through the composer, as in asynctrace record */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "feed.h"
#include "tool.h"

/*
 * Limit of a round of reading. In this time more is read than the rings hold, so all records from
 * before the round have been read.
 */
#define ROUND_NS	1000000000ull

static ssize_t take_words(void *arg, const void *buf, size_t len)
{
	int err = live_push(arg, buf, len / 8);

	return err ? err : (ssize_t)len;
}

/* Ends a round: the rings are empty, or ROUND_NS is over. */
static void end_round(struct feed *f, struct live *l, uint64_t now)
{
	live_read_until(l, now, f->round);
	f->round = 0;
}

/*
 * True if another process ended the session and all its records are read. The hangup must be
 * seen twice, because records may come between the last read and the first sight of it.
 */
static bool is_over(struct feed *f)
{
	struct pollfd fd = { .fd = f->fd, .events = POLLIN };
	const bool seen = f->hung_up;

	f->hung_up = poll(&fd, 1, 0) == 1 && fd.revents & POLLHUP;
	return seen && f->hung_up;
}

static int nothing(struct feed *f, struct live *l)
{
	int err = at_compose_flush(f->compose);

	if (err)
		return feed_failed(f, err);
	end_round(f, l, live_wall());
	if (!is_over(f))
		return f->hung_up ? FEED_MORE : FEED_NOTHING;
	err = at_compose_finish(f->compose);
	if (!err)
		err = live_end(l);
	return err ? feed_failed(f, err) : FEED_END;
}

static int take_session(struct feed *f, struct live *l)
{
	uint64_t now = live_wall();
	const uint64_t until = now + FEED_NS;
	int err = 0;

	if (taken_fd(&f->taken) >= 0)
		taken_tell(&f->taken, f->ctl);
	if (!f->round)
		f->round = now;
	do {
		ssize_t got = read(f->fd, f->buffer, ASYNCTRACE_READ_MIN);

		if (!got || (got < 0 && errno == EAGAIN))
			return nothing(f, l);
		if (got < 0 && errno != EINTR)
			return feed_failed(f, -errno);
		if (got > 0) {
			const struct asynctrace_chunk *chunk = f->buffer;

			err = at_compose_chunk(f->compose, chunk, (char *)f->buffer + chunk->size);
			/* The composer counts an invalid chunk and continues. */
			if (err == -EPROTO)
				err = 0;
		}
		now = live_wall();
	} while (!err && now < until);
	if (!err && now - f->round > ROUND_NS) {
		err = at_compose_flush(f->compose);
		end_round(f, l, now);
	}
	return err ? feed_failed(f, err) : FEED_MORE;
}

static void close_session(struct feed *f)
{
	at_compose_free(f->compose);
	taken_close(&f->taken);
	if (f->fd >= 0)
		close(f->fd);
	/* The module ends a session when the connection that made it is closed. */
	at_ctl_close(f->ctl);
}

static int copy_mode(const struct at_session_info *s, void *arg)
{
	*(uint32_t *)arg = s->mode;
	return 0;
}

static int find_session(struct feed *f, uint32_t *id)
{
	uint32_t mode = 0;
	int err = session_find(f->ctl, f->attach, id);

	if (err)
		return err;
	err = at_session_get(f->ctl, *id, copy_mode, &mode);
	if (err) {
		tool_error("%s", at_ctl_error(f->ctl));
		return err;
	}
	if (mode == ASYNCTRACE_MODE_STREAMING)
		return 0;
	tool_error("session '%s' is in %s mode, but top needs streaming mode: asynctrace session create -m streaming",
		   tool_text(f->attach), tool_mode(mode));
	return -EINVAL;
}

static int make_session(struct feed *f, uint32_t *id)
{
	struct at_info info = { .size = sizeof(info) };
	int err = at_info(f->ctl, &info);

	if (err) {
		tool_error("%s", at_ctl_error(f->ctl));
		return err;
	}
	err = session_args_create(&f->args, f->ctl, &info, ASYNCTRACE_SESSION_FLAGS_REASONS, id);
	return err ? err : session_args_init_session(&f->args, f->ctl, &info, *id);
}

static int make_composer(struct feed *f, struct live *l)
{
	f->compose_options = (struct at_compose_options){
		.size = sizeof(f->compose_options), .write = take_words, .arg = l,
		.flags = f->attach ? ASYNCTRACE_COMPOSE_CONTINUED : 0,
	};
	f->compose = at_compose_new(&f->compose_options);
	f->buffer = malloc(ASYNCTRACE_READ_MIN);
	return f->compose && f->buffer ? 0 : feed_failed(f, -ENOMEM);
}

int feed_open_session(struct feed *f, struct live *l)
{
	uint32_t id;
	int err;

	f->fd = -1;
	f->close = close_session;
	f->take = take_session;
	err = at_ctl_open(&f->ctl);
	if (err) {
		tool_error("%s", at_ctl_error(f->ctl));
		if (err == -ENOENT && !f->attach)
			fputs("Without the module, a program that uses libasynctrace writes its trace to a pipe:\n"
			      "  mkfifo PIPE; ASYNCTRACE_OUT=PIPE PROGRAM & asynctrace top PIPE\n", stderr);
		return err;
	}
	err = f->attach ? find_session(f, &id) : make_session(f, &id);
	if (!err)
		err = make_composer(f, l);
	if (err)
		return err;
	/* An error only disables messages about providers that other sessions hold. */
	if (!f->attach)
		taken_open(&f->taken, id);
	f->fd = at_session_open_stream(f->ctl, id);
	err = f->fd < 0 ? f->fd : f->attach ? 0 : at_session_start(f->ctl, id, NULL);
	if (err)
		tool_error("%s", at_ctl_error(f->ctl));
	return err;
}

int feed_bound(struct feed *f, struct live *l)
{
	int err = live_bound(l);

	if (err < 0)
		return feed_failed(f, err);
	/*
	 * Replace the reader, too, because the restart does not free its memory. The composer
	 * repeats all names for a new reader. A pipe does not, so its reader stays.
	 */
	if (!err || !f->compose)
		return 0;
	err = at_compose_next(f->compose, &f->compose_options);
	if (!err)
		err = live_new_reader(l);
	return err ? feed_failed(f, err) : 0;
}
