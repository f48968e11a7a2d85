// SPDX-License-Identifier: LGPL-2.1-or-later
/* Cutting text at the end of a character */
#include "internal.h"

size_t at_text_cut(const char *s, size_t bytes, size_t room)
{
	size_t n = room;

	if (bytes <= room)
		return bytes;
	/* Bytes 10xxxxxx continue a character: at most three of them. */
	while (n && room - n < 3 && ((unsigned char)s[n] & 0xc0) == 0x80)
		n--;
	/* Not UTF-8: cut anywhere. */
	return ((unsigned char)s[n] & 0xc0) == 0x80 ? room : n;
}

AT_PUBLIC size_t at_scope_cut_(const char *s, size_t bytes, size_t room)
{
	return at_text_cut(s, bytes, room);
}
