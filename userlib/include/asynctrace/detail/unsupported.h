/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Macros of Fuchsia's lib/trace that asynctrace does not have yet
 *
 * Without a definition, C would take the use of one for a call of an undeclared
 * function: a warning, then an error of the linker. A use of one of these is an error
 * of the compiler that names the macro, in C and C++, also with NTRACE. It is a pragma,
 * not an assertion, because the preprocessor reports it wherever the macro stands: in
 * an expression, at file scope, behind an if.
 */
#ifndef ASYNCTRACE_UNSUPPORTED_H
#define ASYNCTRACE_UNSUPPORTED_H

#define TRACE_PRAGMA_(...) _Pragma(#__VA_ARGS__)
#define TRACE_UNSUPPORTED_(what) TRACE_PRAGMA_(GCC error what) ((void)0)

#define TRACE_INSTAFLOW_BEGIN(...) \
	TRACE_UNSUPPORTED_("TRACE_INSTAFLOW_BEGIN() is not supported yet by asynctrace")
#define TRACE_INSTAFLOW_STEP(...) \
	TRACE_UNSUPPORTED_("TRACE_INSTAFLOW_STEP() is not supported yet by asynctrace")
#define TRACE_INSTAFLOW_END(...) \
	TRACE_UNSUPPORTED_("TRACE_INSTAFLOW_END() is not supported yet by asynctrace")

#define TRACE_BLOB(...) \
	TRACE_UNSUPPORTED_("TRACE_BLOB() is not supported yet by asynctrace")
#define TRACE_BLOB_EVENT(...) \
	TRACE_UNSUPPORTED_("TRACE_BLOB_EVENT() is not supported yet by asynctrace")
#define TRACE_BLOB_ATTACHMENT(...) \
	TRACE_UNSUPPORTED_("TRACE_BLOB_ATTACHMENT() is not supported yet by asynctrace")

#define TRACE_KERNEL_OBJECT(...) \
	TRACE_UNSUPPORTED_("TRACE_KERNEL_OBJECT() is not supported yet by asynctrace")

#define TRACE_VTHREAD_DURATION_BEGIN(...) \
	TRACE_UNSUPPORTED_("TRACE_VTHREAD_DURATION_BEGIN() is not supported yet by asynctrace")
#define TRACE_VTHREAD_DURATION_END(...) \
	TRACE_UNSUPPORTED_("TRACE_VTHREAD_DURATION_END() is not supported yet by asynctrace")
#define TRACE_VTHREAD_FLOW_BEGIN(...) \
	TRACE_UNSUPPORTED_("TRACE_VTHREAD_FLOW_BEGIN() is not supported yet by asynctrace")
#define TRACE_VTHREAD_FLOW_STEP(...) \
	TRACE_UNSUPPORTED_("TRACE_VTHREAD_FLOW_STEP() is not supported yet by asynctrace")
#define TRACE_VTHREAD_FLOW_END(...) \
	TRACE_UNSUPPORTED_("TRACE_VTHREAD_FLOW_END() is not supported yet by asynctrace")

#define TRACE_DECLARE_ARGS(...) \
	TRACE_UNSUPPORTED_("TRACE_DECLARE_ARGS() is not supported yet by asynctrace")
#define TRACE_COMPLETE_ARGS(...) \
	TRACE_UNSUPPORTED_("TRACE_COMPLETE_ARGS() is not supported yet by asynctrace")
#define TRACE_NUM_ARGS(...) \
	TRACE_UNSUPPORTED_("TRACE_NUM_ARGS() is not supported yet by asynctrace")

#endif /* ASYNCTRACE_UNSUPPORTED_H */
