/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which processes a session records, beyond the names of their providers; and
 * the sizes of some providers' rings.
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
 * struct at_filter - who is wanted; of each kind anybody, where there is none
 * @follow: descendants of @pids, too
 * @nr_pids: of them
 * @nr_users: of them
 * @nr_cgroups: of them
 * @pids: processes, with references: a number that is used again is another one
 * @users: real users
 * @cgroups: of the unified hierarchy, with references; descendants are meant, too
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
 * struct at_buffers - ring sizes by provider; the first that matches holds
 * @count: of them
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
