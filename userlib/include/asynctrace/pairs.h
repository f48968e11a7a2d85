/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Preprocessor lists: "key", value, "key", value, ... of 0 to 15 pairs.
 *
 * AT_COUNT_(0, ...)	number of pairs
 * AT_KEYS_(0, ...)	"key", "key", ... each followed by a comma
 * AT_VALUES_(0, ...)	AT_VALUE_(value), ... each followed by a comma
 *
 * The leading 0 is there because only after a named parameter does every
 * language mode drop the comma before an empty list.
 *
 * An odd number of items, or too many, does not compile: AT_WRONG_PAIRS_ names
 * no macro.
 */
#ifndef ASYNCTRACE_PAIRS_H
#define ASYNCTRACE_PAIRS_H

/* The 32nd item after the list that AT_COUNT_ builds. */
#define AT_PICK_( \
	i0, i1, i2, i3, i4, i5, i6, i7, i8, i9, i10, i11, \
	i12, i13, i14, i15, i16, i17, i18, i19, i20, i21, i22, i23, \
	i24, i25, i26, i27, i28, i29, i30, \
	picked, ...) picked

#define AT_COUNT_(zero, ...) AT_PICK_(zero, ##__VA_ARGS__, \
	15, AT_ODD_, 14, AT_ODD_, 13, AT_ODD_, 12, AT_ODD_, \
	11, AT_ODD_, 10, AT_ODD_, 9, AT_ODD_, 8, AT_ODD_, \
	7, AT_ODD_, 6, AT_ODD_, 5, AT_ODD_, 4, AT_ODD_, \
	3, AT_ODD_, 2, AT_ODD_, 1, AT_ODD_, 0)

#define AT_CAT_(a, b) AT_CAT2_(a, b)
#define AT_CAT2_(a, b) a##b

#define AT_KEYS_(zero, ...) \
	AT_CAT_(AT_KEYS, AT_COUNT_(zero, ##__VA_ARGS__))(__VA_ARGS__)
#define AT_VALUES_(zero, ...) \
	AT_CAT_(AT_VALUES, AT_COUNT_(zero, ##__VA_ARGS__))(__VA_ARGS__)

#define AT_KEYSAT_ODD_(...) AT_WRONG_PAIRS_
#define AT_VALUESAT_ODD_(...) AT_WRONG_PAIRS_

/* The "" is what lets only literals through. */
#define AT_KEYS0(...)
#define AT_KEYS1(k, v) "" k,
#define AT_KEYS2(k, v, ...) "" k, AT_KEYS1(__VA_ARGS__)
#define AT_KEYS3(k, v, ...) "" k, AT_KEYS2(__VA_ARGS__)
#define AT_KEYS4(k, v, ...) "" k, AT_KEYS3(__VA_ARGS__)
#define AT_KEYS5(k, v, ...) "" k, AT_KEYS4(__VA_ARGS__)
#define AT_KEYS6(k, v, ...) "" k, AT_KEYS5(__VA_ARGS__)
#define AT_KEYS7(k, v, ...) "" k, AT_KEYS6(__VA_ARGS__)
#define AT_KEYS8(k, v, ...) "" k, AT_KEYS7(__VA_ARGS__)
#define AT_KEYS9(k, v, ...) "" k, AT_KEYS8(__VA_ARGS__)
#define AT_KEYS10(k, v, ...) "" k, AT_KEYS9(__VA_ARGS__)
#define AT_KEYS11(k, v, ...) "" k, AT_KEYS10(__VA_ARGS__)
#define AT_KEYS12(k, v, ...) "" k, AT_KEYS11(__VA_ARGS__)
#define AT_KEYS13(k, v, ...) "" k, AT_KEYS12(__VA_ARGS__)
#define AT_KEYS14(k, v, ...) "" k, AT_KEYS13(__VA_ARGS__)
#define AT_KEYS15(k, v, ...) "" k, AT_KEYS14(__VA_ARGS__)

#define AT_VALUES0(...)
#define AT_VALUES1(k, v) AT_VALUE_(v),
#define AT_VALUES2(k, v, ...) AT_VALUE_(v), AT_VALUES1(__VA_ARGS__)
#define AT_VALUES3(k, v, ...) AT_VALUE_(v), AT_VALUES2(__VA_ARGS__)
#define AT_VALUES4(k, v, ...) AT_VALUE_(v), AT_VALUES3(__VA_ARGS__)
#define AT_VALUES5(k, v, ...) AT_VALUE_(v), AT_VALUES4(__VA_ARGS__)
#define AT_VALUES6(k, v, ...) AT_VALUE_(v), AT_VALUES5(__VA_ARGS__)
#define AT_VALUES7(k, v, ...) AT_VALUE_(v), AT_VALUES6(__VA_ARGS__)
#define AT_VALUES8(k, v, ...) AT_VALUE_(v), AT_VALUES7(__VA_ARGS__)
#define AT_VALUES9(k, v, ...) AT_VALUE_(v), AT_VALUES8(__VA_ARGS__)
#define AT_VALUES10(k, v, ...) AT_VALUE_(v), AT_VALUES9(__VA_ARGS__)
#define AT_VALUES11(k, v, ...) AT_VALUE_(v), AT_VALUES10(__VA_ARGS__)
#define AT_VALUES12(k, v, ...) AT_VALUE_(v), AT_VALUES11(__VA_ARGS__)
#define AT_VALUES13(k, v, ...) AT_VALUE_(v), AT_VALUES12(__VA_ARGS__)
#define AT_VALUES14(k, v, ...) AT_VALUE_(v), AT_VALUES13(__VA_ARGS__)
#define AT_VALUES15(k, v, ...) AT_VALUE_(v), AT_VALUES14(__VA_ARGS__)

#endif /* ASYNCTRACE_PAIRS_H */
