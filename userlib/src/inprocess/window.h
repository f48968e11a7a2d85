/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The part of the rings that the flight recorder writes: see window.c
 */
#ifndef AT_WINDOW_H
#define AT_WINDOW_H

#include <asynctrace/flight.h>

#include "inproc.h"

#pragma GCC visibility push(hidden)

/**
 * struct at_window - what is needed to write the latest part of circular rings
 * @area: where they are
 * @min_age: ns
 * @max_bytes: of rings
 * @name: of the provider
 * @begin: of each ring: what was before belongs to no window
 * @readers: of each ring
 * @began: the moment of @begin
 * @asleep: how long the system had slept by then, ns
 */
struct at_window {
	struct at_area *area;
	uint64_t min_age;
	uint64_t max_bytes;
	char name[ASYNCTRACE_NAME_MAX + 1];
	struct at_mark *begin;
	struct at_reader *readers;
	struct asynctrace_clock_pair began;
	int64_t asleep;
};

/* From the present moment on. */
void at_window_begin(struct at_window *w);
/* Has @c compose a whole file, and fills in the ledger. Needs an arena in use. */
void at_window_write(struct at_window *w, struct at_compose *c, struct at_flight_result *res);

#pragma GCC visibility pop

#endif /* AT_WINDOW_H */
