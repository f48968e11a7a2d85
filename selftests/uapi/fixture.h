/* SPDX-License-Identifier: GPL-2.0 */
/*
 * States of a provider and a session before an operation whose allocations fail
 *
 * A user without rights owns everything, so that everything is charged to that user.
 */
#ifndef SELFTESTS_FIXTURE_H
#define SELFTESTS_FIXTURE_H

#include "raw.h"

#define STRIDE	(64 * 1024)

/*
 * One socket for preparations, one for the operations that fail: a dump that failed leaves its
 * socket busy.
 */
extern struct raw_nl ctl, nl;
/* The provider, mapped as the library does it. Its descriptor is -1 if there is none. */
extern struct raw_provider p;
/* A descriptor of the device without mappings, or -1, and its cookie if a state asked for it */
extern int fd;
extern uint64_t cookie;
/* The session. It ends with @ctl unless it is detached. */
extern int session;

/* Gives up root's rights, if the process has them, and returns a socket that only queries. */
struct raw_nl *be_nobody(void);

/* --- states; most functions bring about another state first ---------------------- */

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

/* Ends the session and the provider, in any of the states. */
void clean(void);

/* --- steps of the states --------------------------------------------------------------- */

/* Creates a session. Returns its id or a negative errno. */
int make(uint32_t mode, uint32_t flags, uint32_t sched);
int init_and_start(int id);
/* Interns a name, a record of two words, in the provider's durable ring, as the library does. */
void put_name(void);

/* --- checks ----------------------------------------------------------------------------- */

/* Returns the number of notifications that arrived at a subscriber or were reported lost. */
unsigned int events_told(struct raw_nl *by);

#endif /* SELFTESTS_FIXTURE_H */
