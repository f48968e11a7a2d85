/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Threads: whether one runs, and a walk over those of a process, which may have any number
 */
#ifndef AT_THREADS_H
#define AT_THREADS_H

#include <linux/pid.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

/* Does a CPU run the task at this moment? Without SMP this is always true. */
static inline bool at_task_runs(const struct task_struct *t)
{
#ifdef CONFIG_SMP
	return READ_ONCE(t->on_cpu);
#else
	return true;
#endif
}

/* Threads visited in one RCU section */
#define AT_THREADS_BATCH	64
/*
 * Limit on the number of times that a walk begins. At the limit the walk ends early, because
 * threads may keep ending during the walk.
 */
#define AT_THREADS_BEGINS	64

/**
 * struct at_threads - state of a walk; the caller sets @pid, and all other fields to 0
 * @pid: the process
 * @t: the thread visited last
 * @n: number of threads visited
 * @begins: number of times that the walk began. It begins anew if @t ends between two RCU
 *	sections
 * @cut: the walk gave up at AT_THREADS_BEGINS, before it had visited all threads
 */
struct at_threads {
	struct pid *pid;
	struct task_struct *t;
	u32 n;
	u32 begins;
	bool cut;
};

/**
 * at_threads_next - visit the next thread
 * @w: the walk
 *
 * Called under rcu_read_lock(), which this function may release for a moment.
 *
 * Return: a thread, valid until the next call; NULL at the end. A walk that begins anew visits
 * threads twice.
 */
static inline struct task_struct *at_threads_next(struct at_threads *w)
{
	struct task_struct *t = w->t;

	if (t && !(++w->n % AT_THREADS_BATCH)) {
		bool alive;

		get_task_struct(t);
		rcu_read_unlock();
		cond_resched();
		rcu_read_lock();
		/*
		 * The reference is not needed any more: a thread that is still in the list is
		 * not freed before this RCU section ends.
		 */
		alive = pid_alive(t);
		put_task_struct(t);
		t = alive ? t : NULL;
	}
	if (t) {
		t = list_next_or_null_rcu(&t->signal->thread_head, &t->thread_node,
					  struct task_struct, thread_node);
	} else {
		w->cut = w->begins++ == AT_THREADS_BEGINS;
		t = w->cut ? NULL : pid_task(w->pid, PIDTYPE_TGID);
	}
	w->t = t;
	return t;
}

#endif /* AT_THREADS_H */
