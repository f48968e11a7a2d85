// SPDX-License-Identifier: GPL-2.0
/*
 * Scopes that begin in one run of a session or an in-process trace, and end in another
 *
 * A scope or region belongs to the runs in which it began. This test needs the module.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <asynctrace/inprocess.h>
#include <asynctrace/operation.h>
#include <asynctrace/provider.h>
#include <asynctrace/trace.h>

#include "beside.h"
#include "flown.h"
#include "tape.h"

#define EVENTS	100
#define u(x)	((unsigned long long)(x))

static int start_trace(const char *categories)
{
	const struct at_trace_options o = { .size = sizeof(o), .categories = categories };
	int fd = memory();

	check(!at_trace_start(fd, &o));
	return fd;
}

/* Stops the trace, which must have @records records. */
static void stop_trace(int fd, uint64_t records)
{
	struct at_trace_result r = { .size = sizeof(r) };
	struct flown f;

	check(!at_trace_stop(&r) && r.delivered == records && !r.dropped,
	      "%llu in the trace, %llu dropped, of %llu", u(r.delivered), u(r.dropped),
	      u(records));
	flown_read(fd, &f);
	check(!f.broken);
	close(fd);
}

static void restart(uint32_t id)
{
	check(!at_session_stop(ctl, id) && !at_session_start(ctl, id, NULL), "%s",
	      at_ctl_error(ctl));
}

static void event(void)
{
	TRACE_INSTANT("runs", "event", TRACE_SCOPE_THREAD, "text", "a text");
}

static void *write_one(void *arg)
{
	(void)arg;
	event();
	return NULL;
}

static void write_on_new_thread(void)
{
	pthread_t t;

	check(!pthread_create(&t, NULL, write_one, NULL));
	pthread_join(t, NULL);
}

/* --- durations ------------------------------------------------------------------------------ */

static void scope_ends_in_next_trace(void)
{
	const uint32_t id = start_session();
	int fd = start_trace(NULL);

	{
		TRACE_DURATION("runs", "scope", "text", "a text");
		stop_trace(fd, 0);
		fd = start_trace(NULL);
	}
	event();
	stop_trace(fd, 1);
	expect_in_session(id, 2);
	end_session(id);
	done("G12_scope_over_two_traces_is_in_the_session");
}

/*
 * Another thread writes the first record of the new run. This thread must still notice that its
 * scope began in the earlier run.
 */
static void scope_of_earlier_run(void)
{
	const uint32_t id = start_session();
	int fd = start_trace(NULL);

	{
		TRACE_DURATION("runs", "scope", "number", 1);
		restart(id);
		write_on_new_thread();
		stop_trace(fd, 1);
	}
	expect_in_session(id, 1);
	fd = start_trace(NULL);
	{
		TRACE_DURATION("runs", "scope", "number", 1);
		restart(id);
		write_on_new_thread();
	}
	stop_trace(fd, 2);
	expect_in_session(id, 2);
	end_session(id);
	done("G12_scope_of_earlier_run_is_not_in_the_session");
}

static void scope_of_trace_only(void)
{
	static const char *const others[] = { "others" };
	const uint32_t id = start_session_of(others, 1, 1 << 20);
	int fd = start_trace("runs");

	{
		TRACE_DURATION("runs", "scope", "number", 1);
		TRACE_REGION("runs", "region");
		TRACE_DURATION("others", "scope", "number", 1);
		stop_trace(fd, 1);
	}
	expect_in_session(id, 1);
	end_session(id);
	done("G12_scope_of_trace_only_is_not_in_the_session");
}

/* --- regions -------------------------------------------------------------------------------- */

static void region_around_trace(void)
{
	const uint32_t id = start_session();
	int fd;

	{
		TRACE_REGION("runs", "outer");
		fd = start_trace(NULL);
		{
			TRACE_REGION("runs", "inner");
		}
		stop_trace(fd, 2);
	}
	expect_in_session(id, 4);
	{
		TRACE_REGION("runs", "outer");
		{
			TRACE_REGION("runs", "middle");
			fd = start_trace(NULL);
			{
				TRACE_REGION("runs", "inner");
			}
		}
		{
			TRACE_REGION("runs", "inner");
		}
		stop_trace(fd, 4);
	}
	expect_in_session(id, 4 + 8);
	end_session(id);
	done("G12_region_around_a_trace_ends_in_the_session");
}

static void region_over_end(void)
{
	const uint32_t id = start_session();
	int fd = start_trace(NULL);

	{
		TRACE_REGION("runs", "outer");
		{
			TRACE_REGION("runs", "middle");
			stop_trace(fd, 2);
			TRACE_REGION("runs", "inner");
		}
		fd = start_trace(NULL);
		event();
	}
	stop_trace(fd, 1);
	expect_in_session(id, 7);
	end_session(id);
	done("G12_region_over_ends_of_traces_ends_in_the_session");
}

static void region_over_restart(void)
{
	uint32_t id = start_session();
	int fd;

	/* Advance the generation by more than 256: regions compare only some of its bits. */
	for (int i = 0; i < 300; i++)
		check(!at_session_update(ctl, id, 0, NULL), "%s", at_ctl_error(ctl));
	restart(id);
	fd = start_trace(NULL);
	{
		TRACE_REGION("runs", "one run");
	}
	expect_in_session(id, 2);
	{
		TRACE_REGION("runs", "two runs");
		restart(id);
		TRACE_REGION("runs", "inner");
	}
	stop_trace(fd, 6);
	expect_in_session(id, 5);
	end_session(id);
	done("G12_region_ends_only_in_the_run_of_its_begin");
}

/* --- threads and registrations -------------------------------------------------------------- */

static void thread_of_session_only(void)
{
	const uint32_t id = start_session();
	int fd = start_trace("others");

	write_on_new_thread();
	stop_trace(fd, 0);
	expect_in_session(id, 1);
	end_session(id);
	done("G12_first_record_of_thread_is_for_the_session");
}

static bool enough;
static uint64_t written;

static void *write_on(void *arg)
{
	uint64_t n = 0;

	while (!__atomic_load_n(&enough, __ATOMIC_RELAXED)) {
		event();
		if (!(++n % 16))
			usleep(100);
	}
	__atomic_fetch_add(&written, n, __ATOMIC_RELAXED);
	return arg;
}

#define THREADS		3
#define REGISTRATIONS	8	/* the session keeps the rings of each */

/* Registrations alternate between two ring sizes, so that the rings change their address. */
static void registers_again(void)
{
	static const char *const names[] = { "runs-0", "runs-1" };
	struct at_trace_result r = { .size = sizeof(r) };
	struct at_provider_options o = { .size = sizeof(o) };
	const uint32_t id = start_session();
	pthread_t t[THREADS];
	struct counts c;
	int fd = start_trace(NULL);

	enough = false;
	written = 0;
	for (int i = 0; i < THREADS; i++)
		check(!pthread_create(&t[i], NULL, write_on, NULL));
	{
		TRACE_DURATION("runs", "scope");
		TRACE_REGION("runs", "region");
		for (int i = 0; i < REGISTRATIONS; i++) {
			o.name = names[i % 2];
			o.ring_reserve = i % 2 ? 4 << 20 : 16 << 20;
			check(!at_provider_register(&o));
			usleep(20000);
		}
	}
	__atomic_store_n(&enough, true, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	written += 3;
	check(!at_trace_stop(&r) && r.delivered + r.dropped == written, "%llu + %llu of %llu",
	      u(r.delivered), u(r.dropped), u(written));
	check(r.dropped ? flown_valid_but_lossy(fd) : flown_valid(fd));
	close(fd);
	c = counts_of(id);
	check(c.committed + c.dropped == written && c.committed, "%llu + %llu of %llu",
	      u(c.committed), u(c.dropped), u(written));
	printf("# %llu events, %llu in the trace, %llu in the session\n", u(written),
	       u(r.delivered), u(c.committed));
	end_session(id);
	done("I20_no_event_is_uncounted_when_registering_again");
}

#define SPARE	32	/* more than the descriptors of this test */

/*
 * A daemon closes all descriptors. Its threads register again.
 *
 * The trace's thread may just read a file, and closes it afterwards by its number. Descriptors of
 * /dev/null take those numbers, so that the thread does not close the connection to the module.
 */
static void closes_all(void)
{
	int spare[SPARE];
	const uint32_t id = start_session();
	struct counts c;
	int fd = start_trace(NULL);

	event();
	check(!syscall(SYS_close_range, fd + 1, ~0u, 0));
	for (int i = 0; i < SPARE; i++)
		spare[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
	check(!at_ctl_open(&ctl));
	write_on_new_thread();
	event();
	stop_trace(fd, 3);
	event();
	c = counts_of(id);
	check(c.committed == 4 && !c.dropped, "%llu, %llu dropped", u(c.committed), u(c.dropped));
	end_session(id);
	for (int i = 0; i < SPARE; i++)
		close(spare[i]);
	done("I20_closed_descriptors_are_replaced_in_a_trace");
}

int main(void)
{
	check(!at_ctl_open(&ctl));
	check(!at_provider_register(NULL));
	scope_ends_in_next_trace();
	scope_of_earlier_run();
	scope_of_trace_only();
	region_around_trace();
	region_over_end();
	region_over_restart();
	thread_of_session_only();
	registers_again();
	closes_all();
	at_ctl_close(ctl);
	return finish();
}
