// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Fuchsia's tutorial "Tracing asynchronously", in C. Lines of the tutorial are unchanged, except
 * for the #include line.
 */
#include <asynctrace/trace.h>

#include <pthread.h>
#include <stdlib.h>

typedef struct {
	int number;
	// add the nonce to your context structure
	trace_async_id_t async_id;
} my_request_context_t;

/* Another thread "picks up" the processing of the request. */
static void *complete(void *request)
{
	my_request_context_t *ctx = request;

	TRACE_DURATION("category", "complete", "number", TA_INT32(ctx->number));
	TRACE_FLOW_STEP("category", "flow", ctx->async_id);

	TRACE_ASYNC_INSTANT("category", "name", ctx->async_id, "state", TA_STRING("phase2"));

	TRACE_ASYNC_END("category", "name", ctx->async_id);

	return NULL;
}

static void serve(my_request_context_t *ctx)
{
	pthread_t thread;

	TRACE_DURATION("category", "serve", "number", TA_INT32(ctx->number));

	// a new request; start asynchronous tracing
	ctx->async_id = TRACE_NONCE();
	TRACE_ASYNC_BEGIN("category", "name", ctx->async_id, "key", TA_STRING("value"));

	TRACE_FLOW_BEGIN("category", "flow", ctx->async_id);
	if (pthread_create(&thread, NULL, complete, ctx))
		exit(1);
	pthread_join(thread, NULL);
	TRACE_FLOW_END("category", "flow", ctx->async_id);
}

int main(void)
{
	my_request_context_t requests[3];

	for (int i = 0; i < 3; i++) {
		TRACE_INSTANT("category", "request arrives", TRACE_SCOPE_PROCESS, "number", TA_INT32(i));
		requests[i].number = i;
		serve(&requests[i]);
	}
	return 0;
}
