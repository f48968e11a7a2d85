// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Errors in callbacks: at_context_run(), at_context_fail(), at_throw()
 *
 * Listeners and the handler are called where the error occurs, before anything is unwound. So they
 * see the current context, local storage and the message. Unwinding walks the lists of contexts
 * and scopes in at_context_thread, and ends each of them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "contexts.h"

#define AT_EXIT_UNHANDLED	1
#define AT_EXIT_ERROR_IN_ERROR	7
#define AT_EXIT_IN_CALLBACK	-1	/* abort() in debug mode, otherwise AT_EXIT_UNHANDLED */

static at_error_handler unhandled;

AT_PUBLIC at_error_handler at_unhandled_set(at_error_handler handler)
{
	return __atomic_exchange_n(&unhandled, handler, __ATOMIC_ACQ_REL);
}

__attribute__((noreturn))
static AT_COLD void die(const char *why, const struct at_error *e, int status)
{
	fprintf(stderr, "asynctrace: %s%s%s: error %d%s%s\n", why, e->context ? " in " : "",
		e->context ? at_context_name(e->context) : "", e->error,
		e->message ? ": " : "", e->message ?: "");
	if (status == AT_EXIT_IN_CALLBACK && at_misuse_aborts())
		abort();
	exit(status == AT_EXIT_IN_CALLBACK ? AT_EXIT_UNHANDLED : status);
}

AT_COLD bool at_raise(int error, const char *message)
{
	struct at_context_thread *t = &at_context_thread;
	struct at_context *c = at_context_here();
	const enum at_phase phase = t->phase;
	const struct at_error e = { error, message, c };
	at_error_handler handler;
	bool handled;

	if (phase == AT_PHASE_ERROR)
		die("an error() callback or the handler has failed", &e, AT_EXIT_ERROR_IN_ERROR);
	if (error >= 0)
		at_misuse(c, "reported an error that is not negative");
	if (c) {
		at_context_fill(c);
		c->flags_ |= AT_CONTEXT_FAILED;
	}
	t->phase = AT_PHASE_ERROR;
	/* N29: listeners cannot handle an error in a callback of a listener. */
	handled = at_listeners_error(&e) && phase == AT_PHASE_NONE;
	t->stop = phase != AT_PHASE_NONE;
	at_context_record_error(at_operation_current(), &e, handled);
	if (!handled) {
		handler = __atomic_load_n(&unhandled, __ATOMIC_ACQUIRE);
		if (!handler || !handler(&e))
			die(phase == AT_PHASE_NONE ? "unhandled error" : "a listener's callback has failed",
			    &e, phase == AT_PHASE_NONE ? AT_EXIT_UNHANDLED : AT_EXIT_IN_CALLBACK);
	}
	t->phase = phase;
	return handled;
}

AT_PUBLIC bool at_context_fail(int error, const char *message)
{
	return at_raise(error, message);
}

/*
 * Ends all contexts, scopes and emissions that began since the call @k. Uses the name
 * at_context_thread, not its address: see at_current_set_().
 */
static void unwind(struct at_catch *k)
{
	at_emissions_end(k->emission);
	at_context_thread.phase = k->phase;
	while (at_context_here() != k->around)
		at_context_pop();
	at_locals_unwind(k->locals);
	at_operation_leave(&k->here);
	at_context_thread.catch = k->outer;
}

AT_PUBLIC void at_throw(int error, const char *message)
{
	struct at_catch *k = at_context_thread.catch;
	const struct at_error e = { error, message, at_context_here() };

	at_raise(error, message);
	if (!k)
		die("at_throw() outside of at_context_run()", &e, AT_EXIT_UNHANDLED);
	unwind(k);
	/* Not _longjmp(), which thread sanitizers do not know. _setjmp() saves no signal mask. */
	longjmp(k->to, 1);
}

/*
 * Not inlined into at_context_run(), which calls _setjmp(): there, local variables that change
 * after _setjmp() are undefined after longjmp().
 */
static __attribute__((noinline)) int run(struct at_catch *k, struct at_context *c,
					 int (*fn)(void *arg), void *arg)
{
	int result = 0;

	at_context_enter(c);
	/* at_context_enter() has reported misuse. */
	if (at_context_current() == k->around)
		return -EINVAL;
	if (!at_context_is_full(c) || !(c->flags_ & AT_CONTEXT_FAILED)) {
		result = fn(arg);
		if (result < 0) {
			/* N33: do not report an error that at_context_fail() has reported. */
			if (!k->context || !at_context_is_full(c) ||
			    !(c->flags_ & AT_CONTEXT_FAILED))
				at_raise(result, NULL);
			result = 0;
		}
	}
	if (k->context)
		at_context_leave(c);
	return result;
}

/* Uses the name at_context_thread, not its address: see at_current_set_(). */
AT_PUBLIC int at_context_run(struct at_context *c, int (*fn)(void *arg), void *arg)
{
	struct at_catch k;
	int result;

	k.outer = at_context_thread.catch;
	k.context = c;
	k.around = at_context_current();
	k.locals = at_context_thread.scopes;
	k.emission = at_context_thread.emission;
	k.phase = at_context_thread.phase;
	k.here = at_operation_here();
	at_context_thread.catch = &k;
	if (_setjmp(k.to))
		return 0;
	result = run(&k, c, fn, arg);
	at_context_thread.catch = k.outer;
	return result;
}
