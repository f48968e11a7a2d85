// SPDX-License-Identifier: GPL-2.0-or-later
/* Decodes UTF-8, which may be malformed */
#include "utf8.h"

/* Overlong forms, surrogates and codes above U+10FFFF are malformed. */
size_t fxt_char(const char *text, size_t len, uint32_t *code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *s = (const unsigned char *)text;
	uint32_t c = len ? *s : 0x80;
	size_t n = c < 0x80 ? 1 : c >> 5 == 6 ? 2 : c >> 4 == 14 ? 3 : c >> 3 == 30 ? 4 : 0;

	*code = FXT_REPLACEMENT;
	if (!n || n > len)
		return 0;
	if (n > 1)
		c &= 0x7f >> n;
	for (size_t i = 1; i < n; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*code = c;
	return n;
}

bool fxt_utf8(const char *s, size_t len)
{
	uint32_t code;
	size_t n;

	for (; len; s += n, len -= n) {
		n = fxt_char(s, len, &code);
		if (!n)
			return false;
	}
	return true;
}

bool fxt_is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0);
}
