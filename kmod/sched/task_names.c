// SPDX-License-Identifier: GPL-2.0
/*
 * Table of task names, for the consumers that a session has in turn. Each of them reads all of the
 * table, which has the latest name of each thread id.
 *
 * The probes write names into separate rings. These would fill up in a circular or detached
 * session, which may have no consumer for long. So the periodic work of such a session moves names
 * to the table, and consumers read the table only. In other sessions, the consumer gets all names
 * from the rings, and the reader copies them to the table for later consumers.
 *
 * The table is bounded: when the table is full, names of ended tasks are dropped, the names
 * recorded longest ago first.
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

/* Names in a table: about 10 MiB. */
#define AT_NAMES_MAX	BIT(16)
/* Names of ended tasks that are dropped at a time. */
#define AT_NAMES_PRUNED	(AT_NAMES_MAX / 8)
/* Pause before the table is searched again if no task had ended. */
#define AT_NAMES_PAUSE	HZ

#define AT_GFP	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/**
 * struct at_kept_name - the latest name of a task
 * @node: in at_task_names.list
 * @serial: serial number of the last change
 * @name: as the probe recorded it
 */
struct at_kept_name {
	struct list_head node;
	unsigned long serial;
	struct asynctrace_task_name name;
};

/**
 * struct at_task_names - the table of task names
 * @kept_lock: protects the table, and the cursors of the rings of names
 * @by_tid: the names, by thread id
 * @by_serial: the names, by @serial of their last change, so that readers find changes
 * @list: the names, in the order in which at_names_prune() checks them: the one that was
 *	recorded or checked longest ago is first
 * @count: number of names
 * @serial: serial number of the last change
 * @read: serial number of the last change that was read from the table
 * @added: serial number of the last name of a thread that had no name in the table
 * @lost: number of names that could not be stored
 * @full: the last search found no ended task
 * @again: time of the next search if @full is set, jiffies
 * @ns: pid namespace of the thread ids; the session has a reference
 * @memcg: memory cgroup to charge; the session has a reference
 */
struct at_task_names {
	struct mutex kept_lock;	/* all but @ns and @memcg */
	struct xarray by_tid;
	struct xarray by_serial;
	struct list_head list;
	u32 count;
	unsigned long serial;
	unsigned long read;
	unsigned long added;
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

/*
 * Drop names of ended tasks. Moves names of live tasks to the end of the list, so that the next
 * call begins behind them.
 */
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
		cond_resched();
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

/* Are two names of one thread equal, except for the time? */
static bool at_name_same(const struct asynctrace_task_name *a,
			 const struct asynctrace_task_name *b)
{
	return a->pid == b->pid && a->flags == b->flags &&
	       !memcmp(a->comm, b->comm, sizeof(a->comm));
}

/* Give a name the next serial number. Returns false if there is no memory. */
static bool at_name_move(struct at_task_names *names, struct at_kept_name *kept)
{
	if (xa_err(xa_store(&names->by_serial, names->serial + 1, kept, AT_GFP)))
		return false;
	if (kept->serial)
		xa_erase(&names->by_serial, kept->serial);
	kept->serial = ++names->serial;
	return true;
}

static void at_name_keep(struct at_task_names *names, const struct asynctrace_task_name *name)
{
	struct at_kept_name *kept = xa_load(&names->by_tid, name->tid);
	bool new = !kept, added;

	if (new)
		kept = at_name_new(names, name->tid);
	if (!kept) {
		names->lost++;
		return;
	}
	/* Rings are drained one after the other: an older name may come after a newer one. */
	if (!new && name->ticks < kept->name.ticks)
		return;
	list_move_tail(&kept->node, &names->list);
	if (!new && at_name_same(&kept->name, name)) {
		kept->name.ticks = name->ticks;
		return;
	}
	/* Thread ids are reused. If the new thread is a process, too, it seems to be renamed. */
	added = new || name->pid != kept->name.pid;
	/*
	 * A name that the reader has not got keeps its serial number. Otherwise a thread that
	 * renames itself all the time would always be behind the last change to read.
	 */
	if (kept->serial <= names->read && !at_name_move(names, kept)) {
		names->lost++;
		if (new)
			at_name_drop(names, kept);
		return;
	}
	if (added)
		WRITE_ONCE(names->added, max(names->added, kept->serial));
	kept->name = *name;
}

static void at_names_keep_span(struct at_task_names *names, const struct at_kring *r,
			       const struct at_span *span)
{
	struct asynctrace_task_name name;
	u32 i;

	for (i = 0; i + AT_NAME_WORDS <= span->words; i += AT_NAME_WORDS) {
		memcpy(&name, r->data + ((span->from + i) & r->ring_mask), sizeof(name));
		at_name_keep(names, &name);
	}
}

static void at_names_drain_ring(struct at_task_names *names, struct at_kring *r)
{
	u64 pos = at_kring_position(r);
	struct at_source src;
	struct at_span span;

	at_kring_source(r, &src);
	while (at_cursor_next(&r->reading.cursor, &src, pos, &span)) {
		at_names_keep_span(names, r, &span);
		r->reading.cursor = span.next;
		/* Pairs with the load-acquire in at_kring_limit(): the words have been read. */
		smp_store_release(&r->limit, at_ring_limit(&r->geometry,
							   r->reading.cursor.taken, false));
		cond_resched();
	}
}

static void at_names_drain_all(struct at_task_names *names, const struct at_ksched *ks)
{
	struct mem_cgroup *old = set_active_memcg(names->memcg);
	u32 cpu;

	for_each_possible_cpu(cpu)
		at_names_drain_ring(names, &per_cpu_ptr(ks->cpu, cpu)->names);
	set_active_memcg(old);
}

/* Move names from the rings of the session's scheduling side @ks to the table. */
void at_task_names_drain(struct at_task_names *names, const struct at_ksched *ks)
{
	mutex_lock(&names->kept_lock);
	at_names_drain_all(names, ks);
	mutex_unlock(&names->kept_lock);
}

/**
 * at_task_names_begin - move names from the rings to the table, to read them
 * @names: the table
 * @ks: scheduling side of the same session
 * @told: serial number of the last change that the reader has got
 *
 * Return: serial number of the last change, for at_task_names_read(). The reader gets a name of
 * each thread that is in the table now, even if the thread is renamed meanwhile.
 */
unsigned long at_task_names_begin(struct at_task_names *names, const struct at_ksched *ks,
				  unsigned long told)
{
	unsigned long last;

	mutex_lock(&names->kept_lock);
	names->read = told;
	at_names_drain_all(names, ks);
	last = names->serial;
	mutex_unlock(&names->kept_lock);
	return last;
}

/* Has a thread been named for the first time after change @told? */
bool at_task_names_added(const struct at_task_names *names, unsigned long told)
{
	return READ_ONCE(names->added) > told;
}

/**
 * at_task_names_copy - copy names from a ring to the table
 * @names: the table
 * @r: a ring of names of the same session
 * @span: words of the ring, which its writer cannot reuse yet
 *
 * Return: serial number of the last change, for at_task_names_read().
 */
unsigned long at_task_names_copy(struct at_task_names *names, const struct at_kring *r,
				 const struct at_span *span)
{
	struct mem_cgroup *old = set_active_memcg(names->memcg);
	unsigned long last;

	mutex_lock(&names->kept_lock);
	at_names_keep_span(names, r, span);
	last = names->serial;
	mutex_unlock(&names->kept_lock);
	set_active_memcg(old);
	return last;
}

/* Returns how full the fullest ring of names is, in percent. */
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
 * at_task_names_read - read names that have changed since the last call
 * @names: the table
 * @cursor: serial number of the last change that was read; 0 for the first call
 * @last: serial number of the last change to read
 * @to: destination
 * @max: size of @to
 *
 * Return: the number of names read.
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
	names->read = *cursor;
	mutex_unlock(&names->kept_lock);
	return n;
}

/*
 * Returns the number of names that a table's readers do not get, for lack of room in the table or,
 * unless @ks is NULL, in the rings of @ks.
 */
u64 at_task_names_lost(const struct at_task_names *names, const struct at_ksched *ks)
{
	u64 lost = READ_ONCE(names->lost);
	u32 cpu;

	if (!ks)
		return lost;
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
	list_for_each_entry_safe(kept, next, &names->list, node) {
		kfree(kept);
		cond_resched();
	}
	xa_destroy(&names->by_tid);
	xa_destroy(&names->by_serial);
	kfree(names);
}
