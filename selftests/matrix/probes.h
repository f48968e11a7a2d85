/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A probe in a function that several files compile. In C++, the linker merges the copies, which are
 * in a section group.
 */
#ifndef PROBES_H
#define PROBES_H

#include <asynctrace/probe.h>

#ifdef __cplusplus
template <typename T> inline void shared_probe(uint64_t id, T value)
#else
static inline void shared_probe(uint64_t id, short value)
#endif
{
	TRACE_PROBE(matrix, shared__probe, id, value);
}

#ifdef __cplusplus
extern "C" {
#endif

/* Defined in probes_other.c and, as a shared object, in probes_library.c */
void other_probes(uint64_t id, const char *text);
void library_probes(uint64_t id, const char *text);

#ifdef __cplusplus
}
#endif

#endif /* PROBES_H */
