/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of the kernel's tracepoints that have the id of an operation, such as the interrupt in
 * which a driver completes a request. A command reads the trace a second time for them, because
 * it knows only after the first reading which operations it explains.
 */
#ifndef REPORT_JOINED_H
#define REPORT_JOINED_H

#include "analysis/analysis.h"

/**
 * struct joined_event - an event that belongs to an operation
 * @id: id of the operation
 * @ns: time of the event
 * @text: its name, fields and thread, for people
 * @json: the object that asynctrace dump --json prints
 */
struct joined_event {
	uint64_t id;
	uint64_t ns;
	char *text;
	char *json;
};

/* A struct filled with zeros is valid and empty. */
struct joined {
	struct joined_event *of;
	size_t nr, room;
};

/*
 * Reads the events of @nr operations from the file @path. Returns 0; -ENOMEM; or a negative errno
 * of fxt_open() or fxt_next().
 */
int joined_read(struct joined *j, const char *path, struct analysis_operation *const *ops,
		size_t nr);
/* Returns the events of an operation in order of time. *@nr: their number */
const struct joined_event *joined_of(const struct joined *j, const struct analysis_id *id,
				     size_t *nr);
void joined_free(struct joined *j);

#endif /* REPORT_JOINED_H */
