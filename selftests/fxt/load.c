// SPDX-License-Identifier: GPL-2.0
/* Makes the records of a busy server with two processes */
#include <stdio.h>

#include "load.h"

#define LANES		4	/* threads of each process, which hand operations over */
#define OPERATION	50	/* events per operation; see operation() */
#define BLOCKS_EACH	4	/* one in this number of operations blocks */
#define CHUNK_WORDS	8192

enum { CATEGORY = 1, REQUEST, ACCEPT, PARSE, LOOKUP, ENCODE, STORE, CHECK, HIT, DEPTH,
       BYTES, PATH, TABLE };

static const char *const names[] = {
	"load", "request", "accept", "parse", "lookup", "encode", "store", "check",
	"cache hit", "queue depth", "bytes", "path", "pages",
};

/* Providers 1 and 2. The gateway takes operations, and the storage works for it. */
enum { GATEWAY, STORAGE, PROCESSES };

struct lane {
	uint64_t now;
	struct words events[PROCESSES], sched[PROCESSES];
};

static unsigned int cpu_of(int lane, int process)
{
	return process * LANES + lane;
}

static unsigned int tid_of(int lane, int process)
{
	return 4000 + 1000 * process + 1 + lane;
}

static void event(struct lane *l, int process, unsigned int type, int lane, unsigned int name,
		  uint64_t extra, unsigned int nargs)
{
	put_event(&l->events[process], &(struct event){
		type, l->now, 1 + lane, IDX(CATEGORY), IDX(name), extra, nargs,
		{ ARG_U64(IDX(BYTES), l->now & 0xffff), ARG_STR(IDX(PATH), IDX(TABLE)) },
	});
	l->now += 200;
}

/* Puts a duration that began @ns ago and ends now. A complete duration is written when it ends. */
static void duration(struct lane *l, int process, int lane, unsigned int name, uint64_t ns)
{
	put_event(&l->events[process], &(struct event){
		ASYNCTRACE_FXT_DURATION, l->now - ns, 1 + lane, IDX(CATEGORY), IDX(name), l->now, 1,
		{ ARG_U64(IDX(BYTES), ns) },
	});
	l->now += 200;
}

static void leaves(struct lane *l, int lane, uint64_t in, unsigned int state)
{
	unsigned int cpu = cpu_of(lane, GATEWAY);

	put_switch(&l->sched[GATEWAY], cpu, l->now, tid_of(lane, GATEWAY), in, state);
	l->now += 5000;
}

static void comes(struct lane *l, int lane, uint64_t out)
{
	unsigned int cpu = cpu_of(lane, GATEWAY);

	put_switch(&l->sched[GATEWAY], cpu, l->now, out, tid_of(lane, GATEWAY), 0);
	l->now += 100;
}

/* Writes 4 events: the operation and its flow begin. */
static void take(struct lane *l, int lane, uint64_t id)
{
	uint64_t begin = l->now;

	l->now += 100;
	event(l, GATEWAY, ASYNCTRACE_FXT_ASYNC_BEGIN, lane, REQUEST, id, 2);
	event(l, GATEWAY, ASYNCTRACE_FXT_COUNTER, lane, DEPTH, lane, 1);
	event(l, GATEWAY, ASYNCTRACE_FXT_FLOW_BEGIN, lane, REQUEST, id, 0);
	duration(l, GATEWAY, lane, ACCEPT, l->now - begin);
}

/* Writes @nr + @nr / 2 events. */
static void work(struct lane *l, int process, int lane, int nr)
{
	for (int i = 0; i < nr; i++) {
		l->now += 200 + rnd_below(600);
		duration(l, process, lane, LOOKUP, 150);
		if (i % 2)
			event(l, process, ASYNCTRACE_FXT_INSTANT, lane, HIT, 0, 2);
	}
}

/* Writes 20 events. */
static void serve(struct lane *l, int lane, uint64_t id)
{
	event(l, STORAGE, ASYNCTRACE_FXT_DURATION_BEGIN, lane, STORE, 0, 1);
	event(l, STORAGE, ASYNCTRACE_FXT_FLOW_STEP, lane, REQUEST, id, 0);
	event(l, STORAGE, ASYNCTRACE_FXT_COUNTER, lane, DEPTH, lane, 1);
	for (int i = 0; i < 4; i++) {
		const uint64_t begin = l->now;

		work(l, STORAGE, lane, 2);
		duration(l, STORAGE, lane, CHECK, l->now - begin);
	}
	event(l, STORAGE, ASYNCTRACE_FXT_DURATION_END, lane, STORE, 0, 0);
}

/* Writes 12 events. @waits: meanwhile the other thread serves, and wakes this one. */
static void parse(struct lane *l, int lane, uint64_t id, bool waits)
{
	event(l, GATEWAY, ASYNCTRACE_FXT_DURATION_BEGIN, lane, PARSE, 0, 1);
	event(l, GATEWAY, ASYNCTRACE_FXT_FLOW_STEP, lane, REQUEST, id, 0);
	work(l, GATEWAY, lane, 6);
	if (waits) {
		leaves(l, lane, 0, ASYNCTRACE_FXT_STATE_BLOCKED);
		serve(l, lane, id);
		put_wakeup(&l->sched[GATEWAY], cpu_of(lane, GATEWAY), l->now,
			   tid_of(lane, GATEWAY), tid_of(lane, STORAGE));
		l->now += 3000;
		comes(l, lane, 0);
	} else if (id / LANES % 2) {
		leaves(l, lane, 50 + lane, 0);
		comes(l, lane, 50 + lane);
	}
	event(l, GATEWAY, ASYNCTRACE_FXT_DURATION_END, lane, PARSE, 0, 0);
}

/* Writes 14 events: the operation ends. */
static void answer(struct lane *l, int lane, uint64_t id)
{
	uint64_t begin = l->now;

	event(l, GATEWAY, ASYNCTRACE_FXT_ASYNC_INSTANT, lane, CHECK, id, 1);
	event(l, GATEWAY, ASYNCTRACE_FXT_FLOW_END, lane, REQUEST, id, 0);
	work(l, GATEWAY, lane, 6);
	event(l, GATEWAY, ASYNCTRACE_FXT_COUNTER, lane, BYTES, lane, 1);
	event(l, GATEWAY, ASYNCTRACE_FXT_ASYNC_END, lane, REQUEST, id, 1);
	duration(l, GATEWAY, lane, ENCODE, l->now - begin);
}

static void operation(struct lane *l, int lane, uint64_t nr)
{
	const uint64_t id = 77ULL << 44 | nr;
	const bool waits = nr / LANES % BLOCKS_EACH == 0;

	take(l, lane, id);
	parse(l, lane, id, waits);
	if (!waits)
		serve(l, lane, id);
	answer(l, lane, id);
}

static void introduce(struct stream *s)
{
	static const char *const processes[] = { "gateway", "storage" };
	struct words b = { 0 };

	give_clock(s, ASYNCTRACE_MOMENT_START);
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		put_string(&b, i + 1, names[i], strlen(names[i]));
	for (int p = 0; p < PROCESSES; p++) {
		int32_t pid = 4000 + 1000 * p;

		give_provider(s, p + 1, pid, 77 + p, processes[p]);
		give_strings(s, p + 1, &b);
		for (int lane = 0; lane < LANES; lane++) {
			give_thread(s, p + 1, 1 + lane, pid, tid_of(lane, p), processes[p]);
			give_name(s, pid, tid_of(lane, p), processes[p]);
		}
	}
	for (int lane = 0; lane < LANES; lane++)
		give_name(s, 50 + lane, 50 + lane, "backup");
	words_free(&b);
}

/* Gives the rings one after the other, as a recorder reads them. */
static void give_lanes(struct stream *s, struct lane *lanes)
{
	for (int i = 0; i < LANES; i++)
		if (lanes[i].now > s->ticks)
			s->ticks = lanes[i].now;
	for (int i = 0; i < LANES; i++) {
		lanes[i].now = s->ticks;
		for (int p = 0; p < PROCESSES; p++) {
			if (lanes[i].sched[p].nr)
				give_sched(s, cpu_of(i, p), &lanes[i].sched[p]);
			if (lanes[i].events[p].nr)
				give_events(s, p + 1, cpu_of(i, p), &lanes[i].events[p]);
		}
	}
}

void load(struct stream *s, uint64_t events)
{
	struct lane lanes[LANES] = { 0 };
	const uint64_t nr = events / OPERATION;

	rnd_seed(1);
	introduce(s);
	for (int i = 0; i < LANES; i++) {
		struct lane *l = &lanes[i];

		l->now = s->ticks + 1000;
		for (int p = 0; p < PROCESSES; p++)
			put_switch(&l->sched[p], cpu_of(i, p), l->now, 0, tid_of(i, p), 0);
		l->now += 1000;
	}
	for (uint64_t i = 0; i < nr; i++) {
		struct lane *l = &lanes[i % LANES];

		operation(l, i % LANES, i);
		l->now += rnd_below(2000);
		if (l->events[GATEWAY].nr >= CHUNK_WORDS || i + 1 == nr)
			give_lanes(s, lanes);
	}
	give_clock(s, ASYNCTRACE_MOMENT_STOP);
	for (int i = 0; i < LANES; i++) {
		for (int p = 0; p < PROCESSES; p++) {
			words_free(&lanes[i].events[p]);
			words_free(&lanes[i].sched[p]);
		}
	}
	printf("operations %llu\n", (unsigned long long)nr);
}
