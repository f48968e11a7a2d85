/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses the types and times by which a user chooses operations. */
#ifndef REPORT_CHOOSE_H
#define REPORT_CHOOSE_H

#include "analysis/analysis.h"

/* True if @type, such as "request", "http/request" or "*", matches @id. */
bool choose_type(const char *type, const struct analysis_id *id);
/* Times are below this one. */
#define CHOOSE_TIME_LIMIT	"1000000000s"
/*
 * Parses a time such as "50ms" or "1.5s", from 0ns to below CHOOSE_TIME_LIMIT. Returns false if
 * @text is not such a time.
 */
bool choose_time(const char *text, uint64_t *ns);

#endif /* REPORT_CHOOSE_H */
