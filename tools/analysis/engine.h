/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between the parts of the engine. A record takes this way:
 *
 *	engine.c	from a record of the reader to an item
 *	pair.c		operations that are pairs of events
 *	order.c		items in order of time
 *	late.c		items that came too late for that, in a second reading
 *	scheduling.c	what threads and CPUs did: histories
 *	history.c	look-ups in them
 *	forget.c	how long these are kept
 *	losses.c	when records are missing
 *	durations.c	what is open on a thread: when does it work on an operation
 *	operations.c	what an operation is: begins, ends, ids
 *	account.c	the intervals of an operation that has ended
 *	path.c		its critical path
 *	orphans.c	rows of events that lack their counterpart
 *	threads.c	rows of threads, wakeups and waits
 *	needs.c		what an account depends on
 *	selection.c	marks in a file that has only what slow operations need
 */
#ifndef ANALYSIS_ENGINE_H
#define ANALYSIS_ENGINE_H

#include "analysis.h"
#include "fxt/names.h"
#include "fxt/table.h"

#define NO_NAME		UINT32_MAX
#define NO_THREAD	UINT32_MAX
#define NO_CPU		UINT16_MAX
#define STILL_OPEN	UINT64_MAX	/* the end of what has not ended */

/* --- order.c ------------------------------------------------------------------ */

enum item_kind {
	ITEM_SWITCH,		/* .id: who leaves, .other: who comes */
	ITEM_WAKEUP,		/* .id: who is woken, .other: who wakes; 0: an interrupt */
	ITEM_LOSS,		/* .id: number of the loss */
	ITEM_MARK,		/* .id: number of the mark */
	ITEM_EVENT,		/* and the types of events from here on */
};

struct item {
	uint64_t ns;
	uint64_t id;		/* of an operation or a flow; the end of a duration */
	uint64_t record;	/* of an event */
	uint8_t kind;
	bool wanted;		/* begins an operation that a selection is made for */
	bool apart;		/* records around it were left out: tells nothing about its thread */
	/*
	 * An event of a pair: .name is START's category; .category is the name of the key if that
	 * is a text, or NO_NAME.
	 */
	bool paired;
	union {
		struct {	/* events */
			uint32_t tid, pid;
			uint32_t category, name;
			uint32_t provider;
		};
		struct {	/* scheduling */
			uint32_t other;
			uint16_t cpu;
			uint8_t reason;		/* of who leaves: why; 0: preempted */
			bool inferred;		/* the recorder concluded it */
		};
	};
};

struct block;

/* Items that ascend */
struct run {
	struct block *first, *last;
	uint64_t newest;	/* time of its last item */
};

/* The first item of a run */
struct head {
	uint64_t ns;
	size_t run;
};

struct order {
	struct run *runs;
	struct head *heads;	/* a heap of those runs that are not empty */
	size_t nr_runs, room_runs, nr_heads, room_heads;
	size_t recent;		/* run of the last item that was added */
	size_t nr;		/* items */
	uint64_t settled;	/* time of the item that was handed on last */
};

/* --- scheduling.c ---------------------------------------------------------------- */

/* The state of a thread from .from until the next span begins */
struct span {
	uint64_t from;
	uint64_t lost_until;	/* the thread's, as it was when this span began */
	uint32_t waker;		/* blocked: who ended it; 0: an interrupt or nothing known */
	uint32_t duration;	/* name of the innermost open one at .from */
	uint16_t cpu;		/* that it runs on, or waits for; NO_CPU: not known */
	uint8_t state;		/* enum analysis_state */
	uint8_t reason;
	uint8_t waker_kind;	/* enum analysis_other */
	bool inferred;
	bool pending;		/* the next record tells what this is */
	bool seen;		/* pending: an event tells that it ran at .from */
	bool woken;		/* a wakeup came, or may be lost, while it ran or this was not known */
	/*
	 * Number of the thread's spans before this one that are not runnable: equal for runnable
	 * spans that follow each other and for the span that ends them
	 */
	uint32_t wait;
};

/* A span as it was known before the record at .told told its state */
struct change {
	uint64_t told;
	struct span was;
	bool none;		/* nothing: there was no record of the thread */
};

struct changes {
	struct change *of;
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
	uint64_t lost_until;	/* before that, records of this CPU are missing */
};

struct operation;
struct piece;
struct thread;

/* A thread works on an operation. The thread's history and the operation share it. */
struct work {
	struct operation *op;
	struct thread *thread;
	uint64_t from, to;	/* to: STILL_OPEN while the duration is open */
	uint64_t in;		/* number of the duration */
	uint64_t record;	/* the event that tells */
	bool told;		/* the sink knows how long that event matters */
	uint32_t duration;
	unsigned int refs;
};

struct works {
	struct work **of;
	size_t first, nr, room;
};

/* A duration that is open on a thread */
struct duration {
	uint64_t begin, end;
	uint64_t number;	/* of the thread's durations */
	uint64_t record;
	uint32_t name;
	struct works works;	/* that last until it ends */
	struct fxt_table by_op;	/* the operations of .works, if there are many; or empty */
	size_t drop_at;		/* number of works at which ended ones are dropped */
};

/* See struct analysis_thread_row. Counted only if a table of threads.c is wanted */
struct thread_counts {
	uint64_t from;		/* of the first span */
	uint64_t ns[ANALYSIS_STATES], reason_ns[ANALYSIS_REASONS];
	uint64_t exited_ns, inferred_ns;
	uint64_t ran_ns;	/* running, from a switch in that was recorded */
	uint64_t voluntary, preempted, migrations, wakeups, wakes;
	uint32_t last_cpu;	/* and 1; 0: no switch yet */
};

/* See struct analysis_turn; the one in hand */
struct turn {
	uint64_t from;
	uint64_t running_ns;
	struct analysis_id id;
	bool worked;		/* .id is valid */
};

/* A wakeup that ended a sleep, until the thread runs */
struct woken {
	uint64_t ns;
	uint32_t waker;
	uint16_t cpu;
	bool slept;		/* false: there is none */
	bool awake;
};

struct thread {
	struct analysis_thread out;
	struct spans spans;
	struct works works;	/* in order of .from */
	size_t ended;		/* works before this one ended at .ended_by at the latest */
	uint64_t ended_by;
	struct duration *stack;
	size_t depth, room;
	uint64_t durations;	/* that began so far */
	uint64_t lost_until;	/* an ANALYSIS_LOST span lasts until then at least; or 0 */
	uint64_t first_seen;	/* its first event, if that was before its first span; or 0 */
	uint64_t woken_at;	/* the last wakeup that did not end a known sleep */
	uint64_t followed_at;	/* .out.followed: from the record of this time on */
	struct changes changes;	/* for analysis_needs(), in order of .told */
	struct operation *waiting;	/* they ended while the last span was pending */
	unsigned int refs;	/* by works, and by operations that ended here */
	uint64_t counted;	/* by account.c: number of the last operation that counted it */
	const struct piece *piece;	/* the last one in the queues of account.c */
	struct thread_counts counts;
	struct woken woken;
	struct turn turn;
};

/* True for threads that Linux numbers: not for idle and for what the trace hides */
static inline bool is_real(uint32_t tid)
{
	return tid && tid <= FXT_TID_REAL_MAX;
}

/* The last span of @t, or NULL */
static inline struct span *last_span(struct thread *t)
{
	return t->spans.nr > t->spans.first ? &t->spans.of[t->spans.nr - 1] : NULL;
}

/* The thread @tid, made if need be. NULL: no memory */
struct thread *thread_of(struct analysis *a, uint32_t tid);
int scheduling_switch(struct analysis *a, const struct item *it);
int scheduling_wakeup(struct analysis *a, const struct item *it);
/* An event of @t at @ns: so it was running then. */
int scheduling_seen(struct analysis *a, struct thread *t, uint64_t ns);
/* Records of @cpu are missing from @from to @to. */
int scheduling_lost(struct analysis *a, unsigned int cpu, uint64_t from, uint64_t to);
/* No more records come: what is still pending becomes what can be said. */
int scheduling_finish(struct analysis *a);
/* history.c: the span of @t at @ns, or NULL. *@to: when it ends, STILL_OPEN for the last */
const struct span *span_at(const struct thread *t, uint64_t ns, uint64_t *to);
/* The thread that had @cpu at @ns, if it is a known one. *@to: when it left */
struct thread *occupant_at(struct analysis *a, unsigned int cpu, uint64_t ns,
			   enum analysis_other *kind, uint64_t *to);
/* Release threads that ended before @ns and that nothing refers to. */
void scheduling_release(struct analysis *a, uint64_t ns);
/* Release what lies before @ns. */
void scheduling_forget(struct analysis *a, uint64_t ns);
void thread_free(struct thread *t);

/* --- threads.c ------------------------------------------------------------------------ */

/* True if rows are wanted that the functions below make */
static inline bool threads_wanted(const struct analysis_sink *s)
{
	return s->thread || s->wakeup || s->wait || s->turn;
}

enum analysis_other waker_kind(uint32_t waker);
/* Span @old of @t has ended, and @new, which is in the history, begins. */
int threads_span(struct analysis *a, struct thread *t, const struct span *old,
		 const struct span *new);
int threads_switch(struct analysis *a, const struct item *it);
/* @before: the state of @t that the wakeup found, as far as known */
int threads_wakeup(struct analysis *a, struct thread *t, const struct item *it,
		   enum analysis_state before);
/* @t wrote an event of @id. */
void threads_worked(struct thread *t, const struct analysis_id *id);
/* Rows to come need the history from then on, if that is before @ns. */
uint64_t threads_needed(const struct analysis *a, uint64_t ns);
int threads_finish(struct analysis *a);

/* --- durations.c -------------------------------------------------------------------- */

int durations_item(struct analysis *a, const struct item *it);
/* Name of the innermost duration that is open on @t at @ns, or NO_NAME */
uint32_t durations_innermost(const struct thread *t, uint64_t ns);
/* Of the works of @t at @ns, the one that began last, or NULL */
struct work *work_at(struct thread *t, uint64_t ns);
/* Leave the innermost duration of @t. */
void durations_pop(struct thread *t);
/* Leave durations of @t that ended before @ns. */
void durations_leave(struct thread *t, uint64_t ns);
/* @t has exited: leave durations that nobody will end and in which no operation is open. */
void durations_exit(struct analysis *a, struct thread *t);
/* The end of @w, or of its operation if that ended first */
uint64_t work_end(const struct work *w);
/* The first of @w, which are in order of .from, that begins after @ns */
size_t works_after(const struct works *w, uint64_t ns);
int works_add(struct works *w, struct work *work);
void works_free(struct works *w);
void work_put(struct work *w);
/* Tell the sink, once, that the event that made @w matters until @ns. */
void work_lasts(const struct analysis *a, struct work *w, uint64_t ns);

/* --- operations.c -------------------------------------------------------------------- */

struct operation {
	struct analysis_id out;
	uint64_t begin, end;
	uint64_t key;
	struct thread *begin_thread, *end_thread;
	struct works works;
	struct operation *same_key, *same_key_newer;	/* open, begun before and after this one */
	struct operation *same_id, *same_id_newer;	/* open, begun before and after this one */
	struct operation *older, *newer;	/* of all that are not handed out */
	struct thread *waits_for;	/* whose state at .end is not known yet */
	struct operation *next_waiting, *previous_waiting;
	uint64_t begin_record, end_record;
	size_t nr_settled;		/* works whose thread's state is known until .end */
	unsigned int refs;		/* by works, and 1 until it is handed out */
	bool ended;
	bool wanted;			/* a selection is made for it */
	bool left_out;			/* it began before the horizon */
};

int operations_begin(struct analysis *a, const struct item *it);
int operations_end(struct analysis *a, const struct item *it);
/* Names of the operation that @it, an event, belongs to */
struct analysis_id id_of_item(const struct analysis *a, const struct item *it);
/* The first open operation with the id @id; the rest by .same_id */
struct operation *operations_by_id(struct analysis *a, uint64_t id);
/* @op can be handed out, now or when its threads' states are known. */
int operations_hand_out(struct analysis *a, struct operation *op);
/* Hand out those that have waited for the state of a thread since before @ns. */
int operations_overdue(struct analysis *a, uint64_t ns);
int operations_finish(struct analysis *a);
/* Hand out what waits for @t. */
int operations_settled(struct analysis *a, struct thread *t);
/* Release the works on @op, which is open, that ended before @ns. */
void operation_forget(struct operation *op, uint64_t ns);
void operation_put(struct operation *op);

/* --- pair.c ------------------------------------------------------------------------------ */

/* If @rec is an event of the pair, add items of an operation's begin and end. */
int pair_event(struct analysis *a, const struct fxt_record *rec);

/* --- orphans.c --------------------------------------------------------------------------- */

/* Hand out a row for @it, or for @op, which did not end. */
int orphan_event(struct analysis *a, enum analysis_orphan_kind kind, const struct item *it);
int orphan_operation(struct analysis *a, const struct operation *op);
/* Rows of durations that did not end */
int orphans_finish(struct analysis *a);

/* --- losses.c ---------------------------------------------------------------------------- */

struct loss {
	uint64_t from, to;
	uint32_t provider;	/* name */
	uint32_t ring;		/* name of the thread that shows it */
	uint64_t dropped, overwritten, malformed;
	int cpu;		/* of the kernel's ring; -1: of a provider's */
};

/* A time in which events of a provider may be missing */
struct window {
	uint64_t from, to;
};

struct losses {
	struct loss *rows;	/* until they are reached in order of time */
	size_t nr_rows, room_rows, nr_waiting;
	struct window *of;	/* in order, disjoint */
	size_t first, nr, room;
};

int losses_record(struct analysis *a, const struct fxt_record *rec);
int losses_item(struct analysis *a, const struct item *it);
/* Keep @loss until @it, which is made to refer to it, is reached in order of time. */
int losses_add(struct analysis *a, const struct loss *loss, struct item *it);
/*
 * The end of the last time within @from..@to in which events may be missing, at most @to. 0 if
 * all events are there. Losses of all providers count, because threads of any process may work
 * on an operation.
 *
 * A complete duration is written when it ends. So a loss may have taken durations that began
 * any time before it, and that a thread worked on the operation then.
 */
uint64_t losses_until(const struct analysis *a, uint64_t from, uint64_t to);
bool losses_within(const struct analysis *a, uint64_t from, uint64_t to);
void losses_forget(struct analysis *a, uint64_t ns);

/* --- late.c --------------------------------------------------------------------------------- */

struct late_item {
	uint64_t number;	/* of the trace's items */
	struct item item;	/* ITEM_LOSS: .id is an index of late.losses */
};

struct late {
	struct late_item *of;	/* as they stand in the file */
	const struct late_item **by_time;	/* in the second reading; else NULL */
	struct loss *losses;
	size_t nr, room, nr_losses, room_losses;
	uint64_t items;		/* of the trace, read so far */
	size_t left_out, handed_on;
};

/* Note @it, which is read now. True: it was handed on already. */
bool late_item(struct analysis *a, const struct item *it);
/* Hand on the late items before @ns. */
int late_before(struct analysis *a, uint64_t ns);
void late_free(struct late *l);

/* --- account.c, path.c --------------------------------------------------------------------- */

/* Room that is kept from one operation to the next */
struct scratch {
	struct work **works;
	struct piece *pieces;
	uint64_t *edges;
	const struct analysis_thread **threads;
	size_t room_works, room_pieces, room_edges, room_threads;
	size_t nr_pieces, nr_edges, nr_threads;
	uint64_t lost_until;	/* before this, only a running thread's state is known */
	uint64_t floor;		/* before this, nothing is known */
};

struct intervals {
	struct analysis_interval *of;
	size_t nr, room;
};

int intervals_add(struct intervals *l, const struct analysis_interval *i);
/* Fill rows of @op, from begin to end. */
int account(struct analysis *a, const struct operation *op, struct analysis_operation *row,
	    struct intervals *l);
int critical_path(struct analysis *a, const struct operation *op, struct intervals *l);
/* Row of @t from @from to @to, in span @s of it; NULL: no span */
void span_row(struct analysis *a, const struct thread *t, const struct span *s,
	      uint64_t from, uint64_t to, struct analysis_interval *row);
/* Add @row, which is runnable or queued, to @l, divided by who else had a part in it. */
int divide_runnable(struct analysis *a, const struct analysis_interval *row, struct intervals *l);
int divide_queued(const struct analysis *a, const struct analysis_interval *row,
		  struct thread *next, struct intervals *l);
/*
 * Names of @w's operation. NULL if @w is NULL, or if the duration that really enclosed the
 * operation's event may be among what was lost.
 */
const struct analysis_id *id_of(const struct analysis *a, const struct work *w);
const char *text_of(const struct analysis *a, uint32_t name);
/* The CPU that @t, runnable at @ns, gets in the end or waits for; NO_CPU: not known */
unsigned int awaited_cpu(const struct thread *t, uint64_t ns);

/* --- selection.c -------------------------------------------------------------------------- */

/* A mark that waits for its time */
struct mark {
	struct span span;
	uint64_t first_seen;
	bool followed;
	uint32_t tid;
	uint16_t cpu;		/* NO_CPU: the mark is about the thread */
};

struct marks {
	struct mark *of;
	size_t nr, room, nr_waiting;
};

/* An instant of the recorder's */
int selection_record(struct analysis *a, const struct fxt_record *rec);
int selection_item(struct analysis *a, const struct item *it);
/* True if @rec, an async begin, begins an operation that the selection is made for */
bool selection_wants(struct analysis *a, const struct fxt_record *rec);
/* True if records around @rec were left out, so that it tells nothing about its thread */
bool selection_apart(const struct fxt_record *rec);
/* Right before @ns, the thread or the CPU of @m did what @m says. */
int scheduling_mark(struct analysis *a, uint64_t ns, const struct mark *m);

/* --- needs.c ------------------------------------------------------------------------------- */

/* Room that is kept from one answer to the next */
struct needs_room {
	struct analysis_thread_state *threads;
	struct analysis_cpu_state *cpus;
	struct analysis_other_operation *operations;
	size_t nr_threads, nr_cpus, nr_operations;
	size_t room_threads, room_cpus, room_operations;
};

/* --- engine.c ------------------------------------------------------------------------------ */

/* The string table of a provider, as numbers of names */
struct strings {
	uint32_t *of;		/* NO_NAME: not defined */
	size_t nr;
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
	size_t history;			/* spans, occupants and works that are kept */
	uint64_t horizon;		/* operations that began then or before are not wanted */
	uint64_t floor;			/* before this, history was given up for want of room */
	uint64_t now;			/* of the item in hand */
	size_t forget_at;		/* history at which to look what is not needed */
	bool over;			/* no more records come */
	struct fxt_table by_key, by_id;	/* .a struct operation */
	struct operation *oldest, *newest;
	size_t nr_operations;		/* from .oldest to .newest */
	size_t nr_waiting;		/* operations that wait for the state of a thread */
	struct losses losses;
	uint64_t lost_until;		/* before that, scheduling is missing on some CPU */
	struct fxt_table providers;	/* id + 1: .a name's number + 1, .b struct strings */
	const struct strings *strings;	/* of provider .strings_of; NULL: not looked up */
	uint32_t strings_of;
	uint64_t counted;		/* number of the operation in hand */
	struct intervals whole, intervals, path;	/* of the operation in hand */
	struct intervals parts;		/* of the wait in hand */
	struct scratch scratch;		/* of account.c */
	struct needs_room needs;
	struct marks marks;
	uint64_t wanted_id;		/* of the next operation that the selection is made for */
	bool wants;			/* a mark said so */
};

int engine_item(struct analysis *a, const struct item *it);

int order_add(struct analysis *a, const struct item *it);
int order_settle(struct analysis *a, uint64_t ns);
void order_free(struct order *o);

#endif /* ANALYSIS_ENGINE_H */
