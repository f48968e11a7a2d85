/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between the parts. A record takes this way:
 *
 *	tail.c		from the recorder, through the analysis, out of the window
 *	window.c	records that wait
 *	slow.c		operations that are slow: what their answers depend on
 *	covers.c	times in which all records of a thread or a CPU are kept
 *	held.c		records that left the window and may still be needed
 *	emit.c		what is kept: sections, events, switches
 *	marks.c		records of the recorder itself
 *	objects.c	names of threads and processes
 *	out.c		whole records to the file
 */
#ifndef TAIL_PRIV_H
#define TAIL_PRIV_H

#include "analysis/analysis.h"
#include "encode.h"
#include "fxt/fxt.h"
#include "fxt/table.h"
#include "tail.h"

#define KERNEL_PROVIDER	1	/* has scheduling, names, clocks and losses */

/* --- window.c ------------------------------------------------------------------------- */

enum {
	ENTRY_COUNTED	= 1 << 0,	/* a record of a ring */
	ENTRY_KEEP	= 1 << 1,
	ENTRY_SLOW	= 1 << 2,	/* begins a slow operation */
	ENTRY_OPEN	= 1 << 3,	/* begins what has not ended */
	ENTRY_BEGIN	= 1 << 4,	/* began something, be it over or not */
	ENTRY_LARGE	= 1 << 5,	/* category and name do not fit into a record of the file */
};

/* A record. What it says holds from .ns to .end. */
struct tail_entry {
	uint64_t ns, end;
	uint64_t reach;		/* the record was not written before */
	uint64_t partner;	/* number of the record that ends or begins the same; 0: none */
	uint32_t tid, other;	/* thread; who comes, who wakes, or the object's process */
	uint32_t provider;
	uint32_t source;
	uint32_t at;		/* in the window's words */
	uint16_t words, cpu;
	uint16_t ongoing;	/* works that the event began and that have not ended */
	uint8_t kind;		/* enum fxt_kind */
	uint8_t type;		/* of an event or an object */
	uint8_t flags;
};

/* Entries have numbers from 1 on. */
struct tail_window {
	struct tail_entry *entries;
	uint64_t *words;
	size_t room_entries, room_words;	/* powers of two */
	uint64_t first, next;		/* numbers */
	size_t head;			/* of words: the next record's place */
	uint64_t bytes;			/* of entries and records */
};

/* Append a record. NULL: no memory */
struct tail_entry *window_add(struct tail_window *w, const uint64_t *words, size_t nr);
struct tail_entry *window_entry(const struct tail_window *w, uint64_t number);
bool window_has(const struct tail_window *w, uint64_t number);
uint64_t *window_words(const struct tail_window *w, const struct tail_entry *e);
uint64_t window_bytes(const struct tail_entry *e);
/* The first entry goes. */
void window_drop(struct tail_window *w);
void window_free(struct tail_window *w);

/* --- covers.c ------------------------------------------------------------------------- */

struct tail_cover {
	uint64_t from, to;
	size_t words;		/* of the mark */
	uint64_t *mark;		/* NULL: none */
};

struct tail_covers {
	struct tail_cover *of;	/* in order, disjoint */
	size_t nr, room;
	size_t begun;		/* the first so many begin no later than what left the window */
};

/* Cover @from to @to. @mark says what was before @from. 0 or -ENOMEM */
int covers_add(struct tail_covers *c, uint64_t from, uint64_t to, const uint64_t *mark,
	       size_t words);
bool covers_overlap(const struct tail_covers *c, uint64_t from, uint64_t to);
/* Release what ended before @ns. */
void covers_forget(struct tail_covers *c, uint64_t ns);
void covers_free(struct tail_covers *c);

/* --- held.c --------------------------------------------------------------------------- */

struct tail_held {
	struct tail_entry entry;
	uint64_t number;
	uint64_t *words;
	size_t nr;
	bool written;
	bool told;		/* the file tells what the thread works on since then */
	struct tail_held *next, *previous;	/* of the thread */
	struct tail_held *newer, *older;
};

struct tail_thread {
	struct tail_covers covers;
	struct tail_held *held;
	bool lacks;		/* the file cannot have a record that tells what it works on */
};

/* Keep a copy of @e, whose record is @words. NULL: no memory */
struct tail_held *held_add(struct tail *t, const struct tail_entry *e, uint64_t number,
			   const uint64_t *words, size_t nr);
struct tail_held *held_find(const struct tail *t, uint64_t number);
/* Write @h, if that was not done. @apart: records around it are not all in the file. */
void held_write(struct tail *t, struct tail_held *h, bool apart);
/* Write @h with the others that are wanted. 0 or -ENOMEM */
int held_want(struct tail *t, struct tail_held *h, bool apart);
/*
 * Write the records that are wanted, in order of their numbers: readers put records in order of
 * time, and those of one time stay as they stand in the file.
 */
void held_write_wanted(struct tail *t);
/* Release what cannot be needed any more. */
void held_forget(struct tail *t);
/* Release @h, and count its record as filtered if it was not written. */
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

/* The thread that runs on a CPU by the file, and the last switch that the file does not have */
struct tail_cpu {
	struct tail_covers covers;
	bool known, hidden;
	uint32_t tid;
	uint64_t switched[ASYNCTRACE_FXT_ARGS_MAX * 2 + 4];
	size_t words;
};

void emit_section(struct tail *t, uint32_t provider);
struct tail_provider *emit_provider(struct tail *t, uint32_t id);
/* The first entry leaves the window. 0 or -ENOMEM */
int emit_first(struct tail *t);
/* The event @e with the raw words @raw, as the file has it. Words, or a negative errno */
ssize_t emit_encode(struct tail *t, const uint64_t *raw, size_t nr, uint64_t *words);
/* Write the encoded event @words; in t->scratch, if it is @apart */
void emit_event(struct tail *t, const struct tail_entry *e, const uint64_t *words, size_t nr,
		bool apart);
/* A loss of the provider's events, written if it was not */
int emit_held_losses(struct tail *t, uint64_t from, uint64_t to);
struct tail_cpu *cpu_make(struct tail *t, unsigned int cpu);

/* --- marks.c -------------------------------------------------------------------------- */

void marks_head(struct tail *t, uint64_t ns);
void marks_operation(struct tail *t, uint64_t ns, uint64_t id);
/* These make a mark of the state at @ns; words */
size_t marks_thread(uint64_t *w, uint64_t ns, const struct analysis_thread_state *s);
size_t marks_cpu(uint64_t *w, uint64_t ns, const struct analysis_cpu_state *s);
/* On @cpu, others than those in the file ran. 0 or -ENOMEM */
int marks_away(struct tail *t, struct tail_cpu *c, unsigned int cpu, const uint64_t *switched);
void marks_back(struct tail *t, struct tail_cpu *c, unsigned int cpu);

/* --- objects.c ------------------------------------------------------------------------ */

/* An object record of the window: to be written before it is used. 0 or -ENOMEM */
int objects_take(struct tail *t, const struct tail_entry *e, const uint64_t *words);
/* The file uses the thread @tid. */
void objects_use(struct tail *t, uint32_t tid);
/* The file uses the pseudo thread @tid, which stands for threads that are not in the file. */
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
	uint64_t written;	/* bytes, without buf */
	int error;
};

/* Append a record; @e: of a ring's, or NULL */
void out_put(struct tail *t, const uint64_t *words, size_t nr, const struct tail_entry *e);
void out_flush(struct tail *t);
/* Count a record of a ring that is not in the file: because nothing needs it, or it cannot be. */
void out_unwritten(struct tail *t, const struct tail_entry *e);
void out_filtered(struct tail *t, const struct tail_entry *e);

/* --- tail.c --------------------------------------------------------------------------- */

struct tail_loss {
	uint64_t from, to;
	uint64_t event;		/* the format's own record; 0: none */
	size_t words;
	uint64_t *of;		/* NULL: written */
	uint32_t tid;
};

#define TAIL_LOSSES	1024

struct tail {
	struct tail_options opts;
	struct analysis *analysis;
	struct fxt_reader *early, *late;	/* of what comes in, of what leaves the window */
	struct tail_window window;
	uint64_t settled, horizon;	/* numbers: entries before were settled, are over */
	uint64_t settled_bytes, horizon_bytes;	/* of the window, before these */
	uint64_t settled_ns, horizon_ns;	/* the latest times in them */
	uint64_t unsettled;		/* bytes since the analysis settled */
	uint64_t passed;		/* the latest time in what left the window */
	uint64_t due;			/* the first cover that has not begun */
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
	bool lacks;			/* so does a thread of the operation that is looked at */
	struct tail_covers all;		/* times that some slow operation needs */
	struct tail_cpu *cpus;
	size_t nr_cpus;
	struct tail_loss losses[TAIL_LOSSES];
	size_t nr_losses;
	uint64_t loss_event;

	struct fxt_table providers;	/* id + 1: .a struct tail_provider */
	struct fxt_table objects;
	uint32_t section;		/* of the file; 0: none */
	bool headed;
	struct tail_out out;
	struct fxt_table by_ring;	/* provider, ring: .a number of the source */
	struct tail_source *sources;
	size_t nr_sources, room_sources;
	uint32_t source;
	struct tail_counts counts;
	int failed;			/* without memory, records are only counted */
	uint64_t scratch[ASYNCTRACE_FXT_WORDS_MAX];
};

#endif /* TAIL_PRIV_H */
