// SPDX-License-Identifier: LGPL-2.1-or-later
/* Threads of the library */
#include <errno.h>

#include "internal.h"

/*
 * The stack is smaller than those of most programs' threads, so these do not take it. In a forked
 * child, glibc gives the library's thread the stack of the parent's, with its thread-local storage.
 * So it does not call malloc(3), which the caller may have interrupted.
 */
#define AT_STACK	(256u << 10)

int at_library_thread(pthread_t *thread, void *(*fn)(void *arg), void *arg)
{
	pthread_attr_t attr;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, AT_STACK);
	err = pthread_create(thread, &attr, fn, arg);
	pthread_attr_destroy(&attr);
	/* The program's thread-local storage, which is part of the stack, may be larger. */
	return err == EINVAL ? pthread_create(thread, NULL, fn, arg) : err;
}
