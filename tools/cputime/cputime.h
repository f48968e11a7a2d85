/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Adds to the durations of a trace the time that their threads had a CPU.
 *
 * The switches of a thread tell exactly when it had a CPU. So programs need not measure it. But the
 * rings of CPUs are read one after the other: a duration is in the trace before some switches that
 * happened in it. So records wait until all switches are there.
 */
#ifndef CPUTIME_H
#define CPUTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Words by which a duration grows */
#define CPUTIME_WORDS	3

struct cputime;

/*
 * Returns NULL if there is no memory. @write: like write(2), but returns a negative errno.
 */
struct cputime *cputime_new(ssize_t (*write)(void *arg, const void *buf, size_t len), void *arg);
void cputime_free(struct cputime *c);
/* Takes whole records. Returns 0 or a negative errno. */
int cputime_push(struct cputime *c, const uint64_t *words, size_t nr);
/*
 * All records until @ns have been pushed. @missed: the session may have missed the first switches
 * of some threads. Writes the records that need not wait any more. Returns 0 or a negative errno.
 */
int cputime_settle(struct cputime *c, uint64_t ns, bool missed);
/*
 * Return the bytes of whole records that were written, and how many of these bytes were added to
 * the pushed records.
 */
uint64_t cputime_written(const struct cputime *c);
uint64_t cputime_added(const struct cputime *c);
/* Return the number of durations whose time is known, and whose time is not. */
uint64_t cputime_known(const struct cputime *c);
uint64_t cputime_unknown(const struct cputime *c);

#endif /* CPUTIME_H */
