/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why an operation took so long, as text and as JSON */
#ifndef REPORT_EXPLAIN_H
#define REPORT_EXPLAIN_H

#include <stdio.h>

#include "analysis/analysis.h"

/* One sentence, and a newline */
void explain_sentence(FILE *f, const struct analysis_operation *op);
/* The last state of an operation that has not ended, as a sentence and a newline */
void explain_now(FILE *f, const struct analysis_operation *op);
/* A line for each state and each other party in it */
void explain_account(FILE *f, const struct analysis_operation *op);
/* A line for each part of the critical path */
void explain_path(FILE *f, const struct analysis_operation *op);
/* One object, and a newline. @all: with intervals and critical path */
void explain_json(FILE *f, const struct analysis_operation *op, bool all);

#endif /* REPORT_EXPLAIN_H */
