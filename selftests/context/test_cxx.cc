// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of contexts, listeners and local storage in C++17: scopes that an exception leaves, and
 * types of contexts
 */
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

#include <asynctrace/listener.h>
#include <asynctrace/local.h>

static int passed, failed;

static void result(bool ok, const char *name)
{
	(ok ? passed : failed)++;
	std::printf("%sok %d - %s\n", ok ? "" : "not ", passed + failed, name);
}

TRACE_CONTEXT_TYPE(job_type, ASYNCTRACE_ASYNC_USER, "Job");

class job {
public:
	job() { at_context_init_type(&context, &job_type, this, nullptr); }
	~job() { at_context_destroy(&context); }
	job(const job &) = delete;
	job &operator=(const job &) = delete;

	void run(bool fails)
	{
		TRACE_CONTEXT_SCOPE(&context);

		entered = at_context_current() == &context;
		if (fails)
			throw std::runtime_error("failed");
	}

	at_context context;
	bool entered = false;
};

static std::string told;

static void *on_create(void *data, const char *type, void *object)
{
	told += std::string("c:") + type + (object ? " " : "? ");
	return data;
}

static void on_before(void *, void *value)
{
	told += std::string("b:") + static_cast<const char *>(value) + " ";
}

static void on_after(void *, void *) { told += "a "; }
static bool on_error(void *, void *, const at_error *, bool) { return true; }
static void on_destroy(void *, void *) { told += "d"; }

static void with_listener()
{
	const at_listener_options o = { sizeof(o), 0, on_create, on_before, on_after, on_error,
					on_destroy };
	char name[] = "name";
	at_listener *l = nullptr;

	if (at_listener_new(&l, &o, name, ASYNCTRACE_ASYNC_ALL))
		return;
	at_listener_add(l);
	{
		job j;

		at_listener_remove(l);
		at_listener_put(l);
		try {
			j.run(true);
		} catch (const std::runtime_error &) {
			told += "caught ";
		}
		result(j.entered && !at_context_current() && !at_operation_current(),
		       "G42_exception_leaves_a_context");
	}
	/* The program has handled the exception itself, so the library calls after(). */
	result(told == "c:Job b:name a caught d", "N51_exception_ends_a_run_with_after");
}

static int make(void *to)
{
	*static_cast<job **>(to) = new job;
	return 0;
}

static void with_storage()
{
	at_local *local = nullptr;
	job *j = nullptr;
	char value[] = "value";
	const void *seen;

	if (at_local_new(&local, nullptr))
		return;
	at_local_run(local, value, make, &j);
	{
		TRACE_CONTEXT_SCOPE(&j->context);
		seen = at_local_get(local);
	}
	result(seen == value && !at_local_get(local), "H9_storage_follows_contexts_in_cxx");
	delete j;
	at_local_put(local);
}

int main()
{
	with_listener();
	with_storage();
	result(at_context_misuses() == 0, "H5_exceptions_keep_runs_balanced");
	std::printf("%d passed, %d failed, 0 skipped\n", passed, failed);
	return failed || !passed;
}
