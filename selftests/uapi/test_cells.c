// SPDX-License-Identifier: GPL-2.0
/*
 * Cells: which thread gets which cell, what a process can do to its cells, and what the kernel's
 * records take from them. Reasons of switches, and the users that must not see them.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "ktap.h"
#include "raw.h"

#define NOBODY	65534
#define STRIDE	(1 << 20)
#define MARK	0x0123456789abcdefULL

static struct raw_nl nl;
static struct raw_provider p;
static struct asynctrace_cell *cells;

static void provide(const char *name)
{
	NEED(!raw_nl_open(&nl) && !raw_provider(&p, name, STRIDE));
	cells = raw_cells(&p);
	NEED(cells);
}

static void end(void)
{
	munmap(cells, p.control->nr_cells * sizeof(*cells));
	raw_provider_end(&p);
	raw_nl_close(&nl);
}

static volatile struct asynctrace_cell *my_cell(void)
{
	struct asynctrace_slot slot;

	return raw_slot(&p, &slot) > 0 && slot.cell ? &cells[slot.cell - 1] : NULL;
}

/* --- cells of threads ----------------------------------------------------------------- */

static void cell_is_given_once(void)
{
	struct {
		struct asynctrace_slot slot;
		uint64_t more;
	} large = { .slot.size = sizeof(large) };
	struct asynctrace_slot slot, again;

	provide("cells");
	EXPECT_IS(raw_slot(&p, &slot), p.slot);
	EXPECT_IS(slot.slot, p.slot);
	EXPECT(slot.cell > 0 && slot.cell <= p.control->nr_cells);
	EXPECT_IS(slot.size, sizeof(slot));
	EXPECT_IS(raw_slot(&p, &again), p.slot);
	EXPECT_IS(again.cell, slot.cell);
	EXPECT_IS(raw_ioctl(p.fd, ASYNCTRACE_IOC_THREAD, NULL), p.slot);
	slot = (struct asynctrace_slot){ .size = 12 };
	EXPECT_IS(raw_ioctl(p.fd, ASYNCTRACE_IOC_THREAD, &slot), -EINVAL);
	slot = (struct asynctrace_slot){ .size = sizeof(slot), .reserved = 1 };
	EXPECT_IS(raw_ioctl(p.fd, ASYNCTRACE_IOC_THREAD, &slot), -EINVAL);
	EXPECT_IS(raw_ioctl(p.fd, ASYNCTRACE_IOC_THREAD, (void *)8), -EFAULT);
	EXPECT_IS(raw_ioctl(p.fd, ASYNCTRACE_IOC_THREAD, &large), p.slot);
	large.slot = (struct asynctrace_slot){ .size = sizeof(large) };
	large.more = 1;
	EXPECT_IS(raw_ioctl(p.fd, ASYNCTRACE_IOC_THREAD, &large), -E2BIG);
	end();
}

static void *take_cell(void *arg)
{
	struct asynctrace_slot slot;

	(void)arg;
	if (raw_slot(&p, &slot) < 0 || !slot.cell || cells[slot.cell - 1].operation)
		return NULL;
	cells[slot.cell - 1].operation = MARK;
	return (void *)(uintptr_t)slot.cell;
}

/*
 * Runs many threads, one after the other. They reuse cells of ended threads, which are empty. The
 * environment variable THREADS_IN_TURN is the number of threads; 1,000 by default.
 */
static void cells_of_ended_threads_come_back(void)
{
	struct asynctrace_slot slot;
	const unsigned int threads = amount("THREADS_IN_TURN", 1000);
	uintptr_t most = 0;
	pthread_t thread;
	void *cell;

	NEED(threads > 256);
	provide("cells");
	NEED(raw_slot(&p, &slot) > 0 && slot.cell);
	cells[slot.cell - 1].operation = MARK;
	for (unsigned int i = 0; i < threads; i++) {
		NEED(!pthread_create(&thread, NULL, take_cell, NULL) &&
		     !pthread_join(thread, &cell));
		NEED(cell);
		EXPECT((uintptr_t)cell != slot.cell);
		if ((uintptr_t)cell > most)
			most = (uintptr_t)cell;
	}
	/* The kernel looks for ended threads when 64 threads have needed a cell. */
	EXPECT(most <= 256);
	EXPECT_IS(cells[slot.cell - 1].operation, MARK);
	end();
}

/* --- what a process can do to its cells ----------------------------------------------------- */

static bool can_read(const void *at)
{
	uint64_t word;
	struct iovec to = { &word, sizeof(word) }, from = { (void *)at, sizeof(word) };

	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == sizeof(word);
}

static void I2_mapping_of_cells_is_fixed(void)
{
	const int rw = PROT_READ | PROT_WRITE;
	size_t size;
	off_t at;

	provide("cells");
	size = p.control->nr_cells * sizeof(*cells);
	at = p.control->cells;
	EXPECT(mmap(NULL, size / 2, rw, MAP_SHARED, p.fd, at) == MAP_FAILED);
	EXPECT(mmap(NULL, 4096, rw, MAP_SHARED, p.fd, at + 4096) == MAP_FAILED);
	EXPECT(mmap(NULL, size, rw | PROT_EXEC, MAP_SHARED, p.fd, at) == MAP_FAILED);
	EXPECT(mmap(NULL, size, rw, MAP_PRIVATE, p.fd, at) == MAP_FAILED);
	EXPECT(munmap(cells, 4096) && mremap(cells, size, 2 * size, MREMAP_MAYMOVE) == MAP_FAILED);
	EXPECT(mprotect(cells, size, PROT_READ | PROT_EXEC));
	/*
	 * A page exists only if a thread was given a cell in it. So a process cannot allocate the
	 * whole area.
	 */
	NEED(my_cell());
	EXPECT(can_read(cells));
	EXPECT(!can_read((char *)cells + size - 4096));
	madvise(cells, size, MADV_POPULATE_WRITE);
	EXPECT(!can_read((char *)cells + size - 4096));
	end();
}

static void forked_child_has_a_page_of_its_own(void)
{
	volatile struct asynctrace_cell *cell;
	const char *last;
	int status;
	pid_t pid;

	provide("cells");
	cell = my_cell();
	NEED(cell);
	cell->operation = MARK;
	last = (char *)cells + p.control->nr_cells * sizeof(*cells) - 4096;
	pid = fork();
	if (!pid) {
		const bool empty = !cell->operation;

		cell->operation = 1;
		/* A core dump of the child must not allocate the whole area. */
		_exit(empty && !can_read(last) ? 0 : 1);
	}
	NEED(waitpid(pid, &status, 0) == pid);
	EXPECT_IS(status, 0);
	EXPECT_IS(cell->operation, MARK);
	end();
}

/* --- what is recorded ------------------------------------------------------------------ */

struct seen {
	unsigned long records, own, foreign;
	unsigned long ids, reasons, wrong, addresses;
};

static int consumer = -1;

static int start(const char *name, const char *provider, uint32_t sched, uint32_t flags)
{
	int id = raw_session_with(&nl, name, ASYNCTRACE_MODE_STREAMING, sched, STRIDE, provider,
				  flags);

	if (id < 0 || raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id))
		return -1;
	consumer = raw_open();
	if (consumer < 0 || raw_consume(consumer, id) ||
	    raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id))
		return -1;
	return id;
}

/*
 * Stops the session and reads it. Calls @fn for each scheduling record and @provider for each
 * provider chunk. Then ends the session.
 */
static void read_all(int id, void (*fn)(const uint64_t *w, void *arg),
		     void (*provider)(const struct asynctrace_provider_info *i, void *arg),
		     void *arg)
{
	const size_t room = ASYNCTRACE_READ_MIN;
	char *buf = aligned_alloc(8, (room + 7) & ~7UL);

	NEED(buf);
	raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_STOP, id);
	while (read(consumer, buf, room) > 0) {
		const struct asynctrace_chunk *c = (const void *)buf;
		const uint64_t *w = (const void *)(buf + c->size);

		if (c->kind == ASYNCTRACE_CHUNK_PROVIDER && provider)
			provider((const void *)w, arg);
		if (c->kind != ASYNCTRACE_CHUNK_SCHED || c->flags & ASYNCTRACE_CHUNK_F_BROKEN)
			continue;
		for (uint64_t n = 0; n < c->records; n++, w += ASYNCTRACE_FXT_WORDS(*w))
			fn(w, arg);
	}
	free(buf);
	close(consumer);
	raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, id);
}

/* Finds an argument of a scheduling record, or returns NULL. */
static const uint64_t *arg_of(const uint64_t *w, unsigned int name)
{
	unsigned int nargs = *w >> 16 & 0xf;

	for (w += *w >> 60 == ASYNCTRACE_FXT_SCHED_WAKEUP ? 3 : 4; nargs--; w += *w >> 4 & 0xfff)
		if ((*w >> 16 & 0xffff) == name)
			return w;
	return NULL;
}

static void sleep_ms(unsigned int ms)
{
	const struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	nanosleep(&ts, NULL);
}

static void count_own(const uint64_t *w, void *arg)
{
	const uint64_t *id = arg_of(w, ASYNCTRACE_FXT_STR_OUT_OPERATION);
	struct seen *s = arg;

	s->records++;
	if (*w >> 60 != ASYNCTRACE_FXT_SCHED_SWITCH || w[2] != (uint64_t)gettid())
		return;
	s->own++;
	s->ids += id && id[1] == MARK && *id >> 32 == p.control->salt;
	s->reasons += !!arg_of(w, ASYNCTRACE_FXT_STR_OFF_CPU);
}

/*
 * Sleeps until the thread has left its CPU @times times. Counts switches and not sleeps: on a slow
 * machine, a sleep may end before the thread has left its CPU.
 */
static void leave_cpu(long times)
{
	struct rusage now;
	long until;

	getrusage(RUSAGE_THREAD, &now);
	until = now.ru_nvcsw + times;
	while (now.ru_nvcsw < until) {
		sleep_ms(2);
		getrusage(RUSAGE_THREAD, &now);
	}
}

static void switches_have_the_word_of_the_cell(void)
{
	volatile struct asynctrace_cell *cell;
	struct seen s = { 0 };
	int id;

	provide("cells");
	cell = my_cell();
	NEED(cell);
	id = start("word", "cells", ASYNCTRACE_SCHED_TARGETS, 0);
	NEED(id > 0);
	cell->operation = MARK;
	leave_cpu(50);
	cell->operation = 0;
	read_all(id, count_own, NULL, &s);
	EXPECT(s.own >= 50);
	EXPECT(s.ids >= 50);
	/* The session did not request reasons, so there are none. */
	EXPECT_IS(s.reasons, 0);
	end();
}

/* A thread is traced first, and gets its cell later, while the session runs. */
static void cell_given_late_is_read(void)
{
	volatile struct asynctrace_cell *cell;
	struct seen s = { 0 };
	int id;

	provide("cells");
	id = start("late", "cells", ASYNCTRACE_SCHED_TARGETS, ASYNCTRACE_SESSION_FLAGS_REASONS);
	NEED(id > 0);
	cell = my_cell();
	NEED(cell);
	cell->operation = MARK;
	leave_cpu(50);
	cell->operation = 0;
	read_all(id, count_own, NULL, &s);
	EXPECT(s.ids >= 50);
	EXPECT_IS(s.reasons, s.own);
	end();
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/*
 * Returns the number of the thread's switches minus the number in the cell. These are the switches
 * before the session traced the thread, so the result must not change while it traces the thread.
 */
static long switches_beyond(volatile struct asynctrace_cell *cell)
{
	struct rusage before, after;
	uint64_t switches;

	do {
		getrusage(RUSAGE_THREAD, &before);
		switches = cell->switches;
		getrusage(RUSAGE_THREAD, &after);
	} while (before.ru_nvcsw != after.ru_nvcsw || before.ru_nivcsw != after.ru_nivcsw);
	return after.ru_nvcsw + after.ru_nivcsw - switches;
}

static void cell_has_the_cpu_time(void)
{
	volatile struct asynctrace_cell *cell;
	uint64_t before, after;
	long beyond;
	int id;

	provide("cells");
	cell = my_cell();
	NEED(cell);
	EXPECT_IS(cell->generation, 0);
	id = start("time", "cells", ASYNCTRACE_SCHED_TARGETS, 0);
	NEED(id > 0);
	sleep_ms(2);
	beyond = switches_beyond(cell);
	before = cpu_ns();
	for (int i = 0; i < 20; i++)
		sleep_ms(1);
	after = cpu_ns();
	EXPECT(!(cell->sequence & 1));
	EXPECT_IS(cell->generation, p.control->gate);
	EXPECT_IS(switches_beyond(cell), beyond);
	EXPECT(cell->cpu_ns >= before && cell->cpu_ns <= after);
	EXPECT(cell->since && cell->since <= raw_stamp(&p));
	EXPECT(p.control->clock_mult && p.control->clock_shift <= 32);
	raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, id);
	close(consumer);
	before = cell->cpu_ns;
	sleep_ms(2);
	EXPECT_IS(cell->cpu_ns, before);
	end();
}

/* --- hostile words ------------------------------------------------------------------------- */

static volatile uint32_t *shared;

enum { READY, STOP, ROUNDS, SALT_OF_VICTIM, SHARED };

/* Fills the first page of its cells with random words, and sleeps so that the kernel reads them. */
static int scribble(void *arg)
{
	struct asynctrace_slot slot;
	uint64_t x = 88172645463325252ULL;

	(void)arg;
	SO(!raw_nl_open(&nl) && !raw_provider(&p, "hostile", STRIDE));
	cells = raw_cells(&p);
	SO(cells && raw_slot(&p, &slot) > 0 && slot.cell);
	__atomic_add_fetch(&shared[READY], 1, __ATOMIC_SEQ_CST);
	while (!shared[STOP]) {
		volatile uint64_t *w = (volatile uint64_t *)cells;

		for (int i = 0; i < 4096 / 8; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			/* Sometimes write an id of the other process. */
			w[i] = x & 1 ? x : (uint64_t)shared[SALT_OF_VICTIM] << 44 | 1ULL << 42 | 1;
		}
		sched_yield();
		sleep_ms(1);
		__atomic_add_fetch(&shared[ROUNDS], 1, __ATOMIC_SEQ_CST);
	}
	return 0;
}

struct victim {
	uint32_t id, salt, hostile_salt;
	uint64_t pid, hostile_pid;
	unsigned long own, hostile, wrong;
};

static void find_salts(const struct asynctrace_provider_info *i, void *arg)
{
	struct victim *v = arg;

	if (!strcmp(i->name, "hostile")) {
		v->hostile_salt = i->salt;
		v->hostile_pid = i->pid;
	} else {
		v->salt = i->salt;
		v->pid = i->pid;
	}
}

static void check_id(struct victim *v, uint64_t tid, const uint64_t *id)
{
	if (!id)
		return;
	if (tid == v->pid) {
		v->own++;
		v->wrong += *id >> 32 != v->salt || id[1] != MARK;
	} else if (tid == v->hostile_pid) {
		v->hostile++;
		v->wrong += *id >> 32 != v->hostile_salt;
	} else {
		v->wrong++;
	}
}

static void check_ids(const uint64_t *w, void *arg)
{
	const uint64_t *waker = arg_of(w, ASYNCTRACE_FXT_STR_WAKER);

	if (*w >> 60 == ASYNCTRACE_FXT_SCHED_SWITCH) {
		check_id(arg, w[2], arg_of(w, ASYNCTRACE_FXT_STR_OUT_OPERATION));
		check_id(arg, w[3], arg_of(w, ASYNCTRACE_FXT_STR_IN_OPERATION));
	} else {
		check_id(arg, w[2], arg_of(w, ASYNCTRACE_FXT_STR_OPERATION));
		check_id(arg, waker ? waker[1] : 0, arg_of(w, ASYNCTRACE_FXT_STR_WAKER_OPERATION));
	}
}

static void I5_random_words_name_no_other_process(void)
{
	volatile struct asynctrace_cell *cell;
	struct victim v = { 0 };
	uint32_t rounds;
	int id, status;
	pid_t pid;

	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	NEED(shared != MAP_FAILED);
	pid = fork();
	if (!pid)
		_exit(scribble(NULL));
	provide("victim");
	shared[SALT_OF_VICTIM] = p.control->salt;
	cell = my_cell();
	NEED(cell);
	while (!shared[READY])
		sleep_ms(1);
	id = start("hostile", NULL, ASYNCTRACE_SCHED_TARGETS, ASYNCTRACE_SESSION_FLAGS_REASONS);
	NEED(id > 0);
	cell->operation = MARK;
	rounds = shared[ROUNDS];
	for (int i = 0; i < 300 || shared[ROUNDS] < rounds + 300; i++)
		sleep_ms(1);
	shared[STOP] = 1;
	NEED(waitpid(pid, &status, 0) == pid);
	EXPECT_IS(status, 0);
	EXPECT_IS(cell->operation, MARK);
	read_all(id, check_ids, find_salts, &v);
	EXPECT(v.salt && v.hostile_salt && v.salt != v.hostile_salt);
	EXPECT(v.own > 300);
	EXPECT(v.hostile > 300);
	EXPECT_IS(v.wrong, 0);
	end();
}

/* --- unprivileged sessions -------------------------------------------------------------------- */

static int pipes[2];

/*
 * Is the word a kernel address? The highest 17 bits of an address are set. A small negative number
 * has all of its highest 32 bits set, and is no address.
 */
static bool is_address(uint64_t w)
{
	return w >> 47 == 0x1ffff && (w >> 32) != 0xffffffff;
}

static void check_private(const uint64_t *w, void *arg)
{
	static const unsigned int reasons[] = {
		ASYNCTRACE_FXT_STR_OFF_CPU, ASYNCTRACE_FXT_STR_SYSCALL,
		ASYNCTRACE_FXT_STR_SYSCALL_ARG, ASYNCTRACE_FXT_STR_OUT_OPERATION,
	};
	const uint64_t *waker = arg_of(w, ASYNCTRACE_FXT_STR_WAKER);
	struct seen *s = arg;

	s->records++;
	for (unsigned int i = 0; i < ASYNCTRACE_FXT_WORDS(*w); i++)
		s->addresses += is_address(w[i]);
	if (*w >> 60 == ASYNCTRACE_FXT_SCHED_WAKEUP) {
		if (waker && ASYNCTRACE_TID_IS_OTHER((int32_t)waker[1])) {
			s->foreign++;
			s->wrong += !!arg_of(w, ASYNCTRACE_FXT_STR_WAKER_OPERATION);
		}
		return;
	}
	if (w[2] && !ASYNCTRACE_TID_IS_OTHER((int32_t)w[2])) {
		s->own++;
		s->reasons += !!arg_of(w, ASYNCTRACE_FXT_STR_OFF_CPU);
		s->ids += !!arg_of(w, ASYNCTRACE_FXT_STR_OUT_OPERATION);
	} else {
		s->foreign++;
		for (unsigned int i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
			s->wrong += !!arg_of(w, reasons[i]);
	}
	if (!w[3] || ASYNCTRACE_TID_IS_OTHER((int32_t)w[3]))
		s->wrong += !!arg_of(w, ASYNCTRACE_FXT_STR_IN_OPERATION);
}

/* The user's process, a provider with a session. Root's process on the same CPU wakes it. */
static int of_a_user(void *arg)
{
	volatile struct asynctrace_cell *cell;
	struct seen s = { 0 };
	char byte;
	int id;

	(void)arg;
	SO(!raw_nl_open(&nl) && !raw_provider(&p, "user", STRIDE));
	cells = raw_cells(&p);
	cell = cells ? my_cell() : NULL;
	SO(cell);
	id = start("user", "user", ASYNCTRACE_SCHED_TARGETS, ASYNCTRACE_SESSION_FLAGS_REASONS);
	SO(id > 0);
	cell->operation = MARK;
	shared[READY]++;
	for (int i = 0; i < 200; i++)
		SO(read(pipes[0], &byte, 1) == 1);
	read_all(id, check_private, NULL, &s);
	SO(s.own >= 100 && s.reasons == s.own && s.ids >= 100);
	SO(s.foreign >= 100);
	SO(!s.wrong);
	SO(!s.addresses);
	return 0;
}

static void I6_user_sees_no_reason_of_others(void)
{
	struct asynctrace_cell *mine;
	cpu_set_t one;
	int status;
	pid_t pid;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	NEED(!sched_setaffinity(0, sizeof(one), &one) && !pipe(pipes));
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	NEED(shared != MAP_FAILED);
	pid = fork();
	if (!pid)
		_exit(raw_become(NOBODY) ? 1 : of_a_user(NULL));
	/* Root's process has a cell and an operation, too. */
	provide("root");
	mine = (struct asynctrace_cell *)my_cell();
	NEED(mine);
	mine->operation = ~MARK;
	while (!shared[READY] && waitpid(pid, &status, WNOHANG) != pid)
		sleep_ms(1);
	for (int i = 0; i < 200 && shared[READY]; i++) {
		NEED(write(pipes[1], "", 1) == 1);
		sleep_ms(1);
	}
	if (shared[READY])
		NEED(waitpid(pid, &status, 0) == pid);
	EXPECT_IS(status, 0);
	end();
	CPU_ZERO(&one);
	for (int i = 0; i < 2; i++)
		CPU_SET(i, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

/* Counts reasons of a process that becomes undumpable while a user's session records it. */
static int undumpable_of_a_user(void *arg)
{
	struct seen before = { 0 }, after = { 0 };
	int id;

	(void)arg;
	SO(!raw_nl_open(&nl) && !raw_provider(&p, "secret", STRIDE));
	id = start("secret", "secret", ASYNCTRACE_SCHED_TARGETS, ASYNCTRACE_SESSION_FLAGS_REASONS);
	SO(id > 0);
	leave_cpu(20);
	read_all(id, count_own, NULL, &before);
	SO(before.own >= 20 && before.reasons == before.own);
	id = start("secret", "secret", ASYNCTRACE_SCHED_TARGETS, ASYNCTRACE_SESSION_FLAGS_REASONS);
	SO(id > 0);
	SO(!prctl(PR_SET_DUMPABLE, 0));
	leave_cpu(20);
	read_all(id, count_own, NULL, &after);
	/* The thread may have been preempted before it became undumpable. */
	SO(after.own >= 20 && after.own - after.reasons >= 20);
	return 0;
}

static void I6_user_sees_no_reason_if_undumpable(void)
{
	struct seen s = { 0 };
	int id;

	EXPECT_IS(raw_child(undumpable_of_a_user, NULL, NOBODY), 0);
	/* A session of root records the reasons of an undumpable process. */
	provide("secret");
	id = start("secret", "secret", ASYNCTRACE_SCHED_TARGETS, ASYNCTRACE_SESSION_FLAGS_REASONS);
	NEED(id > 0 && !prctl(PR_SET_DUMPABLE, 0));
	leave_cpu(20);
	read_all(id, count_own, NULL, &s);
	EXPECT(s.own >= 20);
	EXPECT_IS(s.reasons, s.own);
	NEED(!prctl(PR_SET_DUMPABLE, 1));
	end();
}

static const struct ktap_test tests[] = {
	KTAP_TEST(cell_is_given_once),
	KTAP_TEST(cells_of_ended_threads_come_back),
	KTAP_TEST(I2_mapping_of_cells_is_fixed),
	KTAP_TEST(forked_child_has_a_page_of_its_own),
	KTAP_TEST(switches_have_the_word_of_the_cell),
	KTAP_TEST(cell_given_late_is_read),
	KTAP_TEST(cell_has_the_cpu_time),
	KTAP_TEST(I5_random_words_name_no_other_process),
	KTAP_TEST(I6_user_sees_no_reason_of_others),
	KTAP_TEST(I6_user_sees_no_reason_if_undumpable),
};

KTAP_MAIN(tests)
