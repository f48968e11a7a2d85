// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Looks up process and name of a thread when the thread first appears, and again later: exec and
 * prctl change the name, and another thread may get the id.
 */
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ftrace/priv.h"

static int by_tid(const void *a, const void *b)
{
	const struct ftrace_task *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

/* Keeps what is known of a thread that has ended. */
static void look_up(struct ftrace_task *t)
{
	struct ftrace_task now = *t;
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)t->tid);
	f = fopen(path, "re");
	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Name: %16[^\n]", now.comm) == 1)
			continue;
		if (sscanf(line, "Tgid: %d", &now.pid) == 1) {
			*t = now;
			break;
		}
	}
	fclose(f);
}

void ftrace_renew_tasks(struct ftrace *f)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	f->second = now.tv_sec;
}

const struct ftrace_task *ftrace_task(struct ftrace *f, pid_t tid)
{
	const struct ftrace_task key = { .tid = tid };
	struct ftrace_task **found = tfind(&key, &f->tasks, by_tid);
	struct ftrace_task *t;

	if (found) {
		t = *found;
		if (t->second != f->second)
			look_up(t);
		t->second = f->second;
		return t;
	}
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->tid = tid;
	t->second = f->second;
	look_up(t);
	if (tsearch(t, &f->tasks, by_tid))
		return t;
	free(t);
	return NULL;
}

void ftrace_tasks_free(struct ftrace *f)
{
	tdestroy(f->tasks, free);
	f->tasks = NULL;
}
