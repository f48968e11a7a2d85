// SPDX-License-Identifier: GPL-2.0
/*
 * Users who must not notice an attack
 *
 * usage: victim record PATTERN...
 *	Run by root. Records the providers that PATTERN matches, creates and ends other sessions,
 *	and runs programs of user VICTIM. Each line on standard input begins the measurement of CPU
 *	time anew; the end of standard input ends this.
 *
 * usage: victim program REPORT
 *	Such a program. Registers, writes events, forks a child that does the same, and exits.
 *
 * Each operation must succeed, and for each program written = delivered + overwritten + cleared +
 * dropped must hold exactly. At its end, "record" prints how long the operations took, and their CPU
 * time: in a machine whose clock counts instructions, the number of instructions.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <asynctrace/provider.h>
#include <asynctrace/session.h>

#include "run.h"
#include "raw.h"

#define VICTIM		2000
#define EVENTS		200
#define GATE_MS		120000	/* how long a program waits until the session records it */
#define RING_SIZE	(64 << 10)
#define PAUSE_US	20000
#define PATTERNS_MAX	8

struct cost {
	uint64_t us;		/* elapsed time */
	uint64_t cpu_ns;	/* CPU time of the calling thread */
};

/* A program's report on one of its processes */
struct report {
	uint32_t provider;
	uint32_t written;
	bool forked;		/* it has forked a child, which reported before */
	struct cost registration, events, fork;
	struct cost wait;	/* until it was recorded */
	uint64_t cpu_ns;	/* CPU time of its main thread until this report */
	uint64_t child_ns;	/* CPU time of its child in all */
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static struct cost now(void)
{
	return (struct cost){
		.us = clock_ns(CLOCK_MONOTONIC) / 1000,
		.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID),
	};
}

static struct cost since(struct cost begin)
{
	const struct cost end = now();

	return (struct cost){ end.us - begin.us, end.cpu_ns - begin.cpu_ns };
}

/* --- a program of another user --------------------------------------------------------- */

static int report_fd;

/* Waits until a session records this process. */
static void be_recorded(struct report *r)
{
	struct at_status_info status = { .size = sizeof(status) };
	const struct cost begin = now();

	while (!nu_gate()) {
		if (since(begin).us > GATE_MS * 1000ULL)
			break;
		sleep_us(500);
	}
	r->wait = since(begin);
	if (!at_status(&status))
		r->provider = status.provider;
}

static void write_events(struct report *r)
{
	const struct cost begin = now();

	for (int i = 0; i < EVENTS; i++)
		r->written += !!nu_emit(getpid() % NU_WRITERS, r->written, -1);
	r->events = since(begin);
}

static int send_report(struct report *r)
{
	r->cpu_ns = now().cpu_ns;
	return write(report_fd, r, sizeof(*r)) == sizeof(*r) && r->written ? 0 : 1;
}

static uint64_t cpu_ns_of(const struct rusage *u)
{
	return (u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1000000000ULL +
	       (u->ru_utime.tv_usec + u->ru_stime.tv_usec) * 1000ULL;
}

static int program(const char *fd)
{
	const struct at_provider_options opts = { .size = sizeof(opts), .name = "victim" };
	struct report r = { 0 }, child = { 0 };
	struct cost begin = now();
	struct rusage used;
	int status = -1, err;
	pid_t pid;

	report_fd = atoi(fd);
	prctl(PR_SET_NAME, "vic-program", 0, 0, 0);
	err = at_provider_register(&opts);
	if (err) {
		printf("# register: %s\n", strerror(-err));
		return 1;
	}
	r.registration = since(begin);
	be_recorded(&r);
	write_events(&r);
	begin = now();
	pid = fork();
	if (!pid) {
		begin = now();
		prctl(PR_SET_NAME, "vic-child", 0, 0, 0);
		/* The first look at the gate registers the child. */
		nu_gate();
		child.registration = since(begin);
		be_recorded(&child);
		write_events(&child);
		_exit(send_report(&child));
	}
	r.fork = since(begin);
	r.forked = true;
	write_events(&r);
	if (pid < 0 || wait4(pid, &status, 0, &used) != pid || status) {
		printf("# fork: status %d\n", status);
		return 1;
	}
	r.child_ns = cpu_ns_of(&used);
	return send_report(&r);
}

/* --- measurements ----------------------------------------------------------------------- */

enum operation {
	PROGRAM, WAIT, REGISTER, WRITE, FORK, CHILD, EXIT, CREATE, INIT, START, STOP, TERMINATE,
	OPERATIONS
};

static const char *const operations[OPERATIONS] = {
	"program", "wait", "register", "write", "fork", "child", "exit", "create", "init", "start",
	"stop", "terminate",
};

/*
 * Measurements. Only one thread measures each operation.
 *
 * least_ns is the CPU time of an operation which no interrupt handler interrupted and, as the CPUs
 * take turns, during which the clock counted no instructions of another CPU.
 */
static struct {
	uint64_t longest_us;
	uint64_t *cpu_ns;
	size_t nr, room;
	_Atomic uint64_t least_ns;	/* since measure_anew() */
} figures[OPERATIONS];

static atomic_bool leave;
static atomic_uint failures;

static void measured(enum operation op, struct cost cost)
{
	if (figures[op].longest_us < cost.us)
		figures[op].longest_us = cost.us;
	if (figures[op].least_ns > cost.cpu_ns)
		figures[op].least_ns = cost.cpu_ns;
	if (figures[op].nr == figures[op].room) {
		figures[op].room = figures[op].room ? 2 * figures[op].room : 1024;
		figures[op].cpu_ns = realloc(figures[op].cpu_ns,
					     figures[op].room * sizeof(uint64_t));
		must(figures[op].cpu_ns);
	}
	figures[op].cpu_ns[figures[op].nr++] = cost.cpu_ns;
}

static void measure_anew(void)
{
	for (int i = 0; i < OPERATIONS; i++)
		figures[i].least_ns = UINT64_MAX;
}

static int compare_numbers(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t quartile_ns(enum operation op)
{
	if (!figures[op].nr)
		return 0;
	qsort(figures[op].cpu_ns, figures[op].nr, sizeof(uint64_t), compare_numbers);
	return figures[op].cpu_ns[figures[op].nr / 4];
}

static void print_figures(void)
{
	printf("# operations (longest in ms):");
	for (int i = 0; i < OPERATIONS; i++)
		printf(" %zu %s (%.1f)", figures[i].nr, operations[i],
		       figures[i].longest_us / 1000.0);
	/* A program lasts longer than a CPU's turn. Its parts are measured. */
	printf("\n# CPU time (least and lower quartile, in us):");
	for (int i = REGISTER; i < OPERATIONS; i++)
		printf(" %s %.1f %.1f", operations[i], figures[i].least_ns / 1000.0,
		       quartile_ns(i) / 1000.0);
	putchar('\n');
}

static void __attribute__((format(printf, 1, 2))) fail(const char *fmt, ...)
{
	va_list ap;

	failures++;
	printf("# victim: ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

/* --- the recorder ---------------------------------------------------------------------------- */

/* Counts by the session's chunks of one ring */
struct ring {
	uint32_t provider, ring;
	bool fallback, last;
	uint64_t delivered, overwritten, cleared, dropped, found;
};

static struct ring *rings;
static size_t nr_rings, room;

/* Search from the newest ring: providers come and go, and new chunks belong to running ones. */
static struct ring *find_ring(uint32_t provider, uint32_t index, bool fallback)
{
	for (size_t i = nr_rings; i--; )
		if (rings[i].provider == provider && rings[i].ring == index &&
		    rings[i].fallback == fallback)
			return &rings[i];
	if (nr_rings == room) {
		room = room ? 2 * room : 1024;
		rings = realloc(rings, room * sizeof(*rings));
		must(rings);
	}
	rings[nr_rings] = (struct ring){
		.provider = provider, .ring = index, .fallback = fallback,
	};
	return &rings[nr_rings++];
}

static void take_chunk(const struct asynctrace_chunk *c)
{
	struct ring *r;

	if (c->kind != ASYNCTRACE_CHUNK_EVENTS)
		return;
	r = find_ring(c->provider, c->ring, c->flags & ASYNCTRACE_CHUNK_F_FALLBACK);
	r->found += c->records;
	r->delivered = c->delivered;
	r->overwritten = c->overwritten;
	r->cleared = c->cleared;
	r->dropped = c->dropped;
	r->last |= !!(c->flags & ASYNCTRACE_CHUNK_F_LAST);
}

static int session_fd;

/* Reads a chunk. Returns false if none is left. */
static bool read_chunk(void)
{
	static char buf[ASYNCTRACE_READ_MIN] __attribute__((aligned(8)));
	ssize_t n = read(session_fd, buf, sizeof(buf));

	if (n < 0 && errno != EAGAIN && errno != EINTR)
		fail("read: %s", strerror(errno));
	if (n < (ssize_t)sizeof(struct asynctrace_chunk))
		return false;
	take_chunk((void *)buf);
	return true;
}

static void *reader(void *arg)
{
	struct pollfd p = { .fd = session_fd, .events = POLLIN };

	prctl(PR_SET_NAME, "vic-reader", 0, 0, 0);
	while (!leave) {
		poll(&p, 1, 100);
		while (!leave && read_chunk())
			;
	}
	return arg;
}

/* --- other sessions ------------------------------------------------------------- */

static int start(struct at_ctl *ctl, uint32_t id)
{
	return at_session_start(ctl, id, NULL);
}

static void session_step(struct at_ctl *ctl, enum operation op, uint32_t id,
			 int (*request)(struct at_ctl *ctl, uint32_t id))
{
	const struct cost begin = now();
	int err = request(ctl, id);

	measured(op, since(begin));
	if (err)
		fail("%s: %s", operations[op], at_ctl_error(ctl));
}

static void *controller(void *arg)
{
	const char *const nobody = "victim of nobody";
	const struct at_session_options opts = {
		.size = sizeof(opts), .name = "controller", .mode = ASYNCTRACE_MODE_CIRCULAR,
		.sched = ASYNCTRACE_SCHED_TARGETS, .ring_size = RING_SIZE,
		.nr_providers = 1, .providers = &nobody,
	};
	struct at_ctl *ctl;
	struct cost begin;
	uint32_t id;
	int err;

	prctl(PR_SET_NAME, "vic-control", 0, 0, 0);
	must(!at_ctl_open(&ctl));
	while (!leave) {
		begin = now();
		err = at_session_create(ctl, &opts, &id);
		measured(CREATE, since(begin));
		if (err) {
			fail("create: %s", at_ctl_error(ctl));
			break;
		}
		session_step(ctl, INIT, id, at_session_init);
		session_step(ctl, START, id, start);
		session_step(ctl, STOP, id, at_session_stop);
		session_step(ctl, TERMINATE, id, at_session_destroy);
		sleep_us(PAUSE_US);
	}
	at_ctl_close(ctl);
	return arg;
}

/* --- programs, one after the other ---------------------------------------------- */

static struct report *reports;
static size_t nr_reports, room_for_reports;
static int report_pipe[2];

static struct report take_report(void)
{
	struct report r = { 0 };

	if (read(report_pipe[0], &r, sizeof(r)) != sizeof(r)) {
		fail("no report of a program");
		return r;
	}
	if (nr_reports == room_for_reports) {
		room_for_reports = room_for_reports ? 2 * room_for_reports : 1024;
		reports = realloc(reports, room_for_reports * sizeof(*reports));
		must(reports);
	}
	reports[nr_reports++] = r;
	measured(WAIT, r.wait);
	measured(WRITE, r.events);
	measured(r.forked ? REGISTER : CHILD, r.registration);
	if (r.forked)
		measured(FORK, r.fork);
	return r;
}

static void run_program(const char *self)
{
	const struct cost begin = now();
	struct report child, parent;
	struct cost end = { 0 };
	struct rusage used;
	int status = -1;
	char fd[16];
	pid_t pid;

	snprintf(fd, sizeof(fd), "%d", report_pipe[1]);
	pid = fork();
	if (!pid) {
		if (raw_become(VICTIM))
			_exit(126);
		execl(self, self, "program", fd, NULL);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &used) != pid || status) {
		fail("a program ended with status %#x", status);
		return;
	}
	measured(PROGRAM, since(begin));
	child = take_report();
	parent = take_report();
	/* After its report, a process only ends. @used has the CPU time of the child, too. */
	end.cpu_ns = parent.child_ns - child.cpu_ns;
	measured(EXIT, end);
	end.cpu_ns = cpu_ns_of(&used) - parent.child_ns - parent.cpu_ns;
	measured(EXIT, end);
}

/* Reads what standard input has. Returns true if it has ended. */
static bool told_to_leave(void)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	char line[64];

	if (poll(&p, 1, 0) <= 0)
		return false;
	if (read(STDIN_FILENO, line, sizeof(line)) <= 0)
		return true;
	measure_anew();
	return false;
}

/* --- the accounting ------------------------------------------------------------- */

static void check_ledger(void)
{
	uint64_t all = 0, delivered = 0, dropped = 0;

	for (size_t i = 0; i < nr_reports; i++) {
		uint64_t sum = 0;

		for (size_t j = 0; j < nr_rings; j++) {
			const struct ring *r = &rings[j];

			if (r->provider != reports[i].provider)
				continue;
			sum += r->delivered + r->overwritten + r->cleared + r->dropped;
			delivered += r->delivered;
			dropped += r->overwritten + r->dropped;
			if (r->found != r->delivered || !r->last)
				fail("ring %u of provider %u: %llu delivered, %llu found, %s",
				     r->ring, r->provider, (unsigned long long)r->delivered,
				     (unsigned long long)r->found, r->last ? "done" : "not done");
		}
		if (sum != reports[i].written)
			fail("provider %u wrote %u, accounted for are %llu",
			     reports[i].provider, reports[i].written, (unsigned long long)sum);
		all += reports[i].written;
	}
	printf("# victims wrote %llu events: %llu delivered, %llu dropped\n",
	       (unsigned long long)all, (unsigned long long)delivered,
	       (unsigned long long)dropped);
}

static int record(const char *self, int nr, const char *const *patterns)
{
	const struct at_session_options opts = {
		.size = sizeof(opts), .name = "recorder", .mode = ASYNCTRACE_MODE_STREAMING,
		.sched = ASYNCTRACE_SCHED_TARGETS, .ring_size = RING_SIZE,
		.nr_providers = nr, .providers = patterns,
	};
	pthread_t threads[2];
	struct at_ctl *ctl;
	uint32_t id;

	measure_anew();
	must(!pipe(report_pipe));
	if (at_ctl_open(&ctl) || at_session_create(ctl, &opts, &id) || at_session_init(ctl, id))
		ktap_bail("%s", at_ctl_error(ctl));
	session_fd = at_session_open_stream(ctl, id);
	if (session_fd < 0 || at_session_start(ctl, id, NULL))
		ktap_bail("%s", at_ctl_error(ctl));
	must(!pthread_create(&threads[0], NULL, reader, NULL));
	must(!pthread_create(&threads[1], NULL, controller, NULL));
	puts("recording");
	while (!told_to_leave()) {
		run_program(self);
		sleep_us(PAUSE_US);
	}
	leave = true;
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	if (at_session_stop(ctl, id))
		fail("stop: %s", at_ctl_error(ctl));
	while (read_chunk())
		;
	check_ledger();
	print_figures();
	if (at_session_destroy(ctl, id))
		fail("terminate: %s", at_ctl_error(ctl));
	at_ctl_close(ctl);
	if (!figures[PROGRAM].nr || !figures[TERMINATE].nr)
		fail("no operation was made");
	return failures != 0;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 3 && !strcmp(argv[1], "program"))
		return program(argv[2]);
	if (argc > 2 && argc - 2 <= PATTERNS_MAX && !strcmp(argv[1], "record"))
		return record(argv[0], argc - 2, (const char *const *)argv + 2);
	fprintf(stderr, "usage: victim record PATTERN... | victim program REPORT\n");
	return 2;
}
