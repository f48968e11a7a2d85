// SPDX-License-Identifier: GPL-2.0
/*
 * The same for LTTng-UST: an event with one integer, in the session that run has
 * made (a flight recorder too: --snapshot, --overwrite)
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_tp.h"

#include <unistd.h>

#include "timing.h"

static void w_lttng(int thread)
{
	for (long i = 0; i < WINDOW; i++) {
		OPAQUE(i);
		lttng_ust_tracepoint(at_bench, operation, (int)i);
	}
	(void)thread;
}

int main(void)
{
	struct row on = { .name = "lttng_ust_1arg", .window = w_lttng };

	for (int i = 0; i < 500 && !lttng_ust_tracepoint_enabled(at_bench, operation); i++)
		usleep(10000);
	if (!lttng_ust_tracepoint_enabled(at_bench, operation)) {
		fprintf(stderr, "bench: LTTng's session does not record this program\n");
		return 2;
	}
	for (int n = 1; n <= THREADS_MAX; n++)
		measure(&on, 1, n, 1500);
	print_rows(&on, 1, THREADS_MAX);
	return 0;
}
