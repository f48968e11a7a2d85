/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Cases from the life of a process that traces: it forks, executes, changes its rights and
 * namespaces, loads and unloads code, and its threads are cancelled, interrupted and many.
 *
 * A case counts in shared memory what each of its processes attempts to write. A program
 * runs the cases with a back end, and compares these numbers with the back end's ledger.
 */
#ifndef LIFE_H
#define LIFE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define LIFE_PROCESSES	16

/**
 * struct life - what the processes of a case share; also across execve(2)
 * @dir: where the processes put the files of their own traces
 * @dir_fd: the same, for processes that cannot reach it by name
 * @module: the module records the processes; otherwise each traces itself
 * @processes: numbers in use
 * @threads: threads that must be in the trace of process 0; 0: not tested
 * @may_drop: records of threads that meet may be dropped, and are counted
 * @error: what at_trace_stop() must return
 * @failed: the first thing that was not so, or ""
 * @skipped: why the machine cannot do what is tested, or ""
 * @process: by number
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
	 * struct life_process - of one process, or of several programs in a row in it
	 * @pid: in the namespace of the program that runs the cases
	 * @begun: records that it began to write
	 * @ended: records that were surely attempted, because the macro has returned
	 * @files: traces of its own
	 * @delivered: records in these, by their ledgers
	 * @lost: records that these dropped or overwrote
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
#define LIFE_BARE	(1u << 2)	/* the case says itself when process 0 begins to trace */

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

/* Begins main(): it does not return in a program that a case has executed. */
void life_init(char **argv);
/* Runs a case to the end of all its processes. */
void life_run(const struct life_case *c, bool module);
/* The result of all cases, and the exit status of main(). */
int life_report(const struct life_case *c);
int life_exit(void);
/* Compares the ledger of process @nr with what it attempted. */
void life_compare(unsigned int nr, uint64_t delivered, uint64_t lost);

/* --- for the cases ------------------------------------------------------------------------ */

void life_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
void life_skip(const char *why) __attribute__((noreturn));

/* Without @what the case fails and its process ends. */
#define LIFE_NEED(what) \
	do { \
		if (!(what)) { \
			life_fail("%s:%d: needed: %s (%m)", __FILE_NAME__, __LINE__, #what); \
			_exit(1); \
		} \
	} while (0)

/* A new number for a process */
unsigned int life_number(void);
/* The calling process has this number, and what it writes from now on counts. */
void life_enter(unsigned int nr);
/* The ledger now has all that the process has written. It may enter again. */
void life_leave(void);
/* Writes records of various kinds. Async-signal-safe. */
void life_write(unsigned int records);
/* As fork(2); the child has entered with a number of its own. */
pid_t life_fork(void);
/* Waits for a child, which must exit with 0. */
void life_reap(pid_t pid);
/*
 * Arguments and environment of this program as process @nr, which writes @records and exits.
 * They are valid until the next call.
 */
void life_again(unsigned int nr, unsigned int records, char ***argv, char ***env);

#endif /* LIFE_H */
