/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers texts from 0 on: equal texts get equal numbers. */
#ifndef FXT_NAMES_H
#define FXT_NAMES_H

#include "table.h"

/* A table filled with zeros is valid and empty. */
struct fxt_names {
	struct fxt_table table;
	char **of;
	uint32_t nr, room;
	size_t bytes, max_bytes;	/* of texts; max_bytes 0: no limit */
	uint64_t refused;	/* calls of fxt_name() that returned the number of "...",
				   because the text exceeded the limit */
};

/* Returns the number of the text @s of @len bytes, or UINT32_MAX if there is no memory. */
uint32_t fxt_name(struct fxt_names *n, const char *s, size_t len);
/* Returns a hash of the text @s of @len bytes, which is never 0. */
uint64_t fxt_name_key(const char *s, size_t len);
void fxt_names_free(struct fxt_names *n);

#endif /* FXT_NAMES_H */
