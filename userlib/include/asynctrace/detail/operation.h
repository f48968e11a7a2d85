/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Expansions of the macros of asynctrace/operation.h. Programs must not use these names. */
#ifndef ASYNCTRACE_DETAIL_OPERATION_H
#define ASYNCTRACE_DETAIL_OPERATION_H

#include <stdbool.h>
#include <stdint.h>

#include <asynctrace/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct at_current_ - the calling thread's current operation and scopes
 * @id: the current operation, or 0; see at_operation_current()
 * @context: address of the innermost context that the thread has entered, or 0, and the bits
 *	TRACE_LIGHT_, TRACE_CELL_ and TRACE_BUSY_
 * @ids: the next number of this thread's block; without the bit TRACE_IDS_: none is left
 * @cell: memory in which the kernel reads @id, or NULL
 * @depth: number of open recorded scopes
 * @base: number of open recorded scopes that began before the run of @gate
 * @gate: the gate value under which the thread last recorded the begin of a scope
 * @inherits: 0: a context that is made or entered takes over nothing but the operation
 *
 * Only the thread itself, and signal handlers on it, change this.
 */
struct at_current_ {
	uint64_t id;
	uintptr_t context;
	uint64_t ids;
	uint64_t *cell;
	uint32_t depth;
	uint32_t base;
	uint32_t gate;
	uint32_t inherits;
};

extern __thread struct at_current_ at_current_ __attribute__((tls_model("initial-exec")));

/* Values of kind_ of struct at_entered. */
enum {
	TRACE_REGION_	= 0,
	TRACE_ENTER_	= 1	/* the end of the scope restores the operation */
};

/*
 * Bits in at_current_.context. If the word is 0, the thread has entered no context, works on no
 * operation, has no cell, and a new context inherits nothing. So inline functions test one word.
 *
 * TRACE_LIGHT_: the context was entered while the word had no address and no TRACE_BUSY_, and
 * nothing was recorded. So far nothing has been stored into the context, and at_current_.id is 0.
 * The begin of a scope stores both: see at_context_complete_().
 *
 * TRACE_CELL_: the thread has a cell, so the id of a light context must be stored into the cell.
 * Only in words without TRACE_BUSY_.
 *
 * TRACE_BUSY_: inline functions must also look at the other members of at_current_. The bit is in
 * each word that has an address without TRACE_LIGHT_. It may remain in a word without an address.
 */
#define TRACE_LIGHT_		TRACE_TO_(uintptr_t, 1)
#define TRACE_CELL_		TRACE_TO_(uintptr_t, 2)
#define TRACE_BUSY_		TRACE_TO_(uintptr_t, 4)
#define TRACE_CURRENT_BITS_	TRACE_TO_(uintptr_t, 7)

/* The id of the context at @address: struct at_context begins with it. */
#ifdef __cplusplus
#define TRACE_CONTEXT_ID_(address)	(*reinterpret_cast<const uint64_t *>(address))
#else
#define TRACE_CONTEXT_ID_(address)	(*(const uint64_t *)(address))
#endif

struct at_entered;
struct at_operation;

/* Stores what TRACE_LIGHT_ has left out, and replaces all bits by TRACE_BUSY_. */
void at_context_complete_(void);

/* Gives *@op a new id and the parent @parent. */
void at_operation_start_(struct at_operation *op, uint64_t parent);
/* Like at_site_learn_(), for the begin of a scope. */
uint64_t at_scope_learn_(struct at_site_ *site, uint32_t gate);
/*
 * Called at the begin of a scope if @gate is not the gate of the last recorded begin. If the run is
 * another one, too, notes that all open scopes of the thread began in earlier runs.
 */
void at_entered_run_(uint32_t gate);
/*
 * Writes the end of @e, and of all scopes within it that have not ended, and restores the current
 * operation. Does nothing if @e ended with a scope around it.
 */
void at_entered_end_(const struct at_entered *e);
__attribute__((format(printf, 4, 5)))
void at_logf_(struct at_site_ *site, const uint64_t *refs, uint64_t found, const char *format, ...);

/*
 * An id is salt << 44 | 1 << 42 | number. at_flow_id() counts from 1 without bit 42, and
 * at_compose_chunk() puts bit 43 into ids that are not the library's.
 */
#define TRACE_SALT_SHIFT_	44
#define TRACE_OPERATION_	(TRACE_TO_(uint64_t, 1) << 42)

/*
 * Size of a thread's block of numbers for ids. A thread takes a whole block at a time: with 64
 * threads, a shared counter for each id would cost more than a record.
 *
 * This bit is set in all numbers of a block. The numbers after a block lack the bit, and belong to
 * no thread. So if a signal handler counts beyond the end, it takes no number of another thread.
 */
#define TRACE_IDS_		TRACE_TO_(uint64_t, 4096)

/*
 * The salt of this process: a page of its own, which the kernel clears in a forked child. Inline
 * functions load both words at once, as a number that is salt << 32 | inlined.
 *
 * inlined: 1: inline functions may make ids; 0: there is no salt yet, or the kernel does not clear
 * the page. salt: 0: none yet.
 */
union at_salted_ {
	struct {
		uint32_t inlined;
		uint32_t salt;
	} of;
	uint64_t both;
	char page[TRACE_GATE_SIZE_];
};

extern union at_salted_ at_salted_;

/* Shifts at_salted_.both: the salt to its place in an id, and bit 0 of .inlined to TRACE_IDS_. */
#define TRACE_BOTH_SHIFT_	(TRACE_SALT_SHIFT_ - 32)

/*
 * Returns a new number, which includes TRACE_OPERATION_. If the result lacks TRACE_IDS_, the caller
 * must not use it: the block is used up, or a signal handler interrupted this function.
 *
 * A signal handler may take numbers at any moment. On x86-64, the function therefore loads the
 * counter again after the increment. If a handler has incremented it, too, the function returns 0.
 * The instruction xadd would take four times as long.
 */
TRACE_INLINE_ uint64_t at_next_number_(void)
{
#if defined(__x86_64__)
	const uint64_t n = __atomic_load_n(&at_current_.ids, __ATOMIC_RELAXED);

	__asm__ volatile("addq $1, %0" : "+m"(at_current_.ids) : : "cc");
	if (__builtin_expect(__atomic_load_n(&at_current_.ids, __ATOMIC_RELAXED) != n + 1, 0))
		return 0;
#else
	const uint64_t n = __atomic_fetch_add(&at_current_.ids, TRACE_TO_(uint64_t, 1),
					      __ATOMIC_RELAXED);
#endif
	return n;
}

/*
 * Returns a new id; 0: at_operation_start_() must make the id. The shifted salt and the number can
 * have only the bit TRACE_IDS_ in common. So one test finds that inline functions may use the salt,
 * and that the block is not used up.
 */
TRACE_INLINE_ uint64_t at_id_(void)
{
	const uint64_t n = at_next_number_();
	const uint64_t salt = __atomic_load_n(&at_salted_.both, __ATOMIC_RELAXED) <<
			      TRACE_BOTH_SHIFT_;

	return __builtin_expect((salt & n) != 0, 1) ? salt | n : 0;
}

/* Like at_site_test_(), for the begin of a scope. */
TRACE_INLINE_ uint64_t at_scope_test_(struct at_site_ *site, uint32_t gate)
{
	const uint64_t found = at_site_known_(site, gate);

	return __builtin_expect(found != 0, 1) ? found : at_scope_learn_(site, gate);
}

/* Stores the current operation for the kernel, if the thread has a cell. */
TRACE_INLINE_ void at_cell_store_(uint64_t id)
{
	if (__builtin_expect(!!at_current_.cell, 0))
		__atomic_store_n(at_current_.cell, id, __ATOMIC_RELAXED);
}

/*
 * Uses the variable at_current_ by name, not through a pointer. With a pointer, UBSan compares the
 * address with 0, and the compiler uses the flags of the addition that computes the address. The
 * linker may replace this addition by an instruction that sets no flags.
 */
TRACE_INLINE_ void at_current_set_(uint64_t id)
{
	__atomic_store_n(&at_current_.id, id, __ATOMIC_RELAXED);
	at_cell_store_(id);
}

/* Makes @id the current operation again, after a scope. */
TRACE_INLINE_ void at_current_restore_(uint64_t id)
{
	/* TRACE_BUSY_ may have been removed while the scope had made 0 the current operation. */
	if (__builtin_expect(id && !(at_current_.context & TRACE_BUSY_), 0))
		at_context_complete_();
	at_current_set_(id);
}

/*
 * Marks the operation as ended. Returns true if the end may have to be recorded: the operation had
 * not ended before, and the gate is not closed.
 */
TRACE_INLINE_ bool at_operation_over_(uint32_t *ended)
{
	if (__builtin_expect(at_gate_load_() == 0, 1)) {
		__atomic_store_n(ended, 1u, __ATOMIC_RELAXED);
		return false;
	}
	return !__atomic_exchange_n(ended, 1u, __ATOMIC_RELAXED);
}

#ifdef __cplusplus
}
#endif

/*
 * A pair of the library follows the user's pairs, so the list that is passed on is never empty:
 * see pairs.h.
 */
#define TRACE_OPERATION_BEGIN_(nr, op, above, category, ...) \
	TRACE_OPERATION_BEGIN2_(TRACE_CAT_(at_operation_, nr), op, above, category, __VA_ARGS__)
#define TRACE_OPERATION_BEGIN2_(that, op, above, category, ...) \
	do { \
		struct at_operation *const that = (op); \
		at_operation_start_(that, above); \
		TRACE_EVENT_(ASYNCTRACE_FXT_ASYNC_BEGIN | TRACE_EXTRA_, category, \
			     TRACE_LEAD_(__VA_ARGS__), that->id, __VA_ARGS__, \
			     "parent", that->parent); \
	} while (0)

#define TRACE_OPERATION_END_(nr, op, category, ...) \
	TRACE_OPERATION_END2_(TRACE_CAT_(at_operation_, nr), op, category, __VA_ARGS__)
#define TRACE_OPERATION_END2_(that, op, category, ...) \
	do { \
		struct at_operation *const that = (op); \
		if (at_operation_over_(&that->ended_)) \
			TRACE_EVENT_(ASYNCTRACE_FXT_ASYNC_END | TRACE_EXTRA_, category, \
				     TRACE_LEAD_(__VA_ARGS__), that->id, __VA_ARGS__); \
	} while (0)

#define TRACE_OPERATION_INSTANT_(operation, category, ...) \
	TRACE_EVENT_(ASYNCTRACE_FXT_INSTANT, category, TRACE_LEAD_(__VA_ARGS__), 0, __VA_ARGS__, \
		     "operation", TA_UINT64(operation))

/*
 * The key of a pair that says where a scope is in the source. The value is null, because a key is
 * interned once, but the text of a value would be copied into each record.
 */
#define TRACE_PLACE_ "at " __FILE__ ":" TRACE_TEXT_(__LINE__)
#define TRACE_ENTERED_(nr, begin, category, ...) \
	TRACE_ENTERED_ANYWHERE_(nr, begin, category, __VA_ARGS__, TRACE_PLACE_, TA_NULL())

#ifndef NTRACE

/*
 * Makes a struct at_entered. @begin: at_enter_() or at_region_(). The site has the keys of the
 * begin and of the end. If an exception leaves an argument, the cleanup of a copy restores the
 * operation. The copy is made only for a record, to keep the code short while nothing is recorded.
 */
#define TRACE_ENTERED_ANYWHERE_(nr, begin, category, ...) \
	TRACE_ENTERED2_(TRACE_CAT_(at_entered_, nr), TRACE_CAT_(at_now_, nr), \
			TRACE_CAT_(at_here_, nr), TRACE_CAT_(at_found_, nr), \
			TRACE_CAT_(at_undo_, nr), begin, category, TRACE_LEAD_(__VA_ARGS__), \
			__VA_ARGS__, "operation", at_operation_current())
#define TRACE_ENTERED2_(that, now, here, found, undo, begin, category, nm, ...) \
	__extension__({ \
		TRACE_PAIRS_CHECK_(__VA_ARGS__, "resumed", 0); \
		struct at_entered that = begin; \
		const uint32_t now = at_gate_load_(); \
		if (__builtin_expect(now != 0, 0)) { \
			const struct at_here_ here = \
				TRACE_SITE_("" category, nm, __VA_ARGS__, "resumed", 0); \
			const uint64_t found = at_scope_test_(here.site, now); \
			if (found >> 32) { \
				__attribute__((cleanup(at_entered_undo_))) \
				struct at_entered undo = that; \
				at_entered_begin_(&that, &undo, here.site, here.refs, found, \
						  TRACE_ARGS_(__VA_ARGS__), \
						  TRACE_COUNT_(__VA_ARGS__)); \
			} \
		} \
		that; \
	})

#define TRACE_LOGF_(nr, category, ...) \
	TRACE_LOGF2_(TRACE_CAT_(at_now_, nr), TRACE_CAT_(at_here_, nr), TRACE_CAT_(at_found_, nr), \
		     category, __VA_ARGS__)
#define TRACE_LOGF2_(now, here, found, category, ...) \
	do { \
		const uint32_t now = at_gate_load_(); \
		if (__builtin_expect(now != 0, 0)) { \
			const struct at_here_ here = \
				TRACE_SITE_("" category, "log", 0, "message", 0, "operation", 0); \
			const uint64_t found = at_site_test_(here.site, now); \
			if (found >> 32) \
				at_logf_(here.site, here.refs, found, __VA_ARGS__); \
		} \
	} while (0)

#else /* NTRACE */

/* With NTRACE, ids and current operations work, but nothing is recorded. */
#define TRACE_ENTERED_ANYWHERE_(nr, begin, category, ...) \
	TRACE_ENTERED2_(TRACE_CAT_(at_entered_, nr), begin, category, __VA_ARGS__)
#define TRACE_ENTERED2_(that, begin, category, ...) \
	__extension__({ \
		TRACE_PAIRS_CHECK_(__VA_ARGS__, "operation", 0, "resumed", 0); \
		struct at_entered that = begin; \
		TRACE_EVENT_(0, category, TRACE_LEAD_(__VA_ARGS__), 0, __VA_ARGS__); \
		that; \
	})

#define TRACE_LOGF_(nr, category, ...) \
	do { \
		if (0) \
			at_logf_(NULL, NULL, sizeof("" category), __VA_ARGS__); \
	} while (0)

#endif /* NTRACE */

#endif /* ASYNCTRACE_DETAIL_OPERATION_H */
