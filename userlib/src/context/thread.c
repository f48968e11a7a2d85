// SPDX-License-Identifier: LGPL-2.1-or-later
/* The state that each thread has for contexts */
#include "contexts.h"

__thread struct at_context_thread at_context_thread __attribute__((tls_model("initial-exec")));

/*
 * Changes at_current_.context last, so that a signal handler finds all of the change or nothing of
 * it.
 */
AT_PUBLIC AT_COLD void at_context_complete_(void)
{
	struct at_context *c = at_context_current();

	if (at_context_word_() & TRACE_LIGHT_) {
		c->outer_ = NULL;
		c->entered_ = (struct at_entered){
			.thread_ = &at_current_, .depth_ = at_current_.depth, .kind_ = TRACE_ENTER_,
		};
		c->state_ |= TRACE_CONTEXT_RUNS_;
		at_current_set_(c->operation.id);
	}
	at_context_place(c);
}

AT_PUBLIC AT_COLD void at_context_left_(struct at_context *c)
{
	c->state_ &= ~TRACE_CONTEXT_RUNS_;
	if (at_current_.id == c->operation.id)
		at_current_.id = 0;
	at_cell_store_(at_current_.id);
	at_context_place(NULL);
}
