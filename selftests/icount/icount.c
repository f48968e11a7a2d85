// SPDX-License-Identifier: GPL-2.0
/*
 * Instructions that a scheduler probe adds to a context switch and to a waking
 *
 * usage: icount EMPTYPROBE.KO KERNEL JSON
 *
 * Runs in a machine whose counter counts instructions (selftests/vm/run --icount). README.md
 * explains how the costs of switches and wakeups are separated. Exits with 1 if a limit is
 * exceeded.
 */
#include <err.h>
#include <math.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#include <linux/asynctrace_netlink.h>

#include "setups.h"

/* Limits, in instructions */
#define BAR_SWITCH	150
#define BAR_WAKING	80
#define BAR_UNTRACED	45
/* Limits if both tasks work on operations, and the session records reasons of switches */
#define BAR_REASONS	200
#define BAR_WAKER	110
/* Two ways to measure a switch may differ by this much. */
#define CROSS_CHECK	8

enum {
	NONE, UNTRACED, UNTRACED_SESSIONS, TRACED, REASONS, HALF, ALL, OFF,
	EMPTY_SWITCH, EMPTY_WAKING, FTRACE_SWITCH, FTRACE_WAKING,
	NONE_AGAIN,
	SETUPS,
	/* measure_crowd() measures this setup, by yields only. The loops over SETUPS skip it. */
	UNTRACED_CROWD = SETUPS,
	ALL_SETUPS
};

static const struct setup setups[ALL_SETUPS] = {
	[NONE] = { "none", "nobody listens", SETUP_NONE },
	[UNTRACED] = {
		"untraced", "asynctrace, of another process", SETUP_SESSION, EVENT_BOTH,
		.sched = ASYNCTRACE_SCHED_TARGETS, .provider = PROVIDER_BYSTANDER,
	},
	[UNTRACED_CROWD] = {
		"untraced_crowd", "  and 30,000 threads are traced", SETUP_SESSION, EVENT_BOTH,
		.sched = ASYNCTRACE_SCHED_TARGETS, .provider = PROVIDER_CROWD,
	},
	[UNTRACED_SESSIONS] = {
		"untraced_sessions", "  and there are 64 sessions", SETUP_SESSION, EVENT_BOTH,
		.sched = ASYNCTRACE_SCHED_TARGETS, .provider = PROVIDER_BYSTANDER, .sessions = 64,
	},
	[TRACED] = {
		"traced", "asynctrace, of both tasks", SETUP_SESSION, EVENT_BOTH,
		.sched = ASYNCTRACE_SCHED_TARGETS, .provider = PROVIDER_PAIR,
		.work = WORK_TRACE, .switches = 2, .wakings = { 0, 1, 2 },
	},
	[REASONS] = {
		"reasons", "  with operations and reasons", SETUP_SESSION, EVENT_BOTH,
		.sched = ASYNCTRACE_SCHED_TARGETS, .provider = PROVIDER_PAIR,
		.flags = ASYNCTRACE_SESSION_FLAGS_REASONS, .work = WORK_OPERATION,
		.switches = 2, .wakings = { 0, 1, 2 },
	},
	[HALF] = {
		/* Switches to and from the untraced task are recorded, but not its wakeups. */
		"half_traced", "asynctrace, of one of the two", SETUP_SESSION, EVENT_BOTH,
		.process = true,
		.sched = ASYNCTRACE_SCHED_TARGETS, .provider = PROVIDER_PAIR,
		.switches = 2, .wakings = { 0, 0, 1 },
	},
	[ALL] = {
		"all", "asynctrace --sched all", SETUP_SESSION, EVENT_BOTH,
		.sched = ASYNCTRACE_SCHED_ALL, .provider = PROVIDER_BYSTANDER,
		.switches = 2, .wakings = { 0, 1, 2 },
	},
	[OFF] = {
		"off", "asynctrace --sched off", SETUP_SESSION, 0,
		.sched = ASYNCTRACE_SCHED_OFF, .provider = PROVIDER_PAIR,
	},
	[EMPTY_SWITCH] = {
		"empty_switch", "an empty probe", SETUP_EMPTY, EVENT_SWITCH,
	},
	[EMPTY_WAKING] = {
		"empty_waking", "an empty probe", SETUP_EMPTY, EVENT_WAKING,
	},
	[FTRACE_SWITCH] = {
		"ftrace_switch", "ftrace, sched_switch", SETUP_FTRACE, EVENT_SWITCH,
		.switches = 2,
	},
	[FTRACE_WAKING] = {
		"ftrace_waking", "ftrace, sched_waking", SETUP_FTRACE, EVENT_WAKING,
		.wakings = { 0, 1, 2 },
	},
	[NONE_AGAIN] = { "none_again", "no probe, again", SETUP_NONE },
};

/* Instructions that a setup added to a round */
static double added[ALL_SETUPS][PATTERNS];

/*
 * The count may exceed @want by a tenth, because each session's worker wakes up between batches to
 * check its rings.
 */
static void expect(const char *what, const struct setup *s, enum pattern pattern,
		   uint64_t got, uint64_t want)
{
	unsigned int sessions = s->sessions ? s->sessions : 1;

	if (got < want || got > want + sessions * ROUNDS_PLAYED / 10)
		errx(1, "%s, pattern %d: %llu %s for %u rounds, not %llu: the measurement is invalid",
		     s->key, pattern, (unsigned long long)got, what, ROUNDS_PLAYED,
		     (unsigned long long)want);
}

/* Measures a pair while the setup is on. */
static double measure_rounds(const struct setup *s, struct pair *pair)
{
	enum pattern pattern = pair->pattern;
	uint64_t before = 0, after = 0, calls;
	double ticks;
	bool counted;

	pair_work(pair, s->work);
	calls = setup_calls();
	counted = setup_records(s, &before);
	ticks = pair_rounds(pair);
	if (counted) {
		setup_records(s, &after);
		expect("records", s, pattern, after - before,
		       (uint64_t)ROUNDS_PLAYED * (s->switches + s->wakings[pattern]));
	}
	if (s->kind == SETUP_SESSION)
		expect("calls of probes", s, pattern, setup_calls() - calls,
		       !s->events ? 0 : (uint64_t)ROUNDS_PLAYED *
		       (SWITCHES_PER_ROUND + WAKINGS_PER_ROUND(pattern)));
	pair_work(pair, WORK_NONE);
	return ticks;
}

static double measure(const struct setup *s, struct pair *pair)
{
	double ticks;

	setup_on(s);
	ticks = measure_rounds(s, pair);
	setup_off(s);
	return ticks;
}

/* Measures all setups with one kind of pair, compared with no probe. */
static void measure_all(bool process)
{
	for (enum pattern pattern = 0; pattern < PATTERNS; pattern++) {
		struct pair pair;
		double base;

		pair_start(&pair, pattern, process);
		base = measure(&setups[NONE], &pair);
		for (int i = 0; i < SETUPS; i++) {
			if (setups[i].process != process)
				continue;
			added[i][pattern] = measure(&setups[i], &pair) - base;
		}
		pair_stop(&pair);
	}
}

/* A look-up costs more if another task has the slot of the task's hash: average many pairs. */
#define CROWD_PAIRS	24

/**
 * struct crowd - pairs of new threads
 * @s: the setup, which is on
 * @sum: ticks of a round, added up
 * @played: a pair has been measured
 * @over: all pairs have been measured
 */
struct crowd {
	const struct setup *s;
	double sum;
	sem_t played;
	sem_t over;
};

/* Waits for the end, so that the next pair has other tasks, in other slots. */
static void *crowd_pair(void *arg)
{
	struct crowd *crowd = arg;
	struct pair pair;

	pair_start(&pair, PATTERN_YIELD, false);
	crowd->sum += measure_rounds(crowd->s, &pair);
	sem_post(&crowd->played);
	sem_wait(&crowd->over);
	pair_stop(&pair);
	return NULL;
}

/* Returns the mean ticks of a round, over CROWD_PAIRS pairs with different threads. */
static double crowd_mean(const struct setup *s)
{
	pthread_t caller[CROWD_PAIRS];
	struct crowd crowd = { .s = s };

	setup_on(s);
	if (sem_init(&crowd.played, 0, 0) || sem_init(&crowd.over, 0, 0))
		err(1, "sem_init");
	for (int i = 0; i < CROWD_PAIRS; i++) {
		if (pthread_create(&caller[i], NULL, crowd_pair, &crowd))
			errx(1, "cannot create a thread");
		sem_wait(&crowd.played);
	}
	for (int i = 0; i < CROWD_PAIRS; i++)
		sem_post(&crowd.over);
	for (int i = 0; i < CROWD_PAIRS; i++)
		pthread_join(caller[i], NULL);
	setup_off(s);
	return crowd.sum / CROWD_PAIRS;
}

/* Measures a switch of untraced tasks beside many traced ones, by yields only. */
static void measure_crowd(void)
{
	added[UNTRACED_CROWD][PATTERN_YIELD] =
		crowd_mean(&setups[UNTRACED_CROWD]) - crowd_mean(&setups[NONE]);
}

/* Returns the cost of the one wakeup that PATTERN_FULL has and PATTERN_HALF lacks. */
static double waking(int setup)
{
	return added[setup][PATTERN_FULL] - added[setup][PATTERN_HALF];
}

/* Returns the cost of a round without its wakeup. */
static double context_switch(int setup)
{
	/* In the half-traced pair, PATTERN_HALF wakes the untraced task. */
	double one = waking(setup == HALF ? UNTRACED : setup);

	return (added[setup][PATTERN_HALF] - one) / SWITCHES_PER_ROUND;
}

/*
 * Pipes and sched_yield() must give the same cost of a switch. Otherwise the cost of a round is not
 * the sum of its switches and wakeups. With reasons, a thread that blocks in a system call costs
 * more than one that yields, so the costs differ.
 */
static void cross_check(void)
{
	for (int i = 0; i < SETUPS; i++) {
		double pipes = context_switch(i);
		double yields = added[i][PATTERN_YIELD] / SWITCHES_PER_ROUND;

		if (setups[i].flags & ASYNCTRACE_SESSION_FLAGS_REASONS)
			continue;
		if (fabs(pipes - yields) > CROSS_CHECK)
			errx(1, "%s: a switch takes %.1f by pipes and %.1f by sched_yield()",
			     setups[i].key, pipes, yields);
	}
	if (fabs(context_switch(NONE_AGAIN)) > 2 || fabs(waking(NONE_AGAIN)) > 2)
		errx(1, "without probes a switch takes %.1f and a waking %.1f more than before",
		     context_switch(NONE_AGAIN), waking(NONE_AGAIN));
}

static int missed;

static void cell(double value, double bar)
{
	printf("%9.1f", value);
	if (!bar)
		printf("%-10s", "");
	else
		printf(" %s %-5.0f", value <= bar ? "<=" : "> ", bar);
	missed += bar && value > bar;
}

static void row(const char *what, int of_switch, double bar_switch, int of_waking,
		double bar_waking)
{
	printf("%-32s", what);
	cell(context_switch(of_switch), bar_switch);
	cell(waking(of_waking), bar_waking);
	printf("\n");
}

static void print_table(const char *kernel)
{
	printf("instructions added, %-12s %9s%-10s%9s\n", kernel, "switch", "", "waking");
	row("an empty probe", EMPTY_SWITCH, 0, EMPTY_WAKING, 0);
	row(setups[UNTRACED].what, UNTRACED, BAR_UNTRACED, UNTRACED, 0);
	printf("%-32s", setups[UNTRACED_CROWD].what);
	cell(added[UNTRACED_CROWD][PATTERN_YIELD] / SWITCHES_PER_ROUND, BAR_UNTRACED);
	printf("\n");
	row(setups[UNTRACED_SESSIONS].what, UNTRACED_SESSIONS, BAR_UNTRACED, UNTRACED_SESSIONS, 0);
	row(setups[TRACED].what, TRACED, BAR_SWITCH, TRACED, BAR_WAKING);
	row(setups[REASONS].what, REASONS, BAR_REASONS, REASONS, BAR_WAKER);
	row(setups[HALF].what, HALF, 0, HALF, 0);
	row(setups[ALL].what, ALL, 0, ALL, 0);
	row(setups[OFF].what, OFF, 0, OFF, 0);
	row("ftrace", FTRACE_SWITCH, 0, FTRACE_WAKING, 0);
}

static void write_json(const char *path, const char *kernel)
{
	FILE *f = fopen(path, "we");

	if (!f)
		err(1, "%s", path);
	fprintf(f, "{\n  \"kernel\": \"%s\",\n", kernel);
	fprintf(f, "  \"bars\": { \"traced_switch\": %d, \"traced_waking\": %d, ", BAR_SWITCH,
		BAR_WAKING);
	fprintf(f, "\"reasons_switch\": %d, \"reasons_waking\": %d, ", BAR_REASONS, BAR_WAKER);
	fprintf(f, "\"untraced_switch\": %d },\n  \"missed\": %d", BAR_UNTRACED, missed);
	for (int i = 0; i < SETUPS; i++) {
		fprintf(f, ",\n  \"%s\": { \"switch\": %.2f, \"waking\": %.2f, ", setups[i].key,
			context_switch(i), waking(i));
		fprintf(f, "\"per_round\": { \"yield\": %.2f, \"half\": %.2f, \"full\": %.2f } }",
			added[i][PATTERN_YIELD], added[i][PATTERN_HALF],
			added[i][PATTERN_FULL]);
	}
	fprintf(f, ",\n  \"%s\": { \"switch\": %.2f }", setups[UNTRACED_CROWD].key,
		added[UNTRACED_CROWD][PATTERN_YIELD] / SWITCHES_PER_ROUND);
	fprintf(f, "\n}\n");
	if (fclose(f))
		err(1, "%s", path);
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: icount EMPTYPROBE.KO KERNEL JSON\n");
		return 2;
	}
	if (!counter_counts_instructions())
		errx(1, "the counter counts no instructions: run by selftests/vm/run --icount");
	setups_prepare(argv[1]);
	measure_all(false);
	measure_all(true);
	measure_crowd();
	cross_check();
	print_table(argv[2]);
	write_json(argv[3], argv[2]);
	if (missed)
		printf("%d limits exceeded\n", missed);
	return missed > 0;
}
