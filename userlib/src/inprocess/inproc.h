/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The in-process back end: what its files, and its tests, share
 */
#ifndef AT_INPROC_H
#define AT_INPROC_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <linux/asynctrace.h>
#include <asynctrace/inprocess.h>

#pragma GCC visibility push(hidden)

/* --- area.c: the memory, laid out as the module does -------------------------------- */

/**
 * struct at_shape - what a run's rings look like
 * @mode: enum at_trace_mode
 * @nr_rings: rings of CPUs; 0: only the fallback ring
 * @clock: enum asynctrace_clock
 * @sub_words: words of a sub-buffer
 * @nsub: sub-buffers of a ring
 */
struct at_shape {
	uint32_t mode;
	uint32_t nr_rings;
	uint32_t clock;
	uint32_t sub_words;
	uint32_t nsub;
};

/**
 * struct at_area - rings in a memfd
 * @fd: the memfd; -1: closed, the mappings hold it
 * @shape: of the rings
 * @control: the control area, writable here; at_gate_ shows it read-only
 * @rw: the read-write area, as the drainer sees it
 */
struct at_area {
	int fd;
	struct at_shape shape;
	struct asynctrace_control *control;
	char *rw;
	size_t control_size;
	size_t rw_size;
};

/* From the user's wishes; -EINVAL. Finds out about CPUs and clock. */
int at_shape_init(struct at_shape *shape, const struct at_trace_options *options);
/* categories: separated by commas, or NULL. The gate in it is closed. */
int at_area_create(struct at_area *area, const struct at_shape *shape, const char *categories);
void at_area_destroy(struct at_area *area);
/* Under the back end's lock: this process' writers see the area from now on. */
int at_area_attach(const struct at_area *area);
/* Puts empty memory in its place again. */
void at_area_detach(void);
/* Opens the gate with a new generation, or closes it with 0. */
void at_area_gate(struct at_area *area, uint32_t generation);
uint32_t at_new_generation(void);
/* After the gate was closed: no writer is in the rings any more. */
bool at_area_quiesce(void);
/* Can critical sections be ended from outside? */
bool at_membarrier_init(void);

/* --- reader.c: takes records out of one ring -------------------------------------------- */

/**
 * struct at_reader - how far one ring was read
 * @area: where it is
 * @ring: its index
 * @next: linear offset of the next word to take
 * @delivered: records taken
 * @overwritten: records lost to wrapping
 * @broken: sub-buffers whose head was not what it must be: never, unless memory
 *	was spoilt
 */
struct at_reader {
	struct at_area *area;
	uint32_t ring;
	uint64_t next;
	uint64_t delivered;
	uint64_t overwritten;
	uint64_t broken;
};

/**
 * struct at_extent - what is committed of one sub-buffer and was not yet taken
 * @words: where
 * @nwords: how many
 * @records: how many records they claim to be
 * @end: linear offset behind them
 * @next: linear offset to go on at
 * @whole: nothing more will come in this sub-buffer
 */
struct at_extent {
	const uint64_t *words;
	uint64_t nwords;
	uint64_t records;
	uint64_t end;
	uint64_t next;
	bool whole;
};

void at_reader_init(struct at_reader *rd, struct at_area *area, uint32_t ring);
/*
 * The next extent, or false: nothing is there. In circular mode the ring must be
 * quiet, because what was looked at may be written over meanwhile.
 */
bool at_reader_next(struct at_reader *rd, struct at_extent *x);
/* The extent was used: goes on, and in streaming mode lets writers have it. */
void at_reader_done(struct at_reader *rd, const struct at_extent *x);
uint64_t at_reader_dropped(const struct at_reader *rd);

/* --- slots.c ------------------------------------------------------------------------------ */

void at_slots_forked(void);
int at_slots_init(void);
/* Fills @t from slot @slot; false: that one is not there (yet). */
bool at_slots_get(uint32_t slot, struct asynctrace_thread *t);
uint32_t at_slots_last(void);

/* --- drain.c: from rings to chunks ----------------------------------------------------------- */

/*
 * Takes a chunk: 0 or a negative errno, with which it is not called again. Without
 * a chunk: what came so far should now survive the death of the process.
 */
typedef int (*at_sink)(void *arg, const struct asynctrace_chunk *chunk, const void *payload);

struct at_drain {
	struct at_area *area;
	struct at_reader *readers;
	at_sink sink;
	void *arg;
	int error;
	char name[ASYNCTRACE_NAME_MAX + 1];
	uint32_t strings;	/* words of the durable ring handed out */
	uint32_t threads;	/* slots handed out */
	uint64_t clock_at;	/* CLOCK_BOOTTIME of the last pair, ns */
	uint64_t flushed_at;
	uint64_t busiest;	/* words that the fullest ring held in the last round */

	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop;
};

int at_drain_init(struct at_drain *d, struct at_area *area, const char *name, at_sink sink,
		  void *arg);
int at_drain_start(struct at_drain *d);	/* the thread */
void at_drain_stop(struct at_drain *d);	/* joins it */
/* One round over all rings; last: the gate is closed and nobody writes. */
void at_drain_round(struct at_drain *d, bool last);
void at_drain_result(const struct at_drain *d, struct at_trace_result *res);
void at_drain_free(struct at_drain *d);

#pragma GCC visibility pop

#endif /* AT_INPROC_H */
