// SPDX-License-Identifier: LGPL-2.1-or-later
/* A request that begins on one thread and ends on another. */
#include <pthread.h>
#include <unistd.h>
#include <asynctrace/trace.h>

static void *worker(void *request)
{
	uint64_t id = *(uint64_t *)request;

	TRACE_DURATION("hello", "work");
	TRACE_FLOW_END("hello", "handed over", id);
	usleep(2000);
	TRACE_ASYNC_END("hello", "request", id, "status", 200);
	return NULL;
}

int main(void)
{
	uint64_t id = at_flow_id();
	pthread_t thread;

	TRACE_DURATION("hello", "main");
	TRACE_ASYNC_BEGIN("hello", "request", id, "path", "/index.html");
	TRACE_FLOW_BEGIN("hello", "handed over", id);
	if (pthread_create(&thread, NULL, worker, &id))
		return 1;
	return pthread_join(thread, NULL);
}
