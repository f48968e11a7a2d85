/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Explains why an operation took so long, as text and as JSON. */
#ifndef REPORT_EXPLAIN_H
#define REPORT_EXPLAIN_H

#include <stdio.h>

#include "analysis/analysis.h"

struct joined;

/* Prints one sentence and a newline. */
void explain_sentence(FILE *f, const struct analysis_operation *op);
/* Prints the last state of an operation that has not ended as a sentence and a newline. */
void explain_now(FILE *f, const struct analysis_operation *op);
/* As explain_now(), but for an operation that had not ended when the trace did. */
void explain_end(FILE *f, const struct analysis_operation *op);
/* Prints a line for each state, and for each other party in it. */
void explain_account(FILE *f, const struct analysis_operation *op);
/* Prints a line for each part of the critical path. */
void explain_path(FILE *f, const struct analysis_operation *op);
/*
 * Prints one object and a newline. @all: with intervals and critical path. @joined: events of the
 * kernel, of which those of the operation are printed; or NULL
 */
void explain_json(FILE *f, const struct analysis_operation *op, bool all,
		  const struct joined *joined);
/* Prints a heading, and a line for each event of the kernel that belongs to the operation. */
void explain_joined(FILE *f, const struct analysis_operation *op, const struct joined *joined);

#endif /* REPORT_EXPLAIN_H */
