/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A memory cgroup, which shows the memory that the kernel holds for a test
 */
#ifndef SELFTESTS_GROUP_H
#define SELFTESTS_GROUP_H

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ktap.h"
#include "raw.h"

#define GROUP	"/sys/fs/cgroup/at-past"

static inline void group_enter(void)
{
	raw_put("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	NEED(!mkdir(GROUP, 0755) || errno == EEXIST);
	NEED(!raw_put(GROUP "/cgroup.procs", "0"));
}

static inline void group_leave(void)
{
	NEED(!raw_put("/sys/fs/cgroup/cgroup.procs", "0"));
}

/* Returns a number from the group's memory.stat. @what: a line feed, its name and a space. */
static inline long long group_bytes(const char *what)
{
	char text[8192];
	const char *at;
	ssize_t n;
	int fd;

	fd = open(GROUP "/memory.stat", O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	close(fd);
	NEED(n > 0);
	text[n] = 0;
	at = strstr(text, what);
	NEED(at);
	return atoll(at + strlen(what));
}

#endif /* SELFTESTS_GROUP_H */
