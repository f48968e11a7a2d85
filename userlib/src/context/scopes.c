// SPDX-License-Identifier: LGPL-2.1-or-later
/* Scopes of local storage: calls of at_local_run(), and changes of a thread's values */
#include "contexts.h"

/* Makes @values current. The scope takes over the reference to the previous values. */
static void begin(struct at_local_scope *s, struct at_locals_ *values)
{
	struct at_context_thread *t = &at_context_thread;

	*s = (struct at_local_scope){ t->scopes, t->locals, at_context_here() };
	t->scopes = s;
	t->locals = values;
	at_context_thread_changed();
}

static void end_innermost(void)
{
	struct at_context_thread *t = &at_context_thread;
	struct at_local_scope *s = t->scopes;
	struct at_locals_ *values = t->locals;

	t->scopes = s->outer;
	t->locals = s->before;
	at_locals_drop(values);
}

void at_locals_unwind(struct at_local_scope *to)
{
	while (at_context_thread.scopes != to)
		end_innermost();
	at_context_thread_changed();
}

void at_locals_unwind_run(const struct at_context *c)
{
	while (at_context_thread.scopes && at_context_thread.scopes->context == c)
		end_innermost();
}

AT_PUBLIC int at_local_run(struct at_local *local, void *value, int (*fn)(void *arg), void *arg)
{
	struct at_locals_ *values;
	struct at_local_scope s;
	int result = at_locals_change(local, value, &values);

	if (result)
		return result;
	begin(&s, values);
	result = fn(arg);
	at_locals_unwind(s.outer);
	return result;
}

AT_PUBLIC int at_local_exit(struct at_local *local, int (*fn)(void *arg), void *arg)
{
	return at_local_run(local, NULL, fn, arg);
}

AT_PUBLIC int at_local_enter_with(struct at_local *local, void *value)
{
	struct at_locals_ *values, *before = at_context_thread.locals;
	const int err = at_locals_change(local, value, &values);

	if (err)
		return err;
	/* The end of the run, or of the thread, drops the reference to @values. */
	if (at_context_here())
		at_context_fill(at_context_here());
	else
		at_context_thread_watch();
	at_context_thread.locals = values;
	at_locals_drop(before);
	at_context_thread_changed();
	return 0;
}
