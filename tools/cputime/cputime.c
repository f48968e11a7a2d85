// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Holds records until the switches within their durations are known. Then writes them, with the CPU
 * time as an argument of the complete duration or of the duration's end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/asynctrace_fxt.h>

#include "cputime/cputime.h"
#include "cputime/off_time.h"
#include "cputime/queue.h"
#include "fxt/fxt.h"

/* Limit of nested durations that are open on a thread */
#define DEPTH_MAX	4096

/* Words of the argument that is added to the record of a duration */
#define GROWTH	3

static const char name[8] = "cpu_ns";

/* A record of a duration that waits in the queue */
struct held {
	size_t at, words;	/* in the buffer */
	uint64_t from, to;	/* .from of a duration's end: set by settle() */
	uint64_t ns;
	uint32_t tid;
	uint8_t type;
	bool settled;
	bool known;		/* .ns is valid */
};

/* A thread that has ended */
struct ended {
	uint64_t ns;
	uint32_t tid;
};

/* The begins that are open on a thread */
struct stack {
	uint64_t *of;
	size_t nr, room;
	uint64_t beyond;	/* number of further begins, which were left out */
};

struct cputime {
	struct queue queue;
	struct fxt_reader *reader;	/* of the last file */
	uint64_t base;		/* offset of the queue's first word in that file, bytes */
	struct held *held;	/* in the order of the trace */
	size_t nr, room_held;
	size_t *sorted;		/* room for an index of each held record */
	size_t room_sorted;
	struct history history;
	struct fxt_table stacks;	/* tid + 1: .a struct stack */
	struct ended *ended;	/* threads whose memory is not freed yet */
	size_t nr_ended, room_ended;
	uint64_t start;		/* begin of the session */
	uint64_t last_file;	/* upper bound of the bytes of the last file */
	uint64_t growing;	/* number of queued records to which cpu_ns may be added */
	uint64_t added, known, unknown;
	int error;
};

struct cputime *cputime_new(const struct cputime_options *o)
{
	struct cputime *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->queue.to = *o;
	c->reader = fxt_open_pushed();
	if (c->reader)
		return c;
	cputime_free(c);
	return NULL;
}

static void stack_free(struct stack *s)
{
	if (s)
		free(s->of);
	free(s);
}

void cputime_free(struct cputime *c)
{
	if (!c)
		return;
	fxt_each(&c->stacks, e)
		stack_free((struct stack *)(uintptr_t)e->a);
	fxt_table_free(&c->stacks);
	history_free(&c->history);
	fxt_close(c->reader);
	queue_free(&c->queue);
	free(c->held);
	free(c->sorted);
	free(c->ended);
	free(c);
}

/* --- records ------------------------------------------------------------------------- */

static bool is_real(uint64_t tid)
{
	return tid && tid <= FXT_TID_REAL_MAX;
}

static int note_end(struct cputime *c, uint64_t ns, uint32_t tid)
{
	if (!more_room(&c->ended, c->nr_ended, &c->room_ended, sizeof(*c->ended)))
		return -ENOMEM;
	c->ended[c->nr_ended++] = (struct ended){ .ns = ns, .tid = tid };
	return 0;
}

static int take_switch(struct cputime *c, const struct fxt_record *rec)
{
	/* A damaged record may have a larger state, which is undefined. */
	const bool exits = rec->number == ASYNCTRACE_FXT_STATE_DYING ||
			   rec->number == ASYNCTRACE_FXT_STATE_DEAD;
	int err = 0;

	if (fxt_is_inferred(rec))
		return 0;
	if (is_real(rec->out))
		err = history_turn(&c->history, rec->ns, rec->out, false);
	if (!err && is_real(rec->out) && exits)
		err = note_end(c, rec->ns, rec->out);
	if (!err && is_real(rec->in))
		err = history_turn(&c->history, rec->ns, rec->in, true);
	return err;
}

/* Takes an event of the recorder: the begin of the session, or a loss of switches. */
static int take_own(struct cputime *c, const struct fxt_record *rec)
{
	const struct fxt_arg *arg;

	if (rec->number == ASYNCTRACE_FXT_DURATION && fxt_text_is(&rec->name, "lost records")) {
		arg = fxt_arg(rec, "provider");
		return arg && fxt_text_is(&arg->text, "asynctrace-kernel") &&
		       !fxt_arg(rec, "tracepoints") ?
		       history_lost(&c->history, rec->ns, rec->end_ns) : 0;
	}
	if (!fxt_is_clock(rec))
		return 0;
	arg = fxt_arg(rec, "session start");
	if (fxt_text_is(&rec->name, "session start"))
		c->start = rec->ns;
	else if (fxt_text_is(&rec->name, "session continued") && arg)
		c->start = arg->u;
	return 0;
}

static int take_event(struct cputime *c, const struct fxt_record *rec)
{
	if (rec->provider == FXT_KERNEL_PROVIDER)
		return take_own(c, rec);
	if (rec->number < ASYNCTRACE_FXT_DURATION_BEGIN || rec->number > ASYNCTRACE_FXT_DURATION ||
	    !is_real(rec->thread.tid))
		return 0;
	if (!more_room(&c->held, c->nr, &c->room_held, sizeof(*c->held)))
		return -ENOMEM;
	if (rec->number != ASYNCTRACE_FXT_DURATION_BEGIN) {
		c->growing++;
		c->last_file += GROWTH * 8;
	}
	c->held[c->nr++] = (struct held){
		.at = (rec->offset - c->base) / 8, .words = rec->words, .from = rec->ns,
		.to = rec->number == ASYNCTRACE_FXT_DURATION ? rec->end_ns : rec->ns,
		.tid = rec->thread.tid, .type = rec->number,
	};
	return 0;
}

static int take(struct cputime *c, const struct fxt_record *rec)
{
	const int err = queue_note(&c->queue, fxt_counted(rec));

	if (err || rec->damaged)
		return err;
	switch (rec->kind) {
	case FXT_SWITCH:
		return take_switch(c, rec);
	case FXT_EVENT:
		return take_event(c, rec);
	default:
		return 0;
	}
}

int cputime_ring(struct cputime *c, uint32_t provider, uint32_t ring)
{
	if (!c->error)
		c->error = queue_ring(&c->queue, provider, ring);
	return c->error;
}

/* Begins the next file. It needs a new reader, because it has its own tables of names. */
static int next_file(struct cputime *c)
{
	struct fxt_reader *reader = fxt_open_pushed();

	if (!reader)
		return -ENOMEM;
	fxt_close(c->reader);
	c->reader = reader;
	/*
	 * Offsets begin with 0 again. The queue still has words of earlier files, so the offset of
	 * its first word is negative.
	 */
	c->base = 0 - c->queue.words * 8;
	c->last_file = 0;
	return queue_next_file(&c->queue);
}

static int push(struct cputime *c, const uint64_t *words, size_t nr)
{
	struct fxt_record rec;
	int err = 0;

	if (nr && words[0] == ASYNCTRACE_FXT_MAGIC && c->last_file)
		err = next_file(c);
	if (!err)
		err = queue_add(&c->queue, words, nr);
	if (!err)
		err = fxt_push(c->reader, words, nr);
	c->last_file += nr * 8;
	while (!err && (err = fxt_next(c->reader, &rec)) > 0)
		err = take(c, &rec);
	return err;
}

int cputime_push(struct cputime *c, const uint64_t *words, size_t nr)
{
	const size_t before = c->queue.words, records = c->queue.nr;

	if (c->error)
		return c->error;
	c->error = push(c, words, nr);
	if (c->error)
		queue_cut(&c->queue, before, records);
	return c->error;
}

/* --- times --------------------------------------------------------------------------- */

static struct stack *stack_of(struct cputime *c, uint32_t tid)
{
	struct fxt_entry *e = fxt_make(&c->stacks, (uint64_t)tid + 1);

	if (e && !e->a)
		e->a = (uintptr_t)calloc(1, sizeof(struct stack));
	return e ? (struct stack *)(uintptr_t)e->a : NULL;
}

static int begin(struct stack *s, uint64_t ns)
{
	if (s->nr == DEPTH_MAX) {
		s->beyond++;
		return 0;
	}
	if (!more_room(&s->of, s->nr, &s->room, sizeof(*s->of)))
		return -ENOMEM;
	s->of[s->nr++] = ns;
	return 0;
}

/* Removes the last begin from @s and returns its time. Returns 0 if it is not known. */
static uint64_t end(struct stack *s)
{
	if (s->beyond) {
		s->beyond--;
		return 0;
	}
	return s->nr ? s->of[--s->nr] : 0;
}

/* Computes the CPU time of a record. All switches up to the record's end must be known. */
static int settle(struct cputime *c, struct held *h, bool missed)
{
	struct stack *s;

	h->settled = true;
	if (h->type != ASYNCTRACE_FXT_DURATION) {
		s = stack_of(c, h->tid);
		if (!s)
			return -ENOMEM;
		if (h->type == ASYNCTRACE_FXT_DURATION_BEGIN)
			return begin(s, h->from);
		h->from = end(s);
	}
	/*
	 * A duration that began before the session has the session's begin in the trace, so its
	 * CPU time is not known.
	 */
	h->known = h->from > c->start && h->to >= h->from &&
		   history_on_cpu(&c->history, h->tid, h->from, h->to, missed, &h->ns);
	return 0;
}

static int by_end(const void *a, const void *b, void *held)
{
	const struct held *h = held;
	const size_t x = *(const size_t *)a, y = *(const size_t *)b;

	if (h[x].to != h[y].to)
		return h[x].to < h[y].to ? -1 : 1;
	return (x > y) - (x < y);
}

/* Settles the held records until @ns, in order of time. */
static int settle_all(struct cputime *c, uint64_t ns, bool missed)
{
	size_t nr = 0;
	int err = 0;

	while (c->room_sorted < c->nr)
		if (!double_room(&c->sorted, &c->room_sorted, sizeof(*c->sorted)))
			return -ENOMEM;
	for (size_t i = 0; i < c->nr; i++)
		if (!c->held[i].settled && c->held[i].to <= ns)
			c->sorted[nr++] = i;
	if (!nr)
		return 0;
	qsort_r(c->sorted, nr, sizeof(*c->sorted), by_end, c->held);
	for (size_t i = 0; i < nr && !err; i++)
		err = settle(c, &c->held[c->sorted[i]], missed);
	return err;
}

/* Drops the begins of a thread that ended at @ns. Another thread may have got its id since then. */
static void drop_begins(struct cputime *c, uint32_t tid, uint64_t ns)
{
	struct fxt_entry *e = fxt_find(&c->stacks, (uint64_t)tid + 1);
	struct stack *s = e ? (struct stack *)(uintptr_t)e->a : NULL;
	size_t old = 0;

	if (!s)
		return;
	while (old < s->nr && s->of[old] <= ns)
		old++;
	s->nr -= old;
	if (s->nr) {
		memmove(s->of, s->of + old, s->nr * sizeof(*s->of));
		return;
	}
	stack_free(s);
	fxt_remove(&c->stacks, e);
}

/* Frees the memory of threads that ended until @ns. Their records have been settled. */
static void free_ended(struct cputime *c, uint64_t ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->nr_ended; i++) {
		const struct ended t = c->ended[i];

		if (t.ns > ns) {
			c->ended[kept++] = t;
			continue;
		}
		history_ended(&c->history, t.tid, t.ns);
		drop_begins(c, t.tid, t.ns);
	}
	c->nr_ended = kept;
}

/* --- writing ------------------------------------------------------------------------- */

/* Writes the record @h. If its CPU time is known and fits, adds it behind the other arguments. */
static int put_duration(struct cputime *c, const struct held *h)
{
	const uint64_t *w = c->queue.buf + h->at;
	const size_t tail = h->type == ASYNCTRACE_FXT_DURATION;
	uint64_t record[ASYNCTRACE_FXT_WORDS_MAX], *to = record + h->words - tail;
	const size_t words = h->words + GROWTH;

	c->growing -= h->type != ASYNCTRACE_FXT_DURATION_BEGIN;
	if (!h->known || words > ASYNCTRACE_FXT_WORDS_MAX ||
	    (w[0] >> 20 & 0xf) == ASYNCTRACE_FXT_ARGS_MAX) {
		c->unknown += h->type != ASYNCTRACE_FXT_DURATION_BEGIN;
		return queue_write(&c->queue, h->at + h->words);
	}
	memcpy(record, w, h->words * 8);
	to[0] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_UINT64, GROWTH,
				   ASYNCTRACE_FXT_INLINE | strlen(name), 0);
	memcpy(to + 1, name, sizeof(name));
	to[2] = h->ns;
	if (tail)
		to[3] = w[h->words - 1];
	record[0] = (w[0] & ~(0xfff0ULL | 0xfULL << 20)) | words << 4 |
		    ((w[0] >> 20 & 0xf) + 1) << 20;
	c->known++;
	c->added += GROWTH * 8;
	return queue_replace(&c->queue, record, words);
}

/* Writes the records before the first one that waits, and drops them. */
static int write_settled(struct cputime *c)
{
	size_t i = 0, dropped;
	int err = 0;

	for (; i < c->nr && c->held[i].settled && !err; i++) {
		err = queue_write(&c->queue, c->held[i].at);
		if (!err)
			err = put_duration(c, &c->held[i]);
	}
	if (!err && i == c->nr)
		err = queue_write(&c->queue, c->queue.words);
	if (!err)
		err = queue_flush(&c->queue);
	if (err)
		return err;
	dropped = queue_drop(&c->queue);
	c->base += dropped * 8;
	c->nr -= i;
	if (c->nr)
		memmove(c->held, c->held + i, c->nr * sizeof(*c->held));
	for (i = 0; i < c->nr; i++)
		c->held[i].at -= dropped;
	return 0;
}

int cputime_settle(struct cputime *c, uint64_t ns, bool missed)
{
	if (!c->error)
		c->error = history_settle(&c->history, ns);
	if (!c->error)
		c->error = settle_all(c, ns, missed);
	if (!c->error)
		free_ended(c, ns);
	if (!c->error)
		c->error = write_settled(c);
	return c->error;
}

/* --- sizes and counts ------------------------------------------------------------------ */

void cputime_unwritten(const struct cputime *c, cputime_count_fn count, void *arg)
{
	queue_unwritten(&c->queue, count, arg);
}

uint64_t cputime_written(const struct cputime *c)
{
	return c->queue.written;
}

uint64_t cputime_total(const struct cputime *c)
{
	return c->queue.before + c->queue.written;
}

uint64_t cputime_waiting(const struct cputime *c)
{
	return c->queue.words * 8 + c->growing * GROWTH * 8;
}

bool cputime_is_behind(const struct cputime *c)
{
	return c->queue.nexts;
}

uint64_t cputime_last_file(const struct cputime *c)
{
	return c->last_file;
}

uint64_t cputime_added(const struct cputime *c)
{
	return c->added;
}

uint64_t cputime_known(const struct cputime *c)
{
	return c->known;
}

uint64_t cputime_unknown(const struct cputime *c)
{
	return c->unknown;
}
