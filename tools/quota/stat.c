// SPDX-License-Identifier: GPL-2.0-or-later
/* The files of a cgroup: its quota, and the counts of throttling */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "quota/priv.h"

/* The longest cpu.stat of Linux 7.3 has less than 400 bytes. */
#define STAT_MAX	4096

static int open_file(const struct quota_place *place, const char *name)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/%s", place->dir, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Reads a file of one line into @text. */
static bool read_line(const struct quota_place *place, const char *name, char *text, size_t size)
{
	int fd = open_file(place, name);
	ssize_t got;

	if (fd < 0)
		return false;
	got = read(fd, text, size - 1);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	return got > 0;
}

bool quota_period(const struct quota_place *place, uint64_t *ns)
{
	uint64_t period;
	char text[64];
	int64_t quota;

	if (place->v2) {
		/* Without a quota, the first word is "max". */
		if (!read_line(place, "cpu.max", text, sizeof(text)) ||
		    sscanf(text, "%" SCNd64 " %" SCNu64, &quota, &period) != 2)
			return false;
	} else {
		if (!read_line(place, "cpu.cfs_quota_us", text, sizeof(text)) ||
		    sscanf(text, "%" SCNd64, &quota) != 1 || quota < 0 ||
		    !read_line(place, "cpu.cfs_period_us", text, sizeof(text)) ||
		    sscanf(text, "%" SCNu64, &period) != 1)
			return false;
	}
	*ns = period * 1000;
	return true;
}

int quota_open_stat(const struct quota_place *place)
{
	int fd = open_file(place, "cpu.stat");

	return fd < 0 ? -errno : fd;
}

/* Finds the line "NAME VALUE". */
static bool value_of(const char *text, const char *name, uint64_t *value)
{
	const size_t len = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, len) && line[len] == ' ')
			return sscanf(line + len, "%" SCNu64, value) == 1;
	}
	return false;
}

int quota_read_stat(int fd, bool v2, struct quota_counts *counts)
{
	char text[STAT_MAX];
	ssize_t got = pread(fd, text, sizeof(text) - 1, 0);

	if (got < 0)
		return -errno;
	text[got] = '\0';
	if (!value_of(text, "nr_periods", &counts->ended) ||
	    !value_of(text, "nr_throttled", &counts->periods) ||
	    !value_of(text, v2 ? "throttled_usec" : "throttled_time", &counts->ns))
		return -ENODATA;
	if (v2)
		counts->ns *= 1000;
	return 0;
}
