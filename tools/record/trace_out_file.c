// SPDX-License-Identifier: GPL-2.0-or-later
/* The files of a trace: their names, how they are opened, and writing to them */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/asynctrace.h>
#include <linux/asynctrace_fxt.h>

#include "tool.h"
#include "record/trace_out_file.h"

/* After each such time without room in a pipe, the recorder may say what it waits for. */
#define STALLED_MS	1000

/* Interval at which to look for the reader of a named pipe */
#define READER_MS	100

/* A write of at most this many bytes that a full disk refuses is not divided. */
#define WRITE_MIN	4096

const char *trace_out_name(const struct trace_out *o)
{
	if (!strcmp(o->path, "-"))
		return "standard output";
	return o->name[0] ? o->name : o->path;
}

/*
 * Stores the name of file @number in @name. With number 3, FILE.fxt becomes FILE.3.fxt, and
 * FILE.fxt.zst becomes FILE.3.fxt.zst. Returns false if the name is too long.
 */
static bool name_of(const struct trace_out *o, unsigned int number, char *name, size_t size)
{
	size_t len = strlen(o->path);
	const char *packed = "";

	if (!o->numbered)
		return (size_t)snprintf(name, size, "%s", o->path) < size;
	if (pack_form_of(o->path) != PACK_NONE) {
		packed = strrchr(o->path, '.');
		len = packed - o->path;
	}
	if (len > 4 && !memcmp(o->path + len - 4, ".fxt", 4))
		len -= 4;
	return (size_t)snprintf(name, size, "%.*s.%u.fxt%s", (int)len, o->path, number, packed) <
	       size;
}

/*
 * Returns the number of bytes of @buf to write at once, at most PIPE_BUF. A pipe takes up to
 * PIPE_BUF bytes as a whole or not at all, even if the writer is killed. So the result ends with a
 * whole record, unless the record is too large. Compressed data has no records.
 */
static size_t whole_records(struct trace_out *o, const void *buf, size_t len)
{
	const uint64_t *words = buf;
	size_t bytes = 0, next;

	if (o->pack)
		return len < PIPE_BUF ? len : PIPE_BUF;
	if (o->rest) {
		bytes = o->rest < PIPE_BUF ? o->rest : PIPE_BUF;
		return bytes < len ? bytes : len;
	}
	while (bytes < len) {
		next = 8 * ASYNCTRACE_FXT_WORDS(words[bytes / 8]);
		if (!next || bytes + next > PIPE_BUF || bytes + next > len)
			break;
		bytes += next;
	}
	if (bytes)
		return bytes;
	return len < PIPE_BUF ? len : PIPE_BUF;
}

/* Notes how many bytes of the last record are missing after @n bytes of @buf. */
static void note_rest(struct trace_out *o, const void *buf, size_t n)
{
	size_t at = o->rest;

	while (at < n) {
		uint64_t head;

		memcpy(&head, (const char *)buf + at, sizeof(head));
		at += 8 * ASYNCTRACE_FXT_WORDS(head);
	}
	o->rest = at - n;
}

/*
 * Writes to a pipe, socket or device. Its reader may stall, but the recorder must react to
 * signals. So each write is small enough not to block, and a signal can end the wait.
 */
static ssize_t write_out(void *arg, const void *buf, size_t len)
{
	struct trace_out *o = arg;
	struct pollfd fds[] = {
		{ .fd = o->fd, .events = POLLOUT },
		{ .fd = o->wait_fd, .events = POLLIN },
	};
	ssize_t n;

	do {
		fds[0].revents = 0;
		while (!fds[0].revents) {
			if (poll(fds, 2, STALLED_MS) < 0 && errno != EINTR)
				return -errno;
			/* A reader that takes data must not be reported as one that takes none. */
			if (!fds[0].revents && o->interrupted && o->interrupted(o->arg))
				return -EINTR;
		}
		n = write(o->fd, buf, whole_records(o, buf, len));
		/* EAGAIN: a process that shares the pipe has set O_NONBLOCK and taken the room. */
	} while (n < 0 && (errno == EINTR || errno == EAGAIN));
	if (n < 0)
		return -errno;
	if (!o->pack)
		note_rest(o, buf, n);
	return n;
}

/* Writes fewer bytes if a full disk refuses them: a part of a large write may still fit. */
static ssize_t write_file(void *arg, const void *buf, size_t len)
{
	struct trace_out *o = arg;
	ssize_t n;

	for (;;) {
		n = write(o->fd, buf, len);
		if (n >= 0)
			return n;
		if ((errno == ENOSPC || errno == EDQUOT) && len > WRITE_MIN)
			len /= 2;
		else if (errno != EINTR)
			return -errno;
	}
}

int trace_out_cannot(const struct trace_out *o, int err)
{
	tool_error("cannot write %s: %s", tool_text(trace_out_name(o)), strerror(-err));
	return err;
}

/* Puts a compressor between the composer and the file if the file's name asks for it. */
static int open_pack(struct trace_out *o, struct at_compose_options *opts)
{
	enum pack_form form = pack_form_of(o->path);

	o->pack = NULL;
	if (form == PACK_NONE)
		return 0;
	o->pack = pack_new(form, o->fd, opts->write, opts->arg);
	if (!o->pack)
		return -ENOMEM;
	opts->fd = -1;
	opts->write = pack_write;
	opts->arg = o->pack;
	return 0;
}

/* Returns the offset at which the first write(2) begins. Standard output may have contents. */
static uint64_t offset_of(int fd, const struct stat *st)
{
	const off_t here = lseek(fd, 0, SEEK_CUR);

	if (fcntl(fd, F_GETFL) & O_APPEND)
		return st->st_size;
	return here > 0 ? here : 0;
}

static bool is_pipe(const char *name)
{
	struct stat st;

	return !stat(name, &st) && S_ISFIFO(st.st_mode);
}

/*
 * Opens the file o->name. A named pipe cannot be opened before its reader: waits for that, or for a
 * signal. With --rotate, which refuses pipes, does not wait. Returns a negative errno, after a
 * message, if the file cannot be opened.
 */
static int open_named(struct trace_out *o)
{
	struct pollfd signals = { .fd = o->wait_fd, .events = POLLIN };
	int err;

	for (;;) {
		o->fd = open(o->name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666);
		if (o->fd >= 0) {
			/* Writers of trace_out_write() expect a descriptor that blocks. */
			fcntl(o->fd, F_SETFL, fcntl(o->fd, F_GETFL) & ~O_NONBLOCK);
			return 0;
		}
		err = -errno;
		if (err != -ENXIO || o->numbered || !is_pipe(o->name))
			return trace_out_cannot(o, err);
		poll(&signals, 1, READER_MS);
		if (o->interrupted && o->interrupted(o->arg)) {
			tool_error("a signal came before %s had a reader; nothing was recorded",
				   tool_text(o->name));
			return -EINTR;
		}
	}
}

int trace_out_open_file(struct trace_out *o)
{
	struct at_compose_options *opts = &o->target;
	struct stat st;
	int err;

	if (!strcmp(o->path, "-")) {
		o->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	} else if (!name_of(o, o->number, o->name, sizeof(o->name))) {
		o->name[0] = '\0';
		return trace_out_cannot(o, -ENAMETOOLONG);
	} else {
		err = open_named(o);
		if (err)
			return err;
	}
	if (o->fd < 0 || fstat(o->fd, &st))
		return trace_out_cannot(o, -errno);
	if (!S_ISREG(st.st_mode) && o->numbered) {
		tool_error("%s is not a regular file, so --rotate and snapshots cannot replace it",
			   tool_text(trace_out_name(o)));
		close(o->fd);
		o->fd = -1;
		return -EINVAL;
	}
	o->start = offset_of(o->fd, &st);
	*opts = (struct at_compose_options){ .size = sizeof(*opts), .fd = o->fd };
	if (!S_ISREG(st.st_mode)) {
		opts->fd = -1;
		opts->write = write_out;
		opts->arg = o;
	}
	if (o->continued)
		opts->flags |= ASYNCTRACE_COMPOSE_CONTINUED;
	err = open_pack(o, opts);
	if (err) {
		close(o->fd);
		o->fd = -1;
		return trace_out_cannot(o, err);
	}
	return 0;
}

ssize_t trace_out_write(void *arg, const void *buf, size_t len)
{
	struct trace_out *o = arg;

	return o->target.write ? o->target.write(o->target.arg, buf, len) :
				 write_file(o, buf, len);
}

int trace_out_close_file(struct trace_out *o)
{
	int err = close(o->fd) ? -errno : 0;

	o->fd = -1;
	return err;
}

/* Removes files until @o->keep are left. */
static void remove_files(struct trace_out *o)
{
	char name[sizeof(o->name)];

	while (o->keep && o->number - o->first >= o->keep) {
		if (name_of(o, o->first, name, sizeof(name)) && unlink(name) && errno != ENOENT)
			tool_error("cannot remove %s: %s", tool_text(name), strerror(errno));
		o->first++;
	}
}

int trace_out_leave(struct trace_out *o, struct trace_out *old)
{
	struct stat st;
	int err;

	if (!fstat(old->fd, &st))
		o->before += st.st_size;
	err = trace_out_close_file(old);
	pack_free(old->pack);
	if (err)
		trace_out_cannot(old, err);
	else
		remove_files(o);
	return err;
}
