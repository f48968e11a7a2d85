// SPDX-License-Identifier: GPL-2.0
/*
 * Scenes in a session of the module, which must account for each record of each process
 *
 * Environment: STARTS_ROUNDS, STARTS_THREADS (most threads of a scene), STARTS_SEED.
 */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ledger.h"
#include "scene.h"

/* Returns the number of records that the scene wrote. */
static uint64_t round_of(struct at_ctl *ctl, const struct scene *s, struct tally *t)
{
	/* In every fourth round, the rings are too small for the records of a large scene. */
	const struct at_session_options opts = {
		.size = sizeof(opts), .name = "starts",
		.mode = s->seed % 2 ? ASYNCTRACE_MODE_ONESHOT : ASYNCTRACE_MODE_CIRCULAR,
		.ring_size = s->seed % 4 ? 1 << 20 : 1 << 14,
	};
	static struct ledger l;
	uint64_t records = 0;
	pid_t pid;

	memset(t, 0, sizeof(*t));
	ledger_open(&l, ctl, &opts);
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		scene_play(s, t, NULL, NULL);
		_exit(0);
	}
	reap(pid);
	ledger_end(&l);
	for (uint32_t p = 0; p < t->processes; p++) {
		const struct rd_ring sum = ledger_of(&l, t->process[p].pid);
		const uint64_t n = sum.delivered + sum.overwritten + sum.dropped;

		ktap_check(n == t->process[p].written, "process %u wrote %llu records, accounted for are %llu",
			   p, (unsigned long long)t->process[p].written, (unsigned long long)n);
		records += t->process[p].written;
	}
	ledger_close(&l);
	return records;
}

int main(void)
{
	struct tally *t = shared_memory(sizeof(*t));
	const unsigned int rounds = amount("STARTS_ROUNDS", 25);
	const unsigned int threads = amount("STARTS_THREADS", 4096);
	const unsigned int first = amount("STARTS_SEED", time(NULL));
	uint64_t records = 0;
	struct at_ctl *ctl;
	bool failed = false;

	if (at_ctl_open(&ctl))
		ktap_bail("%s", at_ctl_error(ctl));
	ktap_plan(1);
	ktap_note("STARTS_SEED=%u", first);
	ktap_begin("I20_processes_begin_at_once_exact");
	for (unsigned int i = 0; i < rounds; i++) {
		const struct scene s = scene_of(first + i, threads);

		records += round_of(ctl, &s, t);
		if (ktap_failed() && !failed)
			scene_print(&s);
		failed = ktap_failed();
		if (i % 10 == 9)
			ktap_note("%u scenes, %llu records", i + 1, (unsigned long long)records);
	}
	ktap_end();
	at_ctl_close(ctl);
	return ktap_exit();
}
