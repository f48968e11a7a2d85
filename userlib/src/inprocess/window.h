/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The part of the rings that the flight recorder writes to a file; see window.c */
#ifndef AT_WINDOW_H
#define AT_WINDOW_H

#include <asynctrace/flight.h>

#include "inproc.h"

#pragma GCC visibility push(hidden)

/**
 * struct at_window - selection of the latest part of circular rings
 * @area: the area with the rings
 * @min_age: records of the last @min_age ns are selected, unless they exceed @max_bytes
 * @max_bytes: limit on the bytes of all rings
 * @name: name of the provider
 * @begin: state of each ring when the window began; earlier records are never written
 * @readers: a reader for each ring
 * @began: the clocks when the window began
 * @asleep: time that the system had slept before the window began, ns
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
	bool joins;	/* a trace used the same rings before the window began: the
			   composer is told by at_compose_join() */
};

/* Starts the window at the present moment. */
void at_window_begin(struct at_window *w);
/* Composes a whole file with @c, and fills in the counts. The calling thread must use an arena. */
void at_window_write(struct at_window *w, struct at_compose *c, struct at_flight_result *res);

#pragma GCC visibility pop

#endif /* AT_WINDOW_H */
