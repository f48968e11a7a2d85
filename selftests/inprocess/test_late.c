// SPDX-License-Identifier: GPL-2.0
/*
 * Records that are being written while a trace starts beside a running flight recorder, or a
 * recorder beside a running trace: their clock is read before the start, and they are published
 * after it
 *
 * The critical sections of this build wait before they publish a record (AT_TEST_HOOKS). A
 * preemption restarts a section, which then reads the clock again. So the writer has a real-time
 * priority, if that is allowed. An interrupt may still restart it, so there are several rounds.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <asynctrace/flight.h>
#include <asynctrace/inprocess.h>

#include "common.h"
#include "flown.h"
#include "tape.h"
#include "writer/rseq.h"

#define ROUNDS	20
#define HOUR	3600000000000ull
#define u(x)	((unsigned long long)(x))

static uint32_t writing;

static void set_delay(uint64_t turns)
{
	__atomic_store_n(&at_race_delay, turns, __ATOMIC_SEQ_CST);
}

static void *write_late(void *arg)
{
	const struct sched_param above = { .sched_priority = 1 };

	pin(nth_cpu(1));
	if (nr_cpus() > 1)
		pthread_setschedparam(pthread_self(), SCHED_FIFO, &above);
	flown_write(0, 0);
	set_delay(UINT64_MAX);
	store(&writing, 1);
	flown_write(0, (uintptr_t)arg);
	return NULL;
}

/* Starts a thread that is in the critical section of its second record. */
static pthread_t begin_late(uintptr_t number)
{
	pthread_t thread;

	store(&writing, 0);
	check(!pthread_create(&thread, NULL, write_late, (void *)number));
	wait_for(&writing, 1, "the thread writes");
	sleep_us(1000);
	return thread;
}

static void end_late(pthread_t thread)
{
	set_delay(0);
	pthread_join(thread, NULL);
}

static void trace_joins(void)
{
	struct at_trace_result r = { .size = sizeof(r) };
	pthread_t thread;
	struct flown f;
	int fd;

	pin(nth_cpu(0));
	check(!at_flight_start(HOUR, 1 << 20));
	for (uintptr_t i = 1; i <= ROUNDS; i++) {
		fd = memfd_create("late", MFD_CLOEXEC);
		thread = begin_late(i);
		check(!at_trace_start(fd, NULL));
		end_late(thread);
		check(!at_trace_stop(&r), "%d", r.error);
		flown_read(fd, &f);
		check(r.delivered == 1 && f.events == 1 && f.last[0] == i && flown_valid(fd),
		      "%llu in the file, %llu delivered", u(f.events), u(r.delivered));
		close(fd);
	}
	check(!at_flight_stop());
	done("G71_record_begun_before_a_trace_joins_is_in_it");
}

static void recorder_joins(void)
{
	struct at_flight_result r = { .size = sizeof(r) };
	int out = memfd_create("trace", MFD_CLOEXEC), fd;
	pthread_t thread;
	struct flown f;

	check(!at_trace_start(out, NULL));
	for (uintptr_t i = 1; i <= ROUNDS; i++) {
		fd = memfd_create("late", MFD_CLOEXEC);
		thread = begin_late(i);
		check(!at_flight_start(HOUR, 1 << 20));
		end_late(thread);
		check(!at_flight_write(fd, &r), "%d", r.error);
		check(!at_flight_stop());
		flown_read(fd, &f);
		check(r.delivered == 1 && !r.malformed && f.events == 1 && f.last[0] == i &&
		      flown_valid(fd), "%llu in the file, %llu delivered, %llu malformed",
		      u(f.events), u(r.delivered), u(r.malformed));
		close(fd);
	}
	check(!at_trace_stop(NULL));
	close(out);
	done("G71_record_begun_before_the_recorder_joins_is_in_it");
}

int main(void)
{
	if (!at_membarrier_init() || at_rseq_cpu() < 0) {
		skip("record_begun_before_a_start", "no rseq in this process");
		return finish();
	}
	trace_joins();
	recorder_joins();
	return finish();
}
