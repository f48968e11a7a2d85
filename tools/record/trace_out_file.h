/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of a trace, for the parts of trace_out */
#ifndef AT_TRACE_OUT_FILE_H
#define AT_TRACE_OUT_FILE_H

#include <sys/types.h>

#include "record/trace_out.h"

/* These functions return 0, or a negative errno after a message, unless stated otherwise. */

/* Opens the file of @o->number. */
int trace_out_open_file(struct trace_out *o);
/* Closes the file of @old, which @o has replaced, and removes files beyond @o->keep. */
int trace_out_leave(struct trace_out *o, struct trace_out *old);
/* Closes the file. Returns 0 or a negative errno, without a message. */
int trace_out_close_file(struct trace_out *o);
/* A write function: writes to the present file of @arg, a struct trace_out. */
ssize_t trace_out_write(void *arg, const void *buf, size_t len);
/* Reports that the file cannot be written. Returns @err. */
int trace_out_cannot(const struct trace_out *o, int err);

#endif /* AT_TRACE_OUT_FILE_H */
