// SPDX-License-Identifier: LGPL-2.1-or-later
/* Blobs: bytes without a defined meaning. They are written whole or not at all. */
#include <asynctrace/detail/special.h>

#include "build.h"

AT_PUBLIC void at_blob_(struct at_site_ *site, const uint64_t *refs, uint64_t found,
			unsigned int what, const void *blob, size_t size,
			const struct at_arg_ *args, unsigned int nargs)
{
	const uint32_t gate = found;
	const bool names = found >> 32 != TRACE_SITE_ON_;
	const bool large = what == TRACE_BLOB_EVENT_ || what == TRACE_BLOB_ATTACHMENT_;
	const unsigned int max = record_words_max();
	/*
	 * Space for header, time, slot, format word and size, and for the last words of two names
	 * and of the blob.
	 */
	uint64_t scratch[5 + 3 + ARGS_SCRATCH(nargs)];
	struct at_piece pieces[2 + 2 * 3 + ARGS_PIECES(nargs)];
	unsigned short key_bytes[nargs + 1];
	struct builder b = { .pieces = pieces, .scratch = scratch };
	unsigned int category = 0, name = 0, fixed;
	uint64_t head;

	(void)refs;
	if (size > ASYNCTRACE_FXT_BLOB_MAX) {
		drop_record(found);
		return;
	}
	fixed = 3 + 2 * large + args_words(args, nargs) + ASYNCTRACE_FXT_TEXT_WORDS(size);
	if (fixed > max) {
		drop_record(found);
		return;
	}
	b.room = 8 * (max - fixed);
	if (names) {
		category = large ? take(&b, site->category, strlen(site->category)) : 0;
		name = take(&b, site->name, strlen(site->name));
		take_keys(&b, site, key_bytes, nargs);
	}
	head = names ? inline_ref(category) << 32 | inline_ref(name) << 48 :
		       __atomic_load_n(&site->head, __ATOMIC_RELAXED);

	put_word(&b, 0);
	put_word(&b, 0);
	put_word(&b, found >> 32);
	/* The format word: category, name, number of arguments. */
	if (large)
		put_word(&b, head >> 32 | (uint64_t)nargs << 32);
	put_text(&b, site->category, category);
	put_text(&b, site->name, name);
	put_args(&b, site, names ? key_bytes : NULL, args, nargs);
	if (large)
		put_word(&b, size);
	put_text(&b, blob, size);

	if (large)
		scratch[0] = ASYNCTRACE_FXT_HEAD(ASYNCTRACE_FXT_LARGE, b.words) |
			     (uint64_t)ASYNCTRACE_FXT_LARGE_BLOB << 36 |
			     (uint64_t)(what - TRACE_BLOB_EVENT_) << 40;
	else
		scratch[0] = ASYNCTRACE_FXT_HEAD(ASYNCTRACE_FXT_BLOB, b.words) |
			     (head >> 48) << 16 | (uint64_t)size << 32 |
			     (uint64_t)(what & 0xff) << 48;
	at_write_pieces(gate, &(struct at_record){ pieces, b.npieces, b.words, 1, &scratch[2] });
}
