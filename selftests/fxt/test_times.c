// SPDX-License-Identifier: GPL-2.0
/*
 * CPU times in the files of a recorder: in each file of a series they equal the model, and each
 * record of each ring is counted once, also if writing fails
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cputime/cputime.h"
#include "times.h"
#include "../../tools/record/trace_out.h"

#define ROTATE	150000

static char directory[] = "/tmp/times.XXXXXX";

static int take_chunk(void *arg, const struct asynctrace_chunk *h, const void *payload)
{
	char chunk[sizeof(*h) + 65536];

	assert_true(h->bytes <= 65536);
	memcpy(chunk, h, sizeof(*h));
	if (h->bytes)
		memcpy(chunk + sizeof(*h), payload, h->bytes);
	trace_out_chunk(arg, chunk, sizeof(*h) + h->bytes);
	return 0;
}

/* Number of rounds between two calls of trace_out_settle(), in which several files may begin */
static int period = 1;

/* A recorder knows only that it has read all records from before the present round. */
static void settle(struct times *m, int round)
{
	if (round && round % period == 0)
		trace_out_settle(m->s.arg, m->rounds[round - 1]);
}

static struct trace_out series(const char *name, uint64_t rotate)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return (struct trace_out){
		.path = path, .fd = -1, .wait_fd = -1, .ends = "the test ends",
		.cpu_time = true, .rotate = rotate, .numbered = rotate,
	};
}

static void record(struct trace_out *o, struct times *m, bool losing)
{
	*m = (struct times){ .round = settle };
	assert_int_equal(trace_out_open(o), 0);
	m->s.ticks = 1000000;
	m->s.c = o->compose;
	m->s.take = take_chunk;
	m->s.arg = o;
	times_run(m, losing);
	trace_out_finish(o, false);
	times_free(m);
}

/* Path of the file with this number, or of the only file */
static const char *path_of(const struct trace_out *o, unsigned int number)
{
	static char path[128];

	if (!o->numbered)
		return o->path;
	snprintf(path, sizeof(path), "%.*s.%u.fxt%s", (int)(strstr(o->path, ".fxt") - o->path),
		 o->path, number, strstr(o->path, ".fxt") + 4);
	return path;
}

/* Removes the files. Returns their number. */
static unsigned int clean_up(void)
{
	DIR *dir = opendir(directory);
	unsigned int nr = 0;

	assert_non_null(dir);
	for (struct dirent *d; (d = readdir(dir));)
		if (*d->d_name != '.' && !unlinkat(dirfd(dir), d->d_name, 0))
			nr++;
	closedir(dir);
	return nr;
}

/* Counts records of rings in the files. */
static uint64_t records_in(const struct trace_out *o)
{
	uint64_t nr = 0;
	struct file f;

	for (unsigned int i = 0; i <= o->number; i++) {
		if (access(path_of(o, i), F_OK))
			continue;
		for (file_open(&f, path_of(o, i)); file_next(&f);)
			nr += (f.rec.kind == FXT_EVENT && f.rec.provider > 1) ||
			      f.rec.kind == FXT_WAKEUP ||
			      (f.rec.kind == FXT_SWITCH && !fxt_arg(&f.rec, "inferred"));
		file_close(&f);
	}
	return nr;
}

/*
 * Durations may begin before the file or end after it. The last file may be so short that a thread
 * with events is not switched in it.
 */
static void assert_valid(const char *path)
{
	assert_clean(path, FXT_RULE_DURATION_OPEN, FXT_RULE_DURATION_ORPHAN, FXT_RULE_OVERLAP,
		     FXT_RULE_UNSCHEDULED, -1);
}

static void each_file_of_a_series_has_times(void **unused)
{
	static const char *const names[] = { "a.fxt", "a.fxt.zst" };
	static struct times m;

	for (int i = 0; i < 12; i++) {
		struct trace_out o = series(names[i % 2], ROTATE);
		struct times_seen seen = { 0 };
		struct stat st;

		period = 1 + rnd_below(2 * TIMES_ROUNDS);
		record(&o, &m, i > 5);
		/* Compressed records fill fewer files. */
		assert_true(o.number >= (i % 2 ? 1 : 3));
		for (unsigned int file = 0; file <= o.number; file++) {
			assert_int_equal(stat(path_of(&o, file), &st), 0);
			assert_true(st.st_size <= ROTATE);
			assert_valid(path_of(&o, file));
			times_compare(&m, path_of(&o, file), &seen);
		}
		assert_int_equal(seen.durations, m.durations);
		assert_int_equal(seen.known, cputime_known(o.cputime));
		assert_true(i > 5 ? seen.known < m.durations : seen.known == m.durations);
		assert_int_equal(records_in(&o), at_compose_stats(o.compose)->total.delivered);
		trace_out_free(&o);
		clean_up();
	}
}

static void series_keeps_the_last_files(void **unused)
{
	struct trace_out o = series("a.fxt", ROTATE);
	static struct times m;

	o.keep = 2;
	record(&o, &m, false);
	assert_true(o.number >= 3);
	assert_int_equal(access(path_of(&o, o.number), F_OK), 0);
	assert_int_equal(access(path_of(&o, o.number - 1), F_OK), 0);
	assert_int_equal(clean_up(), 2);
	trace_out_free(&o);
}

/* Each record of each ring is in a file or counts as unwritten. */
static void assert_counted(const struct trace_out *o, const struct times *m)
{
	const struct at_compose_stats *st = at_compose_stats(o->compose);

	assert_true(st->total.unwritten > 0);
	assert_int_equal(records_in(o), st->total.delivered);
	for (size_t i = 0; i < st->nr_rings; i++) {
		const struct at_compose_counts *c = &st->rings[i].counts;

		assert_int_equal(c->delivered, c->events + c->switches + c->wakeups);
		assert_int_equal(c->delivered + c->unwritten,
				 m->s.rings[st->rings[i].provider][st->rings[i].ring].delivered);
	}
}

static void full_disk_leaves_whole_records_counted(void **unused)
{
	struct rlimit before, limit;
	static struct times m;

	getrlimit(RLIMIT_FSIZE, &before);
	signal(SIGXFSZ, SIG_IGN);
	for (int i = 0; i < 20; i++) {
		struct trace_out o = series("a.fxt", i % 2 ? ROTATE : 0);
		struct stat st;

		limit = before;
		limit.rlim_cur = 1000 + rnd_below(ROTATE / 2);
		setrlimit(RLIMIT_FSIZE, &limit);
		record(&o, &m, false);
		setrlimit(RLIMIT_FSIZE, &before);
		assert_true(o.failed);
		assert_counted(&o, &m);
		assert_int_equal(stat(path_of(&o, o.number), &st), 0);
		assert_int_equal(st.st_size, cputime_written(o.cputime));
		trace_out_free(&o);
		clean_up();
	}
}

static void full_device_gets_nothing(void **unused)
{
	static struct times m;
	struct trace_out o = series("a.fxt", 0);

	o.path = "/dev/full";
	record(&o, &m, false);
	assert_true(o.failed);
	assert_int_equal(at_compose_stats(o.compose)->total.delivered, 0);
	assert_true(at_compose_stats(o.compose)->total.unwritten > m.durations);
	trace_out_free(&o);
}

/* The next file cannot be opened: the files before it are complete. */
static void file_that_cannot_be_opened_ends_the_series(void **unused)
{
	struct trace_out o = series("a.fxt", ROTATE);
	struct times_seen seen = { 0 };
	static struct times m;
	char next[128];

	snprintf(next, sizeof(next), "%s", path_of(&o, 2));
	assert_int_equal(mkdir(next, 0700), 0);
	record(&o, &m, false);
	assert_int_equal(rmdir(next), 0);
	assert_int_equal(o.number, 1);
	assert_true(o.failed && o.unopened);
	assert_counted(&o, &m);
	for (unsigned int file = 0; file < 2; file++) {
		assert_valid(path_of(&o, file));
		times_compare(&m, path_of(&o, file), &seen);
	}
	assert_true(seen.known > 0);
	trace_out_free(&o);
	clean_up();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_file_of_a_series_has_times),
		cmocka_unit_test(series_keeps_the_last_files),
		cmocka_unit_test(full_disk_leaves_whole_records_counted),
		cmocka_unit_test(full_device_gets_nothing),
		cmocka_unit_test(file_that_cannot_be_opened_ends_the_series),
	};
	int failed;

	test_random_init();
	assert_non_null(mkdtemp(directory));
	failed = cmocka_run_group_tests_name("times", tests, NULL, NULL);
	rmdir(directory);
	return failed;
}
