// SPDX-License-Identifier: GPL-2.0
/* A random machine with a few CPUs and threads, which knows each state of each thread */
#include <time.h>

#include "model.h"

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
		const char *in;
		uint8_t cell;		/* operation that the thread works on */
		uint16_t period;
		unsigned int since;
		unsigned int changed;	/* when the scheduler last changed its state */
		unsigned int stack[DEPTH_MAX], depth;
		int cpu;
		/* the thread has marked itself as sleeping, but still runs: a wakeup can come */
		bool about;
		bool leaving;		/* a wakeup came too late to keep it on its CPU */
		bool switched;		/* a switch of it was recorded */
		/* an event between a wakeup and the first recorded switch showed that it ran */
		bool seen;
		bool woken;		/* a wakeup came since its last event or switch */
		bool late;		/* runnable by a wakeup before it left its CPU */
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

	/* After a wakeup, an event of the thread shows that it still runs. */
	if (thread != NOBODY)
		k->threads[thread].woken = false;
	if (thread != NOBODY && !k->threads[thread].switched && m->unsure[thread] != m->ns) {
		k->threads[thread].seen = true;
		m->unsure[thread] = 0;
	}
	more(m->recs, m->nr_recs, m->room_recs);
	r = &m->recs[m->nr_recs++];
	*r = (struct model_record){
		.rec = t->of[0], .ring = ring, .written = k->now, .thread = thread, .seq = seq,
	};
	trace_free(t);
	return r;
}

/* --- scheduling -------------------------------------------------------------------- */

/*
 * Ends the current state of thread @t. Notes the reason, the waker and the CPU, which are known
 * only at the end of the state.
 */
static void change(struct machine *k, int t, enum analysis_state state, enum analysis_reason reason,
		   int waker, int cpu)
{
	struct model *m = k->m;

	for (unsigned int ns = k->threads[t].since; ns < k->now; ns++) {
		m->waker[t][ns] = waker;
		m->wake_at[t][ns] = k->now;
		m->got[t][ns] = cpu;
	}
	k->threads[t].since = k->now;
	k->threads[t].changed = k->now;
	k->threads[t].state = state;
	k->threads[t].reason = reason;
	k->threads[t].cpu = cpu;
	k->threads[t].late = false;
	m->doubt[t] = m->ns;
}

static bool is_touched(const struct machine *k, int t)
{
	return k->threads[t].changed == k->now;
}

/*
 * Notes the first switch of @t. If @t leaves a CPU, it has been running since the begin of the
 * trace. If @t @comes to a CPU after a wakeup, its state before the wakeup stays unknown. Without a
 * wakeup, it has been waiting for a CPU since the begin.
 */
static void note_switch(struct machine *k, int t, bool comes)
{
	struct model *m = k->m;

	if (k->threads[t].switched)
		return;
	k->threads[t].switched = true;
	m->first[t] = k->now;
	if (!comes || m->unsure[t] == m->ns)
		m->unsure[t] = 0;
}

/* Thread @t leaves its CPU. */
static void leave(struct machine *k, int t, enum analysis_reason reason)
{
	bool preempted = reason == ANALYSIS_PREEMPTED || reason == ANALYSIS_YIELDED;

	note_switch(k, t, false);
	if (k->threads[t].leaving)
		change(k, t, ANALYSIS_RUNNABLE, ANALYSIS_WOKEN, UNTOLD, UNTOLD);
	else
		change(k, t, preempted ? ANALYSIS_RUNNABLE : ANALYSIS_BLOCKED, reason, UNTOLD,
		       UNTOLD);
	k->threads[t].late = k->threads[t].leaving;
	if (k->threads[t].woken && !preempted)
		k->m->doubt[t] = k->now;
	k->threads[t].woken = false;
	k->threads[t].about &= preempted;
	k->threads[t].leaving = false;
}

/* Notes that the last record shows which operation @t works on. */
static void prove(struct machine *k, struct trace *trace, int ring, int t, const char *name)
{
	struct model *m = k->m;

	if (!m->cells || t == NOBODY)
		return;
	add_cell(trace, name, k->threads[t].cell);
	more(m->proofs, m->nr_proofs, m->room_proofs);
	m->proofs[m->nr_proofs++] = (struct model_proof){
		t, ring, k->now, k->threads[t].cell, k->threads[t].period,
	};
}

/* Lets a thread enter another operation right after it has come to a CPU. */
static void choose_cell(struct machine *k, int t)
{
	struct model *m = k->m;
	const uint8_t was = k->threads[t].cell;

	if (rnd_chance(50))
		k->threads[t].cell = rnd_below(IDS + 1);
	if (k->threads[t].cell == was)
		return;
	k->threads[t].period++;
	more(m->changes, m->nr_changes, m->room_changes);
	m->changes[m->nr_changes++] = (struct model_change){ t, k->now, was, k->threads[t].cell };
}

static void switch_cpu(struct machine *k, int cpu)
{
	static const struct {
		uint32_t state;
		enum analysis_reason reason;
		const char *in;		/* system call or page fault; "": none */
		unsigned int off_cpu;
	} ways[] = {
		{ PREEMPTED, ANALYSIS_PREEMPTED, "", 0 },
		{ PREEMPTED, ANALYSIS_PREEMPTED, "sched_yield", ASYNCTRACE_FXT_OFF_PREEMPTED },
		{ SLEEPS, ANALYSIS_SLEEP, "", 0 },
		{ SLEEPS, ANALYSIS_SLEEP, "futex", 0 },
		{ SLEEPS, ANALYSIS_IOWAIT, "read",
		  ASYNCTRACE_FXT_OFF_IOWAIT | ASYNCTRACE_FXT_FILE_BLOCK << 4 },
		{ SLEEPS_ON_DISK, ANALYSIS_DISK, "", 0 },
		{ SLEEPS_ON_DISK, ANALYSIS_IOWAIT, "fsync",
		  ASYNCTRACE_FXT_OFF_IOWAIT | ASYNCTRACE_FXT_FILE_REGULAR << 4 },
		{ SLEEPS_ON_DISK, ANALYSIS_DISK, ANALYSIS_PAGE_FAULT,
		  ASYNCTRACE_FXT_OFF_EXCEPTION },
		{ STOPS, ANALYSIS_STOPPED, "", 0 },
		{ PREEMPTED, ANALYSIS_YIELDED, "sched_yield", 0 },
	};
	int out = k->running[cpu], in = NOBODY, waiting[THREADS_MAX], nr = 0;
	unsigned int way = rnd_below(sizeof(ways) / sizeof(ways[0]));
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
	if (out != NOBODY && k->threads[out].leaving)
		way = 2;
	if (out != NOBODY) {
		leave(k, out, ways[way].reason);
		k->threads[out].in = ways[way].in;
	}
	if (in != NOBODY) {
		note_switch(k, in, true);
		change(k, in, ANALYSIS_RUNNING, ANALYSIS_NO_REASON, UNTOLD, cpu);
	}
	k->running[cpu] = in;
	put_switch(&t, T0 + k->now, cpu, out == NOBODY ? 0 : TID(out), in == NOBODY ? 0 : TID(in),
		   ways[way].state);
	if (out != NOBODY && !strcmp(ways[way].in, ANALYSIS_PAGE_FAULT))
		add_call(&t, NULL, -1, ways[way].off_cpu);
	else if (out != NOBODY && ways[way].in[0])
		add_call(&t, ways[way].in, rnd_below(3), ways[way].off_cpu);
	prove(k, &t, cpu, out, "outgoing_operation");
	prove(k, &t, cpu, in, "incoming_operation");
	if (in != NOBODY)
		choose_cell(k, in);
	keep(k, &t, cpu, NOBODY, k->seq++);
}

/*
 * A thread can be woken from the moment when it marks itself as sleeping, although it still runs.
 */
static bool can_be_woken(const struct machine *k, int t)
{
	return !is_touched(k, t) && !k->threads[t].leaving &&
	       (k->threads[t].state == ANALYSIS_BLOCKED || k->threads[t].about);
}

static void wake(struct machine *k, int t)
{
	int cpu = rnd_below(k->m->cpus), waker = rnd_chance(70) ? k->running[cpu] : NOBODY;
	struct trace trace = { 0 };

	if (waker == t)
		waker = NOBODY;
	if (waker != NOBODY && is_touched(k, waker))
		return;
	if (!k->threads[t].switched && !k->threads[t].seen)
		k->m->unsure[t] = k->now;
	if (k->threads[t].state == ANALYSIS_BLOCKED)
		change(k, t, ANALYSIS_RUNNABLE, ANALYSIS_WOKEN, waker, UNTOLD);
	else if (k->threads[t].state == ANALYSIS_RUNNING)
		k->threads[t].woken = true;
	k->threads[t].leaving = k->threads[t].state == ANALYSIS_RUNNING && rnd_chance(30);
	k->threads[t].changed = k->now;
	k->threads[t].about = false;
	put_wakeup(&trace, T0 + k->now, rnd_below(k->m->cpus), TID(t),
		   waker == NOBODY ? 0 : TID(waker));
	prove(k, &trace, cpu, t, "operation");
	prove(k, &trace, cpu, waker, "waker_operation");
	keep(k, &trace, cpu, NOBODY, k->seq++);
}

/*
 * Returns the provider's ring that @t writes to. Events with the same time keep their order only
 * within a ring, so a coarse clock needs a single one.
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

/* The durations around it have other names. */
static const char *const names[DEPTH_MAX] = { "work", "part", "detail", "step" };

static bool begin_duration(struct machine *k, int t)
{
	struct model *m = k->m;
	struct trace trace = { 0 };
	unsigned int d = m->nr_durations;
	const char *name;

	if (k->threads[t].depth == DEPTH_MAX)
		return false;
	name = names[k->threads[t].depth];
	more(m->durations, m->nr_durations, m->room_durations);
	m->durations[m->nr_durations++] = (struct model_duration){
		.thread = t, .begin = k->now, .end = m->ns, .complete = rnd_chance(70),
		.lost = UINT_MAX,
	};
	k->threads[t].stack[k->threads[t].depth++] = d;
	/* A complete duration's record is numbered now and written at its end. */
	if (m->durations[d].complete)
		put_duration(&trace, T0 + k->now, T0 + m->ns, TID(t), name);
	else
		put_event(&trace, ASYNCTRACE_FXT_DURATION_BEGIN, T0 + k->now, TID(t), name, 0);
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
		put_event(&trace, ASYNCTRACE_FXT_DURATION_END, T0 + k->now, TID(t),
			  names[k->threads[t].depth], 0);
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
		if (m->ops[i].id == id &&
		    ((m->cells && !m->ops[i].ended) ||
		     (m->ops[i].begin == k->now && !strcmp(m->ops[i].name, name))))
			return false;
	more(m->ops, m->nr_ops, m->room_ops);
	m->ops[m->nr_ops++] = (struct model_operation){
		.name = name, .id = id, .begin = k->now, .end = m->ns,
	};
	work_on_id(k, t, id);
	return true;
}

/* Ends the latest operation with this name and id. */
static bool end_operation(struct machine *k, int t, uint64_t id, const char *name)
{
	struct model *m = k->m;
	size_t i = m->nr_ops;

	while (i &&
	       (m->ops[i - 1].ended || m->ops[i - 1].id != id || strcmp(m->ops[i - 1].name, name)))
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
	const char *name = rnd_chance(30) ? "phase" : "req";
	unsigned int i = rnd_below(IDS), type;
	struct trace trace = { 0 };
	uint64_t id = i + 1;

	/*
	 * Skip an event at the same time as an event of another thread, because their order is
	 * not defined.
	 */
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

/*
 * Lets a thread act for one nanosecond: it begins a duration, writes an event, ends a duration, or
 * does nothing. In a dense machine it may do several of these, in this order.
 */
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

/* Lets a thread mark itself as sleeping, before it checks again whether it must sleep. */
static void think_of_sleep(struct machine *k, int t, unsigned int chance)
{
	if (k->threads[t].about)
		k->threads[t].about = !rnd_chance(10);
	else if (!k->threads[t].leaving)
		k->threads[t].about = rnd_chance(chance);
}

/* --- the machine ---------------------------------------------------------------------------- */

static void note(struct machine *k)
{
	struct model *m = k->m;

	for (unsigned int t = 0; t < m->threads; t++) {
		m->state[t][k->now] = k->threads[t].state;
		m->reason[t][k->now] = k->threads[t].reason;
		m->late[t][k->now] = k->threads[t].late;
		m->in[t][k->now] = k->threads[t].in;
		m->cell[t][k->now] = m->cells ? k->threads[t].cell : 0;
		m->period[t][k->now] = k->threads[t].period;
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
		m->unsure[t] = m->ns;
		m->doubt[t] = m->ns;
		k->threads[t].changed = UINT32_MAX;
		k->threads[t].in = "";
		k->threads[t].cell = rnd_below(IDS + 1);
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
		k->threads[t].about = k->threads[t].state != ANALYSIS_BLOCKED && rnd_chance(10);
	}
}

/* Ends the last state of each thread at the end of the time. */
static void end(struct machine *k)
{
	struct model *m = k->m;

	for (unsigned int t = 0; t < m->threads; t++) {
		unsigned int doubt = m->doubt[t];

		change(k, t, 0, 0, UNTOLD, UNTOLD);
		m->doubt[t] = doubt;
		if (!k->threads[t].switched && !k->threads[t].seen)
			m->unsure[t] = m->ns;
		while (k->threads[t].depth) {
			struct model_duration *d =
				&m->durations[k->threads[t].stack[k->threads[t].depth - 1]];

			if (d->complete)
				end_duration(k, t);
			else
				k->threads[t].depth--;
		}
	}
}

void model_run(struct model *m, bool dense, bool cells)
{
	const unsigned int switches = 1 + rnd_below(20), wakeups = 1 + rnd_below(20),
			   events = 1 + rnd_below(30), sleeps = rnd_below(20);
	struct machine k = { .m = m, .dense = dense };

	m->ns = 20 + rnd_below(rnd_chance(20) ? NS_MAX - 20 : 200);
	m->cpus = 1 + rnd_below(CPUS_MAX);
	m->threads = 1 + rnd_below(THREADS_MAX);
	m->cells = cells;
	begin(&k);
	note(&k);
	for (unsigned int i = 0; i < IDS; i++)
		k.ids[i].at = UINT32_MAX;
	for (k.now = 1; k.now < m->ns; k.now++) {
		for (unsigned int c = 0; c < m->cpus; c++)
			if (rnd_chance(switches))
				switch_cpu(&k, c);
		for (unsigned int t = 0; t < m->threads; t++)
			if (can_be_woken(&k, t) && rnd_chance(wakeups))
				wake(&k, t);
		for (unsigned int t = 0; t < m->threads; t++) {
			if (k.threads[t].state != ANALYSIS_RUNNING || is_touched(&k, t))
				continue;
			if (!k.threads[t].about && !k.threads[t].leaving && rnd_chance(events))
				act(&k, t);
			think_of_sleep(&k, t, sleeps);
		}
		note(&k);
	}
	end(&k);
}

void model_free(struct model *m)
{
	free(m->durations);
	free(m->ops);
	free(m->works);
	free(m->recs);
	free(m->proofs);
	free(m->changes);
	free(m->gaps);
	memset(m, 0, sizeof(*m));
}

/* --- rounds ---------------------------------------------------------------------------------- */

static uint64_t seed_now;

uint64_t model_rounds(struct model *m, void (*one)(void))
{
	const char *seed = getenv("ANALYSIS_SEED"), *nr = getenv("ANALYSIS_ROUNDS");
	const uint64_t rounds = seed ? 1 : nr ? strtoull(nr, NULL, 0) : 1000;

	seed_now = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL) * 1000000;
	print_message("first seed: %llu\n", (unsigned long long)seed_now);
	for (uint64_t i = 0; i < rounds; i++, seed_now++) {
		model_free(m);
		rnd_seed(seed_now * 0x9e3779b97f4a7c15ULL | 1);
		one();
	}
	return rounds;
}

void model_end_rounds(struct model *m)
{
	print_message("repeat with ANALYSIS_SEED=%llu\n", (unsigned long long)seed_now);
	model_free(m);
}

/* --- questions to the model ---------------------------------------------------------------- */

/* Does @p show that its thread works on @o, which is open? */
static bool proves(const struct model_proof *p, const struct model_operation *o)
{
	return p->id == o->id && p->ns >= o->begin && p->ns <= o->end;
}

bool model_is_entered(const struct model *m, unsigned int op)
{
	for (size_t i = 0; i < m->nr_proofs; i++)
		if (proves(&m->proofs[i], &m->ops[op]))
			return true;
	return false;
}

/* The first record with an operation of @thread, or NULL */
static const struct model_proof *first_proof(const struct model *m, int thread)
{
	for (size_t i = 0; i < m->nr_proofs; i++)
		if (m->proofs[i].thread == thread && m->proofs[i].id)
			return &m->proofs[i];
	return NULL;
}

/* Returns the time of the next record that shows the thread's work after @c, or the run's end. */
static unsigned int shown_at(const struct model *m, const struct model_change *c)
{
	for (size_t i = 0; i < m->nr_proofs; i++)
		if (m->proofs[i].thread == c->thread && m->proofs[i].ns > c->ns)
			return m->proofs[i].ns;
	return m->ns;
}

static bool is_open(const struct model *m, uint64_t id, unsigned int from, unsigned int to)
{
	for (size_t i = 0; i < m->nr_ops; i++)
		if (m->ops[i].id == id && m->ops[i].begin <= to && m->ops[i].end >= from)
			return true;
	return false;
}

/*
 * Did a thread begin or stop to work on @o, with no record of the change at that moment? The
 * thread's next record shows the change. Until then the records suggest that the thread goes on
 * with the operation before, if that is open, or, without any earlier record, that it has always
 * worked on the new one.
 */
static bool is_shown_late(const struct model *m, const struct model_operation *o)
{
	for (size_t i = 0; i < m->nr_changes; i++) {
		const struct model_change *c = &m->changes[i];
		const unsigned int to = shown_at(m, c);

		if ((c->was == o->id || c->is == o->id) && o->begin <= to && o->end >= c->ns &&
		    (is_open(m, c->was, c->ns, to) || !first_proof(m, c->thread) ||
		     first_proof(m, c->thread)->ns > c->ns))
			return true;
	}
	return false;
}

/* Does the loss that begins at @ns hide when a thread began to work on @o? */
static bool hides_change(const struct model *m, const struct model_operation *o, unsigned int ns)
{
	for (size_t i = 0; i < m->nr_changes; i++) {
		const struct model_change *c = &m->changes[i];

		if (c->is == o->id && c->ns <= ns && shown_at(m, c) >= ns)
			return true;
	}
	return false;
}

/*
 * Did a thread that works on @o lose a scheduling record before the end of @o? Or does a loss hide
 * when a thread began to work on @o?
 */
static bool has_gap(const struct model *m, const struct model_operation *o)
{
	for (size_t i = 0; i < m->nr_gaps; i++) {
		const struct model_gap *g = &m->gaps[i];

		if (g->thread == NOBODY && hides_change(m, o, g->ns))
			return true;
		for (unsigned int ns = o->begin; ns < o->end && g->ns <= o->end; ns++)
			if (g->thread != NOBODY && m->cell[g->thread][ns] == o->id)
				return true;
	}
	return false;
}

bool model_is_vague(const struct model *m, unsigned int op)
{
	const struct model_operation *o = &m->ops[op];
	bool entered = false;

	if (has_gap(m, o))
		return true;

	for (size_t i = 0; i < m->nr_proofs; i++) {
		const struct model_proof *p = &m->proofs[i];

		if (!proves(p, o))
			continue;
		/* Two records at the same time have no defined order. */
		if (p->ns == o->begin || p->ns == o->end || p == first_proof(m, p->thread))
			return true;
		entered = true;
	}
	if (!entered)
		return false;
	for (unsigned int i = 0; i < m->nr_ops; i++)
		if (i != op && m->ops[i].id == o->id && m->ops[i].begin <= o->end &&
		    m->ops[i].end >= o->begin)
			return true;
	return is_shown_late(m, o);
}

/* True if a scheduling record shows that @thread works on @o, in the same period as at @ns */
static bool is_proved(const struct model *m, const struct model_operation *o, int thread,
		      unsigned int ns)
{
	for (size_t i = 0; i < m->nr_proofs; i++) {
		const struct model_proof *p = &m->proofs[i];

		if (p->thread == thread && proves(p, o) &&
		    p->period == m->period[thread][ns])
			return true;
	}
	return false;
}

bool model_works(const struct model *m, unsigned int op, int thread, unsigned int ns)
{
	const struct model_operation *o = &m->ops[op];

	if (ns < o->begin || ns >= o->end)
		return false;
	if (model_is_entered(m, op))
		return m->cell[thread][ns] == o->id && is_proved(m, o, thread, ns);
	return model_is_around(m, op, thread, ns);
}

bool model_is_around(const struct model *m, unsigned int op, int thread, unsigned int ns)
{
	for (size_t i = 0; i < m->nr_works; i++) {
		const struct model_duration *d = &m->durations[m->works[i].duration];

		if (m->works[i].op == op && d->thread == thread && d->begin <= ns && ns < d->end)
			return true;
	}
	return false;
}

bool model_is_unsure(const struct model *m, int thread, unsigned int ns)
{
	return ns < m->unsure[thread] || ns >= m->doubt[thread];
}

uint64_t model_followed_at(const struct model *m, int thread)
{
	uint64_t ns = T0 + m->ns;

	for (size_t i = 0; i < m->nr_recs; i++) {
		const struct fxt_record *rec = &m->recs[i].rec;

		if (rec->ns < ns && ((rec->kind == FXT_EVENT && rec->thread.tid == TID(thread)) ||
				     (rec->kind == FXT_WAKEUP && rec->in == TID(thread)) ||
				     (rec->kind == FXT_SWITCH && !rec->out &&
				      rec->in == TID(thread))))
			ns = rec->ns;
	}
	return ns;
}

enum analysis_state model_state(const struct model *m, unsigned int op, unsigned int ns)
{
	bool has[ANALYSIS_STATES] = { 0 };

	for (unsigned int t = 0; t < m->threads; t++)
		if (model_works(m, op, t, ns))
			has[model_is_unsure(m, t, ns) ? ANALYSIS_UNKNOWN : m->state[t][ns]] = true;
	return has[ANALYSIS_RUNNING] ? ANALYSIS_RUNNING : has[ANALYSIS_UNKNOWN] ? ANALYSIS_UNKNOWN :
	       has[ANALYSIS_RUNNABLE] ? ANALYSIS_RUNNABLE :
	       has[ANALYSIS_BLOCKED] ? ANALYSIS_BLOCKED : ANALYSIS_QUEUED;
}
