/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Expansions of the macros of asynctrace/probe.h. Programs must not use these names.
 *
 * For other tracers, a probe is a nop instruction and a note about it in the ELF file. The note
 * has the format of SystemTap's sys/sdt.h, version 3. It names the address of the instruction and
 * the operands that hold the arguments.
 */
#ifndef ASYNCTRACE_DETAIL_PROBE_H
#define ASYNCTRACE_DETAIL_PROBE_H

#include <stdint.h>

#include <asynctrace/trace.h>

#ifdef __cplusplus
#include <type_traits>

extern "C" {
#endif

struct at_uid;

/* Makes the number of *@uid unless it has one. Returns the number. */
uint64_t at_uid_make_(struct at_uid *uid);
/*
 * Copies the probe's name from @from to @name, with each "__" replaced by "-", and calls
 * at_site_learn_(). @bytes: size of @from with its NUL
 */
uint64_t at_probe_learn_(struct at_site_ *site, uint32_t gate, char *name, const char *from,
			 size_t bytes);

#ifdef __cplusplus
}

namespace asynctrace {

/*
 * Returns the size of an argument of type T in bytes, negated if T is unsigned or a pointer; 0 if
 * T is no valid type of an argument.
 */
template <typename T> constexpr int at_probe_bytes_()
{
	if constexpr (std::is_enum_v<T>)
		return at_probe_bytes_<std::underlying_type_t<T>>();
	else if constexpr ((std::is_integral_v<T> && sizeof(T) <= 8) || std::is_pointer_v<T>)
		return std::is_signed_v<T> ? int{sizeof(T)} : -int{sizeof(T)};
	else
		return 0;
}

/* An evaluated argument, with the size of its type as at_probe_bytes_() returns it */
template <int N> struct at_probe_value_ {
	at_arg_ arg;
	enum {
		bytes = N
	};
};

template <typename T>
[[gnu::always_inline]] inline at_probe_value_<at_probe_bytes_<T>()> at_probe_value_of_(T v)
{
	static_assert(at_probe_bytes_<T>() != 0, "a probe takes integers, pointers and strings");
	return { at_value_(v) };
}

} /* namespace asynctrace */

/*
 * Runs the statement in "..." with the values in the array @values. The values are the arguments
 * of a function, so that temporaries in them live until the statement is over.
 */
#define TRACE_PROBE_BYTES_(values, i, v) std::decay_t<decltype(values##i)>::bytes
#define TRACE_PROBE_PARAMETER_(values, i, v) TRACE_PROBE_COMMA##i##_ const auto &values##i
#define TRACE_PROBE_TAKEN_(values, i, v) values##i.arg,
#define TRACE_PROBE_VALUE_(x, i, v) TRACE_PROBE_COMMA##i##_ asynctrace::at_probe_value_of_(v)
#define TRACE_PROBE_WITH_(values, list, ...) \
	[&](TRACE_PROBE_EACH_(TRACE_PROBE_PARAMETER_, values, TRACE_OPEN_ list)) \
	__attribute__((always_inline)) { \
		const struct at_arg_ values[] = { \
			TRACE_PROBE_EACH_(TRACE_PROBE_TAKEN_, values, TRACE_OPEN_ list) }; \
		__VA_ARGS__ \
	}(TRACE_PROBE_EACH_(TRACE_PROBE_VALUE_, , TRACE_OPEN_ list))
#define TRACE_PROBE_CHECK_VALUE_(x, i, v)
#else
#define TRACE_PROBE_BYTES_(values, i, v) \
	_Generic((v), \
		 bool: -1, \
		 char: (char)-1 < 0 ? 1 : -1, \
		 signed char: 1, \
		 unsigned char: -1, \
		 short: 2, \
		 unsigned short: -2, \
		 int: 4, \
		 unsigned int: -4, \
		 long: 8, \
		 unsigned long: -8, \
		 long long: 8, \
		 unsigned long long: -8, \
		 float: 0, \
		 default: __builtin_choose_expr(TRACE_IS_POINTER_(v), -8, \
						TRACE_PROBE_BIT_FIELD_(v)))
/* As TRACE_BIT_FIELD_ records it */
#define TRACE_PROBE_BIT_FIELD_(v) \
	_Generic(+__builtin_choose_expr(TRACE_IS_INTEGER_(v), (v), 0.0), \
		 double: 0, \
		 at_int128_: 0, \
		 at_uint128_: 0, \
		 int: 4, \
		 default: 8)
#define TRACE_PROBE_VALUE_(x, i, v) TRACE_PROBE_COMMA##i##_ TRACE_VALUE_(v)
#define TRACE_PROBE_WITH_(values, list, ...) \
	do { \
		const struct at_arg_ values[] = { \
			TRACE_PROBE_EACH_(TRACE_PROBE_VALUE_, , TRACE_OPEN_ list) }; \
		__VA_ARGS__ \
	} while (0)
#define TRACE_PROBE_CHECK_VALUE_(x, i, v) \
	TRACE_STATIC_ASSERT_(TRACE_PROBE_BYTES_(x, i, v) != 0, \
			     "a probe takes integers, pointers and strings");
#endif

/* --- lists of 1 to 12 values --------------------------------------------------------------- */

#define TRACE_PROBE_COUNT_(...) \
	TRACE_PROBE_PICK_(__VA_ARGS__, TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, \
			  TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, TRACE_MANY_, \
			  12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define TRACE_PROBE_PICK_(i0, i1, i2, i3, i4, i5, i6, i7, i8, i9, i10, i11, i12, i13, i14, i15, \
			  i16, i17, i18, i19, picked, ...) picked

/* TRACE_PROBE_EACH_(M, X, V...): M(X, 0, V) M(X, 1, V) ... */
#define TRACE_PROBE_EACH_(m, x, ...) \
	TRACE_CAT_(TRACE_CAT_(TRACE_PROBE_EACH, TRACE_PROBE_COUNT_(__VA_ARGS__)), _) \
	(m, x, __VA_ARGS__)
/* The expansion for too many values is empty: TRACE_PROBE_CHECK_() reports the error. */
#define TRACE_PROBE_EACHTRACE_MANY__(...)
#define TRACE_PROBE_EACH1_(m, x, v0) \
	m(x, 0, v0)
#define TRACE_PROBE_EACH2_(m, x, v0, v1) \
	TRACE_PROBE_EACH1_(m, x, v0) m(x, 1, v1)
#define TRACE_PROBE_EACH3_(m, x, v0, v1, v2) \
	TRACE_PROBE_EACH2_(m, x, v0, v1) m(x, 2, v2)
#define TRACE_PROBE_EACH4_(m, x, v0, v1, v2, v3) \
	TRACE_PROBE_EACH3_(m, x, v0, v1, v2) m(x, 3, v3)
#define TRACE_PROBE_EACH5_(m, x, v0, v1, v2, v3, v4) \
	TRACE_PROBE_EACH4_(m, x, v0, v1, v2, v3) m(x, 4, v4)
#define TRACE_PROBE_EACH6_(m, x, v0, v1, v2, v3, v4, v5) \
	TRACE_PROBE_EACH5_(m, x, v0, v1, v2, v3, v4) m(x, 5, v5)
#define TRACE_PROBE_EACH7_(m, x, v0, v1, v2, v3, v4, v5, v6) \
	TRACE_PROBE_EACH6_(m, x, v0, v1, v2, v3, v4, v5) m(x, 6, v6)
#define TRACE_PROBE_EACH8_(m, x, v0, v1, v2, v3, v4, v5, v6, v7) \
	TRACE_PROBE_EACH7_(m, x, v0, v1, v2, v3, v4, v5, v6) m(x, 7, v7)
#define TRACE_PROBE_EACH9_(m, x, v0, v1, v2, v3, v4, v5, v6, v7, v8) \
	TRACE_PROBE_EACH8_(m, x, v0, v1, v2, v3, v4, v5, v6, v7) m(x, 8, v8)
#define TRACE_PROBE_EACH10_(m, x, v0, v1, v2, v3, v4, v5, v6, v7, v8, v9) \
	TRACE_PROBE_EACH9_(m, x, v0, v1, v2, v3, v4, v5, v6, v7, v8) m(x, 9, v9)
#define TRACE_PROBE_EACH11_(m, x, v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10) \
	TRACE_PROBE_EACH10_(m, x, v0, v1, v2, v3, v4, v5, v6, v7, v8, v9) m(x, 10, v10)
#define TRACE_PROBE_EACH12_(m, x, v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11) \
	TRACE_PROBE_EACH11_(m, x, v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10) m(x, 11, v11)

#define TRACE_PROBE_KEYS_(...) \
	TRACE_CAT_(TRACE_CAT_(TRACE_PROBE_KEYS, TRACE_PROBE_COUNT_(__VA_ARGS__)), _)
#define TRACE_PROBE_KEYSTRACE_MANY__ ""
#define TRACE_PROBE_KEYS1_ "arg0"
#define TRACE_PROBE_KEYS2_ TRACE_PROBE_KEYS1_, "arg1"
#define TRACE_PROBE_KEYS3_ TRACE_PROBE_KEYS2_, "arg2"
#define TRACE_PROBE_KEYS4_ TRACE_PROBE_KEYS3_, "arg3"
#define TRACE_PROBE_KEYS5_ TRACE_PROBE_KEYS4_, "arg4"
#define TRACE_PROBE_KEYS6_ TRACE_PROBE_KEYS5_, "arg5"
#define TRACE_PROBE_KEYS7_ TRACE_PROBE_KEYS6_, "arg6"
#define TRACE_PROBE_KEYS8_ TRACE_PROBE_KEYS7_, "arg7"
#define TRACE_PROBE_KEYS9_ TRACE_PROBE_KEYS8_, "arg8"
#define TRACE_PROBE_KEYS10_ TRACE_PROBE_KEYS9_, "arg9"
#define TRACE_PROBE_KEYS11_ TRACE_PROBE_KEYS10_, "arg10"
#define TRACE_PROBE_KEYS12_ TRACE_PROBE_KEYS11_, "arg11"

#define TRACE_PROBE_COMMA0_
#define TRACE_PROBE_COMMA1_ ,
#define TRACE_PROBE_COMMA2_ ,
#define TRACE_PROBE_COMMA3_ ,
#define TRACE_PROBE_COMMA4_ ,
#define TRACE_PROBE_COMMA5_ ,
#define TRACE_PROBE_COMMA6_ ,
#define TRACE_PROBE_COMMA7_ ,
#define TRACE_PROBE_COMMA8_ ,
#define TRACE_PROBE_COMMA9_ ,
#define TRACE_PROBE_COMMA10_ ,
#define TRACE_PROBE_COMMA11_ ,
#define TRACE_PROBE_SPACE0_
#define TRACE_PROBE_SPACE1_ " "
#define TRACE_PROBE_SPACE2_ " "
#define TRACE_PROBE_SPACE3_ " "
#define TRACE_PROBE_SPACE4_ " "
#define TRACE_PROBE_SPACE5_ " "
#define TRACE_PROBE_SPACE6_ " "
#define TRACE_PROBE_SPACE7_ " "
#define TRACE_PROBE_SPACE8_ " "
#define TRACE_PROBE_SPACE9_ " "
#define TRACE_PROBE_SPACE10_ " "
#define TRACE_PROBE_SPACE11_ " "

/* --- the note in the ELF file ------------------------------------------------------------- */

/* Assembler code for text with each "__" replaced by "-", and a NUL */
#define TRACE_PROBE_NAME_(text) \
	".set .Lat_low, 0\n" \
	".irpc at_char," text "\n" \
	".ifc \\at_char,_\n" \
	".if .Lat_low\n" \
	".ascii \"-\"\n" \
	".set .Lat_low, 0\n" \
	".else\n" \
	".set .Lat_low, 1\n" \
	".endif\n" \
	".else\n" \
	".if .Lat_low\n" \
	".ascii \"_\"\n" \
	".set .Lat_low, 0\n" \
	".endif\n" \
	".ascii \"\\at_char\"\n" \
	".endif\n" \
	".endr\n" \
	".if .Lat_low\n" \
	".ascii \"_\"\n" \
	".endif\n" \
	".byte 0\n"

/* Text of an operand, such as -4@%rdi: a signed number of 4 bytes in register %rdi */
#define TRACE_PROBE_TEXT_(x, i, v) TRACE_PROBE_SPACE##i##_ "%n[at_bytes" #i "]@%[at_value" #i "]"
#define TRACE_PROBE_OPERANDS_(values, i, v) \
	TRACE_PROBE_COMMA##i##_ [at_bytes##i] "n" (TRACE_PROBE_BYTES_(values, i, v)), \
	[at_value##i] "nor" (values[i].value)

/*
 * Flag "?" puts the note into the section group of the function, if it is in one, so that the
 * linker discards both together. Tracers compare the base with the section's address, in case
 * prelink(8) has moved the file.
 */
#define TRACE_PROBE_SITE_(semaphore, provider, name, values, ...) \
	__asm__ volatile ( \
		"990:	nop\n" \
		".pushsection .note.stapsdt,\"?\",\"note\"\n" \
		".balign 4\n" \
		".4byte 992f-991f, 994f-993f, 3\n" \
		"991:	.asciz \"stapsdt\"\n" \
		"992:	.balign 4\n" \
		"993:	.8byte 990b, _.stapsdt.base, " semaphore "\n" \
		".asciz \"" provider "\"\n" \
		TRACE_PROBE_NAME_(name) \
		".asciz \"" TRACE_PROBE_EACH_(TRACE_PROBE_TEXT_, , __VA_ARGS__) "\"\n" \
		"994:	.balign 4\n" \
		".popsection\n" \
		".ifndef _.stapsdt.base\n" \
		".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
		".weak _.stapsdt.base\n" \
		".hidden _.stapsdt.base\n" \
		"_.stapsdt.base: .space 1\n" \
		".size _.stapsdt.base, 1\n" \
		".popsection\n" \
		".endif\n" \
		: : TRACE_PROBE_EACH_(TRACE_PROBE_OPERANDS_, values, __VA_ARGS__))

/* --- the semaphore ------------------------------------------------------------------------ */

#define TRACE_PROBE_COUNTER_(provider, name) \
	TRACE_CAT_(TRACE_CAT_(provider, _), TRACE_CAT_(name, _semaphore))
#define TRACE_PROBE_DECLARE_(counter) \
	extern volatile unsigned short counter \
		__asm__(TRACE_TEXT_(counter)) __attribute__((visibility("hidden")))

#ifndef NTRACE

/*
 * The semaphore: number of tracers that are attached to the probe. The kernel changes the number in
 * the process's memory. The symbol is hidden, because each program and shared library has probes of
 * its own. It has the attribute "used", because only assembler code refers to it.
 */
#define TRACE_PROBE_DEFINE_(counter) \
	TRACE_PROBE_DECLARE_(counter); \
	__attribute__((used, section(".probes"))) volatile unsigned short counter = 0

/*
 * Loads the semaphore in assembler code. In C, each probe would have to declare it:
 * -Wredundant-decls reports the second declaration, and g++ ignores the assembler name of a
 * declaration in a template.
 */
#if defined(__aarch64__)
#define TRACE_PROBE_LOAD_(counter) \
	"adrp %x0, " counter "\n" \
	"ldrh %w0, [%x0, #:lo12:" counter "]\n"
#else
#define TRACE_PROBE_LOAD_(counter) "movzwl " counter "(%%rip), %0\n"
#endif
#define TRACE_PROBE_TRACED_(nr, counter) TRACE_PROBE_TRACED2_(TRACE_CAT_(at_counter_, nr), counter)
#define TRACE_PROBE_TRACED2_(value, counter) \
	__extension__({ \
		unsigned int value; \
		__asm__ volatile (TRACE_PROBE_LOAD_(TRACE_TEXT_(counter)) : "=r" (value)); \
		value; \
	})

#else /* NTRACE */

#define TRACE_PROBE_DEFINE_(counter) TRACE_PROBE_DECLARE_(counter)
#define TRACE_PROBE_TRACED_(nr, counter) 0

#endif

/* --- the macro ---------------------------------------------------------------------------- */

#define TRACE_PROBE_CHECK_(...) \
	TRACE_STATIC_ASSERT_(sizeof(TRACE_TEXT_(TRACE_LEAD_(__VA_ARGS__))) > 1, \
			     "a probe needs an id"); \
	TRACE_STATIC_ASSERT_(TRACE_PROBE_COUNT_(__VA_ARGS__) != TRACE_MANY_, \
			     "a probe has an id and at most 11 arguments"); \
	TRACE_PROBE_EACH_(TRACE_PROBE_CHECK_VALUE_, , __VA_ARGS__)

#ifndef NTRACE

/* at_probe_learn_() writes the name of the site when the probe runs for the first time. */
#define TRACE_PROBE_HERE_(now, known, provider, nm, ...) \
	__extension__({ \
		static const char *const at_keys_[] = { TRACE_PROBE_KEYS_(__VA_ARGS__) }; \
		static uint64_t at_refs_[TRACE_PROBE_COUNT_(__VA_ARGS__)]; \
		static char at_name_[sizeof(nm)]; \
		static struct at_site_ at_site_ = { \
			0, 0, 0, at_refs_, at_keys_, provider, at_name_, 0, \
			TRACE_PROBE_COUNT_(__VA_ARGS__) }; \
		known = now ? at_probe_test_(&at_site_, now, at_name_, nm, sizeof(nm)) : 0; \
		at_here_make_(&at_site_, at_refs_); \
	})

/* Evaluates the values once, for both the record and the tracers. */
#define TRACE_PROBE_(nr, provider, name, ...) \
	TRACE_PROBE2_(TRACE_CAT_(at_now_, nr), TRACE_CAT_(at_tracers_, nr), \
		      TRACE_CAT_(at_here_, nr), TRACE_CAT_(at_found_, nr), \
		      TRACE_CAT_(at_values_, nr), nr, TRACE_PROBE_COUNTER_(provider, name), \
		      TRACE_TEXT_(provider), TRACE_TEXT_(name), __VA_ARGS__)
#define TRACE_PROBE2_(now, tracers, here, found, values, nr, counter, provider, name, ...) \
	do { \
		TRACE_PROBE_CHECK_(__VA_ARGS__) \
		const uint32_t now = at_gate_load_(); \
		const unsigned int tracers = TRACE_PROBE_TRACED_(nr, counter); \
		if (__builtin_expect((now | tracers) != 0, 0)) { \
			uint64_t found; \
			const struct at_here_ here = \
				TRACE_PROBE_HERE_(now, found, provider, name, __VA_ARGS__); \
			if (found >> 32 || tracers) \
				TRACE_PROBE_WITH_(values, (__VA_ARGS__), \
					if (found >> 32) \
						at_event_(here.site, here.refs, found, \
							  ASYNCTRACE_FXT_INSTANT, 0, values, \
							  TRACE_PROBE_COUNT_(__VA_ARGS__)); \
					if (tracers) \
						TRACE_PROBE_SITE_(TRACE_TEXT_(counter), provider, \
								  name, values, __VA_ARGS__); \
				); \
		} \
	} while (0)

#else /* NTRACE */

#define TRACE_PROBE_(nr, provider, name, ...) \
	do { \
		TRACE_PROBE_CHECK_(__VA_ARGS__) \
		if (0) \
			at_unused_(TRACE_TEXT_(TRACE_PROBE_COUNTER_(provider, name)), \
				   TRACE_PROBE_EACH_(TRACE_PROBE_VALUE_, , __VA_ARGS__)); \
	} while (0)

#endif /* NTRACE */

TRACE_INLINE_ uint64_t at_probe_test_(struct at_site_ *site, uint32_t gate, char *name,
				      const char *from, size_t bytes)
{
	const uint64_t found = at_site_known_(site, gate);

	return __builtin_expect(found != 0, 1) ? found :
						 at_probe_learn_(site, gate, name, from, bytes);
}

#endif /* ASYNCTRACE_DETAIL_PROBE_H */
