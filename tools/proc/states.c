// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads the threads of a process. The process may change meanwhile. A thread that has ended is
 * left out. A thread that has just begun may be left out.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <linux/asynctrace_fxt.h>

#include "proc/states.h"

/*
 * Margin between times in records and times of CLOCK_BOOTTIME. Times in records may be wrong by
 * 0.1 ms, because the module begins a new segment of its clock only beyond that difference.
 */
#define MARGIN_NS	1000000

/* Number of the field "starttime" in /proc/PID/stat */
#define START_FIELD	22

#define DESCRIPTOR_MAX	(1 << 20)

/*
 * The letters of states in /proc, from fs/proc/array.c of Linux, and the numbers of the states in
 * records of switches
 */
static const struct {
	char letter;
	uint8_t state;
} states[] = {
	{ 'R', 0 }, { 'S', 0x01 }, { 'D', 0x02 }, { 'I', 0x02 }, { 'T', 0x04 }, { 't', 0x08 },
	{ 'X', 0x10 }, { 'Z', 0x20 }, { 'P', 0x01 },
};

#define STATE_ASLEEP	0x03

static uint64_t boottime(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec * UINT64_C(1000000000) + ts.tv_nsec;
}

/* Reads a file below the directory @dir as text. Returns false if that fails. */
static bool read_text(int dir, const char *name, char *text, size_t size)
{
	const int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	const ssize_t got = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = '\0';
	return got > 0;
}

/* Returns the latest time at which a thread can have begun. @ticks: its field "starttime" */
static uint64_t began(uint64_t ticks)
{
	const uint64_t hz = sysconf(_SC_CLK_TCK);

	return (ticks + 1) / hz * 1000000000 + (ticks + 1) % hz * 1000000000 / hz;
}

/* Parses "TID (COMM) STATE ...". COMM may have spaces and parentheses. */
static bool parse_stat(char *text, struct proc_state *s)
{
	char *comm = strchr(text, '('), *end = strrchr(text, ')'), *field;
	size_t i;

	if (!comm || !end || end < comm || end[1] != ' ')
		return false;
	*end = '\0';
	snprintf(s->comm, sizeof(s->comm), "%s", comm + 1);
	field = end + 2;
	for (i = 0; i < sizeof(states) / sizeof(states[0]) && states[i].letter != *field; i++)
		;
	if (i == sizeof(states) / sizeof(states[0]))
		return false;
	s->state = states[i].state;
	for (int number = 3; number < START_FIELD; number++) {
		field = strchr(field, ' ');
		if (!field++)
			return false;
	}
	s->since = began(strtoull(field, NULL, 10));
	return true;
}

/*
 * Returns the type of the file that the descriptor @fd names, as ASYNCTRACE_FXT_FILE_*. Does not
 * ask a remote file system, which may not answer.
 */
static unsigned int type_of(int dir, int32_t tid, uint64_t fd)
{
	struct statx st;
	char name[48];

	if (fd > DESCRIPTOR_MAX)
		return 0;
	snprintf(name, sizeof(name), "%d/fd/%u", tid, (unsigned int)fd);
	if (statx(dir, name, AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_TYPE, &st) ||
	    !(st.stx_mask & STATX_TYPE))
		return 0;
	return (st.stx_mode & S_IFMT) >> 12;
}

/*
 * Parses "NUMBER ARGUMENT... SP PC", "-1 SP PC" outside of system calls, or "running". Ignores
 * numbers with a stack pointer (SP) of 32 bits: 32-bit programs have other numbers, and threads of
 * the kernel, whose SP is 0, have none.
 */
static void read_syscall(int dir, struct proc_state *s)
{
	uint64_t argument, stack;
	char name[32], text[256];
	int64_t number;
	int got;

	snprintf(name, sizeof(name), "%d/syscall", s->tid);
	if (!read_text(dir, name, text, sizeof(text)))
		return;
	got = sscanf(text, "%" SCNd64 " %" SCNx64 " %*x %*x %*x %*x %*x %" SCNx64, &number, &argument,
		     &stack);
	if (got == 2 && number < 0 && argument > UINT32_MAX)
		s->off_cpu = ASYNCTRACE_FXT_OFF_EXCEPTION;
	if (got != 3 || number < 0 || number > INT32_MAX || stack <= UINT32_MAX)
		return;
	s->syscall = number;
	s->argument = argument;
	s->off_cpu = ASYNCTRACE_FXT_OFF_SYSCALL | type_of(dir, s->tid, argument) << 4;
}

/* Returns false if the thread has ended. */
static bool read_state(int dir, int32_t tid, struct proc_state *s)
{
	char name[32], text[1024];

	*s = (struct proc_state){ .tid = tid, .from = boottime() };
	snprintf(name, sizeof(name), "%d/stat", tid);
	if (!read_text(dir, name, text, sizeof(text)) || !parse_stat(text, s))
		return false;
	if (s->state & STATE_ASLEEP)
		read_syscall(dir, s);
	s->until = boottime() + MARGIN_NS;
	s->from -= s->from > MARGIN_NS ? MARGIN_NS : 0;
	if (s->since > s->from)
		s->since = s->from;
	return true;
}

/* Returns the name of a directory as an id, or 0 if it is not a number. */
static pid_t id_of(const char *name)
{
	char *end;
	const long id = strtol(name, &end, 10);

	return *name >= '0' && *name <= '9' && !*end && id > 0 && id <= INT32_MAX ? id : 0;
}

int proc_threads_open(struct proc_threads *t, const char *root, pid_t pid)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/proc/%d/task", root, (int)pid);
	t->dir = opendir(path);
	return t->dir ? 0 : -errno;
}

int proc_threads_next(struct proc_threads *t, struct proc_state *state)
{
	const struct dirent *e;
	pid_t tid;

	for (;;) {
		errno = 0;
		e = readdir(t->dir);
		if (!e)
			return errno == ENOENT || errno == ESRCH ? 0 : -errno;
		tid = id_of(e->d_name);
		if (tid && read_state(dirfd(t->dir), tid, state))
			return 1;
	}
}

void proc_threads_close(struct proc_threads *t)
{
	if (t->dir)
		closedir(t->dir);
	t->dir = NULL;
}

int proc_for_each(const char *root, int (*fn)(void *arg, pid_t pid), void *arg)
{
	const struct dirent *e;
	char path[PATH_MAX];
	int err = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/proc", root);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while (!err && (e = readdir(dir)))
		if (id_of(e->d_name))
			err = fn(arg, id_of(e->d_name));
	closedir(dir);
	return err;
}

bool proc_is_ours(const char *root)
{
	char path[PATH_MAX], self[32];
	ssize_t len;

	snprintf(path, sizeof(path), "%s/proc/self", root);
	len = readlink(path, self, sizeof(self) - 1);
	if (len <= 0)
		return false;
	self[len] = '\0';
	return id_of(self) == getpid();
}
