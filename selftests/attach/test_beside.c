// SPDX-License-Identifier: GPL-2.0
/*
 * In-process traces and the flight recorder on a machine with the module, in all orders
 *
 * Runs in the test machine.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asynctrace/flight.h>
#include <asynctrace/inprocess.h>
#include <asynctrace/provider.h>
#include <asynctrace/session.h>
#include <asynctrace/trace.h>

#include "beside.h"
#include "flown.h"
#include "tape.h"

#define EVENTS	1000
#define u(x)	((unsigned long long)(x))

static uint64_t number;

static void write_events(void)
{
	for (int i = 0; i < EVENTS; i++)
		flown_write(0, number++);
}

/* --- a trace ------------------------------------------------------------------------------- */

/* Stops the trace. Its counts and its file must have the events @from to @to - 1. */
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

/*
 * If a trace of the process keeps "asynctrace record" from getting any event, the command must
 * name such traces as a possible cause.
 */
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

/* --- beside a session that records the process ----------------------------------------------- */

/* The session gets the events before, during and after the trace; the trace those during it. */
static void trace_beside_session(void)
{
	const uint32_t id = start_session();
	uint64_t from;
	int fd;

	write_events();
	for (int i = 1; i <= 3; i++) {
		fd = memory();
		from = number;
		check(!at_trace_start(fd, NULL) && backend() == ASYNCTRACE_BACKEND_INPROCESS);
		write_events();
		expect_in_session(id, 2 * i * EVENTS);
		end_trace(fd, from, number);
		check(backend() == ASYNCTRACE_BACKEND_MODULE);
		write_events();
		expect_in_session(id, (2 * i + 1) * EVENTS);
	}
	end_session(id);
	done("G12_trace_beside_session_and_session_have_all_events");
}

static void recorder_beside_session(void)
{
	const uint32_t id = start_session();
	uint64_t from = number;

	check(!at_flight_start(0, 0) && backend() == ASYNCTRACE_BACKEND_INPROCESS);
	write_events();
	fly(from, number);
	write_events();
	fly(from, number);
	write_events();
	expect_in_session(id, 3 * EVENTS);
	check(!at_flight_stop() && backend() == ASYNCTRACE_BACKEND_MODULE);
	write_events();
	expect_in_session(id, 4 * EVENTS);
	end_session(id);
	done("G71_recorder_beside_session_and_session_have_all_events");
}

/* The recorder has a session of its own in the module. */
static void trace_beside_recorder(void)
{
	const uint64_t from = number;
	int fd = memory();

	check(!at_flight_start(0, 0) && backend() == ASYNCTRACE_BACKEND_MODULE);
	write_events();
	check(!at_trace_start(fd, NULL));
	write_events();
	end_trace(fd, from + EVENTS, number);
	write_events();
	fly(from, number);
	check(!at_flight_stop());
	done("G71_trace_beside_recorder_of_the_module");
}

/* Changes of the session during a trace take effect at once, and do not disturb the trace. */
static void session_changes_during_trace(void)
{
	const uint64_t from = number;
	uint32_t id = start_session();
	int fd = memory();

	check(!at_trace_start(fd, NULL));
	write_events();
	check(!at_session_stop(ctl, id), "%s", at_ctl_error(ctl));
	write_events();
	expect_in_session(id, EVENTS);
	/* By default a start keeps the records of earlier runs. */
	check(!at_session_start(ctl, id, NULL), "%s", at_ctl_error(ctl));
	write_events();
	expect_in_session(id, 2 * EVENTS);
	end_session(id);
	write_events();
	id = start_session();
	write_events();
	write_events();
	expect_in_session(id, 2 * EVENTS);
	end_trace(fd, from, number);
	write_events();
	expect_in_session(id, 3 * EVENTS);
	end_session(id);
	done("G12_session_changes_during_a_trace_beside_it");
}

/* The session and the trace each record only their own categories. */
static void categories_differ(void)
{
	static const char *const both[] = { "beside.both", "beside.session" };
	const struct at_trace_options o = {
		.size = sizeof(o), .categories = "beside.both,beside.trace",
	};
	const uint32_t id = start_session_of(both, 2, 1 << 20);
	struct at_trace_result r = { .size = sizeof(r) };
	int fd = memory();

	check(!at_trace_start(fd, &o));
	for (int i = 0; i < EVENTS; i++) {
		TRACE_INSTANT("beside.both", "event", TRACE_SCOPE_THREAD, "i", i);
		{
			TRACE_DURATION("beside.session", "a scope", "text", "some text");
		}
		TRACE_COUNTER("beside.trace", "counter", 1, "i", i, "j", 2 * i);
		TRACE_INSTANT("beside.none", "event", TRACE_SCOPE_THREAD);
	}
	check(!at_trace_stop(&r) && flown_valid(fd));
	check(r.delivered == 2 * EVENTS && !r.dropped, "%llu in the trace", u(r.delivered));
	close(fd);
	expect_in_session(id, 2 * EVENTS);
	end_session(id);
	done("G12_trace_and_session_have_their_own_categories");
}

/*
 * A scope that begins before a trace and ends in it belongs to the session only. So does a scope
 * that begins in the trace and ends after it.
 */
static void scopes_cross_the_trace(void)
{
	const uint32_t id = start_session();
	struct at_trace_result r = { .size = sizeof(r) };
	int fd = memory();

	{
		TRACE_DURATION("beside", "before", "text", "a text");
		check(!at_trace_start(fd, NULL));
	}
	TRACE_INSTANT("beside", "event", TRACE_SCOPE_THREAD);
	{
		TRACE_DURATION("beside", "after", "number", 1);
		check(!at_trace_stop(&r));
	}
	check(r.delivered == 1 && !r.dropped, "%llu in the trace", u(r.delivered));
	check(flown_valid(fd));
	close(fd);
	expect_in_session(id, 3);
	end_session(id);
	done("G12_scope_across_the_start_of_a_trace_stays_in_the_session");
}

#define WRITERS	4
#define TRACES	60

static bool enough;
static uint64_t written[WRITERS], in_handler;

/* Any thread may get the signal, also while the handler runs in another thread. */
static void write_in_handler(int sig)
{
	(void)sig;
	flown_write(WRITERS, __atomic_fetch_add(&in_handler, 1, __ATOMIC_RELAXED));
}

static void *write_on(void *arg)
{
	const unsigned int writer = (uintptr_t)arg;
	uint64_t n = 0;

	while (!__atomic_load_n(&enough, __ATOMIC_RELAXED)) {
		flown_write(writer, n++);
		if (!(n % 64))
			usleep(100);
	}
	written[writer] = n;
	return NULL;
}

/*
 * The session accounts for each attempted event. A trace that has dropped none has consecutive
 * events of each writer.
 */
static void threads_write_meanwhile(void)
{
	const struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { 0 };
	const uint32_t id = start_session_of(NULL, 0, 16 << 20);
	uint64_t all = 0, inside = 0;
	pthread_t t[WRITERS];
	struct counts c;

	enough = false;
	signal(SIGALRM, write_in_handler);
	setitimer(ITIMER_REAL, &often, NULL);
	for (uintptr_t i = 0; i < WRITERS; i++)
		check(!pthread_create(&t[i], NULL, write_on, (void *)i));
	for (int i = 0; i < TRACES; i++) {
		struct at_trace_result r = { .size = sizeof(r) };
		struct flown f;
		int fd = memory();

		check(!at_trace_start(fd, NULL));
		usleep(5000);
		check(!at_trace_stop(&r));
		flown_read(fd, &f);
		check(!f.broken && f.events == r.delivered && !r.overwritten);
		for (unsigned int w = 0; w < WRITERS && !r.dropped; w++)
			check(!f.of[w] || flown_whole(&f, w), "writer %u", w);
		inside += r.delivered;
		close(fd);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_IGN);
	__atomic_store_n(&enough, true, __ATOMIC_RELAXED);
	for (int i = 0; i < WRITERS; i++) {
		pthread_join(t[i], NULL);
		all += written[i];
	}
	all += in_handler;
	c = counts_of(id);
	check(c.committed + c.dropped == all && inside, "%llu recorded, %llu dropped, of %llu",
	      u(c.committed), u(c.dropped), u(all));
	printf("# %llu events, %llu in traces, %llu dropped by the session\n", u(all), u(inside),
	       u(c.dropped));
	end_session(id);
	done("G12_no_event_is_uncounted_when_traces_start_and_stop");
}

/* The recorder checks each record. Its file has all events, and each trace its part. */
static void recorder_has_valid_file(void)
{
	const uint64_t from = number;
	char text[4096] = "";
	struct flown f;
	int fd, pid;
	size_t n;
	FILE *out;

	out = popen("echo $$; exec build/asynctrace record -o /tmp/beside.fxt 2>&1", "r");
	check(out && fscanf(out, "%d", &pid) == 1);
	while (!recorded())
		usleep(1000);
	for (int i = 0; i < 5; i++) {
		const uint64_t begun = number;

		fd = memory();
		check(!at_trace_start(fd, NULL));
		write_events();
		end_trace(fd, begun, number);
		write_events();
	}
	check(!kill(pid, SIGINT));
	n = fread(text, 1, sizeof(text) - 1, out);
	text[n] = '\0';
	check(!pclose(out) && strstr(text, "Nothing was lost."), "%s", text);
	fd = open("/tmp/beside.fxt", O_RDONLY | O_CLOEXEC);
	check(fd >= 0);
	flown_read(fd, &f);
	check(!f.broken && f.events == number - from && flown_whole(&f, 0), "%llu of %llu",
	      u(f.events), u(number - from));
	check(flown_valid(fd));
	close(fd);
	done("G12_record_beside_traces_writes_a_valid_file");
}

/* A session also records a forked child of a process that writes a trace beside the session. */
static void child_is_in_session(void)
{
	const uint64_t from = number;
	const uint32_t id = start_session();
	int fd = memory(), status;
	pid_t pid;

	check(!at_trace_start(fd, NULL));
	write_events();
	pid = fork();
	if (!pid) {
		write_events();
		_exit(backend() != ASYNCTRACE_BACKEND_MODULE);
	}
	check(pid > 0 && waitpid(pid, &status, 0) == pid && !status, "%x", status);
	write_events();
	expect_in_session(id, 3 * EVENTS);
	end_trace(fd, from, number);
	end_session(id);
	done("G12_child_of_traced_process_is_in_the_session");
}

/* Returns 0 if the child's own trace has all events that were written during it. */
static int trace_own(void)
{
	struct at_trace_result r = { .size = sizeof(r) };

	if (at_trace_start(memory(), NULL))
		return 1;
	write_events();
	if (at_trace_stop(&r) || r.delivered != EVENTS || r.dropped)
		return 2;
	write_events();
	return backend() == ASYNCTRACE_BACKEND_MODULE ? 0 : 3;
}

/* A child that begins with a trace of its own is in the session of its parent, too. */
static void child_traces_itself(bool parent_traces)
{
	const uint32_t id = start_session();
	const uint64_t from = number;
	int fd = memory(), status;
	pid_t pid;

	if (parent_traces)
		check(!at_trace_start(fd, NULL));
	write_events();
	pid = fork();
	if (!pid)
		_exit(trace_own());
	check(pid > 0 && waitpid(pid, &status, 0) == pid && !status);
	expect_in_session(id, 3 * EVENTS);
	if (parent_traces)
		end_trace(fd, from, number);
	else
		close(fd);
	end_session(id);
}

static void child_has_its_own_trace(void)
{
	child_traces_itself(false);
	child_traces_itself(true);
	done("G12_child_with_its_own_trace_is_in_the_session");
}

/*
 * ASYNCTRACE_OUT traces a program and its forked children, and a session records all of them. Each
 * process says how many events it wrote.
 */
static void scene_is_in_session(const char *program, const char *scene)
{
	const uint32_t id = start_session();
	uint64_t events = 0, n;
	char command[600];
	FILE *out;
	int pid;

	snprintf(command, sizeof(command), "ASYNCTRACE_OUT=/tmp/beside.%%p.fxt exec %s %s", program,
		 scene);
	out = popen(command, "r");
	check(out);
	while (fscanf(out, "%d %" SCNu64, &pid, &n) == 2)
		events += n;
	check(!pclose(out) && events, "%s", scene);
	expect_in_session(id, events);
	end_session(id);
}

static void children_are_in_session(const char *self)
{
	char program[512];

	snprintf(program, sizeof(program), "%.*s/../inprocess/plain/fork_prog",
		 (int)(strrchr(self, '/') - self), self);
	scene_is_in_session(program, "many");
	scene_is_in_session(program, "threads");
	scene_is_in_session(program, "amid");
	check(!system("rm -f /tmp/beside.*.fxt"));
	done("G12_traced_children_are_in_the_session");
}

int main(int argc, char **argv)
{
	(void)argc;
	check(!at_ctl_open(&ctl));
	check(!at_provider_register(NULL));
	recorder_joins();
	session_waits();
	recorder_says_why();
	trace_beside_session();
	recorder_beside_session();
	trace_beside_recorder();
	session_changes_during_trace();
	categories_differ();
	scopes_cross_the_trace();
	threads_write_meanwhile();
	child_is_in_session();
	child_has_its_own_trace();
	children_are_in_session(argv[0]);
	recorder_has_valid_file();
	at_ctl_close(ctl);
	return finish();
}
