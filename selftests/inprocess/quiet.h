/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A child that writes events of each kind and may neither make a system call nor allocate, for
 * tests of both back ends
 *
 * A seccomp filter kills it at any system call but exit. This is not seccomp's strict mode, because
 * that also forbids reading the processor's counter, as events do. A program that links this has
 * a malloc() that aborts in such a child.
 */
#ifndef QUIET_H
#define QUIET_H

#include <stdbool.h>
#include <stddef.h>

/* Number of kinds of events. One of them, or with the module two, are not written. */
extern const size_t quiet_kinds;

/*
 * Call this first. No function writes TRACE_KERNEL_OBJECT, which asks the kernel. @module: nor
 * TRACE_ALERT, which writes no record, but calls the module if the module records the process.
 */
void quiet_prepare(bool module);
/* Writes an event of each kind. */
void quiet_write_once(void);
/*
 * Forks a child that writes an event of each kind, so that their names are known, and then @n - 1
 * events of each kind without system calls. Waits for it; fails the test if it was killed.
 */
void quiet_child(long n);

#endif /* QUIET_H */
