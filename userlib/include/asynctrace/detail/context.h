/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Declarations for the inline functions of asynctrace/context.h. Programs must not use these names.
 */
#ifndef ASYNCTRACE_DETAIL_CONTEXT_H
#define ASYNCTRACE_DETAIL_CONTEXT_H

#include <asynctrace/operation.h>

#ifdef __cplusplus
extern "C" {
#endif

struct at_context;
struct at_context_type;

/*
 * Values of state_ of struct at_context. TRACE_CONTEXT_READY_ is a number that other memory hardly
 * has by accident; the bits below may be set in it. Without TRACE_CONTEXT_FULL_, members from
 * listeners_ on are not initialized.
 */
#define TRACE_CONTEXT_READY_	0x6163e100u
#define TRACE_CONTEXT_RUNS_	0x01u
#define TRACE_CONTEXT_FULL_	0x02u
#define TRACE_CONTEXT_TYPED_	0x04u	/* type_ is set */
#define TRACE_CONTEXT_BITS_	0x07u
#define TRACE_CONTEXT_DEAD_	0x6163deadu

#ifdef __cplusplus
#define TRACE_CONTEXT_AT_(address)	reinterpret_cast<struct at_context *>(address)
#else
#define TRACE_CONTEXT_AT_(address)	((struct at_context *)(address))
#endif

/* Signal handlers change the word, so it must be loaded again at each look. */
TRACE_INLINE_ uintptr_t at_context_word_(void)
{
	return __atomic_load_n(&at_current_.context, __ATOMIC_RELAXED);
}

/* Stores two words, with one instruction on architectures that have one for it. */
TRACE_INLINE_ void at_store_pair_(void *to, uint64_t first, uint64_t second)
{
#if defined(__SSE2__)
	typedef uint64_t pair __attribute__((vector_size(16)));
	const pair words = { first, second };
#else
	const uint64_t words[2] = { first, second };
#endif

	__builtin_memcpy(to, &words, sizeof(words));
}

extern const char *const at_context_keys_[3];

/* The first site is for the begin, with the key "parent". The second one is for runs. */
#define TRACE_CONTEXT_TYPE_(variable, provider, name) { \
	provider, \
	{ 0, 0, 0, variable.refs_, at_context_keys_, "context", "" name, 0, 1 }, \
	{ 0, 0, 0, variable.refs_ + 1, at_context_keys_ + 1, "context", "" name, 0, 2 }, \
	{ 0, 0, 0 } }

/* @type: NULL: the type of the provider. @parent: NULL: the current context */
void at_context_init_(struct at_context *context, uint32_t provider, struct at_context_type *type,
		      void *object, struct at_context *parent);
void at_context_enter_(struct at_context *context);
void at_context_leave_(struct at_context *context);
/*
 * Called by at_context_leave() if an operation is still current after the context was removed. A
 * signal handler may have called at_context_complete_() just before, which stored the operation.
 * Clears the operation and the state of the run.
 */
void at_context_left_(struct at_context *context);
void at_context_destroy_(struct at_context *context);

#define TRACE_CONTEXT_SCOPE_(nr, context) \
	__attribute__((unused, cleanup(at_context_unscope_))) \
	struct at_context *TRACE_CAT_(at_in_, nr) = at_context_scope_(context)

#ifdef __cplusplus
}
#endif

#endif /* ASYNCTRACE_DETAIL_CONTEXT_H */
