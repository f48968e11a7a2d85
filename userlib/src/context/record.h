/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Records of contexts: begin and end of the operation, and a duration for each run
 *
 * Inline, because they are on the fast path of a context while tracing is on.
 */
#ifndef AT_CONTEXT_RECORD_H
#define AT_CONTEXT_RECORD_H

#include "contexts.h"

#pragma GCC visibility push(hidden)

#define AT_NEXTTICK_TYPE	32

extern struct at_context_type *const at_context_types[AT_NEXTTICK_TYPE + 1];
struct at_context_type *at_context_type_user(void);
/* Record the begin of @c, and the begin of its run, for any state of the site. */
void at_context_record_begin_any(struct at_context *c);
void at_context_record_run_any(struct at_context *c, uint32_t gate);

#pragma GCC visibility pop

/* Returns the type of @c. Unknown providers have the type of ASYNCTRACE_ASYNC_USER. */
static inline struct at_context_type *at_context_type(const struct at_context *c)
{
	struct at_context_type *type;

	if (c->state_ & TRACE_CONTEXT_TYPED_)
		return c->type_;
	if (c->provider == ASYNCTRACE_ASYNC_NEXTTICK)
		return at_context_types[AT_NEXTTICK_TYPE];
	if (!c->provider || c->provider & (c->provider - 1))
		return at_context_type_user();
	type = at_context_types[__builtin_ctz(c->provider)];
	return likely(type) ? type : at_context_type_user();
}

/*
 * Returns TRACE_FOUND_() if @site is enabled under @gate and its names are known. Returns 0 in all
 * other cases: the caller then calls at_context_record_begin_any() or at_context_record_run_any().
 * A result that is not 0 is written as TRACE_FOUND_(), so that the compiler knows its upper half.
 * Then the caller keeps the arguments in registers, and calls the writer without a stack frame.
 */
__attribute__((always_inline))
static inline uint64_t at_context_site_on(const struct at_site_ *site, uint32_t gate)
{
	return likely(at_site_known_(site, gate) == TRACE_FOUND_(TRACE_SITE_ON_, gate)) ?
	       TRACE_FOUND_(TRACE_SITE_ON_, gate) : 0;
}

__attribute__((always_inline))
static inline void at_context_write_begin(struct at_context *c, struct at_site_ *site,
					  uint64_t found)
{
	const struct at_arg_ parent = at_arg_u64_(c->operation.parent);

	at_event_(site, site->refs, found, ASYNCTRACE_FXT_ASYNC_BEGIN | TRACE_EXTRA_,
		  c->operation.id, &parent, 1);
}

__attribute__((always_inline))
static inline void at_context_record_begin(struct at_context *c)
{
	struct at_site_ *site = &at_context_type(c)->begin_;
	const uint64_t found = at_context_site_on(site, at_gate_load_());

	if (found)
		at_context_write_begin(c, site, found);
	else
		at_context_record_begin_any(c);
}

__attribute__((always_inline))
static inline void at_context_record_end(struct at_context *c)
{
	static const struct at_arg_ none[1];
	const uint32_t gate = at_gate_load_();
	struct at_site_ *site;
	uint64_t found;

	if (gate == ASYNCTRACE_GATE_OFF)
		return;
	site = &at_context_type(c)->begin_;
	found = at_site_test_(site, gate);
	if (found >> 32)
		at_event_(site, site->refs, found, ASYNCTRACE_FXT_ASYNC_END | TRACE_EXTRA_,
			  c->operation.id, none, 0);
}

__attribute__((always_inline))
static inline void at_context_write_run(struct at_context *c, struct at_site_ *site,
					uint64_t found)
{
	const struct at_arg_ id = at_arg_u64_(c->operation.id);

	at_entered_record_(&c->entered_, site, found);
	at_event_(site, site->refs, found, ASYNCTRACE_FXT_DURATION_BEGIN, 0, &id, 1);
}

/* Enters the operation of @c and, if the run is recorded, writes the begin of a duration. */
__attribute__((always_inline))
static inline void at_context_record_run(struct at_context *c)
{
	const uint32_t gate = at_gate_load_();
	struct at_site_ *site;
	uint64_t found;

	/* Store member by member: loading a structure just stored in parts stalls the CPU. */
	c->entered_.previous_ = at_current_.id;
	c->entered_.site_ = NULL;
	c->entered_.thread_ = &at_current_;
	c->entered_.depth_ = at_current_.depth;
	c->entered_.kind_ = TRACE_ENTER_;
	c->entered_.mode_ = 0;
	at_current_set_(c->operation.id);
	if (gate == ASYNCTRACE_GATE_OFF)
		return;
	site = &at_context_type(c)->run_;
	found = at_context_site_on(site, gate);
	if (found)
		at_context_write_run(c, site, found);
	else
		at_context_record_run_any(c, gate);
}

#endif /* AT_CONTEXT_RECORD_H */
