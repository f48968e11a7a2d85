/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writing records into the kernel's rings. Interrupts are off in all these functions.
 *
 * Functions with a parameter @quick are compiled twice. The quick version is the fast path:
 * it calls no function, so that it saves no registers, and omits checks that at_ksched.quick
 * makes unnecessary. If a name must be recorded or a sub-buffer entered first, the quick
 * version returns false and has recorded nothing. The caller then runs the other version.
 */
#ifndef AT_RECORD_H
#define AT_RECORD_H

#include <linux/asynctrace_fxt.h>
#include <linux/bits.h>
#include <linux/hardirq.h>
#include <linux/hash.h>
#include <linux/percpu.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "base/clock.h"
#include "sched/reason.h"
#include "sched/sched.h"
#include "sched/tasks.h"

#define AT_NAME_WORDS	(sizeof(struct asynctrace_task_name) / sizeof(u64))

/* Words of a switch without its optional arguments, which are two operations and a reason */
#define AT_SWITCH_WORDS	7
#define AT_SWITCH_ARGS	3
#define AT_SWITCH_MAX	(AT_SWITCH_WORDS + 2 * 2 + 4)
/* Words of a wakeup without its optional arguments, which are the waker and two operations */
#define AT_WAKEUP_WORDS	4
#define AT_WAKEUP_ARGS	1
#define AT_WAKEUP_MAX	(AT_WAKEUP_WORDS + 2 + 2 * 2)

/**
 * struct at_probe_cost - work of the probes on a CPU
 * @quick_switches: calls that recorded a switch on the fast path
 * @quick_wakings: calls that recorded a wakeup on the fast path
 * @calls: all other calls
 * @switches: switches that these other calls recorded
 * @wakings: wakeups that these other calls recorded
 */
struct at_probe_cost {
	u64 quick_switches;
	u64 quick_wakings;
	u64 calls;
	u64 switches;
	u64 wakings;
};

DECLARE_PER_CPU(struct at_probe_cost, at_probe_cost);

/* at_attention.slow: a session records every task */
#define AT_SLOW_ALL	BIT(0)
/*
 * at_attention.slow: a task that at_attention.leaver shows as running on this CPU may have no entry
 * any more. Its switch out must be recorded, too. Set under at_tasks_lock, or again by this CPU,
 * which also clears it
 */
#define AT_SLOW_LEFT	BIT(1)

/**
 * struct at_attention - reasons why a CPU's probes must not take the fast path
 * @open: @opener has recorded the switch in of the running task, but does not trace the task:
 *	its switch out must be recorded, too; changed by this CPU only
 * @slow: AT_SLOW_*; other CPUs change it, too, see at_slow_set()
 * @any: nonzero if @open is set or @slow is not 0. It has 16 bits, because gcc needs two
 *	instructions to test a wider word
 * @opener: the session that @open refers to; NULL: that session has ended, and
 *	at_probes_forget() has cleared the pointer. No other session can be an opener, because
 *	only the session that traces the previous task sets @open
 * @leaver: the session that AT_SLOW_LEFT refers to; NULL: that session has ended. If tasks of
 *	several sessions lose their entries before the CPU's next switch, only the last one
 *	counts
 */
struct at_attention {
	union {
		struct {
			bool open;
			u8 slow;
		};
		u16 any;
	};
	struct at_ksched *opener;
	struct at_ksched *leaver;
};

DECLARE_PER_CPU(struct at_attention, at_attention);

static __always_inline struct at_kcpu *at_this_kcpu(const struct at_ksched *ks)
{
	return this_cpu_ptr(ks->cpu);
}

/* Key of a task in the name cache. Contains the start time, because ids are reused. */
static __always_inline u64 at_task_key(const struct task_struct *task, s32 tid)
{
	return (u64)tid << 32 | (u32)task->start_boottime;
}

/*
 * Key of a task's present name in the name cache. A task can choose a new name with the same key as
 * its old name. Then the new name is not recorded, which harms no other task.
 */
static __always_inline u64 at_name_key(const struct task_struct *task)
{
	u64 low, high;

	BUILD_BUG_ON(sizeof(low) + sizeof(high) != sizeof(task->comm));
	/* An array would make the compiler protect the stack of each probe. */
	memcpy(&low, task->comm, sizeof(low));
	memcpy(&high, task->comm + sizeof(low), sizeof(high));
	return low * GOLDEN_RATIO_64 + high;
}

void at_record_name(struct at_ksched *ks, const struct task_struct *task, s32 tid,
		    s32 pid, const char *comm, u32 flags, const struct at_sharer *payer);
s32 at_foreign_tid_slow(struct at_ksched *ks, struct at_kcpu *kc,
			struct task_struct *task, const struct at_task *by);
bool at_switch_room(struct at_ksched *ks, struct at_kcpu *kc,
		    const struct task_struct *prev, const struct task_struct *next,
		    const struct at_task *out, const struct at_task *in, bool open);
bool at_waking_room(struct at_kcpu *kc, const struct at_task *woken);

/* May @tid be used without a name record: is it the idle task, or was its name recorded lately? */
static __always_inline bool at_foreign_known(const struct at_ksched *ks,
					     const struct at_kcpu *kc,
					     const struct task_struct *task, s32 tid)
{
	const struct at_named *named = &kc->named[(u32)tid % AT_NAMED];

	return !tid || likely(ks->plain && named->task == at_task_key(task, tid) &&
			      named->name == at_name_key(task));
}

/* States of threads that end or are stopped: their switches take the slow path. */
#define AT_STATE_RARE	(TASK_DEAD | __TASK_STOPPED | __TASK_TRACED)

/* The FXT state for a task state at switch out */
static __always_inline u32 at_fxt_state(u32 state, const bool quick)
{
	if (!state)
		return ASYNCTRACE_FXT_STATE_NEW;
	if (quick || !(state & AT_STATE_RARE))
		return ASYNCTRACE_FXT_STATE_BLOCKED;
	return state & TASK_DEAD ? ASYNCTRACE_FXT_STATE_DEAD : ASYNCTRACE_FXT_STATE_SUSPENDED;
}

/*
 * Returns a task's weight for a record: a constant for the idle task, 0 for a task that may not be
 * shown, otherwise the priority. @e: entry of the task, if it is traced
 */
static __always_inline s32 at_weight(const struct task_struct *task,
				     const struct at_task *e, s32 tid)
{
	if (!e && unlikely(!task->pid))
		return ASYNCTRACE_FXT_WEIGHT_IDLE;
	return !e && unlikely(ASYNCTRACE_TID_IS_OTHER(tid)) ? 0 : task->prio;
}

/* Make the CPU's next switch record the switch out of the incoming task, which is not traced. */
static __always_inline void at_open(struct at_ksched *ks)
{
	__this_cpu_write(at_attention.opener, ks);
	__this_cpu_write(at_attention.open, true);
}

/*
 * Get the id of a task that this session does not trace. @by: the traced task because of
 * which it is recorded, or NULL. @koid: out: the id. The quick version returns false if the
 * name may have to be recorded first.
 */
static __always_inline bool at_foreign_koid(struct at_ksched *ks, struct at_kcpu *kc,
					    struct task_struct *task,
					    const struct at_task *by, u64 *koid,
					    const bool quick)
{
	s32 tid = task->pid;

	if (!at_foreign_known(ks, kc, task, tid)) {
		if (quick)
			return false;
		tid = at_foreign_tid_slow(ks, kc, task, by);
	}
	*koid = (u32)tid;
	return true;
}

/*
 * Write an argument of one word. @type, @name: constants, as for ASYNCTRACE_FXT_ARG(). Writing the
 * halves apart saves the instruction that would join them.
 */
static __always_inline void at_put_arg32(u64 *to, const u32 type, const u32 name, u32 value)
{
	u32 *half = (u32 *)to;

	half[0] = ASYNCTRACE_FXT_ARG(type, 1, name, 0);
	half[1] = value;
}

/* Addition to a record's first word for @args more arguments, which have @words words */
static __always_inline u64 at_head_more(u32 words, u32 args)
{
	return (u64)words << 4 | (u64)args << 16;
}

/* State of writing a record: its first word so far, and the address of its next word */
struct at_writing {
	u64 head;
	u64 *to;
};

/* Returns the operation that the task of @e works on. User space may change it at any moment. */
static __always_inline u64 at_operation(const struct at_task *e)
{
	return READ_ONCE(*READ_ONCE(e->operation));
}

static __always_inline void at_put_id(u64 *to, const struct at_task *e, const u32 name,
				      u64 operation)
{
	to[0] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_UINT64, 2, name, 0) | e->salt;
	to[1] = operation;
}

/*
 * Write the id of the operation that the task of @e works on, if there is one. Returns the new
 * state of writing instead of changing *@w, so that the state stays in registers.
 */
static __always_inline struct at_writing
at_put_operation(struct at_writing w, const struct at_task *e, const u32 name)
{
	u64 operation = at_operation(e);

	if (!operation)
		return w;
	at_put_id(w.to, e, name, operation);
	w.to += 2;
	w.head += at_head_more(2, 1);
	return w;
}

/* Write why @prev, the current task, leaves its CPU. */
static __always_inline struct at_writing
at_put_reason(struct at_writing w, struct task_struct *prev, u32 state, bool preempt)
{
	const struct at_reason r = at_reason(prev, state, preempt);

	at_put_arg32(w.to, ASYNCTRACE_FXT_ARG_UINT32, ASYNCTRACE_FXT_STR_OFF_CPU, r.off_cpu);
	if (!(r.off_cpu & ASYNCTRACE_FXT_OFF_SYSCALL)) {
		w.to += 1;
		w.head += at_head_more(1, 1);
		return w;
	}
	at_put_arg32(w.to + 1, ASYNCTRACE_FXT_ARG_INT32, ASYNCTRACE_FXT_STR_SYSCALL, r.syscall);
	w.to[2] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_UINT64, 2,
				     ASYNCTRACE_FXT_STR_SYSCALL_ARG, 0);
	w.to[3] = r.argument;
	w.to += 4;
	w.head += at_head_more(4, 3);
	return w;
}

/* Publish the record that begins at the ring's next word. */
static __always_inline void at_publish(struct at_kring *r, struct at_writing w)
{
	r->next[0] = w.head;
	at_kring_commit(r, ASYNCTRACE_FXT_WORDS(w.head));
}

/*
 * Record a switch. @out, @in: entries of @prev and @next, if this session traces them.
 * @state: state of @prev; 0 if @prev was preempted. @ticks: the time, for the quick version. Only
 * that version returns false.
 */
static __always_inline bool
at_record_switch(struct at_ksched *ks, struct at_kcpu *kc, struct task_struct *prev,
		 struct task_struct *next, const struct at_task *out,
		 const struct at_task *in, u32 state, bool preempt, u64 ticks, const bool quick)
{
	bool open = false, shown = true;
	u64 prev_koid, next_koid, *w;
	struct at_writing more;

	if (out) {
		prev_koid = (u32)out->tid;
	} else {
		if (!at_foreign_koid(ks, kc, prev, in, &prev_koid, quick))
			return false;
		if (ASYNCTRACE_TID_IS_OTHER((s32)prev_koid))
			state = 0;
		/* Do not report reasons of the idle task and of tasks that may not be shown. */
		shown = prev_koid && !ASYNCTRACE_TID_IS_OTHER((s32)prev_koid);
	}
	if (in) {
		next_koid = (u32)in->tid;
	} else if (out || ks->all) {
		if (!at_foreign_koid(ks, kc, next, out, &next_koid, quick))
			return false;
		open = next_koid && !ks->all;
	} else {
		/* Neither task is traced: the record only shows that @prev switches out. */
		next_koid = next->pid ? ASYNCTRACE_TID_OTHER_ON(smp_processor_id()) : 0;
	}
	if (!at_kring_has_room(&kc->events, AT_SWITCH_MAX)) {
		if (quick)
			return false;
		if (!at_switch_room(ks, kc, prev, next, out, in, open))
			return true;
	}
	if (open)
		at_open(ks);
	w = kc->events.next;
	w[1] = quick ? ticks : at_clock_ticks(ks->clock);
	w[2] = prev_koid;
	w[3] = next_koid;
	at_put_arg32(w + 4, ASYNCTRACE_FXT_ARG_INT32, ASYNCTRACE_FXT_STR_INCOMING,
		     at_weight(next, in, next_koid));
	at_put_arg32(w + 5, ASYNCTRACE_FXT_ARG_INT32, ASYNCTRACE_FXT_STR_OUTGOING,
		     at_weight(prev, out, prev_koid));
	at_put_arg32(w + 6, ASYNCTRACE_FXT_ARG_UINT32, ASYNCTRACE_FXT_STR_STATE, state);
	more.head = kc->switch_head[at_fxt_state(state, quick)];
	more.to = w + AT_SWITCH_WORDS;
	if (in)
		more = at_put_operation(more, in, ASYNCTRACE_FXT_STR_IN_OPERATION);
	if (out)
		more = at_put_operation(more, out, ASYNCTRACE_FXT_STR_OUT_OPERATION);
	/* A process may have become undumpable since it registered. */
	if (kc->reasons && shown && (kc->foreign || at_is_dumpable(prev)))
		more = at_put_reason(more, prev, state, preempt);
	at_publish(&kc->events, more);
	if (quick)
		__this_cpu_inc(at_probe_cost.quick_switches);
	else
		__this_cpu_inc(at_probe_cost.switches);
	return true;
}

/**
 * struct at_waking - a wakeup to be recorded
 * @p: the woken task
 * @woken: its entry, if the session traces it
 * @waker: entry of the waker, if the session traces it
 * @koid: id of the woken task; unused if @woken is set
 * @by: id of the waker; unused if @waker is set
 * @does: operation that the woken task works on; 0: none, or @woken is not set
 * @waker_does: operation that the waker works on; 0: none, or @waker is not set
 */
struct at_waking {
	const struct task_struct *p;
	const struct at_task *woken;
	const struct at_task *waker;
	u64 koid;
	u64 by;
	u64 does;
	u64 waker_does;
};

/*
 * Write the record of a wakeup. The function is compiled for each combination of arguments, so
 * that the layout is constant. @told: the record names the waker. @does: it has the operation
 * of the woken task. @waker_does: it has the operation of the waker.
 */
static __always_inline void at_write_waking(struct at_ksched *ks, struct at_kcpu *kc,
					    const struct at_waking g, const bool told,
					    const bool does, const bool waker_does,
					    const bool quick)
{
	const u32 args = AT_WAKEUP_ARGS + told + does + waker_does;
	const u32 words = AT_WAKEUP_WORDS + 2 * (told + does + waker_does);
	u64 *w = kc->events.next;

	w[0] = ASYNCTRACE_FXT_WAKEUP_HEAD(words, args, task_cpu(g.p));
	w[1] = quick ? at_clock_counter() : at_clock_ticks(ks->clock);
	w[2] = quick || g.woken ? (u32)g.woken->tid : g.koid;
	at_put_arg32(w + 3, ASYNCTRACE_FXT_ARG_INT32, ASYNCTRACE_FXT_STR_WEIGHT,
		     quick ? g.p->prio : at_weight(g.p, g.woken, g.koid));
	if (told) {
		w[4] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_KOID, 2,
					  ASYNCTRACE_FXT_STR_WAKER, 0);
		w[5] = g.waker ? (u32)g.waker->tid : g.by;
	}
	if (does)
		at_put_id(w + 4 + 2 * told, g.woken, ASYNCTRACE_FXT_STR_OPERATION, g.does);
	if (waker_does)
		at_put_id(w + 4 + 2 * (told + does), g.waker,
			  ASYNCTRACE_FXT_STR_WAKER_OPERATION, g.waker_does);
	at_kring_commit(&kc->events, words);
	if (quick)
		__this_cpu_inc(at_probe_cost.quick_wakings);
	else
		__this_cpu_inc(at_probe_cost.wakings);
}

/*
 * Find room for the record of a wakeup, and write it with the operations that are known. Only
 * the quick version returns false.
 */
static __always_inline bool at_write_works(struct at_ksched *ks, struct at_kcpu *kc,
					   const struct at_waking g, const bool told,
					   const bool quick)
{
	/* Check for the largest record, because nearly all wakeups have a waker. */
	if (!at_kring_has_room(&kc->events, AT_WAKEUP_MAX)) {
		if (quick)
			return false;
		if (!at_waking_room(kc, g.woken))
			return true;
	}
	if (g.waker_does) {
		if (g.does)
			at_write_waking(ks, kc, g, told, true, true, quick);
		else
			at_write_waking(ks, kc, g, told, false, true, quick);
	} else {
		if (g.does)
			at_write_waking(ks, kc, g, told, true, false, quick);
		else
			at_write_waking(ks, kc, g, told, false, false, quick);
	}
	return true;
}

/* In an interrupt, the current task is not the waker. */
static __always_inline bool at_waking_has_no_waker(void)
{
	return in_serving_softirq() | in_hardirq();
}

/*
 * Record a wakeup of @p on the slow path. @woken: entry of @p, if this session traces it. @slots:
 * to look up the waker
 */
static inline void at_record_waking(struct at_ksched *ks, struct at_kcpu *kc,
				    struct at_task **slots, struct task_struct *p,
				    const struct at_task *woken)
{
	struct at_waking g = { .p = p, .woken = woken };

	if (woken) {
		g.does = at_operation(woken);
	} else {
		at_foreign_koid(ks, kc, p, NULL, &g.koid, false);
		if (ASYNCTRACE_TID_IS_OTHER((s32)g.koid))
			return;
	}
	if (!at_waking_has_no_waker()) {
		g.waker = at_task_find_in(slots, current);
		if (g.waker && g.waker->ks != ks)
			g.waker = NULL;
		if (g.waker)
			g.waker_does = at_operation(g.waker);
		else
			at_foreign_koid(ks, kc, current, woken, &g.by, false);
	}
	at_write_works(ks, kc, g, g.waker || g.by, false);
}

#endif /* AT_RECORD_H */
