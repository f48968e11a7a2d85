// SPDX-License-Identifier: GPL-2.0
/*
 * Snapshots of circular sessions (P41)
 *
 * They are whole, repeatable, and can be taken while threads write. Names of threads outlive the
 * rings' records. A read that fails loses nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <asynctrace/compose.h>
#include <asynctrace/provider.h>

#include "run.h"

#define PROVIDER	"snapshot"
#define WRITERS		4
#define SHORT_LIVED_MAX	5000
#define TIDS		(1 << 22)

static struct shared {
	volatile uint32_t ready, go, stop, done, leave;
	volatile uint32_t written[WRITERS];
	volatile uint32_t tid[SHORT_LIVED_MAX];
} *sh;

static struct at_ctl *ctl;
static uint32_t short_lived;	/* number of threads of which each ends before the next begins */

/* --- the providers -------------------------------------------------------------- */

static void register_as(const char *name)
{
	const struct at_provider_options opts = { .size = sizeof(opts), .name = name };

	must(!at_provider_register(&opts));
}

static void *writer(void *arg)
{
	const uint32_t id = (uintptr_t)arg;

	pin(id % cpus_online());
	__atomic_add_fetch(&sh->ready, 1, __ATOMIC_SEQ_CST);
	wait_for(&sh->go, 1, "go");
	for (uint32_t i = 0; !sh->stop; i++) {
		if (!nu_emit(id, i, -1))
			_exit(3);
		sh->written[id] = i + 1;
	}
	__atomic_add_fetch(&sh->done, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void write_all_the_while(void)
{
	pthread_t thread[WRITERS];

	for (uintptr_t i = 0; i < WRITERS; i++)
		must(!pthread_create(&thread[i], NULL, writer, (void *)i));
	for (int i = 0; i < WRITERS; i++)
		pthread_join(thread[i], NULL);
	wait_for(&sh->leave, 1, "leave");
}

static void *short_life(void *arg)
{
	const uint32_t i = (uintptr_t)arg;
	char name[16];

	snprintf(name, sizeof(name), "short-%u", i);
	must(!pthread_setname_np(pthread_self(), name));
	sh->tid[i] = syscall(SYS_gettid);
	return NULL;
}

static void make_threads(void)
{
	pthread_t thread;

	sh->ready = 1;
	wait_for(&sh->go, 1, "go");
	for (uintptr_t i = 0; i < short_lived; i++) {
		must(!pthread_create(&thread, NULL, short_life, (void *)i));
		pthread_join(thread, NULL);
	}
	sh->done = 1;
	wait_for(&sh->leave, 1, "leave");
}

static void write_a_little(void)
{
	for (uint32_t i = 0; i < 100; i++)
		must(nu_emit(0, i, -1));
}

static pid_t provider(void (*fn)(void))
{
	pid_t pid = fork();

	must(pid >= 0);
	if (pid)
		return pid;
	register_as(PROVIDER);
	fn();
	_exit(0);
}

/* --- the session ------------------------------------------------------------------ */

static uint32_t session(uint32_t mode, uint32_t sched, uint64_t ring_size)
{
	static const char *const name = PROVIDER;
	const struct at_session_options opts = {
		.size = sizeof(opts), .name = PROVIDER, .mode = mode, .sched = sched,
		.ring_size = ring_size, .nr_providers = 1, .providers = &name,
	};
	uint32_t id;

	if (at_session_create(ctl, &opts, &id) || at_session_init(ctl, id))
		ktap_bail("%s", at_ctl_error(ctl));
	return id;
}

static int start(struct at_ctl *ctl, uint32_t id)
{
	return at_session_start(ctl, id, NULL);
}

static void do_it(int (*what)(struct at_ctl *ctl, uint32_t id), uint32_t id)
{
	if (what(ctl, id))
		ktap_bail("%s", at_ctl_error(ctl));
}

static void open_snapshot(struct run *run, uint32_t id)
{
	int fd = at_session_open_snapshot(ctl, id);

	if (fd < 0)
		ktap_bail("%s", at_ctl_error(ctl));
	run->ctl = ctl;
	run->id = id;
	nu_seen_init(&run->seen);
	rd_open(&run->rd, fd, nu_event, &run->seen);
}

struct committed {
	uint32_t nr;
	struct at_ring_info ring[RD_RINGS];
};

static int note_ring(const struct at_ring_info *r, void *arg)
{
	struct committed *c = arg;

	must(c->nr < RD_RINGS);
	c->ring[c->nr++] = *r;
	return 0;
}

static void rings_of(uint32_t id, struct committed *c)
{
	c->nr = 0;
	if (at_for_each_ring(ctl, id, note_ring, c))
		ktap_bail("%s", at_ctl_error(ctl));
}

static const struct at_ring_info *ring_in(const struct committed *c, const struct rd_ring *r)
{
	const uint32_t sched = ASYNCTRACE_RING_KIND_SCHED;

	for (uint32_t i = 0; i < c->nr; i++)
		if (c->ring[i].provider == r->provider && c->ring[i].ring == r->ring &&
		    c->ring[i].kind != ASYNCTRACE_RING_KIND_NAMES &&
		    (c->ring[i].kind == sched) == (r->kind == ASYNCTRACE_CHUNK_SCHED))
			return &c->ring[i];
	return NULL;
}

/*
 * Checks that the snapshot has all records that each ring had at that moment. @before, @after: the
 * rings just before and just after the snapshot
 */
static void check_law(struct run *run, const struct committed *before,
		      const struct committed *after)
{
	uint32_t told = 0;

	for (uint32_t i = 0; i < run->rd.nr_rings; i++) {
		const struct rd_ring *r = &run->rd.ring[i];
		const struct at_ring_info *was = ring_in(before, r), *is = ring_in(after, r);
		const uint64_t sum = r->delivered + r->overwritten;

		if (r->kind == ASYNCTRACE_CHUNK_NAMES)
			continue;
		ktap_check(is && (!was || sum >= was->committed) && sum <= is->committed,
			   "ring %u of %u: %llu delivered + %llu overwritten, of %llu to %llu",
			   r->ring, r->provider, (unsigned long long)r->delivered,
			   (unsigned long long)r->overwritten,
			   was ? (unsigned long long)was->committed : 0,
			   is ? (unsigned long long)is->committed : 0);
		ktap_check(!is || r->dropped <= is->dropped, "ring %u: %llu dropped", r->ring,
			   (unsigned long long)r->dropped);
		ktap_check(r->parsed == r->delivered, "ring %u: %llu delivered, %llu found",
			   r->ring, (unsigned long long)r->delivered,
			   (unsigned long long)r->parsed);
		told += !!was;
	}
	for (uint32_t i = 0; i < before->nr; i++)
		told -= before->ring[i].kind != ASYNCTRACE_RING_KIND_NAMES &&
			(before->ring[i].committed || before->ring[i].dropped);
	ktap_check(!told, "the number of rings differs by %d", (int)told);
}

/* --- the tests ------------------------------------------------------------------- */

static void test_running(const char *name, uint64_t ring_size, uint32_t sched)
{
	struct committed *before = malloc(sizeof(*before)), *after = malloc(sizeof(*after));
	uint64_t events = 0, overwritten = 0;
	const unsigned int rounds = amount("KT_SNAPSHOTS", 20);
	struct run run;
	uint32_t id;
	pid_t pid;

	ktap_begin("P41_snapshot_of_running_session_is_whole_%s", name);
	must(before && after);
	memset(sh, 0, sizeof(*sh));
	pid = provider(write_all_the_while);
	wait_for(&sh->ready, WRITERS, "ready");
	id = session(ASYNCTRACE_MODE_CIRCULAR, sched, ring_size);
	do_it(start, id);
	sh->go = 1;
	while (sh->written[WRITERS - 1] < 10000)
		sleep_us(500);
	for (unsigned int i = 0; i < rounds && !ktap_failed(); i++) {
		char byte[64];

		rings_of(id, before);
		open_snapshot(&run, id);
		rd_drain(&run.rd);
		rings_of(id, after);
		ktap_check(read(run.rd.fd, run.rd.buf, ASYNCTRACE_READ_MIN) == 0 &&
			   read(run.rd.fd, run.rd.buf, ASYNCTRACE_READ_MIN) == 0,
			   "a snapshot that was read to its end has another chunk");
		must(read(run.rd.fd, byte, sizeof(byte)) < 0 && errno == EINVAL);
		run_check(&run);
		check_law(&run, before, after);
		events += run.seen.events;
		overwritten += rd_sum(&run.rd, ASYNCTRACE_CHUNK_EVENTS, 0).overwritten;
		run_close(&run);
	}
	ktap_check(events && overwritten, "%llu events, %llu overwritten",
		   (unsigned long long)events, (unsigned long long)overwritten);
	ktap_note("%u snapshots with %llu events", rounds, (unsigned long long)events);
	sh->stop = 1;
	wait_for(&sh->done, WRITERS, "done");
	do_it(at_session_stop, id);
	do_it(at_session_destroy, id);
	sh->leave = 1;
	reap(pid);
	free(before);
	free(after);
	ktap_end();
}

/* Collects all chunks of a snapshot, without the time at which each was read. */
static size_t snapshot_bytes(uint32_t id, char **bytes)
{
	char *buf = malloc(ASYNCTRACE_READ_MIN);
	int fd = at_session_open_snapshot(ctl, id);
	size_t n = 0;
	ssize_t ret;

	must(fd >= 0 && buf);
	*bytes = NULL;
	while ((ret = read(fd, buf, ASYNCTRACE_READ_MIN)) > 0) {
		struct asynctrace_chunk *c = (void *)buf;

		c->ticks = 0;
		c->boottime = 0;
		*bytes = realloc(*bytes, n + ret);
		must(*bytes);
		memcpy(*bytes + n, buf, ret);
		n += ret;
	}
	must(!ret);
	free(buf);
	close(fd);
	return n;
}

/*
 * Prepares @rd for a second reader of the session, which gets all names again. It gets no record
 * again, so the counts of records stay.
 */
static void forget_names(struct rd *rd)
{
	for (uint32_t i = 0; i < rd->nr_providers; i++) {
		rd->provider[i]->words = 0;
		rd->provider[i]->names = 0;
	}
	for (uint32_t i = 0; i < rd->nr_rings; i++)
		if (rd->ring[i].kind == ASYNCTRACE_CHUNK_NAMES)
			rd->ring[i].claimed = 0;
}

static void test_stopped(void)
{
	uint64_t written = 0;
	char *one, *two;
	size_t n, m;
	struct run run;
	uint32_t id;
	pid_t pid;
	int fd;

	ktap_begin("P41_snapshot_consumes_nothing");
	memset(sh, 0, sizeof(*sh));
	pid = provider(write_all_the_while);
	wait_for(&sh->ready, WRITERS, "ready");
	id = session(ASYNCTRACE_MODE_CIRCULAR, ASYNCTRACE_SCHED_TARGETS, 64 << 10);
	do_it(start, id);
	sh->go = 1;
	while (sh->written[0] < 20000)
		sleep_us(500);

	/* The consumer has read some records and reads the rest: snapshots must not disturb it. */
	fd = at_session_open_stream(ctl, id);
	must(fd >= 0);
	run.ctl = ctl;
	run.id = id;
	nu_seen_init(&run.seen);
	rd_open(&run.rd, fd, nu_event, &run.seen);
	rd_read(&run.rd, 30);
	ktap_check(at_session_open_snapshot(ctl, id) == -EBUSY, "a snapshot opens although a consumer reads");
	close(fd);

	sh->stop = 1;
	wait_for(&sh->done, WRITERS, "done");
	for (int i = 0; i < WRITERS; i++)
		written += sh->written[i];
	do_it(at_session_stop, id);
	n = snapshot_bytes(id, &one);
	m = snapshot_bytes(id, &two);
	ktap_check(n == m && !memcmp(one, two, n), "two snapshots differ: %zu and %zu bytes", n, m);
	free(one);
	free(two);

	fd = at_session_open_snapshot(ctl, id);
	must(fd >= 0);
	ktap_check(at_session_open_stream(ctl, id) == -EBUSY &&
		   at_session_open_snapshot(ctl, id) == -EBUSY,
		   "two readers open at a time");
	must(read(fd, run.rd.buf, ASYNCTRACE_READ_MIN) > 0);
	close(fd);
	run.rd.fd = at_session_open_stream(ctl, id);
	must(run.rd.fd >= 0);
	forget_names(&run.rd);
	rd_drain(&run.rd);
	run_check(&run);
	ktap_check(run_total(&run) == written, "the difference is %lld",
		   (long long)(written - run_total(&run)));
	do_it(at_session_destroy, id);
	run_close(&run);
	sh->leave = 1;
	reap(pid);
	ktap_end();
}

static void test_refused(void)
{
	static const uint32_t modes[] = { ASYNCTRACE_MODE_ONESHOT, ASYNCTRACE_MODE_STREAMING };

	ktap_begin("P41_only_circular_sessions_have_snapshots");
	for (int i = 0; i < 2; i++) {
		uint32_t id = session(modes[i], 0, 64 << 10);
		int ret = at_session_open_snapshot(ctl, id);

		ktap_check(ret == -EINVAL && strstr(at_ctl_error(ctl), "not circular"),
			   "mode %u: %d, %s", modes[i], ret, at_ctl_error(ctl));
		do_it(at_session_destroy, id);
	}
	ktap_check(at_session_open_snapshot(ctl, 12345678) == -ENOENT, "of a session that does not exist");
	ktap_end();
}

struct names {
	char (*comm)[ASYNCTRACE_COMM_LEN];
	uint64_t used, unknown;
	uint32_t first;
};

static void take_name(struct names *n, const struct asynctrace_task_name *name)
{
	must(name->tid > 0 && name->tid < TIDS);
	memcpy(n->comm[name->tid], name->comm, ASYNCTRACE_COMM_LEN);
}

static void use_name(struct names *n, uint64_t koid)
{
	if (!koid || ASYNCTRACE_TID_IS_OTHER((int32_t)koid))
		return;
	must(koid < TIDS);
	n->used++;
	if (!n->comm[koid][0] && !n->unknown++)
		n->first = koid;
}

static void take_record(uint32_t kind, const void *record, void *arg)
{
	const uint64_t *w = record;

	if (kind == ASYNCTRACE_CHUNK_NAMES) {
		take_name(arg, record);
		return;
	}
	use_name(arg, w[2]);
	if (*w >> 60 == ASYNCTRACE_FXT_SCHED_SWITCH)
		use_name(arg, w[3]);
	else if (ASYNCTRACE_FXT_WORDS(*w) == 6)
		use_name(arg, w[5]);
}

static void test_names(void)
{
	struct names n = { .comm = calloc(TIDS, ASYNCTRACE_COMM_LEN) };
	uint32_t id, wrong = 0;
	struct run run;
	pid_t pid;

	ktap_begin("P41_names_of_%u_threads_survive", short_lived);
	must(n.comm);
	memset(sh, 0, sizeof(*sh));
	pid = provider(make_threads);
	wait_for(&sh->ready, 1, "ready");
	id = session(ASYNCTRACE_MODE_CIRCULAR, ASYNCTRACE_SCHED_ALL, 64 << 10);
	do_it(start, id);
	sh->go = 1;
	wait_for(&sh->done, 1, "done");
	open_snapshot(&run, id);
	run.rd.record = take_record;
	run.rd.record_arg = &n;
	rd_drain(&run.rd);
	run_check(&run);
	for (uint32_t i = 0; i < short_lived; i++) {
		char name[ASYNCTRACE_COMM_LEN] = "";

		must(snprintf(name, sizeof(name), "short-%u", i) < (int)sizeof(name));
		if (strncmp(n.comm[sh->tid[i]], name, sizeof(name)) && !wrong++)
			ktap_fail("thread %u is \"%.16s\", not \"%s\"", sh->tid[i],
				  n.comm[sh->tid[i]], name);
	}
	ktap_check(!wrong, "%u of %u names are wrong", wrong, short_lived);
	ktap_check(n.used && !n.unknown, "%llu of %llu times a thread had no name, as %u",
		   (unsigned long long)n.unknown, (unsigned long long)n.used, n.first);
	ktap_check(!rd_sum(&run.rd, ASYNCTRACE_CHUNK_NAMES, 0).dropped, "names were lost");
	run_close(&run);
	do_it(at_session_destroy, id);
	sh->leave = 1;
	reap(pid);
	free(n.comm);
	ktap_end();
}

/*
 * asynctrace validate and selftests/account check each file. Ends without a begin are allowed,
 * because an operation may have begun before the oldest record.
 */
static void test_file(void)
{
	const char *path = "/tmp/snapshot.fxt";
	char *buf = malloc(ASYNCTRACE_READ_MIN);
	const unsigned int files = amount("KT_FILES", 3);
	uint64_t events = 0;
	uint32_t id;
	pid_t pid;

	ktap_begin("P41_snapshot_makes_a_whole_file");
	must(buf);
	memset(sh, 0, sizeof(*sh));
	pid = provider(write_all_the_while);
	wait_for(&sh->ready, WRITERS, "ready");
	id = session(ASYNCTRACE_MODE_CIRCULAR, ASYNCTRACE_SCHED_ALL, 256 << 10);
	do_it(start, id);
	sh->go = 1;
	while (sh->written[0] < 20000)
		sleep_us(500);
	for (unsigned int i = 0; i < files; i++) {
		struct at_compose_options o = { .size = sizeof(o) };
		struct at_compose *c;
		ssize_t n;
		int fd = at_session_open_snapshot(ctl, id);

		o.fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		must(fd >= 0 && o.fd >= 0);
		c = at_compose_new(&o);
		must(c);
		while ((n = read(fd, buf, ASYNCTRACE_READ_MIN)) > 0) {
			const struct asynctrace_chunk *chunk = (void *)buf;

			must(!at_compose_chunk(c, chunk, buf + chunk->size));
			if (chunk->kind == ASYNCTRACE_CHUNK_EVENTS)
				events += chunk->records;
		}
		must(!n && !at_compose_finish(c));
		at_compose_free(c);
		close(o.fd);
		close(fd);
		ktap_check(!system("build/asynctrace validate --allow-open /tmp/snapshot.fxt"),
			   "the file breaks rules");
		ktap_check(!system("build/selftests/account /tmp/snapshot.fxt"),
			   "the parts of an operation do not add up to its latency");
	}
	ktap_check(events, "the file has no events");
	sh->stop = 1;
	wait_for(&sh->done, WRITERS, "done");
	do_it(at_session_destroy, id);
	sh->leave = 1;
	reap(pid);
	unlink(path);
	free(buf);
	ktap_end();
}

/* --- reads that fail -------------------------------------------------------------- */

/* Memory whose second and fourth page are not mapped */
static char *holes;
static unsigned long faults;

static void fail_first(struct rd *rd)
{
	const size_t page = sysconf(_SC_PAGESIZE), head = sizeof(struct asynctrace_chunk);
	/*
	 * Buffers with a gap after the first word; with gaps at the header and after a page of the
	 * payload; and with a gap at the header only.
	 */
	char *const at[] = { holes + page - 8, holes + 2 * page - head, holes + 4 * page - head };

	for (unsigned int i = 0; i < 3; i++) {
		errno = 0;
		if (read(rd->fd, at[i], ASYNCTRACE_READ_MIN) > 0)
			ktap_bail("a read succeeds although its buffer is not mapped");
		faults += errno == EFAULT;
	}
}

static void test_fault(const char *name, uint32_t mode)
{
	const struct run_options opts = {
		.name = PROVIDER, .mode = mode, .sched = ASYNCTRACE_SCHED_TARGETS,
		.ring_size = 64 << 10, .provider = PROVIDER,
	};
	uint64_t written = 0;
	struct committed c;
	struct rd_ring sched;
	struct run run;
	pid_t pid;

	ktap_begin("faulting_read_loses_nothing_%s", name);
	faults = 0;
	memset(sh, 0, sizeof(*sh));
	pid = provider(write_all_the_while);
	wait_for(&sh->ready, WRITERS, "ready");
	run_open(&run, ctl, &opts);
	run.rd.before = fail_first;
	run_start(&run);
	sh->go = 1;
	while (sh->written[0] < 20000 || faults <= 20)
		rd_read(&run.rd, 20);
	sh->stop = 1;
	wait_for(&sh->done, WRITERS, "done");
	run_stop(&run);
	rd_drain(&run.rd);
	for (int i = 0; i < WRITERS; i++)
		written += sh->written[i];
	ktap_check(run_total(&run) == written, "the difference is %lld",
		   (long long)(written - run_total(&run)));
	run_check(&run);
	rings_of(run.id, &c);
	sched = rd_sum(&run.rd, ASYNCTRACE_CHUNK_SCHED, 0);
	for (uint32_t i = 0; i < c.nr; i++)
		if (c.ring[i].kind == ASYNCTRACE_RING_KIND_SCHED)
			sched.delivered -= c.ring[i].committed - c.ring[i].overwritten;
	ktap_check(!sched.delivered, "kernel rings: the difference is %lld",
		   (long long)sched.delivered);
	ktap_check(faults > 20, "only %lu reads faulted", faults);
	ktap_note("%lu faults", faults);
	run_terminate(&run);
	run_close(&run);
	sh->leave = 1;
	reap(pid);
	ktap_end();
}

/* --- providers that end ------------------------------------------------------------ */

static int refused(const struct at_session_info *s, void *arg)
{
	*(uint32_t *)arg = s->refused_providers;
	return 0;
}

static void test_gone(void)
{
	const uint64_t ring = 16 << 20;
	struct at_info info = { .size = sizeof(info) };
	uint32_t id, no = 1, fit, rounds;
	struct rd_ring sum;
	struct run run;

	ktap_begin("P41_ended_providers_make_room");
	must(!at_info(ctl, &info));
	fit = info.memory_limit / (ring * (info.online_cpus + 1));
	rounds = 2 * fit + 3;
	must(fit && rounds < RD_PROVIDERS);
	id = session(ASYNCTRACE_MODE_CIRCULAR, ASYNCTRACE_SCHED_OFF, ring);
	do_it(start, id);
	for (uint32_t i = 0; i < rounds; i++)
		reap(provider(write_a_little));
	if (at_session_get(ctl, id, refused, &no))
		ktap_bail("%s", at_ctl_error(ctl));
	ktap_check(!no, "%u of %u providers were refused, %u fit", no, rounds, fit);
	for (int i = 0; i < 2; i++) {
		open_snapshot(&run, id);
		rd_drain(&run.rd);
		sum = rd_sum(&run.rd, ASYNCTRACE_CHUNK_EVENTS, 0);
		ktap_check(run.rd.nr_providers + run.rd.ended.providers == rounds,
			   "%u providers and %llu that made room, of %u", run.rd.nr_providers,
			   (unsigned long long)run.rd.ended.providers, rounds);
		sum.overwritten += run.rd.ended_sum.overwritten;
		ktap_check(sum.delivered + sum.overwritten == 100ULL * rounds && sum.last &&
			   sum.delivered && sum.overwritten,
			   "%llu delivered, %llu overwritten, of %u",
			   (unsigned long long)sum.delivered, (unsigned long long)sum.overwritten,
			   100 * rounds);
		ktap_check(!run.rd.malformed, "%s", run.rd.first);
		run_close(&run);
	}
	do_it(at_session_destroy, id);
	ktap_end();
}

int main(void)
{
	const size_t page = sysconf(_SC_PAGESIZE);

	ktap_plan(10);
	short_lived = amount("KT_THREADS", SHORT_LIVED_MAX);
	must(short_lived <= SHORT_LIVED_MAX);
	sh = shared_memory(sizeof(*sh));
	holes = mmap(NULL, 5 * page + ASYNCTRACE_READ_MIN, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(holes != MAP_FAILED);
	must(!munmap(holes + page, page) && !munmap(holes + 3 * page, page));
	if (at_ctl_open(&ctl))
		ktap_bail("%s", at_ctl_error(ctl));
	test_running("16 KiB", 16 << 10, ASYNCTRACE_SCHED_OFF);
	test_running("64 KiB, all scheduling", 64 << 10, ASYNCTRACE_SCHED_ALL);
	test_running("1 MiB", 1 << 20, ASYNCTRACE_SCHED_TARGETS);
	test_stopped();
	test_refused();
	test_names();
	test_file();
	test_fault("streaming", ASYNCTRACE_MODE_STREAMING);
	test_fault("circular", ASYNCTRACE_MODE_CIRCULAR);
	test_gone();
	at_ctl_close(ctl);
	return ktap_exit();
}
