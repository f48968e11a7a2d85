// SPDX-License-Identifier: GPL-2.0
/*
 * Values of arguments, in the order of Fuchsia's event_tests: first made by the macros TA_*, then
 * plain ones. selftests/macros/run compiles this file as C and as C++, and as both with NTRACE.
 *
 * Prints whether the macros report that a category is recorded, and the first two nonces.
 */
#include <stdint.h>
#include <stdio.h>

#include <asynctrace/trace.h>

#ifdef __cplusplus
#include <string>
#include <string_view>

#define SIZED(type)	: type
#else
#define SIZED(type)
#endif

/* C chooses the type of an enumeration. */
enum int8 SIZED(int8_t) { INT8_LEAST = INT8_MIN, INT8_NONE = 0, INT8_MOST = INT8_MAX };
enum uint8 SIZED(uint8_t) { UINT8_NONE, UINT8_MOST = UINT8_MAX };
enum int16 SIZED(int16_t) { INT16_LEAST = INT16_MIN, INT16_NONE = 0, INT16_MOST = INT16_MAX };
enum uint16 SIZED(uint16_t) { UINT16_NONE, UINT16_MOST = UINT16_MAX };
enum int32 SIZED(int32_t) { INT32_LEAST = INT32_MIN, INT32_NONE = 0, INT32_MOST = INT32_MAX };
enum uint32 SIZED(uint32_t) { UINT32_NONE, UINT32_MOST = UINT32_MAX };
enum int64 SIZED(int64_t) { INT64_LEAST = INT64_MIN, INT64_NONE = 0, INT64_MOST = INT64_MAX };
enum uint64 SIZED(uint64_t) { UINT64_NONE, UINT64_MOST = UINT64_MAX };

#define VALUE(v)	TRACE_DURATION_BEGIN("values", "name", "key", v)
#define THREE(make, min, max)	do { VALUE(make(min)); VALUE(make(0)); VALUE(make(max)); } while (0)
#define TWO(make, max)	do { VALUE(make(0)); VALUE(make(max)); } while (0)
#define PLAIN_3(type, min, max)	do { \
		VALUE((type)min); VALUE((type)0); VALUE((type)max); \
	} while (0)
#define PLAIN_2(type, max)	do { VALUE((type)0); VALUE((type)max); } while (0)

static void numbers(void)
{
	VALUE(TA_NULL());
	VALUE(TA_BOOL(true));
	VALUE(TA_BOOL(false));
	THREE(TA_INT32, INT32_MIN, INT32_MAX);
	TWO(TA_UINT32, UINT32_MAX);
	THREE(TA_INT64, INT64_MIN, INT64_MAX);
	TWO(TA_UINT64, UINT64_MAX);
	THREE(TA_INT32, INT32_LEAST, INT32_MOST);
	TWO(TA_UINT32, UINT32_MOST);
	THREE(TA_INT64, INT64_LEAST, INT64_MOST);
	TWO(TA_UINT64, UINT64_MOST);
	VALUE(TA_DOUBLE(1.f));
	VALUE(TA_DOUBLE(1.));
	VALUE(TA_KOID(42u));
}

/* The types of bit-fields differ in C and C++, and between compilers, but their values do not. */
static struct {
	unsigned int narrow : 3;
	int signed_narrow : 5;
	uint64_t wide : 40;
	int64_t signed_wide : 63;
} fields = { 7, -16, (1ull << 40) - 1, -(1ll << 62) };

static void plain_numbers(void)
{
	VALUE((bool)true);
	VALUE((bool)false);
	PLAIN_3(int8_t, INT8_MIN, INT8_MAX);
	PLAIN_3(int16_t, INT16_MIN, INT16_MAX);
	PLAIN_3(int32_t, INT32_MIN, INT32_MAX);
	PLAIN_2(uint8_t, UINT8_MAX);
	PLAIN_2(uint16_t, UINT16_MAX);
	PLAIN_2(uint32_t, UINT32_MAX);
	PLAIN_3(int64_t, INT64_MIN, INT64_MAX);
	PLAIN_2(uint64_t, UINT64_MAX);
	VALUE(1.f);
	VALUE(1.);
	VALUE(1.l);
	VALUE(fields.narrow);
	VALUE(fields.signed_narrow);
	VALUE(fields.wide);
	VALUE(fields.signed_wide);
	TRACE_COUNTER("values", "counter", 1, "key", fields.wide);
#ifdef __cplusplus
	VALUE(nullptr);
	PLAIN_3(int8, INT8_LEAST, INT8_MOST);
	PLAIN_2(uint8, UINT8_MOST);
	PLAIN_3(int16, INT16_LEAST, INT16_MOST);
	PLAIN_2(uint16, UINT16_MOST);
	PLAIN_3(int32, INT32_LEAST, INT32_MOST);
	PLAIN_2(uint32, UINT32_MOST);
	PLAIN_3(int64, INT64_LEAST, INT64_MOST);
	PLAIN_2(uint64, UINT64_MOST);
#endif
}

static void texts(void)
{
	char array[] = "char[n]...", text[5] = { '?', '2', '3', '4', '\0' };

	text[0] = '1';
	VALUE(TA_CHAR_ARRAY(NULL, 0u));
	VALUE(TA_CHAR_ARRAY("", 0u));
	VALUE(TA_CHAR_ARRAY("literal", 7u));
	VALUE(TA_CHAR_ARRAY(array, 7u));
	VALUE(array);
	VALUE(TA_STRING((const char *)NULL));
	VALUE(TA_STRING(""));
	VALUE(TA_STRING("literal"));
	VALUE(TA_STRING(text));
	VALUE((const char *)NULL);
	VALUE("");
	VALUE("literal");
	VALUE(text);
}

#ifdef __cplusplus
struct label {
	operator const char *() { return "label"; }
};

struct title {
	operator const char *() const { return "not this"; }
	operator std::string_view() const { return "title"; }
};

/* Text in an array ends at its first NUL, or else at the end of the array. */
static void texts_of_cxx(void)
{
	static const char unterminated[5] = { '1', '2', '3', '4', '5' };
	static const struct {
		char text[4];
		char after[8];
	} full = { { 'f', 'u', 'l', 'l' }, "after" };
	char changed[5] = { '?', '2', '3', '4', '5' }, partly[16] = "part", one[1] = { 'x' };

	changed[0] = '1';
	VALUE(unterminated);
	VALUE(changed);
	VALUE(full.text);
	VALUE(partly);
	VALUE(one);
	VALUE(TA_STRING(unterminated));
	VALUE("a\0b");
	VALUE(std::string("dynamic string"));
	VALUE(std::string_view("piece", 3u));
	VALUE(label());
	VALUE(title());
	{
		/* The record is written when the string does not exist any more. */
		TRACE_DURATION("values", "name", "key", std::string("temporary text of a block"));
	}
}
#endif

static void pointers(void)
{
	void *null = NULL, *p = &null;
	const void *const_null = NULL, *const_p = &null;
	volatile void *volatile_null = NULL, *volatile_p = &null;
	const volatile void *const_volatile_null = NULL, *const_volatile_p = &null;

	VALUE(TA_POINTER(null));
	VALUE(TA_POINTER(const_null));
	VALUE(TA_POINTER(volatile_null));
	VALUE(TA_POINTER(const_volatile_null));
	VALUE(TA_POINTER(p));
	VALUE(TA_POINTER(const_p));
	VALUE(TA_POINTER(volatile_p));
	VALUE(TA_POINTER(const_volatile_p));
	VALUE(null);
	VALUE(const_null);
	VALUE(volatile_null);
	VALUE(const_volatile_null);
	VALUE(p);
	VALUE(const_p);
	VALUE(volatile_p);
	VALUE(const_volatile_p);
}

int main(void)
{
	const uint64_t first = TRACE_NONCE(), second = TRACE_NONCE();

	numbers();
	plain_numbers();
	texts();
#ifdef __cplusplus
	texts_of_cxx();
#endif
	pointers();
	printf("%d %d %d %d %d\n", TRACE_ENABLED(), TRACE_CATEGORY_ENABLED("values"),
	       TRACE_CATEGORY_ENABLED(""), (int)first, (int)second);
	return 0;
}
