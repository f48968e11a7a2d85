/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ids of operations as commands print and accept them: 0x20000000028e, or the text of a key */
#ifndef REPORT_ID_H
#define REPORT_ID_H

#include "analysis/analysis.h"

#define ID_TEXT	24	/* bytes of a number as text, with NUL */

/* Returns the id as text: in @number, or the key. */
const char *id_text(const struct analysis_id *id, char number[ID_TEXT]);
/* True if @text, which a user gave, denotes the id. */
bool id_is(const struct analysis_id *id, const char *text);
/* Parses a number. Returns false if @text is not one. */
bool id_parse(const char *text, uint64_t *id);

#endif /* REPORT_ID_H */
