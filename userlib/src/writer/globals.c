// SPDX-License-Identifier: LGPL-2.1-or-later
/* State of the process and of its threads: see internal.h. */
#include "destination.h"

struct at_fallback at_fallback_module, at_fallback_inprocess;
struct at_hot at_hot = { .fallback = &at_fallback_inprocess };
__thread struct at_thread at_thread __attribute__((tls_model("initial-exec"))) = {
	.cpu = AT_NO_CPU,
};
