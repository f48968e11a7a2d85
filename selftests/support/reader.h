/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A reader of sessions, for tests: it parses what read(2) returns by the letter
 * of linux/asynctrace.h, knows no repair, and shares no code with the library's.
 */
#ifndef READER_H
#define READER_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/asynctrace.h>
#include <linux/asynctrace_fxt.h>

#define RD_RINGS	256
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

/* An event as a provider's ring has it. */
struct rd_event {
	uint32_t provider;
	uint32_t ring;
	uint32_t type;
	uint32_t slot;
	uint32_t words;
	uint32_t nargs;
	uint64_t ticks;
	uint64_t extra;
	char name[64];
	struct rd_arg arg[RD_ARGS];
};

/**
 * struct rd_ring - what was told of a ring
 * @kind: enum asynctrace_chunk_kind: EVENTS, SCHED or NAMES
 * @delivered: by the kernel's ledger
 * @parsed: records that are there, and well formed
 * @claimed: records that the heads of chunks claim
 * @before: that another reader was given before this one
 * @cleared: by the kernel's ledger
 * @broken: chunks without framing
 * @backwards: records stamped earlier than the one before them
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
	uint64_t sched_dropped;
	uint64_t names_dropped;
	char name[ASYNCTRACE_NAME_MAX + 4];
	uint32_t generation;	/* of its names */
	uint32_t generations;	/* that there were */
	uint32_t words;		/* of the durable ring, told so far */
	uint32_t names;
	char text[RD_NAMES][64];
	int32_t tid[RD_THREADS];	/* by slot; 0: not told */
};

/**
 * struct rd - a session's consumer
 * @event: called for each event that is well formed
 * @record: where set, called for each record of the kernel's rings of that kind, SCHED
 *	or NAMES: a scheduling record's words, a struct asynctrace_task_name. With
 *	@record_arg
 * @before: called before each read(2), where it is set
 * @second: another one has read the session before
 * @ended: providers that had ended before, and
 * @ended_sum: the chunk that told of them
 * @malformed: things that are not as the header says
 * @lost: sum over the rings of events: overwritten and dropped
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
	char first[256];	/* the first that was malformed */
};

void rd_open(struct rd *rd, int fd, void (*event)(const struct rd_event *, void *), void *arg);
/* Reads up to @max chunks. Returns how many: fewer, where there is no more. */
unsigned int rd_read(struct rd *rd, unsigned int max);
void rd_drain(struct rd *rd);
void rd_close(struct rd *rd);
struct rd_provider *rd_provider(struct rd *rd, uint32_t id);
/* Sums over the rings of one kind, and where @provider is not 0, of that one. */
struct rd_ring rd_sum(const struct rd *rd, uint32_t kind, uint32_t provider);

#endif /* READER_H */
