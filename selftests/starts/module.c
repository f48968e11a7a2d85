// SPDX-License-Identifier: GPL-2.0
/*
 * Scenes under a session: its ledger accounts for each record of each process.
 * STARTS_ROUNDS, STARTS_THREADS (the most of a scene), STARTS_SEED.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common.h"
#include "scene.h"

static void ignore(const struct rd_event *ev, void *arg)
{
	(void)ev;
	(void)arg;
}

static uint64_t accounted(const struct rd *rd, pid_t pid)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < rd->nr_providers; i++) {
		const struct rd_provider *p = rd->provider[i];
		struct rd_ring sum;

		if (p->pid != pid)
			continue;
		sum = rd_sum(rd, ASYNCTRACE_CHUNK_EVENTS, p->id);
		n += sum.delivered + sum.overwritten + sum.dropped;
	}
	return n;
}

/* Returns the records that it wrote. */
static uint64_t round_of(struct at_ctl *ctl, const struct scene *s, struct tally *t)
{
	/* In each fourth round, rings that are too small. */
	const struct at_session_options opts = {
		.size = sizeof(opts), .name = "starts",
		.mode = s->seed % 2 ? ASYNCTRACE_MODE_ONESHOT : ASYNCTRACE_MODE_CIRCULAR,
		.ring_size = s->seed % 4 ? 1 << 20 : 1 << 14,
	};
	static struct rd rd;
	uint64_t records = 0;
	uint32_t id;
	int status;
	pid_t pid;

	memset(t, 0, sizeof(*t));
	memset(&rd, 0, sizeof(rd));
	if (at_session_create(ctl, &opts, &id) || at_session_init(ctl, id))
		ktap_bail("%s", at_ctl_error(ctl));
	rd_open(&rd, at_session_consume(ctl, id), ignore, NULL);
	if (at_session_start(ctl, id))
		ktap_bail("%s", at_ctl_error(ctl));
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		scene_play(s, t, NULL, NULL);
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		ktap_fail("the process ended with status %#x", status);
	if (at_session_stop(ctl, id))
		ktap_bail("%s", at_ctl_error(ctl));
	rd_drain(&rd);
	if (at_session_terminate(ctl, id))
		ktap_bail("%s", at_ctl_error(ctl));
	rd_drain(&rd);
	ktap_check(!rd.malformed, "malformed: %s", rd.first);
	for (uint32_t p = 0; p < t->processes; p++) {
		const uint64_t n = accounted(&rd, t->process[p].pid);

		ktap_check(n == t->process[p].written, "process %u wrote %llu records, the ledger has %llu",
			   p, (unsigned long long)t->process[p].written, (unsigned long long)n);
		records += t->process[p].written;
	}
	rd_close(&rd);
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
