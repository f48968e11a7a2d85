// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Entries that leave the window: each goes into the file, becomes a held record, or is filtered
 * out.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "priv.h"

/* --- providers ---------------------------------------------------------------------- */

static int provider_info(struct tail *t, const struct tail_entry *e, const uint64_t *words)
{
	struct tail_provider *p = emit_provider(t, e->provider);

	if (!p)
		return -ENOMEM;
	if (e->words <= sizeof(p->info) / 8) {
		memcpy(p->info, words, e->words * 8);
		p->words = e->words;
	}
	p->rate = 1000000000;
	return 0;
}

/* --- definitions --------------------------------------------------------------------- */

/*
 * Applies a definition to the reader t->late, whose tables must match the records that leave
 * the window.
 */
static int define(struct tail *t, const struct tail_entry *e, const uint64_t *words)
{
	struct fxt_record rec;
	int err = fxt_push(t->late, words, e->words);

	if (!err)
		err = fxt_next(t->late, &rec);
	if (err < 0)
		return err;
	switch (e->kind) {
	case FXT_TRACE_INFO:
		out_put(t, words, e->words, NULL);
		return 0;
	case FXT_PROVIDER_INFO:
		return provider_info(t, e, words);
	case FXT_STRING:
		if (e->provider == KERNEL_PROVIDER) {
			emit_section(t, KERNEL_PROVIDER);
			out_put(t, words, e->words, NULL);
		}
		return 0;
	default:
		return 0;
	}
}

/* --- events ---------------------------------------------------------------------------- */

ssize_t emit_encode(struct tail *t, const uint64_t *raw, size_t nr, uint64_t *words)
{
	struct fxt_record rec;
	int err = fxt_push(t->late, raw, nr);

	if (!err)
		err = fxt_next(t->late, &rec);
	if (err < 0)
		return err;
	return err && !rec.damaged ? (ssize_t)encode_event(words, &rec, &t->counts.trimmed) : 0;
}

/* True if all records of the thread at the time of @e are kept. */
static bool is_covered(const struct tail *t, const struct tail_entry *e)
{
	const struct tail_thread *thread = thread_find(t, e->tid);

	return thread && covers_overlap(&thread->covers, e->ns, e->ongoing ? UINT64_MAX : e->end);
}

/* Keeps the begin or end that belongs to @e, because @e goes into the file. */
static void keep_partner(struct tail *t, const struct tail_entry *e)
{
	struct tail_held *h = held_find(t, e->partner);

	if (window_has(&t->window, e->partner))
		window_entry(&t->window, e->partner)->flags |= ENTRY_KEEP;
	else if (h)
		held_write(t, h, true);
}

/* True if @e ends an operation whose begin comes later in the window and is kept. */
static bool ends_covered(const struct tail *t, const struct tail_entry *e)
{
	return e->type == ASYNCTRACE_FXT_ASYNC_END && window_has(&t->window, e->partner) &&
	       is_covered(t, window_entry(&t->window, e->partner));
}

/*
 * True if @e is an event of a tracepoint that belongs to a slow operation. Such an event is kept
 * even outside of its thread's covers.
 */
static bool is_of_slow(const struct tail *t, const struct tail_entry *e)
{
	return e->joined && fxt_find(&t->slow, fxt_hash(e->joined, 0));
}

static int event(struct tail *t, const struct tail_entry *e, uint64_t number)
{
	const bool covered = is_covered(t, e);
	const bool kept = covered || e->flags & ENTRY_KEEP || ends_covered(t, e) ||
			  is_of_slow(t, e);
	const bool lasts = e->flags & ENTRY_OPEN ||
			   (e->flags & ENTRY_BEGIN && window_has(&t->window, e->partner)) ||
			   (!covered && (e->ongoing || e->end > t->passed));
	/*
	 * Outside of covers, an operation's begin or end is kept without the events around it.
	 */
	const bool apart = !covered && (e->type == ASYNCTRACE_FXT_ASYNC_BEGIN ||
					e->type == ASYNCTRACE_FXT_ASYNC_END);
	struct tail_held *h = NULL;
	ssize_t words;

	if (!kept && !lasts) {
		out_filtered(t, e);
		return 0;
	}
	if (kept && e->partner)
		keep_partner(t, e);
	/* The id is the record's last word. */
	if (kept && e->flags & ENTRY_SLOW)
		marks_operation(t, e->ns, window_words(&t->window, e)[e->words - 1]);
	words = emit_encode(t, window_words(&t->window, e), e->words, t->scratch);
	if (words > 0 && lasts)
		h = held_add(t, e, number, t->scratch, words);
	if (words <= 0 || (lasts && !h)) {
		if (words)
			out_unwritten(t, e);
		else
			out_filtered(t, e);
		return words > 0 ? -ENOMEM : words;
	}
	if (h && kept)
		held_write(t, h, apart);
	else if (kept)
		emit_event(t, e, t->scratch, words, apart);
	return 0;
}

/* --- scheduling ------------------------------------------------------------------------- */

struct tail_cpu *cpu_make(struct tail *t, unsigned int cpu)
{
	struct tail_cpu *cpus;

	if (cpu < t->nr_cpus)
		return &t->cpus[cpu];
	cpus = realloc(t->cpus, (cpu + 1) * sizeof(*cpus));
	if (!cpus)
		return NULL;
	memset(cpus + t->nr_cpus, 0, (cpu + 1 - t->nr_cpus) * sizeof(*cpus));
	t->cpus = cpus;
	t->nr_cpus = cpu + 1;
	return &cpus[cpu];
}

static bool thread_covers(const struct tail *t, uint32_t tid, uint64_t ns)
{
	const struct tail_thread *thread = tid ? thread_find(t, tid) : NULL;

	return thread && covers_overlap(&thread->covers, ns, ns);
}

static int scheduling(struct tail *t, const struct tail_entry *e)
{
	struct tail_cpu *c = cpu_make(t, e->cpu);
	const uint64_t *words = window_words(&t->window, e);
	const bool is_switch = e->kind == FXT_SWITCH;
	bool kept;
	int err = 0;

	if (!c) {
		out_unwritten(t, e);
		return -ENOMEM;
	}
	kept = thread_covers(t, e->tid, e->ns) || thread_covers(t, e->other, e->ns) ||
	       (is_switch && covers_overlap(&c->covers, e->ns, e->ns));
	if (!kept) {
		out_filtered(t, e);
		if (is_switch && c->known && !c->hidden)
			err = marks_away(t, c, e->cpu, words);
		c->words = is_switch && e->words <= sizeof(c->switched) / 8 ? e->words : c->words;
		if (is_switch && c->words == e->words)
			memcpy(c->switched, words, e->words * 8);
		return err;
	}
	objects_use(t, e->tid);
	objects_use(t, e->other);
	if (is_switch && c->hidden)
		marks_back(t, c, e->cpu);
	emit_section(t, KERNEL_PROVIDER);
	out_put(t, words, e->words, e);
	if (is_switch) {
		c->known = true;
		c->tid = e->other;
	}
	return 0;
}

/* --- the recorder's own events ----------------------------------------------------------- */

static void put_loss(struct tail *t, uint64_t event, uint32_t tid, const uint64_t *words, size_t nr)
{
	if (event)
		emit_introduction(t, event >> 20);
	objects_use(t, tid);
	emit_section(t, KERNEL_PROVIDER);
	if (event)
		out_put(t, &event, 1, NULL);
	out_put(t, words, nr, NULL);
}

/*
 * Writes a loss if a slow operation that is known needs it. Otherwise holds the loss, because a
 * slow operation that began before it may still come.
 */
static int loss(struct tail *t, const struct tail_entry *e)
{
	const uint64_t *words = window_words(&t->window, e), event = t->loss_event;
	struct tail_loss *l = &t->losses[t->nr_losses % TAIL_LOSSES];

	t->loss_event = 0;
	if (covers_overlap(&t->all, e->ns, e->end)) {
		put_loss(t, event, e->tid, words, e->words);
		return 0;
	}
	free(l->of);
	*l = (struct tail_loss){
		.from = e->ns, .to = e->end, .event = event, .words = e->words, .tid = e->tid,
		.of = malloc(e->words * 8),
	};
	t->nr_losses++;
	if (!l->of)
		return -ENOMEM;
	memcpy(l->of, words, e->words * 8);
	return 0;
}

int emit_held_losses(struct tail *t, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < TAIL_LOSSES && i < t->nr_losses; i++) {
		struct tail_loss *l = &t->losses[i];

		if (!l->of || l->from > to || l->to < from)
			continue;
		put_loss(t, l->event, l->tid, l->of, l->words);
		free(l->of);
		l->of = NULL;
	}
	return 0;
}

/*
 * Puts every counter of the kernel into the file, because an operation that is open at that moment
 * may turn out to be slow only later.
 */
static int counter(struct tail *t, const struct tail_entry *e)
{
	objects_use(t, e->tid);
	emit_section(t, KERNEL_PROVIDER);
	out_put(t, window_words(&t->window, e), e->words, NULL);
	return 0;
}

static int own_event(struct tail *t, const struct tail_entry *e)
{
	if (e->type == ASYNCTRACE_FXT_DURATION)
		return loss(t, e);
	objects_use(t, e->tid);
	emit_section(t, KERNEL_PROVIDER);
	out_put(t, window_words(&t->window, e), e->words, NULL);
	if (!t->headed)
		marks_head(t, e->ns);
	t->headed = true;
	return 0;
}

/* --- all of them --------------------------------------------------------------------------- */

/*
 * Writes the marks of those covers of @c that begin at t->passed or earlier. @tid: the thread that
 * @c belongs to, or 0. The file must name this thread even if it has no record of the thread.
 */
static void begin(struct tail *t, struct tail_covers *c, uint32_t tid)
{
	while (c->begun < c->nr && c->of[c->begun].from <= t->passed) {
		struct tail_cover *cover = &c->of[c->begun++];

		objects_use(t, tid);
		if (!cover->words)
			continue;
		emit_section(t, KERNEL_PROVIDER);
		out_put(t, cover->mark, cover->words, NULL);
		free(cover->mark);
		cover->mark = NULL;
	}
	if (c->begun < c->nr && c->of[c->begun].from < t->due)
		t->due = c->of[c->begun].from;
}

/*
 * Writes the marks of all covers that begin no later than the records that have left the
 * window.
 */
static void begin_covers(struct tail *t)
{
	t->due = UINT64_MAX;
	begin(t, &t->all, 0);
	fxt_each(&t->threads, e)
		begin(t, &((struct tail_thread *)(uintptr_t)e->a)->covers, e->key - 1);
	for (size_t cpu = 0; cpu < t->nr_cpus; cpu++)
		begin(t, &t->cpus[cpu].covers, 0);
}

static int emit(struct tail *t, const struct tail_entry *e, uint64_t number)
{
	const uint64_t *words = window_words(&t->window, e);

	if (e->reach > t->passed)
		t->passed = e->reach;
	if (t->passed >= t->due)
		begin_covers(t);
	switch (e->kind) {
	case FXT_EVENT:
		if (e->provider == KERNEL_PROVIDER && e->type == ASYNCTRACE_FXT_COUNTER)
			return counter(t, e);
		return e->tid > FXT_TID_REAL_MAX && e->provider == KERNEL_PROVIDER &&
		       !(e->flags & ENTRY_TRACEPOINT) ?
			own_event(t, e) : event(t, e, number);
	case FXT_SWITCH:
	case FXT_WAKEUP:
		return scheduling(t, e);
	case FXT_OBJECT:
		if (e->provider == KERNEL_PROVIDER)
			return objects_take(t, e, words);
		out_filtered(t, e);
		return 0;
	case FXT_BLOB:
	case FXT_BLOB_EVENT:
	case FXT_ATTACHMENT:
		out_filtered(t, e);
		return 0;
	case FXT_PROVIDER_EVENT:
		t->loss_event = words[0];
		return 0;
	default:
		return define(t, e, words);
	}
}

int emit_first(struct tail *t)
{
	const uint64_t number = t->window.first;
	const struct tail_entry *e = window_entry(&t->window, number);
	int err = 0;

	/* After a failure, a definition or a decision that @e depends on may be missing. */
	if (t->failed)
		out_unwritten(t, e);
	else
		err = emit(t, e, number);
	window_drop(&t->window);
	return err;
}
