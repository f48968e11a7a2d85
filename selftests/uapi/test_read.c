// SPDX-License-Identifier: GPL-2.0
/*
 * Reading a session: the right to do so, buffers, and providers that write false positions
 *
 * The providers are this process, so that the order of stores and reads is exact.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ktap.h"
#include "raw.h"

#define STRIDE	(64 * 1024)
#define BUFFER	((size_t)ASYNCTRACE_READ_MIN)

static struct raw_nl nl;
static int session, consumer;
static char *buffer;

static const struct asynctrace_chunk *chunk(void)
{
	return (const void *)buffer;
}

static ssize_t take(void)
{
	ssize_t n = read(consumer, buffer, BUFFER);

	return n < 0 ? -errno : n;
}

static void begin_with(uint32_t mode, const char *provider, uint64_t size)
{
	if (!buffer)
		buffer = malloc(BUFFER);
	NEED(buffer);
	NEED(!raw_nl_open(&nl));
	session = raw_session(&nl, "read", mode, ASYNCTRACE_SCHED_OFF, size, provider);
	NEED(session > 0);
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, session));
	consumer = open("/dev/" ASYNCTRACE_DEVICE, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	NEED(consumer >= 0);
	NEED(!raw_consume(consumer, session));
}

static void begin(uint32_t mode, const char *provider)
{
	begin_with(mode, provider, STRIDE);
}

static void start(void)
{
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, session));
}

static void stop(void)
{
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_STOP, session));
}

static void end(void)
{
	close(consumer);
	raw_nl_close(&nl);
}

static void descriptor_without_session_reads_nothing(void)
{
	int fd = raw_open();
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char byte;

	NEED(fd >= 0);
	EXPECT(read(fd, &byte, 1) < 0 && errno == ENXIO);
	EXPECT(write(fd, &byte, 1) < 0 && errno == EINVAL);
	EXPECT(poll(&p, 1, 0) == 1 && p.revents == POLLERR);
	close(fd);
}

static void consuming_is_checked(void)
{
	struct asynctrace_consume c = { .size = sizeof(c) };
	int fd = raw_open(), other = raw_open();

	NEED(fd >= 0 && other >= 0 && !raw_nl_open(&nl));
	session = raw_session(&nl, "read", ASYNCTRACE_MODE_ONESHOT, 0, STRIDE, "none");
	NEED(session > 0);
	c.session = session;
	c.size = sizeof(c) - 1;
	EXPECT_IS(raw_ioctl(fd, ASYNCTRACE_IOC_CONSUME, &c), -EINVAL);
	c.size = sizeof(c);
	c.flags = 1;
	EXPECT_IS(raw_ioctl(fd, ASYNCTRACE_IOC_CONSUME, &c), -EINVAL);
	c.flags = 0;
	c.reserved = 1;
	EXPECT_IS(raw_ioctl(fd, ASYNCTRACE_IOC_CONSUME, &c), -EINVAL);
	c.reserved = 0;
	EXPECT_IS(raw_consume(fd, session + 1000), -ENOENT);
	EXPECT_IS(raw_consume(fd, 0), -ENOENT);
	EXPECT_IS(raw_ioctl(fd, ASYNCTRACE_IOC_CONSUME, &c), 0);
	EXPECT_IS(raw_ioctl(fd, ASYNCTRACE_IOC_CONSUME, &c), -EBUSY);
	EXPECT_IS(raw_consume(other, session), -EBUSY);
	/* A consumer cannot become a provider, nor a provider a consumer. */
	EXPECT_IS(raw_register(fd, "x", STRIDE), -EBUSY);
	EXPECT(raw_register(other, "x", STRIDE) > 0);
	EXPECT_IS(raw_consume(other, session), -EBUSY);
	EXPECT(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED && errno == ENXIO);
	close(other);
	close(fd);
	raw_nl_close(&nl);
}

static int consume_as(void *arg)
{
	int fd = raw_open();

	(void)arg;
	return fd < 0 ? 1 : -raw_consume(fd, session);
}

static void another_user_may_not_consume(void)
{
	NEED(!raw_nl_open(&nl));
	session = raw_session(&nl, "read", ASYNCTRACE_MODE_ONESHOT, 0, STRIDE, "none");
	NEED(session > 0);
	/*
	 * A user who may not see the session gets the same answer as for one that does not exist.
	 */
	EXPECT_IS(raw_child(consume_as, NULL, 65534), ENOENT);
	EXPECT_IS(raw_child(consume_as, NULL, 0), 0);
	raw_nl_close(&nl);
}

static void buffers_are_checked(void)
{
	char *pages;

	begin(ASYNCTRACE_MODE_ONESHOT, "none");
	EXPECT(read(consumer, buffer, 0) < 0 && errno == EINVAL);
	EXPECT(read(consumer, buffer, BUFFER - 1) < 0 && errno == EINVAL);
	EXPECT(read(consumer, buffer, sizeof(struct asynctrace_chunk)) < 0 && errno == EINVAL);
	start();
	/* Read the first chunk, which has clock pairs, into unmapped memory. */
	EXPECT(syscall(SYS_read, consumer, 8, BUFFER) < 0 && errno == EFAULT);
	stop();
	/* Read the next chunk into memory of which only half is mapped. */
	pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(pages != MAP_FAILED && !munmap(pages + 4096, 4096));
	EXPECT(read(consumer, pages + 4096 - 8, BUFFER) < 0 && errno == EFAULT);
	end();
}

static void read_and_poll_agree(void)
{
	struct pollfd p;

	begin(ASYNCTRACE_MODE_ONESHOT, "none");
	p = (struct pollfd){ .fd = consumer, .events = POLLIN };
	/* Before the start, read(2) returns 0, because there is nothing to read. */
	EXPECT_IS(take(), 0);
	start();
	while (take() > 0)
		;
	EXPECT_IS(take(), -EAGAIN);
	EXPECT_IS(poll(&p, 1, 0), 0);
	stop();
	EXPECT_IS(poll(&p, 1, 240000), 1);
	EXPECT_IS(p.revents, POLLIN);
	EXPECT(take() > 0);
	EXPECT_IS(chunk()->kind, ASYNCTRACE_CHUNK_CLOCK);
	EXPECT_IS(take(), 0);
	EXPECT_IS(take(), 0);
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, session), 0);
	EXPECT_IS(poll(&p, 1, 240000), 1);
	EXPECT(p.revents & POLLHUP);
	EXPECT_IS(take(), 0);
	end();
}

static void *second_thread(void *arg)
{
	raw_ioctl(*(int *)arg, ASYNCTRACE_IOC_THREAD, NULL);
	return NULL;
}

/* Makes a change that the reader must report, as a fast provider can between two reads. */
static void make_news(struct raw_provider *p)
{
	volatile uint64_t *durable = (void *)(p->rw + p->control->durable);
	pthread_t thread;

	for (uint32_t i = 0; i <= p->control->nr_rings; i++) {
		raw_header(p, i)->position = 4;
		raw_header(p, i)->dropped++;
	}
	durable[8 + (uint32_t)durable[0]] = ASYNCTRACE_FXT_STRING_HEAD(1, 0);
	durable[0]++;
	if (!pthread_create(&thread, NULL, second_thread, &p->fd))
		pthread_join(thread, NULL);
}

static void I18_busy_provider_does_not_starve_others(void)
{
	struct raw_provider loud, quiet;
	unsigned int reads, found = 0;

	NEED(!raw_provider(&loud, "news loud", STRIDE));
	NEED(!raw_provider(&quiet, "news quiet", STRIDE));
	begin(ASYNCTRACE_MODE_STREAMING, "news*");
	start();
	NEED(quiet.control->gate > 1);
	raw_write(&quiet, 0, 10);
	make_news(&loud);
	for (reads = 0; reads < 60 && found < 10 && take() > 0; reads++) {
		if (chunk()->kind == ASYNCTRACE_CHUNK_EVENTS &&
		    chunk()->provider == (uint32_t)quiet.id)
			found += chunk()->records;
		make_news(&loud);
	}
	EXPECT_IS(found, 10);
	stop();
	/* After the stop, the reader gets to the end, although the provider goes on. */
	for (reads = 0; reads < 60 && take() > 0; reads++)
		make_news(&loud);
	EXPECT(reads < 60);
	end();
	raw_provider_end(&loud);
	raw_provider_end(&quiet);
}

/*
 * A provider may join at any moment of a read. The reader must get the provider first, and then all
 * of its threads, names and records.
 */
static void new_provider_is_announced_before_its_data(void)
{
	struct raw_provider first, second;
	unsigned int reads, at;

	for (at = 0; at < 12; at++) {
		bool known = false;
		unsigned int threads = 0, names = 0, records = 0;

		NEED(!raw_provider(&first, "join first", STRIDE));
		begin(ASYNCTRACE_MODE_STREAMING, "join*");
		start();
		raw_write(&first, 0, 10);
		raw_write(&first, 1, 10);
		for (reads = 0; reads < at; reads++)
			take();
		NEED(!raw_provider(&second, "join second", STRIDE));
		NEED(second.control->gate > ASYNCTRACE_GATE_ATTACH);
		make_news(&second);
		raw_write(&second, 0, 10);
		for (reads = 0; reads < 60 && take() > 0; reads++) {
			if (chunk()->provider != (uint32_t)second.id)
				continue;
			known |= chunk()->kind == ASYNCTRACE_CHUNK_PROVIDER;
			EXPECT(known);
			threads += chunk()->kind == ASYNCTRACE_CHUNK_THREADS ? chunk()->records : 0;
			names += chunk()->kind == ASYNCTRACE_CHUNK_STRINGS;
			records += chunk()->kind == ASYNCTRACE_CHUNK_EVENTS && !chunk()->ring ?
				   chunk()->records : 0;
		}
		EXPECT_IS(threads, 2);
		EXPECT_IS(names, 1);
		EXPECT_IS(records, 10);
		stop();
		end();
		raw_provider_end(&first);
		raw_provider_end(&second);
	}
}

/* A ring cannot claim more records than its words have room for. */
static void I2_position_is_clamped_to_ring_words(void)
{
	static const uint64_t positions[] = {
		1, 3, 4, 5, 511, 512, 513, 8191, 8192, 8193, 1ULL << 32, (1ULL << 36) + 4,
		1ULL << 47, ASYNCTRACE_POS_MASK - 1, ASYNCTRACE_POS_MASK, 0xffffULL << 48,
		~0ULL, 7 | 0xffffULL << 48,
	};
	struct raw_ledger sum;
	struct raw_provider p;

	for (size_t i = 0; i < sizeof(positions) / sizeof(positions[0]); i++) {
		uint64_t records = 0, bytes = 0;
		unsigned int reads = 0;

		NEED(!raw_provider(&p, "liar", STRIDE));
		begin(i & 1 ? ASYNCTRACE_MODE_CIRCULAR : ASYNCTRACE_MODE_ONESHOT, "liar");
		start();
		for (uint32_t r = 0; r <= p.control->nr_rings; r++)
			raw_header(&p, r)->position = positions[i];
		stop();
		for (; reads < 1000 && take() > 0; reads++) {
			if (chunk()->kind != ASYNCTRACE_CHUNK_EVENTS)
				continue;
			records += chunk()->records;
			bytes += chunk()->bytes;
		}
		EXPECT(reads < 1000);
		/* Three rings, with two words or more per record */
		EXPECT(bytes <= 3 * STRIDE && records <= 3 * STRIDE / 16);
		EXPECT_IS(raw_ledger(&nl, session, p.id, &sum), 0);
		if (sum.delivered != records)
			ktap_fail("position %#llx: %llu records in chunks, delivered %llu",
				  (unsigned long long)positions[i], (unsigned long long)records,
				  (unsigned long long)sum.delivered);
		end();
		raw_provider_end(&p);
	}
}

/* Reads everything. Returns the number of providers' records. */
static uint64_t take_all(void)
{
	uint64_t records = 0;

	for (unsigned int reads = 0; reads < 1000 && take() > 0; reads++)
		if (chunk()->kind == ASYNCTRACE_CHUNK_EVENTS)
			records += chunk()->records;
	return records;
}

/* Returns a ring size with which a session has memory for one provider's rings, not for two. */
static uint64_t half_of_the_memory(void)
{
	uint64_t size = ASYNCTRACE_RING_MIN, limit, rings;

	raw_nl_begin(&nl, ASYNCTRACE_CMD_INFO_GET, 0);
	NEED(!raw_nl_ask(&nl));
	limit = raw_nl_u64(&nl, ASYNCTRACE_A_INFO_MEMORY_LIMIT);
	rings = raw_nl_u32(&nl, ASYNCTRACE_A_INFO_ONLINE_CPUS) + 1;
	while (2 * size * rings <= limit)
		size *= 2;
	return size;
}

/*
 * A provider claims ten records, the reader reads them, and then the provider claims none. The
 * count of ten must stay, even if the provider has ended and another one needs the memory of its
 * rings.
 */
static void ledger_of_a_liar_keeps_what_was_read(void)
{
	struct raw_provider liar, other;
	struct raw_ledger sum;
	uint64_t size;

	NEED(!raw_nl_open(&nl));
	size = half_of_the_memory();
	raw_nl_close(&nl);
	NEED(!raw_provider(&liar, "liar", size));
	begin_with(ASYNCTRACE_MODE_CIRCULAR, "*", size);
	start();
	raw_write(&liar, 0, 10);
	EXPECT_IS(take_all(), 10);
	*raw_ring(&liar, 0) = 0;
	EXPECT_IS(raw_ledger(&nl, session, liar.id, &sum), 0);
	EXPECT_IS(sum.delivered, 10);
	EXPECT_IS(sum.committed, 10);
	EXPECT_IS(sum.overwritten, 0);

	close(consumer);
	raw_provider_end(&liar);
	NEED(!raw_provider(&other, "other", size));
	NEED(other.control->gate > ASYNCTRACE_GATE_ATTACH);
	/* The provider has ended, and all records that it claimed were read. */
	EXPECT_IS(raw_ended(&nl, session, &sum), 0);
	EXPECT_IS(sum.delivered, 10);
	EXPECT_IS(sum.committed, 10);
	EXPECT_IS(sum.overwritten, 0);
	raw_nl_close(&nl);
	raw_provider_end(&other);
}

/* A consumer that still reads an ended session does not change limits of other sessions. */
static void ended_session_frees_no_room_in_the_next(void)
{
	struct raw_provider p;
	uint64_t before;
	struct raw_nl next;
	const volatile uint64_t *limits;
	int id;

	NEED(!raw_provider(&p, "two sessions", STRIDE));
	begin(ASYNCTRACE_MODE_STREAMING, "two sessions");
	start();
	raw_write(&p, 0, 10);
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, session), 0);

	NEED(!raw_nl_open(&next));
	id = raw_session(&next, "next", ASYNCTRACE_MODE_ONESHOT, 0, STRIDE / 4, "two sessions");
	NEED(id > 0);
	NEED(!raw_session_do(&next, ASYNCTRACE_CMD_SESSION_INIT, id));
	NEED(!raw_session_do(&next, ASYNCTRACE_CMD_SESSION_START, id));
	NEED(p.control->gate > 1);
	limits = (const void *)((const char *)p.control + p.control->limits);
	before = limits[0];
	EXPECT_IS(before, STRIDE / 4 / 8);
	while (take() > 0)
		;
	EXPECT_IS(limits[0], before);
	raw_nl_close(&next);
	end();
	raw_provider_end(&p);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(descriptor_without_session_reads_nothing),
	KTAP_TEST(consuming_is_checked),
	KTAP_TEST(another_user_may_not_consume),
	KTAP_TEST(buffers_are_checked),
	KTAP_TEST(read_and_poll_agree),
	KTAP_TEST(I18_busy_provider_does_not_starve_others),
	KTAP_TEST(new_provider_is_announced_before_its_data),
	KTAP_TEST(I2_position_is_clamped_to_ring_words),
	KTAP_TEST(ledger_of_a_liar_keeps_what_was_read),
	KTAP_TEST(ended_session_frees_no_room_in_the_next),
};

KTAP_MAIN(tests)
