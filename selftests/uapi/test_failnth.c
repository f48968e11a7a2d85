// SPDX-License-Identifier: GPL-2.0
/*
 * Each operation with its first allocation failing, its second, and so on until
 * it needs no more of them: it returns a clean error or has worked, and leaves
 * nothing behind. Needs a kernel with fault injection.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "events.h"
#include "failnth.h"
#include "ktap.h"
#include "raw.h"

#define STRIDE	(64 * 1024)
#define MOST	400	/* allocations of one operation */

static struct raw_nl nl;
static struct raw_provider p;
static int fd, session;
static char buffer[ASYNCTRACE_READ_MIN];

/* The operation @run after @prepare, which @clean undoes whatever became of it. */
static void every_failure(void (*prepare)(void), int (*run)(void), void (*clean)(int ret))
{
	int n, ret, refused = 0;

	fail_need();
	for (n = 1; n < MOST; n++) {
		bool injected;

		prepare();
		injected = fail_one(n, run, &ret);
		clean(ret);
		if (!injected)
			break;
		refused += ret < 0;
		if (ret < 0 && !fail_clean(ret))
			ktap_fail(__FILE__, __LINE__, "failure %d: %s", n, strerror(-ret));
	}
	EXPECT(n < MOST);
	EXPECT(ret >= 0);
	printf("# %d failures, %d told\n", n - 1, refused);
	/* An operation that allocates nothing would prove nothing. */
	EXPECT(n > 1);
}

static void nothing(void) { }

static void close_fd(int ret)
{
	(void)ret;
	close(fd);
}

static void open_nl(void)
{
	struct timeval limit = { .tv_sec = 10 };

	NEED(!raw_nl_open(&nl));
	setsockopt(mnl_socket_get_fd(nl.socket), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

static void close_nl(int ret)
{
	(void)ret;
	raw_nl_close(&nl);
}

/* --- a provider ------------------------------------------------------------------- */

static int do_open(void)
{
	fd = raw_open();
	return fd;
}

static void open_fails_cleanly(void)
{
	every_failure(nothing, do_open, close_fd);
}

static void opened(void)
{
	fd = raw_open();
	NEED(fd >= 0);
}

static int do_register(void)
{
	int id = raw_register(fd, "fail", STRIDE);

	return id;
}

/* Where it failed, the same descriptor can be used again. */
static void register_again(int ret)
{
	if (ret < 0 && ret != -EFAULT)
		EXPECT(raw_register(fd, "fail", STRIDE) > 0);
	close(fd);
}

static void registering_fails_cleanly(void)
{
	every_failure(opened, do_register, register_again);
}

static void registered(void)
{
	opened();
	NEED(raw_register(fd, "fail", STRIDE) > 0);
}

static int do_slot(void)
{
	return raw_ioctl(fd, ASYNCTRACE_IOC_THREAD, NULL);
}

static void a_slot_fails_cleanly(void)
{
	every_failure(registered, do_slot, close_fd);
}

static int do_map(void)
{
	void *at = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	p.control = at;
	return 0;
}

static void unmap(int ret)
{
	if (!ret)
		munmap((void *)p.control, 4096);
	close(fd);
}

static void mapping_fails_cleanly(void)
{
	every_failure(registered, do_map, unmap);
}

static void session_ready(void)
{
	open_nl();
	session = raw_session(&nl, "fail", ASYNCTRACE_MODE_CIRCULAR, ASYNCTRACE_SCHED_TARGETS,
			      STRIDE, "fail");
	NEED(session > 0);
}

static void session_started(void)
{
	session_ready();
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, session));
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, session));
}

/* --- sessions ------------------------------------------------------------------------ */

/* With lists so long that they may come from elsewhere where memory is in pieces. */
static int do_create(void)
{
	struct nlmsghdr *nlh = raw_nl_begin(&nl, ASYNCTRACE_CMD_SESSION_CREATE, 0);
	char text[ASYNCTRACE_CATEGORY_MAX + 1] = { 0 };
	int err;

	memset(text, 'x', ASYNCTRACE_CATEGORY_MAX);
	mnl_attr_put_strz(nlh, ASYNCTRACE_A_SESSION_NAME, "fail");
	mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_MODE, ASYNCTRACE_MODE_CIRCULAR);
	mnl_attr_put_u64(nlh, ASYNCTRACE_A_SESSION_RING_SIZE, STRIDE);
	for (int i = 0; i < ASYNCTRACE_CATEGORIES_MAX; i++) {
		mnl_attr_put_strz(nlh, ASYNCTRACE_A_SESSION_CATEGORY, text);
		mnl_attr_put_strz(nlh, ASYNCTRACE_A_SESSION_PROVIDER, text);
	}
	err = raw_nl_ask(&nl);
	return err ? err : (int)raw_nl_u32(&nl, ASYNCTRACE_A_SESSION_ID);
}

/* Where it failed, the name is free. Where only the answer was lost, it is not. */
static void name_is_free(int ret)
{
	if (ret == -ENOMEM)
		ret = do_create();
	EXPECT(ret > 0 || ret == -ENOBUFS || ret == -EEXIST || ret == -EFAULT);
	raw_nl_close(&nl);
}

static void creating_fails_cleanly(void)
{
	every_failure(open_nl, do_create, name_is_free);
}

static void session_and_provider(void)
{
	session_ready();
	NEED(!raw_provider(&p, "fail", STRIDE));
}

static int do_init(void)
{
	return raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, session);
}

static void init_again(int ret)
{
	if (ret < 0) {
		ret = do_init();
		EXPECT(!ret || ret == -EALREADY);
	}
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, session), 0);
	raw_nl_close(&nl);
	raw_provider_end(&p);
}

static void initializing_fails_cleanly(void)
{
	every_failure(session_and_provider, do_init, init_again);
}

static void session_initialized(void)
{
	session_and_provider();
	NEED(!do_init());
}

static int do_start(void)
{
	return raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, session);
}

static void start_again(int ret)
{
	if (ret < 0) {
		ret = do_start();
		EXPECT(!ret || ret == -EALREADY);
	}
	EXPECT(p.control->gate > ASYNCTRACE_GATE_ATTACH);
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, session), 0);
	EXPECT_IS(p.control->gate, ASYNCTRACE_GATE_OFF);
	raw_nl_close(&nl);
	raw_provider_end(&p);
}

static void starting_fails_cleanly(void)
{
	every_failure(session_initialized, do_start, start_again);
}

static void started_and_opened(void)
{
	session_started();
	opened();
}

static int do_join(void)
{
	return raw_register(fd, "fail", STRIDE);
}

static void leave(int ret)
{
	close_fd(ret);
	close_nl(ret);
}

static void joining_a_session_fails_cleanly(void)
{
	every_failure(started_and_opened, do_join, leave);
}

static int do_dump(void)
{
	raw_nl_begin(&nl, ASYNCTRACE_CMD_SESSION_GET, NLM_F_DUMP);
	return raw_nl_ask(&nl);
}

static void listing_fails_cleanly(void)
{
	every_failure(session_started, do_dump, close_nl);
}

static void consumer_opened(void)
{
	session_started();
	opened();
	fcntl(fd, F_SETFL, O_NONBLOCK);
	/* Its pages are there: what fails is not that they are. */
	memset(buffer, 0, sizeof(buffer));
	NEED(!raw_consume(fd, session));
}

static int do_read(void)
{
	ssize_t n = read(fd, buffer, ASYNCTRACE_READ_MIN);

	return n < 0 ? -errno : 0;
}

static void reading_fails_cleanly(void)
{
	every_failure(consumer_opened, do_read, leave);
}

/* A page that cannot be had: no signal, and nothing is lost without being counted. */
static void provider_recorded(void)
{
	session_initialized();
	NEED(!do_start());
	/* The page tables, which are not ours: another page of the same ring. */
	raw_ring(&p, 0)[STRIDE / 8 - 1] = 1;
}

static int do_touch(void)
{
	raw_ring(&p, 0)[0] = 1;
	return 0;
}

static void touched(int ret)
{
	const volatile uint64_t *limits = (const void *)((const char *)p.control +
							 p.control->limits);
	bool refused;

	(void)ret;
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_GET, session), 0);
	refused = raw_nl_u64(&nl, ASYNCTRACE_A_SESSION_REFUSED);
	/* A ring that went without a page takes no more records. */
	EXPECT_IS(limits[0] == 0, refused);
	raw_nl_close(&nl);
	raw_provider_end(&p);
}

static void a_page_fails_cleanly(void)
{
	every_failure(provider_recorded, do_touch, touched);
}

/* --- events, announcements ------------------------------------------------------------ */

static int do_subscribe(void)
{
	return ev_subscribe(&nl, ALL_KINDS, 0);
}

static void subscribing_fails_cleanly(void)
{
	every_failure(open_nl, do_subscribe, close_nl);
}

static int do_announce(void)
{
	struct {
		struct nlattr nest, name;
		char text[8];
	} attrs = {
		{ sizeof(attrs), ASYNCTRACE_A_PROVIDER_KNOWN | NLA_F_NESTED },
		{ sizeof(attrs) - 4, ASYNCTRACE_A_KNOWN_NAME }, "unknown",
	};
	struct asynctrace_attrs a = { .size = sizeof(a), .len = sizeof(attrs),
				      .attrs = (uintptr_t)&attrs };

	return raw_ioctl(fd, ASYNCTRACE_IOC_ANNOUNCE, &a);
}

static void announcing_fails_cleanly(void)
{
	every_failure(registered, do_announce, close_fd);
}

static struct raw_nl told;

static void subscribed(void)
{
	session_initialized();
	NEED(!raw_nl_open(&told) && !ev_subscribe(&told, ASYNCTRACE_EVENT_KINDS_STARTED, 0));
}

/* Who could not be told of the first start is told of that with the second. */
static void told_or_counted(int ret)
{
	struct event ev;
	uint32_t starts = 0;

	if (!ret)
		ret = raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_STOP, session);
	EXPECT(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_STOP, session) <= 0);
	EXPECT_IS(do_start(), 0);
	while (!ev_next(&told, &ev, 20, NULL))
		starts += 1 + ev.lost;
	EXPECT(starts == 2 || (ret && starts == 1));
	raw_nl_close(&told);
	raw_nl_close(&nl);
	raw_provider_end(&p);
}

static void an_event_that_cannot_be_made_is_counted(void)
{
	every_failure(subscribed, do_start, told_or_counted);
}

/* --- and then ------------------------------------------------------------------------- */

static void nothing_is_left_behind(void)
{
	fail_need();
	usleep(200000);
	open_nl();
	raw_nl_begin(&nl, ASYNCTRACE_CMD_SESSION_GET, NLM_F_DUMP);
	EXPECT_IS(raw_nl_ask(&nl), 0);
	EXPECT_IS(nl.replies, 0);
	raw_nl_begin(&nl, ASYNCTRACE_CMD_PROVIDER_GET, NLM_F_DUMP);
	EXPECT_IS(raw_nl_ask(&nl), 0);
	EXPECT_IS(nl.replies, 0);
	raw_nl_close(&nl);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(open_fails_cleanly),
	KTAP_TEST(registering_fails_cleanly),
	KTAP_TEST(a_slot_fails_cleanly),
	KTAP_TEST(mapping_fails_cleanly),
	KTAP_TEST(creating_fails_cleanly),
	KTAP_TEST(initializing_fails_cleanly),
	KTAP_TEST(starting_fails_cleanly),
	KTAP_TEST(joining_a_session_fails_cleanly),
	KTAP_TEST(listing_fails_cleanly),
	KTAP_TEST(reading_fails_cleanly),
	KTAP_TEST(a_page_fails_cleanly),
	KTAP_TEST(subscribing_fails_cleanly),
	KTAP_TEST(announcing_fails_cleanly),
	KTAP_TEST(an_event_that_cannot_be_made_is_counted),
	KTAP_TEST(nothing_is_left_behind),
};

KTAP_MAIN(tests)
