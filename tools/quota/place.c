// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The directories of the cgroups that a process is in
 *
 * A line of /proc/PID/cgroup has the path of a cgroup in its hierarchy, relative to this process's
 * cgroup namespace. /proc/self/mountinfo has the directories where hierarchies are mounted, and the
 * path that is the root of each mount.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quota/priv.h"

/* A mounted hierarchy that may have quotas */
struct hierarchy {
	char at[PATH_MAX];	/* directory of the mount */
	char base[PATH_MAX];	/* path of the cgroup that is mounted there */
};

/* True if the list of controllers @list, separated by commas, has "cpu". A colon ends the list. */
static bool has_cpu(const char *list)
{
	for (size_t len; *list; list += len + (list[len] == ',')) {
		len = strcspn(list, ",:");
		if (len == 3 && !memcmp(list, "cpu", 3))
			return true;
		if (list[len] != ',')
			return false;
	}
	return false;
}

/* Replaces escapes such as \040, which mountinfo has instead of white space. */
static void unescape(char *text)
{
	char *to = text;

	for (; *text; to++) {
		unsigned int code;

		if (*text == '\\' && sscanf(text + 1, "%3o", &code) == 1 && code) {
			*to = code;
			text += 4;
		} else {
			*to = *text++;
		}
	}
	*to = '\0';
}

/* Reads @h from a line of mountinfo. Returns false if the line is of another mount. */
static bool is_mount(const char *line, bool v2, struct hierarchy *h)
{
	const char *end = strstr(line, " - ");
	char type[32], options[1024];

	if (!end || sscanf(end, " - %31s %*s %1023s", type, options) != 2 ||
	    strcmp(type, v2 ? "cgroup2" : "cgroup") || (!v2 && !has_cpu(options)) ||
	    sscanf(line, "%*s %*s %*s %4095s %4095s", h->base, h->at) != 2)
		return false;
	unescape(h->base);
	unescape(h->at);
	return true;
}

/* Returns the path in a line of /proc/PID/cgroup, or NULL if the line is of another hierarchy. */
static const char *path_in(const char *line, bool v2)
{
	const char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;

	if (!path || path[1] != '/')
		return NULL;
	if (v2)
		return !strncmp(line, "0::", 3) ? path + 1 : NULL;
	return has_cpu(list + 1) ? path + 1 : NULL;
}

/* Finds the cgroup of @pid in one hierarchy. */
static bool find_path(const char *root, pid_t pid, bool v2, char *path)
{
	char file[PATH_MAX], *line = NULL;
	bool found = false;
	size_t room = 0;
	FILE *f;

	snprintf(file, sizeof(file), "%s/proc/%d/cgroup", root, (int)pid);
	f = fopen(file, "re");
	while (f && !found && getline(&line, &room, f) > 0) {
		const char *at = path_in(line, v2);

		if (!at)
			continue;
		found = true;
		snprintf(path, PATH_MAX, "%.*s", (int)strcspn(at, "\n"), at);
	}
	free(line);
	if (f)
		fclose(f);
	return found;
}

/* Returns the length of @base if @path is that cgroup or one below it, or -1. */
static ssize_t length_of_base(const char *base, const char *path)
{
	const size_t len = strcmp(base, "/") ? strlen(base) : 0;

	if (strncmp(path, base, len) || (path[len] && path[len] != '/'))
		return -1;
	/* The cgroup is outside of this process's cgroup namespace. */
	if (!strncmp(path, "/..", 3) && (!path[3] || path[3] == '/'))
		return -1;
	return len;
}

/* Finds a mount that shows the cgroup @path. */
static bool find_mount(const char *root, bool v2, const char *path, struct hierarchy *h)
{
	char file[PATH_MAX], *line = NULL;
	bool found = false;
	size_t room = 0;
	FILE *f;

	snprintf(file, sizeof(file), "%s/proc/self/mountinfo", root);
	f = fopen(file, "re");
	while (f && !found && getline(&line, &room, f) > 0)
		found = is_mount(line, v2, h) && length_of_base(h->base, path) >= 0;
	free(line);
	if (f)
		fclose(f);
	return found;
}

static int walk(const char *root, const struct hierarchy *h, struct quota_place *place,
		int (*fn)(void *arg, const struct quota_place *place), void *arg)
{
	const ssize_t base = length_of_base(h->base, place->path);
	size_t len = strlen(place->path);
	int err = 0;

	if (len == 1)
		len = 0;
	for (;;) {
		place->path[len] = '\0';
		if (snprintf(place->dir, sizeof(place->dir), "%s%s%s", root, h->at,
			     place->path + base) >= (int)sizeof(place->dir))
			return 0;
		if (!len)
			strcpy(place->path, "/");
		err = fn(arg, place);
		if (err || len <= (size_t)base)
			return err;
		while (place->path[--len] != '/')
			;
	}
}

int quota_places(const char *root, pid_t pid,
		 int (*fn)(void *arg, const struct quota_place *place), void *arg)
{
	struct quota_place place;
	struct hierarchy h;
	int err = 0;

	for (int v2 = 1; v2 >= 0 && !err; v2--) {
		place.v2 = v2;
		if (find_path(root, pid, v2, place.path) && find_mount(root, v2, place.path, &h))
			err = walk(root, &h, &place, fn, arg);
	}
	return err;
}
