// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Selects and copies the part of the process's rings that the flight recorder writes to a file
 *
 * All of this may run in a signal handler, while other threads write.
 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <asynctrace/compose.h>

#include "compose/internal.h"
#include "compose/mem.h"
#include "writer/internal.h"
#include "flight.h"
#include "window.h"

/* One bit for each slot of inprocess_slots.c. */
#define AT_USED_BYTES	((1u << 20) / 8)
/* Smaller changes of asleep_ns() are measurement errors: it reads two clocks one after another. */
#define AT_SLEPT_NS	1000000
/* Time for measuring the counter's rate, if the system has slept. */
#define AT_MEASURE_NS	10000000

static int64_t asleep_ns(void)
{
	struct timespec boot, mono;

	syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &boot);
	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &mono);
	return (boot.tv_sec - mono.tv_sec) * 1000000000ll + boot.tv_nsec - mono.tv_nsec;
}

void at_window_begin(struct at_window *w)
{
	w->joins = at_rings_shared();
	/* Read the clock before the marks: see at_compose_join(). */
	w->asleep = asleep_ns();
	at_clock_pair_now(w->area, &w->began);
	w->began.what = ASYNCTRACE_MOMENT_START;
	for (uint32_t i = 0; i <= w->area->shape.nr_rings; i++) {
		at_reader_init(&w->readers[i], w->area, i);
		at_reader_mark(&w->readers[i], &w->begin[i]);
	}
}

/*
 * Returns the clock pair that, together with @now, gives the time of all records. If the system
 * slept, the counter may have stopped or been reset. Then the first pair is useless, and the
 * present rate of the counter is measured.
 */
static struct asynctrace_clock_pair base_pair(const struct at_window *w,
					      const struct asynctrace_clock_pair *now)
{
	const struct timespec measure = { .tv_nsec = AT_MEASURE_NS };
	const int64_t slept = asleep_ns() - w->asleep;
	struct asynctrace_clock_pair base = w->began, later;
	uint64_t ticks, ns;

	if (now->ticks >= base.ticks && slept < AT_SLEPT_NS && slept > -AT_SLEPT_NS)
		return base;
	syscall(SYS_nanosleep, &measure, NULL);
	at_clock_pair_now(w->area, &later);
	ticks = later.ticks - now->ticks;
	ns = later.boottime - now->boottime;
	/* Go back by about an hour, or by less if the counter or the clock began later. */
	for (uint64_t n = 3600000000000ull / AT_MEASURE_NS; n; n /= 2) {
		if (n > now->ticks / ticks || n > now->boottime / ns)
			continue;
		base.ticks = now->ticks - n * ticks;
		base.boottime = now->boottime - n * ns;
		base.realtime = now->realtime - n * ns;
		break;
	}
	return base;
}

/* Returns the value that the counter had @ns before @now. */
static uint64_t ticks_before(const struct asynctrace_clock_pair *base,
			     const struct asynctrace_clock_pair *now, uint64_t ns)
{
	const uint64_t span = now->boottime - base->boottime;
	unsigned __int128 ticks;

	if (!span)
		return 0;
	ticks = (unsigned __int128)ns * (now->ticks - base->ticks) / span;
	return ticks < now->ticks ? now->ticks - (uint64_t)ticks : 0;
}

static void leave_out_old(struct at_window *w, uint64_t cutoff)
{
	struct at_oldest o;

	for (uint32_t i = 0; i <= w->area->shape.nr_rings; i++) {
		while (at_reader_oldest(&w->readers[i], &o) && o.after <= cutoff &&
		       at_reader_leave_out(&w->readers[i], &o))
			;
	}
}

/* Skips sub-buffers in the order of their ends until the rest fits into @max_bytes. */
static void leave_out_surplus(struct at_window *w)
{
	struct at_oldest o, first = { .after = 0 };
	struct at_reader *of;
	uint64_t bytes;

	do {
		bytes = 0;
		of = NULL;
		for (uint32_t i = 0; i <= w->area->shape.nr_rings; i++) {
			if (!at_reader_oldest(&w->readers[i], &o))
				continue;
			bytes += o.words * 8;
			if (o.after < UINT64_MAX && (!of || o.after < first.after)) {
				of = &w->readers[i];
				first = o;
			}
		}
	} while (bytes > w->max_bytes && of && at_reader_leave_out(of, &first));
}

/* Selects the records of all rings up to one moment. Later records are for the next file. */
static void select_records(struct at_window *w, const struct asynctrace_clock_pair *base,
		   const struct asynctrace_clock_pair *now)
{
	struct at_mark m;

	for (uint32_t i = 0; i <= w->area->shape.nr_rings; i++) {
		struct at_reader *rd = &w->readers[i];

		at_reader_init(rd, w->area, i);
		at_reader_begin(rd, &w->begin[i]);
		at_reader_mark(rd, &m);
		at_reader_end(rd, &m);
	}
	leave_out_old(w, ticks_before(base, now, w->min_age));
	leave_out_surplus(w);
}

/*
 * Copies all selected records. Composing is slower, and writing to a pipe may last long: threads
 * would overwrite the rings meanwhile.
 */
static int copy_records(struct at_window *w, struct at_taken **first)
{
	const size_t sub = (size_t)w->area->shape.sub_words * 8;
	struct at_taken **last = first, *t;
	uint64_t *words;

	*first = NULL;
	for (uint32_t i = 0; i <= w->area->shape.nr_rings; i++) {
		struct at_reader *rd = &w->readers[i];

		for (;;) {
			t = atc_malloc(sizeof(*t));
			words = atc_malloc(sub);
			if (!t || !words)
				return -ENOMEM;
			if (!at_reader_copy(rd, &t->extent, words))
				break;
			atc_shrink(words, t->extent.nwords * 8);
			t->next = NULL;
			t->reader = *rd;
			at_reader_done(rd, &t->extent);
			*last = t;
			last = &t->next;
		}
		atc_shrink(words, 0);
	}
	return 0;
}

static int to_composer(void *arg, const struct asynctrace_chunk *chunk, const void *payload)
{
	return chunk ? at_compose_chunk(arg, chunk, payload) : 0;
}

/* Adds the counts that come from the rings and not from the composer. */
static void fill_counts(const struct at_window *w, struct at_flight_result *res)
{
	uint64_t committed = 0;

	for (uint32_t i = 0; i <= w->area->shape.nr_rings; i++) {
		const struct at_reader *rd = &w->readers[i];

		committed += rd->end.records - rd->begin.records;
		res->older += rd->older;
		res->overwritten += rd->overwritten;
		res->dropped += at_reader_dropped(rd);
	}
	res->unwritten = committed - res->delivered - res->older - res->overwritten -
			 res->malformed;
}

void at_window_write(struct at_window *w, struct at_compose *c, struct at_flight_result *res)
{
	struct at_drain d = {
		.area = w->area, .readers = w->readers, .sink = to_composer, .arg = c,
	};
	struct asynctrace_clock_pair now, base;
	struct at_compose_counts total;
	struct at_taken *taken;
	int err;

	if (w->joins)
		at_compose_join(c);
	at_clock_pair_now(w->area, &now);
	base = base_pair(w, &now);
	select_records(w, &base, &now);
	res->error = copy_records(w, &taken);
	memcpy(d.name, w->name, sizeof(d.name));
	d.used = atc_calloc(1, AT_USED_BYTES);
	err = d.used ? at_drain_once(&d, &base, taken) : -ENOMEM;
	if (!res->error)
		res->error = err;
	err = at_compose_finish(c);
	if (!res->error)
		res->error = err;
	at_compose_totals(c, &total);
	res->bytes = at_compose_written(c);
	res->delivered = total.delivered;
	res->malformed = total.malformed;
	fill_counts(w, res);
}
