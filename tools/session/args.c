// SPDX-License-Identifier: GPL-2.0-or-later
/* Parses the options that describe a session, and makes the session */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "session/args.h"
#include "tool.h"

void session_args_init(struct session_args *a)
{
	*a = (struct session_args){
		.ring_size = 1 << 20,
		.size_text = "1M",
		.mode = ASYNCTRACE_MODE_STREAMING,
		.sched = ASYNCTRACE_SCHED_TARGETS,
	};
}

static bool full(size_t nr, const char *what)
{
	if (nr < SESSION_LIST_MAX)
		return false;
	tool_error("at most %d of these are allowed: %s", SESSION_LIST_MAX, what);
	return true;
}

/*
 * Rejects an empty list. It may come from a script that found nothing, so it must not mean "all".
 */
static bool empty(const char *text, const char *what, const char *option)
{
	if (text[strspn(text, ",")])
		return false;
	tool_error("%s takes %s, separated by commas; '%s' has none", option, what,
		   tool_text(text));
	return true;
}

bool session_list_take(struct session_list *l, char *text, size_t longest, const char *what)
{
	char option[32];

	snprintf(option, sizeof(option), "--%s", what);
	if (empty(text, what, option))
		return false;
	for (char *at = strtok(text, ","); at; at = strtok(NULL, ",")) {
		if (strlen(at) > longest) {
			tool_error("%s '%.20s...' has %zu bytes, at most %zu are allowed",
				   what, tool_text(at), strlen(at), longest);
			return false;
		}
		if (l->nr == SESSION_LIST_MAX) {
			tool_error("at most %d of these are allowed: %s; use a prefix and '*'",
				   SESSION_LIST_MAX, what);
			return false;
		}
		l->of[l->nr++] = at;
	}
	return true;
}

/*
 * Checks patterns of providers before the module is needed: a pattern is a name, or a prefix and
 * a final '*'.
 */
static bool patterns_fit(const struct session_list *l)
{
	for (size_t i = 0; i < l->nr; i++) {
		const char *star = strchr(l->of[i], '*');

		if (!star || !star[1])
			continue;
		tool_error("providers '%s': a '*' must be the last character of a pattern",
			   tool_text(l->of[i]));
		return false;
	}
	return true;
}

bool session_args_name(struct session_args *a, const char *name)
{
	a->name = name;
	if (*name && strlen(name) <= ASYNCTRACE_NAME_MAX)
		return true;
	tool_error("a session's name has 1 to %d bytes", ASYNCTRACE_NAME_MAX);
	return false;
}

static bool parse_ring_size(const char *text, uint64_t *size)
{
	uint64_t below = ASYNCTRACE_RING_MIN;

	if (!tool_parse_size(text, size)) {
		tool_error("--buffer-size takes a power of two from %s to %s, such as 64K or 1M, not '%s'",
			   tool_short_size(ASYNCTRACE_RING_MIN),
			   tool_short_size(ASYNCTRACE_RING_MAX), tool_text(text));
		return false;
	}
	if (!(*size & (*size - 1)) && *size >= ASYNCTRACE_RING_MIN)
		return true;
	while (below * 2 <= *size && below < ASYNCTRACE_RING_MAX)
		below *= 2;
	tool_error("a buffer of %s is not possible: its size is a power of two from %s to %s; try %s",
		   text, tool_size(ASYNCTRACE_RING_MIN), tool_size(ASYNCTRACE_RING_MAX),
		   tool_short_size(below));
	return false;
}

/* Parses SIZE, or PATTERN=SIZE. A name may contain a '=', so the last one counts. */
static bool take_size(struct session_args *a, char *text)
{
	char *equals = strrchr(text, '=');

	if (!equals) {
		a->size_text = text;
		return parse_ring_size(text, &a->ring_size);
	}
	if (full(a->nr_buffers, "buffer sizes of providers") ||
	    !parse_ring_size(equals + 1, &a->buffers[a->nr_buffers].ring_size))
		return false;
	/*
	 * A size for one provider has a fixed limit. The size for all providers is compared with
	 * the memory later.
	 */
	if (a->buffers[a->nr_buffers].ring_size > ASYNCTRACE_RING_MAX) {
		tool_error("--buffer-size '%s' is too large: a buffer has at most %s; use %s or less",
			   tool_text(text), tool_size(ASYNCTRACE_RING_MAX),
			   tool_short_size(ASYNCTRACE_RING_MAX));
		return false;
	}
	*equals = '\0';
	if (!*text || strlen(text) > ASYNCTRACE_NAME_MAX) {
		tool_error("--buffer-size PATTERN=SIZE takes 1 to %d bytes before the '='",
			   ASYNCTRACE_NAME_MAX);
		return false;
	}
	a->buffers[a->nr_buffers++].provider = text;
	return true;
}

/* Parses a whole number of 32 bits. Rejects UINT32_MAX, which is no valid id. */
static bool parse_number(const char *text, uint32_t *number)
{
	unsigned long long value;
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	value = strtoull(text, &end, 10);
	*number = value;
	return !errno && !*end && value < UINT32_MAX;
}

static bool take_pids(struct session_args *a, char *text)
{
	if (empty(text, "process ids", "--pid"))
		return false;
	for (char *at = strtok(text, ","); at; at = strtok(NULL, ",")) {
		if (full(a->nr_pids, "processes"))
			return false;
		if (!parse_number(at, &a->pids[a->nr_pids]) || !a->pids[a->nr_pids]) {
			tool_error("'%s' is not a process id: write a number from 1 to %u",
				   tool_text(at), UINT32_MAX - 1);
			return false;
		}
		a->nr_pids++;
	}
	return true;
}

static bool take_uids(struct session_args *a, char *text)
{
	if (empty(text, "users", "--uid"))
		return false;
	for (char *at = strtok(text, ","); at; at = strtok(NULL, ",")) {
		const struct passwd *user = getpwnam(at);

		if (full(a->nr_uids, "users"))
			return false;
		if (user) {
			a->uids[a->nr_uids] = user->pw_uid;
		} else if (!parse_number(at, &a->uids[a->nr_uids])) {
			tool_error("there is no user '%s': give a name, or a number from 0 to %u",
				   tool_text(at), UINT32_MAX - 1);
			return false;
		}
		a->nr_uids++;
	}
	return true;
}

/*
 * Takes the path of a cgroup's directory: absolute, or relative to the working directory or to the
 * mount point of the hierarchy.
 */
static bool take_cgroup(struct session_args *a, const char *text)
{
	static const char *const below[] = { "", "/sys/fs/cgroup/", "/sys/fs/cgroup/unified/" };
	bool is_there = false;

	if (full(a->nr_cgroups, "cgroups"))
		return false;
	/* An empty path would mean the whole hierarchy. */
	if (!*text) {
		tool_error("--cgroup takes the directory of a cgroup, not ''");
		return false;
	}
	for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
		char path[4096];
		struct statfs fs;
		struct stat st;

		snprintf(path, sizeof(path), "%s%s", below[i], text);
		if (stat(path, &st) || statfs(path, &fs))
			continue;
		is_there = true;
		if (!S_ISDIR(st.st_mode) || fs.f_type != CGROUP2_SUPER_MAGIC)
			continue;
		a->cgroups[a->nr_cgroups++] = st.st_ino;
		return true;
	}
	tool_error(is_there ? "'%s' is not a cgroup of the unified hierarchy (version 2): give a directory below /sys/fs/cgroup" :
			      "there is no cgroup '%s'; give its directory, below /sys/fs/cgroup",
		   tool_text(text));
	return false;
}

bool session_args_take(struct session_args *a, int opt, char *text)
{
	int value;

	switch (opt) {
	case 'c':
		return session_list_take(&a->categories, text, ASYNCTRACE_CATEGORY_MAX,
					 "categories");
	case 'p':
		return session_list_take(&a->patterns, text, ASYNCTRACE_NAME_MAX, "providers") &&
		       patterns_fit(&a->patterns);
	case 'm':
		value = tool_parse_mode(text);
		a->mode = value;
		if (value >= 0)
			return true;
		tool_error("there is no mode '%s'; use oneshot, circular or streaming",
			   tool_text(text));
		return false;
	case 'b':
		return take_size(a, text);
	case 's':
		value = tool_parse_sched(text);
		a->sched = value;
		if (value >= 0)
			return true;
		tool_error("there is no scheduling '%s'; use targets, all or off", tool_text(text));
		return false;
	case SESSION_OPT_PID:
		return take_pids(a, text);
	case SESSION_OPT_UID:
		return take_uids(a, text);
	case SESSION_OPT_CGROUP:
		return take_cgroup(a, text);
	case SESSION_OPT_FOLLOW:
		a->follow = true;
		return true;
	default:
		return false;
	}
}

/* --- to the module ------------------------------------------------------------ */

struct free_providers {
	uint32_t free;
};

static int count_free(const struct at_provider_info *p, void *arg)
{
	struct free_providers *f = arg;

	f->free += !p->session;
	return 0;
}

void session_args_too_large(const struct session_args *a, struct at_ctl *ctl,
			    const struct at_info *info, const char *reason)
{
	struct free_providers f = { 0 };
	uint64_t size = a->ring_size, cpus = session_args_rings(info), rings;
	char because[512];

	/* The next request overwrites the connection's message. */
	snprintf(because, sizeof(because), "%s", reason ? reason : "");
	at_for_each_provider(ctl, count_free, &f);
	rings = (f.free ? f.free : 1) + (a->sched != ASYNCTRACE_SCHED_OFF);
	while (size > ASYNCTRACE_RING_MIN &&
	       (size > ASYNCTRACE_RING_MAX ||
		size > info->memory_limit / cpus / rings))
		size /= 2;
	if (reason)
		tool_error("--buffer-size %s is too large: %s; use %s or less, or --providers",
			   a->size_text, because, tool_short_size(size));
	else if (a->ring_size <= UINT64_MAX / cpus / rings)
		tool_error("--buffer-size %s is too large: (%u CPUs + 1) × %s × %" PRIu64 " rings (one of each provider, one of the kernel) = %s, limit %s; use %s or less",
			   a->size_text, info->online_cpus, tool_size(a->ring_size), rings,
			   tool_size(cpus * a->ring_size * rings),
			   tool_size(info->memory_limit), tool_short_size(size));
	else
		tool_error("--buffer-size %s is too large; use %s or less",
			   a->size_text, tool_short_size(size));
}

/* Prints why the session cannot be made. If an option is the cause, also names a remedy. */
static void explain(const struct session_args *a, struct at_ctl *ctl, int err)
{
	if (err == -EEXIST)
		tool_error("you have a session named '%s' already; choose another %sname, or end that one: asynctrace session destroy",
			   tool_text(a->name), strcmp(tool_name, "record") ? "" : "--");
	else if (err == -EPERM && a->sched == ASYNCTRACE_SCHED_ALL)
		tool_error("%s; use --sched targets, or run as root", at_ctl_error(ctl));
	else
		tool_error("%s", at_ctl_error(ctl));
}

int session_args_create(const struct session_args *a, struct at_ctl *ctl,
			const struct at_info *info, uint32_t flags, uint32_t *id)
{
	struct at_session_options opts = {
		.size = sizeof(opts),
		.mode = a->mode,
		.sched = a->sched,
		.flags = flags,
		.name = a->name,
		.ring_size = a->ring_size,
		.nr_categories = a->categories.nr,
		.categories = a->categories.of,
		.nr_providers = a->patterns.nr,
		.providers = a->patterns.of,
		.nr_pids = a->nr_pids,
		.pids = a->pids,
		.nr_users = a->nr_uids,
		.users = a->uids,
		.nr_cgroups = a->nr_cgroups,
		.cgroups = a->cgroups,
		.nr_buffers = a->nr_buffers,
		.buffers = a->buffers,
	};
	int err;

	if (a->follow)
		opts.flags |= ASYNCTRACE_SESSION_FLAGS_FOLLOW;
	if (a->ring_size > ASYNCTRACE_RING_MAX ||
	    a->ring_size > info->memory_limit / session_args_rings(info)) {
		session_args_too_large(a, ctl, info, NULL);
		return -ENOSPC;
	}
	err = at_session_create(ctl, &opts, id);
	if (err)
		explain(a, ctl, err);
	return err;
}

/* One message is enough: most programs reserve the same addresses. */
static bool told_small;

/* Returns the size that the options ask for. The first pattern that matches counts. */
static uint64_t size_for(const struct session_args *a, const char *name)
{
	for (size_t i = 0; i < a->nr_buffers; i++) {
		const char *pattern = a->buffers[i].provider, *star = strchr(pattern, '*');

		if (star ? !strncmp(pattern, name, star - pattern) : !strcmp(pattern, name))
			return a->buffers[i].ring_size;
	}
	return a->ring_size;
}

bool session_args_is_small(const struct session_args *a, const struct at_provider_info *p)
{
	return !told_small && p->ring_stride && p->ring_stride < size_for(a, p->name);
}

void session_args_tell_small(const struct session_args *a, const struct at_provider_info *p)
{
	told_small = true;
	fprintf(stderr, "each ring of the provider %s (process %u) has %s, not %s, because it reserved no more addresses: it can reserve them with ring_reserve of at_provider_register(3)\n",
		tool_text(p->name), p->pid, tool_size(p->ring_stride),
		tool_size(size_for(a, p->name)));
}

struct in_session {
	const struct session_args *args;
	uint32_t session;
};

static int tell_if_small(const struct at_provider_info *p, void *arg)
{
	const struct in_session *s = arg;

	if (p->session == s->session && session_args_is_small(s->args, p))
		session_args_tell_small(s->args, p);
	return 0;
}

int session_args_init_session(const struct session_args *a, struct at_ctl *ctl,
			      const struct at_info *info, uint32_t id)
{
	struct in_session s = { a, id };
	int err = at_session_init(ctl, id);

	if (err == -ENOSPC)
		session_args_too_large(a, ctl, info, at_ctl_error(ctl));
	else if (err)
		explain(a, ctl, err);
	else
		at_for_each_provider(ctl, tell_if_small, &s);
	return err;
}
