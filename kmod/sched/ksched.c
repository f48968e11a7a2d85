// SPDX-License-Identifier: GPL-2.0
/*
 * The scheduling side of a session: its kernel rings, and when the probes write to them
 */
#include <linux/percpu.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "base/quiesce.h"
#include "base/race.h"
#include "sched/probes.h"
#include "sched/record.h"
#include "sched/sched.h"
#include "sched/tasks.h"
#include "session/session.h"

/*
 * Rings of names are small, because names are few. They do not wrap around, because switches are
 * hard to read without names.
 */
static const struct at_geometry at_names_geometry = { .sub_words = 4096, .nsub = 4 };

/*
 * Number of spare event rings that a session keeps while few CPUs begin to write. It keeps a
 * spare ring of names for each CPU, because these rings are small and a thread's name is
 * recorded only once.
 */
#define AT_EVENTS_CALM	2

/*
 * Replaces a CPU's rings while the fast path must not be used. These rings have no room. So the
 * test for room, which each record needs anyway, leaves the fast path.
 */
static struct at_kcpu at_kcpu_full;

static void at_kcpu_init(struct at_ksched *ks, const struct at_geometry *events, int cpu)
{
	struct at_kcpu *kc = per_cpu_ptr(ks->cpu, cpu);
	u32 state;

	at_kring_init(&kc->events, AT_KRING_EVENTS, events, &ks->sharing,
		      &ks->spares[AT_KRING_EVENTS], ks->all);
	at_kring_init(&kc->names, AT_KRING_NAMES, &at_names_geometry, &ks->sharing,
		      &ks->spares[AT_KRING_NAMES], ks->foreign);
	for (state = 0; state < ARRAY_SIZE(kc->switch_head); state++)
		kc->switch_head[state] = ASYNCTRACE_FXT_SWITCH_HEAD(AT_SWITCH_WORDS,
								    AT_SWITCH_ARGS, cpu, state);
	kc->reasons = ks->reasons;
	kc->foreign = ks->foreign;
}

/* Set @quick, which decides whether the probes may use the fast path: see struct at_ksched. */
static void at_route(struct at_ksched *ks)
{
	bool quick = ks->on && ks->clock == ASYNCTRACE_CLOCK_COUNTER;
	int cpu;

	for_each_possible_cpu(cpu)
		WRITE_ONCE(*per_cpu_ptr(ks->quick, cpu),
			   quick ? per_cpu_ptr(ks->cpu, cpu) : &at_kcpu_full);
}

void at_ksched_free(struct at_ksched *ks)
{
	int cpu, i;

	if (!ks)
		return;
	/* A session that was never listed has not run at_ksched_end_fn(). */
	at_probes_release(ks);
	for (i = 0; i < AT_KRINGS; i++)
		at_spares_destroy(&ks->spares[i]);
	for_each_possible_cpu(cpu) {
		struct at_kcpu *kc;

		if (!ks->cpu)
			break;
		kc = per_cpu_ptr(ks->cpu, cpu);
		at_kring_destroy(&kc->events);
		at_kring_destroy(&kc->names);
	}
	free_percpu(ks->cpu);
	free_percpu(ks->quick);
	kfree(ks);
}

static int at_ksched_prepare_spares(struct at_ksched *ks)
{
	int i, err = 0;

	for (i = 0; i < AT_KRINGS && !err; i++)
		err = at_spares_prepare(&ks->spares[i]);
	return err;
}

/* Have a worker adjust the number of spare rings, if no CPU has needed one for a while. */
void at_ksched_look(struct at_ksched *ks)
{
	int i;

	for (i = 0; i < AT_KRINGS; i++)
		at_spares_look(&ks->spares[i]);
}

/**
 * at_ksched_new - allocate the scheduling side of a session
 * @s: the session
 *
 * Return: the scheduling side, with spare rings; NULL if there is no memory.
 */
struct at_ksched *at_ksched_new(struct at_session *s)
{
	const gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_RETRY_MAYFAIL | __GFP_NOWARN;
	struct at_ksched *ks = kzalloc(sizeof(*ks), GFP_KERNEL_ACCOUNT);
	struct mem_cgroup *old;
	int cpu;

	if (!ks)
		return NULL;
	ks->session = s;
	ks->ns = s->pid_ns == &init_pid_ns ? NULL : s->pid_ns;
	ks->clock = s->clock;
	ks->reasons = s->flags & ASYNCTRACE_SESSION_FLAGS_REASONS;
	ks->all = s->sched == ASYNCTRACE_SCHED_ALL;
	ks->foreign = s->owner.privileged;
	ks->plain = ks->foreign && !ks->ns;
	ks->left = get_completed_synchronize_rcu();
	at_spares_init(&ks->spares[AT_KRING_EVENTS], at_ring_words(&s->geometry), AT_EVENTS_CALM,
		       at_session_wq(s), s->memcg);
	at_spares_init(&ks->spares[AT_KRING_NAMES], at_ring_words(&at_names_geometry), AT_SPARES,
		       at_session_wq(s), s->memcg);
	old = set_active_memcg(s->memcg);
	ks->cpu = alloc_percpu_gfp(struct at_kcpu, gfp);
	ks->quick = alloc_percpu_gfp(struct at_kcpu *, gfp);
	set_active_memcg(old);
	if (!ks->cpu || !ks->quick)
		goto err;
	for_each_possible_cpu(cpu)
		at_kcpu_init(ks, &s->geometry, cpu);
	at_route(ks);
	if (!at_ksched_prepare_spares(ks))
		return ks;
err:
	at_ksched_free(ks);
	return NULL;
}

/**
 * at_ksched_prepare - prepare a session for recording
 * @ks: scheduling side of the session
 *
 * Sleeps: allocates spare rings, and may register the probes, which waits for grace periods.
 *
 * Return: 0; -EINTR if the caller was killed; or an error of the tracepoints.
 */
int at_ksched_prepare(struct at_ksched *ks)
{
	/* A session without spare rings starts anyway, and counts the records it drops. */
	at_ksched_prepare_spares(ks);
	return at_probes_need(ks);
}

/* Make a session known to the probes. With at_lock held. */
void at_ksched_list(struct at_ksched *ks)
{
	if (ks->listed)
		return;
	ks->listed = true;
	if (ks->all)
		at_probes_list(ks);
}

/* Begin to record. With at_lock held. */
void at_ksched_open(struct at_ksched *ks)
{
	if (ks->on)
		return;
	WRITE_ONCE(ks->on, true);
	/*
	 * Pairs with the smp_mb() in at_tasks_add_child(): either that function sees @on, or the
	 * caller's later call of at_tasks_add_once() finds the new thread.
	 */
	smp_mb();
	at_route(ks);
}

/*
 * Stop recording. With at_lock held. Does not wait for probes that are recording at this
 * moment: see at_ksched_wait().
 */
void at_ksched_stop(struct at_ksched *ks)
{
	WRITE_ONCE(ks->on, false);
	at_route(ks);
	/*
	 * Orders the stores above before the grace period. The store-release of the
	 * session's state publishes the cookie.
	 */
	WRITE_ONCE(ks->left, start_poll_synchronize_rcu());
}

/*
 * Wait for probes that were recording at the session's last stop. The caller has found the
 * session stopped, so it sees the cookie of that stop or of a later one. After this, the event
 * rings and their drop counts do not change until the next start. Rings of names may change: a
 * thread that is added while the session is stopped is named for the next run.
 */
void at_ksched_wait(const struct at_ksched *ks)
{
	if (at_fixed(AT_FIX_PROBES))
		cond_synchronize_rcu(READ_ONCE(ks->left));
}

static void at_ksched_end_fn(struct work_struct *work)
{
	struct at_ksched *ks = container_of(work, struct at_ksched, end_work);

	at_tasks_forget(ks);
	/*
	 * Wait until no probe can set at_attention.opener to the session any more: the grace
	 * period began when the session was last stopped.
	 */
	cond_synchronize_rcu(READ_ONCE(ks->left));
	at_probes_forget(ks);
	/*
	 * Wait for probes that found the session or one of its tasks. Plain RCU waits for
	 * them, because they run with interrupts off.
	 */
	synchronize_rcu();
	at_probes_release(ks);
	at_session_put(ks->session);
}

/* Make the probes forget a session that has ended. With at_lock held. */
void at_ksched_unlist(struct at_ksched *ks)
{
	if (!ks->listed)
		return;
	WRITE_ONCE(ks->listed, false);
	if (ks->all)
		at_probes_unlist(ks);
	at_session_get(ks->session);
	INIT_WORK(&ks->end_work, at_ksched_end_fn);
	queue_work(at_wq, &ks->end_work);
}

u64 at_ksched_pages(const struct at_ksched *ks)
{
	u64 pages = 0;
	int cpu, i;

	for_each_possible_cpu(cpu) {
		const struct at_kcpu *kc = per_cpu_ptr(ks->cpu, cpu);

		pages += at_kring_pages(&kc->events) + at_kring_pages(&kc->names);
	}
	for (i = 0; i < AT_KRINGS; i++)
		pages += at_spares_pages(&ks->spares[i]);
	return pages;
}
