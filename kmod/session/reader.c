// SPDX-License-Identifier: GPL-2.0
/*
 * Reading of a session: each read(2) returns one chunk.
 *
 * The reader works in passes. A pass notes the position of every ring, then reports all
 * names, then the rings up to the noted positions. A name is published before the records
 * that use it. So the consumer never gets a record whose names it does not have.
 *
 * Providers may publish faster than the consumer reads. So in a pass each provider's
 * names, each ledger and each sub-buffer has one turn. A pass that began after the
 * session was stopped is the last one. A provider that joins in the middle of a pass has
 * its turn in the next pass.
 *
 * A snapshot is one pass that begins with nothing reported. Records that are overwritten
 * while the snapshot is read are counted, and each ring's ledger is reported as final at
 * its end.
 *
 * The pages of a provider are copied as they are. The consumer checks its copy; the
 * cursor checks the framing, as far as the kernel depends on it.
 *
 * The reader notes what it has reported only after the whole chunk has reached the
 * consumer's memory. So a read(2) that fails loses nothing.
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/user_namespace.h>

#include "base/clock.h"
#include "base/race.h"
#include "provider/old_names.h"
#include "provider/provider.h"
#include "provider/thread_slot_numbers.h"
#include "ring/user_rings.h"
#include "sched/sched.h"
#include "sched/task_names.h"
#include "session/chunk.h"
#include "session/clear.h"
#include "session/member.h"
#include "session/session.h"

/* Attempts to read a ring whose writers keep overtaking the reader */
#define AT_TRIES	8

static ssize_t at_tell_clock(struct at_session *s, struct at_out *out)
{
	u64 told = s->reader.clock;
	u32 n = at_clock_log_read(s->clock_log, &told, out->scratch, AT_BATCH);
	ssize_t ret;

	if (!n)
		return 0;
	ret = at_chunk_table(s, out, ASYNCTRACE_CHUNK_CLOCK, 0, n,
			     sizeof(struct asynctrace_clock_pair));
	if (ret > 0)
		s->reader.clock = told;
	return ret;
}

/*
 * Report the sums over providers that ended before the consumer opened the session:
 * nothing else reports their records. The sums are reported once, before all providers.
 * Providers that end later are reported one by one, because their members are not removed
 * before that.
 */
static ssize_t at_tell_ended(struct at_session *s, struct at_out *out)
{
	struct asynctrace_ended *payload = out->scratch;
	struct at_ended ended = at_ended_read(s);
	ssize_t ret;

	if (s->reader.ended)
		return 0;
	if (!ended.providers) {
		s->reader.ended = true;
		return 0;
	}
	*payload = (struct asynctrace_ended){
		.providers = ended.providers,
		.sched_dropped = ended.sched_dropped,
		.names_dropped = ended.names_dropped,
	};
	out->chunk.flags = ASYNCTRACE_CHUNK_F_LAST;
	out->chunk.delivered = ended.delivered;
	out->chunk.overwritten = ended.overwritten;
	if (s->snapshot) {
		/*
		 * A snapshot counts records that were delivered to other consumers as
		 * overwritten, as the ledgers of rings do.
		 */
		out->chunk.delivered = 0;
		out->chunk.overwritten = ended.committed - ended.cleared;
	}
	out->chunk.cleared = ended.cleared;
	out->chunk.dropped = ended.dropped;
	ret = at_chunk_table(s, out, ASYNCTRACE_CHUNK_ENDED, 0, 1, sizeof(*payload));
	s->reader.ended = ret > 0;
	return ret;
}

static ssize_t at_tell_provider(struct at_session *s, struct at_member *m,
				struct at_out *out)
{
	struct asynctrace_provider_info *info = out->scratch;
	struct at_provider *p = m->provider;
	u64 dropped[AT_KRINGS];
	u32 flags = 0, i;
	ssize_t ret;

	/* at_tell_ended() covers members that were done before the consumer came. */
	if (!at_member_introduced(m) && READ_ONCE(m->done))
		return 0;
	if (READ_ONCE(m->gone))
		flags |= ASYNCTRACE_PROVIDER_F_GONE;
	if (READ_ONCE(m->late))
		flags |= ASYNCTRACE_PROVIDER_F_LATE;
	for (i = 0; i < AT_KRINGS; i++)
		dropped[i] = at_sharer_dropped(&m->sharer, i);
	if (m->reading.info_told == flags &&
	    !memcmp(m->reading.dropped_told, dropped, sizeof(dropped)))
		return 0;
	memset(info, 0, sizeof(*info));
	info->id = p->id;
	info->pid = pid_nr_ns(p->pid, s->pid_ns);
	info->uid = from_kuid_munged(s->owner.user_ns, p->uid);
	info->version = p->version;
	info->salt = p->salt_nr;
	info->flags = flags;
	strscpy(info->name, p->name, sizeof(info->name));
	info->sched_dropped = dropped[AT_KRING_EVENTS];
	info->names_dropped = dropped[AT_KRING_NAMES];
	info->serial = p->serial;
	ret = at_chunk_table(s, out, ASYNCTRACE_CHUNK_PROVIDER, p->id, 1, sizeof(*info));
	if (ret <= 0)
		return ret;
	/* at_ended_fn() reads these without read_lock. */
	for (i = 0; i < AT_KRINGS; i++)
		WRITE_ONCE(m->reading.dropped_told[i], dropped[i]);
	WRITE_ONCE(m->reading.info_told, flags);
	return ret;
}

static ssize_t at_tell_threads(struct at_session *s, struct at_member *m,
			       struct at_out *out)
{
	u32 told = m->reading.slots_told;
	u32 n = at_slots_read(m->provider, &told, m->reading.slots_to, s->pid_ns, out->scratch,
			      AT_BATCH);
	ssize_t ret;

	if (!n)
		return 0;
	ret = at_chunk_table(s, out, ASYNCTRACE_CHUNK_THREADS, m->provider->id, n,
			     sizeof(struct asynctrace_thread));
	if (ret > 0)
		WRITE_ONCE(m->reading.slots_told, told);
	return ret;
}

/*
 * Have a provider's names been cleared since the caller looked for a copy of them? If the
 * provider has left the session, the names were copied before they were cleared. The caller may
 * then have seen the next generation already, so this function also checks whether there is a
 * copy.
 */
static bool at_names_cleared(const struct at_member *m, u32 generation)
{
	return generation != READ_ONCE(m->provider->control->durable_generation) ||
	       (READ_ONCE(m->names) && at_fixed(AT_FIX_NAMES));
}

/* Report the words of the durable ring that the consumer does not have. */
static ssize_t at_tell_strings(struct at_session *s, struct at_member *m,
			       struct at_out *out)
{
	struct at_provider *p = m->provider;
	struct at_names *kept;
	u32 generation, end, from;
	ssize_t ret;
	int err = 0;

	do {
		/* Pairs with the store-release in at_names_keep(). */
		kept = smp_load_acquire(&m->names);
		at_race(AT_RACE_NAMES);
		generation = kept ? kept->generation : READ_ONCE(p->control->durable_generation);
		end = kept ? kept->words : at_names_end(p, generation);
		from = generation == m->reading.durable_generation ? m->reading.durable_taken : 0;
		if (end > from)
			err = at_names_read(kept ? kept->pages : p->durable, from, end - from,
					    at_payload(out));
		if (err)
			return err;
		/*
		 * A clear first keeps a copy of the names in @m->names, then stores the new
		 * generation, and words are written after that. This barrier keeps the order for
		 * the reads of the words above and of the generation below. Pairs with the
		 * store-release and the barrier in at_provider_clear_names().
		 */
		smp_rmb();
	} while (!kept && at_names_cleared(m, generation));
	if (end <= from)
		return 0;

	out->chunk.kind = ASYNCTRACE_CHUNK_STRINGS;
	out->chunk.provider = p->id;
	out->chunk.sequence = from;
	out->chunk.records = generation;
	out->chunk.bytes = (end - from) * sizeof(u64);
	ret = at_chunk_finish(s, out);
	if (ret > 0) {
		m->reading.durable_generation = generation;
		m->reading.durable_taken = end;
	}
	return ret;
}

/*
 * Must a ring's ledger be reported? A final ledger is reported once for each run, any other if its
 * drop count has changed. If so, this function fills in the chunk's drop count and flags.
 */
static bool at_news(const struct at_reader *rd, struct at_out *out, u64 dropped,
		    u64 told, bool final, u32 last)
{
	if (final ? last == rd->run : dropped == told)
		return false;
	out->chunk.dropped = dropped;
	if (final)
		out->chunk.flags |= ASYNCTRACE_CHUNK_F_LAST;
	return true;
}

/* Is the ring final: is the session not started, or the provider gone? */
static bool at_ring_final(const struct at_session *s, const struct at_member *m)
{
	/*
	 * Pairs with the store-releases in requests.c: a reader that finds the session not
	 * started also sees the rings' stop positions.
	 */
	u32 state = smp_load_acquire(&s->state);

	/*
	 * Pairs with the store-release in at_member_gone(): a reader that sees @gone also
	 * sees the stop positions.
	 */
	return state != ASYNCTRACE_SESSION_STATE_STARTED || (m && smp_load_acquire(&m->gone));
}

/* Has the session been started again since this pass found it stopped? */
static bool at_restarted(const struct at_session *s)
{
	return s->reader.final && s->reader.run != READ_ONCE(s->run);
}

/*
 * Because the writers were faster, this pass of a snapshot could not read some records. Count
 * them as overwritten.
 */
static void at_give_up(struct at_session *s, struct at_cursor *c, struct at_clear *clear,
		       const struct at_source *src, u64 snap)
{
	struct at_cursor next = *c;
	u64 committed, pos;

	if (c->taken >= at_pos_linear(snap, src->fallback))
		return;
	committed = at_source_now(src, &pos);
	if (committed > c->records) {
		next.overwritten += committed - c->records;
		next.records = committed;
	}
	next.taken = at_pos_linear(pos, src->fallback);
	if (!at_clear_take(s, c, clear, &next))
		at_clear_apply(s, c, src, clear);
}

/*
 * Let writers of a streaming ring go on after the reader has taken words. If the provider's
 * range no longer has the rings @r, its limits are not this session's: leave them alone.
 */
static void at_raise_limit(struct at_member *m, struct at_rings *r, u32 i)
{
	struct at_range *range = READ_ONCE(m->range);

	if (m->session->mode != ASYNCTRACE_MODE_STREAMING || !range)
		return;
	spin_lock(&range->rings_lock);
	if (range->live && range->rings == r)
		at_clear_limit_uring(m, range, r, i);
	spin_unlock(&range->rings_lock);
}

static ssize_t at_tell_ring(struct at_session *s, struct at_member *m, struct at_rings *r,
			    u32 i, struct at_out *out)
{
	struct at_uring *ring = &r->ring[i];
	bool final = ring->reading.final;
	struct at_source src;
	struct at_span span;
	u64 dropped, pos;
	ssize_t ret;
	int tries;

	at_rings_source(r, i, &src);
	for (tries = 0; tries < AT_TRIES && s->reader.chunks <= r->geometry.nsub;) {
		if (!at_clear_apply(s, &ring->reading.cursor, &src, &ring->clear))
			break;
		if (!at_cursor_next(&ring->reading.cursor, &src, ring->reading.snap, &span))
			break;
		if (at_rings_copy(r, i, span.from, span.words, at_payload(out)))
			return -EFAULT;
		/*
		 * Pairs with the writer's barrier between entering a sub-buffer and its
		 * first store there: if the copy has words of a new sub-buffer, the
		 * position read below shows that sub-buffer.
		 */
		smp_rmb();
		pos = at_rings_position(r, i);
		s->reader.chunks++;
		if (at_span_overrun(&span, &src, pos)) {
			if (final) {
				/*
				 * Late records, which count as dropped, have overwritten these
				 * records.
				 */
				span.next.delivered -= span.records;
				span.next.overwritten += span.records;
				at_clear_take(s, &ring->reading.cursor, &ring->clear, &span.next);
				continue;
			}
			tries++;
			/* Later records may use newer names: report these first. */
			m->reading.slots_to = at_slots_last(m->provider);
			ret = at_tell_threads(s, m, out);
			if (!ret)
				ret = at_tell_strings(s, m, out);
			if (ret)
				return ret;
			ring->reading.snap = pos;
			continue;
		}
		if (!span.words && !span.records && !span.broken) {
			if (at_clear_take(s, &ring->reading.cursor, &ring->clear, &span.next))
				at_raise_limit(m, r, i);
			cond_resched();
			continue;
		}
		out->chunk.kind = ASYNCTRACE_CHUNK_EVENTS;
		out->chunk.provider = m->provider->id;
		out->chunk.ring = i;
		if (src.fallback)
			out->chunk.flags |= ASYNCTRACE_CHUNK_F_FALLBACK;
		at_chunk_ledger(out, &ring->reading.cursor, &span);
		out->chunk.dropped = at_rings_dropped(r, i);
		ret = at_chunk_finish(s, out);
		if (ret < 0) {
			s->reader.chunks--;
			return ret;
		}
		/* A start has cleared these records meanwhile: reuse the chunk. */
		if (!at_clear_take(s, &ring->reading.cursor, &ring->clear, &span.next)) {
			memset(&out->chunk, 0, sizeof(out->chunk));
			continue;
		}
		ring->reading.told = out->chunk.dropped;
		at_raise_limit(m, r, i);
		return ret;
	}

	/* No words to deliver, but the ledger may have changed. */
	pos = at_rings_position(r, i);
	dropped = at_rings_dropped(r, i);
	if (final && !at_restarted(s))
		dropped = at_count_add(dropped,
				       at_rings_late(r, i, &ring->reading.cursor, pos));
	if (s->snapshot) {
		at_give_up(s, &ring->reading.cursor, &ring->clear, &src, ring->reading.snap);
		final = true;
	}
	if (!at_pos_linear(pos, src.fallback) && !dropped)
		return 0;
	if (!at_news(&s->reader, out, dropped, ring->reading.told, final, ring->reading.last))
		return 0;
	out->chunk.kind = ASYNCTRACE_CHUNK_EVENTS;
	out->chunk.provider = m->provider->id;
	out->chunk.ring = i;
	if (src.fallback)
		out->chunk.flags |= ASYNCTRACE_CHUNK_F_FALLBACK;
	at_chunk_ledger(out, &ring->reading.cursor, NULL);
	ret = at_chunk_finish(s, out);
	if (ret > 0) {
		s->reader.next = true;
		ring->reading.told = dropped;
		if (final)
			ring->reading.last = s->reader.run;
	}
	return ret;
}

/*
 * Report task names from the session's table, up to change @names_to of the reader. If they are
 * names that earlier consumers got from the rings, they have counts of their own: the present
 * consumer gets later names from the rings, also names that the table has no room for.
 */
static ssize_t at_tell_task_names(struct at_session *s, struct at_out *out)
{
	struct at_reader *rd = &s->reader;
	bool drained = at_session_drains_names(s);
	unsigned long told = rd->names_told;
	u64 lost = drained ? at_task_names_lost(s->names, s->ks) : rd->names_before;
	bool final = rd->final || s->snapshot;
	ssize_t ret;
	u32 n;

	n = at_task_names_read(s->names, &told, rd->names_to, out->scratch, AT_BATCH);
	/* There were no earlier consumers, or they got no names. */
	if (!n && !drained && !rd->names && !lost)
		return 0;
	if (!n && !at_news(rd, out, lost, rd->names_lost, final, rd->names_last))
		return 0;
	out->chunk.ring = drained ? 0 : nr_cpu_ids;
	out->chunk.delivered = rd->names + n;
	out->chunk.dropped = lost;
	ret = at_chunk_table(s, out, ASYNCTRACE_CHUNK_NAMES, 0, n,
			     sizeof(struct asynctrace_task_name));
	if (ret <= 0)
		return ret;
	rd->names_told = told;
	rd->names += n;
	rd->names_lost = lost;
	if (!n && final)
		rd->names_last = rd->run;
	return ret;
}

/* Report names of threads if there are threads of which the consumer has no name. */
static ssize_t at_tell_added_names(struct at_session *s, struct at_out *out)
{
	struct at_reader *rd = &s->reader;

	rd->names_to = at_task_names_begin(s->names, s->ks, rd->names_told);
	/*
	 * New names of the other threads come in the next pass, or at the end of a snapshot: a
	 * thread that renames itself all the time must not delay records.
	 */
	return at_task_names_added(s->names, rd->names_told) ? at_tell_task_names(s, out) : 0;
}

static ssize_t at_finish_kring(struct at_session *s, u32 kind, u32 cpu, struct at_out *out)
{
	out->chunk.kind = kind;
	out->chunk.ring = cpu;
	return at_chunk_finish(s, out);
}

/*
 * Report the next chunk of a kernel ring. @kind: ASYNCTRACE_CHUNK_SCHED or _NAMES. A ring of names
 * is read up to the position at the beginning of its turn, other rings up to the position at the
 * beginning of the pass. The names of all records in the other rings were recorded before that.
 */
static ssize_t at_tell_kring(struct at_session *s, struct at_kring *r, u32 kind, u32 cpu,
			     struct at_out *out)
{
	struct at_reader *rd = &s->reader;
	bool final = rd->final || s->snapshot;
	struct at_source src;
	struct at_span span;
	ssize_t ret;
	int tries;
	u64 pos;

	at_kring_source(r, &src);
	/* A fast writer must not delay the other rings: end the turn of this ring. */
	for (tries = 0; tries < AT_TRIES && rd->chunks <= r->geometry.nsub; tries++) {
		if (!at_clear_apply(s, &r->reading.cursor, &src, &r->clear))
			break;
		if (!at_cursor_next(&r->reading.cursor, &src, r->reading.snap, &span))
			break;
		if (at_kring_copy(r, span.from, span.words, at_payload(out)))
			return -EFAULT;
		/* Pairs with the write barrier in at_kring_enter(). */
		smp_rmb();
		pos = at_kring_position(r);
		if (at_span_overrun(&span, &src, pos)) {
			/*
			 * In a ring that is not circular, writers enter unread words only after a
			 * start has cleared these. at_clear_apply() skips them.
			 */
			if (!r->geometry.circular)
				continue;
			/* Later records may be of threads without a name: report these first. */
			ret = at_tell_added_names(s, out);
			/* If the chunk is not full, it has the last names. */
			if (ret >= 0 && out->chunk.records < AT_BATCH)
				r->reading.snap = pos;
			rd->chunks += ret > 0;
			if (ret)
				return ret;
			continue;
		}
		at_chunk_ledger(out, &r->reading.cursor, &span);
		out->chunk.dropped = READ_ONCE(r->dropped);
		ret = at_finish_kring(s, kind, cpu, out);
		if (ret < 0)
			return ret;
		rd->chunks++;
		if (!at_clear_take(s, &r->reading.cursor, &r->clear, &span.next)) {
			memset(&out->chunk, 0, sizeof(out->chunk));
			continue;
		}
		r->reading.told = out->chunk.dropped;
		/* The present consumer has all names in the table. */
		if (kind == ASYNCTRACE_CHUNK_NAMES)
			rd->names_told = at_task_names_copy(s->names, r, &span);
		if (!r->geometry.circular &&
		    (s->mode == ASYNCTRACE_MODE_STREAMING || kind == ASYNCTRACE_CHUNK_NAMES))
			at_clear_limit_kring(s, r);
		return ret;
	}
	if (s->snapshot)
		at_give_up(s, &r->reading.cursor, &r->clear, &src, r->reading.snap);
	if (!at_kring_position(r) && !READ_ONCE(r->dropped))
		return 0;
	if (!at_news(&s->reader, out, READ_ONCE(r->dropped), r->reading.told, final,
		     r->reading.last))
		return 0;
	at_chunk_ledger(out, &r->reading.cursor, NULL);
	ret = at_finish_kring(s, kind, cpu, out);
	if (ret > 0) {
		/* The drop count may grow before each call: end the turn of this ring. */
		rd->next = true;
		r->reading.told = out->chunk.dropped;
		if (final)
			r->reading.last = s->reader.run;
	}
	return ret;
}

/*
 * Report the next pairs of clock readings, or the sums over ended providers. This phase comes after
 * at_snap(): if the pass is final, the pair of the stop is in the log, and the pairs of each start
 * come before the records of its run.
 */
static ssize_t at_tell_clock_or_ended(struct at_session *s, struct at_out *out)
{
	struct at_reader *rd = &s->reader;
	ssize_t ret = 0;

	if (!rd->next)
		ret = at_tell_clock(s, out);
	/* A slow consumer would find another pair in each call. */
	rd->next = ret > 0 && out->chunk.records < AT_BATCH;
	return ret ?: at_tell_ended(s, out);
}

/* Note up to where this pass reads each ring. */
static void at_snap(struct at_session *s)
{
	struct at_member *m = NULL;
	u32 i;

	/*
	 * Pairs with the store-release in at_session_run(): the state read below is that
	 * of this run or a later one.
	 */
	s->reader.run = smp_load_acquire(&s->run);
	/* Read once, so that the whole pass agrees on whether the session is final. */
	s->reader.final = at_ring_final(s, NULL);
	s->reader.members = READ_ONCE(s->nr_members);
	while ((m = at_session_next_member(s, m))) {
		bool final = at_ring_final(s, m);
		struct at_rings *r = at_member_rings(m);

		/* As in at_ring_final(), which may not have read @gone. */
		m->reading.snapped_gone = final && smp_load_acquire(&m->gone);
		for (i = 0; r && i < r->nr; i++) {
			r->ring[i].reading.final = final;
			r->ring[i].reading.snap = final ? READ_ONCE(r->ring[i].stop) :
						  at_rings_position(r, i);
		}
		at_rings_put(r);
		/* Read after the positions: these are the threads that have written records. */
		m->reading.slots_to = at_slots_last(m->provider);
		cond_resched();
	}
	if (!s->ks)
		return;
	/*
	 * Wait for probes that are still recording, before the final positions are noted.
	 * Names and drop counts are read later.
	 */
	if (s->reader.final)
		at_ksched_wait(s->ks);
	for_each_possible_cpu(i) {
		struct at_kring *r = &per_cpu_ptr(s->ks->cpu, i)->events;

		r->reading.snap = at_kring_position(r);
	}
}

static void at_next_ring(struct at_reader *rd)
{
	rd->ring++;
	rd->chunks = 0;
	rd->next = false;
}

/* Report the next item of member @m in this phase. @rd->ring iterates over the member's rings. */
static ssize_t at_tell_member(struct at_session *s, struct at_member *m, struct at_out *out)
{
	struct at_reader *rd = &s->reader;
	struct at_rings *rings;
	ssize_t ret = 0;

	/* The member joined in the middle of this pass: the next pass introduces it. */
	if (m->number > rd->members ||
	    (rd->phase != AT_PHASE_PROVIDERS && !at_member_introduced(m)))
		return 0;
	switch (rd->phase) {
	case AT_PHASE_PROVIDERS:
		ret = at_tell_provider(s, m, out);
		rd->next = ret > 0;
		return ret;
	case AT_PHASE_THREADS:
		/* The member is done: no records are left that could use its names. */
		if (READ_ONCE(m->done))
			return 0;
		ret = at_tell_threads(s, m, out);
		/* If the chunk is not full, it has the last slots. */
		rd->next = ret > 0 && out->chunk.records < AT_BATCH;
		return ret;
	case AT_PHASE_STRINGS:
		if (READ_ONCE(m->done))
			return 0;
		ret = at_tell_strings(s, m, out);
		rd->next = ret > 0;
		return ret;
	default:
		/*
		 * A member may get its rings after it was added. While the session has a
		 * reader, only the reader takes rings away. Pairs with the store-release
		 * in at_member_join().
		 */
		rings = smp_load_acquire(&m->rings);
		for (; rings && rd->ring < rings->nr; at_next_ring(rd)) {
			if (rd->next)
				continue;
			ret = at_tell_ring(s, m, rings, rd->ring, out);
			if (ret)
				return ret;
		}
		rd->ring = 0;
		/* The provider was gone when the pass began, so all has been reported. */
		if (m->reading.snapped_gone && !s->snapshot)
			at_member_done(m);
		return 0;
	}
}

/*
 * Report the next names of the session's table. The pass reports the names that exist when this
 * phase begins, and then at most one chunk that has new counts only.
 */
static ssize_t at_tell_table_of_names(struct at_session *s, struct at_out *out)
{
	struct at_reader *rd = &s->reader;
	ssize_t ret = 0;

	/* Pairs with the store-release in at_session_init(). */
	if (!smp_load_acquire(&s->names))
		return 0;
	if (at_session_drains_names(s)) {
		if (!rd->chunks++)
			rd->names_to = at_task_names_begin(s->names, s->ks, rd->names_told);
	} else if (!rd->names_to) {
		/* The consumer's first pass: the table has only names from earlier consumers. */
		rd->names_to = ULONG_MAX;
		rd->names_before = at_task_names_lost(s->names, NULL);
	}
	if (!rd->next)
		ret = at_tell_task_names(s, out);
	rd->next = ret > 0 && !out->chunk.records;
	/* If a chunk has not reached the consumer, begin again. */
	if (ret <= 0)
		rd->chunks = 0;
	return ret;
}

static ssize_t at_tell_cpus(struct at_session *s, struct at_out *out)
{
	struct at_reader *rd = &s->reader;
	bool names = rd->phase == AT_PHASE_NAMES;
	u32 kind = names ? ASYNCTRACE_CHUNK_NAMES : ASYNCTRACE_CHUNK_SCHED;
	ssize_t ret;

	/* Pairs with the store-release in at_session_init(): the session has @ks, too. */
	if (!smp_load_acquire(&s->names) || (names && at_session_drains_names(s)))
		return 0;
	for (; rd->ring < nr_cpu_ids; at_next_ring(rd)) {
		struct at_kcpu *kc;
		struct at_kring *r;

		if (rd->next || !cpu_possible(rd->ring))
			continue;
		kc = per_cpu_ptr(s->ks->cpu, rd->ring);
		r = names ? &kc->names : &kc->events;
		/* Note the position once in a turn: a thread may rename itself all the time. */
		if (names && !rd->chunks)
			r->reading.snap = at_kring_position(r);
		ret = at_tell_kring(s, r, kind, rd->ring, out);
		if (ret)
			return ret;
	}
	rd->ring = 0;
	rd->chunks = 0;
	return 0;
}

/* Do one step of a pass. Returns the size of a chunk, 0 at the end of the pass, or an error. */
static ssize_t at_tell(struct at_session *s, struct at_out *out)
{
	struct at_reader *rd = &s->reader;
	struct at_member *m;
	ssize_t ret;

	/* The session was restarted, so its ledgers are not final any more: begin another pass. */
	if (rd->phase != AT_PHASE_BEGIN && at_restarted(s) && !s->snapshot)
		rd->phase = AT_PHASE_BEGIN;
	for (;; rd->phase++) {
		switch (rd->phase) {
		case AT_PHASE_BEGIN:
			rd->told = 0;
			/* A pass that a restart has cut short still holds a member. */
			at_member_put(rd->member);
			rd->member = NULL;
			rd->ring = 0;
			rd->chunks = 0;
			rd->next = false;
			/* Clear the mark before reading the positions, to miss no record. */
			WRITE_ONCE(s->readable, false);
			/*
			 * Orders the store above before the loads of positions;
			 * at_session_wake() runs after positions have changed.
			 */
			smp_mb();
			at_snap(s);
			break;
		case AT_PHASE_CLOCK:
			ret = at_tell_clock_or_ended(s, out);
			if (ret)
				return ret;
			break;
		case AT_PHASE_NAMES_TABLE:
			ret = at_tell_table_of_names(s, out);
			if (ret)
				return ret;
			break;
		case AT_PHASE_NAMES:
		case AT_PHASE_SCHED:
			ret = at_tell_cpus(s, out);
			if (ret)
				return ret;
			break;
		case AT_PHASE_RENAMES:
			/* Other readers get these names in the next pass. */
			ret = s->snapshot ? at_tell_table_of_names(s, out) : 0;
			if (ret)
				return ret;
			break;
		case AT_PHASE_END:
			rd->phase = AT_PHASE_BEGIN;
			rd->done = s->snapshot;
			/* This pass may have made the final reports that members wait for. */
			if (!list_empty_careful(&s->finished))
				at_ended_soon(s);
			return 0;
		default:
			m = rd->member ?: at_session_next_member(s, NULL);
			for (; m; m = at_session_next_member(s, m)) {
				rd->member = m;
				cond_resched();
				if (rd->next && rd->phase != AT_PHASE_EVENTS) {
					rd->next = false;
					continue;
				}
				ret = at_tell_member(s, m, out);
				if (ret)
					return ret;
			}
			rd->member = NULL;
			break;
		}
	}
}

/* Reset the reader, so that the next one begins anew. The session must not have a reader. */
void at_reader_reset(struct at_session *s)
{
	at_member_put(s->reader.member);
	memset(&s->reader, 0, sizeof(s->reader));
}

/**
 * at_session_read - read the next chunk
 * @s: the session
 * @buf: the consumer's memory
 * @count: size of @buf, at least ASYNCTRACE_READ_MIN
 * @nonblock: do not wait for records
 *
 * If a session that records scheduling has been stopped, the first call waits for an RCU
 * grace period, until the probes have finished.
 *
 * Return: size of the chunk; 0 if there is nothing to read and the session is not
 * started, and at the end of a snapshot; -EAGAIN if the session is started and @nonblock
 * is set; -EINVAL, -EFAULT, -EINTR, -ERESTARTSYS, -ENOMEM.
 */
ssize_t at_session_read(struct at_session *s, char __user *buf, size_t count,
			bool nonblock)
{
	struct at_out out = { .buf = buf };
	ssize_t ret;
	bool more;

	if (count < ASYNCTRACE_READ_MIN)
		return -EINVAL;
	out.scratch = kvmalloc_array(AT_BATCH, sizeof(struct asynctrace_provider_info),
				     GFP_KERNEL_ACCOUNT);
	if (!out.scratch)
		return -ENOMEM;
	do {
		ret = mutex_lock_interruptible(&s->read_lock);
		if (ret)
			break;
		/*
		 * Begin another pass if the last one reported something, or if the session was
		 * stopped meanwhile: something may have been published since the last pass began.
		 */
		do {
			memset(&out.chunk, 0, sizeof(out.chunk));
			ret = s->reader.done ? 0 : at_tell(s, &out);
			more = !ret && !s->snapshot && (!s->reader.final || at_restarted(s)) &&
			       (s->reader.told || at_ring_final(s, NULL));
			if (ret > 0)
				s->reader.told++;
		} while (more);
		mutex_unlock(&s->read_lock);
		if (ret)
			break;
		if (s->snapshot || READ_ONCE(s->state) != ASYNCTRACE_SESSION_STATE_STARTED)
			break;
		if (nonblock) {
			ret = -EAGAIN;
			break;
		}
		ret = wait_event_interruptible(s->wait, READ_ONCE(s->readable));
	} while (!ret);
	kvfree(out.scratch);
	return ret;
}
