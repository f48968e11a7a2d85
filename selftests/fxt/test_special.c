// SPDX-License-Identifier: GPL-2.0
/*
 * Blobs, kernel objects and events of virtual threads: well-formed ones are in the file as they
 * were written, others are counted and change nothing, and no provider can name a process or thread
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stream.h"

#define NOW		1000100
#define VIRTUAL_MIN	0x40000000u
#define VIRTUAL_END	0x70000000u
#define VIRTUAL_MAX	16384

static const struct event good = {
	ASYNCTRACE_FXT_INSTANT, NOW, 1, { .index = 1 }, { .index = 2 }, 0, 1,
	{ { ASYNCTRACE_FXT_ARG_UINT64, { .index = 3 }, 42, { 0 } } },
};

/* --- records as a provider writes them ------------------------------------------------ */

/* Puts head, time and slot; close_record() sets the size. Returns the position. */
static size_t open_record(struct words *b, uint64_t head)
{
	const size_t at = b->nr;

	words_push(b, head);
	words_push(b, NOW);
	words_push(b, 1);
	return at;
}

static uint64_t *close_record(struct words *b, size_t at)
{
	b->w[at] |= (uint64_t)(b->nr - at) << 4;
	b->records++;
	return b->w + at;
}

static uint64_t inline_ref(const char *s)
{
	return *s ? ASYNCTRACE_FXT_INLINE | strlen(s) : 0;
}

static uint64_t *put_blob(struct words *b, unsigned int type, const char *name, const void *blob,
			  size_t size)
{
	size_t at = open_record(b, ASYNCTRACE_FXT_BLOB | inline_ref(name) << 16 |
				   (uint64_t)size << 32 | (uint64_t)type << 48);

	words_text(b, name, strlen(name));
	words_text(b, blob, size);
	return close_record(b, at);
}

static void put_u64(struct words *b, const char *name, uint64_t value)
{
	words_push(b, ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_UINT64,
					 2 + ASYNCTRACE_FXT_TEXT_WORDS(strlen(name)),
					 inline_ref(name), 0));
	words_text(b, name, strlen(name));
	words_push(b, value);
}

static uint64_t *put_large(struct words *b, unsigned int format, const char *name,
			   unsigned int nargs, const void *blob, size_t size)
{
	size_t at = open_record(b, ASYNCTRACE_FXT_LARGE | (uint64_t)format << 40);

	words_push(b, 1 | inline_ref(name) << 16 | (uint64_t)nargs << 32);
	words_text(b, name, strlen(name));
	for (unsigned int i = 0; i < nargs; i++)
		put_u64(b, "arg", i);
	words_push(b, size);
	words_text(b, blob, size);
	return close_record(b, at);
}

static uint64_t *put_object(struct words *b, unsigned int type, uint64_t koid, uint64_t own,
			    const char *name, unsigned int nargs, const char *arg)
{
	size_t at = open_record(b, ASYNCTRACE_FXT_KERNELOBJ | (uint64_t)type << 16 |
				   inline_ref(name) << 24 | (uint64_t)nargs << 40);

	words_push(b, koid);
	words_push(b, own);
	words_text(b, name, strlen(name));
	for (unsigned int i = 0; i < nargs; i++)
		put_u64(b, arg, i);
	return close_record(b, at);
}

static bool has_id(unsigned int type)
{
	return type == ASYNCTRACE_FXT_COUNTER || type >= ASYNCTRACE_FXT_DURATION;
}

static uint64_t *put_virtual(struct words *b, unsigned int type, uint64_t number,
			     const char *thread,
			     uint64_t ticks)
{
	size_t at = open_record(b, ASYNCTRACE_FXT_EVENT | (uint64_t)type << 16 |
				   ASYNCTRACE_FXT_RING_VIRTUAL << 24 | 1ULL << 32 | 2ULL << 48);

	words_push(b, ticks);
	words_push(b, number);
	words_push(b, inline_ref(thread));
	words_text(b, thread, strlen(thread));
	if (type == ASYNCTRACE_FXT_COUNTER) {
		put_u64(b, "n", 1);
		b->w[at] |= 1 << 20;
	}
	if (has_id(type))
		words_push(b, type == ASYNCTRACE_FXT_DURATION ? ticks : 9);
	return close_record(b, at);
}

/* --- well-formed records ---------------------------------------------------------------- */

static void expect_counts(struct stream *s, uint64_t delivered, uint64_t malformed)
{
	const struct at_compose_counts *n = ring_counts(s->c, 1, 0);

	assert_int_equal(n->delivered, delivered);
	assert_int_equal(n->malformed, malformed);
}

static void test_A18_blobs_reach_the_file(void **unused)
{
	static const size_t sizes[] = { 0, 1, 7, 8, 9, 255, 4096, 31999, 32000 };
	const size_t nr = sizeof(sizes) / sizeof(sizes[0]);
	static unsigned char bytes[32000];
	struct words b = { 0 };
	struct stream s;
	struct file f;
	size_t found = 0;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = i * 7 + i / 256;
	stream_simple(&s);
	s.ticks = NOW + 1000;
	for (size_t i = 0; i < nr; i++) {
		put_blob(&b, ASYNCTRACE_FXT_BLOB_DATA, "blob", bytes, sizes[i]);
		put_large(&b, ASYNCTRACE_FXT_BLOB_EVENT, "event", 15, bytes, sizes[i]);
		put_large(&b, ASYNCTRACE_FXT_BLOB_ATTACHMENT, "attachment", 0, bytes, sizes[i]);
	}
	give_events(&s, 1, 0, &b);
	stream_finish(&s);
	expect_counts(&s, 3 * nr, 0);
	assert_clean(s.path, -1);
	for (file_open(&f, s.path); file_next(&f);) {
		static const char *const names[] = { "blob", "event", "attachment" };
		static const enum fxt_kind kinds[] = { FXT_BLOB, FXT_BLOB_EVENT, FXT_ATTACHMENT };
		const struct fxt_record *r = &f.rec;

		if (r->kind != FXT_BLOB && r->kind != FXT_BLOB_EVENT && r->kind != FXT_ATTACHMENT)
			continue;
		assert_int_equal(r->provider, 2);
		assert_int_equal(r->kind, kinds[found % 3]);
		assert_true(fxt_text_is(&r->name, names[found % 3]));
		assert_int_equal(r->text.len, sizes[found / 3]);
		assert_memory_equal(r->text.s, bytes, r->text.len);
		if (r->kind == FXT_BLOB)
			assert_int_equal(r->number, ASYNCTRACE_FXT_BLOB_DATA);
		else
			assert_true(fxt_text_is(&r->category, "cat"));
		if (r->kind == FXT_BLOB_EVENT) {
			assert_int_equal(r->ns, NOW);
			assert_true(r->thread.pid == 100 && r->thread.tid == 101);
			assert_true(r->nargs == 15 && r->args[14].u == 14);
		}
		found++;
	}
	file_close(&f);
	assert_int_equal(found, 3 * nr);
	stream_close(&s);
	words_free(&b);
}

/* Writes enough records of one word to fill the composer's buffer. */
static void test_A18_empty_blobs_fill_the_buffer(void **unused)
{
	const uint64_t nr = 70000;
	struct words b = { 0 };
	struct stream s;

	stream_simple(&s);
	s.ticks = NOW + 1000;
	for (uint64_t i = 0; i < nr; i++)
		put_blob(&b, ASYNCTRACE_FXT_BLOB_DATA, "", "", 0);
	give_events(&s, 1, 0, &b);
	stream_finish(&s);
	expect_counts(&s, nr, 0);
	assert_clean(s.path, -1);
	stream_close(&s);
	words_free(&b);
}

/* --- virtual threads ----------------------------------------------------------------- */

/* Finds the last name of thread @tid in the file; "" if there is none. */
static void name_of(const char *path, uint64_t tid, uint64_t pid, char name[400])
{
	struct file f;

	*name = 0;
	for (file_open(&f, path); file_next(&f);) {
		const struct fxt_arg *process = fxt_arg(&f.rec, "process");

		if (f.rec.kind != FXT_OBJECT || f.rec.number != ASYNCTRACE_FXT_OBJ_THREAD ||
		    f.rec.id != tid)
			continue;
		assert_int_equal(process->u, pid);
		snprintf(name, 400, "%.*s", (int)f.rec.name.len, f.rec.name.s);
	}
	file_close(&f);
}

static void test_virtual_threads_have_ids_of_their_own(void **unused)
{
	static const unsigned int types[] = {
		ASYNCTRACE_FXT_DURATION_BEGIN, ASYNCTRACE_FXT_FLOW_BEGIN, ASYNCTRACE_FXT_FLOW_STEP,
		ASYNCTRACE_FXT_FLOW_END, ASYNCTRACE_FXT_DURATION_END,
	};
	uint64_t tids[3] = { 0 };
	struct words b = { 0 };
	struct stream s;
	struct file f;
	char name[400];
	int found = 0;

	stream_simple(&s);
	give_provider(&s, 2, 200, 8, "other");
	give_thread(&s, 2, 1, 200, 202, "second");
	s.ticks = NOW + 1000;
	for (int i = 0; i < 5; i++)
		put_virtual(&b, types[i], 7, "fiber seven", NOW - 50 + i);
	put_virtual(&b, ASYNCTRACE_FXT_DURATION_BEGIN, ~0ULL, "last", NOW - 10);
	put_virtual(&b, ASYNCTRACE_FXT_DURATION_END, ~0ULL, "last", NOW);
	give_events(&s, 1, 0, &b);
	put_string(&b, 1, "c", 1);
	put_string(&b, 2, "n", 1);
	give_strings(&s, 2, &b);
	b.nr = 0;
	put_virtual(&b, ASYNCTRACE_FXT_DURATION_BEGIN, 7, "of the other", NOW);
	put_virtual(&b, ASYNCTRACE_FXT_DURATION_END, 7, "of the other", NOW);
	give_events(&s, 2, 0, &b);
	stream_finish(&s);
	assert_clean(s.path, -1);
	for (file_open(&f, s.path); file_next(&f);) {
		const unsigned int of = found < 5 ? 0 : found < 7 ? 1 : 2;

		if (f.rec.kind != FXT_EVENT || f.rec.provider == 1)
			continue;
		assert_true(f.rec.thread.tid >= VIRTUAL_MIN && f.rec.thread.tid < VIRTUAL_END);
		assert_int_equal(f.rec.thread.pid, of == 2 ? 200 : 100);
		assert_true(!tids[of] || tids[of] == f.rec.thread.tid);
		tids[of] = f.rec.thread.tid;
		if (of == 0) {
			assert_int_equal(f.rec.number, types[found]);
			assert_int_equal(f.rec.ns, NOW - 50 + found);
		}
		found++;
	}
	file_close(&f);
	assert_int_equal(found, 9);
	assert_true(tids[0] != tids[1] && tids[0] != tids[2] && tids[1] != tids[2]);
	name_of(s.path, tids[0], 100, name);
	assert_string_equal(name, "fiber seven");
	name_of(s.path, tids[2], 200, name);
	assert_string_equal(name, "of the other");
	stream_close(&s);
	words_free(&b);
}

/*
 * The program chooses the time. A time before the session becomes the session's begin. A record
 * with a time in the future is malformed.
 */
static void test_virtual_time_is_not_in_the_future(void **unused)
{
	struct words b = { 0 };
	struct stream s;
	struct file f;
	uint64_t first = 0;

	stream_simple(&s);
	s.ticks = NOW + 1000;
	put_virtual(&b, ASYNCTRACE_FXT_DURATION_BEGIN, 7, "fiber", 0);
	put_virtual(&b, ASYNCTRACE_FXT_DURATION_END, 7, "fiber", NOW);
	put_virtual(&b, ASYNCTRACE_FXT_DURATION_BEGIN, 7, "fiber", NOW + 1);
	put_virtual(&b, ASYNCTRACE_FXT_DURATION_BEGIN, 7, "fiber", ~0ULL);
	give_events(&s, 1, 0, &b);
	stream_finish(&s);
	expect_counts(&s, 2, 2);
	assert_clean(s.path, -1);
	file_open(&f, s.path);
	assert_true(file_event(&f, 2));
	first = f.rec.ns;
	file_close(&f);
	assert_true(first && first < NOW);
	stream_close(&s);
	words_free(&b);
}

static void test_virtual_threads_are_bounded(void **unused)
{
	struct words b = { 0 };
	struct stream s;

	stream_simple(&s);
	s.ticks = NOW + 1000;
	for (uint64_t i = 0; i < VIRTUAL_MAX + 10; i++) {
		put_virtual(&b, ASYNCTRACE_FXT_DURATION_BEGIN, i * 0x100000001, "v", NOW);
		put_virtual(&b, ASYNCTRACE_FXT_DURATION_END, i * 0x100000001, "v", NOW);
	}
	give_events(&s, 1, 0, &b);
	stream_finish(&s);
	expect_counts(&s, 2 * VIRTUAL_MAX, 20);
	assert_clean(s.path, -1);
	stream_close(&s);
	words_free(&b);
}

/* Each file of a session names its virtual threads, with the same ids. */
static void test_virtual_threads_in_the_next_file(void **unused)
{
	struct at_compose_options o = { .size = sizeof(o) };
	struct words b = { 0 };
	char name[400], path[32];
	struct stream s;
	struct file f;
	uint64_t tid;

	stream_simple(&s);
	s.ticks = NOW + 1000;
	put_virtual(&b, ASYNCTRACE_FXT_DURATION_BEGIN, 7, "fiber", NOW);
	give_events(&s, 1, 0, &b);
	o.fd = memfd_create("next", MFD_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", o.fd);
	assert_int_equal(at_compose_next(s.c, &o), 0);
	put_virtual(&b, ASYNCTRACE_FXT_DURATION_END, 7, "fiber", NOW);
	give_events(&s, 1, 0, &b);
	stream_finish(&s);
	file_open(&f, s.path);
	assert_true(file_event(&f, 2));
	tid = f.rec.thread.tid;
	file_close(&f);
	file_open(&f, path);
	assert_true(file_event(&f, 2));
	assert_int_equal(f.rec.thread.tid, tid);
	file_close(&f);
	name_of(path, tid, 100, name);
	assert_string_equal(name, "fiber");
	assert_clean(path, FXT_RULE_DURATION_ORPHAN, -1);
	close(o.fd);
	stream_close(&s);
	words_free(&b);
}

/* --- kernel objects ------------------------------------------------------------------- */

struct claim {
	const char *name;
	unsigned int type;
	uint64_t koid, own;
	unsigned int want;	/* type in the file */
	const char *want_name;
};

/* Provider 1 is process 100 with thread 101. The kernel also reports thread 301 of process 300. */
static const struct claim claims[] = {
	{ "a descriptor", ASYNCTRACE_FXT_OBJ_SOCKET, 1ULL << 40, 0, ASYNCTRACE_FXT_OBJ_SOCKET, "evil" },
	{ "its own process", ASYNCTRACE_FXT_OBJ_PROCESS, 100, 100, ASYNCTRACE_FXT_OBJ_PROCESS, "simple" },
	{ "its own thread", ASYNCTRACE_FXT_OBJ_THREAD, 101, 100, ASYNCTRACE_FXT_OBJ_THREAD, "worker" },
	{ "a known process", ASYNCTRACE_FXT_OBJ_PROCESS, 300, 100, ASYNCTRACE_FXT_OBJ_PROCESS, "victim" },
	{ "another's thread", ASYNCTRACE_FXT_OBJ_THREAD, 301, 100, ASYNCTRACE_FXT_OBJ_NONE, "evil" },
	{ "an unknown process", ASYNCTRACE_FXT_OBJ_PROCESS, 400, 100, ASYNCTRACE_FXT_OBJ_NONE, "evil" },
	{ "an unknown thread", ASYNCTRACE_FXT_OBJ_THREAD, 400, 100, ASYNCTRACE_FXT_OBJ_NONE, "evil" },
	{ "ids of another namespace", ASYNCTRACE_FXT_OBJ_PROCESS, 300, 1, ASYNCTRACE_FXT_OBJ_NONE, "evil" },
	{ "a thread of it", ASYNCTRACE_FXT_OBJ_THREAD, 101, 1, ASYNCTRACE_FXT_OBJ_NONE, "evil" },
	{ "the recorder", ASYNCTRACE_FXT_OBJ_PROCESS, 0x70000000, 100, ASYNCTRACE_FXT_OBJ_NONE, "evil" },
	{ "the clock", ASYNCTRACE_FXT_OBJ_THREAD, 0x70000001, 100, ASYNCTRACE_FXT_OBJ_NONE, "evil" },
};

static void test_objects_have_the_kernels_names(void **unused)
{
	for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
		const struct claim *c = &claims[i];
		struct words b = { 0 };
		struct stream s;
		struct file f;
		bool found = false, evil = false;
		char name[400];

		stream_simple(&s);
		give_name(&s, 300, 300, "victim");
		give_name(&s, 300, 301, "victim's");
		s.ticks = NOW + 1000;
		put_object(&b, c->type, c->koid, c->own, "evil", 2, "key");
		give_events(&s, 1, 0, &b);
		stream_finish(&s);
		expect_counts(&s, 1, 0);
		assert_clean(s.path, -1);
		for (file_open(&f, s.path); file_next(&f);) {
			const unsigned int process = c->want == ASYNCTRACE_FXT_OBJ_THREAD;

			if (f.rec.kind != FXT_OBJECT)
				continue;
			evil |= (f.rec.number == ASYNCTRACE_FXT_OBJ_PROCESS ||
				 f.rec.number == ASYNCTRACE_FXT_OBJ_THREAD) &&
				fxt_text_is(&f.rec.name, "evil");
			if (f.rec.provider != 2)
				continue;
			found = true;
			snprintf(name, sizeof(name), "%.*s", (int)f.rec.name.len, f.rec.name.s);
			if (f.rec.number != c->want || f.rec.id != c->koid ||
			    strcmp(name, c->want_name))
				fail_msg("%s: type %u, %s", c->name, f.rec.number, name);
			assert_int_equal(f.rec.nargs, 2 + process);
			assert_int_equal(f.rec.args[1 + process].u, 1);
			if (process)
				assert_int_equal(fxt_arg(&f.rec, "process")->u, 100);
		}
		file_close(&f);
		assert_true(found);
		if (evil)
			fail_msg("%s: a process or thread was renamed", c->name);
		stream_close(&s);
		words_free(&b);
	}
}

/* --- malformed records ---------------------------------------------------------------------- */

struct crime {
	const char *name;
	void (*commit)(struct words *b);
};

#define CRIME(id, ...) static void id(struct words *b) { __VA_ARGS__ }
#define BLOB(b)		put_blob(b, ASYNCTRACE_FXT_BLOB_DATA, "name", "bytes", 5)
#define EVENT(b)	put_large(b, ASYNCTRACE_FXT_BLOB_EVENT, "name", 1, "bytes", 5)
#define ATTACHMENT(b)	put_large(b, ASYNCTRACE_FXT_BLOB_ATTACHMENT, "name", 0, "bytes", 5)
#define OBJECT(b, type)	put_object(b, ASYNCTRACE_FXT_OBJ_##type, 100, 100, "name", 1, "key")
#define VIRTUAL(b)	put_virtual(b, ASYNCTRACE_FXT_DURATION_BEGIN, 7, "fiber", NOW)

CRIME(A18_perfettos_blob, put_blob(b, ASYNCTRACE_FXT_BLOB_PERFETTO, "n", "x", 1);)
CRIME(A18_blob_of_type_0, put_blob(b, 0, "n", "x", 1);)
CRIME(A18_blob_of_type_255, put_blob(b, 255, "n", "x", 1);)
CRIME(A18_blob_of_32001, static char z[32001]; put_blob(b, 1, "n", z, sizeof(z));)
CRIME(A18_blob_shorter, BLOB(b)[0] += 8ULL << 32;)
CRIME(A18_blob_longer, BLOB(b)[0] -= 5ULL << 32;)
CRIME(A18_blob_not_padded, BLOB(b)[4] |= 1ULL << 63;)
CRIME(A18_blob_reserved, BLOB(b)[0] |= 1ULL << 47;)
CRIME(A18_blob_name_unknown, put_blob(b, 1, "", "x", 1)[0] |= 999 << 16;)
CRIME(A18_blob_backwards, BLOB(b)[1] = NOW - 1;)
CRIME(A18_blob_of_no_slot, BLOB(b)[2] = 0;)
CRIME(A18_event_of_no_slot, EVENT(b)[2] = 99;)
CRIME(A18_event_of_large_type, EVENT(b)[0] |= 1ULL << 36;)
CRIME(A18_event_of_format_2, EVENT(b)[0] |= 2ULL << 40;)
CRIME(A18_event_of_large_size, EVENT(b)[0] |= 1ULL << 16;)
CRIME(A18_event_reserved, EVENT(b)[0] |= 1ULL << 44;)
CRIME(A18_event_of_the_table, EVENT(b)[3] |= 1ULL << 36;)
CRIME(A18_event_argument_missing, EVENT(b)[3] += 1ULL << 32;)
CRIME(A18_event_argument_left_over, EVENT(b)[3] -= 1ULL << 32;)
CRIME(A18_event_category_unknown, EVENT(b)[3] ^= 1 ^ 999;)
CRIME(A18_event_bytes_wild, uint64_t *w = EVENT(b); w[w[0] >> 4 & 0xfff] = 0; w[8] = ~0ULL;)
CRIME(A18_event_after_the_chunk, EVENT(b)[1] = 1000000000;)
CRIME(A18_attachment_with_arguments, put_large(b, 1, "n", 1, "x", 1);)
CRIME(A18_attachment_of_32001, static char z[32001]; put_large(b, 1, "n", 0, z, sizeof(z));)
CRIME(A18_attachment_not_padded, ATTACHMENT(b)[6] |= 1ULL << 63;)
CRIME(large_of_4_words,
	size_t at = open_record(b, ASYNCTRACE_FXT_LARGE | 1ULL << 40);
	words_push(b, 1);
	close_record(b, at);)
CRIME(object_reserved, OBJECT(b, SOCKET)[0] |= 1ULL << 44;)
CRIME(object_with_an_owner, OBJECT(b, SOCKET);)
CRIME(object_argument_missing, OBJECT(b, PROCESS)[0] += 1ULL << 40;)
CRIME(object_argument_left_over, OBJECT(b, PROCESS)[0] -= 1ULL << 40;)
CRIME(object_name_unknown, put_object(b, 14, 1, 0, "", 0, "")[0] |= 999ULL << 24;)
CRIME(object_process_0, OBJECT(b, PROCESS)[3] = 0;)
CRIME(object_process_negative, OBJECT(b, PROCESS)[3] = 0xffffffff;)
CRIME(object_thread_above_32_bits, OBJECT(b, THREAD)[3] |= 1ULL << 32;)
CRIME(object_thread_tells_its_process, put_object(b, 2, 101, 100, "n", 1, "process");)
CRIME(object_thread_of_15_arguments, put_object(b, 2, 101, 100, "n", 15, "key");)
CRIME(object_too_short,
	size_t at = open_record(b, ASYNCTRACE_FXT_KERNELOBJ | 14 << 16);
	words_push(b, 1);
	close_record(b, at);)
CRIME(object_backwards, OBJECT(b, PROCESS)[1] = NOW - 1;)
CRIME(virtual_instant, put_virtual(b, ASYNCTRACE_FXT_INSTANT, 7, "fiber", NOW);)
CRIME(virtual_counter, put_virtual(b, ASYNCTRACE_FXT_COUNTER, 7, "fiber", NOW);)
CRIME(virtual_complete, put_virtual(b, ASYNCTRACE_FXT_DURATION, 7, "fiber", NOW);)
CRIME(virtual_async, put_virtual(b, ASYNCTRACE_FXT_ASYNC_BEGIN, 7, "fiber", NOW);)
CRIME(virtual_type_11, put_virtual(b, 11, 7, "fiber", NOW);)
CRIME(virtual_of_table_entry_2, VIRTUAL(b)[0] ^= 3ULL << 24;)
CRIME(virtual_of_no_slot, VIRTUAL(b)[2] = 0;)
CRIME(virtual_name_reserved, VIRTUAL(b)[5] |= 1ULL << 16;)
CRIME(virtual_name_unknown, uint64_t *w = VIRTUAL(b); w[5] = 999;)
CRIME(virtual_name_not_padded, VIRTUAL(b)[6] |= 1ULL << 63;)
CRIME(virtual_name_missing, VIRTUAL(b)[5] += 8;)
CRIME(virtual_id_missing, VIRTUAL(b)[0] ^= (2ULL ^ ASYNCTRACE_FXT_FLOW_BEGIN) << 16;)
CRIME(virtual_too_short,
	size_t at = open_record(b, ASYNCTRACE_FXT_EVENT | 2 << 16 | 1 << 24 | 1ULL << 32);
	words_push(b, NOW);
	words_push(b, 7);
	close_record(b, at);)
CRIME(virtual_backwards, VIRTUAL(b)[1] = NOW - 1;)

#undef CRIME
#define C(id) { #id, id }

static const struct crime crimes[] = {
	C(A18_perfettos_blob), C(A18_blob_of_type_0), C(A18_blob_of_type_255), C(A18_blob_of_32001),
	C(A18_blob_shorter), C(A18_blob_longer), C(A18_blob_not_padded), C(A18_blob_reserved),
	C(A18_blob_name_unknown), C(A18_blob_backwards), C(A18_blob_of_no_slot),
	C(A18_event_of_no_slot), C(A18_event_of_large_type), C(A18_event_of_format_2),
	C(A18_event_of_large_size), C(A18_event_reserved), C(A18_event_of_the_table),
	C(A18_event_argument_missing), C(A18_event_argument_left_over),
	C(A18_event_category_unknown), C(A18_event_bytes_wild), C(A18_event_after_the_chunk),
	C(A18_attachment_with_arguments), C(A18_attachment_of_32001), C(A18_attachment_not_padded),
	C(large_of_4_words), C(object_reserved), C(object_with_an_owner),
	C(object_argument_missing), C(object_argument_left_over), C(object_name_unknown),
	C(object_process_0), C(object_process_negative), C(object_thread_above_32_bits),
	C(object_thread_tells_its_process), C(object_thread_of_15_arguments), C(object_too_short),
	C(object_backwards), C(virtual_instant), C(virtual_counter), C(virtual_complete),
	C(virtual_async), C(virtual_type_11), C(virtual_of_table_entry_2), C(virtual_of_no_slot),
	C(virtual_name_reserved), C(virtual_name_unknown), C(virtual_name_not_padded),
	C(virtual_name_missing), C(virtual_id_missing), C(virtual_too_short), C(virtual_backwards),
};

static void test_each_wrong_record_is_one_malformed(void **unused)
{
	for (size_t i = 0; i < sizeof(crimes) / sizeof(crimes[0]); i++) {
		const struct at_compose_counts *n;
		struct words b = { 0 };
		struct stream s;
		struct file f;
		int found = 0;

		stream_simple(&s);
		s.ticks = NOW + 1000;
		put_event(&b, &good);
		crimes[i].commit(&b);
		put_event(&b, &good);
		give_events(&s, 1, 0, &b);
		stream_finish(&s);
		n = ring_counts(s.c, 1, 0);
		if (n->delivered != 2 || n->malformed != 1)
			fail_msg("%s: %llu delivered, %llu malformed", crimes[i].name,
				 (unsigned long long)n->delivered,
				 (unsigned long long)n->malformed);
		for (file_open(&f, s.path); file_next(&f);) {
			assert_true(f.rec.kind != FXT_BLOB && f.rec.kind != FXT_BLOB_EVENT &&
				    f.rec.kind != FXT_ATTACHMENT);
			if (f.rec.provider != 2)
				continue;
			assert_true(f.rec.kind != FXT_OBJECT);
			found += f.rec.kind == FXT_EVENT && f.rec.args[0].u == 42 &&
				 f.rec.thread.tid == 101;
		}
		file_close(&f);
		assert_int_equal(found, 2);
		assert_clean(s.path, -1);
		stream_close(&s);
		words_free(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_A18_blobs_reach_the_file),
		cmocka_unit_test(test_A18_empty_blobs_fill_the_buffer),
		cmocka_unit_test(test_virtual_threads_have_ids_of_their_own),
		cmocka_unit_test(test_virtual_time_is_not_in_the_future),
		cmocka_unit_test(test_virtual_threads_are_bounded),
		cmocka_unit_test(test_virtual_threads_in_the_next_file),
		cmocka_unit_test(test_objects_have_the_kernels_names),
		cmocka_unit_test(test_each_wrong_record_is_one_malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
