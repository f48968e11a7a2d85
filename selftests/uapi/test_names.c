// SPDX-License-Identifier: GPL-2.0
/*
 * Names for the reader of an ended session
 *
 * Another session clears the provider's names, and the provider interns its names anew. The module
 * keeps the old names that ended sessions need. It keeps one copy for all these sessions and
 * charges it to one of them. The copy has at most as many pages as the provider has for names.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ktap.h"
#include "raw.h"

#define STRIDE		(64 * 1024)
#define PROVIDERS	16
#define SESSIONS	30
#define GROUP		"/sys/fs/cgroup/at-names"
#define MIB		(1024 * 1024LL)
#define ALL_WORDS	((ASYNCTRACE_DURABLE_SIZE - ASYNCTRACE_LINE) / 8)
#define ALL_PAGES	(ASYNCTRACE_DURABLE_SIZE / 4096)
#define PAGE_WORDS	((4096 - ASYNCTRACE_LINE) / 8)

static struct raw_provider providers[PROVIDERS];
static int nr_providers;
static struct raw_nl nl;

/* --- memory -------------------------------------------------------------------------- */

static void join(const char *group)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	NEED(!raw_put(path, "0"));
}

static void make_group(void)
{
	raw_put("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	NEED(!mkdir(GROUP, 0755) || errno == EEXIST);
}

static void leave_group(void)
{
	join("/sys/fs/cgroup");
	raw_put(GROUP "/memory.max", "max");
}

/*
 * Returns the bytes charged to the group. These may be half a megabyte more than are in use,
 * because each CPU charges some in advance.
 */
static long long used(void)
{
	int fd = open(GROUP "/memory.current", O_RDONLY | O_CLOEXEC);
	char text[64] = "";

	NEED(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	return atoll(text);
}

/* --- providers ------------------------------------------------------------------------- */

static uint64_t word(int provider, uint32_t generation, uint32_t i)
{
	return (uint64_t)generation << 32 | provider << 24 | i;
}

/* Claims @words words of names, and writes as many as fit in @pages. */
static void put_names(int provider, uint32_t words, uint32_t pages)
{
	struct raw_provider *p = &providers[provider];
	volatile uint64_t *line = (void *)(p->rw + p->control->durable), *names = line + 8;
	const uint32_t generation = p->control->durable_generation;

	for (uint32_t i = 0; i < words && i < pages * 512 - 8; i++)
		names[i] = word(provider, generation, i);
	line[0] = (uint64_t)generation << ASYNCTRACE_DURABLE_GEN_SHIFT | words;
}

static void make_providers(int n)
{
	for (nr_providers = 0; nr_providers < n; nr_providers++)
		NEED(!raw_provider(&providers[nr_providers], "names", STRIDE));
}

static void end_providers(void)
{
	while (nr_providers)
		raw_provider_end(&providers[--nr_providers]);
}

/* --- sessions -------------------------------------------------------------------------- */

static int begin(const char *name)
{
	int id = raw_session(&nl, name, ASYNCTRACE_MODE_CIRCULAR, ASYNCTRACE_SCHED_OFF, STRIDE,
			     "names");

	NEED(id > 0);
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id));
	return id;
}

/* Returns a reader of a session that had the providers and has ended. */
static int session_over(void)
{
	int id = begin("over"), fd = raw_open();

	NEED(fd >= 0 && !raw_consume(fd, id));
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id));
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, id));
	return fd;
}

/* Another session starts, records the providers, and starts again with a clear. */
static void clear_names(void)
{
	uint32_t generation[PROVIDERS];
	int id = begin("clears");

	for (int i = 0; i < nr_providers; i++)
		generation[i] = providers[i].control->durable_generation;
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id));
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_STOP, id));
	raw_nl_begin(&nl, ASYNCTRACE_CMD_SESSION_START, 0);
	mnl_attr_put_u32(nl.request, ASYNCTRACE_A_SESSION_ID, id);
	mnl_attr_put_u32(nl.request, ASYNCTRACE_A_SESSION_DISPOSITION,
			 ASYNCTRACE_DISPOSITION_CLEAR_ENTIRE);
	NEED(!raw_nl_ask(&nl));
	/* The module clears names only after their writers have left. */
	for (int i = 0, n = 0; i < nr_providers; i++)
		for (; providers[i].control->durable_generation == generation[i]; n++) {
			NEED(n < 24000);
			usleep(10000);
		}
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, id));
}

/*
 * Reads a session to its end. Returns the words of names that it got of each provider, the same
 * number for each; -1 if a word was not written under @generation.
 */
static long names_told(int fd, const uint32_t *generation)
{
	static char buffer[ASYNCTRACE_READ_MIN] __attribute__((aligned(8)));
	const struct asynctrace_chunk *c = (void *)buffer;
	const uint64_t *words = (void *)(c + 1);
	long told[PROVIDERS] = { 0 };

	while (read(fd, buffer, sizeof(buffer)) > 0) {
		int of = 0;

		if (c->kind != ASYNCTRACE_CHUNK_STRINGS)
			continue;
		while (of < nr_providers && (uint32_t)providers[of].id != c->provider)
			of++;
		if (of == nr_providers || c->records != generation[of] ||
		    c->sequence != (uint64_t)told[of])
			return -1;
		for (uint32_t i = 0; i < c->bytes / 8; i++)
			if (words[i] != word(of, generation[of], told[of] + i))
				return -1;
		told[of] += c->bytes / 8;
	}
	for (int i = 1; i < nr_providers; i++)
		if (told[i] != told[0])
			return -1;
	return told[0];
}

/* --- tests ----------------------------------------------------------------------------- */

/*
 * Returns the bytes that kept names take. Each provider claims all words of its durable ring, but
 * writes only @pages pages. @words: words of names that each reader must get of each provider
 */
static long long keep_for_many(uint32_t pages, uint32_t words)
{
	uint32_t generation[PROVIDERS];
	int over[SESSIONS];
	long long before;

	make_group();
	join(GROUP);
	NEED(!raw_nl_open(&nl));
	make_providers(PROVIDERS);
	for (int i = 0; i < PROVIDERS; i++) {
		generation[i] = providers[i].control->durable_generation;
		put_names(i, ALL_WORDS, pages);
	}
	for (int i = 0; i < SESSIONS; i++)
		over[i] = session_over();
	before = used();
	clear_names();
	before = used() - before;
	printf("# %lld KiB more\n", before / 1024);
	for (int i = 0; i < SESSIONS; i++) {
		EXPECT_IS(names_told(over[i], generation), words);
		close(over[i]);
	}
	raw_nl_close(&nl);
	leave_group();
	end_providers();
	return before;
}

static void names_of_many_sessions_are_charged_once(void)
{
	long long bytes = keep_for_many(ALL_PAGES, ALL_WORDS);

	EXPECT(bytes > PROVIDERS * ASYNCTRACE_DURABLE_SIZE - MIB);
	EXPECT(bytes < PROVIDERS * ASYNCTRACE_DURABLE_SIZE + 2 * MIB);
}

static void claimed_names_take_no_memory(void)
{
	EXPECT(keep_for_many(1, PAGE_WORDS) < 2 * MIB);
}

/*
 * Returns a reader of an ended session that is charged to a group which gets no more memory. If a
 * CPU has charged some bytes to the group in advance, they are not enough for all names.
 */
static int session_of_the_poor(void)
{
	int fd;

	join(GROUP);
	fd = session_over();
	join("/sys/fs/cgroup");
	NEED(!raw_put(GROUP "/memory.max", "0"));
	return fd;
}

static void without_memory_names_are_lost_not_confused(void)
{
	uint32_t generation;
	int rich, poor;

	make_group();
	make_providers(1);
	NEED(!raw_nl_open(&nl));
	generation = providers[0].control->durable_generation;
	put_names(0, ALL_WORDS, ALL_PAGES);
	poor = session_of_the_poor();
	clear_names();
	put_names(0, ALL_WORDS, ALL_PAGES);
	EXPECT_IS(names_told(poor, &generation), 0);
	close(poor);

	/* If one session has memory, all sessions have the names. */
	NEED(!raw_put(GROUP "/memory.max", "max"));
	generation = providers[0].control->durable_generation;
	rich = session_over();
	poor = session_of_the_poor();
	clear_names();
	put_names(0, 20, 1);
	EXPECT_IS(names_told(rich, &generation), ALL_WORDS);
	EXPECT_IS(names_told(poor, &generation), ALL_WORDS);
	close(rich);
	close(poor);
	raw_nl_close(&nl);
	leave_group();
	end_providers();
}

static const struct ktap_test tests[] = {
	KTAP_TEST(names_of_many_sessions_are_charged_once),
	KTAP_TEST(claimed_names_take_no_memory),
	KTAP_TEST(without_memory_names_are_lost_not_confused),
};

KTAP_MAIN(tests)
