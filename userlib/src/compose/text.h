/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks and repairs UTF-8 text; see text.c. */
#ifndef COMPOSE_TEXT_H
#define COMPOSE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

bool atc_text_valid(const void *text, size_t len);
/* Returns how many bytes atc_text_repair() makes of @len bytes. */
size_t atc_text_repaired(const void *text, size_t len);
/*
 * Copies @len bytes and replaces each sequence that is not UTF-8 by U+FFFD. Copies only whole
 * characters, and at most @max bytes. Returns the number of bytes written.
 */
size_t atc_text_repair(char *to, size_t max, const void *text, size_t len);
/* Appends as much as fits to a string that ends before @end. Returns the new end of the string. */
char *atc_text_put(char *to, const char *end, const char *text);
char *atc_text_put_number(char *to, const char *end, uint32_t n);

#pragma GCC visibility pop

#endif /* COMPOSE_TEXT_H */
