/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Declarations shared by the files of ftrace/
 *
 *	instance.c	the instance: which events of which tasks
 *	queue.c		events between the instance and the composer
 *	decode.c	fields of an event
 *	tasks.c		process and name of a thread
 */
#ifndef AT_FTRACE_PRIV_H
#define AT_FTRACE_PRIV_H

#include <event-parse.h>
#include <tracefs.h>

#include <asynctrace/compose.h>

#include "ftrace/ftrace.h"

/**
 * struct ftrace_task - process and name of a thread
 * @tid: its id
 * @pid: its process; 0: it had ended before anybody asked
 * @comm: its name
 */
struct ftrace_task {
	pid_t tid;
	pid_t pid;
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

/**
 * struct ftrace - an open instance
 * @instance: of the kernel
 * @tep: formats of the events
 * @clock: what @queue's times are in
 * @nr_cpus: CPUs that @cpus has
 * @cpus: accounts
 * @queue: events that were read, one behind the other: struct queued
 * @used: bytes of @queue
 * @room: bytes allocated for it
 * @tasks: of tsearch(3): struct ftrace_task
 */
struct ftrace {
	struct tracefs_instance *instance;
	struct tep_handle *tep;
	uint32_t clock;
	unsigned int nr_cpus;
	struct ftrace_cpu *cpus;
	char *queue;
	size_t used;
	size_t room;
	void *tasks;
};

/* tasks.c: NULL without memory */
const struct ftrace_task *ftrace_task(struct ftrace *f, pid_t tid);
void ftrace_tasks_free(struct ftrace *f);

/* decode.c */
#define FTRACE_TEXT_ROOM	2048

/**
 * struct ftrace_fields - decoded fields
 * @nr: of @values
 * @values: they point into the event and into @text
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
