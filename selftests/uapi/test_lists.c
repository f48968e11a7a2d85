// SPDX-License-Identifier: GPL-2.0
/*
 * Long lists of a session: a dump has them in several messages of at most a page each. A reply of
 * one message has as many items as fit, and the flag "more".
 */
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/genetlink.h>

#include "ktap.h"
#include "raw.h"

#define MOST	ASYNCTRACE_CATEGORIES_MAX

static struct raw_nl nl, other;

/* The answer of SESSION_GET about one session */
static struct said {
	char text[3 * 65536];	/* type and value of each item of the lists */
	size_t len, longest;
	unsigned int messages, heads, more;
	bool last_more;
} said;

static uint32_t wanted;	/* id of the session that the test queries */

static void __attribute__((format(printf, 1, 2))) say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	said.len += vsnprintf(said.text + said.len, sizeof(said.text) - said.len, fmt, ap);
	va_end(ap);
}

static void say_item(const struct nlattr *attr)
{
	const struct nlattr *in;

	switch (mnl_attr_get_type(attr)) {
	case ASYNCTRACE_A_SESSION_CATEGORY:
	case ASYNCTRACE_A_SESSION_PROVIDER:
		say("%d=%s;", mnl_attr_get_type(attr), mnl_attr_get_str(attr));
		break;
	case ASYNCTRACE_A_SESSION_PID:
	case ASYNCTRACE_A_SESSION_USER:
		say("%d=%u;", mnl_attr_get_type(attr), mnl_attr_get_u32(attr));
		break;
	case ASYNCTRACE_A_SESSION_CGROUP:
		say("%d=%llu;", mnl_attr_get_type(attr),
		    (unsigned long long)mnl_attr_get_u64(attr));
		break;
	case ASYNCTRACE_A_SESSION_BUFFER:
		say("%d=", mnl_attr_get_type(attr));
		mnl_attr_for_each_nested(in, attr)
			if (mnl_attr_get_type(in) == ASYNCTRACE_A_BUFFER_PROVIDER)
				say("%s ", mnl_attr_get_str(in));
			else
				say("%llu;", (unsigned long long)mnl_attr_get_u64(in));
		break;
	}
}

static const struct nlattr *attr_of(const struct nlmsghdr *nlh, uint16_t type)
{
	const struct nlattr *attr;

	mnl_attr_for_each(attr, nlh, GENL_HDRLEN)
		if (mnl_attr_get_type(attr) == type)
			return attr;
	return NULL;
}

static int take(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *attr, *id = attr_of(nlh, ASYNCTRACE_A_SESSION_ID);

	(void)arg;
	EXPECT(id);
	if (nlh->nlmsg_len > said.longest)
		said.longest = nlh->nlmsg_len;
	if (!id || mnl_attr_get_u32(id) != wanted)
		return 0;
	/* A message without the flag is the last one. */
	EXPECT(!said.messages || said.last_more);
	said.messages++;
	said.heads += !!attr_of(nlh, ASYNCTRACE_A_SESSION_NAME);
	said.last_more = attr_of(nlh, ASYNCTRACE_A_SESSION_MORE);
	said.more += said.last_more;
	mnl_attr_for_each(attr, nlh, GENL_HDRLEN)
		say_item(attr);
	return 0;
}

static void get_begin(struct raw_nl *from, uint16_t flags, uint32_t id)
{
	struct nlmsghdr *req = raw_nl_begin(from, ASYNCTRACE_CMD_SESSION_GET, flags);

	memset(&said, 0, sizeof(said));
	if (id)
		mnl_attr_put_u32(req, ASYNCTRACE_A_SESSION_ID, id);
	EXPECT_IS(raw_nl_send(from), 0);
}

static int get_end(struct raw_nl *from)
{
	int err = raw_nl_take_each(from, take, NULL);

	EXPECT(said.longest <= raw_nl_most());
	return err;
}

static int get(uint16_t flags, uint32_t id)
{
	get_begin(&nl, flags, id);
	return get_end(&nl);
}

/* --- a session with everything that is allowed ---------------------------------------- */

static uint64_t cgroup(void)
{
	struct stat st;

	NEED(!stat("/sys/fs/cgroup", &st));
	return st.st_ino;
}

/* Returns a text of the greatest permitted length. Each @i gives another text. */
static const char *longest(int i, char mark)
{
	static char text[ASYNCTRACE_CATEGORY_MAX + 1];

	memset(text, 'n', ASYNCTRACE_CATEGORY_MAX);
	text[i] = mark;
	return text;
}

static void put_lists(struct nlmsghdr *req)
{
	for (int i = 0; i < MOST; i++) {
		struct nlattr *nest;

		mnl_attr_put_strz(req, ASYNCTRACE_A_SESSION_CATEGORY, longest(i, 'c'));
		mnl_attr_put_strz(req, ASYNCTRACE_A_SESSION_PROVIDER, longest(i, 'p'));
		mnl_attr_put_u32(req, ASYNCTRACE_A_SESSION_PID, i % 2 ? getpid() : 1);
		mnl_attr_put_u32(req, ASYNCTRACE_A_SESSION_USER, i);
		mnl_attr_put_u64(req, ASYNCTRACE_A_SESSION_CGROUP, cgroup());
		nest = mnl_attr_nest_start(req, ASYNCTRACE_A_SESSION_BUFFER);
		mnl_attr_put_strz(req, ASYNCTRACE_A_BUFFER_PROVIDER, longest(i, 'b'));
		mnl_attr_put_u64(req, ASYNCTRACE_A_BUFFER_RING_SIZE, ASYNCTRACE_RING_MIN);
		mnl_attr_nest_end(req, nest);
	}
}

static void put_session(struct nlmsghdr *req, const char *name)
{
	mnl_attr_put_strz(req, ASYNCTRACE_A_SESSION_NAME, name);
	mnl_attr_put_u32(req, ASYNCTRACE_A_SESSION_MODE, ASYNCTRACE_MODE_ONESHOT);
	mnl_attr_put_u64(req, ASYNCTRACE_A_SESSION_RING_SIZE, ASYNCTRACE_RING_MIN);
}

static uint32_t make_session(const char *name, bool lists)
{
	struct nlmsghdr *req = raw_nl_begin(&nl, ASYNCTRACE_CMD_SESSION_CREATE, 0);

	put_session(req, name);
	if (lists)
		put_lists(req);
	NEED(!raw_nl_ask(&nl));
	return raw_nl_u32(&nl, ASYNCTRACE_A_SESSION_ID);
}

/* Returns the lists that put_lists() makes, as a reply should have them. @mark: in categories */
static char *whole(char mark)
{
	static char text[sizeof(said.text)];
	char *at = text;

	for (int i = 0; i < MOST; i++)
		at += sprintf(at, "%d=%s;", ASYNCTRACE_A_SESSION_CATEGORY, longest(i, mark));
	for (int i = 0; i < MOST; i++)
		at += sprintf(at, "%d=%s;", ASYNCTRACE_A_SESSION_PROVIDER, longest(i, 'p'));
	for (int i = 0; i < MOST; i++)
		at += sprintf(at, "%d=%u;", ASYNCTRACE_A_SESSION_PID, i % 2 ? getpid() : 1);
	for (int i = 0; i < MOST; i++)
		at += sprintf(at, "%d=%u;", ASYNCTRACE_A_SESSION_USER, i);
	for (int i = 0; i < MOST; i++)
		at += sprintf(at, "%d=%llu;", ASYNCTRACE_A_SESSION_CGROUP,
			      (unsigned long long)cgroup());
	for (int i = 0; i < MOST; i++)
		at += sprintf(at, "%d=%s %d;", ASYNCTRACE_A_SESSION_BUFFER, longest(i, 'b'),
			      ASYNCTRACE_RING_MIN);
	return text;
}

static void begin(void)
{
	NEED(!raw_nl_open(&nl) && !raw_nl_open(&other));
}

static void end(void)
{
	raw_nl_close(&other);
	raw_nl_close(&nl);
}

/* Checks that the last dump had each item of the session exactly once. */
static void is_whole(char mark)
{
	EXPECT(!strcmp(said.text, whole(mark)));
	EXPECT(said.messages > 1);
	EXPECT_IS(said.heads, 1);
	EXPECT_IS(said.more, said.messages - 1);
}

/* --- tests --------------------------------------------------------------------------- */

static void longest_session_takes_many_messages(void)
{
	begin();
	make_session("short", false);
	wanted = make_session("long", true);
	make_session("short, too", false);
	EXPECT_IS(get(NLM_F_DUMP, 0), 0);
	is_whole('c');
	EXPECT(nl.replies >= said.messages + 2);
	/* A dump with an id has only this session. */
	EXPECT_IS(get(NLM_F_DUMP, wanted), 0);
	is_whole('c');
	EXPECT_IS(nl.replies, said.messages);
	end();
}

static void reply_of_one_message_says_that_there_is_more(void)
{
	begin();
	wanted = make_session("long", true);
	EXPECT_IS(get(0, wanted), 0);
	EXPECT_IS(said.messages, 1);
	EXPECT_IS(said.heads, 1);
	EXPECT(said.last_more);
	EXPECT(said.len && !strncmp(said.text, whole('c'), said.len));
	wanted = make_session("short", false);
	EXPECT_IS(get(0, wanted), 0);
	EXPECT(!said.last_more && said.heads == 1 && !said.len);
	EXPECT_IS(get(NLM_F_DUMP, wanted), 0);
	EXPECT(!said.last_more && said.heads == 1 && nl.replies == 1);
	end();
}

/*
 * Makes sessions whose lists need one message, two messages, and so on. The flag "more" must be
 * right for each length.
 */
static void lists_of_all_lengths_are_whole(void)
{
	char want[sizeof(said.text)], text[ASYNCTRACE_CATEGORY_MAX + 1], *at;

	begin();
	for (int i = 1; i <= ASYNCTRACE_CATEGORY_MAX; i++) {
		struct nlmsghdr *req = raw_nl_begin(&nl, ASYNCTRACE_CMD_SESSION_CREATE, 0);

		put_session(req, "lengths");
		at = want;
		for (int n = 0; n < 60; n++) {
			snprintf(text, sizeof(text), "%.*s", i, longest(n, 'c'));
			mnl_attr_put_strz(req, ASYNCTRACE_A_SESSION_CATEGORY, text);
			at += sprintf(at, "%d=%s;", ASYNCTRACE_A_SESSION_CATEGORY, text);
		}
		NEED(!raw_nl_ask(&nl));
		wanted = raw_nl_u32(&nl, ASYNCTRACE_A_SESSION_ID);
		EXPECT_IS(get(NLM_F_DUMP, wanted), 0);
		EXPECT(!strcmp(said.text, want));
		EXPECT(!said.last_more && said.more == said.messages - 1);
		EXPECT_IS(get(0, wanted), 0);
		EXPECT(!strncmp(said.text, want, said.len));
		EXPECT(said.last_more == (said.len < strlen(want)));
		NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, wanted));
	}
	end();
}

/* When get_begin() returns, the kernel has sent a part of the categories. */
static void categories_replaced_in_a_dump(void)
{
	struct nlmsghdr *req;

	begin();
	wanted = make_session("long", true);
	get_begin(&other, NLM_F_DUMP, wanted);
	req = raw_nl_begin(&nl, ASYNCTRACE_CMD_SESSION_UPDATE, 0);
	mnl_attr_put_u32(req, ASYNCTRACE_A_SESSION_ID, wanted);
	for (int i = 0; i < MOST; i++)
		mnl_attr_put_strz(req, ASYNCTRACE_A_SESSION_CATEGORY, longest(i, 'u'));
	EXPECT_IS(raw_nl_ask(&nl), 0);
	EXPECT_IS(get_end(&other), 0);
	is_whole('c');
	EXPECT_IS(get(NLM_F_DUMP, wanted), 0);
	is_whole('u');
	/* The categories are removed while another dump is left unfinished. */
	get_begin(&other, NLM_F_DUMP, 0);
	mnl_attr_put_u32(raw_nl_begin(&nl, ASYNCTRACE_CMD_SESSION_UPDATE, 0),
			 ASYNCTRACE_A_SESSION_ID, wanted);
	EXPECT_IS(raw_nl_ask(&nl), 0);
	end();
}

static void session_ends_in_a_dump(void)
{
	uint32_t first;

	begin();
	first = make_session("long", true);
	make_session("longer", true);
	wanted = first;
	get_begin(&other, NLM_F_DUMP, 0);
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, first));
	wanted = first + 1;
	EXPECT_IS(get_end(&other), 0);
	is_whole('c');
	/* A dump of the session must end although the session ends. */
	get_begin(&other, NLM_F_DUMP, wanted);
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, wanted));
	EXPECT_IS(get_end(&other), 0);
	EXPECT(said.last_more);
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_GET, wanted), -ENOENT);
	end();
}

static const struct ktap_test tests[] = {
	KTAP_TEST(longest_session_takes_many_messages),
	KTAP_TEST(reply_of_one_message_says_that_there_is_more),
	KTAP_TEST(lists_of_all_lengths_are_whole),
	KTAP_TEST(categories_replaced_in_a_dump),
	KTAP_TEST(session_ends_in_a_dump),
};

KTAP_MAIN(tests)
