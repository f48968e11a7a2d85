/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State and functions that the parts of the check share. */
#ifndef FXT_CHECK_PRIV_H
#define FXT_CHECK_PRIV_H

#include "asyncs.h"
#include "check.h"
#include "names.h"
#include "table.h"

/* --- check_window.c: events in order of time ----------------------------------------- */

/* A context switch: thread @id leaves the CPU, and thread @tid comes. */
#define FXT_ITEM_SWITCH	0x100

struct fxt_item {
	uint64_t ns, end_ns, id;
	uint64_t offset;
	uint32_t tid, pid;
	uint32_t category, name;	/* numbers from names.h */
	uint32_t type;			/* of the event, or FXT_ITEM_SWITCH */
	uint32_t cpu;
	bool context;			/* a run of the context @id begins */
	bool inferred;			/* by the recorder */
	bool lost;			/* records were lost from @ns to @end_ns */
};

/* A duration on the stack of a thread: it has no end yet, or ends after the last event. */
struct fxt_slice {
	uint64_t begin, end, limit;
	uint64_t context;		/* the context that runs in it; 0: none */
	uint64_t offset;
	uint32_t name, category;
	bool open;
};

struct fxt_stack {
	struct fxt_slice *of;
	size_t nr, room;
};

struct fxt_expected {
	uint32_t name;
	bool cross;
	uint64_t count;
	uint64_t whole;
};

struct fxt_check {
	struct fxt_finding findings[FXT_RULE_COUNT];
	struct fxt_tally tally;
	struct fxt_reader *reader;
	int error;

	/* check_stream.c */
	struct fxt_table threads;	/* tid + 1: .a the key, .b offset of its first object */
	struct fxt_table owners;	/* tid and pid of thread objects */
	struct fxt_table processes;	/* pid + 1: .a the key, .b offset of its first object */
	struct fxt_table active;	/* tid and pid of events: .a tid << 32 | pid, .b
					   offset of the first */
	/*
	 * As .active, for events of the kernel's tracepoints. An interrupt may happen on any
	 * thread, so these threads need no scheduling records.
	 */
	struct fxt_table interrupted;
	struct fxt_table scheduled;	/* tid + 1 in scheduling records: .a the key, .b offset
					   of the first */
	struct fxt_table cpus;		/* cpu + 1: .a time of the last switch, .b running
					   thread + 1 */
	uint64_t start, end;		/* of the session, in ns; end 0: not known */
	bool started;
	bool part;			/* the session continues in other files */
	bool broke_off;			/* see fxt_broke_off() */
	bool selection;			/* the file has only what slow operations need */
	uint64_t latest, latest_offset;	/* the latest time in the file, and its record */

	/* check_window.c */
	struct fxt_item *items;
	size_t nr_items, room_items, window;
	uint64_t settled;		/* events before this time are checked */

	/* check_time.c */
	struct fxt_names names;
	struct fxt_table stacks;	/* tid, pid: .a struct fxt_stack */
	struct fxt_asyncs asyncs;	/* open async operations */
	struct fxt_table running;	/* ids of contexts */
	struct fxt_table flows;		/* id: .a id, .b offset */
	struct fxt_expected *expected;
	size_t nr_expected;

	/* check_cpus.c */
	struct fxt_table on;		/* tid + 1: .a the CPU on which the thread runs */
	struct fxt_table twice;		/* tid, cpu: .a time at which the thread came to another
					   CPU, .b offset of that record */
	uint64_t lost_until;		/* switches until then may be missing */
};

void fxt_found(struct fxt_check *c, enum fxt_rule rule, uint64_t offset, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
int fxt_stream_record(struct fxt_check *c, const struct fxt_record *rec);
int fxt_stream_end(struct fxt_check *c);
int fxt_window_add(struct fxt_check *c, const struct fxt_record *rec);
int fxt_window_switch(struct fxt_check *c, const struct fxt_record *rec);
int fxt_window_end(struct fxt_check *c);
int fxt_time_item(struct fxt_check *c, const struct fxt_item *it);
int fxt_time_end(struct fxt_check *c);
/* check_context.c: a run of a context begins, or ends */
int fxt_context_enter(struct fxt_check *c, const struct fxt_item *it);
void fxt_context_leave(struct fxt_check *c, uint64_t id);
/* check_cpus.c: a context switch, or a loss of records */
int fxt_cpus_switch(struct fxt_check *c, const struct fxt_item *it);
void fxt_cpus_loss(struct fxt_check *c, const struct fxt_item *it);
void fxt_time_free(struct fxt_check *c);

#endif /* FXT_CHECK_PRIV_H */
