// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Events whose names are chosen at run time. The record carries the names inline, because the
 * durable ring has no room for an unlimited number of names.
 */
#include <asynctrace/detail/special.h>

#include "build.h"

AT_PUBLIC void at_named_event_(struct at_site_ *site, const uint64_t *refs, uint64_t found,
			       unsigned int type, uint64_t id, const char *name,
			       const struct at_named_arg_ *named, size_t num_named,
			       const struct at_arg_ *args, unsigned int nargs)
{
	const unsigned int n = num_named < ASYNCTRACE_FXT_ARGS_MAX ? num_named :
								      ASYNCTRACE_FXT_ARGS_MAX;
	const bool extra = type == ASYNCTRACE_FXT_COUNTER || type >= ASYNCTRACE_FXT_ASYNC_BEGIN;
	const unsigned int max = record_words_max();
	uint64_t scratch[3 + 2 + ARGS_SCRATCH(n) + 1];
	struct at_piece pieces[2 + 2 * 2 + ARGS_PIECES(n) + 1];
	struct builder b = { .pieces = pieces, .scratch = scratch };
	unsigned int category = 0, name_bytes, fixed = 3 + extra;
	uint64_t head;

	(void)refs, (void)args, (void)nargs;
	/* A complete duration would need two times. */
	if (num_named > ASYNCTRACE_FXT_ARGS_MAX || type >= ASYNCTRACE_FXT_EVENT_TYPES ||
	    type == ASYNCTRACE_FXT_DURATION || (num_named && !named)) {
		drop_record(found);
		return;
	}
	if (!name)
		name = "";
	for (unsigned int i = 0; i < n; i++)
		fixed += args_words(&named[i].value, 1);
	b.room = fixed < max ? 8 * (max - fixed) : 0;
	if (found >> 32 != TRACE_SITE_ON_)
		category = take(&b, site->category, strlen(site->category));
	name_bytes = take(&b, name, strlen(name));
	head = found >> 32 == TRACE_SITE_ON_ ? __atomic_load_n(&site->head, __ATOMIC_RELAXED) :
					       inline_ref(category) << 32;

	put_word(&b, head | inline_ref(name_bytes) << 48);
	put_word(&b, 0);
	put_word(&b, found >> 32);
	put_text(&b, site->category, category);
	put_text(&b, name, name_bytes);
	for (unsigned int i = 0; i < n; i++) {
		const char *key = named[i].name ?: "";
		const unsigned int bytes = take(&b, key, strlen(key));

		put_arg(&b, inline_ref(bytes) << 16, key, bytes, &named[i].value);
	}
	if (extra)
		put_word(&b, id);
	scratch[0] |= ASYNCTRACE_FXT_EVENT_HEAD(type, b.words & 0xfff, n, 0, 0);
	at_write_pieces(found, &(struct at_record){ pieces, b.npieces, b.words, 1, &scratch[2] });
}
