// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions stopped while a probe on another CPU has found them started and has not published its
 * record: a reader that reads to the end gets that record, too. If the session is started again at
 * once with a clear, the record must not be delivered, because it is older than the clear.
 *
 * Two threads switch all the time on a CPU of their own, and the probe takes a millisecond for each
 * record. Recording all tasks uses the probe's slow path, recording the provider's threads the fast
 * one.
 */
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include <asynctrace/provider.h>

#include "../../userlib/src/writer/internal.h"
#include "../support/run.h"
#include "knobs.h"
#include "probes.h"
#include "trial.h"

#define PROVIDER	"switches"
#define THREADS		2
/* Runs of one session */
#define RUNS		5

static struct shared {
	volatile uint32_t ready, stop;
} *sh;

static void *switcher(void *arg)
{
	pin(cpus_online() - 1);
	__atomic_add_fetch(&sh->ready, 1, __ATOMIC_SEQ_CST);
	while (!sh->stop)
		sched_yield();
	return arg;
}

static pid_t provider(void)
{
	const struct at_provider_options opts = { .size = sizeof(opts), .name = PROVIDER };
	pid_t pid;

	sh->ready = sh->stop = 0;
	pid = fork_provider(&opts, THREADS, switcher);
	wait_for(&sh->ready, THREADS, "ready");
	return pid;
}

/* Records with a time before @since must not be delivered: a start has cleared them. */
static uint64_t since;
static uint64_t early;

static void record(uint32_t kind, const void *words, void *arg)
{
	const uint64_t *w = words;

	(void)arg;
	early += kind == ASYNCTRACE_CHUNK_SCHED && w[1] < since;
}

static uint64_t now(struct at_ctl *ctl)
{
	struct at_info info = { .size = sizeof(info) };

	if (at_info(ctl, &info))
		ktap_bail("%s", at_ctl_error(ctl));
	return at_clock(0, info.clock);
}

/* Records of the kernel's rings: published, and accounted for in the reader's counts */
struct sums {
	uint64_t committed, told;
};

static int add_ring(const struct at_ring_info *r, void *arg)
{
	struct sums *sums = arg;

	if (!r->provider)
		sums->committed += r->committed;
	return 0;
}

static const char *verdict(struct at_ctl *ctl, const struct run *run)
{
	const struct rd_ring events = rd_sum(&run->rd, ASYNCTRACE_CHUNK_SCHED, 0);
	const struct rd_ring names = rd_sum(&run->rd, ASYNCTRACE_CHUNK_NAMES, 0);
	struct sums sums = {
		.told = events.delivered + events.overwritten + events.cleared +
			names.delivered + names.overwritten + names.cleared,
	};
	static char why[300];

	if (run->rd.malformed) {
		snprintf(why, sizeof(why), "%s", run->rd.first);
		return why;
	}
	if (early) {
		snprintf(why, sizeof(why), "%llu records are older than the last start",
			 (unsigned long long)early);
		return why;
	}
	if (!events.last || !names.last)
		return "the reader was not told the end of each ring";
	if (at_for_each_ring(ctl, run->id, add_ring, &sums))
		ktap_bail("%s", at_ctl_error(ctl));
	if (sums.committed == sums.told)
		return NULL;
	snprintf(why, sizeof(why), "%llu records at the end, the reader was told of %llu",
		 (unsigned long long)sums.committed, (unsigned long long)sums.told);
	return why;
}

/* Returns what is wrong with a session, or NULL. */
static const char *session(struct at_ctl *ctl, uint32_t *state, bool clear, uint64_t *events)
{
	const struct run_options opts = {
		.name = PROVIDER, .ring_size = 64 << 10, .provider = PROVIDER,
		.mode = ASYNCTRACE_MODE_STREAMING,
		.sched = rnd(state, 2) ? ASYNCTRACE_SCHED_ALL : ASYNCTRACE_SCHED_TARGETS,
	};
	const char *wrong = NULL;
	struct run run;

	run_open(&run, ctl, &opts);
	run.rd.record = record;
	since = early = 0;
	for (int i = 0; i < RUNS && !wrong; i++) {
		if (clear && i)
			since = now(ctl);
		run_start_with(&run, clear ? ASYNCTRACE_DISPOSITION_CLEAR_NONDURABLE :
					     ASYNCTRACE_DISPOSITION_RETAIN);
		for (uint32_t n = rnd(state, clear ? 60 : 10); n; n--) {
			sleep_us(rnd(state, 500));
			if (clear || rnd(state, 2))
				rd_read(&run.rd, rnd(state, 10));
		}
		run_stop(&run);
		/*
		 * rd_drain() waits until the probes have finished. To test clears, call it only in
		 * the last run, so that each other start clears the rings while probes run.
		 */
		if (clear && i < RUNS - 1)
			continue;
		rd_drain(&run.rd);
		/* Wait until late records have been published. */
		sleep_us(5000);
		wrong = verdict(ctl, &run);
	}
	*events += rd_sum(&run.rd, ASYNCTRACE_CHUNK_SCHED, 0).delivered;
	run_terminate(&run);
	run_close(&run);
	return wrong;
}

void probes_test(struct at_ctl *ctl, uint32_t *state, bool clear, const char *fix, uint32_t rounds)
{
	static const char *const delays[] = { "3000", "1000", "10000", "30000", "0" };
	struct trial trial;
	pid_t pid;

	trial_begin(&trial, clear ? "clear while probes record" :
				    "stop while probes record", fix);
	if (!sh)
		sh = shared_memory(sizeof(*sh));
	pid = provider();
	knob_set("delay_probe", "1000");
	if (fix)
		knob_set(fix, "0");
	while (trial_goes_on(&trial, rounds)) {
		/* The clear of a start is delayed so that it overlaps with the probes. */
		if (clear)
			knob_set("delay_switch", delays[trial.sessions % 5]);
		trial_add(&trial, session(ctl, state, clear, &trial.events));
	}
	if (fix)
		knob_set(fix, "1");
	knob_set("delay_probe", "0");
	knob_set("delay_switch", "0");
	sh->stop = 1;
	reap(pid);
	ktap_check(trial.events || fix, "no session had an event");
	trial_end(&trial);
}
