/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints text and records of traces for terminals and as JSON. */
#ifndef FXT_PRINT_H
#define FXT_PRINT_H

#include <stdio.h>

#include "fxt.h"

/*
 * Prints @t in quotes. Bytes of control characters and malformed UTF-8 are escaped as in C,
 * because a terminal could obey them.
 */
void fxt_print_text(FILE *f, const struct fxt_text *t);
/*
 * Prints the detail of a breach. It may contain names from the trace, so control characters are
 * escaped here, too.
 */
void fxt_print_detail(FILE *f, const char *detail);
/* Prints a breach, without an end of line: "at byte OFFSET: TEXT (DETAIL)" */
void fxt_print_breach(FILE *f, enum fxt_rule rule, uint64_t offset, const char *detail);
/*
 * Prints a JSON string. Bytes that are not UTF-8 become U+FFFD, control characters are escaped.
 */
void fxt_print_json(FILE *f, const struct fxt_text *t);
/* Prints a member of a JSON object: "key":"text" */
void fxt_print_json_member(FILE *f, const char *key, const char *text);
/* Prints the value of an argument. */
void fxt_print_value(FILE *f, const struct fxt_arg *a);
/* Prints a record as one line. */
void fxt_print_record(FILE *f, const struct fxt_record *rec);
/* @offset: also print the record's offset in the file */
void fxt_print_record_json(FILE *f, const struct fxt_record *rec, bool offset);

#endif /* FXT_PRINT_H */
