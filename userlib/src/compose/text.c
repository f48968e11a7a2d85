// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Checks and repairs UTF-8 text.
 *
 * UTF-8 is as the Unicode standard defines it: no overlong forms, no surrogates, nothing above
 * U+10FFFF. Each maximal part of an invalid character becomes one U+FFFD, as the standard
 * recommends.
 */
#include <string.h>

#include "composer.h"

static const char replacement[3] = "\xef\xbf\xbd";

/*
 * Returns the length of the character at the beginning of @s, of @len bytes. If the bytes are not
 * UTF-8, returns minus the number of bytes to replace.
 */
static int character(const unsigned char *s, size_t len)
{
	unsigned char low = 0x80, high = 0xbf;
	int want;

	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return -1;
	want = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	/* The range of the second byte depends on the first. */
	if (s[0] == 0xe0)
		low = 0xa0;
	else if (s[0] == 0xed)
		high = 0x9f;
	else if (s[0] == 0xf0)
		low = 0x90;
	else if (s[0] == 0xf4)
		high = 0x8f;

	for (int i = 1; i < want; i++) {
		if ((size_t)i >= len || s[i] < low || s[i] > high)
			return -i;
		low = 0x80;
		high = 0xbf;
	}
	return want;
}

static size_t ascii(const unsigned char *s, size_t len)
{
	size_t i = 0;
	uint64_t eight;

	for (; i + 8 <= len; i += 8) {
		memcpy(&eight, s + i, 8);
		if (eight & 0x8080808080808080ull)
			break;
	}
	while (i < len && s[i] < 0x80)
		i++;
	return i;
}

bool atc_text_valid(const void *text, size_t len)
{
	const unsigned char *s = text;

	for (size_t i = ascii(s, len); i < len;) {
		int c = character(s + i, len - i);

		if (c < 0)
			return false;
		i += c;
	}
	return true;
}

size_t atc_text_repaired(const void *text, size_t len)
{
	const unsigned char *s = text;
	size_t n = ascii(s, len);

	for (size_t i = n; i < len;) {
		int c = character(s + i, len - i);

		n += c > 0 ? (size_t)c : sizeof(replacement);
		i += c > 0 ? c : -c;
	}
	return n;
}

size_t atc_text_repair(char *to, size_t max, const void *text, size_t len)
{
	const unsigned char *s = text;
	size_t n = 0;

	for (size_t i = 0; i < len;) {
		int c = character(s + i, len - i);
		size_t add = c > 0 ? (size_t)c : sizeof(replacement);

		if (n + add > max)
			break;
		memcpy(to + n, c > 0 ? (const char *)s + i : replacement, add);
		n += add;
		i += c > 0 ? c : -c;
	}
	return n;
}

char *atc_text_put(char *to, const char *end, const char *text)
{
	while (*text && to + 1 < end)
		*to++ = *text++;
	*to = '\0';
	return to;
}

char *atc_text_put_number(char *to, const char *end, uint32_t n)
{
	char digits[11], *at = digits + sizeof(digits) - 1;

	*at = '\0';
	do
		*--at = '0' + n % 10;
	while (n /= 10);
	return atc_text_put(to, end, at);
}
