// SPDX-License-Identifier: GPL-2.0
/*
 * bench_tail FILE MICROSECONDS [OUT]: measures how much the filter of record --slower-than costs,
 * compared with the analysis alone. FILE is a trace. Prints records per second, and writes the
 * kept records to OUT.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "analysis/analysis.h"
#include "tail/tail.h"

#define STEP_WORDS	(32 * 1024)	/* size of the composer's buffer */

static const uint64_t *words;
static size_t nr_words;
static uint64_t slower_than, chosen;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* Returns the size of the whole records from @at on that fill about one buffer. */
static size_t step(size_t at)
{
	size_t n = 0;

	while (n < STEP_WORDS && at + n < nr_words)
		n += words[at + n] >> 4 & 0xfff;
	return n;
}

static int on_operation(void *arg, const struct analysis_operation *op)
{
	(void)arg;
	chosen += op->end - op->begin > slower_than;
	return 0;
}

static uint64_t analyse(bool with_analysis)
{
	const struct analysis_sink sink = { .operation = on_operation };
	struct analysis *a = analysis_new(&(struct analysis_options){ 0 }, &sink);
	struct fxt_reader *r = fxt_open_pushed();
	struct fxt_record rec;
	uint64_t records = 0;

	for (size_t at = 0, n; at < nr_words; at += n) {
		n = step(at);
		if (fxt_push(r, words + at, n))
			exit(1);
		for (; fxt_next(r, &rec) > 0; records++)
			if (with_analysis && analysis_record(a, &rec))
				exit(1);
	}
	if (analysis_finish(a))
		exit(1);
	analysis_free(a);
	fxt_close(r);
	return records;
}

static ssize_t keep(void *arg, const void *buf, size_t len)
{
	FILE *f = arg;

	return f && fwrite(buf, 1, len, f) != len ? -EIO : (ssize_t)len;
}

static void filter(uint64_t window, FILE *out)
{
	const struct tail_bound bound = { .type = "*", .ns = slower_than, .text = "*" };
	struct tail *t = tail_new(&(struct tail_options){
		.bounds = &bound, .nr_bounds = 1, .window = window, .write = keep, .arg = out,
	});

	for (size_t at = 0, n; at < nr_words; at += n) {
		n = step(at);
		tail_push(t, words + at, n);
	}
	if (tail_finish(t))
		exit(1);
	printf("slow %llu left_out %llu hasty %llu late %llu bytes %llu of %zu\n",
	       (unsigned long long)tail_counts(t)->operations,
	       (unsigned long long)tail_counts(t)->left_out,
	       (unsigned long long)tail_counts(t)->hasty, (unsigned long long)tail_counts(t)->late,
	       (unsigned long long)tail_written(t), nr_words * 8);
	tail_free(t);
}

int main(int argc, char **argv)
{
	int fd = argc == 3 || argc == 4 ? open(argv[1], O_RDONLY) : -1;
	double begin, read, analysed, filtered;
	struct rusage usage;
	struct stat st;
	FILE *out = argc == 4 ? fopen(argv[3], "w") : NULL;
	uint64_t records;

	if (fd < 0 || fstat(fd, &st)) {
		fprintf(stderr, "usage: bench_tail FILE MICROSECONDS [OUT]\n");
		return 2;
	}
	nr_words = st.st_size / 8;
	words = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	slower_than = strtoull(argv[2], NULL, 0) * 1000;
	begin = now();
	records = analyse(false);
	read = now() - begin;
	begin = now();
	analyse(true);
	analysed = now() - begin;
	begin = now();
	filter(64 << 20, out);
	filtered = now() - begin;
	if (out && fclose(out))
		return 1;
	getrusage(RUSAGE_SELF, &usage);
	printf("records %llu\nread %.0f/s\nanalysis %.0f/s\nfilter %.0f/s\nratio %.2f\nmax_rss_kib %ld\n",
	       (unsigned long long)records, records / read, records / analysed, records / filtered,
	       filtered / analysed, usage.ru_maxrss);
	return 0;
}
