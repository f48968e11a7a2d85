// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of errors: which callbacks are called, in which order and in which context; what is
 * unwound; how a process exits
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cast.h"
#include "kept.h"

static int throws(void *message)
{
	at_throw(-5, message);
}

static int result(void *number)
{
	return (int)(intptr_t)number;
}

static int fails(void *message)
{
	say(at_context_fail(-5, message) ? "handled" : "swallowed");
	return 0;
}

static int fails_and_returns(void *message)
{
	fails(message);
	return -5;
}

static struct at_error last;
static char last_message[50];

static bool swallow(const struct at_error *error)
{
	say("global");
	last = *error;
	snprintf(last_message, sizeof(last_message), "%s", error->message ?: "");
	return true;
}

/* Makes a context with these listeners. */
static void make(struct at_context *c, uint32_t provider, struct at_listener *a,
		 struct at_listener *b)
{
	at_listener_add(a);
	if (b)
		at_listener_add(b);
	at_context_init(c, provider, c);
	at_listener_remove(a);
	at_listener_put(a);
	if (!b)
		return;
	at_listener_remove(b);
	at_listener_put(b);
}

/* --- calls of error() ------------------------------------------------------------------ */

static int deep(int levels, void *message)
{
	if (!levels && message)
		throws(message);
	return levels ? deep(levels - 1, message) + 1 : 0;
}

static int throws_deep(void *message)
{
	return deep(50, message);
}

static void each_way(void)
{
	static const struct {
		int (*fn)(void *arg);
		void *arg;
		const char *said;
	} ways[] = {
		{ throws, "message", "cA bA eA dA" },
		{ throws_deep, "message", "cA bA eA dA" },
		{ result, (void *)-7, "cA bA eA dA" },
		{ fails, "message", "cA bA eA handled dA" },
		{ fails_and_returns, "message", "cA bA eA handled dA" },
		{ result, (void *)0, "cA bA aA dA" },
	};
	struct at_context c;

	for (unsigned int i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		make(&c, TIMER, handler("A", ALL, true), NULL);
		check(at_context_run(&c, ways[i].fn, ways[i].arg) == 0);
		check(!at_context_current() && !at_operation_current());
		at_context_destroy(&c);
		check(said(ways[i].said), "%u", i);
	}
	done("N20_error_at_any_depth_is_reported");
	done("N10_after_is_not_called_after_an_error");
	make(&c, TIMER, handler("A", ALL, true), NULL);
	check(at_context_run(&c, result, (void *)9) == 9);
	at_context_destroy(&c);
	check(said("cA bA aA dA"));
	done("result_of_a_callback_is_returned");
}

static const struct at_error *seen;
static struct at_error seen_copy;
static char seen_message[50];
static void *seen_object;

static bool look(void *object, void *value, const struct at_error *error, bool handled)
{
	say("%s%d", (char *)value, handled);
	seen = error;
	seen_copy = *error;
	seen_object = object;
	snprintf(seen_message, sizeof(seen_message), "%s", error->message ?: "");
	return true;
}

static struct at_context inner;

static int enter_and_throw(void *unused)
{
	(void)unused;
	at_context_enter(&inner);
	return throws("inner");
}

static void innermost(void)
{
	const struct at_listener_options o = { .error = look };
	struct at_context c;
	char message[] = "on the stack";

	make(&c, TIMER, listener_of(o, "A", ALL), NULL);
	at_context_run(&c, throws, message);
	check(seen_copy.context == &c && seen_object == &c && seen_copy.error == -5);
	check(!strcmp(seen_message, "on the stack"));
	at_context_run(&c, result, (void *)-7);
	check(seen_copy.context == &c && seen_copy.error == -7 && !*seen_message);
	check(said("A0 A0"));
	make(&inner, TIMER, listener_of(o, "I", ALL), NULL);
	at_context_run(&c, enter_and_throw, NULL);
	check(seen_copy.context == &inner && seen_object == &inner);
	check(said("I0"));
	check(!at_context_current());
	at_context_destroy(&inner);
	at_context_destroy(&c);
	done("N21_context_of_an_error_is_the_innermost");
}

static void all_are_called(void)
{
	const struct at_listener_options o = { .error = look };
	struct at_context c;

	make(&c, TIMER, handler("A", ALL, true), handler("B", ALL, true));
	at_context_run(&c, throws, NULL);
	at_context_destroy(&c);
	check(said("cA cB bA bB eA eB dA dB"));
	done("N22_all_error_callbacks_are_called");
	for (int a = 0; a < 2; a++) {
		make(&c, TIMER, handler("A", ALL, a), handler("B", ALL, !a));
		at_context_run(&c, throws, NULL);
		at_context_destroy(&c);
		check(said("cA cB bA bB eA eB dA dB"));
	}
	done("N23_one_handling_listener_is_enough");
	make(&c, TIMER, listener_of(o, "A", ALL), listener_of(o, "B", ALL));
	at_context_run(&c, throws, NULL);
	at_context_destroy(&c);
	check(said("A0 B1"));
	make(&c, TIMER, handler("A", ALL, false), listener_of(o, "B", ALL));
	at_context_run(&c, throws, NULL);
	at_context_destroy(&c);
	check(said("cA bA eA B0 dA"));
	done("N24_handled_means_an_earlier_listener_did");
}

static void none_handles(void)
{
	struct at_context c;

	at_unhandled_set(swallow);
	make(&c, TIMER, handler("A", ALL, false), handler("B", ALL, false));
	at_context_run(&c, throws, "why");
	at_context_destroy(&c);
	check(said("cA cB bA bB eA eB global dA dB"));
	check(last.error == -5 && last.context == &c && !strcmp(last_message, "why"));
	make(&c, TIMER, handler("A", ALL, false), NULL);
	at_context_run(&c, fails, "why");
	at_context_destroy(&c);
	check(said("cA bA eA global swallowed dA"));
	at_context_init(&c, TIMER, NULL);
	at_context_run(&c, result, (void *)-9);
	at_context_destroy(&c);
	check(said("global") && last.error == -9);
	check(at_unhandled_set(NULL) == swallow);
	done("N25_unhandled_error_goes_to_the_handler");
}

static void any_provider(void)
{
	struct at_context c;

	make(&c, FS, handler("A", TCP, true), NULL);
	at_context_run(&c, throws, NULL);
	at_context_destroy(&c);
	check(said("eA"));
	done("N26_error_is_called_for_each_provider");
	/* make() has removed the listener before the run. */
	make(&c, TIMER, handler("A", ALL, true), NULL);
	at_context_run(&c, throws, NULL);
	at_context_destroy(&c);
	check(said("cA bA eA dA"));
	done("N27_error_is_called_for_removed_listener");
}

/* --- errors of callbacks of listeners -------------------------------------------------- */

static int phase_fails;		/* result of a callback; 0: it calls at_throw() */

static void fail_in(void *object, void *value)
{
	(void)object;
	say("!%s", (char *)value);
	if (phase_fails)
		at_context_fail(-1, value);
	else
		at_throw(-1, value);
}

static void *fail_in_create(void *data, const char *type, void *object)
{
	(void)type;
	fail_in(object, data);
	return ASYNCTRACE_KEEP;
}

static int ran(void *unused)
{
	(void)unused;
	say("ran");
	return 0;
}

enum callback { IN_CREATE, IN_BEFORE, IN_AFTER };

static struct at_listener *failing(const char *name, enum callback in)
{
	struct at_listener_options o = says;

	o.error = says_handled;
	if (in == IN_CREATE)
		o.create = fail_in_create;
	if (in == IN_BEFORE)
		o.before = fail_in;
	if (in == IN_AFTER)
		o.after = fail_in;
	return listener_of(o, (void *)(uintptr_t)name, ALL);
}

static void in_before(void)
{
	struct at_context c;

	at_unhandled_set(swallow);
	for (phase_fails = 0; phase_fails < 2; phase_fails++) {
		make(&c, TICK, failing("A", IN_BEFORE), failing("B", IN_BEFORE));
		at_context_run(&c, ran, NULL);
		check(!at_context_current() && !at_operation_current());
		check(said("cA cB !A eA eB global"), "%d", phase_fails);
		check(!strcmp(last_message, "A") && last.context == &c);
		at_context_destroy(&c);
		check(said("dA dB"));
	}
	done("N29_error_in_before_is_never_handled");
	done("N30_error_in_before_stops_later_listeners");
	done("N32_before_that_failed_is_not_run_again");
	/* The error must not affect the next run. */
	phase_fails = 0;
	make(&c, TICK, failing("A", IN_BEFORE), NULL);
	for (int i = 0; i < 3; i++) {
		at_context_run(&c, ran, NULL);
		check(said(i ? "!A eA global" : "cA !A eA global"));
	}
	live(TIMER);
	check(said(""));
	at_context_destroy(&c);
	check(said("dA"));
	done("N31_next_run_begins_with_a_clean_stack");
	at_unhandled_set(NULL);
}

static void in_after(void)
{
	struct at_context c;

	at_unhandled_set(swallow);
	for (phase_fails = 0; phase_fails < 2; phase_fails++) {
		make(&c, TICK, failing("A", IN_AFTER), handler("B", ALL, true));
		at_context_run(&c, ran, NULL);
		check(!at_context_current());
		check(said("cA cB bA bB ran !A eA eB global"), "%d", phase_fails);
		at_context_destroy(&c);
		check(said("dA dB"));
	}
	done("N29_error_in_after_is_never_handled");
	at_unhandled_set(NULL);
}

static int make_inner(void *unused)
{
	(void)unused;
	at_context_init(&inner, TIMER, NULL);
	say("made");
	return 0;
}

static void in_create(void)
{
	struct at_context c;

	at_unhandled_set(swallow);
	for (phase_fails = 0; phase_fails < 2; phase_fails++) {
		struct at_listener *l = failing("A", IN_CREATE), *b = handler("B", ALL, true);

		at_context_init(&c, TIMER, NULL);
		at_context_enter(&c);
		at_listener_add(l);
		at_listener_add(b);
		at_context_leave(&c);
		at_context_run(&c, make_inner, NULL);
		check(!at_context_current());
		/*
		 * After at_context_fail() in create(), at_context_init() returns; after at_throw(),
		 * it does not.
		 */
		check(said(phase_fails ? "bA bB !A eA eB global made" : "bA bB !A eA eB global"));
		check(last.context == &c);
		at_context_destroy(&inner);
		at_context_destroy(&c);
		check(said(phase_fails ? "dA" : ""));
		at_listener_put(l);
		at_listener_put(b);
	}
	done("N29_error_in_create_is_never_handled");
	at_unhandled_set(NULL);
}

/* --- exactly once ---------------------------------------------------------------------- */

static int run_inner_and_return(void *unused)
{
	(void)unused;
	return at_context_run(&inner, throws, "inner");
}

static void once(void)
{
	struct at_context c;

	make(&c, TCP, handler("O", ALL, true), NULL);
	make(&inner, TCP, handler("I", ALL, true), NULL);
	at_context_run(&c, run_inner_and_return, NULL);
	check(said("cO cI bO bI eI aO"));
	at_context_destroy(&c);
	at_context_destroy(&inner);
	check(said("dO dI"));
	done("N33_error_is_reported_once_in_nested_runs");
}

static struct at_context third;

static int swallowed_then_current(void *unused)
{
	(void)unused;
	at_context_run(&inner, throws, "x");
	say(at_context_current() == &third ? "third" : "?");
	say(at_operation_current() == third.operation.id ? "id" : "?");
	return 0;
}

static bool ids_in_handler(const struct at_error *error)
{
	say(at_context_current() == error->context && at_context_current() == &inner &&
	    at_operation_current() == inner.operation.id ? "inside" : "?");
	return true;
}

static void valid_ids(void)
{
	at_unhandled_set(ids_in_handler);
	at_context_init(&inner, TIMER, NULL);
	at_context_init(&third, TIMER, NULL);
	at_context_run(&third, swallowed_then_current, NULL);
	check(said("inside third id"));
	at_context_destroy(&inner);
	at_context_destroy(&third);
	at_unhandled_set(NULL);
	done("H8_ids_are_right_in_the_handler_and_after");
}

/* --- what is unwound ------------------------------------------------------------------- */

static int leave_scopes_open(void *unused)
{
	TRACE_OPERATION_SCOPE(7, "scope", "one");
	TRACE_REGION("scope", "two");

	at_context_enter(&inner);
	{
		TRACE_OPERATION_SCOPE(8, "scope", "three");
		return throws(unused);
	}
}

static void unwinding(void)
{
	unsigned int begins = 0, ends = 0;
	struct at_context c;

	kept_begin(NULL);
	make(&inner, TCP, handler("I", ALL, true), NULL);
	at_context_init(&c, TIMER, NULL);
	{
		TRACE_OPERATION_SCOPE(5, "scope", "around");

		at_context_run(&c, leave_scopes_open, "message");
		check(at_operation_current() == 5 && !at_context_current());
		at_context_run(&c, result, (void *)0);
	}
	at_context_destroy(&c);
	at_context_destroy(&inner);
	check(said("cI bI eI dI"));
	kept_end();
	kept_check_contexts();
	for (unsigned int i = 0; i < nr_kept; i++) {
		begins += kept[i].ev.type == ASYNCTRACE_FXT_DURATION_BEGIN;
		ends += kept[i].ev.type == ASYNCTRACE_FXT_DURATION_END;
		if (!kept_is(&kept[i], ASYNCTRACE_FXT_INSTANT, "error"))
			continue;
		/* The error belongs to the current operation: the one of the innermost scope. */
		check(kept_number(&kept[i], "operation", 0) == 8 &&
		      (int32_t)kept_number(&kept[i], "error", 0) == -5 &&
		      kept_number(&kept[i], "handled", 0) == 1 &&
		      !strcmp(kept_text(&kept[i], "message"), "message"));
	}
	check(begins == 7 && ends == begins, "%u %u", begins, ends);
	check(kept_count(ASYNCTRACE_FXT_INSTANT, "error") == 1 &&
	      !kept_count(ASYNCTRACE_FXT_INSTANT, "misuse"));
	kept_forget();
	done("H8_throw_ends_all_runs_and_scopes_between");
}

static struct at_context *doomed;

static int destroy_and(void *throw)
{
	at_context_destroy(doomed);
	memset(doomed, 0xa5, sizeof(*doomed));
	if (throw)
		at_throw(-1, throw);
	return 3;
}

static void destroyed_in_run(void)
{
	struct at_context c;

	doomed = &c;
	at_unhandled_set(swallow);
	make(&c, TIMER, handler("A", ALL, true), NULL);
	check(at_context_run(&c, destroy_and, NULL) == 3 && !at_context_current());
	check(said("cA bA aA dA"));
	make(&c, TIMER, handler("A", ALL, true), NULL);
	check(at_context_run(&c, destroy_and, "late") == 0 && !at_context_current());
	check(said("cA bA aA dA global"));
	check(!last.context);
	at_unhandled_set(NULL);
	done("H2_callback_may_destroy_its_own_context");
}

static int run_again(void *c)
{
	return at_context_run(c, ran, NULL) == -EINVAL ? 1 : 0;
}

static void refused(void)
{
	const uint64_t before = at_context_misuses();
	struct at_context c;

	at_context_init(&c, TIMER, NULL);
	check(at_context_run(&c, run_again, &c) == 1);
	at_context_destroy(&c);
	check(at_context_run(&c, ran, NULL) == -EINVAL);
	check(said("") && at_context_misuses() == before + 2);
	done("H6_run_of_a_wrong_context_is_refused");
}

/* --- exits ----------------------------------------------------------------------------- */

static void at_the_end(int status, void *unused)
{
	(void)unused;
	dprintf(2, "exit hook: %d\n", status);
}

static void exit_unhandled(void)
{
	struct at_context c;

	on_exit(at_the_end, NULL);
	make(&c, TIMER, handler("A", ALL, false), NULL);
	at_context_run(&c, throws, "random message");
	dprintf(2, "went on\n");
}

static bool refuse(const struct at_error *error)
{
	(void)error;
	dprintf(2, "refused\n");
	return false;
}

static void exit_refused(void)
{
	at_unhandled_set(refuse);
	exit_unhandled();
}

static bool throw_in_error(void *object, void *value, const struct at_error *error, bool handled)
{
	(void)object, (void)value, (void)handled, (void)error;
	at_throw(-2, "in the error callback");
}

static bool fail_in_error(void *object, void *value, const struct at_error *error, bool handled)
{
	(void)object, (void)value, (void)handled, (void)error;
	at_context_fail(-2, "in the error callback");
	return true;
}

static bool not_called(const struct at_error *error)
{
	(void)error;
	dprintf(2, "handler\n");
	return true;
}

static void exit_error_in_error(void)
{
	const struct at_listener_options o = {
		.error = phase_fails ? fail_in_error : throw_in_error,
	};
	struct at_context c;

	on_exit(at_the_end, NULL);
	at_unhandled_set(not_called);
	make(&c, TIMER, listener_of(o, NULL, ALL), NULL);
	at_context_run(&c, throws, "first");
	dprintf(2, "went on\n");
}

static bool fail_in_handler(const struct at_error *error)
{
	(void)error;
	at_throw(-3, "in the handler");
}

static void exit_error_in_handler(void)
{
	struct at_context c;

	at_unhandled_set(fail_in_handler);
	at_context_init(&c, TIMER, NULL);
	at_context_run(&c, throws, "first");
}

static void exit_throw_outside(void)
{
	struct at_listener *l = handler("A", ALL, true);
	struct at_context c;

	on_exit(at_the_end, NULL);
	at_listener_add(l);
	at_context_init(&c, TIMER, NULL);
	at_context_enter(&c);
	at_throw(-1, "nowhere to go");
}

static void exits(void)
{
	char text[1000];
	int status = in_child_process(exit_unhandled, text, sizeof(text));

	check(status == 1 && strstr(text, "TIMER: error -5: random message\n") && !strstr(text, "went on"),
	      "%d %s", status, text);
	done("N25_process_exits_if_nothing_handles_it");
	check(strstr(text, "exit hook: 1\n"), "%s", text);
	done("N34_exit_hook_gets_the_status");
	status = in_child_process(exit_refused, text, sizeof(text));
	check(status == 1 && strstr(text, "refused\n"), "%d %s", status, text);
	done("N25_handler_may_refuse_an_error");
	for (phase_fails = 0; phase_fails < 2; phase_fails++) {
		status = in_child_process(exit_error_in_error, text, sizeof(text));
		check(status == 7 && strstr(text, "exit hook: 7\n") && !strstr(text, "handler\n") &&
		      strstr(text, "in the error callback") && !strstr(text, "went on"), "%d %s",
		      status, text);
	}
	status = in_child_process(exit_error_in_handler, text, sizeof(text));
	check(status == 7 && strstr(text, "in the handler"), "%d %s", status, text);
	done("N28_error_in_an_error_callback_exits_with_7");
	status = in_child_process(exit_throw_outside, text, sizeof(text));
	check(status == 1 && strstr(text, "outside of at_context_run()"), "%d %s", status, text);
	done("N20_throw_outside_of_a_run_exits");
}

/* An error outside of all contexts calls the listeners of the thread itself. */
static void outside(void)
{
	struct at_listener *l = handler("A", ALL, true);

	at_listener_add(l);
	fails(NULL);
	check(said("eA handled"));
	at_listener_remove(l);
	at_listener_put(l);
	done("N21_error_outside_of_contexts_is_reported");
}

static void fails_unheard(void)
{
	at_unhandled_set(swallow);
	fails(NULL);
	check(said("global swallowed"));
	at_unhandled_set(NULL);
}

static bool run_in_error(void *object, void *value, const struct at_error *error, bool handled)
{
	(void)object, (void)error;
	live(TIMER);
	say("e%s%d", (char *)value, handled);
	return true;
}

/*
 * A callback enters and leaves a context, which removes the listeners of the thread itself. The
 * emission to these listeners must still go on.
 */
static void run_in_callback(void)
{
	const struct at_listener_options o = { .error = run_in_error };
	struct at_listener *a = listener_of(o, "A", ALL), *b = listener_of(o, "B", ALL);

	at_listener_add(a);
	at_listener_add(b);
	at_listener_put(a);
	at_listener_put(b);
	fails(NULL);
	check(said("eA0 eB1 handled"));
	fails_unheard();
	done("N53_run_in_an_error_callback_outside");
}

static void not_negative(void)
{
	const uint64_t before = at_context_misuses();
	struct at_context c;

	at_context_init(&c, TIMER, NULL);
	at_unhandled_set(swallow);
	at_context_enter(&c);
	at_context_fail(5, "positive");
	at_context_leave(&c);
	at_context_destroy(&c);
	at_unhandled_set(NULL);
	check(at_context_misuses() == before + 1 && said("global"));
	done("H6_error_that_is_not_negative_is_found");
}

int main(void)
{
	each_way();
	innermost();
	all_are_called();
	none_handles();
	any_provider();
	in_before();
	in_after();
	in_create();
	once();
	valid_ids();
	unwinding();
	destroyed_in_run();
	refused();
	exits();
	outside();
	run_in_callback();
	not_negative();
	return finish();
}
