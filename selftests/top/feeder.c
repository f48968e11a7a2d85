// SPDX-License-Identifier: GPL-2.0
/*
 * Reads lines from standard input, and writes the trace that they describe to standard output:
 *
 *	provider ID PID NAME
 *	thread PROVIDER SLOT TID NAME
 *	begin|step|end PROVIDER SLOT NAME ID MS
 *	duration PROVIDER SLOT NAME FROM TO	from MS to MS
 *	switch CPU MS OUT IN STATE		thread ids, 0: idle; state 0: ready, 3: blocked
 *	wakeup CPU MS TID WAKER
 *	lose PROVIDER COUNT			records dropped by its ring
 *	ops PROVIDER SLOT NAME ID COUNT MS STEP LATENCY GROWTH
 *						COUNT operations; with each, ID grows by 1, the
 *						begin by STEP and LATENCY by GROWTH
 *	flush					write everything so far
 *	cut					end without the mark of the end
 *
 * The category is "t". The trace ends with the input.
 */
#include <stdio.h>
#include <unistd.h>

#include "../fxt/stream.h"

#define MS	1000000ULL

struct feeder {
	struct stream s;
	struct words events[8], sched[4];
	bool cut;
};

static void put(struct feeder *f, unsigned int provider, unsigned int type, unsigned int slot,
		const char *name, double ms, uint64_t extra)
{
	const uint64_t ns = 1000 * MS + ms * MS;

	put_event(&f->events[provider], &(struct event){ type, ns, slot, TXT("t"), TXT(name), extra,
							 0, { { 0 } } });
	if (ns > f->s.ticks)
		f->s.ticks = ns;
}

static void flush(struct feeder *f)
{
	for (unsigned int i = 0; i < 4; i++)
		if (f->sched[i].records)
			give_sched(&f->s, i, &f->sched[i]);
	for (unsigned int i = 1; i < 8; i++)
		if (f->events[i].records)
			give_events(&f->s, i, 0, &f->events[i]);
	assert_int_equal(at_compose_flush(f->s.c), 0);
}

static bool put_events(struct feeder *f, const char *line)
{
	unsigned int provider, slot, type;
	unsigned long long id, count;
	char word[16], name[101];
	double ms, to, latency, growth;

	if (sscanf(line, "duration %u %u %100s %lf %lf", &provider, &slot, name, &ms, &to) == 5) {
		f->s.ticks = 1000 * MS + to * MS;
		put(f, provider % 8, ASYNCTRACE_FXT_DURATION, slot, name, ms, f->s.ticks);
		return true;
	}
	if (sscanf(line, "ops %u %u %100s %llu %llu %lf %lf %lf %lf", &provider, &slot, name, &id,
		   &count, &ms, &to, &latency, &growth) == 9) {
		for (; count; count--, id++, ms += to, latency += growth) {
			put(f, provider % 8, ASYNCTRACE_FXT_ASYNC_BEGIN, slot, name, ms, id);
			put(f, provider % 8, ASYNCTRACE_FXT_ASYNC_END, slot, name, ms + latency,
			    id);
		}
		return true;
	}
	if (sscanf(line, "%15s %u %u %100s %llu %lf", word, &provider, &slot, name, &id, &ms) != 6)
		return false;
	type = !strcmp(word, "begin") ? ASYNCTRACE_FXT_ASYNC_BEGIN :
	       !strcmp(word, "step") ? ASYNCTRACE_FXT_ASYNC_INSTANT : ASYNCTRACE_FXT_ASYNC_END;
	put(f, provider % 8, type, slot, name, ms, id);
	return true;
}

static bool put_scheduling(struct feeder *f, const char *line)
{
	unsigned int cpu, a, b, state;
	double ms;

	if (sscanf(line, "switch %u %lf %u %u %u", &cpu, &ms, &a, &b, &state) == 5)
		put_switch(&f->sched[cpu % 4], cpu, 1000 * MS + ms * MS, a, b, state);
	else if (sscanf(line, "wakeup %u %lf %u %u", &cpu, &ms, &a, &b) == 4)
		put_wakeup(&f->sched[cpu % 4], cpu, 1000 * MS + ms * MS, a, b);
	else
		return false;
	if (1000 * MS + ms * MS > f->s.ticks)
		f->s.ticks = 1000 * MS + ms * MS;
	return true;
}

static bool put_rest(struct feeder *f, const char *line)
{
	static int pids[8];
	unsigned int provider, slot;
	char name[101];
	int id;

	if (sscanf(line, "provider %u %d %100s", &provider, &id, name) == 3) {
		pids[provider % 8] = id;
		give_provider(&f->s, provider, id, provider, name);
	} else if (sscanf(line, "thread %u %u %d %15s", &provider, &slot, &id, name) == 4) {
		give_thread(&f->s, provider, slot, pids[provider % 8], id, name);
		give_name(&f->s, pids[provider % 8], id, name);
	} else if (sscanf(line, "lose %u %u", &provider, &slot) == 2) {
		lose(&f->s, provider % 8, 0, 0, slot);
	} else if (!strcmp(line, "flush\n")) {
		flush(f);
	} else if (!strcmp(line, "cut\n")) {
		f->cut = true;
	} else {
		return false;
	}
	return true;
}

int main(void)
{
	struct at_compose_options o = { .size = sizeof(o), .fd = STDOUT_FILENO };
	struct feeder f = { 0 };
	char line[512];

	f.s.c = at_compose_new(&o);
	if (!f.s.c)
		return 1;
	f.s.ticks = 1000 * MS;
	give_clock(&f.s, ASYNCTRACE_MOMENT_START);
	while (fgets(line, sizeof(line), stdin)) {
		if (!put_scheduling(&f, line) && !put_rest(&f, line) && !put_events(&f, line)) {
			fprintf(stderr, "feeder: unknown line: %s", line);
			return 2;
		}
	}
	flush(&f);
	if (!f.cut) {
		give_clock(&f.s, ASYNCTRACE_MOMENT_STOP);
		if (at_compose_finish(f.s.c))
			return 1;
	}
	at_compose_free(f.s.c);
	return 0;
}
