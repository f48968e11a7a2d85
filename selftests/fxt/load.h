/* SPDX-License-Identifier: GPL-2.0 */
/* The records of a busy server with two processes */
#ifndef FORMAT_LOAD_H
#define FORMAT_LOAD_H

#include "stream.h"

/*
 * Gives @events / 50 operations of a busy server to @s: two processes with four threads each. Each
 * thread has its own CPU. An operation has 50 events. One operation in four blocks a thread until
 * a thread of the other process wakes it. Prints the number of operations.
 */
void load(struct stream *s, uint64_t events);

#endif /* FORMAT_LOAD_H */
