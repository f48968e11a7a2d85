/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times in which the CPU quota of a cgroup throttled a process: see throttling.c */
#ifndef ANALYSIS_THROTTLING_H
#define ANALYSIS_THROTTLING_H

#include "engine.h"

/* Adds the item of @rec, a counter of throttling. */
int throttling_record(struct analysis *a, const struct fxt_record *rec);
int throttling_item(struct analysis *a, const struct item *it);
/*
 * Returns how long a thread of the process @pid, runnable from @from to @to, may have waited for
 * the CPU quota of a cgroup; 0: it did not. *@path: the cgroup with the longest such time, or NULL
 */
uint64_t throttling_within(const struct analysis *a, uint32_t pid, uint64_t from, uint64_t to,
			   const char **path);
void throttling_forget(struct analysis *a, uint64_t ns);
void throttling_free(struct analysis *a);

#endif /* ANALYSIS_THROTTLING_H */
