// SPDX-License-Identifier: GPL-2.0
/*
 * Instructions of an event that goes to a session of the module, to an in-process trace, or to both
 *
 * Runs in the test machine with --icount, where the CPU's counter counts instructions. Prints one
 * row for each kind of event, and fails if writing to both costs more than the limit.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <asynctrace/inprocess.h>
#include <asynctrace/operation.h>
#include <asynctrace/provider.h>
#include <asynctrace/session.h>
#include <asynctrace/trace.h>

#define EVENTS	100
#define ROUNDS	50
#define LIMIT	2000	/* instructions of a record that goes to both */

static const char text[] = "eleven char";

static void must(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "beside: cannot %s: %d\n", what, err);
	exit(2);
}

/* K(name, number of records, code) */
#define KINDS(K) \
	K(no_argument, 1, TRACE_INSTANT("bench", "event", TRACE_SCOPE_THREAD)) \
	K(two_numbers, 1, TRACE_INSTANT("bench", "event", TRACE_SCOPE_THREAD, "a", i, "b", i)) \
	K(a_text, 1, TRACE_INSTANT("bench", "event", TRACE_SCOPE_THREAD, "a", TA_STRING(text))) \
	K(duration, 1, TRACE_DURATION("bench", "event", "a", i)) \
	K(region, 2, TRACE_REGION("bench", "event"))

/* Returns the instructions of one event, from the cheapest round: interrupts only add some. */
#define KIND(name, records, ...) \
	static unsigned int cost_of_##name(void) \
	{ \
		uint64_t best = UINT64_MAX; \
		\
		for (int round = 0; round < ROUNDS; round++) { \
			const uint64_t from = at_ticks(); \
			\
			for (int i = 0; i < EVENTS; i++) { \
				__VA_ARGS__; \
			} \
			if (at_ticks() - from < best) \
				best = at_ticks() - from; \
		} \
		return best / EVENTS; \
	}
KINDS(KIND)

#define COST(name, records, ...)	cost_of_##name,
static unsigned int (*const cost[])(void) = { KINDS(COST) };
#define RECORDS(name, records, ...)	records,
static const unsigned int records_of[] = { KINDS(RECORDS) };
#define NAME(name, records, ...)	#name,
static const char *const names[] = { KINDS(NAME) };
#define NR	(sizeof(names) / sizeof(names[0]))

static unsigned int costs[3][NR];

static void measure(unsigned int *row)
{
	for (unsigned int i = 0; i < NR; i++)
		row[i] = cost[i]();
}

static int start_trace(void)
{
	const struct at_trace_options o = {
		.size = sizeof(o), .mode = ASYNCTRACE_MODE_CIRCULAR, .ring_size = 256 << 10,
	};
	int fd = memfd_create("beside", MFD_CLOEXEC);

	must(at_trace_start(fd, &o), "start a trace");
	return fd;
}

int main(void)
{
	const struct at_session_options o = {
		.size = sizeof(o), .mode = ASYNCTRACE_MODE_CIRCULAR, .name = "bench",
		.ring_size = 256 << 10,
	};
	struct at_observed seen = { .size = sizeof(seen) };
	struct at_ctl *ctl;
	uint32_t id;
	int status = 0;

	must(at_ctl_open(&ctl), "reach the module");
	must(at_provider_register(NULL), "register");
	start_trace();
	measure(costs[1]);
	must(at_trace_stop(NULL), "stop the trace");
	must(at_session_create(ctl, &o, &id), "create a session");
	must(at_session_init(ctl, id), "initialize the session");
	must(at_session_start(ctl, id, NULL), "start the session");
	while (!at_provider_observe(&seen) && !seen.recording)
		usleep(1000);
	measure(costs[0]);
	start_trace();
	measure(costs[2]);
	must(at_trace_stop(NULL), "stop the trace");
	printf("%-12s %8s %8s %8s\n", "instructions", "session", "trace", "both");
	for (unsigned int i = 0; i < NR; i++) {
		printf("%-12s %8u %8u %8u\n", names[i], costs[0][i], costs[1][i], costs[2][i]);
		if (costs[2][i] > LIMIT * records_of[i]) {
			printf("%s: more than %u instructions\n", names[i],
			       LIMIT * records_of[i]);
			status = 1;
		}
	}
	at_ctl_close(ctl);
	return status;
}
