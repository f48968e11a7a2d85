// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The way of a trace from the composer to its destination: filters, limits of size, the next file
 * of a series, and failures. trace_out_file.c opens and writes the files.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/asynctrace.h>
#include <linux/asynctrace_fxt.h>

#include "tool.h"
#include "record/trace_out_file.h"

/*
 * A write function: keeps records until it is known whether a slow operation needs them.
 */
static ssize_t choose(void *arg, const void *buf, size_t len)
{
	struct trace_out *o = arg;

	size_t words = tail_push(o->tail, buf, len / 8);

	return words ? (ssize_t)words * 8 : tail_error(o->tail);
}

/* A write function: keeps records until their CPU times are known. */
static ssize_t keep_for_time(void *arg, const void *buf, size_t len)
{
	struct trace_out *o = arg;
	const int err = cputime_push(o->cputime, buf, len / 8);

	return err ? err : (ssize_t)len;
}

static int ring_of_chosen(void *arg, uint32_t provider, uint32_t ring)
{
	struct trace_out *o = arg;

	return tail_source(o->tail, provider, ring);
}

/* Called when all records of the present file have their CPU times: opens the next file. */
static int next_file(void *arg)
{
	struct trace_out *o = arg, old = *o;
	int err;

	o->number++;
	err = trace_out_open_file(o);
	if (err) {
		*o = old;
		o->unopened = true;
		return err;
	}
	return trace_out_leave(o, &old);
}

/*
 * Puts the calculation of CPU times and the choice of records between the composer and the file.
 * The choice comes last, because it leaves out context switches that the calculation needs.
 */
static int open_filters(struct trace_out *o, struct at_compose_options *opts)
{
	struct cputime_options times = {
		.write = trace_out_write, .next_file = next_file, .arg = o,
	};

	if (o->slow.nr_bounds) {
		o->slow.write = trace_out_write;
		o->slow.arg = o;
		o->tail = tail_new(&o->slow);
		if (!o->tail)
			return -ENOMEM;
		opts->write = choose;
		times.write = choose;
		times.ring = ring_of_chosen;
	}
	if (o->cpu_time) {
		o->cputime = cputime_new(&times);
		if (!o->cputime)
			return -ENOMEM;
		opts->write = keep_for_time;
	}
	if (o->tail || o->cputime) {
		opts->fd = -1;
		opts->arg = o;
	}
	return 0;
}

/*
 * Returns a bound of the bytes in the file for a chunk. An event grows by a word if its thread
 * does not fit into the table, which is rare. The CPU time of a duration takes as much as its
 * shortest record. A context switch may need two inferred ones.
 */
static uint64_t room_for(const struct trace_out *o, uint64_t bytes, bool sched)
{
	return sched ? 4 * bytes : bytes + bytes / 3 + (o->cpu_time ? bytes : 0);
}

int trace_out_open(struct trace_out *o)
{
	struct at_compose_options opts;
	int err;

	o->fd = -1;
	err = trace_out_open_file(o);
	opts = o->target;
	if (!err && open_filters(o, &opts))
		err = trace_out_cannot(o, -ENOMEM);
	if (err)
		return err;
	o->largest = room_for(o, o->chunk, false);
	o->compose = at_compose_new(&opts);
	return o->compose ? 0 : trace_out_cannot(o, -errno);
}

/* Returns @err if it is not 0, or else the failure of the filter behind the composer. */
static int filter_error(const struct trace_out *o, int err)
{
	return err || !o->tail ? err : tail_error(o->tail);
}

/*
 * Returns true if all that the composer has made was written. Its error is another one then: there
 * was no memory for some records or names.
 */
static bool all_written(const struct trace_out *o)
{
	return !filter_error(o, at_compose_flush(o->compose));
}

/* Reports that writing failed, the length of the valid part, and the consequence. */
static void fail(struct trace_out *o, int err)
{
	const char *name = tool_text(trace_out_name(o));
	uint64_t bytes = o->tail ? tail_written(o->tail) :
			 o->cputime ? cputime_written(o->cputime) : at_compose_written(o->compose);
	const char *unit = o->pack ? " of the unpacked trace" : "";
	const char *why = err == -EINTR ? "its reader takes no more data, and a signal ended the wait" :
					  strerror(-err);

	o->failed = true;
	if (o->unopened)
		tool_error("%s is complete; %s", name, o->ends);
	else if (bytes)
		tool_error("cannot write %s: %s; %s. The first %s%s are valid; the end is missing",
			   name, why, o->ends, tool_size(bytes), unit);
	else
		tool_error("cannot write %s: %s; %s. Nothing was written", name, why, o->ends);
}

static void cannot_continue(const struct trace_out *o, int err)
{
	tool_error("cannot continue %s: %s; %s. It has the records before",
		   tool_text(trace_out_name(o)), strerror(-err), o->ends);
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
	o->reported = err;
	at_compose_next(o->compose, NULL);
	if (all_written(o))
		cannot_continue(o, err);
	else
		fail(o, err);
	return err;
}

int trace_out_flush(struct trace_out *o)
{
	int err = at_compose_flush(o->compose);

	if (!err && o->tail)
		tail_flush(o->tail);
	return trace_out_check(o, filter_error(o, err));
}

int trace_out_settle(struct trace_out *o, uint64_t ns)
{
	int err;

	if (!o->cputime || o->over)
		return 0;
	err = at_compose_flush(o->compose);
	if (!err)
		err = cputime_settle(o->cputime, ns, o->missed);
	return trace_out_check(o, filter_error(o, err));
}

int trace_out_end(struct trace_out *o)
{
	int err = o->over ? 0 : trace_out_check(o, at_compose_next(o->compose, NULL));

	o->over = true;
	return err;
}

/*
 * Begins the composer's next file. Its records wait in o->cputime until those of the present file
 * are written. Then next_file() opens it.
 */
static int rotate_later(struct trace_out *o)
{
	const struct at_compose_options opts = {
		.size = sizeof(opts), .fd = -1, .write = keep_for_time, .arg = o,
		.flags = o->target.flags,
	};

	return trace_out_check(o, at_compose_next(o->compose, &opts));
}

int trace_out_rotate(struct trace_out *o)
{
	struct trace_out old = *o;
	int err, late;

	if (o->over)
		return 0;
	if (o->cputime)
		return rotate_later(o);
	o->number++;
	err = trace_out_open_file(o);
	if (err) {
		*o = old;
		/* Only the next file failed: this one is complete. */
		trace_out_end(o);
		tool_error("%s is complete; %s", tool_text(trace_out_name(o)), o->ends);
		return err;
	}
	err = at_compose_next(o->compose, &o->target);
	/* After -ENOMEM the new file is in use, but names are missing. */
	if (err && err != -ENOMEM) {
		trace_out_close_file(o);
		unlink(o->name);
		pack_free(o->pack);
		*o = old;
		return trace_out_check(o, err);
	}
	late = trace_out_leave(o, &old);
	if (late) {
		trace_out_end(o);
		return late;
	}
	return trace_out_check(o, err);
}

/* Returns an upper bound of the size of the composer's present file, if nothing is added. */
static uint64_t size_now(const struct trace_out *o)
{
	uint64_t bytes = at_compose_written(o->compose);

	if (o->cputime && cputime_is_behind(o->cputime))
		return cputime_last_file(o->cputime);
	if (o->cputime)
		bytes = cputime_written(o->cputime) + cputime_waiting(o->cputime);
	return o->pack ? pack_stored(o->pack) + bytes - pack_taken(o->pack) : bytes;
}

/* Returns an upper bound of the size of all files, if nothing is added. */
static uint64_t size_of_all(const struct trace_out *o)
{
	uint64_t bytes;

	if (!o->cputime || !cputime_is_behind(o->cputime))
		return o->before + size_now(o);
	bytes = o->pack ? pack_stored(o->pack) : cputime_written(o->cputime);
	return o->before + bytes + cputime_waiting(o->cputime);
}

bool trace_out_full(const struct trace_out *o)
{
	return o->max_size && !o->over &&
	       size_of_all(o) + o->largest + TRACE_OUT_RESERVE > o->max_size;
}

uint64_t trace_out_unpacked(const struct trace_out *o)
{
	if (o->tail)
		return tail_written(o->tail);
	return o->cputime ? cputime_total(o->cputime) :
			    at_compose_stats(o->compose)->written;
}

uint64_t trace_out_stored(const struct trace_out *o)
{
	return o->pack ? o->before + pack_stored(o->pack) : trace_out_unpacked(o);
}

int trace_out_ring(struct trace_out *o, uint32_t provider, uint32_t ring)
{
	int err;

	if (!o->tail && !o->cputime)
		return 0;
	/*
	 * The filters assign all records that the composer writes to the ring named last. So first
	 * write the buffered records of the previous ring.
	 */
	err = at_compose_flush(o->compose);
	if (!err)
		err = o->cputime ? cputime_ring(o->cputime, provider, ring) :
				   tail_source(o->tail, provider, ring);
	/* End the composer's file, so that the composer counts the records as unwritten. */
	if (err)
		at_compose_next(o->compose, NULL);
	return err;
}

/* Adds a chunk for filters, which need to know the ring of its records. */
static int filter_chunk(struct trace_out *o, const struct asynctrace_chunk *chunk,
			const void *payload)
{
	int err = trace_out_ring(o, chunk->provider, chunk->ring), more;

	more = at_compose_chunk(o->compose, chunk, payload);
	err = err ? err : more;
	more = at_compose_flush(o->compose);
	more = filter_error(o, more);
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
	room = room_for(o, chunk->bytes, chunk->kind == ASYNCTRACE_CHUNK_SCHED);
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
	if (o->tail || o->cputime)
		return trace_out_check(o, filter_chunk(o, chunk, payload));
	return trace_out_check(o, at_compose_chunk(o->compose, chunk, payload));
}

/*
 * After @err, cuts off a partial record: it would make the file invalid. @bytes: those of whole
 * records
 */
static void cut(const struct trace_out *o, int err, uint64_t bytes)
{
	const uint64_t whole = o->start + bytes;
	struct stat st;

	if (err && !o->pack && o->fd >= 0 && !fstat(o->fd, &st) && S_ISREG(st.st_mode) &&
	    (uint64_t)st.st_size > whole && ftruncate(o->fd, whole))
		tool_error("cannot cut %s after its last whole record: %s; asynctrace validate will report it",
			   tool_text(trace_out_name(o)), strerror(errno));
}

/* Writes the rest, and reports to the composer which of the records are not in the file. */
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

static void count_unwritten(void *arg, uint32_t provider, uint32_t ring, enum fxt_counted kind)
{
	const struct at_compose_counts none = { 0 }, one = {
		.events = kind == FXT_COUNTED_EVENT, .switches = kind == FXT_COUNTED_SWITCH,
		.wakeups = kind == FXT_COUNTED_WAKEUP,
	};
	struct trace_out *o = arg;

	at_compose_left_out(o->compose, provider, ring, &none, &one);
}

static int finish_cputime(struct trace_out *o)
{
	int err = cputime_settle(o->cputime, UINT64_MAX, o->missed);

	if (err)
		cputime_unwritten(o->cputime, count_unwritten, o);
	if (!o->tail)
		cut(o, err, cputime_written(o->cputime));
	return err;
}

int trace_out_finish(struct trace_out *o, bool goes_on)
{
	int late = 0, more = 0, closed = 0;

	if (!o->compose)
		return 0;
	if (!o->over)
		late = goes_on ? at_compose_next(o->compose, NULL) :
				 at_compose_finish(o->compose);
	o->over = true;
	if (o->tail || o->cputime) {
		int tail;

		more = o->cputime ? finish_cputime(o) : 0;
		tail = o->tail ? finish_tail(o) : 0;
		more = more ? more : tail;
		/* Do not report a failure twice. */
		late = late ? late : o->failed || more == o->reported ? 0 : more;
	}
	if (o->fd >= 0)
		closed = trace_out_close_file(o);
	if (late) {
		if (!more && all_written(o))
			cannot_continue(o, late);
		else
			fail(o, late);
		return late;
	}
	if (!closed || o->failed)
		return closed;
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
