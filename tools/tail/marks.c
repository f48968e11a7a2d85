// SPDX-License-Identifier: GPL-2.0-or-later
/* Records that the recorder makes itself; asynctrace(5) describes them */
#include <linux/asynctrace.h>
#include <string.h>

#include "priv.h"

#define CLOCK_PROCESS	0x70000000u	/* ids that the composer uses */
#define CLOCK_THREAD	0x70000001u

static struct fxt_text text_of(const char *s)
{
	return (struct fxt_text){ .s = s, .len = strlen(s) };
}

static void begin(struct fxt_record *rec, uint64_t ns, const char *name)
{
	rec->kind = FXT_EVENT;
	rec->number = ASYNCTRACE_FXT_INSTANT;
	rec->ns = ns;
	rec->thread = (struct fxt_thread){ .pid = CLOCK_PROCESS, .tid = CLOCK_THREAD };
	rec->category = text_of("asynctrace");
	rec->name = text_of(name);
	rec->nargs = 0;
}

static void put(struct tail *t, const struct fxt_record *rec)
{
	uint64_t none = 0;
	size_t words = encode_event(t->scratch, rec, &none);

	objects_use(t, CLOCK_THREAD);
	emit_section(t, KERNEL_PROVIDER);
	out_put(t, t->scratch, words, NULL);
}

void marks_head(struct tail *t, uint64_t ns)
{
	struct fxt_record rec;

	for (size_t i = 0; i < t->opts.nr_bounds; i++) {
		begin(&rec, ns, "slower than");
		rec.args[rec.nargs++] = encode_text("operations", t->opts.bounds[i].text);
		rec.args[rec.nargs++] = encode_number("before", t->opts.before);
		put(t, &rec);
	}
}

void marks_operation(struct tail *t, uint64_t ns, uint64_t id)
{
	struct fxt_record rec;

	begin(&rec, ns, "slow operation");
	rec.args[rec.nargs++] = encode_number("id", id);
	put(t, &rec);
}

void marks_entered(struct tail *t, const struct tail_entry *e, uint64_t id)
{
	struct fxt_record rec;

	begin(&rec, e->entered, "operation entered");
	rec.args[rec.nargs++] = encode_number("id", id);
	rec.args[rec.nargs++] = encode_number("begin", e->ns);
	put(t, &rec);
}

void marks_exited(struct tail *t, const struct tail_entry *e)
{
	struct fxt_record rec;

	begin(&rec, e->end, "thread exited");
	rec.args[rec.nargs++] = encode_koid("thread", e->tid);
	put(t, &rec);
}

size_t marks_thread(uint64_t *w, uint64_t ns, const struct analysis_thread_state *s)
{
	struct fxt_record rec;
	uint64_t none = 0;

	if (!s->known && !s->first_seen && !s->followed)
		return 0;
	begin(&rec, ns, "thread state");
	rec.args[rec.nargs++] = encode_koid("thread", s->tid);
	if (s->known)
		rec.args[rec.nargs++] = encode_text("state", analysis_state_name(s->state));
	if (s->reason)
		rec.args[rec.nargs++] = encode_text("reason", analysis_reason_name(s->reason));
	if (s->cpu != ANALYSIS_NO_CPU)
		rec.args[rec.nargs++] = encode_uint32("cpu", s->cpu);
	if (s->duration)
		rec.args[rec.nargs++] = encode_text("duration", s->duration);
	if (s->in)
		rec.args[rec.nargs++] = encode_text("in", s->in);
	if (s->has_argument)
		rec.args[rec.nargs++] = encode_number("argument", s->argument);
	if (s->file)
		rec.args[rec.nargs++] = encode_uint32("file", s->file);
	if (s->inferred)
		rec.args[rec.nargs++] = encode_flag("inferred");
	if (s->pending)
		rec.args[rec.nargs++] = encode_flag("pending");
	if (s->seen)
		rec.args[rec.nargs++] = encode_flag("seen");
	if (s->woken)
		rec.args[rec.nargs++] = encode_flag("woken");
	if (s->followed)
		rec.args[rec.nargs++] = encode_flag("followed");
	if (s->lost_until)
		rec.args[rec.nargs++] = encode_number("lost until", s->lost_until);
	if (s->first_seen)
		rec.args[rec.nargs++] = encode_number("first seen", s->first_seen);
	return encode_event(w, &rec, &none);
}

size_t marks_work(uint64_t *w, uint64_t ns, const struct analysis_thread_state *s)
{
	struct fxt_record rec;
	uint64_t none = 0;

	if (!s->entered && !s->shown)
		return 0;
	begin(&rec, ns, "thread work");
	rec.args[rec.nargs++] = encode_koid("thread", s->tid);
	if (s->entered) {
		rec.args[rec.nargs++] = encode_number("operation", s->operation);
		rec.args[rec.nargs++] = encode_number("newest", s->newest);
	}
	if (s->shown)
		rec.args[rec.nargs++] = encode_flag("shown");
	return encode_event(w, &rec, &none);
}

size_t marks_cpu(uint64_t *w, uint64_t ns, const struct analysis_cpu_state *s)
{
	struct fxt_record rec;
	uint64_t none = 0;

	begin(&rec, ns, "cpu state");
	rec.args[rec.nargs++] = encode_uint32("cpu", s->cpu);
	if (s->tid != ANALYSIS_NO_THREAD)
		rec.args[rec.nargs++] = encode_koid("thread", s->tid);
	return encode_event(w, &rec, &none);
}

/* --- switches to and from threads that are not in the file ---------------------------- */

static int32_t weight_of(const uint64_t *w, unsigned int name)
{
	const unsigned int nargs = w[0] >> 16 & 0xf;
	const uint64_t *arg = w + 4;

	for (unsigned int i = 0; i < nargs; i++, arg += arg[0] >> 4 & 0xfff)
		if ((arg[0] >> 16 & 0xffff) == name && (arg[0] & 0xf) == ASYNCTRACE_FXT_ARG_INT32)
			return arg[0] >> 32;
	return 0;
}

static void put_switch(struct tail *t, struct tail_cpu *c, unsigned int cpu, uint64_t ns,
		       unsigned int state, uint32_t tid, int32_t out_weight, int32_t in_weight)
{
	const struct fxt_arg filtered = encode_flag(FILTERED);
	uint64_t w[16];
	size_t n = 4;

	w[n++] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_INT32, 1, ASYNCTRACE_FXT_STR_OUTGOING,
				    out_weight);
	w[n++] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_INT32, 1, ASYNCTRACE_FXT_STR_INCOMING,
				    in_weight);
	n += encode_arg(w + n, &filtered);
	w[0] = ASYNCTRACE_FXT_SWITCH_HEAD(n, 3, cpu, state);
	w[1] = ns;
	w[2] = c->tid;
	w[3] = tid;
	emit_section(t, KERNEL_PROVIDER);
	out_put(t, w, n, NULL);
	c->tid = tid;
}

int marks_away(struct tail *t, struct tail_cpu *c, unsigned int cpu, const uint64_t *switched)
{
	const uint32_t other = ASYNCTRACE_TID_OTHER_ON(cpu);
	int err;

	c->hidden = true;
	if (c->tid == other)
		return 0;
	err = objects_use_other(t, other);
	if (err)
		return err;
	put_switch(t, c, cpu, switched[1], switched[0] >> 36 & 0xf, other,
		   weight_of(switched, ASYNCTRACE_FXT_STR_OUTGOING), 0);
	return 0;
}

void marks_back(struct tail *t, struct tail_cpu *c, unsigned int cpu)
{
	if (c->words && c->tid != c->switched[3])
		put_switch(t, c, cpu, c->switched[1], ASYNCTRACE_FXT_STATE_BLOCKED,
			   c->switched[3], 0, weight_of(c->switched, ASYNCTRACE_FXT_STR_INCOMING));
	c->hidden = false;
}
