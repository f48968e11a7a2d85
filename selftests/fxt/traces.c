// SPDX-License-Identifier: GPL-2.0
/*
 * traces: traces for other readers to judge, made by the composer from chunks
 *
 *	traces server FILE REQUESTS	a server with requests, and its scheduling
 *	traces lossy FILE		the same with losses of all kinds
 *	traces rpc FILE CALLS		calls of a client, and a server that answers them
 *	traces nested FILE		durations that begin together, cut anywhere
 *	traces evil FILE		ends without begins; names with control characters
 *	traces twice FILE		several arguments with one name
 *	traces big FILE MEGABYTES	instants, as many as fit
 *	traces load FILE EVENTS		two processes of a busy server; see load.h
 *	traces tables FILE		what Perfetto's tests expect; see perfetto.h
 *
 * Prints "KEY VALUE" lines with what the file must contain.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "load.h"
#include "perfetto.h"

#define MS	1000000ULL


static void open_file(struct stream *s, const char *path)
{
	struct at_compose_options o = { .size = sizeof(o) };

	memset(s, 0, sizeof(*s));
	o.fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0644);
	s->fd = o.fd;
	s->c = o.fd < 0 ? NULL : at_compose_new(&o);
	if (!s->c) {
		perror(path);
		exit(1);
	}
	s->ticks = 1000 * MS;
}

static void finish(struct stream *s)
{
	const struct at_compose_stats *st;

	if (at_compose_finish(s->c)) {
		fprintf(stderr, "cannot finish\n");
		exit(1);
	}
	st = at_compose_stats(s->c);
	printf("events %llu\nswitches %llu\nwakeups %llu\ninferred %llu\noverlaps %llu\nlost %llu\nbytes %llu\n",
	       (unsigned long long)st->total.events, (unsigned long long)st->total.switches,
	       (unsigned long long)st->total.wakeups, (unsigned long long)st->inferred,
	       (unsigned long long)st->overlaps,
	       (unsigned long long)(st->total.dropped + st->total.overwritten +
				    st->total.malformed),
	       (unsigned long long)st->written);
	stream_close(s);
}

static void put(struct words *b, unsigned int type, uint64_t at, uint64_t slot, unsigned int name,
		uint64_t extra)
{
	put_event(b, &(struct event){ type, at, slot, IDX(1), IDX(name), extra, 1,
				      { ARG_U64(IDX(6), extra & 0xffff) } });
}

/*
 * Thread 1 on CPU 0 accepts, thread 2 on CPU 1 finishes; each sleeps in between. Chunks of events
 * and of scheduling come ring by ring.
 */
static void server(struct stream *s, int requests, bool lossy)
{
	static const char *const names[] = { "http", "request", "accept", "handle", "depth", "n" };
	struct words ev[2] = { { 0 } }, sched[2] = { { 0 } }, b = { 0 };
	uint64_t t;

	give_clock(s, ASYNCTRACE_MOMENT_START);
	give_provider(s, 1, 4000, 77, "server");
	give_thread(s, 1, 1, 4000, 4000, "acceptor");
	give_thread(s, 1, 2, 4000, 4001, "worker");
	give_name(s, 4000, 4000, "acceptor");
	give_name(s, 4000, 4001, "worker");
	give_name(s, 50, 50, "backup");
	for (unsigned int i = 0; i < 6; i++)
		put_string(&b, i + 1, names[i], strlen(names[i]));
	give_strings(s, 1, &b);
	t = s->ticks;
	for (int i = 1; i <= requests; i++) {
		uint64_t flow = 77ULL << 44 | i;

		t += MS;
		put_wakeup(&sched[0], 0, t, 4000, 0x7ffffffe);
		put_switch(&sched[0], 0, t + 5000, 0, 4000, 0);
		put(&ev[0], ASYNCTRACE_FXT_ASYNC_BEGIN, t + 10000, 1, 2, i);
		put(&ev[0], ASYNCTRACE_FXT_FLOW_BEGIN, t + 20000, 1, 2, flow);
		put_wakeup(&sched[1], 1, t + 30000, 4001, 4000);
		put(&ev[0], ASYNCTRACE_FXT_DURATION, t + 10000, 1, 3, t + 40000);
		put(&ev[0], ASYNCTRACE_FXT_COUNTER, t + 41000, 1, 5, 0);
		put_switch(&sched[0], 0, t + 50000, 4000, i % 3 ? 0 : 50, 3);
		if (i % 3 == 0)
			put_switch(&sched[0], 0, t + 300000, 50, 0, 0);
		put_switch(&sched[1], 1, t + 60000, 0, 4001, 0);
		put(&ev[1], ASYNCTRACE_FXT_ASYNC_INSTANT, t + 70000, 2, 4, i);
		put(&ev[1], ASYNCTRACE_FXT_FLOW_END, t + 80000, 2, 2, flow);
		put(&ev[1], ASYNCTRACE_FXT_ASYNC_END, t + 90000, 2, 2, i);
		put(&ev[1], ASYNCTRACE_FXT_DURATION, t + 65000, 2, 4, t + 95000);
		put_switch(&sched[1], 1, t + 99000, 4001, 0, 3);
		if (i % 40 && i != requests)
			continue;
		s->ticks = t + 500000;
		for (int cpu = 0; cpu < 2; cpu++) {
			if (lossy && rnd_chance(50))
				lose(s, 1, cpu, rnd_below(9), rnd_below(9));
			if (lossy && rnd_chance(50))
				lose(s, 0, cpu, rnd_below(9), rnd_below(9));
			if (lossy && i % 80 == 0) {
				ev[cpu].w[0] ^= 1;
				sched[cpu].nr -= 12;	/* the chunk's count is too high */
			}
			give_sched(s, cpu, &sched[cpu]);
			give_events(s, 1, cpu, &ev[cpu]);
		}
	}
	give_clock(s, ASYNCTRACE_MOMENT_STOP);
	for (int cpu = 0; cpu < 2; cpu++) {
		words_free(&ev[cpu]);
		words_free(&sched[cpu]);
	}
	words_free(&b);
	printf("requests %d\n", requests);
}

/* The id of an operation has the salt of its process above bit 44. */
#define OPERATION(salt, n)	((uint64_t)(salt) << 44 | (n))

static void put_part(struct words *b, unsigned int type, uint64_t at, const char *name,
		     uint64_t id, uint64_t parent)
{
	put_event(b, &(struct event){ type, at, 1, TXT("rpc"), TXT(name), id, 1,
				      { ARG_U64(TXT("parent"), parent) } });
}

/*
 * The server handles each call in an operation that is a child of the client's. A flow begins in
 * the client, has a step in the server and ends in the client.
 */
static void rpc(struct stream *s, int calls)
{
	struct words client = { 0 }, server = { 0 };

	give_clock(s, ASYNCTRACE_MOMENT_START);
	give_provider(s, 1, 4000, 77, "client");
	give_provider(s, 2, 5000, 88, "server");
	give_thread(s, 1, 1, 4000, 4000, "client");
	give_thread(s, 2, 1, 5000, 5000, "server");
	for (int i = 1; i <= calls; i++) {
		const uint64_t t = s->ticks, call = OPERATION(77, i), handle = OPERATION(88, i);

		put_part(&client, ASYNCTRACE_FXT_ASYNC_BEGIN, t, "call", call, 0);
		put_part(&client, ASYNCTRACE_FXT_FLOW_BEGIN, t + 2000, "message", call, 0);
		put_part(&client, ASYNCTRACE_FXT_DURATION, t + 1000, "send", t + 3000, 0);
		put_part(&server, ASYNCTRACE_FXT_ASYNC_BEGIN, t + 10000, "handle", handle, call);
		put_part(&server, ASYNCTRACE_FXT_FLOW_STEP, t + 12000, "message", call, 0);
		put_part(&server, ASYNCTRACE_FXT_DURATION, t + 11000, "answer", t + 13000, 0);
		put_part(&server, ASYNCTRACE_FXT_ASYNC_END, t + 14000, "handle", handle, 0);
		put_part(&client, ASYNCTRACE_FXT_FLOW_END, t + 22000, "message", call, 0);
		put_part(&client, ASYNCTRACE_FXT_DURATION, t + 21000, "receive", t + 23000, 0);
		put_part(&client, ASYNCTRACE_FXT_ASYNC_END, t + 24000, "call", call, 0);
		s->ticks += MS;
		give_events(s, 2, 0, &server);
		give_events(s, 1, 1, &client);
	}
	give_clock(s, ASYNCTRACE_MOMENT_STOP);
	words_free(&client);
	words_free(&server);
}

static void nest(struct words *b, uint64_t *t, uint64_t *count, int depth)
{
	uint64_t begin = *t;

	for (uint64_t n = depth ? rnd_below(4) : 0; n; n--)
		nest(b, t, count, depth - 1);
	*t += 41 * rnd_below(3);
	put(b, ASYNCTRACE_FXT_DURATION, begin, 1, 2, *t);
	++*count;
	*t += 41;
}

/* Parents and children begin in one tick of 24 MHz, and chunks end anywhere. */
static void nested(struct stream *s)
{
	static const char *const names[] = { "cat", "work", "", "", "", "n" };
	struct words all = { 0 }, b = { 0 };
	uint64_t count = 0, t = s->ticks + 1000, i = 0;

	give_clock(s, ASYNCTRACE_MOMENT_START);
	give_provider(s, 1, 4000, 77, "nested");
	give_thread(s, 1, 1, 4000, 4000, "main");
	for (unsigned int k = 0; k < 6; k++)
		put_string(&b, k + 1, names[k], strlen(names[k]));
	give_strings(s, 1, &b);
	b.nr = 0;
	while (count < 3000)
		nest(&all, &t, &count, 7);
	while (i < all.nr) {
		size_t words = all.w[i] >> 4 & 0xfff;

		memcpy(words_add(&b, words), all.w + i, words * 8);
		b.records++;
		i += words;
		s->ticks = b.w[b.nr - 1];
		if (rnd_chance(3) || i == all.nr)
			give_events(s, 1, 0, &b);
	}
	words_free(&all);
	words_free(&b);
	printf("durations %llu\n", (unsigned long long)count);
}

/* Writes only ends: the check prints a line with the name of each end without a begin. */
static void evil(struct stream *s)
{
	struct words b = { 0 };

	give_clock(s, ASYNCTRACE_MOMENT_START);
	give_provider(s, 1, 4000, 77, "evil");
	give_thread(s, 1, 1, 4000, 4000, "main");
	put_event(&b, &(struct event){ ASYNCTRACE_FXT_DURATION_END, s->ticks++, 1, TXT("cat"),
				       TXT("x\x1b]0;t\x07\ny: clean\"\\"), 0, 0, { } });
	put_event(&b, &(struct event){ ASYNCTRACE_FXT_ASYNC_END, s->ticks++, 1, TXT("cat"),
				       TXT("\xc2\x9b" "31m\xe2\x82\xac"), 5, 0, { } });
	give_events(s, 1, 0, &b);
	words_free(&b);
}

/* Writes arguments with inline names and with indices. Some names occur twice or three times. */
static void twice(struct stream *s)
{
	struct words b = { 0 };

	give_clock(s, ASYNCTRACE_MOMENT_START);
	give_provider(s, 1, 4000, 77, "twice");
	give_thread(s, 1, 1, 4000, 4000, "main");
	put_string(&b, 1, "n", 1);
	put_string(&b, 2, "text", 4);
	give_strings(s, 1, &b);
	b.nr = 0;
	put_event(&b, &(struct event){ ASYNCTRACE_FXT_INSTANT, s->ticks++, 1, TXT("c"), TXT("all"),
				       0, 6, {
		ARG_U64(IDX(1), 1), ARG_STR(IDX(2), TXT("a")), ARG_U64(TXT("n"), 2),
		ARG_U64(TXT("one"), 7), ARG_STR(TXT("text"), IDX(1)), ARG_I32(IDX(1), -3),
	} });
	put_event(&b, &(struct event){ ASYNCTRACE_FXT_INSTANT, s->ticks++, 1, TXT("c"), TXT("none"),
				       0, 3, {
		ARG_U64(TXT("n"), 1), ARG_U64(TXT("n\x01"), 2), ARG_U64(TXT("nn"), 3),
	} });
	give_events(s, 1, 0, &b);
	words_free(&b);
}

static void big(struct stream *s, uint64_t megabytes)
{
	struct words b = { 0 };
	uint64_t records = 0;

	give_clock(s, ASYNCTRACE_MOMENT_START);
	give_provider(s, 1, 4000, 77, "big");
	give_thread(s, 1, 1, 4000, 4000, "main");
	while (records * 8 * 5 < megabytes << 20) {
		for (int i = 0; i < 10000; i++, records++)
			put_event(&b, &(struct event){ 0, s->ticks++, 1, TXT("c"), TXT("n"), 0, 1,
				{ { ASYNCTRACE_FXT_ARG_INT32, IDX(0), i, { 0 } } } });
		give_events(s, 1, 0, &b);
	}
	words_free(&b);
}

int main(int argc, char **argv)
{
	struct stream s;

	if (argc < 3) {
		fprintf(stderr, "usage: traces server|lossy|rpc|nested|evil|twice|big|load|tables FILE [N]\n");
		return 2;
	}
	test_random_init();
	open_file(&s, argv[2]);
	if (!strcmp(argv[1], "server") || !strcmp(argv[1], "lossy"))
		server(&s, argc > 3 ? atoi(argv[3]) : 1000, argv[1][0] == 'l');
	else if (!strcmp(argv[1], "rpc") && argc > 3)
		rpc(&s, atoi(argv[3]));
	else if (!strcmp(argv[1], "nested"))
		nested(&s);
	else if (!strcmp(argv[1], "evil"))
		evil(&s);
	else if (!strcmp(argv[1], "twice"))
		twice(&s);
	else if (!strcmp(argv[1], "big") && argc > 3)
		big(&s, strtoull(argv[3], NULL, 0));
	else if (!strcmp(argv[1], "load") && argc > 3)
		load(&s, strtoull(argv[3], NULL, 0));
	else if (!strcmp(argv[1], "tables"))
		tables(&s);
	else
		return 2;
	finish(&s);
	return 0;
}
