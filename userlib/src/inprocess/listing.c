// SPDX-License-Identifier: LGPL-2.1-or-later
/* The live threads of this process, with or without records */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "compose/text.h"
#include "inproc.h"

#define AT_BATCH	32

struct at_dirent {
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

static bool read_comm(int dir, const char *tid, char *comm)
{
	char path[32], *at = atc_text_put(path, path + sizeof(path), tid);
	ssize_t n;
	int fd;

	atc_text_put(at, path + sizeof(path), "/comm");
	fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, comm, ASYNCTRACE_COMM_LEN);
	close(fd);
	if (n <= 0)
		return false;
	/* The line ends in a newline, which is replaced. */
	comm[n - 1] = '\0';
	return true;
}

static int32_t number_of(const char *text)
{
	int32_t n = 0;

	for (; *text >= '0' && *text <= '9'; text++)
		n = 10 * n + *text - '0';
	return *text ? 0 : n;
}

/* Uses getdents64(2), because opendir(3) would allocate memory. */
void at_live_threads(void (*fn)(void *arg, const struct asynctrace_task_name *names, size_t nr),
		     void *arg, int32_t skip)
{
	struct asynctrace_task_name batch[AT_BATCH] = { 0 };
	const int dir = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const int32_t pid = getpid();
	_Alignas(8) char entries[2048];
	size_t nr = 0;
	long got;

	while (dir >= 0 && (got = syscall(SYS_getdents64, dir, entries, sizeof(entries))) > 0) {
		for (long at = 0; at < got; at += ((struct at_dirent *)(entries + at))->reclen) {
			const struct at_dirent *e = (const void *)(entries + at);
			const int32_t tid = number_of(e->name);

			if (!tid || tid == skip || !read_comm(dir, e->name, batch[nr].comm))
				continue;
			batch[nr].tid = tid;
			batch[nr].pid = pid;
			batch[nr].flags = ASYNCTRACE_TASK_F_PROVIDER;
			if (++nr < AT_BATCH)
				continue;
			fn(arg, batch, nr);
			nr = 0;
		}
	}
	if (nr)
		fn(arg, batch, nr);
	if (dir >= 0)
		close(dir);
}
