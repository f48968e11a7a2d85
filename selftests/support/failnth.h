/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs an operation with its first allocation failing, then with its second, and so on until it
 * needs no more allocations. The module's state, as text, must be the same after a failed
 * operation.
 */
#ifndef SELFTESTS_FAILNTH_H
#define SELFTESTS_FAILNTH_H

#include "raw.h"

/* Fails and ends the test if the kernel cannot inject failures. The debug kernel can. */
void fail_need(void);

/*
 * Does what fail_need() does in a forked child, which has a counter of its own. Returns 0 or a
 * negative errno.
 */
int fail_again(void);

/*
 * Runs @run with its @n-th allocation failing, or none if @n is 0. Stores the result of @run in
 * *ret. Returns whether @run made that allocation.
 */
bool fail_one(int n, int (*run)(void), int *ret);

/* May a lack of memory cause the error @err? */
bool fail_clean(int err);

/* --- state of the module ------------------------------------------------------ */

/**
 * struct state - all sessions, providers, announced categories and rings of providers that @nl of
 * state_take() may see, one per line, without values that differ each time
 * @text: the lines
 * @len: length of @text in bytes
 */
struct state {
	char text[65536];
	size_t len;
};

/* Returns 0 or a negative errno. */
int state_take(struct state *s, struct raw_nl *nl);
bool state_same(const struct state *a, const struct state *b);
/* Prints where the two states differ. */
void state_show(const struct state *is, const struct state *want);

/* --- operations ----------------------------------------------------------------- */

/**
 * enum fail_flags - properties of an operation
 * @FAIL_QUIET: may succeed without the memory, and reports elsewhere what is missing
 * @FAIL_DUMB: may be done although its answer is lost (-EFAULT, -ENOBUFS)
 * @FAIL_FREE: allocates nothing; only copying can fail
 * @FAIL_SETTLE: must begin after the probes of earlier sessions are gone
 */
enum fail_flags {
	FAIL_QUIET = 1,
	FAIL_DUMB = 2,
	FAIL_FREE = 4,
	FAIL_SETTLE = 8,
};

/**
 * struct fail_op - an operation in one state of the session and the provider
 * @name: of the test
 * @prepare: brings the session and the provider into that state
 * @run: the operation, with failures injected: returns 0 or more, or a negative errno
 * @take: receives the answer, while no failures are injected; NULL: @run receives it
 * @check: additional checks after the operation succeeded, or NULL. @refused: an allocation of
 *	the operation failed
 * @clean: undoes @run and @prepare
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
 * Runs the operation once for each of its allocations, with that allocation failing. @nl: a socket
 * that is used for nothing else.
 *
 * If the operation returns an error, it must have changed nothing, and a second try must succeed.
 * If it succeeds in spite of the failure, the state must be the same as without a failure.
 * FAIL_DUMB and FAIL_QUIET relax these rules. After @clean, the state must be that before @prepare.
 */
void fail_every(const struct fail_op *op, struct raw_nl *nl);

/*
 * Runs the operations as tests. The environment variable FAIL_SHARE limits the number of those
 * without FAIL_SETTLE, and FAIL_SEED chooses them. Returns the exit status of main().
 */
int fail_run(const struct fail_op *ops, int count, const char *only,
	     void (*run)(const struct fail_op *op));

#endif /* SELFTESTS_FAILNTH_H */
