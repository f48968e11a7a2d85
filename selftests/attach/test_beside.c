// SPDX-License-Identifier: GPL-2.0
/*
 * In-process traces and the flight recorder on a machine with the module, in the orders that work
 *
 * Runs in the test machine.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <asynctrace/flight.h>
#include <asynctrace/inprocess.h>
#include <asynctrace/provider.h>
#include <asynctrace/session.h>

#include "flown.h"
#include "tape.h"

#define EVENTS	1000
#define u(x)	((unsigned long long)(x))

static uint64_t number;
static struct at_ctl *ctl;

static int memory(void)
{
	return memfd_create("beside", MFD_CLOEXEC);
}

static void write_events(void)
{
	for (int i = 0; i < EVENTS; i++)
		flown_write(0, number++);
}

static enum at_backend backend(void)
{
	struct at_status_info st = { .size = sizeof(st) };

	at_status(&st);
	return st.backend;
}

/* --- a session over all providers ---------------------------------------------------------- */

struct counts {
	uint64_t committed, dropped;
};

static int add_ring(const struct at_ring_info *ring, void *arg)
{
	struct counts *c = arg;

	if (!ring->provider)
		return 0;
	c->committed += ring->committed;
	c->dropped += ring->dropped;
	return 0;
}

static struct counts counts_of(uint32_t session)
{
	struct counts c = { 0 };

	check(!at_for_each_ring(ctl, session, add_ring, &c), "%s", at_ctl_error(ctl));
	return c;
}

static uint32_t start_session(void)
{
	const struct at_session_options o = {
		.size = sizeof(o), .mode = ASYNCTRACE_MODE_ONESHOT, .name = "beside",
		.ring_size = 1 << 20,
	};
	uint32_t id = 0;

	check(!at_session_create(ctl, &o, &id) && !at_session_init(ctl, id) &&
	      !at_session_start(ctl, id, NULL), "%s", at_ctl_error(ctl));
	return id;
}

static void end_session(uint32_t id)
{
	check(!at_session_destroy(ctl, id), "%s", at_ctl_error(ctl));
}

/* --- a trace ------------------------------------------------------------------------------- */

/* Stops the trace. The file must have the events @from until before @to, and the counts say so. */
static void end_trace(int fd, uint64_t from, uint64_t to)
{
	struct at_trace_result r = { .size = sizeof(r) };
	struct flown f;

	check(!at_trace_stop(&r), "%d", r.error);
	flown_read(fd, &f);
	check(r.delivered == to - from && !r.overwritten && !r.dropped, "%llu of %llu",
	      u(r.delivered), u(to - from));
	check(!f.broken && f.events == to - from && flown_whole(&f, 0) && f.first[0] == from,
	      "%llu in the file", u(f.events));
	check(flown_valid(fd));
	close(fd);
}

/* Writes the flight recorder to a file, which must have the events @from until before @to. */
static void fly(uint64_t from, uint64_t to)
{
	struct at_flight_result r = { .size = sizeof(r) };
	struct flown f;
	int fd = memory();

	check(!at_flight_write(fd, &r), "%d", r.error);
	flown_read(fd, &f);
	check(r.delivered == to - from && flown_attempted(&r) == r.delivered, "%llu of %llu",
	      u(r.delivered), u(to - from));
	check(!f.broken && f.events == to - from && flown_whole(&f, 0));
	check(flown_valid(fd));
	close(fd);
}

static void both(bool trace_ends_first)
{
	const uint64_t from = number;
	int fd = memory();

	check(!at_trace_start(fd, NULL) && backend() == ASYNCTRACE_BACKEND_INPROCESS);
	write_events();
	check(!at_flight_start(0, 0));
	write_events();
	fly(from + EVENTS, number);
	if (trace_ends_first)
		end_trace(fd, from, number);
	else
		check(!at_flight_stop());
	write_events();
	if (trace_ends_first) {
		fly(from + EVENTS, number);
		check(!at_flight_stop());
	} else {
		end_trace(fd, from, number);
	}
	check(backend() == ASYNCTRACE_BACKEND_MODULE);
}

static void recorder_joins(void)
{
	both(true);
	both(false);
	done("G71_recorder_joins_a_trace_beside_module");
}

/* The session gets the process when the trace ends, not before, and misses nothing afterwards. */
static void session_waits(void)
{
	const uint64_t from = number;
	int fd = memory();
	struct counts c;
	uint32_t id;

	check(!at_trace_start(fd, NULL));
	write_events();
	id = start_session();
	write_events();
	c = counts_of(id);
	check(!c.committed && !c.dropped, "%llu in the session", u(c.committed));
	end_trace(fd, from, number);
	check(backend() == ASYNCTRACE_BACKEND_MODULE);
	write_events();
	c = counts_of(id);
	check(c.committed == EVENTS && !c.dropped, "%llu in the session, %llu dropped",
	      u(c.committed), u(c.dropped));
	end_session(id);
	done("G12_session_gets_process_after_its_trace");
}

/* A recorder that gets nothing because of the trace names it as a possible cause. */
static void recorder_says_why(void)
{
	char text[4096] = "";
	int fd = memory();
	FILE *out;
	size_t n;

	check(!at_trace_start(fd, NULL));
	out = popen("build/asynctrace record -d 0.2 -o /tmp/beside.fxt 2>&1", "r");
	check(out);
	write_events();
	n = fread(text, 1, sizeof(text) - 1, out);
	text[n] = '\0';
	check(!pclose(out) && strstr(text, "traces of\n  their own"), "%s", text);
	check(!at_trace_stop(NULL));
	close(fd);
	done("G12_record_names_own_traces_as_a_cause");
}

/* A trace that is refused leaves the process in its session. */
static void trace_is_refused(void)
{
	const uint32_t id = start_session();
	int fd = memory();
	struct counts c;

	write_events();
	check(at_trace_start(fd, NULL) == -EBUSY && at_flight_start(0, 0) == -EBUSY);
	check(at_trace_stop(NULL) == -ESRCH && at_flight_stop() == -ESRCH);
	check(lseek(fd, 0, SEEK_END) == 0);
	write_events();
	c = counts_of(id);
	check(c.committed == 2 * EVENTS && !c.dropped, "%llu in the session", u(c.committed));
	end_session(id);
	close(fd);
	done("G1_refused_trace_leaves_process_in_session");
}

int main(void)
{
	check(!at_ctl_open(&ctl));
	check(!at_provider_register(NULL));
	recorder_joins();
	session_waits();
	recorder_says_why();
	trace_is_refused();
	at_ctl_close(ctl);
	return finish();
}
