/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A trace of this process or of a forked one, kept in memory and checked while it is read
 */
#ifndef TAPE_H
#define TAPE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common.h"
#include "inprocess/inproc.h"
#include "writer/internal.h"

/*
 * Is this program built with a sanitizer? Some tests then do not work, because sanitizers replace
 * the allocator and make system calls.
 */
#ifdef __SANITIZE_ADDRESS__
#define HAS_ASAN	1
#else
#define HAS_ASAN	0
#endif
#ifdef __SANITIZE_THREAD__
#define HAS_TSAN	1
#else
#define HAS_TSAN	0
#endif
#define SANITIZED	(HAS_ASAN || HAS_TSAN)

/* --- checks ------------------------------------------------------------------ */

/* Fails the running test, which goes on, unless @cond is true. Threads may call it. */
#define check(cond, ...) check_(!!(cond), __FILE__, __LINE__, #cond, " " __VA_ARGS__)
bool check_(bool ok, const char *file, int line, const char *cond, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
#define done(...)		ktap_done(__VA_ARGS__)
#define skip(name, why)		ktap_done_skipped(name, why)
#define finish()		ktap_exit()

long scale(const char *env, long otherwise);

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
 * A parsed record. Texts lie in the record and have no NUL. If the record is no event of a thread,
 * @type is TAPE_SPECIAL and only @ring, @words, @slot, @time and @raw are set.
 */
#define TAPE_SPECIAL	100

struct tape_event {
	const uint64_t *raw;
	uint32_t ring;
	uint32_t type;
	uint32_t words;
	uint32_t slot;
	uint64_t time;
	uint64_t id;		/* the extra word, if the type has one */
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
	uint64_t torn;		/* chunks whose words are not whole records */
	uint64_t miscounted;	/* chunks with another number of records than they claim */
	uint64_t backwards;	/* stamps lower than the previous one of their ring */
	uint64_t unpadded;	/* texts whose padding is not 0 */
	uint64_t unnamed;	/* references to strings that were not read before */
	uint64_t strangers;	/* slots of threads that were not read before */
	uint64_t *last;		/* latest stamp, by ring */
	const char **strings;	/* by index */
	uint32_t *string_len;
	uint8_t *slots;
	uint64_t *string_words;	/* a copy of the durable ring */
	struct at_trace_result result;
	bool linger;		/* tape_end() checks that no writer writes any more */
};

struct tape_options {
	uint32_t mode;
	uint64_t ring_size;
	uint64_t sub_size;
	const char *categories;
	bool boottime;		/* as if the counter were not trusted */
	bool no_cpu_rings;	/* as if CPUs had no rings */
	at_sink sink;		/* takes the chunks; NULL: the tape does */
	void *sink_arg;
};

/* Creates the rings, with the gate closed. */
void tape_new(struct tape *t, const struct tape_options *o, tape_fn fn, void *arg);
/* Lets the threads of this process write to the rings. */
void tape_attach(struct tape *t);
void tape_gate(struct tape *t, bool open);
/* Starts a thread that reads the rings until the end; circular rings are read at the end only. */
void tape_roll(struct tape *t);
/*
 * Closes the gate and reads to the end. @attached: tape_attach() was called, so the function waits
 * for this process's writers before it reads.
 */
void tape_end(struct tape *t, bool attached);
void tape_free(struct tape *t);
/* Fails the test if a count of faults in @t is not 0, or a delivered event is missing. */
void tape_check(const struct tape *t);

#endif /* TAPE_H */
