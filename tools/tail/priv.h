/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State and functions that the parts share. The path of a record:
 *
 *	tail.c		takes records from the recorder, and runs the analysis
 *	window.c	keeps records that wait
 *	slow.c		marks the records that slow operations need
 *	covers.c	knows times in which all records of a thread or a CPU are kept
 *	held.c		keeps records that left the window and may still be needed
 *	emit.c		writes kept records: events, switches, losses
 *	sections.c	writes introductions and sections of providers
 *	marks.c		makes the recorder's own records
 *	objects.c	keeps names of threads and processes
 *	out.c		writes whole records to the file
 */
#ifndef TAIL_PRIV_H
#define TAIL_PRIV_H

#include "analysis/analysis.h"
#include "encode.h"
#include "fxt/fxt.h"
#include "fxt/table.h"
#include "tail.h"

#define KERNEL_PROVIDER	FXT_KERNEL_PROVIDER	/* has scheduling, names, clocks and losses */

/* --- window.c ------------------------------------------------------------------------- */

enum {
	ENTRY_COUNTED	= 1 << 0,	/* a record of a ring, which is counted */
	ENTRY_KEEP	= 1 << 1,
	ENTRY_SLOW	= 1 << 2,	/* begins a slow operation */
	ENTRY_OPEN	= 1 << 3,	/* begins something that has not ended */
	ENTRY_BEGIN	= 1 << 4,	/* began something, which may have ended */
	ENTRY_LARGE	= 1 << 5,	/* category and name do not fit into a record of the file */
	ENTRY_TRACEPOINT = 1 << 6,	/* an event of a tracepoint of the kernel */
	ENTRY_CUT	= 1 << 7,	/* began a duration in which its thread exited at .end */
};

/* A record in the window. It is about the time from .ns to .end. */
struct tail_entry {
	uint64_t ns, end;
	uint64_t reach;		/* The record was not written before this time. */
	uint64_t entered;	/* time at which a thread entered the operation that the record
				   begins; 0: none did */
	uint64_t partner;	/* number of the record that ends or begins the same thing;
				   0: none */
	uint64_t joined;	/* id of the operation to which an event of a tracepoint belongs;
				   0: none */
	uint32_t tid, other;	/* .tid: the thread, or the one that leaves the CPU; .other: the
				   one that comes, the waker, or the process of the object */
	uint32_t provider;
	uint32_t source;
	uint32_t at;		/* index in the window's words */
	uint16_t words, cpu;
	uint16_t ongoing;	/* number of works (times in which the thread works on an
				   operation) that the event shows and that have not ended */
	uint8_t kind;		/* enum fxt_kind */
	uint8_t type;		/* of an event or an object */
	uint8_t flags;
};

/* The window: records in the order of the recorder. Numbers of entries begin with 1. */
struct tail_window {
	struct tail_entry *entries;
	uint64_t *words;
	size_t room_entries, room_words;	/* powers of two */
	uint64_t first, next;		/* numbers of the first entry and of the next new one */
	size_t head;			/* index in words of the next record */
	uint64_t bytes;			/* of entries and records */
};

/* Appends a record. Returns NULL if there is no memory. */
struct tail_entry *window_add(struct tail_window *w, const uint64_t *words, size_t nr);
struct tail_entry *window_entry(const struct tail_window *w, uint64_t number);
bool window_has(const struct tail_window *w, uint64_t number);
uint64_t *window_words(const struct tail_window *w, const struct tail_entry *e);
uint64_t window_bytes(const struct tail_entry *e);
/* Removes the first entry. */
void window_drop(struct tail_window *w);
void window_free(struct tail_window *w);

/* --- covers.c ------------------------------------------------------------------------- */

struct tail_cover {
	uint64_t from, to;
	size_t words;		/* number of words in .mark */
	uint64_t *mark;		/* one or several marks; NULL: none */
};

struct tail_covers {
	struct tail_cover *of;	/* sorted by time, disjoint */
	size_t nr, room;
	size_t begun;		/* number of covers whose marks have been written */
};

/*
 * Adds a cover from @from to @to. @mark: a record with the state before @from. Returns 0 or
 * -ENOMEM.
 */
int covers_add(struct tail_covers *c, uint64_t from, uint64_t to, const uint64_t *mark,
	       size_t words);
bool covers_overlap(const struct tail_covers *c, uint64_t from, uint64_t to);
/* Frees covers that ended before @ns. */
void covers_forget(struct tail_covers *c, uint64_t ns);
void covers_free(struct tail_covers *c);

/* --- held.c --------------------------------------------------------------------------- */

struct tail_held {
	struct tail_entry entry;
	uint64_t number;
	uint64_t *words;
	size_t nr;
	bool written;
	bool told;		/* the file already shows what the thread works on from this
				   record on */
	struct tail_held *next, *previous;	/* of the thread */
	struct tail_held *newer, *older;
};

struct tail_thread {
	struct tail_covers covers;
	struct tail_held *held;
	bool lacks;		/* a record that determines what the thread works on cannot
				   be in the file */
};

/* Keeps a copy of @e, whose record is @words. Returns NULL if there is no memory. */
struct tail_held *held_add(struct tail *t, const struct tail_entry *e, uint64_t number,
			   const uint64_t *words, size_t nr);
struct tail_held *held_find(const struct tail *t, uint64_t number);
/* Writes @h, unless that was done. @apart: not all records around it are in the file */
void held_write(struct tail *t, struct tail_held *h, bool apart);
/* Adds @h to the records that held_write_wanted() writes. Returns 0 or -ENOMEM. */
int held_want(struct tail *t, struct tail_held *h, bool apart);
/*
 * Writes the wanted records in order of their numbers. Readers sort records by time and keep
 * the file's order for equal times, so the order matters.
 */
void held_write_wanted(struct tail *t);
/* Frees held records that cannot be needed any more. */
void held_forget(struct tail *t);
/* Frees @h, and counts its record as filtered if it was not written. */
void held_drop(struct tail *t, struct tail_held *h);
struct tail_thread *thread_find(const struct tail *t, uint32_t tid);
struct tail_thread *thread_make(struct tail *t, uint32_t tid);

/* --- slow.c -------------------------------------------------------------------------- */

int slow_operation(void *arg, const struct analysis_operation *op);
int slow_left_out(void *arg, const struct analysis_operation *op);

/* --- emit.c --------------------------------------------------------------------------- */

struct tail_provider {
	uint64_t info[ASYNCTRACE_FXT_TEXT_WORDS(255) + 1];
	size_t words;
	uint64_t rate;
	bool told;
};

/*
 * The thread that runs on a CPU according to the file, and the last switch that is not in the
 * file
 */
struct tail_cpu {
	struct tail_covers covers;
	bool known, hidden;
	uint32_t tid;
	uint64_t switched[ASYNCTRACE_FXT_ARGS_MAX * 2 + 4];
	size_t words;
};

/* Introduces the provider @id, unless that was done. */
void emit_introduction(struct tail *t, uint32_t id);
/* Begins a section of @provider in the file, to which the records that follow belong. */
void emit_section(struct tail *t, uint32_t provider);
struct tail_provider *emit_provider(struct tail *t, uint32_t id);
/* Moves the first entry out of the window. Returns 0 or -ENOMEM. */
int emit_first(struct tail *t);
/*
 * Encodes the event @raw for the file. Returns the number of words, 0 if the event does not fit
 * into a record, or a negative errno.
 */
ssize_t emit_encode(struct tail *t, const uint64_t *raw, size_t nr, uint64_t *words);
/*
 * Writes the encoded event @words. @apart: as for held_write(). Then adds an argument that says so,
 * and overwrites t->scratch. @words may be t->scratch itself.
 */
void emit_event(struct tail *t, const struct tail_entry *e, const uint64_t *words, size_t nr,
		bool apart);
/* Writes losses of the time @from..@to that were not written yet. */
int emit_held_losses(struct tail *t, uint64_t from, uint64_t to);
struct tail_cpu *cpu_make(struct tail *t, unsigned int cpu);

/* --- marks.c -------------------------------------------------------------------------- */

void marks_head(struct tail *t, uint64_t ns);
void marks_operation(struct tail *t, uint64_t ns, uint64_t id);
/*
 * Writes a mark: a thread entered operation @id. @e: the operation's begin, which must have been
 * written
 */
void marks_entered(struct tail *t, const struct tail_entry *e, uint64_t id);
/*
 * Writes a mark: the thread exited in the duration that @e began. @e must have been written and
 * have ENTRY_CUT.
 */
void marks_exited(struct tail *t, const struct tail_entry *e);
/* Make a mark of the state at @ns. Return the number of words. */
size_t marks_thread(uint64_t *w, uint64_t ns, const struct analysis_thread_state *s);
size_t marks_work(uint64_t *w, uint64_t ns, const struct analysis_thread_state *s);
size_t marks_cpu(uint64_t *w, uint64_t ns, const struct analysis_cpu_state *s);
/*
 * If the file leaves out switches of a CPU, a pseudo thread runs there instead.
 * marks_away(): writes a switch to the pseudo thread of @cpu in place of the omitted @switched.
 *	Returns 0 or -ENOMEM.
 * marks_back(): writes a switch to the thread that the last omitted switch put on @cpu. Call it
 *	before the next switch that is written.
 */
int marks_away(struct tail *t, struct tail_cpu *c, unsigned int cpu, const uint64_t *switched);
void marks_back(struct tail *t, struct tail_cpu *c, unsigned int cpu);

/* --- objects.c ------------------------------------------------------------------------ */

/*
 * Keeps the record of a thread or process. It is written to a file before the first record that
 * refers to it. Returns 0 or -ENOMEM.
 */
int objects_take(struct tail *t, const struct tail_entry *e, const uint64_t *words);
/* Makes sure that the file names the thread @tid. */
void objects_use(struct tail *t, uint32_t tid);
/*
 * Makes sure that the file names the pseudo thread @tid, which stands for threads that are not
 * in the file.
 */
int objects_use_other(struct tail *t, uint32_t tid);
void objects_free(struct tail *t);

/* --- out.c ---------------------------------------------------------------------------- */

struct tail_out {
	uint64_t *buf;
	size_t used, room;	/* words */
	struct tail_placed {
		size_t at;
		uint32_t source;
		uint8_t kind;
	} *placed;		/* records of rings in buf */
	size_t nr_placed, room_placed;
	uint64_t written;	/* bytes of the file, without buf */
	int error;
};

/* Appends a record. @e: its entry if it is a record of a ring, or NULL */
void out_put(struct tail *t, const uint64_t *words, size_t nr, const struct tail_entry *e);
void out_flush(struct tail *t);
/*
 * Count a record of a ring that is not in the file: it could not be written, or nothing needs
 * it.
 */
void out_unwritten(struct tail *t, const struct tail_entry *e);
void out_filtered(struct tail *t, const struct tail_entry *e);

/* --- tail.c --------------------------------------------------------------------------- */

struct tail_loss {
	uint64_t from, to;
	uint64_t event;		/* the format's own loss record; 0: none */
	size_t words;
	uint64_t *of;		/* NULL: has been written */
	uint32_t tid;
};

#define TAIL_LOSSES	1024

struct tail {
	struct tail_options opts;
	struct analysis *analysis;
	struct fxt_reader *early, *late;	/* decode records that come in, and records
						   that leave the window */
	struct tail_window window;
	uint64_t settled, horizon;	/* entries before .settled are analysed; entries
					   before .horizon leave the window next */
	uint64_t settled_bytes, horizon_bytes;	/* bytes before .settled and .horizon */
	uint64_t settled_ns, horizon_ns;	/* latest time of the entries before .settled,
						   and latest .reach of those before .horizon */
	uint64_t unsettled;		/* bytes since the last analysis_settle() */
	uint64_t passed;		/* the latest time of records that have left the window */
	uint64_t due;			/* begin of the first cover whose mark is not written */
	uint64_t since_forget, forget_ns, next_forget_ns;

	struct fxt_table threads;	/* tid + 1: .a struct tail_thread */
	struct fxt_table held;		/* number: .a struct tail_held */
	struct tail_held *oldest, *newest;
	uint64_t held_bytes;
	struct tail_wanted {
		struct tail_held *held;
		bool apart;
	} *wanted;
	size_t nr_wanted, room_wanted;
	bool lacks;			/* the current operation depends on a record that
					   cannot be in the file */
	struct tail_covers all;		/* times that a slow operation needs */
	struct fxt_table slow;		/* hash of the id of a slow operation: .a its end */
	struct tail_cpu *cpus;
	size_t nr_cpus;
	struct tail_loss losses[TAIL_LOSSES];
	size_t nr_losses;
	uint64_t loss_event;

	struct fxt_table providers;	/* id + 1: .a struct tail_provider */
	struct fxt_table objects;
	uint32_t section;		/* provider of the file's current section; 0: none */
	bool headed;
	struct tail_out out;
	struct fxt_table by_ring;	/* provider, ring: .a index in .sources + 1 */
	struct tail_source *sources;
	size_t nr_sources, room_sources;
	uint32_t source;
	struct tail_counts counts;
	int failed;			/* a negative errno, such as -ENOMEM: records are only
					   counted */
	uint64_t scratch[2 * ASYNCTRACE_FXT_WORDS_MAX];	/* a record, or two marks */
};

#endif /* TAIL_PRIV_H */
