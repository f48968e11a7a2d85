/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints snapshots without a screen, as text or JSON. */
#ifndef TOP_PLAIN_H
#define TOP_PLAIN_H

#include "view.h"

/* Prints text and an empty line. view_apply() must have filled @v. */
void plain_text(FILE *f, const struct snapshot *s, const struct view *v, const char *source);
/* Prints one object and a newline. */
void plain_json(FILE *f, const struct snapshot *s, const struct view *v, const char *source);

#endif /* TOP_PLAIN_H */
