// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Checks that need events in order of time: durations nest, async operations and flows begin
 * once and end once, and a duration encloses each flow event. Events of one time are taken in
 * the order of the file, because viewers do so.
 */
#include <errno.h>
#include <stdlib.h>

#include "check_priv.h"

#define DEPTH_MAX	512

/* --- durations ---------------------------------------------------------------- */

static struct fxt_stack *stack_of(struct fxt_check *c, const struct fxt_item *it)
{
	struct fxt_entry *e = fxt_make(&c->stacks, fxt_hash(it->tid, it->pid));

	if (e && !e->a)
		e->a = (uintptr_t)calloc(1, sizeof(struct fxt_stack));
	return e ? (struct fxt_stack *)(uintptr_t)e->a : NULL;
}

static struct fxt_slice *top_of(struct fxt_stack *s)
{
	return s->nr ? &s->of[s->nr - 1] : NULL;
}

/* Removes durations from the top of the stack, down to one that is open or ends at @ns or later. */
static void leave(struct fxt_stack *s, uint64_t ns)
{
	while (s->nr && !top_of(s)->open && top_of(s)->end < ns)
		s->nr--;
}

static int enter(struct fxt_check *c, struct fxt_stack *s, const struct fxt_item *it, bool open)
{
	const struct fxt_slice *top;
	uint64_t limit;

	leave(s, it->ns + 1);
	top = top_of(s);
	limit = top ? top->limit : UINT64_MAX;
	if (!open && it->end_ns > limit) {
		bool together = !top->open && top->begin == it->ns;

		fxt_found(c, together ? FXT_RULE_ORDER : FXT_RULE_OVERLAP, it->offset,
			  "\"%s\" of thread %u ends %llu ns after \"%s\" at byte %llu",
			  c->names.of[it->name], it->tid,
			  (unsigned long long)(it->end_ns - limit), c->names.of[top->name],
			  (unsigned long long)top->offset);
	}
	if (s->nr == DEPTH_MAX)
		fxt_found(c, FXT_RULE_DEPTH, it->offset, "thread %u", it->tid);
	if (s->nr == s->room) {
		size_t room = s->room ? 2 * s->room : 8;
		struct fxt_slice *of = realloc(s->of, room * sizeof(*of));

		if (!of)
			return -ENOMEM;
		s->of = of;
		s->room = room;
	}
	if (!open && it->end_ns < limit)
		limit = it->end_ns;
	s->of[s->nr++] = (struct fxt_slice){
		.begin = it->ns, .end = it->end_ns, .limit = limit, .offset = it->offset,
		.name = it->name, .category = it->category, .open = open,
		.context = it->context ? it->id : 0,
	};
	return it->context ? fxt_context_enter(c, it) : 0;
}

static void end(struct fxt_check *c, struct fxt_stack *s, const struct fxt_item *it)
{
	const char *name = c->names.of[it->name];
	struct fxt_slice *top;
	size_t i;

	leave(s, it->ns + 1);
	for (i = s->nr; i && !s->of[i - 1].open; i--)
		;
	if (!i) {
		fxt_found(c, FXT_RULE_DURATION_ORPHAN, it->offset, "\"%s\" of thread %u", name,
			  it->tid);
		return;
	}
	if (i != s->nr)
		fxt_found(c, FXT_RULE_OVERLAP, it->offset,
			  "\"%s\" of thread %u ends within \"%s\"", name, it->tid,
			  c->names.of[top_of(s)->name]);
	top = &s->of[i - 1];
	if (it->ns > top->limit)
		fxt_found(c, FXT_RULE_OVERLAP, it->offset,
			  "\"%s\" of thread %u ends after what encloses it", name, it->tid);
	/*
	 * An end without names ends any open duration: the library writes it for a scope that a
	 * jump has left.
	 */
	if ((top->name != it->name || top->category != it->category) &&
	    (*name || *c->names.of[it->category]))
		fxt_found(c, FXT_RULE_DURATION_NAME, it->offset,
			  "\"%s\" ends \"%s\" on thread %u", name, c->names.of[top->name],
			  it->tid);
	if (top->context)
		fxt_context_leave(c, top->context);
	s->nr = i - 1;
}

/* --- async operations ------------------------------------------------------------ */

struct async {
	struct fxt_async open;	/* first: its address is that of the struct */
	uint64_t offset;	/* of the begin */
	uint32_t name, tid;
};

static uint64_t async_id(const struct fxt_check *c, const struct fxt_item *it)
{
	return fxt_async_id(&c->asyncs, it->id, it->pid);
}

static uint64_t async_key(const struct fxt_check *c, const struct fxt_item *it)
{
	return fxt_async_key(async_id(c, it), it->category, it->name);
}

static int async_begin(struct fxt_check *c, const struct fxt_item *it)
{
	struct async *op = malloc(sizeof(*op));

	if (!op)
		return -ENOMEM;
	*op = (struct async){
		.open = { .key = async_key(c, it), .id = async_id(c, it) },
		.offset = it->offset, .name = it->name, .tid = it->tid,
	};
	if (fxt_async_begin(&c->asyncs, &op->open)) {
		free(op);
		return -ENOMEM;
	}
	if (op->open.same_key)
		fxt_found(c, FXT_RULE_ASYNC_TWICE, it->offset, "\"%s\" 0x%llx",
			  c->names.of[it->name], (unsigned long long)it->id);
	return 0;
}

static void async_instant(struct fxt_check *c, const struct fxt_item *it)
{
	if (!fxt_async_newest(&c->asyncs, async_id(c, it)))
		fxt_found(c, FXT_RULE_ASYNC_ORPHAN, it->offset, "instant \"%s\" 0x%llx",
			  c->names.of[it->name], (unsigned long long)it->id);
}

static void async_whole(struct fxt_check *c, const struct fxt_item *it, uint32_t begin_tid)
{
	c->tally.asyncs++;
	for (size_t i = 0; i < c->nr_expected; i++) {
		struct fxt_expected *x = &c->expected[i];

		if (x->name != it->name)
			continue;
		x->whole++;
		if (x->cross && begin_tid == it->tid)
			fxt_found(c, FXT_RULE_SAME_THREAD, it->offset, "\"%s\" 0x%llx: thread %u",
				  c->names.of[it->name], (unsigned long long)it->id, it->tid);
	}
}

static void async_end(struct fxt_check *c, const struct fxt_item *it)
{
	struct async *op = (struct async *)fxt_async_ended(&c->asyncs, async_key(c, it));

	if (!op) {
		fxt_found(c, FXT_RULE_ASYNC_ORPHAN, it->offset, "end \"%s\" 0x%llx",
			  c->names.of[it->name], (unsigned long long)it->id);
		return;
	}
	async_whole(c, it, op->tid);
	fxt_async_end(&c->asyncs, &op->open);
	free(op);
}

/* Reports the operations that did not end. */
static void asyncs_end(struct fxt_check *c)
{
	fxt_each(&c->asyncs.by_key, e)
		for (struct async *op = (struct async *)(uintptr_t)e->a; op;
		     op = (struct async *)op->open.same_key)
			fxt_found(c, FXT_RULE_ASYNC_OPEN, op->offset, "\"%s\"",
				  c->names.of[op->name]);
}

static void asyncs_free(struct fxt_check *c)
{
	fxt_each(&c->asyncs.by_key, e)
		for (struct async *op = (struct async *)(uintptr_t)e->a, *older; op; op = older) {
			older = (struct async *)op->open.same_key;
			free(op);
		}
	fxt_asyncs_free(&c->asyncs);
}

/* --- flows ---------------------------------------------------------------------------- */

static int flow(struct fxt_check *c, struct fxt_stack *s, const struct fxt_item *it)
{
	uint64_t key = fxt_hash(it->id, 0);
	struct fxt_entry *e = fxt_find(&c->flows, key);

	leave(s, it->ns);
	if (!s->nr)
		fxt_found(c, FXT_RULE_FLOW_OUTSIDE, it->offset, "\"%s\" 0x%llx on thread %u",
			  c->names.of[it->name], (unsigned long long)it->id, it->tid);
	if (it->type == ASYNCTRACE_FXT_FLOW_BEGIN) {
		c->tally.flows++;
		if (e)
			fxt_found(c, FXT_RULE_FLOW_TWICE, it->offset, "\"%s\" 0x%llx",
				  c->names.of[it->name], (unsigned long long)it->id);
		e = fxt_make(&c->flows, key);
		if (!e)
			return -ENOMEM;
		e->a = it->id;
		e->b = it->offset;
	} else if (!e) {
		fxt_found(c, FXT_RULE_FLOW_ORPHAN, it->offset, "\"%s\" 0x%llx",
			  c->names.of[it->name], (unsigned long long)it->id);
	} else if (it->type == ASYNCTRACE_FXT_FLOW_END) {
		fxt_remove(&c->flows, e);
	}
	return 0;
}

/* --- all of them ------------------------------------------------------------------------ */

int fxt_time_item(struct fxt_check *c, const struct fxt_item *it)
{
	struct fxt_stack *s = stack_of(c, it);

	if (!s)
		return -ENOMEM;
	switch (it->type) {
	case ASYNCTRACE_FXT_DURATION_BEGIN:
		return enter(c, s, it, true);
	case ASYNCTRACE_FXT_DURATION:
		return enter(c, s, it, false);
	case ASYNCTRACE_FXT_DURATION_END:
		end(c, s, it);
		return 0;
	case ASYNCTRACE_FXT_ASYNC_BEGIN:
		return async_begin(c, it);
	case ASYNCTRACE_FXT_ASYNC_INSTANT:
		async_instant(c, it);
		return 0;
	case ASYNCTRACE_FXT_ASYNC_END:
		async_end(c, it);
		return 0;
	default:
		return flow(c, s, it);
	}
}

int fxt_time_end(struct fxt_check *c)
{
	fxt_each(&c->stacks, e) {
		struct fxt_stack *s = (struct fxt_stack *)(uintptr_t)e->a;

		for (size_t i = 0; i < s->nr; i++)
			if (s->of[i].open)
				fxt_found(c, FXT_RULE_DURATION_OPEN, s->of[i].offset, "\"%s\"",
					  c->names.of[s->of[i].name]);
	}
	asyncs_end(c);
	fxt_each(&c->flows, e)
		fxt_found(c, FXT_RULE_FLOW_OPEN, e->b, "0x%llx", (unsigned long long)e->a);
	for (size_t i = 0; i < c->nr_expected; i++) {
		const struct fxt_expected *x = &c->expected[i];

		if (!x->cross && x->whole != x->count)
			fxt_found(c, FXT_RULE_EXPECT, 0, "%llu of \"%s\", not %llu",
				  (unsigned long long)x->whole, c->names.of[x->name],
				  (unsigned long long)x->count);
		if (x->cross && !x->whole)
			fxt_found(c, FXT_RULE_SAME_THREAD, 0, "there is no \"%s\"",
				  c->names.of[x->name]);
	}
	return 0;
}

void fxt_time_free(struct fxt_check *c)
{
	fxt_each(&c->stacks, e) {
		struct fxt_stack *s = (struct fxt_stack *)(uintptr_t)e->a;

		if (s)
			free(s->of);
		free(s);
	}
	fxt_table_free(&c->stacks);
	asyncs_free(c);
	fxt_table_free(&c->running);
	fxt_table_free(&c->flows);
	fxt_table_free(&c->on);
	fxt_table_free(&c->twice);
	fxt_names_free(&c->names);
	free(c->expected);
	free(c->items);
}
