// SPDX-License-Identifier: GPL-2.0
/*
 * The accounting invariant of the module's sessions, also of the kernel's own rings
 */
#include <string.h>

#include "law.h"

#define THREADS		6
/* Words of the smallest scheduling record, a wakeup. */
#define SCHED_WORDS	6

static uint64_t ring_size, before;

/* --- the kernel's rings ------------------------------------------------------------ */

static int check_ring(const struct at_ring_info *r, void *arg)
{
	struct rd_ring *sum = arg;

	ktap_check(r->committed == r->delivered + r->overwritten && !r->cleared,
		   "ring %u of %u, kind %u: %llu committed, %llu delivered, %llu overwritten",
		   r->ring, r->provider, r->kind, (unsigned long long)r->committed,
		   (unsigned long long)r->delivered, (unsigned long long)r->overwritten);
	if (r->kind == ASYNCTRACE_RING_KIND_SCHED) {
		sum->delivered += r->delivered;
		sum->overwritten += r->overwritten;
		sum->dropped += r->dropped;
		sum->claimed += r->committed;
	}
	return 0;
}

static struct rd_ring check_rings(struct run *run)
{
	struct rd_ring sum = {};

	if (at_for_each_ring(run->ctl, run->id, check_ring, &sum))
		ktap_bail("%s", at_ctl_error(run->ctl));
	return sum;
}

static int add_probe_records(const struct at_session_info *s, void *arg)
{
	*(uint64_t *)arg = s->probe_records;
	return 0;
}

static uint64_t probe_records(struct run *run)
{
	uint64_t records = 0;

	if (at_session_get(run->ctl, run->id, add_probe_records, &records))
		ktap_bail("%s", at_ctl_error(run->ctl));
	return records;
}

static int has_lost(const struct at_ring_info *r, void *arg)
{
	(void)arg;
	return r->kind == ASYNCTRACE_RING_KIND_SCHED &&
	       (r->dropped || r->overwritten ||
		r->committed - r->delivered > ring_size / 8 / SCHED_WORDS);
}

/* Each sleep makes the scheduler write records. */
static bool sched_has_lost(void *arg)
{
	struct run *run = arg;
	int lost;

	for (int i = 0; i < 50; i++)
		sleep_us(50);
	lost = at_for_each_ring(run->ctl, run->id, has_lost, NULL);
	if (lost < 0)
		ktap_bail("%s", at_ctl_error(run->ctl));
	return lost;
}

static void sched_started(struct run *run)
{
	before = probe_records(run);
}

static void sched_written(struct run *run)
{
	if (!soon(sched_has_lost, run))
		ktap_fail("no ring of the kernel loses a record");
}

static void sched_read(struct run *run)
{
	const struct rd_ring got = rd_sum(&run->rd, ASYNCTRACE_CHUNK_SCHED, 0);
	const struct rd_ring is = check_rings(run);
	const uint64_t records = probe_records(run) - before;

	ktap_check(got.delivered == is.delivered && got.overwritten == is.overwritten &&
		   got.dropped == is.dropped,
		   "kernel rings: the reader got %llu, %llu, %llu; the query %llu, %llu, %llu",
		   (unsigned long long)got.delivered, (unsigned long long)got.overwritten,
		   (unsigned long long)got.dropped, (unsigned long long)is.delivered,
		   (unsigned long long)is.overwritten, (unsigned long long)is.dropped);
	ktap_check(got.parsed == got.delivered, "kernel rings: %llu delivered, %llu found",
		   (unsigned long long)got.delivered, (unsigned long long)got.parsed);
	ktap_check(is.claimed == records, "the probes wrote %llu records, the rings have %llu",
		   (unsigned long long)records, (unsigned long long)is.claimed);
	ktap_check(!got.backwards, "time goes backwards in a kernel ring");
	ktap_check(got.delivered && got.overwritten + got.dropped,
		   "kernel rings: %llu delivered, %llu overwritten, %llu dropped",
		   (unsigned long long)got.delivered, (unsigned long long)got.overwritten,
		   (unsigned long long)got.dropped);
	ktap_note("kernel rings: %llu committed = %llu delivered + %llu overwritten; %llu dropped",
		  (unsigned long long)is.claimed, (unsigned long long)got.delivered,
		  (unsigned long long)got.overwritten, (unsigned long long)got.dropped);
}

static void nothing(struct run *run)
{
	(void)run;
}

static void events_read(struct run *run)
{
	check_rings(run);
}

/* --- the tests ------------------------------------------------------------------- */

static const struct row {
	const char *name;
	uint32_t mode;
	enum law_reading reading;
	unsigned int kib;	/* of a ring */
	uint32_t sched;
} rows[] = {
	{ "I13_oneshot_read_at_the_end", ASYNCTRACE_MODE_ONESHOT, AT_END, 16, 0 },
	{ "I13_oneshot_read_meanwhile", ASYNCTRACE_MODE_ONESHOT, MEANWHILE, 64, 0 },
	{ "I13_circular_read_at_the_end", ASYNCTRACE_MODE_CIRCULAR, AT_END, 16, 0 },
	{ "I13_circular_read_meanwhile", ASYNCTRACE_MODE_CIRCULAR, MEANWHILE, 16, 0 },
	{ "I13_circular_read_slowly", ASYNCTRACE_MODE_CIRCULAR, SLOWLY, 64, 0 },
	{ "I13_streaming_read_slowly", ASYNCTRACE_MODE_STREAMING, SLOWLY, 16, 0 },
	{ "I13_streaming_read_meanwhile", ASYNCTRACE_MODE_STREAMING, MEANWHILE, 64, 0 },
	{ "I13_oneshot_with_scheduling", ASYNCTRACE_MODE_ONESHOT, AT_END, 16,
	  ASYNCTRACE_SCHED_ALL },
	{ "I13_circular_with_scheduling", ASYNCTRACE_MODE_CIRCULAR, SLOWLY, 16,
	  ASYNCTRACE_SCHED_ALL },
	{ "I13_streaming_with_scheduling", ASYNCTRACE_MODE_STREAMING, SLOWLY, 16,
	  ASYNCTRACE_SCHED_ALL },
};

int main(void)
{
	static const struct law_extra events = { nothing, nothing, events_read };
	static const struct law_extra sched = { sched_started, sched_written, sched_read };
	struct at_ctl *ctl;

	ktap_plan(sizeof(rows) / sizeof(*rows));
	if (at_ctl_open(&ctl))
		ktap_bail("%s", at_ctl_error(ctl));
	law_init(ctl, amount("KT_EVENTS", 40000));
	for (const struct row *r = rows; r < rows + sizeof(rows) / sizeof(*rows); r++) {
		const struct law law = {
			.name = r->name, .reading = r->reading, .threads = THREADS,
			.handlers = true, .extra = r->sched ? &sched : &events,
			.run = { .name = "law", .mode = r->mode, .sched = r->sched,
				 .ring_size = r->kib << 10, .provider = LAW_PROVIDER },
		};

		ring_size = law.run.ring_size;
		law_test(&law);
	}
	at_ctl_close(ctl);
	return ktap_exit();
}
