/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Preprocessor lists: LEAD, "key", value, "key", value, ... of 0 to 15 pairs
 *
 * LEAD is whatever the caller has before the pairs. A list without it could be
 * empty, and neither C nor C++17 has a way to pass an empty list on: the comma
 * before it stays. `, ##__VA_ARGS__` is a GNU extension that -Wpedantic reports,
 * and __VA_OPT__ is of C++20 and C23. So no list here is ever empty.
 *
 * AT_COUNT_(LIST)	number of pairs, or AT_ODD_, or AT_MANY_
 * AT_KEYS_(LIST)	"key", "key", ... each followed by a comma
 * AT_VALUES_(LIST)	AT_VALUE_(value), ... each followed by a comma
 * AT_LEAD_(LIST)	LEAD
 *
 * AT_PAIRS_CHECK_(LIST) does not compile if there is no LEAD, a key without a
 * value, or more than 15 pairs, and says which.
 */
#ifndef ASYNCTRACE_PAIRS_H
#define ASYNCTRACE_PAIRS_H

#ifdef __cplusplus
#define AT_STATIC_ASSERT_	static_assert
#else
#define AT_STATIC_ASSERT_	_Static_assert
#endif

#define AT_CAT_(a, b) AT_CAT2_(a, b)
#define AT_CAT2_(a, b) a##b

/* Counts of lists that are wrong. Numbers, so that an assertion can test for them. */
enum {
	AT_ODD_		= 100,
	AT_MANY_	= 101
};

/* Picks the 64th item. */
#define AT_PICK_( \
	i0, i1, i2, i3, i4, i5, i6, i7, i8, i9, i10, i11, \
	i12, i13, i14, i15, i16, i17, i18, i19, i20, i21, i22, i23, \
	i24, i25, i26, i27, i28, i29, i30, i31, i32, i33, i34, i35, \
	i36, i37, i38, i39, i40, i41, i42, i43, i44, i45, i46, i47, \
	i48, i49, i50, i51, i52, i53, i54, i55, i56, i57, i58, i59, \
	i60, i61, i62, \
	picked, ...) picked

/* A list has one item more than its pairs have; the last 0 is there for AT_PICK_'s "...". */
#define AT_COUNT_(...) AT_PICK_(__VA_ARGS__, \
	AT_MANY_, AT_MANY_, AT_MANY_, AT_MANY_, AT_MANY_, AT_MANY_, AT_MANY_, AT_MANY_, \
	AT_MANY_, AT_MANY_, AT_MANY_, AT_MANY_, AT_MANY_, AT_MANY_, AT_MANY_, AT_MANY_, \
	AT_MANY_, AT_MANY_, AT_MANY_, AT_MANY_, AT_MANY_, AT_MANY_, AT_MANY_, AT_MANY_, \
	AT_MANY_, AT_MANY_, AT_MANY_, AT_MANY_, AT_MANY_, AT_MANY_, AT_MANY_, AT_MANY_, \
	15, AT_ODD_, 14, AT_ODD_, 13, AT_ODD_, 12, AT_ODD_, \
	11, AT_ODD_, 10, AT_ODD_, 9, AT_ODD_, 8, AT_ODD_, \
	7, AT_ODD_, 6, AT_ODD_, 5, AT_ODD_, 4, AT_ODD_, \
	3, AT_ODD_, 2, AT_ODD_, 1, AT_ODD_, 0, 0)

#define AT_LEAD_(...) AT_LEAD2_(__VA_ARGS__, 0)
#define AT_LEAD2_(lead, ...) lead
#define AT_TEXT_(...) AT_TEXT2_(__VA_ARGS__)
#define AT_TEXT2_(...) #__VA_ARGS__

#define AT_PAIRS_CHECK_(...) \
	AT_STATIC_ASSERT_(sizeof(AT_TEXT_(AT_LEAD_(__VA_ARGS__))) > 1, \
			  "this TRACE_ macro needs more arguments"); \
	AT_STATIC_ASSERT_(AT_COUNT_(__VA_ARGS__) != AT_ODD_, \
			  "after its fixed arguments, a TRACE_ macro takes pairs: \"key\", value"); \
	AT_STATIC_ASSERT_(AT_COUNT_(__VA_ARGS__) != AT_MANY_, \
			  "an event has at most 15 arguments")

#define AT_KEYS_(...) AT_CAT_(AT_KEYS, AT_COUNT_(__VA_ARGS__))(__VA_ARGS__)
#define AT_VALUES_(...) AT_CAT_(AT_VALUES, AT_COUNT_(__VA_ARGS__))(__VA_ARGS__)

/* AT_PAIRS_CHECK_ reports these. */
#define AT_KEYSAT_ODD_(...)
#define AT_KEYSAT_MANY_(...)
#define AT_VALUESAT_ODD_(...)
#define AT_VALUESAT_MANY_(...)

/* The "" makes anything but a literal an error. */
#define AT_KEYS0(lead)
#define AT_KEYS1(lead, k, v) "" k,
#define AT_KEYS2(lead, k, v, ...) "" k, AT_KEYS1(, __VA_ARGS__)
#define AT_KEYS3(lead, k, v, ...) "" k, AT_KEYS2(, __VA_ARGS__)
#define AT_KEYS4(lead, k, v, ...) "" k, AT_KEYS3(, __VA_ARGS__)
#define AT_KEYS5(lead, k, v, ...) "" k, AT_KEYS4(, __VA_ARGS__)
#define AT_KEYS6(lead, k, v, ...) "" k, AT_KEYS5(, __VA_ARGS__)
#define AT_KEYS7(lead, k, v, ...) "" k, AT_KEYS6(, __VA_ARGS__)
#define AT_KEYS8(lead, k, v, ...) "" k, AT_KEYS7(, __VA_ARGS__)
#define AT_KEYS9(lead, k, v, ...) "" k, AT_KEYS8(, __VA_ARGS__)
#define AT_KEYS10(lead, k, v, ...) "" k, AT_KEYS9(, __VA_ARGS__)
#define AT_KEYS11(lead, k, v, ...) "" k, AT_KEYS10(, __VA_ARGS__)
#define AT_KEYS12(lead, k, v, ...) "" k, AT_KEYS11(, __VA_ARGS__)
#define AT_KEYS13(lead, k, v, ...) "" k, AT_KEYS12(, __VA_ARGS__)
#define AT_KEYS14(lead, k, v, ...) "" k, AT_KEYS13(, __VA_ARGS__)
#define AT_KEYS15(lead, k, v, ...) "" k, AT_KEYS14(, __VA_ARGS__)

#define AT_VALUES0(lead)
#define AT_VALUES1(lead, k, v) AT_VALUE_(v),
#define AT_VALUES2(lead, k, v, ...) AT_VALUE_(v), AT_VALUES1(, __VA_ARGS__)
#define AT_VALUES3(lead, k, v, ...) AT_VALUE_(v), AT_VALUES2(, __VA_ARGS__)
#define AT_VALUES4(lead, k, v, ...) AT_VALUE_(v), AT_VALUES3(, __VA_ARGS__)
#define AT_VALUES5(lead, k, v, ...) AT_VALUE_(v), AT_VALUES4(, __VA_ARGS__)
#define AT_VALUES6(lead, k, v, ...) AT_VALUE_(v), AT_VALUES5(, __VA_ARGS__)
#define AT_VALUES7(lead, k, v, ...) AT_VALUE_(v), AT_VALUES6(, __VA_ARGS__)
#define AT_VALUES8(lead, k, v, ...) AT_VALUE_(v), AT_VALUES7(, __VA_ARGS__)
#define AT_VALUES9(lead, k, v, ...) AT_VALUE_(v), AT_VALUES8(, __VA_ARGS__)
#define AT_VALUES10(lead, k, v, ...) AT_VALUE_(v), AT_VALUES9(, __VA_ARGS__)
#define AT_VALUES11(lead, k, v, ...) AT_VALUE_(v), AT_VALUES10(, __VA_ARGS__)
#define AT_VALUES12(lead, k, v, ...) AT_VALUE_(v), AT_VALUES11(, __VA_ARGS__)
#define AT_VALUES13(lead, k, v, ...) AT_VALUE_(v), AT_VALUES12(, __VA_ARGS__)
#define AT_VALUES14(lead, k, v, ...) AT_VALUE_(v), AT_VALUES13(, __VA_ARGS__)
#define AT_VALUES15(lead, k, v, ...) AT_VALUE_(v), AT_VALUES14(, __VA_ARGS__)

#endif /* ASYNCTRACE_PAIRS_H */
