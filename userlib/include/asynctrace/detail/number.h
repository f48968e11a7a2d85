/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A type for values that are numbers, because a counter accepts nothing else */
#ifndef ASYNCTRACE_NUMBER_H
#define ASYNCTRACE_NUMBER_H

#include <asynctrace/detail/event.h>

#ifdef __cplusplus
extern "C" {
#endif

struct at_number_ {
	struct at_arg_ arg;
};

TRACE_INLINE_ struct at_number_ at_number_make_(struct at_arg_ arg)
{
	struct at_number_ n = { arg };

	return n;
}

TRACE_INLINE_ struct at_arg_ at_arg_of_number_(struct at_number_ n)
{
	return n.arg;
}

TRACE_INLINE_ unsigned int at_of_int_(int n)
{
	return TRACE_TO_(unsigned int, n);
}

TRACE_INLINE_ unsigned int at_of_unsigned_(unsigned int n)
{
	return n;
}

/* Never defined. The names are for the compiler's error message. */
extern const struct at_no_value_ *const at_counter_takes_numbers_only_;
extern const struct at_no_value_ *const at_scope_is_no_TRACE_SCOPE_;
extern const struct at_no_value_ *const at_blob_has_no_such_type_;

#ifdef __cplusplus
}
#endif

#endif /* ASYNCTRACE_NUMBER_H */
