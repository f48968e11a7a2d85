// SPDX-License-Identifier: GPL-2.0
/*
 * Uses of the device in each state that matters, with each allocation failing once: ioctls,
 * mappings, first touches of pages, reads, closing
 *
 * test_failnth_control.c tests registration and announcements.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "notifications.h"
#include "failnth.h"
#include "fixture.h"
#include "ktap.h"

#define RECORDS	5

static void *mapped;
static size_t mapped_size;
static char buffer[ASYNCTRACE_READ_MIN];

/* --- preparations, in addition to those of the fixture ------------------------- */

static void unmap_and_clean(void)
{
	if (mapped)
		munmap(mapped, mapped_size);
	mapped = NULL;
	clean();
}

/* Maps the control page, in which the tests find the areas to map. */
static void mapped_control(void)
{
	registered();
	mapped_size = 4096;
	mapped = mmap(NULL, mapped_size, PROT_READ, MAP_SHARED, fd, 0);
	NEED(mapped != MAP_FAILED);
}

static void started_and_told(void)
{
	started();
	NEED(!notification_subscribe(&nl, ASYNCTRACE_NOTIFICATION_KINDS_ALERT, 0));
}

/* Touch another page of the area first, so that the tested operation allocates no page tables. */
static void started_and_touched(void)
{
	started_as(ASYNCTRACE_MODE_CIRCULAR);
	raw_ring(&p, 0)[STRIDE / 8 - 1] = 1;
}

/* Start the session first: only then does the control page say where the rings are. */
static void stopped(void)
{
	started();
	NEED(!raw_session_do(&ctl, ASYNCTRACE_CMD_SESSION_STOP, session));
}

static void durable_touched(void)
{
	started();
	*(volatile char *)(p.rw + p.control->durable + ASYNCTRACE_DURABLE_SIZE - 1) = 1;
}

static void open_consumer(void)
{
	fd = raw_open();
	NEED(fd >= 0);
	fcntl(fd, F_SETFL, O_NONBLOCK);
}

/* Records, names, and scheduling of a thread that sleeps */
static void recorded_as(uint32_t mode)
{
	started_as(mode);
	for (int i = 0; i < RECORDS; i++)
		usleep(1);
	raw_write(&p, 0, RECORDS);
	put_name();
	NEED(!raw_session_do(&ctl, ASYNCTRACE_CMD_SESSION_STOP, session));
	open_consumer();
}

static void recorded(void)
{
	recorded_as(ASYNCTRACE_MODE_ONESHOT);
}

static void recorded_circular(void)
{
	recorded_as(ASYNCTRACE_MODE_CIRCULAR);
}

/* Another reader has read four chunks of the session and closed its descriptor. */
static void recorded_and_read(void)
{
	int first = raw_open();

	recorded();
	NEED(first >= 0 && !raw_consume(first, session));
	for (int i = 0; i < 4; i++)
		NEED(read(first, buffer, sizeof(buffer)) > 0);
	close(first);
}

static void consumed(void)
{
	recorded();
	NEED(!raw_consume(fd, session));
}

static int snapshot(void)
{
	struct asynctrace_consume c = {
		.size = sizeof(c), .session = session, .flags = ASYNCTRACE_CONSUME_F_SNAPSHOT,
	};

	return raw_ioctl(fd, ASYNCTRACE_IOC_CONSUME, &c);
}

static void consumed_streaming(void)
{
	recorded_as(ASYNCTRACE_MODE_STREAMING);
	NEED(!raw_consume(fd, session));
}

static void consumed_circular(void)
{
	recorded_circular();
	NEED(!raw_consume(fd, session));
}

static void consumed_while_it_runs(void)
{
	started_as(ASYNCTRACE_MODE_CIRCULAR);
	open_consumer();
	NEED(!raw_consume(fd, session));
}

static void snapshotted(void)
{
	recorded_circular();
	NEED(!snapshot());
}

/* --- operations ----------------------------------------------------------------------- */

static int do_open(void)
{
	fd = raw_open();
	return fd;
}

static int do_hello(void)
{
	uint64_t cookie = 0;
	int err = raw_hello(fd, &cookie);

	return err ? err : !cookie ? -EPROTO : 0;
}

/* The result of do_thread(), and how often a thread got no cell */
static struct asynctrace_slot slot;
static unsigned int without_cell;

static int do_thread(void)
{
	slot = (struct asynctrace_slot){ .size = sizeof(slot) };
	return raw_ioctl(fd, ASYNCTRACE_IOC_THREAD, &slot);
}

/*
 * If a thread got no cell for lack of memory, the provider counts it, and the thread gets a cell
 * when it asks again.
 */
static void cell_or_counted(bool refused)
{
	const bool missing = !slot.cell;

	EXPECT(refused || !missing);
	without_cell += missing;
	raw_nl_begin(&ctl, ASYNCTRACE_CMD_PROVIDER_GET, NLM_F_DUMP);
	EXPECT_IS(raw_nl_ask(&ctl), 0);
	EXPECT_IS(ctl.replies, 1);
	EXPECT_IS(raw_nl_u32(&ctl, ASYNCTRACE_A_PROVIDER_CELLS_MISSING), missing);
	EXPECT(do_thread() > 0);
	EXPECT(slot.cell > 0);
	EXPECT_IS(raw_ioctl(fd, ASYNCTRACE_IOC_THREAD, NULL), slot.slot);
}

static int do_consume(void)
{
	return raw_consume(fd, session);
}

static int map(size_t size, int prot, off_t at)
{
	mapped_size = size;
	mapped = mmap(NULL, size, prot, MAP_SHARED, fd, at);
	if (mapped != MAP_FAILED)
		return 0;
	mapped = NULL;
	return -errno;
}

static int map_control(void)
{
	return map(4096, PROT_READ, 0);
}

/* Offset and size of the read-write area, read from the control page through another mapping */
static uint64_t rw_offset, rw_size;

static void registered_and_measured(void)
{
	const struct asynctrace_control *c;

	mapped_control();
	c = mapped;
	rw_offset = c->rw_offset;
	rw_size = c->rw_size;
	munmap(mapped, mapped_size);
	mapped = NULL;
}

static int map_rw(void)
{
	return map(rw_size, PROT_READ | PROT_WRITE, rw_offset);
}

static int do_alert(void)
{
	struct asynctrace_alert a = { .size = sizeof(a), .name = "fail" };

	return raw_ioctl(p.fd, ASYNCTRACE_IOC_ALERT, &a);
}

/* The alert was delivered, or the next one reports that one was lost. */
static void told_or_counted(bool refused)
{
	(void)refused;
	EXPECT_IS(do_alert(), 0);
	EXPECT_IS(events_told(&nl), 2);
}

static int observe(void)
{
	struct asynctrace_observed o;

	return read(p.fd, &o, sizeof(o)) == sizeof(o) ? 0 : -errno;
}

static int wait_for_news(void)
{
	struct pollfd fds = { p.fd, POLLIN, 0 };

	return poll(&fds, 1, 0) < 0 ? -errno : 0;
}

static int wait_for_records(void)
{
	struct pollfd fds = { fd, POLLIN, 0 };

	return poll(&fds, 1, 0) < 0 ? -errno : 0;
}

static int touch_control(void)
{
	return *(volatile uint32_t *)mapped == ~0u ? -EIO : 0;
}

static int touch_header(void)
{
	raw_header(&p, 0)->dropped = 0;
	return 0;
}

static int touch_ring(void)
{
	raw_ring(&p, 0)[0] = 1;
	return 0;
}

static int touch_fallback(void)
{
	raw_ring(&p, p.control->nr_rings)[0] = 1;
	return 0;
}

static int touch_durable(void)
{
	*(volatile char *)(p.rw + p.control->durable + 4096) = 1;
	return 0;
}

static uint64_t limit(uint32_t ring)
{
	const volatile uint64_t *limits = (const void *)((const char *)p.control +
							 p.control->limits);

	return limits[ring];
}

/* A ring without memory takes no records, and its session reports that. */
static void refused_or_not(bool refused)
{
	bool closed = !limit(0) || !limit(p.control->nr_rings);

	EXPECT_IS(raw_session_do(&ctl, ASYNCTRACE_CMD_SESSION_GET, session), 0);
	EXPECT_IS(raw_nl_u64(&ctl, ASYNCTRACE_A_SESSION_REFUSED) != 0, closed);
	EXPECT(refused || !closed);
}

/* If there is no memory for a page of names, durable_words ends before the page. */
static void names_or_not(bool refused)
{
	volatile char *byte = (char *)(p.rw + p.control->durable + 4096);

	EXPECT_IS(*byte, 1);
	EXPECT(p.control->durable_words <= ASYNCTRACE_DURABLE_SIZE / 8);
	EXPECT_IS(p.control->durable_words > 4096 / 8, !refused);
}

static int close_provider(void)
{
	int was = p.fd;

	p.fd = -1;
	/* The mapping keeps the descriptor's file open. */
	munmap(p.rw, p.rw_size);
	munmap((void *)p.control, p.control->control_size);
	return close(was) ? -errno : 0;
}

static int close_consumer(void)
{
	int was = fd;

	fd = -1;
	return close(was) ? -errno : 0;
}

/* --- reading ---------------------------------------------------------------------- */

/* Each chunk begins where the previous chunk of the same ring ended. */
static struct {
	uint64_t records, sequence;
} got[ASYNCTRACE_CHUNK_SCHED + 1][8];
static unsigned int chunks;

static int read_one(void)
{
	ssize_t n = read(fd, buffer, sizeof(buffer));

	return n < 0 ? -errno : n;
}

static void tally(int n)
{
	const struct asynctrace_chunk *c = (const void *)buffer;

	NEED(n >= (int)sizeof(*c) && n == (int)(sizeof(*c) + c->bytes));
	NEED(c->kind < sizeof(got) / sizeof(got[0]) && c->ring < 8);
	chunks++;
	switch (c->kind) {
	case ASYNCTRACE_CHUNK_STRINGS:
		EXPECT_IS(c->sequence, got[c->kind][0].sequence);
		got[c->kind][0].sequence += c->bytes / 8;
		break;
	case ASYNCTRACE_CHUNK_THREADS:
	case ASYNCTRACE_CHUNK_PROVIDER:
		got[c->kind][0].records += c->records;
		break;
	case ASYNCTRACE_CHUNK_EVENTS:
	case ASYNCTRACE_CHUNK_SCHED:
	case ASYNCTRACE_CHUNK_NAMES:
		got[c->kind][c->ring].records += c->records;
		EXPECT_IS(c->delivered, got[c->kind][c->ring].records);
		EXPECT_IS(c->overwritten, 0);
		break;
	}
}

/* Each read(2) fails once for each allocation, is repeated, and loses nothing. */
static void read_every(const struct fail_op *op, struct raw_nl *by)
{
	bool injected = true;
	int n, ret, failed = 0;
	struct raw_ledger sum;

	fail_need();
	for (n = 1; injected && n < 100 && !ktap_failed(); n++) {
		op->prepare();
		memset(got, 0, sizeof(got));
		chunks = 0;
		injected = false;
		do {
			injected |= fail_one(n, read_one, &ret);
			failed += ret < 0;
			if (ret < 0 && !fail_clean(ret))
				ktap_fail("failure %d: %s", n, strerror(-ret));
			if (ret < 0)
				ret = read_one();
			NEED(ret >= 0);
			if (ret)
				tally(ret);
		} while (ret);
		EXPECT_IS(got[ASYNCTRACE_CHUNK_EVENTS][0].records, RECORDS);
		EXPECT_IS(got[ASYNCTRACE_CHUNK_STRINGS][0].sequence, 2);
		EXPECT_IS(got[ASYNCTRACE_CHUNK_THREADS][0].records, 1);
		EXPECT(got[ASYNCTRACE_CHUNK_PROVIDER][0].records >= 1);
		EXPECT_IS(raw_ledger(by, session, p.id, &sum), 0);
		EXPECT_IS(sum.committed, RECORDS);
		op->clean();
	}
	printf("# %s: %d failures in each of %u reads, %d told\n", op->name, n - 2, chunks, failed);
	EXPECT(n > 2 && n < 100 && chunks > 4);
}

/* --- a child --------------------------------------------------------------------- */

/* Number of calls of touch_foreign(). Each call touches another page of the read-write area. */
static int touched;

static int touch_foreign(void)
{
	size_t pages = p.rw_size / 4096;

	*(volatile char *)(p.rw + (touched++ * 37 % pages) * 4096) = 1;
	return 0;
}

static int in_a_child(void *arg)
{
	bool injected = true;
	int n, ret;

	(void)arg;
	if (fail_again())
		return 1;
	for (n = 1; injected && n < 100; n++)
		injected = fail_one(n, touch_foreign, &ret);
	printf("# a child: %d failures\n", n - 2);
	return n <= 2 || n == 100 || p.control->gate != ASYNCTRACE_GATE_ATTACH;
}

static void child_every(const struct fail_op *op, struct raw_nl *by)
{
	struct raw_ledger sum;

	fail_need();
	op->prepare();
	EXPECT_IS(raw_child(in_a_child, NULL, -1), 0);
	/* The child's stores are not in its parent's rings. */
	EXPECT_IS(raw_ledger(by, session, p.id, &sum), 0);
	EXPECT_IS(sum.committed, 0);
	EXPECT_IS(sum.pages, 0);
	op->clean();
}

#define READS	0x100
#define CHILD	0x200

#define OP(what, before, act, ...) \
	{ .name = #what, .prepare = before, .run = act, .clean = unmap_and_clean, __VA_ARGS__ }

static const struct fail_op ops[] = {
	OP(open, nothing, do_open),
	OP(hello, opened, do_hello, .flags = FAIL_FREE),
	OP(thread, registered, do_thread, .flags = FAIL_QUIET, .check = cell_or_counted),
	OP(map_control, registered, map_control),
	OP(map_rw, registered_and_measured, map_rw),
	OP(consume, recorded, do_consume, .flags = FAIL_FREE),
	OP(consume_again, recorded_and_read, do_consume, .flags = FAIL_FREE),
	OP(consume_snapshot, recorded_circular, snapshot, .flags = FAIL_FREE),
	OP(alert, started_and_told, do_alert, .check = told_or_counted),
	OP(observe, started, observe, .flags = FAIL_FREE),
	OP(poll_provider, started, wait_for_news, .flags = FAIL_FREE),
	OP(poll_consumer, consumed, wait_for_records, .flags = FAIL_FREE),
	OP(touch_control, mapped_control, touch_control, .flags = FAIL_FREE),
	OP(touch_header, started, touch_header, .flags = FAIL_QUIET | FAIL_FREE,
	   .check = refused_or_not),
	OP(touch_ring, started_and_touched, touch_ring, .flags = FAIL_QUIET,
	   .check = refused_or_not),
	OP(touch_fallback, started, touch_fallback, .flags = FAIL_QUIET, .check = refused_or_not),
	OP(touch_while_none_records, stopped, touch_ring, .flags = FAIL_QUIET,
	   .check = refused_or_not),
	OP(touch_durable, durable_touched, touch_durable, .check = names_or_not),
	OP(provider_goes, started, close_provider, .flags = FAIL_FREE),
	OP(consumer_goes, consumed, close_consumer, .flags = FAIL_FREE),
	OP(snapshot_goes, snapshotted, close_consumer, .flags = FAIL_FREE),
	OP(read_while_it_runs, consumed_while_it_runs, read_one),
	OP(read_oneshot, consumed, read_one, .flags = READS),
	OP(read_streaming, consumed_streaming, read_one, .flags = READS),
	OP(read_circular, consumed_circular, read_one, .flags = READS),
	OP(read_snapshot, snapshotted, read_one, .flags = READS),
	OP(touch_in_a_child, started, touch_foreign, .flags = CHILD),
};

static void run(const struct fail_op *op)
{
	struct raw_nl *looking = be_nobody();

	/* Touch the buffer now, so that copying to it cannot fail. */
	memset(buffer, 0, sizeof(buffer));
	if (op->flags & READS)
		read_every(op, looking);
	else if (op->flags & CHILD)
		child_every(op, looking);
	else
		fail_every(op, looking);
	if (op->check == cell_or_counted)
		EXPECT(without_cell > 0);
}

int main(int argc, char **argv)
{
	return fail_run(ops, sizeof(ops) / sizeof(ops[0]), argc > 1 ? argv[1] : NULL, run);
}
