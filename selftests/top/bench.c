// SPDX-License-Identifier: GPL-2.0
/*
 * Measures how many records a CPU analyses per second of its time, from chunks to numbers: the
 * composer, the reader and the engine, settled twice per second of the trace. Each operation has
 * eight events, four switches and two wakeups.
 *
 * usage: bench [OPERATIONS_PER_SECOND [SECONDS]]
 */
#include <stdio.h>
#include <time.h>

#include "../fxt/stream.h"
#include "top/live.h"

#define S	1000000000ull
/* Number of times per second that rings are read */
#define ROUNDS	20

struct bench {
	struct stream s;
	struct live live;
	struct words events[2], sched[2];
	uint64_t records;
};

static ssize_t take_words(void *arg, const void *buf, size_t len)
{
	assert_int_equal(live_push(arg, buf, len / 8), 0);
	return len;
}

static void put(struct bench *b, int cpu, unsigned int type, uint64_t ns, unsigned int name,
		uint64_t extra)
{
	put_event(&b->events[cpu], &(struct event){ type, ns, cpu + 1, IDX(1), IDX(name), extra, 1,
						   { ARG_U64(IDX(4), extra & 0xffff) } });
	b->records++;
}

/* Puts an operation that thread 1 begins on CPU 0 and thread 2 ends on CPU 1. */
static void put_operation(struct bench *b, uint64_t t, uint64_t u, uint64_t id)
{
	put_wakeup(&b->sched[0], 0, t, 4000, 0x7ffffffe);
	put_switch(&b->sched[0], 0, t + u, 0, 4000, 0);
	put(b, 0, ASYNCTRACE_FXT_ASYNC_BEGIN, t + 2 * u, 2, id);
	put(b, 0, ASYNCTRACE_FXT_FLOW_BEGIN, t + 3 * u, 2, id);
	put(b, 0, ASYNCTRACE_FXT_DURATION, t + 2 * u, 3, t + 4 * u);
	put(b, 0, ASYNCTRACE_FXT_COUNTER, t + 5 * u, 3, 0);
	put_switch(&b->sched[0], 0, t + 6 * u, 4000, 0, 3);
	put_wakeup(&b->sched[1], 1, t + 4 * u, 4001, 4000);
	put_switch(&b->sched[1], 1, t + 7 * u, 0, 4001, 0);
	put(b, 1, ASYNCTRACE_FXT_ASYNC_INSTANT, t + 8 * u, 3, id);
	put(b, 1, ASYNCTRACE_FXT_FLOW_END, t + 9 * u, 2, id);
	put(b, 1, ASYNCTRACE_FXT_ASYNC_END, t + 10 * u, 2, id);
	put(b, 1, ASYNCTRACE_FXT_DURATION, t + 7 * u, 3, t + 11 * u);
	put_switch(&b->sched[1], 1, t + 12 * u, 4001, 0, 3);
	b->records += 6;
}

static void begin(struct bench *b)
{
	static const char *const names[] = { "http", "request", "handle", "n" };
	struct at_compose_options o = { .size = sizeof(o), .write = take_words, .arg = &b->live };
	struct words w = { 0 };

	b->live.memory = LIVE_MEMORY;
	assert_int_equal(live_open(&b->live), 0);
	b->s.c = at_compose_new(&o);
	b->s.ticks = S;
	give_clock(&b->s, ASYNCTRACE_MOMENT_START);
	give_provider(&b->s, 1, 4000, 77, "server");
	give_thread(&b->s, 1, 1, 4000, 4000, "acceptor");
	give_thread(&b->s, 1, 2, 4000, 4001, "worker");
	for (unsigned int i = 0; i < 4; i++)
		put_string(&w, i + 1, names[i], strlen(names[i]));
	give_strings(&b->s, 1, &w);
	words_free(&w);
}

/* Returns the CPU time for reading and analysing the chunks of a round. */
static double take(struct bench *b, uint64_t now)
{
	const clock_t before = clock();

	b->s.ticks = now;
	for (int cpu = 0; cpu < 2; cpu++) {
		give_sched(&b->s, cpu, &b->sched[cpu]);
		give_events(&b->s, 1, cpu, &b->events[cpu]);
	}
	assert_int_equal(at_compose_flush(b->s.c), 0);
	live_read_until(&b->live, now, now);
	if (now / (S / ROUNDS) % (ROUNDS / 2) == 0)
		assert_int_equal(live_settle(&b->live, now), 0);
	return (double)(clock() - before) / CLOCKS_PER_SEC;
}

int main(int argc, char **argv)
{
	const uint64_t rate = argc > 1 ? strtoull(argv[1], NULL, 10) : 150000;
	const uint64_t seconds = argc > 2 ? strtoull(argv[2], NULL, 10) : 5;
	const uint64_t each = S / rate;
	struct bench b = { 0 };
	double cpu = 0;
	uint64_t id = 0;

	begin(&b);
	for (uint64_t round = 0; round < seconds * ROUNDS; round++) {
		const uint64_t from = S + round * (S / ROUNDS);

		for (uint64_t t = from; t + each <= from + S / ROUNDS; t += each)
			put_operation(&b, t, each / 16, ++id);
		cpu += take(&b, from + S / ROUNDS);
	}
	assert_int_equal(at_compose_finish(b.s.c), 0);
	assert_int_equal(live_end(&b.live), 0);
	assert_int_equal(b.live.tally.of[0]->all.latencies.nr, id);
	printf("%llu records of %llu operations in %.2f s of CPU time: %.2f million/s; late: %llu\n",
	       (unsigned long long)b.records, (unsigned long long)id, cpu, b.records / cpu / 1e6,
	       (unsigned long long)live_late(&b.live));
	return 0;
}
