/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Listeners that write down what they are told, in order, and child processes
 */
#ifndef CAST_H
#define CAST_H

#include <stdbool.h>
#include <stddef.h>

#include <asynctrace/listener.h>

#include "tape.h"

#define TIMER	ASYNCTRACE_ASYNC_TIMER
#define TCP	ASYNCTRACE_ASYNC_TCP
#define FS	ASYNCTRACE_ASYNC_FS
#define ALL	ASYNCTRACE_ASYNC_ALL
#define TICK	ASYNCTRACE_ASYNC_NEXTTICK

/* Adds words to the journal, with a blank before them. */
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);
/* Is the journal @text? Says what it is, otherwise. Clears it. */
#define said(text) said_(text, __LINE__)
bool said_(const char *text, int line);

/*
 * A listener whose callbacks say "cNAME" for create(), b for before(), a for after(), e for error()
 * and d for destroy(), with the value for NAME; the value at first is @name. error() returns
 * @handles. create() returns ASYNCTRACE_KEEP.
 */
struct at_listener *listener(const char *name, uint32_t providers);
struct at_listener *handler(const char *name, uint32_t providers, bool handles);
/* With callbacks of the caller's own */
struct at_listener *listener_of(struct at_listener_options o, void *data, uint32_t providers);

/* The callbacks of listener(), but for error(), which says that it has not handled it */
extern const struct at_listener_options says;
bool says_handled(void *object, void *value, const struct at_error *error, bool handled);

/* Makes a context, runs it once with nothing in it, and destroys it. */
void live(uint32_t provider);
int nothing(void *unused);

/*
 * Runs @fn in a child process and returns its exit status, -1 if it was killed. @text gets what it
 * wrote to stderr, and the journal is said on its stdout.
 */
int in_child_process(void (*fn)(void), char *text, size_t room);

#endif /* CAST_H */
