/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Filters of a session by process, user, cgroup and ancestor, in addition to provider names; and
 * ring sizes by provider
 */
#ifndef AT_FILTER_H
#define AT_FILTER_H

#include <linux/asynctrace.h>
#include <linux/types.h>
#include <linux/uidgid.h>

struct at_part;
struct at_provider;
struct cgroup;
struct genl_info;
struct pid;

/**
 * struct at_filter - wanted processes; an empty list matches every process
 * @follow: descendants of @pids match, too
 * @nr_pids: number of @pids
 * @nr_users: number of @users
 * @nr_cgroups: number of @cgroups
 * @pids: processes, with references, so that a reused number does not match
 * @users: real users
 * @cgroups: cgroups of the unified hierarchy, with references; their descendants match,
 *	too
 */
struct at_filter {
	bool follow;
	u32 nr_pids;
	u32 nr_users;
	u32 nr_cgroups;
	struct pid *pids[ASYNCTRACE_CATEGORIES_MAX];
	kuid_t users[ASYNCTRACE_CATEGORIES_MAX];
	struct cgroup *cgroups[ASYNCTRACE_CATEGORIES_MAX];
};

/**
 * struct at_buffers - ring sizes by provider; the first matching item applies
 * @count: number of items
 * @item: a pattern and a size in bytes
 */
struct at_buffers {
	u32 count;
	struct {
		u64 ring_size;
		char provider[ASYNCTRACE_NAME_MAX + 1];
	} item[] __counted_by(count);
};

struct at_filter *at_filter_parse(struct genl_info *info, bool follow);
int at_filter_put(struct at_part *part, const struct at_filter *filter);
bool at_filter_wants(const struct at_filter *filter, const struct at_provider *p);
void at_filter_free(struct at_filter *filter);

struct at_buffers *at_buffers_parse(struct genl_info *info);
int at_buffers_put(struct at_part *part, const struct at_buffers *buffers);
u64 at_buffers_size(const struct at_buffers *buffers, const char *provider, u64 otherwise);

#endif /* AT_FILTER_H */
