// SPDX-License-Identifier: LGPL-2.1-or-later
/* Threads that start in the operation of the thread that created them */
#include <errno.h>
#include <stdlib.h>

#include <asynctrace/operation.h>

#include "internal.h"

struct start {
	void *(*function)(void *arg);
	void *arg;
	uint64_t operation;
};

static void *start_thread(void *arg)
{
	const struct start s = *(struct start *)arg;
	struct at_entered e = { .thread_ = NULL };
	void *result;

	free(arg);
	if (s.operation)
		e = TRACE_ENTERED_ANYWHERE_(__COUNTER__, at_enter_(s.operation), "operation",
					    "thread");
	result = s.function(s.arg);
	at_operation_leave(&e);
	return result;
}

AT_PUBLIC int at_thread_create(pthread_t *thread, const pthread_attr_t *attr,
			       void *(*function)(void *), void *arg)
{
	struct start *s = malloc(sizeof(*s));
	int err;

	if (!s)
		return EAGAIN;
	*s = (struct start){ function, arg, at_operation_current() };
	err = pthread_create(thread, attr, start_thread, s);
	if (err)
		free(s);
	return err;
}
