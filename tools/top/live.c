// SPDX-License-Identifier: GPL-2.0-or-later
/* Analyses a trace while it is written */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fxt/print.h"
#include "live.h"
#include "report/explain.h"
#include "sum.h"
#include "tool.h"

/*
 * Limit of the time that an operation waits for the scheduling record that completes its
 * account
 */
#define PATIENCE_NS	2000000000ull

uint64_t live_wall(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* --- from the engine --------------------------------------------------------------- */

/*
 * Returns the type of an operation. Addresses of names identify types, because the engine stores
 * each name once.
 */
static struct top_type *type_of(struct live *l, const struct analysis_id *id)
{
	const uint64_t key = fxt_hash(fxt_hash((uintptr_t)id->provider, (uintptr_t)id->category),
				      (uintptr_t)id->name);
	struct fxt_entry *e = fxt_find(&l->types, key);
	struct top_type *t;

	if (e)
		return (struct top_type *)(uintptr_t)e->a;
	t = tally_type(&l->tally, id->provider, id->category, id->name);
	e = t ? fxt_make(&l->types, key) : NULL;
	if (!e)
		return NULL;
	e->a = (uintptr_t)t;
	return t;
}

static int on_operation(void *arg, const struct analysis_operation *op)
{
	struct live *l = arg;
	struct top_type *t = type_of(l, &op->id);

	if (!t)
		return -ENOMEM;
	tally_add(t, op);
	tally_settled(&l->tally, op->end);
	return 0;
}

static int on_loss(void *arg, const struct analysis_loss *loss)
{
	struct live *l = arg;

	sum_add(&l->lost.dropped, loss->dropped);
	sum_add(&l->lost.overwritten, loss->overwritten);
	sum_add(&l->lost.malformed, loss->malformed);
	return 0;
}

static int new_engine(struct live *l)
{
	const struct analysis_options opts = {
		.window = l->window ? l->window : LIVE_WINDOW, .totals_only = true,
		.patience = l->is_file ? 0 : PATIENCE_NS,
	};
	const struct analysis_sink sink = {
		.operation = on_operation, .loss = on_loss, .arg = l,
	};

	l->analysis = analysis_new(&opts, &sink);
	return l->analysis ? 0 : -ENOMEM;
}

int live_open(struct live *l)
{
	int err = new_engine(l);

	l->begin = UINT64_MAX;
	return err ? err : live_new_reader(l);
}

void live_close(struct live *l)
{
	analysis_free(l->analysis);
	fxt_close(l->reader);
	open_free(&l->open);
	fxt_table_free(&l->providers);
	fxt_table_free(&l->types);
	fxt_names_free(&l->names);
	tally_free(&l->tally);
}

/* --- from the reader ------------------------------------------------------------------ */

void live_breach(void *arg, enum fxt_rule rule, uint64_t offset, const char *detail)
{
	struct live *l = arg;
	const bool end = fxt_rules[rule].excuse == FXT_EXCUSE_END;

	if (fxt_is_understood(rule))
		return;
	if (l->path && (end || !l->damaged)) {
		fprintf(stderr, "asynctrace top: %s: ", tool_text(l->path));
		fxt_print_breach(stderr, rule, offset, detail);
		fputs(end ? "; the numbers cover the records up to there\n" :
			    "; the numbers cover the other records that can be read; asynctrace validate lists all errors\n",
		      stderr);
	}
	l->incomplete |= end;
	l->damaged |= !end;
}

static int name_provider(struct live *l, const struct fxt_record *rec)
{
	struct fxt_entry *e = fxt_make(&l->providers, (uint64_t)rec->provider + 1);
	const uint32_t name = fxt_name(&l->names, rec->name.s, rec->name.len);

	if (!e || name == UINT32_MAX)
		return -ENOMEM;
	e->a = (uintptr_t)l->names.of[name];
	return 0;
}

static const char *provider_of(const struct live *l, const struct fxt_record *rec)
{
	const struct fxt_entry *e = fxt_find(&l->providers, (uint64_t)rec->provider + 1);

	return e ? (const char *)(uintptr_t)e->a : "";
}

static uint64_t key_of(const struct fxt_record *rec)
{
	return fxt_hash(fxt_hash(rec->id, fxt_name_key(rec->category.s, rec->category.len)),
			fxt_name_key(rec->name.s, rec->name.len));
}

/* Returns @t as a string in @buf. It is cut like names of types. */
static const char *text(const struct fxt_text *t, char *buf)
{
	const size_t len = tally_name_len(t->s, t->len);

	memcpy(buf, t->s, len);
	buf[len] = 0;
	return buf;
}

static int begins(struct live *l, const struct fxt_record *rec)
{
	char category[TYPE_NAME_MAX + 1], name[TYPE_NAME_MAX + 1];
	const struct open_operation op = {
		.begin = rec->ns, .id = rec->id, .pid = rec->thread.pid, .key = key_of(rec),
		.type = tally_type(&l->tally, provider_of(l, rec), text(&rec->category, category),
				   text(&rec->name, name)),
	};

	return op.type ? open_begin(&l->open, &op) : -ENOMEM;
}

static int read_event(struct live *l, const struct fxt_record *rec)
{
	/*
	 * Skip events of the recorder's threads, which report losses and clocks. This also skips
	 * virtual threads of programs, which have no operations.
	 */
	if (rec->thread.tid > FXT_TID_REAL_MAX)
		return 0;
	switch (rec->number) {
	case ASYNCTRACE_FXT_DURATION:
		if (rec->end_ns > rec->ns)
			hold_duration(&l->hold, rec->end_ns - rec->ns);
		return 0;
	case ASYNCTRACE_FXT_ASYNC_BEGIN:
		return begins(l, rec);
	case ASYNCTRACE_FXT_ASYNC_END:
		return open_end(&l->open, key_of(rec), rec->ns);
	default:
		return 0;
	}
}

/*
 * A session may be read long after it was stopped, so the recorder's own events of later times do
 * not count, as in the engine.
 */
static void note_time(struct live *l, const struct fxt_record *rec)
{
	const bool ends = rec->kind == FXT_EVENT && rec->number == ASYNCTRACE_FXT_DURATION &&
			  rec->end_ns > rec->ns;
	uint64_t end = ends ? rec->end_ns : rec->ns;

	if (l->stopped && end > l->stopped && rec->kind == FXT_EVENT &&
	    (rec->thread.tid > FXT_TID_REAL_MAX || fxt_is_throttling(rec)))
		end = l->stopped;
	if (rec->ns < l->begin)
		l->begin = rec->ns;
	if (end > l->newest)
		l->newest = end;
}

static void note_moment(struct live *l, const struct fxt_record *rec)
{
	if (fxt_text_is(&rec->name, "session stop") && !l->stopped)
		l->stopped = rec->ns;
	if (fxt_text_is(&rec->name, "session start"))
		l->stopped = 0;
}

int live_record(struct live *l, const struct fxt_record *rec)
{
	int err = 0;

	if (l->error)
		return l->error;
	if (!rec->damaged) {
		if (fxt_is_clock(rec))
			note_moment(l, rec);
		if (rec->kind == FXT_EVENT || rec->kind == FXT_SWITCH || rec->kind == FXT_WAKEUP)
			note_time(l, rec);
		if (rec->kind == FXT_PROVIDER_INFO)
			err = name_provider(l, rec);
		else if (rec->kind == FXT_EVENT)
			err = read_event(l, rec);
		l->records += fxt_counted(rec) != FXT_NOT_COUNTED;
	}
	if (!err)
		err = analysis_record(l->analysis, rec);
	l->error = err;
	return err;
}

int live_push(struct live *l, const uint64_t *buf, size_t words)
{
	struct fxt_record rec;
	int err = 0;

	if (!l->error)
		l->error = fxt_push(l->reader, buf, words);
	while (!l->error) {
		err = fxt_next(l->reader, &rec);
		if (err <= 0)
			break;
		live_record(l, &rec);
	}
	if (!l->error && (err == -ENODATA || fxt_broke_off(l->reader))) {
		l->unreadable = l->damaged = true;
		return -EBADMSG;
	}
	if (!l->error && err < 0)
		l->error = err;
	return l->error;
}

/* --- time --------------------------------------------------------------------------------- */

void live_read_until(struct live *l, uint64_t wall, uint64_t ns)
{
	hold_sample(&l->hold, wall, ns);
}

int live_settle(struct live *l, uint64_t wall)
{
	const uint64_t until = hold_until(&l->hold, wall);

	if (l->error || l->ended || !until)
		return l->error;
	/*
	 * If no record is later than @until, the record that an operation waits for may never come.
	 * So end the wait, as if PATIENCE_NS had passed.
	 */
	l->error = analysis_settle(l->analysis, until > l->newest ? until + PATIENCE_NS : until);
	tally_settled(&l->tally, until);
	return l->error;
}

/* Adds an operation that the engine knows to be open. */
static int add_open(void *arg, const struct analysis_operation *op)
{
	struct live *l = arg;
	const struct open_operation open = {
		.begin = op->begin, .id = op->id.id, .pid = op->id.pid,
		.type = type_of(l, &op->id), .key = fxt_hash(op->begin, op->id.id),
	};

	return open.type ? open_begin(&l->open, &open) : -ENOMEM;
}

bool live_again(struct live *l)
{
	struct analysis *again;

	/* After a restart, the engine knows only a part of the file: it cannot begin again. */
	if (l->error || l->ended || l->restarts)
		return false;
	again = analysis_again(l->analysis);
	if (!again)
		return false;
	l->analysis = again;
	fxt_table_free(&l->types);
	l->types = (struct fxt_table){ 0 };
	tally_reset(&l->tally);
	open_clear(&l->open);
	l->lost = (struct live_lost){ 0 };
	l->records = l->stopped = 0;
	l->damaged = l->incomplete = false;
	/* The second reading finds the same breaches. */
	l->path = NULL;
	return true;
}

int live_end(struct live *l)
{
	struct fxt_record rec;

	if (l->error || l->ended)
		return l->error;
	if (!l->unreadable) {
		/* The reader reports a missing end. */
		fxt_push_end(l->reader);
		l->error = fxt_next(l->reader, &rec);
	}
	l->ended = true;
	if (!l->error)
		l->error = analysis_end(l->analysis);
	tally_settled(&l->tally, l->newest);
	open_clear(&l->open);
	if (!l->error)
		l->error = analysis_peek(l->analysis, NULL, l->newest, add_open, l);
	return l->error;
}

uint64_t live_now(const struct live *l, uint64_t wall)
{
	/* No record tells whether an operation is still open after the stop of the session. */
	return l->own_clock && !l->ended && !l->stopped && wall > l->newest ? wall : l->newest;
}

/* --- memory -------------------------------------------------------------------------------- */

static uint64_t memory_used(void)
{
	const struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

/* Feeds the names of providers to a new engine. It does not get the names of threads. */
static int tell_providers(struct live *l)
{
	fxt_each(&l->providers, e) {
		const char *name = (const char *)(uintptr_t)e->a;
		const struct fxt_record rec = {
			.kind = FXT_PROVIDER_INFO, .provider = e->key - 1,
			.name = { .s = name, .len = strlen(name) },
		};
		int err = analysis_record(l->analysis, &rec);

		if (err)
			return err;
	}
	return 0;
}

static int restart(struct live *l)
{
	const struct analysis_totals *t = analysis_totals(l->analysis);
	int err = analysis_end(l->analysis);

	tally_settled(&l->tally, l->newest);
	l->late += t->late;
	l->losses += t->losses;
	l->restarts++;
	fxt_table_free(&l->types);
	l->types = (struct fxt_table){ 0 };
	analysis_free(l->analysis);
	l->analysis = NULL;
	if (!err)
		err = new_engine(l);
	return err ? err : tell_providers(l);
}

int live_bound(struct live *l)
{
	if (l->error || l->ended || memory_used() <= l->memory)
		return l->error;
	l->error = restart(l);
	/*
	 * The restart does not free memory of the reader and the composer, so it may not
	 * suffice.
	 */
	if (!l->error && memory_used() > l->memory / 4 * 3)
		l->error = -EDQUOT;
	return l->error ? l->error : 1;
}

int live_new_reader(struct live *l)
{
	fxt_close(l->reader);
	l->reader = fxt_open_pushed();
	if (!l->reader)
		return -ENOMEM;
	fxt_on_breach(l->reader, live_breach, l);
	fxt_without_args(l->reader);
	return 0;
}

/* --- answers -------------------------------------------------------------------------------- */

uint64_t live_late(const struct live *l)
{
	return l->late + (l->analysis ? analysis_totals(l->analysis)->late : 0);
}

uint64_t live_losses(const struct live *l)
{
	return l->losses + (l->analysis ? analysis_totals(l->analysis)->losses : 0);
}

struct explaining {
	const struct top_type *type;
	struct live *live;
	FILE *f;
};

static int explain(void *arg, const struct analysis_operation *op)
{
	struct explaining *e = arg;

	if (type_of(e->live, &op->id) != e->type)
		return 0;
	explain_sentence(e->f, op);
	explain_now(e->f, op);
	explain_account(e->f, op);
	return 1;
}

bool live_explain(struct live *l, const struct open_operation *op, FILE *f)
{
	const struct analysis_operation which = { .id.id = op->id, .begin = op->begin };
	struct explaining e = { .type = op->type, .live = l, .f = f };
	const uint64_t settled = l->tally.now;
	const uint64_t now = l->stopped && settled > l->newest ? l->newest : settled;

	return l->analysis && analysis_peek(l->analysis, &which, now, explain, &e) == 1;
}
