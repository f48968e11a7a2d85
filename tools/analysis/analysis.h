/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The engine tells where the time of each operation went. It reads a trace once, record
 * by record, and hands out rows of tables. It prints nothing. asynctrace-why(1) describes
 * the terms.
 *
 * All times are nanoseconds of CLOCK_BOOTTIME. Pointers in a row are valid until the
 * function that got the row returns, unless a comment says otherwise.
 */
#ifndef ANALYSIS_H
#define ANALYSIS_H

#include "fxt/fxt.h"

/* In the order of preference: an operation has the first state that one of its threads has. */
enum analysis_state {
	ANALYSIS_RUNNING,	/* a thread that works on the operation has a CPU */
	ANALYSIS_UNKNOWN,	/* records that would tell are not there */
	ANALYSIS_RUNNABLE,	/* a thread that works on it waits for a CPU */
	ANALYSIS_BLOCKED,	/* all threads that work on it sleep */
	ANALYSIS_QUEUED,	/* no thread works on it */
	ANALYSIS_STATES
};

enum analysis_reason {
	ANALYSIS_NO_REASON,
	ANALYSIS_PREEMPTED,	/* runnable: the thread lost the CPU and could go on */
	ANALYSIS_WOKEN,		/* runnable: the thread was woken */
	ANALYSIS_SLEEP,		/* blocked: a sleep that signals can end */
	ANALYSIS_DISK,		/* blocked: a sleep that signals cannot end, mostly a disk */
	ANALYSIS_STOPPED,	/* blocked: by a signal or a debugger */
	ANALYSIS_EXITED,	/* blocked: the thread has ended */
	ANALYSIS_LOST,		/* unknown: records were lost */
	ANALYSIS_UNSCHEDULED,	/* unknown: the trace has no scheduling of the thread */
	ANALYSIS_DROPPED,	/* unknown: the engine's limit of memory was too small */
	ANALYSIS_REASONS
};

/* The word for it, as in "blocked"; never NULL */
const char *analysis_state_name(enum analysis_state state);
/* The word for it, as in "preempted"; "" for ANALYSIS_NO_REASON */
const char *analysis_reason_name(enum analysis_reason reason);

/* A thread of the trace. Valid until analysis_free(). */
struct analysis_thread {
	uint32_t tid, pid;	/* pid 0: no record tells */
	const char *name;	/* the last that the trace tells; "" if none */
	/*
	 * All its switches and wakeups are recorded. Of other threads there are only some: it is
	 * known that they ran from a switch in to a switch out, and nothing else.
	 */
	bool followed;
};

/* The names of an operation. In rows of other operations: which one is meant. */
struct analysis_id {
	const char *provider;	/* of the begin; "" if the trace names none */
	const char *category, *name;
	uint64_t id;
	const char *key;	/* the text that is the id, instead of .id; or NULL */
	uint32_t pid;		/* of the begin */
};

enum analysis_other {
	ANALYSIS_OTHER_NONE,	/* nothing is known */
	ANALYSIS_OTHER_THREAD,	/* .other */
	ANALYSIS_OTHER_IDLE,	/* the CPU was idle */
	ANALYSIS_OTHER_INTERRUPT,	/* an interrupt: a timer, a device, the network */
	ANALYSIS_OTHER_HIDDEN,	/* tasks that the trace does not show */
};

/*
 * A part of an operation's life. The intervals of an operation follow each other without
 * a gap, from its begin to its end. So do those of its critical path.
 */
struct analysis_interval {
	uint64_t from, to;
	enum analysis_state state;
	enum analysis_reason reason;
	bool inferred;		/* the state follows from a later record, not from one at @from */
	/* The thread in that state; queued: the one that works on the operation next. Or NULL */
	const struct analysis_thread *thread;
	const char *duration;	/* innermost of @thread at @from; "" if none */
	/*
	 * runnable: who had the CPU; blocked: who woke @thread;
	 * queued: none, @other_id is what @thread worked on meanwhile
	 */
	enum analysis_other other_kind;
	const struct analysis_thread *other;
	const struct analysis_id *other_id;	/* what @other worked on; NULL: nothing known */
};

struct analysis_operation {
	struct analysis_id id;
	uint64_t begin, end;	/* end: of the trace if the operation is incomplete */
	bool complete;		/* the trace has begin and end */
	/* More records were needed to tell what some of its threads did, and were not waited for. */
	bool hasty;
	uint64_t begin_record;	/* .offset of the record; so is end_record, if it is complete */
	uint64_t end_record;
	uint64_t ns[ANALYSIS_STATES];	/* their sum is end - begin */
	const struct analysis_thread **threads;	/* that worked on it, each once */
	size_t nr_threads;
	const struct analysis_interval *intervals;
	size_t nr_intervals;
	/* In order of time; of no incomplete operation */
	const struct analysis_interval *path;
	size_t nr_path;
};

/* Records of a ring that the trace does not have */
struct analysis_loss {
	uint64_t from, to;	/* they were lost between these */
	const char *provider;
	const char *ring;
	uint64_t dropped, overwritten, malformed;
};

/*
 * A thread that scheduling records tell of. .ns adds up to .to - .from - .exited_ns. Counts are
 * of records; they leave out what the recorder concluded from others. Of a thread that is not
 * followed, only running time is known.
 */
struct analysis_thread_row {
	const struct analysis_thread *thread;
	uint64_t from;		/* its state is known, or known to be lost, from then on */
	uint64_t to;		/* the end of the trace */
	uint64_t exited_ns;	/* it did not exist: it had ended */
	uint64_t ns[ANALYSIS_STATES];	/* queued: 0 */
	uint64_t reason_ns[ANALYSIS_REASONS];	/* the same by reason; and exited */
	uint64_t inferred_ns;	/* of .ns: the state follows from a later record */
	uint64_t voluntary;	/* times that it left a CPU because it had to wait */
	uint64_t preempted;	/* times that it left a CPU and could have gone on */
	uint64_t migrations;	/* times that it came to another CPU than the one before */
	uint64_t wakeups, wakes;	/* of it, by it */
};

/* A wakeup record. Rows come when the woken thread ran, so not in order of time. */
struct analysis_wakeup {
	uint64_t ns;
	enum analysis_other waker_kind;	/* thread, interrupt or hidden */
	const struct analysis_thread *waker, *woken;
	unsigned int cpu;	/* that the woken thread is to run on */
	bool slept;		/* the wakeup ended a sleep */
	bool awake;		/* it did not; neither: the records until then do not tell */
	bool ran;		/* a record tells when the thread ran after the sleep */
	uint64_t latency_ns;	/* until then; true only of threads that are followed */
	const struct analysis_id *waker_id, *woken_id;	/* what they worked on; NULL: not known */
};

/* A thread was runnable until it got a CPU. True only of threads that are followed. */
struct analysis_wait {
	const struct analysis_thread *thread;
	uint64_t from, to;
	unsigned int cpu;	/* that it got */
	enum analysis_reason reason;	/* preempted, woken; none: from before the first record */
	bool cut;		/* it began before the thread's first record, or in a loss */
	/* Divided by who had the CPU, from begin to end without a gap */
	const struct analysis_interval *parts;
	size_t nr_parts;
};

/*
 * What a thread did from the end of one sleep to the end of the next one. A sleep is a time in
 * which it was blocked, or in which records do not tell its state. Rows with .woken come in
 * order of .to. In the end comes a row of each thread's last turn.
 */
struct analysis_turn {
	const struct analysis_thread *thread;
	uint64_t from;		/* the sleep before ended, or the thread's first record came */
	uint64_t sleep;		/* it slept, or the trace ended */
	uint64_t to;		/* the sleep, or the trace, ended */
	enum analysis_reason reason;	/* of the sleep; none: the trace ended before it slept */
	bool woken;		/* a wakeup ended the sleep */
	enum analysis_other waker_kind;	/* thread, interrupt or hidden, if .woken */
	const struct analysis_thread *waker;
	uint64_t running_ns;	/* it ran from .from to .sleep, and was followed */
	/* An operation that it worked on, or of which it wrote an event; NULL: none is known */
	const struct analysis_id *id;
};

/* An operation began. Rows come in order of time. */
struct analysis_begin {
	struct analysis_id id;
	uint64_t ns;
	const struct analysis_thread *thread;
};

enum analysis_orphan_kind {
	/* Of an operation: */
	ANALYSIS_END_ALONE,	/* it ends, but did not begin */
	ANALYSIS_BEGIN_ALONE,	/* it begins, but does not end */
	ANALYSIS_BEGUN_AGAIN,	/* it begins, but is open already */
	ANALYSIS_STEP_ALONE,	/* an async instant; no operation with the id is open */
	ANALYSIS_FLOW_ALONE,	/* a flow event on a thread without an open duration */
	/* Of a duration: */
	ANALYSIS_DURATION_END_ALONE,
	ANALYSIS_DURATION_BEGIN_ALONE,
	ANALYSIS_DURATION_MISMATCH,	/* it ends by another name than it began with */
	ANALYSIS_ORPHANS
};

/* The words for it; never NULL */
const char *analysis_orphan_name(enum analysis_orphan_kind kind);

/* An event that lacks its counterpart. A loss of records may be the reason. */
struct analysis_orphan {
	enum analysis_orphan_kind kind;
	uint64_t ns;
	const struct analysis_thread *thread;
	bool has_id;		/* .id.id and .id.key are valid */
	struct analysis_id id;	/* names; "" if they are not known */
};

struct analysis_totals {
	uint64_t begin, end;	/* of the trace */
	uint64_t records;
	uint64_t complete, incomplete;	/* operations */
	uint64_t orphans;	/* ends without begin */
	uint64_t switches, wakeups;
	uint64_t unkeyed;	/* events of the pair whose argument is no integer and no text */
	uint64_t losses;	/* rows */
	uint64_t late;		/* records that came too late to be put in order */
	uint64_t unnamed;	/* names for which there was no room */
	uint64_t context;	/* operations that a file of slow ones has only for others' sake */
	bool selection;		/* the trace has only what slow operations need */
	uint64_t cut;		/* operations whose beginning was not kept in memory */
	bool scheduled;		/* the trace has scheduling records */
};

/*
 * Tables, and what a caller needs to know who keeps a part of the trace. NULL: not wanted.
 * Records are named by their .offset. A result that is not 0 ends the analysis, which returns it.
 */
struct analysis_sink {
	int (*operation)(void *arg, const struct analysis_operation *op);
	int (*loss)(void *arg, const struct analysis_loss *loss);
	int (*thread)(void *arg, const struct analysis_thread_row *row);	/* after all others */
	int (*wakeup)(void *arg, const struct analysis_wakeup *wakeup);
	int (*wait)(void *arg, const struct analysis_wait *wait);
	int (*turn)(void *arg, const struct analysis_turn *turn);
	int (*begin)(void *arg, const struct analysis_begin *begin);
	int (*orphan)(void *arg, const struct analysis_orphan *orphan);
	/* An operation of which analysis_horizon() made an end: no times and intervals are known. */
	int (*left_out)(void *arg, const struct analysis_operation *op);
	/* The event @record says what its thread works on until @ns, or ANALYSIS_ONGOING */
	void (*lasts)(void *arg, uint64_t record, uint64_t ns);
	/* @end, at @ns, ends the duration or operation that @begin began. Both may be the same. */
	void (*ends)(void *arg, uint64_t begin, uint64_t end, uint64_t ns);
	/*
	 * A duration of the thread @tid ended, and with it one within that by its own record lasts
	 * longer. So what the thread works on depends on durations that have ended.
	 */
	void (*crossed)(void *arg, uint32_t tid);
	void *arg;
};

#define ANALYSIS_ONGOING	UINT64_MAX

/*
 * Operations from an event .start to an event .done whose argument .key has the same value,
 * an integer or a text. Events are named as "take" or "app/take". A duration counts as .start
 * when it begins, and as .done when it ends. A second .start before .done begins anew: the
 * operation of the first one is incomplete. The operation has the category of .start. The
 * texts are valid until analysis_finish(), .name until analysis_free().
 */
struct analysis_pair {
	const char *name;	/* of the operations */
	const char *start, *done, *key;
};

/* Zeros are the defaults. */
struct analysis_options {
	const struct analysis_pair *pair;	/* NULL: async events are operations */
	/*
	 * Records that are put in order of time at a time, at 48 bytes each; default
	 * 1 million. A trace has records in the order in which rings were read.
	 */
	size_t window;
	/* Scheduling that is kept for open operations, at 56 bytes each; default 1 million */
	size_t history;
	/* Keep what was so many nanoseconds before an operation, for analysis_needs(). */
	uint64_t lead;
	/*
	 * For traces without an end: bytes of different names, beyond which they are "..."; open
	 * operations, beyond which the oldest are left out; 0: no limit. With a limit of names,
	 * threads that have ended are forgotten, and are valid only until then.
	 */
	size_t names, open;
	/*
	 * No paths in rows, and intervals only of incomplete operations, which are not divided by
	 * who had the CPU and by what a thread worked on meanwhile: they take half of the time.
	 */
	bool totals_only;
	/*
	 * An operation that has ended waits for a record that tells what its threads did at its
	 * end. analysis_settle() hands it out without, after that many ns. 0: never. Such a trace
	 * is read once: late records are not kept for analysis_again().
	 */
	uint64_t patience;
};

struct analysis;

/* NULL: no memory */
struct analysis *analysis_new(const struct analysis_options *opts,
			      const struct analysis_sink *sink);
/* The next record of the trace. 0 or a negative errno. */
int analysis_record(struct analysis *a, const struct fxt_record *rec);
/* No record before @ns is missing: hand out what ended before. */
int analysis_settle(struct analysis *a, uint64_t ns);
/*
 * Call @row for open operations as if they ended at @ns, which is not before the last
 * settled time: what is known of them so far. They stay open. Rows have intervals, also with
 * totals_only, and no path. Only operations with the id and the begin of @which; NULL: all, the
 * oldest first. A result of @row that is not 0 ends the call, which returns it.
 */
int analysis_peek(struct analysis *a, const struct analysis_operation *which, uint64_t ns,
		  int (*row)(void *arg, const struct analysis_operation *op), void *arg);
/* No more records come: hand out what has ended. Open operations stay for analysis_peek(). */
int analysis_end(struct analysis *a);
/*
 * The caller does not want operations that began at @ns or before. Those that only wait for the
 * state of a thread are handed out now; others are left out when they end.
 */
int analysis_horizon(struct analysis *a, uint64_t ns);
/* The trace is over: hand out the rest, incomplete operations included. */
int analysis_finish(struct analysis *a);
/*
 * Begin anew with the same options and the same trace. Records that came too late to be put in
 * order are in order then, 2 million of them at most. Frees @a, so threads and names in rows of
 * @a are gone. NULL if no record came late, if this is the second reading, or without memory;
 * then @a stays.
 */
struct analysis *analysis_again(struct analysis *a);
const struct analysis_totals *analysis_totals(const struct analysis *a);
void analysis_free(struct analysis *a);

/* --- what an answer depends on ----------------------------------------------------------- */

/* The state of a thread right before a moment, as far as it was known then */
struct analysis_thread_state {
	uint32_t tid;
	bool known;		/* there is a state; else only .first_seen */
	enum analysis_state state;
	enum analysis_reason reason;
	uint32_t cpu;		/* ANALYSIS_NO_CPU: not known */
	const char *duration;	/* innermost when the state began; NULL: none */
	bool inferred;
	bool pending, seen;	/* the next record tells what this is; an event saw it running */
	bool woken;		/* a wakeup came while it ran */
	bool followed;		/* all its switches are recorded */
	uint64_t lost_until;	/* records that would tell may be missing until then; or 0 */
	uint64_t first_seen;	/* its first event, if it had no scheduling record; or 0 */
};

/* A CPU that a thread waited for, and who had it at .from */
struct analysis_cpu_state {
	unsigned int cpu;
	uint64_t from, to;
	uint32_t tid;		/* ANALYSIS_NO_THREAD: not known */
};

struct analysis_other_operation {
	uint64_t begin_record, end_record;	/* end: 0 if it has not ended */
};

#define ANALYSIS_NO_CPU		UINT16_MAX
#define ANALYSIS_NO_THREAD	UINT32_MAX

struct analysis_needs {
	uint64_t until;		/* no later record was looked at */
	uint64_t losses_from;	/* losses from then on matter */
	const struct analysis_thread_state *threads;
	const struct analysis_cpu_state *cpus;
	const struct analysis_other_operation *operations;
	size_t nr_threads, nr_cpus, nr_operations;
};

/*
 * Fill @needs with the threads, CPUs and other operations that the row @op depends on. All
 * records of these threads from @from on are needed; @from is not after the operation's begin.
 * Only the sink's operation() may call this. @needs is valid until operation() returns.
 */
int analysis_needs(struct analysis *a, const struct analysis_operation *op, uint64_t from,
		   struct analysis_needs *needs);

#endif /* ANALYSIS_H */
