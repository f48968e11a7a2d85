// SPDX-License-Identifier: GPL-2.0
/*
 * The records of macros: kinds of events, types of arguments, lengths of texts
 *
 * Arguments of events that are not recorded are not evaluated. A name that finds no room among the
 * provider's names is written inside of each record. Texts that do not fit are cut between
 * characters, and records that do not fit are dropped and counted.
 */
#include <float.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <asynctrace/trace.h>

#include "tape.h"

#define KEEP	40000

/* The recorded events, with copies of their texts */
static struct tape_event got[KEEP];
static char *got_text[KEEP][ASYNCTRACE_FXT_ARGS_MAX];
static char *got_name[KEEP];
static unsigned int ngot;

static char *copy_of(const char *s, size_t n)
{
	char *p = malloc(n + 1);

	memcpy(p, s, n);
	p[n] = '\0';
	return p;
}

static void keep(const struct tape_event *ev, void *arg)
{
	(void)arg;
	if (ngot == KEEP)
		return;
	got[ngot] = *ev;
	got_name[ngot] = copy_of(ev->name, ev->name_len);
	for (uint32_t i = 0; i < ev->nargs; i++)
		got_text[ngot][i] = ev->args[i].text ?
				    copy_of(ev->args[i].text, ev->args[i].value) : NULL;
	ngot++;
}

static void forget(void)
{
	for (unsigned int i = 0; i < ngot; i++) {
		free(got_name[i]);
		for (uint32_t k = 0; k < got[i].nargs; k++)
			free(got_text[i][k]);
	}
	ngot = 0;
}

static struct tape tape;

static void begin(const struct tape_options *o)
{
	forget();
	tape_new(&tape, o, keep, NULL);
	tape_attach(&tape);
	tape_gate(&tape, true);
}

static void end(void)
{
	tape_end(&tape, true);
	tape_check(&tape);
	tape_free(&tape);
}

static const struct tape_options large = { .mode = ASYNCTRACE_MODE_ONESHOT, .ring_size = 8 << 20 };

static bool arg_is(int i, int k, const char *name, uint32_t type, uint64_t value)
{
	const struct tape_arg *a = &got[i].args[k];

	return a->type == type && a->value == value && a->name_len == strlen(name);
}

static bool text_is(int i, int k, const char *text, size_t n)
{
	const struct tape_arg *a = &got[i].args[k];

	return a->type == ASYNCTRACE_FXT_ARG_STRING && a->value == n &&
	       !memcmp(got_text[i][k], text, n);
}

static void all_types(void)
{
	const double d = -DBL_MAX;
	int x;
	uint64_t bits;

	memcpy(&bits, &d, 8);
	begin(&large);
	TRACE_INSTANT("types", "all", TRACE_SCOPE_GLOBAL, "null", TA_NULL(), "true", TA_BOOL(true),
		      "false", TA_BOOL(false), "i32", TA_INT32(INT32_MIN), "u32",
		      TA_UINT32(UINT32_MAX), "i64", TA_INT64(INT64_MIN), "u64",
		      TA_UINT64(UINT64_MAX), "double", TA_DOUBLE(d), "pointer", TA_POINTER(&x),
		      "koid", TA_KOID(77), "string", TA_STRING("grüße"), "chars",
		      TA_CHAR_ARRAY("abcdefgh", 8), "empty", TA_STRING(""), "nothing",
		      TA_STRING((const char *)NULL), "last", TA_INT32(-1));
	/* In C, a plain value may be an argument. Its C type determines the argument's type. */
	TRACE_INSTANT("types", "plain", TRACE_SCOPE_THREAD, "c", 'x', "s", (short)-5, "i", -6, "u", 7u,
		      "l", -8l, "ul", 9ul, "ll", -10ll, "ull", 11ull, "f", 0.5f, "d", d, "b", (bool)true,
		      "str", "text", "p", (void *)&x, "arg", TA_KOID(12));
	end();
	check(ngot == 2);
	check(got[0].nargs == 15 && got[0].type == ASYNCTRACE_FXT_INSTANT);
	check(arg_is(0, 0, "null", ASYNCTRACE_FXT_ARG_NULL, 0));
	check(arg_is(0, 1, "true", ASYNCTRACE_FXT_ARG_BOOL, 1));
	check(arg_is(0, 2, "false", ASYNCTRACE_FXT_ARG_BOOL, 0));
	check(arg_is(0, 3, "i32", ASYNCTRACE_FXT_ARG_INT32, 0x80000000u));
	check(arg_is(0, 4, "u32", ASYNCTRACE_FXT_ARG_UINT32, UINT32_MAX));
	check(arg_is(0, 5, "i64", ASYNCTRACE_FXT_ARG_INT64, 1ull << 63));
	check(arg_is(0, 6, "u64", ASYNCTRACE_FXT_ARG_UINT64, UINT64_MAX));
	check(arg_is(0, 7, "double", ASYNCTRACE_FXT_ARG_DOUBLE, bits));
	check(arg_is(0, 8, "pointer", ASYNCTRACE_FXT_ARG_POINTER, (uintptr_t)&x));
	check(arg_is(0, 9, "koid", ASYNCTRACE_FXT_ARG_KOID, 77));
	check(arg_is(0, 10, "string", ASYNCTRACE_FXT_ARG_STRING, 7) &&
	      !strcmp(got_text[0][10], "grüße"));
	check(arg_is(0, 11, "chars", ASYNCTRACE_FXT_ARG_STRING, 8) &&
	      !strcmp(got_text[0][11], "abcdefgh"));
	check(arg_is(0, 12, "empty", ASYNCTRACE_FXT_ARG_STRING, 0));
	check(arg_is(0, 13, "nothing", ASYNCTRACE_FXT_ARG_NULL, 0));
	check(arg_is(0, 14, "last", ASYNCTRACE_FXT_ARG_INT32, UINT32_MAX));
	check(got[1].nargs == 14);
	check(arg_is(1, 1, "s", ASYNCTRACE_FXT_ARG_INT32, (uint32_t)-5));
	check(arg_is(1, 4, "l", ASYNCTRACE_FXT_ARG_INT64, (uint64_t)-8));
	check(arg_is(1, 9, "d", ASYNCTRACE_FXT_ARG_DOUBLE, bits));
	check(arg_is(1, 10, "b", ASYNCTRACE_FXT_ARG_BOOL, 1));
	check(arg_is(1, 11, "str", ASYNCTRACE_FXT_ARG_STRING, 4));
	check(arg_is(1, 12, "p", ASYNCTRACE_FXT_ARG_POINTER, (uintptr_t)&x));
	check(arg_is(1, 13, "arg", ASYNCTRACE_FXT_ARG_KOID, 12));
	done("argument_types_keep_their_extremes");
}

static void scopes(int depth)
{
	char gone[16] = "as it was";

	TRACE_DURATION("types", "scope", "depth", TA_INT32(depth), "text", TA_STRING(gone));
	if (depth)
		scopes(depth - 1);
	memset(gone, 'x', sizeof(gone));
}

static void all_kinds(void)
{
	static const uint32_t kinds[] = {
		ASYNCTRACE_FXT_INSTANT, ASYNCTRACE_FXT_COUNTER, ASYNCTRACE_FXT_DURATION_BEGIN,
		ASYNCTRACE_FXT_DURATION_END, ASYNCTRACE_FXT_ASYNC_BEGIN,
		ASYNCTRACE_FXT_ASYNC_INSTANT, ASYNCTRACE_FXT_ASYNC_END, ASYNCTRACE_FXT_FLOW_BEGIN,
		ASYNCTRACE_FXT_FLOW_STEP, ASYNCTRACE_FXT_FLOW_END,
	};

	begin(&large);
	TRACE_INSTANT("types", "instant", TRACE_SCOPE_PROCESS);
	TRACE_COUNTER("types", "counter", 101, "a", TA_INT32(1));
	TRACE_DURATION_BEGIN("types", "duration");
	TRACE_DURATION_END("types", "duration");
	TRACE_ASYNC_BEGIN("types", "async", 104);
	TRACE_ASYNC_INSTANT("types", "async", 105);
	TRACE_ASYNC_END("types", "async", 106);
	TRACE_FLOW_BEGIN("types", "flow", 107);
	TRACE_FLOW_STEP("types", "flow", 108);
	TRACE_FLOW_END("types", "flow", 109);
	scopes(2);
	{
		TRACE_DURATION("types", "bare");
		TRACE_DURATION("types", "word", "x", TA_BOOL(true));
		TRACE_DURATION("types", "words", "x", TA_UINT64(1), "y", TA_UINT64(2));
	}
	end();
	check(ngot == 16, "%u", ngot);
	for (unsigned int i = 0; i < 10; i++) {
		check(got[i].type == kinds[i]);
		check(got[i].id == (i == 1 || i >= 4 ? 100 + i : 0));
	}
	for (int i = 10; i < 16; i++)
		check(got[i].type == ASYNCTRACE_FXT_DURATION && got[i].time < got[i].id);
	/* Inner scopes end first and begin last. */
	check(arg_is(10, 0, "depth", ASYNCTRACE_FXT_ARG_INT32, 0));
	check(arg_is(12, 0, "depth", ASYNCTRACE_FXT_ARG_INT32, 2));
	check(got[12].time < got[11].time && got[11].time < got[10].time);
	check(!strcmp(got_text[11][1], "as it was"));
	check(!strcmp(got_name[13], "words") && !strcmp(got_name[15], "bare"));
	done("event_kinds_and_nested_scopes_are_recorded");
}

/* Returns a page between two unreadable ones. */
static char *lonely_page(size_t page)
{
	char *map = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);

	mprotect(map, page, PROT_NONE);
	mprotect(map + 2 * page, page, PROT_NONE);
	for (size_t i = 0; i < page; i++)
		map[page + i] = 'a' + i % 23;
	return map + page;
}

static void kept(const char *s, int n)
{
	TRACE_DURATION("types", "kept", "n", TA_INT32(n), "s", TA_CHAR_ARRAY(s, n));
}

static void lengths(void)
{
	/* The text ends where the mapped memory ends: reading one more byte would fault. */
	const size_t page = sysconf(_SC_PAGESIZE);
	char *map = mmap(NULL, 10 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0), *edge = map + 9 * page, *lonely = lonely_page(page);
	static const int many[] = { 255, 4096, 31999, 32000 };
	unsigned int i = 0;

	mprotect(edge, page, PROT_NONE);
	for (size_t k = 0; k < 9 * page; k++)
		map[k] = 'a' + k % 23;
	begin(&large);
	for (int n = 0; n < 100; n++)
		TRACE_INSTANT("types", "length", TRACE_SCOPE_THREAD, "n", TA_INT32(n), "s",
			      TA_CHAR_ARRAY(edge - n, n), "t", TA_CHAR_ARRAY(edge - n, n));
	for (int n = 0; n < 100; n++)
		TRACE_ASYNC_BEGIN("types", "start", n, "s", TA_CHAR_ARRAY(lonely, n), "t",
				  TA_CHAR_ARRAY(lonely + page - n, n));
	for (int n = 0; n < 100; n++)
		kept(lonely, n);
	for (int k = 0; k < 4; k++)
		TRACE_INSTANT("types", "length", TRACE_SCOPE_THREAD, "n", TA_INT32(many[k]), "s",
			      TA_CHAR_ARRAY(edge - many[k], many[k]));
	end();
	check(ngot == 304, "%u", ngot);
	for (size_t n = 0; n < 100; n++, i++)
		check(text_is(i, 1, edge - n, n) && text_is(i, 2, edge - n, n));
	for (size_t n = 0; n < 100; n++, i++)
		check(text_is(i, 0, lonely, n) && text_is(i, 1, lonely + page - n, n) &&
		      got[i].id == n);
	for (size_t n = 0; n < 100; n++, i++)
		check(text_is(i, 1, lonely, n) && got[i].time < got[i].id);
	for (int k = 0; k < 4; k++, i++)
		check(text_is(i, 1, edge - many[k], many[k]));
	munmap(lonely - page, 3 * page);
	munmap(map, 10 * page);
	done("texts_of_all_lengths_are_not_overread");
}

static void places(void)
{
	const char *volatile none = NULL;
	const char *const text = "eleven char", *const nothing = none;
	unsigned int i = 0;

	begin(&large);
	TRACE_ASYNC_END("types", "first", 7, "s", TA_STRING(text), "a", TA_UINT64(1), "b", TA_INT32(2));
	TRACE_ASYNC_END("types", "second", 7, "a", TA_UINT64(1), "s", TA_STRING(text), "b", TA_INT32(2));
	TRACE_ASYNC_END("types", "third", 7, "a", TA_UINT64(1), "b", TA_INT32(2), "s", TA_STRING(text));
	TRACE_ASYNC_END("types", "null", 7, "a", TA_UINT64(1), "s", TA_STRING(nothing), "b", TA_INT32(2));
	{
		TRACE_DURATION("types", "scope", "a", TA_UINT64(1), "s", TA_STRING(nothing), "t",
			       TA_STRING(text), "b", TA_INT32(2));
	}
	TRACE_INSTANT("types", "many", TRACE_SCOPE_THREAD, "0", text, "1", text, "2", nothing, "3", 3,
		      "4", text, "5", text, "6", text, "7", text, "8", "", "9", 9u, "a", text,
		      "b", text, "c", text, "d", "x", "e", text);
	end();
	check(ngot == 6, "%u", ngot);
	for (; i < 3; i++) {
		check(text_is(i, i, text, 11) && got[i].id == 7 && got[i].words == 10);
		check(arg_is(i, i ? 0 : 1, "a", ASYNCTRACE_FXT_ARG_UINT64, 1));
		check(arg_is(i, i < 2 ? 2 : 1, "b", ASYNCTRACE_FXT_ARG_INT32, 2));
	}
	check(arg_is(3, 0, "a", ASYNCTRACE_FXT_ARG_UINT64, 1) &&
	      arg_is(3, 1, "s", ASYNCTRACE_FXT_ARG_NULL, 0) &&
	      arg_is(3, 2, "b", ASYNCTRACE_FXT_ARG_INT32, 2) && got[3].id == 7 && got[3].words == 8);
	check(arg_is(4, 1, "s", ASYNCTRACE_FXT_ARG_NULL, 0) && text_is(4, 2, text, 11) &&
	      arg_is(4, 3, "b", ASYNCTRACE_FXT_ARG_INT32, 2) && got[4].time < got[4].id);
	for (int k = 0; k < 15; k++) {
		if (k == 2)
			check(arg_is(5, k, "2", ASYNCTRACE_FXT_ARG_NULL, 0));
		else if (k == 3 || k == 9)
			check(got[5].args[k].value == (uint64_t)k);
		else if (k == 8 || k == 13)
			check(text_is(5, k, "x", k == 13));
		else
			check(text_is(5, k, text, 11));
	}
	done("texts_in_any_place_or_null_are_recorded");
}

static bool changed;

/* TSan would report the race that this test needs. */
__attribute__((no_sanitize("thread")))
static void *change(void *text)
{
	for (int i = 0; !__atomic_load_n(&changed, __ATOMIC_RELAXED); i++)
		for (int k = 0; k < 61; k++)
			((volatile char *)text)[k] = i & 1 ? '\xff' : '\0';
	return NULL;
}

/*
 * The library fixes a length before it copies. Each byte must be one that the text had at some
 * time.
 */
static void changing(void)
{
	char text[61] = { 0 };
	unsigned int wrong = 0;
	pthread_t thread;

	begin(&large);
	changed = false;
	pthread_create(&thread, NULL, change, text);
	for (int i = 0; i < 20000; i++)
		TRACE_INSTANT("types", "changing", TRACE_SCOPE_THREAD, "s",
			      TA_CHAR_ARRAY(text + i % 5, i % 56), "n", TA_INT32(i));
	__atomic_store_n(&changed, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	end();
	check(ngot == 20000, "%u", ngot);
	for (unsigned int i = 0; i < ngot; i++) {
		wrong += got[i].args[0].value != i % 56 || got[i].args[1].value != i;
		for (uint64_t k = 0; k < got[i].args[0].value && k < 56; k++)
			wrong += got_text[i][0][k] != '\0' && got_text[i][0][k] != '\xff';
	}
	check(!wrong, "%u", wrong);
	done("texts_changed_meanwhile_keep_their_lengths");
}

/* Does the text of 3-byte characters end between two of them? */
static bool whole(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i += 3)
		if (n - i < 3 || memcmp(s + i, "€", 3))
			return false;
	return true;
}

static void too_long(void)
{
	const struct tape_options small = { .mode = ASYNCTRACE_MODE_ONESHOT, .ring_size = 1 << 20,
					    .sub_size = 4096 };
	char *euros = malloc(40000 * 3 + 1);

	for (int i = 0; i < 40000; i++)
		memcpy(euros + 3 * i, "€", 3);
	euros[120000] = '\0';
	begin(&large);
	for (int n = 31990; n < 32010; n++)
		TRACE_INSTANT("types", "cut", TRACE_SCOPE_THREAD, "s", TA_CHAR_ARRAY(euros, n));
	TRACE_INSTANT("types", "both", TRACE_SCOPE_THREAD, "s", TA_STRING(euros), "t",
		      TA_STRING(euros));
	end();
	check(ngot == 21);
	for (unsigned int i = 0; i < 20; i++) {
		const size_t n = 31990 + i;

		if (n <= 32000)
			check(got[i].args[0].value == n);
		else
			check(got[i].args[0].value == 31998 && whole(got_text[i][0], 31998));
	}
	check(got[20].words <= ASYNCTRACE_FXT_WORDS_MAX && got[20].args[0].value == 31998 &&
	      got[20].args[1].value > 600 && whole(got_text[20][1], got[20].args[1].value));

	begin(&small);
	TRACE_INSTANT("types", "small", TRACE_SCOPE_THREAD, "s", TA_STRING(euros), "n", TA_INT32(1),
		      "t", TA_STRING(euros));
	{
		TRACE_DURATION("types", "scope", "s", TA_STRING(euros), "t", TA_STRING("x"));
	}
	end();
	check(ngot == 2);
	check(got[0].words == 512 - 4);
	check(got[0].args[0].value > 3900 && whole(got_text[0][0], got[0].args[0].value));
	check(got[0].args[2].value < 8);
	check(got[1].args[0].value == 126 && whole(got_text[1][0], 126));
	free(euros);
	done("long_texts_are_cut_between_characters");
}

static int evaluated;

static int count(int x)
{
	evaluated++;
	return x;
}

static void categories(void)
{
	struct tape_options o = large;

	o.categories = "one,pre*,,two";
	evaluated = 0;
	TRACE_INSTANT("one", "off", TRACE_SCOPE_THREAD, "x", TA_INT32(count(1)));
	check(!evaluated && !TRACE_ENABLED() && !TRACE_CATEGORY_ENABLED("one"));
	begin(&o);
	check(TRACE_ENABLED());
	check(TRACE_CATEGORY_ENABLED("one") && TRACE_CATEGORY_ENABLED("two"));
	check(TRACE_CATEGORY_ENABLED("pre") && TRACE_CATEGORY_ENABLED("prefix"));
	check(!TRACE_CATEGORY_ENABLED("pr") && !TRACE_CATEGORY_ENABLED("onee"));
	check(!TRACE_CATEGORY_ENABLED("on") && !TRACE_CATEGORY_ENABLED(""));
	for (int i = 0; i < 3; i++) {
		TRACE_INSTANT("three", "off", TRACE_SCOPE_THREAD, "x", TA_INT32(count(1)));
		TRACE_DURATION("three", "off", "x", TA_INT32(count(1)));
		TRACE_INSTANT("", "off", TRACE_SCOPE_THREAD, "x", TA_INT32(count(1)));
	}
	check(!evaluated);
	if (evaluated)
		TRACE_INSTANT("one", "then", TRACE_SCOPE_THREAD);
	else
		TRACE_INSTANT("one", "else", TRACE_SCOPE_THREAD, "x", TA_INT32(count(5)));
	check(evaluated == 1);
	end();
	check(ngot == 1 && !strcmp(got_name[0], "else"));
	check(!TRACE_ENABLED() && !TRACE_CATEGORY_ENABLED("one") && !TRACE_CATEGORY_ENABLED(""));
	o.categories = NULL;
	begin(&o);
	check(TRACE_CATEGORY_ENABLED("anything") && !TRACE_CATEGORY_ENABLED(""));
	end();
	o.categories = "pre*,-prefix,one";
	begin(&o);
	check(TRACE_CATEGORY_ENABLED("pre") && TRACE_CATEGORY_ENABLED("prefixes"));
	check(TRACE_CATEGORY_ENABLED("one") && !TRACE_CATEGORY_ENABLED("prefix"));
	check(!TRACE_CATEGORY_ENABLED("two") && !TRACE_CATEGORY_ENABLED("-prefix"));
	end();
	o.categories = "-two,-pre*";
	begin(&o);
	check(!TRACE_CATEGORY_ENABLED("pre") && !TRACE_CATEGORY_ENABLED("two"));
	check(TRACE_CATEGORY_ENABLED("one") && !TRACE_CATEGORY_ENABLED(""));
	end();
	o.categories = "one,-one";
	begin(&o);
	check(!TRACE_CATEGORY_ENABLED("one") && !TRACE_CATEGORY_ENABLED("two"));
	end();
	o.categories = "-*";
	begin(&o);
	check(TRACE_ENABLED() && !TRACE_CATEGORY_ENABLED("one"));
	end();
	done("categories_match_by_name_and_prefix");
}

/* More names than the table has room for: 20,000 sites, created here */
static void names(void)
{
	const int many = 20000;
	struct at_site_ *sites = calloc(many, sizeof(*sites));
	char (*text)[24] = calloc(many, sizeof(*text));
	static const char *const keys[] = { "number", "" };
	uint64_t (*refs)[2] = calloc(many, sizeof(*refs));
	unsigned int interned = 0, wrong = 0;
	struct at_status_info st = { .size = sizeof(st) };

	begin(&large);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < many; i++) {
			const struct at_arg_ arg = at_arg_i32_(i);
			uint64_t found;

			snprintf(text[i], sizeof(text[i]), "name number %d", i);
			sites[i].category = "types";
			sites[i].name = text[i];
			sites[i].keys = keys;
			sites[i].refs = refs[i];
			sites[i].nkeys = 1;
			found = at_site_test_(&sites[i], at_gate_load_());
			interned += !round && found >> 32 == TRACE_SITE_ON_;
			at_event_(&sites[i], refs[i], found, ASYNCTRACE_FXT_INSTANT, 0, &arg, 1);
		}
	}
	at_status(&st);
	end();
	check(interned > 5000 && interned < (unsigned int)many);
	check(st.names >= interned && st.names_refused > 0);
	check(ngot == 2 * (unsigned int)many);
	for (unsigned int i = 0; i < ngot; i++)
		if (strcmp(got_name[i], text[i % many]) ||
		    !arg_is(i, 0, "number", ASYNCTRACE_FXT_ARG_INT32, i % many))
			wrong++;
	check(!wrong);
	done("names_without_room_go_with_records: %d, %u interned", many, interned);
	free(sites);
	free(text);
	free(refs);
}

static sigjmp_buf away;
static char *hidden_name;

static void leave(int sig)
{
	(void)sig;
	siglongjmp(away, 1);
}

/* The library reads the name at this moment. Another signal arrives. */
static void show_name(int sig)
{
	(void)sig;
	mprotect(hidden_name, 4096, PROT_READ | PROT_WRITE);
	raise(SIGUSR1);
}

static void names_amid_a_jump(void)
{
	const struct sigaction show = { .sa_handler = show_name }, jump = { .sa_handler = leave };
	static struct at_site_ site = { .category = "types" }, other = { .category = "types" };
	struct sigaction old;
	volatile bool jumped = false;

	/* TSan delays signals. */
	if (HAS_TSAN)
		return;
	hidden_name = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	strcpy(hidden_name, "hidden name");
	mprotect(hidden_name, 4096, PROT_NONE);
	site.name = hidden_name;
	other.name = "name after the jump";
	sigaction(SIGSEGV, &show, &old);
	sigaction(SIGUSR1, &jump, NULL);
	begin(&large);
	if (sigsetjmp(away, 1))
		jumped = true;
	else
		at_site_test_(&site, at_gate_load_());
	check(jumped);
	check(at_site_test_(&other, at_gate_load_()) >> 32 == TRACE_SITE_ON_);
	check(at_site_test_(&site, at_gate_load_()) >> 32 == TRACE_SITE_ON_);
	end();
	sigaction(SIGSEGV, &old, NULL);
	signal(SIGUSR1, SIG_DFL);
	munmap(hidden_name, 4096);
	done("handler_that_jumps_leaves_no_lock_of_names");
}

static void dropped(void)
{
	const struct tape_options small = { .mode = ASYNCTRACE_MODE_ONESHOT, .ring_size = 1 << 14,
					    .sub_size = 4096 };
	char text[100];

	memset(text, 'x', sizeof(text));
	begin(&small);
	for (int i = 0; i < 300; i++)
		TRACE_INSTANT("types", "full", TRACE_SCOPE_THREAD, "s", TA_CHAR_ARRAY(text, 100));
	tape_end(&tape, true);
	tape_check(&tape);
	check(tape.result.dropped > 0 && tape.result.dropped + tape.result.delivered == 300);
	tape_free(&tape);
	done("records_without_room_are_counted");
}

static void ids(void)
{
	uint64_t a = TRACE_NONCE(), b = at_flow_id(), c = at_flow_id();

	check(a == 1 && TRACE_NONCE() == 2);
	check(b && c == b + 1 && b >> 44 && b >> 44 == c >> 44);
	done("nonces_count_from_1_and_flow_ids_have_a_salt");
}

int main(void)
{
	/* Rings are read one after the other: only the events of one CPU are in order. */
	pin(nth_cpu(0));
	ids();
	all_types();
	all_kinds();
	lengths();
	places();
	changing();
	too_long();
	categories();
	names();
	names_amid_a_jump();
	dropped();
	forget();
	return finish();
}
