// SPDX-License-Identifier: GPL-2.0
/* Waiting, CPUs, seeds, children: what tests of both back ends share */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

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

static cpu_set_t allowed;

static __attribute__((constructor)) void find_cpus(void)
{
	must(!sched_getaffinity(0, sizeof(allowed), &allowed));
}

int cpus_online(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN);
}

int nr_cpus(void)
{
	return CPU_COUNT(&allowed);
}

int nth_cpu(int n)
{
	int cpu = 0;

	for (n %= nr_cpus(); n || !CPU_ISSET(cpu, &allowed); cpu++)
		n -= !!CPU_ISSET(cpu, &allowed);
	return cpu;
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
	/* Twice as many turns: the loop above also stores, the library's loop only loads. */
	return us * 1000ULL * 2000000 / ns * 2;
}

void wait_for(const volatile uint32_t *word, uint32_t value, const char *what)
{
	for (int i = 0; load(word) != value; i++) {
		if (i == 600000)
			ktap_bail("%s is %u and does not become %u", what, load(word), value);
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
