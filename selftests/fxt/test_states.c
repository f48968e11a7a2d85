// SPDX-License-Identifier: GPL-2.0
/* States of threads that a recorder has read from /proc: at_compose_add_thread() */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stream.h"

/* Thread 102 of the provider of stream_simple(), asleep in epoll_wait(7, ...) */
static struct at_compose_thread sleeper(const struct stream *s)
{
	return (struct at_compose_thread){
		.size = sizeof(struct at_compose_thread), .provider = 1, .tid = 102, .pid = 100,
		.comm = "sleeper", .since = s->ticks / 2, .from = s->ticks, .until = s->ticks + 10,
		.state = 1, .off_cpu = ASYNCTRACE_FXT_OFF_SYSCALL, .syscall = 232, .argument = 7,
	};
}

static uint64_t number_of(const struct fxt_record *rec, const char *name, unsigned int type)
{
	const struct fxt_arg *a = fxt_arg(rec, name);

	assert_non_null(a);
	assert_int_equal(a->type, type);
	return a->u;
}

/*
 * Finds the last object of the thread that has a state. Returns the number of these objects.
 * @f is then at the object; the caller must close it.
 */
static unsigned int states_of(struct file *f, const char *path, uint64_t tid)
{
	unsigned int count = 0, at = 0;

	for (file_open(f, path); file_next(f);)
		count += f->rec.kind == FXT_OBJECT && f->rec.id == tid && fxt_arg(&f->rec, "state");
	file_close(f);
	for (file_open(f, path); at < count && file_next(f);)
		at += f->rec.kind == FXT_OBJECT && f->rec.id == tid && fxt_arg(&f->rec, "state");
	return count;
}

static unsigned int count_states(const char *path, uint64_t tid)
{
	struct file f;
	const unsigned int count = states_of(&f, path, tid);

	file_close(&f);
	return count;
}

static void G11_object_of_a_thread_has_its_state(void **unused)
{
	struct at_compose_thread t;
	struct stream s;
	struct file f;

	stream_simple(&s);
	t = sleeper(&s);
	assert_int_equal(at_compose_add_thread(s.c, &t), 0);
	give_clock(&s, 0);
	stream_finish(&s);
	assert_int_equal(states_of(&f, s.path, 102), 1);
	assert_int_equal(f.rec.number, ASYNCTRACE_FXT_OBJ_THREAD);
	assert_true(fxt_text_is(&f.rec.name, "sleeper"));
	assert_int_equal(number_of(&f.rec, "process", ASYNCTRACE_FXT_ARG_KOID), 100);
	assert_int_equal(number_of(&f.rec, "state", ASYNCTRACE_FXT_ARG_UINT32), 1);
	assert_int_equal(number_of(&f.rec, "off_cpu", ASYNCTRACE_FXT_ARG_UINT32), 8);
	assert_int_equal(number_of(&f.rec, "read_from", ASYNCTRACE_FXT_ARG_UINT64), t.from);
	assert_int_equal(number_of(&f.rec, "read_until", ASYNCTRACE_FXT_ARG_UINT64), t.until);
	assert_int_equal(number_of(&f.rec, "syscall_argument", ASYNCTRACE_FXT_ARG_UINT64), 7);
	assert_true(fxt_text_is(&fxt_arg(&f.rec, "syscall")->text, "epoll_wait"));
	file_close(&f);
	assert_clean(s.path, -1);
	stream_close(&s);
}

/* The name that the kernel has given is not replaced by an older one from /proc. */
static void name_of_the_kernel_is_kept(void **unused)
{
	struct at_compose_thread t;
	struct stream s;
	struct file f;

	stream_simple(&s);
	give_name(&s, 100, 102, "renamed");
	t = sleeper(&s);
	assert_int_equal(at_compose_add_thread(s.c, &t), 0);
	stream_finish(&s);
	assert_int_equal(states_of(&f, s.path, 102), 1);
	assert_true(fxt_text_is(&f.rec.name, "renamed"));
	file_close(&f);
	assert_clean(s.path, -1);
	stream_close(&s);
}

/*
 * Returns the begin of the thread's state in the file; UINT64_MAX: the time when it was read.
 * @existed: begin of the thread. @recorded: the provider has written a record.
 */
static uint64_t since(uint32_t flags, uint64_t existed, bool recorded)
{
	struct asynctrace_provider_info info = { .id = 1, .pid = 100, .salt = 7, .flags = flags };
	struct at_compose_thread t;
	struct words b = { 0 };
	struct stream s;
	struct file f;
	uint64_t ns;

	stream_simple(&s);
	give_info(&s, &info);
	s.ticks += 100;
	if (recorded) {
		put_event(&b, &(struct event){ 0, s.ticks, 1, TXT("c"), TXT("n"), 0, 0, { } });
		give_events(&s, 1, 0, &b);
	}
	s.ticks += 100;
	t = sleeper(&s);
	t.since = existed;
	assert_int_equal(at_compose_add_thread(s.c, &t), 0);
	give_clock(&s, 0);
	stream_finish(&s);
	assert_int_equal(states_of(&f, s.path, 102), 1);
	ns = number_of(&f.rec, "state_since", ASYNCTRACE_FXT_ARG_UINT64);
	file_close(&f);
	ns = ns == t.from ? UINT64_MAX : ns;
	stream_close(&s);
	words_free(&b);
	return ns;
}

/*
 * A state in the file begins when the session began to follow the thread. This is the session's
 * start or, if the provider joined late, the provider's first record. If a late provider has no
 * record, the state begins when it was read.
 */
static void state_lasts_since_the_session_follows(void **unused)
{
	const uint64_t start = since(0, 1, false);
	const uint64_t late = since(ASYNCTRACE_PROVIDER_F_LATE, 1, true);

	assert_true(start > 1 && start < late);
	assert_true(late < UINT64_MAX);
	assert_int_equal(since(0, 1, true), start);
	assert_int_equal(since(0, start + 1, true), start + 1);
	assert_int_equal(since(ASYNCTRACE_PROVIDER_F_LATE, 1, false), UINT64_MAX);
}

/* A thread may run while the session is stopped, so an earlier state does not last until then. */
static void state_begins_after_the_last_start(void **unused)
{
	struct at_compose_thread t;
	uint64_t start;
	struct stream s;
	struct file f;

	stream_simple(&s);
	s.ticks += 100;
	give_clock(&s, ASYNCTRACE_MOMENT_STOP);
	s.ticks += 100;
	give_clock(&s, ASYNCTRACE_MOMENT_START);
	start = s.ticks;
	s.ticks += 100;
	t = sleeper(&s);
	t.since = 1;
	assert_int_equal(at_compose_add_thread(s.c, &t), 0);
	stream_finish(&s);
	assert_int_equal(states_of(&f, s.path, 102), 1);
	assert_int_equal(number_of(&f.rec, "state_since", ASYNCTRACE_FXT_ARG_UINT64), start);
	file_close(&f);
	assert_clean(s.path, -1);
	stream_close(&s);
}

static void wrong_threads_are_refused(void **unused)
{
	struct at_compose_thread t;
	struct stream s;

	stream_open(&s);
	t = sleeper(&s);
	/* Neither the clock nor the provider is known. */
	assert_int_equal(at_compose_add_thread(s.c, &t), -EAGAIN);
	stream_close(&s);
	stream_simple(&s);
	give_name(&s, 300, 301, "stranger");
#define REFUSED(error, change) do { \
	t = sleeper(&s); \
	change; \
	assert_int_equal(at_compose_add_thread(s.c, &t), error); \
} while (0)
	REFUSED(-EAGAIN, t.provider = 2);
	REFUSED(-ESRCH, t.pid = 101);
	REFUSED(-ESRCH, t.tid = 301);
	REFUSED(-EINVAL, t.size--);
	REFUSED(-EINVAL, t.tid = 0);
	REFUSED(-EINVAL, t.tid = 0x40000000);
	REFUSED(-EINVAL, t.comm = NULL);
	REFUSED(-EINVAL, t.since = t.from + 1);
	REFUSED(-EINVAL, t.until = t.from - 1);
	stream_finish(&s);
	assert_int_equal(count_states(s.path, 102), 0);
	assert_clean(s.path, -1);
	stream_close(&s);
}

/* A file of a session */
struct part {
	int fd;
	char path[32];
};

static struct at_compose_options part_open(struct part *p)
{
	p->fd = memfd_create("part", MFD_CLOEXEC);
	assert_true(p->fd >= 0);
	snprintf(p->path, sizeof(p->path), "/proc/self/fd/%d", p->fd);
	return (struct at_compose_options){
		.size = sizeof(struct at_compose_options), .fd = p->fd,
	};
}

/* Returns the state of the thread in the file, which must have one. */
static uint64_t state_in(const char *path, uint64_t tid)
{
	uint64_t state;
	struct file f;

	assert_int_equal(states_of(&f, path, tid), 1);
	state = number_of(&f.rec, "state", ASYNCTRACE_FXT_ARG_UINT32);
	file_close(&f);
	return state;
}

/*
 * A later file repeats the states of threads that do not run, unless scheduling records may be
 * lost.
 */
static void later_files_repeat_states_that_are_valid(void **unused)
{
	struct at_compose_options opts;
	struct part parts[3] = { 0 };
	struct at_compose_thread t;
	struct words b = { 0 };
	struct stream s;

	stream_simple(&s);
	for (int tid = 102; tid <= 104; tid++) {
		t = sleeper(&s);
		t.tid = tid;
		assert_int_equal(at_compose_add_thread(s.c, &t), 0);
	}
	put_wakeup(&b, 0, s.ticks, 103, 0);
	put_switch(&b, 0, s.ticks, 0, 104, 0);
	give_sched(&s, 0, &b);
	for (int i = 0; i < 3; i++) {
		opts = part_open(&parts[i]);
		assert_int_equal(at_compose_next(s.c, &opts), 0);
		s.ticks += 100;
		if (i == 1)
			lose(&s, 0, 0, 0, 1);
		give_sched(&s, 0, &b);
		give_clock(&s, 0);
	}
	stream_finish(&s);
	assert_int_equal(count_states(s.path, 102), 1);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(count_states(parts[i].path, 102), i < 2);
		assert_int_equal(count_states(parts[i].path, 103), i < 2);
		/* Thread 103 was woken before the first part: its state is 0, runnable. */
		if (i < 2)
			assert_int_equal(state_in(parts[i].path, 103), 0);
		assert_int_equal(count_states(parts[i].path, 104), 0);
		assert_clean(parts[i].path, -1);
		close(parts[i].fd);
	}
	stream_close(&s);
	words_free(&b);
}

/* A thread may change its state while the session is stopped. */
static void states_before_a_pause_are_not_repeated(void **unused)
{
	struct at_compose_options opts;
	struct part part = { 0 };
	struct at_compose_thread t;
	struct words b = { 0 };
	struct stream s;

	stream_simple(&s);
	t = sleeper(&s);
	assert_int_equal(at_compose_add_thread(s.c, &t), 0);
	put_wakeup(&b, 0, s.ticks, 103, 0);
	give_name(&s, 100, 103, "woken");
	give_sched(&s, 0, &b);
	s.ticks += 100;
	give_clock(&s, ASYNCTRACE_MOMENT_STOP);
	s.ticks += 100;
	give_clock(&s, ASYNCTRACE_MOMENT_START);
	t = sleeper(&s);
	t.tid = 104;
	assert_int_equal(at_compose_add_thread(s.c, &t), 0);
	opts = part_open(&part);
	assert_int_equal(at_compose_next(s.c, &opts), 0);
	stream_finish(&s);
	assert_int_equal(count_states(part.path, 102), 0);
	assert_int_equal(count_states(part.path, 103), 0);
	assert_int_equal(count_states(part.path, 104), 1);
	assert_clean(part.path, -1);
	close(part.fd);
	stream_close(&s);
	words_free(&b);
}

/*
 * The recorder may read a thread's state before the composer gets older records of that thread.
 * Older records must not change the state. A record from the time of the reading or later
 * replaces it.
 */
static void older_records_leave_a_state_that_was_read(void **unused)
{
	struct at_compose_options opts;
	struct part part = { 0 };
	struct at_compose_thread t;
	struct words b = { 0 };
	struct stream s;
	struct file f;

	stream_simple(&s);
	s.ticks += 100;
	for (int tid = 102; tid <= 103; tid++) {
		t = sleeper(&s);
		t.tid = tid;
		assert_int_equal(at_compose_add_thread(s.c, &t), 0);
	}
	put_switch(&b, 0, t.from - 4, 0, 102, 0);
	put_switch(&b, 0, t.from - 3, 102, 0, ASYNCTRACE_FXT_STATE_BLOCKED);
	put_switch(&b, 0, t.from - 2, 0, 103, 0);
	put_switch(&b, 0, t.from - 1, 103, 0, ASYNCTRACE_FXT_STATE_BLOCKED);
	put_switch(&b, 0, t.from, 0, 103, 0);
	give_sched(&s, 0, &b);
	s.ticks += 100;
	opts = part_open(&part);
	assert_int_equal(at_compose_next(s.c, &opts), 0);
	give_clock(&s, 0);
	stream_finish(&s);
	assert_int_equal(states_of(&f, part.path, 102), 1);
	assert_int_equal(number_of(&f.rec, "read_until", ASYNCTRACE_FXT_ARG_UINT64), t.until);
	file_close(&f);
	assert_int_equal(count_states(part.path, 103), 0);
	assert_clean(part.path, -1);
	close(part.fd);
	stream_close(&s);
	words_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(G11_object_of_a_thread_has_its_state),
		cmocka_unit_test(name_of_the_kernel_is_kept),
		cmocka_unit_test(state_lasts_since_the_session_follows),
		cmocka_unit_test(state_begins_after_the_last_start),
		cmocka_unit_test(wrong_threads_are_refused),
		cmocka_unit_test(later_files_repeat_states_that_are_valid),
		cmocka_unit_test(states_before_a_pause_are_not_repeated),
		cmocka_unit_test(older_records_leave_a_state_that_was_read),
	};

	return cmocka_run_group_tests_name("states", tests, NULL, NULL);
}
