// SPDX-License-Identifier: GPL-2.0
/*
 * Operations in C++17: exceptions, cancellation, strings, lambdas, and a trace of them
 */
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

#include <asynctrace/inprocess.h>
#include <asynctrace/operation.h>

static int passed, failed;

static void test(bool ok, const char *name)
{
	std::printf("%s - %s\n", ok ? "ok" : "not ok", name);
	(ok ? passed : failed)++;
}

struct request {
	at_operation operation = ASYNCTRACE_OPERATION_INIT;
	std::string path = "/index.html";
};

static void throws(const request &r)
{
	TRACE_OPERATION_SCOPE(r.operation.id, "cxx", "throws", "path", r.path);
	TRACE_REGION("cxx", "region", "path", r.path + "?query");
	throw std::runtime_error("thrown");
}

static std::string no_text()
{
	TRACE_REGION("cxx", "inner");
	throw std::runtime_error("no text");
}

template <typename F> static bool is_left_as_it_was(F scope)
{
	const uint64_t current = at_operation_current();
	const uint32_t depth = at_current_.depth;

	try {
		scope();
	} catch (const std::runtime_error &) {
		return at_operation_current() == current && at_current_.depth == depth;
	}
	return false;
}

static bool arguments_throw(uint64_t id)
{
	TRACE_OPERATION_SCOPE(7, "cxx", "around");
	at_entered entered = {};

	return is_left_as_it_was([&] { TRACE_OPERATION_SCOPE(id, "cxx", "unwritten", "k", no_text()); }) &&
	       is_left_as_it_was([&] { TRACE_REGION("cxx", "unwritten", "k", no_text()); }) &&
	       is_left_as_it_was([&] {
		       TRACE_OPERATION_ENTER(&entered, id, "cxx", "unwritten", "k", no_text());
	       }) &&
	       is_left_as_it_was([&] {
		       TRACE_REGION_BEGIN(&entered, "cxx", "unwritten", "k", no_text());
	       });
}

static bool waiting;

static void *waits(void *)
{
	TRACE_OPERATION_SCOPE(4, "cxx", "cancelled");
	__atomic_store_n(&waiting, true, __ATOMIC_RELEASE);
	for (;;)
		poll(nullptr, 0, -1);
}

template <typename T> static uint64_t in_template(T v)
{
	TRACE_OPERATION_SCOPE(v, "cxx", "template");
	return at_operation_current();
}

int main()
{
	const int fd = memfd_create("trace", MFD_CLOEXEC);
	at_trace_result result = {};
	bool caught = false;
	pthread_t th;
	request r;

	test(!r.operation.id && !at_operation_current(), "operation_current_is_0_at_first");
	if (at_trace_start(fd, nullptr)) {
		std::printf("cannot start\n");
		return 1;
	}
	TRACE_OPERATION_BEGIN(&r.operation, "cxx", "request", "path", r.path);
	try {
		throws(r);
	} catch (const std::runtime_error &e) {
		caught = true;
		TRACE_LOG("cxx", std::string("caught ") + e.what());
		TRACE_LOGF("cxx", "caught %s", e.what());
	}
	test(caught && !at_operation_current() && !at_current_.depth,
	     "G42_exception_ends_scopes");
	test(arguments_throw(r.operation.id) && !at_operation_current() && !at_current_.depth,
	     "exception_in_an_argument_leaves_no_scope");
	pthread_create(&th, nullptr, waits, nullptr);
	while (!__atomic_load_n(&waiting, __ATOMIC_ACQUIRE))
		usleep(100);
	pthread_cancel(th);
	pthread_join(th, nullptr);
	auto lambda = [&] {
		TRACE_OPERATION_SCOPE(r.operation.id, "cxx", "lambda");
		return at_operation_current();
	};
	test(lambda() == r.operation.id, "lambda_enters_the_operation");
	test(in_template<uint64_t>(3) == 3 && in_template<uint32_t>(2) == 2, "template_enters_an_operation");
	TRACE_OPERATION_END(&r.operation, "cxx", "request", "ok", true);
	result.size = sizeof(result);
	at_trace_stop(&result);
	/*
	 * begin, 2 scopes, 2 logs, the scope around arguments that throw, the 4 regions in these
	 * arguments, the cancelled scope, the lambda's, 2 of the template, end
	 */
	test(result.delivered == 1 + 4 + 2 + 2 + 8 + 2 + 2 + 4 + 1 && !result.dropped,
	     "G42_cancelled_scope_has_an_end");
	std::printf("%d passed, %d failed, 0 skipped\n", passed, failed);
	return failed || !passed;
}
