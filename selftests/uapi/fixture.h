/* SPDX-License-Identifier: GPL-2.0 */
/*
 * States before an operation of which each allocation fails: a provider and a session,
 * in the states that make a difference. A user without rights owns all of it, so that
 * all of it is charged to that user.
 */
#ifndef SELFTESTS_FIXTURE_H
#define SELFTESTS_FIXTURE_H

#include "raw.h"

#define STRIDE	(64 * 1024)

/*
 * One socket for what is prepared, one for what fails: a dump that failed keeps its
 * socket busy.
 */
extern struct raw_nl ctl, nl;
/* The provider that is mapped, as the library does it. Its descriptor: -1, without one. */
extern struct raw_provider p;
/* The device, opened by itself, or -1; and its cookie, where that was asked for. */
extern int fd;
extern uint64_t cookie;
/* The session. It ends with @ctl, but for one that is detached. */
extern int session;

/* Gives up root's rights, if it has them, and returns a socket that only looks. */
struct raw_nl *be_nobody(void);

/* --- states, each made of the one before ---------------------------------------- */

void nothing(void);

void opened(void);
void greeted(void);
void greeted_while_one_runs(void);
void registered(void);

void provided(void);
void ready(void);
void ready_circular(void);
void ready_detached(void);
void initialized_as(uint32_t mode);
void initialized(void);
void started_as(uint32_t mode);
void started(void);

/* Of all of them. */
void clean(void);

/* --- parts of them ----------------------------------------------------------------- */

/* A session of one's own: its id, or a negative errno. */
int make(uint32_t mode, uint32_t flags, uint32_t sched);
int init_and_start(int id);
/* The provider puts a name of two words, as the library does. */
void put_name(void);

/* --- what is so of them -------------------------------------------------------------- */

/* Events that have arrived at a subscriber, and those that are said to be lost. */
unsigned int events_told(struct raw_nl *by);

#endif /* SELFTESTS_FIXTURE_H */
