// SPDX-License-Identifier: LGPL-2.1-or-later
/* The first use of a probe: makes its name, in which "-" replaces "__" of the C identifier */
#include <asynctrace/probe.h>

#include "internal.h"

/* Takes no lock: threads that call this at once store the same bytes. */
AT_PUBLIC AT_COLD uint64_t at_probe_learn_(struct at_site_ *site, uint32_t gate, char *name,
					   const char *from, size_t bytes)
{
	size_t n = 0;

	for (size_t i = 0; i + 1 < bytes; i++) {
		const bool dash = from[i] == '_' && from[i + 1] == '_';

		__atomic_store_n(&name[n++], dash ? '-' : from[i], __ATOMIC_RELAXED);
		i += dash;
	}
	return at_site_learn_(site, gate);
}
