/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A trace of this process, or of a forked one, kept in memory and checked as it
 * comes: what the tests of the writer have in common
 */
#ifndef TAPE_H
#define TAPE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "inprocess/inproc.h"
#include "writer/internal.h"

/* --- a small harness ------------------------------------------------------------- */

extern int passed, failed, skipped;

/* Says what was not so, once for each place, and goes on. */
#define check(cond, ...) check_(!!(cond), __FILE__, __LINE__, #cond, " " __VA_ARGS__)
bool check_(bool ok, const char *file, int line, const char *cond, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* Closes a test: it passed if all of its checks did. */
void done(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void skip(const char *name, const char *why);
/* The last line; the exit status. */
int finish(void);

uint64_t seed(void);		/* SEED, or one of its own, printed */
uint32_t rnd(uint64_t *state);	/* xorshift */
long scale(const char *env, long otherwise);
void pin(int cpu);
int nr_cpus(void);		/* that this process may use */
int nth_cpu(int n);

#ifdef AT_TEST_HOOKS
extern uint64_t at_race_delay __attribute__((visibility("hidden")));
#endif

/* --- the tape ----------------------------------------------------------------------- */

struct tape_arg {
	const char *name;
	uint32_t name_len;
	uint32_t type;
	uint64_t value;		/* of a string: its length */
	const char *text;
};

/*
 * A record, taken apart. Texts lie in the record and have no NUL. Of a record that is no event
 * of a thread, @type is TAPE_SPECIAL and only @ring, @words, @slot, @time and @raw are set.
 */
#define TAPE_SPECIAL	100

struct tape_event {
	const uint64_t *raw;
	uint32_t ring;
	uint32_t type;
	uint32_t words;
	uint32_t slot;
	uint64_t time;
	uint64_t id;		/* the extra word, if there is one */
	const char *category, *name;
	uint32_t category_len, name_len;
	uint32_t nargs;
	struct tape_arg args[ASYNCTRACE_FXT_ARGS_MAX];
};

typedef void (*tape_fn)(const struct tape_event *ev, void *arg);

struct tape {
	struct at_area area;
	struct at_drain drain;
	tape_fn fn;
	void *arg;
	uint64_t words;		/* of events */
	uint64_t events;
	uint64_t torn;		/* runs of words that are not whole records */
	uint64_t miscounted;	/* runs that hold another number of them than they claim */
	uint64_t backwards;	/* stamps lower than the one before in their ring */
	uint64_t unpadded;	/* texts followed by bytes that are not 0 */
	uint64_t unnamed;	/* references to strings that had not come yet */
	uint64_t strangers;	/* slots that had not come yet */
	uint64_t *last;		/* stamp, by ring */
	const char **strings;	/* by index; length before it */
	uint32_t *string_len;
	uint8_t *slots;
	uint64_t *string_words;	/* a copy of the durable ring */
	struct at_trace_result result;
	bool linger;		/* at the end, see that no writer comes late */
};

struct tape_options {
	uint32_t mode;
	uint64_t ring_size;
	uint64_t sub_size;
	const char *categories;
	bool boottime;		/* as if the counter were not trusted */
	bool no_cpu_rings;	/* as if there were none */
	bool keep_fd;		/* for children */
};

/* Makes the rings; the gate is closed. */
void tape_new(struct tape *t, const struct tape_options *o, tape_fn fn, void *arg);
/* This process writes there. */
void tape_attach(struct tape *t);
void tape_gate(struct tape *t, bool open);
/* Drains in a thread from now on (not in circular mode). */
void tape_roll(struct tape *t);
/* Closes the gate, waits for this process' writers, drains to the end. */
void tape_end(struct tape *t, bool attached);
void tape_free(struct tape *t);
/* Nothing torn, miscounted, out of order, unpadded, unnamed. */
void tape_check(const struct tape *t);

#endif /* TAPE_H */
