/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads and CPUs: their states by time, the durations of threads, and the operations that threads
 * work on.
 */
#ifndef ANALYSIS_THREAD_H
#define ANALYSIS_THREAD_H

#include "fxt/table.h"
#include "item.h"

/* --- scheduling.c, pending.c ----------------------------------------------------- */

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

#endif /* ANALYSIS_THREAD_H */
