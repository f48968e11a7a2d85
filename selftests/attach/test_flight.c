// SPDX-License-Identifier: GPL-2.0
/*
 * The flight recorder on a machine with the module: it uses a circular session of the module
 * unless another session records the process
 *
 * Runs in the test machine.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asynctrace/flight.h>
#include <asynctrace/inprocess.h>
#include <asynctrace/provider.h>
#include <asynctrace/session.h>

#include "flown.h"
#include "tape.h"

#define HOUR	3600000000000ull
#define u(x)	((unsigned long long)(x))

static uint64_t number;

static int memory(void)
{
	return memfd_create("flight", MFD_CLOEXEC);
}

static void write_many(uint64_t n)
{
	while (n--)
		flown_write(0, number++);
}

static void fly(struct at_flight_result *r, struct flown *f)
{
	int fd = memory();

	*r = (struct at_flight_result){ .size = sizeof(*r) };
	check(!at_flight_write(fd, r), "%d", r->error);
	flown_read(fd, f);
	check(!f->broken && f->events == r->delivered, "%llu in the file, %llu delivered",
	      u(f->events), u(r->delivered));
	check(!r->malformed && !r->unwritten);
	check(flown_valid(fd));
	close(fd);
}

static enum at_backend backend(void)
{
	struct at_status_info st = { .size = sizeof(st) };

	at_status(&st);
	return st.backend;
}

static int count_sessions(const struct at_session_info *s, void *arg)
{
	if (s->mode == ASYNCTRACE_MODE_CIRCULAR && !strncmp(s->name, "flight-", 7))
		++*(unsigned int *)arg;
	return 0;
}

static unsigned int sessions(void)
{
	unsigned int n = 0;
	struct at_ctl *ctl;

	check(!at_ctl_open(&ctl));
	check(!at_for_each_session(ctl, count_sessions, &n));
	at_ctl_close(ctl);
	return n;
}

static void repeated(void)
{
	struct at_flight_result r;
	struct flown f;

	check(!at_flight_start(0, 0));
	check(backend() == ASYNCTRACE_BACKEND_MODULE && sessions() == 1);
	check(at_flight_start(0, 0) == -EBUSY);
	for (uint64_t i = 1; i <= 5; i++) {
		write_many(1000);
		fly(&r, &f);
		check(r.delivered == 1000 * i && flown_attempted(&r) == r.delivered);
		check(flown_whole(&f, 0) && f.last[0] == number - 1);
	}
	check(!at_flight_stop() && at_flight_stop() == -ESRCH);
	check(!sessions());
	done("G71_module_repeated_files_are_whole");
}

static void wrapped(void)
{
	const uint64_t n = 100000;
	struct at_flight_result r;
	struct flown f;

	pin(nth_cpu(0));
	number = 0;
	check(!at_flight_start(0, 256 << 10));
	write_many(n);
	fly(&r, &f);
	check(flown_attempted(&r) == n && r.overwritten, "%llu, %llu overwritten",
	      u(flown_attempted(&r)), u(r.overwritten));
	check(flown_whole(&f, 0) && f.last[0] == n - 1);
	check(!at_flight_stop());
	done("module_ledger_of_a_wrapped_ring_is_exact");
}

/* Does a switch in the file name the system call in which the thread blocked? */
static bool names_sleep(int fd)
{
	char command[256];

	snprintf(command, sizeof(command),
		 "build/asynctrace dump /proc/%d/fd/%d | grep -q '\"syscall\":string=\"clock_nanosleep\"'",
		 getpid(), fd);
	fflush(stdout);
	return !system(command);
}

static void reasons(void)
{
	int fd = memory();

	check(!at_flight_start(0, 0));
	write_many(1);
	usleep(10000);
	write_many(1);
	check(!at_flight_write(fd, NULL));
	check(flown_valid(fd) && names_sleep(fd));
	check(!at_flight_stop());
	close(fd);
	done("module_switches_name_the_system_call");
}

/* The recorder's file has the events of a trace, too. */
static void trace(void)
{
	struct at_trace_result res = { .size = sizeof(res) };
	struct at_flight_result r;
	int fd = memory();
	struct flown f;

	number = 0;
	check(!at_flight_start(0, 0));
	write_many(100);
	check(!at_trace_start(fd, NULL));
	write_many(100);
	fly(&r, &f);
	check(r.delivered == 200 && flown_attempted(&r) == 200 && flown_whole(&f, 0));
	check(!at_trace_stop(&res) && res.delivered == 100 && !res.dropped);
	check(backend() == ASYNCTRACE_BACKEND_MODULE);
	write_many(100);
	fly(&r, &f);
	check(r.delivered == 300 && flown_attempted(&r) == 300 && flown_whole(&f, 0));
	check(!at_flight_stop());
	close(fd);
	done("module_recorder_has_the_events_of_a_trace");
}

static void other_session(void)
{
	const struct at_session_options o = {
		.size = sizeof(o), .mode = ASYNCTRACE_MODE_STREAMING, .name = "other",
		.ring_size = 64 << 10,
	};
	struct at_flight_result r;
	struct at_ctl *ctl;
	struct flown f;
	uint32_t id;

	check(!at_ctl_open(&ctl));
	check(!at_session_create(ctl, &o, &id) && !at_session_init(ctl, id) &&
	      !at_session_start(ctl, id, NULL), "%s", at_ctl_error(ctl));
	number = 0;
	check(!at_flight_start(0, 0));
	check(!sessions() && backend() == ASYNCTRACE_BACKEND_INPROCESS);
	write_many(100);
	fly(&r, &f);
	check(r.delivered == 100 && flown_attempted(&r) == 100 && flown_whole(&f, 0));
	check(!at_flight_stop() && backend() == ASYNCTRACE_BACKEND_MODULE);
	check(!at_session_destroy(ctl, id));
	check(!at_flight_start(0, 0) && sessions() == 1 && !at_flight_stop());
	at_ctl_close(ctl);
	done("recorder_beside_a_session_has_own_rings");
}

/*
 * When the recorder stops, its session must end, although a child that was forked meanwhile still
 * lives.
 */
static void child(void)
{
	struct at_flight_result r;
	struct flown f;
	int pair[2], status;
	char byte;
	pid_t pid;

	check(!pipe(pair));
	check(!at_flight_start(0, 0));
	pid = fork();
	if (!pid) {
		close(pair[1]);
		status = at_flight_write(memory(), NULL) != -ESRCH;
		_exit(read(pair[0], &byte, 1) | status);
	}
	close(pair[0]);
	number = 0;
	write_many(100);
	fly(&r, &f);
	check(r.delivered == 100);
	check(!at_flight_stop());
	check(!sessions());
	close(pair[1]);
	check(waitpid(pid, &status, 0) == pid && !status, "%#x", status);
	done("module_session_ends_with_its_process");
}

static int find_socket(void)
{
	struct stat st;
	int fd = 1024;

	while (--fd > 2)
		if (!fstat(fd, &st) && S_ISSOCK(st.st_mode))
			return fd;
	return -1;
}

/* A program closes all descriptors, as daemons do, and then opens files of its own. */
static void descriptors_closed(void)
{
	int fd = memory(), socket;

	check(!at_flight_start(0, 0) && sessions() == 1);
	socket = find_socket();
	check(socket >= 0);
	check(dup2(fd, socket) == socket);
	check(!at_flight_stop());
	check(fcntl(socket, F_GETFD) >= 0);
	close(socket);
	close(fd);
	check(!sessions());
	done("module_recorder_closes_no_file_of_the_program");
}

static int file;

static void on_crash(int sig)
{
	(void)sig;
	_exit(at_flight_write(file, NULL) ? 1 : 0);
}

static void crash(void)
{
	struct flown f;
	int status;
	pid_t pid;

	file = memory();
	pid = fork();
	if (!pid) {
		signal(SIGSEGV, on_crash);
		number = 0;
		if (at_flight_start(0, 0))
			_exit(2);
		write_many(1000);
		raise(SIGSEGV);
	}
	check(waitpid(pid, &status, 0) == pid && !status, "%#x", status);
	flown_read(file, &f);
	check(!f.broken && f.events == 1000 && f.last[0] == 999, "%llu", u(f.events));
	check(flown_valid(file));
	close(file);
	done("module_crash_leaves_a_whole_file");
}

int main(void)
{
	repeated();
	wrapped();
	reasons();
	trace();
	other_session();
	child();
	descriptors_closed();
	crash();
	return finish();
}
