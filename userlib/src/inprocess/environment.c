// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * ASYNCTRACE_OUT and the other variables: checks them, starts the trace that they ask for, and at
 * exit stops it and reports losses. All variables are checked before a file is opened, and a
 * message names the wrong one.
 *
 * With %p in the name, forked children get traces with the same settings. The settings are kept,
 * because the program may change or overwrite its environment, and its directory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "writer/child_trace.h"
#include "writer/internal.h"
#include "inproc.h"

static struct settings {
	struct at_trace_options options;
	const char *out;
	char name[PATH_MAX];	/* @directory and @out, expanded */
	bool has_pid;		/* @out has %p */
	char directory[PATH_MAX]; /* ends in a slash; empty if @out needs none */
} settings;

static bool get_mode(struct settings *set)
{
	static const char *const names[] = {
		[ASYNCTRACE_MODE_ONESHOT] = "oneshot",
		[ASYNCTRACE_MODE_CIRCULAR] = "circular",
		[ASYNCTRACE_MODE_STREAMING] = "streaming",
	};
	const char *s = secure_getenv("ASYNCTRACE_MODE");

	if (!s || !*s)
		return true;
	for (uint32_t i = ASYNCTRACE_MODE_ONESHOT; i <= ASYNCTRACE_MODE_STREAMING; i++) {
		if (!strcmp(s, names[i])) {
			set->options.mode = i;
			return true;
		}
	}
	at_warn("ASYNCTRACE_MODE=%s: must be oneshot, circular or streaming; not tracing", s);
	return false;
}

static bool parse_size(const char *s, uint64_t *size)
{
	char *end;
	unsigned int shift = 0;
	unsigned long long n = strtoull(s, &end, 10);

	switch (*end) {
	case 'G':
	case 'g':
		shift += 10;
		/* fall through */
	case 'M':
	case 'm':
		shift += 10;
		/* fall through */
	case 'K':
	case 'k':
		shift += 10;
		end++;
	}
	*size = n << shift;
	return *s >= '0' && *s <= '9' && !*end && n <= ASYNCTRACE_RING_MAX >> shift &&
	       *size >= ASYNCTRACE_RING_MIN;
}

static bool get_size(struct settings *set)
{
	const char *s = secure_getenv("ASYNCTRACE_BUFFER_SIZE");

	if (!s || !*s || parse_size(s, &set->options.ring_size))
		return true;
	at_warn("ASYNCTRACE_BUFFER_SIZE=%s: must be %lluK to %lluG; not tracing", s,
	       (unsigned long long)ASYNCTRACE_RING_MIN >> 10,
	       (unsigned long long)ASYNCTRACE_RING_MAX >> 30);
	return false;
}

static bool get_categories(struct settings *set)
{
	const char *s = secure_getenv("ASYNCTRACE_CATEGORIES"), *wrong;
	size_t n;

	set->options.categories = s;
	switch (at_categories_check(s, &wrong, &n)) {
	case 0:
		return true;
	case -E2BIG:
		at_warn("ASYNCTRACE_CATEGORIES: has %zu patterns, must have at most %d; not tracing",
		       n, ASYNCTRACE_CATEGORIES_MAX);
		return false;
	case -ENAMETOOLONG:
		at_warn("ASYNCTRACE_CATEGORIES: a pattern must have at most %d bytes, has %zu: %.*s; not tracing",
		       ASYNCTRACE_CATEGORY_MAX, n, (int)n, wrong);
		return false;
	case -EILSEQ:
		at_warn("ASYNCTRACE_CATEGORIES: '*' must be last in a pattern: %.*s; not tracing",
			(int)n, wrong);
		return false;
	default:
		at_warn("ASYNCTRACE_CATEGORIES=%s: a category must follow each '-'; not tracing", s);
		return false;
	}
}

static bool get_provider(struct settings *set)
{
	const char *s = secure_getenv("ASYNCTRACE_NAME");

	if (!s || !*s || strlen(s) <= ASYNCTRACE_NAME_MAX)
		return true;
	(void)set;
	at_warn("ASYNCTRACE_NAME=%s: must have at most %d bytes, has %zu; not tracing", s,
	       ASYNCTRACE_NAME_MAX, strlen(s));
	return false;
}

/* The library has no compressor, so its files must not have names of compressed files. */
static bool is_plain(const char *out)
{
	static const char *const packed[] = { ".zst", ".gz" };
	const size_t bytes = strlen(out);

	for (size_t i = 0; i < sizeof(packed) / sizeof(packed[0]); i++) {
		const size_t n = strlen(packed[i]);

		if (bytes < n || strcmp(out + bytes - n, packed[i]))
			continue;
		at_warn("ASYNCTRACE_OUT=%s: the library does not compress: use %.*s, and compress it afterwards; not tracing",
			out, (int)(bytes - n), out);
		return false;
	}
	return true;
}

static bool get_name(struct settings *set)
{
	const size_t n = strlen(set->directory);
	struct at_output_name what;

	memcpy(set->name, set->directory, n);
	switch (at_output_expand(set->out, set->name + n, sizeof(set->name) - n, &what)) {
	case 0:
		set->has_pid = what.has_pid;
		return true;
	case -ENAMETOOLONG:
		at_warn("ASYNCTRACE_OUT: must have fewer than %zu bytes, has %zu; not tracing",
		       sizeof(set->name) - n, strlen(set->out));
		return false;
	default:
		if (what.wrong)
			at_warn("ASYNCTRACE_OUT=%s: %%%c is unknown: %%p is the process ID, %%%% a percent sign; not tracing",
			       set->out, what.wrong);
		else
			at_warn("ASYNCTRACE_OUT=%s: ends in a single %%: %%p is the process ID, %%%% a percent sign; not tracing",
			       set->out);
		return false;
	}
}

static void explain_failure(const struct settings *set, const struct at_output *out, int err,
		    enum at_start_step step)
{
	const uint64_t ring = at_ring_size(&set->options);

	switch (step) {
	case AT_START_OPTIONS:
		at_warn("ASYNCTRACE_OUT=%s: process %d has started a trace or the flight recorder itself; not tracing",
			set->out, getpid());
		break;
	case AT_START_OUTPUT:
		if (err == -EBUSY && out->owner)
			at_warn("ASYNCTRACE_OUT=%s: process %d writes its trace there; not tracing process %d",
			       set->out, out->owner, getpid());
		else if (err == -EBUSY)
			at_warn("ASYNCTRACE_OUT=%s: another process writes its trace there; not tracing process %d",
			       set->out, getpid());
		else if (strcmp(out->name, set->name))
			at_warn("ASYNCTRACE_OUT=%s: exists, and %s: %s; not tracing", set->out,
			       out->name, strerror(-err));
		else
			at_warn("ASYNCTRACE_OUT=%s: %s; not tracing", set->out, strerror(-err));
		break;
	case AT_START_THREAD:
		at_warn("cannot start the thread that writes the trace: %s; not tracing",
		       strerror(-err));
		break;
	default:
		at_warn("no memory for rings of %llu KiB for each CPU and for the thread that writes the trace: %s; use a smaller ASYNCTRACE_BUFFER_SIZE than %lluK; not tracing",
		       (unsigned long long)ring >> 10, strerror(-err),
		       (unsigned long long)ring >> 10);
	}
}

/* Starts a trace into the file @set->name, and says so. */
static bool start(const struct settings *set, bool caller_drains)
{
	const struct at_target to = {
		.fd = -1, .name = set->name, .has_pid = set->has_pid,
		.caller_drains = caller_drains,
	};
	const struct at_output *out;
	enum at_start_step step;
	int err;

	err = at_trace_start_file(&to, &set->options, &out, &step);
	if (err)
		explain_failure(set, out, err, step);
	else if (strcmp(out->name, set->name))
		at_warn("%s exists: process %d writes its trace to %s", set->name, getpid(),
		       out->name);
	else if (set->has_pid)
		at_warn("process %d writes its trace to %s", getpid(), out->name);
	return !err;
}

/* --- forked children ------------------------------------------------------ */

static bool start_in_child(bool beside)
{
	if (beside)
		at_module_join();
	return get_name(&settings) && start(&settings, true);
}

static void explain_no_thread(int err)
{
	explain_failure(&settings, NULL, -err, AT_START_THREAD);
}

/* In a program with the thread sanitizer, this function exists. */
extern void __tsan_init(void) __attribute__((weak));

/*
 * Keeps the settings for forked children. Without memory for that, they are not traced. The thread
 * sanitizer does not support a child that creates a thread, and ends it.
 */
static void prepare_for_children(struct settings *set)
{
	static const struct at_child_starter starter = {
		.start = start_in_child, .drain = at_trace_drain, .no_thread = explain_no_thread,
	};
	const char *categories = set->options.categories;

	if (__tsan_init)
		return;
	if (*set->out != '/' && getcwd(set->directory, sizeof(set->directory) - 1))
		strcat(set->directory, "/");
	set->out = strdup(set->out);
	set->options.name = strndup(at_default_name(), ASYNCTRACE_NAME_MAX);
	set->options.categories = strdup(categories ?: "");
	if (set->out && set->options.name && set->options.categories)
		at_child_trace_prepare(&starter);
}

/* --- start and end -------------------------------------------------------- */

void at_trace_from_environment(void)
{
	struct settings *set = &settings;

	set->out = secure_getenv("ASYNCTRACE_OUT");
	if (!set->out || !*set->out)
		return;
	set->options.size = sizeof(set->options);
	if (!get_mode(set) || !get_size(set) || !get_categories(set) || !get_provider(set) ||
	    !is_plain(set->out) || !get_name(set))
		return;
	/* A session of the module that would record the process records it beside the trace. */
	at_module_join();
	if (start(set, false) && set->has_pid)
		prepare_for_children(set);
}

static __attribute__((destructor)) void stop_at_exit(void)
{
	struct at_trace_result res = { .size = sizeof(res) };
	const struct at_output *out;
	uint64_t full, read;
	uint32_t collided;
	int err;

	if (at_child_trace_end() < 0) {
		at_warn("ASYNCTRACE_OUT=%s: process %d could not start its trace in time; its records are lost",
			settings.out, getpid());
		return;
	}
	err = at_trace_stop_file(&res, &out, &collided);
	if (err == -ESRCH)
		return;
	read = res.delivered + res.malformed + res.unwritten;
	if (err == -EBADF)
		at_warn("%s: the program closed the descriptor of its trace; %llu of %llu records are not in the file",
		       out->name, (unsigned long long)res.unwritten,
		       (unsigned long long)read);
	else if (err)
		at_warn("%s: writing the trace: %s; %llu of %llu records are not in it", out->name,
		       strerror(-err), (unsigned long long)res.unwritten,
		       (unsigned long long)read);
	if (res.malformed)
		at_warn("%llu records are malformed and not in the trace, for example because of a time in the future: see at_trace_start(3)",
		       (unsigned long long)res.malformed);
	full = res.dropped - collided;
	if (full || res.overwritten)
		at_warn("%llu records dropped, %llu overwritten; a larger ASYNCTRACE_BUFFER_SIZE helps",
		       (unsigned long long)full, (unsigned long long)res.overwritten);
	if (collided)
		at_warn("%u records dropped: two threads wrote at once, and without rseq or a trusted TSC all of them share one ring",
		       collided);
}
