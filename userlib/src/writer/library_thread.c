// SPDX-License-Identifier: LGPL-2.1-or-later
/* Threads of the library */
#include <errno.h>
#include <link.h>

#include "internal.h"

/*
 * The stack is smaller than those of most programs' threads, so these do not take it. In a forked
 * child, glibc gives the library's thread the stack of the parent's, with its thread-local storage.
 * So it does not call malloc(3), which the caller may have interrupted.
 */
#define AT_STACK	(256u << 10)

static int add_local(struct dl_phdr_info *info, size_t size, void *sum)
{
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_TLS)
			*(size_t *)sum += info->dlpi_phdr[i].p_memsz;
	return 0;
}

/* glibc puts the program's thread-local storage into the stack. */
static size_t stack_size(void)
{
	static size_t bytes;

	/* A forked child uses the size of its parent, and does not take a lock of dlopen(3). */
	if (!bytes) {
		bytes = AT_STACK;
		dl_iterate_phdr(add_local, &bytes);
		bytes = (bytes + at_page_size() - 1) & -at_page_size();
	}
	return bytes;
}

int at_library_thread(pthread_t *thread, void *(*fn)(void *arg), void *arg)
{
	pthread_attr_t attr;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, stack_size());
	err = pthread_create(thread, &attr, fn, arg);
	pthread_attr_destroy(&attr);
	/* The C library may need more. */
	return err == EINVAL ? pthread_create(thread, NULL, fn, arg) : err;
}
