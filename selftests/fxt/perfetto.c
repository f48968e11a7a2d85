// SPDX-License-Identifier: GPL-2.0
/* Makes the records of the tables of Perfetto's tests, whose traces this project does not have */
#include <stdio.h>

#include "perfetto.h"

#define SECOND	1000000000ULL
#define IDLE	INT32_MIN	/* weight of the idle task */
#define CPUS	4
#define LEN(a)	(sizeof(a) / sizeof((a)[0]))

/* States of a thread that leaves a CPU */
enum { READY = 0, BLOCKED = 3 };

/* Providers and their processes; each has one thread, except TYPES */
enum { FLOW = 1, SMOKE, WORKSTATION, TYPES, ARGS, KEYS, MOMENTS, PATH, PROVIDERS };

#define PID(provider)	(5000 + 100 * (provider))

static struct words events;

/* Puts an event of thread @slot of a provider, and moves the time of @s on. */
static void put(struct stream *s, unsigned int type, uint64_t slot, const char *name,
		uint64_t extra)
{
	put_event(&events, &(struct event){ type, s->ticks, slot, TXT("cat"), TXT(name), extra, 0,
					    { } });
	s->ticks += 100;
}

static void duration_begins(struct stream *s, uint64_t slot)
{
	put(s, ASYNCTRACE_FXT_DURATION_BEGIN, slot, "work", 0);
}

static void duration_ends(struct stream *s, uint64_t slot)
{
	put(s, ASYNCTRACE_FXT_DURATION_END, slot, "work", 0);
}

/* --- events -------------------------------------------------------------------------------- */

static void flows(struct stream *s)
{
	for (unsigned int i = 0; i < 10; i++) {
		duration_begins(s, 1);
		put(s, ASYNCTRACE_FXT_FLOW_BEGIN, 1, "flow", i + 1);
		duration_ends(s, 1);
		duration_begins(s, 1);
		put(s, ASYNCTRACE_FXT_FLOW_END, 1, "flow", i + 1);
		duration_ends(s, 1);
		printf("flow\t%u\t%u\t%u\n", i, 2 * i, 2 * i + 1);
	}
	give_events(s, FLOW, 0, &events);
}

/* Begins and ends a duration with its share of the durations at each depth below. */
static void nest(struct stream *s, unsigned int *left, unsigned int depth, unsigned int depths)
{
	unsigned int children = 0;

	left[depth]--;
	duration_begins(s, 1);
	/* Shares what is left of the next depth among this and all later durations of its depth. */
	if (depth + 1 < depths)
		children = (left[depth + 1] + left[depth]) / (left[depth] + 1);
	for (unsigned int i = 0; i < children; i++)
		nest(s, left, depth + 1, depths);
	duration_ends(s, 1);
	if (events.nr > 4000)
		give_events(s, depths > 2 ? WORKSTATION : SMOKE, 0, &events);
}

static void depths(struct stream *s, const char *table, const unsigned int *count,
		   unsigned int depths)
{
	unsigned int left[20];

	memcpy(left, count, depths * sizeof(left[0]));
	while (left[0])
		nest(s, left, 0, depths);
	give_events(s, depths > 2 ? WORKSTATION : SMOKE, 0, &events);
	for (unsigned int i = 0; i < depths; i++)
		printf("%s\t%u\t%u\n", table, i, count[i]);
}

/* Each of several threads has its own track. A counter that they all write has one track. */
static void types(struct stream *s)
{
	for (unsigned int slot = 1; slot <= 16; slot++) {
		duration_begins(s, slot);
		put_event(&events, &(struct event){ ASYNCTRACE_FXT_COUNTER, s->ticks, slot,
						    TXT("cat"), TXT("threads"), 0, 1,
						    { ARG_U64(TXT("n"), slot) } });
		duration_ends(s, slot);
	}
	give_events(s, TYPES, 0, &events);
	printf("type\tfuchsia_counter\tthreads:n:0\t1\n");
	printf("type\tthread_execution\t\t16\n");
}

static void args(struct stream *s)
{
	static const double pi = 3.1415, series = 1;
	uint64_t bits, one;

	memcpy(&bits, &pi, 8);
	memcpy(&one, &series, 8);
	put_event(&events, &(struct event){ ASYNCTRACE_FXT_INSTANT, s->ticks++, 1, TXT("cat"),
		TXT("args"), 0, 12, {
		{ ASYNCTRACE_FXT_ARG_NULL, TXT("SomeNullArg"), 0, { 0 } },
		{ ASYNCTRACE_FXT_ARG_DOUBLE, TXT("Somedouble"), bits, { 0 } },
		ARG_I32(TXT("Someint32"), -7),
		{ ASYNCTRACE_FXT_ARG_INT64, TXT("Someint64"), -234516543631231ULL, { 0 } },
		{ ASYNCTRACE_FXT_ARG_UINT32, TXT("Someuint32"), 2145, { 0 } },
		ARG_U64(TXT("Someuint64"), 423621626134123415ULL),
		ARG_STR(TXT("ping"), TXT("pong")),
		{ ASYNCTRACE_FXT_ARG_BOOL, TXT("somebool"), 1, { 0 } },
		ARG_KOID(TXT("somekoid"), 18),
		{ ASYNCTRACE_FXT_ARG_BOOL, TXT("someotherbool"), 0, { 0 } },
		{ ASYNCTRACE_FXT_ARG_POINTER, TXT("someotherpointer"), 43981, { 0 } },
		{ ASYNCTRACE_FXT_ARG_POINTER, TXT("somepointer"), 3285933758964ULL, { 0 } },
	} });
	put_event(&events, &(struct event){ ASYNCTRACE_FXT_COUNTER, s->ticks++, 1, TXT("cat"),
		TXT("example_counter"), 0, 1,
		{ { ASYNCTRACE_FXT_ARG_DOUBLE, TXT("somedataseries"), one, { 0 } } } });
	give_events(s, ARGS, 0, &events);
	printf("arg\tSomeNullArg\t\tnull\t\tstring\tnull\n"
	       "arg\tSomedouble\t\t\t3.1415\treal\t3.1415\n"
	       "arg\tSomeint32\t-7\t\t\tint\t-7\n"
	       "arg\tSomeint64\t-234516543631231\t\t\tint\t-234516543631231\n"
	       "arg\tSomeuint32\t2145\t\t\tint\t2145\n"
	       "arg\tSomeuint64\t423621626134123415\t\t\tint\t423621626134123415\n"
	       "arg\tping\t\tpong\t\tstring\tpong\n"
	       "arg\tsomebool\t1\t\t\tbool\ttrue\n"
	       "arg\tsomekoid\t18\t\t\tint\t18\n"
	       "arg\tsomeotherbool\t0\t\t\tbool\tfalse\n"
	       "arg\tsomeotherpointer\t43981\t\t\tpointer\t0xabcd\n"
	       "arg\tsomepointer\t3285933758964\t\t\tpointer\t0x2fd10ea19f4\n"
	       "series\texample_counter:somedataseries:0\t1\n");
}

static void keys(struct stream *s)
{
	static const struct {
		const char *key;
		unsigned int count;
	} keys[] = {
		{ "Dart Arguments", 3 }, { "Escher frame number", 33 },
		{ "Expected presentation time", 17 }, { "Frame number", 33 },
		{ "MinikinFontsCount", 1 }, { "Predicted frame duration(ms)", 21 },
		{ "Render time(ms)", 21 }, { "Timestamp", 917 }, { "Update time(ms)", 21 },
		{ "Vsync interval", 900 },
	};

	for (unsigned int k = 0; k < LEN(keys); k++) {
		for (unsigned int i = 0; i < keys[k].count; i++)
			put_event(&events, &(struct event){ ASYNCTRACE_FXT_INSTANT, s->ticks++, 1,
				TXT("cat"), TXT("key"), 0, 1, { ARG_U64(TXT(keys[k].key), i) } });
		give_events(s, KEYS, 0, &events);
		printf("key\t%s\t%u\n", keys[k].key, keys[k].count);
	}
}

static void counter(struct stream *s, uint64_t at, double percent)
{
	uint64_t bits;

	memcpy(&bits, &percent, 8);
	put_event(&events, &(struct event){ ASYNCTRACE_FXT_COUNTER, at, 1, TXT("system_metrics"),
		TXT("cpu_usage"), 0, 1,
		{ { ASYNCTRACE_FXT_ARG_DOUBLE, TXT("average_cpu_percentage"), bits, { 0 } } } });
	s->ticks = at;
	printf("counter\t%llu\t%.6f\tcpu_usage:average_cpu_percentage:0\n", (unsigned long long)at,
	       percent);
}

static void moments(struct stream *s)
{
	static const uint64_t at[] = {
		21442756010, 21446583438, 21448366538, 21450363277, 21454255741, 21457834528,
		21459006408, 21460601866, 21461282720, 21462998487,
	};

	counter(s, 20329439768, 30.331177);
	counter(s, 21331281870, 7.829745);
	for (unsigned int i = 0; i < LEN(at); i++) {
		const char *name = i % 2 ? "task_end" : "task_start";

		s->ticks = at[i];
		printf("instant\t%llu\t%s\n", (unsigned long long)at[i], name);
		put(s, ASYNCTRACE_FXT_INSTANT, 1, name, 0);
	}
	counter(s, 22332302017, 9.669818);
	counter(s, 23332974162, 6.421237);
	counter(s, 24333405767, 12.079849);
	give_events(s, MOMENTS, 0, &events);
}

/* --- scheduling ----------------------------------------------------------------------------- */

struct row {
	uint64_t ts;
	unsigned int cpu;
	uint64_t dur;
	unsigned int state;
	int32_t weight;
	unsigned int tid;
};

static const struct row smoke[] = {
	{ 19675868967, 2, 79022, BLOCKED, 20, 4344 }, { 19676000188, 3, 504797, BLOCKED, 20, 6547 },
	{ 19676504985, 3, 42877, BLOCKED, 20, 6525 }, { 19676582005, 0, 48467, BLOCKED, 20, 11566 },
	{ 19676989045, 2, 138116, BLOCKED, 20, 9949 }, { 19677162311, 3, 48655, BLOCKED, 20, 6525 },
	{ 19677305405, 3, 48814, BLOCKED, 20, 6525 }, { 19677412330, 0, 177220, BLOCKED, 20, 4344 },
	{ 19677680485, 2, 91422, BLOCKED, 20, 6537 }, { 19677791779, 3, 96082, BLOCKED, 20, 1680 },
};

static const struct row sched[] = {
	{ 68988611421, 3, 313611, BLOCKED, 3122, 3196 },
	{ 68988925032, 3, 98697, BLOCKED, 3122, 23416 },
	{ 68988957574, 0, 632536, BLOCKED, 3122, 3189 },
	{ 68989023729, 3, 51371, BLOCKED, 3122, 3196 },
	{ 68989075100, 3, 46773, READY, 3122, 25332 },
	{ 68989121873, 3, 53620, BLOCKED, INT32_MAX, 24654 },
	{ 68989175493, 3, 5241, BLOCKED, 3122, 25332 },
	{ 68989180734, 3, 138507, BLOCKED, 3122, 30933 },
	{ 68989319241, 3, 25028, BLOCKED, 3122, 30297 },
	{ 68989344269, 3, 52723, BLOCKED, 3122, 28343 },
};

static uint64_t number_arg(unsigned int name, int32_t value)
{
	return ASYNCTRACE_FXT_ARG_INT32 | 1 << 4 | name << 16 | (uint64_t)(uint32_t)value << 32;
}

/* Puts a switch at @at. NULL is the idle task. */
static void switch_to(struct words *b, unsigned int cpu, uint64_t at, const struct row *out,
		      const struct row *in)
{
	const size_t first = b->nr;

	put_switch(b, cpu, at, out ? out->tid : 0, in ? in->tid : 0, out ? out->state : READY);
	b->w[first + 4] = number_arg(ASYNCTRACE_FXT_STR_OUTGOING, out ? out->weight : IDLE);
	b->w[first + 5] = number_arg(ASYNCTRACE_FXT_STR_INCOMING, in ? in->weight : IDLE);
}

static void runs(struct stream *s, const char *table, const struct row *rows, unsigned int nr)
{
	struct words b = { 0 };

	for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
		const struct row *last = NULL;

		for (const struct row *r = rows; r < rows + nr; r++) {
			if (r->cpu != cpu)
				continue;
			if (last && last->ts + last->dur < r->ts) {
				switch_to(&b, cpu, last->ts + last->dur, last, NULL);
				last = NULL;
			}
			switch_to(&b, cpu, r->ts, last, r);
			last = r;
		}
		if (last)
			switch_to(&b, cpu, last->ts + last->dur, last, NULL);
		s->ticks = rows[nr - 1].ts + SECOND;
		give_sched(s, cpu, &b);
	}
	for (const struct row *r = rows; r < rows + nr; r++)
		printf("%s\t%llu\t%u\t%llu\t%c\t%d\t%u\n", table, (unsigned long long)r->ts, r->cpu,
		       (unsigned long long)r->dur, r->state == READY ? 'R' : 'S', r->weight,
		       r->tid);
	words_free(&b);
}

/* Steps of the critical path of thread 197. Each thread wakes that of the next step. */
struct step {
	unsigned int tid;
	uint64_t ts, dur;
	unsigned int until;	/* index of the step of 197 that waits for this one */
};

static const struct step steps[] = {
	{ 197, 30969322331, 49907, 0 }, { 261, 30969372238, 6598, 3 },
	{ 251, 30969378836, 488732, 3 }, { 197, 30969867568, 41029, 3 },
	{ 253, 30969908597, 20066, 6 }, { 256, 30969928663, 193354, 6 },
	{ 197, 30970122017, 10650, 6 }, { 275, 30970132667, 3291, 9 },
	{ 255, 30970135958, 54546, 9 }, { 197, 30970190504, 49985, 9 },
};

/* Thread 197 works on an operation from 2 us after its first step begins. */
static void operation(struct stream *s)
{
	const uint64_t id = (uint64_t)PATH << 44 | 1;
	const struct arg arg = ARG_U64(TXT("operation"), id);

	s->ticks = steps[0].ts + 2000;
	put(s, ASYNCTRACE_FXT_ASYNC_BEGIN, 1, "path", id);
	put_event(&events, &(struct event){ ASYNCTRACE_FXT_DURATION_BEGIN, s->ticks, 1, TXT("cat"),
					    TXT("work"), 0, 1, { arg } });
	s->ticks = steps[LEN(steps) - 1].ts + steps[LEN(steps) - 1].dur - 200;
	duration_ends(s, 1);
	put(s, ASYNCTRACE_FXT_ASYNC_END, 1, "path", id);
	give_events(s, PATH, 0, &events);
}

/*
 * Each thread wakes the next one. Thread 197 does it 5 us before its step ends and it sleeps, and
 * the others when their step ends, 2 us before they sleep.
 */
static void critical_path(struct stream *s)
{
	struct words b[CPUS] = { { 0 } };
	uint64_t woken = steps[0].ts;
	unsigned int cpu = 0;

	/* Let each other thread run and fall asleep first, so that the trace shows its sleep. */
	for (unsigned int i = 0; i < LEN(steps); i++) {
		const struct row run = { .tid = steps[i].tid, .weight = 20, .state = BLOCKED };

		if (run.tid == 197)
			continue;
		switch_to(&b[0], 0, woken - 200000 + 10000 * i, NULL, &run);
		switch_to(&b[0], 0, woken - 195000 + 10000 * i, &run, NULL);
	}
	put_wakeup(&b[0], 0, woken, 197, 0);
	for (unsigned int i = 0; i < LEN(steps); i++) {
		const bool waits = steps[i].tid == 197;
		const uint64_t end = steps[i].ts + steps[i].dur;
		const struct row run = { .tid = steps[i].tid, .weight = 20, .state = BLOCKED };

		cpu = waits ? 0 : 1 + i % 3;
		switch_to(&b[cpu], cpu, woken + 1000, NULL, &run);
		woken = waits ? end - 5000 : end;
		if (i + 1 < LEN(steps))
			put_wakeup(&b[cpu], cpu, woken, steps[i + 1].tid, run.tid);
		switch_to(&b[cpu], cpu, waits ? end : end + 2000, &run, NULL);
	}
	s->ticks = steps[LEN(steps) - 1].ts + SECOND;
	for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
		give_sched(s, cpu, &b[cpu]);
		words_free(&b[cpu]);
	}
	operation(s);
	for (unsigned int i = 0; i < LEN(steps); i++)
		printf("path\t%llu\t%llu\t%llu\t%u\n", (unsigned long long)steps[steps[i].until].ts,
		       (unsigned long long)steps[i].ts, (unsigned long long)steps[i].dur,
		       steps[i].tid);
}

/* -------------------------------------------------------------------------------------------- */

static void introduce(struct stream *s)
{
	static const char *const names[] = {
		NULL, "flow", "smoke", "workstation", "types", "args", "keys", "moments", "path",
	};

	give_clock(s, ASYNCTRACE_MOMENT_START);
	for (unsigned int p = 1; p < PROVIDERS; p++) {
		give_provider(s, p, PID(p), p, names[p]);
		for (unsigned int slot = 1; slot <= (p == TYPES ? 16 : 1); slot++)
			give_thread(s, p, slot, PID(p), p == PATH ? 197 : PID(p) + slot - 1,
				    names[p]);
	}
	for (unsigned int i = 0; i < LEN(smoke); i++)
		give_name(s, smoke[i].tid, smoke[i].tid, "smoke");
	for (unsigned int i = 0; i < LEN(sched); i++)
		give_name(s, sched[i].tid, sched[i].tid, "sched");
	for (unsigned int i = 0; i < LEN(steps); i++)
		give_name(s, PID(PATH), steps[i].tid, "path");
}

void tables(struct stream *s)
{
	static const unsigned int two[] = { 2153, 1004 };
	static const unsigned int twenty[] = {
		15294, 11654, 9723, 2033, 3943, 2458, 1839, 2225, 2193, 1667,
		349, 329, 304, 246, 207, 175, 114, 38, 12, 1,
	};

	introduce(s);
	s->ticks = 10 * SECOND;
	flows(s);
	depths(s, "smoke_depth", two, LEN(two));
	depths(s, "depth", twenty, LEN(twenty));
	types(s);
	args(s);
	keys(s);
	s->ticks = 19 * SECOND;
	runs(s, "smoke_sched", smoke, LEN(smoke));
	moments(s);
	critical_path(s);
	runs(s, "sched", sched, LEN(sched));
	give_clock(s, ASYNCTRACE_MOMENT_STOP);
	words_free(&events);
}
