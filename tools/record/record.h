/* SPDX-License-Identifier: GPL-2.0-or-later */
/* asynctrace record: state and functions that its parts share */
#ifndef AT_RECORD_H
#define AT_RECORD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include <asynctrace/session.h>

#include "ftrace/ftrace.h"
#include "fxt/table.h"
#include "proc/states.h"
#include "quota/quota.h"
#include "session/args.h"
#include "record/taken.h"
#include "tool.h"
#include "record/trace_out.h"

/*
 * Exit statuses if there is a command that cannot be recorded, found or executed. timeout(1) and
 * env(1) use the same values.
 */
enum {
	RECORD_FAILED		= 125,
	RECORD_NOT_EXECUTABLE	= 126,
	RECORD_NOT_FOUND	= 127,
};

#define RECORD_TRIGGERS_MAX	16
#define RECORD_BOUNDS_MAX	16

/* Number of signals whose action the recorder changes */
#define RECORD_SIGNALS	7

/* Limit of providers for which lost alerts are reported one by one */
#define RECORD_MISSED_MAX	32

/**
 * struct record_trigger - what to do at an alert
 * @alert: its name
 * @snapshot: write a snapshot; else stop
 */
struct record_trigger {
	const char *alert;
	bool snapshot;
};

/**
 * struct record_slow - the definition of slow operations
 * @bounds: their types and times
 * @types: memory of the types' texts
 * @nr: number of bounds
 * @has_before: --before was given
 */
struct record_slow {
	struct tail_bound bounds[RECORD_BOUNDS_MAX];
	char types[RECORD_BOUNDS_MAX][256];
	size_t nr;
	bool has_before;
};

/**
 * struct record_options - the options of the command line
 * @args: the session; for an existing one, its values from the module
 * @attach: name or id of an existing session; NULL: make one
 * @snapshot: write only what @attach holds now
 * @seconds: time to record, 0: no limit
 * @json: print the summary as JSON on standard output
 * @triggers: actions at alerts
 * @nr_triggers: number of triggers
 * @snapshots: a trigger makes snapshots
 * @slow: operations whose records are kept; .nr 0: all records are kept
 * @tracepoints: tracepoints of the kernel to record, too
 * @cmd: command and arguments, NULL: none
 * @cmd_path: path of the command's file
 */
struct record_options {
	struct session_args args;
	const char *attach;
	bool snapshot;
	double seconds;
	bool json;
	struct record_trigger triggers[RECORD_TRIGGERS_MAX];
	size_t nr_triggers;
	bool snapshots;
	struct record_slow slow;
	struct ftrace_lists tracepoints;
	char **cmd;
	char cmd_path[4096];
};

/**
 * struct listed_process - a process whose threads are listed
 * @provider: its provider in the session; 0: the session records all processes
 * @serial: serial number of the provider
 * @pid: its id
 * @checked: it was still the provider's process when its threads had been read
 * @err: its threads cannot be read: a negative errno
 * @states: the threads
 * @nr: number of threads
 * @room: number of threads that @states has room for
 */
struct listed_process {
	uint32_t provider;
	uint64_t serial;
	pid_t pid;
	bool checked;
	int err;
	struct proc_state *states;
	size_t nr, room;
};

/**
 * struct listing - live threads and their states
 * @on: threads are listed
 * @foreign: threads are not listed, because /proc is that of another pid namespace
 * @of: processes that the composer has not taken yet
 * @nr: number of processes
 * @room: number of processes that @of has room for
 * @next: index of the process whose threads are read at present
 * @walk: the walk over the threads of that process
 * @known: serial numbers of providers that were listed
 * @next_check: earliest time of the next check that processes are still providers
 * @listed: number of threads that the composer has taken
 * @left_out: number of processes whose threads could not be listed
 * @error: reason for the last of @left_out: a negative errno
 */
struct listing {
	bool on, foreign;
	struct listed_process *of;
	size_t nr, room, next;
	struct proc_threads walk;
	struct fxt_table known;
	double next_check;
	uint64_t listed, left_out;
	int error;
};

struct throttling_sample;

/**
 * struct throttling - throttling of cgroups
 * @quotas: the cgroups; NULL: throttling is not recorded
 * @samples: growths of cgroups' throttled time that the composer has not taken yet
 * @nr: number of samples
 * @room: number of samples that @samples has room for
 * @left_out: number of growths that found no room, or came after the end of the file
 * @next_read: time to read the counts; 0: no cgroup has a quota
 * @next_list: time to list providers; 0: throttling is not recorded
 * @list_seconds: seconds from the last list of providers to the next one
 * @earliest_list: earliest time of the next list, so that lists take at most a tenth of the time
 */
struct throttling {
	struct quotas *quotas;
	struct throttling_sample *samples;
	size_t nr, room;
	uint64_t left_out;
	double next_read;
	double next_list;
	double list_seconds;
	double earliest_list;
};

/**
 * struct recorder - a recording
 * @opt: options
 * @ctl: connection to the module
 * @info: limits and version of the module
 * @session: id of the session
 * @in: descriptor that chunks are read from; -1: none
 * @out: destination of the trace
 * @alerts: alerts of the session; NULL: no triggers
 * @taken: reports of providers that other sessions hold
 * @ftrace: events of the kernel's tracepoints; NULL: none are wanted
 * @watched: serial numbers of the providers whose tracepoints are recorded
 * @throttling: throttling of the cgroups of the command and of the providers
 * @listing: live threads of the providers
 * @nr_snapshots: number of snapshots written at alerts
 * @signals: signalfd(2)
 * @nr_signals: number of signals that ask to stop
 * @signal: the last of these signals
 * @mask: blocked signals when the program was started
 * @before: actions of the RECORD_SIGNALS signals at that time
 * @stalled: it was printed that the recorder waits for the output's reader
 * @rotate: SIGHUP asked for the next file
 * @ended: another process destroyed the session
 * @drained: the session is stopped, and all of its records have been read
 * @unreadable: the session cannot be read any more
 * @missed: number of lost alerts
 * @missed_of: ids of providers for which lost alerts were reported
 * @nr_missed_of: number of these ids
 * @buffer: memory for one chunk
 * @child: process id of the command; 0: none, or it has ended
 * @forking: signals that are taken may have come before that process
 * @unstarted: a signal came before the command was started, so it was not
 * @status: status of the command from waitpid(2)
 * @started: record_now() at the session's start
 * @next_line: time of the next status line; 0: there is none
 * @next_flush: time to write buffered data; 0: nothing is buffered
 * @next_ftrace: time to read ftrace's buffers; 0: not before the end
 * @round: begin of the present round of reading, CLOCK_BOOTTIME in ns; 0: none
 */
struct recorder {
	struct record_options opt;
	struct at_ctl *ctl;
	struct at_info info;
	uint32_t session;
	int in;
	struct trace_out out;
	struct at_notifications *alerts;
	struct taken taken;
	struct ftrace *ftrace;
	struct fxt_table watched;
	struct throttling throttling;
	struct listing listing;
	unsigned int nr_snapshots;
	int signals;
	unsigned int nr_signals;
	int signal;
	sigset_t mask;
	struct sigaction before[RECORD_SIGNALS];
	bool stalled;
	bool rotate;
	bool ended;
	bool drained;
	bool unreadable;
	uint64_t missed;
	uint32_t missed_of[RECORD_MISSED_MAX];
	unsigned int nr_missed_of;
	void *buffer;
	pid_t child;
	bool forking;
	bool unstarted;
	int status;
	double started;
	double next_line;
	double next_flush;
	double next_ftrace;
	uint64_t round;
};

/* Returns seconds of CLOCK_MONOTONIC. */
static inline double record_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* record.c */
bool record_take_output(struct recorder *r, const char *path);
bool record_take_seconds(struct record_options *o, const char *text);
bool record_check_output(const struct recorder *r);
/*
 * Runs a recording. Returns 0, a negative errno, or the exit status of a command that could not
 * be executed, or that was not executed because of a signal.
 */
int record_all(struct recorder *r);

/* child.c */
int record_find_command(struct record_options *o);
int record_start_child(struct recorder *r);
int record_exit_status(int status);

/* hidden.c */
/*
 * @path: the command's program, which is a provider once it runs. Returns the reason why the module
 * hides that provider from this user; NULL: no reason is known.
 */
const char *record_hidden(const char *path);

/* signals.c */
int record_open_signals(struct recorder *r);
/* Restores the original signal actions, in the command's process. */
void record_restore_signals(const struct recorder *r);
void record_take_signals(struct recorder *r);
/* Returns true if the command, a signal or the time asks to end the recording. */
bool record_is_ending(const struct recorder *r);
/*
 * Takes pending signals while the output has no reader, or its reader takes no data. If the
 * recording is to end, prints that it waits for the reader; a signal after that asks to give up.
 * Before the output is open, any signal does. Returns true to give up. @arg: struct recorder
 */
bool record_interrupted(void *arg);
/* If the command still runs, prints that it does and that the recording has ended. */
void record_tell_child(const struct recorder *r);
void record_wait_child(struct recorder *r);

/*
 * tracepoints.c: events of the kernel's tracepoints. Functions of type int return 0 or a negative
 * errno, after a message.
 */
bool record_take_tracepoints(struct record_options *o, char *text, bool sets);
bool record_check_tracepoints(const struct record_options *o);
int record_open_tracepoints(struct recorder *r);
int record_start_tracepoints(struct recorder *r);
/*
 * Reads ftrace's buffers if that is due, and composes the events whose times are known. @busy: the
 * session has more chunks
 */
int record_poll_tracepoints(struct recorder *r, bool busy);
/* Records events of the process from now on. */
void record_watch_tracepoints(struct recorder *r, pid_t pid);
/* record_watch_tracepoints() for a provider, unless it was called for the provider before */
void record_watch_provider(struct recorder *r, uint64_t serial, pid_t pid);
void record_free_tracepoints(struct recorder *r);
int record_stop_tracepoints(struct recorder *r);
/* Composes the remaining events, and accounts for losses. Call it after reading the session. */
int record_finish_tracepoints(struct recorder *r);

/*
 * throttling.c: throttling of cgroups. Functions of type int return 0 or a negative errno, after a
 * message.
 */
int record_start_throttling(struct recorder *r);
/* Lists the providers as soon as possible. Call it when the module reports a provider. */
void record_list_soon(struct recorder *r);
/* Watches the cgroups of a process from now on. A failure is only reported. */
void record_watch_cgroups(struct recorder *r, pid_t pid);
/*
 * Reads the counts and lists providers if that is due. Composes the samples that are not later than
 * the session's last chunk.
 */
int record_poll_throttling(struct recorder *r);
/* Returns the time of the next action; 0: none */
double record_next_throttling(const struct recorder *r);
/* Reads the counts. Call it before the session is stopped. */
int record_stop_throttling(struct recorder *r);
/*
 * The kernel counts throttling when a period ends. Waits until it has counted all throttling until
 * now, for one period at most, and reads the counts again. A signal ends the wait.
 */
int record_rest_throttling(struct recorder *r);
/* Composes all samples. @c: the composer. The samples stay, for further files of a snapshot. */
int record_copy_throttling(const struct recorder *r, struct at_compose *c);
/*
 * Calls record_rest_throttling(), and composes the remaining samples. Call it after reading the
 * session to its end.
 */
int record_finish_throttling(struct recorder *r);
void record_free_throttling(struct recorder *r);

/* throttling_summary.c */
void record_throttling_json(const struct recorder *r, struct json_doc *j);
void record_throttling_summary(const struct recorder *r);

/*
 * threads.c: live threads and their states. Functions of type int return 0 or a negative errno,
 * after a message, unless stated otherwise.
 */
int record_start_listing(struct recorder *r);
/* Lists the threads of a provider of the session, unless they were listed before. */
void record_list_provider(struct recorder *r, uint32_t id, uint64_t serial, pid_t pid);
/*
 * Reads some threads, and composes those that were checked. Returns 1 if there is more to read, 0,
 * or a negative errno after a message.
 */
int record_poll_listing(struct recorder *r);
/* Returns the time of the next action; 0: none */
double record_next_listing(const struct recorder *r);
/*
 * Composes listed threads if @buffer introduces a provider, because the composer knows it now.
 * @buffer: the @got bytes that read(2) has returned
 */
int record_compose_introduced(struct recorder *r, const void *buffer, size_t got);
/* Lists all threads of the session again, at once, for record_copy_listing(). */
void record_list_again(struct recorder *r);
/*
 * Gives the names and states of all listed threads to the composer @c. Keeps the list, because each
 * file of a series of snapshots needs it.
 */
int record_copy_listing(const struct recorder *r, struct at_compose *c);
/* Composes the remaining threads. Call it after reading the session to its end. */
int record_finish_listing(struct recorder *r);
void record_listing_json(const struct recorder *r, struct json_doc *j);
void record_listing_summary(const struct recorder *r);
void record_free_listing(struct recorder *r);

/*
 * cpu_time.c: CPU times of durations. Functions of type int return 0 or a negative errno, after a
 * message.
 */
bool record_check_cpu_time(const struct recorder *r);
/* Begins a round of reading all rings, if none is going on. Call it before reading. */
void record_begin_round(struct recorder *r);
/* Ends the round if it is over. Call it after reading. @empty: the rings had nothing left */
int record_end_round(struct recorder *r, bool empty);
/*
 * Finds out whether the session has missed threads. @out: the recording or a snapshot. Call it when
 * all records have been read, and before the file ends.
 */
void record_finish_cpu_time(struct recorder *r, struct trace_out *out);
void record_cpu_time_json(const struct recorder *r, struct json_doc *j);
void record_cpu_time_summary(const struct recorder *r);

/* trigger.c */
bool record_take_trigger(struct record_options *o, char *text);
int record_open_triggers(struct recorder *r);
int record_take_alerts(struct recorder *r);

/* setup.c */
/*
 * Does everything that can fail before there is something to record. Returns 0, or after a message
 * a negative errno, or the exit status if a signal came and there is a command.
 */
int record_setup(struct recorder *r);

/* session.c */
int record_run(struct recorder *r);
/*
 * Destroys the session, unless it was attached, and frees all memory. record_wait_child() may be
 * called later.
 */
void record_free(struct recorder *r);

/* slower.c */
bool record_take_slower(struct recorder *r, const char *text);
bool record_take_before(struct recorder *r, const char *text);
bool record_take_window(struct recorder *r, const char *text);
bool record_check_slower(struct recorder *r);
void record_slow_json(const struct recorder *r, struct json_doc *j);
void record_slow_summary(const struct recorder *r, uint64_t filtered);

/* report.c */
void record_line(struct recorder *r);
void record_line_clear(const struct recorder *r);
/* Returns false if standard output failed. */
bool record_summary(struct recorder *r);

#endif /* AT_RECORD_H */
