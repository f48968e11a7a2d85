/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * In-process traces beside a session of the module: each record goes to both
 *
 * An in-process trace shows its own gate to the trace sites. So while it runs, the module's gate is
 * read for each record. Beside mode begins and ends while the gate is at ATTACH, with the back
 * end's lock held, so that no record finds both gates closed.
 *
 * In beside mode, sites are looked up again for each record, and records carry their names inline,
 * because the two back ends have different categories and tables of names. No thread is bound to a
 * ring by at_thread, so that all records reach at_write_record().
 */
#ifndef AT_BESIDE_H
#define AT_BESIDE_H

#include "internal.h"

#pragma GCC visibility push(hidden)

/*
 * Bits of the mode of a site that at_site_learn_() returns in beside mode, in addition to
 * TRACE_SITE_INLINE_. The upper bits are those of the module's run in which the site was looked
 * up: a record that began in one run must not be written in another.
 */
#define AT_MODE_INPROCESS	4u
#define AT_MODE_MODULE		8u
#define AT_MODE_RUN_SHIFT	8

bool at_beside_on(void);
/* Is @gate one of in-process traces? The module's gates have other values. */
bool at_beside_own(uint32_t gate);

/* The caller holds the back end's lock, and the gate is at ATTACH or closed. */
void at_beside_begin(void);
void at_beside_end(void);
/* The process has registered with the module anew, or a forked child has begun. */
void at_beside_renew(void);

/*
 * Looks up a category for the destinations of @gate. Returns false if the gate has changed.
 * Otherwise *@mode is the mode of a site with this category.
 */
bool at_beside_learn(const char *category, uint32_t gate, int *mode);
/*
 * Writes or counts a record for each destination that wants it. @gate: a gate of the in-process
 * trace; or of the module: then the record carries references to names, and goes to the module
 * only.
 */
void at_beside_write(uint32_t gate, const struct at_record *rec);
/* Does the module's run want this category? */
bool at_beside_wanted(const char *category);
/* Counts @n records as dropped by the module's run, if there is one. */
void at_beside_drop(uint32_t n);
/*
 * Returns the module's gate if @gate, of the module or of the last beside mode, belongs to the
 * module's present run; OFF otherwise.
 */
uint32_t at_beside_same_run(uint32_t gate);

#pragma GCC visibility pop

#endif /* AT_BESIDE_H */
