// SPDX-License-Identifier: LGPL-2.1-or-later
/* The calling thread's operation and scopes */
#include <asynctrace/operation.h>

#include "internal.h"

/* Aligned, so that it lies in one cache line */
AT_PUBLIC __thread struct at_current_ at_current_
	__attribute__((tls_model("initial-exec"), aligned(64)));
