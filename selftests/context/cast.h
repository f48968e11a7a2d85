/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Listeners that write their calls to a journal, and child processes
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

/* Appends a blank and these words to the journal. */
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);
/* Clears the journal. Returns true if it was @text; otherwise prints it. */
#define said(text) said_(text, __LINE__)
bool said_(const char *text, int line);

/*
 * Makes a listener whose callbacks write to the journal: "cV" for create(), "bV" for before(), "aV"
 * for after(), "eV" for error() and "dV" for destroy(), where V is the value, at first @name.
 * error() returns @handles; the listener of listener() handles nothing.
 */
struct at_listener *listener(const char *name, uint32_t providers);
struct at_listener *handler(const char *name, uint32_t providers, bool handles);
/* Makes a listener with these callbacks. */
struct at_listener *listener_of(struct at_listener_options o, void *data, uint32_t providers);

/* The callbacks of listener() */
extern const struct at_listener_options says;
bool says_handled(void *object, void *value, const struct at_error *error, bool handled);

/* Makes a context, enters and leaves it, and destroys it. */
void live(uint32_t provider);
int nothing(void *unused);

/*
 * Runs @fn in a child process. Returns its exit status; -1 if it was killed. Copies its standard
 * error to @text.
 */
int in_child_process(void (*fn)(void), char *text, size_t room);

#endif /* CAST_H */
