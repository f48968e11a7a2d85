// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of memory: allocations of contexts, listeners and local storage, and failures to allocate
 */
#include <errno.h>
#include <stdlib.h>

#include <asynctrace/local.h>

#include "cast.h"

/* The allocator of this program counts allocations and can be told to fail. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);

static unsigned long allocations;
static long fail_in = -1;	/* allocations before one fails; -1: none fails */

static bool fails(void)
{
	allocations++;
	return fail_in >= 0 && !fail_in--;
}

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	return fails() ? NULL : __libc_realloc(p, size);
}

static int live_some(void *unused)
{
	(void)unused;
	for (int i = 0; i < 1000; i++)
		live(TIMER);
	return 0;
}

/* Counts allocations while 1000 contexts with @n listeners are made, run and destroyed. */
static unsigned long cost(unsigned int n)
{
	const struct at_listener_options o = { .size = sizeof(o) };
	struct at_listener *l[4];
	struct at_context c;
	unsigned long before;

	for (unsigned int i = 0; i < n; i++) {
		if (at_listener_new(&l[i], &o, NULL, ALL))
			abort();
		at_listener_add(l[i]);
	}
	at_context_init(&c, TIMER, NULL);
	at_context_run(&c, nothing, NULL);
	before = allocations;
	at_context_run(&c, live_some, NULL);
	before = allocations - before;
	at_context_destroy(&c);
	for (unsigned int i = 0; i < n; i++)
		at_listener_put(l[i]);
	return before;
}

static int measure_live(void *unused)
{
	const unsigned long before = allocations;

	live_some(unused);
	return (int)(allocations - before);
}

static void listeners(void)
{
	struct at_local *local;

	check(cost(0) == 0 && cost(1) == 0 && cost(2) == 0);
	check(cost(3) == 1000);
	done("H11_two_listeners_allocate_nothing");
	at_local_new(&local, NULL);
	check(at_local_run(local, "x", measure_live, NULL) == 0);
	at_local_put(local);
	done("H11_local_storage_allocates_nothing_each");
}

/* Calls @fn again and again and fails its 1st, 2nd, ... allocation, until all succeed. */
static void without_memory(int (*fn)(void))
{
	for (long n = 0; n < 100; n++) {
		int err;

		fail_in = n;
		err = fn();
		if (fail_in >= 0) {
			fail_in = -1;
			check(!err && n, "%d, %ld", err, n);
			return;
		}
		check(err == -ENOMEM, "%d, %ld", err, n);
	}
	check(false, "it allocates for ever");
}

static int new_and_add(void)
{
	const struct at_listener_options o = { .size = sizeof(o) };
	struct at_listener *l[4] = { NULL };
	struct at_context c;
	int err = 0;

	at_context_init(&c, TIMER, NULL);
	at_context_enter(&c);
	for (int i = 0; i < 4 && !err; i++) {
		err = at_listener_new(&l[i], &o, NULL, ALL);
		if (!err)
			err = at_listener_add(l[i]);
	}
	at_context_leave(&c);
	at_context_destroy(&c);
	for (int i = 0; i < 4; i++)
		at_listener_put(l[i]);
	return err;
}

static int add_to_thread(void)
{
	const struct at_listener_options o = { .size = sizeof(o) };
	struct at_listener *l[2] = { NULL };
	int err = 0;

	for (int i = 0; i < 2 && !err; i++) {
		err = at_listener_new(&l[i], &o, NULL, ALL);
		if (!err)
			err = at_listener_add(l[i]);
	}
	for (int i = 0; i < 2; i++) {
		int gone = l[i] ? at_listener_remove(l[i]) : 0;

		err = err ?: gone;
		/* If the listener could not be removed, live() below ends its last use. */
		at_listener_put(l[i]);
	}
	live(TIMER);
	return err;
}

static int run_local(void)
{
	struct at_local *local = NULL;
	int err = at_local_new(&local, NULL);

	if (!err)
		err = at_local_run(local, "x", nothing, NULL);
	if (!err)
		err = at_local_enter_with(local, "x");
	if (!err)
		err = at_local_enter_with(local, NULL);
	at_local_put(local);
	return err;
}

/*
 * A context needs memory for the value of its third listener. Without this memory, it has no
 * listeners, and the library counts a misuse.
 */
static void no_values(void)
{
	const uint64_t misuses = at_context_misuses();
	struct at_listener *l[3];
	struct at_context c;

	for (int i = 0; i < 3; i++) {
		l[i] = listener("A", ALL);
		at_listener_add(l[i]);
	}
	fail_in = 0;
	at_context_init(&c, TIMER, NULL);
	fail_in = -1;
	at_context_run(&c, nothing, NULL);
	at_context_destroy(&c);
	for (int i = 0; i < 3; i++)
		at_listener_put(l[i]);
	check(said("") && at_context_misuses() == misuses + 1);
	done("H6_context_without_memory_for_values_is_found");
}

int main(void)
{
	listeners();
	without_memory(new_and_add);
	without_memory(add_to_thread);
	without_memory(run_local);
	done("N2_functions_report_missing_memory");
	no_values();
	return finish();
}
