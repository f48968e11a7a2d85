/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A session that records a test case, and the accounting of each process in it
 */
#ifndef LEDGER_H
#define LEDGER_H

#include "run.h"

struct ledger {
	struct at_ctl *ctl;
	uint32_t id;
	struct rd rd;
};

/* Creates and starts the session. Ends the program on failure. */
void ledger_open(struct ledger *l, struct at_ctl *ctl, const struct at_session_options *opts);
/* Ends the session and reads everything. Malformed data fails the test. */
void ledger_end(struct ledger *l);
/* Returns sums over all registrations of a process. */
struct rd_ring ledger_of(const struct ledger *l, pid_t pid);
void ledger_close(struct ledger *l);

#endif /* LEDGER_H */
