// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Writes whole records to the file's descriptor, or to the caller's function.
 *
 * The buffer has whole records only. So after a failed write, it is known where the last whole
 * record in the file ends. Bytes written after it are removed, if the file can be truncated.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "composer.h"
#include "internal.h"

#define BUFFER_DEFAULT	(256 * 1024)
#define BUFFER_MIN	(2 * 8 * ASYNCTRACE_FXT_WORDS_MAX)

/* A write of at most this many bytes that a full disk refuses is not divided. */
#define WRITE_MIN	4096

/* The smallest record of a ring has one word: a blob of no bytes. */
#define RECORD_MIN	1

static ssize_t write_some(const struct atc_out *o, const void *buf, size_t len)
{
	struct pollfd p = { .fd = o->fd, .events = POLLOUT };
	ssize_t n;

	for (;;) {
		n = write(o->fd, buf, len);
		if (n >= 0)
			return n;
		if (errno == EAGAIN) {
			if (poll(&p, 1, -1) < 0 && errno != EINTR)
				return -errno;
		} else if (errno != EINTR) {
			return -errno;
		}
	}
}

static ssize_t fd_write(void *arg, const void *buf, size_t len)
{
	struct atc_out *o = arg;
	ssize_t n = o->begin_write ? o->begin_write(o->around) : o->fd;

	if (n < 0 && o->begin_write)
		return n;
	o->fd = n;
	n = write_some(o, buf, len);
	if (o->end_write)
		o->end_write(o->around);
	return n;
}

void at_compose_around_writes(struct at_compose *c, int (*before)(void *arg),
			      void (*after)(void *arg), void *arg)
{
	c->out.begin_write = before;
	c->out.end_write = after;
	c->out.around = arg;
}

static void set_target(struct atc_out *o, const struct at_compose_options *opts)
{
	o->fd = opts->fd;
	o->write = opts->write ? opts->write : fd_write;
	o->arg = opts->write ? opts->arg : o;
}

int atc_out_init(struct atc_out *o, const struct at_compose_options *opts)
{
	size_t bytes = opts->buffer ? opts->buffer : BUFFER_DEFAULT;

	if (bytes < BUFFER_MIN)
		bytes = BUFFER_MIN;
	set_target(o, opts);
	o->words = bytes / 8;
	o->buf = atc_malloc(o->words * 8);
	o->marks = atc_malloc((o->words / RECORD_MIN + 1) * sizeof(*o->marks));
	return o->buf && o->marks ? 0 : -ENOMEM;
}

void atc_out_free(struct atc_out *o)
{
	atc_free(o->buf);
	atc_free(o->marks);
}

/*
 * Corrects the counts: records after the first @keep bytes of the buffer will not be in the file.
 */
static void uncount_after(struct atc_out *o, size_t keep)
{
	while (o->nr_marks && o->marks[o->nr_marks - 1].end * 8 > keep) {
		const struct atc_mark *m = &o->marks[--o->nr_marks];

		for (size_t at = m->at; at < m->end; at += ASYNCTRACE_FXT_WORDS(o->buf[at])) {
			if (at * 8 < keep)
				continue;
			--*atc_count_of(m->ring, o->buf[at]);
			m->ring->counts.delivered--;
			m->ring->counts.unwritten++;
		}
	}
}

/* Returns the bytes of the records that lie wholly in the first @bytes of the buffer. */
static size_t whole_records(const struct atc_out *o, size_t bytes)
{
	size_t end = 0;

	while (end < o->used) {
		size_t next = end + ASYNCTRACE_FXT_WORDS(o->buf[end]);

		if (next * 8 > bytes)
			break;
		end = next;
	}
	return end * 8;
}

/* The file has @written bytes of the buffer: truncate it behind the last whole record. */
static void truncate_file(struct atc_out *o, size_t written)
{
	size_t keep = whole_records(o, written);
	struct stat st;
	off_t here;

	o->flushed += keep;
	uncount_after(o, keep);
	/* After EBADF, the descriptor's number may belong to another file. */
	if (keep == written || o->write != fd_write || o->error == -EBADF)
		return;
	if (fstat(o->fd, &st) || !S_ISREG(st.st_mode))
		return;
	here = lseek(o->fd, 0, SEEK_CUR);
	if (here < (off_t)(written - keep))
		return;
	here -= written - keep;
	if (ftruncate(o->fd, here) == 0)
		lseek(o->fd, here, SEEK_SET);
}

/*
 * A full disk may refuse a large write although a part of it would fit. The write of @len bytes
 * after the first @written bytes of the buffer returned @error. Returns the number of bytes for the
 * next attempt, which ends at the end of a record, or 0 to give up.
 */
static size_t fewer_bytes(const struct atc_out *o, size_t written, size_t len, ssize_t error)
{
	size_t end;

	if ((error != -ENOSPC && error != -EDQUOT) || len <= WRITE_MIN)
		return 0;
	end = whole_records(o, written + len / 2);
	/* The first record may be longer than a half. */
	if (end <= written)
		end = whole_records(o, written + len - 1);
	return end > written ? end - written : 0;
}

/*
 * Returns the number of bytes to write after the first @written bytes of the buffer: all of them,
 * or whole records of at most @most bytes, or the next record if it is longer. A cut record could
 * not be removed from a pipe if the following write fails.
 */
static size_t next_bytes(const struct atc_out *o, size_t written, size_t most)
{
	const size_t left = o->used * 8 - written;
	size_t end;

	if (left <= most)
		return left;
	end = whole_records(o, written + most);
	while (end <= written)
		end += ASYNCTRACE_FXT_WORDS(o->buf[end / 8]) * 8;
	return end - written;
}

int atc_out_flush(struct atc_out *o)
{
	size_t bytes = o->used * 8;
	size_t most = bytes;
	size_t written = 0;

	while (!o->error && written < bytes) {
		size_t len = next_bytes(o, written, most);
		ssize_t n = o->write(o->arg, (char *)o->buf + written, len);

		if (n > 0 && (size_t)n <= len) {
			written += n;
			continue;
		}
		most = fewer_bytes(o, written, len, n);
		if (!most)
			o->error = n < 0 ? n : -EIO;
	}
	if (written < bytes)
		truncate_file(o, written);
	else
		o->flushed += bytes;
	o->used = 0;
	o->nr_marks = 0;
	o->shut |= o->error;
	return o->error;
}

int atc_out_shut(struct atc_out *o)
{
	atc_out_flush(o);
	o->shut = true;
	return o->error;
}

int atc_out_next(struct atc_out *o, const struct at_compose_options *opts)
{
	if (atc_out_flush(o))
		return o->error;
	o->before += o->flushed;
	o->flushed = 0;
	if (opts)
		set_target(o, opts);
	return 0;
}

void atc_out_done(struct atc_out *o, size_t words)
{
	if (!o->shut)
		o->used += words;
}
