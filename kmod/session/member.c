// SPDX-License-Identifier: GPL-2.0
/*
 * A provider's membership in a session: joining, opening and shutting the gate, leaving,
 * freeing. The module writes to the provider's control page and rings, and never waits for
 * the provider.
 */
#include <linux/cpumask.h>
#include <linux/lockdep.h>
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "base/quiesce.h"
#include "base/quota.h"
#include "control/monitor.h"
#include "provider/old_names.h"
#include "provider/provider.h"
#include "provider/recording_state.h"
#include "provider/thread_slot_numbers.h"
#include "ring/user_rings.h"
#include "sched/sched.h"
#include "sched/tasks.h"
#include "session/budget.h"
#include "session/categories.h"
#include "session/clear.h"
#include "session/member.h"
#include "session/session.h"
#include "session/users.h"

/*
 * Write the wanted categories for the provider's sites. Uses the copy that the control page does
 * not refer to, because sites may be reading the other copy.
 */
static void at_member_write_categories(const struct at_member *m)
{
	const struct at_session *s = m->session;
	struct asynctrace_control *c = m->provider->control;
	u32 first = m->provider->layout.categories;
	u32 at = c->categories == first ? first + AT_CATEGORIES_AREA : first;

	/*
	 * A site may still be reading this copy under an old gate value. The gate has
	 * changed since then; this barrier orders that store before the stores below. So
	 * a site that reads new categories finds the gate changed when it checks again.
	 */
	smp_wmb();
	at_categories_fill((void *)c + at, m->provider->name, s->categories, s->additional);
	WRITE_ONCE(c->categories, at);
}

/*
 * Count the member's rings against the session's memory limit, even if the member still
 * waits for a range: at_member_join() does not check the limit.
 */
static void at_member_count(struct at_member *m)
{
	struct at_session *s = m->session;
	/* Call outside of members_lock: at_memory_of() may compare many names. */
	u64 bytes = at_memory_of(s, m->provider);

	spin_lock(&s->members_lock);
	at_user_add(m, at_charge_user(m->provider->charge), bytes);
	spin_unlock(&s->members_lock);
}

/*
 * Put the member's rings into one of the provider's two ranges. If neither can be used now, have
 * the worker clean those that no session uses. It calls at_member_retry() afterwards.
 */
static void at_member_join(struct at_member *m)
{
	struct at_provider *p = m->provider;
	struct at_rings *rings = m->brought;
	u32 i;

	rings->geometry = at_memory_geometry(m->session, p);
	for (i = 0; i < AT_RANGES; i++)
		if (at_range_start(&p->range[i], rings))
			break;
	if (i == AT_RANGES) {
		for (i = 0; i < AT_RANGES; i++)
			at_range_clean(&p->range[i]);
		return;
	}
	m->brought = NULL;
	spin_lock(&m->session->members_lock);
	/*
	 * Pairs with the load-acquire in at_tell_member(): a reader that finds the rings
	 * finds them initialized, even if it found the member before.
	 */
	smp_store_release(&m->rings, rings);
	spin_unlock(&m->session->members_lock);
	WRITE_ONCE(m->range, &p->range[i]);
}

/**
 * at_member_new - allocate a place in a session
 * @s: the session; with a reference, because at_lock is not held
 *
 * The memory is charged to the session, whichever process calls. At the limit of the
 * user's memory cgroup this may block for as long as the user wants.
 *
 * Return: the place, for at_member_add() or at_member_drop(); NULL if there is no memory.
 */
struct at_member *at_member_new(const struct at_session *s)
{
	struct mem_cgroup *old = set_active_memcg(s->memcg);
	/* At the limit of the memory cgroup this fails without the OOM killer. */
	struct at_member *m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL |
						  __GFP_NOWARN);
	bool ok = false;

	lockdep_assert_not_held(&at_lock);
	if (m) {
		m->user = kzalloc(sizeof(*m->user), GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL |
						    __GFP_NOWARN);
		m->brought = at_rings_new(nr_cpu_ids, s->memcg);
		ok = m->user && m->brought && (s->sched == ASYNCTRACE_SCHED_OFF ||
				    !at_sharer_init(&m->sharer));
	}
	set_active_memcg(old);
	if (ok)
		return m;
	at_member_drop(m);
	return NULL;
}

/* Free an unused place from at_member_new(); @m may be NULL. */
void at_member_drop(struct at_member *m)
{
	if (!m)
		return;
	at_rings_put(m->brought);
	at_sharer_destroy(&m->sharer);
	kfree(m->user);
	kfree(m);
}

/**
 * at_member_add - let a provider join a session
 * @m: from at_member_new() for this session
 * @s: the session, initialized or started
 * @p: a provider that is in no session
 * @late: the session has been started
 */
void at_member_add(struct at_member *m, struct at_session *s, struct at_provider *p, bool late)
{
	lockdep_assert_held(&at_lock);
	if (s->ks)
		at_sharer_join(&m->sharer, &s->ks->sharing);
	kref_init(&m->ref);
	INIT_LIST_HEAD(&m->ended_node);
	INIT_LIST_HEAD(&m->user_node);
	m->session = s;
	m->provider = p;
	m->late = late;
	at_member_unread(m);
	m->kept = m->reading;
	at_provider_get(p);
	at_contents_get(p);
	list_add(&m->of_provider, &p->members);
	WRITE_ONCE(p->member, m);
	at_member_count(m);
	at_member_join(m);

	spin_lock(&s->members_lock);
	list_add_tail(&m->node, &s->members);
	m->number = s->nr_members + 1;
	WRITE_ONCE(s->nr_members, m->number);
	spin_unlock(&s->members_lock);
	at_observe_update(p);
}

/* A range of @p has become free: join if the provider was waiting for one. */
void at_member_retry(struct at_provider *p)
{
	struct at_member *m = p->member;

	lockdep_assert_held(&at_lock);
	if (!m || m->rings || p->dead)
		return;
	at_member_join(m);
	if (!m->rings || !at_session_runs(m->session))
		return;
	/* at_session_run() opens the gate, after clearing the provider's names if necessary. */
	if (m->session->beginning)
		return;
	m->late = true;
	at_member_start(m, m->session->generation);
	at_notify_started(m->session, p, 0);
}

/**
 * at_member_start - open the gate
 * @m: a member; does nothing while it waits for a range
 * @generation: new value of the gate
 */
void at_member_start(struct at_member *m, u32 generation)
{
	struct asynctrace_control *c = m->provider->control;
	const struct at_layout *l = &m->provider->layout;
	const struct at_geometry *g;
	u32 i;

	lockdep_assert_held(&at_lock);
	if (!m->rings || !m->range || m->gone)
		return;
	g = &m->rings->geometry;
	i = m->range - m->provider->range;
	m->rings->opened = true;
	at_rings_tag(m->rings, generation);
	at_member_write_categories(m);
	c->run = generation;
	c->sub_mask = g->sub_words - 1;
	c->ring_mask = at_ring_words(g) - 1;
	at_control_set_clock(c, m->session->clock);
	/* The provider's last session may have had another clock. */
	c->clock_offset = c->clock == ASYNCTRACE_CLOCK_BOOTTIME ? m->provider->clock_offset : 0;
	c->limits = at_layout_limits(l, i);
	c->headers = (at_layout_headers(l, i) - l->control_pages) * PAGE_SIZE;
	c->rings = (at_layout_rings(l, i) - l->control_pages) * PAGE_SIZE;
	WRITE_ONCE(m->generation, generation);
	/* Pairs with the load-acquire of the gate by sites and writers. */
	smp_store_release(&c->gate, generation);
	at_observe_update(m->provider);
}

/**
 * at_member_update - change the wanted categories
 * @m: a member; does nothing if its gate is shut
 * @generation: new value of the gate
 *
 * A writer that is in the middle of a record finds the gate changed and the run
 * unchanged, and continues under the new value.
 */
void at_member_update(struct at_member *m, u32 generation)
{
	struct asynctrace_control *c = m->provider->control;

	lockdep_assert_held(&at_lock);
	if (m->provider->member != m || c->gate == ASYNCTRACE_GATE_OFF)
		return;
	at_member_write_categories(m);
	WRITE_ONCE(m->generation, generation);
	/* Pairs with the load-acquire of the gate by sites and writers. */
	smp_store_release(&c->gate, generation);
	at_observe_update(m->provider);
}

/**
 * at_member_stop - shut the gate
 * @m: a member
 *
 * Records published so far will be delivered. Threads that saw the gate open may still publish
 * records, which count as dropped.
 */
void at_member_stop(struct at_member *m)
{
	struct at_rings *r = m->rings;
	u32 i;

	lockdep_assert_held(&at_lock);
	WRITE_ONCE(m->provider->control->gate, ASYNCTRACE_GATE_OFF);
	/*
	 * Shut the gate before reading the positions: records beyond @stop were published
	 * after the gate was shut.
	 */
	smp_mb();
	for (i = 0; r && i < r->nr; i++)
		WRITE_ONCE(r->ring[i].stop, at_rings_position(r, i));
}

/**
 * at_member_leave - take a provider out of its session
 * @m: a member; stays in the session's list until it has been read
 */
void at_member_leave(struct at_member *m)
{
	struct at_provider *p = m->provider;

	lockdep_assert_held(&at_lock);
	if (p->member != m)
		return;
	if (m->session->state == ASYNCTRACE_SESSION_STATE_STARTED)
		at_member_stop(m);
	/*
	 * Read after the stop positions, so that the slots include each thread that wrote a record
	 * up to there.
	 */
	m->slots_end = at_slots_last(p);
	at_tasks_leave(m);
	if (m->session->ks)
		at_sharer_leave(&m->session->ks->sharing);
	if (m->range)
		at_range_end(m->range);
	WRITE_ONCE(m->range, NULL);
	/* Rings in use remain, to be read. Free the rings that were still waiting for a range. */
	at_rings_put(m->brought);
	m->brought = NULL;
	WRITE_ONCE(p->member, NULL);
	at_observe_update(p);
	at_session_wake(m->session);
}

/* Returns a member's rings with a reference, or NULL. For callers without at_lock. */
struct at_rings *at_member_rings(struct at_member *m)
{
	struct at_rings *rings;

	spin_lock(&m->session->members_lock);
	rings = m->rings;
	if (rings)
		at_rings_get(rings);
	spin_unlock(&m->session->members_lock);
	return rings;
}

/* Like at_member_rings(), but also takes a reference to the contents, unless it returns NULL. */
struct at_rings *at_member_hold(struct at_member *m)
{
	struct at_rings *rings;

	spin_lock(&m->session->members_lock);
	rings = m->rings;
	if (rings) {
		at_rings_get(rings);
		at_contents_get(m->provider);
	}
	spin_unlock(&m->session->members_lock);
	return rings;
}

void at_member_unhold(struct at_member *m, struct at_rings *rings)
{
	at_rings_put(rings);
	at_contents_put(m->provider);
}

/*
 * Free a member that has no reference left, or whose session is being freed. In the
 * second case at_provider_end() may still find the member until it is out of the
 * provider's list.
 */
void at_member_free(struct at_member *m)
{
	spin_lock(&at_lock);
	list_del_init(&m->of_provider);
	list_del_init(&m->ended_node);
	if (!m->done) {
		spin_lock(&m->session->members_lock);
		at_user_remove(m);
		spin_unlock(&m->session->members_lock);
	}
	spin_unlock(&at_lock);
	at_names_put(m->names);
	at_rings_put(m->rings);
	if (!m->done)
		at_contents_put(m->provider);
	at_provider_put(m->provider);
	at_sharer_destroy(&m->sharer);
	kfree(m);
}

static void at_member_free_fn(struct work_struct *work)
{
	at_member_free(container_of(work, struct at_member, free_work));
}

void at_member_get(struct at_member *m)
{
	kref_get(&m->ref);
}

/* A worker frees the member, possibly after its session: the caller may hold at_lock. */
static void at_member_release(struct kref *ref)
{
	struct at_member *m = container_of(ref, struct at_member, ref);

	spin_lock(&m->session->members_lock);
	list_del(&m->node);
	spin_unlock(&m->session->members_lock);
	INIT_WORK(&m->free_work, at_member_free_fn);
	queue_work(at_wq, &m->free_work);
}

/* Drop a reference; @m may be NULL. The caller holds a reference to the session. */
void at_member_put(struct at_member *m)
{
	if (m)
		kref_put(&m->ref, at_member_release);
}
