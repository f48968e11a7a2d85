// SPDX-License-Identifier: GPL-2.0
/*
 * Threads and providers that have ended: while a session goes on, they use no memory and count
 * towards no limit, unless the session's reader still needs them
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "child.h"
#include "group.h"
#include "ktap.h"
#include "limit.h"
#include "raw.h"

#define NOBODY		65534
#define STRIDE		(64 * 1024)
#define PROVIDERS_MAX	4096	/* of a user at a time */
#define SOME		300	/* threads */
#define MANY		1000	/* the environment variable THREADS_MANY overrides this */

static struct raw_nl nl;

static int begin(uint32_t mode, uint32_t sched)
{
	int id;

	NEED(!raw_nl_open(&nl));
	id = raw_session(&nl, "past", mode, sched, STRIDE, "past");
	NEED(id > 0);
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id));
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id));
	return id;
}

/* --- threads ---------------------------------------------------------------------- */

static void *no_thread(void *arg)
{
	return arg;
}

static void run_threads(int n)
{
	pthread_t thread;

	while (n--) {
		NEED(!pthread_create(&thread, NULL, no_thread, NULL));
		pthread_join(thread, NULL);
	}
}

/* Bytes of kernel objects that this group has; a task is one of them */
static long long objects(void)
{
	return group_bytes("\nslab_unreclaimable ");
}

/*
 * Waits until the group's kernel objects have less than @bytes. Polls, because no system call waits
 * until the kernel has freed them.
 */
static void objects_below(long long bytes)
{
	long long now = objects();

	for (int i = 0; i < 2400 && now >= bytes; i++, now = objects())
		usleep(100000);
	printf("# %lld bytes, to be below %lld\n", now, bytes);
	EXPECT(now < bytes);
}

static int begin_with_provider(struct raw_provider *p)
{
	group_enter();
	NEED(!raw_provider(p, "past", STRIDE));
	return begin(ASYNCTRACE_MODE_STREAMING, ASYNCTRACE_SCHED_TARGETS);
}

static void end_with_provider(struct raw_provider *p)
{
	group_leave();
	raw_provider_end(p);
	raw_nl_close(&nl);
}

/* A number of bytes that is far less than a task takes */
#define TASK	4096

static void thread_made_while_stopped_is_forgotten(void)
{
	struct raw_provider p;
	const int many = amount("THREADS_MANY", MANY);
	int id = begin_with_provider(&p);
	long long before;

	run_threads(SOME);
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_STOP, id));
	run_threads(SOME);
	before = objects();
	run_threads(many);
	objects_below(before + many * TASK / 4);
	end_with_provider(&p);
}

static int held[2];

static void *held_thread(void *arg)
{
	char byte;

	return read(held[0], &byte, 1) ? NULL : arg;
}

static void thread_ended_while_stopped_is_forgotten(void)
{
	pthread_t threads[SOME];
	struct raw_provider p;
	long long before;
	int id = begin_with_provider(&p);

	NEED(!pipe(held));
	for (int i = 0; i < SOME; i++)
		NEED(!pthread_create(&threads[i], NULL, held_thread, NULL));
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_STOP, id));
	before = objects();
	close(held[1]);
	for (int i = 0; i < SOME; i++)
		pthread_join(threads[i], NULL);
	objects_below(before - SOME * TASK);
	close(held[0]);
	end_with_provider(&p);
}

/* Number of ended threads whose slots a provider keeps */
#define SLOTS_KEPT	4096

static void *slot_thread(void *p)
{
	const int fd = ((struct raw_provider *)p)->fd;

	return raw_ioctl(fd, ASYNCTRACE_IOC_THREAD, NULL) > 0 ? p : NULL;
}

static void run_threads_with_slots(struct raw_provider *p, int n)
{
	pthread_t thread;
	void *ret;

	while (n--) {
		NEED(!pthread_create(&thread, NULL, slot_thread, p));
		NEED(!pthread_join(thread, &ret) && ret);
	}
}

static int reader_of(int id);

/* Returns the number of the provider's threads in all that can be read. */
static int threads_told(int fd)
{
	static char buf[ASYNCTRACE_READ_MIN];
	const struct asynctrace_chunk *c = (const void *)buf;
	int n = 0;

	while (read(fd, buf, sizeof(buf)) > 0)
		n += c->kind == ASYNCTRACE_CHUNK_THREADS ? c->records : 0;
	return n;
}

static void thread_unknown_to_a_session_is_remembered(void)
{
	const int kept = limit_lower(LIMIT_SLOTS, SLOTS_KEPT, 256), before = kept - 10;
	struct raw_provider p;
	int id, fd;

	NEED(!raw_provider(&p, "past", STRIDE));
	id = begin(ASYNCTRACE_MODE_STREAMING, ASYNCTRACE_SCHED_OFF);
	fd = reader_of(id);
	run_threads_with_slots(&p, before);
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, id));
	/* The reader of the ended session has not got the earlier threads yet. */
	run_threads_with_slots(&p, 20);
	EXPECT(threads_told(fd) > before);
	/* The reader has got these threads now, so their slots may be freed. */
	run_threads_with_slots(&p, kept);
	raw_nl_close(&nl);
	id = begin(ASYNCTRACE_MODE_STREAMING, ASYNCTRACE_SCHED_OFF);
	close(fd);
	fd = reader_of(id);
	EXPECT(threads_told(fd) < kept);
	close(fd);
	limit_restore(LIMIT_SLOTS);
	raw_nl_close(&nl);
	raw_provider_end(&p);
}

/* --- providers ---------------------------------------------------------------------- */

static int come_and_go(void)
{
	int fd = raw_open(), id;

	if (fd < 0)
		return fd;
	id = raw_hello(fd, NULL);
	if (!id)
		id = raw_register(fd, "past", STRIDE);
	close(fd);
	return id;
}

/* Reads until nothing is left for the moment. */
static int read_all(int fd)
{
	static char buf[ASYNCTRACE_READ_MIN];
	ssize_t n;

	do
		n = read(fd, buf, sizeof(buf));
	while (n > 0);
	return errno == EAGAIN ? 0 : -errno;
}

static int reader_of(int id)
{
	int fd = raw_open();

	NEED(fd >= 0 && !raw_consume(fd, id));
	NEED(!fcntl(fd, F_SETFL, O_NONBLOCK));
	return fd;
}

/* Registers @count providers in one session, one after the other. */
static int pass(uint32_t mode, unsigned int count)
{
	const bool read = mode == ASYNCTRACE_MODE_STREAMING;
	int id = begin(mode, ASYNCTRACE_SCHED_OFF), fd = read ? reader_of(id) : -1;

	for (unsigned int i = 0; i < count; i++) {
		SO(come_and_go() > 0);
		if (read && i % 64 == 63)
			SO(!read_all(fd));
	}
	SO(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_GET, id));
	SO(raw_nl_u32(&nl, ASYNCTRACE_A_SESSION_PROVIDERS) == count);
	SO(raw_nl_u32(&nl, ASYNCTRACE_A_SESSION_REFUSED_PROVIDERS) == 0);
	return 0;
}

/* Registers more providers than a user may have at a time, and reads them. */
static int pass_and_are_read(void *arg)
{
	return pass(ASYNCTRACE_MODE_STREAMING, *(int *)arg + 10);
}

static void I19_ended_providers_are_not_charged(void)
{
	int max = limit_lower(LIMIT_PROVIDERS, PROVIDERS_MAX, 200);

	EXPECT_IS(raw_child(pass_and_are_read, &max, NOBODY), 0);
	limit_restore(LIMIT_PROVIDERS);
}

/*
 * Registers more providers than the session has room for: the last ones take the room of the
 * first.
 */
static int pass_and_are_forgotten(void *arg)
{
	uint64_t limit, set;

	(void)arg;
	SO(!raw_nl_open(&nl));
	raw_nl_begin(&nl, ASYNCTRACE_CMD_INFO_GET, 0);
	SO(!raw_nl_ask(&nl));
	limit = raw_nl_u64(&nl, ASYNCTRACE_A_INFO_MEMORY_LIMIT);
	set = (raw_nl_u32(&nl, ASYNCTRACE_A_INFO_ONLINE_CPUS) + 1) * STRIDE;
	raw_nl_close(&nl);
	return pass(ASYNCTRACE_MODE_CIRCULAR, limit / set + 10);
}

static void I19_ended_providers_make_room_if_circular(void)
{
	EXPECT_IS(raw_child(pass_and_are_forgotten, NULL, NOBODY), 0);
}

/* Returns the number of areas that the module has mapped; each provider has some. */
static int areas(void)
{
	FILE *f = fopen("/proc/vmallocinfo", "re");
	char line[512];
	int n = 0;

	NEED(f);
	while (fgets(line, sizeof(line), f))
		n += strstr(line, "[asynctrace]") != NULL;
	fclose(f);
	return n;
}

static int areas_left(void)
{
	int n = areas();

	for (int i = 0; i < 2400 && n; i++, n = areas())
		usleep(100000);
	return n;
}

static void I19_read_rings_are_freed(void)
{
	int id = begin(ASYNCTRACE_MODE_STREAMING, ASYNCTRACE_SCHED_OFF), fd = reader_of(id);
	const int turns = 200;

	NEED(come_and_go() > 0 && !read_all(fd));
	/* Wait until all providers of this test and of earlier tests have been freed. */
	EXPECT_IS(areas_left(), 0);
	for (int i = 0; i < turns; i++)
		NEED(come_and_go() > 0);
	/* Areas of providers stay until their rings have been read. */
	EXPECT(areas() >= turns);
	EXPECT_IS(read_all(fd), 0);
	EXPECT_IS(areas_left(), 0);
	close(fd);
	raw_nl_close(&nl);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(thread_made_while_stopped_is_forgotten),
	KTAP_TEST(thread_ended_while_stopped_is_forgotten),
	KTAP_TEST(thread_unknown_to_a_session_is_remembered),
	KTAP_TEST(I19_ended_providers_are_not_charged),
	KTAP_TEST(I19_ended_providers_make_room_if_circular),
	KTAP_TEST(I19_read_rings_are_freed),
};

KTAP_MAIN(tests)
