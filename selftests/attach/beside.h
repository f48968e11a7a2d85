/* SPDX-License-Identifier: GPL-2.0 */
/* Helpers of tests of in-process traces beside a session of the module */
#ifndef BESIDE_H
#define BESIDE_H

#include <stdbool.h>
#include <stdint.h>

#include <asynctrace/provider.h>
#include <asynctrace/session.h>

/* The connection to the module, opened by the test. */
extern struct at_ctl *ctl;

/* Makes an empty file in memory. */
int memory(void);
enum at_backend backend(void);

/**
 * struct counts - accounts of a session's rings of programs
 * @committed: records published
 * @dropped: records that found no room
 */
struct counts {
	uint64_t committed, dropped;
};

struct counts counts_of(uint32_t session);
/* Does the module record this process, according to at_provider_observe()? */
bool recorded(void);
/* Starts a one-shot session of all providers, and waits until it records this process. */
uint32_t start_session_of(const char *const *categories, uint32_t n, uint64_t ring_size);
uint32_t start_session(void);
void end_session(uint32_t id);
/* Checks that the session has @events records of programs and has dropped none. */
void expect_in_session(uint32_t id, uint64_t events);

#endif /* BESIDE_H */
