// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Fuchsia's tutorial "Tracing asynchronously", in C++. Lines of the tutorial are unchanged,
 * except for the #include line.
 */
#include <asynctrace/trace.h>

#include <memory>
#include <thread>

typedef struct {
	int number;
	// add the nonce to your context structure
	trace_async_id_t async_id;
} my_request_context_t;

/* Another thread "picks up" the processing of the request. */
static void complete(my_request_context_t *ctx)
{
	TRACE_DURATION("category", "complete", "number", ctx->number);
	TRACE_FLOW_STEP("category", "flow", ctx->async_id);

	TRACE_ASYNC_INSTANT("category", "name", ctx->async_id, "state", TA_STRING("phase2"));

	TRACE_ASYNC_END("category", "name", ctx->async_id);
}

static void serve(my_request_context_t *ctx)
{
	TRACE_DURATION("category", "serve", "number", ctx->number);

	// a new request; start asynchronous tracing
	ctx->async_id = TRACE_NONCE();
	TRACE_ASYNC_BEGIN("category", "name", ctx->async_id, "key", TA_STRING("value"));

	TRACE_FLOW_BEGIN("category", "flow", ctx->async_id);
	std::thread(complete, ctx).join();
	TRACE_FLOW_END("category", "flow", ctx->async_id);
}

int main()
{
	for (int i = 0; i < 3; i++) {
		TRACE_INSTANT("category", "request arrives", TRACE_SCOPE_PROCESS, "number", i);
		auto ctx = std::make_unique<my_request_context_t>();
		ctx->number = i;
		serve(ctx.get());
	}
}
