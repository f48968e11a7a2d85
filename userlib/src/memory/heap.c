// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Sizes of the heap and of the process
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <asynctrace/memory.h>

#include "writer/internal.h"

/* Reads a file to @text and appends a NUL. Returns the length, or a negative errno. */
static ssize_t read_text(const char *path, char *text, size_t room)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	do
		n = read(fd, text, room - 1);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		n = -errno;
	close(fd);
	text[n < 0 ? 0 : n] = 0;
	return n;
}

/*
 * Lowers *@limit to the limit in this file. The word "max", or a missing file, stands for no
 * limit.
 */
static void lower(uint64_t *limit, const char *directory, const char *file)
{
	char path[512], text[32];
	uint64_t n;

	if (snprintf(path, sizeof(path), "%s/%s", directory, file) >= (int)sizeof(path) ||
	    read_text(path, text, sizeof(text)) <= 0 || text[0] < '0' || text[0] > '9')
		return;
	n = strtoull(text, NULL, 10);
	if (n < *limit)
		*limit = n;
}

/*
 * Returns the lowest memory limit of the process's control groups, up to the root: a limit of a
 * group applies to all groups below it.
 */
static uint64_t group_limit(void)
{
	static const char root[] = "/sys/fs/cgroup";
	uint64_t limit = UINT64_MAX;
	char text[384], path[sizeof(root) + sizeof(text)], *group, *end;

	if (read_text("/proc/self/cgroup", text, sizeof(text)) <= 0)
		return limit;
	group = strstr(text, "0::/");
	if (!group)
		return limit;
	group += strlen("0::");
	group[strcspn(group, "\n")] = 0;
	snprintf(path, sizeof(path), "%s%s", root, strcmp(group, "/") ? group : "");
	for (;;) {
		lower(&limit, path, "memory.max");
		end = strrchr(path, '/');
		if (!end || (size_t)(end - path) < sizeof(root) - 1)
			return limit;
		*end = 0;
	}
}

static uint64_t size_limit(void)
{
	const uint64_t limit = group_limit();
	struct rlimit rl;

	if (getrlimit(RLIMIT_AS, &rl) || rl.rlim_cur == RLIM_INFINITY || rl.rlim_cur > limit)
		return limit;
	return rl.rlim_cur;
}

/*
 * Returns the bytes of private executable memory that a line of /proc/self/maps describes, such as
 * "55d0-55d1 r-xp ..."
 */
static uint64_t executable_bytes(const char *line)
{
	unsigned long long from, to;
	char rights[5];

	if (sscanf(line, "%llx-%llx %4s", &from, &to, rights) != 3)
		return 0;
	return rights[2] == 'x' && rights[3] == 'p' ? to - from : 0;
}

static int executable_size(uint64_t *bytes)
{
	char line[512];
	bool begin = true;
	FILE *maps = fopen("/proc/self/maps", "re");

	if (!maps)
		return -errno;
	*bytes = 0;
	while (fgets(line, sizeof(line), maps)) {
		if (begin)
			*bytes += executable_bytes(line);
		/* fgets() returns a long line in parts, of which only the first has addresses. */
		begin = strchr(line, '\n');
	}
	fclose(maps);
	return 0;
}

static int resident_size(uint64_t *bytes)
{
	unsigned long long size, resident;
	char text[128];
	const ssize_t n = read_text("/proc/self/statm", text, sizeof(text));

	if (n < 0)
		return n;
	if (sscanf(text, "%llu %llu", &size, &resident) != 2)
		return -EIO;
	*bytes = resident * at_page_size();
	return 0;
}

/* Stores all sizes except those of the allocator. */
static int read_sizes(struct at_heap *s)
{
	int err = executable_size(&s->total_heap_size_executable);

	if (!err)
		err = resident_size(&s->total_physical_size);
	if (!err)
		s->heap_size_limit = size_limit();
	return err;
}

AT_PUBLIC int at_heap_stats(struct at_heap *stats)
{
	const struct mallinfo2 m = mallinfo2();
	struct at_heap s = {
		.total_heap_size = m.arena + m.hblkhd, .used_heap_size = m.uordblks + m.hblkhd,
	};
	int err, cancel;

	if (!stats)
		return -EINVAL;
	/* A cancelled thread would leave its files open. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	err = read_sizes(&s);
	pthread_setcancelstate(cancel, NULL);
	if (!err)
		*stats = s;
	return err;
}
