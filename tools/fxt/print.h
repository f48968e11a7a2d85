/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text of traces on a terminal and in JSON. */
#ifndef FXT_PRINT_H
#define FXT_PRINT_H

#include <stdio.h>

#include "fxt.h"

/* In quotes; the bytes of control characters, and those of no character, escaped as in C */
void fxt_print_text(FILE *f, const struct fxt_text *t);
/* What a breach or finding tells, where names stand in quotes as they are: escaped, too */
void fxt_print_detail(FILE *f, const char *detail);
/* A JSON string; bytes that are not UTF-8 become U+FFFD, control characters are escaped */
void fxt_print_json(FILE *f, const struct fxt_text *t);
/* A member of a JSON object: "key":"text" */
void fxt_print_json_member(FILE *f, const char *key, const char *text);
/* A record as one line */
void fxt_print_record(FILE *f, const struct fxt_record *rec);
/* @offset: also where in the file it is */
void fxt_print_record_json(FILE *f, const struct fxt_record *rec, bool offset);

#endif /* FXT_PRINT_H */
