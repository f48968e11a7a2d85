/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An operation with its first allocation failing, its second, and so on until it
 * needs no more of them. And what there is to be seen of the module from outside,
 * as text: an operation that failed has changed none of it.
 */
#ifndef SELFTESTS_FAILNTH_H
#define SELFTESTS_FAILNTH_H

#include "raw.h"

/*
 * Needs a kernel that injects failures, as the debug kernel does: fails the test, and
 * ends it, where there is none.
 */
void fail_need(void);

/* The same in a child of fork, which has a count of its own. 0, or a negative errno. */
int fail_again(void);

/*
 * Runs @run with the @n-th allocation that it makes failing. What it returned is in
 * *ret; returns whether it came to that. 0: none fails.
 */
bool fail_one(int n, int (*run)(void), int *ret);

/* Is it an error of those that a lack of memory may have? */
bool fail_clean(int err);

/* --- what there is ------------------------------------------------------------ */

/**
 * struct state - all sessions, providers, announced categories and rings that @nl may
 * see, one a line, without what is another each time
 * @text: it
 * @len: bytes of it
 */
struct state {
	char text[65536];
	size_t len;
};

/* 0, or a negative errno */
int state_take(struct state *s, struct raw_nl *nl);
bool state_same(const struct state *a, const struct state *b);
/* Where the two differ. */
void state_show(const struct state *is, const struct state *want);

/* --- operations ----------------------------------------------------------------- */

/**
 * enum fail_flags - what is special about an operation
 * @FAIL_QUIET: it may work without what it could not have, and says so elsewhere
 * @FAIL_DUMB: where its answer is lost (-EFAULT, -ENOBUFS), it may be done all the same
 * @FAIL_FREE: all that may fail in it is copying
 * @FAIL_SETTLE: before each time, the probes of earlier sessions are to be gone
 */
enum fail_flags {
	FAIL_QUIET = 1,
	FAIL_DUMB = 2,
	FAIL_FREE = 4,
	FAIL_SETTLE = 8,
};

/**
 * struct fail_op - one operation, in one state of the session and the provider
 * @name: of the test
 * @prepare: makes the state
 * @run: does it, failures being injected: 0 or more, or a negative errno
 * @take: takes the answer, none being injected any more; NULL: @run has it
 * @check: expects what is so after it has worked, NULL: nothing but the state. Its
 *	argument: whether memory was refused meanwhile
 * @clean: has nothing be left of it, nor of what was prepared
 * @flags: enum fail_flags
 */
struct fail_op {
	const char *name;
	void (*prepare)(void);
	int (*run)(void);
	int (*take)(void);
	void (*check)(bool refused);
	void (*clean)(void);
	unsigned int flags;
};

/*
 * Every failure of it. @nl: a socket that nothing else is done with.
 *
 * A failure that was told has changed nothing, and done again, the operation works.
 * One that was not told has either done it, or not. In the end it works without
 * one, and nothing is left of it.
 */
void fail_every(const struct fail_op *op, struct raw_nl *nl);

/*
 * Runs the operations as tests; FAIL_SHARE in the environment: so many of them
 * that need not settle, which ones by FAIL_SEED. What main() is to return.
 */
int fail_run(const struct fail_op *ops, int count, const char *only,
	     void (*run)(const struct fail_op *op));

#endif /* SELFTESTS_FAILNTH_H */
