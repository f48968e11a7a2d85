/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Preprocessor lists: LEAD, "key", value, "key", value, ... of 0 to 15 pairs
 *
 * LEAD is any argument that the caller has before the pairs. Without LEAD, a list could be empty,
 * and neither C nor C++17 can pass on an empty list: the comma before it stays. `, ##__VA_ARGS__`
 * is a GNU extension that -Wpedantic reports, and __VA_OPT__ needs C++20 or C23. So no list here
 * is ever empty.
 *
 *	TRACE_COUNT_(LIST)	number of pairs, or TRACE_ODD_, or TRACE_MANY_
 *	TRACE_EACH_PAIR_(M, LIST)	M("key", value) M("key", value) ...
 *	TRACE_KEYS_(LIST)	"key", "key", ... each followed by a comma
 *	TRACE_LEAD_(LIST)	LEAD
 *
 * TRACE_PAIRS_CHECK_(LIST) does not compile if there is no LEAD, a key without a value, or more
 * than 15 pairs. The compiler's message says which.
 */
#ifndef ASYNCTRACE_PAIRS_H
#define ASYNCTRACE_PAIRS_H

#ifdef __cplusplus
#define TRACE_STATIC_ASSERT_	static_assert
#else
#define TRACE_STATIC_ASSERT_	_Static_assert
#endif

#define TRACE_CAT_(a, b) TRACE_CAT2_(a, b)
#define TRACE_CAT2_(a, b) a##b

/*
 * Results of TRACE_COUNT_() for invalid lists: a key without a value, or more than 15 pairs. They
 * are numbers, so that a static assertion can compare them.
 */
enum {
	TRACE_ODD_		= 100,
	TRACE_MANY_	= 101
};

/* Picks the 64th item. */
#define TRACE_PICK_( \
	i0, i1, i2, i3, i4, i5, i6, i7, i8, i9, i10, i11, \
	i12, i13, i14, i15, i16, i17, i18, i19, i20, i21, i22, i23, \
	i24, i25, i26, i27, i28, i29, i30, i31, i32, i33, i34, i35, \
	i36, i37, i38, i39, i40, i41, i42, i43, i44, i45, i46, i47, \
	i48, i49, i50, i51, i52, i53, i54, i55, i56, i57, i58, i59, \
	i60, i61, i62, \
	picked, ...) picked

/* The first item, LEAD, belongs to no pair. The last 0 is for the "..." of TRACE_PICK_. */
#define TRACE_COUNT_(...) TRACE_PICK_(__VA_ARGS__, \
	TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, \
	TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, \
	TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, \
	TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, \
	TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, \
	TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, \
	TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, \
	TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, \
	15, TRACE_ODD_, 14, TRACE_ODD_, 13, TRACE_ODD_, 12, TRACE_ODD_, \
	11, TRACE_ODD_, 10, TRACE_ODD_, 9, TRACE_ODD_, 8, TRACE_ODD_, \
	7, TRACE_ODD_, 6, TRACE_ODD_, 5, TRACE_ODD_, 4, TRACE_ODD_, \
	3, TRACE_ODD_, 2, TRACE_ODD_, 1, TRACE_ODD_, 0, 0)

#define TRACE_LEAD_(...) TRACE_LEAD2_(__VA_ARGS__, 0)
#define TRACE_LEAD2_(lead, ...) lead
/* Removes the parentheses of a list. */
#define TRACE_OPEN_(...) __VA_ARGS__
#define TRACE_TEXT_(...) TRACE_TEXT2_(__VA_ARGS__)
#define TRACE_TEXT2_(...) #__VA_ARGS__

#define TRACE_PAIRS_CHECK_(...) \
	TRACE_STATIC_ASSERT_(sizeof(TRACE_TEXT_(TRACE_LEAD_(__VA_ARGS__))) > 1, \
			  "this TRACE_ macro needs more arguments"); \
	TRACE_STATIC_ASSERT_(TRACE_COUNT_(__VA_ARGS__) != TRACE_ODD_, \
			  "after its fixed arguments, a TRACE_ macro takes pairs: \"key\", value"); \
	TRACE_STATIC_ASSERT_(TRACE_COUNT_(__VA_ARGS__) != TRACE_MANY_, \
			  "an event has at most 15 arguments")

#define TRACE_EACH_PAIR_(m, ...) \
	TRACE_CAT_(TRACE_EACH_PAIR, TRACE_COUNT_(__VA_ARGS__))(m, __VA_ARGS__)
#define TRACE_KEYS_(...) TRACE_EACH_PAIR_(TRACE_PAIR_KEY_, __VA_ARGS__)
/* The "" before the key causes a compile error if the key is not a string literal. */
#define TRACE_PAIR_KEY_(k, v) "" k,

/* Empty for invalid lists, so that only TRACE_PAIRS_CHECK_ reports the error. */
#define TRACE_EACH_PAIRTRACE_ODD_(...)
#define TRACE_EACH_PAIRTRACE_MANY_(...)

#define TRACE_EACH_PAIR0(m, lead)
#define TRACE_EACH_PAIR1(m, lead, k, v) m(k, v)
#define TRACE_EACH_PAIR2(m, lead, k, v, ...) m(k, v) TRACE_EACH_PAIR1(m, , __VA_ARGS__)
#define TRACE_EACH_PAIR3(m, lead, k, v, ...) m(k, v) TRACE_EACH_PAIR2(m, , __VA_ARGS__)
#define TRACE_EACH_PAIR4(m, lead, k, v, ...) m(k, v) TRACE_EACH_PAIR3(m, , __VA_ARGS__)
#define TRACE_EACH_PAIR5(m, lead, k, v, ...) m(k, v) TRACE_EACH_PAIR4(m, , __VA_ARGS__)
#define TRACE_EACH_PAIR6(m, lead, k, v, ...) m(k, v) TRACE_EACH_PAIR5(m, , __VA_ARGS__)
#define TRACE_EACH_PAIR7(m, lead, k, v, ...) m(k, v) TRACE_EACH_PAIR6(m, , __VA_ARGS__)
#define TRACE_EACH_PAIR8(m, lead, k, v, ...) m(k, v) TRACE_EACH_PAIR7(m, , __VA_ARGS__)
#define TRACE_EACH_PAIR9(m, lead, k, v, ...) m(k, v) TRACE_EACH_PAIR8(m, , __VA_ARGS__)
#define TRACE_EACH_PAIR10(m, lead, k, v, ...) m(k, v) TRACE_EACH_PAIR9(m, , __VA_ARGS__)
#define TRACE_EACH_PAIR11(m, lead, k, v, ...) m(k, v) TRACE_EACH_PAIR10(m, , __VA_ARGS__)
#define TRACE_EACH_PAIR12(m, lead, k, v, ...) m(k, v) TRACE_EACH_PAIR11(m, , __VA_ARGS__)
#define TRACE_EACH_PAIR13(m, lead, k, v, ...) m(k, v) TRACE_EACH_PAIR12(m, , __VA_ARGS__)
#define TRACE_EACH_PAIR14(m, lead, k, v, ...) m(k, v) TRACE_EACH_PAIR13(m, , __VA_ARGS__)
#define TRACE_EACH_PAIR15(m, lead, k, v, ...) m(k, v) TRACE_EACH_PAIR14(m, , __VA_ARGS__)

#endif /* ASYNCTRACE_PAIRS_H */
