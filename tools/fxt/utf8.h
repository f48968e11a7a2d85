/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes UTF-8 of untrusted text and finds the characters that a terminal would obey. */
#ifndef FXT_UTF8_H
#define FXT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The code of a byte that is not part of a character */
#define FXT_REPLACEMENT	0xfffd

/*
 * Decodes the character at @s, of which @len bytes are left. Returns its length in bytes and
 * sets *@code. Returns 0 and FXT_REPLACEMENT if no well-formed character begins at @s.
 */
size_t fxt_char(const char *s, size_t len, uint32_t *code);
bool fxt_utf8(const char *s, size_t len);
/* Includes C1, because terminals treat U+009B like ESC [. */
bool fxt_is_control(uint32_t code);

#endif /* FXT_UTF8_H */
