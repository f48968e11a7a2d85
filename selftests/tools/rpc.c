// SPDX-License-Identifier: GPL-2.0
/*
 * rpc CALLS: a client and a server. A flow begins in the client, has a step in the server and ends
 * in the client. The server's operation is a child of the client's. Prints the ids of the client's
 * operations.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asynctrace/operation.h>

static int serve(int fd)
{
	struct at_operation op;
	uint64_t call;

	while (read(fd, &call, sizeof(call)) == sizeof(call)) {
		TRACE_OPERATION_BEGIN_CHILD(&op, call, "rpc", "handle");
		{
			TRACE_OPERATION_SCOPE(op.id, "rpc", "answer");
			TRACE_FLOW_STEP("rpc", "message", call);
		}
		TRACE_OPERATION_END(&op, "rpc", "handle");
		if (write(fd, "", 1) != 1)
			return 1;
	}
	return 0;
}

static int call(int fd)
{
	struct at_operation op;
	int err = 0;
	char answer;

	TRACE_OPERATION_BEGIN(&op, "rpc", "call");
	{
		TRACE_OPERATION_SCOPE(op.id, "rpc", "send");
		TRACE_FLOW_BEGIN("rpc", "message", op.id);
		err |= write(fd, &op.id, sizeof(op.id)) != sizeof(op.id);
	}
	err |= read(fd, &answer, 1) != 1;
	{
		TRACE_OPERATION_SCOPE(op.id, "rpc", "receive");
		TRACE_FLOW_END("rpc", "message", op.id);
	}
	TRACE_OPERATION_END(&op, "rpc", "call");
	printf("%#llx\n", (unsigned long long)op.id);
	return err;
}

int main(int argc, char **argv)
{
	int fds[2], status, err = 0;
	pid_t pid;

	if (argc != 2 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return 2;
	pid = fork();
	if (pid < 0)
		return 2;
	if (!pid) {
		close(fds[0]);
		return serve(fds[1]);
	}
	close(fds[1]);
	for (int i = 0; i < atoi(argv[1]) && !err; i++)
		err = call(fds[0]);
	close(fds[0]);
	return waitpid(pid, &status, 0) != pid || status || err;
}
