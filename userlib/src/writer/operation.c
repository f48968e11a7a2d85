// SPDX-License-Identifier: LGPL-2.1-or-later
/* Operations: their ids, records and scopes */
#include <asynctrace/operation.h>

#include "beside.h"
#include "internal.h"
#include "operation.h"

static uint64_t blocks;

/*
 * Takes a new block of numbers. If a signal handler takes one meanwhile, the numbers of one block
 * are not used.
 */
static uint64_t first_number(void)
{
	const uint64_t block = __atomic_fetch_add(&blocks, 2 * TRACE_IDS_, __ATOMIC_RELAXED);
	const uint64_t n = TRACE_OPERATION_ | (block & (TRACE_OPERATION_ - 1)) | TRACE_IDS_;

	__atomic_store_n(&at_current_.ids, n + 1, __ATOMIC_RELAXED);
	return n;
}

/*
 * Makes an id if at_id_() cannot, because a salt or a block of numbers is missing. Afterwards both
 * exist, so inline functions can make the next ids.
 */
static uint64_t make_id(void)
{
	const uint64_t salt = (uint64_t)at_salt() << TRACE_SALT_SHIFT_, n = at_next_number_();

	return salt | (n & TRACE_IDS_ ? n : first_number());
}

AT_PUBLIC void at_operation_start_(struct at_operation *op, uint64_t parent)
{
	/* Register before the id is made, because the module may give the process another salt. */
	if (unlikely(at_gate_load_() == ASYNCTRACE_GATE_ATTACH) && !at_library_mixed())
		at_attach();
	op->id = at_id_() ?: make_id();
	op->parent = parent;
	__atomic_store_n(&op->ended_, 0, __ATOMIC_RELAXED);
	op->reserved_ = 0;
}

/* --- scopes --------------------------------------------------------------- */

/**
 * struct begun - which open scopes of a thread may write their end
 * @gate: the gate value under which the thread last recorded the begin of a scope
 * @base: number of open recorded scopes that began before the run of @gate
 */
struct begun {
	uint32_t gate;
	uint32_t base;
};

/*
 * There are two kinds of gates: those of beside mode, and all others. at_current_ has these fields
 * for the kind of its gate, and this variable has them for the other kind. So scopes of the
 * module's run can write their ends after an in-process trace has begun or ended.
 */
static __thread struct begun other __attribute__((tls_model("initial-exec")));

static void swap_kinds(struct at_current_ *c)
{
	const struct begun before = { c->gate, c->base };

	c->gate = other.gate;
	c->base = other.base < c->depth ? other.base : c->depth;
	other = before;
}

/*
 * Do the gates @a and @b belong to the present run? Each may be the older one: the arguments of a
 * scope may begin other scopes, and those may see a newer gate.
 */
static bool both_present(uint32_t a, uint32_t b)
{
	bool a_cut, b_cut;
	const uint32_t now = at_gate_same_run(a, &a_cut);

	return now && at_gate_same_run(b, &b_cut) == now && !a_cut && !b_cut;
}

/*
 * Does @gate belong to the same run as @c->gate? A run in beside mode has only one gate value.
 * Tests again if a signal handler has changed @c->gate: a handler may begin a scope while
 * at_gate_same_run() waits.
 */
static bool same_run(const struct at_current_ *c, uint32_t gate)
{
	uint32_t before;
	bool same;

	do {
		before = __atomic_load_n(&c->gate, __ATOMIC_RELAXED);
		same = at_gate_beside(gate) || at_gate_beside(before) ? before == gate :
		       before && both_present(before, gate);
	} while (__atomic_load_n(&c->gate, __ATOMIC_RELAXED) != before);
	return same;
}

/* If the gate belongs to another run, the begins of the enclosing scopes are not in this run. */
static void begin_in_run(struct at_current_ *c, uint32_t gate, bool same)
{
	if (!same)
		c->base = c->depth;
	c->gate = gate;
}

AT_PUBLIC AT_COLD void at_entered_run_(uint32_t gate)
{
	struct at_current_ *c = &at_current_;
	const bool same = same_run(c, gate);
	uint64_t signals;

	if (likely(!at_gate_beside(gate) && !at_gate_beside(c->gate))) {
		begin_in_run(c, gate, same);
		return;
	}
	/* A signal handler that begins a scope must not find the fields half swapped. */
	at_signals_block(&signals);
	if (at_gate_beside(gate) != at_gate_beside(c->gate))
		swap_kinds(c);
	begin_in_run(c, gate, same_run(c, gate));
	at_signals_restore(&signals);
}

/*
 * Writes the end of a scope to the destinations of @mode. If the scope enters an operation, the
 * last key of its site is "resumed".
 */
static AT_COLD void write_end_to(uint32_t gate, const struct at_entered *e, int mode)
{
	const struct at_site_ *site = e->site_;
	const unsigned int nargs = e->kind_ == TRACE_ENTER_, key = site->nkeys - nargs;
	const struct at_arg_ resumed = at_arg_u64_(e->previous_);
	const struct at_site_ end = {
		.head = __atomic_load_n(&site->head, __ATOMIC_RELAXED), .refs = site->refs + key,
		.keys = site->keys + key, .category = site->category, .name = site->name,
		.nkeys = nargs,
	};

	/* The scope began in beside mode, and the trace has ended. */
	if (mode & AT_MODE_BESIDE && !at_gate_beside(gate)) {
		gate = AT_GENERATION_BESIDE;
		mode &= ~AT_MODE_INPROCESS;
	}
	at_write_args_(gate, &end, mode, ASYNCTRACE_FXT_DURATION_END, 0, &resumed, nargs);
}

/* Writes the same record as write_end_to(), if the thread's ring is the only destination. */
TRACE_INLINE_ void write_end_to_ring(uint32_t gate, const struct at_entered *e)
{
	const struct at_site_ *site = e->site_;

	if (e->kind_ == TRACE_ENTER_)
		at_write_5_(gate, at_head_(site, ASYNCTRACE_FXT_DURATION_END, 5, 1),
			    ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_UINT64, 2, 0, 0) |
			    __atomic_load_n(site->refs + site->nkeys - 1, __ATOMIC_RELAXED),
			    e->previous_);
	else
		at_write_3_(gate, at_head_(site, ASYNCTRACE_FXT_DURATION_END, 3, 0));
}

static void write_end(uint32_t gate, const struct at_entered *e)
{
	if (likely(e->mode_ == TRACE_SITE_ON_))
		write_end_to_ring(gate, e);
	else
		write_end_to(gate, e, e->mode_);
}

/* Returns the mode of a site that all destinations of @gate record. */
static int mode_of_all(uint32_t gate)
{
	int mode;

	do {
		at_beside_learn(NULL, gate, &mode);
	} while (mode == TRACE_SITE_OFF_ && at_beside_ready());
	if (mode != TRACE_SITE_OFF_)
		return mode;
	/* The registration takes too long. */
	at_missed_add(NULL, 1);
	return TRACE_SITE_INLINE_ | AT_MODE_INPROCESS;
}

/*
 * Writes the end of a scope that was left by a jump. Its name is empty, because the pointer to the
 * scope's site was on a part of the stack that is gone. In beside mode, the end goes to the
 * destinations of the scope around it, or to all if that scope is not recorded.
 */
static void write_lost_end(uint32_t gate, const struct at_entered *around)
{
	static const struct at_site_ site = { .category = "", .name = "" };
	int mode = around->mode_;

	if (likely(!at_gate_beside(gate))) {
		at_write_3_(gate, ASYNCTRACE_FXT_EVENT_HEAD(ASYNCTRACE_FXT_DURATION_END, 3, 0, 0,
							    0));
		return;
	}
	if (!around->site_)
		mode = mode_of_all(gate);
	at_write_args_(gate, &site, mode, ASYNCTRACE_FXT_DURATION_END, 0, NULL, 0);
}

/*
 * Ends a scope that began before the run of @c->gate, or under the other kind of gate. Writes the
 * end only if the begin is in a run of the module that still goes on: an in-process trace may have
 * begun or ended since.
 */
static AT_COLD void write_late_end(const struct at_entered *e)
{
	const struct at_current_ *c = &at_current_;
	uint32_t gate;

	if (e->mode_ & AT_MODE_BESIDE) {
		write_end(ASYNCTRACE_GATE_OFF, e);
		return;
	}
	if (!at_gate_beside(c->gate) || c->depth <= other.base)
		return;
	gate = at_gate_renew_(other.gate);
	if (gate)
		write_end(gate, e);
}

/*
 * Returns the present gate if the run of @c->gate goes on, and stores it in @c->gate. Returns 0 if
 * the run has ended. A signal handler may begin a scope in beside mode while this thread waits for
 * the gate. Then @c->gate is of the other kind, and must not be overwritten.
 */
static AT_COLD uint32_t renew(struct at_current_ *c)
{
	uint32_t before = __atomic_load_n(&c->gate, __ATOMIC_RELAXED);
	const uint32_t gate = at_gate_renew_(before);

	if (gate)
		__atomic_compare_exchange_n(&c->gate, &before, gate, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
	return gate;
}

/*
 * Ends a scope. Scopes above the base were recorded under @c->gate. The others began in an
 * earlier run, or under the other kind of gate: a run must not have an end without a begin.
 */
static AT_COLD void end_slowly(const struct at_entered *e)
{
	struct at_current_ *c = &at_current_;
	uint32_t gate = 0;

	if (c->depth < e->depth_)
		return;
	at_current_restore_(e->previous_);
	if (c->depth > c->base) {
		gate = at_gate_load_();
		if (gate != c->gate)
			gate = renew(c);
	}
	while (c->depth > e->depth_) {
		if (gate && c->depth > c->base) {
			if (c->depth == e->depth_ + 1 && e->site_)
				write_end(gate, e);
			else
				write_lost_end(gate, e);
		} else if (c->depth == e->depth_ + 1 && e->site_) {
			write_late_end(e);
		}
		c->depth--;
	}
	if (c->base > c->depth)
		c->base = c->depth;
}

/*
 * The usual case is a short path of its own, which does what end_slowly() would do: the scope is
 * the innermost one, its begin was recorded under the present gate, and in the ring only.
 */
AT_PUBLIC void at_entered_end_(const struct at_entered *e)
{
	const uint32_t gate = at_gate_load_(), depth = at_current_.depth;

	if (unlikely(depth != e->depth_ + 1 || depth <= at_current_.base ||
		     gate != at_current_.gate || !e->site_ || e->mode_ != TRACE_SITE_ON_)) {
		end_slowly(e);
		return;
	}
	at_current_restore_(e->previous_);
	write_end_to_ring(gate, e);
	at_current_.depth--;
}

AT_PUBLIC void at_operation_enter(struct at_entered *entered, uint64_t id)
{
	/*
	 * Use a site without a place in the source, because this line says nothing about the
	 * program.
	 */
	*entered = TRACE_ENTERED_ANYWHERE_(__COUNTER__, at_enter_(id), "operation", "operation");
}

/* --- categories and types known only at run time -------------------------- */

/* Like at_category_find_for(), for all gates. */
static AT_COLD uint64_t find_slowly(const char *category, uint32_t records)
{
	uint32_t gate;
	bool found;
	int mode;

	do {
		gate = at_gate_now();
		if (gate == ASYNCTRACE_GATE_ATTACH)
			gate = at_attach();
		if (at_gate_beside(gate) && !at_beside_ready())
			gate = ASYNCTRACE_GATE_ATTACH;
		if (gate == ASYNCTRACE_GATE_ATTACH)
			at_missed_add(category, records);
		if (gate == ASYNCTRACE_GATE_OFF || gate == ASYNCTRACE_GATE_ATTACH)
			return TRACE_SITE_OFF_;
		if (at_gate_beside(gate)) {
			found = at_beside_learn(category, gate, &mode);
		} else {
			mode = at_category_wanted(category) ? TRACE_SITE_INLINE_ : TRACE_SITE_OFF_;
			found = at_gate_still(gate);
		}
	} while (!found);
	return TRACE_FOUND_(mode, gate);
}

uint64_t at_category_find_for(const char *category, uint32_t records)
{
	const uint32_t gate = at_gate_now();
	int mode;

	if (gate == ASYNCTRACE_GATE_OFF || at_library_mixed())
		return TRACE_SITE_OFF_;
	/* Treat NULL like the empty category, which is never enabled. */
	if (!category || !*category)
		return TRACE_SITE_OFF_;
	if (unlikely(gate == ASYNCTRACE_GATE_ATTACH || at_gate_beside(gate)))
		return find_slowly(category, records);
	mode = at_category_wanted(category) ? TRACE_SITE_INLINE_ : TRACE_SITE_OFF_;
	return likely(at_gate_still(gate)) ? TRACE_FOUND_(mode, gate) :
					     find_slowly(category, records);
}

uint64_t at_category_find(const char *category)
{
	return at_category_find_for(category, 1);
}

static void write_async(unsigned int type, const struct at_operation *op, const char *category,
			const char *name)
{
	static const char *const keys[] = { "parent" };
	const struct at_arg_ parent = at_arg_u64_(op->parent);
	const struct at_site_ site = { .keys = keys, .category = category, .name = name ?: "" };
	const uint64_t found = at_category_find(category);

	/* The end has fewer arguments than the begin, but must have the same names. */
	if (found >> 32)
		at_write_names(found, &site, found >> 32, type | TRACE_EXTRA_, op->id, &parent,
			       type == ASYNCTRACE_FXT_ASYNC_BEGIN,
			       ASYNCTRACE_OPERATION_TEXT_BYTES);
}

AT_PUBLIC void at_operation_begin_child(struct at_operation *op, uint64_t parent,
					const char *category, const char *type)
{
	at_operation_start_(op, parent);
	write_async(ASYNCTRACE_FXT_ASYNC_BEGIN, op, category, type);
}

AT_PUBLIC void at_operation_begin(struct at_operation *op, const char *category, const char *type)
{
	at_operation_begin_child(op, at_operation_current(), category, type);
}

AT_PUBLIC void at_operation_end(struct at_operation *op, const char *category, const char *type)
{
	if (at_operation_over_(&op->ended_))
		write_async(ASYNCTRACE_FXT_ASYNC_END, op, category, type);
}
