/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Expansions of the macros of asynctrace/trace.h. Programs must not use names that end in an
 * underscore: they may change.
 *
 * Only the test of the gate, the test of the site and the encoding of arguments are compiled into
 * programs. The library writes the records, so that a change there needs no recompilation.
 */
#ifndef ASYNCTRACE_EVENT_H
#define ASYNCTRACE_EVENT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <linux/asynctrace.h>
#include <linux/asynctrace_fxt.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TRACE_INLINE_ static inline __attribute__((always_inline, unused))

/* Casts for both languages: in C++, -Wold-style-cast would warn about those of C. */
#ifdef __cplusplus
#define TRACE_TO_(type, value)	static_cast<type>(value)
#define TRACE_ADDRESS_(pointer)	reinterpret_cast<uintptr_t>(pointer)
#define TRACE_TEXT_AT_(address)	reinterpret_cast<const char *>(address)
#define TRACE_ZERO_		{}
#else
#define TRACE_TO_(type, value)	((type)(value))
#define TRACE_ADDRESS_(pointer)	((uintptr_t)(pointer))
#define TRACE_TEXT_AT_(address)	((const char *)(address))
#define TRACE_ZERO_		{ 0 }
#endif

/* GCC and Clang report compilation for ThreadSanitizer in different ways. */
#if defined(__SANITIZE_THREAD__)
#define TRACE_TSAN_
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TRACE_TSAN_
#endif
#endif

#if defined(__aarch64__)
#define TRACE_GATE_SIZE_	65536	/* the largest page size */
#else
#define TRACE_GATE_SIZE_	4096
#endif

/*
 * Begins like struct asynctrace_control. When the process is registered, the first page of the
 * control area is mapped over it.
 */
union at_gate_ {
	uint32_t gate;
	char page[TRACE_GATE_SIZE_];
};

extern union at_gate_ at_gate_;

/**
 * struct at_site_ - a place in a program that may write a record
 * @on: the gate value under which this site is enabled and its names are known
 * @off: the gate value under which this site is disabled
 * @head: references to category and name, as in bits 32..63 of an event's header
 * @category: NULL: recorded whichever categories are recorded
 * @refs: references to the names of arguments, as in bits 16..31 of an argument's header
 * @keys: names of the arguments
 * @durable: the generation of names in which @head and @refs are valid
 * @name: name of the event; NULL: the site only tests its category
 * @nkeys: number of arguments
 */
struct at_site_ {
	uint32_t on;
	uint32_t off;
	uint64_t head;
	uint64_t *refs;
	const char *const *keys;
	const char *category;
	const char *name;
	uint32_t durable;
	uint32_t nkeys;
};

/* The site of an event, and the references to its keys. */
struct at_here_ {
	struct at_site_ *site;
	const uint64_t *refs;
};

/*
 * Value of an argument. @bytes is the length of the string at @value. If a string is NULL, @type is
 * ASYNCTRACE_FXT_ARG_STRING all the same, so that @type is a constant for the compiler. When the
 * argument is encoded, at_arg_type_() replaces the type.
 */
struct at_arg_ {
	uint32_t type;
	uint32_t bytes;
	uint64_t value;
};

/**
 * struct at_text_ - text of a string argument
 * @skip: words between the header of the previous string argument and this one's header; for the
 *	first text, words after word 2
 * @bytes: length; the library cuts a text that is too long
 * @from: address of the text
 */
struct at_text_ {
	uint32_t skip;
	uint32_t bytes;
	const char *from;
};

/* Modes of a site. Results of at_site_test_() combine them with the gate, see TRACE_FOUND_(). */
enum {
	TRACE_SITE_OFF_	= 0,
	TRACE_SITE_ON_	= 1,
	TRACE_SITE_INLINE_	= 2	/* enabled, but the record must carry its names */
};

/* Bits of the kind of an event, in addition to FXT's event type. */
#define TRACE_EXTRA_	(1u << 8)	/* an id follows the arguments */

/* Returns the gate, which may have changed, and TRACE_SITE_*, as TRACE_FOUND_() combines them. */
uint64_t at_site_learn_(struct at_site_ *site, uint32_t gate);
int at_enabled_(void);
/*
 * Returns the gate under which an event that began under @gate may be written; 0: the run has
 * ended.
 */
uint32_t at_gate_renew_(uint32_t gate);
void at_alert_(const char *name);

void at_write_3_(uint32_t gate, uint64_t w0);
void at_write_4_(uint32_t gate, uint64_t w0, uint64_t w3);
void at_write_5_(uint32_t gate, uint64_t w0, uint64_t w3, uint64_t w4);
void at_write_6_(uint32_t gate, uint64_t w0, uint64_t w3, uint64_t w4, uint64_t w5);
/* @w: the whole record; the library sets word 2 and the word @stamp */
void at_write_n_(uint32_t gate, uint64_t *w, unsigned int n, unsigned int stamp);
/*
 * @w: the n words of the record that are not text. The library adds the record's size to word 0,
 *	and the size and length of each text to its argument's header. It sets words 1 and 2.
 */
void at_write_texts_(uint32_t gate, uint64_t *w, unsigned int n, const struct at_text_ *texts,
		     unsigned int ntexts);
void at_write_args_(uint32_t gate, const struct at_site_ *site, int mode,
		    unsigned int kind, uint64_t word, const struct at_arg_ *args,
		    unsigned int nargs);
/* Durations: w1 is the begin. The library sets the last word, which is the end, to the present. */
void at_duration_4_(uint32_t gate, uint64_t w0, uint64_t w1);
void at_duration_5_(uint32_t gate, uint64_t w0, uint64_t w1, uint64_t w3);
/* Like at_write_texts_(), but for a duration: word 1 is the begin, and the last word the end. */
void at_duration_texts_(uint32_t gate, uint64_t *w, unsigned int n, const struct at_text_ *texts,
			unsigned int ntexts);
uint64_t at_ticks_(uint32_t gate);

TRACE_INLINE_ struct at_here_ at_here_make_(struct at_site_ *site, const uint64_t *refs)
{
	struct at_here_ here = { site, refs };

	return here;
}

TRACE_INLINE_ uint32_t at_gate_load_(void)
{
	return __atomic_load_n(&at_gate_.gate, __ATOMIC_RELAXED);
}

#define TRACE_FOUND_(mode, gate) (TRACE_TO_(uint64_t, mode) << 32 | (gate))

/* Returns TRACE_FOUND_() if the state of @site under @gate is known, or 0. */
TRACE_INLINE_ uint64_t at_site_known_(const struct at_site_ *site, uint32_t gate)
{
	/* Orders the load of the gate before all loads that depend on it. */
#ifdef TRACE_TSAN_
	/* TSan does not support fences. */
	(void)__atomic_load_n(&at_gate_.gate, __ATOMIC_ACQUIRE);
#else
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
	if (__builtin_expect(__atomic_load_n(&site->on, __ATOMIC_ACQUIRE) == gate, 1))
		return TRACE_FOUND_(TRACE_SITE_ON_, gate);
	if (__atomic_load_n(&site->off, __ATOMIC_RELAXED) == gate)
		return TRACE_FOUND_(TRACE_SITE_OFF_, gate);
	return 0;
}

/* Returns TRACE_FOUND_() of the state of @site under @gate, which must not be 0. */
TRACE_INLINE_ uint64_t at_site_test_(struct at_site_ *site, uint32_t gate)
{
	const uint64_t found = at_site_known_(site, gate);

	return __builtin_expect(found != 0, 1) ? found : at_site_learn_(site, gate);
}

/* --- arguments ------------------------------------------------------------ */

TRACE_INLINE_ struct at_arg_ at_arg_make_(uint32_t type, uint64_t value)
{
	struct at_arg_ a = { type, 0, value };

	return a;
}

TRACE_INLINE_ struct at_arg_ at_arg_null_(void)
{
	return at_arg_make_(ASYNCTRACE_FXT_ARG_NULL, 0);
}

TRACE_INLINE_ struct at_arg_ at_arg_bool_(int v)
{
	return at_arg_make_(ASYNCTRACE_FXT_ARG_BOOL, v ? 1 : 0);
}

TRACE_INLINE_ struct at_arg_ at_arg_i32_(int32_t v)
{
	return at_arg_make_(ASYNCTRACE_FXT_ARG_INT32, TRACE_TO_(uint32_t, v));
}

TRACE_INLINE_ struct at_arg_ at_arg_u32_(uint32_t v)
{
	return at_arg_make_(ASYNCTRACE_FXT_ARG_UINT32, v);
}

TRACE_INLINE_ struct at_arg_ at_arg_i64_(int64_t v)
{
	return at_arg_make_(ASYNCTRACE_FXT_ARG_INT64, TRACE_TO_(uint64_t, v));
}

TRACE_INLINE_ struct at_arg_ at_arg_u64_(uint64_t v)
{
	return at_arg_make_(ASYNCTRACE_FXT_ARG_UINT64, v);
}

TRACE_INLINE_ struct at_arg_ at_arg_double_(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return at_arg_make_(ASYNCTRACE_FXT_ARG_DOUBLE, bits);
}

TRACE_INLINE_ struct at_arg_ at_arg_float_(float v)
{
	return at_arg_double_(TRACE_TO_(double, v));
}

TRACE_INLINE_ struct at_arg_ at_arg_long_double_(long double v)
{
	return at_arg_double_(TRACE_TO_(double, v));
}

TRACE_INLINE_ struct at_arg_ at_arg_pointer_(const volatile void *v)
{
	return at_arg_make_(ASYNCTRACE_FXT_ARG_POINTER, TRACE_ADDRESS_(v));
}

TRACE_INLINE_ struct at_arg_ at_arg_koid_(uint64_t v)
{
	return at_arg_make_(ASYNCTRACE_FXT_ARG_KOID, v);
}

TRACE_INLINE_ struct at_arg_ at_arg_text_(const char *s, size_t bytes)
{
	struct at_arg_ a = { ASYNCTRACE_FXT_ARG_STRING, 0, TRACE_ADDRESS_(s) };

	if (!s)
		return a;
	a.bytes = bytes > ASYNCTRACE_FXT_STRING_MAX + 1 ? ASYNCTRACE_FXT_STRING_MAX + 1 :
							  TRACE_TO_(uint32_t, bytes);
	return a;
}

TRACE_INLINE_ struct at_arg_ at_arg_string_(const char *s)
{
	return at_arg_text_(s, s ? strlen(s) : 0);
}

TRACE_INLINE_ struct at_arg_ at_arg_same_(struct at_arg_ a)
{
	return a;
}

__extension__ typedef __int128 at_int128_;
__extension__ typedef unsigned __int128 at_uint128_;

/* Never defined. TRACE_VALUE_ selects it for a value of an unsupported type. */
extern const struct at_no_value_ *const at_value_of_unsupported_type_;

TRACE_INLINE_ uint32_t at_arg_type_(struct at_arg_ a)
{
	return a.type == ASYNCTRACE_FXT_ARG_STRING && !a.value ? ASYNCTRACE_FXT_ARG_NULL : a.type;
}

TRACE_INLINE_ int at_arg_two_words_(uint32_t type)
{
	return type == ASYNCTRACE_FXT_ARG_INT64 || type == ASYNCTRACE_FXT_ARG_UINT64 ||
	       type == ASYNCTRACE_FXT_ARG_DOUBLE || type == ASYNCTRACE_FXT_ARG_POINTER ||
	       type == ASYNCTRACE_FXT_ARG_KOID;
}

/*
 * Applies m to 0..14. An optimizing compiler folds straight code more reliably than a loop. Others
 * fold neither, and straight code would need 12 KB for each event.
 */
#ifdef __OPTIMIZE__
#define TRACE_EACH_(m) \
	m(0) m(1) m(2) m(3) m(4) m(5) m(6) m(7) m(8) m(9) m(10) m(11) m(12) m(13) m(14)
#else
#define TRACE_EACH_(m) \
	for (unsigned int each_ = 0; each_ < ASYNCTRACE_FXT_ARGS_MAX; each_++) { \
		m(each_) \
	}
#endif

/* Encodes arguments, without text, at w[n]. Returns the index after them. */
TRACE_INLINE_ unsigned int at_args_encode_(uint64_t *w, unsigned int n, const uint64_t *refs,
					const struct at_arg_ *args, unsigned int nargs)
{
#define TRACE_ENCODE_(i) \
	if (nargs > (i)) { \
		const int two = at_arg_two_words_(args[i].type); \
		w[n++] = __atomic_load_n(&refs[i], __ATOMIC_RELAXED) | \
			 at_arg_type_(args[i]) | (two ? 2u : 1u) << 4 | \
			 (two || args[i].type == ASYNCTRACE_FXT_ARG_STRING ? \
			  0 : args[i].value << 32); \
		if (two) \
			w[n++] = args[i].value; \
	}
	TRACE_EACH_(TRACE_ENCODE_)
#undef TRACE_ENCODE_
	return n;
}

/* Lists the texts of arguments. Returns their number. */
TRACE_INLINE_ unsigned int at_args_texts_(struct at_text_ *texts, const struct at_arg_ *args,
					  unsigned int nargs)
{
	unsigned int n = 0, skip = 0;

#define TRACE_LIST_TEXT_(i) \
	if (nargs > (i)) { \
		if (args[i].type == ASYNCTRACE_FXT_ARG_STRING) { \
			texts[n].skip = skip; \
			texts[n].bytes = args[i].bytes; \
			texts[n++].from = TRACE_TEXT_AT_(args[i].value); \
			skip = 0; \
		} else { \
			skip += at_arg_two_words_(args[i].type) ? 2u : 1u; \
		} \
	}
	TRACE_EACH_(TRACE_LIST_TEXT_)
#undef TRACE_LIST_TEXT_
	return n;
}

/*
 * Writes a record of any size. Copies the arguments: passing their address to another function
 * would force them into memory on the fast path, too.
 */
TRACE_INLINE_ void at_event_any_(uint64_t found, const struct at_site_ *site, unsigned int kind,
			      uint64_t word, const struct at_arg_ *args, unsigned int nargs)
{
	struct at_arg_ copy[ASYNCTRACE_FXT_ARGS_MAX];

	/* Without arguments, gcc -flto would warn that the copy is uninitialised. */
	__asm__("" : "=m"(copy));
#define TRACE_COPY_(i) \
	if (nargs > (i)) \
		copy[i] = args[i];
	TRACE_EACH_(TRACE_COPY_)
#undef TRACE_COPY_
	at_write_args_(TRACE_TO_(uint32_t, found), site, TRACE_TO_(int, found >> 32), kind, word,
		       copy, nargs);
}

/* Macros of the format have C casts, about which clang would warn in C++ programs. */
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wold-style-cast"
#endif

/* Returns the header of an event of n words. The trace must know the names of @site already. */
TRACE_INLINE_ uint64_t at_head_(const struct at_site_ *site, unsigned int kind, unsigned int n,
			     unsigned int nargs)
{
	return __atomic_load_n(&site->head, __ATOMIC_RELAXED) |
	       ASYNCTRACE_FXT_EVENT_HEAD(kind & 0xf, n, nargs, 0, 0);
}

#ifdef __clang__
#pragma clang diagnostic pop
#endif

/*
 * Writes an event with the present time. The compiler knows everything except the values of
 * arguments, so that little code remains.
 */
TRACE_INLINE_ void at_event_(struct at_site_ *site, const uint64_t *refs, uint64_t found,
			  unsigned int kind, uint64_t id, const struct at_arg_ *args,
			  unsigned int nargs)
{
	const uint32_t gate = TRACE_TO_(uint32_t, found);
	/* the library sets words 1 and 2, stamp and slot */
	uint64_t w[3 + 2 * ASYNCTRACE_FXT_ARGS_MAX + 1];
	struct at_text_ texts[ASYNCTRACE_FXT_ARGS_MAX];
	unsigned int n, ntexts;

	if (__builtin_expect(found >> 32 != TRACE_SITE_ON_, 0)) {
		at_event_any_(found, site, kind, id, args, nargs);
		return;
	}
	n = at_args_encode_(w, 3, refs, args, nargs);
	if (kind & TRACE_EXTRA_)
		w[n++] = id;
	ntexts = at_args_texts_(texts, args, nargs);
	if (ntexts) {
		w[0] = at_head_(site, kind, 0, nargs);
		at_write_texts_(gate, w, n, texts, ntexts);
		return;
	}
	w[0] = at_head_(site, kind, n, nargs);
	switch (n) {
	case 3:
		at_write_3_(gate, w[0]);
		return;
	case 4:
		at_write_4_(gate, w[0], w[3]);
		return;
	case 5:
		at_write_5_(gate, w[0], w[3], w[4]);
		return;
	case 6:
		at_write_6_(gate, w[0], w[3], w[4], w[5]);
		return;
	default:
		at_write_n_(gate, w, n, 1);
	}
}

/* --- scoped durations ----------------------------------------------------- */

/* Bytes of string arguments that a scope keeps from its begin to its end. */
#define TRACE_SCOPE_TEXT_	128

struct at_scope_ {
	struct at_site_ *site;
	uint64_t begin;
	uint32_t gate;		/* 0: not recorded */
	int mode;
	unsigned int nargs;
	const uint64_t *refs;
	struct at_arg_ *args;
	char *text;		/* TRACE_SCOPE_TEXT_ bytes, or NULL */
};

size_t at_scope_cut_(const char *s, size_t bytes, size_t room);

/* Copies as much of a string as has room. Returns the length of the copy. */
TRACE_INLINE_ uint32_t at_scope_keep_(char *to, size_t room, struct at_arg_ a)
{
	const char *from = TRACE_TEXT_AT_(a.value);

	if (__builtin_expect(a.bytes > room, 0))
		a.bytes = TRACE_TO_(uint32_t, at_scope_cut_(from, a.bytes, room));
	memcpy(to, from, a.bytes);
	return a.bytes;
}

/*
 * Copies strings, because they may change or end before the scope does. The record has the values
 * of the begin.
 */
TRACE_INLINE_ void at_scope_begin_(struct at_scope_ *s, uint64_t found, const struct at_arg_ *args,
				unsigned int nargs)
{
	size_t used = 0;

	s->gate = TRACE_TO_(uint32_t, found);
	s->mode = TRACE_TO_(int, found >> 32);
	s->nargs = nargs;
#define TRACE_KEEP_(i) \
	if (nargs > (i)) \
		s->args[i] = args[i];
	TRACE_EACH_(TRACE_KEEP_)
#undef TRACE_KEEP_
	s->begin = at_ticks_(s->gate);
#define TRACE_KEEP_(i) \
	if (nargs > (i) && args[i].type == ASYNCTRACE_FXT_ARG_STRING && args[i].value) { \
		s->args[i].bytes = at_scope_keep_(s->text + used, TRACE_SCOPE_TEXT_ - used, \
						  args[i]); \
		s->args[i].value = TRACE_ADDRESS_(s->text + used); \
		used += s->args[i].bytes; \
	}
	TRACE_EACH_(TRACE_KEEP_)
#undef TRACE_KEEP_
}

TRACE_INLINE_ void at_scope_end_(struct at_scope_ *s)
{
	uint64_t w[3 + 2 * ASYNCTRACE_FXT_ARGS_MAX + 1];
	struct at_text_ texts[ASYNCTRACE_FXT_ARGS_MAX];
	unsigned int n, ntexts;

	if (__builtin_expect(s->gate == 0, 1))
		return;
	/* The run has ended, its categories have changed, or the process has registered again. */
	if (__builtin_expect(at_gate_load_() != s->gate, 0)) {
		s->gate = at_gate_renew_(s->gate);
		if (!s->gate)
			return;
	}
	if (__builtin_expect(s->mode != TRACE_SITE_ON_, 0)) {
		at_event_any_(TRACE_FOUND_(s->mode, s->gate), s->site, ASYNCTRACE_FXT_DURATION,
			      s->begin, s->args, s->nargs);
		return;
	}
	n = at_args_encode_(w, 3, s->refs, s->args, s->nargs) + 1;
	w[1] = s->begin;
	ntexts = at_args_texts_(texts, s->args, s->nargs);
	if (ntexts) {
		w[0] = at_head_(s->site, ASYNCTRACE_FXT_DURATION, 0, s->nargs);
		at_duration_texts_(s->gate, w, n, texts, ntexts);
		return;
	}
	w[0] = at_head_(s->site, ASYNCTRACE_FXT_DURATION, n, s->nargs);
	switch (n) {
	case 4:
		at_duration_4_(s->gate, w[0], w[1]);
		return;
	case 5:
		at_duration_5_(s->gate, w[0], w[1], w[3]);
		return;
	default:
		at_write_n_(s->gate, w, n, n - 1);
	}
}

#ifdef __cplusplus
}
#endif

#endif /* ASYNCTRACE_EVENT_H */
