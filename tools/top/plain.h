/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Snapshots without a screen: as text, and as JSON */
#ifndef TOP_PLAIN_H
#define TOP_PLAIN_H

#include "view.h"

/* Text, ended by an empty line. @v is applied. */
void plain_text(FILE *f, const struct snapshot *s, const struct view *v, const char *source);
/* One object and a newline */
void plain_json(FILE *f, const struct snapshot *s, const struct view *v, const char *source);

#endif /* TOP_PLAIN_H */
