/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks and copies text and arguments of records: args.c */
#ifndef COMPOSE_ARGS_H
#define COMPOSE_ARGS_H

#include "composer.h"

#pragma GCC visibility push(hidden)

/**
 * struct atc_check - result of checking text and arguments
 * @words: words that were checked
 * @growth: words that repairing text adds
 * @repair: some text is not UTF-8
 * @cut: repaired texts are too long for the file: each one is cut so that it needs no more words
 *	than before, and @growth is 0
 * @numeric: all arguments are numbers
 * @salted: in: bits 32..63 of a UINT64 argument's head may be set
 */
struct atc_check {
	size_t words;
	size_t growth;
	bool repair;
	bool cut;
	bool numeric;
	bool salted;
};

/* Adds to the result in @k what repairing the text @w adds, if the text is not UTF-8. */
void atc_characters_check(size_t len, const uint64_t *w, struct atc_check *k);

/*
 * Checks @len bytes of text in the @nr words at @w. Adds to the result in @k. Returns false if
 * the text is malformed.
 */
static inline bool atc_text_check(size_t len, const uint64_t *w, size_t nr, struct atc_check *k)
{
	const size_t words = ASYNCTRACE_FXT_TEXT_WORDS(len);
	uint64_t all = 0;

	if (len > ASYNCTRACE_FXT_STRING_MAX || words > nr || !atc_zero_padded(w, len))
		return false;
	for (size_t i = 0; i < words; i++)
		all |= w[i];
	k->words += words;
	/* Text is ASCII if no byte has its highest bit. Such text needs no look at characters. */
	if (all & 0x8080808080808080ull)
		atc_characters_check(len, w, k);
	return true;
}

/* Checks the text that @ref refers to: inline text or an index of the string table. */
static inline bool atc_ref_check(const struct atc_provider *p, unsigned int ref,
				 const uint64_t *w, size_t nr, struct atc_check *k)
{
	if (ref & ASYNCTRACE_FXT_INLINE)
		return atc_text_check(ref & ~ASYNCTRACE_FXT_INLINE, w, nr, k);
	return atc_string_known(p, ref);
}

/* Checks @nargs arguments in the @nr words at @w. Adds to the result in @k. */
bool atc_args_check(const struct atc_provider *p, unsigned int nargs, const uint64_t *w,
		    size_t nr, struct atc_check *k);
/*
 * Does a record of @words words fit into the file, in addition to what repairing adds? If it fits
 * only without the latter, sets @k->cut.
 */
static inline bool atc_fits(struct atc_check *k, size_t words)
{
	if (k->cut || words + k->growth > ASYNCTRACE_FXT_WORDS_MAX) {
		k->cut = true;
		k->growth = 0;
	}
	return words + k->growth <= ASYNCTRACE_FXT_WORDS_MAX;
}

/*
 * Copies and repairs inline text, and moves *@from behind it. Sets *@ref to the reference of the
 * copy. @cut: see struct atc_check. Returns the number of words written.
 */
size_t atc_ref_copy(uint64_t *to, unsigned int *ref, const uint64_t **from, bool cut);
size_t atc_args_copy(uint64_t *to, unsigned int nargs, const uint64_t **from, bool cut);
/*
 * Finds the text of reference @ref, which atc_ref_check() has accepted. @w: its inline text, if
 * it has one. Returns the length of the text.
 */
size_t atc_ref_text(const struct atc_provider *p, unsigned int ref, const uint64_t *w,
		    const char **text);
/*
 * Does one of the @nargs arguments at @w have the name @name? atc_args_check() must have accepted
 * the arguments.
 */
bool atc_args_have(const struct atc_provider *p, unsigned int nargs, const uint64_t *w,
		   const char *name);

#pragma GCC visibility pop

#endif /* COMPOSE_ARGS_H */
