// SPDX-License-Identifier: GPL-2.0
/* Wherever writing stops, the file has whole records. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream.h"

/*
 * struct sink - a writer that fails
 * @got: the bytes written so far
 * @bytes: number of these bytes
 * @at_most: a write takes a random number of bytes up to this; 0: it takes all
 * @limit: number of bytes after which writes fail; 0: they never fail
 * @error: what a failing write returns
 * @whole: a write that does not fit into @limit takes nothing
 */
struct sink {
	struct words got;
	size_t bytes;
	size_t at_most, limit;
	int error;
	bool whole;
};

static ssize_t sink_write(void *arg, const void *buf, size_t len)
{
	struct sink *s = arg;
	size_t n = s->at_most ? 1 + rnd_below(s->at_most) : len;

	if (n > len)
		n = len;
	if (s->limit && s->bytes + n > s->limit)
		n = s->whole ? 0 : s->limit - s->bytes;
	if (!n)
		return s->error;
	words_add(&s->got, (s->bytes + n + 7) / 8 - s->got.nr);
	memcpy((char *)s->got.w + s->bytes, buf, n);
	s->bytes += n;
	return n;
}

static void fill(struct stream *s, int chunks)
{
	struct words b = { 0 };

	give_clock(s, ASYNCTRACE_MOMENT_START);
	give_provider(s, 1, 100, 7, "p");
	give_thread(s, 1, 1, 100, 101, "t");
	for (int i = 0; i < chunks; i++) {
		struct asynctrace_chunk h = { .kind = ASYNCTRACE_CHUNK_EVENTS, .provider = 1 };

		for (int k = 0; k < 100; k++)
			put_event(&b, &(struct event){ 0, s->ticks, 1, TXT("category"), TXT("n"), 0,
				1, { ARG_STR(TXT("x"), TXT("some text to make it longer")) } });
		h.bytes = b.nr * 8;
		h.records = b.records;
		b.nr = 0;
		b.records = 0;
		if (give(s, &h, b.w))
			break;
	}
	words_free(&b);
}

static void open_with(struct stream *s, const struct at_compose_options *o)
{
	memset(s, 0, sizeof(*s));
	s->c = at_compose_new(o);
	assert_non_null(s->c);
	s->ticks = 1000000;
}

static void test_short_writes_lose_nothing(void **unused)
{
	struct sink all = { 0 }, bits = { .at_most = 777 };
	struct sink *sinks[] = { &all, &bits };

	for (int i = 0; i < 2; i++) {
		struct at_compose_options o = {
			.size = sizeof(o), .fd = -1, .write = sink_write, .arg = sinks[i],
		};
		struct stream s;

		open_with(&s, &o);
		fill(&s, 200);
		assert_int_equal(at_compose_finish(s.c), 0);
		assert_int_equal(at_compose_stats(s.c)->written, sinks[i]->bytes);
		at_compose_free(s.c);
	}
	assert_int_equal(all.bytes, bits.bytes);
	assert_memory_equal(all.got.w, bits.got.w, all.bytes);
	words_free(&all.got);
	words_free(&bits.got);
}

/* The first error is returned by every later call. */
static void test_errors_stay(void **unused)
{
	static const int errors[] = { -ENOSPC, -EIO, -EPIPE, 0 };

	for (int i = 0; i < 4; i++) {
		struct sink sink = { .limit = 300000 + rnd_below(1000), .error = errors[i] };
		struct at_compose_options o = {
			.size = sizeof(o), .fd = -1, .write = sink_write, .arg = &sink,
		};
		struct asynctrace_chunk h = { .kind = 4711 };
		int want = errors[i] ? errors[i] : -EIO;
		struct stream s;

		open_with(&s, &o);
		fill(&s, 1000);
		assert_int_equal(give(&s, &h, NULL), want);
		assert_int_equal(at_compose_flush(s.c), want);
		assert_int_equal(at_compose_finish(s.c), want);
		assert_true(at_compose_stats(s.c)->written <= sink.bytes);
		at_compose_free(s.c);
		words_free(&sink.got);
	}
}

/* A file system may refuse a whole write that does not fit, as ext4 does with large folios. */
static void test_full_disk_gets_what_fits(void **unused)
{
	static const int errors[] = { -ENOSPC, -EDQUOT };

	for (int i = 0; i < 60; i++) {
		const size_t limit = 8000 + rnd_below(300000);
		struct sink sink = { .limit = limit, .error = errors[i % 2], .whole = true };
		struct at_compose_options o = {
			.size = sizeof(o), .fd = -1, .write = sink_write, .arg = &sink,
		};
		struct stream s;

		open_with(&s, &o);
		fill(&s, 1000);
		assert_int_equal(at_compose_finish(s.c), errors[i % 2]);
		assert_int_equal(at_compose_stats(s.c)->written, sink.bytes);
		assert_in_range(sink.bytes, limit - 4096, limit);
		at_compose_free(s.c);
		words_free(&sink.got);
	}
}

static void assert_whole(const char *path, const struct stream *s)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size > 0 && st.st_size % 8 == 0);
	assert_int_equal(at_compose_stats(s->c)->written, st.st_size);
	assert_clean(path, FXT_RULE_NO_END, -1);
	assert_int_equal(findings(path, FXT_RULE_NO_END), 1);
}

/* The file may not grow further: EFBIG amid records, at many positions */
static void test_a_file_is_cut_at_a_record(void **unused)
{
	struct rlimit old, limit;
	char path[] = "/tmp/asynctrace-out-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);

	assert_true(fd >= 0);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	for (int i = 0; i < 60; i++) {
		struct at_compose_options o = { .size = sizeof(o), .fd = fd };
		struct stream s;

		limit = old;
		limit.rlim_cur = 200000 + rnd_below(1000000);
		assert_int_equal(ftruncate(fd, 0), 0);
		lseek(fd, 0, SEEK_SET);
		open_with(&s, &o);
		setrlimit(RLIMIT_FSIZE, &limit);
		fill(&s, 1000);
		assert_int_equal(at_compose_finish(s.c), -EFBIG);
		setrlimit(RLIMIT_FSIZE, &old);
		assert_whole(path, &s);
		at_compose_free(s.c);
	}
	close(fd);
	unlink(path);
}

/* A full file system of 512 KiB */
static void test_a_full_disk(void **unused)
{
	char dir[] = "/tmp/asynctrace-full-XXXXXX", path[64];
	struct at_compose_options o = { .size = sizeof(o) };
	struct stream s;

	assert_non_null(mkdtemp(dir));
	if (mount("none", dir, "tmpfs", 0, "size=512k")) {
		print_message("cannot mount a tmpfs: %s\n", strerror(errno));
		rmdir(dir);
		skip();
	}
	snprintf(path, sizeof(path), "%s/trace.fxt", dir);
	o.fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	assert_true(o.fd >= 0);
	open_with(&s, &o);
	fill(&s, 1000);
	assert_int_equal(at_compose_finish(s.c), -ENOSPC);
	assert_whole(path, &s);
	at_compose_free(s.c);
	close(o.fd);
	umount(dir);
	rmdir(dir);
}

static void test_dev_full(void **unused)
{
	struct at_compose_options o = { .size = sizeof(o) };
	struct stream s;

	o.fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	assert_true(o.fd >= 0);
	open_with(&s, &o);
	fill(&s, 1000);
	assert_int_equal(at_compose_finish(s.c), -ENOSPC);
	assert_int_equal(at_compose_stats(s.c)->written, 0);
	at_compose_free(s.c);
	close(o.fd);
}

/* The reader of a pipe has closed it. */
static void test_a_closed_pipe(void **unused)
{
	struct at_compose_options o = { .size = sizeof(o) };
	struct stream s;
	int fd[2];

	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	close(fd[0]);
	o.fd = fd[1];
	open_with(&s, &o);
	fill(&s, 1000);
	assert_int_equal(at_compose_finish(s.c), -EPIPE);
	at_compose_free(s.c);
	close(fd[1]);
}

static void *drain(void *arg)
{
	size_t *bytes = arg;
	char buf[3000];
	ssize_t n;

	while ((n = read(*bytes, buf, sizeof(buf))) > 0)
		bytes[1] += n;
	return NULL;
}

/* The pipe is full for most of the time, and its write end does not block. */
static void test_a_slow_reader(void **unused)
{
	struct at_compose_options o = { .size = sizeof(o) };
	size_t reader[2] = { 0 };
	struct stream s;
	pthread_t t;
	int fd[2];

	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	fcntl(fd[1], F_SETFL, O_NONBLOCK);
	reader[0] = fd[0];
	o.fd = fd[1];
	assert_int_equal(pthread_create(&t, NULL, drain, reader), 0);
	open_with(&s, &o);
	fill(&s, 300);
	assert_int_equal(at_compose_finish(s.c), 0);
	close(fd[1]);
	pthread_join(t, NULL);
	assert_int_equal(reader[1], at_compose_stats(s.c)->written);
	at_compose_free(s.c);
	close(fd[0]);
}

/*
 * A kill can cut only the last write(2). The file before it is whole if each write(2) has whole
 * records. A packet socket keeps the writes apart.
 */
static void test_each_write_holds_whole_records(void **unused)
{
	struct at_compose_options o = { .size = sizeof(o), .buffer = 64 * 1024 };
	static uint64_t packet[64 * 1024];
	unsigned int packets = 0;
	size_t bytes = 0;
	struct stream s;
	int fd[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd), 0);
	o.fd = fd[1];
	open_with(&s, &o);
	for (int i = 0; i < 200; i++) {
		ssize_t n;

		fill(&s, 1);
		if (i == 199)
			assert_int_equal(at_compose_finish(s.c), 0);
		else if (rnd_chance(20))
			assert_int_equal(at_compose_flush(s.c), 0);
		while ((n = recv(fd[0], packet, sizeof(packet), MSG_DONTWAIT)) > 0) {
			size_t words = n / 8, at = 0;

			assert_int_equal(n % 8, 0);
			while (at < words && ASYNCTRACE_FXT_WORDS(packet[at]))
				at += ASYNCTRACE_FXT_WORDS(packet[at]);
			assert_int_equal(at, words);
			bytes += n;
			packets++;
		}
	}
	assert_true(packets > 20);
	assert_int_equal(bytes, at_compose_stats(s.c)->written);
	at_compose_free(s.c);
	close(fd[0]);
	close(fd[1]);
}

static void test_wrong_options(void **unused)
{
	struct at_compose_options o = { .size = 4, .fd = 1 };

	assert_null(at_compose_new(NULL));
	assert_null(at_compose_new(&o));
	assert_int_equal(errno, EINVAL);
	o.size = sizeof(o);
	o.fd = -1;
	assert_null(at_compose_new(&o));
	at_compose_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short_writes_lose_nothing),
		cmocka_unit_test(test_errors_stay),
		cmocka_unit_test(test_a_file_is_cut_at_a_record),
		cmocka_unit_test(test_full_disk_gets_what_fits),
		cmocka_unit_test(test_a_full_disk),
		cmocka_unit_test(test_dev_full),
		cmocka_unit_test(test_a_closed_pipe),
		cmocka_unit_test(test_a_slow_reader),
		cmocka_unit_test(test_each_write_holds_whole_records),
		cmocka_unit_test(test_wrong_options),
	};

	test_random_init();
	return cmocka_run_group_tests_name("output", tests, NULL, NULL);
}
