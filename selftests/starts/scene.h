/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A scene: many threads, signal handlers and forked children begin to trace at the same moment, and
 * each counts the records that it writes
 */
#ifndef SCENE_H
#define SCENE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SCENE_PROCESSES	8

/**
 * struct scene - parameters, which all follow from a seed
 * @threads: number of threads that begin at once
 * @records: number of records that each thread writes
 * @signals: number of signals that the main thread sends to the others, whose handlers write; a
 *	timer interrupts the main thread
 * @children: number of children that are forked while the others begin; three threads of each
 *	child begin at once
 * @closes: how often the process closes all its descriptors, as daemons do; after each time three
 *	new threads begin at once
 * @registers: one thread calls at_provider_register() meanwhile
 */
struct scene {
	uint64_t seed;
	unsigned int threads;
	unsigned int records;
	unsigned int signals;
	unsigned int children;
	unsigned int closes;
	bool registers;
};

/* Number of records that each process wrote, in memory that the processes share. */
struct tally {
	uint32_t processes;
	struct {
		pid_t pid;
		uint64_t written;
		uint64_t accounted;	/* by the child's own trace, if it has one */
	} process[SCENE_PROCESSES];
};

/* Returns the scene of @seed, with at most @max_threads threads. */
struct scene scene_of(uint64_t seed, unsigned int max_threads);
void scene_print(const struct scene *s);

/*
 * Runs the scene in the calling process, which is the first process of the tally. @begin, if not
 * NULL, is called when all threads are ready. @child, if not NULL, is called in each forked child
 * with true before it writes and with false afterwards; then it returns what its own trace accounts
 * for.
 */
void scene_play(const struct scene *s, struct tally *t, void (*begin)(void),
		uint64_t (*child)(bool starts));

#endif /* SCENE_H */
