// SPDX-License-Identifier: GPL-2.0
/*
 * P30 to P33: categories; P25 with categories of a late provider
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <asynctrace/operation.h>
#include <asynctrace/trace.h>

#include "proto.h"

static char text[ASYNCTRACE_CATEGORIES_MAX + 1][ASYNCTRACE_CATEGORY_MAX + 2];

/* Requests a session with @n categories of @bytes bytes each. */
static int create(unsigned int n, unsigned int bytes)
{
	struct nlmsghdr *nlh = raw_nl_begin(&wire, ASYNCTRACE_CMD_SESSION_CREATE, 0);
	int err;

	mnl_attr_put_strz(nlh, ASYNCTRACE_A_SESSION_NAME, PROTO);
	mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_MODE, ASYNCTRACE_MODE_ONESHOT);
	mnl_attr_put_u64(nlh, ASYNCTRACE_A_SESSION_RING_SIZE, 64 << 10);
	for (unsigned int i = 0; i < n; i++) {
		memset(text[i], 'c', bytes);
		text[i][0] = '0' + i / 10;
		text[i][1] = '0' + i % 10;
		text[i][bytes] = 0;
		mnl_attr_put_strz(nlh, ASYNCTRACE_A_SESSION_CATEGORY, text[i]);
	}
	err = raw_nl_ask(&wire);
	return err ? err : (int)raw_nl_u32(&wire, ASYNCTRACE_A_SESSION_ID);
}

static void P30_100_categories_of_100_bytes(void)
{
	struct session_seen seen;
	int ret;

	ret = create(ASYNCTRACE_CATEGORIES_MAX, ASYNCTRACE_CATEGORY_MAX);
	ktap_check(ret > 0, "100 of 100 bytes: %s", wire.text);
	if (ret > 0) {
		must(session_see(ret, &seen));
		ktap_check(seen.nr_categories == ASYNCTRACE_CATEGORIES_MAX &&
			   !strcmp(seen.category, text[0]), "%u are there", seen.nr_categories);
		/* The categories also fit in the page where providers read them. */
		must(!at_session_init(ctl, ret) && !at_session_start(ctl, ret, NULL));
		ktap_check(nu_gate() && !emit(1), "an event of no category is enabled");
		must(!at_session_destroy(ctl, ret));
	}
	ret = create(ASYNCTRACE_CATEGORIES_MAX + 1, 4);
	ktap_check(ret == -ERANGE && wire.bad == ASYNCTRACE_A_SESSION_CATEGORY,
		   "101: %d, '%s', of attribute %u", ret, wire.text, wire.bad);
	ret = create(1, ASYNCTRACE_CATEGORY_MAX + 1);
	ktap_check(ret == -ERANGE && wire.bad == ASYNCTRACE_A_SESSION_CATEGORY,
		   "101 bytes: %d, '%s', of attribute %u", ret, wire.text, wire.bad);
}

/* Each of 100 categories is recorded, and no other category. */
static void P30_all_100_categories_are_recorded(void)
{
	const char *list[ASYNCTRACE_CATEGORIES_MAX];
	const struct at_session_options opts = {
		.nr_categories = ASYNCTRACE_CATEGORIES_MAX, .categories = list,
	};
	int id = create(ASYNCTRACE_CATEGORIES_MAX, ASYNCTRACE_CATEGORY_MAX);
	struct law law;

	/* create() was called only because it fills text[] with the categories. */
	must(id > 0 && !at_session_destroy(ctl, id));
	for (int i = 0; i < ASYNCTRACE_CATEGORIES_MAX; i++)
		list[i] = text[i];
	id = session_ready(&opts);
	must(!at_session_init(ctl, id) && !at_session_start(ctl, id, NULL));
	while (!nu_gate())
		usleep(1000);
	for (int i = 0; i < ASYNCTRACE_CATEGORIES_MAX; i++) {
		at_log(list[i], "of this category");
		law = law_of(id);
		ktap_check(law.committed == (uint64_t)i + 1, "category %d: %llu records", i,
			   (unsigned long long)law.committed);
		/* Log a shorter category, and a category that differs in its last byte. */
		text[i][ASYNCTRACE_CATEGORY_MAX - 1] = 0;
		at_log(list[i], "of none");
		text[i][ASYNCTRACE_CATEGORY_MAX - 1] = 'd';
		at_log(list[i], "of none");
	}
	law = law_of(id);
	ktap_check(law.committed == ASYNCTRACE_CATEGORIES_MAX && !law.dropped, "%llu records",
		   (unsigned long long)law.committed);
	must(!at_session_destroy(ctl, id));
}

static void want(struct run *run, const char *category)
{
	const char *const list[] = { category };
	const struct at_session_options opts = { .nr_categories = !!category, .categories = list };

	session_make(run, &opts);
	session_start(run);
}

static void P31_empty_list_enables_all(void)
{
	struct run run;

	want(&run, NULL);
	ktap_check(emit(10) == 10, "an event is not enabled");
	session_finish(&run);
	ktap_check(run.seen.events == 10, "%llu events", (unsigned long long)run.seen.events);
	session_end(&run);
}

static void P33_site_state_ends_at_start_and_stop(void)
{
	static const struct {
		const char *category;
		bool wanted;
	} runs[] = {
		{ "law", true }, { "other", false }, { "law", true }, { "l*", true }, { "la", false },
		{ NULL, true }, { "lawful", false }, { "law*", true },
	};
	struct run run;

	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		const uint32_t expected = runs[i].wanted ? 10 : 0;

		want(&run, runs[i].category);
		ktap_check(emit(10) == expected, "'%s': wrong", runs[i].category ?: "");
		run_stop(&run);
		ktap_check(!emit(10), "'%s': an event of a stopped session", runs[i].category ?: "");
		session_start(&run);
		ktap_check(emit(10) == expected, "'%s': wrong again", runs[i].category ?: "");
		session_finish(&run);
		ktap_check(run.seen.events == 2 * expected, "'%s': %llu events",
			   runs[i].category ?: "", (unsigned long long)run.seen.events);
		session_end(&run);
	}
}

/* Is the category "law" enabled in a run with these @additional categories? */
static bool wanted_with(struct run *run, const char *additional)
{
	const struct at_start_options opts = {
		.nr_additional = !!additional, .additional = &additional,
	};
	bool wanted;

	session_start_with(run, &opts);
	wanted = emit(10);
	run_stop(run);
	return wanted;
}

static void P32_additional_categories_last_one_run(void)
{
	static const char *const other[] = { "other" };
	const struct at_session_options opts = { .nr_categories = 1, .categories = other };
	struct nlmsghdr *nlh;
	struct run run;
	int err;

	session_make(&run, &opts);
	ktap_check(!wanted_with(&run, NULL), "law is enabled before");
	ktap_check(wanted_with(&run, "law"), "law is not enabled in the run that adds it");
	ktap_check(!wanted_with(&run, NULL), "law is enabled in the next run");
	ktap_check(!wanted_with(&run, "third"), "law is enabled in a run that adds another");
	ktap_check(wanted_with(&run, "la*"), "law is not enabled by a prefix");

	/* Additional categories have a limit of their own. */
	for (unsigned int n = ASYNCTRACE_CATEGORIES_MAX; n <= ASYNCTRACE_CATEGORIES_MAX + 1; n++) {
		nlh = raw_nl_begin(&wire, ASYNCTRACE_CMD_SESSION_START, 0);
		mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_ID, run.id);
		for (unsigned int i = 1; i < n; i++) {
			snprintf(text[i], sizeof(text[i]), "additional%u", i);
			mnl_attr_put_strz(nlh, ASYNCTRACE_A_SESSION_ADDITIONAL, text[i]);
		}
		mnl_attr_put_strz(nlh, ASYNCTRACE_A_SESSION_ADDITIONAL, "law");
		err = raw_nl_ask(&wire);
		if (n > ASYNCTRACE_CATEGORIES_MAX)
			ktap_check(err == -ERANGE && wire.bad == ASYNCTRACE_A_SESSION_ADDITIONAL,
				   "101: %d, '%s', of attribute %u", err, wire.text, wire.bad);
		else
			ktap_check(!err && emit(10) == 10, "100: %d, '%s'", err, wire.text);
		at_session_stop(ctl, run.id);
	}
	session_finish(&run);
	ktap_check(run.seen.events == 30, "%llu events", (unsigned long long)run.seen.events);
	session_end(&run);
}

#define LATE	PROTO "-late"

enum { A = 1 << 0, B = 1 << 1, C = 1 << 2, D = 1 << 3, BOTH = 1 << 4, ALL = 1 << 5 };

/* Writes an event of each category. Returns the categories that are recorded. */
static uint32_t write_each(void)
{
	uint32_t on = 0;

#define EACH(bit, category) \
	do { \
		TRACE_INSTANT(category, "event", TRACE_SCOPE_THREAD); \
		on |= TRACE_CATEGORY_ENABLED(category) ? bit : 0; \
	} while (0)
	EACH(A, "a");
	EACH(B, "b");
	EACH(C, "c");
	EACH(D, "d");
	EACH(BOTH, "both");
	EACH(ALL, "all");
#undef EACH
	return on;
}

static uint32_t write_late(void)
{
	const struct at_provider_options opts = { .size = sizeof(opts), .name = LATE };

	must(!at_provider_register(&opts));
	return write_each();
}

/*
 * Fuchsia's InitToFiniWithProviderAddedAfterSessionStarts: two providers have categories of their
 * own, and the second one comes later. An event whose category several patterns match is recorded
 * once.
 */
static void P25_late_provider_has_its_own_categories(void)
{
	static const char *const providers[] = { PROTO, LATE };
	static const char *const list[] = {
		PROTO "/a", PROTO "/b", PROTO "/both", LATE "/c", LATE "/d", LATE "/both", "both", "all",
	};
	const struct at_session_options opts = {
		.nr_providers = 2, .providers = providers, .nr_categories = 8, .categories = list,
	};
	uint32_t *late = shared_memory(sizeof(*late)), own;
	struct rd_ring sum;
	struct run run;
	pid_t pid;

	session_make(&run, &opts);
	run.rd.event = NULL;
	for (int i = 0; i < 2; i++) {
		session_start(&run);
		own = write_each();
		ktap_check(own == (A | B | BOTH | ALL), "own categories: 0x%x", own);
		pid = fork();
		must(pid >= 0);
		if (!pid) {
			*late = write_late();
			_exit(0);
		}
		reap(pid);
		ktap_check(*late == (C | D | BOTH | ALL), "categories of the late provider: 0x%x", *late);
		run_stop(&run);
	}
	session_finish(&run);
	sum = rd_sum(&run.rd, ASYNCTRACE_CHUNK_EVENTS, 0);
	ktap_check(sum.delivered == 2 * (4 + 4) && !sum.dropped, "%llu delivered, %llu dropped",
		   (unsigned long long)sum.delivered, (unsigned long long)sum.dropped);
	session_end(&run);
	munmap(late, sizeof(*late));
}

const struct statement category_statements[] = {
	STATEMENT(P30_100_categories_of_100_bytes),
	STATEMENT(P30_all_100_categories_are_recorded),
	STATEMENT(P31_empty_list_enables_all),
	STATEMENT(P32_additional_categories_last_one_run),
	STATEMENT(P33_site_state_ends_at_start_and_stop),
	STATEMENT(P25_late_provider_has_its_own_categories),
	{ 0 }
};
