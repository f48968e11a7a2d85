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
 *
 * The gates of in-process traces beside a session have values of their own. So the gate under which
 * a record began says how to write it, also after the trace has ended: the module's run may go on.
 */
#ifndef AT_BESIDE_H
#define AT_BESIDE_H

#include "internal.h"
#include "module_view.h"

#pragma GCC visibility push(hidden)

/*
 * In beside mode, at_site_learn_() adds these bits to TRACE_SITE_INLINE_ in the mode of a site.
 * AT_MODE_BESIDE: the destinations of the site's records. AT_MODE_CLOCKS: the two destinations have
 * different clocks. AT_MODE_RUNS: the last bits of the module's run in which the site was looked
 * up. A record that began in one run must not be written in another. struct at_entered has 16 bits
 * for the mode, so 2,048 runs can be told apart.
 */
#define AT_MODE_INPROCESS	4u
#define AT_MODE_MODULE		8u
#define AT_MODE_BESIDE		(AT_MODE_INPROCESS | AT_MODE_MODULE)
#define AT_MODE_CLOCKS		16u
#define AT_MODE_RUN_SHIFT	5
#define AT_MODE_RUNS		0x7ffu

/* Is @gate one of in-process traces? The module's gates have other values. */
static inline bool at_gate_inprocess(uint32_t gate)
{
	return gate >= AT_GENERATION_FIRST;
}

/* Is @gate one of in-process traces that run beside a session of the module? */
static inline bool at_gate_beside(uint32_t gate)
{
	return gate >= AT_GENERATION_BESIDE;
}

/*
 * Waits while the process registers. Returns false if that takes too long: then the record is
 * missed.
 */
bool at_beside_ready(void);
/*
 * Looks up a category for the destinations of @gate, a gate of beside mode. *@mode: out: the mode
 * of a site with this category. Returns false if the gate has changed. Also returns false, and sets
 * *@mode to TRACE_SITE_OFF_, if the process is registering: the caller must wait and try again.
 */
bool at_beside_learn(const char *category, uint32_t gate, int *mode);
/*
 * Writes a record into each destination that wants it; if that fails, counts it there as dropped or
 * missed. @gate: the gate of beside mode under which the record began. A destination that has begun
 * another run since then gets nothing.
 */
void at_beside_write(uint32_t gate, const struct at_record *rec);
/*
 * Writes a record that began under a gate of the module, before the in-process trace started. So it
 * refers to names of the module. @gate: the module's gate. Returns false if that gate has changed.
 */
bool at_beside_write_with_names(uint32_t gate, const struct at_record *rec);
/*
 * Returns the present time of the module's clock, for the begin of a duration that only the module
 * records; 0: the module records nothing, or the calling thread must not read the counter.
 */
uint64_t at_beside_ticks(void);
/*
 * Like at_gate_same_run(), for a gate of the module while the in-process trace shows its own gate.
 */
uint32_t at_beside_same_run(uint32_t gate, bool *cut);

#pragma GCC visibility pop

#endif /* AT_BESIDE_H */
