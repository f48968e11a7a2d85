// SPDX-License-Identifier: GPL-2.0
/*
 * Notifications: each kind arrives in the order of what happened, only at sockets that may see it,
 * and reports how many were lost before it
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "notifications.h"
#include "ktap.h"

#define NOBODY	65534
#define STRIDE	(64 * 1024)
#define SUB	4096		/* the sub-buffer size of a ring of this size */
#define SUB_WORDS	(SUB / 8)

static struct raw_nl nl, sub;	/* the controller's and the subscriber's socket */
static struct notification note;

static void begin(uint32_t kinds)
{
	NEED(!raw_nl_open(&nl) && !raw_nl_open(&sub));
	NEED(!notification_subscribe(&sub, kinds, 0));
}

static void end(void)
{
	raw_nl_close(&sub);
	raw_nl_close(&nl);
}

static int session(const char *name, uint32_t mode, const char *provider)
{
	return raw_session(&nl, name, mode, ASYNCTRACE_SCHED_OFF, STRIDE, provider);
}

static int make(uint8_t cmd, int id)
{
	return raw_session_do(&nl, cmd, id);
}

static int alert(int fd, const char *name)
{
	struct asynctrace_alert a = { .size = sizeof(a) };

	memcpy(a.name, name, strnlen(name, sizeof(a.name)));
	return raw_ioctl(fd, ASYNCTRACE_IOC_ALERT, &a);
}

#define IS(member, value)	EXPECT_IS(note.member, value)
#define NEXT(what)	do {						\
	NEED(!notification_next(&sub, &note, NOTIFICATION_PATIENCE, NULL));	\
	EXPECT_IS(note.kind, ASYNCTRACE_NOTIFICATION_KINDS_##what);		\
	EXPECT_IS(note.lost, 0);						\
} while (0)
#define NO_MORE()	EXPECT_IS(notification_next(&sub, &note, 100, NULL), -EAGAIN)
#define HAS(name)	(1u << ASYNCTRACE_A_NOTIFICATION_##name)
#define OF_PROVIDER	(HAS(KINDS) | HAS(PROVIDER) | HAS(NAME) | HAS(PID) | HAS(UID))
#define OF_SESSION	(HAS(KINDS) | HAS(SESSION) | HAS(NAME))

/* --- kinds and contents of notifications -------------------------------------- */

static void every_kind_arrives_in_order(void)
{
	struct raw_provider p;
	uint32_t generation;
	int id, again;

	begin(ALL_KINDS);
	id = session("events", ASYNCTRACE_MODE_STREAMING, "told");
	NEED(id > 0);
	NEED(!raw_provider(&p, "told", STRIDE));
	NEXT(PROVIDER_CAME);
	EXPECT_IS(note.has, OF_PROVIDER);
	IS(provider, p.id);
	IS(pid, getpid());
	IS(uid, 0);
	EXPECT(!strcmp(note.name, "told"));
	NEED(!make(ASYNCTRACE_CMD_SESSION_INIT, id));
	NEED(!make(ASYNCTRACE_CMD_SESSION_START, id));
	NEXT(STARTED);
	EXPECT_IS(note.has, OF_SESSION | HAS(STATUS) | HAS(GENERATION));
	IS(session, id);
	IS(status, 0);
	EXPECT(!strcmp(note.name, "events"));
	generation = note.generation;
	EXPECT_IS(generation, p.control->gate);

	EXPECT_IS(alert(p.fd, "fourteen bytes"), 0);
	NEXT(ALERT);
	EXPECT_IS(note.has, OF_PROVIDER | HAS(SESSION) | HAS(ALERT));
	EXPECT(!strcmp(note.alert, "fourteen bytes") && !strcmp(note.name, "told"));
	IS(provider, p.id);

	/* One full sub-buffer and words of the next */
	raw_write(&p, 0, 100);
	raw_header(&p, 0)->position = SUB_WORDS + 20;
	NEXT(SAVE_BUFFER);
	EXPECT_IS(note.has, OF_PROVIDER | HAS(SESSION) | HAS(RING) | HAS(POSITION) | HAS(DURABLE));
	IS(session, id);
	IS(provider, p.id);
	IS(ring, 0);
	IS(position, SUB_WORDS);
	IS(durable, 0);

	NEED(!make(ASYNCTRACE_CMD_SESSION_STOP, id));
	NEXT(STOPPED);
	EXPECT_IS(note.has, OF_SESSION | HAS(GENERATION));
	IS(session, id);
	IS(generation, generation);

	/* P8: a second stop does nothing. P3, P6: requests without effect cause no notification. */
	EXPECT_IS(make(ASYNCTRACE_CMD_SESSION_STOP, id), -EALREADY);
	NEED(!make(ASYNCTRACE_CMD_SESSION_START, id));
	EXPECT_IS(make(ASYNCTRACE_CMD_SESSION_START, id), -EALREADY);
	NEXT(STARTED);
	EXPECT(note.generation != generation);
	again = note.generation;

	raw_provider_end(&p);
	NEXT(PROVIDER_WENT);
	EXPECT_IS(note.has, OF_PROVIDER | HAS(SESSION));
	IS(provider, p.id);
	IS(session, id);

	/* P9: a running session is stopped before it is terminated. */
	NEED(!make(ASYNCTRACE_CMD_SESSION_TERMINATE, id));
	NEXT(STOPPED);
	IS(generation, again);
	NEXT(TERMINATED);
	EXPECT_IS(note.has, OF_SESSION);
	IS(session, id);
	NO_MORE();
	end();
}

/* P11: a session ends when its owner's socket is closed; subscribers are notified. */
static void owner_end_notifies_session_end(void)
{
	struct raw_nl owner;
	int id;

	begin(ASYNCTRACE_NOTIFICATION_KINDS_STOPPED | ASYNCTRACE_NOTIFICATION_KINDS_TERMINATED);
	NEED(!raw_nl_open(&owner));
	id = raw_session(&owner, "owned", ASYNCTRACE_MODE_ONESHOT, 0, STRIDE, NULL);
	NEED(id > 0 && !raw_session_do(&owner, ASYNCTRACE_CMD_SESSION_INIT, id));
	NEED(!raw_session_do(&owner, ASYNCTRACE_CMD_SESSION_START, id));
	raw_nl_close(&owner);
	NEXT(STOPPED);
	NEXT(TERMINATED);
	IS(session, id);
	end();
}

/* P4, P25: a provider that registers while the session runs is started, with a notification. */
static void late_provider_is_started_with_a_status(void)
{
	struct raw_provider p;
	int id;

	begin(ALL_KINDS);
	id = session("late", ASYNCTRACE_MODE_ONESHOT, "late");
	NEED(id > 0 && !make(ASYNCTRACE_CMD_SESSION_INIT, id));
	NEED(!make(ASYNCTRACE_CMD_SESSION_START, id));
	NEXT(STARTED);
	NEED(!raw_provider(&p, "late", STRIDE));
	NEXT(PROVIDER_CAME);
	NEXT(STARTED);
	EXPECT_IS(note.has, OF_PROVIDER | HAS(SESSION) | HAS(STATUS) | HAS(GENERATION));
	IS(session, id);
	IS(provider, p.id);
	IS(status, 0);
	EXPECT(!strcmp(note.name, "late"));
	raw_provider_end(&p);
	end();
}

/* P4: if another session has the provider, the notification says so. */
static void held_provider_is_notified_with_reason(void)
{
	struct raw_provider p;
	int first, second;

	begin(ASYNCTRACE_NOTIFICATION_KINDS_STARTED);
	NEED(!raw_provider(&p, "wanted by two", STRIDE));
	first = session("first", ASYNCTRACE_MODE_ONESHOT, "wanted*");
	second = session("second", ASYNCTRACE_MODE_ONESHOT, "wanted*");
	NEED(first > 0 && second > 0);
	NEED(!make(ASYNCTRACE_CMD_SESSION_INIT, first));
	NEED(!make(ASYNCTRACE_CMD_SESSION_INIT, second));
	NEED(!make(ASYNCTRACE_CMD_SESSION_START, first));
	NEXT(STARTED);
	NO_MORE();
	NEED(!make(ASYNCTRACE_CMD_SESSION_START, second));
	NEXT(STARTED);
	IS(status, 0);
	IS(session, second);
	NEXT(STARTED);
	IS(status, EBUSY);
	IS(session, second);
	IS(provider, p.id);
	raw_provider_end(&p);
	end();
}

/* P42: each full sub-buffer is reported once, unless it has been read. */
static void full_sub_buffer_is_notified_once(void)
{
	static char buf[ASYNCTRACE_READ_MIN];
	struct raw_provider p;
	int id, fd;

	begin(ASYNCTRACE_NOTIFICATION_KINDS_SAVE_BUFFER);
	NEED(!raw_provider(&p, "full", STRIDE));
	id = session("full", ASYNCTRACE_MODE_STREAMING, "full");
	NEED(id > 0 && !make(ASYNCTRACE_CMD_SESSION_INIT, id));
	NEED(!make(ASYNCTRACE_CMD_SESSION_START, id));
	raw_write(&p, 0, 3);
	NO_MORE();
	raw_header(&p, 0)->position = SUB_WORDS;
	NEXT(SAVE_BUFFER);
	IS(position, SUB_WORDS);
	NO_MORE();
	raw_header(&p, 0)->position = 2 * SUB_WORDS + 7;
	NEXT(SAVE_BUFFER);
	IS(position, 2 * SUB_WORDS);
	NO_MORE();
	/* A position beyond the ring's limit counts as the limit. */
	raw_header(&p, 0)->position = ASYNCTRACE_POS_MASK;
	NEXT(SAVE_BUFFER);
	IS(position, STRIDE / 8);
	NO_MORE();
	/* The session is stopped before the worker looks at the other ring. */
	raw_write(&p, 1, 3);
	raw_header(&p, 1)->position = SUB_WORDS + 4;
	NEED(!make(ASYNCTRACE_CMD_SESSION_STOP, id));
	NEXT(SAVE_BUFFER);
	IS(ring, 1);
	IS(position, SUB_WORDS);
	NO_MORE();
	NEED(!make(ASYNCTRACE_CMD_SESSION_TERMINATE, id));

	/* Sub-buffers that were read are not reported. */
	id = session("full", ASYNCTRACE_MODE_STREAMING, "full");
	fd = raw_open();
	NEED(id > 0 && !make(ASYNCTRACE_CMD_SESSION_INIT, id) && !raw_consume(fd, id));
	NEED(!notification_subscribe(&sub, 0, 0));
	NEED(!make(ASYNCTRACE_CMD_SESSION_START, id));
	raw_write(&p, 0, 5);
	raw_header(&p, 0)->position = SUB_WORDS | 5 * ASYNCTRACE_POS_RECORD;
	for (;;) {
		const struct asynctrace_chunk *c = (const void *)buf;

		NEED(read(fd, buf, sizeof(buf)) > 0);
		if (c->kind == ASYNCTRACE_CHUNK_EVENTS && c->sequence + c->bytes / 8 == SUB_WORDS)
			break;
	}
	NEED(!notification_subscribe(&sub, ALL_KINDS, 0));
	NO_MORE();
	close(fd);
	raw_provider_end(&p);
	end();
}

/* --- subscriptions -------------------------------------------------------------- */

static void only_subscribed_kinds_arrive(void)
{
	struct raw_provider p;
	int one, other;

	begin(ASYNCTRACE_NOTIFICATION_KINDS_STOPPED);
	one = session("one", ASYNCTRACE_MODE_ONESHOT, "chosen");
	other = session("other", ASYNCTRACE_MODE_ONESHOT, "nothing");
	NEED(one > 0 && other > 0);
	for (int id = one; id <= other; id += other - one) {
		NEED(!make(ASYNCTRACE_CMD_SESSION_INIT, id));
		NEED(!make(ASYNCTRACE_CMD_SESSION_START, id));
		NEED(!make(ASYNCTRACE_CMD_SESSION_STOP, id));
		NEXT(STOPPED);
		IS(session, id);
	}
	NO_MORE();
	/* A subscription to one session replaces the previous one. */
	NEED(!notification_subscribe(&sub, ALL_KINDS, one));
	NEED(!make(ASYNCTRACE_CMD_SESSION_START, other));
	NEED(!make(ASYNCTRACE_CMD_SESSION_START, one));
	NEXT(STARTED);
	IS(session, one);
	NEED(!raw_provider(&p, "chosen", STRIDE));
	NEXT(STARTED);
	IS(provider, p.id);
	raw_provider_end(&p);
	NEXT(PROVIDER_WENT);
	IS(session, one);
	NEED(!make(ASYNCTRACE_CMD_SESSION_TERMINATE, other));
	NO_MORE();
	/* End the subscription. */
	NEED(!notification_subscribe(&sub, 0, 0));
	NEED(!make(ASYNCTRACE_CMD_SESSION_TERMINATE, one));
	NO_MORE();
	end();
}

static void wrong_subscriptions_are_blamed(void)
{
	struct nlmsghdr *nlh;

	begin(0);
	raw_nl_begin(&sub, ASYNCTRACE_CMD_SUBSCRIBE, 0);
	EXPECT_IS(raw_nl_ask(&sub), -EINVAL);
	EXPECT_IS(sub.missing, ASYNCTRACE_A_NOTIFICATION_KINDS);
	EXPECT(sub.text[0]);
	EXPECT_IS(notification_subscribe(&sub, 0x80, 0), -EINVAL);
	EXPECT_IS(sub.bad, ASYNCTRACE_A_NOTIFICATION_KINDS);
	EXPECT_IS(notification_subscribe(&sub, 1, ~0u), -ENOENT);
	EXPECT_IS(sub.bad, ASYNCTRACE_A_NOTIFICATION_SESSION);
	EXPECT(sub.text[0]);
	nlh = raw_nl_begin(&sub, ASYNCTRACE_CMD_SUBSCRIBE, 0);
	mnl_attr_put_u32(nlh, ASYNCTRACE_A_NOTIFICATION_KINDS, 1);
	mnl_attr_put_u32(nlh, ASYNCTRACE_A_NOTIFICATION_SESSION, 0);
	EXPECT_IS(raw_nl_ask(&sub), -ENOENT);
	nlh = raw_nl_begin(&sub, ASYNCTRACE_CMD_SUBSCRIBE, 0);
	mnl_attr_put_u64(nlh, ASYNCTRACE_A_NOTIFICATION_KINDS, 1);
	EXPECT_IS(raw_nl_ask(&sub), -EINVAL);
	EXPECT_IS(sub.bad, ASYNCTRACE_A_NOTIFICATION_KINDS);
	/* Only the kernel sends notifications. */
	raw_nl_begin(&sub, ASYNCTRACE_CMD_NOTIFICATION, 0);
	EXPECT_IS(raw_nl_ask(&sub), -EOPNOTSUPP);
	end();
}

/* --- rights --------------------------------------------------------------------------- */

/* The child writes to pipes[1] and reads from pipes[2]. */
static int pipes[4];

static void meet(int to, int from)
{
	char c = 'x';

	if (write(pipes[to], &c, 1) != 1 || read(pipes[from], &c, 1) != 1)
		_exit(90);
}

/*
 * Collects what arrives until nothing has arrived for a while. Returns the number of notifications.
 */
static int collect(struct raw_nl *who, char *all, size_t room, size_t *len)
{
	size_t bytes;
	int n = 0;

	while (!notification_next(who, &note, 300, &bytes)) {
		if (*len + bytes > room)
			return -1;
		memcpy(all + *len, who->reply, bytes);
		*len += bytes;
		n++;
		if (note.lost)
			return -2;
	}
	return n;
}

static int nobody_listens(void *arg)
{
	static char all[65536];
	struct raw_provider own;
	size_t len = 0;
	int id, n;

	SO(!raw_nl_open(&nl) && !raw_nl_open(&sub));
	SO(!notification_subscribe(&sub, ALL_KINDS, 0));
	/* The user cannot subscribe to another user's session. */
	SO(notification_subscribe(&nl, ALL_KINDS, *(int *)arg) == -ENOENT);
	meet(1, 2);
	/* Meanwhile root causes every kind of notification. */
	meet(1, 2);
	n = collect(&sub, all, sizeof(all), &len);
	SO(n == 0 && len == 0);
	/* The user's own objects, while root has others */
	SO(!raw_provider(&own, "of nobody", STRIDE));
	id = session("nobody's", ASYNCTRACE_MODE_ONESHOT, NULL);
	SO(id > 0 && !make(ASYNCTRACE_CMD_SESSION_INIT, id));
	meet(1, 2);
	SO(!make(ASYNCTRACE_CMD_SESSION_START, id));
	meet(1, 2);
	raw_provider_end(&own);
	SO(!make(ASYNCTRACE_CMD_SESSION_TERMINATE, id));
	n = collect(&sub, all, sizeof(all), &len);
	SO(n == 5);	/* joined, started, left, stopped, terminated */
	SO(memmem(all, len, "nobody", 6));
	SO(!memmem(all, len, "secret", 6));
	for (const struct nlmsghdr *nlh = (void *)all; (char *)nlh < all + len;
	     nlh = (void *)((char *)nlh + NLMSG_ALIGN(nlh->nlmsg_len))) {
		const struct nlattr *attr;

		mnl_attr_for_each(attr, nlh, 4) {
			if (mnl_attr_get_type(attr) == ASYNCTRACE_A_NOTIFICATION_SESSION)
				SO(mnl_attr_get_u32(attr) == (uint32_t)id);
			if (mnl_attr_get_type(attr) == ASYNCTRACE_A_NOTIFICATION_PROVIDER)
				SO(mnl_attr_get_u32(attr) == (uint32_t)own.id);
			SO(mnl_attr_get_type(attr) != ASYNCTRACE_A_NOTIFICATION_LOST);
		}
	}
	return 0;
}

static void all_there_is(const char *name)
{
	struct raw_provider p;
	int id = session(name, ASYNCTRACE_MODE_STREAMING, "secret*");

	NEED(id > 0 && !make(ASYNCTRACE_CMD_SESSION_INIT, id));
	NEED(!make(ASYNCTRACE_CMD_SESSION_START, id));
	NEED(!raw_provider(&p, "secret provider", STRIDE));
	NEED(!alert(p.fd, "secret alert"));
	raw_write(&p, 0, 3);
	raw_header(&p, 0)->position = SUB_WORDS;
	NEED(!make(ASYNCTRACE_CMD_SESSION_STOP, id));
	raw_provider_end(&p);
	NEED(!make(ASYNCTRACE_CMD_SESSION_TERMINATE, id));
}

static void user_gets_only_visible_notifications(void)
{
	pid_t child;
	int status, id;

	begin(ALL_KINDS);
	id = session("secret of root", ASYNCTRACE_MODE_ONESHOT, "secret");
	NEED(id > 0 && !pipe(pipes) && !pipe(pipes + 2));
	child = fork();
	if (!child)
		_exit(raw_child(nobody_listens, &id, NOBODY));
	for (int i = 0; i < 4; i++) {
		char c;

		NEED(read(pipes[0], &c, 1) == 1);
		all_there_is("secret session");
		NEED(write(pipes[3], &c, 1) == 1);
	}
	NEED(waitpid(child, &status, 0) == child);
	EXPECT_IS(status, 0);
	for (int i = 0; i < 4; i++)
		close(pipes[i]);
	/* Root was notified of everything, also of the user's actions. */
	EXPECT_IS(notification_wait(&sub, &note, ASYNCTRACE_NOTIFICATION_KINDS_ALERT), 0);
	EXPECT(!strcmp(note.alert, "secret alert"));
	do {
		NEED(!notification_wait(&sub, &note, ASYNCTRACE_NOTIFICATION_KINDS_PROVIDER_CAME));
	} while (strcmp(note.name, "of nobody"));
	IS(uid, NOBODY);
	end();
}

/* Root's session records the user's provider. The user is notified only about the provider. */
static int held_by_another(void *arg)
{
	struct raw_provider own;

	(void)arg;
	SO(!raw_nl_open(&nl) && !raw_nl_open(&sub));
	SO(!notification_subscribe(&sub, ALL_KINDS, 0));
	SO(!raw_provider(&own, "held", STRIDE));
	SO(own.control->gate > ASYNCTRACE_GATE_ATTACH);
	SO(!alert(own.fd, "told to root"));
	mnl_attr_put_u32(raw_nl_begin(&nl, ASYNCTRACE_CMD_PROVIDER_GET, 0),
			 ASYNCTRACE_A_PROVIDER_ID, own.id);
	SO(!raw_nl_ask(&nl));
	SO(!raw_nl_attr(&nl, ASYNCTRACE_A_PROVIDER_SESSION));
	SO(raw_nl_u32(&nl, ASYNCTRACE_A_PROVIDER_FLAGS) & ASYNCTRACE_PROVIDER_F_HELD);
	raw_provider_end(&own);
	SO(!notification_next(&sub, &note, NOTIFICATION_PATIENCE, NULL));
	SO(note.kind == ASYNCTRACE_NOTIFICATION_KINDS_PROVIDER_CAME && note.has == OF_PROVIDER);
	SO(!notification_next(&sub, &note, NOTIFICATION_PATIENCE, NULL));
	SO(note.kind == ASYNCTRACE_NOTIFICATION_KINDS_PROVIDER_WENT && note.has == OF_PROVIDER);
	SO(notification_next(&sub, &note, 100, NULL) == -EAGAIN);
	return 0;
}

static void notification_hides_foreign_session(void)
{
	int id;

	begin(ASYNCTRACE_NOTIFICATION_KINDS_ALERT);
	id = session("holds", ASYNCTRACE_MODE_ONESHOT, "held");
	NEED(id > 0 && !make(ASYNCTRACE_CMD_SESSION_INIT, id));
	NEED(!make(ASYNCTRACE_CMD_SESSION_START, id));
	EXPECT_IS(raw_child(held_by_another, NULL, NOBODY), 0);
	NEXT(ALERT);
	IS(uid, NOBODY);
	end();
}

/* --- lost notifications ------------------------------------------------------------------- */

static void slow_subscriber_gets_the_number_lost(void)
{
	int small = 1, id, rounds = 500, got = 0, err, one = 1;
	uint32_t lost = 0;

	begin(ASYNCTRACE_NOTIFICATION_KINDS_STARTED | ASYNCTRACE_NOTIFICATION_KINDS_STOPPED);
	NEED(!setsockopt(mnl_socket_get_fd(sub.socket), SOL_SOCKET, SO_RCVBUF, &small,
			 sizeof(small)));
	NEED(!mnl_socket_setsockopt(sub.socket, NETLINK_NO_ENOBUFS, &one, sizeof(one)));
	id = session("fast", ASYNCTRACE_MODE_ONESHOT, "nothing");
	NEED(id > 0 && !make(ASYNCTRACE_CMD_SESSION_INIT, id));
	for (int i = 0; i < rounds; i++) {
		NEED(!make(ASYNCTRACE_CMD_SESSION_START, id));
		NEED(!make(ASYNCTRACE_CMD_SESSION_STOP, id));
	}
	/* The notifications that found room have arrived, beginning with the first. */
	while (!(err = notification_next(&sub, &note, 100, NULL))) {
		EXPECT_IS(note.kind, got & 1 ? ASYNCTRACE_NOTIFICATION_KINDS_STOPPED :
					     ASYNCTRACE_NOTIFICATION_KINDS_STARTED);
		EXPECT_IS(note.lost, 0);
		got++;
	}
	EXPECT_IS(err, -EAGAIN);
	EXPECT(got > 0 && got < 2 * rounds);
	/* The next notification has the exact number of lost ones. */
	NEED(!make(ASYNCTRACE_CMD_SESSION_START, id));
	NEED(!notification_next(&sub, &note, NOTIFICATION_PATIENCE, NULL));
	lost = note.lost;
	EXPECT_IS(got + lost, 2 * rounds);
	/* The number is reported only once. */
	NEED(!make(ASYNCTRACE_CMD_SESSION_STOP, id));
	NEXT(STOPPED);
	end();
}

/* NETLINK_BROADCAST_ERROR: the socket layer reports the loss, too. */
static void overrun_is_also_a_socket_error(void)
{
	int small = 1, id, got = 0, overruns = 0, err;

	begin(ASYNCTRACE_NOTIFICATION_KINDS_STARTED | ASYNCTRACE_NOTIFICATION_KINDS_STOPPED);
	NEED(!setsockopt(mnl_socket_get_fd(sub.socket), SOL_SOCKET, SO_RCVBUF, &small,
			 sizeof(small)));
	/* The session of the test before may not have ended yet, and so keeps its name. */
	id = session("overrun", ASYNCTRACE_MODE_ONESHOT, "nothing");
	NEED(id > 0 && !make(ASYNCTRACE_CMD_SESSION_INIT, id));
	for (int i = 0; i < 100; i++) {
		NEED(!make(ASYNCTRACE_CMD_SESSION_START, id));
		NEED(!make(ASYNCTRACE_CMD_SESSION_STOP, id));
	}
	while ((err = notification_next(&sub, &note, 100, NULL)) != -EAGAIN) {
		NEED(!err || err == -ENOBUFS);
		overruns += err == -ENOBUFS;
		got += !err;
	}
	EXPECT_IS(overruns, 1);
	NEED(!make(ASYNCTRACE_CMD_SESSION_START, id));
	NEED(!notification_next(&sub, &note, NOTIFICATION_PATIENCE, NULL));
	EXPECT_IS(got + note.lost, 200);
	end();
}

/* --- subscribers whose sockets are waited for --------------------------------------------- */

/* Opens the subscriber's socket, and an epoll instance that waits for it, which this returns. */
static int begin_waited_for(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC), one = 1, large = 64 << 20;

	NEED(epoll >= 0 && !raw_nl_open(&sub));
	NEED(!mnl_socket_setsockopt(sub.socket, NETLINK_NO_ENOBUFS, &one, sizeof(one)));
	/* Answers to requests are lost, too, if the socket has no room for them. */
	NEED(!setsockopt(mnl_socket_get_fd(sub.socket), SOL_SOCKET, SO_RCVBUFFORCE, &large,
			 sizeof(large)));
	NEED(!epoll_ctl(epoll, EPOLL_CTL_ADD, mnl_socket_get_fd(sub.socket), &event));
	return epoll;
}

static int switched;	/* a session that switch_next() starts and stops in turn */
static uint32_t switches;

static void switch_begin(const char *name)
{
	NEED(!raw_nl_open(&nl));
	switched = session(name, ASYNCTRACE_MODE_ONESHOT, "nothing");
	switches = 0;
	NEED(switched > 0 && !make(ASYNCTRACE_CMD_SESSION_INIT, switched));
}

static uint32_t switch_kind(uint32_t n)
{
	return n % 2 ? ASYNCTRACE_NOTIFICATION_KINDS_STOPPED :
		       ASYNCTRACE_NOTIFICATION_KINDS_STARTED;
}

static int switch_next(void)
{
	return make(switches++ % 2 ? ASYNCTRACE_CMD_SESSION_STOP : ASYNCTRACE_CMD_SESSION_START,
		    switched);
}

#define SWITCHES	1000

/* @small: the socket has room for few notifications, so that some are lost. */
static void read_switches(bool small)
{
	int epoll = begin_waited_for(), one = 1;
	uint32_t all = 0, generation = 0;

	NEED(!small || !setsockopt(mnl_socket_get_fd(sub.socket), SOL_SOCKET, SO_RCVBUF, &one,
				   sizeof(one)));
	NEED(!notification_subscribe(&sub, switch_kind(0) | switch_kind(1), 0));
	switch_begin(small ? "in a small socket" : "in a large socket");
	while (switches < SWITCHES)
		NEED(!switch_next());
	while (all < switches && switches < SWITCHES + 60) {
		if (notification_next(&sub, &note, 1000, NULL)) {
			/* The last ones were lost. The next one has their number. */
			NEED(!switch_next());
			continue;
		}
		all += note.lost;
		EXPECT_IS(note.kind, switch_kind(all));
		EXPECT(note.generation > generation ||
		       (note.generation == generation && all % 2));
		generation = note.generation;
		all++;
	}
	EXPECT_IS(all, switches);
	NEED(!notification_subscribe(&sub, 0, 0));
	NEED(!switch_next());
	NO_MORE();
	close(epoll);
	end();
}

static void waited_for_notifications_keep_order(void)
{
	read_switches(false);
	read_switches(true);
}

static atomic_bool switch_enough;

/* Returns NULL unless a request has failed. */
static void *switch_often(void *arg)
{
	while (!switch_enough) {
		if (switch_next())
			return arg;
		usleep(100);
	}
	return NULL;
}

/*
 * The subscription ends by a request or by close(2), while notifications are sent. A fault shows in
 * the kernel's log, or the test does not end.
 */
static void waited_for_subscription_may_end(void)
{
	pthread_t thread;
	void *failed;

	switch_begin("switched often");
	switch_enough = false;
	NEED(!pthread_create(&thread, NULL, switch_often, &switched));
	for (int i = 0; i < 200; i++) {
		int epoll = begin_waited_for();

		NEED(!notification_subscribe(&sub, switch_kind(0) | switch_kind(1), 0));
		NEED(!notification_next(&sub, &note, NOTIFICATION_PATIENCE, NULL));
		NEED(i % 2 || !notification_subscribe(&sub, 0, 0));
		raw_nl_close(&sub);
		close(epoll);
	}
	switch_enough = true;
	NEED(!pthread_join(thread, &failed));
	EXPECT(!failed);
	raw_nl_close(&nl);
}

/* --- limits ------------------------------------------------------------------------------- */

#define SUBSCRIBERS_MAX	64

static int subscribe_often(void *arg)
{
	static struct raw_nl many[SUBSCRIBERS_MAX + 1];

	(void)arg;
	for (int i = 0; i <= SUBSCRIBERS_MAX; i++) {
		int err;

		SO(!raw_nl_open(&many[i]));
		err = notification_subscribe(&many[i], 1, 0);
		SO(err == (i < SUBSCRIBERS_MAX ? 0 : -EDQUOT));
		/* A request that replaces a subscription does not count as another one. */
		SO(i == SUBSCRIBERS_MAX || !notification_subscribe(&many[i], 3, 0));
	}
	SO(strstr(many[SUBSCRIBERS_MAX].text, "end some"));
	SO(!notification_subscribe(&many[3], 0, 0) && !notification_subscribe(&many[3], 0, 0));
	SO(!notification_subscribe(&many[SUBSCRIBERS_MAX], 1, 0));
	return 0;
}

static void a_user_has_so_many_subscriptions(void)
{
	EXPECT_IS(raw_child(subscribe_often, NULL, NOBODY), 0);
	/* The subscriptions ended with their sockets. */
	EXPECT_IS(raw_child(subscribe_often, NULL, NOBODY), 0);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(every_kind_arrives_in_order),
	KTAP_TEST(owner_end_notifies_session_end),
	KTAP_TEST(late_provider_is_started_with_a_status),
	KTAP_TEST(held_provider_is_notified_with_reason),
	KTAP_TEST(full_sub_buffer_is_notified_once),
	KTAP_TEST(only_subscribed_kinds_arrive),
	KTAP_TEST(wrong_subscriptions_are_blamed),
	KTAP_TEST(user_gets_only_visible_notifications),
	KTAP_TEST(notification_hides_foreign_session),
	KTAP_TEST(slow_subscriber_gets_the_number_lost),
	KTAP_TEST(overrun_is_also_a_socket_error),
	KTAP_TEST(waited_for_notifications_keep_order),
	KTAP_TEST(waited_for_subscription_may_end),
	KTAP_TEST(a_user_has_so_many_subscriptions),
};

KTAP_MAIN(tests)
