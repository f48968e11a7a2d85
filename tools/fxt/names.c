// SPDX-License-Identifier: GPL-2.0-or-later
/* Numbers texts: a hash table from texts to numbers, and the texts by number */
#include <stdlib.h>
#include <string.h>

#include "names.h"

uint64_t fxt_name_key(const char *s, size_t len)
{
	uint64_t h = len;

	for (; len >= 8; s += 8, len -= 8) {
		uint64_t w;

		memcpy(&w, s, 8);
		h = fxt_hash(h, w);
	}
	while (len--)
		h = fxt_hash(h, (unsigned char)*s++);
	return h ? h : 1;
}

/* Estimated memory for each text besides its bytes: table entry, pointer, malloc header */
#define OVERHEAD	64

static uint32_t add(struct fxt_names *n, const char *s, size_t len)
{
	struct fxt_entry *e = fxt_make(&n->table, fxt_name_key(s, len));

	if (!e)
		return UINT32_MAX;
	if (e->a)
		return e->a - 1;
	if (n->nr == n->room) {
		uint32_t room = n->room ? 2 * n->room : 64;
		char **of = realloc(n->of, room * sizeof(*of));

		if (!of)
			return UINT32_MAX;
		n->of = of;
		n->room = room;
	}
	n->of[n->nr] = strndup(s, len);
	if (!n->of[n->nr])
		return UINT32_MAX;
	n->bytes += len + OVERHEAD;
	e->a = ++n->nr;
	return n->nr - 1;
}

uint32_t fxt_name(struct fxt_names *n, const char *s, size_t len)
{
	struct fxt_entry *e = fxt_find(&n->table, fxt_name_key(s, len));

	if (e && e->a)
		return e->a - 1;
	if (!n->max_bytes || n->bytes + len + OVERHEAD <= n->max_bytes)
		return add(n, s, len);
	n->refused++;
	return add(n, "...", 3);
}

void fxt_names_free(struct fxt_names *n)
{
	for (uint32_t i = 0; i < n->nr; i++)
		free(n->of[i]);
	free(n->of);
	fxt_table_free(&n->table);
}
