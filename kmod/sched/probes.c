// SPDX-License-Identifier: GPL-2.0
/*
 * Probes on the scheduler's tracepoints
 *
 * Probes must not rely on their caller's context. Since 7.0 tracepoints hold only SRCU, which
 * leaves preemption on. sched_waking is called from interrupts, sched_switch with the run
 * queue's lock held. Objects of a session are freed after a grace period of plain RCU, whose
 * readers include code with interrupts off. So probes use these objects with interrupts off
 * only, and at_assert_irqs_off() checks this. For the probes of switches and wakeups, the
 * scheduler has turned interrupts off. The exception is a task that wakes itself: see
 * at_waking_self(). Probes wake no task, allocate and free nothing. The probes of switches and
 * wakeups take no lock that CPUs share.
 *
 * Probes run at every switch and wakeup of the machine, so every instruction counts: see
 * make bench-icount. The fast path is a chain of leaf functions: find the tasks, find the
 * ring, write the record.
 */
#include <linux/percpu.h>
#include <linux/pid_namespace.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/tracepoint.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <trace/events/sched.h>
#include <trace/events/task.h>

#include "base/compat.h"
#include "base/lock.h"
#include "base/quiesce.h"
#include "base/race.h"
#include "base/threads.h"
#include "provider/provider.h"
#include "sched/probes.h"
#include "sched/record.h"
#include "sched/sched.h"
#include "sched/tasks.h"
#include "session/member.h"

/* The sessions that record every task. Changed under at_lock, read under RCU. */
static LIST_HEAD(at_all_kscheds);

/*
 * The number of sessions that need the probes, and whether the probes are registered; under
 * at_lock. at_probing becomes true after the probes were registered, and false before they are
 * unregistered.
 */
static u32 at_nr_probed;
static bool at_probing;

/*
 * Registering patches the kernel's text, waits for grace periods, and takes locks of the kernel
 * that all users wait for. A user's process that has no CPU quota left would hold them for long. So
 * only workers register and unregister the probes, under this mutex, which only they take.
 */
static DEFINE_MUTEX(at_probes_mutex);

/*
 * The number of requests to register the probes, how many of them the worker has answered, and the
 * result of its last attempt; under at_lock
 */
static u64 at_probes_asked;
static u64 at_probes_answered;
static int at_probes_err;
static DECLARE_WAIT_QUEUE_HEAD(at_probes_wait);

DEFINE_PER_CPU(struct at_probe_cost, at_probe_cost);
DEFINE_PER_CPU(struct at_attention, at_attention);

/**
 * at_record_name - record the name of a task
 * @ks: scheduling side of the session
 * @task: the task
 * @tid: thread id in the pid namespace of the session's owner
 * @pid: id of the task's process in that namespace
 * @comm: the name, in an array of at least ASYNCTRACE_COMM_LEN bytes
 * @flags: ASYNCTRACE_TASK_F_*
 * @payer: sharer to charge for the record; NULL: charge the account of tasks that belong to
 *	no member
 */
void at_record_name(struct at_ksched *ks, const struct task_struct *task, s32 tid,
		    s32 pid, const char *comm, u32 flags, const struct at_sharer *payer)
{
	const struct at_bill bill = { .of = { payer }, .nr = 1, .words = AT_NAME_WORDS };
	struct at_kcpu *kc = at_this_kcpu(ks);
	/*
	 * Read the key before the name. If the task is renamed in between, the cache gets the old
	 * key, so the new name is recorded when the task is next seen.
	 */
	const u64 key = at_name_key(task);
	struct asynctrace_task_name name = {
		.tid = tid,
		.pid = pid,
		.flags = flags,
		.ticks = at_clock_ticks(ks->clock),
	};

	BUILD_BUG_ON(AT_NAME_WORDS > AT_SHARE_RECORD);
	if (task->flags & PF_KTHREAD)
		name.flags |= ASYNCTRACE_TASK_F_KTHREAD;
	/* A rename during the copy may leave @comm without a NUL, so keep the last byte 0. */
	memcpy(name.comm, comm, ASYNCTRACE_COMM_LEN - 1);
	if (!at_kring_has_room(&kc->names, AT_NAME_WORDS) &&
	    !at_share_room(&kc->names, AT_NAME_WORDS, &bill))
		return;
	memcpy(kc->names.next, &name, sizeof(name));
	at_kring_commit(&kc->names, AT_NAME_WORDS);
	kc->named[(u32)tid % AT_NAMED] = (struct at_named){ at_task_key(task, tid), key };
}

static const struct at_sharer *at_payer(const struct at_task *e)
{
	return e ? &e->owner->sharer : NULL;
}

s32 at_foreign_tid_slow(struct at_ksched *ks, struct at_kcpu *kc,
			struct task_struct *task, const struct at_task *by)
{
	s32 tid = task->pid, pid = task->tgid;
	const struct at_named *named;

	if (!ks->foreign)
		return ASYNCTRACE_TID_OTHER_ON(smp_processor_id());
	if (ks->ns) {
		tid = task_pid_nr_ns(task, ks->ns);
		pid = task_tgid_nr_ns(task, ks->ns);
		if (!tid)
			return ASYNCTRACE_TID_OTHER_ON(smp_processor_id());
	}
	named = &kc->named[(u32)tid % AT_NAMED];
	if (named->task != at_task_key(task, tid))
		at_record_name(ks, task, tid, pid, task->comm, 0, at_payer(by));
	else if (named->name != at_name_key(task))
		/* Charge no member: a task may rename itself arbitrarily often. */
		at_record_name(ks, task, tid, pid, task->comm, 0, NULL);
	return tid;
}

/*
 * Find room for a switch on the slow path. Charges the member of @prev, or the member of @next if
 * the quota of the first is used up. If @open, also charges the later switch out of @next, which
 * may have no member to charge.
 *
 * If neither task is traced and at_attention.open is set, such a charge has paid. If it is not set,
 * @prev has just left the session, and the account of tasks of no member pays.
 */
bool at_switch_room(struct at_ksched *ks, struct at_kcpu *kc,
		    const struct task_struct *prev, const struct task_struct *next,
		    const struct at_task *out, const struct at_task *in, bool open)
{
	struct at_bill bill = { .words = open ? 2 * AT_SWITCH_MAX : AT_SWITCH_MAX };

	BUILD_BUG_ON(AT_SWITCH_MAX > AT_SHARE_RECORD);
	if (out || (ks->all && prev->pid))
		bill.of[bill.nr++] = at_payer(out);
	if (in || (ks->all && next->pid))
		bill.of[bill.nr++] = at_payer(in);
	if (!bill.nr && !__this_cpu_read(at_attention.open))
		bill.of[bill.nr++] = NULL;
	return at_share_room(&kc->events, AT_SWITCH_MAX, &bill);
}

/* Find room for a wakeup on the slow path. The member of the woken task pays. */
bool at_waking_room(struct at_kcpu *kc, const struct at_task *woken)
{
	const struct at_bill bill = {
		.of = { at_payer(woken) }, .nr = 1, .words = AT_WAKEUP_MAX,
	};

	return at_share_room(&kc->events, AT_WAKEUP_MAX, &bill);
}

/* Record a switch for one session, which may not own the entries @a and @b. */
static noinline void
at_switch_session(struct at_ksched *ks, const struct at_task *a, const struct at_task *b,
		  struct task_struct *prev, struct task_struct *next, u32 state, bool preempt)
{
	struct at_kcpu *kc = at_this_kcpu(ks);

	if (!READ_ONCE(ks->on))
		return;
	if (a && a->ks != ks)
		a = NULL;
	if (b && b->ks != ks)
		b = NULL;
	at_record_switch(ks, kc, prev, next, a, b, state, preempt, 0, false);
}

static void at_switch_all(const struct at_task *a, const struct at_task *b,
			  struct task_struct *prev, struct task_struct *next, u32 state,
			  bool preempt)
{
	struct at_ksched *ks;

	list_for_each_entry_rcu(ks, &at_all_kscheds, node)
		at_switch_session(ks, a, b, prev, next, state, preempt);
}

/* Change a flag of @slow, whose other flags other CPUs may change at the same time. */
static void at_slow_set(struct at_attention *attention, u8 flag, bool on)
{
	u8 old = READ_ONCE(attention->slow);

	while (!try_cmpxchg(&attention->slow, &old, on ? old | flag : old & ~flag))
		;
}

/* Returns the session whose task has left while this CPU ran it, or NULL. */
static struct at_ksched *at_switch_leaver(const struct at_task *next)
{
	struct at_attention *attention = this_cpu_ptr(&at_attention);
	struct at_ksched *ks;

	if (!(READ_ONCE(attention->slow) & AT_SLOW_LEFT))
		return NULL;
	/*
	 * Clear the flag before reading @leaver: if another CPU sets both meanwhile, the next
	 * switch sees them. Pairs with at_probes_watch(); at_slow_set() is a full barrier.
	 */
	at_slow_set(attention, AT_SLOW_LEFT, false);
	ks = READ_ONCE(attention->leaver);
	/* If the incoming task is the one that leaves, its switch out will find no entry. */
	if (next && READ_ONCE(next->leaving))
		at_slow_set(attention, AT_SLOW_LEFT, true);
	return ks;
}

static void at_switch_foreign(struct at_ksched *ks, const struct at_task *a,
			      const struct at_task *b, struct task_struct *prev,
			      struct task_struct *next, u32 state, bool preempt)
{
	if (ks && !(a && a->ks == ks) && !(b && b->ks == ks))
		at_switch_session(ks, a, b, prev, next, state, preempt);
}

/*
 * A session that recorded the switch in of a task that it does not trace, or no longer traces, must
 * also record its switch out. Otherwise the task would seem to run on this CPU until the session's
 * next record of this CPU.
 */
static void at_switch_pending(const struct at_task *a, const struct at_task *b,
			      struct task_struct *prev, struct task_struct *next, u32 state,
			      bool preempt)
{
	struct at_ksched *opener = NULL, *leaver = at_switch_leaver(b);

	if (__this_cpu_read(at_attention.open))
		opener = __this_cpu_read(at_attention.opener);
	at_switch_foreign(opener, a, b, prev, next, state, preempt);
	/* at_switch_room() has read this. */
	__this_cpu_write(at_attention.open, false);
	if (leaver != opener)
		at_switch_foreign(leaver, a, b, prev, next, state, preempt);
}

/*
 * Tell a thread how much CPU time it has used, at the moment that it begins to run. The kernel
 * never reads these words back, because user space may change them. Interrupts are off, so the
 * thread sees all of them or none.
 */
static __always_inline void at_cell_run(struct at_task *in, const struct task_struct *next,
					u64 ticks)
{
	struct asynctrace_cell *cell = READ_ONCE(in->cell);
	u32 sequence = in->sequence;

	if (!cell)
		return;
	WRITE_ONCE(cell->sequence, sequence + 1);
	/* Write the sequence first: other threads that read the cell detect the change. */
	smp_wmb();
	WRITE_ONCE(cell->generation, READ_ONCE(in->owner->generation));
	WRITE_ONCE(cell->cpu_ns, next->se.sum_exec_runtime);
	WRITE_ONCE(cell->since, ticks);
	WRITE_ONCE(cell->switches, in->switches);
	/* Write the last sequence after the values. */
	smp_wmb();
	in->sequence = sequence + 2;
	WRITE_ONCE(cell->sequence, sequence + 2);
}

/*
 * Count the switch of the task that leaves the CPU, and write CPU time into the cell of the task
 * that begins to run. @a, @b: entries of these two tasks, or NULL; their sessions may differ
 */
static void at_cells_switch(struct at_task *a, struct at_task *b, const struct task_struct *next)
{
	if (a && READ_ONCE(a->ks->on))
		a->switches++;
	if (b && READ_ONCE(b->ks->on))
		at_cell_run(b, next, at_clock_ticks(b->ks->clock));
}

static noinline void at_switch_slow(struct at_task *a, struct at_task *b,
				    struct task_struct *prev, struct task_struct *next,
				    u32 state, bool preempt)
{
	__this_cpu_inc(at_probe_cost.calls);
	if (__this_cpu_read(at_attention.slow) & AT_SLOW_ALL)
		at_switch_all(a, b, prev, next, state, preempt);
	if (__this_cpu_read(at_attention.open) ||
	    __this_cpu_read(at_attention.slow) & AT_SLOW_LEFT)
		at_switch_pending(a, b, prev, next, state, preempt);
	if (a && !a->ks->all)
		at_switch_session(a->ks, a, b, prev, next, state, preempt);
	if (b && !b->ks->all && !(a && a->ks == b->ks))
		at_switch_session(b->ks, a, b, prev, next, state, preempt);
	at_cells_switch(a, b, next);
	if (a && state & TASK_DEAD)
		at_tasks_mark_dead(a);
}

/*
 * The fast path of a switch. @a and @b are the entries of @prev and @next; one of them may be NULL.
 * Returns false if it was not taken.
 */
static __always_inline bool at_switch_quick(struct at_task *a, struct at_task *b,
					    struct task_struct *prev,
					    struct task_struct *next, u32 state, bool preempt)
{
	struct at_ksched *ks = a ? a->ks : b->ks;
	struct at_kcpu *kc = __this_cpu_read(*(a ? a->quick : b->quick));
	u64 ticks = at_clock_counter();

	if (preempt)
		state = 0;
	if (unlikely(state & AT_STATE_RARE))
		return false;
	if (a && b && unlikely(b->quick != a->quick))
		return false;
	if (unlikely(!at_record_switch(ks, kc, prev, next, a, b, state, preempt, ticks, true)))
		return false;
	if (a)
		a->switches++;
	if (b)
		at_cell_run(b, next, ticks);
	return true;
}

/* Record a switch of two traced tasks. This needs fewer registers than at_switch_one(). */
static noinline void at_switch_both(struct at_task *a, struct at_task *b,
				    struct task_struct *prev, struct task_struct *next,
				    u32 state, bool preempt)
{
	/* Lets the compiler omit tests, because the caller has tested both. */
	if (!a || !b)
		__builtin_unreachable();
	if (unlikely(!at_switch_quick(a, b, prev, next, state, preempt)))
		at_switch_slow(a, b, prev, next, preempt ? 0 : state, preempt);
}

/* Record a switch of which only one task is traced: @a or @b is NULL. */
static noinline void at_switch_one(struct at_task *a, struct at_task *b,
				   struct task_struct *prev, struct task_struct *next,
				   u32 state, bool preempt)
{
	bool done;

	if (b)
		done = at_switch_quick(NULL, b, prev, next, state, preempt);
	else
		done = at_switch_quick(a, NULL, prev, next, state, preempt);
	if (unlikely(!done))
		at_switch_slow(a, b, prev, next, preempt ? 0 : state, preempt);
}

/* Record a switch of which at least one task is traced: @a or @b is not NULL. */
static __always_inline void at_switch_traced(struct at_task *a, struct at_task *b,
					     struct task_struct *prev,
					     struct task_struct *next, u32 state, bool preempt)
{
	if (likely(a && b))
		at_switch_both(a, b, prev, next, state, preempt);
	else
		at_switch_one(a, b, prev, next, state, preempt);
}

static noinline void at_switch_attention(struct at_task *a, struct at_task *b,
					 struct task_struct *prev,
					 struct task_struct *next, u32 state,
					 bool preempt)
{
	/*
	 * If the session that traces @next is the opener, its record of this switch is also the
	 * record of the switch out of @prev: at_switch_pending() has nothing to do.
	 */
	if (b && b->ks == __this_cpu_read(at_attention.opener) &&
	    !__this_cpu_read(at_attention.slow)) {
		__this_cpu_write(at_attention.open, false);
		at_switch_traced(a, b, prev, next, state, preempt);
	} else {
		at_switch_slow(a, b, prev, next, preempt ? 0 : state, preempt);
	}
}

/* notrace, as the kernel's own probes are, saves the call site of the function tracer. */
static notrace void at_probe_switch(void *data, bool preempt, struct task_struct *prev,
				    struct task_struct *next, unsigned int state)
{
	struct at_task **slots;
	struct at_task *a, *b;

	/* The scheduler has turned interrupts off. */
	at_assert_irqs_off();
	slots = at_task_slots_get();
	a = at_task_find_in(slots, prev);
	b = at_task_find_in(slots, next);
	/* Keep the compiler from holding the results of earlier tests in more registers. */
	OPTIMIZER_HIDE_VAR(a);
	OPTIMIZER_HIDE_VAR(b);
	if (unlikely(__this_cpu_read(at_attention.any)))
		at_switch_attention(a, b, prev, next, state, preempt);
	else if (!((unsigned long)a | (unsigned long)b))
		/* One test instead of two saves three instructions of every switch. */
		__this_cpu_inc(at_probe_cost.calls);
	else
		at_switch_traced(a, b, prev, next, state, preempt);
}

static noinline void at_waking_session(struct at_ksched *ks, struct at_task **slots,
				       const struct at_task *e, struct task_struct *p)
{
	struct at_kcpu *kc = at_this_kcpu(ks);

	if (READ_ONCE(ks->on))
		at_record_waking(ks, kc, slots, p, e && e->ks == ks ? e : NULL);
}

static noinline void at_waking_slow(const struct at_task *e, struct task_struct *p)
{
	struct at_task **slots = at_task_slots_get();
	struct at_ksched *ks;

	__this_cpu_inc(at_probe_cost.calls);
	if (__this_cpu_read(at_attention.slow) & AT_SLOW_ALL)
		list_for_each_entry_rcu(ks, &at_all_kscheds, node)
			at_waking_session(ks, slots, e, p);
	if (e && !e->ks->all)
		at_waking_session(e->ks, slots, e, p);
}

/* The fast path if the waker is a task that the session does not trace, or if there is none. */
static noinline void at_waking_other(const struct at_task *e, struct task_struct *p,
				     struct at_kcpu *kc)
{
	struct at_waking g = { .p = p, .woken = e, .does = at_operation(e) };
	bool done;

	if (at_waking_has_no_waker())
		done = at_write_works(e->ks, kc, g, false, true);
	else if (!at_foreign_koid(e->ks, kc, current, e, &g.by, true))
		done = false;
	else if (g.by)
		done = at_write_works(e->ks, kc, g, true, true);
	else
		done = at_write_works(e->ks, kc, g, false, true);
	if (unlikely(!done))
		at_waking_slow(e, p);
}

/* The fast path if one of the tasks works on an operation, which may have ended meanwhile. */
static noinline void at_waking_ids(const struct at_task *e, struct task_struct *p,
				   struct at_kcpu *kc, const struct at_task *waker)
{
	const struct at_waking g = {
		.p = p, .woken = e, .waker = waker,
		.does = at_operation(e), .waker_does = at_operation(waker),
	};

	/* Lets the compiler omit a test, because the caller has found a waker. */
	if (!waker)
		__builtin_unreachable();
	if (unlikely(!at_write_works(e->ks, kc, g, true, true)))
		at_waking_slow(e, p);
}

/*
 * The fast path of a traced task's wakeup. Rarer cases are in functions of their own, so that
 * this one saves no registers. @caller: the current task, which the probe has in a register
 */
static __always_inline void at_waking_traced(struct at_task **slots, const struct at_task *e,
					     struct task_struct *p,
					     const struct task_struct *caller)
{
	struct at_kcpu *kc = __this_cpu_read(*e->quick);
	struct at_waking g = { .p = p, .woken = e };

	if (unlikely(at_waking_has_no_waker())) {
		at_waking_other(e, p, kc);
		return;
	}
	g.waker = at_task_find_in(slots, caller);
	if (unlikely(!g.waker || g.waker->quick != e->quick)) {
		at_waking_other(e, p, kc);
		return;
	}
	/* One test instead of two saves an instruction. */
	if (unlikely(at_operation(e) | at_operation(g.waker)))
		at_waking_ids(e, p, kc, g.waker);
	else if (unlikely(!at_kring_has_room(&kc->events, AT_WAKEUP_MAX)))
		at_waking_slow(e, p);
	else
		at_write_waking(e->ks, kc, g, true, false, false, true);
}

/* Record a task's wakeup of itself. The scheduler takes no lock: interrupts may be on. */
static noinline void at_waking_self(struct task_struct *p)
{
	unsigned long flags;

	local_irq_save(flags);
	at_waking_slow(at_task_find(p), p);
	local_irq_restore(flags);
}

/* notrace: see at_probe_switch(). */
static notrace void at_probe_waking(void *data, struct task_struct *p)
{
	struct task_struct *caller = current;
	struct at_task **slots;
	const struct at_task *e;

	/*
	 * If @p is another task, the scheduler holds its pi_lock: see the kernel's
	 * ttwu_state_match(). This test is cheaper than irqs_disabled().
	 */
	if (unlikely(p == caller)) {
		at_waking_self(p);
		return;
	}
	at_assert_irqs_off();
	if (unlikely(__this_cpu_read(at_attention.slow))) {
		at_waking_slow(at_task_find(p), p);
		return;
	}
	slots = at_task_slots_get();
	e = at_task_find_in(slots, p);
	if (e)
		at_waking_traced(slots, e, p, caller);
	else
		__this_cpu_inc(at_probe_cost.calls);
}

/* Adds new threads of a traced process; child processes are not traced. */
static void at_probe_fork(void *data, struct task_struct *parent,
			  struct task_struct *child)
{
	unsigned long flags;

	if (parent->tgid != child->tgid)
		return;
	local_irq_save(flags);
	if (at_task_find(parent))
		at_tasks_add_child(parent, child);
	local_irq_restore(flags);
}

/* Limit of the threads that at_find_traced() looks at: interrupts are off. */
#define AT_FIND_THREADS	64

/*
 * Returns a traced thread of the calling thread's process, usually the main thread; NULL if there
 * is none among the oldest threads. The main thread may have ended before the others.
 */
static const struct task_struct *at_find_traced(void)
{
	const struct task_struct *t;
	u32 n = 0;

	list_for_each_entry_rcu(t, &current->signal->thread_head, thread_node) {
		if (at_task_kept(t))
			return t;
		if (++n == AT_FIND_THREADS)
			break;
	}
	return NULL;
}

/*
 * Adds a new worker thread of a traced process's io_uring. The kernel calls no fork tracepoint for
 * these workers, but each of them renames itself when it begins. Returns its entry, or NULL.
 */
static struct at_task *at_add_io_worker(struct task_struct *task)
{
	const struct task_struct *traced;

	if (task != current || !(task->flags & PF_IO_WORKER))
		return NULL;
	traced = at_find_traced();
	if (traced)
		at_tasks_add_child(traced, task);
	return at_task_find(task);
}

/*
 * Records new names of traced tasks. A new name of a foreign task is recorded when the task is
 * next seen, because tasks may rename themselves arbitrarily often.
 */
static void at_probe_rename(void *data, struct task_struct *task, const char *comm)
{
	char name[ASYNCTRACE_COMM_LEN] = {};
	unsigned long flags;
	struct at_task *e;

	strscpy(name, comm, sizeof(name));
	local_irq_save(flags);
	/*
	 * Pairs with the smp_mb() in at_task_add(): either at_task_add() sees the new mm, or
	 * this probe finds the entry.
	 */
	smp_mb();
	e = at_task_find(task);
	if (!e)
		e = at_add_io_worker(task);
	/* With another mm, the task runs another program, and no longer belongs to the provider. */
	if (e && task->mm && task->mm != READ_ONCE(e->owner->provider->mm))
		at_tasks_execed(task);
	else if (e && READ_ONCE(e->ks->on))
		at_record_name(e->ks, task, e->tid, e->pid, name, ASYNCTRACE_TASK_F_PROVIDER,
			       at_payer(e));
	local_irq_restore(flags);
}

static struct {
	const char *name;
	void *probe;
	struct tracepoint *tp;
} at_probes[] = {
	{ "sched_switch", at_probe_switch },
	{ "sched_waking", at_probe_waking },
	{ "sched_process_fork", at_probe_fork },
	{ "task_rename", at_probe_rename },
};

/* Makes the compiler check the probes' signatures; not called. */
static void __maybe_unused at_check_signatures(void)
{
	check_trace_callback_type_sched_switch(at_probe_switch);
	check_trace_callback_type_sched_waking(at_probe_waking);
	check_trace_callback_type_sched_process_fork(at_probe_fork);
	check_trace_callback_type_task_rename(at_probe_rename);
}

static int at_probes_register(void)
{
	int i, err;

	lockdep_assert_held(&at_probes_mutex);
	for (i = 0; i < ARRAY_SIZE(at_probes); i++) {
		err = tracepoint_probe_register(at_probes[i].tp, at_probes[i].probe, NULL);
		if (err)
			goto err;
	}
	return 0;
err:
	while (i--)
		tracepoint_probe_unregister(at_probes[i].tp, at_probes[i].probe, NULL);
	return err;
}

/* Register the probes if a session needs them, and answer all requests made so far. */
static void at_register_fn(struct work_struct *work)
{
	bool needed;
	int err = 0;
	u64 asked;

	mutex_lock(&at_probes_mutex);
	spin_lock(&at_lock);
	asked = at_probes_asked;
	needed = at_nr_probed && !at_probing;
	spin_unlock(&at_lock);
	if (needed)
		err = at_probes_register();
	spin_lock(&at_lock);
	if (needed && !err)
		at_probing = true;
	at_probes_err = err;
	WRITE_ONCE(at_probes_answered, asked);
	spin_unlock(&at_lock);
	mutex_unlock(&at_probes_mutex);
	wake_up_all(&at_probes_wait);
}

static DECLARE_WORK(at_register_work, at_register_fn);

/*
 * Unregister the probes. The delay saves patching the kernel's text if another session starts
 * soon.
 */
#define AT_SETTLE_DELAY	HZ

static void at_sched_settle(struct work_struct *work)
{
	bool unneeded;
	int i;

	mutex_lock(&at_probes_mutex);
	spin_lock(&at_lock);
	unneeded = !at_nr_probed && at_probing;
	if (unneeded)
		at_probing = false;
	spin_unlock(&at_lock);
	for (i = 0; unneeded && i < ARRAY_SIZE(at_probes); i++)
		tracepoint_probe_unregister(at_probes[i].tp, at_probes[i].probe, NULL);
	mutex_unlock(&at_probes_mutex);
}

static DECLARE_DELAYED_WORK(at_settle_work, at_sched_settle);

/**
 * at_probes_need - have the probes registered for a session, unless they are registered
 * @ks: scheduling side of the session
 *
 * Sleeps until a worker has registered the probes. The session needs them until
 * at_probes_release(), also if this function fails. After a failure, the next call for any session
 * tries again.
 *
 * Return: 0; -EINTR if the caller was killed; or an error of the tracepoints.
 */
int at_probes_need(struct at_ksched *ks)
{
	u64 asked = 0;
	int err;

	spin_lock(&at_lock);
	if (!ks->probed) {
		ks->probed = true;
		at_nr_probed++;
	}
	if (!at_probing)
		asked = ++at_probes_asked;
	spin_unlock(&at_lock);
	if (!asked)
		return 0;
	/* If the worker is running, it runs once more. */
	queue_work(at_wq, &at_register_work);
	if (wait_event_killable(at_probes_wait, READ_ONCE(at_probes_answered) >= asked))
		return -EINTR;
	spin_lock(&at_lock);
	err = at_probing ? 0 : at_probes_err;
	spin_unlock(&at_lock);
	return err;
}

/* The session no longer needs the probes. Further calls do nothing. */
void at_probes_release(struct at_ksched *ks)
{
	spin_lock(&at_lock);
	if (ks->probed) {
		ks->probed = false;
		at_nr_probed--;
		mod_delayed_work(at_wq, &at_settle_work, AT_SETTLE_DELAY);
	}
	spin_unlock(&at_lock);
}

/* Keep the probes off the fast path while a session records every task. */
static void at_probes_route(void)
{
	const bool all = !list_empty(&at_all_kscheds);
	int cpu;

	for_each_possible_cpu(cpu)
		at_slow_set(per_cpu_ptr(&at_attention, cpu), AT_SLOW_ALL, all);
}

/* Record every task for a session. With at_lock held. */
void at_probes_list(struct at_ksched *ks)
{
	list_add_tail_rcu(&ks->node, &at_all_kscheds);
	at_probes_route();
}

/* Undo at_probes_list(). With at_lock held. Readers may see the session for a grace period. */
void at_probes_unlist(struct at_ksched *ks)
{
	list_del_rcu(&ks->node);
	at_probes_route();
}

/* Clear @opener and @leaver where they are this session, which traces nothing any more. */
void at_probes_forget(struct at_ksched *ks)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		cmpxchg(per_cpu_ptr(&at_attention.opener, cpu), ks, NULL);
		cmpxchg(per_cpu_ptr(&at_attention.leaver, cpu), ks, NULL);
	}
}

/**
 * at_probes_watch - have the switch out of a task recorded that may be running
 * @e: entry of the task, which is taken out of the table
 *
 * Without an entry, the probe would not record that switch for the task's session. If the task only
 * waits for the CPU, the session records one switch of foreign tasks in vain.
 *
 * An inter-processor interrupt would set the flag more simply, but it would disturb CPUs of other
 * users.
 */
void at_probes_watch(const struct at_task *e)
{
	const struct task_struct *task = e->task;
	struct at_attention *attention = per_cpu_ptr(&at_attention, task_cpu(task));

	lockdep_assert_held(&at_tasks_lock);
	/* While a CPU switches to a task, at_task_runs() is still false. */
	if (!READ_ONCE(task->on_rq) && !at_task_runs(task))
		return;
	if (e->ks->all || !READ_ONCE(e->ks->on))
		return;
	WRITE_ONCE(attention->leaver, e->ks);
	/* Full barrier. at_switch_leaver() finds @leaver and e->leaving. */
	at_slow_set(attention, AT_SLOW_LEFT, true);
}

void at_sched_cost(struct at_sched_cost *cost)
{
	u64 quick_switches, quick_wakings;
	int cpu;

	memset(cost, 0, sizeof(*cost));
	for_each_possible_cpu(cpu) {
		const struct at_probe_cost *c = per_cpu_ptr(&at_probe_cost, cpu);

		quick_switches = READ_ONCE(c->quick_switches);
		quick_wakings = READ_ONCE(c->quick_wakings);
		cost->calls += READ_ONCE(c->calls) + quick_switches + quick_wakings;
		cost->switches += READ_ONCE(c->switches) + quick_switches;
		cost->wakings += READ_ONCE(c->wakings) + quick_wakings;
	}
}

static void at_find_tracepoint(struct tracepoint *tp, void *arg)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(at_probes); i++)
		if (!strcmp(tp->name, at_probes[i].name))
			at_probes[i].tp = tp;
}

int at_sched_init(void)
{
	int i;

	for_each_kernel_tracepoint(at_find_tracepoint, NULL);
	for (i = 0; i < ARRAY_SIZE(at_probes); i++) {
		if (at_probes[i].tp)
			continue;
		pr_err("this kernel has no tracepoint %s\n", at_probes[i].name);
		return -ENOENT;
	}
	return at_tasks_init();
}

/* Called at module exit, when all sessions have been freed. */
void at_sched_exit(void)
{
	/* A killed caller of at_probes_need() does not wait for this work. */
	flush_work(&at_register_work);
	flush_delayed_work(&at_settle_work);
	tracepoint_synchronize_unregister();
	at_tasks_exit();
}
