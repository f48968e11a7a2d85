// SPDX-License-Identifier: GPL-2.0
/*
 * Lists of the session library against a fake kernel
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_kernel.h"

/* --- sessions ---------------------------------------------------------------------- */

static void put_session(uint32_t id)
{
	struct nlmsghdr *nlh = new_answer(ASYNCTRACE_CMD_SESSION_GET);

	nlh->nlmsg_flags = NLM_F_MULTI;
	mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_ID, id);
	mnl_attr_put_strz(nlh, ASYNCTRACE_A_SESSION_NAME, "one");
	mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_PAGES, 3);	/* the attribute has 64 bits */
	mnl_attr_put_u64(nlh, ASYNCTRACE_A_SESSION_PROBE_CALLS, 1ULL << 40);
	mnl_attr_put_u64(nlh, ASYNCTRACE_A_SESSION_THREADS_MISSED, 1ULL << 41);
	mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_ENDED, 17);
	for (int i = 0; i < 150; i++)	/* more categories than this library allows */
		mnl_attr_put_strz(nlh, ASYNCTRACE_A_SESSION_CATEGORY, i ? "x" : "first");
	mnl_attr_put_u32(nlh, 4000, 1);	/* an attribute of a later version */
	queue_message(nlh);
}

static void answer_sessions(const struct nlmsghdr *request)
{
	struct nlmsghdr *stale;

	assert_int_equal(request->nlmsg_flags & NLM_F_DUMP, NLM_F_DUMP);
	put_session(1);
	/* The rest of an answer to another request */
	stale = new_answer(ASYNCTRACE_CMD_SESSION_GET);
	stale->nlmsg_seq--;
	mnl_attr_put_u32(stale, ASYNCTRACE_A_SESSION_ID, 99);
	queue_message(stale);
	put_session(2);
	put_session(3);
	done();
}

struct seen {
	unsigned int calls;
	uint32_t last;
	int stop_at;
};

static int see_session(const struct at_session_info *s, void *arg)
{
	struct seen *seen = arg;

	seen->calls++;
	seen->last = s->id;
	assert_string_equal(s->name, "one");
	assert_int_equal(s->pages, 0);
	assert_int_equal(s->probe_calls, 1ULL << 40);
	assert_int_equal(s->threads_missed, 1ULL << 41);
	assert_int_equal(s->ended, 17);
	assert_int_equal(s->nr_categories, ASYNCTRACE_CATEGORIES_MAX);
	assert_string_equal(s->categories[0], "first");
	assert_int_equal(s->nr_patterns, 0);
	return (int)s->id == seen->stop_at ? 4711 : 0;
}

static void list_is_complete_and_nothing_else(void **state)
{
	struct at_ctl *ctl = open_ctl(answer_sessions);
	struct seen seen = { 0 };

	(void)state;
	assert_int_equal(at_for_each_session(ctl, see_session, &seen), 0);
	assert_int_equal(seen.calls, 3);
	assert_int_equal(seen.last, 3);
	at_ctl_close(ctl);
}

static void stopped_list_leaves_no_message(void **state)
{
	struct at_ctl *ctl = open_ctl(answer_sessions);
	struct seen seen = { .stop_at = 2 };

	(void)state;
	assert_int_equal(at_for_each_session(ctl, see_session, &seen), 4711);
	assert_int_equal(seen.calls, 2);
	/* The fake checks that no message is left in the socket. */
	seen = (struct seen){ 0 };
	assert_int_equal(at_for_each_session(ctl, see_session, &seen), 0);
	assert_int_equal(seen.calls, 3);
	at_ctl_close(ctl);
}

/* Adds a part of a session that takes several messages: its categories @from to @to. */
static void put_part(uint32_t id, int from, int to, bool more)
{
	struct nlmsghdr *nlh = new_answer(ASYNCTRACE_CMD_SESSION_GET);
	char text[ASYNCTRACE_CATEGORY_MAX + 1];

	mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_ID, id);
	if (!from)
		mnl_attr_put_strz(nlh, ASYNCTRACE_A_SESSION_NAME, "long");
	for (int i = from; i < to; i++) {
		snprintf(text, sizeof(text), "%u-%d", id, i);
		mnl_attr_put_strz(nlh, ASYNCTRACE_A_SESSION_CATEGORY, text);
	}
	if (!more)
		mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_USER, 4711);
	if (more)
		mnl_attr_put(nlh, ASYNCTRACE_A_SESSION_MORE, 0, NULL);
	queue_message(nlh);
}

/* The sessions 2 and 4 end while the dump runs. */
static void answer_parts(const struct nlmsghdr *request)
{
	assert_int_equal(request->nlmsg_flags & NLM_F_DUMP, NLM_F_DUMP);
	put_part(1, 0, 30, true);
	put_part(1, 30, 60, true);
	put_part(1, 60, 61, false);
	put_part(2, 0, 30, true);
	put_part(3, 0, 1, false);
	put_part(4, 0, 30, true);
	done();
}

static int see_part(const struct at_session_info *s, void *arg)
{
	char text[ASYNCTRACE_CATEGORY_MAX + 1];
	struct seen *seen = arg;

	seen->calls++;
	seen->last = s->id;
	assert_string_equal(s->name, "long");
	assert_int_equal(s->nr_categories, s->id == 3 ? 1 : 61);
	for (size_t i = 0; i < s->nr_categories; i++) {
		snprintf(text, sizeof(text), "%u-%zu", s->id, i);
		assert_string_equal(s->categories[i], text);
	}
	assert_int_equal(s->nr_users, 1);
	assert_int_equal(s->users[0], 4711);
	return (int)s->id == seen->stop_at ? 4711 : 0;
}

static void parts_of_a_session_are_joined(void **state)
{
	struct at_ctl *ctl = open_ctl(answer_parts);
	struct seen seen = { 0 };

	(void)state;
	assert_int_equal(at_for_each_session(ctl, see_part, &seen), 0);
	assert_int_equal(seen.calls, 2);
	assert_int_equal(seen.last, 3);
	seen = (struct seen){ .stop_at = 1 };
	assert_int_equal(at_for_each_session(ctl, see_part, &seen), 4711);
	assert_int_equal(seen.calls, 1);
	at_ctl_close(ctl);
}

static uint32_t asked_id(const struct nlmsghdr *request)
{
	const struct nlattr *attr = mnl_nlmsg_get_payload_offset(request, GENL_HDRLEN);

	assert_int_equal(request->nlmsg_len, MNL_NLMSG_HDRLEN + GENL_HDRLEN + 8);
	assert_int_equal(mnl_attr_get_type(attr), ASYNCTRACE_A_SESSION_ID);
	return mnl_attr_get_u32(attr);
}

/* A reply of one message has no room for the session; a dump has. */
static void answer_long(const struct nlmsghdr *request)
{
	assert_int_equal(asked_id(request), SESSION);
	put_part(SESSION, 0, 30, true);
	if (!(request->nlmsg_flags & NLM_F_DUMP)) {
		ack(0);
		return;
	}
	put_part(SESSION, 30, 61, false);
	done();
}

static void long_session_is_read_by_a_dump(void **state)
{
	struct at_ctl *ctl = open_ctl(answer_long);
	struct seen seen = { 0 };

	(void)state;
	assert_int_equal(at_session_get(ctl, SESSION, see_part, &seen), 0);
	assert_int_equal(seen.calls, 1);
	assert_int_equal(seen.last, SESSION);
	at_ctl_close(ctl);
}

static void answer_short(const struct nlmsghdr *request)
{
	assert_int_equal(request->nlmsg_flags & NLM_F_DUMP, 0);
	put_part(asked_id(request), 0, 1, false);
	ack(0);
}

static void short_session_is_read_at_once(void **state)
{
	struct at_ctl *ctl = open_ctl(answer_short);
	struct seen seen = { 0 };

	(void)state;
	assert_int_equal(at_session_get(ctl, 3, see_part, &seen), 0);
	assert_int_equal(seen.calls, 1);
	at_ctl_close(ctl);
}

/* The session ends before the dump is complete. */
static void answer_ended(const struct nlmsghdr *request)
{
	put_part(SESSION, 0, 30, true);
	if (request->nlmsg_flags & NLM_F_DUMP)
		done();
	else
		ack(0);
}

static void session_end_meanwhile_is_an_error(void **state)
{
	struct at_ctl *ctl = open_ctl(answer_ended);
	struct seen seen = { 0 };

	(void)state;
	assert_int_equal(at_session_get(ctl, SESSION, see_part, &seen), -ENOENT);
	assert_string_equal(at_ctl_error(ctl), "session 5 has ended");
	assert_int_equal(seen.calls, 0);
	at_ctl_close(ctl);
}

/* A dump that fails in Linux ends with a message that has the error and a text. */
static void answer_failed_dump(const struct nlmsghdr *request)
{
	struct nlmsghdr *nlh = new_message(NLMSG_DONE, NLM_F_MULTI | NLM_F_ACK_TLVS);

	(void)request;
	*(int *)mnl_nlmsg_put_extra_header(nlh, sizeof(int)) = -ENOENT;
	mnl_attr_put_strz(nlh, NLMSGERR_ATTR_MSG, "no such session");
	queue_message(nlh);
}

static int see_ring(const struct at_ring_info *ring, void *arg)
{
	(void)ring;
	(void)arg;
	fail();
	return 0;
}

static void failed_dump_gives_the_reason(void **state)
{
	struct at_ctl *ctl = open_ctl(answer_failed_dump);

	(void)state;
	assert_int_equal(at_for_each_ring(ctl, SESSION, see_ring, NULL), -ENOENT);
	assert_string_equal(at_ctl_error(ctl), "no such session");
	at_ctl_close(ctl);
}

static unsigned int answers;	/* to requests for rings */

/* A provider ends while the kernel makes the first answer. */
static void answer_changed_dump(const struct nlmsghdr *request)
{
	struct nlmsghdr *nlh = new_answer(ASYNCTRACE_CMD_RING_GET);

	(void)request;
	nlh->nlmsg_flags |= answers++ ? 0 : NLM_F_DUMP_INTR;
	mnl_attr_put_u64(nlh, ASYNCTRACE_A_RING_COMMITTED, answers);
	queue_message(nlh);
	done();
}

static int add_ring(const struct at_ring_info *ring, void *arg)
{
	*(int *)arg += ring->committed;
	return 0;
}

static void rings_are_asked_for_again_if_they_changed(void **state)
{
	struct at_ctl *ctl = open_ctl(answer_changed_dump);
	int sum = 0;

	(void)state;
	assert_int_equal(at_for_each_ring(ctl, SESSION, add_ring, &sum), 0);
	assert_int_equal(sum, 2);
	at_ctl_close(ctl);
}

/* --- announced categories ---------------------------------------------------------- */

static void put_known(struct nlmsghdr *nlh, const char *name, const char *description)
{
	struct nlattr *nest = mnl_attr_nest_start(nlh, ASYNCTRACE_A_PROVIDER_KNOWN);

	if (name)
		mnl_attr_put_strz(nlh, ASYNCTRACE_A_KNOWN_NAME, name);
	if (description)
		mnl_attr_put_strz(nlh, ASYNCTRACE_A_KNOWN_DESCRIPTION, description);
	mnl_attr_nest_end(nlh, nest);
}

static void answer_categories(const struct nlmsghdr *request)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(request);
	struct nlmsghdr *nlh;

	assert_int_equal(genl->cmd, ASYNCTRACE_CMD_CATEGORY_GET);
	assert_int_equal(request->nlmsg_flags & NLM_F_DUMP, NLM_F_DUMP);
	nlh = new_answer(genl->cmd);
	mnl_attr_put_u32(nlh, ASYNCTRACE_A_PROVIDER_ID, 3);
	mnl_attr_put_strz(nlh, ASYNCTRACE_A_PROVIDER_NAME, "web");
	put_known(nlh, "http", "requests");
	queue_message(nlh);
	/* Another category of the same provider; then a provider without name and category */
	nlh = new_answer(genl->cmd);
	mnl_attr_put_u32(nlh, ASYNCTRACE_A_PROVIDER_ID, 3);
	mnl_attr_put_strz(nlh, ASYNCTRACE_A_PROVIDER_NAME, "web");
	put_known(nlh, "db", NULL);
	queue_message(nlh);
	nlh = new_answer(genl->cmd);
	mnl_attr_put_u32(nlh, ASYNCTRACE_A_PROVIDER_ID, 4);
	put_known(nlh, NULL, NULL);
	queue_message(nlh);
	done();
}

static int write_category(const struct at_category_info *c, void *arg)
{
	char *text = arg;

	sprintf(text + strlen(text), "%u %s %s (%s);", c->provider, c->provider_name, c->name,
		c->description);
	return strcmp(c->name, "db") ? 0 : 42;
}

static void announced_categories_come_one_by_one(void **state)
{
	struct at_ctl *ctl = open_ctl(answer_categories);
	char text[256] = "";

	(void)state;
	/*
	 * The iteration stops when the callback says so, and the library takes the rest of the
	 * answer.
	 */
	assert_int_equal(at_for_each_category(ctl, write_category, text), 42);
	assert_string_equal(text, "3 web http (requests);3 web db ();");
	assert_int_equal(kernel.head, kernel.tail);
	at_ctl_close(ctl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(list_is_complete_and_nothing_else),
		cmocka_unit_test(stopped_list_leaves_no_message),
		cmocka_unit_test(parts_of_a_session_are_joined),
		cmocka_unit_test(long_session_is_read_by_a_dump),
		cmocka_unit_test(short_session_is_read_at_once),
		cmocka_unit_test(session_end_meanwhile_is_an_error),
		cmocka_unit_test(failed_dump_gives_the_reason),
		cmocka_unit_test(rings_are_asked_for_again_if_they_changed),
		cmocka_unit_test(announced_categories_come_one_by_one),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	printf("%d passed, %d failed, 0 skipped\n",
	       (int)(sizeof(tests) / sizeof(tests[0])) - failed, failed);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
