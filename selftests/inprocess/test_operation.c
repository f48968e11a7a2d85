// SPDX-License-Identifier: GPL-2.0
/*
 * Operations: ids, parents and ends, the operation of a thread, regions and logs
 */
#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <asynctrace/memory.h>
#include <asynctrace/operation.h>
#include <asynctrace/provider.h>

#include "kept.h"

#define BEGIN	ASYNCTRACE_FXT_DURATION_BEGIN
#define END	ASYNCTRACE_FXT_DURATION_END
#define NONE	0xabcdefULL	/* the argument does not exist */

/*
 * Is event @i of this type and name, and is its argument @key equal to the number? NONE: it must
 * not exist.
 */
static bool event_is(unsigned int i, uint32_t type, const char *name, const char *key, uint64_t n)
{
	return i < nr_kept && kept_is(&kept[i], type, name) &&
	       kept_number(&kept[i], key, NONE) == n;
}

/* --- ids ------------------------------------------------------------------------------- */

#define THREADS		64
#define IDS		2000

static uint64_t ids[THREADS * IDS];

static void *take_ids(void *arg)
{
	uint64_t *to = arg;
	struct at_operation op;

	for (int i = 0; i < IDS; i++) {
		TRACE_OPERATION_BEGIN(&op, "operation", "id");
		to[i] = op.id;
	}
	return NULL;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void unique_while_off(void)
{
	const uint64_t salt = at_flow_id() >> 44;
	unsigned int twice = 0, strange = 0;
	pthread_t th[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&th[i], NULL, take_ids, &ids[i * IDS]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(th[i], NULL);
	qsort(ids, THREADS * IDS, sizeof(*ids), by_number);
	for (int i = 0; i < THREADS * IDS; i++) {
		twice += i && ids[i] == ids[i - 1];
		strange += !ids[i] || ids[i] >> 44 != salt || ids[i] == at_flow_id();
	}
	check(!twice, "%u ids twice", twice);
	check(!strange, "%u ids of another kind", strange);
	done("G21_ids_are_unique_while_tracing_is_off");
}

static void parents(void)
{
	struct at_operation a, b, c, d;
	struct at_entered e;

	kept_begin(NULL);
	check(!at_operation_current());
	TRACE_OPERATION_BEGIN(&a, "operation", "a", "key", TA_STRING("text"));
	TRACE_OPERATION_ENTER(&e, a.id, "operation", "work");
	check(at_operation_current() == a.id);
	TRACE_OPERATION_BEGIN(&b, "operation", "b");
	TRACE_OPERATION_BEGIN_CHILD(&c, b.id, "operation", "c");
	TRACE_OPERATION_BEGIN_CHILD(&d, 0, "operation", "d");
	at_operation_leave(&e);
	check(!at_operation_current());
	kept_end();
	check(!a.parent && b.parent == a.id && c.parent == b.id && !d.parent);
	check(event_is(0, ASYNCTRACE_FXT_ASYNC_BEGIN, "a", "parent", 0) && kept[0].ev.id == a.id &&
	      !strcmp(kept_text(&kept[0], "key"), "text"));
	check(event_is(2, ASYNCTRACE_FXT_ASYNC_BEGIN, "b", "parent", a.id) && kept[2].ev.id == b.id);
	check(event_is(3, ASYNCTRACE_FXT_ASYNC_BEGIN, "c", "parent", b.id));
	check(event_is(4, ASYNCTRACE_FXT_ASYNC_BEGIN, "d", "parent", 0));
	check(nr_kept == 6);
	done("G20_G24_parent_is_current_operation_or_0");
}

static void *end_it(void *op)
{
	TRACE_OPERATION_END((struct at_operation *)op, "operation", "twice");
	return NULL;
}

static void end_twice(void)
{
	struct at_operation op;
	pthread_t th;

	kept_begin(NULL);
	for (int i = 0; i < 200; i++) {
		TRACE_OPERATION_BEGIN(&op, "operation", "twice");
		pthread_create(&th, NULL, end_it, &op);
		end_it(&op);
		pthread_join(th, NULL);
		end_it(&op);
		/* The structure can be used for a new operation. */
		TRACE_OPERATION_BEGIN(&op, "operation", "twice");
		end_it(&op);
	}
	kept_end();
	check(kept_count(ASYNCTRACE_FXT_ASYNC_BEGIN, "twice") == 400);
	check(kept_count(ASYNCTRACE_FXT_ASYNC_END, "twice") == 400, "%u ends",
	      kept_count(ASYNCTRACE_FXT_ASYNC_END, "twice"));
	done("G22_G27_first_end_of_two_threads_counts");
}

static void end_off_then_on(void)
{
	struct at_operation op;

	TRACE_OPERATION_BEGIN(&op, "operation", "off");
	end_it(&op);
	kept_begin(NULL);
	end_it(&op);
	kept_end();
	check(!nr_kept);
	TRACE_OPERATION_BEGIN(&op, "operation", "off");
	kept_begin(NULL);
	end_it(&op);
	kept_end();
	check(event_is(0, ASYNCTRACE_FXT_ASYNC_END, "twice", "parent", NONE) && kept[0].ev.id == op.id);
	done("G21_G22_ends_count_while_tracing_is_off");
}

static void at_run_time(void)
{
	char category[] = "dynamic", type[] = "type";
	struct at_operation op, child;
	struct at_entered e;

	kept_begin("dynamic");
	at_operation_begin(&op, category, type);
	at_operation_enter(&e, op.id);
	at_operation_begin(&child, "other", type);
	at_operation_leave(&e);
	memset(type, 'x', sizeof(type) - 1);
	memcpy(type, "type", 4);
	at_operation_end(&op, category, type);
	at_operation_end(&op, category, type);
	kept_end();
	check(child.parent == op.id);
	check(event_is(0, ASYNCTRACE_FXT_ASYNC_BEGIN, "type", "parent", 0) && kept[0].ev.id == op.id);
	check(event_is(1, ASYNCTRACE_FXT_ASYNC_END, "type", "parent", NONE));
	check(nr_kept == 2 && !strcmp(kept[0].category, "dynamic"));
	done("A14_types_known_at_run_time_are_filtered");
}

/* Begin and end belong together only if their texts are cut at the same place. */
static void long_texts(void)
{
	static char text[40001];
	struct at_operation op;

	/* Characters of three bytes: 1000 is not the end of one. */
	for (size_t i = 0; i + 3 < sizeof(text); i += 3)
		memcpy(text + i, "\xe2\x82\xac", 3);
	kept_begin(NULL);
	at_operation_begin(&op, text, text);
	at_operation_end(&op, text, text);
	kept_end();
	check(nr_kept == 2 && !strcmp(kept[0].category, kept[1].category) &&
	      !strcmp(kept[0].name, kept[1].name));
	check(strlen(kept[0].category) == 999 && strlen(kept[0].name) == 999, "%zu, %zu",
	      strlen(kept[0].category), strlen(kept[0].name));
	done("long_texts_of_begin_and_end_are_the_same");
}

/* --- scopes ------------------------------------------------------------------------------ */

static void nested(uint64_t a, uint64_t b)
{
	TRACE_OPERATION_SCOPE(a, "operation", "outer", "n", 1);
	{
		TRACE_OPERATION_SCOPE(b, "operation", "inner");
		check(at_operation_current() == b);
		{
			TRACE_REGION("operation", "region", "text", TA_STRING("x"));
			check(at_operation_current() == b);
		}
	}
	check(at_operation_current() == a);
}

/* The end of the outer scope ends the inner ones, so their own ends come too late. */
static void scopes_left_in_the_wrong_order(void)
{
	struct at_entered outer, inner, innermost;

	kept_begin(NULL);
	at_operation_enter(&outer, 11);
	at_operation_enter(&inner, 12);
	at_operation_enter(&innermost, 13);
	check(at_operation_current() == 13);
	at_operation_leave(&outer);
	check(at_operation_current() == 0);
	at_operation_leave(&inner);
	check(at_operation_current() == 0, "%llu", (unsigned long long)at_operation_current());
	at_operation_leave(&innermost);
	check(at_operation_current() == 0, "%llu", (unsigned long long)at_operation_current());
	kept_end();
	check(kept_count(ASYNCTRACE_FXT_DURATION_BEGIN, "operation") == 3);
	check(nr_kept == 6, "%zu records", (size_t)nr_kept);
	done("G41_outer_end_leaves_no_inner_operation");
}

static void scopes(void)
{
	kept_begin(NULL);
	nested(5, 6);
	check(!at_operation_current());
	{
		TRACE_REGION("operation", "alone");
	}
	kept_end();
	check(event_is(0, BEGIN, "outer", "operation", 5) && kept_number(&kept[0], "n", 0) == 1);
	check(event_is(1, BEGIN, "inner", "operation", 6));
	check(event_is(2, BEGIN, "region", "operation", 6) &&
	      !strcmp(kept_text(&kept[2], "text"), "x"));
	check(event_is(3, END, "region", "resumed", NONE) && !kept[3].ev.nargs);
	check(event_is(4, END, "inner", "resumed", 5) && kept[4].ev.nargs == 1);
	check(event_is(5, END, "outer", "resumed", 0));
	done("G41_scopes_nest_and_restore_the_operation");
	check(event_is(6, BEGIN, "alone", "operation", 0));
	check(event_is(7, END, "alone", "operation", NONE) && nr_kept == 8);
	done("G46_region_without_operation_is_of_0");
}

/* The source line that the event names as its place, in this file; 0: none */
static int line_of(const struct kept *k)
{
	static const char before[] = "at " __FILE__ ":";
	int line = 0;

	for (unsigned int i = 0; i < k->ev.nargs; i++)
		if (k->ev.args[i].type == ASYNCTRACE_FXT_ARG_NULL &&
		    !strncmp(k->key[i], before, sizeof(before) - 1))
			line = atoi(k->key[i] + sizeof(before) - 1);
	return line;
}

static void places(void)
{
	struct at_entered e;
	int line;

	kept_begin(NULL);
	{
		TRACE_REGION("operation", "region"); line = __LINE__;
		TRACE_OPERATION_SCOPE(5, "operation", "scope", "n", 1, "text", TA_STRING("x"));
	}
	TRACE_REGION_BEGIN(&e, "operation", "region");
	at_region_end(&e);
	TRACE_OPERATION_ENTER(&e, 5, "operation", "scope");
	at_operation_leave(&e);
	at_operation_enter(&e, 5);
	at_operation_leave(&e);
	kept_end();
	check(nr_kept == 10);
	check(line_of(&kept[0]) == line && line_of(&kept[1]) == line + 1);
	check(kept_number(&kept[1], "n", 0) == 1 && !strcmp(kept_text(&kept[1], "text"), "x"));
	check(line_of(&kept[4]) == line + 3 && line_of(&kept[6]) == line + 5);
	check(!line_of(&kept[8]) && kept[8].ev.nargs == 1, "the function has no place");
	for (unsigned int i = 0; i < nr_kept; i++)
		check(kept[i].ev.type != END || !line_of(&kept[i]), "end %u", i);
	done("G47_scopes_of_macros_have_their_place");
}

/* A scope with a text, and a scope whose names find no room in the table, behave alike. */
static void inline_names(void)
{
	static const struct at_arg_ none[1];
	uint64_t refs[1];

	/* Fill the table of names. From then on, records contain new names as text. */
	kept_begin(NULL);
	for (int i = 0; i < 12000; i++) {
		char name[32];
		const char *const keys[] = { "" };
		struct at_site_ site = { .refs = refs, .keys = keys, .category = "fill", .name = name };

		snprintf(name, sizeof(name), "a name for the table %d", i);
		at_event_(&site, refs, at_site_test_(&site, at_gate_load_()),
			  ASYNCTRACE_FXT_INSTANT, 0, none, 0);
	}
	{
		TRACE_OPERATION_SCOPE(7, "operation", "a scope of new names", "new key", 1);
		TRACE_REGION("operation", "a region of new names");
	}
	kept_end();
	check(nr_kept == 12004);
	check(event_is(12000, BEGIN, "a scope of new names", "operation", 7) &&
	      kept_number(&kept[12000], "new key", 0) == 1);
	check(event_is(12001, BEGIN, "a region of new names", "operation", 7));
	check(line_of(&kept[12000]) && line_of(&kept[12001]) == line_of(&kept[12000]) + 1);
	check(event_is(12002, END, "a region of new names", "resumed", NONE));
	check(event_is(12003, END, "a scope of new names", "resumed", 0));
	done("A22_scopes_carry_names_that_found_no_room");
}

static sigjmp_buf back;

static void jump(void)
{
	TRACE_OPERATION_SCOPE(2, "operation", "left");
	TRACE_REGION("operation", "left");
	siglongjmp(back, 1);
}

static void unwound(void)
{
	TRACE_OPERATION_SCOPE(1, "operation", "stays");
	if (!sigsetjmp(back, 0))
		jump();
	check(at_operation_current() == 2);
}

static void jumps(void)
{
	struct at_entered here;

	kept_begin(NULL);
	unwound();
	check(!at_operation_current());
	here = at_operation_here();
	if (!sigsetjmp(back, 0))
		jump();
	check(at_operation_current() == 2);
	at_operation_leave(&here);
	check(!at_operation_current());
	kept_end();
	check(nr_kept == 10);
	check(event_is(0, BEGIN, "stays", "operation", 1) && event_is(1, BEGIN, "left", "operation", 2));
	check(event_is(3, END, "", "resumed", NONE) && event_is(4, END, "", "resumed", NONE));
	check(event_is(5, END, "stays", "resumed", 0));
	check(event_is(8, END, "", "resumed", NONE) && event_is(9, END, "", "resumed", NONE));
	done("H8_end_of_a_scope_ends_those_that_a_jump_left");
}

/* The scope is open while one trace ends and another begins. */
static void over_runs(void)
{
	struct at_entered before, during, inner;

	TRACE_REGION_BEGIN(&before, "operation", "before");
	kept_begin(NULL);
	at_region_end(&before);
	TRACE_REGION_BEGIN(&during, "operation", "during");
	kept_end();
	check(nr_kept == 1 && event_is(0, BEGIN, "during", "operation", 0));
	done("G43_region_begun_while_off_has_no_end");
	kept_begin(NULL);
	TRACE_REGION_BEGIN(&inner, "operation", "inner");
	at_region_end(&inner);
	at_region_end(&during);
	kept_end();
	check(nr_kept == 2 && event_is(1, END, "inner", "operation", NONE), "%u", nr_kept);
	done("G44_region_of_one_run_has_no_end_in_the_next");

	/*
	 * In the second trace, jump out of two scopes that began there. Then end a scope that
	 * began in the first trace.
	 */
	kept_begin(NULL);
	TRACE_REGION_BEGIN(&during, "operation", "during");
	kept_end();
	kept_begin(NULL);
	if (!sigsetjmp(back, 0))
		jump();
	at_region_end(&during);
	kept_end();
	check(nr_kept == 4 && event_is(2, END, "", "", NONE) && event_is(3, END, "", "", NONE), "%u",
	      nr_kept);
	kept_begin(NULL);
	TRACE_REGION_BEGIN(&inner, "operation", "inner");
	at_region_end(&inner);
	kept_end();
	check(nr_kept == 2);
	done("H8_jump_in_a_later_run_is_unwound_there");
}

static void other_category(void)
{
	kept_begin("wanted");
	{
		TRACE_OPERATION_SCOPE(3, "other", "outer");
		TRACE_OPERATION_SCOPE(4, "wanted", "inner");
		check(at_operation_current() == 4);
	}
	check(!at_operation_current());
	kept_end();
	check(nr_kept == 2 && event_is(0, BEGIN, "inner", "operation", 4) &&
	      event_is(1, END, "inner", "resumed", 3));
	done("A14_scope_of_other_category_enters_unrecorded");
}

static struct at_operation nameless;

static void begin_null_category(void) { at_operation_begin(&nameless, NULL, "type"); }
static void begin_empty_category(void) { at_operation_begin(&nameless, "", "type"); }
static void begin_null_type(void) { at_operation_begin(&nameless, "null", NULL); }
static void log_null_category(void) { at_log(NULL, "message"); }
static void log_empty_category(void) { at_log("", "message"); }
static void log_null_message(void) { at_log("null", NULL); }
static void logf_null_category(void) { at_logf(NULL, "%d", 1); }
static void macro_null_message(void) { TRACE_LOG("null", (const char *)NULL); }

static void end_null_category(void)
{
	nameless.ended_ = 0;
	at_operation_end(&nameless, NULL, "type");
}

static void end_null_type(void)
{
	nameless.ended_ = 0;
	at_operation_end(&nameless, "null", NULL);
}

static void logf_null_format(void)
{
	const char *volatile none = NULL;

	at_logf("null", none, 1);
}

static void collection_null_type(void)
{
	at_collection_begin(NULL, 0, NULL);
	at_collection_end(NULL);
}

static void announce_null_list(void)
{
	check(at_provider_announce(NULL, 1) == -EINVAL);
}

/* Texts that are NULL crash no function, whether it is recorded or not. */
static void null_texts(void)
{
	static const struct {
		void (*call)(void);
		unsigned int records;
	} cases[] = {
		{ begin_null_category, 0 }, { end_null_category, 0 }, { begin_empty_category, 0 },
		{ begin_null_type, 1 }, { end_null_type, 1 }, { log_null_category, 0 },
		{ log_empty_category, 0 }, { log_null_message, 1 }, { logf_null_category, 0 },
		{ logf_null_format, 1 }, { macro_null_message, 1 },
		{ collection_null_type, 3 }, { announce_null_list, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cases[i].call();
		kept_begin(NULL);
		cases[i].call();
		kept_end();
		check(nr_kept == cases[i].records, "case %zu: %zu records", i, (size_t)nr_kept);
	}
	done("A14_null_and_empty_texts_crash_nothing");
}

static void *leave(void *e)
{
	struct at_entered own;

	TRACE_OPERATION_ENTER(&own, 9, "operation", "own");
	at_operation_leave(e);
	check(at_operation_current() == 9);
	at_operation_leave(&own);
	return NULL;
}

static void other_thread(void)
{
	struct at_entered e, zero = { .thread_ = NULL };
	pthread_t th;

	kept_begin(NULL);
	TRACE_OPERATION_ENTER(&e, 8, "operation", "mine");
	pthread_create(&th, NULL, leave, &e);
	pthread_join(th, NULL);
	at_operation_leave(&zero);
	check(at_operation_current() == 8);
	at_operation_leave(&e);
	at_operation_leave(&e);
	kept_end();
	check(nr_kept == 4 && event_is(3, END, "mine", "resumed", 0));
	done("G40_scope_ends_on_its_own_thread_only");
}

static void *inherits(void *current)
{
	*(uint64_t *)current = at_operation_current();
	return NULL;
}

static void threads_inherit(void)
{
	uint64_t current = 0;
	struct at_entered e;
	pthread_t th;

	kept_begin(NULL);
	TRACE_OPERATION_ENTER(&e, 10, "operation", "mine");
	check(!at_thread_create(&th, NULL, inherits, &current));
	pthread_join(th, NULL);
	at_operation_leave(&e);
	check(current == 10);
	check(!at_thread_create(&th, NULL, inherits, &current));
	pthread_join(th, NULL);
	kept_end();
	check(!current);
	check(nr_kept == 4 && event_is(1, BEGIN, "thread", "operation", 10) &&
	      event_is(2, END, "thread", "resumed", 0) && kept[1].ev.slot != kept[0].ev.slot);
	done("G48_new_thread_works_on_the_same_operation");
}

/* --- instants and logs ------------------------------------------------------------------- */

static int evaluated;

static int count(void)
{
	return ++evaluated;
}

static void logs(void)
{
	struct at_operation op;
	char text[2000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memcpy(text + 1022, "ü", 2);
	TRACE_LOG("log", (count(), "off"));
	TRACE_LOGF("log", "%d", count());
	kept_begin("log");
	TRACE_LOG("other", (count(), "off"));
	TRACE_LOGF("other", "%d", count());
	check(!evaluated);
	done("G51_text_is_formatted_only_while_enabled");
	TRACE_OPERATION_BEGIN(&op, "log", "task");
	{
		TRACE_OPERATION_SCOPE(op.id, "log", "work");
		TRACE_LOG("log", "plain");
		TRACE_LOGF("log", "%d of %s", 7, "text");
		TRACE_LOGF("log", "no arguments");
		TRACE_LOGF("log", "%s", text);
		at_log("log", "function");
		at_logf("log", "%d", 8);
		at_log("other", "function");
		at_logf("other", "%d", 8);
	}
	TRACE_OPERATION_END(&op, "log", "task");
	{
		TRACE_OPERATION_SCOPE(op.id, "log", "work");
		TRACE_LOG("log", "late");
	}
	TRACE_OPERATION_INSTANT(op.id, "log", "moment", "key", 3);
	TRACE_OPERATION_FOLLOWS(op.id, "log", 77);
	kept_end();
	for (unsigned int i = 2; i < 8; i++)
		check(event_is(i, ASYNCTRACE_FXT_INSTANT, "log", "operation", op.id), "%u", i);
	check(!strcmp(kept_text(&kept[2], "message"), "plain"));
	check(!strcmp(kept_text(&kept[3], "message"), "7 of text"));
	check(!strcmp(kept_text(&kept[4], "message"), "no arguments"));
	check(strlen(kept_text(&kept[5], "message")) == 1022);
	check(!strcmp(kept_text(&kept[6], "message"), "function"));
	check(!strcmp(kept_text(&kept[7], "message"), "8"));
	check(event_is(8, END, "work", "resumed", 0));
	done("G50_log_has_category_text_and_operation");
	check(event_is(11, ASYNCTRACE_FXT_INSTANT, "log", "operation", op.id) &&
	      !strcmp(kept_text(&kept[11], "message"), "late"));
	done("G30_log_after_the_end_has_the_operation");
	check(event_is(13, ASYNCTRACE_FXT_INSTANT, "moment", "operation", op.id) &&
	      kept_number(&kept[13], "key", 0) == 3);
	check(event_is(14, ASYNCTRACE_FXT_INSTANT, "follows from", "cause", 77) && nr_kept == 15);
	done("instants_have_operation_and_cause");
}

/* --- Go's coffee shop ---------------------------------------------------------------------- */

static uint64_t order;

static void *froth(void *arg)
{
	struct at_operation *op = arg;

	TRACE_OPERATION_SCOPE(op->id, "coffee", "frothMilk");
	return NULL;
}

static void *mix_in(void *arg)
{
	struct at_operation *op = arg;

	{
		TRACE_OPERATION_SCOPE(op->id, "coffee", "mixMilk");
	}
	TRACE_OPERATION_END(op, "coffee", "makeCappuccino");
	return NULL;
}

static void coffee(void)
{
	struct at_operation op;
	unsigned int regions = 0;
	uint32_t slots[3];
	pthread_t th;

	kept_begin(NULL);
	TRACE_OPERATION_BEGIN(&op, "coffee", "makeCappuccino");
	order = op.id;
	{
		TRACE_OPERATION_SCOPE(op.id, "coffee", "extractCoffee");
		TRACE_LOG("coffee", "order 17");
	}
	pthread_create(&th, NULL, froth, &op);
	pthread_join(th, NULL);
	pthread_create(&th, NULL, mix_in, &op);
	pthread_join(th, NULL);
	kept_end();
	for (unsigned int i = 0; i < nr_kept; i++)
		if (kept[i].ev.type == BEGIN && kept_number(&kept[i], "operation", 0) == order &&
		    regions < 3)
			slots[regions++] = kept[i].ev.slot;
	check(regions == 3 && slots[0] != slots[1] && slots[1] != slots[2] && slots[0] != slots[2]);
	check(nr_kept == 9 && kept_count(ASYNCTRACE_FXT_INSTANT, "log") == 1);
	check(kept_is(&kept[8], ASYNCTRACE_FXT_ASYNC_END, "makeCappuccino") &&
	      kept[8].ev.slot == slots[2] && kept[8].ev.id == op.id);
	done("G53_one_task_has_regions_on_three_threads");
}

/* --- traceparent ------------------------------------------------------------------------ */

static void traceparent(void)
{
	static const char good[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
	static const char *const bad[] = {
		"", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-011",
		"ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		"0g-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		"00-4BF92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
		"00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		"00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7_01",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0x",
		"01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01x",
	};
	struct at_traceparent t, made, again;
	char value[ASYNCTRACE_TRACEPARENT_BYTES + 1], *copy;

	check(!at_traceparent_parse(&t, good, strlen(good)));
	check(!strcmp(t.trace_id, "4bf92f3577b34da6a3ce929d0e0e4736") && t.flags == 1 &&
	      t.operation == 0x00f067aa0ba902b7);
	check(!at_traceparent_format(&t, value) && !strcmp(value, good));
	/* Version 00 has two flags; of a later version, only the first is known. */
	check(!at_traceparent_parse(&t, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-fb",
				    55) && t.flags == 3);
	t.flags = 0xfb;
	check(!at_traceparent_format(&t, value) && !strcmp(value + 53, "03"), "%s", value);
	check(!at_traceparent_parse(&t, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-08",
				    55) && !t.flags);
	check(!at_traceparent_parse(&t, "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03-more",
				    60) && t.flags == 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		/* Without a NUL, a sanitizer sees a read beyond the end. */
		copy = malloc(strlen(bad[i]) + 1);
		memcpy(copy, bad[i], strlen(bad[i]));
		again = t;
		check(at_traceparent_parse(&again, copy, strlen(bad[i])) == -EINVAL, "%s", bad[i]);
		check(!memcmp(&again, &t, sizeof(t)));
		free(copy);
	}
	done("traceparent_is_parsed_as_w3c_says");
	at_traceparent_new(&made, 17);
	at_traceparent_new(&again, 18);
	check(strcmp(made.trace_id, again.trace_id) && made.operation == 17 && made.flags == 1);
	check(!at_traceparent_format(&made, value) && !at_traceparent_parse(&t, value, 55) &&
	      !strcmp(t.trace_id, made.trace_id) && t.operation == 17);
	again.operation = 0;
	check(at_traceparent_format(&again, value) == -EINVAL);
	memset(again.trace_id, '0', 32);
	again.operation = 1;
	check(at_traceparent_format(&again, value) == -EINVAL);
	done("traceparent_new_and_format_make_valid_values");
}

int main(void)
{
	pin(nth_cpu(0));
	unique_while_off();
	parents();
	end_twice();
	end_off_then_on();
	at_run_time();
	long_texts();
	scopes_left_in_the_wrong_order();
	scopes();
	places();
	jumps();
	over_runs();
	other_category();
	null_texts();
	other_thread();
	threads_inherit();
	logs();
	coffee();
	inline_names();
	traceparent();
	kept_forget();
	return finish();
}
