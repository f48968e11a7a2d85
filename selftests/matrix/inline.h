/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that trace, in a header that both files of the program include
 *
 * In C++ these are inline functions, of which the linker keeps one copy, with one copy of each
 * static variable. The two files include this header after different numbers of macros. If the
 * names of the variables depended on that number, an event of one function would get another's
 * site. always_inline: each file has its own copy of the code, so that only the variables are
 * shared.
 */
#ifndef SELFTESTS_MATRIX_INLINE_H
#define SELFTESTS_MATRIX_INLINE_H

#include <asynctrace/trace.h>

#ifdef __cplusplus
#define MATRIX_INLINE inline __attribute__((always_inline))
#else
#define MATRIX_INLINE static inline
#endif

MATRIX_INLINE void inline_events(int n)
{
	TRACE_DURATION("matrix", "inline scope", "n", n);
	TRACE_INSTANT("matrix", "inline first", TRACE_SCOPE_THREAD, "first", n);
	TRACE_INSTANT("matrix", "inline second", TRACE_SCOPE_THREAD, "second", n);
	TRACE_INSTANT("matrix", "inline third", TRACE_SCOPE_THREAD, "third", n, "more", n + 1);
	if (TRACE_CATEGORY_ENABLED("matrix"))
		TRACE_COUNTER("matrix", "inline counter", 7, "n", n);
}

/* A function of the other file */
#ifdef __cplusplus
extern "C" {
#endif
void other_events(int n);
#ifdef __cplusplus
}
#endif

#endif /* SELFTESTS_MATRIX_INLINE_H */
