// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions, children, time, files.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/rseq.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

void run_open(struct run *run, struct at_ctl *ctl, const struct run_options *o)
{
	struct at_session_options opts = {
		.size = sizeof(opts), .name = o->name, .mode = o->mode, .sched = o->sched,
		.ring_size = o->ring_size, .sub_size = o->sub_size,
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

void run_close(struct run *run)
{
	rd_close(&run->rd);
	nu_seen_free(&run->seen);
}

void run_check(const struct run *run)
{
	const struct rd_ring sum = rd_sum(&run->rd, ASYNCTRACE_CHUNK_EVENTS, 0);

	ktap_check(!run->rd.malformed, "%llu things malformed: %s",
		   (unsigned long long)run->rd.malformed, run->rd.first);
	ktap_check(!run->seen.spoiled, "%llu events spoiled: %s",
		   (unsigned long long)run->seen.spoiled, run->seen.first);
	ktap_check(!sum.backwards, "time goes backwards in a ring %llu times",
		   (unsigned long long)sum.backwards);
	ktap_check(sum.before + sum.parsed == sum.delivered, "%llu delivered, %llu found",
		   (unsigned long long)sum.delivered, (unsigned long long)(sum.before + sum.parsed));
	ktap_check(sum.last, "not every ring was told to be done");
}

uint64_t run_total(const struct run *run)
{
	const struct rd_ring sum = rd_sum(&run->rd, ASYNCTRACE_CHUNK_EVENTS, 0);

	return sum.delivered + sum.overwritten + sum.cleared + sum.dropped;
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

void *shared_memory(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	must(p != MAP_FAILED);
	return p;
}

void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	must(!sched_setaffinity(0, sizeof(set), &set));
}

int cpus_online(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN);
}

uint32_t seed(void)
{
	const char *s = getenv("KT_SEED");
	struct timespec ts;
	uint32_t n;

	clock_gettime(CLOCK_REALTIME, &ts);
	n = ts.tv_nsec ^ ts.tv_sec;
	if (s)
		n = strtoul(s, NULL, 0);
	ktap_note("KT_SEED=%u", n);
	return n;
}

uint32_t rnd(uint32_t *state, uint32_t below)
{
	*state = *state * 1664525 + 1013904223;
	return (uint64_t)(*state >> 4) * below >> 28;
}

void sleep_us(unsigned int us)
{
	const struct timespec ts = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&ts, NULL);
}

uint32_t delay_turns(uint32_t us)
{
	struct timespec a, b;
	uint64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &a);
	for (volatile uint32_t i = 0; i < 2000000; i++)
		;
	clock_gettime(CLOCK_MONOTONIC, &b);
	ns = (b.tv_sec - a.tv_sec) * 1000000000ULL + b.tv_nsec - a.tv_nsec;
	/* The loop above also stores; the library's loop only loads. */
	return us * 1000ULL * 2000000 / ns * 2;
}

void wait_for(const volatile uint32_t *word, uint32_t value, const char *what)
{
	for (int i = 0; *word != value; i++) {
		if (i == 600000)
			ktap_bail("waited for ever: %s is %u, not %u", what, *word, value);
		sleep_us(500);
	}
}

bool soon(bool (*cond)(void *arg), void *arg)
{
	for (int i = 0; i < 24000; i++) {
		if (cond(arg))
			return true;
		sleep_us(10000);
	}
	return false;
}

void reap(pid_t pid)
{
	int status;

	must(waitpid(pid, &status, 0) == pid);
	ktap_check(WIFEXITED(status) && !WEXITSTATUS(status), "child %d: status 0x%x", pid,
		   status);
}

bool is_stopped(void *pid)
{
	char path[64], line[512], *end;
	bool stopped = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", *(pid_t *)pid);
	f = fopen(path, "r");
	must(f);
	if (fgets(line, sizeof(line), f) && (end = strrchr(line, ')')))
		stopped = end[2] == 'T';
	fclose(f);
	return stopped;
}

void write_to(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	must(f && fputs(text, f) >= 0 && !fclose(f));
}

unsigned int amount(const char *name, unsigned int otherwise)
{
	const char *s = getenv(name);

	return s ? strtoul(s, NULL, 0) : otherwise;
}

bool fallback_expected(struct at_ctl *ctl)
{
	struct at_info info = { .size = sizeof(info) };

	if (at_info(ctl, &info))
		ktap_bail("%s", at_ctl_error(ctl));
	return !__rseq_size || info.clock != ASYNCTRACE_CLOCK_COUNTER;
}
