// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Learns once in each run of a session whether a trace site's category is recorded, and tells
 * whether a gate that a site has learned still belongs to the present run
 */
#include <errno.h>
#include <string.h>

#include "beside.h"
#include "child_trace.h"
#include "internal.h"

/*
 * Looks up the category of the site in the list of recorded categories, and stores the result in
 * *@mode and in the site. If the gate has changed, the list may be that of another run: returns
 * false and does not store the result in the site.
 */
static bool learn_mode(struct at_site_ *site, uint32_t gate, int *mode)
{
	bool on;

	if (unlikely(at_gate_beside(gate)))
		return at_beside_learn(site->category, gate, mode);
	on = at_category_wanted(site->category);
	*mode = TRACE_SITE_OFF_;
	if (!at_gate_still(gate))
		return false;
	if (!on) {
		__atomic_store_n(&site->off, gate, __ATOMIC_RELAXED);
		return true;
	}
	*mode = TRACE_SITE_INLINE_;
	if (site->name && at_site_names(site))
		return true;
	if (!at_gate_still(gate))
		return false;
	*mode = TRACE_SITE_ON_;
	__atomic_store_n(&site->on, gate, __ATOMIC_RELEASE);
	return true;
}

/*
 * Learns the state of a site. Retries until the gate is stable, because a changing gate must not
 * lose a record. @records: how many records count as missed if registering takes too long
 */
static uint64_t learn(struct at_site_ *site, uint32_t gate, uint32_t records)
{
	int mode;

	if (at_library_mixed())
		return TRACE_SITE_OFF_;
	do {
		if (!at_gate_still(gate))
			gate = at_gate_now();
		if (gate == ASYNCTRACE_GATE_ATTACH)
			gate = at_attach();
		if (unlikely(at_gate_beside(gate)) && !at_beside_ready())
			gate = ASYNCTRACE_GATE_ATTACH;
		if (gate == ASYNCTRACE_GATE_ATTACH && site->name)
			at_missed_add(site->category, records);
		if (gate == ASYNCTRACE_GATE_OFF || gate == ASYNCTRACE_GATE_ATTACH)
			return TRACE_SITE_OFF_;
	} while (!learn_mode(site, gate, &mode));
	return TRACE_FOUND_(mode, gate);
}

AT_PUBLIC AT_COLD uint64_t at_site_learn_(struct at_site_ *site, uint32_t gate)
{
	return learn(site, gate, 1);
}

/* A scope whose begin is missed writes no end: count both. */
AT_PUBLIC AT_COLD uint64_t at_scope_learn_(struct at_site_ *site, uint32_t gate)
{
	return learn(site, gate, 2);
}

uint32_t at_gate_same_run(uint32_t gate, bool *cut)
{
	uint32_t now, run;

	do {
		*cut = false;
		now = at_gate_now();
		/* The record began before the fork. */
		if (now == ASYNCTRACE_GATE_ATTACH && at_child_trace_pending())
			return ASYNCTRACE_GATE_OFF;
		if (now == ASYNCTRACE_GATE_ATTACH)
			now = at_attach();
		if (now == ASYNCTRACE_GATE_OFF || now == ASYNCTRACE_GATE_ATTACH)
			return now;
		if (unlikely(at_gate_beside(now)))
			return at_beside_same_run(gate, cut);
		run = at_control()->run;
		*cut = at_module_cut(gate, run);
	} while (!at_gate_still(now));
	if (*cut)
		return now;
	return now - gate <= now - run ? now : ASYNCTRACE_GATE_OFF;
}

/*
 * Returns the gate for the end of a record that began under @gate, or ASYNCTRACE_GATE_OFF. If the
 * process has registered again since, the record refers to names of the old registration. So it
 * counts as dropped in the new one.
 *
 * A record that began in beside mode keeps its gate. The trace may have ended while the module's
 * session goes on, or the reverse: at_beside_write() finds out which of the two still records.
 */
AT_PUBLIC AT_COLD uint32_t at_gate_renew_(uint32_t gate)
{
	uint32_t now;
	bool cut;

	if (unlikely(at_gate_beside(gate)))
		return gate;
	do {
		now = at_gate_same_run(gate, &cut);
		if (now == ASYNCTRACE_GATE_ATTACH) {
			at_missed_add(NULL, 1);
			return ASYNCTRACE_GATE_OFF;
		}
		if (!cut)
			return now;
	} while (!(at_beside_on() ? at_beside_drop(now, 1) : at_fallback_drop(now)));
	return ASYNCTRACE_GATE_OFF;
}

AT_PUBLIC AT_COLD int at_enabled_(void)
{
	uint32_t gate = at_gate_now();

	if (at_library_mixed())
		return 0;
	if (gate == ASYNCTRACE_GATE_ATTACH)
		gate = at_attach();
	return gate != ASYNCTRACE_GATE_OFF && gate != ASYNCTRACE_GATE_ATTACH;
}
