// SPDX-License-Identifier: GPL-2.0
/*
 * A program to record: it blocks in read(2), for an operation, until its standard input ends
 *
 * usage: blocks
 */
#include <unistd.h>

#include <asynctrace/operation.h>

int main(void)
{
	struct at_operation operation = ASYNCTRACE_OPERATION_INIT;
	ssize_t got;
	char byte;

	TRACE_OPERATION_BEGIN(&operation, "http", "upload");
	{
		TRACE_OPERATION_SCOPE(operation.id, "http", "receive");
		got = read(STDIN_FILENO, &byte, 1);
	}
	TRACE_OPERATION_END(&operation, "http", "upload");
	return got ? 1 : 0;
}
