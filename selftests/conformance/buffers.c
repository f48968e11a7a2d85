// SPDX-License-Identifier: GPL-2.0
/*
 * P40 to P49: buffers, modes, dispositions
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "proto.h"

#define RING	(64 << 10)
/* Bytes of an event that emit() writes */
#define EVENT	40

static void open_mode(struct run *run, uint32_t mode)
{
	const struct at_session_options opts = {
		.mode = mode, .ring_size = RING, .sub_size = ASYNCTRACE_SUBBUF_MIN,
	};

	session_make(run, &opts);
	session_start(run);
}

/* Compares the kernel's counts of the rings with @attempted, and with what the reader received. */
static void check_law(struct run *run, uint64_t attempted)
{
	const struct rd_ring sum = rd_sum(&run->rd, ASYNCTRACE_CHUNK_EVENTS, 0);
	const struct law law = law_of(run->id);

	ktap_check(law.committed + law.dropped == attempted,
		   "%llu committed and %llu dropped, of %llu", (unsigned long long)law.committed,
		   (unsigned long long)law.dropped, (unsigned long long)attempted);
	ktap_check(law.delivered + law.overwritten + law.cleared == law.committed,
		   "%llu delivered, %llu overwritten and %llu cleared, of %llu",
		   (unsigned long long)law.delivered, (unsigned long long)law.overwritten,
		   (unsigned long long)law.cleared, (unsigned long long)law.committed);
	ktap_check(sum.delivered == law.delivered && sum.overwritten == law.overwritten &&
		   sum.dropped == law.dropped, "the reader was told other counts");
	ktap_check(run->seen.events == law.delivered, "%llu events of %llu",
		   (unsigned long long)run->seen.events, (unsigned long long)law.delivered);
}

/* Were all of [@from, @to) delivered? */
static bool has_all(const struct run *run, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		if (i / 8 >= run->seen.room[1] || !(run->seen.bits[1][i / 8] & 1 << i % 8))
			return false;
	return true;
}

static void P40_oneshot_full_drops_and_counts(void)
{
	const uint32_t first = next_number;
	struct law law;
	struct run run;

	open_mode(&run, ASYNCTRACE_MODE_ONESHOT);
	emit_until_full(&run);
	emit(1000);
	session_finish(&run);
	check_law(&run, next_number - first);
	law = law_of(run.id);
	/* The first events were delivered, without a gap. */
	ktap_check(law.delivered > RING / 2 / EVENT && run.seen.max[1] == first + law.delivered &&
		   has_all(&run, first, first + law.delivered), "%llu events, up to the %uth",
		   (unsigned long long)law.delivered, run.seen.max[1] - first);
	ktap_check(!law.overwritten && law.dropped >= 1000, "%llu overwritten, %llu dropped",
		   (unsigned long long)law.overwritten, (unsigned long long)law.dropped);
	session_end(&run);
}

static void P41_circular_overwrites_oldest_keeps_names(void)
{
	const uint32_t first = next_number;
	struct law law;
	struct run run;

	open_mode(&run, ASYNCTRACE_MODE_CIRCULAR);
	/*
	 * Fill the ring several times, so that the records that were written when the names were
	 * interned are overwritten.
	 */
	emit(4 * RING / EVENT);
	session_finish(&run);
	check_law(&run, next_number - first);
	law = law_of(run.id);
	/*
	 * The last events were delivered, without a gap. The reader checks that they have their
	 * names.
	 */
	ktap_check(law.delivered > RING / 2 / EVENT && run.seen.max[1] == next_number &&
		   has_all(&run, next_number - law.delivered, next_number), "%llu events, up to the %uth",
		   (unsigned long long)law.delivered, run.seen.max[1] - first);
	ktap_check(!law.dropped && law.overwritten > law.delivered, "%llu dropped, %llu overwritten",
		   (unsigned long long)law.dropped, (unsigned long long)law.overwritten);
	session_end(&run);
}

static void take_snapshot(struct run *run, uint32_t events)
{
	struct nu_seen seen;
	struct rd rd;
	int fd;

	fd = at_session_open_snapshot(ctl, run->id);
	if (fd < 0)
		ktap_bail("%s", at_ctl_error(ctl));
	nu_seen_init(&seen);
	rd_open(&rd, fd, nu_event, &seen);
	rd_drain(&rd);
	ktap_check(!rd.malformed && !seen.spoiled, "malformed: %s, spoiled: %s", rd.first, seen.first);
	ktap_check(seen.events >= events && seen.max[1] == next_number, "%llu events, up to %u of %u",
		   (unsigned long long)seen.events, seen.max[1], next_number);
	rd_close(&rd);
	nu_seen_free(&seen);
}

static void P41_snapshot_is_whole_and_repeatable(void)
{
	const struct at_session_options opts = {
		.mode = ASYNCTRACE_MODE_CIRCULAR, .ring_size = RING,
		.sub_size = ASYNCTRACE_SUBBUF_MIN,
	};
	struct run run = { .ctl = ctl };

	run.id = session_ready(&opts);
	must(!at_session_init(ctl, run.id));
	session_start(&run);
	for (int i = 0; i < 3; i++) {
		must(emit(4 * RING / EVENT) == 4 * RING / EVENT);
		/* A second snapshot is the same: the first took nothing. */
		take_snapshot(&run, RING / 2 / EVENT);
		take_snapshot(&run, RING / 2 / EVENT);
		ktap_check(session_state(run.id) == ASYNCTRACE_SESSION_STATE_STARTED, "state %u",
			   session_state(run.id));
	}
	ktap_check(!law_of(run.id).delivered && !law_of(run.id).dropped, "a snapshot has taken records");
	run_terminate(&run);
}

static bool is_told_full(void *arg)
{
	struct at_notifications *events = arg;
	struct at_notification ev;

	if (!events_told(events, ASYNCTRACE_NOTIFICATION_KINDS_SAVE_BUFFER, &ev))
		return false;
	ktap_check(ev.provider == my_provider() && ev.durable &&
		   ev.position >= ASYNCTRACE_SUBBUF_MIN / 8 && ev.position <= RING / 8,
		   "of provider %u, at %llu words, %u of names", ev.provider,
		   (unsigned long long)ev.position, ev.durable);
	return true;
}

static void P42_full_sub_buffer_is_reported(void)
{
	struct at_notifications *events;
	struct run run;

	open_mode(&run, ASYNCTRACE_MODE_STREAMING);
	if (at_notifications_open(&events, ASYNCTRACE_NOTIFICATION_KINDS_SAVE_BUFFER, run.id))
		ktap_bail("%s", at_notifications_error(events));
	emit(RING / 2 / EVENT);
	ktap_check(soon(is_told_full, events), "no notification tells of a full sub-buffer");
	session_finish(&run);
	session_end(&run);
	at_notifications_close(events);
}

static void P42_streaming_full_drops_until_read(void)
{
	const uint32_t first = next_number;
	struct law law;
	struct run run;

	open_mode(&run, ASYNCTRACE_MODE_STREAMING);
	emit_until_full(&run);
	law = law_of(run.id);
	ktap_check(law.committed > RING / 2 / EVENT && !law.overwritten, "%llu of %u committed",
		   (unsigned long long)law.committed, next_number - first);
	/* A ring that is read to its end must have room again. */
	for (int i = 0; i < 20; i++) {
		const uint64_t dropped = law_of(run.id).dropped;

		rd_drain(&run.rd);
		emit(RING / 2 / EVENT);
		ktap_check(law_of(run.id).dropped == dropped, "a ring that was read to its end has no room");
	}
	ktap_check(run.seen.events > 9 * RING / EVENT, "%llu events",
		   (unsigned long long)run.seen.events);
	session_finish(&run);
	check_law(&run, next_number - first);
	session_end(&run);
}

static void P43_drops_are_counted_in_each_mode(void)
{
	static const char *const raw[] = { PROTO "-raw" };

	for (uint32_t mode = ASYNCTRACE_MODE_ONESHOT; mode <= ASYNCTRACE_MODE_STREAMING; mode++) {
		const struct at_session_options opts = {
			.mode = mode, .nr_providers = 1, .providers = raw,
		};
		struct raw_provider p;
		struct rd_ring sum;
		struct law law;
		struct run run;

		must(!raw_provider(&p, raw[0], 1 << 20));
		session_make(&run, &opts);
		run.rd.event = NULL;
		session_start(&run);
		raw_write(&p, 0, 10);
		raw_header(&p, 0)->dropped += 7;
		raw_header(&p, 1)->dropped += 5;
		session_finish(&run);
		law = law_of(run.id);
		sum = rd_sum(&run.rd, ASYNCTRACE_CHUNK_EVENTS, 0);
		ktap_check(law.committed == 10 && law.delivered == 10 && law.dropped == 12,
			   "mode %u: %llu delivered, %llu dropped", mode,
			   (unsigned long long)law.delivered, (unsigned long long)law.dropped);
		ktap_check(sum.delivered == 10 && sum.dropped == 12,
			   "mode %u, in the trace: %llu delivered, %llu dropped", mode,
			   (unsigned long long)sum.delivered, (unsigned long long)sum.dropped);
		session_end(&run);
		raw_provider_end(&p);
	}
}

static uint32_t names_interned(void)
{
	struct at_status_info status = { .size = sizeof(status) };

	must(!at_status(&status));
	return status.names;
}

/* Interns names in addition to those of emit(). */
static void intern_more(void)
{
	struct run run;

	open_mode(&run, ASYNCTRACE_MODE_ONESHOT);
	for (int shape = 0; shape < NU_SHAPES; shape++)
		nu_emit(2, shape, shape);
	session_end(&run);
}

/* A run of 100 events that are not read, and a run of 50 events */
static void two_runs(struct run *run, uint32_t mode, uint32_t disposition)
{
	const struct at_start_options again = { .disposition = disposition };

	open_mode(run, mode);
	must(emit(100) == 100);
	run_stop(run);
	ktap_check(law_of(run->id).committed == 100, "the first run: %llu events",
		   (unsigned long long)law_of(run->id).committed);
	session_start_with(run, &again);
	ktap_check(emit(50) == 50, "the gate is closed");
	session_finish(run);
	check_law(run, 150);
}

static void each_mode(uint32_t disposition, uint32_t cleared, bool anew)
{
	for (uint32_t mode = ASYNCTRACE_MODE_ONESHOT; mode <= ASYNCTRACE_MODE_STREAMING; mode++) {
		const uint32_t first = next_number;
		uint32_t names;
		struct run run;

		intern_more();
		names = names_interned();
		two_runs(&run, mode, disposition);
		ktap_check(law_of(run.id).cleared == cleared, "mode %u: %llu are cleared", mode,
			   (unsigned long long)law_of(run.id).cleared);
		ktap_check(has_all(&run, first + cleared, next_number) &&
			   run.seen.events == 150 - cleared, "mode %u: %llu events", mode,
			   (unsigned long long)run.seen.events);
		/* CLEAR_ENTIRE also removes names: only those of the second run remain. */
		ktap_check(names > 3 && (anew ? names_interned() < names :
				     names_interned() == names),
			   "mode %u: %u names, %u before", mode, names_interned(), names);
		session_end(&run);
	}
}

static void P44_clear_entire_clears_records_and_names(void)
{
	each_mode(ASYNCTRACE_DISPOSITION_CLEAR_ENTIRE, 100, true);
}

static void P45_clear_nondurable_keeps_names(void)
{
	each_mode(ASYNCTRACE_DISPOSITION_CLEAR_NONDURABLE, 100, false);
}

static void P46_retain_appends(void)
{
	each_mode(ASYNCTRACE_DISPOSITION_RETAIN, 0, false);
}

/*
 * Reads everything. Returns the number of runs whose beginning was reported. *@late: events came
 * before the beginning of the first run.
 */
static unsigned int starts_told(int fd, char *buf, bool *late)
{
	const struct asynctrace_chunk *c = (const void *)buf;
	unsigned int starts = 0;

	while (read(fd, buf, ASYNCTRACE_READ_MIN) > 0) {
		const struct asynctrace_clock_pair *pair = (const void *)(c + 1);

		*late |= c->kind == ASYNCTRACE_CHUNK_EVENTS && !starts;
		for (; c->kind == ASYNCTRACE_CHUNK_CLOCK &&
		       (const char *)(pair + 1) <= (const char *)(c + 1) + c->bytes; pair++)
			starts += pair->what == ASYNCTRACE_MOMENT_START && pair->ticks &&
				  pair->boottime;
	}
	return starts;
}

static void P47_clock_comes_before_events(void)
{
	bool late = false;
	unsigned int n;
	struct run run;

	session_make(&run, NULL);
	for (uint32_t i = 0; i < 6; i++) {
		const struct at_start_options opts = {
			.disposition = i % 3 + ASYNCTRACE_DISPOSITION_CLEAR_ENTIRE,
		};

		session_start_with(&run, &opts);
		must(emit(10) == 10);
		run_stop(&run);
		n = starts_told(run.rd.fd, run.rd.buf, &late);
		ktap_check(n == 1 && !late, "run %u: told %u times, %s", i, n,
			   late ? "too late" : "in time");
	}
	run_terminate(&run);
	run_close(&run);
}

static void P48_reading_changes_no_state(void)
{
	struct run run;

	session_make(&run, NULL);
	rd_drain(&run.rd);
	ktap_check(session_state(run.id) == ASYNCTRACE_SESSION_STATE_INITIALIZED, "initialized: %u",
		   session_state(run.id));
	session_start(&run);
	emit(10);
	run_stop(&run);
	rd_drain(&run.rd);
	rd_drain(&run.rd);
	ktap_check(session_state(run.id) == ASYNCTRACE_SESSION_STATE_STOPPED, "stopped: %u",
		   session_state(run.id));
	session_start(&run);
	emit(10);
	session_finish(&run);
	ktap_check(run.seen.events == 20, "%llu events", (unsigned long long)run.seen.events);
	session_end(&run);
}

/* A provider that violates the protocol spoils its own records only. */
static void P48_nonsense_in_ring_ends_nothing(void)
{
	static const char *const all[] = { PROTO "*" };
	const struct at_session_options opts = { .nr_providers = 1, .providers = all };
	struct raw_provider p;
	struct rd_ring sum;
	struct run run;

	must(!raw_provider(&p, PROTO "-raw", 1 << 20));
	session_make(&run, &opts);
	session_start(&run);
	raw_write(&p, 0, 10);
	raw_ring(&p, 0)[0] = 0x1234567812345678;
	raw_header(&p, 1)->position = ~0ULL;
	emit(100);
	run_stop(&run);
	rd_drain(&run.rd);
	ktap_check(session_state(run.id) == ASYNCTRACE_SESSION_STATE_STOPPED, "state %u",
		   session_state(run.id));
	sum = rd_sum(&run.rd, ASYNCTRACE_CHUNK_EVENTS, p.id);
	ktap_check(sum.broken && !sum.parsed, "%llu records of nonsense",
		   (unsigned long long)sum.parsed);
	ktap_check(run.seen.events == 100 && !run.seen.spoiled, "%llu events of the other provider",
		   (unsigned long long)run.seen.events);
	run_terminate(&run);
	run_close(&run);
	raw_provider_end(&p);
}

#define THREADS	4

static struct writer {
	uint32_t id;
	volatile uint32_t written;
	volatile bool ended;
	volatile bool *stop;
} writers[THREADS];

static void *write_on(void *arg)
{
	struct writer *w = arg;
	const int cpus = cpus_online();
	uint32_t rng = w->id;

	/*
	 * The gate was open at the beginning, and must be closed only after the threads have ended.
	 */
	while (!*w->stop) {
		if (!nu_emit(w->id, w->written, -1)) {
			w->ended = true;
			return "the gate is closed";
		}
		w->written++;
		if (!rnd(&rng, 100))
			pin(rnd(&rng, cpus));
	}
	return NULL;
}

/*
 * Returns true if each thread has written so many events that all threads must have written at the
 * same time, or if a thread has ended.
 */
static bool all_wrote(const struct writer *w)
{
	for (int i = 0; i < THREADS; i++)
		if (w[i].ended)
			return true;
	for (int i = 0; i < THREADS; i++)
		if (w[i].written <= 100)
			return false;
	return true;
}

static void P49_many_threads_are_exact(void)
{
	for (uint32_t mode = ASYNCTRACE_MODE_ONESHOT; mode <= ASYNCTRACE_MODE_STREAMING; mode++) {
		volatile bool stop = false;
		pthread_t thread[THREADS];
		uint64_t n = 0;
		struct run run;

		open_mode(&run, mode);
		for (uint32_t i = 0; i < THREADS; i++) {
			writers[i] = (struct writer){ .id = 10 + i, .stop = &stop };
			must(!pthread_create(&thread[i], NULL, write_on, &writers[i]));
		}
		for (int i = 0; i < 50 || !all_wrote(writers); i++) {
			rd_read(&run.rd, 10);
			sleep_us(2000);
		}
		stop = true;
		for (int i = 0; i < THREADS; i++) {
			void *why;

			must(!pthread_join(thread[i], &why));
			ktap_check(!why, "writer %d: %s", i, (char *)why);
			n += writers[i].written;
		}
		session_finish(&run);
		check_law(&run, n);
		session_end(&run);
	}
}

const struct statement buffer_statements[] = {
	STATEMENT(P40_oneshot_full_drops_and_counts),
	STATEMENT(P41_circular_overwrites_oldest_keeps_names),
	STATEMENT(P41_snapshot_is_whole_and_repeatable),
	STATEMENT(P42_streaming_full_drops_until_read),
	STATEMENT(P42_full_sub_buffer_is_reported),
	STATEMENT(P43_drops_are_counted_in_each_mode),
	STATEMENT(P44_clear_entire_clears_records_and_names),
	STATEMENT(P45_clear_nondurable_keeps_names),
	STATEMENT(P46_retain_appends),
	STATEMENT(P47_clock_comes_before_events),
	STATEMENT(P48_reading_changes_no_state),
	STATEMENT(P48_nonsense_in_ring_ends_nothing),
	STATEMENT(P49_many_threads_are_exact),
	{ 0 }
};
