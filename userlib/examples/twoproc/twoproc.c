// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * An operation in two processes. The client sends the header "traceparent" over a socket. The
 * server handles the request in an operation that is a child of the client's.
 *
 *	ASYNCTRACE_OUT=twoproc.%p.fxt twoproc
 *	asynctrace report twoproc.PID.fxt tree ID
 *
 * Each process writes its own file. With the module, `asynctrace record` writes one file for
 * both.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <asynctrace/operation.h>

static void serve_one(const char *header, size_t bytes)
{
	struct at_operation op;
	struct at_traceparent t;

	/* A request without a valid header starts a new trace. */
	if (at_traceparent_parse(&t, header, bytes)) {
		TRACE_OPERATION_BEGIN_CHILD(&op, 0, "rpc", "handle");
		at_traceparent_new(&t, op.id);
	} else {
		TRACE_OPERATION_BEGIN_CHILD(&op, t.operation, "rpc", "handle",
					    "trace_id", TA_CHAR_ARRAY(t.trace_id, 32));
	}
	{
		TRACE_OPERATION_SCOPE(op.id, "rpc", "answer");
		TRACE_LOGF("rpc", "of trace %s", t.trace_id);
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	TRACE_OPERATION_END(&op, "rpc", "handle");
	printf("server: trace %s operation %#llx parent %#llx\n", t.trace_id,
	       (unsigned long long)op.id, (unsigned long long)op.parent);
	fflush(stdout);
}

static int server(int fd)
{
	char header[256];
	ssize_t n;

	while ((n = read(fd, header, sizeof(header))) > 0) {
		serve_one(header, n);
		if (write(fd, "done", 4) != 4)
			return 1;
	}
	return n < 0;
}

static int call(int fd, unsigned int number)
{
	char value[ASYNCTRACE_TRACEPARENT_BYTES + 1], answer[4];
	struct at_operation op;
	struct at_traceparent t;
	int err = 0;

	TRACE_OPERATION_BEGIN(&op, "rpc", "call", "number", number);
	{
		TRACE_OPERATION_SCOPE(op.id, "rpc", "wait for the server");
		at_traceparent_new(&t, op.id);
		if (at_traceparent_format(&t, value) ||
		    write(fd, value, ASYNCTRACE_TRACEPARENT_BYTES) !=
		    ASYNCTRACE_TRACEPARENT_BYTES ||
		    read(fd, answer, sizeof(answer)) != sizeof(answer))
			err = 1;
	}
	TRACE_OPERATION_END(&op, "rpc", "call", "ok", !err);
	printf("client: trace %s operation %#llx\n", t.trace_id, (unsigned long long)op.id);
	fflush(stdout);
	return err;
}

/* The server executes the program again, so that it writes its own trace. */
static int start_server(int fd)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", dup(fd));
	execl("/proc/self/exe", "twoproc-server", "serve", number, (char *)NULL);
	return 127;
}

int main(int argc, char **argv)
{
	int fds[2], status, err = 0;
	pid_t pid;

	if (argc == 3 && !strcmp(argv[1], "serve"))
		return server(atoi(argv[2]));
	/* Each packet has one header or one answer. */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return 1;
	pid = fork();
	if (pid < 0)
		return 1;
	if (!pid)
		_exit(start_server(fds[1]));
	close(fds[1]);
	for (unsigned int i = 0; i < 3 && !err; i++)
		err = call(fds[0], i);
	close(fds[0]);
	return waitpid(pid, &status, 0) != pid || status || err;
}
