/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writers that can be killed alone: processes that share this one's memory, and
 * so its rings. Each lives on the thread-local storage of a thread that sleeps,
 * so that the C library and ours find there what they expect.
 */
#ifndef BORROW_H
#define BORROW_H

#include <stdint.h>
#include <sys/types.h>

enum borrow_rseq {
	BORROW_RSEQ,	/* registered with the kernel */
	BORROW_FAKE,	/* looks so, but the kernel never aborts: it can be stepped through */
	BORROW_NONE,
};

struct borrow {
	char *tp;
	void *self;		/* its struct at_thread */
	char *stack;
	enum borrow_rseq rseq;
	void (*fn)(void *arg);
	void *arg;
};

/* Once for each: makes the thread whose storage is borrowed. */
void borrow_make(struct borrow *b);
/* A process on it. The one before must be dead. It exits when @fn returns. */
pid_t borrow_spawn(struct borrow *b, enum borrow_rseq rseq, void (*fn)(void *), void *arg);

#endif /* BORROW_H */
