// SPDX-License-Identifier: GPL-2.0
/*
 * The macros in C++17: plain values, strings, enums, and a trace of them
 */
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <vector>

#include <asynctrace/inprocess.h>
#include <asynctrace/trace.h>

static int passed, failed;

static void test(bool ok, const char *name)
{
	std::printf("%s - %s\n", ok ? "ok" : "not ok", name);
	(ok ? passed : failed)++;
}

enum class colour : unsigned char { red = 3 };
enum plain { one = 1 };

struct thing {
	void method(const std::string &s)
	{
		TRACE_DURATION("cxx", "method", "this", this, "s", s);
		auto f = [&](int x) { TRACE_INSTANT("cxx", "lambda", TRACE_SCOPE_THREAD, "x", x); };
		f(5);
	}
};

template <typename T> static void templated(T v)
{
	TRACE_INSTANT("cxx", "template", TRACE_SCOPE_THREAD, "v", v);
}

static std::string temporary() { return std::string(200, 't'); }

static int evaluated;

static int count()
{
	return ++evaluated;
}

int main()
{
	std::string s = "string", file;
	const std::string_view view = "a view";
	char chars[] = "chars";
	int x = 0;

	TRACE_INSTANT("cxx", "off", TRACE_SCOPE_THREAD, "x", count());
	test(!evaluated && !TRACE_ENABLED() && !TRACE_CATEGORY_ENABLED("cxx"),
	     "nothing is evaluated while nothing is recorded");

	char path[] = "/tmp/asynctrace-cxx-XXXXXX";
	int fd = mkstemp(path);
	struct at_trace_options o = {};
	o.size = sizeof(o);
	o.categories = "cxx";
	test(fd >= 0 && at_trace_start(fd, &o) == 0, "a trace begins");

	TRACE_INSTANT("cxx", "values", TRACE_SCOPE_THREAD, "bool", true, "char", 'c', "short", short(1),
		      "int", 2, "unsigned", 3u, "long", 4l, "size", sizeof(x), "float", 1.5f, "double",
		      2.5, "literal", "text", "chars", chars, "string", s, "view", view);
	TRACE_INSTANT("cxx", "more", TRACE_SCOPE_THREAD, "class", colour::red, "enum", one, "pointer",
		      &x, "null", nullptr, "TA", TA_INT32(7), "TA_STRING", TA_STRING(s), "TA_STRING2",
		      TA_STRING("c"), "temporary", temporary(), "array", TA_CHAR_ARRAY("abc", 2));
	thing().method(s);
	templated(1);
	templated("t");
	templated(std::string("templated"));
	templated(2.0);
	if (x)
		TRACE_ASYNC_BEGIN("cxx", "no", 1);
	else
		TRACE_ASYNC_BEGIN("cxx", "yes", TRACE_NONCE());
	TRACE_COUNTER("cxx", "counter", 1, "a", 1, "b", 2.0);
	TRACE_ALERT("cxx", "an alert");
	TRACE_COUNTER("cxx", "counter", 1, "enum", one, "class", colour::red, "float", 0.5f, "TA",
		      TA_UINT64(1), "char", 'c');
	{
		TRACE_INSTAFLOW_BEGIN("cxx", "flow", "step", 7, "s", temporary());
		TRACE_INSTAFLOW_END("cxx", "flow", "step", 7);
	}
	TRACE_BLOB(TRACE_BLOB_TYPE_DATA, "blob", s.data(), s.size());
	TRACE_BLOB_EVENT("cxx", "blob", &x, sizeof(x), "s", temporary(), "view", view);
	TRACE_BLOB_ATTACHMENT("cxx", "blob", nullptr, 0);
	TRACE_KERNEL_OBJECT(fd, "s", s);
	TRACE_VTHREAD_DURATION_BEGIN("cxx", "d", s.c_str(), 7, at_ticks(), "s", temporary());
	TRACE_VTHREAD_FLOW_STEP("cxx", "f", "v", 7, 8, at_ticks(), "e", colour::red);
	{
		TRACE_DECLARE_ARGS(nullptr, args, "s", s, "view", view, "x", x);

		TRACE_COMPLETE_ARGS(nullptr, args, TRACE_NUM_ARGS(args));
		ASYNCTRACE_EVENT(ASYNCTRACE_FXT_INSTANT, "cxx", s.c_str(), 0, args,
				 TRACE_NUM_ARGS(args));
	}
	std::vector<std::thread> threads;
	for (int i = 0; i < 4; i++)
		threads.emplace_back([i] {
			for (int k = 0; k < 100; k++)
				TRACE_FLOW_STEP("cxx", "step", at_flow_id(), "i", i, "k", k);
		});
	for (auto &t : threads)
		t.join();
	test(TRACE_ENABLED() && TRACE_CATEGORY_ENABLED("cxx") && !TRACE_CATEGORY_ENABLED("c") &&
	     !TRACE_CATEGORY_ENABLED(""),
	     "cxx_state_functions_answer");

	struct at_trace_result r = {};
	r.size = sizeof(r);
	test(at_trace_stop(&r) == 0 && !TRACE_ENABLED() && !TRACE_CATEGORY_ENABLED("cxx"),
	     "it ends");
	test(r.delivered == 2 + 2 + 4 + 1 + 1 + 400 + 1 + 4 + 4 + 2 + 1 && !r.dropped &&
	     !r.overwritten,
	     "every record is there");

	off_t size = lseek(fd, 0, SEEK_END);
	file.resize(size);
	test(pread(fd, &file[0], size, 0) == size && file.find("a view") != std::string::npos &&
	     file.find("templated") != std::string::npos && file.find(temporary()) != std::string::npos,
	     "and so are the texts");
	close(fd);
	unlink(path);
	std::printf("%d passed, %d failed, 0 skipped\n", passed, failed);
	return failed != 0;
}
