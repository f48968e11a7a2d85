// SPDX-License-Identifier: GPL-2.0
/* Records made by hand, and rows of the analysis as text */
#include "build.h"

static struct fxt_text text_of(const char *s)
{
	return (struct fxt_text){ .s = s, .len = strlen(s) };
}

struct fxt_record *add_record(struct trace *t, enum fxt_kind kind, uint64_t ns)
{
	struct fxt_record *rec;

	if (t->nr == t->room) {
		t->room = t->room ? 2 * t->room : 64;
		t->of = realloc(t->of, t->room * sizeof(*t->of));
		assert_non_null(t->of);
	}
	rec = &t->of[t->nr++];
	memset(rec, 0, sizeof(*rec));
	rec->kind = kind;
	rec->ns = ns;
	rec->category = text_of("cat");
	rec->name = text_of("");
	rec->text = text_of("");
	rec->provider = 2;
	return rec;
}

static struct fxt_arg *add_arg(struct fxt_record *rec, const char *name, unsigned int type)
{
	struct fxt_arg *arg = &rec->args[rec->nargs++];

	arg->name = text_of(name);
	arg->type = type;
	return arg;
}

void add_bool(struct fxt_record *rec, const char *name)
{
	add_arg(rec, name, ASYNCTRACE_FXT_ARG_BOOL)->u = 1;
}

void add_number(struct fxt_record *rec, const char *name, unsigned int type, int64_t value)
{
	add_arg(rec, name, type)->i = value;
}

void add_text(struct fxt_record *rec, const char *name, const char *text)
{
	add_arg(rec, name, ASYNCTRACE_FXT_ARG_STRING)->text = text_of(text);
}

void put_clock(struct trace *t, uint64_t ns)
{
	put_event(t, ASYNCTRACE_FXT_INSTANT, ns, PSEUDO, "clock", 0);
}

void put_moment(struct trace *t, uint64_t ns, const char *name)
{
	struct fxt_record *rec;

	put_event(t, ASYNCTRACE_FXT_INSTANT, ns, PSEUDO, name, 0);
	rec = &t->of[t->nr - 1];
	rec->provider = FXT_KERNEL_PROVIDER;
	rec->category = text_of("asynctrace");
}

void put_switch(struct trace *t, uint64_t ns, unsigned int cpu, uint32_t out, uint32_t in,
		uint32_t state)
{
	struct fxt_record *rec = add_record(t, FXT_SWITCH, ns);

	rec->cpu = cpu;
	rec->out = out;
	rec->in = in;
	rec->number = state ? ASYNCTRACE_FXT_STATE_BLOCKED : ASYNCTRACE_FXT_STATE_NEW;
	add_arg(rec, "state", ASYNCTRACE_FXT_ARG_UINT32)->u = state;
}

void add_call(struct trace *t, const char *syscall, int64_t argument, unsigned int off_cpu)
{
	struct fxt_record *rec = &t->of[t->nr - 1];

	add_number(rec, "off_cpu", ASYNCTRACE_FXT_ARG_UINT32,
		   off_cpu | (syscall ? ASYNCTRACE_FXT_OFF_SYSCALL : 0));
	if (syscall)
		add_text(rec, "syscall", syscall);
	if (syscall && argument >= 0)
		add_number(rec, "syscall_argument", ASYNCTRACE_FXT_ARG_UINT64, argument);
}

void add_cell(struct trace *t, const char *name, uint64_t id)
{
	if (id)
		add_number(&t->of[t->nr - 1], name, ASYNCTRACE_FXT_ARG_UINT64, id);
}

void put_wakeup(struct trace *t, uint64_t ns, unsigned int cpu, uint32_t tid, uint32_t waker)
{
	struct fxt_record *rec = add_record(t, FXT_WAKEUP, ns);

	rec->cpu = cpu;
	rec->in = tid;
	if (waker)
		add_arg(rec, "waker", ASYNCTRACE_FXT_ARG_KOID)->u = waker;
}

void put_event(struct trace *t, unsigned int type, uint64_t ns, uint32_t tid, const char *name,
	       uint64_t id)
{
	struct fxt_record *rec = add_record(t, FXT_EVENT, ns);

	rec->number = type;
	rec->end_ns = ns;
	rec->id = id;
	rec->thread.tid = tid;
	rec->thread.pid = 100;
	rec->name = text_of(name);
}

void put_duration(struct trace *t, uint64_t ns, uint64_t end, uint32_t tid, const char *name)
{
	put_event(t, ASYNCTRACE_FXT_DURATION, ns, tid, name, 0);
	t->of[t->nr - 1].end_ns = end;
}

void put_thread(struct trace *t, uint32_t tid, uint32_t pid, const char *name)
{
	struct fxt_record *rec = add_record(t, FXT_OBJECT, 0);

	rec->number = ASYNCTRACE_FXT_OBJ_THREAD;
	rec->id = tid;
	rec->name = text_of(name);
	add_arg(rec, "process", ASYNCTRACE_FXT_ARG_KOID)->u = pid;
}

static void put_loss(struct trace *t, uint64_t from, uint64_t to, const char *provider,
		     uint32_t tid, const char *ring)
{
	struct fxt_record *rec;

	put_thread(t, tid, 0x70000000, ring);
	put_duration(t, from, to, tid, "lost records");
	rec = &t->of[t->nr - 1];
	add_arg(rec, "dropped", ASYNCTRACE_FXT_ARG_UINT64)->u = 1;
	add_arg(rec, "provider", ASYNCTRACE_FXT_ARG_STRING)->text = text_of(provider);
}

void put_kernel_loss(struct trace *t, uint64_t from, uint64_t to, unsigned int cpu)
{
	static const char *const rings[] = {
		"cpu-0 losses", "cpu-1 losses", "cpu-2 losses", "cpu-3 losses",
	};

	put_loss(t, from, to, "asynctrace-kernel", PSEUDO + 1 + cpu, rings[cpu]);
}

void put_tracepoint_loss(struct trace *t, uint64_t from, uint64_t to)
{
	put_loss(t, from, to, "asynctrace-kernel", PSEUDO + 11, "cpu-0 tracepoint losses");
	add_arg(&t->of[t->nr - 1], "tracepoints", ASYNCTRACE_FXT_ARG_BOOL)->u = 1;
}

void put_provider_loss(struct trace *t, uint64_t from, uint64_t to, const char *provider)
{
	put_loss(t, from, to, provider, PSEUDO + 10, "cpu-0 losses of it");
}

void put_throttling(struct trace *t, uint64_t ns, uint32_t pid, const char *path,
		    uint64_t interval_us, uint64_t throttled_us, uint64_t periods)
{
	struct fxt_record *rec;

	put_event(t, ASYNCTRACE_FXT_COUNTER, ns, pid, path, 0);
	rec = &t->of[t->nr - 1];
	rec->provider = FXT_KERNEL_PROVIDER;
	rec->thread.pid = pid;
	rec->category = text_of("cgroup");
	add_arg(rec, "throttled_us", ASYNCTRACE_FXT_ARG_UINT64)->u = throttled_us;
	add_arg(rec, "throttled_periods", ASYNCTRACE_FXT_ARG_UINT64)->u = periods;
	add_arg(rec, "interval_us", ASYNCTRACE_FXT_ARG_UINT64)->u = interval_us;
}

void put_work(struct trace *t)
{
	put_clock(t, 0);
	put_duration(t, 10, 100, 1, "work");
	BEGINS(t, 10, 1, 1);
	ENDS(t, 100, 1, 1);
}

void trace_free(struct trace *t)
{
	free(t->of);
	*t = (struct trace){ 0 };
}

/* --- rows ------------------------------------------------------------------------ */

static void print_interval(FILE *f, const struct analysis_interval *i)
{
	fprintf(f, "%llu-%llu %s", (unsigned long long)i->from, (unsigned long long)i->to,
		analysis_state_name(i->state));
	if (i->reason)
		fprintf(f, "/%s", analysis_reason_name(i->reason));
	if (i->thread)
		fprintf(f, " t%u", i->thread->tid);
	if (i->in[0])
		fprintf(f, " @%s", i->in);
	if (i->has_argument)
		fprintf(f, "(%llu)", (unsigned long long)i->argument);
	if (i->file)
		fprintf(f, "#%u", i->file);
	if (i->duration[0])
		fprintf(f, " in %s", i->duration);
	switch (i->other_kind) {
	case ANALYSIS_OTHER_THREAD:
		fprintf(f, " by t%u", i->other->tid);
		break;
	case ANALYSIS_OTHER_IDLE:
		fputs(" by idle", f);
		break;
	case ANALYSIS_OTHER_INTERRUPT:
		fputs(" by interrupt", f);
		break;
	case ANALYSIS_OTHER_HIDDEN:
		fputs(" by hidden", f);
		break;
	default:
		assert_null(i->other);
	}
	if (i->other_id)
		fprintf(f, " on %s%s %llu", i->part ? "part " : "", i->other_id->name,
			(unsigned long long)i->other_id->id);
	if (i->cgroup)
		fprintf(f, " quota %s %llu", i->cgroup, (unsigned long long)i->throttled_ns);
	if (i->inferred)
		fputs(" ?", f);
}

static void check_tiles(const struct analysis_interval *of, size_t nr, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(of[i].from, from);
		assert_true(of[i].to > from);
		assert_non_null(of[i].duration);
		assert_non_null(of[i].in);
		assert_true(of[i].state == ANALYSIS_BLOCKED ||
			    (!of[i].in[0] && !of[i].has_argument && !of[i].file));
		assert_true(of[i].other_kind != ANALYSIS_OTHER_THREAD || of[i].other);
		assert_true(of[i].cgroup ? of[i].state == ANALYSIS_RUNNABLE : !of[i].throttled_ns);
		assert_true(of[i].throttled_ns <= of[i].to - of[i].from);
		from = of[i].to;
	}
	assert_int_equal(from, to);
}

void check_row(const struct analysis_operation *op)
{
	uint64_t ns[ANALYSIS_STATES] = { 0 }, sum = 0;

	check_tiles(op->intervals, op->nr_intervals, op->begin, op->end);
	if (op->complete)
		check_tiles(op->path, op->nr_path, op->begin, op->end);
	else
		assert_int_equal(op->nr_path, 0);
	for (size_t i = 0; i < op->nr_intervals; i++)
		ns[op->intervals[i].state] += op->intervals[i].to - op->intervals[i].from;
	for (int s = 0; s < ANALYSIS_STATES; s++) {
		assert_int_equal(ns[s], op->ns[s]);
		sum += op->ns[s];
	}
	assert_int_equal(sum, op->end - op->begin);
	for (size_t i = 0; i < op->nr_threads && op->nr_threads < 100; i++)
		for (size_t k = 0; k < i; k++)
			assert_ptr_not_equal(op->threads[i], op->threads[k]);
}

char *row_text(const struct analysis_operation *op)
{
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	fprintf(f, "%s %llu %llu-%llu%s:", op->id.name, (unsigned long long)op->id.id,
		(unsigned long long)op->begin, (unsigned long long)op->end,
		op->complete ? "" : " open");
	for (size_t i = 0; i < op->nr_intervals; i++) {
		fputs(i ? ", " : " ", f);
		print_interval(f, &op->intervals[i]);
	}
	fputs(" |", f);
	for (size_t i = 0; i < op->nr_path; i++) {
		fputs(i ? ", " : " ", f);
		print_interval(f, &op->path[i]);
	}
	fclose(f);
	return text;
}

int rows_add(void *rows, const struct analysis_operation *op)
{
	struct rows *r = rows;

	check_row(op);
	if (r->nr == r->room) {
		r->room = r->room ? 2 * r->room : 16;
		r->of = realloc(r->of, r->room * sizeof(*r->of));
		assert_non_null(r->of);
	}
	r->of[r->nr++] = row_text(op);
	return 0;
}

size_t rows_without(const struct rows *r, const char *text)
{
	size_t nr = 0;

	for (size_t i = 0; i < r->nr; i++)
		nr += !strstr(r->of[i], text);
	return nr;
}

void rows_free(struct rows *r)
{
	for (size_t i = 0; i < r->nr; i++)
		free(r->of[i]);
	free(r->of);
	*r = (struct rows){ 0 };
}

void feed(struct analysis *a, const struct trace *t)
{
	for (size_t i = 0; i < t->nr; i++)
		assert_int_equal(analysis_record(a, &t->of[i]), 0);
}

struct analysis *analyse_into(const struct trace *t, const struct analysis_options *opts,
			      const struct analysis_sink *sink)
{
	struct analysis_options none = { 0 };
	struct analysis *a = analysis_new(opts ? opts : &none, sink);

	assert_non_null(a);
	feed(a, t);
	assert_int_equal(analysis_finish(a), 0);
	return a;
}

struct rows analyse(const struct trace *t, const struct analysis_options *opts,
		    struct analysis_totals *totals)
{
	struct rows rows = { 0 };
	struct analysis_sink sink = { .operation = rows_add, .arg = &rows };
	struct analysis *a = analyse_into(t, opts, &sink);

	if (totals)
		*totals = *analysis_totals(a);
	analysis_free(a);
	return rows;
}

void expect_rows(struct trace *t, ...)
{
	struct rows rows = analyse(t, NULL, NULL);
	const char *want;
	va_list list;
	size_t i = 0;

	va_start(list, t);
	for (; (want = va_arg(list, const char *)); i++) {
		assert_true(i < rows.nr);
		assert_string_equal(rows.of[i], want);
	}
	va_end(list);
	assert_int_equal(rows.nr, i);
	rows_free(&rows);
	trace_free(t);
}
