/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writers that can be killed one at a time: processes that share this process's memory, and with it
 * its rings
 *
 * Each uses the thread-local storage of a sleeping thread, so that the C library and libasynctrace
 * find their data there.
 */
#ifndef BORROW_H
#define BORROW_H

#include <stdint.h>
#include <sys/types.h>

enum borrow_rseq {
	BORROW_RSEQ,	/* struct rseq is registered with the kernel */
	BORROW_FAKE,	/* struct rseq looks registered, but the kernel never aborts a section */
	BORROW_NONE,
};

struct borrow {
	char *tp;
	void *self;		/* struct at_thread of the sleeping thread */
	char *stack;
	enum borrow_rseq rseq;
	void (*fn)(void *arg);
	void *arg;
};

/* Creates the sleeping thread whose storage is borrowed. */
void borrow_make(struct borrow *b);
/* Starts a process on @b; the previous one must be dead. It exits when @fn returns. */
pid_t borrow_spawn(struct borrow *b, enum borrow_rseq rseq, void (*fn)(void *), void *arg);

#endif /* BORROW_H */
