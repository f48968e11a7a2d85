// SPDX-License-Identifier: GPL-2.0
/*
 * Names of tasks, kept for a session whose rings are overwritten, or that has one
 * reader after the other.
 *
 * The probes put names into rings of their own, which nobody reads while such a
 * session runs on its own. So they are taken from there into a table,
 * the latest of each thread id, that a reader is told from at any time. It is
 * bounded: where it is full, tasks that are gone make room, those that were
 * named longest ago first.
 */
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/memcontrol.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/xarray.h>

#include "base/compat.h"
#include "sched/record.h"
#include "sched/sched.h"
#include "sched/task_names.h"
#include "session/session.h"

/* Names kept: some 10 MiB. */
#define AT_NAMES_MAX	BIT(16)
/* Room that is made at a time. */
#define AT_NAMES_PRUNED	(AT_NAMES_MAX / 8)
/* When all of them live, how long until they are looked at again. */
#define AT_NAMES_PAUSE	HZ

#define AT_GFP	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/**
 * struct at_kept_name - the name of a task
 * @node: in the list
 * @serial: number of its last change
 * @name: as the probe said it
 */
struct at_kept_name {
	struct list_head node;
	unsigned long serial;
	struct asynctrace_task_name name;
};

/**
 * struct at_task_names - see above
 * @kept_lock: all else, and the cursors of the rings that names come from
 * @by_tid: the names, by thread id
 * @by_serial: the same, by their last change: readers count by it
 * @list: the same, those that were named longest ago first
 * @count: of them
 * @serial: of the last change
 * @lost: names for which there was no room
 * @full: there was none
 * @again: when to look for some again, jiffies
 * @ns: pid namespace that the ids are of
 * @memcg: charged; the session has references on both
 */
struct at_task_names {
	struct mutex kept_lock;	/* all but @ns and @memcg */
	struct xarray by_tid;
	struct xarray by_serial;
	struct list_head list;
	u32 count;
	unsigned long serial;
	u64 lost;
	bool full;
	unsigned long again;
	struct pid_namespace *ns;
	struct mem_cgroup *memcg;
};

static bool at_name_gone(const struct at_task_names *names, const struct at_kept_name *kept)
{
	bool gone;

	rcu_read_lock();
	gone = !pid_task(find_pid_ns(kept->name.tid, names->ns), PIDTYPE_PID);
	rcu_read_unlock();
	return gone;
}

static void at_name_drop(struct at_task_names *names, struct at_kept_name *kept)
{
	xa_erase(&names->by_tid, kept->name.tid);
	xa_erase(&names->by_serial, kept->serial);
	list_del(&kept->node);
	names->count--;
	kfree(kept);
}

/* Those that live go to the end, so that the next time begins behind them. */
static void at_names_prune(struct at_task_names *names)
{
	struct at_kept_name *kept, *next;
	u32 pruned = 0, looked = 0, all = names->count;

	if (names->full && time_before(jiffies, names->again))
		return;
	list_for_each_entry_safe(kept, next, &names->list, node) {
		if (pruned == AT_NAMES_PRUNED || looked++ == all)
			break;
		if (at_name_gone(names, kept)) {
			at_name_drop(names, kept);
			pruned++;
		} else {
			list_move_tail(&kept->node, &names->list);
		}
	}
	names->full = !pruned;
	names->again = jiffies + AT_NAMES_PAUSE;
}

static struct at_kept_name *at_name_new(struct at_task_names *names, s32 tid)
{
	struct at_kept_name *kept;

	if (names->count >= AT_NAMES_MAX)
		at_names_prune(names);
	if (names->count >= AT_NAMES_MAX)
		return NULL;
	kept = kzalloc(sizeof(*kept), AT_GFP);
	if (!kept)
		return NULL;
	if (xa_err(xa_store(&names->by_tid, tid, kept, AT_GFP))) {
		kfree(kept);
		return NULL;
	}
	kept->name.tid = tid;
	list_add_tail(&kept->node, &names->list);
	names->count++;
	return kept;
}

/* Is it what is known, but for the time? */
static bool at_name_same(const struct asynctrace_task_name *a,
			 const struct asynctrace_task_name *b)
{
	return a->pid == b->pid && a->flags == b->flags &&
	       !memcmp(a->comm, b->comm, sizeof(a->comm));
}

static void at_name_keep(struct at_task_names *names, const struct asynctrace_task_name *name)
{
	struct at_kept_name *kept = xa_load(&names->by_tid, name->tid);
	bool new = !kept;

	if (new)
		kept = at_name_new(names, name->tid);
	if (!kept) {
		names->lost++;
		return;
	}
	/* The rings of CPUs are not looked at in order of time. */
	if (!new && name->ticks < kept->name.ticks)
		return;
	list_move_tail(&kept->node, &names->list);
	if (!new && at_name_same(&kept->name, name)) {
		kept->name.ticks = name->ticks;
		return;
	}
	if (xa_err(xa_store(&names->by_serial, names->serial + 1, kept, AT_GFP))) {
		names->lost++;
		if (new)
			at_name_drop(names, kept);
		return;
	}
	if (!new)
		xa_erase(&names->by_serial, kept->serial);
	kept->serial = ++names->serial;
	kept->name = *name;
}

static void at_names_drain_ring(struct at_task_names *names, struct at_kring *r)
{
	u64 pos = at_kring_position(r);
	struct asynctrace_task_name name;
	struct at_source src;
	struct at_span span;
	u32 i;

	at_kring_source(r, &src);
	while (at_cursor_next(&r->reading.cursor, &src, pos, &span)) {
		for (i = 0; i + AT_NAME_WORDS <= span.words; i += AT_NAME_WORDS) {
			memcpy(&name, r->data + ((span.from + i) & r->ring_mask), sizeof(name));
			at_name_keep(names, &name);
		}
		r->reading.cursor = span.next;
		/* Pairs with the load-acquire in at_kring_enter(): words are read. */
		smp_store_release(&r->limit, at_ring_limit(&r->geometry, r->reading.cursor.taken));
		cond_resched();
	}
}

/**
 * at_task_names_drain - take what the probes have named meanwhile
 * @names: the table
 * @ks: of the same session
 *
 * Return: the last change, up to which at_task_names_read() may be asked.
 */
unsigned long at_task_names_drain(struct at_task_names *names, const struct at_ksched *ks)
{
	struct mem_cgroup *old = set_active_memcg(names->memcg);
	unsigned long last;
	u32 cpu;

	mutex_lock(&names->kept_lock);
	for_each_possible_cpu(cpu)
		at_names_drain_ring(names, &per_cpu_ptr(ks->cpu, cpu)->names);
	last = names->serial;
	mutex_unlock(&names->kept_lock);
	set_active_memcg(old);
	return last;
}

/* How full is the fullest of the rings that names come from: percent. */
u32 at_task_names_fill(const struct at_ksched *ks)
{
	u32 cpu, most = 0;

	for_each_possible_cpu(cpu) {
		struct at_kcpu *kc = per_cpu_ptr(ks->cpu, cpu);
		u64 linear, taken;

		linear = at_pos_linear(at_kring_position(&kc->names), false);
		taken = READ_ONCE(kc->names.reading.cursor.taken);
		if (linear > taken)
			most = max_t(u32, most, (linear - taken) * 100 /
				     at_ring_words(&kc->names.geometry));
	}
	return most;
}

/**
 * at_task_names_read - names that have changed since the last call
 * @names: the table
 * @cursor: the reader's; starts at 0
 * @last: change to stop at
 * @to: where to put them
 * @max: how many at most
 *
 * Return: how many.
 */
u32 at_task_names_read(struct at_task_names *names, unsigned long *cursor,
		       unsigned long last, struct asynctrace_task_name *to, u32 max)
{
	struct at_kept_name *kept;
	unsigned long i;
	u32 n = 0;

	mutex_lock(&names->kept_lock);
	xa_for_each_range(&names->by_serial, i, kept, *cursor + 1, last) {
		if (n == max)
			break;
		to[n++] = kept->name;
		*cursor = i;
	}
	mutex_unlock(&names->kept_lock);
	return n;
}

/* Names that nobody will be told. */
u64 at_task_names_lost(const struct at_task_names *names, const struct at_ksched *ks)
{
	u64 lost = READ_ONCE(names->lost);
	u32 cpu;

	for_each_possible_cpu(cpu)
		lost += READ_ONCE(per_cpu_ptr(ks->cpu, cpu)->names.dropped);
	return lost;
}

struct at_task_names *at_task_names_new(const struct at_session *s)
{
	struct at_task_names *names = kzalloc(sizeof(*names), GFP_KERNEL_ACCOUNT);

	if (!names)
		return NULL;
	mutex_init(&names->kept_lock);
	xa_init_flags(&names->by_tid, XA_FLAGS_ACCOUNT);
	xa_init_flags(&names->by_serial, XA_FLAGS_ACCOUNT);
	INIT_LIST_HEAD(&names->list);
	names->ns = s->pid_ns;
	names->memcg = s->memcg;
	return names;
}

void at_task_names_free(struct at_task_names *names)
{
	struct at_kept_name *kept, *next;

	if (!names)
		return;
	list_for_each_entry_safe(kept, next, &names->list, node)
		kfree(kept);
	xa_destroy(&names->by_tid);
	xa_destroy(&names->by_serial);
	kfree(names);
}
