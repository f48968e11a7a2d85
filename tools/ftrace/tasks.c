// SPDX-License-Identifier: GPL-2.0-or-later
/* Looks up process and name of a thread once, when the thread first appears */
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ftrace/priv.h"

static int by_tid(const void *a, const void *b)
{
	const struct ftrace_task *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

static void look_up(struct ftrace_task *t)
{
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)t->tid);
	f = fopen(path, "re");
	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Name: %16[^\n]", t->comm) == 1)
			continue;
		if (sscanf(line, "Tgid: %d", &t->pid) == 1)
			break;
	}
	fclose(f);
}

const struct ftrace_task *ftrace_task(struct ftrace *f, pid_t tid)
{
	const struct ftrace_task key = { .tid = tid };
	struct ftrace_task **found = tfind(&key, &f->tasks, by_tid);
	struct ftrace_task *t;

	if (found)
		return *found;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->tid = tid;
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
