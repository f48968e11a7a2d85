// SPDX-License-Identifier: GPL-2.0
/* The records of a random machine as a file has them, also with losses */
#include "model.h"

static void add_gap(struct model *m, int thread, unsigned int ns)
{
	more(m->gaps, m->nr_gaps, m->room_gaps);
	m->gaps[m->nr_gaps++] = (struct model_gap){ thread, ns };
}

static void lose_proofs(struct model *m, unsigned int cpu, unsigned int from, unsigned int to)
{
	size_t nr = 0;

	add_gap(m, NOBODY, from);
	for (size_t i = 0; i < m->nr_proofs; i++) {
		const struct model_proof *p = &m->proofs[i];

		if (p->ring != (int)cpu || p->ns < from || p->ns >= to)
			m->proofs[nr++] = *p;
		else
			add_gap(m, p->thread, p->ns);
	}
	m->nr_proofs = nr;
}

void model_lose(struct model *m, unsigned int cpu, unsigned int from, unsigned int to)
{
	size_t nr = 0;

	for (size_t i = 0; i < m->nr_recs; i++) {
		const struct model_record *r = &m->recs[i];

		if (r->ring != (int)cpu || r->written < from || r->written >= to)
			m->recs[nr++] = *r;
	}
	m->nr_recs = nr;
	lose_proofs(m, cpu, from, to);
}

/* Returns true if an operation ended within the duration @r, and not later than @before. */
static bool op_ended_within(const struct model *m, const struct model_record *r,
			    unsigned int before)
{
	for (size_t i = 0; i < m->nr_ops; i++)
		if (T0 + m->ops[i].end >= r->rec.ns && m->ops[i].end <= before)
			return true;
	return false;
}

/* Returns true if the duration that begins with @r directly encloses an event of an operation. */
static bool has_work(const struct model *m, const struct model_record *r)
{
	for (size_t i = 0; i < m->nr_works; i++)
		if (m->works[i].duration + 1 == r->rec.out)
			return true;
	return false;
}

static bool can_be_lost(const struct model *m, const struct model_record *r, unsigned int from)
{
	switch (r->rec.number) {
	case ASYNCTRACE_FXT_DURATION:
		return !op_ended_within(m, r, from);
	case ASYNCTRACE_FXT_DURATION_BEGIN:
		return !has_work(m, r) && rnd_chance(50);
	case ASYNCTRACE_FXT_DURATION_END:
		return rnd_chance(50);
	default:
		return false;
	}
}

void model_lose_durations(struct model *m, unsigned int from, unsigned int to)
{
	size_t nr = 0;

	for (size_t i = 0; i < m->nr_recs; i++) {
		const struct model_record *r = &m->recs[i];

		if (r->thread == NOBODY || r->written < from || r->written >= to ||
		    !can_be_lost(m, r, from))
			m->recs[nr++] = *r;
		else if (r->rec.number == ASYNCTRACE_FXT_DURATION)
			m->durations[r->rec.out - 1].lost = from;
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
 * Reads a ring once, in the order of writing. But a complete duration, which is written at its end,
 * comes before the events of its thread that began after it.
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
