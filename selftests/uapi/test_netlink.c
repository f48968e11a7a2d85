// SPDX-License-Identifier: GPL-2.0
/*
 * Requests with wrong or missing attributes. The tests check the errno, and that the extended ack
 * names the attribute and has a text.
 */
#include <sys/utsname.h>
#include <unistd.h>

#include <linux/genetlink.h>

#include "ktap.h"
#include "raw.h"

static struct raw_nl nl;
static struct nlmsghdr *req;

/* Do dumps report why they fail? Linux 6.1 drops the reason if a dump fails at its start. */
static bool dumps_explain(void)
{
	struct utsname u;

	return !uname(&u) && strncmp(u.release, "6.1.", 4);
}

static void begin(void)
{
	NEED(!raw_nl_open(&nl));
}

static void end(void)
{
	raw_nl_close(&nl);
}

#define REQUEST(cmd)	(req = raw_nl_begin(&nl, ASYNCTRACE_CMD_##cmd, 0))
#define STR(type, text)	mnl_attr_put_strz(req, ASYNCTRACE_A_##type, text)
#define U16(type, n)	mnl_attr_put_u16(req, ASYNCTRACE_A_##type, n)
#define U32(type, n)	mnl_attr_put_u32(req, ASYNCTRACE_A_##type, n)
#define U64(type, n)	mnl_attr_put_u64(req, ASYNCTRACE_A_##type, n)

/* The answer must be @error; the ack must blame @attr (or 0) and have a text. */
#define REFUSED(error, attr) do {					\
	EXPECT_IS(raw_nl_ask(&nl), error);				\
	EXPECT_IS(nl.bad, attr);					\
	EXPECT(nl.text[0]);						\
} while (0)

/* The answer must be -EINVAL; the ack must name the missing attribute. */
#define MISSES(attr) do {						\
	EXPECT_IS(raw_nl_ask(&nl), -EINVAL);				\
	EXPECT_IS(nl.missing, attr);					\
	EXPECT(nl.text[0]);						\
} while (0)

static void good_session(void)
{
	REQUEST(SESSION_CREATE);
	STR(SESSION_NAME, "netlink");
	U32(SESSION_MODE, ASYNCTRACE_MODE_ONESHOT);
	U64(SESSION_RING_SIZE, ASYNCTRACE_RING_MIN);
}

static void missing_attributes_are_named(void)
{
	begin();
	REQUEST(SESSION_CREATE);
	U32(SESSION_MODE, 1);
	U64(SESSION_RING_SIZE, ASYNCTRACE_RING_MIN);
	MISSES(ASYNCTRACE_A_SESSION_NAME);
	REQUEST(SESSION_CREATE);
	STR(SESSION_NAME, "x");
	U64(SESSION_RING_SIZE, ASYNCTRACE_RING_MIN);
	MISSES(ASYNCTRACE_A_SESSION_MODE);
	REQUEST(SESSION_CREATE);
	STR(SESSION_NAME, "x");
	U32(SESSION_MODE, 1);
	MISSES(ASYNCTRACE_A_SESSION_RING_SIZE);
	for (int cmd = ASYNCTRACE_CMD_SESSION_INIT; cmd <= ASYNCTRACE_CMD_SESSION_GET; cmd++) {
		raw_nl_begin(&nl, cmd, 0);
		MISSES(ASYNCTRACE_A_SESSION_ID);
	}
	REQUEST(PROVIDER_GET);
	MISSES(ASYNCTRACE_A_PROVIDER_ID);
	REQUEST(PROVIDER_REGISTER);
	MISSES(ASYNCTRACE_A_PROVIDER_COOKIE);
	raw_nl_begin(&nl, ASYNCTRACE_CMD_RING_GET, NLM_F_DUMP);
	if (dumps_explain())
		MISSES(ASYNCTRACE_A_RING_SESSION);
	else
		EXPECT_IS(raw_nl_ask(&nl), -EINVAL);
	end();
}

static void wrong_sizes_and_types_are_blamed(void)
{
	begin();
	REQUEST(SESSION_START);
	U16(SESSION_ID, 1);
	REFUSED(-EINVAL, ASYNCTRACE_A_SESSION_ID);
	REQUEST(SESSION_START);
	U64(SESSION_ID, 1);
	REFUSED(-EINVAL, ASYNCTRACE_A_SESSION_ID);
	good_session();
	U32(SESSION_SUB_SIZE, 4096);
	REFUSED(-EINVAL, ASYNCTRACE_A_SESSION_SUB_SIZE);
	REQUEST(SESSION_CREATE);
	mnl_attr_put(req, ASYNCTRACE_A_SESSION_NAME, 4, "abcd");	/* no NUL */
	REFUSED(-EINVAL, ASYNCTRACE_A_SESSION_NAME);
	REQUEST(PROVIDER_REGISTER);
	U32(PROVIDER_COOKIE, 1);
	REFUSED(-EINVAL, ASYNCTRACE_A_PROVIDER_COOKIE);
	/* A nest where a number belongs */
	REQUEST(SESSION_START);
	mnl_attr_nest_end(req, mnl_attr_nest_start(req, ASYNCTRACE_A_SESSION_ID));
	REFUSED(-EINVAL, ASYNCTRACE_A_SESSION_ID);
	end();
}

static void too_long_values_are_blamed(void)
{
	char text[300];

	begin();
	memset(text, 'x', sizeof(text));
	text[ASYNCTRACE_NAME_MAX + 1] = 0;
	REQUEST(SESSION_CREATE);
	STR(SESSION_NAME, text);
	REFUSED(-EINVAL, ASYNCTRACE_A_SESSION_NAME);
	good_session();
	STR(SESSION_CATEGORY, text);
	EXPECT_IS(raw_nl_ask(&nl), -ERANGE);
	EXPECT_IS(nl.bad, ASYNCTRACE_A_SESSION_CATEGORY);
	good_session();
	STR(SESSION_PROVIDER, text);
	EXPECT_IS(raw_nl_ask(&nl), -ERANGE);
	EXPECT_IS(nl.bad, ASYNCTRACE_A_SESSION_PROVIDER);
	good_session();
	for (int i = 0; i <= ASYNCTRACE_CATEGORIES_MAX; i++)
		STR(SESSION_CATEGORY, "c");
	REFUSED(-ERANGE, ASYNCTRACE_A_SESSION_CATEGORY);
	good_session();
	for (int i = 0; i <= ASYNCTRACE_CATEGORIES_MAX; i++)
		STR(SESSION_PROVIDER, "p");
	REFUSED(-ERANGE, ASYNCTRACE_A_SESSION_PROVIDER);
	end();
}

static void star_within_a_pattern_is_blamed(void)
{
	static const struct {
		uint16_t type;
		const char *text;
	} wrong[] = {
		{ ASYNCTRACE_A_SESSION_PROVIDER, "a*b" },
		{ ASYNCTRACE_A_SESSION_PROVIDER, "*b" },
		{ ASYNCTRACE_A_SESSION_PROVIDER, "a**" },
		{ ASYNCTRACE_A_SESSION_CATEGORY, "a*b" },
		{ ASYNCTRACE_A_SESSION_CATEGORY, "a*b/c" },
		{ ASYNCTRACE_A_SESSION_CATEGORY, "-a/*c" },
	};
	struct nlattr *nest;

	begin();
	for (unsigned int i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		good_session();
		mnl_attr_put_strz(nl.request, wrong[i].type, wrong[i].text);
		REFUSED(-EINVAL, wrong[i].type);
		EXPECT(strstr(nl.text, "must be the last character"));
	}
	good_session();
	nest = mnl_attr_nest_start(nl.request, ASYNCTRACE_A_SESSION_BUFFER);
	mnl_attr_put_strz(nl.request, ASYNCTRACE_A_BUFFER_PROVIDER, "a*b");
	mnl_attr_put_u64(nl.request, ASYNCTRACE_A_BUFFER_RING_SIZE, 65536);
	mnl_attr_nest_end(nl.request, nest);
	EXPECT_IS(raw_nl_ask(&nl), -EINVAL);
	EXPECT(strstr(nl.text, "must be the last character"));
	end();
}

static void values_out_of_range_are_blamed(void)
{
	static const uint32_t modes[] = { 0, 4, ~0U }, scheds[] = { 3, ~0U }, flags[] = { 8, ~0U };
	static const uint64_t rings[] = { 0, 1, ASYNCTRACE_RING_MIN - 1, ASYNCTRACE_RING_MAX + 1,
					  ~0ULL, 1ULL << 63 };

	begin();
	for (int i = 0; i < 3; i++) {
		REQUEST(SESSION_CREATE);
		U32(SESSION_MODE, modes[i]);
		REFUSED(-ERANGE, ASYNCTRACE_A_SESSION_MODE);
	}
	for (int i = 0; i < 2; i++) {
		good_session();
		U32(SESSION_SCHED, scheds[i]);
		REFUSED(-ERANGE, ASYNCTRACE_A_SESSION_SCHED);
		good_session();
		U32(SESSION_FLAGS, flags[i]);
		EXPECT_IS(raw_nl_ask(&nl), -EINVAL);
		EXPECT_IS(nl.bad, ASYNCTRACE_A_SESSION_FLAGS);
	}
	for (int i = 0; i < 6; i++) {
		REQUEST(SESSION_CREATE);
		U64(SESSION_RING_SIZE, rings[i]);
		REFUSED(-ERANGE, ASYNCTRACE_A_SESSION_RING_SIZE);
	}
	REQUEST(SESSION_CREATE);
	STR(SESSION_NAME, "x");
	U32(SESSION_MODE, 1);
	U64(SESSION_RING_SIZE, ASYNCTRACE_RING_MIN + 4096);
	REFUSED(-EINVAL, ASYNCTRACE_A_SESSION_RING_SIZE);
	good_session();
	U64(SESSION_SUB_SIZE, 2048);
	REFUSED(-EINVAL, ASYNCTRACE_A_SESSION_SUB_SIZE);
	good_session();
	U64(SESSION_SUB_SIZE, 8192);	/* more than a quarter of the ring */
	REFUSED(-EINVAL, ASYNCTRACE_A_SESSION_SUB_SIZE);
	good_session();
	U64(SESSION_SUB_SIZE, ASYNCTRACE_SUBBUF_MAX * 2);
	REFUSED(-ERANGE, ASYNCTRACE_A_SESSION_SUB_SIZE);
	good_session();
	STR(SESSION_CATEGORY, "");
	REFUSED(-EINVAL, ASYNCTRACE_A_SESSION_CATEGORY);
	good_session();
	mnl_attr_put(req, ASYNCTRACE_A_SESSION_PROVIDER, 4, "a\0b");
	REFUSED(-EINVAL, ASYNCTRACE_A_SESSION_PROVIDER);
	REQUEST(SESSION_CREATE);
	STR(SESSION_NAME, "");
	U32(SESSION_MODE, 1);
	U64(SESSION_RING_SIZE, ASYNCTRACE_RING_MIN);
	REFUSED(-EINVAL, ASYNCTRACE_A_SESSION_NAME);
	end();
}

/* Attributes of replies and of other operations, and attributes that do not exist */
static void foreign_attributes_are_blamed(void)
{
	begin();
	good_session();
	U32(SESSION_STATE, 3);
	REFUSED(-EINVAL, ASYNCTRACE_A_SESSION_STATE);
	good_session();
	U32(SESSION_MAX + 7, 1);
	REFUSED(-EINVAL, ASYNCTRACE_A_SESSION_MAX + 7);
	REQUEST(SESSION_START);
	U32(SESSION_ID, 1);
	STR(SESSION_NAME, "x");
	REFUSED(-EINVAL, ASYNCTRACE_A_SESSION_NAME);
	REQUEST(PROVIDER_REGISTER);
	U32(PROVIDER_PID, 1);
	REFUSED(-EINVAL, ASYNCTRACE_A_PROVIDER_PID);
	/* Append 3 bytes to the attributes: too few for another attribute. */
	REQUEST(SESSION_START);
	U32(SESSION_ID, 1);
	req->nlmsg_len += 3;
	EXPECT_IS(raw_nl_ask(&nl), -EINVAL);
	end();
}

static void unknown_ids_are_blamed(void)
{
	begin();
	for (int cmd = ASYNCTRACE_CMD_SESSION_INIT; cmd <= ASYNCTRACE_CMD_SESSION_GET; cmd++) {
		req = raw_nl_begin(&nl, cmd, 0);
		U32(SESSION_ID, ~0U);
		REFUSED(-ENOENT, ASYNCTRACE_A_SESSION_ID);
	}
	req = raw_nl_begin(&nl, ASYNCTRACE_CMD_SESSION_GET, NLM_F_DUMP);
	U32(SESSION_ID, ~0U);
	if (dumps_explain())
		REFUSED(-ENOENT, ASYNCTRACE_A_SESSION_ID);
	else
		EXPECT_IS(raw_nl_ask(&nl), -ENOENT);
	req = raw_nl_begin(&nl, ASYNCTRACE_CMD_RING_GET, NLM_F_DUMP);
	U32(RING_SESSION, ~0U);
	if (dumps_explain())
		REFUSED(-ENOENT, ASYNCTRACE_A_RING_SESSION);
	else
		EXPECT_IS(raw_nl_ask(&nl), -ENOENT);
	REQUEST(PROVIDER_GET);
	U32(PROVIDER_ID, ~0U);
	REFUSED(-ENOENT, ASYNCTRACE_A_PROVIDER_ID);
	REQUEST(PROVIDER_REGISTER);
	U64(PROVIDER_COOKIE, 12345);
	STR(PROVIDER_NAME, "x");
	U64(PROVIDER_RING_STRIDE, ASYNCTRACE_RING_MIN);
	REFUSED(-ENOENT, ASYNCTRACE_A_PROVIDER_COOKIE);
	end();
}

static void steps_out_of_order_are_refused(void)
{
	int id;

	begin();
	good_session();
	EXPECT_IS(raw_nl_ask(&nl), 0);
	id = raw_nl_u32(&nl, ASYNCTRACE_A_SESSION_ID);
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id), -EINVAL);
	EXPECT(nl.text[0]);
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_STOP, id), -EALREADY);
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id), 0);
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id), -EALREADY);
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id), 0);
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id), -EALREADY);
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id), -EALREADY);
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_STOP, id), 0);
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_STOP, id), -EALREADY);
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, id), 0);
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, id), -ENOENT);
	end();
}

static void unknown_commands_and_dumps_are_refused(void)
{
	begin();
	raw_nl_begin(&nl, ASYNCTRACE_CMD_MAX + 1, 0);
	EXPECT_IS(raw_nl_ask(&nl), -EOPNOTSUPP);
	raw_nl_begin(&nl, 0, 0);
	EXPECT_IS(raw_nl_ask(&nl), -EOPNOTSUPP);
	raw_nl_begin(&nl, ASYNCTRACE_CMD_SESSION_START, NLM_F_DUMP);
	EXPECT_IS(raw_nl_ask(&nl), -EOPNOTSUPP);
	raw_nl_begin(&nl, ASYNCTRACE_CMD_RING_GET, 0);
	EXPECT_IS(raw_nl_ask(&nl), -EOPNOTSUPP);
	req = raw_nl_begin(&nl, ASYNCTRACE_CMD_PROVIDER_GET, NLM_F_DUMP);
	U32(PROVIDER_ID, 1);
	if (dumps_explain())
		REFUSED(-EINVAL, ASYNCTRACE_A_PROVIDER_ID);
	else
		EXPECT_IS(raw_nl_ask(&nl), -EINVAL);
	end();
}

/* --- the memory limit -------------------------------------------------------------- */

static void I7_memory_refusal_has_the_arithmetic(void)
{
	int id;

	begin();
	id = raw_session(&nl, "large", ASYNCTRACE_MODE_ONESHOT, ASYNCTRACE_SCHED_TARGETS,
			 ASYNCTRACE_RING_MAX, NULL);
	NEED(id > 0);
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id), -ENOSPC);
	EXPECT(strstr(nl.text, "CPUs + 1) * ") && strstr(nl.text, " limit"));
	end();
}

/* --- lost replies ------------------------------------------------------------------- */

/* Number of unread replies for which the smallest receive buffer of a socket has no room */
#define UNREAD	16

static int is_named_lost(const struct nlmsghdr *nlh, void *count)
{
	const struct nlattr *attr;

	mnl_attr_for_each(attr, nlh, GENL_HDRLEN)
		if (mnl_attr_get_type(attr) == ASYNCTRACE_A_SESSION_NAME)
			*(int *)count += !strcmp(mnl_attr_get_str(attr), "lost");
	return 0;
}

static void session_with_lost_reply_is_ended(void)
{
	static struct raw_nl other;
	int smallest = 1, sessions = 0;

	begin();
	NEED(!raw_nl_open(&other));
	NEED(!setsockopt(mnl_socket_get_fd(nl.socket), SOL_SOCKET, SO_RCVBUF, &smallest,
			 sizeof(smallest)));
	for (int i = 0; i < UNREAD; i++) {
		raw_nl_begin(&nl, ASYNCTRACE_CMD_INFO_GET, 0);
		NEED(!raw_nl_send(&nl));
	}
	REQUEST(SESSION_CREATE);
	STR(SESSION_NAME, "lost");
	U32(SESSION_MODE, ASYNCTRACE_MODE_ONESHOT);
	U64(SESSION_RING_SIZE, ASYNCTRACE_RING_MIN);
	U32(SESSION_FLAGS, ASYNCTRACE_SESSION_FLAGS_DETACHED);
	NEED(!raw_nl_send(&nl));
	EXPECT_IS(raw_nl_take(&nl), -ENOBUFS);

	raw_nl_begin(&other, ASYNCTRACE_CMD_SESSION_GET, NLM_F_DUMP);
	EXPECT_IS(raw_nl_each(&other, is_named_lost, &sessions), 0);
	EXPECT_IS(sessions, 0);
	raw_nl_close(&other);
	end();
}

static const struct ktap_test tests[] = {
	KTAP_TEST(missing_attributes_are_named),
	KTAP_TEST(wrong_sizes_and_types_are_blamed),
	KTAP_TEST(too_long_values_are_blamed),
	KTAP_TEST(star_within_a_pattern_is_blamed),
	KTAP_TEST(values_out_of_range_are_blamed),
	KTAP_TEST(foreign_attributes_are_blamed),
	KTAP_TEST(unknown_ids_are_blamed),
	KTAP_TEST(steps_out_of_order_are_refused),
	KTAP_TEST(unknown_commands_and_dumps_are_refused),
	KTAP_TEST(I7_memory_refusal_has_the_arithmetic),
	KTAP_TEST(session_with_lost_reply_is_ended),
};

KTAP_MAIN(tests)
