// SPDX-License-Identifier: GPL-2.0-or-later
/* Collects the breaches that the parts of the check find. */
#include <stdarg.h>
#include <stdio.h>

#include "check_priv.h"

void fxt_found(struct fxt_check *c, enum fxt_rule rule, uint64_t offset, const char *fmt, ...)
{
	struct fxt_finding *f = &c->findings[rule];
	va_list ap;

	/*
	 * Checks by time report breaches out of order: keep the one that stands first in the
	 * file.
	 */
	if (!f->count++ || offset < f->offset) {
		f->offset = offset;
		va_start(ap, fmt);
		vsnprintf(f->detail, sizeof(f->detail), fmt, ap);
		va_end(ap);
	}
}
