/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Checks for a child process: if a check fails, the child prints the reason and exits with 1. "nl"
 * is the socket of its requests.
 */
#ifndef SELFTESTS_CHILD_H
#define SELFTESTS_CHILD_H

#include <stdio.h>

#define SO(what) do {							\
	if (!(what)) {							\
		printf("# %s:%d: not so: %s (%s)\n", __FILE__, __LINE__, #what, nl.text); \
		return 1;						\
	}								\
} while (0)

#endif /* SELFTESTS_CHILD_H */
