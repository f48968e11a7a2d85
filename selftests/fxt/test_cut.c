// SPDX-License-Identifier: GPL-2.0
/*
 * A recorder that is killed leaves a file that may end anywhere. Readers must return each whole
 * record, say that the end is missing, and find no other fault.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "stream.h"

#define RECORDS_MAX	4096

/* Bytes between the tested lengths. Under ASan opening a file is ten times slower. */
#ifdef __SANITIZE_ADDRESS__
#define STEP	7
#else
#define STEP	1
#endif

struct whole {
	struct stream s;
	size_t size;
	unsigned char *bytes;
	size_t nr;			/* records */
	size_t end[RECORDS_MAX];	/* of each record, bytes */
	size_t named;			/* records up to the name of the writer */
};

static void put(struct words *b, unsigned int type, uint64_t at, uint64_t slot, uint64_t extra)
{
	put_event(b, &(struct event){ type, at, slot, IDX(1), IDX(2), extra, 1,
				      { ARG_U64(TXT("inline"), extra) } });
}

/*
 * Makes a session with everything that a missing end can hide: operations and flows whose begin is
 * in a later chunk than their end, durations, a thread that is named at the end of the file, and
 * losses.
 */
static void compose(struct stream *s)
{
	struct words a = { 0 }, b = { 0 }, sched = { 0 };
	uint64_t t;

	stream_simple(s);
	give_thread(s, 1, 2, 100, 102, "second");
	give_name(s, 100, 101, "worker");
	give_name(s, 100, 102, "second");
	for (uint64_t i = 1; i <= 4; i++) {
		t = s->ticks;
		put(&a, ASYNCTRACE_FXT_ASYNC_BEGIN, t, 1, i);
		put(&a, ASYNCTRACE_FXT_FLOW_BEGIN, t + 2, 1, i);
		put(&a, ASYNCTRACE_FXT_DURATION, t + 1, 1, t + 9);
		put(&a, ASYNCTRACE_FXT_DURATION_BEGIN, t + 10, 1, 0);
		put(&b, ASYNCTRACE_FXT_DURATION_BEGIN, t + 11, 2, 0);
		put(&b, ASYNCTRACE_FXT_FLOW_END, t + 12, 2, i);
		put(&b, ASYNCTRACE_FXT_ASYNC_END, t + 13, 2, i);
		put(&b, ASYNCTRACE_FXT_DURATION_END, t + 14, 2, 0);
		put(&a, ASYNCTRACE_FXT_DURATION_END, t + 15, 1, 0);
		put_wakeup(&sched, 0, t, 101, 0);
		put_switch(&sched, 0, t + 1, 0, 101, 0);
		put_switch(&sched, 0, t + 2, 101, 102, 0);
		put_switch(&sched, 0, t + 3, 102, i == 3 ? 777 : 0, 0);
		if (i == 3)
			put_switch(&sched, 0, t + 4, 777, 0, 0);
		s->ticks += 1000;
		/* Rings are read one after the other: an end may come before its begin. */
		if (i % 2 == 0) {
			give_events(s, 1, 1, &b);
			give_events(s, 1, 0, &a);
			give_sched(s, 0, &sched);
			if (i == 2) {
				lose(s, 1, 0, 3, 4);
				give_name(s, 100, 101, "renamed");
			}
		}
	}
	give_clock(s, ASYNCTRACE_MOMENT_STOP);
	stream_finish(s);
	words_free(&a);
	words_free(&b);
	words_free(&sched);
}

static void whole_open(struct whole *w)
{
	struct file f;

	memset(w, 0, sizeof(*w));
	compose(&w->s);
	assert_clean(w->s.path, -1);
	w->size = lseek(w->s.fd, 0, SEEK_END);
	w->bytes = malloc(w->size);
	assert_int_equal(pread(w->s.fd, w->bytes, w->size, 0), (ssize_t)w->size);
	for (file_open(&f, w->s.path); file_next(&f);) {
		assert_true(w->nr < RECORDS_MAX);
		w->end[w->nr++] = f.rec.offset + f.rec.words * 8;
		if (f.rec.kind == FXT_PROVIDER_INFO && !w->named)
			w->named = w->nr;
	}
	file_close(&f);
	assert_int_equal(w->end[w->nr - 1], w->size);
	assert_true(w->named && w->nr > 60);
}

static void whole_close(struct whole *w)
{
	free(w->bytes);
	stream_close(&w->s);
}

struct end {
	unsigned int cut, missing, packed, others;
};

static void on_end(void *arg, enum fxt_rule rule, uint64_t offset, const char *detail)
{
	struct end *e = arg;

	e->cut += rule == FXT_RULE_TRUNCATED;
	e->missing += rule == FXT_RULE_NO_END;
	e->packed += rule == FXT_RULE_PACKED;
	e->others += rule != FXT_RULE_TRUNCATED && rule != FXT_RULE_NO_END &&
		     rule != FXT_RULE_PACKED;
}

/* Reads the file to its end. Returns the number of records. */
static size_t read_all(const char *path, struct end *e)
{
	struct fxt_record rec;
	struct fxt_reader *r;
	size_t n = 0;
	int err;

	memset(e, 0, sizeof(*e));
	r = fxt_open(path, &err);
	if (!r)
		fail_msg("%s: %s", path, fxt_error_text(err));
	fxt_on_breach(r, on_end, e);
	while ((err = fxt_next(r, &rec)) > 0)
		n++;
	assert_int_equal(err, 0);
	/* The end is reported only once. */
	assert_int_equal(fxt_next(r, &rec), 0);
	fxt_close(r);
	return n;
}

/* The file may break only rules that a missing end excuses. */
static void assert_clean_so_far(const char *path, bool incomplete)
{
	struct fxt_check *c = fxt_check_new(0);
	struct fxt_reader *r;
	int err;

	assert_non_null(c);
	r = fxt_open(path, &err);
	assert_non_null(r);
	assert_int_equal(fxt_check_all(c, r), 0);
	assert_int_equal(fxt_is_incomplete(c), incomplete);
	for (int i = 0; i < FXT_RULE_COUNT; i++)
		if (fxt_findings(c)[i].count && !fxt_excused(c, i, false))
			fail_msg("%s: %s", fxt_rules[i].name, fxt_findings(c)[i].detail);
	fxt_close(r);
	fxt_check_free(c);
}

static void test_every_prefix_shows_its_whole_records(void **unused)
{
	struct whole w;
	size_t whole, nr;
	struct end e;

	whole_open(&w);
	nr = w.nr;
	for (size_t size = w.size; size; size -= size < STEP ? size : STEP) {
		assert_int_equal(ftruncate(w.s.fd, size), 0);
		while (nr && w.end[nr - 1] > size)
			nr--;
		whole = nr ? w.end[nr - 1] : 0;
		assert_int_equal(read_all(w.s.path, &e), nr);
		assert_int_equal(e.others, 0);
		assert_int_equal(e.cut, size != whole);
		assert_int_equal(e.missing, size == whole && nr >= w.named && nr < w.nr);
	}
	whole_close(&w);
}

static void test_every_prefix_is_clean_so_far(void **unused)
{
	struct whole w;
	size_t nr;

	whole_open(&w);
	nr = w.nr;
	/* A file that has only the magic may be of another writer. */
	for (size_t size = w.size; size >= w.end[w.named - 1]; size--) {
		while (nr && w.end[nr - 1] > size)
			nr--;
		/* Test a cut after each record, and one cut within it. */
		if (size != w.end[nr - 1] && size != w.end[nr] - 3)
			continue;
		assert_int_equal(ftruncate(w.s.fd, size), 0);
		assert_clean_so_far(w.s.path, nr < w.nr);
	}
	whole_close(&w);
}

static void test_unstarted_session_is_complete(void **unused)
{
	struct stream s;

	stream_open(&s);
	give_provider(&s, 1, 100, 7, "idle");
	stream_finish(&s);
	assert_clean_so_far(s.path, false);
	stream_close(&s);
}

static int new_file(char path[32])
{
	int fd = memfd_create("cut", MFD_CLOEXEC);

	assert_true(fd >= 0);
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

static void test_an_empty_file_and_noise_are_no_traces(void **unused)
{
	static const struct {
		const char *bytes;
		size_t size;
		int error;
	} files[] = {
		{ "", 0, -ENODATA }, { "x", 1, -EILSEQ }, { "\x10\x00\x04\x47", 4, -EILSEQ },
		{ "not a trace", 11, -EILSEQ },
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char path[32];
		int fd = new_file(path), err = 0;

		assert_int_equal(write(fd, files[i].bytes, files[i].size), (ssize_t)files[i].size);
		assert_null(fxt_open(path, &err));
		assert_int_equal(err, files[i].error);
		close(fd);
	}
}

static size_t pack_gzip(const struct whole *w, unsigned char *to, size_t room)
{
	z_stream z = {
		.next_in = w->bytes, .avail_in = w->size, .next_out = to, .avail_out = room,
	};

	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	return room - z.avail_out;
}

/* One frame of many blocks: a block is unpacked as a whole or not at all. */
static size_t pack_zstd(const struct whole *w, unsigned char *to, size_t room)
{
	ZSTD_outBuffer out = { to, room, 0 };
	ZSTD_CCtx *c = ZSTD_createCCtx();

	assert_non_null(c);
	for (size_t at = 0; at < w->size;) {
		size_t n = w->size - at < 500 ? w->size - at : 500;
		ZSTD_inBuffer in = { w->bytes + at, n, 0 };

		at += n;
		assert_int_equal(ZSTD_compressStream2(c, &out, &in, at < w->size ? ZSTD_e_flush :
						      ZSTD_e_end), 0);
	}
	ZSTD_freeCCtx(c);
	return out.pos;
}

/* @head: bytes that identify the compression */
static void every_packed_prefix(size_t (*pack)(const struct whole *, unsigned char *, size_t),
				size_t head)
{
	struct whole w;
	unsigned char *packed;
	size_t size, nr = 0, most = 0;
	char path[32];
	struct end e;
	int fd = new_file(path);

	whole_open(&w);
	packed = malloc(2 * w.size);
	size = pack(&w, packed, 2 * w.size);
	assert_int_equal(write(fd, packed, size), (ssize_t)size);
	assert_int_equal(read_all(path, &e), w.nr);
	assert_int_equal(e.cut + e.missing + e.others, 0);
	for (size_t cut = 1; cut + head <= size; cut += STEP) {
		assert_int_equal(ftruncate(fd, size - cut), 0);
		nr = read_all(path, &e);
		assert_true(nr <= w.nr);
		most = nr > most ? nr : most;
		assert_int_equal(e.cut, 1);
		assert_int_equal(e.missing + e.others, 0);
	}
	/* Records that were unpacked before the cut are returned. */
	assert_true(most > w.nr * 3 / 4);
	free(packed);
	whole_close(&w);
	close(fd);
}

static void test_every_prefix_of_gzip_is_cut(void **unused)
{
	every_packed_prefix(pack_gzip, 2);
}

static void test_every_prefix_of_zstd_is_cut(void **unused)
{
	every_packed_prefix(pack_zstd, 4);
}

/* A gzip file of two members, of which the second is damaged: the first must be read. */
static void test_records_before_damage_are_read(void **unused)
{
	unsigned char *packed;
	struct whole w;
	char path[32];
	size_t size;
	struct end e;
	int fd = new_file(path);

	whole_open(&w);
	packed = malloc(2 * w.size);
	size = pack_gzip(&w, packed, 2 * w.size);
	assert_int_equal(write(fd, packed, size), (ssize_t)size);
	assert_int_equal(write(fd, "\x1f\x8b damaged", 10), 10);
	assert_int_equal(read_all(path, &e), w.nr);
	assert_int_equal(e.packed, 1);
	assert_int_equal(e.cut + e.missing + e.others, 0);
	free(packed);
	whole_close(&w);
	close(fd);
}

/* The records of blocks before the damage are read, although one read(2) returns them all. */
static void damage_at_the_end(size_t (*pack)(const struct whole *, unsigned char *, size_t))
{
	unsigned char *packed;
	struct whole w;
	char path[32];
	size_t size, nr;
	struct end e;
	int fd = new_file(path);

	whole_open(&w);
	packed = malloc(2 * w.size);
	size = pack(&w, packed, 2 * w.size);
	memset(packed + size - 40, 0xff, 40);
	assert_int_equal(write(fd, packed, size), (ssize_t)size);
	nr = read_all(path, &e);
	assert_true(nr > w.nr / 2);
	assert_int_equal(e.packed, 1);
	assert_int_equal(e.cut + e.missing, 0);
	free(packed);
	whole_close(&w);
	close(fd);
}

static void test_gzip_before_damage_is_read(void **unused)
{
	damage_at_the_end(pack_gzip);
}

static void test_zstd_before_damage_is_read(void **unused)
{
	damage_at_the_end(pack_zstd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_prefix_shows_its_whole_records),
		cmocka_unit_test(test_every_prefix_is_clean_so_far),
		cmocka_unit_test(test_unstarted_session_is_complete),
		cmocka_unit_test(test_an_empty_file_and_noise_are_no_traces),
		cmocka_unit_test(test_every_prefix_of_gzip_is_cut),
		cmocka_unit_test(test_every_prefix_of_zstd_is_cut),
		cmocka_unit_test(test_records_before_damage_are_read),
		cmocka_unit_test(test_gzip_before_damage_is_read),
		cmocka_unit_test(test_zstd_before_damage_is_read),
	};

	test_random_init();
	return cmocka_run_group_tests_name("cut", tests, NULL, NULL);
}
