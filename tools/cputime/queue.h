/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records that wait until they can be written, in the order of the trace */
#ifndef CPUTIME_QUEUE_H
#define CPUTIME_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cputime/cputime.h"
#include "fxt/fxt.h"

/**
 * struct queue - records that wait. Zero bytes and .to are a valid empty queue.
 * @to: destination
 * @buf: the records; words before @done have been copied to @out
 * @words: number of words in @buf
 * @room: number of words that @buf has room for
 * @counted: enum fxt_counted of each record in @buf
 * @nr: number of records in @buf
 * @room_counted: number of records that @counted has room for
 * @runs: where records of another ring or of the next file begin
 * @nr_runs: number of runs
 * @room_runs: number of runs that @runs has room for
 * @nexts: number of runs that begin a file
 * @done: number of words that have left @buf
 * @nr_done: number of records that have left @buf
 * @runs_done: number of runs that have begun
 * @ring: ring of the records in @out
 * @out: records to write at once
 * @nr_out: number of words in @out
 * @out_first: index of the first record in @out
 * @written: bytes of whole records that were written to the present file
 * @before: bytes that were written to earlier files
 */
struct queue {
	struct cputime_options to;
	uint64_t *buf;
	size_t words, room;
	uint8_t *counted;
	size_t nr, room_counted;
	struct queue_run *runs;
	size_t nr_runs, room_runs;
	size_t nexts;
	size_t done, nr_done, runs_done;
	struct queue_ring {
		uint32_t provider, ring;
	} ring;
	uint64_t *out;
	size_t nr_out, out_first;
	uint64_t written, before;
};

/* The functions return 0 or a negative errno unless stated otherwise. */

/* Set the ring, or the file, of the records that queue_add() adds next. */
int queue_ring(struct queue *q, uint32_t provider, uint32_t ring);
int queue_next_file(struct queue *q);
int queue_add(struct queue *q, const uint64_t *words, size_t nr);
/*
 * Says which count of its ring includes the next added record. Call it once for each added record,
 * in order.
 */
int queue_note(struct queue *q, enum fxt_counted counted);
/* Removes the records that were added since the queue had @words words and @nr records. */
void queue_cut(struct queue *q, size_t words, size_t nr);
/* Writes the records before the word with index @end in the buffer. */
int queue_write(struct queue *q, size_t end);
/* Writes the record @record of @words words instead of the next record of the queue. */
int queue_replace(struct queue *q, const uint64_t *record, size_t words);
int queue_flush(struct queue *q);
/* Drops records that were written. Returns the number of their words. */
size_t queue_drop(struct queue *q);
/* Calls @count for each record that a ring's count includes and that has not been written. */
void queue_unwritten(const struct queue *q, cputime_count_fn count, void *arg);
void queue_free(struct queue *q);

#endif /* CPUTIME_QUEUE_H */
