// SPDX-License-Identifier: GPL-2.0-or-later
/* Feeds: files and pipes, and functions for all kinds of feeds */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "feed.h"
#include "tool.h"

#define PIPE_BYTES	(256 * 1024)
/* Records to read between two looks at the clock */
#define FILE_RECORDS	4096

/* Analyses the rest. Returns FEED_END, or a negative errno after a message. */
static int end_live(const struct feed *f, struct live *l)
{
	const int err = live_end(l);

	return err ? feed_failed(f, err) : FEED_END;
}

/* --- a file that is finished --------------------------------------------------------- */

static int open_reader(struct feed *f, struct live *l)
{
	int err;

	f->reader = fxt_open(f->path, &err);
	if (!f->reader)
		return feed_failed(f, err);
	fxt_on_breach(f->reader, live_breach, l);
	fxt_without_args(f->reader);
	return 0;
}

static int end_file(struct feed *f, struct live *l)
{
	int err;

	if (strcmp(f->path, "-") && live_again(l)) {
		fxt_close(f->reader);
		err = open_reader(f, l);
		return err ? err : FEED_MORE;
	}
	return end_live(f, l);
}

static int take_file(struct feed *f, struct live *l)
{
	const uint64_t until = live_wall() + FEED_NS;
	struct fxt_record rec;
	int err;

	do {
		for (int i = 0; i < FILE_RECORDS; i++) {
			err = fxt_next(f->reader, &rec);
			if (err < 0)
				return feed_failed(f, err);
			if (!err)
				return end_file(f, l);
			err = live_record(l, &rec);
			if (err)
				return feed_failed(f, err);
		}
	} while (live_wall() < until);
	return FEED_MORE;
}

static void close_file(struct feed *f)
{
	fxt_close(f->reader);
}

/* --- a pipe -------------------------------------------------------------------------- */

static int check_begin(const struct feed *f, const unsigned char *buf)
{
	const uint64_t magic = ASYNCTRACE_FXT_MAGIC;

	if (!memcmp(buf, &magic, sizeof(magic)))
		return 0;
	if (fxt_is_packed(buf)) {
		tool_error("the trace in the pipe is compressed; unpack it: zstd -dc, or gzip -dc, | asynctrace top -");
		return -EILSEQ;
	}
	return feed_failed(f, -EILSEQ);
}

/*
 * Passes on the whole words of the first @bytes bytes in the buffer. Returns 0, FEED_END if a
 * damage makes the rest unreadable, or a negative errno after a message.
 */
static int hand_on(struct feed *f, struct live *l, size_t bytes)
{
	unsigned char *buf = f->buffer;
	int err;

	f->rest = bytes % 8;
	bytes -= f->rest;
	if (!bytes)
		return 0;
	if (!f->begun) {
		err = check_begin(f, buf);
		if (err)
			return err;
		f->begun = true;
	}
	err = live_push(l, f->buffer, bytes / 8);
	if (err == -EBADMSG)
		return end_live(f, l);
	if (err)
		return feed_failed(f, err);
	memmove(buf, buf + bytes, f->rest);
	return 0;
}

static int end_pipe(struct feed *f, struct live *l)
{
	const uint64_t magic = ASYNCTRACE_FXT_MAGIC;

	/* Without a whole word, .rest is at most 7 bytes. */
	if (!f->begun && (!f->rest || memcmp(f->buffer, &magic, f->rest)))
		return feed_failed(f, f->rest ? -EILSEQ : -ENODATA);
	l->incomplete |= f->rest;
	return end_live(f, l);
}

static int take_pipe(struct feed *f, struct live *l)
{
	const uint64_t until = live_wall() + FEED_NS;
	struct pollfd fd = { .fd = f->fd, .events = POLLIN };
	uint64_t now;
	int err = 0;

	do {
		ssize_t n;

		/*
		 * O_NONBLOCK would affect other processes that share the pipe, so ask poll()
		 * before read().
		 */
		if (poll(&fd, 1, 0) < 0 && errno != EINTR)
			return feed_failed(f, -errno);
		if (!fd.revents) {
			live_read_until(l, live_wall(), l->newest);
			return FEED_NOTHING;
		}
		n = read(f->fd, (char *)f->buffer + f->rest, PIPE_BYTES - f->rest);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return feed_failed(f, -errno);
		if (!n)
			return end_pipe(f, l);
		if (n > 0)
			err = hand_on(f, l, f->rest + n);
		now = live_wall();
	} while (!err && now < until);
	live_read_until(l, now, l->newest);
	return err ? err : FEED_MORE;
}

static void close_pipe(struct feed *f)
{
	if (f->fd != STDIN_FILENO)
		close(f->fd);
}

static int open_pipe(struct feed *f)
{
	/* open() of a named pipe without a writer must not block the screen. */
	f->fd = strcmp(f->path, "-") ? open(f->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) :
				       STDIN_FILENO;
	if (f->fd < 0)
		return feed_failed(f, -errno);
	f->take = take_pipe;
	f->close = close_pipe;
	f->buffer = malloc(PIPE_BYTES);
	return f->buffer ? 0 : feed_failed(f, -ENOMEM);
}

int feed_open_file(struct feed *f, struct live *l)
{
	struct stat st;

	if (strcmp(f->path, "-") ? stat(f->path, &st) : fstat(STDIN_FILENO, &st))
		return feed_failed(f, -errno);
	if (!S_ISREG(st.st_mode))
		return open_pipe(f);
	f->fd = -1;
	f->take = take_file;
	f->close = close_file;
	l->is_file = true;
	return open_reader(f, l);
}

/* --- of all kinds ----------------------------------------------------------------------- */

int feed_open(struct feed *f, struct live *l)
{
	return f->path ? feed_open_file(f, l) : feed_open_session(f, l);
}

void feed_counts(struct feed *f, const struct live *l, struct at_compose_counts *counts)
{
	const struct at_compose_stats *st = f->compose ? at_compose_stats(f->compose) : NULL;

	if (st) {
		*counts = st->total;
		return;
	}
	*counts = (struct at_compose_counts){
		.delivered = l->records, .dropped = l->lost.dropped,
		.overwritten = l->lost.overwritten, .malformed = l->lost.malformed,
	};
}

void feed_close(struct feed *f)
{
	if (f->close)
		f->close(f);
	free(f->buffer);
}
