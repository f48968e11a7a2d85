/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Plain C++ values as arguments of the TRACE_* macros */
#ifndef ASYNCTRACE_VALUES_HPP
#define ASYNCTRACE_VALUES_HPP

#include <cstddef>
#include <string_view>
#include <type_traits>

#include <asynctrace/detail/event.h>
#include <asynctrace/detail/number.h>
#include <asynctrace/detail/special.h>

namespace asynctrace {

#define TRACE_CXX_INLINE_ [[gnu::always_inline]] inline

TRACE_CXX_INLINE_ at_arg_ at_value_(const at_arg_ &a)
{
	return a;
}

TRACE_CXX_INLINE_ at_arg_ at_value_(const at_number_ &n)
{
	return n.arg;
}

TRACE_CXX_INLINE_ at_arg_ at_value_(std::nullptr_t)
{
	return at_arg_null_();
}

/* A template with T by value, so that an array prefers the function below. */
template <typename T,
	  std::enable_if_t<std::is_same_v<T, const char *> || std::is_same_v<T, char *>, int> = 0>
TRACE_CXX_INLINE_ at_arg_ at_value_(T s)
{
	return at_arg_string_(s);
}

/*
 * Text in an array ends at its first NUL, or else at the end of the array. Compilers compute
 * strlen() of a literal, but not strnlen().
 */
template <std::size_t N> TRACE_CXX_INLINE_ at_arg_ at_value_(const char (&s)[N])
{
	if (__builtin_constant_p(s[N - 1]) && !s[N - 1])
		return at_arg_string_(s);
	return at_arg_text_(s, strnlen(s, N));
}

/* A class that converts to a string of C and not to std::string_view */
template <typename T,
	  std::enable_if_t<std::is_class_v<std::remove_reference_t<T>> &&
			   std::is_convertible_v<T, const char *> &&
			   !std::is_convertible_v<T, std::string_view>, int> = 0>
TRACE_CXX_INLINE_ at_arg_ at_value_(T &&s)
{
	return at_arg_string_(static_cast<T &&>(s));
}

/* Also takes std::string; a temporary one lives until the end of the statement. */
TRACE_CXX_INLINE_ at_arg_ at_value_(std::string_view s)
{
	return at_arg_text_(s.data() ? s.data() : "", s.size());
}

/* Integers of more than 64 bits do not compile, because they would be cut. */
template <typename T,
	  std::enable_if_t<std::is_floating_point_v<T> || std::is_enum_v<T> ||
			   (std::is_integral_v<T> && sizeof(T) <= 8), int> = 0>
TRACE_CXX_INLINE_ at_arg_ at_value_(T v)
{
	if constexpr (std::is_enum_v<T>)
		return at_value_(static_cast<std::underlying_type_t<T>>(v));
	else if constexpr (std::is_same_v<T, bool>)
		return at_arg_bool_(v);
	else if constexpr (std::is_floating_point_v<T>)
		return at_arg_double_(static_cast<double>(v));
	else if constexpr (std::is_signed_v<T> && sizeof(T) <= 4)
		return at_arg_i32_(v);
	else if constexpr (std::is_signed_v<T>)
		return at_arg_i64_(v);
	else if constexpr (sizeof(T) <= 4)
		return at_arg_u32_(v);
	else
		return at_arg_u64_(v);
}

template <typename T,
	  std::enable_if_t<!std::is_same_v<std::remove_const_t<T>, char>, int> = 0>
TRACE_CXX_INLINE_ at_arg_ at_value_(T *p)
{
	return at_arg_pointer_(p);
}

template <typename T> constexpr bool at_is_number_()
{
	if constexpr (std::is_enum_v<T>)
		return at_is_number_<std::underlying_type_t<T>>();
	else
		return std::is_same_v<T, at_number_> ||
		       (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>);
}

template <typename T> TRACE_CXX_INLINE_ at_arg_ at_counter_value_(T v)
{
	static_assert(at_is_number_<T>(), "a counter takes numbers only");
	return at_value_(v);
}

/* A string converts neither to int nor to unsigned int, so it does not compile here. */
TRACE_CXX_INLINE_ int at_scope_check_(int scope)
{
	return scope;
}

TRACE_CXX_INLINE_ unsigned int at_blob_check_(unsigned int type)
{
	return type;
}

TRACE_CXX_INLINE_ at_handle_ at_handle_of_(int fd)
{
	return at_handle_fd_(fd);
}

TRACE_CXX_INLINE_ at_handle_ at_handle_of_(pthread_t thread)
{
	return at_handle_thread_(thread);
}

/* An array that can be part of an expression. */
template <unsigned int N> struct at_args_ {
	at_arg_ a[N];
};

#undef TRACE_CXX_INLINE_

} /* namespace asynctrace */

#endif /* ASYNCTRACE_VALUES_HPP */
