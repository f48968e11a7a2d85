// SPDX-License-Identifier: GPL-2.0
#include <time.h>

#include "model.h"

#define more(array, nr, room) do { \
	if ((nr) == (room)) { \
		(room) = (room) ? 2 * (room) : 64; \
		(array) = realloc(array, (room) * sizeof(*(array))); \
		assert_non_null(array); \
	} \
} while (0)

#define DEPTH_MAX	4
#define IDS		4

/* State of the modelled machine */
struct machine {
	struct model *m;
	unsigned int now, seq;
	bool dense;
	int running[CPUS_MAX];
	struct {
		uint8_t state, reason;
		unsigned int since;
		unsigned int changed;	/* when the scheduler last touched it */
		unsigned int stack[DEPTH_MAX], depth;
		int cpu;
	} threads[THREADS_MAX];
	struct {
		unsigned int at;
		int thread;
	} ids[IDS];			/* the last event with the id */
};

static struct model_record *keep(struct machine *k, struct trace *t, int ring, int thread,
				 unsigned int seq)
{
	struct model *m = k->m;
	struct model_record *r;

	more(m->recs, m->nr_recs, m->room_recs);
	r = &m->recs[m->nr_recs++];
	*r = (struct model_record){
		.rec = t->of[0], .ring = ring, .written = k->now, .thread = thread, .seq = seq,
	};
	trace_free(t);
	return r;
}

/* --- scheduling -------------------------------------------------------------------- */

/* The thread @t changes: what it was until now is known at last. */
static void change(struct machine *k, int t, enum analysis_state state, enum analysis_reason reason,
		   int waker, int cpu)
{
	struct model *m = k->m;

	for (unsigned int ns = k->threads[t].since; ns < k->now; ns++) {
		m->waker[t][ns] = waker;
		m->wake_at[t][ns] = k->now;
		m->got[t][ns] = cpu;
	}
	if (m->first[t] == m->ns)
		m->first[t] = k->now;
	k->threads[t].since = k->now;
	k->threads[t].changed = k->now;
	k->threads[t].state = state;
	k->threads[t].reason = reason;
	k->threads[t].cpu = cpu;
}

static bool is_touched(const struct machine *k, int t)
{
	return k->threads[t].changed == k->now;
}

static void switch_cpu(struct machine *k, int cpu)
{
	static const struct {
		uint32_t state;
		enum analysis_reason reason;
	} ways[] = {
		{ PREEMPTED, ANALYSIS_PREEMPTED }, { PREEMPTED, ANALYSIS_PREEMPTED },
		{ SLEEPS, ANALYSIS_SLEEP }, { SLEEPS, ANALYSIS_SLEEP },
		{ SLEEPS_ON_DISK, ANALYSIS_DISK }, { STOPS, ANALYSIS_STOPPED },
	};
	int out = k->running[cpu], in = NOBODY, waiting[THREADS_MAX], nr = 0;
	unsigned int way = rnd_below(6);
	struct trace t = { 0 };

	if (out != NOBODY && is_touched(k, out))
		return;
	for (unsigned int i = 0; i < k->m->threads; i++)
		if (k->threads[i].state == ANALYSIS_RUNNABLE && !is_touched(k, i))
			waiting[nr++] = i;
	if (nr && rnd_chance(80))
		in = waiting[rnd_below(nr)];
	if (in == out)
		return;
	if (out != NOBODY)
		change(k, out, way < 2 ? ANALYSIS_RUNNABLE : ANALYSIS_BLOCKED, ways[way].reason,
		       UNTOLD, UNTOLD);
	if (in != NOBODY)
		change(k, in, ANALYSIS_RUNNING, ANALYSIS_NO_REASON, UNTOLD, cpu);
	k->running[cpu] = in;
	put_switch(&t, T0 + k->now, cpu, out == NOBODY ? 0 : TID(out), in == NOBODY ? 0 : TID(in),
		   ways[way].state);
	keep(k, &t, cpu, NOBODY, k->seq++);
}

static void wake(struct machine *k, int t)
{
	int cpu = rnd_below(k->m->cpus), waker = rnd_chance(70) ? k->running[cpu] : NOBODY;
	struct trace trace = { 0 };

	if (waker != NOBODY && is_touched(k, waker))
		return;
	change(k, t, ANALYSIS_RUNNABLE, ANALYSIS_WOKEN, waker, UNTOLD);
	put_wakeup(&trace, T0 + k->now, rnd_below(k->m->cpus), TID(t), waker == NOBODY ? 0 : TID(waker));
	keep(k, &trace, cpu, NOBODY, k->seq++);
}

/*
 * The provider's ring that @t writes to. Events of one time keep their order only within a
 * ring, so a coarse clock needs a single one.
 */
static int ring_of(const struct machine *k, int t)
{
	return CPUS_MAX + (k->dense ? 0 : k->threads[t].cpu);
}

/* --- events --------------------------------------------------------------------------- */

static void work_on_id(struct machine *k, int t, uint64_t id)
{
	struct model *m = k->m;

	if (!k->threads[t].depth)
		return;
	for (unsigned int op = 0; op < m->nr_ops; op++) {
		struct model_work w = { op, k->threads[t].stack[k->threads[t].depth - 1] };

		if (m->ops[op].ended || m->ops[op].id != id)
			continue;
		more(m->works, m->nr_works, m->room_works);
		m->works[m->nr_works++] = w;
	}
}

static bool begin_duration(struct machine *k, int t)
{
	struct model *m = k->m;
	struct trace trace = { 0 };
	unsigned int d = m->nr_durations;

	if (k->threads[t].depth == DEPTH_MAX)
		return false;
	more(m->durations, m->nr_durations, m->room_durations);
	m->durations[m->nr_durations++] = (struct model_duration){
		.thread = t, .begin = k->now, .end = m->ns, .complete = rnd_chance(70),
	};
	k->threads[t].stack[k->threads[t].depth++] = d;
	/* A complete duration's record is put down now for its number, and written at its end. */
	if (m->durations[d].complete)
		put_duration(&trace, T0 + k->now, T0 + m->ns, TID(t), "work");
	else
		put_event(&trace, ASYNCTRACE_FXT_DURATION_BEGIN, T0 + k->now, TID(t), "work", 0);
	keep(k, &trace, ring_of(k, t), t, k->seq++)->rec.out = d + 1;
	return true;
}

static bool end_duration(struct machine *k, int t)
{
	struct model *m = k->m;
	struct trace trace = { 0 };
	unsigned int d;

	if (!k->threads[t].depth)
		return false;
	d = k->threads[t].stack[--k->threads[t].depth];
	m->durations[d].end = k->now;
	if (!m->durations[d].complete) {
		put_event(&trace, ASYNCTRACE_FXT_DURATION_END, T0 + k->now, TID(t), "work", 0);
		keep(k, &trace, ring_of(k, t), t, k->seq++);
		return true;
	}
	for (size_t i = 0; i < m->nr_recs; i++)
		if (m->recs[i].rec.kind == FXT_EVENT && m->recs[i].rec.out == d + 1) {
			m->recs[i].rec.end_ns = T0 + k->now;
			m->recs[i].written = k->now;
			m->recs[i].ring = ring_of(k, t);
		}
	return true;
}

static bool begin_operation(struct machine *k, int t, uint64_t id, const char *name)
{
	struct model *m = k->m;

	for (size_t i = 0; i < m->nr_ops; i++)
		if (m->ops[i].begin == k->now && m->ops[i].id == id && !strcmp(m->ops[i].name, name))
			return false;
	more(m->ops, m->nr_ops, m->room_ops);
	m->ops[m->nr_ops++] = (struct model_operation){
		.name = name, .id = id, .begin = k->now, .end = m->ns,
	};
	work_on_id(k, t, id);
	return true;
}

/* The operation that began last of those with this name and id */
static bool end_operation(struct machine *k, int t, uint64_t id, const char *name)
{
	struct model *m = k->m;
	size_t i = m->nr_ops;

	while (i && (m->ops[i - 1].ended || m->ops[i - 1].id != id || strcmp(m->ops[i - 1].name, name)))
		i--;
	if (!i)
		return false;
	work_on_id(k, t, id);
	m->ops[i - 1].end = k->now;
	m->ops[i - 1].end_thread = t;
	m->ops[i - 1].ended = true;
	return true;
}

static bool mark(struct machine *k, int t)
{
	static const char *const names[] = { "req", "phase" };
	const char *name = names[rnd_chance(30)];
	unsigned int i = rnd_below(IDS), type;
	struct trace trace = { 0 };
	uint64_t id = i + 1;

	/* The order of two threads' events at one time is not defined. */
	if (k->ids[i].at == k->now && k->ids[i].thread != t)
		return false;
	switch (rnd_below(4)) {
	case 0:
		type = ASYNCTRACE_FXT_ASYNC_BEGIN;
		if (!begin_operation(k, t, id, name))
			return false;
		break;
	case 1:
		type = ASYNCTRACE_FXT_ASYNC_END;
		if (!end_operation(k, t, id, name))
			return false;
		break;
	case 2:
		type = ASYNCTRACE_FXT_ASYNC_INSTANT;
		work_on_id(k, t, id);
		break;
	default:
		type = ASYNCTRACE_FXT_FLOW_BEGIN + rnd_below(3);
		work_on_id(k, t, id);
	}
	k->ids[i].at = k->now;
	k->ids[i].thread = t;
	put_event(&trace, type, T0 + k->now, TID(t), name, id);
	keep(k, &trace, ring_of(k, t), t, k->seq++);
	return true;
}

/* In one nanosecond a thread begins durations, then marks, then ends durations. */
static void act(struct machine *k, int t)
{
	unsigned int phase = 0;

	do {
		phase += rnd_below(3);
		if (phase == 0)
			begin_duration(k, t);
		else if (phase == 1)
			mark(k, t);
		else if (phase == 2)
			end_duration(k, t);
	} while (k->dense && phase < 3 && rnd_chance(60));
}

/* --- the machine ---------------------------------------------------------------------------- */

static void note(struct machine *k)
{
	struct model *m = k->m;

	for (unsigned int t = 0; t < m->threads; t++) {
		m->state[t][k->now] = k->threads[t].state;
		m->reason[t][k->now] = k->threads[t].reason;
	}
	for (unsigned int c = 0; c < m->cpus; c++)
		m->occupant[c][k->now] = k->running[c];
}

static void begin(struct machine *k)
{
	struct model *m = k->m;

	for (unsigned int c = 0; c < m->cpus; c++)
		k->running[c] = NOBODY;
	for (unsigned int t = 0; t < m->threads; t++) {
		unsigned int c = rnd_below(m->cpus);

		m->first[t] = m->ns;
		k->threads[t].changed = UINT32_MAX;
		k->threads[t].state = rnd_chance(50) ? ANALYSIS_RUNNABLE : ANALYSIS_BLOCKED;
		k->threads[t].reason = k->threads[t].state == ANALYSIS_BLOCKED ? ANALYSIS_SLEEP :
				       ANALYSIS_NO_REASON;
		k->threads[t].cpu = UNTOLD;
		if (k->running[c] == NOBODY && rnd_chance(60)) {
			k->running[c] = t;
			k->threads[t].state = ANALYSIS_RUNNING;
			k->threads[t].reason = ANALYSIS_NO_REASON;
			k->threads[t].cpu = c;
		}
	}
}

void model_run(struct model *m, bool dense)
{
	const unsigned int switches = 1 + rnd_below(20), wakeups = 1 + rnd_below(20),
			   events = 1 + rnd_below(30);
	struct machine k = { .m = m, .dense = dense };

	m->ns = 20 + rnd_below(rnd_chance(20) ? NS_MAX - 20 : 200);
	m->cpus = 1 + rnd_below(CPUS_MAX);
	m->threads = 1 + rnd_below(THREADS_MAX);
	begin(&k);
	note(&k);
	for (unsigned int i = 0; i < IDS; i++)
		k.ids[i].at = UINT32_MAX;
	for (k.now = 1; k.now < m->ns; k.now++) {
		for (unsigned int c = 0; c < m->cpus; c++)
			if (rnd_chance(switches))
				switch_cpu(&k, c);
		for (unsigned int t = 0; t < m->threads; t++)
			if (k.threads[t].state == ANALYSIS_BLOCKED && !is_touched(&k, t) &&
			    rnd_chance(wakeups))
				wake(&k, t);
		for (unsigned int t = 0; t < m->threads; t++)
			if (k.threads[t].state == ANALYSIS_RUNNING && !is_touched(&k, t) &&
			    rnd_chance(events))
				act(&k, t);
		note(&k);
	}
	/* The last state of each thread lasts until the end. */
	for (unsigned int t = 0; t < m->threads; t++) {
		unsigned int first = m->first[t];

		change(&k, t, 0, 0, UNTOLD, UNTOLD);
		m->first[t] = first;
		while (k.threads[t].depth) {
			struct model_duration *d = &m->durations[k.threads[t].stack[k.threads[t].depth - 1]];

			if (d->complete)
				end_duration(&k, t);
			else
				k.threads[t].depth--;
		}
	}
}

void model_free(struct model *m)
{
	free(m->durations);
	free(m->ops);
	free(m->works);
	free(m->recs);
	memset(m, 0, sizeof(*m));
}

/* --- rounds ---------------------------------------------------------------------------------- */

static uint64_t seed_now;

uint64_t model_rounds(struct model *m, void (*one)(void))
{
	const char *seed = getenv("ANALYSIS_SEED"), *nr = getenv("ANALYSIS_ROUNDS");
	const uint64_t rounds = seed ? 1 : nr ? strtoull(nr, NULL, 0) : 1000;

	seed_now = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL) * 1000000;
	print_message("from seed %llu\n", (unsigned long long)seed_now);
	for (uint64_t i = 0; i < rounds; i++, seed_now++) {
		model_free(m);
		rnd_seed(seed_now * 0x9e3779b97f4a7c15ULL | 1);
		one();
	}
	return rounds;
}

void model_end_rounds(struct model *m)
{
	print_message("again with ANALYSIS_SEED=%llu\n", (unsigned long long)seed_now);
	model_free(m);
}

/* --- what it means ------------------------------------------------------------------------- */

bool model_works(const struct model *m, unsigned int op, int thread, unsigned int ns)
{
	const struct model_operation *o = &m->ops[op];

	if (ns < o->begin || ns >= o->end)
		return false;
	for (size_t i = 0; i < m->nr_works; i++) {
		const struct model_duration *d = &m->durations[m->works[i].duration];

		if (m->works[i].op == op && d->thread == thread && d->begin <= ns && ns < d->end)
			return true;
	}
	return false;
}

enum analysis_state model_state(const struct model *m, unsigned int op, unsigned int ns)
{
	bool has[ANALYSIS_STATES] = { 0 };

	for (unsigned int t = 0; t < m->threads; t++)
		if (model_works(m, op, t, ns))
			has[m->first[t] == m->ns ? ANALYSIS_UNKNOWN : m->state[t][ns]] = true;
	return has[ANALYSIS_RUNNING] ? ANALYSIS_RUNNING : has[ANALYSIS_UNKNOWN] ? ANALYSIS_UNKNOWN :
	       has[ANALYSIS_RUNNABLE] ? ANALYSIS_RUNNABLE :
	       has[ANALYSIS_BLOCKED] ? ANALYSIS_BLOCKED : ANALYSIS_QUEUED;
}

/* --- the file ----------------------------------------------------------------------------------- */

void model_lose(struct model *m, unsigned int cpu, unsigned int from, unsigned int to)
{
	size_t nr = 0;

	for (size_t i = 0; i < m->nr_recs; i++) {
		const struct model_record *r = &m->recs[i];

		if (r->ring != (int)cpu || r->written < from || r->written >= to)
			m->recs[nr++] = *r;
	}
	m->nr_recs = nr;
}

/* True if an operation ended within @r, a duration, but not after @before. */
static bool op_ended_within(const struct model *m, const struct model_record *r, unsigned int before)
{
	for (size_t i = 0; i < m->nr_ops; i++)
		if (T0 + m->ops[i].end >= r->rec.ns && m->ops[i].end <= before)
			return true;
	return false;
}

void model_lose_durations(struct model *m, unsigned int from, unsigned int to)
{
	size_t nr = 0;

	for (size_t i = 0; i < m->nr_recs; i++) {
		const struct model_record *r = &m->recs[i];

		if (r->thread == NOBODY || r->rec.number != ASYNCTRACE_FXT_DURATION ||
		    r->written < from || r->written >= to || op_ended_within(m, r, from))
			m->recs[nr++] = *r;
	}
	m->nr_recs = nr;
}

static void infer(struct model_record **to, const struct model_record *like, uint64_t ns, int cpu,
		  uint32_t out, uint32_t in)
{
	struct trace t = { 0 };

	put_switch(&t, ns, cpu, out, in, 0);
	t.of[0].number = ASYNCTRACE_FXT_STATE_BLOCKED;
	t.of[0].nargs = 0;
	add_bool(&t.of[0], "inferred");
	*(*to)++ = (struct model_record){
		.rec = t.of[0], .ring = cpu, .written = like->written, .thread = NOBODY,
		.seq = like->seq,
	};
	trace_free(&t);
}

void model_infer_switches(struct model *m)
{
	struct model_record *of = malloc((3 * m->nr_recs + 1) * sizeof(*of)), *to = of;
	struct {
		bool told;
		uint64_t in, last;
	} cpus[CPUS_MAX] = { 0 };

	assert_non_null(of);
	for (size_t i = 0; i < m->nr_recs; i++) {
		const struct model_record *r = &m->recs[i];
		int c = r->ring;

		if (c < CPUS_MAX && r->rec.kind == FXT_SWITCH) {
			if (cpus[c].told && cpus[c].in != r->rec.out) {
				if (cpus[c].in)
					infer(&to, r, cpus[c].last, c, cpus[c].in, 0);
				if (r->rec.out)
					infer(&to, r, r->rec.ns, c, 0, r->rec.out);
			}
			cpus[c].told = true;
			cpus[c].in = r->rec.in;
		}
		if (c < CPUS_MAX)
			cpus[c].last = r->rec.ns;
		*to++ = *r;
	}
	m->nr_recs = to - of;
	m->room_recs = 3 * m->nr_recs + 1;
	free(m->recs);
	m->recs = of;
	m->room_recs = m->nr_recs;
}

/*
 * One reading of a ring: in order of writing, but a complete duration stands before what
 * the thread did after its begin.
 */
static void read_ring(const struct model *m, int ring, unsigned int from, unsigned int to,
		      struct trace *out)
{
	const struct model_record **of = malloc((m->nr_recs + 1) * sizeof(*of));
	size_t nr = 0;

	assert_non_null(of);
	for (unsigned int ns = from; ns < to; ns++)
		for (size_t i = 0; i < m->nr_recs; i++) {
			const struct model_record *r = &m->recs[i];
			size_t at = 0;

			if (r->ring != ring || r->written != ns)
				continue;
			while (at < nr && (r->thread == NOBODY || of[at]->thread != r->thread ||
					   of[at]->seq < r->seq))
				at++;
			memmove(of + at + 1, of + at, (nr++ - at) * sizeof(*of));
			of[at] = r;
		}
	for (size_t i = 0; i < nr; i++)
		*add_record(out, 0, 0) = of[i]->rec;
	free(of);
}

void model_file(const struct model *m, unsigned int rounds, struct trace *t)
{
	unsigned int from = 0;

	for (unsigned int i = 1; i <= rounds; i++) {
		unsigned int to = i == rounds ? m->ns + 1 : from + rnd_below(m->ns - from + 1);
		unsigned int first = rnd_below(2 * CPUS_MAX);

		for (unsigned int r = 0; r < 2 * CPUS_MAX; r++)
			read_ring(m, (first + r) % (2 * CPUS_MAX), from, to, t);
		from = to;
	}
}
