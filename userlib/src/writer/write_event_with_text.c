// SPDX-License-Identifier: LGPL-2.1-or-later
/* Writing events with text: string arguments, and names that could not be interned */
#include <string.h>

#include "build.h"

/* Offsets and limits that write_event_with_text_x86_64.S uses. */
_Static_assert(offsetof(struct at_text_, skip) == 0, "asm");
_Static_assert(offsetof(struct at_text_, bytes) == 4, "asm");
_Static_assert(offsetof(struct at_text_, from) == 8, "asm");
_Static_assert(sizeof(struct at_text_) == 16, "asm");
_Static_assert(ASYNCTRACE_FXT_STRING_MAX == 32000, "asm");
_Static_assert(ASYNCTRACE_FXT_WORDS_MAX == 4095, "asm");
_Static_assert(ASYNCTRACE_FXT_INLINE == 0x8000, "asm");

typedef void write_fn(uint32_t gate, const struct at_record *rec);

/* Writes the words @w with the texts in between. Completes the headers in @w. */
static void write_texts(uint32_t gate, uint64_t *w, unsigned int n, const struct at_text_ *texts,
			unsigned int ntexts, bool duration, write_fn *write)
{
	uint64_t tails[ntexts];
	/* For each text: the words before it, its whole words, and its last word. */
	struct at_piece pieces[3 * ntexts + 1];
	struct builder b = { .pieces = pieces, .scratch = tails, .room = room_beside(n) };
	unsigned int from = 0, at = 3;

	for (unsigned int i = 0; i < ntexts; i++) {
		const unsigned int bytes = take(&b, texts[i].from, texts[i].bytes);

		at += texts[i].skip;
		w[at] += inline_ref(bytes) << 32 | ASYNCTRACE_FXT_TEXT_WORDS(bytes) << 4;
		put_words(&b, w + from, at + 1 - from);
		put_text(&b, texts[i].from, bytes);
		from = ++at;
	}
	put_words(&b, w + from, n - from);
	w[0] |= (uint64_t)b.words << 4;
	write(gate, &(struct at_record){ pieces, b.npieces, b.words, duration ? b.words - 1 : 1,
					 &w[2] });
}

AT_COLD void at_write_texts_slowly(uint32_t gate, uint64_t *w, unsigned int n,
				   const struct at_text_ *texts, unsigned int ntexts, int duration)
{
	w[2] = TRACE_SITE_ON_;
	write_texts(gate, w, n, texts, ntexts, duration, at_write_record);
}

/* On x86-64, write_event_with_text_x86_64.S defines these two functions. */
#ifndef __x86_64__

AT_PUBLIC void at_write_texts_(uint32_t gate, uint64_t *w, unsigned int n,
			       const struct at_text_ *texts, unsigned int ntexts)
{
	write_texts(gate, w, n, texts, ntexts, false, at_write_pieces);
}

AT_PUBLIC void at_duration_texts_(uint32_t gate, uint64_t *w, unsigned int n,
				  const struct at_text_ *texts, unsigned int ntexts)
{
	write_texts(gate, w, n, texts, ntexts, true, at_write_pieces);
}

#endif

static unsigned int take_name(struct builder *b, const char *s, size_t max)
{
	return take(b, s, at_text_cut(s, strlen(s), max));
}

void at_write_names(uint32_t gate, const struct at_site_ *site, int mode, unsigned int kind,
		    uint64_t word, const struct at_arg_ *args, unsigned int nargs,
		    size_t name_max)
{
	const unsigned int etype = kind & 0xf;
	const bool names = mode != TRACE_SITE_ON_, duration = etype == ASYNCTRACE_FXT_DURATION;
	/*
	 * Space for header, time and slot; for the last words of category and name; for each
	 * argument, its header, the last word of its key, and its value or the last word of its
	 * text; and for the last word of the record.
	 */
	uint64_t scratch[3 + 2 + 3 * nargs + 1];
	struct at_piece pieces[4 + 4 * nargs + 1];
	unsigned short key_bytes[nargs + 1];
	struct builder b = { .pieces = pieces, .scratch = scratch };
	unsigned int category = 0, name = 0, fixed = 3;

	fixed += args_words(args, nargs);
	if (kind & TRACE_EXTRA_ || duration)
		fixed++;
	b.room = room_beside(fixed);
	if (names) {
		category = take_name(&b, site->category, name_max);
		name = take_name(&b, site->name, name_max);
		take_keys(&b, site, key_bytes, nargs);
	}

	put_word(&b, names ? inline_ref(category) << 32 | inline_ref(name) << 48 :
			     __atomic_load_n(&site->head, __ATOMIC_RELAXED));
	put_word(&b, duration ? word : 0);
	put_word(&b, mode);
	if (names) {
		put_text(&b, site->category, category);
		put_text(&b, site->name, name);
	}
	put_args(&b, site, names ? key_bytes : NULL, args, nargs);
	if (kind & TRACE_EXTRA_)
		put_word(&b, word);
	else if (duration)
		put_word(&b, 0);

	scratch[0] |= ASYNCTRACE_FXT_EVENT_HEAD(etype, b.words & 0xfff, nargs, 0, 0);
	at_write_pieces(gate, &(struct at_record){ pieces, b.npieces, b.words,
						   duration ? b.words - 1 : 1, &scratch[2] });
}

/*
 * Writes an event with arguments. @kind: the event's type and TRACE_EXTRA_. @word: the id if
 * there is one, or the begin of a duration.
 */
AT_PUBLIC void at_write_args_(uint32_t gate, const struct at_site_ *site, int mode,
			      unsigned int kind, uint64_t word, const struct at_arg_ *args,
			      unsigned int nargs)
{
	at_write_names(gate, site, mode, kind, word, args, nargs, ASYNCTRACE_FXT_STRING_MAX);
}
