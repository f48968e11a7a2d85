/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Times in which the session was stopped: pauses.c */
#ifndef COMPOSE_PAUSES_H
#define COMPOSE_PAUSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/asynctrace.h>

/* Records may be missing from @stop to @start, ns. */
struct atc_pause {
	uint64_t stop, start;
};

struct atc_pauses {
	struct atc_pause *of;	/* in order of time */
	size_t nr, room;
	uint64_t known;		/* time of the last clock pair until which the session ran, ns */
	bool stopped;		/* since @known */
};

#pragma GCC visibility push(hidden)

/* Takes a moment of the session at @ns, one of enum asynctrace_moment. Returns 0 or -ENOMEM. */
int atc_pauses_take(struct atc_pauses *p, uint32_t what, uint64_t ns);

/*
 * Is a stop missing before a start? @what: a moment that atc_pauses_take() has not taken yet. The
 * kernel drops moments of a full log.
 */
static inline bool atc_pauses_lack_stop(const struct atc_pauses *p, uint32_t what)
{
	return what == ASYNCTRACE_MOMENT_START && p->known && !p->stopped;
}

/* Same as atc_pause_between(), but slower. */
const struct atc_pause *atc_pause_search(const struct atc_pauses *p, uint64_t from, uint64_t to);

/* Returns the first pause that ends after @from and not after @to, ns, or NULL. */
static inline const struct atc_pause *atc_pause_between(const struct atc_pauses *p, uint64_t from,
							uint64_t to)
{
	/* Most records come after the last pause. */
	if (!p->nr || from >= p->of[p->nr - 1].start)
		return NULL;
	return atc_pause_search(p, from, to);
}

/* Returns the time of the last start after a stop, ns. 0: the session was not stopped. */
static inline uint64_t atc_pauses_end(const struct atc_pauses *p)
{
	return p->nr ? p->of[p->nr - 1].start : 0;
}

#pragma GCC visibility pop

#endif /* COMPOSE_PAUSES_H */
