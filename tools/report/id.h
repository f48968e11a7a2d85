/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ids of operations as commands print and take them: 0x20000000028e, or the text of a key */
#ifndef REPORT_ID_H
#define REPORT_ID_H

#include "analysis/analysis.h"

#define ID_TEXT	24	/* bytes of an id that is a number */

/* The id's text: @number, or the text that the id is */
const char *id_text(const struct analysis_id *id, char number[ID_TEXT]);
/* True if @text, which a user gave, is the id */
bool id_is(const struct analysis_id *id, const char *text);
/* True if @text is a number */
bool id_parse(const char *text, uint64_t *id);

#endif /* REPORT_ID_H */
