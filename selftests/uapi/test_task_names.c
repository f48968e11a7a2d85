// SPDX-License-Identifier: GPL-2.0
/*
 * Names of tasks: the reader gets them before the records that use them, and threads that rename
 * themselves all the time do not delay other records
 */
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
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

static int consume(void)
{
	int fd = raw_open();

	NEED(fd >= 0 && !raw_consume(fd, session) && !fcntl(fd, F_SETFL, O_NONBLOCK));
	return fd;
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
	KTAP_TEST(each_consumer_gets_names_before_records),
};

KTAP_MAIN(tests)
