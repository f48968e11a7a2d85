// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * asynctrace record: when the CPU quota of a cgroup throttled the command or a provider
 *
 * Growths of a cgroup's counts wait until the composer has a chunk of a later time. In circular and
 * one-shot mode without --attach, the first chunk comes at the end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <linux/asynctrace_fxt.h>

#include "fxt/table.h"
#include "record/record.h"
#include "tool.h"

#define READ_SECONDS	0.1

/*
 * Limit of the time between two lists of providers. Each list finds quotas that were set later and
 * processes that moved. The first lists are more frequent, because a command that moves to another
 * cgroup usually does so when it begins.
 */
#define LIST_SECONDS	1.0

/*
 * After a list, pause for at least this many times its duration. So lists take at most a tenth of
 * the time.
 */
#define LIST_PAUSE	10

/* Interval at which to check whether the kernel has counted the last throttled period */
#define REST_PAUSE_NS	UINT64_C(5000000)

/* Limit of the samples that wait: 27 minutes of one process that is always throttled */
#define SAMPLES_MAX	16384

/* The composer writes at most this many bytes of a name. */
#define NAME_MAX_BYTES	255

/**
 * struct throttling_sample - growth of a cgroup's throttled time that is not composed yet
 * @growth: the growth. .path points into the struct quotas that reported it
 * @comm: name of the process
 */
struct throttling_sample {
	struct quota_growth growth;
	char comm[16 + 1];
};

static uint64_t boottime(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec * UINT64_C(1000000000) + ts.tv_nsec;
}

static int no_memory(void)
{
	tool_error("cannot record throttling by CPU quotas: %s", strerror(ENOMEM));
	return -ENOMEM;
}

static void take_comm(pid_t pid, char *comm, size_t size)
{
	char path[48];
	FILE *f;

	*comm = '\0';
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	f = fopen(path, "re");
	if (f && fgets(comm, size, f))
		comm[strcspn(comm, "\n")] = '\0';
	if (f)
		fclose(f);
}

/* Makes room for a sample. In circular mode, drops the oldest ones, as the rings do. */
static bool make_room(struct recorder *r)
{
	struct throttling *t = &r->throttling;
	const size_t oldest = SAMPLES_MAX / 4;

	if (t->nr == SAMPLES_MAX && r->opt.args.mode == ASYNCTRACE_MODE_CIRCULAR) {
		t->nr -= oldest;
		memmove(t->samples, t->samples + oldest, t->nr * sizeof(*t->samples));
	}
	return t->nr < SAMPLES_MAX && more_room(&t->samples, t->nr, &t->room, sizeof(*t->samples));
}

static int grown(void *arg, const struct quota_growth *g)
{
	struct recorder *r = arg;
	struct throttling *t = &r->throttling;
	struct throttling_sample *s;

	if (!make_room(r)) {
		t->left_out++;
		return 0;
	}
	s = &t->samples[t->nr++];
	s->growth = *g;
	take_comm(g->pid, s->comm, sizeof(s->comm));
	return 0;
}

/* @from: begin of the interval: that of the growth, or the begin of the session if that is later */
static int add_from(struct at_compose *c, const struct throttling_sample *s, uint64_t from)
{
	const struct quota_growth *g = &s->growth;
	const size_t len = strlen(g->path);
	const struct at_compose_value values[] = {
		{ .name = "throttled_us", .type = ASYNCTRACE_FXT_ARG_UINT64,
		  .number = g->throttled_ns / 1000 },
		{ .name = "throttled_periods", .type = ASYNCTRACE_FXT_ARG_UINT64,
		  .number = g->periods },
		{ .name = "interval_us", .type = ASYNCTRACE_FXT_ARG_UINT64,
		  .number = (g->to - from + 999) / 1000 },
	};
	const struct at_compose_counter counter = {
		.size = sizeof(counter), .pid = g->pid, .time = from,
		.comm = s->comm[0] ? s->comm : NULL, .category = "cgroup",
		/* The end of a long path tells it from others better than its begin. */
		.name = g->path + (len > NAME_MAX_BYTES ? len - NAME_MAX_BYTES : 0),
		.values = values, .nr_values = sizeof(values) / sizeof(values[0]),
	};

	return at_compose_add_counter(c, &counter);
}

static int add(struct at_compose *c, const struct throttling_sample *s)
{
	const struct at_compose_stats *stats;
	int err = add_from(c, s, s->growth.from);

	if (err != -ERANGE)
		return err;
	stats = at_compose_stats(c);
	if (!stats)
		return -ENOMEM;
	/* The composer rejects times before the session's begin. Skip what ended before it. */
	return stats->start < s->growth.to ? add_from(c, s, stats->start) : 0;
}

/* Composes samples, and drops those that have been composed. */
static int compose(struct recorder *r)
{
	struct throttling *t = &r->throttling;
	size_t at = 0;
	int err = 0;

	for (; at < t->nr && !err; at += err != -EAGAIN)
		err = add(r->out.compose, &t->samples[at]);
	t->nr -= at;
	memmove(t->samples, t->samples + at, t->nr * sizeof(*t->samples));
	if (r->out.over) {
		t->left_out += at;
		return 0;
	}
	if (err && err != -EAGAIN)
		return trace_out_check(&r->out, err);
	/* Flush now, because flush() in session.c does so only after a chunk was read. */
	return at ? trace_out_flush(&r->out) : 0;
}

int record_copy_throttling(const struct recorder *r, struct at_compose *c)
{
	int err = 0;

	for (size_t i = 0; i < r->throttling.nr && !err; i++)
		err = add(c, &r->throttling.samples[i]);
	return err == -EAGAIN ? 0 : err;
}

/*
 * Schedules readings if a cgroup has a quota. The first one need not be at once, because
 * quotas_watch() has read the counts of a new cgroup.
 */
static void find_next_read(struct throttling *t)
{
	if (!quotas_nr(t->quotas))
		t->next_read = 0;
	else if (!t->next_read)
		t->next_read = record_now() + READ_SECONDS;
}

void record_watch_cgroups(struct recorder *r, pid_t pid)
{
	struct throttling *t = &r->throttling;

	if (!t->quotas)
		return;
	if (quotas_watch(t->quotas, pid))
		no_memory();
	find_next_read(t);
}

static int watch_listed(const struct at_provider_info *p, void *arg)
{
	struct recorder *r = arg;

	if (p->session != r->session)
		return 0;
	if (!r->opt.attach && session_args_is_small(&r->opt.args, p)) {
		record_line_clear(r);
		session_args_tell_small(&r->opt.args, p);
	}
	if (p->pid) {
		record_watch_provider(r, p->serial, p->pid);
		record_watch_cgroups(r, p->pid);
		record_list_provider(r, p->id, p->serial, p->pid);
	}
	return 0;
}

/*
 * Finds the providers of the session. Chunks announce them only to a reader of the session. An
 * error only means that their tracepoints and throttling are not recorded, and their threads not
 * listed.
 */
static void list_providers(struct recorder *r)
{
	struct throttling *t = &r->throttling;
	const double begin = record_now();
	double end;

	at_for_each_provider(r->ctl, watch_listed, r);
	end = record_now();
	t->earliest_list = end + LIST_PAUSE * (end - begin);
	t->next_list = t->earliest_list + t->list_seconds;
}

void record_list_soon(struct recorder *r)
{
	struct throttling *t = &r->throttling;

	if (t->next_list > t->earliest_list)
		t->next_list = t->earliest_list;
	/* A new provider may move to another cgroup soon, as the command may at the start. */
	t->list_seconds = READ_SECONDS / 2;
}

int record_start_throttling(struct recorder *r)
{
	struct throttling *t = &r->throttling;

	t->quotas = quotas_new("", boottime);
	if (!t->quotas)
		return no_memory();
	t->list_seconds = READ_SECONDS;
	list_providers(r);
	return 0;
}

static int read_counts(struct recorder *r)
{
	int err = quotas_read(r->throttling.quotas, grown, r);

	find_next_read(&r->throttling);
	return err;
}

int record_poll_throttling(struct recorder *r)
{
	struct throttling *t = &r->throttling;
	const double now = record_now();

	if (t->next_list && now >= t->next_list) {
		t->list_seconds = t->list_seconds < LIST_SECONDS / 2 ? 2 * t->list_seconds :
								       LIST_SECONDS;
		list_providers(r);
	}
	if (t->next_read && now >= t->next_read) {
		t->next_read = now + READ_SECONDS;
		read_counts(r);
	}
	return t->nr ? compose(r) : 0;
}

double record_next_throttling(const struct recorder *r)
{
	const struct throttling *t = &r->throttling;

	return t->next_list && (!t->next_read || t->next_list < t->next_read) ? t->next_list :
										t->next_read;
}

int record_stop_throttling(struct recorder *r)
{
	return r->throttling.quotas ? read_counts(r) : 0;
}

int record_rest_throttling(struct recorder *r)
{
	const struct quotas *q = r->throttling.quotas;
	const unsigned int signals = r->nr_signals;
	struct timespec pause = { 0 };
	uint64_t rest;

	if (!q || !quotas_nr(q))
		return 0;
	while (r->nr_signals == signals && (rest = quotas_rest(q))) {
		pause.tv_nsec = rest < REST_PAUSE_NS ? rest : REST_PAUSE_NS;
		nanosleep(&pause, NULL);
		record_take_signals(r);
	}
	return read_counts(r);
}

/*
 * Composes the last samples. The composer leaves out samples that are later than all records,
 * because no record needs them. record_free_throttling() drops these.
 */
int record_finish_throttling(struct recorder *r)
{
	int err = record_rest_throttling(r);

	return err || !r->throttling.nr ? err : compose(r);
}

void record_free_throttling(struct recorder *r)
{
	quotas_free(r->throttling.quotas);
	free(r->throttling.samples);
}
