// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lives of contexts: each is made first, runs on one thread at a time, and does not run after it
 * was destroyed. check_time.c checks that a context is made and destroyed once: a context is an
 * async operation.
 */
#include <errno.h>

#include "check_priv.h"

int fxt_context_enter(struct fxt_check *c, const struct fxt_item *it)
{
	struct fxt_entry *e;

	if (!fxt_async_newest(&c->asyncs, fxt_async_id(&c->asyncs, it->id, it->pid)))
		fxt_found(c, FXT_RULE_CONTEXT_LIFE, it->offset, "\"%s\" 0x%llx on thread %u",
			  c->names.of[it->name], (unsigned long long)it->id, it->tid);
	e = fxt_make(&c->running, fxt_hash(it->id, 0));
	if (!e)
		return -ENOMEM;
	if (e->a)
		fxt_found(c, FXT_RULE_CONTEXT_TWICE, it->offset, "\"%s\" 0x%llx on thread %u",
			  c->names.of[it->name], (unsigned long long)it->id, it->tid);
	e->a = 1;
	return 0;
}

void fxt_context_leave(struct fxt_check *c, uint64_t id)
{
	struct fxt_entry *e = fxt_find(&c->running, fxt_hash(id, 0));

	if (e)
		fxt_remove(&c->running, e);
}
