// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Records with text in them: string arguments, and names that could not be
 * interned
 *
 * Text is copied from where it lies: a run of whole words, and one word that is
 * put together here, because no byte behind the text may be read. The stack
 * holds lists of pieces only: a signal handler with a small one may trace.
 */
#include <string.h>

#include "internal.h"

struct builder {
	struct at_piece *pieces;
	uint64_t *scratch;	/* words that are put together here */
	unsigned int npieces;
	unsigned int nscratch;
	unsigned int words;	/* of the record so far */
	unsigned int room;	/* bytes that text may still take, in whole words */
	bool open;		/* the last piece ends at scratch + nscratch */
};

static void put_word(struct builder *b, uint64_t w)
{
	b->scratch[b->nscratch++] = w;
	b->words++;
	if (b->open) {
		b->pieces[b->npieces - 1].words++;
		return;
	}
	b->pieces[b->npieces++] = (struct at_piece){ &b->scratch[b->nscratch - 1], 1 };
	b->open = true;
}

static void put_text(struct builder *b, const char *s, unsigned int bytes)
{
	const unsigned int whole = bytes / 8, rest = bytes % 8;
	uint64_t tail = 0;

	if (whole) {
		b->pieces[b->npieces++] = (struct at_piece){ s, whole };
		b->words += whole;
		b->open = false;
	}
	if (rest) {
		memcpy(&tail, s + 8 * whole, rest);
		put_word(b, tail);
	}
}

/* How much of a text gets into the record: takes that from the room. */
static unsigned int take(struct builder *b, const char *s, size_t bytes)
{
	size_t max = b->room < ASYNCTRACE_FXT_STRING_MAX ? b->room : ASYNCTRACE_FXT_STRING_MAX;
	unsigned int n = at_text_cut(s, bytes, max);

	b->room -= 8 * ASYNCTRACE_FXT_TEXT_WORDS(n);
	return n;
}

static uint64_t inline_ref(unsigned int bytes)
{
	return bytes ? ASYNCTRACE_FXT_INLINE | bytes : 0;
}

/*
 * kind: the event's type and TRACE_EXTRA_; word: the id, if it has one, or the
 * begin of a duration.
 */
AT_PUBLIC void at_write_args_(uint32_t gate, const struct at_site_ *site, int mode,
			      unsigned int kind, uint64_t word, const struct at_arg_ *args,
			      unsigned int nargs)
{
	const unsigned int etype = kind & 0xf;
	const bool names = mode != TRACE_SITE_ON_, duration = etype == ASYNCTRACE_FXT_DURATION;
	const uint64_t limit = (uint64_t)at_control()->sub_mask + 1 - ASYNCTRACE_SUBBUF_WORDS;
	const unsigned int max = limit < ASYNCTRACE_FXT_WORDS_MAX ? limit : ASYNCTRACE_FXT_WORDS_MAX;
	/* Per argument a head and a value, or the tails of two texts. */
	uint64_t scratch[3 + 2 + 3 * nargs + 1];
	struct at_piece pieces[4 + 4 * nargs + 1];
	unsigned short key_bytes[nargs + 1];
	struct builder b = { .pieces = pieces, .scratch = scratch };
	unsigned int category = 0, name = 0, fixed = 3, i;

	for (i = 0; i < nargs; i++)
		fixed += at_arg_two_words_(args[i].type) ? 2 : 1;
	if (kind & TRACE_EXTRA_ || duration)
		fixed++;
	/* A run just ended may show any size here; the record will be stale. */
	b.room = fixed < max ? 8 * (max - fixed) : 0;
	if (names) {
		category = take(&b, site->category, strlen(site->category));
		name = take(&b, site->name, strlen(site->name));
		for (i = 0; i < nargs; i++)
			key_bytes[i] = take(&b, site->keys[i], strlen(site->keys[i]));
	}

	put_word(&b, names ? inline_ref(category) << 32 | inline_ref(name) << 48 :
			     __atomic_load_n(&site->head, __ATOMIC_RELAXED));
	put_word(&b, duration ? word : 0);
	put_word(&b, 0);
	if (names) {
		put_text(&b, site->category, category);
		put_text(&b, site->name, name);
	}
	for (i = 0; i < nargs; i++) {
		const struct at_arg_ *a = &args[i];
		const char *text = (const char *)(uintptr_t)a->value;
		const bool two = at_arg_two_words_(a->type);
		const bool string = a->type == ASYNCTRACE_FXT_ARG_STRING;
		const unsigned int bytes = string ? take(&b, text, a->bytes) : 0;
		unsigned int words = two ? 2 : 1;
		uint64_t ref;

		if (names) {
			ref = inline_ref(key_bytes[i]) << 16;
			words += ASYNCTRACE_FXT_TEXT_WORDS(key_bytes[i]);
		} else {
			ref = __atomic_load_n(&site->refs[i], __ATOMIC_RELAXED);
		}
		words += ASYNCTRACE_FXT_TEXT_WORDS(bytes);
		put_word(&b, ref | a->type | (uint64_t)words << 4 |
			     (string ? inline_ref(bytes) << 32 : two ? 0 : a->value << 32));
		if (names)
			put_text(&b, site->keys[i], key_bytes[i]);
		if (two)
			put_word(&b, a->value);
		put_text(&b, text, bytes);
	}
	if (kind & TRACE_EXTRA_)
		put_word(&b, word);
	else if (duration)
		put_word(&b, 0);

	scratch[0] |= ASYNCTRACE_FXT_EVENT_HEAD(etype, b.words & 0xfff, nargs, 0, 0);
	at_write_pieces(gate, &(struct at_record){ pieces, b.npieces, b.words,
						   duration ? b.words - 1 : 1, &scratch[2] });
}
