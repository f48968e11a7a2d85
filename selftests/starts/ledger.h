/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A session around something that processes do, and what its ledger says of each
 */
#ifndef LEDGER_H
#define LEDGER_H

#include "run.h"

struct ledger {
	struct at_ctl *ctl;
	uint32_t id;
	struct rd rd;
};

/* Creates and starts the session. Bails out on failure. */
void ledger_open(struct ledger *l, struct at_ctl *ctl, const struct at_session_options *opts);
/* Ends it and reads all of it; what is malformed fails the test. */
void ledger_end(struct ledger *l);
/* Sums over all registrations of a process. */
struct rd_ring ledger_of(const struct ledger *l, pid_t pid);
void ledger_close(struct ledger *l);

#endif /* LEDGER_H */
