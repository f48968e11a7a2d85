/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between kernels from 6.1 on. Each entry names the release that made the
 * change; all other code is written for the newest kernel. kmod/Kbuild defines AT_HAVE_*
 * according to the kernel's headers.
 */
#ifndef AT_COMPAT_H
#define AT_COMPAT_H

#include <linux/fs.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/netlink.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/coredump.h>
#include <net/genetlink.h>

#ifdef AT_HAVE_EXEC_STATE
#include <linux/sched/exec_state.h>
#endif

/* 6.3: vm_flags_set() and vm_flags_clear() must be used to change a VMA's flags. */
#ifndef AT_HAVE_VM_FLAGS_SET
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}

static inline void vm_flags_clear(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags &= ~flags;
}
#endif

/* 6.3: mem_cgroup_tryget() takes a reference, with and without CONFIG_MEMCG. */
static inline void at_memcg_get(struct mem_cgroup *memcg)
{
#ifdef AT_HAVE_MEM_CGROUP_TRYGET
	/* Cannot fail: the caller has a reference. */
	mem_cgroup_tryget(memcg);
#elif defined(CONFIG_MEMCG)
	if (memcg)
		css_get(&memcg->css);
#endif
}

/* 6.6: genl_info_dump() returns the request's genl_info, which has the attributes. */
static inline struct nlattr **at_dump_attrs(struct netlink_callback *cb)
{
#ifdef AT_HAVE_GENL_INFO_DUMP
	return genl_info_dump(cb)->attrs;
#else
	return genl_dumpit_info(cb)->attrs;
#endif
}

/*
 * 6.7: get_file_active() takes a reference to *@f unless that file is being closed. The
 * caller must keep the memory of the file from being freed.
 */
static inline struct file *at_get_file_active(struct file **f)
{
#ifdef AT_HAVE_GET_FILE_ACTIVE
	return *f ? get_file_active(f) : NULL;
#else
	return *f && get_file_rcu(*f) ? *f : NULL;
#endif
}

/*
 * 6.4: PF_USER_WORKER marks threads of vhost and of io_uring. Older kernels only have
 * PF_IO_WORKER.
 */
#ifdef PF_USER_WORKER
#define AT_PF_USER_WORKER	PF_USER_WORKER
#else
#define AT_PF_USER_WORKER	0
#endif

/* 6.18: WQ_PERCPU declares a workqueue whose work runs on the CPU it is queued on. */
#ifndef AT_HAVE_WQ_PERCPU
#define WQ_PERCPU	0
#endif

/*
 * Does ptrace(2) let processes with the same credentials read the memory of a task? ptrace(2)
 * makes this check in task_still_dumpable(). @task: the current task; interrupts may be off
 *
 * 7.2: dumpability belongs to the task's exec_state, no longer to its mm.
 * task_exec_state_get_dumpable() is not exported, so its code is repeated here.
 */
static __always_inline bool at_is_dumpable(const struct task_struct *task)
{
#ifdef AT_HAVE_EXEC_STATE
	bool dumpable;

	rcu_read_lock();
	dumpable = READ_ONCE(rcu_dereference(task->exec_state)->dumpable) == TASK_DUMPABLE_OWNER;
	rcu_read_unlock();
	return dumpable;
#else
	/* A task that exits has no mm. */
	return task->mm && get_dumpable(task->mm) == SUID_DUMP_USER;
#endif
}

/*
 * 6.2: an extended ack can carry a formatted message. On older kernels it can only point to
 * a constant text: @plain.
 */
#ifdef NL_SET_ERR_MSG_FMT
#define AT_ERR_MSG_FMT(extack, plain, fmt, ...) do {			\
	(void)(plain);							\
	NL_SET_ERR_MSG_FMT(extack, fmt, ##__VA_ARGS__);			\
} while (0)
#else
#define AT_ERR_MSG_FMT(extack, plain, fmt, ...) do {			\
	no_printk(fmt, ##__VA_ARGS__);					\
	NL_SET_ERR_MSG(extack, plain);					\
} while (0)
#endif

#endif /* AT_COMPAT_H */
