/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Choice of operations by a user: types and times */
#ifndef REPORT_CHOOSE_H
#define REPORT_CHOOSE_H

#include "analysis/analysis.h"

/* True if @type, "request" or "http/request" or "*", means operations like @id. */
bool choose_type(const char *type, const struct analysis_id *id);
/* Read "50ms" or "1.5s". False if it is no time. */
bool choose_time(const char *text, uint64_t *ns);

#endif /* REPORT_CHOOSE_H */
