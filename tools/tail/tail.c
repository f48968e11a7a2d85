// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Moves records from the recorder to the file. The younger half of the window waits for older
 * records that the recorder reads later. Records in the older half go through the analysis,
 * which hands out operations that have ended. An operation that began in the oldest eighth is
 * handed out at once or left out, because its records leave the window next.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "priv.h"

#define STEP(t)	((t)->opts.window / 16)	/* bytes between two calls of the analysis */

/* --- callbacks of the analysis ------------------------------------------------------ */

static struct tail_entry *entry_of(struct tail *t, uint64_t number)
{
	struct tail_held *h;

	if (window_has(&t->window, number))
		return window_entry(&t->window, number);
	h = held_find(t, number);
	return h ? &h->entry : NULL;
}

/*
 * Notes until when @record determines what its thread works on. If the record shows that the thread
 * works on several operations, one duration contains all this work. So all of it has ended, or all
 * of it is ongoing.
 */
static void on_lasts(void *arg, uint64_t record, uint64_t ns)
{
	struct tail_entry *e = entry_of(arg, record);

	if (!e)
		return;
	if (ns == ANALYSIS_ONGOING) {
		e->ongoing++;
		return;
	}
	e->ongoing -= e->ongoing > 0;
	if (e->end < ns && e->end != UINT64_MAX)
		e->end = ns;
}

static void on_pair(void *arg, uint64_t begin, uint64_t end, uint64_t ns)
{
	struct tail *t = arg;
	struct tail_entry *b = entry_of(t, begin), *e = entry_of(t, end);
	struct tail_held *h = held_find(t, begin);

	if (!b)
		return;
	b->flags &= ~ENTRY_OPEN;
	if (b->type == ASYNCTRACE_FXT_DURATION_BEGIN)
		b->end = ns;
	if (!end)
		b->flags |= ENTRY_CUT;
	if (!end && h && h->written)
		marks_exited(t, b);
	if (!e || begin == end)
		return;
	b->partner = end;
	e->partner = begin;
	if (b->type == ASYNCTRACE_FXT_DURATION_BEGIN)
		e->ns = b->ns;
	if ((h && h->written) || b->flags & ENTRY_KEEP)
		e->flags |= ENTRY_KEEP;
}

static void on_entered(void *arg, uint64_t begin, uint64_t ns)
{
	struct tail *t = arg;
	struct tail_entry *e = entry_of(t, begin);
	const struct tail_held *h = held_find(t, begin);

	if (e)
		e->entered = ns;
	if (h && h->written)
		marks_entered(t, &h->entry, h->words[h->nr - 1]);
}

/*
 * Notes that later answers about this thread may differ from those of the whole trace: the file
 * lacks durations that have ended and that no slow operation needed.
 */
static void on_crossed(void *arg, uint32_t tid)
{
	struct tail *t = arg;
	struct tail_thread *thread = thread_make(t, tid);

	if (thread)
		thread->lacks = true;
	else if (!t->failed)
		t->failed = -ENOMEM;
}

/* --- from begin to end --------------------------------------------------------------- */

struct tail *tail_new(const struct tail_options *o)
{
	struct tail *t = calloc(1, sizeof(*t));
	const struct analysis_options opts = {
		/* .window and .history need no limit: the size of the tail's window bounds them. */
		.window = UINT32_MAX, .history = SIZE_MAX / 4, .lead = o->before + 1,
		.names = (1 << 20) + o->window / 4, .open = 1000 + o->window / 1024,
	};
	const struct analysis_sink sink = {
		.operation = slow_operation, .left_out = slow_left_out, .lasts = on_lasts,
		.ends = on_pair, .crossed = on_crossed, .entered = on_entered, .arg = t,
	};

	if (!t)
		return NULL;
	t->opts = *o;
	t->due = UINT64_MAX;
	t->window.first = 1;
	t->window.next = 1;
	t->settled = 1;
	t->horizon = 1;
	t->analysis = analysis_new(&opts, &sink);
	t->early = fxt_open_pushed();
	t->late = fxt_open_pushed();
	if (t->analysis && t->early && t->late && !tail_source(t, 0, 0))
		return t;
	tail_free(t);
	return NULL;
}

void tail_free(struct tail *t)
{
	if (!t)
		return;
	while (t->oldest)
		held_drop(t, t->oldest);
	fxt_each(&t->threads, e) {
		struct tail_thread *thread = (struct tail_thread *)(uintptr_t)e->a;

		covers_free(&thread->covers);
		free(thread);
	}
	fxt_each(&t->providers, e)
		free((struct tail_provider *)(uintptr_t)e->a);
	for (size_t i = 0; i < t->nr_cpus; i++)
		covers_free(&t->cpus[i].covers);
	for (size_t i = 0; i < TAIL_LOSSES; i++)
		free(t->losses[i].of);
	covers_free(&t->all);
	fxt_table_free(&t->slow);
	objects_free(t);
	fxt_table_free(&t->threads);
	fxt_table_free(&t->held);
	fxt_table_free(&t->providers);
	fxt_table_free(&t->by_ring);
	window_free(&t->window);
	analysis_free(t->analysis);
	fxt_close(t->early);
	fxt_close(t->late);
	free(t->wanted);
	free(t->cpus);
	free(t->sources);
	free(t->out.buf);
	free(t->out.placed);
	free(t);
}

int tail_source(struct tail *t, uint32_t provider, uint32_t ring)
{
	struct fxt_entry *e = fxt_make(&t->by_ring, fxt_hash(provider, ring));
	size_t room = t->room_sources ? 2 * t->room_sources : 16;
	struct tail_source *sources;

	if (!e)
		return -ENOMEM;
	if (!e->a) {
		if (t->nr_sources == t->room_sources) {
			sources = realloc(t->sources, room * sizeof(*sources));
			if (!sources)
				return -ENOMEM;
			t->sources = sources;
			t->room_sources = room;
		}
		t->sources[t->nr_sources++] = (struct tail_source){
			.provider = provider, .ring = ring,
		};
		e->a = t->nr_sources;
	}
	t->source = e->a - 1;
	return 0;
}

/* --- time goes on ----------------------------------------------------------------------- */

static int drop_first(struct tail *t)
{
	const uint64_t bytes = window_bytes(window_entry(&t->window, t->window.first));

	t->settled_bytes -= bytes;
	t->horizon_bytes -= bytes;
	t->since_forget += bytes;
	return emit_first(t);
}

/*
 * Frees state of times before the value that t->passed had at the previous call. Keeps newer
 * state until the next call, because a duration is written at its end, after records that depend
 * on it.
 */
static void forget(struct tail *t)
{
	t->since_forget = 0;
	t->forget_ns = t->next_forget_ns;
	t->next_forget_ns = t->passed;
	covers_forget(&t->all, t->forget_ns);
	for (size_t i = 0; i < t->nr_cpus; i++)
		covers_forget(&t->cpus[i].covers, t->forget_ns);
	for (size_t i = 0; t->slow.entries && i <= t->slow.mask;) {
		struct fxt_entry *e = &t->slow.entries[i];

		if (e->key && e->a < t->forget_ns)
			fxt_remove(&t->slow, e);
		else
			i++;
	}
	for (size_t i = 0; t->threads.entries && i <= t->threads.mask;) {
		struct fxt_entry *e = &t->threads.entries[i];
		struct tail_thread *thread = (struct tail_thread *)(uintptr_t)e->a;

		if (e->key)
			covers_forget(&thread->covers, t->forget_ns);
		if (!e->key || thread->covers.nr || thread->held || thread->lacks) {
			i++;
			continue;
		}
		covers_free(&thread->covers);
		free(thread);
		fxt_remove(&t->threads, e);
	}
}

/* Moves t->settled: entries before it are in the older half of the window. */
static void find_settled(struct tail *t)
{
	for (; t->window.bytes - t->settled_bytes > t->opts.window / 2; t->settled++) {
		const struct tail_entry *e = window_entry(&t->window, t->settled);

		t->settled_bytes += window_bytes(e);
		if (e->ns > t->settled_ns)
			t->settled_ns = e->ns;
	}
}

/* Moves t->horizon: entries before it leave the window before the next step. */
static void find_horizon(struct tail *t)
{
	for (; t->window.bytes - t->horizon_bytes > t->opts.window / 8 * 7; t->horizon++) {
		const struct tail_entry *e = window_entry(&t->window, t->horizon);

		t->horizon_bytes += window_bytes(e);
		if (e->reach > t->horizon_ns)
			t->horizon_ns = e->reach;
	}
}

static int look(struct tail *t)
{
	int err;

	t->unsettled = 0;
	find_settled(t);
	find_horizon(t);
	err = analysis_settle(t->analysis, t->settled_ns);
	if (!err)
		err = analysis_horizon(t->analysis, t->horizon_ns);
	while (!err && t->window.bytes > t->opts.window && t->window.first < t->horizon)
		err = drop_first(t);
	held_forget(t);
	if (t->since_forget > t->opts.window / 2)
		forget(t);
	return err;
}

/* --- records -------------------------------------------------------------------------- */

static void describe_tracepoint(struct tail_entry *e, const struct fxt_record *rec)
{
	const struct fxt_arg *arg = fxt_arg(rec, "operation");

	e->flags |= ENTRY_TRACEPOINT;
	if (arg && arg->type == ASYNCTRACE_FXT_ARG_UINT64)
		e->joined = arg->u;
}

static void describe_event(struct tail_entry *e, const struct fxt_record *rec)
{
	const bool own = rec->thread.tid > FXT_TID_REAL_MAX;

	e->tid = rec->thread.tid;
	e->ns = rec->ns;
	e->end = rec->number == ASYNCTRACE_FXT_DURATION ? rec->end_ns : rec->ns;
	e->reach = e->end;
	if (!own && (rec->number == ASYNCTRACE_FXT_DURATION_BEGIN ||
		     rec->number == ASYNCTRACE_FXT_ASYNC_BEGIN))
		e->flags |= ENTRY_BEGIN | ENTRY_OPEN;
	if (!own && rec->number == ASYNCTRACE_FXT_DURATION_BEGIN)
		e->end = UINT64_MAX;
	if (fxt_is_tracepoint(rec))
		describe_tracepoint(e, rec);
}

static void describe(struct tail_entry *e, const struct fxt_record *rec)
{
	const struct fxt_arg *arg;

	e->kind = rec->kind;
	e->type = rec->number;
	e->provider = rec->provider;
	e->flags = fxt_counted(rec) == FXT_NOT_COUNTED ? 0 : ENTRY_COUNTED;
	switch (rec->kind) {
	case FXT_EVENT:
		describe_event(e, rec);
		break;
	case FXT_SWITCH:
	case FXT_WAKEUP:
		arg = fxt_arg(rec, "waker");
		e->ns = rec->ns;
		e->end = rec->ns;
		e->reach = rec->ns;
		e->cpu = rec->cpu;
		e->tid = rec->kind == FXT_SWITCH ? rec->out : rec->in;
		e->other = rec->kind == FXT_SWITCH ? rec->in :
			   arg && arg->type == ASYNCTRACE_FXT_ARG_KOID ? arg->u : 0;
		break;
	case FXT_OBJECT:
		arg = fxt_arg(rec, "process");
		e->tid = rec->id;
		e->other = arg && arg->type == ASYNCTRACE_FXT_ARG_KOID ? arg->u : 0;
		break;
	default:
		break;
	}
}

/*
 * True if @rec belongs to an operation or a scope, and its category and name do not fit into a
 * record of the file. (Arguments that do not fit are cut off.)
 */
static bool is_large(const struct fxt_record *rec)
{
	return rec->kind == FXT_EVENT && rec->number >= ASYNCTRACE_FXT_DURATION_BEGIN &&
	       !encode_fits(rec);
}

/* The caller counts the record after an error, so the window must not have it then. */
static int take(struct tail *t, const uint64_t *words, struct fxt_record *rec)
{
	struct tail_thread *thread = NULL;
	struct tail_entry *e;

	if (rec->damaged)
		return -EBADMSG;
	if (is_large(rec)) {
		thread = thread_make(t, rec->thread.tid);
		if (!thread)
			return -ENOMEM;
	}
	/* The analysis identifies records by .offset, so it gets the entry's number. */
	rec->offset = t->window.next;
	e = window_add(&t->window, words, rec->words);
	if (!e)
		return -ENOMEM;
	e->source = t->source;
	describe(e, rec);
	t->unsettled += window_bytes(e);
	if (thread) {
		/* Answers about the thread may differ from those of the whole trace. */
		thread->lacks = true;
		e->flags |= ENTRY_LARGE;
	}
	return 0;
}

static void fail(struct tail *t, int err)
{
	if (err && !t->failed)
		t->failed = err;
}

/*
 * Takes the next record of t->early, which is at @words. Returns its number of words, or 0 if the
 * record was not taken.
 */
static size_t push_record(struct tail *t, const uint64_t *words)
{
	struct fxt_record rec;
	int err = fxt_next(t->early, &rec);

	if (err > 0)
		err = take(t, words, &rec);
	else if (!err)
		err = -EBADMSG;
	fail(t, err);
	if (err)
		return 0;
	err = analysis_record(t->analysis, &rec);
	if (!err && t->unsettled > STEP(t))
		err = look(t);
	fail(t, err);
	return rec.words;
}

size_t tail_push(struct tail *t, const uint64_t *words, size_t nr)
{
	size_t at = 0, taken = 1;

	if (!t->failed)
		fail(t, fxt_push(t->early, words, nr));
	while (at < nr && taken && !t->failed) {
		taken = push_record(t, words + at);
		at += taken;
	}
	return at;
}

void tail_flush(struct tail *t)
{
	out_flush(t);
}

int tail_finish(struct tail *t)
{
	if (!t->failed)
		fail(t, analysis_finish(t->analysis));
	while (t->window.first < t->window.next)
		fail(t, emit_first(t));
	while (t->oldest)
		held_drop(t, t->oldest);
	t->counts.late = analysis_totals(t->analysis)->late;
	t->counts.unnamed = analysis_totals(t->analysis)->unnamed;
	out_flush(t);
	return tail_error(t);
}

int tail_error(const struct tail *t)
{
	return t->failed ? t->failed : t->out.error;
}

uint64_t tail_written(const struct tail *t)
{
	return t->out.written + t->out.used * 8;
}

const struct tail_counts *tail_counts(const struct tail *t)
{
	return &t->counts;
}

const struct tail_source *tail_sources(const struct tail *t, size_t *nr)
{
	*nr = t->nr_sources;
	return t->sources;
}
