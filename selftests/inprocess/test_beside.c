// SPDX-License-Identifier: GPL-2.0
/*
 * The flight recorder beside a trace: each has its own counts and its own file, whichever of them
 * starts or stops first
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <asynctrace/flight.h>
#include <asynctrace/inprocess.h>

#include "flown.h"
#include "tape.h"

#define HOUR	3600000000000ull
#define WRITERS	8
#define u(x)	((unsigned long long)(x))

static uint64_t number;

static int memory(void)
{
	return memfd_create("beside", MFD_CLOEXEC);
}

static void write_many(uint64_t n)
{
	while (n--)
		flown_write(0, number++);
}

static uint64_t written(const struct at_trace_result *r)
{
	return r->delivered + r->overwritten + r->dropped;
}

static void end_trace(int fd, struct at_trace_result *r, struct flown *f)
{
	*r = (struct at_trace_result){ .size = sizeof(*r) };
	check(!at_trace_stop(r), "%d", r->error);
	flown_read(fd, f);
	check(!f->broken && f->events == r->delivered, "%llu in the file, %llu delivered",
	      u(f->events), u(r->delivered));
	check(flown_valid(fd));
	close(fd);
}

static void fly(struct at_flight_result *r, struct flown *f)
{
	int fd = memory();

	*r = (struct at_flight_result){ .size = sizeof(*r) };
	check(!at_flight_write(fd, r), "%d", r->error);
	flown_read(fd, f);
	check(!f->broken && f->events == r->delivered && !r->malformed && !r->unwritten,
	      "broken %d, %llu in the file, %llu delivered, %llu malformed, %llu unwritten",
	      f->broken, u(f->events), u(r->delivered), u(r->malformed), u(r->unwritten));
	check(flown_valid(fd));
	close(fd);
}

/*
 * @order: calls in this order. t starts and T stops the trace; f starts and F stops the recorder.
 */
static void in_order(const char *order, uint32_t mode)
{
	struct at_trace_options o = { .size = sizeof(o), .mode = mode, .ring_size = 4 << 20 };
	uint64_t trace_from = 0, flight_from = 0;
	struct at_trace_result t;
	struct at_flight_result r;
	bool flight = false;
	struct flown f;
	int fd = -1;

	number = 0;
	for (const char *c = order; *c; c++) {
		switch (*c) {
		case 't':
			fd = memory();
			trace_from = number;
			check(!at_trace_start(fd, &o), "%s", order);
			break;
		case 'T':
			end_trace(fd, &t, &f);
			check(t.delivered == number - trace_from && written(&t) == t.delivered,
			      "%s: %llu of %llu", order, u(t.delivered), u(number - trace_from));
			check(flown_whole(&f, 0) && f.first[0] == trace_from, "%s", order);
			break;
		case 'f':
			flight_from = number;
			check(!at_flight_start(HOUR, 64 << 20), "%s", order);
			flight = true;
			break;
		case 'F':
			check(!at_flight_stop(), "%s", order);
			flight = false;
			break;
		}
		write_many(1000);
		if (!flight)
			continue;
		fly(&r, &f);
		check(r.delivered == number - flight_from && flown_attempted(&r) == r.delivered,
		      "%s: %llu of %llu", order, u(r.delivered), u(number - flight_from));
		check(flown_whole(&f, 0) && f.first[0] == flight_from, "%s", order);
	}
}

static void orders(void)
{
	static const char *const all[] = {
		"tfTF", "tfFT", "ftTF", "ftFT", "tfFfFT", "ftTtTF", "tfFfTF", "ftTtFT",
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		in_order(all[i], ASYNCTRACE_MODE_STREAMING);
		in_order(all[i], ASYNCTRACE_MODE_CIRCULAR);
	}
	done("G71_recorder_beside_trace_in_all_orders");
}

static void refused(void)
{
	struct at_trace_options o = { .size = sizeof(o), .mode = ASYNCTRACE_MODE_ONESHOT };
	int fd = memory();

	check(!at_flight_start(0, 0));
	check(at_trace_start(fd, &o) == -EBUSY);
	o = (struct at_trace_options){ .size = sizeof(o), .categories = "flown" };
	check(at_trace_start(fd, &o) == -EBUSY);
	o.categories = "";
	check(!at_trace_start(fd, &o) && !at_trace_stop(NULL));
	check(!at_flight_stop());

	o.categories = "flown";
	check(!at_trace_start(fd, &o));
	check(at_flight_start(0, 0) == -EBUSY);
	check(!at_trace_stop(NULL));
	o = (struct at_trace_options){ .size = sizeof(o), .mode = ASYNCTRACE_MODE_ONESHOT };
	check(!at_trace_start(fd, &o));
	check(at_flight_start(0, 0) == -EBUSY);
	write_many(10);
	check(!at_trace_stop(NULL));
	check(!at_flight_start(0, 0) && !at_flight_stop());
	close(fd);
	done("unfit_trace_and_recorder_exclude_each_other");
}

/* --- a descriptor that accepts no more data ----------------------------------------------- */

static void *drain_pipe(void *arg)
{
	char buf[65536];

	while (read(*(int *)arg, buf, sizeof(buf)) > 0)
		;
	return NULL;
}

/* The trace's thread waits in write(2), so the rings cannot be made circular. */
static void stuck(void)
{
	struct at_trace_options o = { .size = sizeof(o), .ring_size = 1 << 20 };
	struct at_trace_result t = { .size = sizeof(t) };
	struct at_flight_result r;
	struct flown f;
	pthread_t thread;
	struct pollfd full = { .events = POLLOUT };
	int pair[2];
	uint64_t from;

	check(!pipe2(pair, O_CLOEXEC));
	number = 0;
	check(!at_trace_start(pair[1], &o));
	write_many(200000);
	/* When the pipe is full, the thread waits in write(2) or will. */
	full.fd = pair[1];
	while (poll(&full, 1, 0) > 0)
		usleep(1000);
	check(at_flight_start(0, 0) == -EBUSY);
	pthread_create(&thread, NULL, drain_pipe, &pair[0]);
	while (at_flight_start(HOUR, 0) == -EBUSY)
		;
	write_many(100);
	fly(&r, &f);
	check(f.last[0] == number - 1);
	check(!at_trace_stop(&t), "%d", t.error);
	check(written(&t) == number, "%llu of %llu", u(written(&t)), u(number));
	close(pair[1]);
	pthread_join(thread, NULL);
	close(pair[0]);
	/* Beside a flight recorder the rings are circular: they overwrite records and drop none. */
	check(!pipe2(pair, O_CLOEXEC));
	from = number;
	check(!at_trace_start(pair[1], &o));
	write_many(200000);
	fly(&r, &f);
	check(f.last[0] == number - 1 && !r.dropped, "%llu of %llu, %llu dropped", u(f.last[0]),
	      u(number), u(r.dropped));
	pthread_create(&thread, NULL, drain_pipe, &pair[0]);
	check(!at_trace_stop(&t), "%d", t.error);
	check(written(&t) == number - from && t.overwritten && !t.dropped, "%llu of %llu, %llu, %llu",
	      u(written(&t)), u(number - from), u(t.overwritten), u(t.dropped));
	check(!at_flight_stop());
	close(pair[1]);
	pthread_join(thread, NULL);
	close(pair[0]);
	done("recorder_beside_a_full_pipe");
}

/* --- 8 writers ------------------------------------------------------------------------------ */

static struct {
	uint64_t begun;
	uint64_t ended;
} counts[WRITERS];
static bool stop_writers;

static void *write_on(void *arg)
{
	const uintptr_t writer = (uintptr_t)arg;

	for (uint64_t i = 0; !__atomic_load_n(&stop_writers, __ATOMIC_RELAXED); i++) {
		__atomic_store_n(&counts[writer].begun, i + 1, __ATOMIC_RELEASE);
		flown_write(writer, i);
		__atomic_store_n(&counts[writer].ended, i + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static uint64_t sum_of(bool begun)
{
	uint64_t n = 0;

	for (int i = 0; i < WRITERS; i++)
		n += begun ? __atomic_load_n(&counts[i].begun, __ATOMIC_ACQUIRE) :
			     __atomic_load_n(&counts[i].ended, __ATOMIC_ACQUIRE);
	return n;
}

/**
 * struct range - limits of the number of records that were attempted before a start
 * @low: upper limit, counted after the start; with it, check_range() computes the least number of
 *	records after the start
 * @high: lower limit, counted before the start; with it, check_range() computes the greatest number
 *	of records after the start
 */
struct range {
	uint64_t low;
	uint64_t high;
};

static void check_range(const struct range *from, uint64_t ended, uint64_t n, const char *what)
{
	const uint64_t least = ended > from->low ? ended - from->low : 0;

	check(n >= least && n <= sum_of(true) - from->high, "%s: %llu of %llu to %llu", what, u(n),
	      u(least), u(sum_of(true) - from->high));
}

static void toggle_trace(bool *on, int *fd, struct range *from)
{
	struct at_trace_result t;
	struct flown f;
	uint64_t ended;

	if (*on) {
		ended = sum_of(false);
		end_trace(*fd, &t, &f);
		check_range(from, ended, written(&t), "trace");
	} else {
		*fd = memory();
		from->high = sum_of(false);
		check(!at_trace_start(*fd, NULL));
		from->low = sum_of(true);
	}
	*on = !*on;
}

static void toggle_flight(bool *on, struct range *from)
{
	int err;

	if (*on) {
		check(!at_flight_stop());
	} else {
		from->high = sum_of(false);
		/* -EBUSY: on a busy machine the trace's thread may not answer in time. */
		do {
			err = at_flight_start(HOUR, 1 << 20);
		} while (err == -EBUSY);
		check(!err, "%d", err);
		from->low = sum_of(true);
	}
	*on = !*on;
}

static void random_order(void)
{
	const long rounds = scale("FLIGHTS", 30);
	bool trace = false, flight = false;
	struct range of_trace = { 0 }, of_flight = { 0 };
	pthread_t threads[WRITERS];
	struct at_flight_result r;
	uint32_t x = seed();
	uint64_t ended;
	struct flown f;
	int fd = -1;

	for (uintptr_t i = 0; i < WRITERS; i++)
		pthread_create(&threads[i], NULL, write_on, (void *)i);
	for (long i = 0; i < rounds; i++) {
		if (rnd(&x, 2))
			toggle_trace(&trace, &fd, &of_trace);
		else
			toggle_flight(&flight, &of_flight);
		sleep_us(rnd(&x, 2000));
		if (!flight)
			continue;
		ended = sum_of(false);
		fly(&r, &f);
		check_range(&of_flight, ended, flown_attempted(&r), "flight");
	}
	if (trace)
		toggle_trace(&trace, &fd, &of_trace);
	if (flight)
		toggle_flight(&flight, &of_flight);
	__atomic_store_n(&stop_writers, true, __ATOMIC_RELAXED);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	done("G12_random_starts_beside_8_writers: %ld", rounds);
}

int main(void)
{
	orders();
	refused();
	stuck();
	random_order();
	return finish();
}
