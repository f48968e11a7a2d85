// SPDX-License-Identifier: GPL-2.0
/*
 * Providers that have ended: when their records have been read or overwritten, the session adds
 * their counts to its sums, and keeps nothing else of them. The sums must be exact.
 */
#include <fcntl.h>
#include <unistd.h>

#include "child.h"
#include "group.h"
#include "ktap.h"
#include "limit.h"
#include "raw.h"

#define NOBODY		65534
#define OTHER		1000
#define NAME		"ended"
#define STRIDE		(64 * 1024)
#define SOME		64
#define RECORDS		10
/* Number of providers. A dump of so many rings takes several messages. */
#define MANY		400

static struct raw_nl nl;
static char buf[ASYNCTRACE_READ_MIN];

static int begin_with(uint32_t mode, uint64_t size, bool sched)
{
	int id;

	NEED(!raw_nl_open(&nl));
	id = raw_session(&nl, NAME, mode,
			 sched ? ASYNCTRACE_SCHED_TARGETS : ASYNCTRACE_SCHED_OFF, size, NAME);
	NEED(id > 0);
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id));
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id));
	return id;
}

static int begin(uint32_t mode)
{
	return begin_with(mode, STRIDE, false);
}

static void come_and_go(unsigned int records)
{
	struct raw_provider p;

	NEED(!raw_provider(&p, NAME, STRIDE));
	if (records && p.control->gate)
		raw_write(&p, 0, records);
	raw_provider_end(&p);
}

static uint32_t about(int id, uint16_t attr)
{
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_GET, id));
	return raw_nl_u32(&nl, attr);
}

static struct raw_ledger sum_of(int id)
{
	struct raw_ledger sum;

	NEED(!raw_ledger(&nl, id, 0, &sum));
	return sum;
}

static struct raw_ledger ended_of(int id)
{
	struct raw_ledger sum;

	NEED(!raw_ended(&nl, id, &sum));
	return sum;
}

/* Waits until @want providers have ended: a provider ends a moment after its mapping is removed. */
static void wait_ended(int id, uint32_t want)
{
	for (int i = 0; i < 1000 && about(id, ASYNCTRACE_A_SESSION_ENDED) != want; i++)
		usleep(10000);
	EXPECT_IS(about(id, ASYNCTRACE_A_SESSION_ENDED), want);
}

/* --- reading -------------------------------------------------------------------------- */

/* Numbers of records, of providers, and of ended providers (.gone) that a reader has received */
struct told {
	uint64_t records, providers, gone, serial;
	struct asynctrace_ended ended;
	struct asynctrace_chunk sum;
};

static int consume(int id, uint32_t flags)
{
	struct asynctrace_consume c = { .size = sizeof(c), .session = id, .flags = flags };
	int fd = raw_open();

	NEED(fd >= 0 && !raw_ioctl(fd, ASYNCTRACE_IOC_CONSUME, &c));
	NEED(!fcntl(fd, F_SETFL, O_NONBLOCK));
	return fd;
}

static bool read_one(int fd, struct told *t)
{
	const struct asynctrace_chunk *c = (const void *)buf;
	const struct asynctrace_provider_info *info = (const void *)(c + 1);
	ssize_t n = read(fd, buf, sizeof(buf));

	if (n <= 0)
		return false;
	switch (c->kind) {
	case ASYNCTRACE_CHUNK_EVENTS:
		t->records += c->records;
		break;
	case ASYNCTRACE_CHUNK_PROVIDER:
		t->gone += !!(info->flags & ASYNCTRACE_PROVIDER_F_GONE);
		if (info->serial > t->serial)
			t->providers++;
		t->serial = info->serial > t->serial ? info->serial : t->serial;
		break;
	case ASYNCTRACE_CHUNK_ENDED:
		EXPECT_IS(c->bytes, sizeof(t->ended));
		EXPECT(!t->ended.providers);
		t->ended = *(const struct asynctrace_ended *)(c + 1);
		t->sum = *c;
		break;
	}
	return true;
}

static void read_all(int fd, struct told *t)
{
	while (read_one(fd, t))
		;
}

/* --- the tests -------------------------------------------------------------------------- */

static void check_read(bool sched)
{
	int id = begin_with(ASYNCTRACE_MODE_STREAMING, STRIDE, sched);
	int fd = consume(id, 0);
	struct raw_ledger sum;
	struct told t = {};

	for (int i = 0; i < SOME; i++) {
		come_and_go(RECORDS);
		if (i % 16 == 15)
			read_all(fd, &t);
	}
	for (int i = 0; i < 1000 && t.gone < SOME; i++) {
		usleep(10000);
		read_all(fd, &t);
	}
	wait_ended(id, SOME);
	EXPECT_IS(t.providers, SOME);
	EXPECT_IS(t.records, SOME * RECORDS);
	EXPECT_IS(t.ended.providers, 0);
	EXPECT_IS(about(id, ASYNCTRACE_A_SESSION_PROVIDERS), SOME);
	EXPECT_IS(about(id, ASYNCTRACE_A_SESSION_LATE), SOME);
	sum = sum_of(id);
	EXPECT_IS(sum.lines, 1);
	EXPECT_IS(sum.committed, SOME * RECORDS);
	EXPECT_IS(sum.delivered, SOME * RECORDS);
	EXPECT_IS(sum.overwritten + sum.cleared + sum.dropped, 0);
	close(fd);
	raw_nl_close(&nl);
}

static void ended_providers_that_were_read_are_added_up(void)
{
	check_read(false);
}

static void ended_providers_with_scheduling_are_added_up(void)
{
	check_read(true);
}

static void silent_providers_are_not_kept(void)
{
	int id = begin(ASYNCTRACE_MODE_ONESHOT), fd;
	struct told t = {};

	for (int i = 0; i < SOME; i++)
		come_and_go(0);
	wait_ended(id, SOME);
	EXPECT_IS(about(id, ASYNCTRACE_A_SESSION_REFUSED_PROVIDERS), 0);
	EXPECT_IS(sum_of(id).lines, 1);
	EXPECT_IS(sum_of(id).committed, 0);
	/* A reader learns the number of ended providers. */
	fd = consume(id, 0);
	read_all(fd, &t);
	EXPECT_IS(t.ended.providers, SOME);
	EXPECT_IS(t.providers, 0);
	close(fd);
	raw_nl_close(&nl);
}

static void unread_records_stay_to_be_read(void)
{
	int id = begin(ASYNCTRACE_MODE_ONESHOT), fd;
	struct raw_ledger sum;
	struct told t = {};

	for (int i = 0; i < SOME; i++)
		come_and_go(i % 2 ? RECORDS : 0);
	wait_ended(id, SOME / 2);
	sum = sum_of(id);
	EXPECT_IS(sum.committed, SOME / 2 * RECORDS);
	EXPECT_IS(sum.delivered, 0);
	EXPECT_IS(sum.lines, SOME / 2 + 1);
	fd = consume(id, 0);
	read_all(fd, &t);
	EXPECT_IS(t.ended.providers, SOME / 2);
	EXPECT_IS(t.sum.delivered + t.sum.overwritten + t.sum.dropped + t.sum.cleared, 0);
	EXPECT_IS(t.providers, SOME / 2);
	EXPECT_IS(t.records, SOME / 2 * RECORDS);
	wait_ended(id, SOME);
	sum = sum_of(id);
	EXPECT_IS(sum.lines, 1);
	EXPECT_IS(sum.committed, SOME / 2 * RECORDS);
	EXPECT_IS(sum.delivered, SOME / 2 * RECORDS);
	close(fd);
	raw_nl_close(&nl);
}

/* In a circular session that is not read, later providers get the memory of earlier ones. */
static int pass_in_a_circle(void *arg)
{
	uint64_t size = 1 << 20;
	uint32_t fit, rounds;
	struct raw_ledger sum, ended;
	struct told t = {};
	int id, fd;

	(void)arg;
	NEED(!raw_nl_open(&nl));
	raw_nl_begin(&nl, ASYNCTRACE_CMD_INFO_GET, 0);
	NEED(!raw_nl_ask(&nl));
	fit = raw_nl_u64(&nl, ASYNCTRACE_A_INFO_MEMORY_LIMIT) /
	      (size * (raw_nl_u32(&nl, ASYNCTRACE_A_INFO_ONLINE_CPUS) + 1));
	rounds = 2 * fit + SOME;
	raw_nl_close(&nl);
	id = begin_with(ASYNCTRACE_MODE_CIRCULAR, size, false);
	for (uint32_t i = 0; i < rounds; i++) {
		struct raw_provider p;

		NEED(!raw_provider(&p, NAME, size));
		EXPECT(p.control->gate);
		raw_write(&p, 0, RECORDS);
		raw_provider_end(&p);
	}
	wait_ended(id, rounds - fit);
	sum = sum_of(id);
	ended = ended_of(id);
	EXPECT_IS(sum.lines, fit + 1);
	EXPECT_IS(sum.committed, (uint64_t)rounds * RECORDS);
	EXPECT_IS(sum.overwritten, (uint64_t)(rounds - fit) * RECORDS);
	EXPECT_IS(ended.committed, ended.overwritten);
	EXPECT_IS(ended.overwritten, sum.overwritten);

	for (int i = 0; i < 2; i++) {
		t = (struct told){};
		fd = consume(id, i ? 0 : ASYNCTRACE_CONSUME_F_SNAPSHOT);
		read_all(fd, &t);
		EXPECT_IS(t.ended.providers, rounds - fit);
		EXPECT_IS(t.sum.overwritten, ended.overwritten);
		EXPECT_IS(t.providers, fit);
		EXPECT_IS(t.records, (uint64_t)fit * RECORDS);
		close(fd);
	}
	wait_ended(id, rounds);
	sum = sum_of(id);
	EXPECT_IS(sum.lines, 1);
	EXPECT_IS(sum.committed, (uint64_t)rounds * RECORDS);
	EXPECT_IS(sum.delivered, (uint64_t)fit * RECORDS);
	EXPECT_IS(sum.overwritten, (uint64_t)(rounds - fit) * RECORDS);
	raw_nl_close(&nl);
	return ktap_failed();
}

/* Writes a record and claims that others were dropped. */
static void claim_dropped(uint64_t dropped)
{
	struct raw_provider p;

	NEED(!raw_provider(&p, NAME, STRIDE));
	NEED(p.control->gate);
	raw_write(&p, 0, 1);
	raw_header(&p, 0)->dropped = dropped;
	raw_provider_end(&p);
}

static void I1_sum_of_dropped_records_does_not_wrap(void)
{
	int id = begin(ASYNCTRACE_MODE_STREAMING), fd = consume(id, 0);
	struct told t = {};

	claim_dropped(10);
	claim_dropped(UINT64_MAX - 5);
	for (int i = 0; i < 1000 && t.gone < 2; i++) {
		usleep(10000);
		read_all(fd, &t);
	}
	wait_ended(id, 2);
	EXPECT(ended_of(id).dropped == UINT64_MAX);
	close(fd);
	raw_nl_close(&nl);
}

static void overwritten_providers_are_added_up(void)
{
	EXPECT_IS(raw_child(pass_in_a_circle, NULL, NOBODY), 0);
}

/*
 * Registers a provider. Waits for room on the account: a worker frees ended providers some 100 ms
 * later, and as many as a lowered quota allows may end in that time.
 */
static int come_when_there_is_room(struct raw_provider *p)
{
	int err = raw_provider(p, NAME, ASYNCTRACE_RING_MIN);

	for (int tries = 0; err == -EDQUOT && tries < 1000; tries++) {
		close(p->fd);
		usleep(10000);
		err = raw_provider(p, NAME, ASYNCTRACE_RING_MIN);
	}
	return err;
}

/*
 * Runs providers one after the other, more than a user may have at a time, in a session that has
 * memory for them.
 */
static int pass_unread(void *arg)
{
	const int max = *(int *)arg, rounds = max + max / 2;
	struct raw_ledger sum;
	int id = begin_with(ASYNCTRACE_MODE_CIRCULAR, ASYNCTRACE_RING_MIN, false);

	for (int i = 0; i < rounds; i++) {
		struct raw_provider p;

		NEED(!come_when_there_is_room(&p));
		EXPECT(p.control->gate);
		raw_write(&p, 0, RECORDS);
		raw_provider_end(&p);
	}
	/* The last provider ends a moment after its mapping is removed. */
	for (int i = 0; i < 1000 && sum_of(id).lines > (unsigned int)max; i++)
		usleep(10000);
	sum = sum_of(id);
	EXPECT_IS(sum.committed, (uint64_t)rounds * RECORDS);
	EXPECT_IS(sum.overwritten, ended_of(id).overwritten);
	EXPECT(sum.overwritten);
	EXPECT(sum.overwritten < sum.committed);
	raw_nl_close(&nl);
	return ktap_failed();
}

static void unread_providers_leave_room_on_the_account(void)
{
	int max = limit_lower(LIMIT_PROVIDERS, 4096, 64);

	EXPECT_IS(raw_child(pass_unread, &max, NOBODY), 0);
	limit_restore(LIMIT_PROVIDERS);
}

static int write_once(void *arg)
{
	(void)arg;
	come_and_go(RECORDS);
	return ktap_failed();
}

/* Runs providers one after the other, more than a user may have at a time. */
static int crowd(void *arg)
{
	const int rounds = *(int *)arg;

	for (int i = 0; i < rounds; i++) {
		struct raw_provider p;

		NEED(!raw_provider(&p, NAME, ASYNCTRACE_RING_MIN));
		raw_write(&p, 0, 1);
		raw_provider_end(&p);
	}
	return ktap_failed();
}

/* Returns the number of records that the session has of providers of the user. */
static uint64_t records_of(int fd, uint32_t uid)
{
	const struct asynctrace_chunk *chunk = (void *)buf;
	const struct asynctrace_provider_info *info = (void *)(buf + sizeof(*chunk));
	uint32_t provider = 0;
	uint64_t records = 0;

	while (read(fd, buf, sizeof(buf)) > 0) {
		if (chunk->kind == ASYNCTRACE_CHUNK_PROVIDER && info->uid == uid)
			provider = chunk->provider;
		if (chunk->kind == ASYNCTRACE_CHUNK_EVENTS && chunk->provider == provider)
			records += chunk->records;
	}
	return records;
}

/* A user with many ended providers loses own records, not those of another user. */
static void I1_many_ended_providers_cost_only_their_user(void)
{
	int max = limit_lower(LIMIT_PROVIDERS, 4096, 64), rounds = max + max / 2, id, fd;

	id = begin_with(ASYNCTRACE_MODE_CIRCULAR, ASYNCTRACE_RING_MIN, false);
	EXPECT_IS(raw_child(write_once, NULL, OTHER), 0);
	EXPECT_IS(raw_child(crowd, &rounds, NOBODY), 0);
	limit_restore(LIMIT_PROVIDERS);
	EXPECT(sum_of(id).overwritten);
	fd = consume(id, ASYNCTRACE_CONSUME_F_SNAPSHOT);
	EXPECT_IS(records_of(fd, OTHER), RECORDS);
	close(fd);
	raw_nl_close(&nl);
}

static void snapshot_keeps_providers_that_end(void)
{
	int id = begin(ASYNCTRACE_MODE_CIRCULAR), fd;
	struct raw_provider p[4];
	struct told t = {};

	for (int i = 0; i < 4; i++) {
		NEED(!raw_provider(&p[i], NAME, STRIDE));
		if (i % 2)
			raw_write(&p[i], 0, RECORDS);
	}
	fd = consume(id, ASYNCTRACE_CONSUME_F_SNAPSHOT);
	while (t.providers < 2)
		NEED(read_one(fd, &t));
	for (int i = 0; i < 4; i++)
		raw_provider_end(&p[i]);
	for (int i = 0; i < SOME; i++)
		come_and_go(0);
	EXPECT_IS(about(id, ASYNCTRACE_A_SESSION_ENDED), 0);
	read_all(fd, &t);
	EXPECT_IS(t.records, 2 * RECORDS);
	close(fd);
	/* Providers that wrote have records to read. */
	wait_ended(id, SOME + 2);
	EXPECT_IS(sum_of(id).committed, 2 * RECORDS);
	EXPECT_IS(sum_of(id).lines, 2 + 1);
	raw_nl_close(&nl);
}

static int count_changed(const struct nlmsghdr *nlh, unsigned int *changed)
{
	*changed += !!(nlh->nlmsg_flags & NLM_F_DUMP_INTR);
	return nlh->nlmsg_type == NLMSG_DONE;
}

/* Reads messages of a dump: one buffer, or all. Returns true if the dump is over. */
static bool take_some(struct raw_nl *from, bool all, unsigned int *changed)
{
	bool done = false;

	do {
		ssize_t n = mnl_socket_recvfrom(from->socket, buf, sizeof(buf));
		const struct nlmsghdr *nlh = (const void *)buf;
		int left = n;

		NEED(n > 0);
		for (; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left))
			done |= count_changed(nlh, changed);
	} while (all && !done);
	return done;
}

static void dump_reports_providers_ended_meanwhile(void)
{
	static struct raw_provider p[MANY];
	unsigned int changed = 0, records = 0;
	struct raw_ledger sum;
	struct told t = {};
	struct raw_nl dump;
	int id, fd;

	id = begin_with(ASYNCTRACE_MODE_STREAMING, ASYNCTRACE_RING_MIN, false);
	fd = consume(id, 0);
	for (int i = 0; i < MANY; i++) {
		NEED(!raw_provider(&p[i], NAME, STRIDE));
		NEED(p[i].control->gate);
		for (uint32_t ring = 0; ring < 2 && ring < p[i].control->nr_rings; ring++) {
			raw_write(&p[i], ring, RECORDS);
			records += RECORDS;
		}
	}
	NEED(!raw_nl_open(&dump));
	mnl_attr_put_u32(raw_nl_begin(&dump, ASYNCTRACE_CMD_RING_GET, NLM_F_DUMP),
			 ASYNCTRACE_A_RING_SESSION, id);
	NEED(!raw_nl_send(&dump));
	NEED(!take_some(&dump, false, &changed));
	EXPECT_IS(changed, 0);
	/* End all providers, also the one at which the dump continues. */
	for (int i = 0; i < MANY; i++)
		raw_provider_end(&p[i]);
	for (int i = 0; i < 1000 && t.gone < MANY; i++) {
		read_all(fd, &t);
		usleep(10000);
	}
	wait_ended(id, MANY);
	EXPECT(take_some(&dump, true, &changed));
	EXPECT(changed);
	raw_nl_close(&dump);

	sum = sum_of(id);
	EXPECT(!sum.changed);
	EXPECT_IS(sum.lines, 1);
	EXPECT_IS(sum.delivered, records);
	EXPECT_IS(t.records, records);
	close(fd);
	raw_nl_close(&nl);
}

static void serial_numbers_go_up(void)
{
	uint64_t serial[2];
	struct raw_provider p;

	NEED(!raw_nl_open(&nl));
	for (int i = 0; i < 2; i++) {
		NEED(!raw_provider(&p, NAME, STRIDE));
		mnl_attr_put_u32(raw_nl_begin(&nl, ASYNCTRACE_CMD_PROVIDER_GET, 0),
				 ASYNCTRACE_A_PROVIDER_ID, p.id);
		NEED(!raw_nl_ask(&nl));
		serial[i] = raw_nl_u64(&nl, ASYNCTRACE_A_PROVIDER_SERIAL);
		raw_provider_end(&p);
	}
	EXPECT(serial[0] && serial[1] > serial[0]);
	raw_nl_close(&nl);
}

/* Bytes of the session's and providers' kernel objects, control areas and per-CPU counts */
static long long held(void)
{
	return group_bytes("\nslab_unreclaimable ") + group_bytes("\nvmalloc ") +
	       group_bytes("\npercpu ");
}

static void come_and_be_read(int fd, unsigned int n)
{
	struct told t = {};

	for (unsigned int i = 0; i < n; i++) {
		come_and_go(RECORDS);
		if (i % 64 == 63)
			read_all(fd, &t);
	}
	for (int i = 0; i < 20; i++) {
		usleep(50000);
		read_all(fd, &t);
	}
}

/* The environment variable ENDED_PROVIDERS is the number of providers; 2,000 by default. */
static void many_ended_providers_hold_no_memory(void)
{
	const unsigned int count = amount("ENDED_PROVIDERS", 2000);
	long long before, now;
	int id, fd;

	group_enter();
	id = begin_with(ASYNCTRACE_MODE_STREAMING, STRIDE, true);
	fd = consume(id, 0);
	come_and_be_read(fd, 100);
	before = held();
	come_and_be_read(fd, count);
	wait_ended(id, count + 100);
	now = held();
	/* Wait, because objects are freed in batches. */
	for (int i = 0; i < 300 && now - before > 1 << 20; i++) {
		usleep(100000);
		now = held();
	}
	printf("# %lld KiB after 100, %lld KiB more after %u\n", before >> 10,
	       (now - before) >> 10, count);
	EXPECT(now - before <= 1 << 20);
	close(fd);
	raw_nl_close(&nl);
	group_leave();
}

static const struct ktap_test tests[] = {
	KTAP_TEST(ended_providers_that_were_read_are_added_up),
	KTAP_TEST(ended_providers_with_scheduling_are_added_up),
	KTAP_TEST(silent_providers_are_not_kept),
	KTAP_TEST(unread_records_stay_to_be_read),
	KTAP_TEST(I1_sum_of_dropped_records_does_not_wrap),
	KTAP_TEST(overwritten_providers_are_added_up),
	KTAP_TEST(unread_providers_leave_room_on_the_account),
	KTAP_TEST(I1_many_ended_providers_cost_only_their_user),
	KTAP_TEST(snapshot_keeps_providers_that_end),
	KTAP_TEST(dump_reports_providers_ended_meanwhile),
	KTAP_TEST(serial_numbers_go_up),
	KTAP_TEST(many_ended_providers_hold_no_memory),
};

KTAP_MAIN(tests)
