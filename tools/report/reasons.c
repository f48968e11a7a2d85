// SPDX-License-Identifier: GPL-2.0-or-later
/* Reasons for waits in system calls */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fxt/print.h"
#include "reasons.h"
#include "tool.h"

enum argument {
	OTHER,		/* the argument says little about what the call waits for */
	DESCRIPTOR,
	ADDRESS,	/* the call waits for a change at this address */
};

/* Reasons of system calls, sorted by .name. A call that is missing here is its own reason. */
static const struct call {
	const char *name, *reason;
	enum argument argument;
} calls[] = {
	{ "accept", "socket", DESCRIPTOR },
	{ "accept4", "socket", DESCRIPTOR },
	{ "clock_nanosleep", "sleep", OTHER },
	{ "connect", "socket", DESCRIPTOR },
	{ "copy_file_range", "read", DESCRIPTOR },
	{ "epoll_pwait", "epoll", DESCRIPTOR },
	{ "epoll_pwait2", "epoll", DESCRIPTOR },
	{ "epoll_wait", "epoll", DESCRIPTOR },
	{ "fdatasync", "fsync", DESCRIPTOR },
	{ "flock", "file lock", DESCRIPTOR },
	{ "fsync", "fsync", DESCRIPTOR },
	{ "futex", "futex", ADDRESS },
	{ "futex_wait", "futex", ADDRESS },
	{ "futex_waitv", "futex", ADDRESS },
	{ "io_getevents", "aio", OTHER },
	{ "io_pgetevents", "aio", OTHER },
	{ "io_uring_enter", "io_uring", DESCRIPTOR },
	{ "mq_timedreceive", "message queue", DESCRIPTOR },
	{ "mq_timedsend", "message queue", DESCRIPTOR },
	{ "msgrcv", "message queue", OTHER },
	{ "msgsnd", "message queue", OTHER },
	{ "msync", "fsync", OTHER },
	{ "nanosleep", "sleep", OTHER },
	{ "open", "open", OTHER },
	{ "openat", "open", OTHER },
	{ "openat2", "open", OTHER },
	{ "pause", "signal", OTHER },
	{ "poll", "poll", OTHER },
	{ "ppoll", "poll", OTHER },
	{ "pread64", "read", DESCRIPTOR },
	{ "preadv", "read", DESCRIPTOR },
	{ "preadv2", "read", DESCRIPTOR },
	{ "pselect6", "select", OTHER },
	{ "pwrite64", "write", DESCRIPTOR },
	{ "pwritev", "write", DESCRIPTOR },
	{ "pwritev2", "write", DESCRIPTOR },
	{ "read", "read", DESCRIPTOR },
	{ "readv", "read", DESCRIPTOR },
	{ "recvfrom", "socket", DESCRIPTOR },
	{ "recvmmsg", "socket", DESCRIPTOR },
	{ "recvmsg", "socket", DESCRIPTOR },
	{ "rt_sigsuspend", "signal", OTHER },
	{ "rt_sigtimedwait", "signal", OTHER },
	{ "select", "select", OTHER },
	{ "semop", "semaphore", OTHER },
	{ "semtimedop", "semaphore", OTHER },
	{ "sendfile", "write", DESCRIPTOR },
	{ "sendmmsg", "socket", DESCRIPTOR },
	{ "sendmsg", "socket", DESCRIPTOR },
	{ "sendto", "socket", DESCRIPTOR },
	{ "splice", "pipe", DESCRIPTOR },
	{ "sync", "fsync", OTHER },
	{ "sync_file_range", "fsync", DESCRIPTOR },
	{ "syncfs", "fsync", DESCRIPTOR },
	{ "tee", "pipe", DESCRIPTOR },
	{ "vmsplice", "pipe", DESCRIPTOR },
	{ "wait4", "child", OTHER },
	{ "waitid", "child", OTHER },
	{ "write", "write", DESCRIPTOR },
	{ "writev", "write", DESCRIPTOR },
};

static int by_name(const void *key, const void *call)
{
	return strcmp(key, ((const struct call *)call)->name);
}

static const struct call *call_of(const char *name)
{
	return bsearch(name, calls, sizeof(calls) / sizeof(calls[0]), sizeof(calls[0]), by_name);
}

const char *reason_file(const struct analysis_interval *row)
{
	static const char *const names[16] = {
		[ASYNCTRACE_FXT_FILE_PIPE] = "pipe",
		[ASYNCTRACE_FXT_FILE_CHARACTER] = "character device",
		[ASYNCTRACE_FXT_FILE_DIRECTORY] = "directory",
		[ASYNCTRACE_FXT_FILE_BLOCK] = "block device",
		[ASYNCTRACE_FXT_FILE_REGULAR] = "file",
		[ASYNCTRACE_FXT_FILE_SOCKET] = "socket",
	};
	const struct call *call = row->file ? call_of(row->in) : NULL;
	const char *name = call && call->argument == DESCRIPTOR ? names[row->file & 0xf] : NULL;

	return name ? name : "";
}

const char *reason_of(const struct analysis_interval *row)
{
	const struct call *call;

	if (row->state != ANALYSIS_BLOCKED || !row->in[0])
		return analysis_reason_name(row->reason);
	call = call_of(row->in);
	if (!call)
		return row->in;
	/*
	 * A read or write of a pipe or a socket waits for the peer, so name the type of the file.
	 */
	if ((!strcmp(call->reason, "read") || !strcmp(call->reason, "write")) &&
	    (row->file == ASYNCTRACE_FXT_FILE_PIPE || row->file == ASYNCTRACE_FXT_FILE_SOCKET))
		return reason_file(row);
	return call->reason;
}

void reason_print_call(FILE *f, const struct analysis_interval *row)
{
	const struct call *call = call_of(row->in);

	fputs(tool_text(row->in), f);
	if (!row->has_argument || !call || call->argument == OTHER)
		return;
	fprintf(f, call->argument == DESCRIPTOR ? "(%" PRIu64 ")" : "(0x%" PRIx64 ")", row->argument);
	if (reason_file(row)[0])
		fprintf(f, " on a %s", reason_file(row));
}
