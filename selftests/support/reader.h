/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A reader of sessions for tests: parses what read(2) returns strictly by linux/asynctrace.h,
 * repairs nothing, and shares no code with the library's
 */
#ifndef READER_H
#define READER_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/asynctrace.h>
#include <linux/asynctrace_fxt.h>

#define RD_RINGS	1100
#define RD_PROVIDERS	64
#define RD_NAMES	64
#define RD_ARGS		4
#define RD_THREADS	16384

struct rd_arg {
	uint32_t type;
	uint64_t value;
	const char *text;
	uint32_t bytes;
};

/* An event in a provider's ring */
struct rd_event {
	uint32_t provider;
	uint32_t ring;
	uint32_t type;
	uint32_t slot;
	uint32_t words;
	uint32_t nargs;
	uint64_t ticks;		/* of a duration: its end */
	uint64_t begin;		/* of a duration; else equal to @ticks */
	uint64_t extra;
	char name[64];
	struct rd_arg arg[RD_ARGS];
};

/**
 * struct rd_ring - what the chunks of a ring said
 * @kind: enum asynctrace_chunk_kind: EVENTS, SCHED or NAMES
 * @delivered: records delivered, as the kernel counts them
 * @parsed: well-formed records in the payloads
 * @claimed: records that the payloads have according to the chunks' headers
 * @before: records that an earlier reader was given
 * @cleared: records cleared, as the kernel counts them
 * @broken: chunks with ASYNCTRACE_CHUNK_F_BROKEN
 * @backwards: records with an earlier time than the record before them
 */
struct rd_ring {
	uint32_t provider;
	uint32_t ring;
	uint32_t kind;
	bool fallback;
	bool last;
	uint64_t delivered;
	uint64_t overwritten;
	uint64_t cleared;
	uint64_t dropped;
	uint64_t parsed;
	uint64_t claimed;
	uint64_t before;
	uint64_t broken;
	uint64_t backwards;
	uint64_t ticks;
};

struct rd_provider {
	uint32_t id;
	int32_t pid;
	uint32_t flags;
	uint32_t salt;
	uint64_t sched_dropped;
	uint64_t names_dropped;
	char name[ASYNCTRACE_NAME_MAX + 4];
	uint32_t generation;	/* of the provider's names */
	uint32_t generations;	/* number of generations of names so far */
	uint32_t words;		/* read so far of the durable ring */
	uint32_t names;
	char text[RD_NAMES][64];
	int32_t tid[RD_THREADS];	/* by slot; 0: unknown */
};

/**
 * struct rd - a reader of a session
 * @event: called for each well-formed event
 * @record: NULL, or called with @record_arg for each record of the kernel's rings: the words of a
 *	scheduling record (SCHED) or a struct asynctrace_task_name (NAMES)
 * @before: NULL, or called before each read(2)
 * @second: another reader has read the session before
 * @ended: sums of providers that ended before the session was read
 * @ended_sum: head of the chunk that had @ended
 * @malformed: number of violations of the format that linux/asynctrace.h describes
 */
struct rd {
	int fd;
	char *buf;
	void (*event)(const struct rd_event *ev, void *arg);
	void (*record)(uint32_t kind, const void *record, void *arg);
	void *arg;
	void *record_arg;
	void (*before)(struct rd *rd);
	bool second;
	uint32_t nr_rings;
	struct rd_ring ring[RD_RINGS];
	uint32_t nr_providers;
	struct rd_provider *provider[RD_PROVIDERS];
	struct asynctrace_ended ended;
	struct asynctrace_chunk ended_sum;
	uint64_t chunks;
	uint64_t malformed;
	char first[256];	/* describes the first violation */
};

void rd_open(struct rd *rd, int fd, void (*event)(const struct rd_event *, void *), void *arg);
/* Reads up to @max chunks. Returns their number, which is less if nothing is left. */
unsigned int rd_read(struct rd *rd, unsigned int max);
void rd_drain(struct rd *rd);
/* Parses one chunk, for callers that have got it in another way than by rd_read(). */
void rd_take(struct rd *rd, const struct asynctrace_chunk *c, const void *payload);
void rd_close(struct rd *rd);
struct rd_provider *rd_provider(struct rd *rd, uint32_t id);
/* Returns sums over the rings of one kind, of one provider or, if @provider is 0, of all. */
struct rd_ring rd_sum(const struct rd *rd, uint32_t kind, uint32_t provider);

#endif /* READER_H */
