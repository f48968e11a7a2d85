// SPDX-License-Identifier: GPL-2.0-or-later
/* Makes ftrace instances, and chooses their clock, their buffers and their events */
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

/*
 * Removes instances of recorders that were killed. One of them may have had the id of this process,
 * which has no instance yet.
 */
static void remove_stale(void)
{
	char **names = tracefs_instances(NULL);

	for (char **n = names; n && *n; n++) {
		struct tracefs_instance *old;
		pid_t pid = 0;

		if (!strncmp(*n, NAME_PREFIX, strlen(NAME_PREFIX)))
			pid = atoi(*n + strlen(NAME_PREFIX));
		if (pid <= 0 || (pid != getpid() && (!kill(pid, 0) || errno != ESRCH)))
			continue;
		old = tracefs_instance_create(*n);
		if (old)
			tracefs_instance_destroy(old);
		tracefs_instance_free(old);
	}
	tracefs_list_free(names);
}

/* Does the name match the pattern: a name, or a prefix and a final '*'? */
static bool matches(const char *pattern, size_t len, const char *name)
{
	if (len && pattern[len - 1] == '*')
		return !strncmp(pattern, name, len - 1);
	return strlen(name) == len && !memcmp(pattern, name, len);
}

/* Counts what an element of a list has found */
struct found {
	unsigned int events;
	unsigned int joins;	/* events with a field that has ids of operations */
};

static int enable_in(struct ftrace *f, enum ftrace_which which, const char *system,
		     const char *event)
{
	if (tracefs_event_file_write(f->of[which].tracefs, system, event, "enable", "1") >= 0)
		return 0;
	tool_error("cannot enable the tracepoint %s:%s: %s", system, event, strerror(errno));
	return -EIO;
}

static int open_instance(struct ftrace *f, enum ftrace_which which);

static int enable_one(struct ftrace *f, const char *system, const char *event,
		      const struct ftrace_element *e, struct found *found)
{
	int err = enable_in(f, FTRACE_WATCHED, system, event), joins;

	if (err)
		return err;
	found->events++;
	joins = ftrace_join_event(f, system, event, e);
	if (joins <= 0)
		return joins;
	found->joins++;
	/*
	 * An instance that records all threads already has these events, so no second one is
	 * needed.
	 */
	if (f->options.all)
		return 0;
	err = f->of[FTRACE_JOINED].tracefs ? 0 : open_instance(f, FTRACE_JOINED);
	return err ? err : enable_in(f, FTRACE_JOINED, system, event);
}

static int enable_system(struct ftrace *f, const char *system, const struct ftrace_element *e,
			 struct found *found)
{
	char **names = tracefs_system_events(NULL, system);
	int err = 0;

	for (char **name = names; name && *name && !err; name++) {
		/* Skip events that a tracer writes itself: they have no file to enable them. */
		if (matches(e->event, e->event_len, *name) &&
		    tracefs_event_file_exists(f->of[FTRACE_WATCHED].tracefs, system, *name,
					      "enable"))
			err = enable_one(f, system, *name, e, found);
	}
	tracefs_list_free(names);
	return err;
}

static void no_such_event(const struct ftrace_element *e)
{
	const size_t len = strcspn(e->text, ",/");

	tool_error("no tracepoint is called %.*s: /sys/kernel/tracing/available_events lists them; one of a module is there while the module is loaded",
		   (int)len, e->text);
}

static void no_such_set(const char *set)
{
	tool_error("this kernel has no tracepoint of the set %s", set);
}

static void no_such_field(const struct ftrace_element *e)
{
	tool_error("no tracepoint %.*s:%.*s has a field %.*s: the file format of the tracepoint in /sys/kernel/tracing/events lists them",
		   (int)e->system_len, e->system, (int)e->event_len, e->event, (int)e->field_len,
		   e->field);
}

static int enable_element(struct ftrace *f, char **systems, const struct ftrace_element *e,
			  struct found *found)
{
	int err = 0;

	*found = (struct found){ 0 };
	for (char **s = systems; s && *s && !err; s++) {
		if (matches(e->system, e->system_len, *s))
			err = enable_system(f, *s, e, found);
	}
	if (err)
		return err;
	if (found->events && e->field_len && !found->joins) {
		no_such_field(e);
		return -ENOENT;
	}
	return 0;
}

/* Enables the events of list @i. Of a set, only one element needs to have events. */
static int enable_list(struct ftrace *f, char **systems, const struct ftrace_lists *l, size_t i)
{
	struct ftrace_element e;
	bool any = false;
	int err = 0;

	for (const char *p = l->events[i]; *p && !err; p = ftrace_next(&e)) {
		struct found found;

		ftrace_element(&e, p);
		err = enable_element(f, systems, &e, &found);
		any |= found.events;
		if (!err && !found.events && !l->sets[i]) {
			no_such_event(&e);
			err = -ENOENT;
		}
	}
	if (!err && !any) {
		no_such_set(l->sets[i]);
		err = -ENOENT;
	}
	return err;
}

/* Returns true if an event of @systems has the name or the pattern of @e. */
static bool exists(char **systems, const struct ftrace_element *e)
{
	bool found = false;

	for (char **s = systems; *s && !found; s++) {
		char **names;

		if (!matches(e->system, e->system_len, *s))
			continue;
		names = tracefs_system_events(NULL, *s);
		for (char **name = names; name && *name && !found; name++)
			found = matches(e->event, e->event_len, *name);
		tracefs_list_free(names);
	}
	return found;
}

/* As enable_list(), but only checks the names. Returns false after a message. */
static bool list_exists(char **systems, const struct ftrace_lists *l, size_t i)
{
	struct ftrace_element e;
	bool any = false;

	for (const char *p = l->events[i]; *p; p = ftrace_next(&e)) {
		ftrace_element(&e, p);
		if (exists(systems, &e)) {
			any = true;
		} else if (!l->sets[i]) {
			no_such_event(&e);
			return false;
		}
	}
	if (!any)
		no_such_set(l->sets[i]);
	return any;
}

bool ftrace_lists_exist(const struct ftrace_lists *l)
{
	bool found = true;
	char **systems;

	/* Check this before libtracefs is called, because it would mount a missing tracefs. */
	if (access("/sys/kernel/tracing/events", R_OK | X_OK))
		return true;
	systems = tracefs_event_systems(NULL);
	for (size_t i = 0; i < l->nr && systems && found; i++)
		found = list_exists(systems, l, i);
	tracefs_list_free(systems);
	return found;
}

/* Does an element of the lists name the system? */
static bool is_listed(const struct ftrace_lists *l, const char *system)
{
	struct ftrace_element e;

	for (size_t i = 0; i < l->nr; i++) {
		for (const char *p = l->events[i]; *p; p = ftrace_next(&e)) {
			ftrace_element(&e, p);
			if (matches(e.system, e.system_len, system))
				return true;
		}
	}
	return false;
}

/* Reads only the formats of the listed systems, because a kernel has thousands of events. */
static int load_formats(struct ftrace *f, const struct ftrace_lists *l, char **systems)
{
	size_t nr = 0, used = 0;
	const char **listed;

	while (systems[nr])
		nr++;
	listed = calloc(nr + 1, sizeof(*listed));
	if (!listed) {
		tool_error("%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	for (size_t i = 0; i < nr; i++)
		if (is_listed(l, systems[i]))
			listed[used++] = systems[i];
	f->tep = tracefs_local_events_system(NULL, listed);
	free(listed);
	return f->tep ? 0 : fail("the events' formats cannot be read");
}

static int enable_events(struct ftrace *f, const struct ftrace_lists *l)
{
	char **systems = tracefs_event_systems(NULL);
	int err = systems ? load_formats(f, l, systems) : fail("its events cannot be listed");

	for (size_t i = 0; i < l->nr && !err; i++)
		err = enable_list(f, systems, l, i);
	tracefs_list_free(systems);
	return err;
}

static int set_option(struct tracefs_instance *instance, enum tracefs_option_id id, bool on)
{
	return on ? tracefs_option_enable(instance, id) : tracefs_option_disable(instance, id);
}

/*
 * Records no task until a process is watched. An empty list of tasks would mean all tasks. So the
 * list begins with the highest possible id, which the kernel assigns last.
 */
static int watch_nobody(struct tracefs_instance *instance)
{
	FILE *file = fopen("/proc/sys/kernel/pid_max", "re");
	char text[32];
	int max = 0;

	if (!file || fscanf(file, "%d", &max) != 1)
		max = 32768;
	if (file)
		fclose(file);
	snprintf(text, sizeof(text), "%d", max - 1);
	return tracefs_instance_file_write(instance, "set_event_pid", text) < 0 ? -1 : 0;
}

static int set_up(struct ftrace *f, struct tracefs_instance *instance, bool all)
{
	const struct ftrace_options *o = &f->options;
	const char *clock = f->clock == ASYNCTRACE_CLOCK_COUNTER ? "x86-tsc" : "boot";

	if (tracefs_trace_off(instance))
		return fail("an instance cannot be stopped");
	if (tracefs_instance_file_write(instance, "trace_clock", clock) < 0)
		return fail("its clock cannot be set");
	if (tracefs_instance_set_buffer_size(instance, o->buffer / 1024, -1))
		return fail("its buffers cannot be made so large");
	if (set_option(instance, TRACEFS_OPTION_OVERWRITE, o->keep_last))
		return fail("its option overwrite cannot be set");
	if (all)
		return 0;
	if (set_option(instance, TRACEFS_OPTION_EVENT_FORK, true))
		return fail("its option event-fork cannot be set");
	return watch_nobody(instance) ? fail("set_event_pid cannot be set") : 0;
}

static int open_instance(struct ftrace *f, enum ftrace_which which)
{
	static const char *const suffix[] = {
		[FTRACE_WATCHED] = "", [FTRACE_JOINED] = "-operations",
	};
	struct ftrace_instance *i = &f->of[which];
	char name[48];

	snprintf(name, sizeof(name), NAME_PREFIX "%d%s", (int)getpid(), suffix[which]);
	i->tracefs = tracefs_instance_create(name);
	if (!i->tracefs)
		return fail("an instance cannot be made");
	i->cpus = calloc(f->nr_cpus, sizeof(*i->cpus));
	if (!i->cpus) {
		tool_error("%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	return set_up(f, i->tracefs, which == FTRACE_JOINED || f->options.all);
}

static int make(struct ftrace *f, const struct ftrace_lists *l, const struct ftrace_options *o)
{
	int err;

	if (!is_initial_pid_ns()) {
		tool_error("tracepoints can be recorded in the initial pid namespace only: ftrace has the ids of that one");
		return -EOPNOTSUPP;
	}
	if (!tracefs_tracing_dir())
		return fail("tracefs is not there, or not for you");
	remove_stale();
	f->options = *o;
	f->nr_cpus = sysconf(_SC_NPROCESSORS_CONF);
	f->clock = ASYNCTRACE_CLOCK_BOOTTIME;
#ifdef __x86_64__
	f->clock = o->clock;
#endif
	err = open_instance(f, FTRACE_WATCHED);
	return err ? err : enable_events(f, l);
}

int ftrace_open(struct ftrace **f, const struct ftrace_lists *l, const struct ftrace_options *o)
{
	int err;

	*f = calloc(1, sizeof(**f));
	if (!*f) {
		tool_error("%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	/* The library prints no messages: this file reports its failures, with the remedy. */
	tracefs_set_loglevel(TEP_LOG_NONE);
	err = make(*f, l, o);
	if (err) {
		ftrace_close(*f);
		*f = NULL;
	}
	return err;
}

static void close_instance(struct ftrace_instance *i)
{
	if (i->tracefs) {
		tracefs_trace_off(i->tracefs);
		tracefs_instance_destroy(i->tracefs);
		tracefs_instance_free(i->tracefs);
	}
	free(i->cpus);
}

void ftrace_close(struct ftrace *f)
{
	if (!f)
		return;
	for (int i = 0; i < FTRACE_INSTANCES; i++)
		close_instance(&f->of[i]);
	free(f->joins);
	tep_free(f->tep);
	ftrace_tasks_free(f);
	free(f->queue);
	free(f);
}

int ftrace_start(struct ftrace *f)
{
	for (int i = 0; i < FTRACE_INSTANCES; i++)
		if (f->of[i].tracefs && tracefs_trace_on(f->of[i].tracefs))
			return fail("the instance cannot be started");
	return 0;
}

int ftrace_stop(struct ftrace *f)
{
	int err = 0;

	for (int i = 0; i < FTRACE_INSTANCES; i++)
		if (f->of[i].tracefs && tracefs_trace_off(f->of[i].tracefs))
			err = fail("the instance cannot be stopped");
	return err;
}
