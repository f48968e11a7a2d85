// SPDX-License-Identifier: LGPL-2.1-or-later
/* Events of virtual threads, with times that the program gives */
#include <asynctrace/detail/special.h>

#include "build.h"

AT_PUBLIC void at_vthread_event_(struct at_site_ *site, const uint64_t *refs, uint64_t found,
				 unsigned int kind, uint64_t id, const char *vthread,
				 uint64_t vthread_id, uint64_t ticks,
				 const struct at_arg_ *args, unsigned int nargs)
{
	const bool names = found >> 32 != TRACE_SITE_ON_;
	const unsigned int max = record_words_max();
	/* Space for six fixed words, the last words of three texts, and the id. */
	uint64_t scratch[6 + 3 + ARGS_SCRATCH(nargs) + 1];
	struct at_piece pieces[2 + 2 * 3 + ARGS_PIECES(nargs) + 1];
	unsigned short key_bytes[nargs + 1];
	struct builder b = { .pieces = pieces, .scratch = scratch };
	const unsigned int fixed = 6 + args_words(args, nargs) + !!(kind & TRACE_EXTRA_);
	unsigned int category = 0, name = 0, own;

	(void)refs;
	/*
	 * Use no texts if the sub-buffer is too small. If the run has just ended, sub_mask may
	 * have any value, and the record will not be published.
	 */
	b.room = fixed < max ? 8 * (max - fixed) : 0;
	own = vthread ? strnlen(vthread, TRACE_VTHREAD_NAME_MAX_ + 1) : 0;
	own = take(&b, vthread, at_text_cut(vthread, own, TRACE_VTHREAD_NAME_MAX_));
	if (names) {
		category = take(&b, site->category, strlen(site->category));
		name = take(&b, site->name, strlen(site->name));
		take_keys(&b, site, key_bytes, nargs);
	}

	put_word(&b, names ? inline_ref(category) << 32 | inline_ref(name) << 48 :
			     __atomic_load_n(&site->head, __ATOMIC_RELAXED));
	put_word(&b, 0);
	put_word(&b, found >> 32);
	put_word(&b, ticks);
	put_word(&b, vthread_id);
	put_word(&b, inline_ref(own));
	put_text(&b, site->category, category);
	put_text(&b, site->name, name);
	put_text(&b, vthread, own);
	put_args(&b, site, names ? key_bytes : NULL, args, nargs);
	if (kind & TRACE_EXTRA_)
		put_word(&b, id);
	scratch[0] |= ASYNCTRACE_FXT_EVENT_HEAD(kind & 0xf, b.words & 0xfff, nargs, 0, 0) |
		      ASYNCTRACE_FXT_RING_VIRTUAL << 24;
	at_write_pieces(found, &(struct at_record){ pieces, b.npieces, b.words, 1, &scratch[2] });
}
