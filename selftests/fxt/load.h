/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FORMAT_LOAD_H
#define FORMAT_LOAD_H

#include "stream.h"

/*
 * A busy server: two processes with four threads each, which have a CPU each. An operation
 * has 50 events; every fourth one blocks a thread until a thread of the other process
 * wakes it. Gives @events / 50 operations to @s. Prints how many there are.
 */
void load(struct stream *s, uint64_t events);

#endif /* FORMAT_LOAD_H */
