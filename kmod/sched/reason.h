/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Why a task leaves its CPU, from its flags and from the registers that it saved when it
 * entered the kernel. The task is the current one, so its stack cannot be freed meanwhile.
 */
#ifndef AT_REASON_H
#define AT_REASON_H

#include <asm/syscall.h>
#include <linux/asynctrace_fxt.h>
#include <linux/audit.h>
#include <linux/fdtable.h>
#include <linux/fs.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>

#include "base/compat.h"

/**
 * struct at_reason - why a task leaves its CPU
 * @off_cpu: ASYNCTRACE_FXT_OFF_*
 * @syscall: number of the system call, if @off_cpu has ASYNCTRACE_FXT_OFF_SYSCALL
 * @argument: its first argument
 */
struct at_reason {
	u32 off_cpu;
	s32 syscall;
	u64 argument;
};

/* Tasks that run only in the kernel, so that their stacks hold no registers of user space */
#define AT_PF_KERNEL	(PF_KTHREAD | PF_IO_WORKER | AT_PF_USER_WORKER)

/*
 * The first argument of a system call. syscall_get_arguments() would copy all arguments to the
 * stack.
 */
static __always_inline u64 at_first_argument(const struct pt_regs *regs)
{
#ifdef CONFIG_X86
	return regs->di;
#else
	return regs->orig_x0;
#endif
}

/*
 * Type of the open file with the number @fd of @prev, the current task: bits of "off_cpu", or 0.
 * Another thread may close the file meanwhile. The memory of an inode is freed after an RCU grace
 * period, so not before preemption is on again. The memory of the file may be reused for a new file
 * before that. Then f_inode is NULL, or it is the new file's inode.
 */
static __always_inline u32 at_file_type(struct task_struct *prev, u64 fd)
{
	const struct inode *inode;
	const struct file *file;

	/* A task that exits has no descriptors. */
	if (fd > INT_MAX || !prev->files)
		return 0;
	file = files_lookup_fd_raw(prev->files, fd);
	if (!file)
		return 0;
	inode = READ_ONCE(file->f_inode);
	return inode ? (READ_ONCE(inode->i_mode) & S_IFMT) >> 12 << 4 : 0;
}

/*
 * Find out why a task leaves its CPU. Does not report 32-bit system calls: they have other
 * numbers, and no program that this module supports makes them.
 */
static __always_inline struct at_reason
at_reason(struct task_struct *prev, u32 state, bool preempt)
{
	struct at_reason r = { .off_cpu = preempt ? ASYNCTRACE_FXT_OFF_PREEMPTED : 0 };
	struct pt_regs *regs;

	if (prev->in_iowait)
		r.off_cpu |= ASYNCTRACE_FXT_OFF_IOWAIT;
	if (unlikely(prev->flags & AT_PF_KERNEL ||
		     !(syscall_get_arch(prev) & __AUDIT_ARCH_64BIT)))
		return r;
	regs = task_pt_regs(prev);
	r.syscall = syscall_get_nr(prev, regs);
	if (r.syscall < 0) {
		/* A runnable task may have entered the kernel by an interrupt, not an exception. */
		if (state)
			r.off_cpu |= ASYNCTRACE_FXT_OFF_EXCEPTION;
		return r;
	}
	r.off_cpu |= ASYNCTRACE_FXT_OFF_SYSCALL;
	r.argument = at_first_argument(regs);
	r.off_cpu |= at_file_type(prev, r.argument);
	return r;
}

#endif /* AT_REASON_H */
