/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * asynctrace record: what its parts share
 */
#ifndef AT_RECORD_H
#define AT_RECORD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <asynctrace/session.h>

#include "session/args.h"
#include "record/taken.h"
#include "tool.h"
#include "record/trace_out.h"

/* With a command, failures of the recorder itself, as timeout(1) and env(1). */
enum {
	RECORD_FAILED		= 125,
	RECORD_NOT_EXECUTABLE	= 126,
	RECORD_NOT_FOUND	= 127,
};

#define RECORD_TRIGGERS_MAX	16
#define RECORD_BOUNDS_MAX	16

/* Of which the recorder changes what they do. */
#define RECORD_SIGNALS	6

/* Providers of which it is told that their alerts come too fast. */
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
 * struct record_slow - which operations are slow
 * @bounds: their types and times
 * @types: the types' texts
 * @nr: of bounds
 * @has_before: so much before them was asked for
 */
struct record_slow {
	struct tail_bound bounds[RECORD_BOUNDS_MAX];
	char types[RECORD_BOUNDS_MAX][256];
	size_t nr;
	bool has_before;
};

/**
 * struct record_options - what the command line says
 * @args: the session; of one that was there already, what the module says of it
 * @attach: its name or id; NULL: it is made here
 * @snapshot: of that one, what it holds now
 * @seconds: to record, 0: until told to stop
 * @json: the summary is JSON, on standard output
 * @triggers: on alerts
 * @nr_triggers: of them
 * @snapshots: some of them want snapshots
 * @slow: operations whose records are kept; .nr 0: all records are
 * @cmd: command and arguments, NULL: none
 * @cmd_path: the file that is executed
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
	char **cmd;
	char cmd_path[4096];
};

/**
 * struct recorder - a recording
 * @opt: what was asked for
 * @ctl: connection to the module
 * @info: of the module
 * @session: its id
 * @in: descriptor that chunks are read from
 * @out: where the trace goes
 * @events: alerts of the session; NULL: they are of no interest
 * @taken: providers that other sessions have
 * @nr_snapshots: written at alerts
 * @signals: descriptor that tells signals
 * @nr_signals: asked to stop so often
 * @mask: signals blocked when the program was started
 * @before: what RECORD_SIGNALS did then
 * @rotate: somebody asked for the next file
 * @ended: the session was, by somebody else
 * @drained: the session does not run, and all that it had has been read
 * @unreadable: the session cannot be read any more
 * @missed: alerts that came too fast
 * @missed_of: ids of the providers of which that was told
 * @nr_missed_of: of them
 * @buffer: for one chunk
 * @child: the command, 0: none, or it has ended
 * @status: of the command, as waitpid(2) tells
 * @started: when the session was started, seconds
 * @next_line: when the status line is due; 0: there is none
 * @next_flush: when what is buffered is due to be written; 0: nothing is
 */
struct recorder {
	struct record_options opt;
	struct at_ctl *ctl;
	struct at_info info;
	uint32_t session;
	int in;
	struct trace_out out;
	struct at_notifications *events;
	struct taken taken;
	unsigned int nr_snapshots;
	int signals;
	unsigned int nr_signals;
	sigset_t mask;
	struct sigaction before[RECORD_SIGNALS];
	bool rotate;
	bool ended;
	bool drained;
	bool unreadable;
	uint64_t missed;
	uint32_t missed_of[RECORD_MISSED_MAX];
	unsigned int nr_missed_of;
	void *buffer;
	pid_t child;
	int status;
	double started;
	double next_line;
	double next_flush;
};

/* Seconds on CLOCK_MONOTONIC. */
double record_now(void);

/* record.c */
bool record_take_output(struct recorder *r, const char *path);
bool record_take_seconds(struct record_options *o, const char *text);
bool record_check_output(const struct recorder *r);
/* From beginning to end. 0, a negative errno, or the status of a command that could not be. */
int record_all(struct recorder *r);

/* record_child.c */
int record_find_command(struct record_options *o);
/* Why the provider that the command becomes is hidden from this user; NULL: no reason is known. */
const char *record_hidden(const char *path);
int record_start_child(struct recorder *r);
int record_exit_status(int status);

/* record_signals.c */
int record_open_signals(struct recorder *r);
/* In the command's process: they do what they did before. */
void record_restore_signals(const struct recorder *r);
void record_take_signals(struct recorder *r);
/* Says that the recording has ended, and the command, if it still runs, has not. */
void record_tell_child(const struct recorder *r);
void record_wait_child(struct recorder *r);

/* record_trigger.c */
bool record_take_trigger(struct record_options *o, char *text);
int record_open_triggers(struct recorder *r);
int record_take_alerts(struct recorder *r);

/* record_session.c */
int record_setup(struct recorder *r);
int record_run(struct recorder *r);
void record_free(struct recorder *r);

/* record_tail.c */
bool record_take_slower(struct recorder *r, const char *text);
bool record_take_before(struct recorder *r, const char *text);
bool record_take_window(struct recorder *r, const char *text);
bool record_check_slower(struct recorder *r);
void record_slow_json(const struct recorder *r, struct json_doc *j);
void record_slow_summary(const struct recorder *r, uint64_t filtered);

/* record_report.c */
void record_line(struct recorder *r);
void record_line_clear(const struct recorder *r);
/* False where it could not be written. */
bool record_summary(struct recorder *r);

#endif /* AT_RECORD_H */
