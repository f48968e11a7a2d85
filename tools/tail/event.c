// SPDX-License-Identifier: GPL-2.0-or-later
/* Writing one event to the file, and noting that its thread needs a record of its operation */
#include <string.h>

#include "priv.h"

void emit_event(struct tail *t, const struct tail_entry *e, const uint64_t *words, size_t nr,
		bool apart)
{
	/* The id is the record's last word. */
	const uint64_t id = words[nr - 1];

	objects_use(t, e->tid);
	emit_section(t, e->provider);
	if (apart && words != t->scratch)
		memcpy(t->scratch, words, nr * 8);
	if (apart)
		nr = encode_apart(t->scratch, nr, &t->counts.trimmed);
	out_put(t, apart ? t->scratch : words, nr, e);
	/* The thread that entered the operation may not be in the file. */
	if (e->entered)
		marks_entered(t, e, id);
}
