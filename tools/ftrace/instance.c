// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The ftrace instance: its clock, its buffers, which events of which tasks it records
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/asynctrace.h>

#include "ftrace/priv.h"
#include "tool.h"

#define NAME_PREFIX	"asynctrace-"

/* Inode of the initial pid namespace: PROC_PID_INIT_INO of the kernel */
#define INITIAL_PID_NS	0xEFFFFFFCU

/* Walks over the threads of a process until one finds no new thread, at most so often. */
#define WALKS_MAX	16

static int fail(const char *what)
{
	int err = errno ? -errno : -EIO;

	tool_error("cannot use ftrace: %s: %s%s", what, strerror(-err),
		   err == -EACCES || err == -EPERM ? "; tracepoints are for root" : "");
	return err;
}

static bool is_initial_pid_ns(void)
{
	struct stat st;

	return !stat("/proc/self/ns/pid", &st) && st.st_ino == INITIAL_PID_NS;
}

/* Removes instances of recorders that were killed. */
static void remove_stale(void)
{
	char **names = tracefs_instances(NULL);

	for (char **n = names; n && *n; n++) {
		struct tracefs_instance *old;
		pid_t pid = 0;

		if (!strncmp(*n, NAME_PREFIX, strlen(NAME_PREFIX)))
			pid = atoi(*n + strlen(NAME_PREFIX));
		if (pid <= 0 || !kill(pid, 0) || errno != ESRCH)
			continue;
		old = tracefs_instance_create(*n);
		if (old)
			tracefs_instance_destroy(old);
		tracefs_instance_free(old);
	}
	tracefs_list_free(names);
}

/* The one rule for patterns: a name, or a prefix and a final '*' */
static bool matches(const char *pattern, size_t len, const char *name)
{
	if (len && pattern[len - 1] == '*')
		return !strncmp(pattern, name, len - 1);
	return strlen(name) == len && !memcmp(pattern, name, len);
}

/* Returns how many events of @system were enabled, or a negative errno after a message. */
static int enable_system(struct ftrace *f, const char *system, const char *pattern, size_t len)
{
	char **names = tracefs_system_events(NULL, system);
	int n = 0;

	for (char **name = names; name && *name && n >= 0; name++) {
		/* A tracer writes these itself; they have nothing to enable. */
		if (!matches(pattern, len, *name) ||
		    !tracefs_event_file_exists(f->instance, system, *name, "enable"))
			continue;
		if (tracefs_event_file_write(f->instance, system, *name, "enable", "1") < 0) {
			tool_error("cannot enable the tracepoint %s:%s: %s", system, *name,
				   strerror(errno));
			n = -EIO;
		} else {
			n++;
		}
	}
	tracefs_list_free(names);
	return n;
}

static void no_such_event(const char *text, size_t len)
{
	tool_error("no tracepoint is called %.*s: /sys/kernel/tracing/available_events lists them; one of a module is there while the module is loaded",
		   (int)len, text);
}

static int enable_event(struct ftrace *f, char **systems, const char *text, size_t len)
{
	const char *colon = memchr(text, ':', len);
	size_t system = colon ? (size_t)(colon - text) : len;
	int n = 0, one = 0;

	for (char **s = systems; s && *s && one >= 0; s++) {
		if (!matches(text, system, *s))
			continue;
		one = colon ? enable_system(f, *s, colon + 1, len - system - 1) :
			      enable_system(f, *s, "*", 1);
		n += one;
	}
	if (one < 0)
		return one;
	if (n)
		return 0;
	no_such_event(text, len);
	return -ENOENT;
}

/* Returns true if an event of @systems has the name or the pattern @text. */
static bool exists(char **systems, const char *text, size_t len)
{
	const char *colon = memchr(text, ':', len);
	const size_t system = colon ? (size_t)(colon - text) : len;
	bool found = false;

	for (char **s = systems; *s && !found; s++) {
		char **names;

		if (!matches(text, system, *s))
			continue;
		names = tracefs_system_events(NULL, *s);
		for (char **name = names; name && *name && !found; name++)
			found = !colon || matches(colon + 1, len - system - 1, *name);
		tracefs_list_free(names);
	}
	return found;
}

bool ftrace_lists_exist(const struct ftrace_lists *l)
{
	bool found = true;
	char **systems;

	/* libtracefs would mount a tracefs that is missing. */
	if (access("/sys/kernel/tracing/events", R_OK | X_OK))
		return true;
	systems = tracefs_event_systems(NULL);
	for (size_t i = 0; i < l->nr && systems && found; i++) {
		for (const char *p = l->events[i]; *p && found;) {
			const size_t len = strcspn(p, ",");

			found = exists(systems, p, len);
			if (!found)
				no_such_event(p, len);
			p += len + (p[len] == ',');
		}
	}
	tracefs_list_free(systems);
	return found;
}

static int enable_events(struct ftrace *f, const struct ftrace_lists *l)
{
	char **systems = tracefs_event_systems(NULL);
	int err = systems ? 0 : fail("its events cannot be listed");

	for (size_t i = 0; i < l->nr && !err; i++) {
		for (const char *p = l->events[i]; *p && !err;) {
			size_t len = strcspn(p, ",");

			err = enable_event(f, systems, p, len);
			p += len + (p[len] == ',');
		}
	}
	tracefs_list_free(systems);
	return err;
}

static int set_option(struct ftrace *f, enum tracefs_option_id id, bool on)
{
	return on ? tracefs_option_enable(f->instance, id) :
		    tracefs_option_disable(f->instance, id);
}

/*
 * Until a process is watched, no task may be recorded; but an empty list means all tasks.
 * So the list begins with the highest possible id, which is given out last.
 */
static int watch_nobody(struct ftrace *f)
{
	FILE *file = fopen("/proc/sys/kernel/pid_max", "re");
	char text[32];
	int max = 0;

	if (!file || fscanf(file, "%d", &max) != 1)
		max = 32768;
	if (file)
		fclose(file);
	snprintf(text, sizeof(text), "%d", max - 1);
	return tracefs_instance_file_write(f->instance, "set_event_pid", text) < 0 ? -1 : 0;
}

static int set_up(struct ftrace *f, const struct ftrace_options *o)
{
	const char *clock = "boot";

#ifdef __x86_64__
	if (o->clock == ASYNCTRACE_CLOCK_COUNTER)
		clock = "x86-tsc";
#endif
	f->clock = strcmp(clock, "boot") ? ASYNCTRACE_CLOCK_COUNTER : ASYNCTRACE_CLOCK_BOOTTIME;
	if (tracefs_trace_off(f->instance))
		return fail("an instance cannot be stopped");
	if (tracefs_instance_file_write(f->instance, "trace_clock", clock) < 0)
		return fail("its clock cannot be set");
	if (tracefs_instance_set_buffer_size(f->instance, o->buffer / 1024, -1))
		return fail("its buffers cannot be made so large");
	if (set_option(f, TRACEFS_OPTION_OVERWRITE, o->keep_last))
		return fail("its option overwrite cannot be set");
	if (o->all)
		return 0;
	if (set_option(f, TRACEFS_OPTION_EVENT_FORK, true))
		return fail("its option event-fork cannot be set");
	return watch_nobody(f) ? fail("set_event_pid cannot be set") : 0;
}

static int make(struct ftrace *f, const struct ftrace_lists *l, const struct ftrace_options *o)
{
	char name[48];
	int err;

	if (!is_initial_pid_ns()) {
		tool_error("tracepoints can be recorded in the initial pid namespace only: ftrace has the ids of that one");
		return -EOPNOTSUPP;
	}
	if (!tracefs_tracing_dir())
		return fail("tracefs is not there, or not for you");
	remove_stale();
	snprintf(name, sizeof(name), NAME_PREFIX "%d", (int)getpid());
	f->instance = tracefs_instance_create(name);
	if (!f->instance)
		return fail("an instance cannot be made");
	err = set_up(f, o);
	if (!err)
		err = enable_events(f, l);
	if (err)
		return err;
	f->tep = tracefs_local_events(NULL);
	if (!f->tep)
		return fail("the events' formats cannot be read");
	f->nr_cpus = sysconf(_SC_NPROCESSORS_CONF);
	f->cpus = calloc(f->nr_cpus, sizeof(*f->cpus));
	if (f->cpus)
		return 0;
	tool_error("%s", strerror(ENOMEM));
	return -ENOMEM;
}

int ftrace_open(struct ftrace **f, const struct ftrace_lists *l, const struct ftrace_options *o)
{
	int err;

	*f = calloc(1, sizeof(**f));
	if (!*f) {
		tool_error("%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	/* Failures of the library are reported here, with the remedy. */
	tracefs_set_loglevel(TEP_LOG_NONE);
	err = make(*f, l, o);
	if (err) {
		ftrace_close(*f);
		*f = NULL;
	}
	return err;
}

void ftrace_close(struct ftrace *f)
{
	if (!f)
		return;
	if (f->instance) {
		tracefs_trace_off(f->instance);
		tracefs_instance_destroy(f->instance);
		tracefs_instance_free(f->instance);
	}
	tep_free(f->tep);
	ftrace_tasks_free(f);
	free(f->cpus);
	free(f->queue);
	free(f);
}

/* Adds the threads that /proc lists. Returns how many it lists. */
static unsigned int watch_threads(struct ftrace *f, const char *path)
{
	DIR *dir = opendir(path);
	unsigned int n = 0;

	if (!dir)
		return 0;
	for (struct dirent *d; (d = readdir(dir));) {
		if (d->d_name[0] == '.')
			continue;
		tracefs_instance_file_append(f->instance, "set_event_pid", d->d_name);
		n++;
	}
	closedir(dir);
	return n;
}

int ftrace_watch(struct ftrace *f, pid_t pid)
{
	unsigned int before = 0, n;
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	/* A thread that is not yet watched may create another one behind the walk's back. */
	for (int i = 0; i < WALKS_MAX; i++) {
		n = watch_threads(f, path);
		if (n <= before)
			break;
		before = n;
	}
	return 0;
}

int ftrace_start(struct ftrace *f)
{
	return tracefs_trace_on(f->instance) ? fail("the instance cannot be started") : 0;
}

int ftrace_stop(struct ftrace *f)
{
	return tracefs_trace_off(f->instance) ? fail("the instance cannot be stopped") : 0;
}
