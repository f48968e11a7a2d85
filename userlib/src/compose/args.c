// SPDX-License-Identifier: LGPL-2.1-or-later
/* Text and arguments of records: checked first, then copied. */
#include <string.h>

#include "args.h"

bool atc_text_check(size_t len, const uint64_t *w, size_t nr, struct atc_check *k)
{
	size_t words = ASYNCTRACE_FXT_TEXT_WORDS(len);
	size_t repaired;

	if (len > ASYNCTRACE_FXT_STRING_MAX || words > nr || !atc_zero_padded(w, len))
		return false;
	k->words += words;
	if (atc_text_valid(w, len))
		return true;
	repaired = atc_text_repaired(w, len);
	k->repair = true;
	k->growth += ASYNCTRACE_FXT_TEXT_WORDS(repaired) - words;
	if (repaired > ASYNCTRACE_FXT_STRING_MAX)
		k->cut = true;
	return true;
}

bool atc_fits(struct atc_check *k, size_t words)
{
	if (k->cut || words + k->growth > ASYNCTRACE_FXT_WORDS_MAX) {
		k->cut = true;
		k->growth = 0;
	}
	return words + k->growth <= ASYNCTRACE_FXT_WORDS_MAX;
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

/*
 * Returns the number of words of an argument's value, not counting inline text, or -1 if the
 * header is wrong.
 */
static int value_words(uint64_t head)
{
	uint32_t high = head >> 32;

	switch (head & 0xf) {
	case ASYNCTRACE_FXT_ARG_INT32:
	case ASYNCTRACE_FXT_ARG_UINT32:
		return 0;
	case ASYNCTRACE_FXT_ARG_NULL:
		return high ? -1 : 0;
	case ASYNCTRACE_FXT_ARG_BOOL:
		return high > 1 ? -1 : 0;
	case ASYNCTRACE_FXT_ARG_STRING:
		return high >> 16 ? -1 : 0;
	case ASYNCTRACE_FXT_ARG_INT64:
	case ASYNCTRACE_FXT_ARG_UINT64:
	case ASYNCTRACE_FXT_ARG_DOUBLE:
	case ASYNCTRACE_FXT_ARG_POINTER:
	case ASYNCTRACE_FXT_ARG_KOID:
		return high ? -1 : 1;
	default:
		return -1;
	}
}

static bool is_number(unsigned int type)
{
	return type >= ASYNCTRACE_FXT_ARG_INT32 && type <= ASYNCTRACE_FXT_ARG_DOUBLE;
}

bool atc_args_check(const struct atc_provider *p, unsigned int nargs, const uint64_t *w,
		    size_t nr, struct atc_check *k)
{
	k->numeric = true;
	while (nargs--) {
		struct atc_check arg = { .words = 1 };
		uint64_t head;
		size_t size;
		int value;

		if (!nr)
			return false;
		head = w[0];
		size = head >> 4 & 0xfff;
		value = value_words(k->salted && (head & 0xf) == ASYNCTRACE_FXT_ARG_UINT64 ?
				    head & 0xffffffff : head);
		if (!size || size > nr || value < 0)
			return false;
		if (!atc_ref_check(p, head >> 16 & 0xffff, w + 1, size - 1, &arg))
			return false;
		if ((head & 0xf) == ASYNCTRACE_FXT_ARG_STRING &&
		    !atc_ref_check(p, head >> 32 & 0xffff, w + arg.words,
				   size - arg.words, &arg))
			return false;
		if (size != arg.words + value)
			return false;
		if (!is_number(head & 0xf))
			k->numeric = false;
		k->words += size;
		k->growth += arg.growth;
		k->repair |= arg.repair;
		k->cut |= arg.cut;
		w += size;
		nr -= size;
	}
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
		} else if (value_words(head)) {
			to[n++] = *(*from)++;
		}
		to[at] = (head & ~0xfffffff0ULL) | (uint64_t)(n - at) << 4 |
			 (uint64_t)name << 16;
	}
	return n;
}
