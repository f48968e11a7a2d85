// SPDX-License-Identifier: GPL-2.0
/*
 * Each phase of the reader's pass ends, although more is added all the time to what it reports
 */
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "ktap.h"
#include "raw.h"

#define STRIDE	(64 * 1024)
/* More threads than one chunk has */
#define THREADS	300
#define READS	40
#define RECORDS	10

static struct raw_nl nl;
static struct raw_provider loud, joiner;
static char buf[ASYNCTRACE_READ_MIN];
static const struct asynctrace_chunk *const chunk = (const void *)buf;

static void *take_slot(void *arg)
{
	struct asynctrace_slot slot;

	return raw_slot(&loud, &slot) < 0 ? NULL : arg;
}

static void add_threads(void)
{
	for (int i = 0; i < THREADS; i++) {
		pthread_t thread;
		void *ret;

		NEED(!pthread_create(&thread, NULL, take_slot, &loud));
		NEED(!pthread_join(thread, &ret) && ret);
	}
}

static void replace_provider(void)
{
	raw_provider_end(&joiner);
	NEED(!raw_provider(&joiner, "passes joiner", STRIDE));
}

/* A running session logs a pair of clock readings each second. */
static void wait_for_clock_pair(void)
{
	usleep(1200 * 1000);
}

/* Additions at first, and after each chunk of a kind */
static const struct newcomers {
	const char *name;
	uint32_t kind;
	void (*add)(void);
} newcomers[] = {
	{ "threads", ASYNCTRACE_CHUNK_THREADS, add_threads },
	{ "providers", ASYNCTRACE_CHUNK_PROVIDER, replace_provider },
	{ "clock pairs", ASYNCTRACE_CHUNK_CLOCK, wait_for_clock_pair },
};

/* The reader gets a provider's first records, and then those that were written meanwhile. */
static void check_newcomers(const struct newcomers *n)
{
	struct raw_provider quiet;
	unsigned int found = 0, reads;
	int fd = raw_open(), id;

	NEED(!raw_nl_open(&nl) && !raw_provider(&loud, "passes loud", STRIDE) &&
	     !raw_provider(&quiet, "passes quiet", STRIDE) &&
	     !raw_provider(&joiner, "passes joiner", STRIDE));
	id = raw_session(&nl, "passes", ASYNCTRACE_MODE_STREAMING, 0, STRIDE, "passes*");
	NEED(id > 0 && !raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id) &&
	     !raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id));
	NEED(fd >= 0 && !raw_consume(fd, id) && !fcntl(fd, F_SETFL, O_NONBLOCK));
	raw_write(&quiet, 0, RECORDS);
	n->add();
	for (reads = 0; reads < READS && found < 2 * RECORDS; reads++) {
		if (read(fd, buf, sizeof(buf)) <= 0)
			break;
		if (chunk->kind == n->kind)
			n->add();
		if (chunk->kind != ASYNCTRACE_CHUNK_EVENTS || chunk->provider != (uint32_t)quiet.id)
			continue;
		found += chunk->records;
		raw_write(&quiet, 0, 2 * RECORDS);
	}
	printf("# %s: %u records in %u reads\n", n->name, found, reads);
	EXPECT_IS(found, 2 * RECORDS);
	close(fd);
	raw_provider_end(&joiner);
	raw_provider_end(&quiet);
	raw_provider_end(&loud);
	raw_nl_close(&nl);
}

static void I18_newcomers_do_not_hold_records_back(void)
{
	for (size_t i = 0; i < sizeof(newcomers) / sizeof(newcomers[0]); i++)
		check_newcomers(&newcomers[i]);
}

/* Takes the next chunk, and counts moments of kind @what in it. Returns false if there is none. */
static bool take_moments(int fd, uint32_t what, unsigned int *nr)
{
	const struct asynctrace_clock_pair *pairs = (const void *)(chunk + 1);

	if (read(fd, buf, sizeof(buf)) <= 0)
		return false;
	for (uint64_t i = 0; chunk->kind == ASYNCTRACE_CHUNK_CLOCK && i < chunk->records; i++)
		*nr += pairs[i].what == what;
	return true;
}

/*
 * The consumer reads pairs of clock readings, and the session is stopped before the next read. The
 * second time, it is also started again.
 */
static void stop_between_reads_is_reported(void)
{
	struct raw_provider p;
	int fd = raw_open(), id;

	NEED(!raw_nl_open(&nl) && !raw_provider(&p, "passes quiet", STRIDE));
	id = raw_session(&nl, "passes", ASYNCTRACE_MODE_STREAMING, 0, STRIDE, "passes*");
	NEED(id > 0 && !raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id));
	NEED(fd >= 0 && !raw_consume(fd, id) && !fcntl(fd, F_SETFL, O_NONBLOCK));
	for (int again = 0; again < 2; again++) {
		unsigned int starts = 0, stops = 0;

		NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id));
		raw_write(&p, 0, RECORDS);
		while (!starts)
			NEED(take_moments(fd, ASYNCTRACE_MOMENT_START, &starts));
		NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_STOP, id));
		if (again) {
			NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id));
			while (take_moments(fd, ASYNCTRACE_MOMENT_STOP, &stops) && !stops)
				EXPECT(chunk->kind != ASYNCTRACE_CHUNK_EVENTS);
		} else {
			while (take_moments(fd, ASYNCTRACE_MOMENT_STOP, &stops))
				;
		}
		EXPECT_IS(stops, 1);
	}
	close(fd);
	raw_provider_end(&p);
	raw_nl_close(&nl);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(I18_newcomers_do_not_hold_records_back),
	KTAP_TEST(stop_between_reads_is_reported),
};

KTAP_MAIN(tests)
