// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Records of errors and misuse, and the types of contexts whose program declares no type
 */
#include "record.h"

AT_PUBLIC const char *const at_context_keys_[3] = { "parent", "operation", "resumed" };

#define TYPES(T) \
	T(CRYPTO) T(FSEVENT) T(FS) T(GETADDRINFO) T(PIPE) T(PROCESS) T(QUERY) T(SHUTDOWN) \
	T(SIGNAL) T(STATWATCHER) T(TCP) T(TIMER) T(TLS) T(TTY) T(UDP) T(ZLIB) T(URING) \
	T(THREADPOOL) T(HTTP) T(USER) T(NEXTTICK)

#define TYPE(name) \
	static struct at_context_type type_##name = \
		TRACE_CONTEXT_TYPE_(type_##name, ASYNCTRACE_ASYNC_##name, #name);
TYPES(TYPE)
#undef TYPE

/*
 * Indexed by the number of the provider's bit. The provider NEXTTICK has all bits, so its index is
 * AT_NEXTTICK_TYPE.
 */
struct at_context_type *const at_context_types[] = {
#define TYPE(name) \
	[ASYNCTRACE_ASYNC_##name == ASYNCTRACE_ASYNC_NEXTTICK ? AT_NEXTTICK_TYPE : \
	 __builtin_ctz(ASYNCTRACE_ASYNC_##name)] = &type_##name,
	TYPES(TYPE)
#undef TYPE
};

struct at_context_type *at_context_type_user(void)
{
	return &type_USER;
}

const char *at_context_name(const struct at_context *c)
{
	return at_context_type(c)->begin_.name;
}

void at_context_record_begin_any(struct at_context *c)
{
	struct at_site_ *site = &at_context_type(c)->begin_;
	const uint64_t found = at_site_test_(site, at_gate_load_());

	if (found >> 32)
		at_context_write_begin(c, site, found);
}

void at_context_record_run_any(struct at_context *c, uint32_t gate)
{
	struct at_site_ *site = &at_context_type(c)->run_;
	const uint64_t found = at_scope_test_(site, gate);

	if (found >> 32)
		at_context_write_run(c, site, found);
}

/* --- errors and misuse ----------------------------------------------------------------- */

void at_context_record_error(uint64_t id, const struct at_error *error, bool handled)
{
	TRACE_OPERATION_INSTANT(id, "context", "error", "error", error->error,
				"message", TA_STRING(error->message), "handled", TA_BOOL(handled));
}

void at_context_record_misuse(uint64_t id, uint64_t expected, const char *what)
{
	TRACE_OPERATION_INSTANT(id, "context", "misuse", "what", TA_STRING(what),
				"expected", TA_UINT64(expected));
}
