/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions of the composer for the in-process back end */
#ifndef COMPOSE_INTERNAL_H
#define COMPOSE_INTERNAL_H

#include <asynctrace/compose.h>

#pragma GCC visibility push(hidden)

/*
 * Sets functions that the composer calls before and after each write(2). @before returns the
 * descriptor to write to. If it returns a negative errno, the composer does not write, and reports
 * that error as the error of the write.
 */
void at_compose_around_writes(struct at_compose *c, int (*before)(void *arg),
			      void (*after)(void *arg), void *arg);
/*
 * Tells @c that the rings were already in use when the first clock pair was read. Records that are
 * older than that pair then get its time; otherwise they are malformed.
 */
void at_compose_join(struct at_compose *c);
/*
 * Computes the totals of at_compose_stats() without the kernel's rings. Async-signal-safe: it
 * neither allocates nor sorts.
 */
void at_compose_totals(const struct at_compose *c, struct at_compose_counts *total);

#pragma GCC visibility pop

#endif /* COMPOSE_INTERNAL_H */
