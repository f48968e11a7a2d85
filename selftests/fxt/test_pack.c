// SPDX-License-Identifier: GPL-2.0
/*
 * One stream of chunks to a plain file and to compressed ones: unpacked, they are equal, also
 * in pieces by --rotate. A full disk loses whole frames, and each lost record is counted.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream.h"
#include "../../tools/record/trace_out.h"

#define EVENTS	200000
#define BATCH	500

static const char *const ends[] = { ".gz", ".zst" };
static char dir[] = "/tmp/test_pack.XXXXXX";

static int make_dir(void **state)
{
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	return rmdir(dir);
}

static const char *path_of(const char *name, const char *end)
{
	static char paths[4][64];
	static unsigned int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s%s", dir, name, end);
	return path;
}

static struct trace_out out_to(const char *path)
{
	return (struct trace_out){
		.path = path, .fd = -1, .wait_fd = -1, .ends = "the test ends",
	};
}

/* After a failure, the composer counts records as unwritten: that is no error of the test. */
static int take(void *arg, const struct asynctrace_chunk *h, const void *payload)
{
	struct trace_out *o = arg;

	trace_out_check(o, at_compose_chunk(o->compose, h, payload));
	return 0;
}

/* Writes events with pseudo-random numbers, the same for the same @seed. */
static void write_events(struct trace_out *o, uint64_t seed, unsigned int nr)
{
	struct stream s = { .c = o->compose, .ticks = 1000000, .take = take, .arg = o };
	struct words b = { 0 };

	give_clock(&s, ASYNCTRACE_MOMENT_START);
	give_provider(&s, 1, 100, 7, "p");
	give_thread(&s, 1, 1, 100, 101, "t");
	for (unsigned int i = 0; i < nr; i += BATCH) {
		for (unsigned int j = 0; j < BATCH; j++) {
			seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
			put_event(&b, &(struct event){ ASYNCTRACE_FXT_INSTANT, s.ticks++, 1,
				TXT("category"), TXT("name"), 0, 1,
				{ ARG_U64(TXT("n"), seed >> 40) } });
		}
		give_events(&s, 1, 0, &b);
		if (o->numbered && i % (20 * BATCH) == 0)
			assert_int_equal(trace_out_rotate(o), 0);
	}
	words_free(&b);
}

/* Returns the file's size, unpacked, and its bytes in @buf. @complete: it does not end early. */
static size_t unpack(const char *path, char **buf, bool *complete)
{
	int err;
	struct fxt_input *in = fxt_input_open(path, &err);
	size_t size = 32 << 20, got;

	assert_non_null(in);
	*buf = malloc(size);
	got = fxt_input_read(in, *buf, size);
	assert_true(got < size);
	*complete = !fxt_input_end(in);
	fxt_input_close(in);
	return got;
}

static uint64_t size_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

static void write_file(const char *path, uint64_t seed, uint64_t *stored)
{
	struct trace_out o = out_to(path);

	assert_int_equal(trace_out_open(&o), 0);
	write_events(&o, seed, EVENTS);
	assert_int_equal(trace_out_finish(&o, false), 0);
	*stored = trace_out_stored(&o);
	assert_int_equal(*stored, size_of(path));
	trace_out_free(&o);
}

static void packed_file_equals_the_plain_one(void **state)
{
	const char *plain = path_of("plain.fxt", "");
	const uint64_t seed = rnd();
	uint64_t stored, small;
	char *whole, *again;
	bool complete;
	size_t size;

	write_file(plain, seed, &stored);
	size = unpack(plain, &whole, &complete);
	assert_int_equal(size, stored);
	for (int i = 0; i < 2; i++) {
		const char *path = path_of("t.fxt", ends[i]);

		write_file(path, seed, &small);
		assert_true(small < stored / 2);
		assert_int_equal(unpack(path, &again, &complete), size);
		assert_true(complete);
		assert_memory_equal(again, whole, size);
		free(again);
		unlink(path);
	}
	free(whole);
	unlink(plain);
}

static void rotated_files_are_packed_one_by_one(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct trace_out o = out_to(path_of("r.fxt", ends[i]));
		uint64_t total = 0, stored = 0;

		o.numbered = true;
		assert_int_equal(trace_out_open(&o), 0);
		write_events(&o, rnd(), EVENTS);
		assert_int_equal(trace_out_finish(&o, false), 0);
		assert_true(o.number > 5);
		for (unsigned int n = 0; n <= o.number; n++) {
			char name[32], *bytes;
			const char *path;
			bool complete;

			snprintf(name, sizeof(name), "r.%u.fxt", n);
			path = path_of(name, ends[i]);
			assert_clean(path, -1);
			total += unpack(path, &bytes, &complete);
			assert_true(complete);
			stored += size_of(path);
			free(bytes);
			unlink(path);
		}
		assert_int_equal(total, trace_out_unpacked(&o));
		assert_int_equal(stored, trace_out_stored(&o));
		trace_out_free(&o);
	}
}

/* Counts the events of the provider in a file. */
static uint64_t events_in(const char *path)
{
	uint64_t nr = 0;
	struct file f;

	file_open(&f, path);
	while (file_event(&f, 2))
		nr++;
	fxt_close(f.r);
	return nr;
}

static void full_disk_loses_whole_frames(void **state)
{
	struct rlimit limit, before;

	getrlimit(RLIMIT_FSIZE, &before);
	signal(SIGXFSZ, SIG_IGN);
	for (int i = 0; i < 2; i++) {
		const char *path = path_of("full.fxt", ends[i]);
		struct trace_out o = out_to(path);
		const struct at_compose_stats *st;
		bool complete;
		char *bytes;

		limit = (struct rlimit){ 300000 + rnd_below(10000), before.rlim_max };
		assert_int_equal(trace_out_open(&o), 0);
		setrlimit(RLIMIT_FSIZE, &limit);
		write_events(&o, rnd(), EVENTS);
		trace_out_finish(&o, false);
		setrlimit(RLIMIT_FSIZE, &before);
		st = at_compose_stats(o.compose);
		assert_true(st->total.unwritten > 0 && st->total.delivered > 0);
		assert_int_equal(st->total.unwritten + st->total.delivered, EVENTS);
		assert_int_equal(size_of(path), trace_out_stored(&o));
		assert_int_equal(unpack(path, &bytes, &complete), trace_out_unpacked(&o));
		assert_true(complete);
		assert_int_equal(events_in(path), st->total.delivered);
		free(bytes);
		trace_out_free(&o);
		unlink(path);
	}
}

/* If a recorder is killed, only the last frame of its file may be incomplete. */
static void killed_recorder_leaves_whole_frames(void **state)
{
	for (int i = 0; i < 2; i++) {
		const char *path = path_of("killed.fxt", ends[i]);
		struct trace_out o = out_to(path);
		bool complete;
		char *bytes;
		size_t size;

		assert_int_equal(trace_out_open(&o), 0);
		write_events(&o, rnd(), EVENTS);
		assert_int_equal(trace_out_flush(&o), 0);
		size = unpack(path, &bytes, &complete);
		assert_true(complete);
		assert_int_equal(size, at_compose_written(o.compose));
		free(bytes);
		/* Cut the file as a kill in the middle of a write does. */
		assert_int_equal(truncate(path, size_of(path) - 1 - rnd_below(20)), 0);
		/* The file may still have all records, if the cut is within the last checksum. */
		assert_true(unpack(path, &bytes, &complete) <= size);
		assert_false(complete);
		assert_true(events_in(path) > 0);
		free(bytes);
		trace_out_finish(&o, false);
		trace_out_free(&o);
		unlink(path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packed_file_equals_the_plain_one),
		cmocka_unit_test(rotated_files_are_packed_one_by_one),
		cmocka_unit_test(full_disk_loses_whole_frames),
		cmocka_unit_test(killed_recorder_leaves_whole_frames),
	};

	test_random_init();
	return cmocka_run_group_tests_name("pack", tests, make_dir, remove_dir);
}
