// SPDX-License-Identifier: GPL-2.0
/* Each process and thread has an object, no matter when the composer first sees it. */
#include <stdio.h>

#include "stream.h"

/* Finds the last object with that koid in the file. */
static bool last_object(const char *path, unsigned int type, uint64_t koid, char *name,
			uint64_t *process, unsigned int *count)
{
	struct file f;

	*count = 0;
	for (file_open(&f, path); file_next(&f);) {
		const struct fxt_arg *a = fxt_arg(&f.rec, "process");

		if (f.rec.kind != FXT_OBJECT || f.rec.number != type || f.rec.id != koid)
			continue;
		snprintf(name, 64, "%.*s", (int)f.rec.name.len, f.rec.name.s);
		*process = a ? a->u : 0;
		++*count;
	}
	file_close(&f);
	return *count;
}

#define assert_thread(path, tid, pid, want, times) do { \
	char name_[64]; \
	uint64_t process_; \
	unsigned int count_; \
	assert_true(last_object(path, ASYNCTRACE_FXT_OBJ_THREAD, tid, name_, &process_, &count_)); \
	assert_string_equal(name_, want); \
	assert_int_equal(process_, pid); \
	assert_int_equal(count_, times); \
} while (0)

#define assert_process(path, pid, want) do { \
	char name_[64]; \
	uint64_t process_; \
	unsigned int count_; \
	assert_true(last_object(path, ASYNCTRACE_FXT_OBJ_PROCESS, pid, name_, &process_, \
				&count_)); \
	assert_string_equal(name_, want); \
} while (0)

static void test_names_and_renames(void **unused)
{
	struct stream s;

	stream_simple(&s);
	give_name(&s, 100, 101, "worker");	/* already known */
	give_name(&s, 100, 101, "renamed");
	give_name(&s, 100, 102, "another");
	give_name(&s, 300, 301, "kid");		/* its main thread is unknown */
	give_name(&s, 400, 401, "kid");
	give_name(&s, 400, 400, "boss");	/* the main thread, later */
	give_name(&s, 2, 2, "kthreadd");
	stream_finish(&s);
	assert_thread(s.path, 101, 100, "renamed", 2);
	assert_thread(s.path, 102, 100, "another", 1);
	assert_process(s.path, 100, "simple");
	assert_thread(s.path, 100, 100, "simple", 1);
	assert_process(s.path, 300, "kid");
	assert_thread(s.path, 300, 300, "kid", 1);
	assert_process(s.path, 400, "boss");
	assert_thread(s.path, 400, 400, "boss", 3);
	assert_process(s.path, 2, "kthreadd");
	assert_clean(s.path, -1);
	stream_close(&s);
}

/* A thread id is used again by another process: from then on it means the new thread. */
static void test_a_thread_id_used_again(void **unused)
{
	struct words b = { 0 };
	struct stream s;

	stream_simple(&s);
	put_event(&b, &(struct event){ 0, s.ticks, 1, IDX(1), IDX(2), 0, 0, { } });
	give_events(&s, 1, 0, &b);
	give_provider(&s, 2, 500, 9, "later");
	give_thread(&s, 2, 1, 500, 101, "reborn");
	put_event(&b, &(struct event){ 0, s.ticks, 1, TXT("c"), TXT("n"), 0, 0, { } });
	give_events(&s, 2, 0, &b);
	stream_finish(&s);
	assert_thread(s.path, 101, 500, "reborn", 2);
	assert_clean(s.path, -1);
	stream_close(&s);
	words_free(&b);
}

/* A slot is given to another thread: earlier records belong to the slot's former thread. */
static void test_a_slot_used_again(void **unused)
{
	static const uint64_t want[] = { 101, 101, 555, 555 };
	struct words b = { 0 };
	struct stream s;
	struct file f;
	size_t n = 0;

	stream_simple(&s);
	for (int i = 0; i < 2; i++) {
		put_event(&b, &(struct event){ 0, s.ticks, 1, IDX(1), IDX(2), 0, 0, { } });
		put_event(&b, &(struct event){ 0, s.ticks, 1, IDX(1), IDX(2), 0, 0, { } });
		give_events(&s, 1, i, &b);
		give_thread(&s, 1, 1, 100, 555, "next");
	}
	stream_finish(&s);
	for (file_open(&f, s.path); file_event(&f, 2); n++)
		assert_int_equal(f.rec.thread.tid, want[n]);
	file_close(&f);
	assert_int_equal(n, 4);
	assert_clean(s.path, -1);
	stream_close(&s);
	words_free(&b);
}

static void test_unnamed_threads_get_objects(void **unused)
{
	struct words b = { 0 };
	struct stream s;

	stream_simple(&s);
	put_switch(&b, 0, s.ticks, 101, 77, 3);
	put_wakeup(&b, 0, s.ticks, 101, ASYNCTRACE_TID_OTHER);
	put_switch(&b, 0, s.ticks, 77, 100, 3);	/* a main thread gets its process's name */
	put_switch(&b, 0, s.ticks, 100, 0, 3);
	give_sched(&s, 0, &b);
	stream_finish(&s);
	assert_thread(s.path, 77, 77, "?", 2);
	assert_process(s.path, 77, "?");
	assert_thread(s.path, 100, 100, "simple", 2);
	assert_thread(s.path, ASYNCTRACE_TID_OTHER, 0x70000002, "other", 1);
	assert_int_equal(at_compose_stats(s.c)->unnamed, 1);
	assert_clean(s.path, -1);
	stream_close(&s);
	words_free(&b);
}

/* A provider whose ids the session's owner cannot see appears as the thread "other". */
static void test_invisible_threads(void **unused)
{
	struct words b = { 0 };
	struct stream s;
	struct file f;

	stream_simple(&s);
	give_provider(&s, 2, 0, 9, "elsewhere");
	give_thread(&s, 2, 1, 0, 0, "hidden");
	put_event(&b, &(struct event){ 0, s.ticks, 1, TXT("c"), TXT("n"), 0, 0, { } });
	give_events(&s, 2, 0, &b);
	stream_finish(&s);
	file_open(&f, s.path);
	assert_true(file_event(&f, 3));
	assert_int_equal(f.rec.thread.tid, ASYNCTRACE_TID_OTHER);
	file_close(&f);
	assert_clean(s.path, -1);
	stream_close(&s);
	words_free(&b);
}

/* 1,000 threads and 255 table entries: each event must name its thread, in any order of threads. */
static void many_threads(bool scattered)
{
	uint64_t number = 0, table = 0, in_line = 0;
	uint64_t *slots = calloc(20000, sizeof(*slots));
	struct words b = { 0 };
	struct stream s;
	struct file f;

	assert_non_null(slots);
	stream_simple(&s);
	for (int i = 2; i <= 1000; i++)
		give_thread(&s, 1, i, 100, 1000 + i, "many");
	for (int i = 0; i < 20; i++) {
		for (int n = 0; n < 1000; n++) {
			uint64_t slot = 2 + (scattered ? rnd_below(999) :
					     number / 50 + rnd_below(100));

			slots[number] = slot;
			put_event(&b, &(struct event){ 0, s.ticks, slot, IDX(1), IDX(2), 0, 1,
						       { ARG_U64(IDX(3), number) } });
			number++;
		}
		give_events(&s, 1, i % 4, &b);
	}
	stream_finish(&s);
	for (file_open(&f, s.path); file_next(&f);) {
		if (f.rec.kind == FXT_THREAD)
			table++;
		if (f.rec.kind != FXT_EVENT || f.rec.provider != 2)
			continue;
		if (!f.rec.thread.index)
			in_line++;
		assert_int_equal(f.rec.thread.pid, 100);
		assert_int_equal(f.rec.thread.tid, 1000 + slots[f.rec.args[0].u]);
		slots[f.rec.args[0].u] = 0;
	}
	file_close(&f);
	for (size_t i = 0; i < number; i++)
		assert_int_equal(slots[i], 0);
	if (scattered)
		assert_true(in_line > 10000);	/* most events have their thread inline */
	else
		assert_true(table > 255 && in_line == 0);	/* every event uses the table */
	assert_clean(s.path, -1);
	stream_close(&s);
	words_free(&b);
	free(slots);
}

static void test_a_thousand_threads_at_random(void **unused)
{
	many_threads(true);
}

static void test_a_thousand_threads_by_and_by(void **unused)
{
	many_threads(false);
}

/* The largest possible record, from a thread without a table entry */
static void test_the_largest_record(void **unused)
{
	struct words b = { 0 };
	char *text = malloc(32000);
	struct stream s;
	struct file f;
	int found = 0;

	assert_non_null(text);
	memset(text, 'x', 32000);
	stream_simple(&s);
	for (int i = 2; i <= 400; i++)
		give_thread(&s, 1, i, 100, 1000 + i, "many");
	for (int i = 2; i <= 400; i++) {
		struct event e = { 0, s.ticks, i, IDX(1), { .text = text, .len = 32000 }, 0, 1,
				   { ARG_STR(IDX(3),
					     ((struct ref){ .text = text, .len = 728 })) } };
		size_t at = put_event(&b, &e);

		assert_int_equal(b.nr - at, ASYNCTRACE_FXT_WORDS_MAX);
		give_events(&s, 1, 0, &b);
	}
	stream_finish(&s);
	for (file_open(&f, s.path); file_event(&f, 2); found++)
		assert_int_equal(f.rec.name.len, 32000);
	file_close(&f);
	assert_int_equal(found, 399);
	assert_clean(s.path, -1);
	stream_close(&s);
	words_free(&b);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_and_renames),
		cmocka_unit_test(test_a_thread_id_used_again),
		cmocka_unit_test(test_a_slot_used_again),
		cmocka_unit_test(test_unnamed_threads_get_objects),
		cmocka_unit_test(test_invisible_threads),
		cmocka_unit_test(test_a_thousand_threads_at_random),
		cmocka_unit_test(test_a_thousand_threads_by_and_by),
		cmocka_unit_test(test_the_largest_record),
	};

	test_random_init();
	return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
