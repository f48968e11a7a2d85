// SPDX-License-Identifier: GPL-2.0
/*
 * Operations and reasons in scheduling records: how the composer converts the kernel's arguments
 */
#include "../../tools/fxt/fxt.h"
#include "stream.h"

#define SALT	0x12345u
#define OTHER	0x54321u	/* of another process */

/* First word of an argument of a scheduling record. @name: STR_@name is the argument's name */
#define ID(name, salt)	\
	(ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_UINT64, 2, ASYNCTRACE_FXT_STR_##name, salt))
#define U32(name, v)	\
	(ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_UINT32, 1, ASYNCTRACE_FXT_STR_##name, v))
#define I32(name, v)	\
	(ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_INT32, 1, ASYNCTRACE_FXT_STR_##name, v))

/* A switch from thread 101 to idle, with the words of @nargs more arguments */
static void put_reasons(struct words *b, uint64_t ticks, unsigned int nargs, size_t nr,
			const uint64_t *args)
{
	words_push(b, ASYNCTRACE_FXT_SWITCH_HEAD(6 + nr, 2 + nargs, 3,
						 ASYNCTRACE_FXT_STATE_BLOCKED));
	words_push(b, ticks);
	words_push(b, 101);
	words_push(b, 0);
	words_push(b, I32(OUTGOING, 120));
	words_push(b, I32(INCOMING, ASYNCTRACE_FXT_WEIGHT_IDLE));
	for (size_t i = 0; i < nr; i++)
		words_push(b, args[i]);
	b->records++;
}

static void open_stream(struct stream *s)
{
	stream_open(s);
	give_clock(s, ASYNCTRACE_MOMENT_START);
	give_provider(s, 7, 100, SALT, "test");
	give_provider(s, 8, 200, OTHER, "other");
	give_name(s, 100, 101, "worker");
}

/* Finds the only switch of the file; without it the test fails. */
static void find_switch(struct stream *s, struct file *f)
{
	s->ticks += 1000;
	give_clock(s, ASYNCTRACE_MOMENT_STOP);
	stream_finish(s);
	assert_clean(s->path, -1);
	file_open(f, s->path);
	do
		assert_true(file_next(f));
	while (f->rec.kind != FXT_SWITCH || fxt_arg(&f->rec, "inferred"));
}

static void close_stream(struct stream *s, struct file *f)
{
	file_close(f);
	stream_close(s);
}

static void I5_word_of_a_cell_gets_its_own_salt(void **unused)
{
	/* Ids with the salt of the process, of another process, and of none; small ids */
	static const uint64_t words[] = {
		(uint64_t)SALT << 44 | 1ULL << 42 | 77, (uint64_t)OTHER << 44 | 1ULL << 42 | 77,
		~0ULL, 1, 1ULL << 63, 1ULL << 43,
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const uint64_t args[] = { ID(OUT_OPERATION, SALT), words[i] };
		const struct fxt_arg *a;
		struct words b = { 0 };
		struct stream s;
		struct file f;

		open_stream(&s);
		put_reasons(&b, s.ticks, 1, 2, args);
		give_sched(&s, 3, &b);
		words_free(&b);
		find_switch(&s, &f);
		a = fxt_arg(&f.rec, "outgoing_operation");
		assert_non_null(a);
		assert_int_equal(a->type, ASYNCTRACE_FXT_ARG_UINT64);
		assert_int_equal(a->u >> 44, SALT);
		if (words[i] >> 44 == SALT)
			assert_int_equal(a->u, words[i]);
		close_stream(&s, &f);
	}
}

/* The async id of an event, and the same id in an argument of a switch, are converted alike. */
static void id_is_converted_as_in_events(void **unused)
{
	const uint64_t id = 0xabcdef0123456789;
	const uint64_t args[] = { ID(OUT_OPERATION, SALT), id };
	struct event e = { ASYNCTRACE_FXT_ASYNC_INSTANT, .slot = 1, .category = TXT("c"),
			   .name = TXT("n"), .extra = id };
	uint64_t in_event = 0, in_switch = 0;
	struct words b = { 0 };
	struct stream s;
	struct file f;

	(void)unused;
	open_stream(&s);
	give_thread(&s, 7, 1, 100, 101, "worker");
	e.ticks = s.ticks;
	put_event(&b, &e);
	give_events(&s, 7, 3, &b);
	put_reasons(&b, s.ticks, 1, 2, args);
	give_sched(&s, 3, &b);
	words_free(&b);
	s.ticks += 1000;
	give_clock(&s, ASYNCTRACE_MOMENT_STOP);
	stream_finish(&s);
	file_open(&f, s.path);
	while (file_next(&f)) {
		if (f.rec.kind == FXT_EVENT && f.rec.number == ASYNCTRACE_FXT_ASYNC_INSTANT)
			in_event = f.rec.id;
		if (f.rec.kind == FXT_SWITCH && fxt_arg(&f.rec, "outgoing_operation"))
			in_switch = fxt_arg(&f.rec, "outgoing_operation")->u;
	}
	assert_int_not_equal(in_event, 0);
	assert_int_equal(in_event, in_switch);
	close_stream(&s, &f);
}

static void system_call_has_its_name(void **unused)
{
	static const struct {
		int32_t number;
		const char *name;
	} cases[] = {
#ifdef __x86_64__
		{ 0, "read" }, { 24, "sched_yield" }, { 202, "futex" },
#elif defined(__aarch64__)
		{ 63, "read" }, { 124, "sched_yield" }, { 98, "futex" },
#endif
		{ 100000, "syscall_100000" }, { INT32_MAX, "syscall_2147483647" },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint64_t args[] = {
			U32(OFF_CPU, ASYNCTRACE_FXT_OFF_SYSCALL), I32(SYSCALL, cases[i].number),
			ID(SYSCALL_ARG, 0), 0x1234567890,
		};
		struct words b = { 0 };
		struct stream s;
		struct file f;

		open_stream(&s);
		put_reasons(&b, s.ticks, 3, 4, args);
		give_sched(&s, 3, &b);
		words_free(&b);
		find_switch(&s, &f);
		assert_int_equal(fxt_arg(&f.rec, "off_cpu")->u, ASYNCTRACE_FXT_OFF_SYSCALL);
		assert_true(fxt_text_is(&fxt_arg(&f.rec, "syscall")->text, cases[i].name));
		assert_int_equal(fxt_arg(&f.rec, "syscall_argument")->u, 0x1234567890);
		close_stream(&s, &f);
	}
}

static void I3_wrong_arguments_are_malformed(void **unused)
{
	static const struct {
		unsigned int nargs;
		size_t words;
		uint64_t args[4];
	} cases[] = {
		/* Types that the kernel does not use, and an argument that only wakeups have */
		{ 1, 1, { U32(OUT_OPERATION, 1) } },
		{ 1, 2, { ID(OPERATION, SALT), 1 } },
		{ 1, 2, { ID(OFF_CPU, 0), 1 } },
		{ 1, 1, { U32(SYSCALL, 1) } },
		{ 1, 1, { I32(SYSCALL_ARG, 1) } },
		/* A salt that is too large; a salt without an operation; two operations */
		{ 1, 2, { ID(OUT_OPERATION, 1u << 20), 1 } },
		{ 1, 2, { ID(SYSCALL_ARG, SALT), 1 } },
		{ 1, 2, { ID(WEIGHT, SALT), 1 } },
		{ 2, 4, { ID(OUT_OPERATION, SALT), 1, ID(OUT_OPERATION, SALT), 2 } },
		/* A system call without the flag of off_cpu, and the flag without a system call */
		{ 1, 1, { I32(SYSCALL, 1) } },
		{ 2, 2, { U32(OFF_CPU, ASYNCTRACE_FXT_OFF_PREEMPTED), I32(SYSCALL, 1) } },
		{ 1, 1, { U32(OFF_CPU, ASYNCTRACE_FXT_OFF_SYSCALL) } },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct at_compose_counts *counts;
		struct words b = { 0 };
		struct stream s;

		open_stream(&s);
		put_reasons(&b, s.ticks, cases[i].nargs, cases[i].words, cases[i].args);
		give_sched(&s, 3, &b);
		words_free(&b);
		s.ticks += 1000;
		give_clock(&s, ASYNCTRACE_MOMENT_STOP);
		stream_finish(&s);
		counts = ring_counts(s.c, 0, 3);
		if (counts->malformed != 1)
			print_message("case %zu\n", i);
		assert_int_equal(counts->malformed, 1);
		stream_close(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(I5_word_of_a_cell_gets_its_own_salt),
		cmocka_unit_test(id_is_converted_as_in_events),
		cmocka_unit_test(system_call_has_its_name),
		cmocka_unit_test(I3_wrong_arguments_are_malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
