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
#include <linux/hardirq.h>
#include <linux/hash.h>
#include <linux/percpu.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "base/clock.h"
#include "sched/sched.h"
#include "sched/tasks.h"

#define AT_NAME_WORDS	(sizeof(struct asynctrace_task_name) / sizeof(u64))
#define AT_SWITCH_WORDS	7
#define AT_WAKEUP_WORDS	6

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

/**
 * struct at_attention - reasons why a CPU's probes must not take the fast path
 * @open: @opener has recorded the switch in of the running task, but does not trace the task:
 *	its switch out must be recorded, too; changed by this CPU only
 * @all: a session records every task
 * @any: nonzero if @open or @all is set
 * @opener: a session, or NULL. There is only one: that which traced the previous task. Valid
 *	if @open is set: at_ksched_end_fn() clears it on all CPUs
 */
struct at_attention {
	union {
		struct {
			bool open;
			bool all;
		};
		u16 any;
	};
	struct at_ksched *opener;
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
 * Key of a task's present name in the name cache. A task can choose a name with the key of its
 * last name. Then that task alone is shown under the last name.
 */
static __always_inline u64 at_name_key(const struct task_struct *task)
{
	u64 comm[2];

	BUILD_BUG_ON(sizeof(comm) != sizeof(task->comm));
	memcpy(comm, task->comm, sizeof(comm));
	return comm[0] * GOLDEN_RATIO_64 + comm[1];
}

void at_record_name(struct at_ksched *ks, const struct task_struct *task, s32 tid,
		    s32 pid, const char *comm, u32 flags, const struct at_sharer *payer);
s32 at_foreign_tid_slow(struct at_ksched *ks, struct at_kcpu *kc,
			struct task_struct *task, const struct at_task *by);
bool at_switch_room(struct at_ksched *ks, struct at_kcpu *kc,
		    const struct task_struct *prev, const struct task_struct *next,
		    const struct at_task *out, const struct at_task *in, bool open);
bool at_waking_room(struct at_kcpu *kc, const struct at_task *woken);

/* May @tid be used without a name record: is the task idle, or was its name recorded lately? */
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

/* @e: entry of the task, if traced. Hides the priority of tasks that may not be shown. */
static __always_inline s32 at_weight(const struct task_struct *task,
				     const struct at_task *e, s32 tid)
{
	if (!e && unlikely(!task->pid))
		return ASYNCTRACE_FXT_WEIGHT_IDLE;
	return !e && unlikely(ASYNCTRACE_TID_IS_OTHER(tid)) ? 0 : task->prio;
}

/* The incoming task is not traced: have the CPU's next switch record its switch out. */
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
 * Record a switch. @out, @in: entries of @prev and @next, if this session traces them.
 * @state: state of @prev; 0 if @prev was preempted. Only the quick version returns false.
 */
static __always_inline bool
at_record_switch(struct at_ksched *ks, struct at_kcpu *kc, struct task_struct *prev,
		 struct task_struct *next, const struct at_task *out,
		 const struct at_task *in, u32 state, const bool quick)
{
	u64 prev_koid, next_koid, *w;
	bool open = false;

	if (out) {
		prev_koid = (u32)out->tid;
	} else {
		if (!at_foreign_koid(ks, kc, prev, in, &prev_koid, quick))
			return false;
		if (ASYNCTRACE_TID_IS_OTHER((s32)prev_koid))
			state = 0;
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
	if (!at_kring_has_room(&kc->events, AT_SWITCH_WORDS)) {
		if (quick)
			return false;
		if (!at_switch_room(ks, kc, prev, next, out, in, open))
			return true;
	}
	if (open)
		at_open(ks);
	w = kc->events.next;
	w[0] = kc->switch_head[at_fxt_state(state, quick)];
	w[1] = quick ? at_clock_counter() : at_clock_ticks(ks->clock);
	w[2] = prev_koid;
	w[3] = next_koid;
	w[4] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_INT32, 1, ASYNCTRACE_FXT_STR_INCOMING,
				  at_weight(next, in, next_koid));
	w[5] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_INT32, 1, ASYNCTRACE_FXT_STR_OUTGOING,
				  at_weight(prev, out, prev_koid));
	w[6] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_UINT32, 1, ASYNCTRACE_FXT_STR_STATE,
				  state);
	at_kring_commit(&kc->events, AT_SWITCH_WORDS);
	if (quick)
		__this_cpu_inc(at_probe_cost.quick_switches);
	else
		__this_cpu_inc(at_probe_cost.switches);
	return true;
}

/* @by: id of the waker, recorded if @told */
static __always_inline void at_write_waking(struct at_ksched *ks, struct at_kcpu *kc,
					    const struct task_struct *p,
					    const struct at_task *woken, u64 koid, u64 by,
					    const bool told, const bool quick)
{
	const u32 words = told ? AT_WAKEUP_WORDS : AT_WAKEUP_WORDS - 2;
	u64 *w = kc->events.next;

	w[0] = ASYNCTRACE_FXT_WAKEUP_HEAD(words, told ? 2 : 1, task_cpu(p));
	w[1] = quick ? at_clock_counter() : at_clock_ticks(ks->clock);
	w[2] = koid;
	w[3] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_INT32, 1, ASYNCTRACE_FXT_STR_WEIGHT,
				  at_weight(p, woken, koid));
	if (told) {
		w[4] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_KOID, 2,
					  ASYNCTRACE_FXT_STR_WAKER, 0);
		w[5] = by;
	}
	at_kring_commit(&kc->events, words);
	if (quick)
		__this_cpu_inc(at_probe_cost.quick_wakings);
	else
		__this_cpu_inc(at_probe_cost.wakings);
}

/*
 * Record a wakeup of @p. @woken: entry of @p, if this session traces it. @slots: to look up
 * the waker. Only the quick version returns false.
 */
static __always_inline bool
at_record_waking(struct at_ksched *ks, struct at_kcpu *kc, struct at_task **slots,
		 struct task_struct *p, const struct at_task *woken, const bool quick)
{
	const struct at_task *waker;
	u64 koid = 0, by = 0;
	bool told = false;

	if (!woken) {
		if (!at_foreign_koid(ks, kc, p, NULL, &koid, quick))
			return false;
		if (unlikely(ASYNCTRACE_TID_IS_OTHER((s32)koid)))
			return true;
	}
	/* In an interrupt, the current task is not the waker. */
	if (likely(!(in_serving_softirq() | in_hardirq()))) {
		waker = at_task_find_in(slots, current);
		if (likely(waker && waker->ks == ks)) {
			by = (u32)waker->tid;
			told = true;
		} else {
			if (!at_foreign_koid(ks, kc, current, woken, &by, quick))
				return false;
			told = by != 0;
		}
	}
	if (woken)
		koid = (u32)woken->tid;
	/* Check for the larger record, because nearly all wakeups have a waker. */
	if (!at_kring_has_room(&kc->events, AT_WAKEUP_WORDS)) {
		if (quick)
			return false;
		if (!at_waking_room(kc, woken))
			return true;
	}
	if (told)
		at_write_waking(ks, kc, p, woken, koid, by, true, quick);
	else
		at_write_waking(ks, kc, p, woken, koid, 0, false, quick);
	return true;
}

#endif /* AT_RECORD_H */
