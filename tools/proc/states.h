/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The threads of a process and their states, from /proc */
#ifndef AT_PROC_STATES_H
#define AT_PROC_STATES_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * struct proc_state - a thread and its state
 * @tid: the thread
 * @comm: name of the thread
 * @since: the thread has existed since this time, or longer
 * @from: the state was read at @from or later
 * @until: the state was read at @until or earlier
 * @state: Linux's task state; 0: running or runnable
 * @off_cpu: ASYNCTRACE_FXT_OFF_*
 * @syscall: number of the system call, with ASYNCTRACE_FXT_OFF_SYSCALL
 * @argument: first argument of that system call
 *
 * Times are CLOCK_BOOTTIME nanoseconds. @from and @until have a margin for the clock of the trace.
 * A user who may not trace the process with ptrace(2) gets no system call.
 */
struct proc_state {
	int32_t tid;
	char comm[16 + 1];
	uint64_t since, from, until;
	uint32_t state;
	uint32_t off_cpu;
	uint32_t syscall;
	uint64_t argument;
};

/* An iteration over the threads of a process. @dir NULL: none */
struct proc_threads {
	DIR *dir;
};

/*
 * Begins to read the threads of the process @pid. @root: directory that has proc/; "", except in
 * tests. Returns 0 or a negative errno. If another process gets the id later, @t does not read the
 * threads of that process.
 */
int proc_threads_open(struct proc_threads *t, const char *root, pid_t pid);
/* Returns 1 with the next thread in @state, 0 at the end, or a negative errno. */
int proc_threads_next(struct proc_threads *t, struct proc_state *state);
void proc_threads_close(struct proc_threads *t);

/*
 * Calls @fn for each process. Returns 0, a result of @fn that is not 0, which ends the walk, or a
 * negative errno.
 */
int proc_for_each(const char *root, int (*fn)(void *arg, pid_t pid), void *arg);

/* True if the ids in /proc are those of this process's pid namespace */
bool proc_is_ours(const char *root);

#endif /* AT_PROC_STATES_H */
