// SPDX-License-Identifier: GPL-2.0-or-later
/* Cgroups with a CPU quota, their processes, and the growth of their counts */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "quota/priv.h"

/*
 * The growth of a cgroup's counts is reported for at most this many of its processes. Bounds the
 * work of a reading.
 */
#define PIDS_MAX	4096

/* A cgroup with a quota. It stays until quotas_free(), because callers may refer to its path. */
struct quota {
	struct quota *next;
	char *dir, *path;
	bool v2;
	int fd;			/* of cpu.stat; -1: closed */
	int err;		/* why cpu.stat cannot be read; or 0 */
	uint64_t period;
	uint64_t read;		/* time just before the last reading; 0: never read */
	struct quota_counts first, last;	/* the first and the last reading */
	bool grew;		/* at the last reading */
	bool found;		/* by the present call of quotas_watch() */
	pid_t *pids;
	size_t nr_pids, room_pids;
	bool full;		/* PIDS_MAX live processes were counted after the last reading */
};

struct quotas {
	const char *root;
	uint64_t (*now)(void);
	struct quota *all, **end;
};

/* A call of quotas_watch() */
struct watch {
	struct quotas *quotas;
	pid_t pid;
};

struct quotas *quotas_new(const char *root, uint64_t (*now)(void))
{
	struct quotas *q = malloc(sizeof(*q));

	if (!q)
		return NULL;
	*q = (struct quotas){ .root = root, .now = now };
	q->end = &q->all;
	return q;
}

static void stop_reading(struct quota *u)
{
	if (u->fd >= 0)
		close(u->fd);
	u->fd = -1;
}

static void quota_free(struct quota *u)
{
	stop_reading(u);
	free(u->dir);
	free(u->path);
	free(u->pids);
	free(u);
}

void quotas_free(struct quotas *q)
{
	struct quota *u, *next;

	for (u = q ? q->all : NULL; u; u = next) {
		next = u->next;
		quota_free(u);
	}
	free(q);
}

static int take_counts(struct quotas *q, struct quota *u, struct quota_counts *counts)
{
	const uint64_t before = q->now();
	int err = quota_read_stat(u->fd, u->v2, counts);

	if (!err)
		u->read = before;
	return err;
}

/* True if the error of a reading means that the cgroup has been removed. */
static bool is_removed(int err)
{
	return err == -ENODEV || err == -ENOENT;
}

static int quota_make(struct quotas *q, const struct quota_place *place, struct quota **made)
{
	struct quota *u = calloc(1, sizeof(*u));

	if (!u)
		return -ENOMEM;
	u->v2 = place->v2;
	u->dir = strdup(place->dir);
	u->path = strdup(place->path);
	u->fd = quota_open_stat(place);
	if (!u->dir || !u->path) {
		quota_free(u);
		return -ENOMEM;
	}
	u->err = u->fd < 0 ? u->fd : take_counts(q, u, &u->last);
	if (u->err)
		stop_reading(u);
	u->first = u->last;
	*q->end = u;
	q->end = &u->next;
	*made = u;
	return 0;
}

static bool has_ended(const struct quotas *q, pid_t pid)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/proc/%d", q->root, (int)pid);
	return access(path, F_OK) && errno == ENOENT;
}

static void drop_ended(const struct quotas *q, struct quota *u)
{
	size_t kept = 0;

	for (size_t i = 0; i < u->nr_pids; i++)
		if (!has_ended(q, u->pids[i]))
			u->pids[kept++] = u->pids[i];
	u->nr_pids = kept;
}

static int add_pid(const struct quotas *q, struct quota *u, pid_t pid)
{
	size_t room = u->room_pids ? 2 * u->room_pids : 4;
	pid_t *pids;

	for (size_t i = 0; i < u->nr_pids; i++)
		if (u->pids[i] == pid)
			return 0;
	/* Ended processes stay until the counts grow, which may never happen. */
	if (u->nr_pids == PIDS_MAX && !u->full) {
		drop_ended(q, u);
		u->full = u->nr_pids == PIDS_MAX;
	}
	if (u->nr_pids == PIDS_MAX)
		return 0;
	if (u->nr_pids == u->room_pids) {
		pids = realloc(u->pids, room * sizeof(*pids));
		if (!pids)
			return -ENOMEM;
		u->pids = pids;
		u->room_pids = room;
	}
	u->pids[u->nr_pids++] = pid;
	return 0;
}

static void drop_pid(struct quota *u, pid_t pid)
{
	size_t kept = 0;

	for (size_t i = 0; i < u->nr_pids; i++)
		if (u->pids[i] != pid)
			u->pids[kept++] = u->pids[i];
	u->nr_pids = kept;
}

/*
 * True if @u is the cgroup of @place. If the cgroup of @u was removed, @place is a new cgroup with
 * the same name. Does not store the counts in @u, because quotas_read() has to report their growth.
 */
static bool is_at(struct quota *u, const struct quota_place *place)
{
	struct quota_counts counts;

	if (strcmp(u->dir, place->dir))
		return false;
	if (u->fd < 0)
		return u->err;
	if (!is_removed(quota_read_stat(u->fd, u->v2, &counts)))
		return true;
	stop_reading(u);
	return false;
}

static int take_place(void *arg, const struct quota_place *place)
{
	const struct watch *w = arg;
	struct quota *u = w->quotas->all;
	uint64_t period;
	int err;

	if (!quota_period(place, &period))
		return 0;
	while (u && !is_at(u, place))
		u = u->next;
	if (!u) {
		err = quota_make(w->quotas, place, &u);
		if (err)
			return err;
	}
	/*
	 * quotas_read() has skipped a cgroup that had no processes. Take its counts now, so that
	 * the next growth does not include the time without processes.
	 */
	if (!u->nr_pids && u->fd >= 0)
		take_counts(w->quotas, u, &u->last);
	u->period = period;
	u->found = true;
	return add_pid(w->quotas, u, w->pid);
}

int quotas_watch(struct quotas *q, pid_t pid)
{
	struct watch w = { .quotas = q, .pid = pid };
	int err;

	for (struct quota *u = q->all; u; u = u->next)
		u->found = false;
	err = quota_places(q->root, pid, take_place, &w);
	/*
	 * Remove the process only from cgroups that it has left. In the others it stays, because
	 * their next growth must include the time until now.
	 */
	for (struct quota *u = q->all; u; u = u->next)
		if (!u->found)
			drop_pid(u, pid);
	return err;
}

size_t quotas_nr(const struct quotas *q)
{
	size_t nr = 0;

	for (const struct quota *u = q->all; u; u = u->next)
		nr += u->fd >= 0 && u->nr_pids;
	return nr;
}

static int hand_out(struct quotas *q, struct quota *u, struct quota_growth *g,
		    int (*grown)(void *arg, const struct quota_growth *g), void *arg)
{
	size_t kept = 0;
	int err = 0;

	for (size_t i = 0; i < u->nr_pids; i++) {
		g->pid = u->pids[i];
		if (!err)
			err = grown(arg, g);
		/* Drop a process that has ended, because another process may get its id. */
		if (!has_ended(q, g->pid))
			u->pids[kept++] = g->pid;
	}
	u->nr_pids = kept;
	return err;
}

static int read_quota(struct quotas *q, struct quota *u,
		      int (*grown)(void *arg, const struct quota_growth *g), void *arg)
{
	struct quota_growth g = { .path = u->path };
	struct quota_counts counts;
	const bool grew = u->grew;
	int err;

	u->full = false;
	g.from = u->read > u->period ? u->read - u->period : 0;
	err = take_counts(q, u, &counts);
	if (err) {
		u->err = is_removed(err) ? 0 : err;
		stop_reading(u);
		return 0;
	}
	g.to = q->now();
	g.throttled_ns = counts.ns > u->last.ns ? counts.ns - u->last.ns : 0;
	g.periods = counts.periods > u->last.periods ? counts.periods - u->last.periods : 0;
	u->last = counts;
	u->grew = g.throttled_ns || g.periods;
	return u->grew || grew ? hand_out(q, u, &g, grown, arg) : 0;
}

int quotas_read(struct quotas *q, int (*grown)(void *arg, const struct quota_growth *g), void *arg)
{
	int err = 0;

	for (struct quota *u = q->all; u && !err; u = u->next)
		if (u->fd >= 0 && u->nr_pids)
			err = read_quota(q, u, grown, arg);
	return err;
}

static bool has_live_process(const struct quotas *q, const struct quota *u)
{
	for (size_t i = 0; i < u->nr_pids; i++)
		if (!has_ended(q, u->pids[i]))
			return true;
	return false;
}

uint64_t quotas_rest(const struct quotas *q)
{
	const uint64_t now = q->now();
	struct quota_counts counts;
	uint64_t rest = 0;

	for (const struct quota *u = q->all; u; u = u->next) {
		const uint64_t end = u->read + u->period;

		/* If a period has ended since the last reading, the throttling is counted. */
		if (u->fd < 0 || end <= now || !has_live_process(q, u) ||
		    quota_read_stat(u->fd, u->v2, &counts) || counts.ended != u->last.ended)
			continue;
		if (end - now > rest)
			rest = end - now;
	}
	return rest;
}

bool quotas_sums(const struct quotas *q, size_t i, struct quota_sums *sums)
{
	const struct quota *u = q->all;

	while (u && i--)
		u = u->next;
	if (!u)
		return false;
	*sums = (struct quota_sums){
		.path = u->path, .err = u->err, .periods = u->last.periods - u->first.periods,
		.throttled_ns = u->last.ns - u->first.ns, .before = u->first.periods,
	};
	return true;
}
