/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses the types and times by which a user chooses operations. */
#ifndef REPORT_CHOOSE_H
#define REPORT_CHOOSE_H

#include "analysis/analysis.h"

/* True if @type, such as "request", "http/request" or "*", matches @id. */
bool choose_type(const char *type, const struct analysis_id *id);
/* Parses a time such as "50ms" or "1.5s". Returns false if @text is not a time. */
bool choose_time(const char *text, uint64_t *ns);

#endif /* REPORT_CHOOSE_H */
