// SPDX-License-Identifier: GPL-2.0
/*
 * Threads that trace while traces start and stop, in a program with a thread sanitizer. The library
 * is the shared one, which is built without the sanitizer: so the sanitizer does not see the
 * library's locks, and must not see memory that they protect, either. It fails the program if it
 * reports a race.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <asynctrace/flight.h>
#include <asynctrace/inprocess.h>
#include <asynctrace/operation.h>
#include <asynctrace/trace.h>

#include "common.h"

#define THREADS	4

static bool stop;

static void *work(void *arg)
{
	struct at_operation op;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		TRACE_DURATION("sanitized", "duration");
		TRACE_OPERATION_BEGIN(&op, "sanitized", "operation", "text", "a text");
		TRACE_COUNTER("sanitized", "counter", 1, "value", 1);
		TRACE_INSTANT("other", "instant of another category", TRACE_SCOPE_THREAD);
		at_log("sanitized", "line");
		TRACE_OPERATION_END(&op, "sanitized", "operation");
		sleep_us(20);
	}
	return arg;
}

int main(void)
{
	const int fd = memfd_create("sanitized", MFD_CLOEXEC);
	const char *const number = getenv("SESSIONS");
	const int sessions = number ? atoi(number) : 300;
	struct at_trace_options o = { .size = sizeof(o), .ring_size = 1 << 16 };
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < sessions; i++) {
		o.mode = i % 4;
		o.categories = i % 3 ? NULL : "sanitized,-nothing,x*";
		EXPECT(!at_trace_start(fd, &o));
		sleep_us(1000 + i % 7 * 500);
		EXPECT(!at_trace_stop(NULL));
		if (i % 5)
			continue;
		EXPECT(!at_flight_start(0, 1 << 18));
		sleep_us(1000);
		EXPECT(!at_flight_write(fd, NULL) && !at_flight_stop());
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	ktap_done("sanitized_program_has_no_false_races");
	return ktap_exit();
}
