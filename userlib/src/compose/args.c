// SPDX-License-Identifier: LGPL-2.1-or-later
/* Text and arguments of records: checked first, then copied. */
#include <string.h>

#include "args.h"

void atc_characters_check(size_t len, const uint64_t *w, struct atc_check *k)
{
	size_t repaired;

	if (atc_text_valid(w, len))
		return;
	repaired = atc_text_repaired(w, len);
	k->repair = true;
	k->growth += ASYNCTRACE_FXT_TEXT_WORDS(repaired) - ASYNCTRACE_FXT_TEXT_WORDS(len);
	if (repaired > ASYNCTRACE_FXT_STRING_MAX)
		k->cut = true;
}

size_t atc_ref_text(const struct atc_provider *p, unsigned int ref, const uint64_t *w,
		    const char **text)
{
	const struct atc_text *t;

	*text = "";
	if (ref & ASYNCTRACE_FXT_INLINE) {
		*text = (const char *)w;
		return ref & ~ASYNCTRACE_FXT_INLINE;
	}
	t = ref ? atc_map_get(&p->texts, ref) : NULL;
	if (!t)
		return 0;
	*text = t->text;
	return t->len;
}

bool atc_args_have(const struct atc_provider *p, unsigned int nargs, const uint64_t *w,
		   const char *name)
{
	for (; nargs--; w += w[0] >> 4 & 0xfff) {
		const char *text;
		size_t len = atc_ref_text(p, w[0] >> 16 & 0xffff, w + 1, &text);

		if (len == strlen(name) && !memcmp(text, name, len))
			return true;
	}
	return false;
}

#define HIGH_BITS	0xffffffff00000000ull

/* Values of arguments, by type. The types that are not listed do not exist. */
static const struct {
	uint64_t unused;	/* bits of the argument's header that must be 0 */
	uint8_t words;		/* words of the value behind the header, without inline text */
	bool number;
	bool exists;
} values[16] = {
	[ASYNCTRACE_FXT_ARG_NULL] = { HIGH_BITS, 0, false, true },
	[ASYNCTRACE_FXT_ARG_INT32] = { 0, 0, true, true },
	[ASYNCTRACE_FXT_ARG_UINT32] = { 0, 0, true, true },
	[ASYNCTRACE_FXT_ARG_INT64] = { HIGH_BITS, 1, true, true },
	[ASYNCTRACE_FXT_ARG_UINT64] = { HIGH_BITS, 1, true, true },
	[ASYNCTRACE_FXT_ARG_DOUBLE] = { HIGH_BITS, 1, true, true },
	[ASYNCTRACE_FXT_ARG_STRING] = { HIGH_BITS << 16, 0, false, true },
	[ASYNCTRACE_FXT_ARG_POINTER] = { HIGH_BITS, 1, false, true },
	[ASYNCTRACE_FXT_ARG_KOID] = { HIGH_BITS, 1, false, true },
	[ASYNCTRACE_FXT_ARG_BOOL] = { HIGH_BITS << 1, 0, false, true },
};

/*
 * Checks the argument at @w, of at most @nr words. Adds to the result in @k. Returns its number of
 * words, or 0 if it is malformed.
 */
static inline size_t check_arg(const struct atc_provider *p, const uint64_t *w, size_t nr,
			       struct atc_check *k)
{
	const uint64_t head = w[0];
	const unsigned int type = head & 0xf;
	const size_t size = head >> 4 & 0xfff, before = k->words;
	uint64_t unused = values[type].unused;

	if (k->salted && type == ASYNCTRACE_FXT_ARG_UINT64)
		unused = 0;
	if (!values[type].exists || head & unused || !size || size > nr)
		return 0;
	k->words++;
	if (!atc_ref_check(p, head >> 16 & 0xffff, w + 1, size - 1, k))
		return 0;
	if (type == ASYNCTRACE_FXT_ARG_STRING) {
		const size_t done = k->words - before;

		if (!atc_ref_check(p, head >> 32 & 0xffff, w + done, size - done, k))
			return 0;
	}
	k->words += values[type].words;
	k->numeric &= values[type].number;
	return k->words - before == size ? size : 0;
}

bool atc_args_check(const struct atc_provider *p, unsigned int nargs, const uint64_t *w,
		    size_t nr, struct atc_check *k)
{
	/* The compiler keeps a copy in registers. */
	struct atc_check sum = *k;

	sum.numeric = true;
	while (nargs--) {
		const size_t size = nr ? check_arg(p, w, nr, &sum) : 0;

		if (!size)
			return false;
		w += size;
		nr -= size;
	}
	*k = sum;
	return true;
}

/* Returns how many bytes the copy of a text has. */
static size_t copied_bytes(const uint64_t *text, size_t len, bool cut)
{
	const size_t repaired = atc_text_repaired(text, len);
	const size_t max = 8 * ASYNCTRACE_FXT_TEXT_WORDS(len);

	return cut && repaired > max ? max : repaired;
}

size_t atc_ref_copy(uint64_t *to, unsigned int *ref, const uint64_t **from, bool cut)
{
	size_t len = *ref & ~ASYNCTRACE_FXT_INLINE;
	const uint64_t *text = *from;
	size_t repaired, words;

	if (!(*ref & ASYNCTRACE_FXT_INLINE))
		return 0;
	*from += ASYNCTRACE_FXT_TEXT_WORDS(len);
	repaired = copied_bytes(text, len, cut);
	words = ASYNCTRACE_FXT_TEXT_WORDS(repaired);
	if (words)
		to[words - 1] = 0;
	/* Fewer bytes if the text is cut within a character: at most 3, which are 0. */
	repaired = atc_text_repair((char *)to, repaired, text, len);
	/* An empty text has the reference 0, not an inline one. */
	*ref = repaired ? ASYNCTRACE_FXT_INLINE | repaired : 0;
	return words;
}

size_t atc_args_copy(uint64_t *to, unsigned int nargs, const uint64_t **from, bool cut)
{
	size_t n = 0;

	while (nargs--) {
		uint64_t head = *(*from)++;
		unsigned int name = head >> 16 & 0xffff;
		size_t at = n++;

		n += atc_ref_copy(to + n, &name, from, cut);
		if ((head & 0xf) == ASYNCTRACE_FXT_ARG_STRING) {
			unsigned int text = head >> 32 & 0xffff;

			n += atc_ref_copy(to + n, &text, from, cut);
			head = text ? (head & 0xffffffff) | (uint64_t)text << 32
				    : head & 0xffffffff;
		} else if (values[head & 0xf].words) {
			to[n++] = *(*from)++;
		}
		to[at] = (head & ~0xfffffff0ULL) | (uint64_t)(n - at) << 4 |
			 (uint64_t)name << 16;
	}
	return n;
}
