/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A session of a back end, with a reader that recognises numbered events
 *
 * run_module.c drives sessions of the module, inprocess/run_inprocess.c traces of this
 * process. A program links one of them. On failure the functions end the program.
 */
#ifndef RUN_H
#define RUN_H

#include <asynctrace/provider.h>
#include <asynctrace/session.h>

#include "common.h"
#include "numbered.h"
#include "reader.h"

struct run {
	struct at_ctl *ctl;	/* of the module's back end */
	uint32_t id;
	struct rd rd;
	struct nu_seen seen;
};

/**
 * struct run_options - a session
 * @name: of the session
 * @flags: enum asynctrace_session_flags
 * @provider: pattern; NULL: all providers
 * @reads: the in-process back end reads in a thread of the library
 * @boottime: the in-process back end stamps with CLOCK_BOOTTIME
 * @no_cpu_rings: the in-process back end has only the fallback ring
 */
struct run_options {
	const char *name;
	uint32_t mode;
	uint32_t sched;
	uint32_t flags;
	uint64_t ring_size;
	uint64_t sub_size;
	const char *provider;
	bool reads;
	bool boottime;
	bool no_cpu_rings;
};

/* --- both back ends ------------------------------------------------------------- */

/* Creates and initializes a session and opens its reader. */
void run_open(struct run *run, struct at_ctl *ctl, const struct run_options *opts);
void run_start(struct run *run);
void run_stop(struct run *run);
/* Reads up to @max chunks. The in-process back end reads all available records instead. */
void run_read(struct run *run, unsigned int max);
/* Reads until nothing is left. */
void run_drain(struct run *run);
void run_terminate(struct run *run);
/* Frees what was read. The session must be terminated. */
void run_close(struct run *run);
/* Fails the test for each fault that the reader found. */
void run_check(const struct run *run);
/* Returns delivered + overwritten + cleared + dropped of all rings of events. */
uint64_t run_total(const struct run *run);
/*
 * Returns what run_total() would return if the session ended now. The module's back end reads all
 * available chunks for this.
 */
uint64_t run_attempted(struct run *run);
/* Has a ring of events lost a record, or will it when it is read? */
bool run_has_lost(struct run *run, uint64_t ring_size);
/* Do events of this session take the fallback ring? */
bool run_uses_fallback(const struct run *run);
/*
 * Runs @fn in the traced process. The module's back end forks a child, which is the provider @name
 * and exits after @fn; returns its pid. The in-process back end starts a thread; returns 0.
 */
pid_t run_tracing(const char *name, void (*fn)(void));
/*
 * Frees the fallback ring's lock, which a killed writer may hold. Call this after writers were
 * killed.
 */
void run_forget_killed(void);
/* Waits for the end of @fn, and checks that the child exited with 0. */
void run_join(pid_t pid);

/* --- the module's back end ------------------------------------------------------- */

/* Starts the session with a disposition, enum asynctrace_disposition. */
void run_start_with(struct run *run, uint32_t disposition);
/* Forks a provider that runs until its @threads threads return from @fn, given 0, 1, ... */
pid_t fork_provider(const struct at_provider_options *opts, unsigned int threads,
		    void *(*fn)(void *number));
/* Must events take the fallback ring? True if there is no rseq, or the clock is no CPU counter. */
bool fallback_expected(struct at_ctl *ctl);

#endif /* RUN_H */
