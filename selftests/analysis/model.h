/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A random machine with a few CPUs and threads
 *
 * The model knows the state of each thread in each nanosecond, so that a test can look up the state
 * of an operation by the definitions of asynctrace-why(1). It shares no code with the engine.
 */
#ifndef ANALYSIS_MODEL_H
#define ANALYSIS_MODEL_H

#include "../fxt/random.h"
#include "build.h"

#define T0		1000u	/* time at which the machine begins */
#define NS_MAX		2000
#define CPUS_MAX	4
#define THREADS_MAX	6
#define TID(t)		(101u + (t))
#define NOBODY		(-1)	/* idle, or an interrupt */
#define UNTOLD		(-2)	/* no record shows it */

#define more(array, nr, room) do { \
	if ((nr) == (room)) { \
		(room) = (room) ? 2 * (room) : 64; \
		(array) = realloc(array, (room) * sizeof(*(array))); \
		assert_non_null(array); \
	} \
} while (0)

struct model_duration {
	int thread;
	unsigned int begin, end;	/* ns after T0 */
	bool complete;			/* one record, written at the end */
	unsigned int lost;		/* begin of the loss that took the record; UINT_MAX: none */
};

struct model_operation {
	const char *name;
	uint64_t id;
	unsigned int begin, end;
	int end_thread;
	bool ended, seen;
};

struct model_work {
	unsigned int op, duration;
};

/* A scheduling record that shows which operation @thread works on */
struct model_proof {
	int thread, ring;
	unsigned int ns;
	uint8_t id;		/* 0: none */
	uint16_t period;	/* see struct model */
};

/*
 * A lost scheduling record that showed which operation @thread works on. If @thread is NOBODY, a
 * loss begins at @ns.
 */
struct model_gap {
	int thread;
	unsigned int ns;
};

/* A change of a thread's operation, which only the thread's next record shows */
struct model_change {
	int thread;
	unsigned int ns;
	uint8_t was, is;
};

/* A record, and the data that decide its place in the file */
struct model_record {
	struct fxt_record rec;
	int ring;		/* 0..: the kernel's, by CPU; from CPUS_MAX on the provider's */
	unsigned int written;	/* ns after T0 */
	int thread;		/* of events; NOBODY for other records */
	unsigned int seq;	/* order in which the records' events began */
};

struct model {
	unsigned int cpus, threads, ns;
	uint8_t state[THREADS_MAX][NS_MAX];	/* enum analysis_state */
	uint8_t reason[THREADS_MAX][NS_MAX];	/* of the state at each moment */
	int8_t waker[THREADS_MAX][NS_MAX];	/* the thread that ended the sleep */
	uint16_t wake_at[THREADS_MAX][NS_MAX];
	int8_t got[THREADS_MAX][NS_MAX];	/* the CPU that ended the wait */
	int8_t occupant[CPUS_MAX][NS_MAX];
	const char *in[THREADS_MAX][NS_MAX];	/* blocked: system call or page fault; or "" */
	bool cells;				/* scheduling records have operations */
	uint8_t cell[THREADS_MAX][NS_MAX];	/* operation of the thread, while .cells */
	uint16_t period[THREADS_MAX][NS_MAX];	/* number of the changes of .cell so far */
	bool late[THREADS_MAX][NS_MAX];		/* runnable by a wakeup before it left its CPU */
	unsigned int first[THREADS_MAX];	/* time of the first switch; .ns: none */
	/*
	 * The records do not show the state of the thread before .unsure if its first record is a
	 * wakeup, and from .doubt on if it left its CPU after a wakeup and did not come back.
	 */
	unsigned int unsure[THREADS_MAX], doubt[THREADS_MAX];
	struct model_duration *durations;
	struct model_operation *ops;
	struct model_work *works;
	struct model_record *recs;
	struct model_proof *proofs;
	struct model_change *changes;
	struct model_gap *gaps;
	size_t nr_durations, nr_ops, nr_works, nr_recs, nr_proofs, nr_changes, nr_gaps;
	size_t room_durations, room_ops, room_works, room_recs, room_proofs, room_changes;
	size_t room_gaps;
};

/*
 * Runs a machine. @dense: a thread has several events in one nanosecond, as with a coarse clock;
 * model_file() must then read each ring only once. @cells: scheduling records have the operations
 * of both threads.
 */
void model_run(struct model *m, bool dense, bool cells);
/* Removes the records of the kernel's ring of @cpu from @from until before @to, as a loss does. */
void model_lose(struct model *m, unsigned int cpu, unsigned int from, unsigned int to);
/*
 * Loses records of durations that were written from @from until before @to: some ends, some begins
 * of durations that directly enclose no event of an operation, and complete durations except those
 * in which an operation ended before @from. The engine reports an operation at its end, before it
 * can know of later losses.
 */
void model_lose_durations(struct model *m, unsigned int from, unsigned int to);
/* Adds the switches that the composer infers after losses. */
void model_infer_switches(struct model *m);
/* Makes the file's records, with rings read @rounds times. */
void model_file(const struct model *m, unsigned int rounds, struct trace *t);
void model_free(struct model *m);

/*
 * Calls @one ANALYSIS_ROUNDS times with successive seeds, or once with ANALYSIS_SEED. @m is empty
 * before each call. Returns the number of calls.
 */
uint64_t model_rounds(struct model *m, void (*one)(void));
/* Prints the seed that repeats a failure. Call this after the rounds, also after a failure. */
void model_end_rounds(struct model *m);

bool model_works(const struct model *m, unsigned int op, int thread, unsigned int ns);
/* True if a scheduling record shows that a thread works on the operation @op */
bool model_is_entered(const struct model *m, unsigned int op);
/*
 * True if the records do not tell exactly which threads work on @op. A record with an operation's
 * id shows that its thread works on all open operations with this id. The thread works on them
 * until a record shows another id, or until they end. So after a lost record of a thread, all later
 * operations that the thread works on are vague.
 */
bool model_is_vague(const struct model *m, unsigned int op);
/* True if the records do not tell the state of @thread, although none is lost */
bool model_is_unsure(const struct model *m, int thread, unsigned int ns);
/*
 * Returns the time from which the trace follows @thread: the time of its first event, wakeup or
 * switch from the idle task to it.
 */
uint64_t model_followed_at(const struct model *m, int thread);
/* True if @thread is in a duration around an event of @op */
bool model_is_around(const struct model *m, unsigned int op, int thread, unsigned int ns);
enum analysis_state model_state(const struct model *m, unsigned int op, unsigned int ns);

#endif /* ANALYSIS_MODEL_H */
