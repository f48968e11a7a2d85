// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions of the module
 */
#include <pthread.h>
#include <sys/rseq.h>
#include <unistd.h>

#include "run.h"

void run_open(struct run *run, struct at_ctl *ctl, const struct run_options *o)
{
	struct at_session_options opts = {
		.size = sizeof(opts), .name = o->name, .mode = o->mode, .sched = o->sched,
		.flags = o->flags, .ring_size = o->ring_size, .sub_size = o->sub_size,
		.nr_providers = !!o->provider, .providers = &o->provider,
	};
	int fd;

	run->ctl = ctl;
	if (at_session_create(ctl, &opts, &run->id) || at_session_init(ctl, run->id))
		ktap_bail("%s", at_ctl_error(ctl));
	fd = at_session_open_stream(ctl, run->id);
	if (fd < 0)
		ktap_bail("%s", at_ctl_error(ctl));
	nu_seen_init(&run->seen);
	rd_open(&run->rd, fd, nu_event, &run->seen);
}

void run_start(struct run *run)
{
	if (at_session_start(run->ctl, run->id, NULL))
		ktap_bail("%s", at_ctl_error(run->ctl));
}

void run_start_with(struct run *run, uint32_t disposition)
{
	const struct at_start_options opts = { .size = sizeof(opts), .disposition = disposition };

	if (at_session_start(run->ctl, run->id, &opts))
		ktap_bail("%s", at_ctl_error(run->ctl));
}

void run_stop(struct run *run)
{
	if (at_session_stop(run->ctl, run->id))
		ktap_bail("%s", at_ctl_error(run->ctl));
}

void run_terminate(struct run *run)
{
	if (at_session_destroy(run->ctl, run->id))
		ktap_bail("%s", at_ctl_error(run->ctl));
}

void run_read(struct run *run, unsigned int max)
{
	rd_read(&run->rd, max);
}

void run_drain(struct run *run)
{
	rd_drain(&run->rd);
}

/* Words of the smallest record of an event. */
#define EVENT_WORDS	3

/*
 * A ring that is not circular has dropped a record if it is full. A circular ring will report
 * the records that exceed its size as overwritten.
 */
static int has_lost(const struct at_ring_info *r, void *ring_size)
{
	return (r->kind == ASYNCTRACE_RING_KIND_EVENTS ||
		r->kind == ASYNCTRACE_RING_KIND_FALLBACK) &&
	       (r->dropped || r->overwritten ||
		r->committed - r->delivered > *(uint64_t *)ring_size / 8 / EVENT_WORDS);
}

bool run_has_lost(struct run *run, uint64_t ring_size)
{
	int lost = at_for_each_ring(run->ctl, run->id, has_lost, &ring_size);

	if (lost < 0)
		ktap_bail("%s", at_ctl_error(run->ctl));
	return lost;
}

uint64_t run_attempted(struct run *run)
{
	rd_drain(&run->rd);
	return run_total(run);
}

bool run_uses_fallback(const struct run *run)
{
	return fallback_expected(run->ctl);
}

pid_t run_tracing(const char *name, void (*fn)(void))
{
	const struct at_provider_options opts = { .size = sizeof(opts), .name = name };
	pid_t pid = fork();

	must(pid >= 0);
	if (pid)
		return pid;
	must(!at_provider_register(&opts));
	fn();
	_exit(0);
}

/*
 * Does nothing: the lock is in the memory of the provider, and each provider ends after a few
 * sessions.
 */
void run_forget_killed(void)
{
}

void run_join(pid_t pid)
{
	reap(pid);
}

pid_t fork_provider(const struct at_provider_options *opts, unsigned int threads,
		    void *(*fn)(void *number))
{
	pthread_t thread[threads];
	pid_t pid = fork();

	must(pid >= 0);
	if (pid)
		return pid;
	must(!at_provider_register(opts));
	for (uintptr_t i = 0; i < threads; i++)
		must(!pthread_create(&thread[i], NULL, fn, (void *)i));
	for (unsigned int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	_exit(0);
}

bool fallback_expected(struct at_ctl *ctl)
{
	struct at_info info = { .size = sizeof(info) };

	if (at_info(ctl, &info))
		ktap_bail("%s", at_ctl_error(ctl));
	return !__rseq_size || info.clock != ASYNCTRACE_CLOCK_COUNTER;
}
