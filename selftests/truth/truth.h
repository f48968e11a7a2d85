/* SPDX-License-Identifier: GPL-2.0 */
/* The scenes of the program truth, and their helpers. Times are nanoseconds of CLOCK_BOOTTIME. */
#ifndef TRUTH_H
#define TRUTH_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <asynctrace/trace.h>

#define MS	1000000ULL

#define must(x) do { \
	if (!(x)) { \
		fprintf(stderr, "truth: %s:%d: not so: %s\n", __FILE__, __LINE__, #x); \
		exit(1); \
	} \
} while (0)

extern const char *directory;		/* on a disk */

uint64_t rnd(uint64_t from, uint64_t to);
uint64_t now(void);
uint64_t clock_ns(clockid_t clock);
int tid(void);
void burn(uint64_t ns);			/* of the thread's CPU time */
void nap(uint64_t ns);
void start(pthread_t *t, void *(*fn)(void *), void *arg);
/* Writes a line of the plan. @fmt: the members with the expected results */
void expect(uint64_t id, const char *scene, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

void scene_lock(void);
void scene_convoy(void);
void scene_spinner(void);
void scene_fsync(void);
void scene_timer(void);
void scene_file_fault(void);
void scene_user_fault(void);
void scene_queue(void);
void scene_fan(void);
void scene_pipe(void);
void scene_socket(void);

/* The processes that scene_pipe() and scene_socket() call */
void servers_start(void);
void servers_stop(void);

/*
 * noise_start() starts two threads that wake each other in bursts. The recorder is stopped during
 * each burst, so that each burst overflows a small ring.
 */
void noise_start(pid_t recorder);
void noise_stop(void);

#endif
