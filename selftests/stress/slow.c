// SPDX-License-Identifier: GPL-2.0
/*
 * A writer that is slow between entering its critical section and publishing
 *
 * The session is stopped meanwhile and started again with a clear, and read at once. Until the
 * module has made the writer leave, the writer may publish a record of the earlier run. No reader
 * and no snapshot may get that record, and it must be counted. The same holds if the session is
 * stopped again before the clear is done.
 *
 * The program links with the library built with AT_TEST_HOOKS. Without rseq the writer cannot
 * publish across a start, and nothing is missing.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <asynctrace/provider.h>
#include <asynctrace/trace.h>

#include "run.h"
#include "floor.h"

#define PROVIDER	"slow"

/* Turns of the delay loop in critical sections */
extern uint64_t at_race_delay;

static struct shared {
	volatile uint32_t ready, leave;
	volatile uint32_t pause, paused;
	volatile uint32_t in;		/* the generation of the event that is being written */
	volatile uint32_t turns;	/* upper limit of a delay's turns */
	volatile uint32_t tried;
} *sh;

static struct at_ctl *ctl;
static uint32_t state;		/* of the random numbers */
static uint32_t spin;
static uint32_t starts;

static const char *const mode_names[] = { "", "one-shot", "circular", "streaming" };

/* --- the provider ------------------------------------------------------------------ */

static void write_slowly(void)
{
	uint32_t rng = 1, seq = 0, gate;

	while (!sh->leave) {
		sh->paused = sh->pause;
		gate = sh->pause ? 0 : nu_gate();
		if (!gate) {
			sleep_us(50);
			continue;
		}
		at_race_delay = 1 + rnd(&rng, sh->turns);
		sh->in = gate;
		if (nu_emit(0, seq, -1))
			sh->tried = ++seq;
		sh->in = 0;
	}
}

static pid_t provider(void)
{
	const struct at_provider_options opts = { .size = sizeof(opts), .name = PROVIDER };
	pid_t pid;

	sh->ready = sh->leave = sh->pause = sh->in = sh->tried = 0;
	sh->turns = 2 * spin;
	pid = fork();
	must(pid >= 0);
	if (pid) {
		wait_for(&sh->ready, 1, "ready");
		return pid;
	}
	pin(cpus_online() - 1);
	must(!at_provider_register(&opts));
	sh->ready = 1;
	write_slowly();
	_exit(0);
}

static void leave(pid_t pid)
{
	sh->leave = 1;
	reap(pid);
}

/* --- runs ---------------------------------------------------------------------------- */

static uint32_t generation;

static int note_generation(const struct at_session_info *info, void *arg)
{
	(void)arg;
	generation = info->generation;
	return 0;
}

static void start(struct run *run, uint32_t disposition)
{
	run_start_with(run, disposition);
	starts++;
	if (at_session_get(ctl, run->id, note_generation, NULL))
		ktap_bail("%s", at_ctl_error(ctl));
	if (disposition == ASYNCTRACE_DISPOSITION_RETAIN)
		return;
	floor_raise(generation - 1);
}

static uint32_t a_clear(void)
{
	return rnd(&state, 2) ? ASYNCTRACE_DISPOSITION_CLEAR_ENTIRE :
				ASYNCTRACE_DISPOSITION_CLEAR_NONDURABLE;
}

/* Waits until the writer is in its section in this run. Returns false if that does not happen. */
static bool wait_for_writer(void)
{
	for (int i = 0; i < 400; i++) {
		if (sh->in == generation) {
			sleep_us(rnd(&state, 100));
			return true;
		}
		sleep_us(50);
	}
	return false;
}

static void pause_writer(void)
{
	sh->pause = 1;
	wait_for(&sh->paused, 1, "paused");
}

static void open_run(struct run *run, uint32_t mode, uint32_t sched)
{
	const struct run_options opts = {
		.name = PROVIDER, .mode = mode, .ring_size = 64 << 10, .provider = PROVIDER,
		.sched = sched,
	};

	run_open(run, ctl, &opts);
	floor_watch(run);
	starts = 0;
}

static int add_ring(const struct at_ring_info *r, void *arg)
{
	struct rd_ring *sum = arg;

	if (r->kind == ASYNCTRACE_RING_KIND_NAMES)
		return 0;
	ktap_check(r->committed == r->delivered + r->overwritten + r->cleared,
		   "ring %u of %u: %llu committed, %llu delivered, %llu overwritten, %llu cleared",
		   r->ring, r->provider, (unsigned long long)r->committed,
		   (unsigned long long)r->delivered, (unsigned long long)r->overwritten,
		   (unsigned long long)r->cleared);
	if (r->provider) {
		sum->delivered += r->delivered;
		sum->dropped += r->committed - r->delivered + r->dropped;
	}
	return 0;
}

/* --- the tests ------------------------------------------------------------------------- */

/* The reader's counts must be final when the session ends. */
static void check_end(struct run *run)
{
	const uint64_t tried = sh->tried, total = run_total(run);
	struct rd_ring sum = {};

	if (at_for_each_ring(ctl, run->id, add_ring, &sum))
		ktap_bail("%s", at_ctl_error(ctl));
	ktap_check(total == sum.delivered + sum.dropped, "%llu accounted for, of %llu",
		   (unsigned long long)total,
		   (unsigned long long)(sum.delivered + sum.dropped));
	/*
	 * A record that was begun in a run and not published when the run ends may belong to no
	 * run.
	 */
	ktap_check(total <= tried && total + starts >= tried, "%llu tried, %llu accounted for",
		   (unsigned long long)tried, (unsigned long long)total);
	floor_check();
	run_check(run);
}

/* Slow machines need more cycles until each case has occurred. */
static bool more(unsigned int cycle, unsigned int cycles, bool occurred)
{
	return cycle < cycles || (!occurred && cycle < 100 * cycles);
}

static bool cleared_enough(const struct run *run, unsigned int caught)
{
	const struct rd_ring sum = rd_sum(&run->rd, ASYNCTRACE_CHUNK_EVENTS, 0);

	return caught && sum.delivered && sum.cleared;
}

static void cleared(uint32_t mode, uint32_t sched)
{
	const unsigned int cycles = amount("KT_CYCLES", 60) * 5;
	unsigned int caught = 0;
	struct rd_ring sum;
	struct run run;
	pid_t pid;

	ktap_begin("I17_%s%s_late_record_is_cleared", mode_names[mode],
		   sched ? ", with scheduling" : "");
	pid = provider();
	open_run(&run, mode, sched);
	start(&run, ASYNCTRACE_DISPOSITION_RETAIN);
	for (unsigned int i = 0; more(i, cycles, cleared_enough(&run, caught)); i++) {
		caught += wait_for_writer();
		if (!rnd(&state, 3))
			rd_read(&run.rd, rnd(&state, 4));
		run_stop(&run);
		if (!rnd(&state, 4))
			rd_read(&run.rd, rnd(&state, 4));
		start(&run, a_clear());
		for (uint32_t n = rnd(&state, 12); n; n--)
			rd_read(&run.rd, 1 + rnd(&state, 3));
		/*
		 * Sometimes the session is stopped before the clear is done, and the next start may
		 * retain records.
		 */
		if (!rnd(&state, 4)) {
			run_stop(&run);
			if (rnd(&state, 2))
				rd_drain(&run.rd);
			start(&run, rnd(&state, 2) ? ASYNCTRACE_DISPOSITION_RETAIN : a_clear());
			rd_read(&run.rd, rnd(&state, 12));
		}
	}
	pause_writer();
	run_stop(&run);
	/* In half of the runs of this test, stop the session at last while a start still clears. */
	if (rnd(&state, 2)) {
		start(&run, a_clear());
		run_stop(&run);
	}
	rd_drain(&run.rd);
	sum = rd_sum(&run.rd, ASYNCTRACE_CHUNK_EVENTS, 0);
	ktap_note("%u starts, the writer was in its section at %u of %u stops; %llu delivered, %llu cleared",
		  starts, caught, cycles, (unsigned long long)sum.delivered,
		  (unsigned long long)sum.cleared);
	ktap_check(caught && sum.delivered && sum.cleared, "no test");
	check_end(&run);
	run_terminate(&run);
	run_close(&run);
	leave(pid);
	ktap_end();
}

static void snapshots(void)
{
	const unsigned int cycles = amount("KT_CYCLES", 60) * 2;
	unsigned int caught = 0;
	uint64_t events = 0;
	struct run run;
	pid_t pid;

	ktap_begin("I17_snapshot_shows_no_late_record");
	pid = provider();
	open_run(&run, ASYNCTRACE_MODE_CIRCULAR, 0);
	start(&run, ASYNCTRACE_DISPOSITION_RETAIN);
	for (unsigned int i = 0; more(i, cycles, caught && events); i++) {
		const bool stop = !rnd(&state, 4);
		int fd;

		rd_close(&run.rd);
		caught += wait_for_writer();
		run_stop(&run);
		start(&run, a_clear());
		if (stop)
			run_stop(&run);
		/* Take a snapshot at once. If the session is running, take a second one later. */
		for (int n = 0; n < (stop ? 1 : 2); n++) {
			if (n) {
				wait_for_writer();
				rd_close(&run.rd);
			}
			fd = at_session_open_snapshot(ctl, run.id);
			if (fd < 0)
				ktap_bail("%s", at_ctl_error(ctl));
			nu_seen_free(&run.seen);
			nu_seen_init(&run.seen);
			rd_open(&run.rd, fd, floor_event, &run.seen);
			rd_drain(&run.rd);
			run_check(&run);
			events += run.seen.events;
		}
		if (stop)
			start(&run, a_clear());
	}
	ktap_note("%u snapshots, the writer was in its section at %u stops; %llu events", cycles, caught,
		  (unsigned long long)events);
	ktap_check(caught && events, "no test");
	floor_check();
	pause_writer();
	run_terminate(&run);
	run_close(&run);
	leave(pid);
	ktap_end();
}

int main(void)
{
	ktap_plan(5);
	sh = shared_memory(sizeof(*sh));
	state = seed();
	spin = delay_turns(150);
	if (at_ctl_open(&ctl))
		ktap_bail("%s", at_ctl_error(ctl));
	pin(0);
	for (uint32_t mode = ASYNCTRACE_MODE_ONESHOT; mode <= ASYNCTRACE_MODE_STREAMING; mode++)
		cleared(mode, 0);
	cleared(ASYNCTRACE_MODE_STREAMING, ASYNCTRACE_SCHED_ALL);
	snapshots();
	at_ctl_close(ctl);
	return ktap_exit();
}
