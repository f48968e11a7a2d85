/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The engine computes where the time of each operation went. It reads a trace once, record by
 * record, and passes rows of tables to callbacks. It prints nothing. asynctrace-why(1) defines
 * the terms.
 *
 * All times are nanoseconds of CLOCK_BOOTTIME. Pointers in a row are valid until the callback
 * returns, unless a comment says otherwise.
 */
#ifndef ANALYSIS_H
#define ANALYSIS_H

#include "fxt/fxt.h"

/*
 * If the threads of an operation have different states, the operation has the one that comes first
 * here.
 */
enum analysis_state {
	ANALYSIS_RUNNING,	/* a thread that works on the operation has a CPU */
	ANALYSIS_UNKNOWN,	/* records that would determine the state are missing */
	ANALYSIS_RUNNABLE,	/* a thread that works on it waits for a CPU */
	ANALYSIS_BLOCKED,	/* all threads that work on it sleep, or exited while they did */
	ANALYSIS_QUEUED,	/* no thread works on it */
	ANALYSIS_STATES
};

enum analysis_reason {
	ANALYSIS_NO_REASON,
	ANALYSIS_PREEMPTED,	/* runnable: the thread lost the CPU and could go on */
	ANALYSIS_YIELDED,	/* runnable: the thread gave the CPU away, with sched_yield() */
	ANALYSIS_WOKEN,		/* runnable: the thread was woken */
	ANALYSIS_SLEEP,		/* blocked: a sleep that signals can end */
	ANALYSIS_DISK,		/* blocked: a sleep that signals cannot end, mostly a disk */
	ANALYSIS_IOWAIT,	/* blocked: the thread waits for block I/O */
	ANALYSIS_STOPPED,	/* blocked: by a signal or a debugger */
	ANALYSIS_EXITED,	/* blocked: the thread has ended */
	ANALYSIS_LOST,		/* unknown: records were lost */
	ANALYSIS_UNSCHEDULED,	/* unknown: the trace has no scheduling of the thread */
	ANALYSIS_DROPPED,	/* unknown: the engine's limit of memory was too small */
	ANALYSIS_REASONS
};

/* Returns the name of a state, such as "blocked"; never NULL. */
const char *analysis_state_name(enum analysis_state state);
/* Returns the name of a reason, such as "preempted"; "" for ANALYSIS_NO_REASON. */
const char *analysis_reason_name(enum analysis_reason reason);

/* A thread of the trace. Valid until analysis_free(). */
struct analysis_thread {
	uint32_t tid, pid;	/* pid 0: not known */
	const char *name;	/* the last name in the trace; "" if there is none */
	uint32_t generation;	/* tells it from other threads that had this id */
	/*
	 * All switches and wakeups of the thread are recorded, from some time on. Before that, and
	 * if the thread is not followed, only the times from a switch in to a switch out are known.
	 */
	bool followed;
	uint64_t followed_at;	/* that time */
};

/* Returns a key that no other thread has, and that is not 0. */
static inline uint64_t analysis_thread_key(const struct analysis_thread *t)
{
	return ((uint64_t)t->generation << 32) + t->tid + 1;
}

/* The names of an operation, which tell it from others */
struct analysis_id {
	const char *provider;	/* provider of the begin; "" if the trace names none */
	const char *category, *name;
	uint64_t id;
	const char *key;	/* the id if it is a text, instead of .id; or NULL */
	uint32_t pid;		/* process of the begin */
};

enum analysis_other {
	ANALYSIS_OTHER_NONE,	/* nothing is known */
	ANALYSIS_OTHER_THREAD,	/* .other */
	ANALYSIS_OTHER_IDLE,	/* the CPU was idle */
	ANALYSIS_OTHER_INTERRUPT,	/* an interrupt, such as a timer, a device or the network */
	ANALYSIS_OTHER_HIDDEN,	/* tasks that the trace does not show */
};

#define ANALYSIS_PAGE_FAULT	"page fault"

/*
 * A part of an operation's life. The intervals of an operation follow each other without a gap,
 * from its begin to its end. The intervals of its critical path do so, too.
 */
struct analysis_interval {
	uint64_t from, to;
	enum analysis_state state;
	enum analysis_reason reason;
	bool inferred;		/* concluded from a later record, not from one at @from */
	/*
	 * The thread in that state. If the operation is queued: the thread that works on it next.
	 * NULL: none is known
	 */
	const struct analysis_thread *thread;
	const char *duration;	/* innermost duration of .thread at .from; "" if none */
	/*
	 * blocked: the system call in which .thread is, ANALYSIS_PAGE_FAULT, or "" if the trace
	 * does not tell
	 */
	const char *in;
	uint64_t argument;	/* the first one of the system call, if .has_argument */
	bool has_argument;
	uint8_t file;		/* ASYNCTRACE_FXT_FILE_*, if .argument is a descriptor */
	/*
	 * runnable: the thread that had the CPU; blocked: the waker of .thread; queued: none,
	 * .other_id is the operation that .thread worked on meanwhile
	 */
	enum analysis_other other_kind;
	const struct analysis_thread *other;
	const struct analysis_id *other_id;	/* operation that .other worked on; NULL: not
						   known */
	bool part;		/* queued: .other_id is a part of this operation, or of its parts */
	size_t joined;		/* with .grouped: number of intervals that this one stands for;
				   0: it stands for itself */
	/*
	 * runnable: a cgroup of .thread's process that was throttled meanwhile, because it had used
	 * up its CPU quota; NULL: none is known. .throttled_ns is an upper limit of the time for
	 * which .thread waited for the quota. The trace does not have the exact time.
	 */
	const char *cgroup;
	uint64_t throttled_ns;
};

struct analysis_operation {
	struct analysis_id id;
	uint64_t parent;	/* id of the operation that it is part of; 0: none, or unknown */
	const struct analysis_thread *creator;	/* the thread that began it */
	uint64_t begin, end;	/* .end: the end of the trace if the operation is incomplete */
	bool complete;		/* the trace has begin and end */
	/*
	 * The part of it that began last and is open; or NULL. Only rows of analysis_peek() for
	 * one operation have it, and with .open_parts of the options those of incomplete
	 * operations.
	 */
	const struct analysis_id *open_part;
	/*
	 * The row was handed out before records arrived that determine the state of some
	 * threads.
	 */
	bool hasty;
	uint64_t begin_record;	/* .offset of the begin record; .end_record likewise, if complete */
	uint64_t end_record;
	uint64_t ns[ANALYSIS_STATES];	/* their sum is end - begin */
	const struct analysis_thread **threads;	/* each thread that worked on the operation, once */
	size_t nr_threads;
	const struct analysis_interval *intervals;
	size_t nr_intervals;
	/* In order of time; empty if the operation is incomplete */
	const struct analysis_interval *path;
	size_t nr_path;
};

/* A loss of records of one ring */
struct analysis_loss {
	uint64_t from, to;	/* the lost records lie between these times */
	const char *provider;
	const char *ring;
	uint64_t dropped, overwritten, malformed;
};

/*
 * A thread with scheduling records. The sum of .ns is .to - .from - .exited_ns. Counts are of
 * real records: switches that the recorder inferred are left out. Before the thread was followed,
 * only running time is known.
 */
struct analysis_thread_row {
	const struct analysis_thread *thread;
	uint64_t from;		/* the thread is known to exist from then on: from the list of
				   threads in the trace, or from its first record or event */
	uint64_t to;		/* the end of the trace */
	uint64_t exited_ns;	/* time after the thread ended */
	uint64_t ns[ANALYSIS_STATES];	/* queued: 0 */
	uint64_t reason_ns[ANALYSIS_REASONS];	/* the time of .ns and .exited_ns, by reason */
	uint64_t inferred_ns;	/* part of .ns with an inferred state */
	uint64_t throttled_ns;	/* upper limit of the runnable time in which the thread waited
				   for the CPU quota of a cgroup */
	uint64_t voluntary;	/* times that the thread left a CPU in order to wait */
	uint64_t preempted;	/* times that the thread left a CPU although it was runnable */
	uint64_t migrations;	/* times that the thread came to another CPU than before */
	uint64_t wakeups, wakes;	/* wakeups of the thread; wakeups by the thread */
	struct analysis_interval last;	/* the state at the end; .thread NULL: not known */
};

/*
 * A wakeup record. Its row is handed out when the woken thread runs, so rows are not in order
 * of time.
 */
struct analysis_wakeup {
	uint64_t ns;
	enum analysis_other waker_kind;	/* thread, interrupt or hidden */
	const struct analysis_thread *waker, *woken;
	unsigned int cpu;	/* the woken thread is to run there */
	bool slept;		/* the wakeup ended a sleep */
	bool awake;		/* the thread was awake. If neither is set, the records until
				   then do not show whether it slept. */
	bool ran;		/* the trace has the record of when the thread ran */
	bool exact;		/* the woken thread was followed at .ns, so no record is missing */
	uint64_t latency_ns;	/* from .ns to running */
	const struct analysis_id *waker_id, *woken_id;	/* operations that they worked on;
							   NULL: not known */
};

/* The time from becoming runnable to getting a CPU */
struct analysis_wait {
	const struct analysis_thread *thread;
	uint64_t from, to;
	unsigned int cpu;	/* the CPU that the thread got */
	enum analysis_reason reason;	/* preempted, yielded or woken; none: the trace does
					   not show how the wait began */
	bool cut;		/* the wait began before the thread's first record, or in a loss */
	bool exact;		/* the thread was followed at .from, so no record is missing */
	/* The wait divided by the thread that had the CPU, without a gap */
	const struct analysis_interval *parts;
	size_t nr_parts;
};

/*
 * The actions of a thread from the end of one sleep to the end of the next one. A sleep is a
 * time in which the thread was blocked, or in which its state is unknown. Rows with .woken come
 * in order of .to. Rows of the threads' last turns come at the end.
 */
struct analysis_turn {
	const struct analysis_thread *thread;
	uint64_t from;		/* the previous sleep ended, or the thread's first record */
	uint64_t sleep;		/* the thread fell asleep, or the trace ended */
	uint64_t to;		/* the sleep, or the trace, ended */
	enum analysis_reason reason;	/* of the sleep; none: the trace ended first */
	bool woken;		/* a wakeup ended the sleep */
	enum analysis_other waker_kind;	/* thread, interrupt or hidden, if .woken */
	const struct analysis_thread *waker;
	bool exact;		/* the thread was followed at .from, so no record is missing */
	uint64_t running_ns;	/* running time from .from to .sleep while the thread was
				   followed */
	/* An operation that the thread worked on, or wrote an event of; NULL: not known */
	const struct analysis_id *id;
};

/* The begin of an operation. Rows come in order of time. */
struct analysis_begin {
	struct analysis_id id;
	uint64_t ns;
	const struct analysis_thread *thread;
};

enum analysis_orphan_kind {
	/* Events of operations: */
	ANALYSIS_END_ALONE,	/* an end without a begin */
	ANALYSIS_BEGIN_ALONE,	/* a begin without an end */
	ANALYSIS_BEGUN_AGAIN,	/* a begin while the operation is already open */
	ANALYSIS_STEP_ALONE,	/* an async instant without an open operation of that id */
	ANALYSIS_FLOW_ALONE,	/* a flow event on a thread without an open duration */
	/* Events of durations: */
	ANALYSIS_DURATION_END_ALONE,
	ANALYSIS_DURATION_BEGIN_ALONE,
	ANALYSIS_DURATION_MISMATCH,	/* an end with another name than the begin */
	ANALYSIS_ORPHANS
};

/* Returns the words for a kind; never NULL. */
const char *analysis_orphan_name(enum analysis_orphan_kind kind);

/* An event without its counterpart. A loss of records may be the reason. */
struct analysis_orphan {
	enum analysis_orphan_kind kind;
	uint64_t ns;
	const struct analysis_thread *thread;
	bool has_id;		/* .id.id and .id.key are valid */
	struct analysis_id id;	/* "" for names that are not known */
};

/*
 * Time in a scope or a region of a program (asynctrace/operation.h). The thread worked on an
 * operation, or on none.
 */
struct analysis_region {
	const struct analysis_thread *thread;
	uint64_t operation;	/* id; 0: none */
	const char *category, *name;
	const char *place;	/* in the source, "file.c:12"; "" if the trace names none */
	/* .to of a scope that did not end: the end of its thread, or of the trace */
	uint64_t from, to;
	uint64_t self_ns;	/* the part of this time outside of scopes within this one */
	bool complete;
	unsigned int depth;	/* scopes of the same operation around it */
	/*
	 * Begin of the innermost scope around it that has the same category, name and place;
	 * UINT64_MAX: there is none
	 */
	uint64_t same_from;
};

enum analysis_note_kind {
	ANALYSIS_NOTE_LOG,	/* .text is the message */
	ANALYSIS_NOTE_INSTANT,
	ANALYSIS_NOTE_FOLLOWS,	/* .cause: id of an operation that is a reason for this one */
};

/*
 * A moment of an operation. Rows come in the order of the file. Texts are valid until
 * analysis_free().
 */
struct analysis_note {
	enum analysis_note_kind kind;
	uint32_t tid;		/* its name is final at the end: see analysis_thread_at() */
	uint64_t operation;	/* id; 0: none */
	uint64_t ns;
	const char *category, *name, *text;
	uint64_t cause;
};

/*
 * Limit of nested durations on a thread, because an endless trace may have any number of begins
 * without ends. Durations inside of these are left out and counted.
 */
#define ANALYSIS_DEPTH_MAX	4096
/*
 * Limit of open operations with one id, such as phases of a request. An event of the id counts as
 * work on the newest of them only, because otherwise the time of the analysis could grow with the
 * square of their number.
 */
#define ANALYSIS_SAME_ID_MAX	64

struct analysis_totals {
	/* Begin and end of the trace. It ends when its session was stopped for the last time. */
	uint64_t begin, end;
	uint64_t records;
	uint64_t complete, incomplete;	/* operations */
	uint64_t orphans;	/* ends of operations without a begin */
	uint64_t switches, wakeups;
	uint64_t unkeyed;	/* events of the pair that have no key, or whose key is neither a
				   number nor a text */
	uint64_t losses;	/* number of rows of losses */
	uint64_t lost;		/* records that were dropped or overwritten */
	uint64_t malformed;
	uint64_t filled;	/* number of losses without times, if the trace has none with times:
				   a provider's buffer was full */
	uint64_t unreal;	/* operations that were left out, because they begin on a thread
				   whose id Linux cannot give */
	uint64_t stopped_ns;	/* time from stops of the session until it was started again */
	uint64_t throttled;	/* number of cgroups that were throttled */
	uint64_t tracepoints;	/* number of events of the kernel's tracepoints */
	uint64_t late;		/* records that came too late to be sorted by time */
	uint64_t unnamed;	/* names that exceeded the limit .names */
	uint64_t context;	/* operations that are not slow, in a file of slow operations */
	bool selection;		/* the trace has only the records that slow operations need */
	uint64_t deep;		/* durations that were left out: see ANALYSIS_DEPTH_MAX */
	uint64_t crowded;	/* operations that an event of their id left out: see
				   ANALYSIS_SAME_ID_MAX */
	uint64_t cut;		/* operations whose early history was dropped from memory */
	bool scheduled;		/* the trace has scheduling records */
};

/*
 * Callbacks for rows of tables, and for callers that keep a part of the trace. NULL: the caller
 * does not want those rows. Records are identified by their .offset. A callback's result that
 * is not 0 ends the analysis, which returns it.
 */
struct analysis_sink {
	int (*operation)(void *arg, const struct analysis_operation *op);
	/*
	 * Called before .operation, with the names and times of @op. If it returns false, the row
	 * is as with .totals_only of struct analysis_options. NULL: all rows are whole.
	 */
	bool (*whole)(void *arg, const struct analysis_operation *op);
	int (*loss)(void *arg, const struct analysis_loss *loss);
	/* Called at the end of the analysis, once for each thread. */
	int (*thread)(void *arg, const struct analysis_thread_row *row);
	int (*wakeup)(void *arg, const struct analysis_wakeup *wakeup);
	int (*wait)(void *arg, const struct analysis_wait *wait);
	int (*turn)(void *arg, const struct analysis_turn *turn);
	int (*begin)(void *arg, const struct analysis_begin *begin);
	int (*orphan)(void *arg, const struct analysis_orphan *orphan);
	int (*region)(void *arg, const struct analysis_region *region);
	/* The records must have all their arguments: fxt_without_args() was not called. */
	int (*note)(void *arg, const struct analysis_note *note);
	/*
	 * An operation that analysis_horizon() excluded. Its times and intervals are not known.
	 */
	int (*left_out)(void *arg, const struct analysis_operation *op);
	/*
	 * The event @record determines what its thread works on until @ns. ANALYSIS_ONGOING: the
	 * end is not known yet, and a later call may report it.
	 */
	void (*lasts)(void *arg, uint64_t record, uint64_t ns);
	/*
	 * The record @end, at @ns, ends the duration or operation that @begin began. @end is
	 * @begin if no end is awaited any more, because the engine left out the duration or
	 * operation. @end is 0 if the duration's thread exited at @ns.
	 */
	void (*ends)(void *arg, uint64_t begin, uint64_t end, uint64_t ns);
	/* Called for the first thread that enters the operation that @begin began, at @ns. */
	void (*entered)(void *arg, uint64_t begin, uint64_t ns);
	/*
	 * The scopes of the thread @tid do not nest properly: a duration ended before one inside of
	 * it, or the operation after the end of a scope is not that of the scope around it. So from
	 * now on, the records of durations that have ended are needed to know what the thread works
	 * on. A caller that keeps a part of the trace must keep them.
	 */
	void (*crossed)(void *arg, uint32_t tid);
	void *arg;
};

#define ANALYSIS_ONGOING	UINT64_MAX

/*
 * Makes operations of pairs: from an event .start to an event .done whose argument .key has the
 * same value, an integer or a text. Events are named as "take" or "app/take". A duration counts
 * as .start when it begins, and as .done when it ends. If a second .start comes before .done,
 * the first operation stays incomplete. The operation has the category of .start. The texts
 * must be valid until analysis_finish(), .name until analysis_free().
 */
struct analysis_pair {
	const char *name;	/* name of the operations */
	const char *start, *done, *key;
};

/* A field that is 0 has its default. */
struct analysis_options {
	const struct analysis_pair *pair;	/* NULL: async events are operations */
	/*
	 * Number of records sorted by time at once, at 56 bytes each; default 1 million. A
	 * trace has records in the order in which rings were read.
	 */
	size_t window;
	/*
	 * Number of entries of history that are kept for open operations: states of threads,
	 * switches of CPUs, and times in which threads work on operations. Each takes 16 to 72
	 * bytes; default 1 million
	 */
	size_t history;
	/* Keep this many nanoseconds of history before each operation, for analysis_needs(). */
	uint64_t lead;
	/*
	 * Limits for traces without an end; 0: no limit. .names: bytes of different names;
	 * names beyond it become "...". .open: open operations; beyond it the oldest are left
	 * out. With a limit of names, threads that have ended are freed, so pointers to them
	 * are valid only until then.
	 */
	size_t names, open;
	/*
	 * Leave out paths, and intervals of complete operations. Do not divide the other
	 * intervals by the thread that had the CPU or by what a thread worked on meanwhile.
	 * Without paths and divisions, the analysis takes half of the time.
	 */
	bool totals_only;
	/*
	 * Join the intervals of an operation that was queued for a thread if the operations that
	 * the thread worked on meanwhile have the same name. These intervals are not in order of
	 * time; only their lengths are true. Of .other_id, only .name is set. This is for callers
	 * that add up the time of many operations. analysis_peek() must not be used.
	 */
	bool grouped;
	/*
	 * Set .open_part of incomplete operations. Each such row takes time in proportion to the
	 * number of operations that are open at the end.
	 */
	bool open_parts;
	/*
	 * An operation that has ended waits for the record that determines what its threads did
	 * at its end. After this many ns, analysis_settle() hands it out without that record.
	 * 0: wait without limit. If it is not 0, late records are not kept, so the trace cannot
	 * be read again by analysis_again().
	 */
	uint64_t patience;
};

struct analysis;

/* Returns NULL if there is no memory. */
struct analysis *analysis_new(const struct analysis_options *opts,
			      const struct analysis_sink *sink);
/* Takes the next record of the trace. Returns 0 or a negative errno. */
int analysis_record(struct analysis *a, const struct fxt_record *rec);
/*
 * Declares that no later record has a time before @ns. Hands out operations that ended before.
 */
int analysis_settle(struct analysis *a, uint64_t ns);
/*
 * Calls @row for open operations as if they ended at @ns, which must not be before the last
 * settled time. The operations stay open. Rows have intervals, also with .totals_only, but no
 * path. @which: only the operation with its id and begin; NULL: all, the oldest first. A result
 * of @row that is not 0 ends the call, which returns it.
 */
int analysis_peek(struct analysis *a, const struct analysis_operation *which, uint64_t ns,
		  int (*row)(void *arg, const struct analysis_operation *op), void *arg);
/*
 * Declares that no more records come: operations that have ended are handed out. Open ones stay
 * for analysis_peek().
 */
int analysis_end(struct analysis *a);
/*
 * Excludes operations that began at @ns or before. If such an operation has ended and waits for the
 * state of a thread, it is handed out now. If it is open, it is left out when it ends.
 */
int analysis_horizon(struct analysis *a, uint64_t ns);
/* Ends the analysis: all other operations are handed out, incomplete ones included. */
int analysis_finish(struct analysis *a);
/*
 * Prepares a second reading of the same trace with the same options, in which records that came
 * too late (2 million at most) are in order of time. Frees @a, and with it threads and names of
 * its rows. Returns NULL and keeps @a if no record came late, if this is the second reading, or
 * if there is no memory.
 */
struct analysis *analysis_again(struct analysis *a);
const struct analysis_totals *analysis_totals(const struct analysis *a);
/* Returns the thread that had the id @tid at @ns, or NULL if the records so far do not have it. */
const struct analysis_thread *analysis_thread_at(const struct analysis *a, uint32_t tid,
						 uint64_t ns);
void analysis_free(struct analysis *a);

/* --- what an answer depends on ----------------------------------------------------------- */

/* The state of a thread right before @from of analysis_needs(), by the records before @from */
struct analysis_thread_state {
	uint32_t tid;
	bool known;		/* the state is known; otherwise only .first_seen, .followed,
				   .shown, .entered, .operation and .newest are valid */
	enum analysis_state state;
	enum analysis_reason reason;
	uint32_t cpu;		/* ANALYSIS_NO_CPU: not known */
	const char *duration;	/* innermost when the state began; NULL: none */
	const char *in;		/* see struct analysis_interval; NULL: not known */
	uint64_t argument;
	bool has_argument;
	uint8_t file;
	bool inferred;
	bool pending, seen;	/* pending: the next record determines the state; seen: an
				   event proves that the thread was running */
	bool woken;		/* a wakeup came while it ran */
	bool followed;		/* all its switches are recorded */
	bool entered;		/* it has entered an operation, or left one */
	bool shown;		/* a scheduling record has had the id of the thread's operation,
				   with or without an event that entered it */
	uint64_t operation;	/* id of its operation, if .entered; 0: it works on none */
	uint64_t newest;	/* begin of the newest operation with the id .operation that it
				   works on; 0: it works on none */
	uint64_t lost_until;	/* until this time, records that determine the state may be
				   missing; 0: none are missing */
	uint64_t first_seen;	/* time of the first event, if the thread had no scheduling
				   record; or 0 */
};

/* A CPU that a thread waited for, and the thread that had it at .from */
struct analysis_cpu_state {
	unsigned int cpu;
	uint64_t from, to;
	uint32_t tid;		/* ANALYSIS_NO_THREAD: not known */
};

struct analysis_other_operation {
	uint64_t begin_record, end_record;	/* end_record: 0 if the operation has not ended */
};

#define ANALYSIS_NO_CPU		UINT16_MAX
#define ANALYSIS_NO_THREAD	UINT32_MAX

struct analysis_needs {
	uint64_t until;		/* later records were not used */
	uint64_t losses_from;	/* losses after this time matter */
	const struct analysis_thread_state *threads;
	const struct analysis_cpu_state *cpus;
	const struct analysis_other_operation *operations;
	size_t nr_threads, nr_cpus, nr_operations;
};

/*
 * Fills @needs with the threads, CPUs and other operations that the row @op depends on. All
 * records of these threads from @from on are needed. @from must not be after the operation's
 * begin. Only the sink's operation() may call this. @needs is valid until operation() returns.
 */
int analysis_needs(struct analysis *a, const struct analysis_operation *op, uint64_t from,
		   struct analysis_needs *needs);

#endif /* ANALYSIS_H */
