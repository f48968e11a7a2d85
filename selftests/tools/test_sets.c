// SPDX-License-Identifier: GPL-2.0
/* Lists and sets of tracepoints on kernels that lack some of them: a fake tracefs */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "ftrace/priv.h"
#include "tool.h"

/* The tracepoints of a kernel: systems, each with its events */
struct fake_system {
	const char *name;
	const char *events[4];
};

static const struct fake_system arm64[] = {
	{ "irq", { "irq_handler_entry", "softirq_entry" } }, { "block", { "block_rq_issue" } }, { 0 }
};

static const struct fake_system x86[] = {
	{ "irq", { "irq_handler_entry" } }, { "irq_vectors", { "local_timer_entry" } },
	{ "exceptions", { "page_fault_user", "page_fault_kernel" } }, { 0 }
};

static const struct fake_system *kernel;
static char enabled[256];	/* the events that were enabled */
static char said[256];

void tool_error(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(said, sizeof(said), format, ap);
	va_end(ap);
}

const char *tool_text(const char *text)
{
	return text;
}

/* --- a fake tracefs ------------------------------------------------------------------------- */

int __wrap_access(const char *path, int mode)
{
	(void)path, (void)mode;
	return 0;
}

/* The inode of the initial pid namespace */
int __wrap_stat(const char *path, struct stat *st)
{
	(void)path;
	*st = (struct stat){ .st_ino = 0xEFFFFFFCU };
	return 0;
}

static char **copy(const char *const *names, size_t nr)
{
	char **list = calloc(nr + 1, sizeof(*list));

	assert_non_null(list);
	for (size_t i = 0; i < nr; i++)
		list[i] = strdup(names[i]);
	return list;
}

char **tracefs_event_systems(const char *dir)
{
	const char *names[8];
	size_t nr = 0;

	(void)dir;
	for (const struct fake_system *s = kernel; s->name; s++)
		names[nr++] = s->name;
	return copy(names, nr);
}

char **tracefs_system_events(const char *dir, const char *system)
{
	(void)dir;
	for (const struct fake_system *s = kernel; s->name; s++) {
		size_t nr = 0;

		if (strcmp(s->name, system))
			continue;
		while (nr < 4 && s->events[nr])
			nr++;
		return copy(s->events, nr);
	}
	return NULL;
}

void tracefs_list_free(char **list)
{
	for (char **l = list; l && *l; l++)
		free(*l);
	free(list);
}

int tracefs_event_file_write(struct tracefs_instance *i, const char *system, const char *event,
			     const char *file, const char *text)
{
	const size_t used = strlen(enabled);

	(void)i, (void)system;
	assert_string_equal(file, "enable");
	assert_string_equal(text, "1");
	snprintf(enabled + used, sizeof(enabled) - used, "%s ", event);
	return 1;
}

bool tracefs_event_file_exists(struct tracefs_instance *i, const char *system, const char *event,
			       const char *file)
{
	(void)i, (void)system, (void)event, (void)file;
	return true;
}

static char instance[64];	/* name of the newest instance */
static const char *const *instances;	/* that exist when the recorder begins */
static char removed[256];

struct tracefs_instance *tracefs_instance_create(const char *name)
{
	snprintf(instance, sizeof(instance), "%s", name);
	return (struct tracefs_instance *)said;
}

int tracefs_instance_destroy(struct tracefs_instance *i)
{
	const size_t used = strlen(removed);

	(void)i;
	snprintf(removed + used, sizeof(removed) - used, "%s ", instance);
	return 0;
}

struct tep_handle *tracefs_local_events_system(const char *dir, const char *const *systems)
{
	(void)dir, (void)systems;
	return (struct tep_handle *)said;
}

const char *tracefs_tracing_dir(void)
{
	return "/";
}

char **tracefs_instances(const char *regex)
{
	size_t nr = 0;

	(void)regex;
	while (instances && instances[nr])
		nr++;
	return copy(instances, nr);
}

#define SUCCEEDS(name, ...) int name(__VA_ARGS__) { return 0; }
#pragma GCC diagnostic ignored "-Wunused-parameter"
SUCCEEDS(tracefs_trace_on, struct tracefs_instance *i)
SUCCEEDS(tracefs_trace_off, struct tracefs_instance *i)
SUCCEEDS(tracefs_option_enable, struct tracefs_instance *i, enum tracefs_option_id id)
SUCCEEDS(tracefs_option_disable, struct tracefs_instance *i, enum tracefs_option_id id)
SUCCEEDS(tracefs_instance_set_buffer_size, struct tracefs_instance *i, size_t size, int cpu)
SUCCEEDS(tracefs_instance_file_write, struct tracefs_instance *i, const char *f, const char *text)
SUCCEEDS(ftrace_join_event, struct ftrace *f, const char *system, const char *name,
	 const struct ftrace_element *e)

void tracefs_instance_free(struct tracefs_instance *i)
{
}

void tracefs_set_loglevel(enum tep_loglevel level)
{
}

void tep_free(struct tep_handle *tep)
{
}

void ftrace_tasks_free(struct ftrace *f)
{
}

/* --- tests ---------------------------------------------------------------------------------- */

static const struct {
	const struct fake_system *kernel;
	const char *events, *sets;
	const char *enabled;	/* NULL: it fails */
	const char *message;
} rows[] = {
	{ x86, NULL, "irq", "irq_handler_entry local_timer_entry ", "" },
	{ x86, NULL, "faults", "page_fault_user page_fault_kernel ", "" },
	{ arm64, NULL, "irq", "irq_handler_entry softirq_entry ", "" },
	{ arm64, NULL, "faults", NULL, "this kernel has no tracepoint of the set faults" },
	{ arm64, NULL, "block,irq", "block_rq_issue irq_handler_entry softirq_entry ", "" },
	{ arm64, NULL, "irq,faults", NULL, "this kernel has no tracepoint of the set faults" },
	{ arm64, "irq:*", NULL, "irq_handler_entry softirq_entry ", "" },
	{ arm64, "irq:*,irq_vectors:*", NULL, NULL, "no tracepoint is called irq_vectors:*:" },
	{ arm64, "irq:softirq_entry", "block", "softirq_entry block_rq_issue ", "" },
	{ arm64, "irq:nosuch", "irq", NULL, "no tracepoint is called irq:nosuch:" },
};

static void list(struct ftrace_lists *l, size_t i, char *events, char *sets)
{
	memset(l, 0, sizeof(*l));
	if (rows[i].events) {
		strcpy(events, rows[i].events);
		assert_true(ftrace_add_events(l, events));
	}
	if (rows[i].sets) {
		strcpy(sets, rows[i].sets);
		assert_true(ftrace_add_sets(l, sets));
	}
	kernel = rows[i].kernel;
	*said = *enabled = '\0';
}

static void absent_tracepoints_of_sets_are_left_out(void **state)
{
	const struct ftrace_options o = { .buffer = 1 << 20 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char events[64], sets[64];
		struct ftrace_lists l;
		struct ftrace *f;

		list(&l, i, events, sets);
		assert_int_equal(ftrace_lists_exist(&l), !!rows[i].enabled);
		assert_memory_equal(said, rows[i].message, strlen(rows[i].message) + !*said);
		*said = '\0';
		assert_int_equal(ftrace_open(&f, &l, &o), rows[i].enabled ? 0 : -ENOENT);
		assert_memory_equal(said, rows[i].message, strlen(rows[i].message) + !*said);
		if (rows[i].enabled)
			assert_string_equal(enabled, rows[i].enabled);
		ftrace_close(f);
	}
}

/* A killed recorder may have had the id of this process. Process 1 lives. */
static void instances_of_dead_recorders_are_removed(void **state)
{
	const struct ftrace_options o = { .buffer = 1 << 20 };
	const char *names[] = { "other", "asynctrace-1", "asynctrace-x", NULL, NULL, NULL };
	char own[32], second[48], events[64], sets[64], expected[128];
	struct ftrace_lists l;
	struct ftrace *f;

	snprintf(own, sizeof(own), "asynctrace-%d", (int)getpid());
	snprintf(second, sizeof(second), "%s-operations", own);
	names[3] = own;
	names[4] = second;
	instances = names;
	list(&l, 0, events, sets);
	*removed = '\0';
	assert_int_equal(ftrace_open(&f, &l, &o), 0);
	snprintf(expected, sizeof(expected), "%s %s ", own, second);
	assert_string_equal(removed, expected);
	ftrace_close(f);
	instances = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(absent_tracepoints_of_sets_are_left_out),
		cmocka_unit_test(instances_of_dead_recorders_are_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
