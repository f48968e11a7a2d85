// SPDX-License-Identifier: GPL-2.0
/*
 * The events of events.h with LTTng-UST
 *
 * bench_lttng: measures in a session that selftests/bench/run has created. Its options --snapshot
 * and --overwrite make the session a flight recorder, as in bench.c. bench_lttng off: measures
 * while nothing is recorded.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_tp.h"

#include <string.h>
#include <unistd.h>

#include "timing.h"

#define TP(name, ...) lttng_ust_tracepoint(at_bench, name, ##__VA_ARGS__)
#define EVENT(name, needs, limit, statement, lttng) \
	static void w_##name(int thread) \
	{ \
		const uint64_t id = thread + 1; \
		for (long i = 0; i < WINDOW; i++) { \
			OPAQUE(i); \
			lttng; \
		} \
		(void)id; \
	}
#include "events.h"
#include "other_events.h"
#undef EVENT

#define ROWS(r) (sizeof(r) / sizeof((r)[0]))

static bool recorded(void)
{
	return lttng_ust_tracepoint_enabled(at_bench, none);
}

int main(int argc, char **argv)
{
#define EVENT(name, needs, limit, statement, lttng) { "lttng_" #name, w_##name, { 0 } },
	static struct row on[] = {
#include "events.h"
#include "other_events.h"
	};
#undef EVENT
#define EVENT(name, needs, limit, statement, lttng) { "lttng_" #name "_off", w_##name, { 0 } },
	static struct row off[] = {
#include "events.h"
#include "other_events.h"
	};
#undef EVENT
	const bool nothing = argc > 1 && !strcmp(argv[1], "off");

	for (int i = 0; !nothing && i < 500 && !recorded(); i++)
		usleep(10000);
	if (recorded() == nothing) {
		fprintf(stderr, "bench: LTTng's session %s this program\n",
			nothing ? "records" : "does not record");
		return 2;
	}
	for (int n = 1; n <= THREADS_MAX; n++)
		measure(nothing ? off : on, ROWS(on), n, nothing ? 300 : 150);
	print_rows(nothing ? off : on, ROWS(on), THREADS_MAX);
	return 0;
}
