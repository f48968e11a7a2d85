/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Preprocessor lists: LEAD, "key", value, "key", value, ... of 0 to 15 pairs
 *
 * LEAD is whatever the caller has before the pairs. A list without it could be
 * empty, and neither C nor C++17 has a way to pass an empty list on: the comma
 * before it stays. `, ##__VA_ARGS__` is a GNU extension that -Wpedantic reports,
 * and __VA_OPT__ is of C++20 and C23. So no list here is ever empty.
 *
 * TRACE_COUNT_(LIST)	number of pairs, or TRACE_ODD_, or TRACE_MANY_
 * TRACE_KEYS_(LIST)	"key", "key", ... each followed by a comma
 * TRACE_VALUES_(LIST)	TRACE_VALUE_(value), ... each followed by a comma
 * TRACE_LEAD_(LIST)	LEAD
 *
 * TRACE_PAIRS_CHECK_(LIST) does not compile if there is no LEAD, a key without a
 * value, or more than 15 pairs, and says which.
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

/* Counts of lists that are wrong. Numbers, so that an assertion can test for them. */
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

/* A list has one item more than its pairs have; the last 0 is there for TRACE_PICK_'s "...". */
#define TRACE_COUNT_(...) TRACE_PICK_(__VA_ARGS__, \
	TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, \
	TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, \
	TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, \
	TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, \
	15, TRACE_ODD_, 14, TRACE_ODD_, 13, TRACE_ODD_, 12, TRACE_ODD_, \
	11, TRACE_ODD_, 10, TRACE_ODD_, 9, TRACE_ODD_, 8, TRACE_ODD_, \
	7, TRACE_ODD_, 6, TRACE_ODD_, 5, TRACE_ODD_, 4, TRACE_ODD_, \
	3, TRACE_ODD_, 2, TRACE_ODD_, 1, TRACE_ODD_, 0, 0)

#define TRACE_LEAD_(...) TRACE_LEAD2_(__VA_ARGS__, 0)
#define TRACE_LEAD2_(lead, ...) lead
#define TRACE_TEXT_(...) TRACE_TEXT2_(__VA_ARGS__)
#define TRACE_TEXT2_(...) #__VA_ARGS__

#define TRACE_PAIRS_CHECK_(...) \
	TRACE_STATIC_ASSERT_(sizeof(TRACE_TEXT_(TRACE_LEAD_(__VA_ARGS__))) > 1, \
			  "this TRACE_ macro needs more arguments"); \
	TRACE_STATIC_ASSERT_(TRACE_COUNT_(__VA_ARGS__) != TRACE_ODD_, \
			  "after its fixed arguments, a TRACE_ macro takes pairs: \"key\", value"); \
	TRACE_STATIC_ASSERT_(TRACE_COUNT_(__VA_ARGS__) != TRACE_MANY_, \
			  "an event has at most 15 arguments")

#define TRACE_KEYS_(...) TRACE_CAT_(TRACE_KEYS, TRACE_COUNT_(__VA_ARGS__))(__VA_ARGS__)
#define TRACE_VALUES_(...) TRACE_CAT_(TRACE_VALUES, TRACE_COUNT_(__VA_ARGS__))(__VA_ARGS__)

/* TRACE_PAIRS_CHECK_ reports these. */
#define TRACE_KEYSTRACE_ODD_(...)
#define TRACE_KEYSTRACE_MANY_(...)
#define TRACE_VALUESTRACE_ODD_(...)
#define TRACE_VALUESTRACE_MANY_(...)

/* The "" makes anything but a literal an error. */
#define TRACE_KEYS0(lead)
#define TRACE_KEYS1(lead, k, v) "" k,
#define TRACE_KEYS2(lead, k, v, ...) "" k, TRACE_KEYS1(, __VA_ARGS__)
#define TRACE_KEYS3(lead, k, v, ...) "" k, TRACE_KEYS2(, __VA_ARGS__)
#define TRACE_KEYS4(lead, k, v, ...) "" k, TRACE_KEYS3(, __VA_ARGS__)
#define TRACE_KEYS5(lead, k, v, ...) "" k, TRACE_KEYS4(, __VA_ARGS__)
#define TRACE_KEYS6(lead, k, v, ...) "" k, TRACE_KEYS5(, __VA_ARGS__)
#define TRACE_KEYS7(lead, k, v, ...) "" k, TRACE_KEYS6(, __VA_ARGS__)
#define TRACE_KEYS8(lead, k, v, ...) "" k, TRACE_KEYS7(, __VA_ARGS__)
#define TRACE_KEYS9(lead, k, v, ...) "" k, TRACE_KEYS8(, __VA_ARGS__)
#define TRACE_KEYS10(lead, k, v, ...) "" k, TRACE_KEYS9(, __VA_ARGS__)
#define TRACE_KEYS11(lead, k, v, ...) "" k, TRACE_KEYS10(, __VA_ARGS__)
#define TRACE_KEYS12(lead, k, v, ...) "" k, TRACE_KEYS11(, __VA_ARGS__)
#define TRACE_KEYS13(lead, k, v, ...) "" k, TRACE_KEYS12(, __VA_ARGS__)
#define TRACE_KEYS14(lead, k, v, ...) "" k, TRACE_KEYS13(, __VA_ARGS__)
#define TRACE_KEYS15(lead, k, v, ...) "" k, TRACE_KEYS14(, __VA_ARGS__)

#define TRACE_VALUES0(lead)
#define TRACE_VALUES1(lead, k, v) TRACE_VALUE_(v),
#define TRACE_VALUES2(lead, k, v, ...) TRACE_VALUE_(v), TRACE_VALUES1(, __VA_ARGS__)
#define TRACE_VALUES3(lead, k, v, ...) TRACE_VALUE_(v), TRACE_VALUES2(, __VA_ARGS__)
#define TRACE_VALUES4(lead, k, v, ...) TRACE_VALUE_(v), TRACE_VALUES3(, __VA_ARGS__)
#define TRACE_VALUES5(lead, k, v, ...) TRACE_VALUE_(v), TRACE_VALUES4(, __VA_ARGS__)
#define TRACE_VALUES6(lead, k, v, ...) TRACE_VALUE_(v), TRACE_VALUES5(, __VA_ARGS__)
#define TRACE_VALUES7(lead, k, v, ...) TRACE_VALUE_(v), TRACE_VALUES6(, __VA_ARGS__)
#define TRACE_VALUES8(lead, k, v, ...) TRACE_VALUE_(v), TRACE_VALUES7(, __VA_ARGS__)
#define TRACE_VALUES9(lead, k, v, ...) TRACE_VALUE_(v), TRACE_VALUES8(, __VA_ARGS__)
#define TRACE_VALUES10(lead, k, v, ...) TRACE_VALUE_(v), TRACE_VALUES9(, __VA_ARGS__)
#define TRACE_VALUES11(lead, k, v, ...) TRACE_VALUE_(v), TRACE_VALUES10(, __VA_ARGS__)
#define TRACE_VALUES12(lead, k, v, ...) TRACE_VALUE_(v), TRACE_VALUES11(, __VA_ARGS__)
#define TRACE_VALUES13(lead, k, v, ...) TRACE_VALUE_(v), TRACE_VALUES12(, __VA_ARGS__)
#define TRACE_VALUES14(lead, k, v, ...) TRACE_VALUE_(v), TRACE_VALUES13(, __VA_ARGS__)
#define TRACE_VALUES15(lead, k, v, ...) TRACE_VALUE_(v), TRACE_VALUES14(, __VA_ARGS__)

#endif /* ASYNCTRACE_PAIRS_H */
