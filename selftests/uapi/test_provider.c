// SPDX-License-Identifier: GPL-2.0
/*
 * A provider's descriptor: alerts, announced categories, and the state of its session
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/genetlink.h>

#include "child.h"
#include "notifications.h"
#include "ktap.h"

#define NOBODY	65534
#define STRIDE	(64 * 1024)

static struct raw_nl nl, sub;
static struct raw_provider p;
static struct notification note;
static int id;

static void begin(const char *name)
{
	NEED(!raw_nl_open(&nl) && !raw_nl_open(&sub));
	NEED(!raw_provider(&p, name, STRIDE));
	fcntl(p.fd, F_SETFL, O_NONBLOCK);
}

static void session(const char *name)
{
	id = raw_session(&nl, name, ASYNCTRACE_MODE_ONESHOT, ASYNCTRACE_SCHED_OFF, STRIDE, name);
	NEED(id > 0);
}

static int make(uint8_t cmd)
{
	return raw_session_do(&nl, cmd, id);
}

static void started(const char *name)
{
	begin(name);
	session(name);
	NEED(!make(ASYNCTRACE_CMD_SESSION_INIT) && !make(ASYNCTRACE_CMD_SESSION_START));
}

static void end(void)
{
	raw_provider_end(&p);
	raw_nl_close(&sub);
	raw_nl_close(&nl);
}

/* --- alerts --------------------------------------------------------------------- */

static int alert(const char *bytes)
{
	struct asynctrace_alert a = { .size = sizeof(a) };

	memcpy(a.name, bytes, sizeof(a.name));
	return raw_ioctl(p.fd, ASYNCTRACE_IOC_ALERT, &a);
}

static void names_of_alerts_are_checked(void)
{
	started("alerts");
	NEED(!notification_subscribe(&sub, ASYNCTRACE_NOTIFICATION_KINDS_ALERT, 0));
	EXPECT_IS(alert("a\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), 0);
	EXPECT_IS(alert("fourteen bytes\0"), 0);
	EXPECT_IS(alert("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), -EINVAL);
	EXPECT_IS(alert("fifteen bytes..\0"), -EINVAL);
	EXPECT_IS(alert("sixteen bytes..."), -EINVAL);
	EXPECT_IS(alert("a\0b\0\0\0\0\0\0\0\0\0\0\0\0"), -EINVAL);
	EXPECT_IS(alert("a\0\0\0\0\0\0\0\0\0\0\0\0\0\0b"), -EINVAL);
	EXPECT_IS(raw_ioctl(p.fd, ASYNCTRACE_IOC_ALERT, (void *)8), -EFAULT);
	NEED(!notification_next(&sub, &note, NOTIFICATION_PATIENCE, NULL));
	EXPECT(!strcmp(note.alert, "a"));
	NEED(!notification_next(&sub, &note, NOTIFICATION_PATIENCE, NULL));
	EXPECT(!strcmp(note.alert, "fourteen bytes"));
	EXPECT_IS(notification_next(&sub, &note, 100, NULL), -EAGAIN);
	end();
}

static int alert_in_child(void *arg)
{
	(void)arg;
	return -alert("a\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
}

static void only_the_provider_raises_alerts(void)
{
	int fd;

	started("alerts");
	NEED(!notification_subscribe(&sub, ASYNCTRACE_NOTIFICATION_KINDS_ALERT, 0));
	EXPECT_IS(raw_child(alert_in_child, NULL, -1), EPERM);
	EXPECT_IS(raw_child(alert_in_child, NULL, NOBODY), EPERM);
	EXPECT_IS(notification_next(&sub, &note, 100, NULL), -EAGAIN);
	end();
	fd = raw_open();
	p.fd = fd;
	EXPECT_IS(alert("a\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), -ENXIO);
	close(fd);
}

static void alerts_without_a_session_are_refused(void)
{
	begin("alerts");
	NEED(!notification_subscribe(&sub, ASYNCTRACE_NOTIFICATION_KINDS_ALERT, 0));
	EXPECT_IS(alert("a\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), -EAGAIN);
	session("alerts");
	EXPECT_IS(alert("b\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), -EAGAIN);
	NEED(!make(ASYNCTRACE_CMD_SESSION_INIT));
	EXPECT_IS(alert("c\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), -EAGAIN);
	NEED(!make(ASYNCTRACE_CMD_SESSION_START));
	EXPECT_IS(alert("d\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), 0);
	NEED(!make(ASYNCTRACE_CMD_SESSION_STOP));
	EXPECT_IS(alert("e\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), -EAGAIN);
	NEED(!notification_next(&sub, &note, NOTIFICATION_PATIENCE, NULL));
	EXPECT(!strcmp(note.alert, "d"));
	EXPECT_IS(note.lost, 0);
	EXPECT_IS(notification_next(&sub, &note, 100, NULL), -EAGAIN);
	end();
}

/* Alerts that come too fast are refused, and their number is reported. */
static void a_flood_of_alerts_is_bounded_and_counted(void)
{
	const int n = 5000;
	int ok = 0, refused = 0, told = 0, err, buf = 1 << 22;
	uint32_t lost = 0;

	started("flood");
	NEED(!setsockopt(mnl_socket_get_fd(sub.socket), SOL_SOCKET, SO_RCVBUFFORCE, &buf,
			 sizeof(buf)));
	NEED(!notification_subscribe(&sub, ASYNCTRACE_NOTIFICATION_KINDS_ALERT, 0));
	for (int i = 0; i < n; i++) {
		err = alert("flood\0\0\0\0\0\0\0\0\0\0");
		NEED(!err || err == -EAGAIN);
		ok += !err;
		refused += !!err;
	}
	EXPECT(ok >= 16 && refused > 0);
	usleep(50000);
	EXPECT_IS(alert("last\0\0\0\0\0\0\0\0\0\0\0"), 0);
	do {
		NEED(!notification_next(&sub, &note, NOTIFICATION_PATIENCE, NULL));
		lost += note.lost;
		told++;
	} while (strcmp(note.alert, "last"));
	EXPECT_IS(told, ok + 1);
	EXPECT_IS(lost, refused);
	end();
}

/* --- announced categories ---------------------------------------------------------- */

static uint64_t cookie;
static struct nlmsghdr *req;

static void announce(void)
{
	req = raw_nl_begin(&nl, ASYNCTRACE_CMD_PROVIDER_ANNOUNCE, 0);
	mnl_attr_put_u64(req, ASYNCTRACE_A_PROVIDER_COOKIE, cookie);
}

static void put_known(struct nlmsghdr *nlh, const void *name, size_t len, const char *description)
{
	struct nlattr *nest = mnl_attr_nest_start(nlh, ASYNCTRACE_A_PROVIDER_KNOWN);

	if (name)
		mnl_attr_put(nlh, ASYNCTRACE_A_KNOWN_NAME, len, name);
	if (description)
		mnl_attr_put_strz(nlh, ASYNCTRACE_A_KNOWN_DESCRIPTION, description);
	mnl_attr_nest_end(nlh, nest);
}

static void known(const char *name, const char *description)
{
	put_known(req, name, strlen(name) + 1, description);
}

/* The answer of CATEGORY_GET: "PROVIDER:" and "name=description;" of each category */
static struct {
	char text[4 * 65536];
	size_t len, longest;
	uint32_t provider;
} listing;

static void __attribute__((format(printf, 1, 2))) say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	listing.len += vsnprintf(listing.text + listing.len, sizeof(listing.text) - listing.len,
				 fmt, ap);
	va_end(ap);
}

static int add_listed(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *attr, *in;
	bool named = false;

	(void)arg;
	if (nlh->nlmsg_len > listing.longest)
		listing.longest = nlh->nlmsg_len;
	mnl_attr_for_each(attr, nlh, GENL_HDRLEN) {
		switch (mnl_attr_get_type(attr)) {
		case ASYNCTRACE_A_PROVIDER_ID:
			if (mnl_attr_get_u32(attr) != listing.provider)
				say("%s%u:", listing.len ? " " : "", mnl_attr_get_u32(attr));
			listing.provider = mnl_attr_get_u32(attr);
			break;
		case ASYNCTRACE_A_PROVIDER_NAME:
			named = true;
			break;
		case ASYNCTRACE_A_PROVIDER_KNOWN:
			mnl_attr_for_each_nested(in, attr)
				say("%s%s", mnl_attr_get_type(in) == ASYNCTRACE_A_KNOWN_NAME ?
				    "" : "=", mnl_attr_get_str(in));
			say(";");
			break;
		}
	}
	EXPECT(named);
	return 0;
}

static void list_begin(struct raw_nl *from)
{
	memset(&listing, 0, sizeof(listing));
	raw_nl_begin(from, ASYNCTRACE_CMD_CATEGORY_GET, NLM_F_DUMP);
	EXPECT_IS(raw_nl_send(from), 0);
}

static void list_end(struct raw_nl *from)
{
	EXPECT_IS(raw_nl_take_each(from, add_listed, NULL), 0);
	EXPECT(listing.longest <= raw_nl_most());
}

static void list(void)
{
	list_begin(&nl);
	list_end(&nl);
}

/* Does the last list have these categories of one provider, and no others? */
static bool listed(const char *categories)
{
	char text[sizeof(listing.text)];

	snprintf(text, sizeof(text), "%d:%s", p.id, categories);
	return !strcmp(listing.text, text);
}

static int nobody_lists(void *arg)
{
	(void)arg;
	SO(!raw_nl_open(&nl));
	raw_nl_begin(&nl, ASYNCTRACE_CMD_CATEGORY_GET, NLM_F_DUMP);
	SO(!raw_nl_ask(&nl) && !nl.replies);
	announce();
	known("stolen", NULL);
	SO(raw_nl_ask(&nl) == -ENOENT || nl.text[0]);
	return 0;
}

static void begin_announcing(void)
{
	begin("announces");
	NEED(!raw_hello(p.fd, &cookie));
}

static void announced_categories_are_listed(void)
{
	begin_announcing();
	list();
	EXPECT_IS(nl.replies, 0);
	announce();
	known("http", "requests, from accept to the last byte");
	known("db", NULL);
	EXPECT_IS(raw_nl_ask(&nl), 0);
	list();
	EXPECT_IS(nl.replies, 1);
	EXPECT_IS(raw_nl_u32(&nl, ASYNCTRACE_A_PROVIDER_ID), p.id);
	EXPECT(listed("http=requests, from accept to the last byte;db;"));
	/* A second announcement replaces the first. */
	announce();
	known("other", "");
	EXPECT_IS(raw_nl_ask(&nl), 0);
	list();
	EXPECT(listed("other;"));
	EXPECT_IS(raw_child(nobody_lists, NULL, NOBODY), 0);
	/* An empty announcement also replaces the previous one. */
	announce();
	EXPECT_IS(raw_nl_ask(&nl), 0);
	list();
	EXPECT_IS(nl.replies, 0);
	end();
}

/* Announces @n categories of the greatest length, whose names contain @mark. */
static void announce_long(int fd, int n, char mark)
{
	char name[ASYNCTRACE_CATEGORY_MAX + 1] = { 0 };
	char more[ASYNCTRACE_DESCRIPTION_MAX + 1] = { 0 };

	NEED(!raw_hello(fd, &cookie));
	announce();
	memset(more, 'd', ASYNCTRACE_DESCRIPTION_MAX);
	for (int i = 0; i < n; i++) {
		memset(name, 'n', ASYNCTRACE_CATEGORY_MAX);
		name[i] = mark;
		known(name, more);
	}
	NEED(!raw_nl_ask(&nl));
}

/* Appends to @text the list that announce_long() must cause. */
static void want_long(char *text, int provider, int n, char mark)
{
	char *at = text + strlen(text);

	at += sprintf(at, "%s%d:", *text ? " " : "", provider);
	for (int i = 0; i < n; i++) {
		memset(at, 'n', ASYNCTRACE_CATEGORY_MAX);
		at[i] = mark;
		at += ASYNCTRACE_CATEGORY_MAX;
		*at++ = '=';
		memset(at, 'd', ASYNCTRACE_DESCRIPTION_MAX);
		at += ASYNCTRACE_DESCRIPTION_MAX;
		*at++ = ';';
	}
	*at = 0;
}

#define MOST	ASYNCTRACE_CATEGORIES_MAX

static void longest_announcement_takes_many_messages(void)
{
	char want[sizeof(listing.text)] = "";
	struct raw_provider other;

	begin("announces");
	NEED(!raw_provider(&other, "other", STRIDE));
	announce_long(p.fd, MOST, 'x');
	announce_long(other.fd, MOST, 'y');
	want_long(want, p.id, MOST, 'x');
	want_long(want, other.id, MOST, 'y');
	list();
	EXPECT(!strcmp(listing.text, want));
	EXPECT(nl.replies >= strlen(want) / raw_nl_most());
	raw_provider_end(&other);
	end();
}

/* When list_begin() returns, the kernel has sent a part of the first provider's list. */
static void announcement_replaced_in_a_list(void)
{
	char want[sizeof(listing.text)] = "";
	struct raw_provider other;

	begin("announces");
	NEED(!raw_provider(&other, "other", STRIDE));
	announce_long(p.fd, MOST, 'x');
	announce_long(other.fd, 1, 'x');
	list_begin(&sub);
	announce_long(p.fd, MOST, 'y');
	announce_long(other.fd, MOST, 'y');
	list_end(&sub);
	/*
	 * The list must contain the first provider's old announcement, because the kernel has sent
	 * a part of it.
	 */
	want_long(want, p.id, MOST, 'x');
	want_long(want, other.id, MOST, 'y');
	EXPECT(!strcmp(listing.text, want));
	/* If a provider withdraws its announcement, the list must contain the rest of it, too. */
	list_begin(&sub);
	announce_long(p.fd, 0, 0);
	announce_long(other.fd, 0, 0);
	list_end(&sub);
	*want = 0;
	want_long(want, p.id, MOST, 'y');
	EXPECT(!strcmp(listing.text, want));
	list();
	EXPECT(!listing.len);
	raw_provider_end(&other);
	end();
}

static void provider_ends_in_a_list(void)
{
	char want[sizeof(listing.text)] = "", *at;
	struct raw_provider other;

	begin("announces");
	NEED(!raw_provider(&other, "other", STRIDE));
	announce_long(p.fd, MOST, 'x');
	announce_long(other.fd, MOST, 'y');
	list_begin(&sub);
	raw_provider_end(&p);
	usleep(200 * 1000);
	list_end(&sub);
	/* The list has a well-formed part of the first announcement and all of the other one. */
	want_long(want, other.id, MOST, 'y');
	at = strchr(listing.text, ' ');
	EXPECT(at && !strcmp(at + 1, want));
	want[0] = 0;
	want_long(want, p.id, MOST, 'x');
	EXPECT(at && at[-1] == ';' && !strncmp(listing.text, want, at - listing.text));
	raw_provider_end(&other);
	raw_nl_close(&sub);
	raw_nl_close(&nl);
}

/* A list that is not read to its end must keep no memory: kmemleak of the debug kernel checks. */
static void list_not_read_to_its_end(void)
{
	begin("announces");
	announce_long(p.fd, MOST, 'x');
	list_begin(&sub);
	announce_long(p.fd, 1, 'y');
	end();
}

/* A reader needs room for one provider's categories at a time. */
static void a_list_of_many_fits_a_small_buffer(void)
{
	enum { MANY = 20 };
	struct raw_provider many[MANY];
	struct mnl_socket *small;
	struct nlmsghdr *nlh;
	char buf[8192];
	int got = 0, left;
	bool done = false;

	begin("announces");
	for (int i = 0; i < MANY; i++) {
		NEED(!raw_provider(&many[i], "many", STRIDE));
		announce_long(many[i].fd, 2, 'x');
	}
	/*
	 * Use a new socket, because the kernel chooses the size of messages by earlier receive
	 * buffers of the socket.
	 */
	small = mnl_socket_open(NETLINK_GENERIC);
	NEED(small && !mnl_socket_bind(small, 0, MNL_SOCKET_AUTOPID));
	raw_nl_begin(&nl, ASYNCTRACE_CMD_CATEGORY_GET, NLM_F_DUMP);
	NEED(mnl_socket_sendto(small, nl.request, nl.request->nlmsg_len) > 0);
	while (!done) {
		left = mnl_socket_recvfrom(small, buf, sizeof(buf));
		NEED(left > 0);
		for (nlh = (void *)buf; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left)) {
			done |= nlh->nlmsg_type == NLMSG_DONE;
			got += nlh->nlmsg_type == nl.family;
		}
	}
	EXPECT_IS(got, MANY);
	mnl_socket_close(small);
	for (int i = 0; i < MANY; i++)
		raw_provider_end(&many[i]);
	end();
}

#define REFUSED(error, attr) do {					\
	EXPECT_IS(raw_nl_ask(&nl), error);				\
	EXPECT_IS(nl.bad, attr);					\
	EXPECT(nl.text[0]);						\
} while (0)

static void wrong_announcements_are_blamed(void)
{
	char name[ASYNCTRACE_CATEGORY_MAX + 2] = { 0 };
	char more[ASYNCTRACE_DESCRIPTION_MAX + 2] = { 0 };

	begin_announcing();
	announce();
	known("kept", NULL);
	EXPECT_IS(raw_nl_ask(&nl), 0);

	req = raw_nl_begin(&nl, ASYNCTRACE_CMD_PROVIDER_ANNOUNCE, 0);
	known("a", NULL);
	EXPECT_IS(raw_nl_ask(&nl), -EINVAL);
	EXPECT_IS(nl.missing, ASYNCTRACE_A_PROVIDER_COOKIE);
	cookie++;
	announce();
	known("a", NULL);
	REFUSED(-ENOENT, ASYNCTRACE_A_PROVIDER_COOKIE);
	cookie--;
	announce();
	for (int i = 0; i <= ASYNCTRACE_CATEGORIES_MAX; i++) {
		snprintf(name, sizeof(name), "%d", i);
		known(name, NULL);
	}
	REFUSED(-ERANGE, ASYNCTRACE_A_PROVIDER_KNOWN);
	memset(name, 'n', sizeof(name) - 1);
	announce();
	known(name, NULL);
	EXPECT_IS(raw_nl_ask(&nl), -EINVAL);
	EXPECT_IS(nl.bad, ASYNCTRACE_A_KNOWN_NAME);
	memset(more, 'd', sizeof(more) - 1);
	announce();
	known("a", more);
	EXPECT_IS(raw_nl_ask(&nl), -EINVAL);
	EXPECT_IS(nl.bad, ASYNCTRACE_A_KNOWN_DESCRIPTION);
	announce();
	known("", NULL);
	REFUSED(-EINVAL, ASYNCTRACE_A_KNOWN_NAME);
	announce();
	put_known(req, NULL, 0, "no name");
	EXPECT_IS(raw_nl_ask(&nl), -EINVAL);
	EXPECT_IS(nl.missing, ASYNCTRACE_A_KNOWN_NAME);
	EXPECT(nl.text[0]);
	announce();
	put_known(req, "a\0b", 4, NULL);
	REFUSED(-EINVAL, ASYNCTRACE_A_KNOWN_NAME);
	announce();
	put_known(req, "abcd", 4, NULL);
	REFUSED(-EINVAL, ASYNCTRACE_A_KNOWN_NAME);
	announce();
	known("twice", "a");
	known("once", "a");
	known("twice", "b");
	REFUSED(-EINVAL, ASYNCTRACE_A_PROVIDER_KNOWN);
	/* Refused announcements have changed nothing. */
	list();
	EXPECT(listed("kept;"));
	end();
}

static int announce_by_ioctl(struct nlmsghdr *nlh)
{
	struct asynctrace_attrs a = { .size = sizeof(a) };

	a.attrs = (uintptr_t)mnl_nlmsg_get_payload(nlh);
	a.len = mnl_nlmsg_get_payload_len(nlh);
	return raw_ioctl(p.fd, ASYNCTRACE_IOC_ANNOUNCE, &a);
}

static int announce_in_child(void *arg)
{
	return -announce_by_ioctl(arg);
}

static void an_ioctl_announces_as_well(void)
{
	char buf[65536] __attribute__((aligned(8)));
	struct asynctrace_attrs a = { .size = sizeof(a), .len = 1 << 20 };
	struct nlmsghdr *nlh;
	int fd;

	begin_announcing();
	nlh = mnl_nlmsg_put_header(buf);
	put_known(nlh, "ioctl", 6, "without a socket");
	put_known(nlh, "x", 2, NULL);
	EXPECT_IS(announce_by_ioctl(nlh), 0);
	list();
	EXPECT(listed("ioctl=without a socket;x;"));
	EXPECT_IS(raw_child(announce_in_child, nlh, -1), ENOENT);
	put_known(nlh, "x", 2, NULL);
	EXPECT_IS(announce_by_ioctl(nlh), -EINVAL);
	nlh = mnl_nlmsg_put_header(buf);
	mnl_attr_put_u64(nlh, ASYNCTRACE_A_PROVIDER_COOKIE, cookie);
	EXPECT_IS(announce_by_ioctl(nlh), -EINVAL);
	EXPECT_IS(raw_ioctl(p.fd, ASYNCTRACE_IOC_ANNOUNCE, &a), -EINVAL);
	a.len = 8;
	EXPECT_IS(raw_ioctl(p.fd, ASYNCTRACE_IOC_ANNOUNCE, &a), -EFAULT);
	a.size--;
	EXPECT_IS(raw_ioctl(p.fd, ASYNCTRACE_IOC_ANNOUNCE, &a), -EINVAL);
	EXPECT_IS(raw_ioctl(p.fd, ASYNCTRACE_IOC_ANNOUNCE, (void *)8), -EFAULT);
	list();
	EXPECT(listed("ioctl=without a socket;x;"));
	fd = raw_open();
	NEED(fd >= 0 && !raw_hello(fd, NULL));
	nlh = mnl_nlmsg_put_header(buf);
	put_known(nlh, "a", 2, NULL);
	a = (struct asynctrace_attrs){ .size = sizeof(a), .len = mnl_nlmsg_get_payload_len(nlh),
				       .attrs = (uintptr_t)mnl_nlmsg_get_payload(nlh) };
	EXPECT_IS(raw_ioctl(fd, ASYNCTRACE_IOC_ANNOUNCE, &a), -ENOENT);
	close(fd);
	end();
}

/* --- observing the session ----------------------------------------------------------- */

static short ready(int ms)
{
	struct pollfd f = { p.fd, POLLIN, 0 };

	return poll(&f, 1, ms) > 0 ? f.revents : 0;
}

static int look(struct asynctrace_observed *o)
{
	ssize_t n = read(p.fd, o, sizeof(*o));

	return n < 0 ? -errno : (int)n;
}

#define SEES(is_open, in) do {						\
	struct asynctrace_observed __o;					\
									\
	EXPECT_IS(ready(1000), POLLIN);					\
	EXPECT_IS(look(&__o), sizeof(__o));				\
	EXPECT_IS(__o.state, in);					\
	EXPECT_IS(__o.gate, p.control->gate);				\
	EXPECT_IS(__o.gate > ASYNCTRACE_GATE_ATTACH, is_open);		\
	EXPECT_IS(look(&__o), -EAGAIN);					\
	EXPECT_IS(ready(0), 0);						\
} while (0)

/* P5: a provider can see each step of its session. */
static void P5_provider_sees_what_its_session_does(void)
{
	struct asynctrace_observed o;

	begin("observes");
	SEES(false, 0);
	session("observes");
	EXPECT_IS(ready(50), 0);
	NEED(!make(ASYNCTRACE_CMD_SESSION_INIT));
	SEES(false, ASYNCTRACE_SESSION_STATE_INITIALIZED);
	NEED(!make(ASYNCTRACE_CMD_SESSION_START));
	SEES(true, ASYNCTRACE_SESSION_STATE_STARTED);
	EXPECT_IS(make(ASYNCTRACE_CMD_SESSION_START), -EALREADY);
	EXPECT_IS(ready(50), 0);
	NEED(!make(ASYNCTRACE_CMD_SESSION_STOP));
	SEES(false, ASYNCTRACE_SESSION_STATE_STOPPED);
	NEED(!make(ASYNCTRACE_CMD_SESSION_START));
	SEES(true, ASYNCTRACE_SESSION_STATE_STARTED);
	/* A whole run may pass between two reads. The reader notices it by the new gate. */
	NEED(!make(ASYNCTRACE_CMD_SESSION_STOP));
	NEED(!make(ASYNCTRACE_CMD_SESSION_START));
	SEES(true, ASYNCTRACE_SESSION_STATE_STARTED);
	NEED(!make(ASYNCTRACE_CMD_SESSION_TERMINATE));
	SEES(false, 0);
	EXPECT_IS(read(p.fd, &o, sizeof(o) - 1) < 0 ? -errno : 0, -EINVAL);
	end();
}

/* A provider that registers late finds the gate open. */
static void P25_late_provider_sees_that_it_is_recorded(void)
{
	NEED(!raw_nl_open(&nl));
	session("observes");
	NEED(!make(ASYNCTRACE_CMD_SESSION_INIT) && !make(ASYNCTRACE_CMD_SESSION_START));
	NEED(!raw_provider(&p, "observes", STRIDE));
	fcntl(p.fd, F_SETFL, O_NONBLOCK);
	SEES(true, ASYNCTRACE_SESSION_STATE_STARTED);
	raw_provider_end(&p);
	raw_nl_close(&nl);
}

static void *wait_for_news(void *arg)
{
	*(int *)arg = look((struct asynctrace_observed *)arg + 1);
	return NULL;
}

static void a_read_waits_for_news(void)
{
	struct asynctrace_observed o[2] = { { .size = 0 } };
	struct epoll_event e = { .events = EPOLLIN | EPOLLET };
	int ep = epoll_create1(EPOLL_CLOEXEC);
	pthread_t t;

	begin("waits");
	session("waits");
	NEED(look(o) == sizeof(*o));
	NEED(ep >= 0 && !epoll_ctl(ep, EPOLL_CTL_ADD, p.fd, &e));
	EXPECT_IS(epoll_wait(ep, &e, 1, 50), 0);
	fcntl(p.fd, F_SETFL, 0);
	NEED(!pthread_create(&t, NULL, wait_for_news, o));
	usleep(50000);
	NEED(!make(ASYNCTRACE_CMD_SESSION_INIT));
	pthread_join(t, NULL);
	EXPECT_IS(*(int *)o, sizeof(*o));
	EXPECT_IS(o[1].state, ASYNCTRACE_SESSION_STATE_INITIALIZED);
	NEED(!make(ASYNCTRACE_CMD_SESSION_START));
	EXPECT_IS(epoll_wait(ep, &e, 1, NOTIFICATION_PATIENCE), 1);
	close(ep);
	end();
}

static int look_in_child(void *arg)
{
	return -look(arg);
}

static void only_the_provider_reads_its_descriptor(void)
{
	struct asynctrace_observed o;

	begin("mine");
	EXPECT_IS(raw_child(look_in_child, &o, -1), EPERM);
	SEES(false, 0);
	/* When the provider ends, reading its descriptor reports the end of the file. */
	munmap(p.rw, p.rw_size);
	p.rw = NULL;
	EXPECT_IS(ready(1000), POLLIN | POLLHUP);
	EXPECT_IS(look(&o), 0);
	end();
	p.fd = raw_open();
	EXPECT_IS(look(&o), -ENXIO);
	close(p.fd);
}

/* P24: a name has 100 bytes at most. */
static void P24_name_of_101_bytes_is_refused(void)
{
	char name[ASYNCTRACE_NAME_MAX + 2] = { 0 };
	struct nlmsghdr *nlh;
	int err, fd = raw_open();

	NEED(fd >= 0 && !raw_hello(fd, &cookie) && !raw_nl_open(&nl));
	memset(name, 'n', ASYNCTRACE_NAME_MAX + 1);
	nlh = raw_nl_begin(&nl, ASYNCTRACE_CMD_PROVIDER_REGISTER, 0);
	mnl_attr_put_u64(nlh, ASYNCTRACE_A_PROVIDER_COOKIE, cookie);
	mnl_attr_put_strz(nlh, ASYNCTRACE_A_PROVIDER_NAME, name);
	mnl_attr_put_u64(nlh, ASYNCTRACE_A_PROVIDER_RING_STRIDE, STRIDE);
	err = raw_nl_ask(&nl);
	EXPECT(err == -ERANGE || err == -EINVAL);
	EXPECT_IS(nl.bad, ASYNCTRACE_A_PROVIDER_NAME);
	err = raw_register(fd, name, STRIDE);
	EXPECT(err == -ERANGE || err == -EINVAL);
	close(fd);
	raw_nl_close(&nl);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(names_of_alerts_are_checked),
	KTAP_TEST(only_the_provider_raises_alerts),
	KTAP_TEST(alerts_without_a_session_are_refused),
	KTAP_TEST(a_flood_of_alerts_is_bounded_and_counted),
	KTAP_TEST(announced_categories_are_listed),
	KTAP_TEST(longest_announcement_takes_many_messages),
	KTAP_TEST(announcement_replaced_in_a_list),
	KTAP_TEST(provider_ends_in_a_list),
	KTAP_TEST(list_not_read_to_its_end),
	KTAP_TEST(a_list_of_many_fits_a_small_buffer),
	KTAP_TEST(wrong_announcements_are_blamed),
	KTAP_TEST(an_ioctl_announces_as_well),
	KTAP_TEST(P5_provider_sees_what_its_session_does),
	KTAP_TEST(P25_late_provider_sees_that_it_is_recorded),
	KTAP_TEST(a_read_waits_for_news),
	KTAP_TEST(only_the_provider_reads_its_descriptor),
	KTAP_TEST(P24_name_of_101_bytes_is_refused),
};

KTAP_MAIN(tests)
