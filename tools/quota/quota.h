/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tells when the cgroup of a process was throttled, because it had used up its CPU quota.
 *
 * The kernel counts throttling in cpu.stat, when a period of the quota ends. So a growth between
 * two readings was caused within the time from one period before the first reading until the
 * second reading. The kernel does not count which thread waited.
 */
#ifndef QUOTA_QUOTA_H
#define QUOTA_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * struct quota_growth - throttling of a cgroup between two readings
 * @pid: a process in the cgroup, or in one of its descendants
 * @path: path of the cgroup, as /proc/PID/cgroup has it
 * @from: begin of the time in which it was throttled, ns
 * @to: end of that time, ns
 * @throttled_ns: growth of the throttled time, summed over CPUs. 0: it was throttled until @to or
 *	beyond, and the kernel has not counted the time yet
 * @periods: growth of the number of periods in which it was throttled. 0, with @throttled_ns 0:
 *	the first reading without growth after one with growth
 */
struct quota_growth {
	pid_t pid;
	const char *path;
	uint64_t from, to;
	uint64_t throttled_ns;
	uint64_t periods;
};

/**
 * struct quota_sums - throttling of a cgroup since it was found
 * @path: path of the cgroup
 * @throttled_ns: throttled time, summed over CPUs
 * @periods: number of periods in which it was throttled
 * @before: number of such periods before it was found
 * @err: negative errno if the cgroup has a quota, but its cpu.stat cannot be read; or 0
 */
struct quota_sums {
	const char *path;
	uint64_t throttled_ns;
	uint64_t periods;
	uint64_t before;
	int err;
};

struct quotas;

/*
 * @root: directory that contains proc and sys; "": the root directory. Must be valid until
 * quotas_free(). @now: returns the present time, ns. Returns NULL if there is no memory.
 */
struct quotas *quotas_new(const char *root, uint64_t (*now)(void));
/* NULL has no effect. */
void quotas_free(struct quotas *q);
/*
 * Finds the cgroups with a quota that @pid is in. They replace those that an earlier call found for
 * @pid. If both calls find a cgroup, no growth of its counts is lost.
 * A process without quotas, or that has ended, is no error. Returns 0 or -ENOMEM.
 */
int quotas_watch(struct quotas *q, pid_t pid);
/* Returns the number of cgroups that quotas_read() reads. */
size_t quotas_nr(const struct quotas *q);
/*
 * Reads cpu.stat of each cgroup. Calls @grown for each of its processes if the counts have grown
 * now or at the last reading. A result of @grown that is not 0 ends the call, which returns it.
 */
int quotas_read(struct quotas *q, int (*grown)(void *arg, const struct quota_growth *g), void *arg);
/*
 * Returns the time, ns, until the kernel has counted the throttling that was going on at the last
 * quotas_read(). 0: the next quotas_read() has all of it.
 */
uint64_t quotas_rest(const struct quotas *q);
/*
 * Fills @sums for cgroup @i, from 0 on, of all cgroups that were found, also of those that have
 * been removed. Returns false if there are no more. @sums->path is valid until quotas_free().
 */
bool quotas_sums(const struct quotas *q, size_t i, struct quota_sums *sums);

#endif /* QUOTA_QUOTA_H */
