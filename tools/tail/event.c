// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes one event to the file, and the records of threads and operations that it needs */
#include <string.h>

#include "priv.h"

void emit_event(struct tail *t, const struct tail_entry *e, const uint64_t *words, size_t nr,
		bool apart)
{
	/* Used only for begins of operations, whose last word is the id. */
	const uint64_t id = words[nr - 1];

	objects_use(t, e->tid);
	emit_section(t, e->provider);
	if (apart && words != t->scratch)
		memcpy(t->scratch, words, nr * 8);
	if (apart)
		nr = encode_apart(t->scratch, nr, &t->counts.trimmed);
	out_put(t, apart ? t->scratch : words, nr, e);
	/* The file may lack the records of the thread that entered the operation. */
	if (e->entered)
		marks_entered(t, e, id);
	/* The file may lack the exit of the thread. */
	if (e->flags & ENTRY_CUT)
		marks_exited(t, e);
}
