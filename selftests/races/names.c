// SPDX-License-Identifier: GPL-2.0
/*
 * An ended session is read while another session makes the provider intern its names again. The
 * reader must get the names that its records use.
 *
 * A knob delays the reader after it has seen that no names are kept for its session, and before it
 * reads the provider's names.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include <asynctrace/provider.h>

#include "../support/run.h"
#include "knobs.h"
#include "names.h"
#include "trial.h"

#define PROVIDER	"names"
/* Microseconds by which the reader is delayed */
#define DELAY		20000
/* Records of a session */
#define RECORDS		50

static struct shared {
	volatile uint32_t ready, stop, written;
} *sh;

static void *writer(void *arg)
{
	sh->ready = 1;
	while (!sh->stop) {
		if (nu_emit(0, sh->written, -1))
			sh->written++;
		else
			sleep_us(100);
	}
	return arg;
}

static void *reader(void *rd)
{
	rd_drain(rd);
	return NULL;
}

static const char *verdict(const struct run *run)
{
	if (run->rd.malformed)
		return run->rd.first;
	if (run->seen.spoiled)
		return run->seen.first;
	return run->seen.events ? NULL : "no records";
}

/* Returns what is wrong with a session that is followed by another, or NULL. */
static const char *session(struct at_ctl *ctl, uint32_t *state, uint64_t *events)
{
	const struct run_options opts = {
		.name = PROVIDER, .ring_size = 64 << 10, .provider = PROVIDER,
		.mode = ASYNCTRACE_MODE_CIRCULAR,
	};
	uint32_t before = sh->written;
	static char why[300];
	struct run old, next;
	const char *wrong;
	pthread_t thread;

	run_open(&old, ctl, &opts);
	run_start(&old);
	while (sh->written - before < RECORDS)
		sleep_us(100);
	run_terminate(&old);

	run_open(&next, ctl, &opts);
	must(!pthread_create(&thread, NULL, reader, &old.rd));
	sleep_us(rnd(state, 2 * DELAY));
	run_start_with(&next, ASYNCTRACE_DISPOSITION_CLEAR_ENTIRE);
	pthread_join(thread, NULL);
	run_terminate(&next);

	wrong = verdict(&old);
	if (wrong) {
		snprintf(why, sizeof(why), "%s", wrong);
		wrong = why;
	}
	*events += old.seen.events;
	run_close(&old);
	run_close(&next);
	return wrong;
}

void names_test(struct at_ctl *ctl, uint32_t *state, const char *fix, uint32_t rounds)
{
	const struct at_provider_options opts = { .size = sizeof(opts), .name = PROVIDER };
	struct trial trial;
	char delay[16];
	pid_t pid;

	trial_begin(&trial, "names cleared while read", fix);
	if (!sh)
		sh = shared_memory(sizeof(*sh));
	sh->ready = sh->stop = sh->written = 0;
	pid = fork_provider(&opts, 1, writer);
	wait_for(&sh->ready, 1, "ready");
	snprintf(delay, sizeof(delay), "%u", DELAY);
	knob_set("delay_names", delay);
	if (fix)
		knob_set(fix, "0");
	while (trial_goes_on(&trial, rounds))
		trial_add(&trial, session(ctl, state, &trial.events));
	if (fix)
		knob_set(fix, "1");
	knob_set("delay_names", "0");
	sh->stop = 1;
	reap(pid);
	ktap_check(trial.events || fix, "no session had an event");
	trial_end(&trial);
}
