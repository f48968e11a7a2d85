/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Builds a record from words, texts and arguments
 *
 * Text is copied from its original place: its whole words, and a last word that is built here,
 * because no byte behind the text may be read. The stack holds only lists of pieces, because a
 * signal handler with a small stack may trace.
 */
#ifndef AT_BUILD_H
#define AT_BUILD_H

#include <string.h>

#include "internal.h"

struct builder {
	struct at_piece *pieces;
	uint64_t *scratch;	/* words that are built here */
	unsigned int npieces;
	unsigned int nscratch;
	unsigned int words;	/* words of the record so far */
	unsigned int room;	/* bytes that texts may still take, in whole words */
	bool open;		/* the last piece ends at scratch + nscratch */
};

static inline void put_word(struct builder *b, uint64_t w)
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

static inline void put_words(struct builder *b, const uint64_t *w, unsigned int n)
{
	if (!n)
		return;
	b->pieces[b->npieces++] = (struct at_piece){ w, n };
	b->words += n;
	b->open = false;
}

static inline void put_text(struct builder *b, const char *s, unsigned int bytes)
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
		/* Read the last 8 bytes and shift: faster than copying 1 to 7 bytes. */
		memcpy(&tail, s + bytes - 8, 8);
		tail >>= 64 - 8 * rest;
	} else {
		memcpy(&tail, s, rest);
	}
	put_word(b, tail);
}

/* Returns how many bytes of a text fit into the record, and subtracts them from the room. */
static inline unsigned int take(struct builder *b, const char *s, size_t bytes)
{
	size_t max = b->room < ASYNCTRACE_FXT_STRING_MAX ? b->room : ASYNCTRACE_FXT_STRING_MAX;
	unsigned int n = at_text_cut(s, bytes, max);

	b->room -= 8 * ASYNCTRACE_FXT_TEXT_WORDS(n);
	return n;
}

static inline uint64_t inline_ref(unsigned int bytes)
{
	return bytes ? ASYNCTRACE_FXT_INLINE | bytes : 0;
}

/* Words of the largest record that the format and the run's sub-buffers allow. */
static inline unsigned int record_words_max(void)
{
	const uint64_t limit = (uint64_t)at_control()->sub_mask + 1 - ASYNCTRACE_SUBBUF_WORDS;

	return limit < ASYNCTRACE_FXT_WORDS_MAX ? limit : ASYNCTRACE_FXT_WORDS_MAX;
}

/* Bytes that a record has for texts, in addition to its fixed words. */
static inline unsigned int room_beside(unsigned int fixed)
{
	const unsigned int max = record_words_max();

	/*
	 * Return 0 if the sub-buffer is too small. If the run has just ended, sub_mask may have any
	 * value, and the record will not be published.
	 */
	return fixed < max ? 8 * (max - fixed) : 0;
}

/* Maximum numbers of words in scratch and of pieces that put_args() needs. */
#define ARGS_SCRATCH(nargs)	(3 * (nargs))
#define ARGS_PIECES(nargs)	(4 * (nargs))

/* Words of the arguments without their texts. */
static inline unsigned int args_words(const struct at_arg_ *args, unsigned int nargs)
{
	unsigned int words = 0;

	for (unsigned int i = 0; i < nargs; i++)
		words += at_arg_two_words_(args[i].type) ? 2 : 1;
	return words;
}

static inline void take_keys(struct builder *b, const struct at_site_ *site,
			     unsigned short *key_bytes, unsigned int nargs)
{
	for (unsigned int i = 0; i < nargs; i++)
		key_bytes[i] = take(b, site->keys[i], strlen(site->keys[i]));
}

/*
 * Appends an argument. @ref: reference to the key in the argument's header. @key, @key_bytes: the
 * key's text if it is inline.
 */
static inline void put_arg(struct builder *b, uint64_t ref, const char *key,
			   unsigned int key_bytes, const struct at_arg_ *a)
{
	const char *text = (const char *)(uintptr_t)a->value;
	const bool two = at_arg_two_words_(a->type);
	const uint32_t type = at_arg_type_(*a);
	const bool string = type == ASYNCTRACE_FXT_ARG_STRING;
	const unsigned int bytes = string ? take(b, text, a->bytes) : 0;
	const unsigned int words = (two ? 2 : 1) + ASYNCTRACE_FXT_TEXT_WORDS(key_bytes) +
				   ASYNCTRACE_FXT_TEXT_WORDS(bytes);

	put_word(b, ref | type | (uint64_t)words << 4 |
		    (string ? inline_ref(bytes) << 32 : two ? 0 : a->value << 32));
	put_text(b, key, key_bytes);
	if (two)
		put_word(b, a->value);
	put_text(b, text, bytes);
}

/*
 * Appends all arguments. @key_bytes: lengths of the keys that are written inline. NULL: the site
 * has references to all keys.
 */
static inline void put_args(struct builder *b, const struct at_site_ *site,
			    const unsigned short *key_bytes, const struct at_arg_ *args,
			    unsigned int nargs)
{
	for (unsigned int i = 0; i < nargs; i++) {
		if (key_bytes)
			put_arg(b, inline_ref(key_bytes[i]) << 16, site->keys[i], key_bytes[i],
				&args[i]);
		else
			put_arg(b, __atomic_load_n(&site->refs[i], __ATOMIC_RELAXED), NULL, 0,
				&args[i]);
	}
}

/* Counts a dropped record: passes a size that never fits, so at_write_record() only counts it. */
static inline void drop_record(uint64_t found)
{
	uint64_t slot = found >> 32;

	at_write_record(found, &(struct at_record){
		.words = ASYNCTRACE_FXT_WORDS_MAX + 1, .slot = &slot });
}

#endif /* AT_BUILD_H */
