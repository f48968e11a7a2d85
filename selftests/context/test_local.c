// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of local storage: current values, and releases of values
 */
#include <errno.h>
#include <string.h>

#include <asynctrace/local.h>

#include "cast.h"

static struct at_local *one, *two;
static int released;

static void release(void *value)
{
	(void)value;
	__atomic_fetch_add(&released, 1, __ATOMIC_RELAXED);
}

static const char *now(const struct at_local *l)
{
	return at_local_get(l) ?: "-";
}

static int say_both(void *unused)
{
	(void)unused;
	say("%s%s", now(one), now(two));
	return 5;
}

static void make(void)
{
	const struct at_local_options o = { .size = sizeof(o), .release = release };

	released = 0;
	check(!at_local_new(&one, &o) && !at_local_new(&two, &o));
}

static void put(int values)
{
	at_local_put(one);
	at_local_put(two);
	check(released == values, "%d", released);
}

static int run_two(void *unused)
{
	say_both(unused);
	return at_local_run(two, "B", say_both, NULL);
}

static void nested(void)
{
	struct at_local *l;

	make();
	say_both(NULL);
	check(at_local_run(one, "A", run_two, NULL) == 5);
	say_both(NULL);
	check(said("-- A- AB --"));
	put(2);
	done("H9_independent_stores_nest");
	check(at_local_new(NULL, NULL) == -EINVAL);
	check(!at_local_new(&l, NULL));
	check(at_local_run(l, "x", nothing, NULL) == 0 && !at_local_get(l));
	at_local_put(l);
	done("H9_options_may_be_missing");
}

static int run_inner(void *unused)
{
	at_local_run(one, "C", say_both, NULL);
	return say_both(unused);
}

static int exit_inner(void *unused)
{
	at_local_exit(one, say_both, NULL);
	at_local_exit(one, run_inner, NULL);
	return say_both(unused);
}

static void inner(void)
{
	make();
	at_local_run(one, "A", run_inner, NULL);
	check(said("C- A-"));
	at_local_run(one, "A", exit_inner, NULL);
	check(said("-- C- -- A-"));
	put(4);
	done("H9_exit_hides_the_value");
}

/* --- contexts -------------------------------------------------------------------------- */

static struct at_context c, child;

static int make_context(void *unused)
{
	(void)unused;
	at_context_init(&c, TIMER, NULL);
	return 0;
}

static int make_child(void *unused)
{
	say_both(unused);
	at_context_init(&child, TIMER, NULL);
	return 0;
}

static void propagates(void)
{
	make();
	at_local_run(one, "A", make_context, NULL);
	at_context_run(&c, make_child, NULL);
	at_context_destroy(&c);
	check(!released);
	at_context_run(&child, say_both, NULL);
	say_both(NULL);
	check(said("A- A- --"));
	check(!released);
	at_context_destroy(&child);
	check(released == 1);
	put(1);
	done("H9_values_live_until_their_last_context");
}

static int enter_with(void *unused)
{
	check(!at_local_enter_with(one, "E"));
	say_both(unused);
	at_context_init(&child, TIMER, NULL);
	return 0;
}

static void enters(void)
{
	make();
	at_context_init(&c, TIMER, NULL);
	at_context_run(&c, enter_with, NULL);
	say_both(NULL);
	at_context_run(&c, say_both, NULL);
	at_context_run(&child, say_both, NULL);
	check(said("E- -- -- E-"));
	at_context_destroy(&c);
	at_context_destroy(&child);
	at_local_run(one, "A", enter_with, NULL);
	at_context_destroy(&child);
	say_both(NULL);
	check(said("E- --"));
	check(!at_local_enter_with(one, "F") && !at_local_enter_with(two, "G"));
	say_both(NULL);
	at_context_init(&c, TIMER, NULL);
	at_context_run(&c, say_both, NULL);
	at_context_destroy(&c);
	say_both(NULL);
	check(said("FG FG FG"));
	at_local_disable(one);
	at_local_disable(two);
	say_both(NULL);
	check(said("--"));
	/* The next change of a value releases the values of disabled storages. */
	at_local_run(one, "H", say_both, NULL);
	check(said("H-"));
	at_local_enter_with(one, NULL);
	put(6);
	done("H9_value_is_entered_until_the_end_of_a_run");
}

static void disables(void)
{
	make();
	at_local_run(one, "A", make_context, NULL);
	at_local_disable(one);
	at_context_run(&c, say_both, NULL);
	check(said("--"));
	at_local_run(one, "B", say_both, NULL);
	at_context_run(&c, make_child, NULL);
	at_context_run(&child, say_both, NULL);
	check(said("B- -- --"));
	at_context_destroy(&c);
	at_context_destroy(&child);
	check(released == 2);
	at_local_put(one);
	at_local_put(two);
	done("H9_disable_ends_all_values");
}

static bool veto(void *value, struct at_context *context)
{
	say(context->provider == TIMER ? "veto" : "pass");
	check(!strcmp(value, "A"));
	return context->provider != TIMER;
}

static int make_both(void *unused)
{
	(void)unused;
	at_context_init(&c, TIMER, NULL);
	at_context_init(&child, TCP, NULL);
	return 0;
}

static int run_in_two(void *unused)
{
	(void)unused;
	return at_local_run(two, "B", make_both, NULL);
}

static void vetoes(void)
{
	const struct at_local_options o = {
		.size = sizeof(o), .release = release, .propagate = veto,
	};

	make();
	at_local_put(one);
	at_local_new(&one, &o);
	at_local_run(one, "A", run_in_two, NULL);
	check(said("veto pass"));
	at_context_run(&c, say_both, NULL);
	at_context_run(&child, say_both, NULL);
	check(said("-B AB"));
	at_context_destroy(&c);
	at_context_destroy(&child);
	/* All references to the values must be dropped. */
	at_local_run(one, "A", make_context, NULL);
	check(said("veto") && !at_current_.inherits);
	at_context_run(&c, say_both, NULL);
	check(said("--"));
	at_context_destroy(&c);
	put(3);
	done("H9_propagation_may_be_vetoed");
}

/* --- errors ---------------------------------------------------------------------------- */

static int throws(void *unused)
{
	(void)unused;
	at_throw(-1, "error");
}

static int throws_in_two(void *unused)
{
	(void)unused;
	at_local_enter_with(one, "E");
	return at_local_run(two, "T", throws, NULL);
}

static bool look(void *object, void *value, const struct at_error *error, bool handled)
{
	(void)object, (void)value, (void)error, (void)handled;
	say_both(NULL);
	return true;
}

static int run_context(void *unused)
{
	(void)unused;
	at_context_run(&c, throws_in_two, NULL);
	return say_both(NULL);
}

static void errors(void)
{
	const struct at_listener_options o = { .error = look };
	struct at_listener *l = listener_of(o, NULL, ALL);

	make();
	at_listener_add(l);
	at_local_run(one, "A", make_context, NULL);
	at_listener_remove(l);
	at_listener_put(l);
	at_local_run(two, "O", run_context, NULL);
	say_both(NULL);
	check(said("ET -O --"));
	at_context_destroy(&c);
	put(4);
	done("H9_error_callback_sees_values_of_the_throw");
}

static int destroy_outer(void *unused)
{
	at_context_destroy(&c);
	memset(&c, 0xa5, sizeof(c));
	return say_both(unused);
}

static int run_child(void *unused)
{
	(void)unused;
	at_context_run(&child, destroy_outer, NULL);
	return say_both(unused);
}

static int run_child_in_two(void *unused)
{
	(void)unused;
	at_local_run(two, "T", run_child, NULL);
	return say_both(unused);
}

static int run_c(void *fn)
{
	at_context_run(&c, *(int (**)(void *))fn, NULL);
	return say_both(NULL);
}

/* Destroys the outer of two nested contexts while the inner one runs. */
static void outer_destroyed(void)
{
	int (*const fns[])(void *unused) = { run_child, run_child_in_two };
	static const char *const expect[] = { "C- O- O- --", "C- AT O- O- --" };

	for (int i = 0; i < 2; i++) {
		make();
		at_local_run(one, "A", make_context, NULL);
		at_local_run(one, "C", make_child, NULL);
		check(said("C-"));
		at_local_run(one, "O", run_c, (void *)&fns[i]);
		say_both(NULL);
		check(said(expect[i]), "%d", i);
		at_context_destroy(&child);
		at_local_put(one);
		at_local_put(two);
		check(released == 3 + i, "%d", released);
	}
	done("H9_outer_context_is_destroyed_in_a_run");
}

/* --- threads --------------------------------------------------------------------------- */

#define THREADS		4

static struct at_context contexts[THREADS];

static int thread_run(void *number)
{
	check(at_local_get(one) == number);
	return at_local_enter_with(two, number);
}

static void *thread(void *number)
{
	for (int i = 0; i < 1000; i++)
		at_context_run(&contexts[(intptr_t)number - 1], thread_run, number);
	at_context_destroy(&contexts[(intptr_t)number - 1]);
	at_local_enter_with(one, number);
	return NULL;
}

static int make_for(void *number)
{
	at_context_init(&contexts[(intptr_t)number - 1], TIMER, NULL);
	return 0;
}

static void threads(void)
{
	pthread_t th[THREADS];

	make();
	for (intptr_t i = 0; i < THREADS; i++)
		at_local_run(one, (void *)(i + 1), make_for, (void *)(i + 1));
	for (intptr_t i = 0; i < THREADS; i++)
		pthread_create(&th[i], NULL, thread, (void *)(i + 1));
	for (int i = 0; i < THREADS; i++)
		pthread_join(th[i], NULL);
	put(THREADS + 1000 * THREADS + THREADS);
	done("H9_threads_have_values_of_their_own");
}

int main(void)
{
	nested();
	inner();
	propagates();
	enters();
	disables();
	vetoes();
	errors();
	outer_destroyed();
	threads();
	return finish();
}
