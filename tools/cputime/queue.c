// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records that wait until they can be written, in the order of the trace
 *
 * The queue remembers the ring of each record, so that records can be counted if they cannot be
 * written, and where each file begins.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/asynctrace_fxt.h>

#include "cputime/queue.h"
#include "fxt/table.h"

/* Words to write at once */
#define OUT_WORDS	(1 << 15)

/* From here on, records belong to another ring or to the next file. */
struct queue_run {
	size_t at;		/* in the buffer, words */
	size_t record;		/* index of the first record */
	struct queue_ring ring;
	bool next_file;
};

static int add_run(struct queue *q, struct queue_ring ring, bool next_file)
{
	if (!more_room(&q->runs, q->nr_runs, &q->room_runs, sizeof(*q->runs)))
		return -ENOMEM;
	q->runs[q->nr_runs++] = (struct queue_run){
		.at = q->words, .record = q->nr, .ring = ring, .next_file = next_file,
	};
	return 0;
}

/* Returns the ring of the records that were added last. */
static struct queue_ring last_ring(const struct queue *q)
{
	return q->nr_runs ? q->runs[q->nr_runs - 1].ring : q->ring;
}

int queue_ring(struct queue *q, uint32_t provider, uint32_t ring)
{
	const struct queue_ring last = last_ring(q);

	if (last.provider == provider && last.ring == ring)
		return 0;
	return add_run(q, (struct queue_ring){ provider, ring }, false);
}

int queue_next_file(struct queue *q)
{
	const int err = add_run(q, last_ring(q), true);

	q->nexts += !err;
	return err;
}

int queue_add(struct queue *q, const uint64_t *words, size_t nr)
{
	while (q->room < q->words + nr)
		if (!double_room(&q->buf, &q->room, sizeof(*q->buf)))
			return -ENOMEM;
	memcpy(q->buf + q->words, words, nr * 8);
	q->words += nr;
	return 0;
}

int queue_note(struct queue *q, enum fxt_counted counted)
{
	if (!more_room(&q->counted, q->nr, &q->room_counted, sizeof(*q->counted)))
		return -ENOMEM;
	q->counted[q->nr++] = counted;
	return 0;
}

void queue_cut(struct queue *q, size_t words, size_t nr)
{
	q->words = words;
	q->nr = nr;
}

/* --- writing ------------------------------------------------------------------------- */

/* Counts the whole records among the first @bytes bytes of .out, which were written. */
static void count_written(struct queue *q, size_t bytes)
{
	size_t at = 0, words;

	while (at < q->nr_out) {
		words = ASYNCTRACE_FXT_WORDS(q->out[at]);
		if ((at + words) * 8 > bytes)
			break;
		at += words;
		q->out_first++;
	}
	q->written += at * 8;
}

int queue_flush(struct queue *q)
{
	const size_t bytes = q->nr_out * 8;
	size_t written = 0;
	ssize_t n = 1;

	while (written < bytes && n > 0) {
		n = q->to.write(q->to.arg, (const char *)q->out + written, bytes - written);
		written += n > 0 ? n : 0;
	}
	count_written(q, written);
	q->nr_out = 0;
	return n > 0 ? 0 : n ? n : -EIO;
}

static int begin_file(struct queue *q)
{
	const int err = q->to.next_file(q->to.arg);

	if (err)
		return err;
	q->nexts--;
	q->before += q->written;
	q->written = 0;
	return 0;
}

static int begin_ring(struct queue *q, const struct queue_ring *ring)
{
	q->ring = *ring;
	return q->to.ring ? q->to.ring(q->to.arg, ring->provider, ring->ring) : 0;
}

/* Before the next record is written: begins the ring or the file that it belongs to. */
static int begin_runs(struct queue *q)
{
	int err = 0;

	while (!err && q->runs_done < q->nr_runs && q->runs[q->runs_done].at <= q->done) {
		const struct queue_run *run = &q->runs[q->runs_done];

		err = queue_flush(q);
		if (!err)
			err = run->next_file ? begin_file(q) : begin_ring(q, &run->ring);
		q->runs_done += !err;
	}
	return err;
}

static int put(struct queue *q, const uint64_t *record, size_t words)
{
	int err = 0;

	if (!q->out)
		q->out = malloc(OUT_WORDS * sizeof(*q->out));
	if (!q->out)
		return -ENOMEM;
	if (q->nr_out + words > OUT_WORDS)
		err = queue_flush(q);
	if (err)
		return err;
	memcpy(q->out + q->nr_out, record, words * 8);
	q->nr_out += words;
	return 0;
}

int queue_replace(struct queue *q, const uint64_t *record, size_t words)
{
	const size_t replaced = ASYNCTRACE_FXT_WORDS(q->buf[q->done]);
	int err = begin_runs(q);

	if (!err)
		err = put(q, record, words);
	if (err)
		return err;
	q->done += replaced;
	q->nr_done++;
	return 0;
}

int queue_write(struct queue *q, size_t end)
{
	int err = 0;

	while (q->done < end && !err) {
		const uint64_t *record = q->buf + q->done;

		err = queue_replace(q, record, ASYNCTRACE_FXT_WORDS(*record));
	}
	return err;
}

size_t queue_drop(struct queue *q)
{
	const size_t words = q->done;

	q->words -= q->done;
	q->nr -= q->nr_done;
	q->nr_runs -= q->runs_done;
	if (words) {
		memmove(q->buf, q->buf + words, q->words * sizeof(*q->buf));
		memmove(q->counted, q->counted + q->nr_done, q->nr * sizeof(*q->counted));
	}
	for (size_t i = 0; i < q->nr_runs; i++) {
		q->runs[i] = q->runs[i + q->runs_done];
		q->runs[i].at -= words;
		q->runs[i].record -= q->nr_done;
	}
	q->done = 0;
	q->nr_done = 0;
	q->runs_done = 0;
	q->out_first = 0;
	return words;
}

void queue_unwritten(const struct queue *q, cputime_count_fn count, void *arg)
{
	struct queue_ring ring = q->ring;
	size_t run = q->runs_done;

	for (size_t i = q->out_first; i < q->nr; i++) {
		for (; run < q->nr_runs && q->runs[run].record <= i; run++)
			ring = q->runs[run].ring;
		if (q->counted[i] != FXT_NOT_COUNTED)
			count(arg, ring.provider, ring.ring, q->counted[i]);
	}
}

void queue_free(struct queue *q)
{
	free(q->buf);
	free(q->counted);
	free(q->runs);
	free(q->out);
}
