/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The accounting invariant under load: written = delivered + overwritten + dropped
 */
#ifndef LAW_H
#define LAW_H

#include "run.h"

enum law_reading { AT_END, MEANWHILE, SLOWLY };

/**
 * struct law - a test of the accounting invariant
 * @name: of the test
 * @reading: when the test reads the session
 * @run: the session; its rings are too small for what is written
 * @threads: number of writers, at most LAW_THREADS
 * @handlers: signal handlers write, too
 * @keeps_up: the reader may be so fast that nothing is lost
 * @extra: NULL, or what a back end checks besides
 */
struct law {
	const char *name;
	enum law_reading reading;
	struct run_options run;
	unsigned int threads;
	bool handlers;
	bool keeps_up;
	const struct law_extra *extra;
};

/**
 * struct law_extra - what a back end checks besides
 * @started: called before the session starts
 * @written: called when no thread writes any more, before the session stops
 * @read: called when the session is stopped and read to its end
 */
struct law_extra {
	void (*started)(struct run *run);
	void (*written)(struct run *run);
	void (*read)(struct run *run);
};

#define LAW_THREADS	8
/* The provider of the module's sessions. */
#define LAW_PROVIDER	"law"

/*
 * Prepares the tests; called once, before the first test. @events: least number of events of each
 * thread
 */
void law_init(struct at_ctl *ctl, uint32_t events);
void law_test(const struct law *law);

#endif /* LAW_H */
