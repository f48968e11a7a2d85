// SPDX-License-Identifier: GPL-2.0
/*
 * The library and the module: how processes of all kinds become providers
 *
 * A session over all providers runs. A child does what its case says and writes a known number of
 * events. Afterwards the session must have all events, under the process and the name that wrote
 * them.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asynctrace/inprocess.h>
#include <asynctrace/provider.h>
#include <asynctrace/trace.h>

#include "run.h"
#include "sandbox.h"

#define EVENTS	500

static struct shared {
	int32_t pid[4];		/* of each writer, by emit()'s @who. c_forked_amid()
				   counts its thread's events in the last one */
	uint32_t fd_harmed;
} *sh;

static void emit(int who, int n)
{
	sh->pid[who] = getpid();
	for (int i = 0; i < n; i++)
		if (!nu_emit(who, i, -1))
			_exit(3);
}

static uint32_t path(void)
{
	struct at_status_info st = { .size = sizeof(st) };

	at_status(&st);
	return st.path;
}

/* --- cases; each runs in a child ------------------------------------------------------ */

static void c_first_event(void)
{
	emit(0, EVENTS);
}

static void c_registered(void)
{
	const struct at_provider_options opts = { .size = sizeof(opts), .name = "by name", .version = 7 };

	must(!at_provider_register(&opts));
	emit(0, EVENTS);
	must(!at_provider_unregister());
	/* No event is recorded any more. */
	must(!nu_emit(0, EVENTS, -1) && at_provider_unregister() == -ESRCH);
}

/* A duration that began before two registrations counts as dropped in the second one. */
static void c_again_in_scope(void)
{
	const struct at_provider_options opts = { .size = sizeof(opts) };

	emit(0, EVENTS);
	TRACE_DURATION("law", "begun before");
	must(!at_provider_register(&opts));
	must(!at_provider_register(&opts));
}

/* Registers twice in a row, under two names. */
static void c_again(void)
{
	struct at_provider_options opts = { .size = sizeof(opts), .name = "first name" };

	must(!at_provider_register(&opts));
	emit(0, EVENTS);
	opts.name = "second name";
	must(!at_provider_register(&opts));
	emit(0, 0);
	for (int i = 0; i < EVENTS; i++)
		must(nu_emit(1, i, -1));
}

static void c_forked(void)
{
	pid_t pid;

	emit(0, EVENTS);
	pid = fork();
	if (!pid) {
		emit(1, EVENTS / 2);
		_exit(0);
	}
	reap(pid);
	for (int i = EVENTS; i < 2 * EVENTS; i++)
		must(nu_emit(0, i, -1));
}

/* clone(2) without the C library: no handlers of fork run. */
static void c_cloned(void)
{
	pid_t pid;

	emit(0, EVENTS);
	pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!pid) {
		emit(1, EVENTS / 2);
		_exit(0);
	}
	reap(pid);
}

static volatile bool go_on;

static void *write_on(void *arg)
{
	uint32_t *n = arg;

	while (go_on) {
		if (nu_emit(2, *n, -1))
			++*n;
		sleep_us(200);
	}
	return NULL;
}

/* Forks while another thread writes. */
static void c_forked_amid(void)
{
	uint32_t n = 0;
	pthread_t t;

	emit(0, EVENTS);
	go_on = true;
	must(!pthread_create(&t, NULL, write_on, &n));
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (!pid) {
			alarm(600);
			for (int k = 0; k < 10; k++)
				if (!nu_emit(1, i * 10 + k, -1))
					_exit(3);
			_exit(0);
		}
		reap(pid);
	}
	go_on = false;
	pthread_join(t, NULL);
	sh->pid[3] = n;
}

static void *emit_more(void *arg)
{
	(void)arg;
	/* The library finds its descriptor closed, registers again, and drops this event. */
	nu_emit(1, 0, -1);
	for (int i = 1; i <= EVENTS; i++)
		if (!nu_emit(1, i, -1))
			_exit(3);
	return NULL;
}

/* Closes all descriptors, as daemons do. The library must not use those that take their place. */
static void c_closed_all(void)
{
	int fd, last = -1;
	pthread_t t;

	emit(0, EVENTS);
	must(!syscall(SYS_close_range, 3, ~0u, 0));
	do {
		fd = open("/dev/null", O_RDWR);
		must(fd > last);
		last = fd;
	} while (fd < 600);
	must(!pthread_create(&t, NULL, emit_more, NULL));
	pthread_join(t, NULL);
	for (fd = 3; fd < 600; fd++)
		if (fcntl(fd, F_GETFD) < 0 || write(fd, "", 1) != 1)
			sh->fd_harmed++;
}

/* Without sockets, an ioctl registers instead of netlink. */
static void c_no_sockets(void)
{
	must(!sandbox(SYS_socket, SECCOMP_RET_ERRNO | EPERM, 0));
	must(socket(AF_NETLINK, SOCK_RAW, 16) < 0);
	emit(0, EVENTS);
}

/* If few addresses are available, rings are small. */
static void c_few_addresses(void)
{
	struct rlimit r = { 40 << 20, 40 << 20 };

	must(!setrlimit(RLIMIT_AS, &r));
	emit(0, EVENTS);
}

static void c_few_descriptors(void)
{
	struct rlimit r = { 16, 16 };

	must(!setrlimit(RLIMIT_NOFILE, &r));
	emit(0, EVENTS);
}

static void on_signal(int sig)
{
	(void)sig;
	emit(0, EVENTS);
}

/* The first event is written in a signal handler on a small stack. */
static void c_in_handler(void)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	stack_t ss = { .ss_size = sysconf(_SC_SIGSTKSZ) };

	ss.ss_sp = malloc(ss.ss_size);
	must(!sigaltstack(&ss, NULL) && !sigaction(SIGUSR1, &sa, NULL));
	raise(SIGUSR1);
}

/* The session also has the events during an in-process trace. */
static void c_in_process(void)
{
	struct at_trace_result r = { .size = sizeof(r) };
	int fd = memfd_create("own", MFD_CLOEXEC);

	emit(0, EVENTS);
	must(!at_trace_start(fd, NULL));
	for (int i = EVENTS; i < 2 * EVENTS; i++)
		must(nu_emit(0, i, -1));
	must(!at_trace_stop(&r) && r.delivered == EVENTS && !r.dropped);
	for (int i = 2 * EVENTS; i < 3 * EVENTS; i++)
		must(nu_emit(0, i, -1));
}

static void *one_event(void *arg)
{
	if (!nu_emit((uintptr_t)arg, 0, -1))
		_exit(3);
	return NULL;
}

static void c_many_threads(void)
{
	pthread_t t;

	sh->pid[0] = getpid();
	for (uintptr_t i = 0; i < EVENTS; i++) {
		must(!pthread_create(&t, NULL, one_event, (void *)i));
		pthread_join(t, NULL);
	}
}

static char **self;

/* Executes this program again, because the C library reads tunables only at program start. */
static void c_no_rseq(void)
{
	setenv("GLIBC_TUNABLES", "glibc.pthread.rseq=0", 1);
	setenv("ATTACH_CASE", "no-rseq", 1);
	setenv("ASYNCTRACE_NAME", "without rseq", 1);
	sh->pid[0] = getpid();
	execv("/proc/self/exe", self);
	_exit(4);
}

static int without_rseq(void)
{
	for (int i = 0; i < EVENTS; i++)
		if (!nu_emit(0, i, -1))
			return 3;
	return path() == ASYNCTRACE_PATH_FALLBACK ? 0 : 5;
}

/* --- expected results ----------------------------------------------------------------- */

struct expect {
	const char *name;	/* of the provider; NULL: the program's */
	int who;		/* index of its process */
	uint64_t events;
};

static const struct test {
	const char *name;
	void (*run)(void);
	struct expect expect[3];
} tests[] = {
	{ "first_event_registers", c_first_event, { { NULL, 0, EVENTS } } },
	{ "registered_by_name_and_withdrawn", c_registered, { { "by name", 0, EVENTS } } },
	{ "registered_again_by_another_name", c_again,
	  { { "first name", 0, EVENTS }, { "second name", 0, EVENTS } } },
	{ "I20_scope_over_two_registrations_is_counted", c_again_in_scope,
	  { { NULL, 0, EVENTS } } },
	{ "forked_child_is_a_provider", c_forked,
	  { { NULL, 0, 2 * EVENTS }, { NULL, 1, EVENTS / 2 } } },
	{ "cloned_child_is_a_provider", c_cloned, { { NULL, 0, EVENTS }, { NULL, 1, EVENTS / 2 } } },
	{ "forks_amid_writing_threads", c_forked_amid, { { NULL, 0, 0 } } },
	{ "closed_descriptors_are_replaced", c_closed_all, { { NULL, 0, 0 } } },
	{ "no sockets", c_no_sockets, { { NULL, 0, EVENTS } } },
	{ "few addresses", c_few_addresses, { { NULL, 0, EVENTS } } },
	{ "few descriptors", c_few_descriptors, { { NULL, 0, EVENTS } } },
	{ "first_event_in_a_signal_handler", c_in_handler, { { NULL, 0, EVENTS } } },
	{ "own_trace_takes_no_event_from_the_session", c_in_process, { { NULL, 0, 3 * EVENTS } } },
	{ "500 threads", c_many_threads, { { NULL, 0, EVENTS } } },
	{ "no rseq", c_no_rseq, { { "without rseq", 0, EVENTS } } },
};

static uint64_t events_of(const struct run *run, int32_t pid, const char *name)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < run->rd.nr_providers; i++) {
		const struct rd_provider *p = run->rd.provider[i];

		if (p->pid == pid && (!name || !strcmp(p->name, name)))
			n += rd_sum(&run->rd, ASYNCTRACE_CHUNK_EVENTS, p->id).delivered;
	}
	return n;
}

static void one(struct at_ctl *ctl, const struct test *t)
{
	const struct run_options o = { .name = "attach", .mode = ASYNCTRACE_MODE_ONESHOT,
				       .ring_size = 1 << 20 };
	static struct run run;
	/* In two cases, a record that was begun under the old registration is dropped. */
	const uint64_t dropped = t->run == c_closed_all || t->run == c_again_in_scope;
	struct rd_ring sum;
	pid_t pid;

	ktap_begin("%s", t->name);
	memset(sh, 0, sizeof(*sh));
	memset(&run, 0, sizeof(run));
	run_open(&run, ctl, &o);
	run_start(&run);
	pid = fork();
	if (!pid) {
		t->run();
		_exit(0);
	}
	reap(pid);
	run_stop(&run);
	rd_drain(&run.rd);
	run_terminate(&run);
	rd_drain(&run.rd);
	sum = rd_sum(&run.rd, ASYNCTRACE_CHUNK_EVENTS, 0);
	ktap_check(!run.rd.malformed && !run.seen.spoiled, "%s %s", run.rd.first, run.seen.first);
	ktap_check(sum.dropped == dropped && !sum.overwritten, "%llu dropped",
		   (unsigned long long)sum.dropped);
	for (const struct expect *e = t->expect; e < t->expect + 3 && e->events; e++) {
		const uint64_t n = events_of(&run, sh->pid[e->who], e->name);

		ktap_check(n == e->events, "%llu events of pid %d (%s), not %llu",
			   (unsigned long long)n, sh->pid[e->who], e->name ?: "its program's name",
			   (unsigned long long)e->events);
	}
	if (t->run == c_forked_amid) {
		ktap_check(run.seen.of[0] == EVENTS && run.seen.of[1] == 200 &&
			   run.seen.of[2] == (uint32_t)sh->pid[3],
			   "%u, %u, %u of %d", run.seen.of[0], run.seen.of[1], run.seen.of[2],
			   sh->pid[3]);
	}
	if (t->run == c_closed_all) {
		ktap_check(run.seen.of[0] == EVENTS, "%u", run.seen.of[0]);
		ktap_check(run.seen.of[1] == EVENTS, "%u after closing", run.seen.of[1]);
		ktap_check(!sh->fd_harmed, "%u descriptors harmed", sh->fd_harmed);
	}
	run_close(&run);
	ktap_end();
}

int main(int argc, char **argv)
{
	struct at_ctl *ctl;

	(void)argc;
	self = argv;
	if (getenv("ATTACH_CASE"))
		return without_rseq();
	sh = shared_memory(sizeof(*sh));
	if (at_ctl_open(&ctl))
		ktap_bail("%s", at_ctl_error(ctl));
	ktap_plan(sizeof(tests) / sizeof(tests[0]));
	for (const struct test *t = tests; t < tests + sizeof(tests) / sizeof(tests[0]); t++)
		one(ctl, t);
	at_ctl_close(ctl);
	return ktap_exit();
}
