// SPDX-License-Identifier: GPL-2.0
/*
 * Every record that the composer got is in the file or counted, for each ring, wherever the file
 * ends: exactly the records in the file count as delivered
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "stream.h"

#define PROVIDERS	2
#define RINGS		3	/* of each provider; also the number of CPUs */

/* Records given to the composer, with malformed ones; provider 0: the kernel */
struct given {
	uint64_t records[PROVIDERS + 1][RINGS];
	uint64_t malformed[PROVIDERS + 1][RINGS];
};

/* Gives a chunk and adds its records to @g. Returns the result of the composer. */
static int hand_over(struct stream *s, struct given *g, uint32_t provider, uint32_t ring,
		     struct words *b, uint64_t malformed)
{
	struct asynctrace_chunk h = {
		.kind = provider ? ASYNCTRACE_CHUNK_EVENTS : ASYNCTRACE_CHUNK_SCHED,
		.provider = provider, .ring = ring, .bytes = b->nr * 8, .records = b->records,
	};
	int err = give(s, &h, b->w);

	g->records[provider][ring] += b->records;
	g->malformed[provider][ring] += malformed;
	b->nr = 0;
	b->records = 0;
	s->ticks += 10;
	return err;
}

static int hand_events(struct stream *s, struct given *g, struct words *b)
{
	uint32_t provider = 1 + rnd_below(PROVIDERS), ring = rnd_below(RINGS);
	unsigned int n = rnd_below(200);
	uint64_t malformed = 0;

	for (unsigned int i = 0; i < n; i++) {
		bool bad = rnd_chance(5);

		/* Sometimes put an event of a slot without a thread. */
		put_event(b, &(struct event){ ASYNCTRACE_FXT_INSTANT, s->ticks, bad ? 99 : 1,
			TXT("category"), TXT("n"), 0, rnd_below(2),
			{ ARG_STR(TXT("x"), TXT("some text to make it longer")) } });
		malformed += bad;
	}
	return hand_over(s, g, provider, ring, b, malformed);
}

static int hand_sched(struct stream *s, struct given *g, struct words *b)
{
	uint32_t cpu = rnd_below(RINGS);
	unsigned int n = rnd_below(100);

	for (unsigned int i = 0; i < n; i++, s->ticks++) {
		if (rnd_chance(30))
			put_wakeup(b, cpu, s->ticks, 100 + rnd_below(3), 0);
		else
			/* If a thread leaves that had not come, the composer infers a switch. */
			put_switch(b, cpu, s->ticks, 100 + rnd_below(3), 100 + rnd_below(3), 1);
	}
	return hand_over(s, g, 0, cpu, b, 0);
}

static void begin_session(struct stream *s, int fd)
{
	struct at_compose_options o = { .size = sizeof(o), .fd = fd };

	memset(s, 0, sizeof(*s));
	s->c = at_compose_new(&o);
	assert_non_null(s->c);
	s->ticks = 1000000;
	give_clock(s, ASYNCTRACE_MOMENT_START);
	for (int i = 1; i <= PROVIDERS; i++) {
		give_provider(s, i, 100 * i, 7, "p");
		give_thread(s, i, 1, 100 * i, 100 * i + 1, "t");
	}
}

/* Gives @chunks chunks. Returns the first error. */
static int hand_all(struct stream *s, struct given *g, int chunks)
{
	struct words b = { 0 };
	int first = 0;

	for (int i = 0; i < chunks; i++) {
		int err = rnd_chance(30) ? hand_sched(s, g, &b) : hand_events(s, g, &b);

		if (!first)
			first = err;
		else
			assert_int_equal(err, first);
	}
	words_free(&b);
	return first;
}

/* Counts the session's records in the file, by provider. */
static void count_file(const char *path, struct at_compose_counts n[PROVIDERS + 1])
{
	struct file f;

	memset(n, 0, (PROVIDERS + 1) * sizeof(*n));
	file_open(&f, path);
	while (file_next(&f)) {
		bool inferred = fxt_arg(&f.rec, "inferred");

		if (f.rec.kind == FXT_EVENT && f.rec.provider > 1)
			n[f.rec.provider - 1].events++;
		n[0].switches += f.rec.kind == FXT_SWITCH && !inferred;
		n[0].wakeups += f.rec.kind == FXT_WAKEUP;
	}
	file_close(&f);
}

/* Returns the number of records that were not written. */
static uint64_t assert_law(struct at_compose *c, const struct given *g, const char *path)
{
	const struct at_compose_stats *st = at_compose_stats(c);
	struct at_compose_counts file[PROVIDERS + 1];

	for (unsigned int p = 0; p <= PROVIDERS; p++) {
		for (unsigned int r = 0; r < RINGS; r++) {
			const struct at_compose_counts *n;

			if (!g->records[p][r])
				continue;
			n = ring_counts(c, p, r);
			assert_int_equal(n->delivered + n->malformed + n->unwritten,
					 g->records[p][r]);
			assert_int_equal(n->malformed, g->malformed[p][r]);
			assert_int_equal(n->delivered, n->events + n->switches + n->wakeups);
		}
	}
	st = at_compose_stats(c);
	count_file(path, file);
	for (unsigned int p = 0; p <= PROVIDERS; p++) {
		assert_int_equal(st->providers[p].counts.events, file[p].events);
		assert_int_equal(st->providers[p].counts.switches, file[p].switches);
		assert_int_equal(st->providers[p].counts.wakeups, file[p].wakeups);
	}
	return st->total.unwritten;
}

/* Makes a file in memory, which is removed when it is closed. */
static int new_file(char path[32])
{
	int fd = memfd_create("unwritten", MFD_CLOEXEC);

	assert_true(fd >= 0);
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

static void test_records_after_a_full_disk_are_counted(void **unused)
{
	struct rlimit old, limit;
	char path[32];
	int fd = new_file(path);

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	for (int i = 0; i < 60; i++) {
		struct given g = { 0 };
		struct stream s;

		assert_int_equal(ftruncate(fd, 0), 0);
		lseek(fd, 0, SEEK_SET);
		limit = old;
		limit.rlim_cur = 5000 + rnd_below(600000);
		begin_session(&s, fd);
		setrlimit(RLIMIT_FSIZE, &limit);
		assert_int_equal(hand_all(&s, &g, 250), -EFBIG);
		assert_int_equal(at_compose_finish(s.c), -EFBIG);
		setrlimit(RLIMIT_FSIZE, &old);
		assert_true(assert_law(s.c, &g, path) > 0);
		at_compose_free(s.c);
	}
	close(fd);
}

/* Records in the buffer do not count as delivered if the first write fails. */
static void test_pipe_without_reader_gets_nothing(void **unused)
{
	struct given g = { 0 };
	struct stream s;
	int fd[2];

	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	close(fd[0]);
	begin_session(&s, fd[1]);
	assert_int_equal(hand_all(&s, &g, 100), -EPIPE);
	assert_int_equal(at_compose_finish(s.c), -EPIPE);
	assert_int_equal(at_compose_stats(s.c)->total.delivered, 0);
	assert_true(at_compose_stats(s.c)->total.unwritten > 0);
	at_compose_free(s.c);
	close(fd[1]);
}

static void test_records_after_the_last_file_are_counted(void **unused)
{
	for (int i = 0; i < 10; i++) {
		struct given g = { 0 };
		uint64_t written, before;
		struct stream s;
		char path[32];
		int fd = new_file(path);

		begin_session(&s, fd);
		assert_int_equal(hand_all(&s, &g, 20), 0);
		assert_int_equal(at_compose_next(s.c, NULL), 0);
		written = at_compose_stats(s.c)->written;
		before = at_compose_stats(s.c)->total.delivered;
		assert_int_equal(assert_law(s.c, &g, path), 0);
		assert_int_equal(hand_all(&s, &g, 20), 0);
		/* A provider may join after the last file. */
		give_provider(&s, 3, 300, 7, "late");
		give_clock(&s, ASYNCTRACE_MOMENT_STOP);
		assert_int_equal(at_compose_finish(s.c), 0);
		assert_true(assert_law(s.c, &g, path) > 0);
		assert_int_equal(at_compose_stats(s.c)->written, written);
		assert_int_equal(at_compose_stats(s.c)->total.delivered, before);
		assert_int_equal(lseek(fd, 0, SEEK_END), written);
		at_compose_free(s.c);
		close(fd);
		}
}

/* The previous file is whole and its records count, although the next file cannot be written. */
static void test_earlier_files_stay_counted(void **unused)
{
	struct at_compose_options full = { .size = sizeof(full) };
	struct given g = { 0 };
	struct stream s;
	char path[32];
	int fd = new_file(path);

	full.fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	assert_true(full.fd >= 0);
	begin_session(&s, fd);
	assert_int_equal(hand_all(&s, &g, 100), 0);
	assert_int_equal(at_compose_next(s.c, &full), 0);
	assert_int_equal(hand_all(&s, &g, 100), -ENOSPC);
	assert_int_equal(at_compose_finish(s.c), -ENOSPC);
	assert_true(assert_law(s.c, &g, path) > 0);
	at_compose_free(s.c);
	close(full.fd);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records_after_a_full_disk_are_counted),
		cmocka_unit_test(test_pipe_without_reader_gets_nothing),
		cmocka_unit_test(test_records_after_the_last_file_are_counted),
		cmocka_unit_test(test_earlier_files_stay_counted),
	};

	test_random_init();
	return cmocka_run_group_tests_name("unwritten", tests, NULL, NULL);
}
