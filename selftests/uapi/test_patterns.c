// SPDX-License-Identifier: GPL-2.0
/*
 * Providers that a session takes by its patterns, compared with a plain list: many names that begin
 * alike, several providers with one name, overlapping patterns, and another user
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "ktap.h"
#include "raw.h"

#define NOBODY		65534
#define STRIDE		(64 * 1024)
#define PROVIDERS	40
#define PATTERNS_MAX	5

static struct raw_nl nl;
static char names[PROVIDERS][8];
static unsigned int seed;

/* Makes short names of the letters a and b, so that many providers share a name or a prefix. */
static void random_name(char *name, int least)
{
	int n = least + rand_r(&seed) % 3;

	for (int i = 0; i < n; i++)
		name[i] = "aab"[rand_r(&seed) % 3];
	name[n] = 0;
}

static bool matches(const char *pattern, const char *name)
{
	size_t len = strlen(pattern);

	return pattern[len - 1] == '*' ? !strncmp(pattern, name, len - 1) : !strcmp(pattern, name);
}

static unsigned int expected(char (*patterns)[8], int n)
{
	unsigned int sum = 0;

	for (int i = 0; i < PROVIDERS; i++) {
		bool wanted = !n;

		for (int j = 0; j < n; j++)
			wanted |= matches(patterns[j], names[i]);
		sum += wanted;
	}
	return sum;
}

static int register_all(void)
{
	for (int i = 0; i < PROVIDERS; i++) {
		random_name(names[i], 1);
		SO(raw_register(raw_open(), names[i], STRIDE) > 0);
	}
	return 0;
}

static int create(char (*patterns)[8], int n)
{
	raw_nl_begin(&nl, ASYNCTRACE_CMD_SESSION_CREATE, 0);
	mnl_attr_put_strz(nl.request, ASYNCTRACE_A_SESSION_NAME, "patterns");
	mnl_attr_put_u32(nl.request, ASYNCTRACE_A_SESSION_MODE, ASYNCTRACE_MODE_ONESHOT);
	mnl_attr_put_u64(nl.request, ASYNCTRACE_A_SESSION_RING_SIZE, ASYNCTRACE_RING_MIN);
	for (int i = 0; i < n; i++)
		mnl_attr_put_strz(nl.request, ASYNCTRACE_A_SESSION_PROVIDER, patterns[i]);
	return raw_nl_ask(&nl) ?: (int)raw_nl_u32(&nl, ASYNCTRACE_A_SESSION_ID);
}

/* Number of sessions of each user; the environment variable PATTERN_ROUNDS overrides it */
static int rounds = 150;

/*
 * Compares the number of providers that sessions of the calling user take or refuse with the
 * expected one. @users: number of users whose providers these sessions may record. Each user has
 * the same names.
 */
static int compare(unsigned int users)
{
	char patterns[PATTERNS_MAX][8];

	for (int round = 0; round < rounds; round++) {
		int n = rand_r(&seed) % (PATTERNS_MAX + 1), id;
		unsigned int got;

		for (int i = 0; i < n; i++) {
			random_name(patterns[i], 0);
			if (!patterns[i][0] || rand_r(&seed) % 2)
				strcat(patterns[i], "*");
		}
		id = create(patterns, n);
		SO(id > 0);
		SO(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id));
		SO(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_GET, id));
		got = raw_nl_u32(&nl, ASYNCTRACE_A_SESSION_PROVIDERS) +
		      raw_nl_u32(&nl, ASYNCTRACE_A_SESSION_REFUSED_PROVIDERS);
		if (got != users * expected(patterns, n)) {
			printf("# round %d: %u providers, not %u, by %d patterns", round, got,
			       users * expected(patterns, n), n);
			for (int i = 0; i < n; i++)
				printf(" %s", patterns[i]);
			printf("\n");
			return 1;
		}
		SO(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, id));
	}
	return 0;
}

static int as_one_of_two(void *arg)
{
	int *ends = arg;
	char byte;

	SO(!raw_nl_open(&nl) && !register_all());
	SO(!compare(1));
	SO(write(ends[1], "x", 1) == 1);
	/* Keep this user's providers until root has called compare(). */
	close(ends[3]);
	SO(read(ends[2], &byte, 1) == 0);
	return 0;
}

static void sessions_take_matching_providers(void)
{
	int ends[4], status;
	pid_t child;
	char byte;

	seed = amount("PRIVATE_SEED", time(NULL));
	printf("# PRIVATE_SEED=%u\n", seed);
	rounds = amount("PATTERN_ROUNDS", rounds);
	NEED(!pipe(ends) && !pipe(ends + 2));
	child = fork();
	if (!child) {
		/* Root's providers get the same names, because both processes use the same seed. */
		if (raw_become(NOBODY))
			_exit(255);
		_exit(as_one_of_two(ends));
	}
	close(ends[1]);
	NEED(read(ends[0], &byte, 1) == 1);
	NEED(!raw_nl_open(&nl));
	EXPECT_IS(register_all(), 0);
	EXPECT_IS(compare(2), 0);
	close(ends[3]);
	NEED(waitpid(child, &status, 0) == child);
	EXPECT_IS(status, 0);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(sessions_take_matching_providers),
};

KTAP_MAIN(tests)
