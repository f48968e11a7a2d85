// SPDX-License-Identifier: GPL-2.0
/* Defines the tracepoints that the example server uses when it is built for LTTng-UST. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "server_tp.h"
