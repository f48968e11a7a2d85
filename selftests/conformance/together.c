// SPDX-License-Identifier: GPL-2.0
/*
 * Several sessions at once, over the same and over different providers, and providers that are
 * stopped: no session waits for another, and the accounting of each is exact
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asynctrace/provider.h>

#include "run.h"

#define NAME		"together"
#define PROVIDERS	3
#define EVENTS		20000

static struct shared {
	volatile uint32_t hush, leave;
	struct {
		volatile uint32_t provider, written, silent;
	} of[PROVIDERS];
} *sh;

static struct at_ctl *ctl;
static pid_t pids[PROVIDERS];

/* --- providers -------------------------------------------------------------------- */

static const char *const names[PROVIDERS] = { NAME "-0", NAME "-1", NAME "-2" };

static void writer(uint32_t id)
{
	const struct at_provider_options opts = { .size = sizeof(opts), .name = names[id] };
	struct at_status_info status = { .size = sizeof(status) };
	uint32_t n = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	must(!at_provider_register(&opts) && !at_status(&status));
	sh->of[id].provider = status.provider;
	while (!sh->leave) {
		sh->of[id].silent = sh->hush;
		if (sh->hush || !nu_emit(id, n, -1)) {
			sleep_us(200);
			continue;
		}
		sh->of[id].written = ++n;
		if (!(n % 64))
			sleep_us(100);
	}
	_exit(0);
}

static void come(void)
{
	memset(sh, 0, sizeof(*sh));
	for (int i = 0; i < PROVIDERS; i++) {
		pids[i] = fork();
		must(pids[i] >= 0);
		if (!pids[i])
			writer(i);
		while (!sh->of[i].provider)
			sleep_us(200);
	}
}

static void leave(void)
{
	sh->leave = 1;
	for (int i = 0; i < PROVIDERS; i++)
		reap(pids[i]);
}

struct more {
	int writer;
	uint32_t than;
};

static bool wrote(void *arg)
{
	const struct more *m = arg;

	return sh->of[m->writer].written > m->than;
}

/* Waits until provider @i has written @count more events in a session. */
static void have_written(int i, uint32_t count)
{
	struct more more = { i, sh->of[i].written + count };

	ktap_check(soon(wrote, &more), "provider %d does not write", i);
}

/* Stops all writers, so that the counts that they report equal those of their rings. */
static void hush(void)
{
	sh->hush = 1;
	for (int i = 0; i < PROVIDERS; i++)
		wait_for(&sh->of[i].silent, 1, "a provider");
}

static void speak(void)
{
	sh->hush = 0;
	for (int i = 0; i < PROVIDERS; i++)
		wait_for(&sh->of[i].silent, 0, "a provider");
}

/* --- sessions ----------------------------------------------------------------------- */

static void open_over(struct run *run, const char *name, const char *providers, uint32_t mode,
		      uint32_t sched)
{
	const struct run_options opts = {
		.name = name, .mode = mode, .sched = sched, .ring_size = 64 << 10,
		.provider = providers,
	};

	run_open(run, ctl, &opts);
}

/*
 * Checks that the session accounts for @count events of provider @i, and has events only of the
 * providers in the mask @of.
 */
static void check_law(struct run *run, const char *what, uint32_t of, int i, uint32_t count)
{
	const struct rd_ring sum = rd_sum(&run->rd, ASYNCTRACE_CHUNK_EVENTS, sh->of[i].provider);
	const uint64_t total = sum.delivered + sum.overwritten + sum.cleared + sum.dropped;

	ktap_check(total == count, "%s: provider %d: %llu of %u accounted for", what, i,
		   (unsigned long long)total, count);
	for (int other = 0; other < PROVIDERS; other++)
		ktap_check(of & 1 << other || !run->seen.of[other], "%s: %u events of provider %d",
			   what, run->seen.of[other], other);
	run_check(run);
}

static void end(struct run *run)
{
	run_terminate(run);
	run_close(run);
}

/* --- tests ---------------------------------------------------------------------------- */

static void test_side_by_side(void)
{
	static const uint32_t scheds[PROVIDERS] = {
		ASYNCTRACE_SCHED_TARGETS, ASYNCTRACE_SCHED_OFF, ASYNCTRACE_SCHED_TARGETS,
	};
	struct run runs[PROVIDERS];

	ktap_begin("sessions_over_different_providers_are_exact");
	come();
	hush();
	for (int i = 0; i < PROVIDERS; i++)
		open_over(&runs[i], names[i], names[i], ASYNCTRACE_MODE_ONESHOT + i, scheds[i]);
	for (int i = 0; i < PROVIDERS; i++)
		run_start(&runs[i]);
	speak();
	for (int turn = 0; turn < 6; turn++) {
		/* One session is stopped and started while the others go on. */
		struct run *run = &runs[turn % PROVIDERS];

		for (int i = 0; i < PROVIDERS; i++) {
			have_written(i, EVENTS / 20);
			rd_read(&runs[i].rd, 20);
		}
		hush();
		run_stop(run);
		speak();
		for (int i = 0; i < PROVIDERS; i++)
			if (i != turn % PROVIDERS)
				have_written(i, EVENTS / 20);
		hush();
		run_start_with(run, ASYNCTRACE_DISPOSITION_RETAIN);
		speak();
	}
	hush();
	for (int i = 0; i < PROVIDERS; i++) {
		run_stop(&runs[i]);
		rd_drain(&runs[i].rd);
		check_law(&runs[i], names[i], 1 << i, i, sh->of[i].written);
		end(&runs[i]);
	}
	leave();
	ktap_end();
}

static int find_holder(const struct at_provider_info *p, void *arg)
{
	uint32_t *holder = arg;

	if (p->id == sh->of[0].provider)
		*holder = p->session;
	return 0;
}

/* Is provider 0 in the session *@id? */
static bool is_held_by(void *id)
{
	uint32_t holder = ~0;

	must(at_for_each_provider(ctl, find_holder, &holder) >= 0);
	return holder == *(uint32_t *)id;
}

/* The session must have been notified of one failure: it does not get provider 0. */
static void check_refused(struct at_notifications *events, uint32_t session)
{
	struct at_notification ev = { .size = sizeof(ev) };
	unsigned int refused = 0;

	while (!at_notifications_next(events, &ev)) {
		ktap_check(ev.session == session, "of session %u", ev.session);
		if (!ev.status)
			continue;
		ktap_check(ev.status == EBUSY && ev.provider == sh->of[0].provider,
			   "status %u of provider %u", ev.status, ev.provider);
		refused++;
	}
	ktap_check(refused == 1, "%u are refused", refused);
}

static void test_wanted_by_two(void)
{
	struct at_notifications *events;
	struct run one, two, next;
	uint32_t from;

	ktap_begin("second_session_gets_busy_notification");
	come();
	hush();
	open_over(&one, "one", names[0], ASYNCTRACE_MODE_STREAMING, ASYNCTRACE_SCHED_OFF);
	open_over(&two, "two", NAME "*", ASYNCTRACE_MODE_ONESHOT, ASYNCTRACE_SCHED_TARGETS);
	if (at_notifications_open(&events, ASYNCTRACE_NOTIFICATION_KINDS_STARTED, two.id))
		ktap_bail("%s", at_notifications_error(events));
	run_start(&two);
	check_refused(events, two.id);
	at_notifications_close(events);
	ktap_check(is_held_by(&one.id), "provider 0 is not in the first session");
	/* The provider belongs to the first session, started or not. */
	run_start(&one);
	speak();
	for (int i = 0; i < PROVIDERS; i++)
		have_written(i, EVENTS / 20);
	hush();
	run_stop(&one);
	run_stop(&two);
	rd_drain(&one.rd);
	rd_drain(&two.rd);
	check_law(&one, "one", 1, 0, sh->of[0].written);
	check_law(&two, "two", 6, 1, sh->of[1].written);
	check_law(&two, "two", 6, 2, sh->of[2].written);
	end(&one);
	/* Now the provider is free. */
	from = sh->of[0].written;
	open_over(&next, "next", names[0], ASYNCTRACE_MODE_ONESHOT, ASYNCTRACE_SCHED_OFF);
	run_start(&next);
	speak();
	have_written(0, 100);
	hush();
	run_stop(&next);
	rd_drain(&next.rd);
	check_law(&next, "next", 1, 0, sh->of[0].written - from);
	end(&next);
	end(&two);
	leave();
	ktap_end();
}

/* How often a session was notified that it has a provider, and that another session has it */
struct told {
	unsigned int taken, busy;
};

static void tally(struct at_notifications *events, struct told told[PROVIDERS])
{
	struct at_notification ev = { .size = sizeof(ev) };

	memset(told, 0, PROVIDERS * sizeof(*told));
	while (!at_notifications_next(events, &ev)) {
		ktap_check(!ev.status || ev.status == EBUSY, "status %u", ev.status);
		for (int i = 0; i < PROVIDERS; i++) {
			if (ev.provider != sh->of[i].provider)
				continue;
			told[i].taken += !ev.status;
			told[i].busy += ev.status == EBUSY;
		}
	}
}

/* Lets all providers write for a while, and stops them. @from: out: events written before */
static void have_all_written(uint32_t from[PROVIDERS])
{
	for (int i = 0; i < PROVIDERS; i++)
		from[i] = sh->of[i].written;
	speak();
	for (int i = 0; i < PROVIDERS; i++)
		have_written(i, EVENTS / 20);
	hush();
}

static void test_from_one_to_the_next(void)
{
	struct run idle, runs, also;
	uint32_t from[PROVIDERS], nobody = 0;
	struct at_notifications *events;
	struct told told[PROVIDERS];

	ktap_begin("P25_late_provider_joins_next_matching_session");
	open_over(&idle, "idle", NAME "*", ASYNCTRACE_MODE_STREAMING, ASYNCTRACE_SCHED_OFF);
	open_over(&runs, "runs", names[0], ASYNCTRACE_MODE_STREAMING, ASYNCTRACE_SCHED_TARGETS);
	open_over(&also, "also", NAME "*", ASYNCTRACE_MODE_ONESHOT, ASYNCTRACE_SCHED_TARGETS);
	run_start(&runs);
	run_start(&also);
	if (at_notifications_open(&events, ASYNCTRACE_NOTIFICATION_KINDS_STARTED, also.id))
		ktap_bail("%s", at_notifications_error(events));
	come();
	hush();
	have_all_written(from);
	tally(events, told);
	for (int i = 0; i < PROVIDERS; i++)
		ktap_check(told[i].taken == (i > 0) && told[i].busy == !i,
			   "notifications of session %d: %u taken, %u busy", i, told[i].taken, told[i].busy);
	ktap_check(is_held_by(&runs.id), "the running session does not have the provider");
	run_stop(&runs);
	rd_drain(&runs.rd);
	check_law(&runs, "runs", 1, 0, sh->of[0].written);
	from[0] = sh->of[0].written;
	end(&runs);
	/* Wait: the requests above may return before the other session gets the provider. */
	ktap_check(soon(is_held_by, &also.id), "the other running session does not get the provider");
	speak();
	have_written(0, EVENTS / 20);
	hush();
	tally(events, told);
	at_notifications_close(events);
	ktap_check(told[0].taken == 1 && !told[0].busy, "later: %u taken, %u busy",
		   told[0].taken, told[0].busy);
	run_stop(&also);
	rd_drain(&also.rd);
	check_law(&also, "also", 7, 0, sh->of[0].written - from[0]);
	check_law(&also, "also", 7, 1, sh->of[1].written);
	check_law(&also, "also", 7, 2, sh->of[2].written);
	end(&also);
	/* A session takes a free provider when it starts, not before. */
	ktap_check(soon(is_held_by, &nobody), "the provider is not free");
	run_start(&idle);
	have_all_written(from);
	run_stop(&idle);
	rd_drain(&idle.rd);
	for (int i = 0; i < PROVIDERS; i++)
		check_law(&idle, "idle", 7, i, sh->of[i].written - from[i]);
	end(&idle);
	leave();
	ktap_end();
}

/* A provider is stopped by a signal. A call that waited for it would never return. */
static void test_stopped(void)
{
	struct run run;

	ktap_begin("I14_stopped_process_delays_no_request");
	come();
	/* The provider is stopped while it writes, with the gate open. */
	open_over(&run, NAME, NAME "*", ASYNCTRACE_MODE_CIRCULAR, ASYNCTRACE_SCHED_TARGETS);
	run_start(&run);
	for (int i = 0; i < PROVIDERS; i++)
		have_written(i, 100);
	must(!kill(pids[0], SIGSTOP));
	must(soon(is_stopped, &pids[0]));
	run_stop(&run);
	run_start_with(&run, ASYNCTRACE_DISPOSITION_CLEAR_ENTIRE);
	end(&run);
	for (uint32_t mode = ASYNCTRACE_MODE_ONESHOT; mode <= ASYNCTRACE_MODE_STREAMING; mode++) {
		open_over(&run, NAME, NAME "*", mode, ASYNCTRACE_SCHED_TARGETS);
		run_start(&run);
		/* The other providers are recorded. */
		have_written(1, 100);
		have_written(2, 100);
		run_stop(&run);
		rd_drain(&run.rd);
		run_check(&run);
		ktap_check(run.seen.of[1] >= 100 && run.seen.of[2] >= 100 && !run.seen.of[0],
			   "mode %u: %u, %u and %u events", mode, run.seen.of[0], run.seen.of[1],
			   run.seen.of[2]);
		run_start(&run);
		run_stop(&run);
		end(&run);
	}
	ktap_check(is_stopped(&pids[0]), "the process was continued too early");
	must(!kill(pids[0], SIGCONT));
	hush();
	open_over(&run, NAME, NAME "*", ASYNCTRACE_MODE_ONESHOT, ASYNCTRACE_SCHED_TARGETS);
	run_start(&run);
	speak();
	have_written(0, 100);
	run_stop(&run);
	rd_drain(&run.rd);
	run_check(&run);
	ktap_check(run.seen.of[0] >= 100, "%u events after the process was continued", run.seen.of[0]);
	end(&run);
	leave();
	ktap_end();
}

int main(void)
{
	ktap_plan(4);
	if (at_ctl_open(&ctl))
		ktap_bail("%s", at_ctl_error(ctl));
	sh = shared_memory(sizeof(*sh));
	test_side_by_side();
	test_wanted_by_two();
	test_from_one_to_the_next();
	test_stopped();
	at_ctl_close(ctl);
	return ktap_exit();
}
