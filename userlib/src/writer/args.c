// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Records with text in them, as lists of pieces: string arguments and names that could
 * not be interned
 *
 * Text is copied from where it is: a run of whole words, and one word that is
 * put together here, because no byte beyond the text may be read. The stack holds no
 * text, so that signal handlers with a small stack may trace.
 */
#include <string.h>

#include "internal.h"

/* texts_x86_64.S relies on these. */
_Static_assert(offsetof(struct at_text_, skip) == 0, "asm");
_Static_assert(offsetof(struct at_text_, bytes) == 4, "asm");
_Static_assert(offsetof(struct at_text_, from) == 8, "asm");
_Static_assert(sizeof(struct at_text_) == 16, "asm");
_Static_assert(ASYNCTRACE_FXT_STRING_MAX == 32000, "asm");
_Static_assert(ASYNCTRACE_FXT_WORDS_MAX == 4095, "asm");
_Static_assert(ASYNCTRACE_FXT_INLINE == 0x8000, "asm");

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

static void put_words(struct builder *b, const uint64_t *w, unsigned int n)
{
	if (!n)
		return;
	b->pieces[b->npieces++] = (struct at_piece){ w, n };
	b->words += n;
	b->open = false;
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
	if (!rest)
		return;
	if (whole) {
		/* The end of the last 8 bytes: cheaper than to copy 1 to 7 of them. */
		memcpy(&tail, s + bytes - 8, 8);
		tail >>= 64 - 8 * rest;
	} else {
		memcpy(&tail, s, rest);
	}
	put_word(b, tail);
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

/* The bytes that a record has for text, beside its fixed words. */
static unsigned int room_beside(unsigned int fixed)
{
	const uint64_t limit = (uint64_t)at_control()->sub_mask + 1 - ASYNCTRACE_SUBBUF_WORDS;
	const unsigned int max = limit < ASYNCTRACE_FXT_WORDS_MAX ? limit : ASYNCTRACE_FXT_WORDS_MAX;

	/* A run just ended may show any size here; the record will be stale. */
	return fixed < max ? 8 * (max - fixed) : 0;
}

typedef void write_fn(uint32_t gate, const struct at_record *rec);

/* @w: see at_write_texts_(). Completes the heads in it. */
static void write_texts(uint32_t gate, uint64_t *w, unsigned int n, const struct at_text_ *texts,
			unsigned int ntexts, bool duration, write_fn *write)
{
	uint64_t tails[ntexts];
	/* Per text the words before it, its whole words, and its last word. */
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
	write_texts(gate, w, n, texts, ntexts, duration, at_write_record);
}

/* On x86-64 these are in assembly: texts_x86_64.S. */
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
	b.room = room_beside(fixed);
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
		const uint32_t type = at_arg_type_(*a);
		const bool string = type == ASYNCTRACE_FXT_ARG_STRING;
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
		put_word(&b, ref | type | (uint64_t)words << 4 |
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
