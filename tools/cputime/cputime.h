/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Adds to the durations of a trace the time that their threads had a CPU.
 *
 * The switches of a thread show exactly when it had a CPU, so programs need not measure CPU time.
 * But the recorder reads the rings of CPUs one after the other. So a duration may come before
 * switches that happened in it, and records wait until all these switches have been read.
 */
#ifndef CPUTIME_H
#define CPUTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fxt/fxt.h"

struct cputime;

/**
 * struct cputime_options - destination of the records. The functions return negative errnos.
 * @write: like write(2)
 * @ring: the following calls of @write have records of this ring; NULL: the caller does not need
 *	to know
 * @next_file: the following calls of @write have records of the next file
 * @arg: argument of these functions
 */
struct cputime_options {
	ssize_t (*write)(void *arg, const void *buf, size_t len);
	int (*ring)(void *arg, uint32_t provider, uint32_t ring);
	int (*next_file)(void *arg);
	void *arg;
};

/* Returns NULL if there is no memory. */
struct cputime *cputime_new(const struct cputime_options *o);
void cputime_free(struct cputime *c);
/*
 * Names the ring of the records that follow, provider 0 for the kernel's. Returns 0 or a negative
 * errno.
 */
int cputime_ring(struct cputime *c, uint32_t provider, uint32_t ring);
/*
 * Takes whole records. A record that begins a trace begins the next file. Returns 0 or a negative
 * errno: then no record was taken.
 */
int cputime_push(struct cputime *c, const uint64_t *words, size_t nr);
/*
 * Declares that all records until @ns have been pushed, and writes those that need not wait any
 * more. @missed: the session may have missed the first switches of some threads. Returns 0 or a
 * negative errno.
 */
int cputime_settle(struct cputime *c, uint64_t ns, bool missed);

typedef void (*cputime_count_fn)(void *arg, uint32_t provider, uint32_t ring,
				 enum fxt_counted kind);
/* After a failure, calls @count for each record of a ring that was pushed and not written. */
void cputime_unwritten(const struct cputime *c, cputime_count_fn count, void *arg);

/* Return the bytes of whole records in the present file, and in all files. */
uint64_t cputime_written(const struct cputime *c);
uint64_t cputime_total(const struct cputime *c);
/* Returns an upper bound of the bytes of the records that wait. */
uint64_t cputime_waiting(const struct cputime *c);
/* Returns true if records of a later file than the present one wait. */
bool cputime_is_behind(const struct cputime *c);
/* Returns an upper bound of the bytes of the last file, whose records may still wait. */
uint64_t cputime_last_file(const struct cputime *c);
/* Returns the bytes that were added to the pushed records. */
uint64_t cputime_added(const struct cputime *c);
/* Return the number of written durations with a known CPU time, and of those without. */
uint64_t cputime_known(const struct cputime *c);
uint64_t cputime_unknown(const struct cputime *c);

#endif /* CPUTIME_H */
