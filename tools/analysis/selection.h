/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Marks: instants of the file that say what a thread or a CPU did at some time, because the file
 * lacks the records that would show it.
 */
#ifndef ANALYSIS_SELECTION_H
#define ANALYSIS_SELECTION_H

#include "thread.h"

enum mark_kind {
	MARK_THREAD,		/* the state of a thread */
	MARK_CPU,		/* the thread that has a CPU */
	MARK_WORK,		/* what a thread works on */
	MARK_OPERATION,		/* a thread entered an operation */
	MARK_EXIT,		/* a thread exited */
	MARK_READ,		/* the recorder has read the state of a thread */
};

/* A mark that waits for its time */
struct mark {
	enum mark_kind kind;
	struct span span;	/* of a thread */
	uint64_t first_seen;	/* of a thread */
	uint64_t operation;
	uint64_t begin;		/* of the operation; MARK_WORK: of the newest one with that id */
	bool followed;		/* of a thread */
	bool entered, shown;	/* MARK_WORK: see struct analysis_thread_state. .entered:
				   .operation and .begin are valid */
	uint64_t since, read;	/* MARK_READ: state_since and read_from in asynctrace(5) */
	bool exact;		/* records of an earlier file show the state since .since */
	uint32_t tid;
	uint16_t cpu;
};

struct marks {
	struct mark *of;
	size_t nr, room, nr_waiting;
};

/* Handles an instant of the recorder's pseudo thread "clock", which may be a mark. */
int selection_record(struct analysis *a, const struct fxt_record *rec);
int selection_item(struct analysis *a, const struct item *it);
int add_mark(struct analysis *a, uint64_t ns, const struct mark *m);
/* True if @rec, an async begin, begins an operation that the selection was made for. */
bool selection_wants(struct analysis *a, const struct fxt_record *rec);
/* True if records around @rec were left out, so it shows nothing about its thread. */
bool selection_apart(const struct fxt_record *rec);
/* Sets the state of the thread or CPU of @m right before @ns. */
int scheduling_mark(struct analysis *a, uint64_t ns, const struct mark *m);
/* Handles a mark that the recorder has read the state of a thread. */
int scheduling_read(struct analysis *a, const struct mark *m);

/* Sets what the thread of @m worked on right before @ns. */
int cells_mark(struct analysis *a, uint64_t ns, const struct mark *m);

#endif /* ANALYSIS_SELECTION_H */
