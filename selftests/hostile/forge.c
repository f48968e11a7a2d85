// SPDX-License-Identifier: GPL-2.0
/* Records that a provider must not write, each wrong in one way */
#include <string.h>

#include <linux/asynctrace.h>
#include <linux/asynctrace_fxt.h>

#include "forge.h"

#define EVIL	0x6c697665ULL	/* "evil" */
#define INLINE4	(ASYNCTRACE_FXT_INLINE | 4)

static uint64_t head(unsigned int type, unsigned int words, unsigned int nargs)
{
	return ASYNCTRACE_FXT_EVENT_HEAD(type, words, nargs, INLINE4, INLINE4);
}

/* Puts an event with @extra zero words after its names. */
static size_t event(const struct forge *f, uint64_t *w, unsigned int type, unsigned int nargs,
		    unsigned int extra)
{
	w[0] = head(type, 5 + extra, nargs);
	w[1] = f->now;
	w[2] = f->slot;
	w[3] = w[4] = EVIL;
	memset(w + 5, 0, extra * 8);
	return 5 + extra;
}

size_t forge_good(const struct forge *f, uint64_t *w)
{
	return event(f, w, ASYNCTRACE_FXT_INSTANT, 0, 0);
}

size_t forge_good_duration(const struct forge *f, uint64_t *w)
{
	size_t n = event(f, w, ASYNCTRACE_FXT_DURATION, 0, 1);

	w[5] = f->now;
	return n;
}

static size_t of_type(unsigned int type, unsigned int words, uint64_t bits, uint64_t *w)
{
	memset(w, 0, words * 8);
	w[0] = ASYNCTRACE_FXT_HEAD(type, words) | bits;
	return words;
}

static size_t foreign_slot(const struct forge *f, uint64_t *w)
{
	size_t n = forge_good(f, w);

	w[2] = f->foreign;
	return n;
}

static size_t no_slot(const struct forge *f, uint64_t *w)
{
	size_t n = forge_good(f, w);

	w[2] = 0;
	return n;
}

static size_t wide_slot(const struct forge *f, uint64_t *w)
{
	size_t n = forge_good(f, w);

	w[2] |= 1ULL << 32;
	return n;
}

static size_t thread_of_a_table(const struct forge *f, uint64_t *w)
{
	size_t n = forge_good(f, w);

	w[0] |= 1ULL << 24;
	return n;
}

/* Names process and thread by their ids in the record, as files do. Providers must use a slot. */
static size_t thread_inline(const struct forge *f, uint64_t *w)
{
	w[0] = head(ASYNCTRACE_FXT_INSTANT, 6, 0);
	w[1] = f->now;
	w[2] = 1;
	w[3] = 1;
	w[4] = w[5] = EVIL;
	return 6;
}

static size_t context_switch(const struct forge *f, uint64_t *w)
{
	w[0] = ASYNCTRACE_FXT_SWITCH_HEAD(4, 0, 0, 3);
	w[1] = f->now;
	w[2] = 1;
	w[3] = f->slot;
	return 4;
}

static size_t wakeup(const struct forge *f, uint64_t *w)
{
	w[0] = ASYNCTRACE_FXT_WAKEUP_HEAD(3, 0, 0);
	w[1] = f->now;
	w[2] = 1;
	return 3;
}

static size_t thread_object(const struct forge *f, uint64_t *w)
{
	(void)f;
	of_type(ASYNCTRACE_FXT_KERNELOBJ, 3,
		ASYNCTRACE_FXT_OBJ_THREAD << 16 | (uint64_t)INLINE4 << 24, w);
	w[1] = 1;
	w[2] = EVIL;
	return 3;
}

static size_t process_object(const struct forge *f, uint64_t *w)
{
	(void)f;
	of_type(ASYNCTRACE_FXT_KERNELOBJ, 3,
		ASYNCTRACE_FXT_OBJ_PROCESS << 16 | (uint64_t)INLINE4 << 24, w);
	w[1] = 1;
	w[2] = EVIL;
	return 3;
}

static size_t provider_info(const struct forge *f, uint64_t *w)
{
	(void)f;
	of_type(ASYNCTRACE_FXT_METADATA, 2,
		ASYNCTRACE_FXT_META_PROVIDER << 16 | 1ULL << 20 | 4ULL << 52, w);
	w[1] = EVIL;
	return 2;
}

static size_t section(const struct forge *f, uint64_t *w)
{
	(void)f;
	return of_type(ASYNCTRACE_FXT_METADATA, 1, ASYNCTRACE_FXT_META_SECTION << 16 | 1ULL << 20,
		       w);
}

static size_t magic(const struct forge *f, uint64_t *w)
{
	(void)f;
	w[0] = ASYNCTRACE_FXT_MAGIC;
	return 1;
}

static size_t initialization(const struct forge *f, uint64_t *w)
{
	(void)f;
	of_type(ASYNCTRACE_FXT_INIT, 2, 0, w);
	w[1] = 1;
	return 2;
}

static size_t string(const struct forge *f, uint64_t *w)
{
	(void)f;
	w[0] = ASYNCTRACE_FXT_STRING_HEAD(1, 4);
	w[1] = EVIL;
	return 2;
}

static size_t thread(const struct forge *f, uint64_t *w)
{
	(void)f;
	of_type(ASYNCTRACE_FXT_THREAD, 3, 1ULL << 16, w);
	w[1] = w[2] = 1;
	return 3;
}

static size_t blob(const struct forge *f, uint64_t *w)
{
	(void)f;
	return of_type(ASYNCTRACE_FXT_BLOB, 3, 0, w);
}

/* A well-formed blob that a viewer would accept as a trace that can rename any process */
static size_t blob_of_perfetto(const struct forge *f, uint64_t *w)
{
	of_type(ASYNCTRACE_FXT_BLOB, 4,
		8ULL << 32 | (uint64_t)ASYNCTRACE_FXT_BLOB_PERFETTO << 48, w);
	w[1] = f->now;
	w[2] = f->slot;
	w[3] = EVIL;
	return 4;
}

/* Only the recorder writes instants of pseudo threads, such as "trace end". */
static size_t instant_of_a_virtual_thread(const struct forge *f, uint64_t *w)
{
	w[0] = head(ASYNCTRACE_FXT_INSTANT, 8, 0) | ASYNCTRACE_FXT_RING_VIRTUAL << 24;
	w[1] = f->now;
	w[2] = f->slot;
	w[3] = f->now;
	w[4] = 1;
	w[5] = 0;
	w[6] = w[7] = EVIL;
	return 8;
}

static size_t user_object(const struct forge *f, uint64_t *w)
{
	(void)f;
	return of_type(ASYNCTRACE_FXT_USEROBJ, 4, 0, w);
}

static size_t log_entry(const struct forge *f, uint64_t *w)
{
	size_t n = of_type(ASYNCTRACE_FXT_LOG, 4, 4ULL << 16, w);

	w[1] = f->now;
	w[2] = f->slot;
	w[3] = EVIL;
	return n;
}

static size_t large(const struct forge *f, uint64_t *w)
{
	(void)f;
	return of_type(ASYNCTRACE_FXT_LARGE, 5, 0, w);
}

static size_t unknown_type(const struct forge *f, uint64_t *w)
{
	(void)f;
	return of_type(11, 5, 0, w);
}

static size_t before_the_session(const struct forge *f, uint64_t *w)
{
	size_t n = forge_good(f, w);

	w[1] = 1;
	return n;
}

static size_t after_the_session(const struct forge *f, uint64_t *w)
{
	size_t n = forge_good(f, w);

	w[1] = f->now + (1ULL << 50);
	return n;
}

static size_t at_the_end_of_time(const struct forge *f, uint64_t *w)
{
	size_t n = forge_good(f, w);

	w[1] = ~0ULL;
	return n;
}

static size_t unknown_event(const struct forge *f, uint64_t *w)
{
	return event(f, w, ASYNCTRACE_FXT_EVENT_TYPES, 0, 1);
}

static size_t unknown_category(const struct forge *f, uint64_t *w)
{
	w[0] = ASYNCTRACE_FXT_EVENT_HEAD(ASYNCTRACE_FXT_INSTANT, 4, 0, 0x7fff, INLINE4);
	w[1] = f->now;
	w[2] = f->slot;
	w[3] = EVIL;
	return 4;
}

static size_t unknown_name(const struct forge *f, uint64_t *w)
{
	w[0] = ASYNCTRACE_FXT_EVENT_HEAD(ASYNCTRACE_FXT_INSTANT, 4, 0, INLINE4, 0x7ffe);
	w[1] = f->now;
	w[2] = f->slot;
	w[3] = EVIL;
	return 4;
}

static size_t name_beyond_the_end(const struct forge *f, uint64_t *w)
{
	size_t n = forge_good(f, w);

	w[0] = ASYNCTRACE_FXT_EVENT_HEAD(ASYNCTRACE_FXT_INSTANT, 5, 0, INLINE4,
					 ASYNCTRACE_FXT_INLINE | 32000);
	return n;
}

static size_t text_after_the_text(const struct forge *f, uint64_t *w)
{
	size_t n = forge_good(f, w);

	w[4] |= 1ULL << 63;	/* padding that is not zero */
	return n;
}

static size_t missing_arguments(const struct forge *f, uint64_t *w)
{
	return event(f, w, ASYNCTRACE_FXT_INSTANT, 15, 0);
}

static size_t argument_of_no_size(const struct forge *f, uint64_t *w)
{
	return event(f, w, ASYNCTRACE_FXT_INSTANT, 1, 2);
}

static size_t argument_of_no_type(const struct forge *f, uint64_t *w)
{
	size_t n = event(f, w, ASYNCTRACE_FXT_INSTANT, 1, 2);

	w[5] = ASYNCTRACE_FXT_ARG(15, 2, INLINE4, 0);
	w[6] = EVIL;
	return n;
}

static size_t argument_beyond_the_end(const struct forge *f, uint64_t *w)
{
	size_t n = event(f, w, ASYNCTRACE_FXT_INSTANT, 1, 2);

	w[5] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_INT64, 4000, INLINE4, 0);
	w[6] = EVIL;
	return n;
}

static size_t counter_of_nothing(const struct forge *f, uint64_t *w)
{
	return event(f, w, ASYNCTRACE_FXT_COUNTER, 0, 1);
}

static size_t counter_of_text(const struct forge *f, uint64_t *w)
{
	size_t n = event(f, w, ASYNCTRACE_FXT_COUNTER, 1, 4);

	w[5] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_STRING, 3, INLINE4, INLINE4);
	w[6] = w[7] = EVIL;
	return n;
}

static size_t end_before_begin(const struct forge *f, uint64_t *w)
{
	size_t n = event(f, w, ASYNCTRACE_FXT_DURATION, 0, 1);

	w[1] = f->now;
	w[5] = f->now - 1000;
	return n;
}

static size_t no_id(const struct forge *f, uint64_t *w)
{
	return event(f, w, ASYNCTRACE_FXT_ASYNC_BEGIN, 0, 0);
}

static size_t words_left_over(const struct forge *f, uint64_t *w)
{
	return event(f, w, ASYNCTRACE_FXT_INSTANT, 0, 3);
}

static size_t only_a_head(const struct forge *f, uint64_t *w)
{
	(void)f;
	w[0] = head(ASYNCTRACE_FXT_INSTANT, 1, 0);
	return 1;
}

#define KIND(f) { #f, f }
static const struct {
	const char *name;
	size_t (*make)(const struct forge *f, uint64_t *w);
} kinds[] = {
	KIND(foreign_slot), KIND(no_slot), KIND(wide_slot), KIND(thread_of_a_table),
	KIND(thread_inline), KIND(context_switch), KIND(wakeup), KIND(thread_object),
	KIND(process_object), KIND(provider_info), KIND(section), KIND(magic),
	KIND(initialization), KIND(string), KIND(thread), KIND(blob), KIND(blob_of_perfetto),
	KIND(instant_of_a_virtual_thread), KIND(user_object),
	KIND(log_entry), KIND(large), KIND(unknown_type), KIND(before_the_session),
	KIND(after_the_session), KIND(at_the_end_of_time), KIND(unknown_event),
	KIND(unknown_category), KIND(unknown_name), KIND(name_beyond_the_end),
	KIND(text_after_the_text), KIND(missing_arguments), KIND(argument_of_no_size),
	KIND(argument_of_no_type), KIND(argument_beyond_the_end), KIND(counter_of_nothing),
	KIND(counter_of_text), KIND(end_before_begin), KIND(no_id), KIND(words_left_over),
	KIND(only_a_head),
};

const unsigned int forge_kinds = sizeof(kinds) / sizeof(kinds[0]);

size_t forge(unsigned int kind, const struct forge *f, uint64_t *w)
{
	return kinds[kind % forge_kinds].make(f, w);
}

const char *forge_name(unsigned int kind)
{
	return kinds[kind % forge_kinds].name;
}
