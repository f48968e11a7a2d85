/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State and functions that the parts of the engine share. The path of a record:
 *
 *	engine.c	turns a record of the reader into an item
 *	pair.c		makes operations of pairs of events
 *	order.c		sorts items by time
 *	late.c		hands on items that came too late, in a second reading
 *	scheduling.c	determines the states of threads and CPUs
 *	history.c	keeps these states by time
 *	forget.c	frees history
 *	identity.c	knows the names of threads that had one id after each other
 *	losses.c	knows the times of lost records
 *	throttling.c	knows the times in which CPU quotas throttled processes
 *	durations.c	determines when a thread works on an operation
 *	entered.c	does the same for threads that enter operations
 *	cells.c		does the same from ids in scheduling records
 *	ends.c		finds the work of a thread at some time
 *	off_cpu.c	decodes switches: why threads leave their CPUs
 *	operations.c	finds begins and ends of operations
 *	account.c	makes the intervals of an operation that has ended
 *	path.c		makes its critical path
 *	busy.c		sums what threads worked on while operations were queued
 *	orphans.c	makes rows of events without their counterpart
 *	threads.c	makes rows of threads, wakeups, waits and turns
 *	needs.c		collects the records that a row depends on
 *	selection.c	reads marks of a file with slow operations only, and keeps other marks
 */
#ifndef ANALYSIS_ENGINE_H
#define ANALYSIS_ENGINE_H

#include "analysis.h"
#include "fxt/asyncs.h"
#include "fxt/names.h"
#include "fxt/table.h"

#define NO_NAME		UINT32_MAX
#define NO_THREAD	UINT32_MAX
#define NO_CPU		UINT16_MAX
#define STILL_OPEN	UINT64_MAX	/* the end of something that has not ended */

/* --- order.c ------------------------------------------------------------------ */

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

/* --- scheduling.c ---------------------------------------------------------------- */

/* The state of a thread from .from until the next span begins */
struct span {
	uint64_t from;
	uint64_t lost_until;	/* .lost_until of the thread when this span began */
	uint32_t waker;		/* blocked: the waker; 0: an interrupt or not known */
	uint32_t duration;	/* name of the innermost open duration at .from */
	uint32_t in;		/* name of a system call or a page fault + 1; 0: not known */
	uint64_t argument;	/* of the system call, if .has_argument */
	uint16_t cpu;		/* the CPU of the thread, or of the queue it waits in;
				   NO_CPU: not known */
	uint8_t state;		/* enum analysis_state */
	uint8_t reason;
	uint8_t waker_kind;	/* enum analysis_other */
	uint8_t file;		/* ASYNCTRACE_FXT_FILE_*, if .argument is a descriptor */
	bool has_argument;
	bool inferred;
	bool pending;		/* the next record of the thread determines the state */
	bool seen;		/* pending: an event proves that the thread ran at .from */
	bool woken;		/* a wakeup came while the thread ran, or may have been lost */
	/*
	 * Identifies a wait for a CPU: consecutive runnable spans and the span that ends them have
	 * the same number. It counts the earlier spans of the thread that are not runnable.
	 */
	uint32_t wait;
};

/* The last span of a thread, as it was before a record changed it; .told: time of that record */
struct change {
	uint64_t told;
	struct span was;
	bool none;		/* the thread had no record before */
};

struct changes {
	struct change *of;
	size_t nr, room;
};

/* The operation of a thread before a record changed it; .told: time of that record */
struct turnover {
	uint64_t told;
	uint64_t operation, newest;
	bool known;		/* .operation is valid */
};

struct turnovers {
	struct turnover *of;
	size_t nr, room;
};

struct spans {
	struct span *of;
	size_t first, nr, room;
};

/* The thread that had a CPU from .from until the next occupant came */
struct occupant {
	uint64_t from;
	uint32_t tid;		/* 0: idle; NO_THREAD: not known */
};

struct cpu {
	struct occupant *of;
	size_t first, nr, room;
	uint64_t lost_until;	/* records of this CPU before that time are missing */
};

struct operation;
struct piece;
struct thread;

/*
 * A time in which a thread works on an operation. The thread's history and the operation share
 * it.
 */
struct work {
	struct operation *op;
	struct thread *thread;
	uint64_t from, to;	/* to: STILL_OPEN while the duration is open */
	uint64_t in;		/* .number of the duration */
	uint64_t since;		/* a loss of events since then makes the work doubtful */
	uint64_t record;	/* the event that shows the work */
	bool told;		/* work_lasts() has told the sink how long .record matters */
	bool entered;		/* the thread entered the operation: see entered.c */
	bool shown;		/* a scheduling record has the operation */
	bool unsure;		/* the duration was doubtful when the work began */
	bool doubtful;		/* what work_is_doubtful() returned for the current row */
	uint64_t made;		/* time of the record that showed it; .from may be earlier */
	uint32_t duration;
	unsigned int refs;
};

struct works {
	struct work **of;
	size_t first, nr, room;
};

/* Bounds of the ends of works: see ends.c */
struct ends {
	uint64_t *bounds;	/* of each work */
	uint64_t *nodes;	/* the children of node i, from 1 on, are 2 * i and 2 * i + 1 */
	size_t leaves;		/* number of leaves, which are the last nodes; a power of two */
};

/* A duration that is open on a thread */
struct duration {
	uint64_t begin, end;
	uint64_t number;	/* number among the thread's durations */
	uint64_t record;
	uint64_t operation;		/* operation of the thread in the scope */
	bool scope;			/* .operation is valid */
	bool complete;			/* one record has begin and end */
	uint64_t within;	/* time of scopes directly within this one */
	uint32_t category, place;	/* of a scope */
	uint32_t name;
	struct works works;	/* works that last until the duration ends */
	struct fxt_table by_op;	/* index of .works by operation, if there are many; or empty */
	size_t drop_at;		/* number of works at which works on ended operations are dropped */
};

/* See struct analysis_thread_row. Counted only if a table of threads.c is wanted. */
struct thread_counts {
	uint64_t from;		/* earlier time does not count */
	uint64_t ns[ANALYSIS_STATES], reason_ns[ANALYSIS_REASONS];
	uint64_t exited_ns, inferred_ns;
	uint64_t throttled_ns;
	uint64_t voluntary, preempted, migrations, wakeups, wakes;
	uint32_t last_cpu;	/* CPU + 1; 0: no switch yet */
};

/* The current turn; see struct analysis_turn */
struct turn {
	uint64_t from;
	uint64_t running_ns;
	struct analysis_id id;
	bool worked;		/* .id is valid */
};

/* The wakeup that ended the thread's last sleep, until the thread's next span begins */
struct woken {
	uint64_t ns;
	uint32_t waker;
	uint16_t cpu;
	bool slept;		/* the thread was asleep; false: the wakeup ended no sleep */
	bool awake;
};

/* A later thread with the id of one that has ended; see identity.c */
struct identity {
	struct analysis_thread out;
	uint64_t since;		/* the thread has the id after this time */
	/* Used while .since is not known: */
	uint64_t after;		/* the thread before it exits after this time */
	struct identity *next;
};

struct identities {
	struct identity **of;	/* in order of .since, later named ones last */
	size_t nr, room;
	struct identity *waiting;	/* those of which .since is not known, first named first */
	size_t nr_waiting;
	uint32_t named;		/* number of all so far */
};

struct thread {
	struct analysis_thread out;	/* the first thread with this id */
	struct identities identities;
	uint64_t exit_read;	/* the last time of an exit with this id in the records read so
				   far; 0: none */
	struct spans spans;
	struct works works;	/* in order of .from; works_insert() adds to it */
	struct ends ends;	/* of .works */
	struct ends entered_ends;	/* of those in .works with .entered */
	struct duration *stack;
	size_t depth, room;
	uint64_t beyond;	/* number of open durations that were left out because .stack
				   is full */
	uint64_t durations;	/* number of durations that began so far */
	uint64_t operation;	/* id of the operation that the thread entered; 0: none */
	bool known;		/* .operation is valid */
	uint64_t newest;	/* begin of the newest operation in .entered; 0: none */
	struct turnovers turnovers;	/* for analysis_needs(), in order of .told */
	uint64_t changed;	/* time at which .operation changed; or 0 */
	uint64_t shown_since;	/* time of the first scheduling record that has an operation
				   of the thread; or 0 */
	struct works entered;	/* unfinished works on .operation */
	uint64_t lost_until;	/* an ANALYSIS_LOST span does not end before this time; or 0 */
	uint64_t first_seen;	/* time of the first event, if it came before the first span;
				   or 0 */
	uint64_t existed;	/* the recorder says that the thread existed then; or 0 */
	uint64_t woken_at;	/* the last wakeup that found the thread running, or in an
				   unknown state */
	struct changes changes;	/* for analysis_needs(), in order of .told */
	struct operation *waiting;	/* operations that ended while the last span was pending */
	unsigned int refs;	/* references of works, and of operations that began or ended
				   on this thread */
	uint64_t counted;	/* number of the last operation for which account.c, or the last
				   call for which needs.c, has counted it */
	const struct piece *piece;	/* its last piece in the queues of account.c */
	struct busy *busy;	/* see busy.c; NULL: not needed so far */
	struct thread_counts counts;
	struct woken woken;
	struct turn turn;
};

/* True if @tid can be a thread of Linux; false for 0 (idle) and for pseudo threads */
static inline bool is_real(uint32_t tid)
{
	return tid && tid <= FXT_TID_REAL_MAX;
}

/* The last span of @t, or NULL */
static inline struct span *last_span(struct thread *t)
{
	return t->spans.nr > t->spans.first ? &t->spans.of[t->spans.nr - 1] : NULL;
}

/* Returns the thread that had the id of @t at @ns, for rows. */
const struct analysis_thread *thread_at(const struct thread *t, uint64_t ns);
/* An object names @t. @pid 0: not known. Returns 0 or -ENOMEM. */
int identity_name(struct thread *t, const char *name, uint32_t pid);
/* The record of an exit of @t at @ns was read. Records of earlier times may follow. */
void identity_exit_read(struct thread *t, uint64_t ns);
/* @t exits at @ns. Calls of this and of identity_event() are in order of time. */
void identity_exit(struct thread *t, uint64_t ns);
/*
 * @t, of the process @pid, wrote an event at @ns. Returns true if this shows that the thread before
 * it has ended.
 */
bool identity_event(struct thread *t, uint64_t ns, uint32_t pid);
/* Marks the thread that had the id of @t at @ns as followed from @from on, or from earlier on. */
void identity_follow(struct thread *t, uint64_t ns, uint64_t from);
void identities_free(struct thread *t);
/* Returns the thread @tid, and makes it if it is new. NULL: no memory */
struct thread *thread_of(struct analysis *a, uint32_t tid);
struct cpu *cpu_of(struct analysis *a, unsigned int cpu);
/* Adds a span to the history of @t. */
int add_span(struct analysis *a, struct thread *t, const struct span *s);
int push_occupant(struct analysis *a, struct cpu *c, uint64_t ns, uint32_t tid);
/* Saves the last span of @t for analysis_needs(), before the current record changes it. */
int note_change(struct analysis *a, struct thread *t);
int scheduling_switch(struct analysis *a, const struct item *it);
int scheduling_wakeup(struct analysis *a, const struct item *it);
/* Notes that @t was running at @ns, because it wrote an event. */
int scheduling_seen(struct analysis *a, struct thread *t, uint64_t ns);
/*
 * Marks @t as followed, because the record at @ns shows that it is running. If earlier records say
 * that @t does not run, the switch to it was not recorded. Then its state from @ns on is pending:
 * its next record shows whether it still ran.
 */
int scheduling_follow(struct analysis *a, struct thread *t, uint64_t ns);
/* Handles a loss of records of @cpu from @from to @to. */
int scheduling_lost(struct analysis *a, unsigned int cpu, uint64_t from, uint64_t to);
/* Handles that nothing was recorded from @from to @to. */
int scheduling_stopped(struct analysis *a, uint64_t from, uint64_t to);
/* Ends pending spans at the end of the trace. */
int scheduling_finish(struct analysis *a);
/*
 * history.c: Returns the span of @t at @ns, or NULL. *@to: its end, STILL_OPEN for the last
 * span
 */
const struct span *span_at(const struct thread *t, uint64_t ns, uint64_t *to);
/*
 * Returns the thread that had @cpu at @ns; NULL if it was another task or is not known. *@kind: the
 * kind of task. *@to: the time at which the next task came
 */
struct thread *occupant_at(struct analysis *a, unsigned int cpu, uint64_t ns,
			   enum analysis_other *kind, uint64_t *to);
/* Frees threads that ended before @ns and that nothing refers to. */
void scheduling_release(struct analysis *a, uint64_t ns);
/* Frees history before @ns. */
void scheduling_forget(struct analysis *a, uint64_t ns);
void thread_free(struct thread *t);

/* --- threads.c ------------------------------------------------------------------------ */

/* True if the sink wants rows that threads.c makes. */
static inline bool threads_wanted(const struct analysis_sink *s)
{
	return s->thread || s->wakeup || s->wait || s->turn;
}

enum analysis_other waker_kind(uint32_t waker);
/*
 * Returns the time from which all records of the thread that had the id of @t at @ns are in the
 * trace: because it is followed, or because the recorder says so. STILL_OPEN: no record so far
 * shows this.
 */
uint64_t threads_known_from(const struct analysis *a, const struct thread *t, uint64_t ns);
/* Counts the span @old of @t, which has ended. @new, which is already in the history, begins. */
int threads_span(struct analysis *a, struct thread *t, const struct span *old,
		 const struct span *new);
int threads_switch(struct analysis *a, const struct item *it);
/* Handles the wakeup @it of @t. @before: the state in which the wakeup found @t, if it is known */
int threads_wakeup(struct analysis *a, struct thread *t, const struct item *it,
		   enum analysis_state before);
/* Sets the operation of the current turn of @t, because @t worked on @id or wrote its event. */
void threads_worked(struct thread *t, const struct analysis_id *id);
/* Returns the time from which on future rows need history, or @ns if that is earlier. */
uint64_t threads_needed(const struct analysis *a, uint64_t ns);
int threads_finish(struct analysis *a);

/* --- durations.c -------------------------------------------------------------------- */

int durations_item(struct analysis *a, const struct item *it);
/* Returns the name of the innermost duration that is open on @t at @ns, or NO_NAME. */
uint32_t durations_innermost(const struct thread *t, uint64_t ns);
/*
 * True if a loss of events may hide the end of @d, or a duration within @d that has not ended. So
 * the trace does not show whether @d directly encloses the thread's next event.
 */
bool durations_doubtful(const struct analysis *a, const struct duration *d);
/*
 * True if lost records may include the duration that really enclosed the event that shows @w. Then
 * the thread may not have worked on the operation.
 */
bool work_is_doubtful(const struct analysis *a, const struct work *w);
/* Returns the work of @waker when it woke a thread at @ns, or NULL. */
struct work *work_of_waker(struct thread *waker, uint64_t ns);
/* Removes the innermost duration of @t. */
void durations_pop(struct thread *t);
/* Removes durations of @t that ended before @ns. */
void durations_leave(struct thread *t, uint64_t ns);
/*
 * @t exits at @ns: ends its open durations and the works in them, because a later thread with this
 * id is not within them. Returns 0 or what a callback of the sink returned.
 */
int durations_exit(struct analysis *a, struct thread *t, uint64_t ns);
/* Removes durations of @t, which has exited, in which no operation is open. */
void durations_release(struct analysis *a, struct thread *t);
/*
 * Returns the end of @w, or of its operation if that ended first. If threads entered the operation
 * (TRACE_OPERATION_SCOPE), a work that only durations suggest does not count: then returns the
 * begin of @w, as if it had no length.
 */
uint64_t work_end(const struct work *w);
/* Returns the index of the first work of @w that begins after @ns. @w is in order of .from. */
size_t works_after(const struct works *w, uint64_t ns);
int works_add(struct works *w, struct work *work);
/* Adds @work to the works of @t, in order of .from. */
int works_insert(struct analysis *a, struct thread *t, struct work *work);
void works_free(struct works *w);
void work_put(struct work *w);
/*
 * Tells the sink that the record that began @w is needed for rows of times before @ns. STILL_OPEN:
 * the end of @w is not known yet. Does nothing if the sink was told an end of @w before.
 */
void work_lasts(const struct analysis *a, struct work *w, uint64_t ns);

/* --- ends.c -------------------------------------------------------------------------- */

/*
 * Returns the work that @t did right before @ns, or NULL. Of several works, prefers those on
 * operations that @t entered, then the one that began last.
 */
struct work *work_at(struct thread *t, uint64_t ns);
/* Handles that the work at @at was inserted into the works of @t. Returns 0 or -ENOMEM. */
int ends_insert(struct thread *t, size_t at);
/* Handles that works of @t were dropped. */
void ends_forget(struct thread *t);
/* Handles that ends of works on @op may have become later. */
void ends_become_later(const struct operation *op);
void ends_free(struct thread *t);

/* --- off_cpu.c ---------------------------------------------------------------------- */

/* Add the item of @rec. */
int off_cpu_switch(struct analysis *a, const struct fxt_record *rec);
int off_cpu_wakeup(struct analysis *a, const struct fxt_record *rec);
/* Takes from @rec, which introduces @t, the state that the recorder has read. */
int off_cpu_state(struct analysis *a, struct thread *t, const struct fxt_record *rec);

/* --- cells.c ------------------------------------------------------------------------ */

/*
 * Handles the switch or the wakeup @it of @t, which shows that @t works on the operation @id; 0:
 * on none.
 */
int cells_own(struct analysis *a, struct thread *t, const struct item *it, uint64_t id);
/* Handles the wakeup @it of @t, which shows the operations of @t and the waker. */
int cells_wakeup(struct analysis *a, struct thread *t, const struct item *it);

/* --- operations.c -------------------------------------------------------------------- */

#define ANCESTORS_MAX	8

struct operation {
	struct fxt_async async;		/* first: see operation_of() */
	struct analysis_id out;
	/*
	 * Ids: the parent, the parent's parent, and so on. 0 after the last one that is known. A
	 * chain of contexts that make each other is endless, so only the nearest are stored.
	 */
	uint64_t ancestors[ANCESTORS_MAX];
	uint64_t ancestor_records[ANCESTORS_MAX];	/* .begin_record of each; 0: not known */
	uint64_t begin, end;
	uint64_t entered_at;		/* time of the first entry; STILL_OPEN: none so far */
	struct work *exited;		/* the last work that ended by its thread's exit; or NULL */
	uint32_t exited_in;		/* the innermost duration of .exited at the exit */
	uint64_t worked;		/* begin of the work that began last */
	const struct analysis *analysis;
	struct thread *begin_thread, *end_thread;
	struct works works;
	struct operation *older, *newer;	/* operations that have not been handed out */
	struct thread *waits_for;	/* the thread whose state at .end is not known yet */
	struct operation *next_waiting, *previous_waiting;
	uint64_t begin_record, end_record;
	size_t nr_settled;		/* number of works whose thread's state is known
					   until .end */
	unsigned int refs;		/* references of works, plus 1 until the operation is
					   handed out */
	bool ended;
	bool replaced;			/* closed without an end: see replace_pair() */
	bool wanted;			/* one of the slow operations whose records are copied
					   into a smaller trace */
	bool left_out;			/* it began before the horizon */
	bool crowded;			/* see .crowded of struct analysis_totals */
};

/* Returns the operation that contains @async. @async may be NULL. */
static inline struct operation *operation_of(struct fxt_async *async)
{
	return (struct operation *)async;
}

/* True if @op is a part of @whole, or of another part of @whole. */
bool operation_is_part(const struct operation *op, const struct operation *whole);
int operations_begin(struct analysis *a, const struct item *it);
int operations_end(struct analysis *a, const struct item *it);
/* Returns the names of the operation that the event @it belongs to. */
struct analysis_id id_of_item(const struct analysis *a, const struct item *it);
/*
 * True if a thread has entered @op. Then only works within scopes of @op count. Records of equal
 * time have no order, so an entry at the current time or at the end of @op does not count.
 */
bool operation_is_entered(const struct operation *op);
/*
 * Returns the newest open operation with the id @id of the process @pid, or NULL; .async.same_id
 * links the older ones. If asynctrace wrote the file, @pid does not matter.
 */
struct operation *operations_by_id(struct analysis *a, uint64_t id, uint32_t pid);
/*
 * Counts @op and the older open operations with its id, which the caller leaves out because of
 * ANALYSIS_SAME_ID_MAX. @op may be NULL. Counts each operation once.
 */
void operations_crowded(struct analysis *a, struct operation *op);
/* Hands out @op, now or as soon as the states of its threads are known. */
int operations_hand_out(struct analysis *a, struct operation *op);
/* Hands out operations that ended before @ns and still wait for the state of a thread. */
int operations_overdue(struct analysis *a, uint64_t ns);
int operations_finish(struct analysis *a);
/* Hands out operations that waited for @t. */
int operations_settled(struct analysis *a, struct thread *t);
/* Adds @w to the works of @op. Returns 0 or -ENOMEM. */
int operation_work(struct operation *op, struct work *w);
/* The thread of @w has exited in the duration @name, and so ended @w. */
void operation_exited(struct work *w, uint32_t name);
/* Drops the references of @op to works. */
void operation_drop_works(struct operation *op);
/* Drops works before @ns on @op, which is open. */
void operation_forget(struct operation *op, uint64_t ns);
void operation_put(struct operation *op);

/* --- pair.c ------------------------------------------------------------------------------ */

/* If @rec is one of the two events of --pair, adds items that begin or end an operation. */
int pair_event(struct analysis *a, const struct fxt_record *rec);

/* --- orphans.c --------------------------------------------------------------------------- */

/* Hand out a row for the event @it, or for the begin of @op, which did not end. */
int orphan_event(struct analysis *a, enum analysis_orphan_kind kind, const struct item *it);
int orphan_operation(struct analysis *a, const struct operation *op);
/* Hands out a row for the begin of the duration @d of @t, which did not end. */
int orphan_duration(struct analysis *a, const struct thread *t, const struct duration *d);
/* Hands out rows of durations that are still open. */
int orphans_finish(struct analysis *a);

/* --- losses.c ---------------------------------------------------------------------------- */

struct loss {
	uint64_t from, to;
	uint32_t provider;	/* name */
	uint32_t ring;		/* name of the pseudo thread that shows the loss */
	uint64_t dropped, overwritten, malformed;
	int cpu;		/* of the kernel's ring of scheduling records; else -1 */
	bool tracepoints;	/* only events of the kernel's tracepoints were lost */
	bool stopped;		/* nothing was recorded, because the session was stopped */
};

/* A time in which events may be missing */
struct window {
	uint64_t from, to;
};

struct losses {
	struct loss *rows;	/* rows that wait for their time */
	size_t nr_rows, room_rows, nr_waiting;
	struct window *of;	/* in order, disjoint */
	size_t first, nr, room;
	uint64_t after;		/* all windows so far end before this time */
	uint64_t forgotten;	/* end of the last window that was forgotten; 0: none */
	/* The time at which the session was stopped, if it was not started again; or 0 */
	uint64_t stopped;
	/* The file's begin, if the session may have been stopped then; or 0 */
	uint64_t continued;
};

int losses_record(struct analysis *a, const struct fxt_record *rec);
/*
 * Handles an instant of the recorder's pseudo thread "clock", which may say that the session was
 * stopped or started. A session that is started again has recorded nothing since it was stopped.
 */
int losses_moment(struct analysis *a, const struct fxt_record *rec);
int losses_item(struct analysis *a, const struct item *it);
/* Keeps @loss until the item @it is handed on, and makes @it refer to @loss. */
int losses_add(struct analysis *a, const struct loss *loss, struct item *it);
/*
 * Returns the end of the last time within @from..@to in which events may be missing, at most
 * @to. Returns 0 if all events are there. Losses of all providers count, because threads of any
 * process may work on an operation.
 *
 * A complete duration is written when it ends. So a loss may hide durations that began any time
 * before it, in which a thread worked on the operation.
 */
uint64_t losses_until(const struct analysis *a, uint64_t from, uint64_t to);
bool losses_within(const struct analysis *a, uint64_t from, uint64_t to);
/*
 * True if losses_within() is, or if @from is before the end of a window that the analysis has
 * forgotten.
 */
bool losses_hide(const struct analysis *a, uint64_t from, uint64_t to);
void losses_forget(struct analysis *a, uint64_t ns);

/* --- late.c --------------------------------------------------------------------------------- */

struct late_item {
	uint64_t number;	/* position among the trace's items */
	struct item item;	/* ITEM_LOSS: .id is an index of late.losses */
};

struct late {
	struct late_item *of;	/* in the order of the file */
	const struct late_item **by_time;	/* sorted, in the second reading; else NULL */
	struct loss *losses;
	size_t nr, room, nr_losses, room_losses;
	uint64_t items;		/* number of items read so far */
	size_t left_out, handed_on;
};

/*
 * Handles @it at its place in the file. Returns true if the caller must skip @it, because the
 * second reading hands it on at its time.
 */
bool late_item(struct analysis *a, const struct item *it);
/* Hands on the late items before @ns. */
int late_before(struct analysis *a, uint64_t ns);
void late_free(struct late *l);

/* --- account.c, path.c --------------------------------------------------------------------- */

/* Buffers that are reused for each operation */
struct scratch {
	struct work **works;
	struct piece *pieces;
	uint64_t *edges;
	const struct analysis_thread **threads;
	size_t room_works, room_pieces, room_edges, room_threads;
	size_t nr_works, nr_pieces, nr_edges, nr_threads;
	uint64_t lost_until;	/* before this time, only the state of a running thread is
				   certain */
	uint64_t floor;		/* before this time, history was dropped */
};

struct intervals {
	struct analysis_interval *of;
	size_t nr, room;
};

int intervals_add(struct intervals *l, const struct analysis_interval *i);
/* Adds the time of @next to @last and returns true, if @next follows and differs only in time. */
bool interval_extends(struct analysis_interval *last, const struct analysis_interval *next);
/*
 * Adds the intervals of @op, from its begin to its end, to @l. Fills the sums of states and the
 * threads of @row. @whole: false: does not divide the intervals; see analysis_options.totals_only
 */
int account(struct analysis *a, const struct operation *op, struct analysis_operation *row,
	    struct intervals *l, bool whole);
int critical_path(struct analysis *a, const struct operation *op, struct intervals *l);
/* Fills @row for @from..@to from the span @s of @t; @s NULL: the state is unknown */
void span_row(struct analysis *a, const struct thread *t, const struct span *s,
	      uint64_t from, uint64_t to, struct analysis_interval *row);
/* Add @row of @op, which is runnable or queued, to @l, divided by the cause of the wait. */
int divide_runnable(struct analysis *a, const struct analysis_interval *row, struct intervals *l);
int divide_queued(struct analysis *a, const struct operation *op,
		  const struct analysis_interval *row, struct thread *next, struct intervals *l);
/*
 * Returns what @t works on from @from on, or NULL. Sets *@end to the time, at most @to, at which
 * this ends or another work begins.
 */
const struct work *busy_work(struct thread *t, uint64_t from, uint64_t to, uint64_t *end);
/*
 * Returns the names of @w's operation. Returns NULL if @w is NULL, or if it is doubtful and no
 * scheduling record shows it.
 */
const struct analysis_id *id_of(const struct analysis *a, const struct work *w);
const char *text_of(const struct analysis *a, uint32_t name);
/* Returns the CPU that @t, which is runnable at @ns, gets or waits for; NO_CPU: not known */
unsigned int awaited_cpu(const struct thread *t, uint64_t ns);

/* --- selection.c -------------------------------------------------------------------------- */

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

/* --- needs.c ------------------------------------------------------------------------------- */

/* Buffers that are reused for each answer */
struct needs_room {
	struct analysis_thread_state *threads;
	struct analysis_cpu_state *cpus;
	struct analysis_other_operation *operations;
	size_t nr_threads, nr_cpus, nr_operations;
	size_t room_threads, room_cpus, room_operations;
};

/* --- engine.c ------------------------------------------------------------------------------ */

/* The string table of a provider: numbers of names + 1, or 0 for a string that is not defined */
struct strings {
	struct fxt_sparse of;	/* uint32_t */
};

struct analysis {
	struct analysis_options opts;
	struct analysis_sink sink;
	struct analysis_totals totals;
	struct fxt_names names;
	struct order order;
	struct late late;
	struct fxt_table threads;	/* tid + 1: .a struct thread */
	struct cpu *cpus;
	size_t nr_cpus;
	size_t history;			/* number of spans, occupants and works in memory */
	uint64_t horizon;		/* rows leave out operations that began at this time or
					   before */
	uint64_t floor;			/* history before this time was dropped because of
					   the limit */
	uint64_t now;			/* time of the current item */
	size_t forget_at;		/* size of the history at which the next scan for
					   unneeded parts runs */
	bool over;			/* no more records come */
	uint64_t entered_last;		/* time at which an operation was entered last */
	uint64_t busy_version;		/* sums of busy.c with another version are invalid */
	struct fxt_asyncs asyncs;	/* open operations */
	struct operation *oldest, *newest;
	size_t nr_operations;		/* from .oldest to .newest */
	size_t nr_waiting;		/* operations that wait for the state of a thread */
	struct losses losses;
	uint64_t filled;		/* number of provider events, all of which tell of a loss */
	uint64_t lost_until;		/* before this time, scheduling records of some CPU
					   are missing */
	struct fxt_table providers;	/* id + 1: .a name's number + 1, .b struct strings */
	const struct strings *strings;	/* cache of .strings_of; NULL: empty */
	uint32_t strings_of;
	struct fxt_table throttled;	/* pid + 1: .a struct quotas */
	struct fxt_table cgroups;	/* number of the path + 1 */
	uint64_t counted;		/* number of the current operation */
	struct intervals whole, intervals, path;	/* of the current operation */
	struct intervals parts;		/* of the current wait */
	struct scratch scratch;		/* of account.c */
	struct needs_room needs;
	struct marks marks;
	uint64_t child, parent;		/* operations of the last ITEM_PARENT */
	uint64_t wanted_id;		/* id of the next operation that the selection was
					   made for */
	bool wants;			/* .wanted_id is valid */
};

int engine_item(struct analysis *a, const struct item *it);
/* Ends what @t works on at @ns, because the thread that had this id until then has ended. */
int thread_exits(struct analysis *a, struct thread *t, uint64_t ns);

int order_add(struct analysis *a, const struct item *it);
int order_settle(struct analysis *a, uint64_t ns);
void order_free(struct order *o);

#endif /* ANALYSIS_ENGINE_H */
