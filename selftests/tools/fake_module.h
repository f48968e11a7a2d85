/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stands in for the module in tests that run the whole recorder: the functions of the library that
 * ask the module, for one session with one program.
 */
#ifndef SELFTESTS_FAKE_MODULE_H
#define SELFTESTS_FAKE_MODULE_H

#include <stdbool.h>

/* Events in a chunk */
#define FAKE_EVENTS	2000

/**
 * struct fake_module - what the module does
 * @chunks: number of chunks with events that the program writes; 0: there is no program
 * @refused: number of further programs, for whose rings there is no memory
 * @destroyed: another process destroys the session when the program has written them
 * @at_init: called when the session is initialised; NULL: no effect
 * @at_start: called when the session is started; NULL: no effect
 * @at_stop: called when the session is stopped; NULL: no effect
 */
struct fake_module {
	unsigned int chunks;
	unsigned int refused;
	bool destroyed;
	void (*at_init)(void);
	void (*at_start)(void);
	void (*at_stop)(void);
};

extern struct fake_module fake;

#endif /* SELFTESTS_FAKE_MODULE_H */
