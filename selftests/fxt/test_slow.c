// SPDX-License-Identifier: GPL-2.0
/*
 * One stream of chunks to a file, with and without --slower-than: the answers about slow operations
 * and the CPU times of durations are equal, and each record of each ring is counted once, also if
 * writing fails
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/analysis.h"
#include "report/explain.h"
#include "stream.h"
#include "tail/encode.h"
#include "../../tools/record/trace_out.h"

#define MS	1000000ULL
#define THREADS	400	/* more than a thread table has room for */
#define CPUS	4
#define SALT	77ULL	/* of the provider "server" */

static const struct tail_bound bound = { .type = "http/request", .ns = 3 * MS, .text = "http/request>3ms" };

/* --- a server ------------------------------------------------------------------------ */

struct server {
	struct stream s;
	struct words events[CPUS], sched[CPUS];
	uint64_t now[CPUS];
	unsigned int running[CPUS];	/* thread, from 1 on; 0: idle */
	struct tracepoint {
		uint64_t ns, id;
		unsigned int cpu, thread;
	} tracepoints[1000];		/* events that the composer has not got yet */
	size_t nr_tracepoints;
	unsigned int strings;
};

/* Puts an event of a tracepoint, for example in an interrupt. @id: of its operation; 0: none */
static void tracepoint(struct server *v, unsigned int cpu, uint64_t id)
{
	assert_true(v->nr_tracepoints < 1000);
	v->tracepoints[v->nr_tracepoints++] = (struct tracepoint){
		v->now[cpu], id, cpu, v->running[cpu],
	};
}

/*
 * Adds the events in the order in which tracepoint() put them. Their CPUs are random, so their
 * times are not in order.
 */
static void read_tracepoints(struct server *v)
{
	const struct at_compose_value value = {
		.name = "cookie", .type = ASYNCTRACE_FXT_ARG_UINT64, .number = 5,
	};

	for (size_t i = 0; i < v->nr_tracepoints; i++) {
		const struct tracepoint *p = &v->tracepoints[i];
		const struct at_compose_tracepoint t = {
			.size = sizeof(t), .clock = ASYNCTRACE_CLOCK_BOOTTIME, .time = p->ns,
			.cpu = p->cpu, .tid = p->thread ? 4000 + p->thread : 0, .pid = 4000,
			.category = "driver", .name = "complete", .operation = p->id,
			.nr_values = 1, .values = &value,
		};

		if (v->s.arg)
			trace_out_ring(v->s.arg, 0, ASYNCTRACE_COMPOSE_RING_TRACEPOINTS | p->cpu);
		at_compose_add_tracepoint(v->s.c, &t);
	}
	v->nr_tracepoints = 0;
}

static void read_rings(struct server *v)
{
	for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
		give_sched(&v->s, cpu, &v->sched[cpu]);
		give_events(&v->s, 1, cpu, &v->events[cpu]);
	}
	read_tracepoints(v);
}

static void run_thread(struct server *v, unsigned int cpu, unsigned int thread, unsigned int state)
{
	unsigned int out = v->running[cpu];

	if (out == thread)
		return;
	put_switch(&v->sched[cpu], cpu, v->now[cpu], out ? 4000 + out : 0,
		   thread ? 4000 + thread : 0,
		   state);
	v->running[cpu] = thread;
}

static void special_record(struct words *b, uint64_t head, uint64_t at, uint64_t slot, size_t nr,
			   const uint64_t *rest)
{
	words_push(b, head | (3 + nr) << 4);
	words_push(b, at);
	words_push(b, slot);
	for (size_t i = 0; i < nr; i++)
		words_push(b, rest[i]);
	b->records++;
}

/* Puts a blob, a blob of the thread, an object, or a duration of a virtual thread. */
static void special(struct server *v, unsigned int cpu, uint64_t at)
{
	const uint64_t virtual = ASYNCTRACE_FXT_EVENT | ASYNCTRACE_FXT_RING_VIRTUAL << 24 |
				 1ULL << 32 | 2ULL << 48;
	const uint64_t of_virtual[] = { at, rnd_below(5), 3 }, format[] = { 1 | 2 << 16, 0 };
	const uint64_t object[] = { 5, 0 };
	struct words *b = &v->events[cpu];
	const uint64_t slot = v->running[cpu];

	switch (rnd_below(4)) {
	case 0:
		special_record(b, ASYNCTRACE_FXT_BLOB | 3 << 16 | 1ULL << 48, at, slot, 0, NULL);
		break;
	case 1:
		special_record(b, ASYNCTRACE_FXT_LARGE, at, slot, 2, format);
		break;
	case 2:
		special_record(b, ASYNCTRACE_FXT_KERNELOBJ | ASYNCTRACE_FXT_OBJ_SOCKET << 16 |
				  2 << 24,
			       at, slot, 2, object);
		break;
	default:
		special_record(b, virtual | ASYNCTRACE_FXT_DURATION_BEGIN << 16, at, slot, 3,
			       of_virtual);
		special_record(b, virtual | ASYNCTRACE_FXT_DURATION_END << 16, at, slot, 3,
			       of_virtual);
	}
}

static void event(struct server *v, unsigned int cpu, unsigned int type, uint64_t at,
		  uint64_t extra)
{
	struct ref name = rnd_chance(20) ? TXT("inline name") : IDX(1 + rnd_below(v->strings));

	/* Begin and end of an operation have one name. */
	if (type == ASYNCTRACE_FXT_ASYNC_BEGIN || type == ASYNCTRACE_FXT_ASYNC_END)
		name = IDX(2);
	if (rnd_chance(5))
		special(v, cpu, type == ASYNCTRACE_FXT_DURATION ? extra : at);
	put_event(&v->events[cpu], &(struct event){
		type, at, v->running[cpu], IDX(1), name, extra, rnd_below(2),
		{ ARG_U64(IDX(3), extra) } });
}

/* A thread of one CPU takes a request, which waits, and a thread of another CPU finishes it. */
static void request(struct server *v, uint64_t id)
{
	unsigned int from = rnd_below(CPUS), to = rnd_below(CPUS), first = 1 + rnd_below(THREADS),
		     second = 1 + rnd_below(THREADS);
	uint64_t begin;

	v->now[from] += rnd_below(MS / 20);
	if (first == second || v->running[to] == first)
		return;
	put_wakeup(&v->sched[from], from, v->now[from]++, 4000 + first, 0);
	run_thread(v, from, first, rnd_below(2) * 3);
	begin = ++v->now[from];
	event(v, from, ASYNCTRACE_FXT_ASYNC_BEGIN, ++v->now[from], id);
	v->now[from] += rnd_below(MS / 10);
	event(v, from, ASYNCTRACE_FXT_DURATION, begin, ++v->now[from]);
	put_wakeup(&v->sched[from], from, ++v->now[from], 4000 + second, 4000 + first);
	if (v->now[to] < v->now[from])
		v->now[to] = v->now[from];
	v->now[to] += rnd_chance(3) ? rnd_below(8 * MS) : rnd_below(MS / 10);
	if (from == to || v->running[from] != second)
		run_thread(v, to, second, rnd_below(2) * 3);
	else
		run_thread(v, from, 0, 3);
	if (v->running[to] != second)
		return;
	begin = ++v->now[to];
	v->now[to] += 10;
	if (rnd_chance(30))
		tracepoint(v, rnd_below(CPUS), rnd_chance(50) ? id | SALT << 44 : 0);
	event(v, to, rnd_chance(50) ? ASYNCTRACE_FXT_ASYNC_INSTANT : ASYNCTRACE_FXT_FLOW_STEP,
	      ++v->now[to], id);
	v->now[to] += rnd_below(MS / 10);
	if (rnd_chance(98))
		event(v, to, ASYNCTRACE_FXT_ASYNC_END, ++v->now[to], id);
	event(v, to, ASYNCTRACE_FXT_DURATION, begin, ++v->now[to]);
	run_thread(v, to, rnd_chance(50) ? 0 : 1 + rnd_below(THREADS), 3);
}

static void add_string(struct server *v, const char *text)
{
	struct words b = { 0 };

	put_string(&b, ++v->strings, text, strlen(text));
	give_strings(&v->s, 1, &b);
	words_free(&b);
}

static void serve(struct server *v, unsigned int requests)
{
	char name[24];

	v->s.ticks = 1000 * MS;
	give_clock(&v->s, ASYNCTRACE_MOMENT_START);
	give_provider(&v->s, 1, 4000, SALT, "server");
	for (unsigned int i = 1; i <= THREADS; i++) {
		snprintf(name, sizeof(name), "worker-%u", i);
		give_thread(&v->s, 1, i, 4000, 4000 + i, name);
	}
	add_string(v, "http");
	add_string(v, "request");
	add_string(v, "n");
	for (unsigned int cpu = 0; cpu < CPUS; cpu++)
		v->now[cpu] = v->s.ticks + 1;
	for (unsigned int i = 1; i <= requests; i++) {
		request(v, i);
		if (!rnd_chance(4) && i < requests)
			continue;
		for (unsigned int cpu = 0; cpu < CPUS; cpu++)
			if (v->s.ticks < v->now[cpu])
				v->s.ticks = v->now[cpu];
		v->s.ticks++;
		/* Records of a later reading have later times. */
		for (unsigned int cpu = 0; cpu < CPUS; cpu++)
			v->now[cpu] = v->s.ticks + 1;
		if (rnd_chance(1))
			lose(&v->s, rnd_below(2), rnd_below(CPUS), rnd_below(5), rnd_below(5));
		read_rings(v);
		if (rnd_chance(20)) {
			snprintf(name, sizeof(name), "later %u", i);
			add_string(v, name);
		}
	}
	give_clock(&v->s, ASYNCTRACE_MOMENT_STOP);
	for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
		words_free(&v->events[cpu]);
		words_free(&v->sched[cpu]);
	}
}

/* --- answers -------------------------------------------------------------------------- */

struct answers {
	char *of[10000];
	uint64_t ids[10000];
	size_t nr, complete;
	struct analysis_totals totals;
};

static int add_answer(void *arg, const struct analysis_operation *op)
{
	struct answers *answers = arg;
	size_t len;
	FILE *f;

	if (op->end - op->begin <= bound.ns)
		return 0;
	assert_true(answers->nr < 10000);
	answers->complete += op->complete;
	answers->ids[answers->nr] = op->id.id;
	f = open_memstream(&answers->of[answers->nr++], &len);
	explain_sentence(f, op);
	explain_json(f, op, true, NULL);
	fclose(f);
	return 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void read_answers(const char *path, struct answers *answers)
{
	struct analysis_sink sink = { .operation = add_answer, .arg = answers };
	struct analysis *a = analysis_new(&(struct analysis_options){ 0 }, &sink);
	struct fxt_record rec;
	struct fxt_reader *r;
	int err;

	answers->nr = 0;
	answers->complete = 0;
	r = fxt_open(path, &err);
	assert_non_null(r);
	while (fxt_next(r, &rec) > 0)
		assert_int_equal(analysis_record(a, &rec), 0);
	assert_int_equal(analysis_finish(a), 0);
	answers->totals = *analysis_totals(a);
	analysis_free(a);
	fxt_close(r);
	qsort(answers->of, answers->nr, sizeof(char *), by_text);
}

/* Each answer of @part must be one of @whole, in order. */
static void assert_in_order(const struct answers *part, const struct answers *whole)
{
	size_t k = 0;

	for (size_t i = 0; i < part->nr; i++, k++) {
		while (k + 1 < whole->nr && strcmp(whole->of[k], part->of[i]) < 0)
			k++;
		assert_true(k < whole->nr);
		assert_string_equal(part->of[i], whole->of[k]);
	}
}

static void free_answers(struct answers *answers)
{
	while (answers->nr)
		free(answers->of[--answers->nr]);
}

/* Counts the events of tracepoints that belong to one of the operations of @answers. */
static size_t joined_to(const char *path, const struct answers *answers)
{
	struct file f;
	size_t nr = 0;

	for (file_open(&f, path); file_event(&f, 1);) {
		const struct fxt_arg *id = fxt_arg(&f.rec, "operation");

		for (size_t i = 0; fxt_is_tracepoint(&f.rec) && id && i < answers->nr; i++)
			nr += answers->ids[i] == id->u;
	}
	fxt_close(f.r);
	return nr;
}

/* --- tests ------------------------------------------------------------------------------ */

/* Makes a file without a name; close() removes it. */
static int scratch(char *path, size_t size)
{
	int fd = memfd_create("slow", 0);

	assert_true(fd >= 0);
	snprintf(path, size, "/proc/self/fd/%d", fd);
	return fd;
}

static void make_whole(const char *path, uint64_t seed, unsigned int requests,
		       struct at_compose_stats *stats)
{
	struct at_compose_options o = { .size = sizeof(o) };
	struct server v = { 0 };

	o.fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
	assert_true(o.fd >= 0);
	v.s.c = at_compose_new(&o);
	rnd_seed(seed);
	serve(&v, requests);
	assert_int_equal(at_compose_finish(v.s.c), 0);
	*stats = *at_compose_stats(v.s.c);
	at_compose_free(v.s.c);
	close(o.fd);
}

static int take_chunk(void *arg, const struct asynctrace_chunk *h, const void *payload)
{
	char *chunk = malloc(h->size + h->bytes);
	static uint64_t last;

	/* A round begins: all records up to the time of the last round's last chunk were read. */
	if (h->kind == ASYNCTRACE_CHUNK_SCHED && !h->ring && h->boottime > last)
		trace_out_settle(arg, last);
	if (h->kind == ASYNCTRACE_CHUNK_SCHED)
		last = h->boottime;
	assert_non_null(chunk);
	memcpy(chunk, h, h->size);
	if (h->bytes)
		memcpy(chunk + h->size, payload, h->bytes);
	trace_out_chunk(arg, chunk, h->size + h->bytes);
	free(chunk);
	return 0;
}

static void make_slow(struct trace_out *o, struct server *v, uint64_t seed, unsigned int requests)
{
	assert_int_equal(trace_out_open(o), 0);
	v->s.c = o->compose;
	v->s.take = take_chunk;
	v->s.arg = o;
	rnd_seed(seed);
	serve(v, requests);
	trace_out_finish(o, false);
}

static struct trace_out slow_out(const char *path, uint64_t window)
{
	return (struct trace_out){
		.path = path, .fd = -1, .wait_fd = -1, .ends = "the test ends",
		.slow = { .bounds = &bound, .nr_bounds = 1, .before = MS, .window = window },
	};
}

static uint64_t attempted(const struct at_compose_counts *c)
{
	return c->delivered + c->filtered + c->malformed + c->overwritten + c->dropped +
	       c->cleared +
	       c->unwritten;
}

static void slow_file_answers_as_the_whole(void **state)
{
	static struct answers whole, slow;
	const uint64_t seed = rnd();

	for (int i = 0; i < 6; i++) {
		char whole_path[32], slow_path[32];
		int whole_fd = scratch(whole_path, sizeof(whole_path));
		int slow_fd = scratch(slow_path, sizeof(slow_path));
		struct trace_out o = slow_out(slow_path, 4 << 20);
		struct at_compose_stats all;
		const struct at_compose_stats *st;
		struct server v = { 0 };

		o.cpu_time = i % 2;
		make_whole(whole_path, seed + i, 5000, &all);
		make_slow(&o, &v, seed + i, 5000);
		st = at_compose_stats(o.compose);
		assert_int_equal(tail_counts(o.tail)->late, 0);
		assert_int_equal(attempted(&st->total), attempted(&all.total));
		assert_int_equal(st->total.delivered, st->total.events + st->total.switches +
				 st->total.wakeups);
		assert_true(st->total.filtered > st->total.delivered);
		assert_true(tail_written(o.tail) < all.written / 2);
		read_answers(whole_path, &whole);
		read_answers(slow_path, &slow);
		assert_true(slow.nr > 20);
		/* The window omits operations that began too long ago and never end. */
		assert_int_equal(slow.nr + tail_counts(o.tail)->left_out, whole.nr);
		assert_int_equal(slow.complete, whole.complete);
		assert_in_order(&slow, &whole);
		assert_true(joined_to(slow_path, &slow) > 5);
		assert_int_equal(joined_to(slow_path, &slow), joined_to(whole_path, &slow));
		assert_int_equal(slow.totals.complete + slow.totals.incomplete, slow.nr);
		/* Excuse these rules, because the file is a part of the session. */
		assert_clean(slow_path, FXT_RULE_OVERLAP, FXT_RULE_ASYNC_OPEN,
			     FXT_RULE_ASYNC_ORPHAN,
			     FXT_RULE_FLOW_ORPHAN, FXT_RULE_FLOW_OUTSIDE, FXT_RULE_UNSCHEDULED, -1);
		free_answers(&slow);
		free_answers(&whole);
		trace_out_free(&o);
		close(whole_fd);
		close(slow_fd);
	}
}

/* A duration, and its CPU time */
struct time {
	uint64_t tid, from, to, ns;
};

static int by_place(const void *a, const void *b)
{
	const struct time *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

static size_t read_times(const char *path, struct time *times, size_t room)
{
	size_t nr = 0;
	struct file f;

	for (file_open(&f, path); file_event(&f, 2);) {
		const struct fxt_arg *ns = fxt_arg(&f.rec, "cpu_ns");

		if (f.rec.number != ASYNCTRACE_FXT_DURATION || !ns)
			continue;
		assert_true(nr < room);
		times[nr++] = (struct time){ f.rec.thread.tid, f.rec.ns, f.rec.end_ns, ns->u };
	}
	fxt_close(f.r);
	qsort(times, nr, sizeof(*times), by_place);
	return nr;
}

static void slow_file_has_the_cpu_times_of_the_whole(void **state)
{
	static struct time whole[20000], slow[20000];
	const uint64_t seed = rnd();

	for (int i = 0; i < 4; i++) {
		char whole_path[32], slow_path[32];
		int whole_fd = scratch(whole_path, sizeof(whole_path));
		int slow_fd = scratch(slow_path, sizeof(slow_path));
		struct trace_out all = slow_out(whole_path, 0), o = slow_out(slow_path, 4 << 20);
		struct server v = { 0 }, w = { 0 };
		size_t nr_whole, nr_slow;

		all.slow.nr_bounds = 0;
		all.cpu_time = true;
		o.cpu_time = true;
		make_slow(&all, &v, seed + i, 3000);
		make_slow(&o, &w, seed + i, 3000);
		nr_whole = read_times(whole_path, whole, 20000);
		nr_slow = read_times(slow_path, slow, 20000);
		assert_true(nr_slow > 20 && nr_slow < nr_whole);
		for (size_t k = 0; k < nr_slow; k++) {
			const struct time *found = bsearch(&slow[k], whole, nr_whole,
							   sizeof(*whole), by_place);

			assert_non_null(found);
			assert_int_equal(slow[k].ns, found->ns);
		}
		trace_out_free(&all);
		trace_out_free(&o);
		close(whole_fd);
		close(slow_fd);
	}
}

static void cut_file(bool cpu_time)
{
	struct rlimit limit = { .rlim_cur = 100000, .rlim_max = RLIM_INFINITY }, before;
	char whole_path[32], cut_path[32];
	int whole_fd = scratch(whole_path, sizeof(whole_path));
	int fd = scratch(cut_path, sizeof(cut_path));
	struct trace_out o = slow_out(cut_path, 256 << 10);
	const struct at_compose_stats *st;
	const uint64_t seed = rnd();
	struct at_compose_stats all;
	struct server v = { 0 };
	struct stat file;
	struct file f;
	uint64_t records = 0;

	o.cpu_time = cpu_time;
	make_whole(whole_path, seed, 3000, &all);
	getrlimit(RLIMIT_FSIZE, &before);
	signal(SIGXFSZ, SIG_IGN);
	limit.rlim_max = before.rlim_max;
	setrlimit(RLIMIT_FSIZE, &limit);
	make_slow(&o, &v, seed, 3000);
	setrlimit(RLIMIT_FSIZE, &before);
	st = at_compose_stats(o.compose);
	assert_true(o.failed);
	assert_true(st->total.unwritten > 0);
	assert_int_equal(attempted(&st->total), attempted(&all.total));
	assert_int_equal(fstat(fd, &file), 0);
	assert_int_equal(file.st_size, tail_written(o.tail));
	file_open(&f, cut_path);
	while (file_next(&f)) {
		const struct fxt_arg *inferred = fxt_arg(&f.rec, "inferred");

		if (fxt_arg(&f.rec, FILTERED) && f.rec.kind != FXT_EVENT)
			continue;
		records += fxt_is_tracepoint(&f.rec) ||
			   (f.rec.kind == FXT_EVENT && f.rec.provider > 1 &&
			    !(f.rec.number == ASYNCTRACE_FXT_ASYNC_INSTANT &&
			      fxt_arg(&f.rec, FILTERED))) ||
			   ((f.rec.kind == FXT_SWITCH || f.rec.kind == FXT_WAKEUP) && !inferred);
	}
	fxt_close(f.r);
	assert_int_equal(records, st->total.delivered);
	trace_out_free(&o);
	close(whole_fd);
	close(fd);
}

static void full_disk_leaves_whole_records_counted(void **state)
{
	cut_file(false);
	cut_file(true);
}

/* Standard output may be a file that has contents: asynctrace record -o - >> FILE */
static void full_disk_keeps_earlier_contents(void **state)
{
	static const char earlier[4096] = "earlier";
	struct rlimit limit = { .rlim_cur = 100000 }, before;
	const int saved = dup(STDOUT_FILENO);
	char path[32], found[sizeof(earlier)];
	int fd = scratch(path, sizeof(path)), out = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	struct trace_out o = slow_out("-", 256 << 10);
	struct server v = { 0 };
	struct stat file;

	assert_true(saved >= 0 && out >= 0);
	assert_int_equal(write(fd, earlier, sizeof(earlier)), sizeof(earlier));
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	getrlimit(RLIMIT_FSIZE, &before);
	signal(SIGXFSZ, SIG_IGN);
	limit.rlim_max = before.rlim_max;
	setrlimit(RLIMIT_FSIZE, &limit);
	make_slow(&o, &v, rnd(), 3000);
	setrlimit(RLIMIT_FSIZE, &before);
	dup2(saved, STDOUT_FILENO);
	assert_true(o.failed);
	assert_int_equal(fstat(fd, &file), 0);
	assert_int_equal(file.st_size, sizeof(earlier) + tail_written(o.tail));
	assert_int_equal(pread(fd, found, sizeof(found), 0), sizeof(found));
	assert_memory_equal(found, earlier, sizeof(found));
	trace_out_free(&o);
	close(saved);
	close(out);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slow_file_answers_as_the_whole),
		cmocka_unit_test(slow_file_has_the_cpu_times_of_the_whole),
		cmocka_unit_test(full_disk_leaves_whole_records_counted),
		cmocka_unit_test(full_disk_keeps_earlier_contents),
	};

	test_random_init();
	return cmocka_run_group_tests_name("slow", tests, NULL, NULL);
}
