// SPDX-License-Identifier: GPL-2.0
/* Sizes of rings that the command recommends: the kernel must accept them, but no larger ones */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "doctor/doctor.h"
#include "session/args.h"
#include "tool.h"

static uint32_t nr_providers;
static char remedy[512];

/* --- stand-ins ------------------------------------------------------------------------------ */

int at_for_each_provider(struct at_ctl *ctl, at_provider_fn fn, void *arg)
{
	const struct at_provider_info p = { .name = "p" };

	(void)ctl;
	for (uint32_t i = 0; i < nr_providers; i++)
		assert_int_equal(fn(&p, arg), 0);
	return 0;
}

void doctor_say(struct doctor *d, const char *name, enum doctor_level level, const char *format,
		...)
{
	(void)d, (void)name, (void)level, (void)format;
}

void doctor_remedy(struct doctor *d, const char *format, ...)
{
	va_list ap;

	(void)d;
	va_start(ap, format);
	vsnprintf(remedy, sizeof(remedy), format, ap);
	va_end(ap);
}

/* No process of this test is in a memory cgroup. */
bool doctor_read(const char *path, char *text, size_t size)
{
	(void)path, (void)text, (void)size;
	return false;
}

/* --- tests ---------------------------------------------------------------------------------- */

static const struct {
	uint64_t limit;
	uint32_t cpus, providers, sched;
} machines[] = {
	{ 64 << 20, 1, 1, ASYNCTRACE_SCHED_OFF },
	{ 64 << 20, 3, 1, ASYNCTRACE_SCHED_TARGETS },
	{ 64 << 20, 4, 1, ASYNCTRACE_SCHED_OFF },
	{ 64 << 20, 4, 0, ASYNCTRACE_SCHED_TARGETS },
	{ 250 << 20, 8, 1, ASYNCTRACE_SCHED_TARGETS },
	{ 250 << 20, 16, 5, ASYNCTRACE_SCHED_TARGETS },
	{ 2048ull << 20, 64, 1, ASYNCTRACE_SCHED_OFF },
	{ 2048ull << 20, 128, 3, ASYNCTRACE_SCHED_ALL },
};

/* Computes the memory of rings as the kernel does. */
static uint64_t memory(const struct at_info *info, uint64_t size, uint64_t sets)
{
	return (info->online_cpus + 1) * size * sets;
}

/* Returns the size that a message names behind @before. */
static uint64_t named_size(const char *text, const char *before)
{
	const char *at = strstr(text, before);
	char size[32];
	uint64_t bytes;

	assert_non_null(at);
	assert_int_equal(sscanf(at + strlen(before), "%31[0-9KMG]", size), 1);
	assert_true(tool_parse_size(size, &bytes));
	return bytes;
}

static char *refusal(const struct session_args *a, const struct at_info *info, const char *reason)
{
	FILE *terminal = stderr;
	char *said;
	size_t length;

	stderr = open_memstream(&said, &length);
	session_args_too_large(a, NULL, info, reason);
	fclose(stderr);
	stderr = terminal;
	return said;
}

static void recommended_size_is_the_largest_that_fits(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
		const struct at_info info = {
			.online_cpus = machines[i].cpus, .memory_limit = machines[i].limit,
		};
		const struct session_args a = {
			.ring_size = 1 << 30, .size_text = "1G", .sched = machines[i].sched,
		};
		const uint64_t sets = (machines[i].providers ? machines[i].providers : 1) +
				      (machines[i].sched != ASYNCTRACE_SCHED_OFF);

		nr_providers = machines[i].providers;
		for (int reason = 0; reason < 2; reason++) {
			char *text = refusal(&a, &info, reason ? "no memory" : NULL);
			const uint64_t size = named_size(text, "; use ");

			if (memory(&info, size, sets) > info.memory_limit ||
			    memory(&info, 2 * size, sets) <= info.memory_limit)
				fail_msg("machine %zu: %s", i, text);
			free(text);
		}
	}
}

static void refusal_shows_how_memory_is_computed(void **state)
{
	const struct at_info info = { .online_cpus = 3, .memory_limit = 64 << 20 };
	const struct session_args a = {
		.ring_size = 32 << 20, .size_text = "32M", .sched = ASYNCTRACE_SCHED_TARGETS,
	};
	char *text;

	(void)state;
	nr_providers = 1;
	text = refusal(&a, &info, NULL);
	assert_non_null(strstr(text, ": (3 CPUs + 1) × 32 MiB × 2 rings "));
	assert_non_null(strstr(text, " = 256 MiB, limit 64 MiB; use 8M or less"));
	free(text);
}

static void doctor_recommends_a_size_that_fits(void **state)
{
	(void)state;
	for (uint32_t cpus = 1; cpus < 100; cpus++) {
		struct doctor d = {
			.info = { .online_cpus = cpus, .memory_limit = cpus * (512 << 10) },
		};
		uint64_t size;

		*remedy = '\0';
		doctor_memory(&d);
		size = named_size(remedy, "use --buffer-size ");
		assert_true(memory(&d.info, size, 2) <= d.info.memory_limit);
		assert_true(memory(&d.info, 2 * size, 2) > d.info.memory_limit);
	}
}

static void small_rings_are_reported_once(void **state)
{
	const struct session_args a = {
		.ring_size = 1 << 20, .nr_buffers = 2,
		.buffers = { { "web*", 64 << 20 }, { "web-front", 1 << 20 } },
	};
	static const struct {
		const char *name;
		uint64_t stride;
		bool small;
	} rows[] = {
		{ "db", 16 << 20, false },
		{ "db", 1 << 20, false },
		{ "db", 256 << 10, true },
		{ "web", 16 << 20, true },
		{ "web", 64 << 20, false },
		{ "web-front", 16 << 20, true },
		/* A module that does not tell */
		{ "web", 0, false },
	};
	struct at_provider_info p = { .pid = 7 };
	FILE *terminal = stderr;
	char *said;
	size_t length;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		p.name = rows[i].name;
		p.ring_stride = rows[i].stride;
		assert_int_equal(session_args_is_small(&a, &p), rows[i].small);
	}
	p.name = "web";
	p.ring_stride = 16 << 20;
	stderr = open_memstream(&said, &length);
	session_args_tell_small(&a, &p);
	fclose(stderr);
	stderr = terminal;
	assert_non_null(strstr(said, "provider web (process 7) has 16 MiB, not 64 MiB,"));
	assert_non_null(strstr(said, "ring_reserve of at_provider_register(3)"));
	free(said);
	assert_false(session_args_is_small(&a, &p));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recommended_size_is_the_largest_that_fits),
		cmocka_unit_test(refusal_shows_how_memory_is_computed),
		cmocka_unit_test(doctor_recommends_a_size_that_fits),
		cmocka_unit_test(small_rings_are_reported_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
