// SPDX-License-Identifier: GPL-2.0
/* Switches probes and tracers on and off, and counts their records */
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <asynctrace/provider.h>
#include <asynctrace/session.h>

#include "setups.h"

#define TRACING	"/sys/kernel/tracing/"

#define SESSIONS_MAX	64
#define CROWD		30000
#define CROWD_STACK	16384

static struct at_ctl *ctl;
static uint32_t sessions[SESSIONS_MAX];
static unsigned int nr_sessions;
static const char *empty_module;

static void provide(const char *name)
{
	struct at_provider_options opts = { .size = sizeof(opts), .name = name };
	int e = at_provider_register(&opts);

	if (e)
		errx(1, "cannot register as a provider: %s", strerror(-e));
}

static void set(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		err(1, "%s", path);
	close(fd);
}

static void *sleeper(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

/* All stacks are in one mapping, because the kernel limits the number of mappings. */
static int make_threads(unsigned int n)
{
	pthread_attr_t attr;
	pthread_t thread;
	char *stacks;

	if (!n)
		return 0;
	stacks = mmap(NULL, (size_t)n * CROWD_STACK, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (stacks == MAP_FAILED || pthread_attr_init(&attr))
		return -1;
	for (unsigned int i = 0; i < n; i++)
		if (pthread_attr_setstack(&attr, stacks + (size_t)i * CROWD_STACK, CROWD_STACK) ||
		    pthread_create(&thread, &attr, sleeper, NULL))
			return -1;
	return 0;
}

/* Starts a process that is a provider but not one of the two that are measured. */
static void bystander(const char *name, unsigned int threads)
{
	int ready[2];
	pid_t pid;
	char byte;

	if (pipe2(ready, O_CLOEXEC))
		err(1, "pipe2");
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		provide(name);
		if (make_threads(threads) || write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		errx(1, "the process %s did not start", name);
	close(ready[0]);
}

void setups_prepare(const char *module)
{
	empty_module = module;
	/* The kernel's default limit depends on the memory, and may be lower than CROWD. */
	set("/proc/sys/kernel/threads-max", "60000");
	bystander(PROVIDER_BYSTANDER, 0);
	bystander(PROVIDER_CROWD, CROWD);
	provide(PROVIDER_PAIR);
	if (at_ctl_open(&ctl))
		errx(1, "%s", at_ctl_error(ctl));
}

static void check(int e, const char *what)
{
	if (e < 0)
		errx(1, "%s: %s", what, at_ctl_error(ctl));
}

static void session_on(const struct setup *s)
{
	char name[24];
	/* The session is not read: a circular buffer always has room. */
	struct at_session_options o = {
		.size = sizeof(o),
		.name = name,
		.mode = ASYNCTRACE_MODE_CIRCULAR,
		.sched = s->sched,
		.flags = s->flags,
		.ring_size = 1 << 20,
		.nr_providers = 1,
		.providers = &s->provider,
	};
	unsigned int n = s->sessions ? s->sessions : 1;

	for (nr_sessions = 0; nr_sessions < n; nr_sessions++) {
		uint32_t *id = &sessions[nr_sessions];

		snprintf(name, sizeof(name), "icount%u", nr_sessions);
		check(at_session_create(ctl, &o, id), "create");
		check(at_session_init(ctl, *id), "init");
		check(at_session_start(ctl, *id, NULL), "start");
	}
}

static void session_off(void)
{
	while (nr_sessions)
		check(at_session_destroy(ctl, sessions[--nr_sessions]), "terminate");
	/* Wait until the module has unregistered its probes, which it keeps for a second. */
	sleep(3);
}

static void ftrace(unsigned int events, const char *value)
{
	if (events & EVENT_SWITCH)
		set(TRACING "events/sched/sched_switch/enable", value);
	if (events & EVENT_WAKING)
		set(TRACING "events/sched/sched_waking/enable", value);
}

/* Returns the records in CPU 0's buffer and those that were overwritten. */
static uint64_t ftrace_records(void)
{
	FILE *f = fopen(TRACING "per_cpu/cpu0/stats", "re");
	unsigned long long n, sum = 0;
	char line[128];

	if (!f)
		err(1, "per_cpu/cpu0/stats");
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "entries: %llu", &n) == 1 ||
		    sscanf(line, "overrun: %llu", &n) == 1)
			sum += n;
	fclose(f);
	return sum;
}

static void empty_on(const struct setup *s)
{
	int fd = open(empty_module, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || syscall(SYS_finit_module, fd, s->events == EVENT_SWITCH ?
			      "tracepoint=sched_switch" : "tracepoint=sched_waking", 0))
		err(1, "%s", empty_module);
	close(fd);
}

static void empty_off(void)
{
	if (syscall(SYS_delete_module, "emptyprobe", O_NONBLOCK))
		err(1, "emptyprobe");
}

void setup_on(const struct setup *s)
{
	switch (s->kind) {
	case SETUP_NONE:
		break;
	case SETUP_EMPTY:
		empty_on(s);
		break;
	case SETUP_FTRACE:
		ftrace(s->events, "1");
		break;
	case SETUP_SESSION:
		session_on(s);
		break;
	}
}

void setup_off(const struct setup *s)
{
	switch (s->kind) {
	case SETUP_NONE:
		break;
	case SETUP_EMPTY:
		empty_off();
		break;
	case SETUP_FTRACE:
		ftrace(s->events, "0");
		break;
	case SETUP_SESSION:
		session_off();
		break;
	}
}

static int store_info(const struct at_session_info *info, void *arg)
{
	uint64_t *out = arg;

	out[0] = info->probe_calls;
	out[1] = info->probe_records;
	return 0;
}

uint64_t setup_calls(void)
{
	uint64_t cost[2] = {};

	if (nr_sessions)
		check(at_session_get(ctl, sessions[nr_sessions - 1], store_info, cost), "get");
	return cost[0];
}

bool setup_records(const struct setup *s, uint64_t *records)
{
	uint64_t cost[2];

	switch (s->kind) {
	case SETUP_SESSION:
		check(at_session_get(ctl, sessions[nr_sessions - 1], store_info, cost), "get");
		*records = cost[1];
		return true;
	case SETUP_FTRACE:
		*records = ftrace_records();
		return true;
	default:
		return false;
	}
}
