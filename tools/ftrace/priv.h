/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Declarations shared by the files of ftrace/
 *
 *	instance.c	the instances and their events
 *	watch.c		the tasks that an instance records
 *	joins.c		the fields of events that have ids of operations
 *	queue.c		events that wait for the composer
 *	decode.c	fields of an event
 *	tasks.c		process and name of a thread
 */
#ifndef AT_FTRACE_PRIV_H
#define AT_FTRACE_PRIV_H

#include <event-parse.h>
#include <time.h>
#include <tracefs.h>

#include <asynctrace/compose.h>

#include "ftrace/ftrace.h"

/**
 * struct ftrace_task - process and name of a thread
 * @tid: id of the thread
 * @pid: process of the thread; 0: the thread had ended before its process was looked up
 * @second: .second of struct ftrace at the last look-up
 * @comm: name of the thread
 */
struct ftrace_task {
	pid_t tid;
	pid_t pid;
	time_t second;
	char comm[16 + 1];
};

/**
 * struct ftrace_cpu - account of a CPU's events
 * @read: events read from its buffer
 * @unwritten: events read but not composed
 */
struct ftrace_cpu {
	uint64_t read;
	uint64_t unwritten;
};

enum ftrace_which {
	FTRACE_WATCHED,		/* events of the watched threads, or of all */
	FTRACE_JOINED,		/* events of all threads that may belong to an operation */
	FTRACE_INSTANCES
};

/**
 * struct ftrace_instance - an ftrace instance: a directory in tracefs with its own buffers
 * @tracefs: handle of libtracefs; NULL: the instance is not needed
 * @cpus: account of each CPU's events
 */
struct ftrace_instance {
	struct tracefs_instance *tracefs;
	struct ftrace_cpu *cpus;
};

/**
 * struct ftrace_join - a tracepoint whose events may belong to an operation
 * @event: the tracepoint
 * @field: the field that has the operation's id
 */
struct ftrace_join {
	const struct tep_event *event;
	struct tep_format_field *field;
};

/**
 * struct ftrace - an open recording of tracepoints
 * @of: the instances
 * @options: options of the instances
 * @tep: formats of the events
 * @joins: tracepoints whose events may belong to an operation
 * @nr_joins: number of @joins
 * @clock: clock of the times in @queue
 * @nr_cpus: CPUs that each instance has
 * @queue: events that were read, each a struct queued
 * @used: bytes of @queue
 * @room: bytes allocated for @queue
 * @on_cpu: see ftrace_on_cpu(); or NULL
 * @arg: argument of @on_cpu
 * @tasks: tree of tsearch(3) with struct ftrace_task
 * @second: time of the last ftrace_renew_tasks()
 */
struct ftrace {
	struct ftrace_instance of[FTRACE_INSTANCES];
	struct ftrace_options options;
	struct tep_handle *tep;
	struct ftrace_join *joins;
	size_t nr_joins;
	uint32_t clock;
	unsigned int nr_cpus;
	char *queue;
	size_t used;
	size_t room;
	int (*on_cpu)(void *arg, uint32_t cpu);
	void *arg;
	void *tasks;
	time_t second;
};

/* joins.c */
/*
 * Finds the field of an event that has ids of operations: the one that @e names, or one of the
 * name FTRACE_OPERATION_FIELD. Returns 1 if there is one, 0 if not, or a negative errno after a
 * message.
 */
int ftrace_join_event(struct ftrace *f, const char *system, const char *name,
		      const struct ftrace_element *e);
/* Returns the tracepoint, or NULL if no field of it has ids of operations. */
const struct ftrace_join *ftrace_join(const struct ftrace *f, const struct tep_event *event);
/* Returns the number in the field; 0 if the event is too short. */
uint64_t ftrace_join_id(const struct ftrace_join *j, const void *data, int size);

/* tasks.c: ftrace_task() returns NULL if there is no memory. */
const struct ftrace_task *ftrace_task(struct ftrace *f, pid_t tid);
/* Lets ftrace_task() look up threads again whose last look-up was not in the present second. */
void ftrace_renew_tasks(struct ftrace *f);
void ftrace_tasks_free(struct ftrace *f);

/* decode.c */
#define FTRACE_TEXT_ROOM	2048

/**
 * struct ftrace_fields - decoded fields
 * @nr: number of @values
 * @values: the values, which point into the event and into @text
 * @text: text of fields that have no other form
 * @used: bytes of @text
 */
struct ftrace_fields {
	unsigned int nr;
	struct at_compose_value values[15];
	char text[FTRACE_TEXT_ROOM];
	size_t used;
};

void ftrace_decode(struct ftrace_fields *d, struct tep_event *event, void *data, int size);

#endif /* AT_FTRACE_PRIV_H */
