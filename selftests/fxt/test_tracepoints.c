// SPDX-License-Identifier: GPL-2.0
/*
 * Events of the kernel's tracepoints: time, thread, fields and accounting. Counters that a
 * recorder has measured
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stream.h"

#define VALUE(n, t, v)	{ .name = n, .type = ASYNCTRACE_FXT_ARG_##t, .number = (uint64_t)(v) }

static struct at_compose_tracepoint event(uint64_t time, int32_t tid)
{
	return (struct at_compose_tracepoint){
		.size = sizeof(struct at_compose_tracepoint), .clock = ASYNCTRACE_CLOCK_COUNTER,
		.time = time, .cpu = 1, .tid = tid, .pid = tid ? 700 : 0, .comm = "worker",
		.category = "block", .name = "block_rq_issue",
	};
}

/* Returns the counts of the ring of tracepoints, which must be the one of CPU 1. */
static struct at_compose_counts counts(struct at_compose *c)
{
	const struct at_compose_stats *st = at_compose_stats(c);

	for (size_t i = 0; i < st->nr_rings; i++)
		if (st->rings[i].flags & ASYNCTRACE_COMPOSE_RING_TRACEPOINTS) {
			assert_int_equal(st->rings[i].provider, 0);
			assert_int_equal(st->rings[i].ring, 1);
			return st->rings[i].counts;
		}
	return (struct at_compose_counts){ 0 };
}

static bool next_tracepoint(struct file *f)
{
	while (file_event(f, 1))
		if (f->rec.category.len == 5 && !memcmp(f->rec.category.s, "block", 5))
			return true;
	return false;
}

static void test_time_is_known_after_a_later_reading(void **unused)
{
	struct at_compose_tracepoint t;
	struct stream s;
	struct file f;

	stream_simple(&s);
	t = event(s.ticks + 5000, 701);
	assert_int_equal(at_compose_add_tracepoint(s.c, &t), -EAGAIN);
	s.ticks += 10000;
	give_clock(&s, ASYNCTRACE_MOMENT_RUNNING);
	assert_int_equal(at_compose_add_tracepoint(s.c, &t), 0);
	t.time = 0;
	assert_int_equal(at_compose_add_tracepoint(s.c, &t), -ERANGE);
	t = event(s.ticks - 1, 701);
	t.clock = ASYNCTRACE_CLOCK_BOOTTIME;
	assert_int_equal(at_compose_add_tracepoint(s.c, &t), 0);
	assert_int_equal(counts(s.c).delivered, 2);
	stream_finish(&s);
	assert_clean(s.path, -1);
	file_open(&f, s.path);
	assert_true(next_tracepoint(&f));
	assert_int_equal(f.rec.ns, s.ticks - 5000);
	assert_int_equal(f.rec.thread.pid, 700);
	assert_int_equal(f.rec.thread.tid, 701);
	assert_true(next_tracepoint(&f));
	assert_int_equal(f.rec.ns, s.ticks - 1);
	assert_false(next_tracepoint(&f));
	file_close(&f);
	stream_close(&s);
}

static void test_fields_become_arguments(void **unused)
{
	char text[ASYNCTRACE_COMPOSE_TEXT_MAX + 9];
	struct at_compose_value v[15] = {
		VALUE("signed", INT64, -7), VALUE("unsigned", UINT64, UINT64_MAX),
		VALUE("pointer", POINTER, 0x1000),
		{ .name = "text", .type = ASYNCTRACE_FXT_ARG_STRING, .bytes = 3, .text = "a\xff" "b" },
		{ .name = "long", .type = ASYNCTRACE_FXT_ARG_STRING, .bytes = sizeof(text),
		  .text = text },
		{ .name = "empty", .type = ASYNCTRACE_FXT_ARG_STRING },
	};
	struct at_compose_tracepoint t;
	const struct fxt_arg *a;
	struct stream s;
	struct file f;

	memset(text, 'x', sizeof(text));
	for (int i = 6; i < 15; i++)
		v[i] = (struct at_compose_value)VALUE("more", INT64, i);
	stream_simple(&s);
	t = event(s.ticks, 701);
	t.values = v;
	t.nr_values = 15;
	assert_int_equal(at_compose_add_tracepoint(s.c, &t), 0);
	stream_finish(&s);
	file_open(&f, s.path);
	assert_true(next_tracepoint(&f));
	assert_int_equal(f.rec.nargs, 15);
	assert_int_equal(fxt_arg(&f.rec, "signed")->i, -7);
	assert_int_equal(fxt_arg(&f.rec, "unsigned")->u, UINT64_MAX);
	assert_int_equal(fxt_arg(&f.rec, "pointer")->u, 0x1000);
	a = fxt_arg(&f.rec, "text");
	/* Three bytes have no room for U+FFFD between the two letters. */
	assert_true(a->text.len >= 1 && a->text.len <= 3 && a->text.s[0] == 'a');
	assert_int_equal(fxt_arg(&f.rec, "long")->text.len, ASYNCTRACE_COMPOSE_TEXT_MAX);
	assert_int_equal(fxt_arg(&f.rec, "empty")->text.len, 0);
	file_close(&f);
	stream_close(&s);
}

static void test_wrong_events_are_refused(void **unused)
{
	const struct at_compose_value without_text = {
		.name = "x", .type = ASYNCTRACE_FXT_ARG_STRING, .bytes = 1,
	};
	struct at_compose_value v[16] = { VALUE("x", INT32, 0) };
	struct at_compose_tracepoint t;
	struct stream s;

	stream_simple(&s);
#define REFUSED(change) do { \
	t = event(s.ticks, 701); \
	t.values = v; \
	change; \
	assert_int_equal(at_compose_add_tracepoint(s.c, &t), -EINVAL); \
} while (0)
	REFUSED(t.size--);
	REFUSED(t.cpu = 65536);
	REFUSED(t.tid = -1);
	REFUSED(t.pid = -1);
	REFUSED(t.nr_values = 16);
	REFUSED((t.values = NULL, t.nr_values = 1));
	REFUSED((t.values = &without_text, t.nr_values = 1));
	REFUSED(t.nr_values = 1);
	REFUSED(t.flags = 4);
	REFUSED(t.reserved = 1);
	REFUSED(t.category = NULL);
	REFUSED(t.name = NULL);
#undef REFUSED
	assert_int_equal(at_compose_tracepoint_counts(s.c, 65536, 0, 0, 0), -EINVAL);
	assert_int_equal(counts(s.c).delivered, 0);
	stream_finish(&s);
	assert_clean(s.path, -1);
	stream_close(&s);
}

/* Interrupts of an idle CPU: each CPU has a track, because all idle tasks have one id. */
static void test_idle_task_has_a_track_per_cpu(void **unused)
{
	struct at_compose_tracepoint t;
	uint64_t tid[2];
	struct stream s;
	struct file f;

	stream_simple(&s);
	for (int cpu = 0; cpu < 2; cpu++) {
		t = event(s.ticks, 0);
		t.cpu = cpu;
		assert_int_equal(at_compose_add_tracepoint(s.c, &t), 0);
	}
	stream_finish(&s);
	assert_clean(s.path, -1);
	file_open(&f, s.path);
	for (int cpu = 0; cpu < 2; cpu++) {
		assert_true(next_tracepoint(&f));
		tid[cpu] = f.rec.thread.tid;
	}
	assert_int_not_equal(tid[0], tid[1]);
	file_close(&f);
	stream_close(&s);
}

static void test_losses_are_counted_and_shown(void **unused)
{
	struct at_compose_tracepoint t;
	struct at_compose_counts n;
	struct stream s;
	struct file f;
	bool marked = false;

	stream_simple(&s);
	t = event(s.ticks, 701);
	assert_int_equal(at_compose_add_tracepoint(s.c, &t), 0);
	assert_int_equal(at_compose_tracepoint_counts(s.c, 1, 3, 40, 2), 0);
	assert_int_equal(at_compose_tracepoint_counts(s.c, 1, 3, 41, 5), 0);
	n = counts(s.c);
	assert_int_equal(n.delivered, 1);
	assert_int_equal(n.overwritten, 3);
	assert_int_equal(n.dropped, 41);
	assert_int_equal(n.unwritten, 7);
	stream_finish(&s);
	file_open(&f, s.path);
	while (file_next(&f)) {
		const struct fxt_arg *a = fxt_arg(&f.rec, "dropped");

		if (a && a->u == 40) {
			assert_true(fxt_arg(&f.rec, "tracepoints")->u);
			assert_false(marked);
			marked = true;
		}
	}
	file_close(&f);
	assert_true(marked);
	stream_close(&s);
}

/* Each of several files has the texts that its events refer to. */
static void test_texts_are_in_each_file(void **unused)
{
	struct at_compose_tracepoint t;
	struct at_compose_options o = { .size = sizeof(o), .fd = memfd_create("next", MFD_CLOEXEC) };
	char path[32];
	struct stream s;
	struct file f;

	assert_true(o.fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", o.fd);
	stream_simple(&s);
	t = event(s.ticks, 701);
	assert_int_equal(at_compose_add_tracepoint(s.c, &t), 0);
	assert_int_equal(at_compose_next(s.c, &o), 0);
	assert_int_equal(at_compose_add_tracepoint(s.c, &t), 0);
	stream_finish(&s);
	file_open(&f, path);
	assert_true(next_tracepoint(&f));
	assert_int_equal(f.rec.name.len, strlen("block_rq_issue"));
	file_close(&f);
	close(o.fd);
	stream_close(&s);
}

/* --- events that belong to an operation -------------------------------------------------- */

#define SALT	0x12345u
#define OTHER	0x54321u	/* of a process that is not recorded */
#define ID	((uint64_t)SALT << 44 | 77)

static void open_salted(struct stream *s)
{
	stream_open(s);
	give_clock(s, ASYNCTRACE_MOMENT_START);
	give_provider(s, 7, 100, SALT, "test");
	s->ticks += 1000;
	give_clock(s, ASYNCTRACE_MOMENT_RUNNING);
}

/* Writes the event of a foreign thread with the number in the field "cookie", and finds it. */
static void find_joined(uint64_t number, struct stream *s, struct file *f)
{
	const struct at_compose_value v[] = { VALUE("cookie", UINT64, number) };
	struct at_compose_tracepoint t;

	open_salted(s);
	t = event(s->ticks, 701);
	t.values = v;
	t.nr_values = 1;
	t.operation = number;
	assert_int_equal(at_compose_add_tracepoint(s->c, &t), 0);
	stream_finish(s);
	assert_clean(s->path, -1);
	file_open(f, s->path);
	assert_true(next_tracepoint(f));
	assert_int_equal(fxt_arg(&f->rec, "cookie")->u, number);
}

static void G31_id_of_recorded_process_joins(void **unused)
{
	const struct fxt_arg *a;
	struct stream s;
	struct file f;

	find_joined(ID, &s, &f);
	a = fxt_arg(&f.rec, "operation");
	assert_non_null(a);
	assert_int_equal(a->type, ASYNCTRACE_FXT_ARG_UINT64);
	assert_int_equal(a->u, ID);
	assert_int_equal(f.rec.nargs, 2);
	file_close(&f);
	stream_close(&s);
}

static void I5_number_of_no_process_joins_nothing(void **unused)
{
	static const uint64_t numbers[] = {
		0, 1, 77, (1ULL << 44) - 1, (uint64_t)OTHER << 44 | 77, ~0ULL, ID >> 1, ID << 1,
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct stream s;
		struct file f;

		find_joined(numbers[i], &s, &f);
		assert_null(fxt_arg(&f.rec, "operation"));
		assert_int_equal(f.rec.nargs, 1);
		file_close(&f);
		stream_close(&s);
	}
}

/* If a caller adds each event twice, once with each flag, the composer takes it once. */
static void flags_add_joined_or_other_events(void **unused)
{
	static const uint64_t numbers[] = { ID, (uint64_t)OTHER << 44 | 77, 0 };
	struct at_compose_tracepoint t;
	struct stream s;

	open_salted(&s);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const bool joined = numbers[i] == ID;

		t = event(s.ticks, 701);
		t.operation = numbers[i];
		t.flags = ASYNCTRACE_COMPOSE_TRACEPOINT_JOINED;
		assert_int_equal(at_compose_add_tracepoint(s.c, &t), joined ? 0 : -ENOENT);
		t.flags = ASYNCTRACE_COMPOSE_TRACEPOINT_UNJOINED;
		assert_int_equal(at_compose_add_tracepoint(s.c, &t), joined ? -ENOENT : 0);
	}
	/* -EAGAIN, not -ENOENT: until the time is known, more processes may become known. */
	t = event(s.ticks + 1000, 701);
	t.flags = ASYNCTRACE_COMPOSE_TRACEPOINT_JOINED;
	assert_int_equal(at_compose_add_tracepoint(s.c, &t), -EAGAIN);
	assert_int_equal(counts(s.c).delivered, 3);
	stream_finish(&s);
	assert_clean(s.path, -1);
	stream_close(&s);
}

static void field_called_operation_joins_only_by_id(void **unused)
{
	struct at_compose_value v[15] = { VALUE("operation", UINT64, 9) };
	struct at_compose_tracepoint t;
	struct stream s;
	struct file f;

	for (int i = 1; i < 15; i++)
		v[i] = (struct at_compose_value)VALUE("more", INT64, i);
	open_salted(&s);
	t = event(s.ticks, 701);
	t.values = v;
	t.nr_values = 15;
	assert_int_equal(at_compose_add_tracepoint(s.c, &t), 0);
	/* The operation's id is in no field: its argument takes the place of the last field. */
	t.operation = ID;
	assert_int_equal(at_compose_add_tracepoint(s.c, &t), 0);
	/* The event's own field "operation" has the joining id now: no field is added. */
	v[0].number = ID;
	assert_int_equal(at_compose_add_tracepoint(s.c, &t), 0);
	stream_finish(&s);
	file_open(&f, s.path);
	assert_true(next_tracepoint(&f));
	assert_null(fxt_arg(&f.rec, "operation"));
	assert_int_equal(fxt_arg(&f.rec, "field operation")->u, 9);
	assert_int_equal(f.rec.nargs, 15);
	assert_true(next_tracepoint(&f));
	assert_int_equal(fxt_arg(&f.rec, "operation")->u, ID);
	assert_int_equal(fxt_arg(&f.rec, "field operation")->u, 9);
	assert_int_equal(f.rec.nargs, 15);
	assert_true(next_tracepoint(&f));
	assert_int_equal(fxt_arg(&f.rec, "operation")->u, ID);
	assert_null(fxt_arg(&f.rec, "field operation"));
	assert_int_equal(f.rec.nargs, 15);
	file_close(&f);
	stream_close(&s);
}

/* Checks that the next name of the thread 701 in the file is @comm, in the process @pid. */
static void expect_name(struct file *f, uint64_t pid, const char *comm)
{
	do
		assert_true(file_next(f));
	while (f->rec.kind != FXT_OBJECT || f->rec.number != ASYNCTRACE_FXT_OBJ_THREAD ||
	       f->rec.id != 701);
	assert_true(fxt_text_is(&f->rec.name, comm));
	assert_int_equal(fxt_arg(&f->rec, "process")->u, pid);
}

/* A thread may change its name, and the next thread of an id may be of another process. */
static void later_names_replace_earlier_ones(void **unused)
{
	/* A .comm of "": the session gives the name, which no event may replace. */
	static const struct {
		int32_t pid;
		const char *comm, *name;
	} rows[] = {
		{ 700, "worker", "worker" }, { 700, "worker", NULL }, { 700, "exec", "exec" },
		{ 0, NULL, NULL }, { 700, NULL, NULL }, { 800, "next", "next" },
		{ 800, "", "session" },
		{ 800, "ignored", NULL }, { 900, "ignored", NULL },
	};
	struct stream s;
	struct file f;

	stream_simple(&s);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct at_compose_tracepoint t = event(s.ticks, 701);

		t.clock = ASYNCTRACE_CLOCK_BOOTTIME;
		t.pid = rows[i].pid;
		t.comm = rows[i].comm;
		if (t.comm && !*t.comm)
			give_name(&s, t.pid, 701, rows[i].name);
		assert_int_equal(at_compose_add_tracepoint(s.c, &t), 0);
	}
	stream_finish(&s);
	assert_clean(s.path, -1);
	file_open(&f, s.path);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].name)
			expect_name(&f, rows[i].pid, rows[i].name);
	while (file_next(&f))
		assert_false(f.rec.kind == FXT_OBJECT && f.rec.id == 701);
	file_close(&f);
	stream_close(&s);
}

/* --- counters --------------------------------------------------------------------------- */

static const struct at_compose_value counted[] = {
	VALUE("up", UINT64, UINT64_MAX), VALUE("down", INT64, -7),
};

static struct at_compose_counter counter(uint64_t time, int32_t pid)
{
	return (struct at_compose_counter){
		.size = sizeof(struct at_compose_counter), .time = time, .pid = pid,
		.comm = "worker", .category = "cgroup", .name = "/a/b", .values = counted,
		.nr_values = 2,
	};
}

static bool next_counter(struct file *f)
{
	while (file_event(f, 1))
		if (f->rec.number == ASYNCTRACE_FXT_COUNTER)
			return true;
	return false;
}

static void test_counter_is_in_the_kernels_section(void **unused)
{
	struct at_compose_counter t = counter(0, 700);
	struct stream s;
	struct file f;

	stream_simple(&s);
	t.time = s.ticks;
	assert_int_equal(at_compose_add_counter(s.c, &t), 0);
	/* The session knows this process. */
	t.pid = 100;
	assert_int_equal(at_compose_add_counter(s.c, &t), 0);
	stream_finish(&s);
	assert_clean(s.path, -1);
	file_open(&f, s.path);
	assert_true(next_counter(&f));
	assert_int_equal(f.rec.ns, t.time);
	assert_int_equal(f.rec.thread.pid, 700);
	assert_int_equal(f.rec.thread.tid, 700);
	assert_int_equal(f.rec.nargs, 2);
	assert_int_equal(fxt_arg(&f.rec, "up")->u, UINT64_MAX);
	assert_int_equal(fxt_arg(&f.rec, "down")->i, -7);
	assert_true(fxt_text_is(&f.rec.category, "cgroup"));
	assert_true(fxt_text_is(&f.rec.name, "/a/b"));
	assert_true(next_counter(&f));
	assert_int_equal(f.rec.thread.pid, 100);
	assert_false(next_counter(&f));
	file_close(&f);
	stream_close(&s);
}

static void test_counter_is_in_no_ring(void **unused)
{
	struct at_compose_counter t;
	struct at_compose_counts before;
	struct stream s;

	stream_simple(&s);
	before = at_compose_stats(s.c)->total;
	t = counter(s.ticks, 700);
	assert_int_equal(at_compose_add_counter(s.c, &t), 0);
	assert_memory_equal(&at_compose_stats(s.c)->total, &before, sizeof(before));
	stream_finish(&s);
	stream_close(&s);
}

static void test_wrong_counters_are_refused(void **unused)
{
	const struct at_compose_value text = { .name = "x", .type = ASYNCTRACE_FXT_ARG_STRING };
	const struct at_compose_value nameless = { .type = ASYNCTRACE_FXT_ARG_INT64 };
	struct at_compose_counter t;
	struct stream s;

	stream_open(&s);
	t = counter(5, 700);
	assert_int_equal(at_compose_add_counter(s.c, &t), -EAGAIN);
	stream_close(&s);
	stream_simple(&s);
	t = counter(0, 700);
	assert_int_equal(at_compose_add_counter(s.c, &t), -ERANGE);
	/* The composer must reject this counter: its time is after all clock pairs so far. */
	t = counter(s.ticks + 1, 700);
	assert_int_equal(at_compose_add_counter(s.c, &t), -EAGAIN);
#define REFUSED(change) do { \
	t = counter(s.ticks, 700); \
	change; \
	assert_int_equal(at_compose_add_counter(s.c, &t), -EINVAL); \
} while (0)
	REFUSED(t.size--);
	REFUSED(t.pid = 0);
	REFUSED(t.nr_values = 0);
	REFUSED(t.nr_values = 16);
	REFUSED(t.category = NULL);
	REFUSED(t.name = NULL);
	REFUSED((t.values = &text, t.nr_values = 1));
	REFUSED(t.values = NULL);
	REFUSED((t.values = &nameless, t.nr_values = 1));
#undef REFUSED
	assert_int_equal(at_compose_add_counter(s.c, NULL), -EINVAL);
	assert_int_equal(at_compose_add_tracepoint(s.c, NULL), -EINVAL);
	assert_int_equal(at_compose_add_thread(s.c, NULL), -EINVAL);
	stream_finish(&s);
	assert_clean(s.path, -1);
	stream_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_time_is_known_after_a_later_reading),
		cmocka_unit_test(test_fields_become_arguments),
		cmocka_unit_test(test_wrong_events_are_refused),
		cmocka_unit_test(test_idle_task_has_a_track_per_cpu),
		cmocka_unit_test(test_losses_are_counted_and_shown),
		cmocka_unit_test(test_texts_are_in_each_file),
		cmocka_unit_test(G31_id_of_recorded_process_joins),
		cmocka_unit_test(I5_number_of_no_process_joins_nothing),
		cmocka_unit_test(flags_add_joined_or_other_events),
		cmocka_unit_test(field_called_operation_joins_only_by_id),
		cmocka_unit_test(later_names_replace_earlier_ones),
		cmocka_unit_test(test_counter_is_in_the_kernels_section),
		cmocka_unit_test(test_counter_is_in_no_ring),
		cmocka_unit_test(test_wrong_counters_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
