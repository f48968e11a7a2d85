// SPDX-License-Identifier: GPL-2.0
/*
 * Lives and deaths: children of each kind, exec, providers that come late, are stopped or die,
 * sessions whose owner dies, and the memory of all of them
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asynctrace/provider.h>

#include "run.h"

#define PROVIDER	"life"
#define CGROUP		"/sys/fs/cgroup/asynctrace-test"

static struct shared {
	volatile uint32_t ready, go, stop, again;
	volatile uint32_t written[64];
} *sh;

static struct at_ctl *ctl;
static const char *self;

static void register_as(const char *name)
{
	const struct at_provider_options opts = { .size = sizeof(opts), .name = name };

	must(!at_provider_register(&opts));
}

/* Writes records @from to @to - 1 of writer @id. */
static void write_some(uint32_t id, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		if (!nu_emit(id, i, -1))
			_exit(3);
		sh->written[id] = i + 1;
	}
}

static pid_t child(void (*fn)(void))
{
	pid_t pid;

	memset(sh, 0, sizeof(*sh));
	pid = fork();
	must(pid >= 0);
	if (pid)
		return pid;
	fn();
	_exit(0);
}

static void open_session(struct run *run, struct at_ctl *on, uint32_t mode, uint64_t ring_size)
{
	const struct run_options opts = {
		.name = PROVIDER, .mode = mode, .ring_size = ring_size, .provider = PROVIDER "*",
	};

	run_open(run, on, &opts);
}

/* The rings are large enough: all events must have been delivered. */
static void check_all(struct run *run, uint32_t writers)
{
	for (uint32_t i = 0; i < writers; i++)
		ktap_check(run->seen.of[i] == sh->written[i] && sh->written[i],
			   "writer %u: %u of %u were delivered", i, run->seen.of[i], sh->written[i]);
	run_check(run);
}

/* Reads and checks everything, and ends the session. */
static void finish(struct run *run, uint32_t writers)
{
	run_stop(run);
	rd_drain(&run->rd);
	check_all(run, writers);
	run_terminate(run);
	run_close(run);
}

static struct rd_provider *provider_of(struct run *run, pid_t pid)
{
	for (uint32_t i = 0; i < run->rd.nr_providers; i++)
		if (run->rd.provider[i]->pid == pid)
			return run->rd.provider[i];
	return NULL;
}

/* --- children ------------------------------------------------------------------- */

static int raw_fork(void)
{
	return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static void forking(int (*how)(void))
{
	pid_t pid;

	register_as(PROVIDER);
	sh->ready = 1;
	wait_for(&sh->go, 1, "go");
	write_some(0, 0, 500);
	pid = how();
	if (!pid) {
		/* The child registers itself: it writes nothing into its parent's rings. */
		write_some(1, 0, 500);
		sh->again = getpid();
		_exit(0);
	}
	write_some(0, 500, 1000);
	reap(pid);
	_exit(ktap_failed());
}

static void forking_libc(void)
{
	forking(fork);
}

static void forking_raw(void)
{
	forking(raw_fork);
}

static void test_fork(const char *name, void (*fn)(void))
{
	struct rd_provider *parent, *other;
	struct run run;
	pid_t pid;

	ktap_begin("child_of_%s_is_a_provider_of_its_own", name);
	pid = child(fn);
	wait_for(&sh->ready, 1, "ready");
	open_session(&run, ctl, ASYNCTRACE_MODE_ONESHOT, 1 << 20);
	run_start(&run);
	sh->go = 1;
	reap(pid);
	rd_drain(&run.rd);
	parent = provider_of(&run, pid);
	other = provider_of(&run, sh->again);
	ktap_check(parent && other && parent != other, "%u providers", run.rd.nr_providers);
	if (parent && other) {
		ktap_check(rd_sum(&run.rd, ASYNCTRACE_CHUNK_EVENTS, parent->id).parsed == 1000 &&
			   rd_sum(&run.rd, ASYNCTRACE_CHUNK_EVENTS, other->id).parsed == 500,
			   "records are in another provider's rings");
		ktap_check(parent->flags & ASYNCTRACE_PROVIDER_F_GONE &&
			   other->flags & ASYNCTRACE_PROVIDER_F_GONE, "the stream does not tell that they ended");
		ktap_check(other->flags & ASYNCTRACE_PROVIDER_F_LATE &&
			   !(parent->flags & ASYNCTRACE_PROVIDER_F_LATE), "the wrong provider is marked as late");
	}
	finish(&run, 2);
	ktap_end();
}

static void execing(void)
{
	register_as(PROVIDER);
	sh->ready = 1;
	wait_for(&sh->go, 1, "go");
	write_some(0, 0, 500);
	execl(self, self, "--after-exec", NULL);
	_exit(4);
}

/* The program after exec(2). It inherits the descriptor of the shared memory. */
static int after_exec(void)
{
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED, 100, 0);
	if (sh == MAP_FAILED)
		return 5;
	register_as(PROVIDER "-after");
	write_some(1, 0, 500);
	return 0;
}

static void test_exec(void)
{
	struct run run;
	pid_t pid;

	ktap_begin("exec_ends_provider_and_begins_another");
	pid = child(execing);
	wait_for(&sh->ready, 1, "ready");
	open_session(&run, ctl, ASYNCTRACE_MODE_ONESHOT, 1 << 20);
	run_start(&run);
	sh->go = 1;
	reap(pid);
	rd_drain(&run.rd);
	ktap_check(run.rd.nr_providers == 2, "%u providers", run.rd.nr_providers);
	for (uint32_t i = 0; i < run.rd.nr_providers; i++)
		ktap_check(run.rd.provider[i]->pid == pid &&
			   run.rd.provider[i]->flags & ASYNCTRACE_PROVIDER_F_GONE,
			   "provider %u: pid %d, flags %u", run.rd.provider[i]->id,
			   run.rd.provider[i]->pid, run.rd.provider[i]->flags);
	finish(&run, 2);
	ktap_end();
}

/* --- providers that register late or end early -------------------------------------- */

static void coming(void)
{
	wait_for(&sh->go, 1, "go");
	register_as(PROVIDER);
	write_some(0, 0, 1000);
	must(!at_provider_unregister());
	/* This process is no provider: the event has no effect and is not counted. */
	nu_emit(0, 1000, -1);
	register_as(PROVIDER "-again");
	write_some(1, 0, 1000);
}

static void test_late(void)
{
	struct run run;
	pid_t pid;

	ktap_begin("P25_late_provider_loses_no_record");
	pid = child(coming);
	open_session(&run, ctl, ASYNCTRACE_MODE_ONESHOT, 1 << 20);
	run_start(&run);
	sh->go = 1;
	reap(pid);
	rd_drain(&run.rd);
	ktap_check(run.rd.nr_providers == 2, "%u providers", run.rd.nr_providers);
	for (uint32_t i = 0; i < run.rd.nr_providers; i++)
		ktap_check(run.rd.provider[i]->flags == (ASYNCTRACE_PROVIDER_F_LATE |
							 ASYNCTRACE_PROVIDER_F_GONE),
			   "flags %u", run.rd.provider[i]->flags);
	finish(&run, 2);
	ktap_end();
}

static void going_on(void)
{
	register_as(PROVIDER);
	sh->ready = 1;
	for (uint32_t i = 0; !sh->stop; i += !!nu_emit(0, i, -1))
		sh->written[0] = i;
}

static bool wrote_more(void *from)
{
	return sh->written[0] > *(uint32_t *)from + 100;
}

static void test_stopped(void)
{
	uint64_t total;
	uint32_t from;
	struct run run;
	pid_t pid;

	ktap_begin("I14_stopped_provider_delays_no_request");
	pid = child(going_on);
	wait_for(&sh->ready, 1, "ready");
	for (int i = 0; i < (amount("KT_FEW", 0) ? 4 : 20); i++) {
		open_session(&run, ctl, ASYNCTRACE_MODE_CIRCULAR, 16 << 10);
		run_start(&run);
		from = sh->written[0];
		must(soon(wrote_more, &from));
		must(!kill(pid, SIGSTOP));
		must(soon(is_stopped, &pid));
		/* A call that waited for the stopped provider would never return. */
		run_stop(&run);
		run_start(&run);
		run_stop(&run);
		rd_drain(&run.rd);
		run_terminate(&run);
		rd_drain(&run.rd);
		total = run_total(&run);
		ktap_check(is_stopped(&pid), "the provider was continued too early");
		ktap_check(total >= 100, "%llu records", (unsigned long long)total);
		run_check(&run);
		run_close(&run);
		must(!kill(pid, SIGCONT));
	}
	sh->stop = 1;
	reap(pid);
	ktap_end();
}

static bool gone(void *arg)
{
	struct run *run = arg;

	rd_drain(&run->rd);
	return run->rd.nr_providers &&
	       run->rd.provider[0]->flags & ASYNCTRACE_PROVIDER_F_GONE;
}

static void dying(void)
{
	register_as(PROVIDER);
	sh->ready = 1;
	wait_for(&sh->go, 1, "go");
	write_some(0, 0, 2000);
	kill(getpid(), SIGKILL);
}

static void test_death(void)
{
	struct run run;
	int status;
	pid_t pid;

	ktap_begin("I15_records_outlive_their_provider");
	pid = child(dying);
	wait_for(&sh->ready, 1, "ready");
	open_session(&run, ctl, ASYNCTRACE_MODE_ONESHOT, 1 << 20);
	run_start(&run);
	sh->go = 1;
	must(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
	ktap_check(soon(gone, &run), "the stream does not tell the provider's end while the session runs");
	check_all(&run, 1);
	finish(&run, 1);
	ktap_end();
}

/* --- owners ----------------------------------------------------------------------------- */

static int find_session(const struct at_session_info *s, void *name)
{
	return !strcmp(s->name, name);
}

static bool no_session(void *name)
{
	int found = at_for_each_session(ctl, find_session, name);

	if (found < 0)
		ktap_bail("%s", at_ctl_error(ctl));
	return !found;
}

/* Returns the bytes of kernel memory that are charged to the group. */
static uint64_t charged(const char *group)
{
	char path[128], line[128];
	uint64_t bytes = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/memory.stat", group);
	f = fopen(path, "r");
	must(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "kernel %lu", &bytes) == 1)
			break;
	fclose(f);
	return bytes;
}

static bool is_discharged(void *group)
{
	return charged(group) < 1 << 20;
}

static void join(const char *group)
{
	char path[128], pid[16];

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	snprintf(pid, sizeof(pid), "%d", getpid());
	write_to(path, pid);
}

static void owning(void)
{
	struct at_ctl *own;
	struct run run;

	join(CGROUP "/owner");
	must(!at_ctl_open(&own));
	open_session(&run, own, ASYNCTRACE_MODE_ONESHOT, 4 << 20);
	run_start(&run);
	sh->ready = 2;
	for (;;)
		pause();
}

static void writing_much(void)
{
	join(CGROUP "/provider");
	register_as(PROVIDER);
	sh->ready = 1;
	wait_for(&sh->go, 1, "go");
	for (uint32_t i = 0; i < 200000; i++)
		nu_emit(0, i, 4);
	sh->again = 1;
	wait_for(&sh->stop, 1, "stop");
}

static void test_owner(void)
{
	uint64_t owner, provider, before;
	pid_t pid, own;

	ktap_begin("I15_owner_death_ends_session_frees_memory");
	write_to("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	must(!mkdir(CGROUP, 0755) || errno == EEXIST);
	write_to(CGROUP "/cgroup.subtree_control", "+memory");
	must(!mkdir(CGROUP "/owner", 0755) || errno == EEXIST);
	must(!mkdir(CGROUP "/provider", 0755) || errno == EEXIST);
	pid = child(writing_much);
	wait_for(&sh->ready, 1, "ready");
	before = charged(CGROUP "/provider");
	own = fork();
	must(own >= 0);
	if (!own)
		owning();
	wait_for(&sh->ready, 2, "ready");
	ktap_check(!no_session(PROVIDER), "the session does not exist");
	sh->go = 1;
	wait_for(&sh->again, 1, "again");
	owner = charged(CGROUP "/owner");
	provider = charged(CGROUP "/provider");
	ktap_note("charged: %llu KiB to the owner, %llu KiB to the provider, %llu KiB before",
		  (unsigned long long)owner >> 10, (unsigned long long)provider >> 10,
		  (unsigned long long)before >> 10);
	/* 200,000 records of 64 bytes fill at least one CPU's ring. */
	ktap_check(owner >= 4 << 20, "the owner is not charged for the rings");
	ktap_check(provider < before + (1 << 20), "the provider is charged for the rings");
	must(!kill(own, SIGKILL));
	must(waitpid(own, NULL, 0) == own);
	ktap_check(soon(no_session, PROVIDER), "the session still exists");
	ktap_check(soon(is_discharged, CGROUP "/owner"), "%llu KiB are still charged to the owner",
		   (unsigned long long)charged(CGROUP "/owner") >> 10);
	sh->stop = 1;
	reap(pid);
	ktap_end();
}

/* The owner of the provider's previous session has died. */
static void test_next(void)
{
	struct run run;
	uint32_t from;
	pid_t pid, own;

	ktap_begin("I15_next_owner_gets_the_providers");
	pid = child(going_on);
	wait_for(&sh->ready, 1, "ready");
	for (int i = 0; i < (amount("KT_FEW", 0) ? 3 : 10); i++) {
		own = fork();
		must(own >= 0);
		if (!own) {
			struct at_ctl *mine;

			must(!at_ctl_open(&mine));
			open_session(&run, mine, ASYNCTRACE_MODE_CIRCULAR, 16 << 10);
			run_start(&run);
			from = sh->written[0];
			must(soon(wrote_more, &from));
			raise(SIGKILL);
		}
		must(waitpid(own, NULL, 0) == own);
		must(soon(no_session, PROVIDER));
		open_session(&run, ctl, ASYNCTRACE_MODE_CIRCULAR, 16 << 10);
		run_start(&run);
		from = sh->written[0];
		ktap_check(soon(wrote_more, &from), "the provider is not recorded");
		run_stop(&run);
		rd_drain(&run.rd);
		ktap_check(run.seen.nr_generations == 1, "%u generations", run.seen.nr_generations);
		run_check(&run);
		run_terminate(&run);
		run_close(&run);
	}
	sh->stop = 1;
	reap(pid);
	ktap_end();
}

/* --- memory ----------------------------------------------------------------------------- */

static void filling(void)
{
	register_as(PROVIDER);
	sh->ready = 1;
	for (uint32_t i = 0; !sh->stop; i++)
		nu_emit(0, i, 4);
}

static int is_full(const struct at_ring_info *r, void *arg)
{
	(void)arg;
	return r->dropped > 0;
}

static bool some_ring_full(void *arg)
{
	struct run *run = arg;
	int full = at_for_each_ring(ctl, run->id, is_full, NULL);

	must(full >= 0);
	return full;
}

static void test_memory(void)
{
	const uint64_t size = 4 << 20;
	const long pages = sysconf(_SC_PHYS_PAGES);
	const int enough = pages * 4096ULL * 5 / 4 / size + 1;
	const int rounds = (int)amount("KT_SESSIONS", 0) ?: enough;
	struct run run;
	pid_t pid;

	ktap_begin("life_%s", rounds < enough ? "sessions_in_a_row_reuse_memory" :
		   "sessions_in_a_row_exceed_all_memory");
	pid = child(filling);
	wait_for(&sh->ready, 1, "ready");
	for (int i = 0; i < rounds && !ktap_failed(); i++) {
		open_session(&run, ctl, ASYNCTRACE_MODE_ONESHOT, size);
		run_start(&run);
		ktap_check(soon(some_ring_full, &run), "session %d: no ring gets full", i);
		run_terminate(&run);
		run_close(&run);
	}
	ktap_note("%d sessions of at least %llu MiB, %ld MiB of memory", rounds,
		  (unsigned long long)size >> 20, pages >> 8);
	sh->stop = 1;
	reap(pid);
	ktap_end();
}

int main(int argc, char **argv)
{
	int fd;

	if (argc > 1 && !strcmp(argv[1], "--after-exec"))
		return after_exec();
	self = argv[0];
	fd = memfd_create("life", 0);
	must(fd >= 0 && !ftruncate(fd, sizeof(*sh)) && dup2(fd, 100) == 100);
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(sh != MAP_FAILED);
	ktap_plan(9);
	if (at_ctl_open(&ctl))
		ktap_bail("%s", at_ctl_error(ctl));
	test_fork("fork", forking_libc);
	test_fork("raw_clone", forking_raw);
	test_exec();
	test_late();
	test_stopped();
	test_death();
	test_owner();
	test_next();
	test_memory();
	at_ctl_close(ctl);
	return ktap_exit();
}
