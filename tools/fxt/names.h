/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts as numbers, from 0 on: equal texts have equal numbers. */
#ifndef FXT_NAMES_H
#define FXT_NAMES_H

#include "table.h"

/* Starts as zeros. */
struct fxt_names {
	struct fxt_table table;
	char **of;
	uint32_t nr, room;
	size_t bytes, max_bytes;	/* of texts; .max_bytes 0: no limit */
	uint64_t refused;	/* texts for which there was no room: they are all "..." */
};

/* The number of the text @s of @len bytes. UINT32_MAX: no memory. */
uint32_t fxt_name(struct fxt_names *n, const char *s, size_t len);
/* A key of the text @s of @len bytes; never 0 */
uint64_t fxt_name_key(const char *s, size_t len);
void fxt_names_free(struct fxt_names *n);

#endif /* FXT_NAMES_H */
