// SPDX-License-Identifier: GPL-2.0
/*
 * Begins, instants and ends of one id: asynctrace validate and the analysis, which makes the rows
 * of asynctrace report, find the same operations and the same breaches.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analysis/analysis.h"
#include "stream.h"

/* Results of validate or of the analysis. .want in rows[] lists the fields in this order. */
struct found {
	uint64_t whole;		/* operations with a begin and an end */
	uint64_t same_thread;	/* whole operations that begin and end on one thread */
	uint64_t twice;		/* begins while the operation is already open */
	uint64_t orphans;	/* ends and instants without an open operation */
	uint64_t open;		/* operations without an end */
};

/*
 * Each event is a letter (begin, instant, end), its thread (1 to 4), and what distinguishes its
 * operation from others: nothing, n (another name), c (another category), d (another id) or p
 * (another process). If the first letter is a '!', asynctrace has written the file, so processes do
 * not count.
 */
static const struct {
	const char *name, *events;
	struct found want;
} rows[] = {
	{ "one", "b1 e1", { 1, 1, 0, 0, 0 } },
	{ "two_threads", "b1 e2", { 1, 0, 0, 0, 0 } },
	{ "one_after_the_other", "b1 e1 b2 e2", { 2, 2, 0, 0, 0 } },
	{ "instants", "b1 i2 i1 e1", { 1, 1, 0, 0, 0 } },
	{ "begin_alone", "b1", { 0, 0, 0, 0, 1 } },
	{ "end_alone", "e1", { 0, 0, 0, 1, 0 } },
	{ "instant_alone", "i1", { 0, 0, 0, 1, 0 } },
	{ "instant_before_begin", "i1 b1 e1", { 1, 1, 0, 1, 0 } },
	{ "instant_after_end", "b1 e1 i1", { 1, 1, 0, 1, 0 } },
	{ "end_twice", "b1 e1 e1", { 1, 1, 0, 1, 0 } },
	{ "nested", "b1 b2 e2 e1", { 2, 2, 1, 0, 0 } },
	{ "overlapping", "b1 b2 e1 e2", { 2, 0, 1, 0, 0 } },
	{ "nested_thrice", "b1 b2 b3 e3 e2 e1", { 3, 3, 2, 0, 0 } },
	{ "nested_in_turn", "b1 b2 e2 b3 e3 e1", { 3, 3, 2, 0, 0 } },
	{ "inner_stays_open", "b1 b2 e1", { 1, 0, 1, 0, 1 } },
	{ "outer_stays_open", "b1 b2 e2", { 1, 1, 1, 0, 1 } },
	{ "two_stay_open", "b1 b2", { 0, 0, 1, 0, 2 } },
	{ "nested_end_too_often", "b1 b2 e2 e1 e3", { 2, 2, 1, 1, 0 } },
	{ "instant_within_outer", "b1 b2 e2 i3 e1", { 2, 2, 1, 0, 0 } },
	{ "instant_after_nested", "b1 b2 e2 e1 i3", { 2, 2, 1, 1, 0 } },
	{ "other_name", "b1 b2n e1 e2n", { 2, 2, 0, 0, 0 } },
	{ "other_category", "b1 b2c e1 e2c", { 2, 2, 0, 0, 0 } },
	{ "other_id", "b1 b2d e1 e2d", { 2, 2, 0, 0, 0 } },
	{ "end_of_other_name", "b1 e1n", { 0, 0, 0, 1, 1 } },
	{ "end_of_other_category", "b1 e1c", { 0, 0, 0, 1, 1 } },
	{ "nested_names", "b1 b2n b3 e3 e2n e1", { 3, 3, 1, 0, 0 } },
	{ "instant_of_other_name", "b1 i1n e1", { 1, 1, 0, 0, 0 } },
	{ "instant_of_other_category", "b1 i1c e1", { 1, 1, 0, 0, 0 } },
	{ "instant_of_other_id", "b1 i1d e1", { 1, 1, 0, 1, 0 } },
	{ "other_process", "b1 b2p e1 e2p", { 2, 2, 0, 0, 0 } },
	{ "other_process_of_own_file", "!b1 b2p e1 e2p", { 2, 0, 1, 0, 0 } },
	{ "end_of_other_process", "b1 e2p", { 0, 0, 0, 1, 1 } },
	{ "end_of_other_process_of_own_file", "!b1 e2p", { 1, 0, 0, 0, 0 } },
	{ "instant_of_other_process", "b1 i2p e1", { 1, 1, 0, 1, 0 } },
	{ "instant_of_other_process_of_own_file", "!b1 i2p e1", { 1, 1, 0, 0, 0 } },
	{ "same_time", "b1=e1=b2=e2", { 2, 2, 0, 0, 0 } },
	{ "same_time_nested", "b1=b2=e2=e1", { 2, 2, 1, 0, 0 } },
};

/* Strings of the file */
enum { CAT = 1, OTHER_CAT, NAME, OTHER_NAME };

static void put(struct words *b, const char *event, uint64_t ns, uint64_t id)
{
	const unsigned int type = *event == 'b' ? ASYNCTRACE_FXT_ASYNC_BEGIN :
				  *event == 'i' ? ASYNCTRACE_FXT_ASYNC_INSTANT :
				  ASYNCTRACE_FXT_ASYNC_END;
	const uint64_t category = event[2] == 'c' ? OTHER_CAT : CAT;
	const uint64_t name = event[2] == 'n' ? OTHER_NAME : NAME;

	words_push(b, 4 | 5 << 4 | type << 16 | category << 32 | name << 48);
	words_push(b, ns);
	words_push(b, event[2] == 'p' ? 200 : 100);
	words_push(b, 100 + event[1] - '0');
	words_push(b, id + (event[2] == 'd'));
}

/*
 * Puts @events from @ns on, with the id @id or the one after it. Events after a '=' have the same
 * time. Returns the time after them.
 */
static uint64_t put_all(struct words *b, const char *events, uint64_t ns, uint64_t id)
{
	for (const char *e = events; *e; e++) {
		if (strchr("bie", *e))
			put(b, e, ns, id);
		ns += *e == ' ';
	}
	return ns + 1;
}

/*
 * Makes a file of @events and returns its descriptor. Also puts a whole operation of each name,
 * because --cross-thread would report a name that has none.
 */
static int make_file(const char *events)
{
	const char *provider = *events == '!' ? "asynctrace-kernel" : "test";
	const size_t len = strlen(provider);
	static const char *const strings[] = { "cat", "other", "work", "more" };
	int fd = memfd_create("asyncs", MFD_CLOEXEC);
	struct words b = { 0 };

	words_push(&b, ASYNCTRACE_FXT_MAGIC);
	words_push(&b, 0 | (1 + (len + 7) / 8) << 4 | 1 << 16 | 1 << 20 | (uint64_t)len << 52);
	words_text(&b, provider, len);
	words_push(&b, 1 | 2 << 4);
	words_push(&b, 1000000000);
	for (unsigned int i = 0; i < 4; i++)
		put_string(&b, i + 1, strings[i], strlen(strings[i]));
	put_all(&b, "b3 e4 b3n e4n", put_all(&b, events, 1000, 7), 9);
	assert_int_equal(write(fd, b.w, b.nr * 8), (ssize_t)b.nr * 8);
	words_free(&b);
	return fd;
}

static struct fxt_reader *open_file(int fd)
{
	struct fxt_reader *r;
	char path[32];
	int err;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = fxt_open(path, &err);
	assert_non_null(r);
	return r;
}

/* Returns what asynctrace validate finds, without the operations that make_file() added. */
static struct found validated(int fd)
{
	struct fxt_check *c = fxt_check_new(0);
	struct fxt_reader *r = open_file(fd);
	const struct fxt_finding *f;
	struct found found;

	assert_non_null(c);
	assert_int_equal(fxt_cross_thread(c, "work"), 0);
	assert_int_equal(fxt_cross_thread(c, "more"), 0);
	assert_int_equal(fxt_check_all(c, r), 0);
	f = fxt_findings(c);
	found = (struct found){
		.whole = fxt_tally(c)->asyncs - 2,
		.same_thread = f[FXT_RULE_SAME_THREAD].count,
		.twice = f[FXT_RULE_ASYNC_TWICE].count,
		.orphans = f[FXT_RULE_ASYNC_ORPHAN].count,
		.open = f[FXT_RULE_ASYNC_OPEN].count,
	};
	fxt_check_free(c);
	fxt_close(r);
	return found;
}

/* Results of the analysis */
struct analysed {
	struct found found;
	uint64_t begins[16], ends[16];	/* offsets of records, of whole operations */
};

static int add_operation(void *arg, const struct analysis_operation *op)
{
	struct analysed *a = arg;

	if (!op->complete)
		return 0;
	a->begins[a->found.whole] = op->begin_record;
	a->ends[a->found.whole++] = op->end_record;
	return 0;
}

static int add_orphan(void *arg, const struct analysis_orphan *o)
{
	struct found *f = &((struct analysed *)arg)->found;

	f->twice += o->kind == ANALYSIS_BEGUN_AGAIN;
	f->orphans += o->kind == ANALYSIS_END_ALONE || o->kind == ANALYSIS_STEP_ALONE;
	f->open += o->kind == ANALYSIS_BEGIN_ALONE;
	return 0;
}

/* Returns the thread of the event at @offset. */
static uint64_t thread_at(int fd, uint64_t offset)
{
	uint64_t tid = 0;

	assert_int_equal(pread(fd, &tid, 8, offset + 24), 8);
	return tid;
}

/* Returns what the rows of the analysis show, without the operations that make_file() added. */
static struct found analysed(int fd)
{
	struct analysed of = { 0 };
	const struct analysis_sink sink = {
		.operation = add_operation, .orphan = add_orphan, .arg = &of,
	};
	struct analysis *a = analysis_new(&(struct analysis_options){ 0 }, &sink);
	struct fxt_reader *r = open_file(fd);
	struct fxt_record rec;

	assert_non_null(a);
	while (fxt_next(r, &rec) > 0)
		assert_int_equal(analysis_record(a, &rec), 0);
	assert_int_equal(analysis_finish(a), 0);
	analysis_free(a);
	fxt_close(r);
	for (uint64_t i = 0; i < of.found.whole; i++)
		of.found.same_thread += thread_at(fd, of.begins[i]) == thread_at(fd, of.ends[i]);
	of.found.whole -= 2;
	return of.found;
}

static unsigned int differ(const char *name, const char *who, const struct found *got,
			   const struct found *want)
{
	if (!memcmp(got, want, sizeof(*got)))
		return 0;
	fprintf(stderr, "%s: %s finds %llu whole, %llu of one thread, %llu twice, %llu orphans, %llu open\n",
		name, who, (unsigned long long)got->whole, (unsigned long long)got->same_thread,
		(unsigned long long)got->twice, (unsigned long long)got->orphans,
		(unsigned long long)got->open);
	return 1;
}

static void A5_validate_and_report_pair_alike(void **unused)
{
	unsigned int failures = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int fd = make_file(rows[i].events);
		const struct found validate = validated(fd), report = analysed(fd);

		failures += differ(rows[i].name, "validate", &validate, &rows[i].want);
		failures += differ(rows[i].name, "report", &report, &rows[i].want);
		close(fd);
	}
	assert_int_equal(failures, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(A5_validate_and_report_pair_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
