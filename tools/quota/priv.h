/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Declarations shared by the files of quota/
 *
 *	quota.c		cgroups with a quota, and their processes
 *	place.c		directories of the cgroups that a process is in
 *	stat.c		the files of a cgroup
 */
#ifndef QUOTA_PRIV_H
#define QUOTA_PRIV_H

#include <limits.h>

#include "quota/quota.h"

/* --- place.c ---------------------------------------------------------------- */

/**
 * struct quota_place - a cgroup of a process
 * @v2: the cgroup is of the unified hierarchy; else of version 1's controller cpu
 * @dir: directory of the cgroup
 * @path: path of the cgroup, as /proc/PID/cgroup has it
 */
struct quota_place {
	bool v2;
	char dir[PATH_MAX];
	char path[PATH_MAX];
};

/*
 * Calls @fn for the cgroup of @pid and for those above it, up to the root of the mount that the
 * caller sees. Does so for version 2 and for version 1. Returns 0, or the first result of @fn that
 * is not 0.
 */
int quota_places(const char *root, pid_t pid,
		 int (*fn)(void *arg, const struct quota_place *place), void *arg);

/* --- stat.c ------------------------------------------------------------------ */

/* Reads the period of the quota, ns. Returns false if there is no quota. */
bool quota_period(const struct quota_place *place, uint64_t *ns);
/* Returns a descriptor of cpu.stat, or a negative errno. */
int quota_open_stat(const struct quota_place *place);
/**
 * struct quota_counts - the counts of cpu.stat
 * @ended: number of periods that have ended, throttled or not
 * @periods: number of those in which the cgroup was throttled
 * @ns: throttled time, summed over CPUs
 */
struct quota_counts {
	uint64_t ended, periods, ns;
};

/*
 * Reads the counts from @fd, which quota_open_stat() returned. @v2: as in struct quota_place.
 * Returns 0 or a negative errno.
 */
int quota_read_stat(int fd, bool v2, struct quota_counts *counts);

#endif /* QUOTA_PRIV_H */
