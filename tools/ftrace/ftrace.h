/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records events of the kernel's own tracepoints with an ftrace instance, and adds them to a
 * trace.
 *
 * The instance has its own buffers and disturbs no other user of ftrace. Its events are stamped
 * with the clock of the session. They wait in a queue until the composer can tell the time of
 * their stamps.
 *
 * A field of an event may have the id of an operation. The composer assigns the event to that
 * operation, even if the event happened in an interrupt on an unrelated thread. So a second
 * instance records these events of all threads, and the composer takes from it those that belong
 * to operations of the session.
 */
#ifndef AT_FTRACE_H
#define AT_FTRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct at_compose;
struct ftrace;

/**
 * struct ftrace_options - options of an instance
 * @clock: enum asynctrace_clock: clock of the session's records
 * @buffer: bytes of each CPU's buffer
 * @keep_last: a full buffer overwrites its oldest events; else it drops new ones
 * @all: records events of every task. If false, records only tasks that ftrace_watch() names,
 *	and the threads and processes that these create
 */
struct ftrace_options {
	uint32_t clock;
	uint64_t buffer;
	bool keep_last;
	bool all;
};

#define FTRACE_LISTS_MAX	32

/* A field of this name has ids of operations, if the command line names no other field. */
#define FTRACE_OPERATION_FIELD	"asynctrace_operation"

/**
 * struct ftrace_element - an element of a list: SYSTEM:EVENT/operation=FIELD/
 * @text: the element, followed by other text
 * @len: bytes of the element
 * @system: name or pattern of the system
 * @system_len: bytes of @system
 * @event: name or pattern of the event; "*" if the element has none
 * @event_len: bytes of @event
 * @field: name of the field that has ids of operations
 * @field_len: bytes of @field; 0: the element names no field
 */
struct ftrace_element {
	const char *text;
	size_t len;
	const char *system;
	size_t system_len;
	const char *event;
	size_t event_len;
	const char *field;
	size_t field_len;
};

/*
 * Parses the element at the beginning of @text. Returns false, without a message, if it is wrong.
 * Only .text and .len of @e are valid then.
 */
bool ftrace_element(struct ftrace_element *e, const char *text);
/* Returns what follows an element in its list: the next one, or "". */
static inline const char *ftrace_next(const struct ftrace_element *e)
{
	return e->text + e->len + (e->text[e->len] == ',');
}

/**
 * struct ftrace_lists - the tracepoints that the command line asks for
 * @events: lists as ftrace_add_events() takes them
 * @sets: name of the set that a list stands for; NULL: none. Not every kernel has all tracepoints
 *	of a set, so elements of it without tracepoints are left out
 * @nr: number of lists
 */
struct ftrace_lists {
	const char *events[FTRACE_LISTS_MAX];
	const char *sets[FTRACE_LISTS_MAX];
	size_t nr;
};

/*
 * Adds a list of tracepoints, SYSTEM:EVENT, separated by commas. Each part is a name, or a prefix
 * and a final '*'. Without ":EVENT", an element means all events of the system.
 * "/operation=FIELD/" may follow. Returns false, after a message, if the list is wrong.
 */
bool ftrace_add_events(struct ftrace_lists *l, char *text);
/*
 * Adds sets of tracepoints by their names, as in "block,irq". Returns false, after a message, if a
 * name is unknown.
 */
bool ftrace_add_sets(struct ftrace_lists *l, char *text);

#ifdef HAVE_TRACEFS

/*
 * Returns false, after a message, if the kernel has no tracepoint of one of the names or sets.
 * Returns true if the caller may not read the names of tracepoints.
 */
bool ftrace_lists_exist(const struct ftrace_lists *l);
/*
 * Makes the instance and enables the events, without recording yet. Returns 0 or a negative
 * errno, after a message.
 */
int ftrace_open(struct ftrace **f, const struct ftrace_lists *l, const struct ftrace_options *o);
/* Record events of all threads of the process. A process that has ended is no error. */
int ftrace_watch(struct ftrace *f, pid_t pid);
/* Both return 0 or a negative errno, after a message. */
int ftrace_start(struct ftrace *f);
int ftrace_stop(struct ftrace *f);
/* Reads what the buffers have into the queue. Returns 0 or a negative errno, after a message. */
int ftrace_read(struct ftrace *f);
/*
 * Composes the events of the queue whose times are known already. The composer must have all
 * processes of the session. Returns 0, or the first error of the composer or of ftrace_on_cpu()'s
 * function.
 */
int ftrace_compose(struct ftrace *f, struct at_compose *c);
/* Calls @fn with the CPU before each event that is composed. An error of @fn is the result. */
void ftrace_on_cpu(struct ftrace *f, int (*fn)(void *arg, uint32_t cpu), void *arg);
/*
 * Returns true if the queue is a quarter full. The caller should then call ftrace_compose(), even
 * if the composer does not know all processes yet.
 */
bool ftrace_is_crowded(const struct ftrace *f);
/* Accounts for lost events. Call this after the last ftrace_read() and ftrace_compose(). */
int ftrace_finish(struct ftrace *f, struct at_compose *c);
/* Removes the instance. NULL has no effect. */
void ftrace_close(struct ftrace *f);

#else

/* Without libtracefs, main() rejects the options that would call these functions. */
static inline int ftrace_open(struct ftrace **f, const struct ftrace_lists *l,
			      const struct ftrace_options *o)
{
	(void)f, (void)l, (void)o;
	return -1;
}

static inline bool ftrace_lists_exist(const struct ftrace_lists *l)
{
	(void)l;
	return true;
}

static inline int ftrace_watch(struct ftrace *f, pid_t pid)
{
	(void)f, (void)pid;
	return 0;
}

static inline int ftrace_start(struct ftrace *f)
{
	(void)f;
	return 0;
}

static inline int ftrace_stop(struct ftrace *f)
{
	(void)f;
	return 0;
}

static inline int ftrace_read(struct ftrace *f)
{
	(void)f;
	return 0;
}

static inline int ftrace_compose(struct ftrace *f, struct at_compose *c)
{
	(void)f, (void)c;
	return 0;
}

static inline void ftrace_on_cpu(struct ftrace *f, int (*fn)(void *arg, uint32_t cpu), void *arg)
{
	(void)f, (void)fn, (void)arg;
}

static inline bool ftrace_is_crowded(const struct ftrace *f)
{
	(void)f;
	return false;
}

static inline int ftrace_finish(struct ftrace *f, struct at_compose *c)
{
	(void)f, (void)c;
	return 0;
}

static inline void ftrace_close(struct ftrace *f)
{
	(void)f;
}

#endif /* HAVE_TRACEFS */

#endif /* AT_FTRACE_H */
