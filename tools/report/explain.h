/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Explains why an operation took so long, as text and as JSON. */
#ifndef REPORT_EXPLAIN_H
#define REPORT_EXPLAIN_H

#include <stdio.h>

#include "analysis/analysis.h"

/* Prints one sentence and a newline. */
void explain_sentence(FILE *f, const struct analysis_operation *op);
/* Prints the last state of an operation that has not ended as a sentence and a newline. */
void explain_now(FILE *f, const struct analysis_operation *op);
/* Prints a line for each state, and for each other party in it. */
void explain_account(FILE *f, const struct analysis_operation *op);
/* Prints a line for each part of the critical path. */
void explain_path(FILE *f, const struct analysis_operation *op);
/* Prints one object and a newline. @all: with intervals and critical path */
void explain_json(FILE *f, const struct analysis_operation *op, bool all);

#endif /* REPORT_EXPLAIN_H */
