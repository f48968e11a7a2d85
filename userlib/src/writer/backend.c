// SPDX-License-Identifier: LGPL-2.1-or-later
/* The present back end, and why records do not reach it */
#include <errno.h>
#include <stdlib.h>

#include "destination.h"
#include "internal.h"

static enum at_backend present;
static enum at_reason why = ASYNCTRACE_REASON_UNREGISTERED;
static int why_error;

/* glibc before 2.35 does not define these symbols. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

void at_rseq_init(void)
{
	const ptrdiff_t rseq = &__rseq_size && &__rseq_offset && __rseq_size ? __rseq_offset : 0;

	if (at_hot.rseq != rseq)
		at_hot.rseq = rseq;
}

void at_backend_set(enum at_backend backend, char *rw, const char *control)
{
	__atomic_store_n(&present, backend, __ATOMIC_RELAXED);
	if (backend == ASYNCTRACE_BACKEND_NONE)
		return;
	at_rseq_init();
	__atomic_store_n(&at_hot.rw, rw, __ATOMIC_RELAXED);
	__atomic_store_n(&at_hot.control, control, __ATOMIC_RELAXED);
	__atomic_store_n(&at_hot.fallback, backend == ASYNCTRACE_BACKEND_MODULE ?
					   &at_fallback_module : &at_fallback_inprocess,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&at_hot.epoch, at_hot.epoch + 1, __ATOMIC_RELEASE);
	at_backend_why(ASYNCTRACE_REASON_OK, 0);
}

enum at_backend at_backend(void)
{
	return __atomic_load_n(&present, __ATOMIC_RELAXED);
}

void at_backend_why(enum at_reason reason, int error)
{
	why = reason;
	why_error = error;
}

enum at_reason at_backend_reason(int *error)
{
	*error = why_error;
	return why;
}

const char *at_default_name(void)
{
	const char *name = secure_getenv("ASYNCTRACE_NAME");

	return name && *name ? name : program_invocation_short_name;
}
