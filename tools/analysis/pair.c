// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Operations of programs without async events: from an event START to an event DONE whose
 * argument has the same value. The events become items like those of async begins and ends.
 * operations.c handles the rest.
 */
#include <errno.h>
#include <string.h>

#include "engine.h"

/* @what is a name, or category/name. */
static bool matches(const struct fxt_record *rec, const char *what)
{
	const struct fxt_text *c = &rec->category;

	if (fxt_text_is(&rec->name, what))
		return true;
	/* strncmp() would stop at a NUL within the category. */
	return c->len < strlen(what) && !memcmp(what, c->s, c->len) && what[c->len] == '/' &&
	       fxt_text_is(&rec->name, what + c->len + 1);
}

/* A duration counts as START when it begins and as DONE when it ends. */
static bool is_start(const struct fxt_record *rec, const struct analysis_pair *pair)
{
	return rec->number != ASYNCTRACE_FXT_DURATION_END && matches(rec, pair->start);
}

static bool is_done(const struct fxt_record *rec, const struct analysis_pair *pair)
{
	return rec->number != ASYNCTRACE_FXT_DURATION_BEGIN && matches(rec, pair->done);
}

/*
 * Sets .id of @it if the key is a number, .id and .category if it is a text. Returns false if the
 * key is neither.
 */
static bool take_key(struct analysis *a, const struct fxt_arg *key, struct item *it)
{
	it->category = NO_NAME;
	switch (key->type) {
	case ASYNCTRACE_FXT_ARG_INT32:
	case ASYNCTRACE_FXT_ARG_INT64:
		it->id = (uint64_t)key->i;
		return true;
	case ASYNCTRACE_FXT_ARG_UINT32:
	case ASYNCTRACE_FXT_ARG_UINT64:
	case ASYNCTRACE_FXT_ARG_POINTER:
	case ASYNCTRACE_FXT_ARG_KOID:
		it->id = key->u;
		return true;
	case ASYNCTRACE_FXT_ARG_STRING:
		it->category = fxt_name(&a->names, key->text.s, key->text.len);
		it->id = fxt_hash(it->category, 1);
		return true;
	default:
		return false;
	}
}

int pair_event(struct analysis *a, const struct fxt_record *rec)
{
	const struct analysis_pair *pair = a->opts.pair;
	const bool start = is_start(rec, pair), done = is_done(rec, pair);
	const bool complete = rec->number == ASYNCTRACE_FXT_DURATION;
	struct item it = {
		.ns = rec->ns, .tid = rec->thread.tid, .pid = rec->thread.pid,
		.provider = rec->provider,
		.paired = true,
	};
	const struct fxt_arg *key;
	int err = 0;

	if ((!start && !done) || (complete && rec->end_ns < rec->ns))
		return 0;
	key = fxt_arg(rec, pair->key);
	if (!key || !take_key(a, key, &it)) {
		a->totals.unkeyed++;
		return 0;
	}
	it.name = fxt_name(&a->names, rec->category.s, rec->category.len);
	if (it.name == NO_NAME ||
	    (key->type == ASYNCTRACE_FXT_ARG_STRING && it.category == NO_NAME))
		return -ENOMEM;
	/*
	 * An event that is START and DONE ends one operation and begins the next. A complete
	 * duration begins an operation at .ns and ends it at .end_ns.
	 */
	it.kind = ITEM_EVENT + ASYNCTRACE_FXT_ASYNC_END;
	if (done && !complete)
		err = order_add(a, &it);
	it.kind = ITEM_EVENT + ASYNCTRACE_FXT_ASYNC_BEGIN;
	if (start && !err)
		err = order_add(a, &it);
	it.kind = ITEM_EVENT + ASYNCTRACE_FXT_ASYNC_END;
	it.ns = rec->end_ns;
	return done && complete && !err ? order_add(a, &it) : err;
}
