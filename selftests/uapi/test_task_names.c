// SPDX-License-Identifier: GPL-2.0
/*
 * Names of tasks: the reader gets them before the records that use them, and threads that rename
 * themselves all the time do not delay other records
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ktap.h"
#include "raw.h"

#define STRIDE	(64 * 1024)

static struct raw_nl nl;
static char buf[ASYNCTRACE_READ_MIN];
static const struct asynctrace_chunk *const chunk = (const void *)buf;
static int session;

static void begin(uint32_t mode, uint32_t flags)
{
	NEED(!raw_nl_open(&nl));
	session = raw_session_with(&nl, "names", mode, ASYNCTRACE_SCHED_TARGETS, STRIDE, "names*",
				   flags);
	NEED(session > 0 && !raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, session));
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, session));
}

static void end(void)
{
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, session));
	raw_nl_close(&nl);
}

static int consume_as(uint32_t flags)
{
	struct asynctrace_consume c = { .size = sizeof(c), .session = session, .flags = flags };
	int fd = raw_open();

	NEED(fd >= 0 && !raw_ioctl(fd, ASYNCTRACE_IOC_CONSUME, &c) &&
	     !fcntl(fd, F_SETFL, O_NONBLOCK));
	return fd;
}

static int consume(void)
{
	return consume_as(0);
}

static bool take(int fd)
{
	return read(fd, buf, sizeof(buf)) > 0;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	NEED(!sched_setaffinity(0, sizeof(set), &set));
}

/* --- a busy CPU ------------------------------------------------------------------------ */

/* More renames than a CPU's ring of names has room for, and more switches than its other ring */
#define RENAMES_MANY	4000
#define TURNS_MANY	700
#define READS		400
#define RECORDS		10

static int to_child[2], to_parent[2];

static void rename_self(unsigned int times)
{
	static unsigned int nr;
	char name[ASYNCTRACE_COMM_LEN];

	while (times--) {
		snprintf(name, sizeof(name), "busy-%u", nr++);
		NEED(!prctl(PR_SET_NAME, name));
	}
}

/* A child on the same CPU, so that each turn takes two switches */
static pid_t begin_child(void)
{
	pid_t child;
	char byte;

	NEED(!pipe(to_child) && !pipe(to_parent));
	child = fork();
	NEED(child >= 0);
	if (child)
		return child;
	close(to_child[1]);
	while (read(to_child[0], &byte, 1) == 1 && write(to_parent[1], &byte, 1) == 1)
		;
	_exit(0);
}

static void take_turns(unsigned int times)
{
	char byte = 0;

	while (times--)
		NEED(write(to_child[1], &byte, 1) == 1 && read(to_parent[0], &byte, 1) == 1);
}

static void end_child(pid_t child)
{
	int status;

	close(to_child[1]);
	NEED(waitpid(child, &status, 0) == child);
	EXPECT_IS(status, 0);
	close(to_child[0]);
	close(to_parent[0]);
	close(to_parent[1]);
}

/* Actions of a provider's thread before each read */
static const struct busy {
	const char *name;
	uint32_t mode, flags;
	unsigned int renames, turns;
} busy[] = {
	{ "one rename", ASYNCTRACE_MODE_STREAMING, 0, 1, 0 },
	{ "more renames than fit", ASYNCTRACE_MODE_STREAMING, 0, RENAMES_MANY, 0 },
	{ "more switches than fit", ASYNCTRACE_MODE_STREAMING, 0, 0, TURNS_MANY },
	{ "one rename, detached", ASYNCTRACE_MODE_STREAMING, ASYNCTRACE_SESSION_FLAGS_DETACHED,
	  1, 0 },
	{ "more renames than fit, detached", ASYNCTRACE_MODE_STREAMING,
	  ASYNCTRACE_SESSION_FLAGS_DETACHED, RENAMES_MANY, 0 },
	{ "more switches than fit, circular", ASYNCTRACE_MODE_CIRCULAR, 0, 0, TURNS_MANY },
};

/* The reader gets a provider's first records, and then those that were written meanwhile. */
static void check_busy(const struct busy *b)
{
	struct raw_provider loud, quiet;
	unsigned int found = 0, reads;
	pid_t child;
	int fd;

	NEED(!raw_provider(&loud, "names loud", STRIDE));
	NEED(!raw_provider(&quiet, "names quiet", STRIDE));
	child = begin_child();
	begin(b->mode, b->flags);
	NEED(quiet.control->gate > ASYNCTRACE_GATE_ATTACH);
	raw_write(&quiet, 0, RECORDS);
	fd = consume();
	for (reads = 0; reads < READS && found < 2 * RECORDS; reads++) {
		rename_self(b->renames);
		take_turns(b->turns);
		if (!take(fd))
			break;
		if (chunk->kind != ASYNCTRACE_CHUNK_EVENTS ||
		    chunk->provider != (uint32_t)quiet.id)
			continue;
		found += chunk->records;
		raw_write(&quiet, 0, 2 * RECORDS);
	}
	printf("# %s: %u records in %u reads\n", b->name, found, reads);
	EXPECT_IS(found, 2 * RECORDS);
	close(fd);
	end();
	end_child(child);
	raw_provider_end(&loud);
	raw_provider_end(&quiet);
}

static void I18_busy_cpu_does_not_starve_others(void)
{
	cpu_set_t all;

	NEED(!sched_getaffinity(0, sizeof(all), &all));
	pin(0);
	for (size_t i = 0; i < sizeof(busy) / sizeof(busy[0]); i++)
		check_busy(&busy[i]);
	NEED(!sched_setaffinity(0, sizeof(all), &all));
}

/*
 * Before each read, a thread renames itself, and all records of the CPU's switches are overwritten.
 * The reader gets switches nevertheless.
 */
static void I18_renames_do_not_hold_switches_back(void)
{
	static const uint32_t flags[] = { 0, ASYNCTRACE_CONSUME_F_SNAPSHOT };
	cpu_set_t all;

	NEED(!sched_getaffinity(0, sizeof(all), &all));
	pin(0);
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		unsigned int found = 0, reads;
		struct raw_provider p;
		pid_t child;
		int fd;

		NEED(!raw_provider(&p, "names", STRIDE));
		child = begin_child();
		begin(ASYNCTRACE_MODE_CIRCULAR, 0);
		fd = consume_as(flags[i]);
		for (reads = 0; reads < READS && !found; reads++) {
			rename_self(1);
			take_turns(TURNS_MANY);
			if (!take(fd))
				break;
			if (chunk->kind == ASYNCTRACE_CHUNK_SCHED && !chunk->ring)
				found += chunk->records;
		}
		printf("# flags %u: %u switches in %u reads\n", flags[i], found, reads);
		EXPECT(found > 0);
		close(fd);
		end();
		end_child(child);
		raw_provider_end(&p);
	}
	NEED(!sched_setaffinity(0, sizeof(all), &all));
}

/* --- many names ---------------------------------------------------------------------------- */

/* More names than two chunks have */
#define MANY	600

static pthread_t many[MANY];
static pid_t many_tids[MANY];
static bool many_named[MANY];
static int many_pipe[2];

static void *wait_for_end(void *arg)
{
	pid_t *tid = arg;
	char byte;

	__atomic_store_n(tid, gettid(), __ATOMIC_RELEASE);
	return read(many_pipe[0], &byte, 1) ? NULL : arg;
}

static void begin_many(void)
{
	pthread_attr_t attr;

	memset(many_tids, 0, sizeof(many_tids));
	memset(many_named, 0, sizeof(many_named));
	NEED(!pipe(many_pipe) && !pthread_attr_init(&attr) &&
	     !pthread_attr_setstacksize(&attr, 64 * 1024));
	for (int i = 0; i < MANY; i++)
		NEED(!pthread_create(&many[i], &attr, wait_for_end, &many_tids[i]));
	for (int i = 0; i < MANY; i++)
		while (!__atomic_load_n(&many_tids[i], __ATOMIC_ACQUIRE))
			usleep(1000);
	pthread_attr_destroy(&attr);
}

static void end_many(void)
{
	close(many_pipe[1]);
	for (int i = 0; i < MANY; i++) {
		void *ret;

		NEED(!pthread_join(many[i], &ret) && ret);
	}
	close(many_pipe[0]);
}

/* Notes the threads whose names are in the chunk. */
static void note_named(void)
{
	const struct asynctrace_task_name *name = (const void *)(chunk + 1);

	for (size_t n = 0; n < chunk->bytes / sizeof(*name); n++)
		for (int i = 0; i < MANY; i++)
			many_named[i] |= name[n].tid == many_tids[i];
}

static unsigned int count_named(void)
{
	unsigned int nr = 0;

	for (int i = 0; i < MANY; i++)
		nr += many_named[i];
	return nr;
}

/* Waits until the session's table has all names. */
static void wait_for_table(void)
{
	struct raw_ledger names;

	do {
		usleep(1000);
		NEED(!raw_names_ledger(&nl, session, &names));
	} while (names.delivered < names.committed || names.committed < MANY);
	EXPECT_IS(names.dropped, 0);
}

static void rename_others(void)
{
	for (int i = 0; i < MANY; i++) {
		char path[64];

		if (many_named[i])
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%d/comm", many_tids[i]);
		NEED(!raw_put(path, "renamed"));
	}
}

/*
 * While the reader reports the names of many threads, the others rename themselves. Their names
 * come before the first records nevertheless.
 */
static void renamed_thread_is_named_in_the_same_pass(void)
{
	struct raw_provider p;
	int fd;

	NEED(!raw_provider(&p, "names", STRIDE));
	begin_many();
	begin(ASYNCTRACE_MODE_CIRCULAR, 0);
	wait_for_table();
	fd = consume();
	do
		NEED(take(fd));
	while (chunk->kind != ASYNCTRACE_CHUNK_NAMES);
	note_named();
	EXPECT(count_named() > 0 && count_named() < MANY);
	rename_others();
	wait_for_table();
	while (take(fd) && chunk->kind != ASYNCTRACE_CHUNK_SCHED)
		if (chunk->kind == ASYNCTRACE_CHUNK_NAMES)
			note_named();
	EXPECT_IS(chunk->kind, ASYNCTRACE_CHUNK_SCHED);
	EXPECT_IS(count_named(), MANY);
	close(fd);
	end();
	end_many();
	raw_provider_end(&p);
}

#define GROUP	"/sys/fs/cgroup/at-task-names"

/* Reads all names. Returns the number that the last chunk of names from the table calls dropped. */
static uint64_t read_names(int fd)
{
	uint64_t dropped = 0;

	memset(many_named, 0, sizeof(many_named));
	while (take(fd)) {
		if (chunk->kind != ASYNCTRACE_CHUNK_NAMES)
			continue;
		note_named();
		if (chunk->ring >= (uint32_t)sysconf(_SC_NPROCESSORS_CONF))
			dropped = chunk->dropped;
	}
	return dropped;
}

/*
 * The table's memory is charged to a group that gets no more. So the table has no room for most
 * names, and only the consumers that do not get these names learn of it.
 */
static void later_consumer_learns_of_lost_names(void)
{
	struct raw_provider p;
	uint64_t dropped;
	int fd;

	raw_put("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	NEED(!mkdir(GROUP, 0755) || errno == EEXIST);
	NEED(!raw_put(GROUP "/memory.max", "max"));
	NEED(!raw_provider(&p, "names", STRIDE));
	begin_many();
	NEED(!raw_put(GROUP "/cgroup.procs", "0"));
	begin(ASYNCTRACE_MODE_STREAMING, 0);
	NEED(!raw_put("/sys/fs/cgroup/cgroup.procs", "0"));
	NEED(!raw_put(GROUP "/memory.max", "0"));

	fd = consume();
	EXPECT_IS(read_names(fd), 0);
	EXPECT_IS(count_named(), MANY);
	close(fd);
	for (int i = 0; i < 2; i++) {
		fd = consume();
		dropped = read_names(fd);
		printf("# %u names, %llu lost\n", count_named(), (unsigned long long)dropped);
		EXPECT(count_named() < MANY);
		EXPECT(dropped >= MANY - count_named());
		close(fd);
	}
	NEED(!raw_put(GROUP "/memory.max", "max"));
	end();
	end_many();
	raw_provider_end(&p);
}

/* --- a start that clears what is being read --------------------------------------------------- */

#define CLEARS	3

/* A reader whose buffer has no page for the payload until the test allows it */
static struct slow_reader {
	pthread_t thread;
	int fd, faults;
	char *buf;
	bool done;
	ssize_t ret;
} slow;

static void *read_slowly(void *arg)
{
	struct slow_reader *r = arg;

	r->ret = read(r->fd, r->buf, sizeof(buf));
	__atomic_store_n(&r->done, true, __ATOMIC_RELEASE);
	return arg;
}

static void begin_slow_read(int fd)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	slow = (struct slow_reader){ .fd = fd, .faults = syscall(SYS_userfaultfd, O_NONBLOCK) };
	NEED(slow.faults >= 0 && !ioctl(slow.faults, UFFDIO_API, &api));
	slow.buf = mmap(NULL, sizeof(buf), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);
	NEED(slow.buf != MAP_FAILED);
	range.range.start = (uintptr_t)slow.buf;
	range.range.len = (sizeof(buf) + 4095) & -4096;
	NEED(!ioctl(slow.faults, UFFDIO_REGISTER, &range));
	NEED(!pthread_create(&slow.thread, NULL, read_slowly, &slow));
}

/* Waits until the reader copies a payload, or has ended. */
static void wait_for_copy(void)
{
	struct uffd_msg msg;

	while (read(slow.faults, &msg, sizeof(msg)) != sizeof(msg) &&
	       !__atomic_load_n(&slow.done, __ATOMIC_ACQUIRE))
		usleep(1000);
}

/* Lets the reader go on, and copies what it has read to @buf. Returns false if it got nothing. */
static bool end_slow_read(void)
{
	ssize_t ret;

	/* Pages that the reader has touched stay. The other ones are faulted in as usual. */
	close(slow.faults);
	NEED(!pthread_join(slow.thread, NULL));
	ret = slow.ret;
	if (ret > 0)
		memcpy(buf, slow.buf, ret);
	munmap(slow.buf, sizeof(buf));
	return ret > 0;
}

/* Counts the names that each ring of names has delivered, and checks the chunk's counts. */
static void check_names_counts(uint64_t names[])
{
	if (chunk->kind != ASYNCTRACE_CHUNK_NAMES)
		return;
	EXPECT(chunk->ring < CPU_SETSIZE);
	/* The only consumer gets no names from the table. */
	EXPECT(chunk->ring < (uint32_t)sysconf(_SC_NPROCESSORS_CONF));
	names[chunk->ring % CPU_SETSIZE] += chunk->records;
	EXPECT_IS(chunk->delivered, names[chunk->ring % CPU_SETSIZE]);
}

static void start_and_clear(void)
{
	struct nlmsghdr *nlh;

	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_STOP, session));
	nlh = raw_nl_begin(&nl, ASYNCTRACE_CMD_SESSION_START, 0);
	mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_ID, session);
	mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_DISPOSITION,
			 ASYNCTRACE_DISPOSITION_CLEAR_ENTIRE);
	NEED(!raw_nl_ask(&nl));
}

/* Writes more switches than fit, all of which are of the present run. */
static void fill_ring(void)
{
	struct raw_ledger before, after;

	NEED(!raw_sched_ledger(&nl, session, &before));
	do {
		take_turns(TURNS_MANY);
		NEED(!raw_sched_ledger(&nl, session, &after));
	} while (after.dropped == before.dropped);
}

/*
 * While the reader copies records of switches, a start clears them, and new ones take their place.
 * The reader leaves the names in their rings.
 */
static void cleared_switches_take_no_names(void)
{
	static uint64_t names[CPU_SETSIZE];
	struct raw_provider p;
	cpu_set_t all;
	pid_t child;
	int fd;

	NEED(!sched_getaffinity(0, sizeof(all), &all));
	pin(0);
	NEED(!raw_provider(&p, "names", STRIDE));
	child = begin_child();
	begin(ASYNCTRACE_MODE_STREAMING, 0);
	fd = consume();
	for (int i = 0; i < CLEARS; i++) {
		/* Several chunks of switches: the slow read gets the second one. */
		take_turns(TURNS_MANY / 2);
		do {
			NEED(take(fd));
			check_names_counts(names);
		} while (chunk->kind != ASYNCTRACE_CHUNK_SCHED || chunk->ring);
		begin_slow_read(fd);
		wait_for_copy();
		rename_self(1);
		start_and_clear();
		fill_ring();
		if (end_slow_read())
			check_names_counts(names);
	}
	while (take(fd))
		check_names_counts(names);
	close(fd);
	end();
	end_child(child);
	raw_provider_end(&p);
	NEED(!sched_setaffinity(0, sizeof(all), &all));
}

/* --- several consumers in turn --------------------------------------------------------------- */

/*
 * Reads all, and checks that there are records of each of two threads, and that these come after
 * the thread's name.
 */
static void check_names_first(const pid_t tid[2])
{
	const struct asynctrace_task_name *name = (const void *)(chunk + 1);
	const uint64_t *words = (const void *)(chunk + 1);
	bool named[2] = {}, used[2] = {};
	int fd = consume();

	while (take(fd))
		for (int i = 0; i < 2; i++) {
			if (chunk->kind == ASYNCTRACE_CHUNK_NAMES)
				for (size_t n = 0; n < chunk->bytes / sizeof(*name); n++)
					named[i] |= name[n].tid == tid[i];
			if (chunk->kind != ASYNCTRACE_CHUNK_SCHED)
				continue;
			for (size_t n = 0; n < chunk->bytes / sizeof(*words) && !used[i]; n++)
				used[i] = words[n] == (uint64_t)tid[i];
			EXPECT(!used[i] || named[i]);
		}
	for (int i = 0; i < 2; i++)
		EXPECT(used[i] && named[i]);
	close(fd);
}

/* The name of each thread was recorded before the first consumer read the session. */
static void each_consumer_gets_names_before_records(void)
{
	static const struct {
		uint32_t mode, flags;
	} row[] = {
		{ ASYNCTRACE_MODE_STREAMING, 0 },
		{ ASYNCTRACE_MODE_ONESHOT, 0 },
		{ ASYNCTRACE_MODE_CIRCULAR, 0 },
		{ ASYNCTRACE_MODE_STREAMING, ASYNCTRACE_SESSION_FLAGS_DETACHED },
	};
	struct raw_provider p;
	pid_t tid[2] = { getpid() };
	cpu_set_t all;

	NEED(!sched_getaffinity(0, sizeof(all), &all));
	/* Each turn switches between the two threads. */
	pin(0);
	NEED(!raw_provider(&p, "names", STRIDE));
	tid[1] = begin_child();
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		printf("# mode %u, flags %u\n", row[i].mode, row[i].flags);
		begin(row[i].mode, row[i].flags);
		for (int consumer = 0; consumer < 3; consumer++) {
			take_turns(20);
			check_names_first(tid);
		}
		end();
	}
	end_child(tid[1]);
	raw_provider_end(&p);
	NEED(!sched_setaffinity(0, sizeof(all), &all));
}

static const struct ktap_test tests[] = {
	KTAP_TEST(I18_busy_cpu_does_not_starve_others),
	KTAP_TEST(I18_renames_do_not_hold_switches_back),
	KTAP_TEST(renamed_thread_is_named_in_the_same_pass),
	KTAP_TEST(later_consumer_learns_of_lost_names),
	KTAP_TEST(cleared_switches_take_no_names),
	KTAP_TEST(each_consumer_gets_names_before_records),
};

KTAP_MAIN(tests)
