/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Items, which the engine makes of the records of a file, and their order by time: see order.c. */
#ifndef ANALYSIS_ITEM_H
#define ANALYSIS_ITEM_H

#include "analysis.h"

#define NO_NAME		UINT32_MAX
#define NO_THREAD	UINT32_MAX
#define NO_CPU		UINT16_MAX
#define STILL_OPEN	UINT64_MAX	/* the end of something that has not ended */

enum item_kind {
	ITEM_SWITCH,		/* .id: leaving thread, .other: coming thread */
	ITEM_WAKEUP,		/* .id: woken thread, .other: waker; 0: an interrupt */
	ITEM_LOSS,		/* .id: number of the loss */
	ITEM_MARK,		/* .id: number of the mark */
	ITEM_THROTTLED,		/* the quota of the cgroup .name throttled the process .pid for
				   .record ns between .ns and .id */
	ITEM_PARENT,		/* .record: parent of the operation .id, which begins next */
	ITEM_EVENT,		/* ITEM_EVENT + n: an event of type n */
};

struct item {
	uint64_t ns;
	/*
	 * Id of an operation or a flow; or end of a complete duration. If .entered, at the begin
	 * or end of a duration: operation that its thread works on from then on
	 */
	uint64_t id;
	uint64_t record;	/* event: offset of its record; switch: first argument of the
				   system call .name */
	uint8_t kind;
	bool wanted : 1;	/* begins an operation that a selection was made for */
	bool apart : 1;		/* records around it were left out: it shows nothing about
				   its thread */
	/* Has the library's argument: "parent", "operation" or "resumed". */
	bool entered : 1;
	/*
	 * The item begins or ends an operation of analysis_options.pair. Then .name is the event's
	 * category. .category is the value of the key if the value is a text, or else NO_NAME.
	 */
	bool paired : 1;
	bool inferred : 1;	/* the recorder inferred the scheduling record */
	bool has_argument : 1;	/* of a switch: .record is valid */
	/*
	 * The event's name. Of a switch: 1 + the system call or page fault that the leaving
	 * thread is in; 0: not known.
	 */
	uint32_t name;
	union {
		struct {	/* valid for events */
			uint32_t tid, pid;
			uint32_t category;
			uint32_t provider;
			uint32_t place;	/* if .entered: text of a scope's source line; or NO_NAME */
		};
		struct {	/* valid for scheduling */
			/* The operation of the leaving or woken thread; 0: none. See cells.c. */
			uint64_t operation;
			/* The operation of the incoming or waking thread; 0: none */
			uint64_t other_operation;
			uint32_t other;
			uint16_t cpu;
			uint8_t reason;		/* why the leaving thread left; 0: preempted */
			uint8_t file;		/* type of the file that .record names */
		};
	};
};

struct block;

/* Items with ascending times */
struct run {
	struct block *first, *last;
	uint64_t newest;	/* time of the run's last item */
};

/* The first item of a run, in the heap */
struct head {
	uint64_t ns;
	size_t run;
};

struct order {
	struct run *runs;
	struct head *heads;	/* a heap of the runs that are not empty */
	size_t nr_runs, room_runs, nr_heads, room_heads;
	size_t recent;		/* run of the last item that was added */
	size_t nr;		/* number of items */
	uint64_t settled;	/* time of the last item that was handed on */
};

struct analysis;

int order_add(struct analysis *a, const struct item *it);
int order_settle(struct analysis *a, uint64_t ns);
void order_free(struct order *o);

#endif /* ANALYSIS_ITEM_H */
