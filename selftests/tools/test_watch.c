// SPDX-License-Identifier: GPL-2.0
/* The threads of a process that ftrace_watch() finds while threads end and others begin */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ftrace/priv.h"

#define WALKS	64

/* The list of /proc in each walk; NULL: the process has ended */
static const char *lists[WALKS];
static int walks;
static const char *rest;	/* of the present walk's list */
static char watched[512];	/* all that was written to set_event_pid */

DIR *__wrap_opendir(const char *path)
{
	assert_string_equal(path, "/proc/100/task");
	rest = lists[walks++];
	return (DIR *)rest;
}

struct dirent *__wrap_readdir(DIR *dir)
{
	static struct dirent d;
	int n;

	(void)dir;
	if (sscanf(rest, " %15s%n", d.d_name, &n) != 1)
		return NULL;
	rest += n;
	return &d;
}

int __wrap_closedir(DIR *dir)
{
	(void)dir;
	return 0;
}

int tracefs_instance_file_append(struct tracefs_instance *instance, const char *file,
				 const char *text)
{
	const size_t used = strlen(watched);

	(void)instance;
	assert_string_equal(file, "set_event_pid");
	snprintf(watched + used, sizeof(watched) - used, "%s ", text);
	return 0;
}

static void watch(void)
{
	struct ftrace f = { 0 };

	walks = 0;
	watched[0] = '\0';
	assert_int_equal(ftrace_watch(&f, 100), 0);
}

static void threads_are_watched_once(void **state)
{
	(void)state;
	lists[0] = lists[1] = ". .. 100 101 102";
	watch();
	assert_string_equal(watched, "100 101 102 ");
	assert_int_equal(walks, 2);
}

/* 103 begins another thread behind the walk that finds 103. */
static void thread_that_replaces_another_is_watched(void **state)
{
	(void)state;
	lists[0] = ". .. 100 101 102";
	lists[1] = ". .. 100 102 103";
	lists[2] = lists[3] = ". .. 100 103 104";
	watch();
	assert_string_equal(watched, "100 101 102 103 104 ");
	assert_int_equal(walks, 4);
}

static void fewer_threads_end_no_walk(void **state)
{
	(void)state;
	lists[0] = ". .. 100 101 102 103";
	lists[1] = ". .. 100 104";
	lists[2] = lists[3] = ". .. 100 105";
	watch();
	assert_string_equal(watched, "100 101 102 103 104 105 ");
}

static void ended_process_is_no_error(void **state)
{
	(void)state;
	lists[0] = NULL;
	watch();
	assert_string_equal(watched, "");
	lists[0] = ". .. 100 101";
	lists[1] = NULL;
	watch();
	assert_string_equal(watched, "100 101 ");
}

static void walks_are_limited(void **state)
{
	static char text[WALKS][16];

	(void)state;
	for (int i = 0; i < WALKS; i++) {
		snprintf(text[i], sizeof(text[i]), ". .. %d", 100 + i);
		lists[i] = text[i];
	}
	watch();
	assert_int_equal(walks, 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_are_watched_once),
		cmocka_unit_test(thread_that_replaces_another_is_watched),
		cmocka_unit_test(fewer_threads_end_no_walk),
		cmocka_unit_test(ended_process_is_no_error),
		cmocka_unit_test(walks_are_limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
