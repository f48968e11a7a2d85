/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text that may be anything: what of it are characters, and what a terminal would obey. */
#ifndef FXT_UTF8_H
#define FXT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What stands for a byte that is no part of a character */
#define FXT_REPLACEMENT	0xfffd

/*
 * The bytes of the character at @s, which has @len of them left, and its code. 0: there
 * is no well-formed one; FXT_REPLACEMENT is the code of its first byte.
 */
size_t fxt_char(const char *s, size_t len, uint32_t *code);
bool fxt_utf8(const char *s, size_t len);
/* C1, too: to a terminal U+009B is the same as ESC [. */
bool fxt_is_control(uint32_t code);

#endif /* FXT_UTF8_H */
