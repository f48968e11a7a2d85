// SPDX-License-Identifier: GPL-2.0
/*
 * The functions of run.h for sessions of the in-process back end, which are traces of this process
 */
#include <pthread.h>
#include <sys/rseq.h>

#include "run_inprocess.h"
#include "tape.h"

static struct tape tape;
static bool open, ended, reading;
static uint32_t generation;
static pthread_t tracing;

/*
 * Converts the library's chunks to those of the module. rd_take() expects the generation of strings
 * and the number of threads in .records, and names of tasks in a ring. The library sets neither
 * number, and its names of tasks are in no ring.
 */
static int take(void *arg, const struct asynctrace_chunk *chunk, const void *payload)
{
	struct asynctrace_chunk c;

	if (!chunk || chunk->kind == ASYNCTRACE_CHUNK_NAMES)
		return 0;
	c = *chunk;
	if (c.kind == ASYNCTRACE_CHUNK_STRINGS)
		c.records = 1;
	else if (c.kind == ASYNCTRACE_CHUNK_THREADS)
		c.records = c.bytes / sizeof(struct asynctrace_thread);
	rd_take(arg, &c, payload);
	return 0;
}

void run_open(struct run *run, struct at_ctl *ctl, const struct run_options *o)
{
	const struct tape_options opts = {
		.mode = o->mode, .ring_size = o->ring_size, .sub_size = o->sub_size,
		.boottime = o->boottime, .no_cpu_rings = o->no_cpu_rings, .sink = take,
		.sink_arg = &run->rd,
	};

	run->ctl = ctl;
	run->id = 0;
	nu_seen_init(&run->seen);
	rd_open(&run->rd, -1, nu_event, &run->seen);
	open = true;
	ended = false;
	reading = o->reads;
	tape_new(&tape, &opts, NULL, NULL);
	tape_attach(&tape);
}

void run_start(struct run *run)
{
	(void)run;
	if (reading)
		tape_roll(&tape);
	tape_gate(&tape, true);
	generation = tape.area.control->gate;
}

void run_stop(struct run *run)
{
	(void)run;
	at_area_gate(&tape.area, 0);
	ktap_check(at_writers_quiesce(), "a writer does not leave its ring");
}

void run_read(struct run *run, unsigned int max)
{
	(void)run;
	(void)max;
	if (!reading)
		at_drain_round(&tape.drain, false);
}

/* The first call after the stop reads to the end, and detaches the writers. */
void run_drain(struct run *run)
{
	if (!open)
		return;
	if (tape.area.control->gate) {
		run_read(run, 0);
		return;
	}
	if (ended)
		return;
	ended = true;
	tape_end(&tape, true);
	for (uint32_t i = 0; i <= tape.area.shape.nr_rings; i++)
		ktap_check(!tape.drain.readers[i].broken, "ring %u: %llu broken heads", i,
			   (unsigned long long)tape.drain.readers[i].broken);
}

void run_terminate(struct run *run)
{
	run_drain(run);
	tape_free(&tape);
	open = false;
}

bool run_has_lost(struct run *run, uint64_t ring_size)
{
	const struct asynctrace_ring_header *line =
		(const void *)(tape.area.rw + tape.area.control->headers);
	const uint32_t fallback = tape.area.shape.nr_rings;

	(void)run;
	for (uint32_t i = 0; i <= fallback; i++) {
		const uint64_t position = __atomic_load_n(&line[i].position, __ATOMIC_RELAXED);
		const uint64_t dropped = __atomic_load_n(&line[i].dropped, __ATOMIC_RELAXED);

		if (i == fallback ? dropped & ASYNCTRACE_FALLBACK_DROPS_MASK : dropped)
			return true;
		if ((position & (i == fallback ? ASYNCTRACE_FALLBACK_POS_MASK :
				 ASYNCTRACE_POS_MASK)) > ring_size / 8 &&
		    tape.area.shape.mode == ASYNCTRACE_MODE_CIRCULAR)
			return true;
	}
	return false;
}

uint64_t run_attempted(struct run *run)
{
	struct at_mark mark;
	uint64_t sum = 0;

	(void)run;
	for (uint32_t i = 0; i <= tape.area.shape.nr_rings; i++) {
		at_reader_mark(&tape.drain.readers[i], &mark);
		sum += mark.records + mark.dropped;
	}
	return sum;
}

bool run_uses_fallback(const struct run *run)
{
	(void)run;
	return !tape.area.shape.nr_rings || !__rseq_size ||
	       tape.area.shape.clock != ASYNCTRACE_CLOCK_COUNTER;
}

void run_linger(bool linger)
{
	tape.linger = linger;
}

uint32_t run_generation(void)
{
	return generation & 0xffff;
}

static void *trace(void *fn)
{
	((void (*)(void))fn)();
	return NULL;
}

pid_t run_tracing(const char *name, void (*fn)(void))
{
	(void)name;
	must(!pthread_create(&tracing, NULL, trace, (void *)fn));
	return 0;
}

void run_forget_killed(void)
{
	at_fallback_forked();
}

void run_join(pid_t pid)
{
	(void)pid;
	pthread_join(tracing, NULL);
}
