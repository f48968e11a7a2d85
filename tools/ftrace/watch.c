// SPDX-License-Identifier: GPL-2.0-or-later
/* Lets an instance record the threads of a process */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "ftrace/priv.h"
#include "fxt/table.h"

/* Limit of the walks over the threads of a process */
#define WALKS_MAX	16

/*
 * Watches the threads that /proc lists, except those that are watched already. Returns how many
 * threads it began to watch.
 */
static unsigned int watch_threads(struct ftrace *f, const char *path, struct fxt_table *watched)
{
	DIR *dir = opendir(path);
	unsigned int n = 0;

	if (!dir)
		return 0;
	for (struct dirent *d; (d = readdir(dir));) {
		const unsigned long tid = strtoul(d->d_name, NULL, 10);

		if (!tid || fxt_find(watched, tid))
			continue;
		tracefs_instance_file_append(f->of[FTRACE_WATCHED].tracefs, "set_event_pid",
					     d->d_name);
		/* Without memory for this entry, the next walk watches the thread once more. */
		fxt_make(watched, tid);
		n++;
	}
	closedir(dir);
	return n;
}

int ftrace_watch(struct ftrace *f, pid_t pid)
{
	struct fxt_table watched = { 0 };
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	/*
	 * The kernel watches the new threads of watched ones. A thread that is not watched yet may
	 * create another one behind a walk. So walk until all listed threads were watched before
	 * the walk. Their number does not show that, because others may end meanwhile.
	 */
	for (int i = 0; i < WALKS_MAX && watch_threads(f, path, &watched); i++)
		;
	fxt_table_free(&watched);
	return 0;
}
