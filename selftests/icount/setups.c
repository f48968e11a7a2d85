// SPDX-License-Identifier: GPL-2.0
#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <asynctrace/provider.h>
#include <asynctrace/session.h>

#include "setups.h"

#define TRACING	"/sys/kernel/tracing/"

static struct at_ctl *ctl;
static uint32_t session;
static const char *empty_module;

static void provide(const char *name)
{
	struct at_provider_opts opts = { .size = sizeof(opts), .name = name };
	int e = at_provider_register(&opts);

	if (e)
		errx(1, "cannot register as a provider: %s", strerror(-e));
}

/* A process that a session can be about without being about the pair. */
static void bystander(void)
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
		provide(PROVIDER_BYSTANDER);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		errx(1, "the process that only stands by did not start");
	close(ready[0]);
}

void setups_prepare(const char *module)
{
	empty_module = module;
	bystander();
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
	/* Nobody reads it: in a circular buffer there is room all the same. */
	struct at_session_options o = {
		.size = sizeof(o),
		.name = "icount",
		.mode = ASYNCTRACE_MODE_CIRCULAR,
		.sched = s->sched,
		.ring_size = 1 << 20,
		.nr_providers = 1,
		.providers = &s->provider,
	};

	check(at_session_create(ctl, &o, &session), "create");
	check(at_session_init(ctl, session), "init");
	check(at_session_start(ctl, session), "start");
}

static void session_off(void)
{
	check(at_session_terminate(ctl, session), "terminate");
	session = 0;
	/* Unused probes stay for a second, in case the next session comes. */
	sleep(3);
}

static void tracing_set(const char *file, const char *value)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), TRACING "%s", file);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		err(1, "%s", path);
	close(fd);
}

static void ftrace(unsigned int events, const char *value)
{
	if (events & EVENT_SWITCH)
		tracing_set("events/sched/sched_switch/enable", value);
	if (events & EVENT_WAKING)
		tracing_set("events/sched/sched_waking/enable", value);
}

/* What is in CPU 0's buffer, and what was. */
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

	if (session)
		check(at_session_get(ctl, session, store_info, cost), "get");
	return cost[0];
}

bool setup_records(const struct setup *s, uint64_t *records)
{
	uint64_t cost[2];

	switch (s->kind) {
	case SETUP_SESSION:
		check(at_session_get(ctl, session, store_info, cost), "get");
		*records = cost[1];
		return true;
	case SETUP_FTRACE:
		*records = ftrace_records();
		return true;
	default:
		return false;
	}
}
