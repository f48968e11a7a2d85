/* SPDX-License-Identifier: GPL-2.0 */
/* A model of threads that are switched and write durations. It knows each duration's CPU time. */
#ifndef FORMAT_TIMES_H
#define FORMAT_TIMES_H

#include "stream.h"

#define TIMES_CPUS	3
#define TIMES_THREADS	6
#define TIMES_DEPTH	8
#define TIMES_ROUNDS	20
#define TIMES_STEPS	400

/* A thread of the model. Thread N has the slot N + 1 and the thread id 1000 + N. */
struct times_thread {
	int cpu;		/* -1: none */
	uint64_t ran, since;	/* time on CPUs until .since */
	struct {
		uint64_t begin, ran;
		bool complete;
	} open[TIMES_DEPTH];
	int depth;
};

struct times {
	struct stream s;
	struct words events[TIMES_CPUS], switches[TIMES_CPUS];
	struct times_thread threads[TIMES_THREADS];
	int on[TIMES_CPUS];		/* the thread, -1: idle */
	uint64_t durations;
	void (*round)(struct times *m, int round);	/* called after each round, or NULL */
	uint64_t rounds[TIMES_ROUNDS];	/* times at which the rounds ended */
	uint64_t lost_from[TIMES_ROUNDS * TIMES_CPUS], lost_to[TIMES_ROUNDS * TIMES_CPUS];
	size_t nr_losses;
};

/*
 * Runs the model and gives its records to m->s, which must be open and empty. Each duration has the
 * argument "want", its CPU time. @losing: some switches are lost
 */
void times_run(struct times *m, bool losing);
void times_free(struct times *m);
/* True if switches within the time may be lost. */
bool times_lost(const struct times *m, uint64_t from, uint64_t to);
/*
 * times_compare() compares the durations of a file with the model. It counts them, and in .known
 * those whose CPU time the file has.
 */
struct times_seen {
	uint64_t durations, known;
};
void times_compare(const struct times *m, const char *path, struct times_seen *seen);

#endif /* FORMAT_TIMES_H */
