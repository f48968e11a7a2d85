/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tests of what may happen to a process that traces: it forks, executes, changes its rights and
 * namespaces, and loads and unloads code. Its threads are cancelled and interrupted, and there are
 * many of them.
 *
 * Each test is a case. It counts in shared memory the records that each of its processes attempts
 * to write. Two programs run the cases, each with one back end, and compare the counts with the
 * back end's accounting.
 */
#ifndef LIFE_H
#define LIFE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define LIFE_PROCESSES	16

/**
 * struct life - memory that the processes of a case share, also after execve(2)
 * @dir: directory for the traces of processes that trace themselves
 * @dir_fd: descriptor of @dir, for processes whose root does not contain @dir
 * @module: the module records the processes; otherwise each process traces itself
 * @processes: number of elements of @process in use
 * @threads: number of threads that the trace of process 0 must have; 0: not tested
 * @may_drop: records may be dropped; they must be counted as dropped
 * @error: result that at_trace_stop() must have
 * @failed: description of the first failure, or ""
 * @skipped: reason why this machine cannot run the case, or ""
 * @process: the processes by number
 */
struct life {
	char dir[64];
	int32_t dir_fd;
	bool module;
	uint32_t processes;
	uint32_t threads;
	bool may_drop;
	int32_t error;
	char failed[200];
	char skipped[100];
	/**
	 * struct life_process - a process, also after execve(2)
	 * @pid: process id in the namespace of the program that runs the cases
	 * @begun: number of records, counted before the macro of each
	 * @ended: number of records, counted after the macro of each
	 * @files: number of traces of its own
	 * @delivered: records in these traces, by their accounting
	 * @lost: records that these traces count, but that are not in the files
	 */
	struct life_process {
		int32_t pid;
		uint64_t begun;
		uint64_t ended;
		uint32_t files;
		uint64_t delivered;
		uint64_t lost;
	} process[LIFE_PROCESSES];
};

#define LIFE_NATIVE	(1u << 0)	/* only in programs that trace themselves */
#define LIFE_MODULE	(1u << 1)	/* only with the module */
#define LIFE_RSEQ	(1u << 2)	/* only in processes with rseq, which use rings of CPUs */

struct life_case {
	const char *name;
	void (*run)(unsigned long arg);
	unsigned long arg;
	unsigned int flags;
};

extern const struct life_case life_process_cases[], life_thread_cases[];
extern const unsigned int life_nr_process_cases, life_nr_thread_cases;

extern struct life *life;

/* --- for the programs --------------------------------------------------------------------- */

/* Must be called first in main(). Does not return in a program that a case has executed. */
void life_init(char **argv);
/* Runs a case to the end of all its processes. */
void life_run(const struct life_case *c, bool module);
/* Prints the result of a case. Returns 1 if the case has failed. */
int life_report(const struct life_case *c);
/* Prints the counts. Returns the exit status of the program. */
int life_exit(void);
/*
 * Can this program run the case, with the module or natively? @part: a part of the names of the
 * cases to run; NULL: all
 */
bool life_selected(const struct life_case *c, bool module, const char *part);
/* Fails the case unless the accounting of process @nr agrees with the records it attempted. */
void life_compare(unsigned int nr, uint64_t delivered, uint64_t lost);

/* --- for the cases ------------------------------------------------------------------------ */

/* Fails the case, which goes on. */
void life_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Ends the calling process and the case, which this machine cannot run. */
void life_skip(const char *why) __attribute__((noreturn));

/* If @what is false, fails the case and ends the calling process. */
#define LIFE_NEED(what) \
	do { \
		if (!(what)) { \
			life_fail("%s:%d: needed: %s (%m)", __FILE_NAME__, __LINE__, #what); \
			_exit(1); \
		} \
	} while (0)

/* Returns a new number for a process. */
unsigned int life_number(void);
/* Gives the calling process this number, and starts its own trace if it traces itself. */
void life_enter(unsigned int nr);
/* Ends the trace of the calling process. The process may call life_enter() again. */
void life_leave(void);
/* Writes records of various kinds. Async-signal-safe. */
void life_write(unsigned int records);
/* Forks. The child has called life_enter() with a new number. */
pid_t life_fork(void);
/* Waits for a child, which must exit with 0. */
void life_reap(pid_t pid);
/*
 * Returns arguments and environment with which this program runs as process @nr, writes @records
 * and exits. They are valid until the next call.
 */
void life_again(unsigned int nr, unsigned int records, char ***argv, char ***env);

#endif /* LIFE_H */
