// SPDX-License-Identifier: GPL-2.0-or-later
/* The destination of a trace: a file, a series of files, or a pipe */
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
#include "record/trace_out.h"

const char *trace_out_name(const struct trace_out *o)
{
	if (!strcmp(o->path, "-"))
		return "standard output";
	return o->name[0] ? o->name : o->path;
}

/*
 * Makes FILE.3.fxt of FILE.fxt and 3, and FILE.3.fxt.zst of FILE.fxt.zst. Returns false if the
 * name is too long.
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
 * Returns the number of bytes of @buf to write at once. A pipe takes up to PIPE_BUF bytes as a
 * whole or not at all, even if the writer is killed. So these are the whole records in the
 * first PIPE_BUF bytes, or a piece of a larger record. Compressed data has no records.
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

	while (!fds[0].revents) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return -errno;
		if (o->interrupted && o->interrupted(o->arg) && !fds[0].revents)
			return -EINTR;
	}
	do {
		n = write(o->fd, buf, whole_records(o, buf, len));
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (!o->pack)
		note_rest(o, buf, n);
	return n;
}

static ssize_t write_file(void *arg, const void *buf, size_t len)
{
	struct trace_out *o = arg;
	ssize_t n;

	do {
		n = write(o->fd, buf, len);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/*
 * A write function for the composer: keeps records until it is known that a slow operation
 * needs them.
 */
static ssize_t choose(void *arg, const void *buf, size_t len)
{
	struct trace_out *o = arg;

	size_t words = tail_push(o->tail, buf, len / 8);

	return words ? (ssize_t)words * 8 : tail_error(o->tail);
}

/* Puts the choice of records between the composer and the file. */
static int open_tail(struct trace_out *o, struct at_compose_options *opts)
{
	o->slow.write = opts->write ? opts->write : write_file;
	o->slow.arg = opts->write ? opts->arg : o;
	o->tail = tail_new(&o->slow);
	if (!o->tail)
		return -ENOMEM;
	opts->fd = -1;
	opts->write = choose;
	opts->arg = o;
	return 0;
}

/* A write function for the composer: keeps records until their CPU times are known. */
static ssize_t keep_for_time(void *arg, const void *buf, size_t len)
{
	struct trace_out *o = arg;
	const int err = cputime_push(o->cputime, buf, len / 8);

	return err ? err : (ssize_t)len;
}

/* Puts the calculation of CPU times between the composer and the file. */
static int open_cputime(struct trace_out *o, struct at_compose_options *opts)
{
	o->cputime = cputime_new(opts->write ? opts->write : write_file,
				 opts->write ? opts->arg : o);
	if (!o->cputime)
		return -ENOMEM;
	opts->fd = -1;
	opts->write = keep_for_time;
	opts->arg = o;
	return 0;
}

static int cannot(const struct trace_out *o, int err)
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

/* Opens the file of @o->number, and fills @opts for it. */
static int open_file(struct trace_out *o, struct at_compose_options *opts)
{
	sigset_t blocked;
	struct stat st;
	int err;

	if (!strcmp(o->path, "-")) {
		o->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	} else if (!name_of(o, o->number, o->name, sizeof(o->name))) {
		o->name[0] = '\0';
		return cannot(o, -ENAMETOOLONG);
	} else {
		/*
		 * open() of a named pipe waits for its reader. The default action of a signal
		 * must end that.
		 */
		sigprocmask(SIG_SETMASK, o->mask, &blocked);
		/*
		 * With --rotate, a named pipe is refused below, so open() must not wait for its
		 * reader.
		 */
		o->fd = open(o->name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC |
				      (o->numbered ? O_NONBLOCK : 0), 0666);
		err = errno;
		sigprocmask(SIG_SETMASK, &blocked, NULL);
		errno = err;
	}
	if (o->fd < 0 || fstat(o->fd, &st))
		return cannot(o, -errno);
	if (!S_ISREG(st.st_mode) && o->numbered) {
		tool_error("%s is not a regular file, so --rotate and snapshots cannot replace it",
			   tool_text(trace_out_name(o)));
		close(o->fd);
		o->fd = -1;
		return -EINVAL;
	}
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
		return cannot(o, err);
	}
	return 0;
}

/*
 * Returns a bound of the bytes in the file for a chunk. An event grows by a word if its thread
 * does not fit into the table, which is rare. A context switch may need two inferred ones.
 */
static uint64_t room_for(uint64_t bytes, bool sched)
{
	return sched ? 4 * bytes : bytes + bytes / 3;
}

int trace_out_open(struct trace_out *o)
{
	struct at_compose_options opts;
	int err;

	o->fd = -1;
	if (o->numbered && !strcmp(o->path, "-")) {
		tool_error("standard output cannot be rotated; use -o FILE");
		return -EINVAL;
	}
	if (o->numbered && o->path[strlen(o->path) - 1] == '/') {
		tool_error("'%s' is a directory: name a file, to whose name numbers are appended", tool_text(o->path));
		return -EISDIR;
	}
	err = open_file(o, &opts);
	if (!err && o->slow.nr_bounds && open_tail(o, &opts))
		err = cannot(o, -ENOMEM);
	if (!err && o->cpu_time && open_cputime(o, &opts))
		err = cannot(o, -ENOMEM);
	if (err)
		return err;
	o->largest = room_for(o->chunk, false);
	/* From now on, signals must not end the process with a partial record. */
	o->mask = NULL;
	o->compose = at_compose_new(&opts);
	return o->compose ? 0 : cannot(o, -errno);
}

/* Reports that writing failed, the length of the valid part, and the consequence. */
static void fail(struct trace_out *o, int err)
{
	const char *name = tool_text(trace_out_name(o));
	uint64_t bytes = o->tail ? tail_written(o->tail) :
			 o->cputime ? cputime_written(o->cputime) : at_compose_written(o->compose);
	const char *unit = o->pack ? " of the unpacked trace" : "";
	const char *why = err == -EINTR ? "it has no reader, and a second signal ended the wait" :
					  strerror(-err);

	o->failed = true;
	if (bytes)
		tool_error("cannot write %s: %s; %s. The first %s%s are valid; the end is missing",
			   name, why, o->ends, tool_size(bytes), unit);
	else
		tool_error("cannot write %s: %s; %s. Nothing was written", name, why, o->ends);
}

/* Handles the result of a write: prints a message if it failed. */
int trace_out_check(struct trace_out *o, int err)
{
	if (!err || err == -EPROTO)	/* the chunk was skipped; the summary counts it */
		return 0;
	if (o->over)
		return 0;
	/* Write the buffered records, unless writing failed. */
	o->over = true;
	if (at_compose_next(o->compose, NULL) || (o->tail && tail_error(o->tail)))
		fail(o, err);
	else
		tool_error("cannot continue %s: %s; %s. It has the records before",
			   tool_text(trace_out_name(o)), strerror(-err), o->ends);
	return err;
}

int trace_out_flush(struct trace_out *o)
{
	int err = at_compose_flush(o->compose);

	if (!err && o->tail) {
		tail_flush(o->tail);
		err = tail_error(o->tail);
	}
	return trace_out_check(o, err);
}

int trace_out_settle(struct trace_out *o, uint64_t ns)
{
	int err;

	if (!o->cputime || o->over)
		return 0;
	err = at_compose_flush(o->compose);
	if (!err)
		err = cputime_settle(o->cputime, ns, o->missed);
	return trace_out_check(o, err);
}

int trace_out_end(struct trace_out *o)
{
	int err = o->over ? 0 : trace_out_check(o, at_compose_next(o->compose, NULL));

	o->over = true;
	return err;
}

static int close_file(struct trace_out *o)
{
	int err = close(o->fd) ? -errno : 0;

	o->fd = -1;
	return err;
}

int trace_out_rotate(struct trace_out *o)
{
	struct at_compose_options opts;
	struct trace_out old = *o;
	char name[sizeof(o->name)];
	struct stat st;
	int err, late;

	if (o->over)
		return 0;
	o->number++;
	err = open_file(o, &opts);
	if (err) {
		*o = old;
		/* Only the next file failed: this one is complete. */
		trace_out_end(o);
		tool_error("%s is complete; %s", tool_text(trace_out_name(o)), o->ends);
		return err;
	}
	err = at_compose_next(o->compose, &opts);
	/* After -ENOMEM the new file is in use, but names are missing. */
	if (err && err != -ENOMEM) {
		close_file(o);
		unlink(o->name);
		pack_free(o->pack);
		*o = old;
		return trace_out_check(o, err);
	}
	if (!fstat(old.fd, &st))
		o->before += st.st_size;
	late = close_file(&old);
	pack_free(old.pack);
	if (late) {
		cannot(&old, late);
		trace_out_end(o);
		return late;
	}
	if (err)
		return trace_out_check(o, err);
	while (o->keep && o->number - o->first >= o->keep) {
		if (name_of(o, o->first, name, sizeof(name)) && unlink(name) && errno != ENOENT)
			tool_error("cannot remove %s: %s", tool_text(name), strerror(errno));
		o->first++;
	}
	return 0;
}

/* Returns a bound of the size of the current file, if nothing is added. */
static uint64_t size_now(const struct trace_out *o)
{
	uint64_t bytes = at_compose_written(o->compose);

	if (o->cputime)
		bytes += cputime_added(o->cputime);
	return o->pack ? pack_stored(o->pack) + bytes - pack_taken(o->pack) : bytes;
}

bool trace_out_full(const struct trace_out *o)
{
	return o->max_size && !o->over &&
	       o->before + size_now(o) + o->largest + TRACE_OUT_RESERVE > o->max_size;
}

uint64_t trace_out_unpacked(const struct trace_out *o)
{
	if (o->cputime)
		return cputime_written(o->cputime);
	return o->tail ? tail_written(o->tail) : at_compose_stats(o->compose)->written;
}

uint64_t trace_out_stored(const struct trace_out *o)
{
	return o->pack ? o->before + pack_stored(o->pack) : trace_out_unpacked(o);
}

/* The records' ring is known only because the composer buffers nothing between chunks. */
static int choose_chunk(struct trace_out *o, const struct asynctrace_chunk *chunk,
			const void *payload)
{
	int err = tail_source(o->tail, chunk->provider, chunk->ring), more;

	/* In its final state, the composer counts the records as unwritten. */
	if (err)
		at_compose_next(o->compose, NULL);
	more = at_compose_chunk(o->compose, chunk, payload);
	err = err ? err : more;
	more = at_compose_flush(o->compose);
	if (!more)
		more = tail_error(o->tail);
	return more ? more : err;
}

int trace_out_chunk(struct trace_out *o, const void *buffer, size_t got)
{
	const struct asynctrace_chunk *chunk = buffer;
	uint64_t written = size_now(o), room;
	const char *payload;
	int err;

	if (got < sizeof(*chunk) || chunk->size + (size_t)chunk->bytes != got) {
		tool_error("the module returned an invalid chunk; please report this");
		return -EPROTO;
	}
	payload = (const char *)buffer + chunk->size;
	room = room_for(chunk->bytes, chunk->kind == ASYNCTRACE_CHUNK_SCHED);
	if (room > o->largest)
		o->largest = room;
	room += TRACE_OUT_RESERVE;
	if (o->rotate && written + room > o->rotate && written > TRACE_OUT_RESERVE) {
		err = trace_out_rotate(o);
		/* Feed the composer, which counts the records but does not write any more. */
		if (err) {
			at_compose_chunk(o->compose, chunk, payload);
			return err;
		}
	}
	if (o->tail)
		return trace_out_check(o, choose_chunk(o, chunk, payload));
	return trace_out_check(o, at_compose_chunk(o->compose, chunk, payload));
}

/* After @err, cuts off a partial record: it would make the file invalid. */
static void cut(const struct trace_out *o, int err, uint64_t whole)
{
	struct stat st;

	if (err && !o->pack && o->fd >= 0 && !fstat(o->fd, &st) && S_ISREG(st.st_mode) &&
	    (uint64_t)st.st_size > whole && ftruncate(o->fd, whole))
		tool_error("cannot cut %s after its last whole record: %s; asynctrace validate will report it",
			   tool_text(trace_out_name(o)), strerror(errno));
}

/* Reports to the composer which of the records are not in the file. */
static int finish_tail(struct trace_out *o)
{
	int err = tail_finish(o->tail);
	size_t nr;
	const struct tail_source *s = tail_sources(o->tail, &nr);

	for (size_t i = 0; i < nr; i++, s++)
		at_compose_left_out(o->compose, s->provider, s->ring, &(struct at_compose_counts){
			.events = s->filtered.events, .switches = s->filtered.switches,
			.wakeups = s->filtered.wakeups,
		}, &(struct at_compose_counts){
			.events = s->unwritten.events, .switches = s->unwritten.switches,
			.wakeups = s->unwritten.wakeups,
		});
	cut(o, err, tail_written(o->tail));
	return err;
}

static int finish_cputime(struct trace_out *o)
{
	int err = cputime_settle(o->cputime, UINT64_MAX, o->missed);

	cut(o, err, cputime_written(o->cputime));
	return err;
}

int trace_out_finish(struct trace_out *o, bool goes_on, int err)
{
	int late = 0, closed = 0;

	if (!o->compose)
		return err;
	if (!o->over)
		late = goes_on ? at_compose_next(o->compose, NULL) :
				 at_compose_finish(o->compose);
	o->over = true;
	if (o->tail || o->cputime) {
		int more = o->tail ? finish_tail(o) : finish_cputime(o);

		/* Do not report a failure twice. */
		late = late ? late : err || o->failed ? 0 : more;
	}
	if (o->fd >= 0)
		closed = close_file(o);
	if (err || (!late && !closed))
		return err;
	if (late) {
		fail(o, late);
		return late;
	}
	o->failed = true;
	tool_error("closing %s failed: %s; data may be missing",
		   tool_text(trace_out_name(o)), strerror(-closed));
	return closed;
}

void trace_out_free(struct trace_out *o)
{
	at_compose_free(o->compose);
	o->compose = NULL;
	tail_free(o->tail);
	o->tail = NULL;
	cputime_free(o->cputime);
	o->cputime = NULL;
	pack_free(o->pack);
	o->pack = NULL;
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
}
