/* SPDX-License-Identifier: GPL-2.0 */
/* The contents of Perfetto's tests of Fuchsia traces */
#ifndef FORMAT_PERFETTO_H
#define FORMAT_PERFETTO_H

#include "stream.h"

/*
 * Gives @s the events and switches of the tables that Perfetto's tests expect of Fuchsia's traces
 * (test/trace_processor/diff_tests/parser/fuchsia). Prints each expected row as a line: the name of
 * the table and the values, separated by tabs.
 */
void tables(struct stream *s);

#endif /* FORMAT_PERFETTO_H */
