/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records that need no tables: names and threads are in the record itself. */
#ifndef TAIL_ENCODE_H
#define TAIL_ENCODE_H

#include "fxt/fxt.h"

/* The argument of records around which others were left out */
#define FILTERED	"asynctrace filtered"

/*
 * True if category and name of the event @rec fit into a record together. Each has at most 32000
 * bytes, and so has a record.
 */
bool encode_fits(const struct fxt_record *rec);
/*
 * Write the event @rec to @w, which has room for ASYNCTRACE_FXT_WORDS_MAX words. Arguments that
 * do not fit are left out, from the last on, and *@trimmed grows by their number. Returns words;
 * 0 unless encode_fits()
 */
size_t encode_event(uint64_t *w, const struct fxt_record *rec, uint64_t *trimmed);
/*
 * Add the argument FILTERED to the async event of @words words at @w, which has room for
 * ASYNCTRACE_FXT_WORDS_MAX words. Arguments that do not fit beside it are left out. Returns words.
 */
size_t encode_apart(uint64_t *w, size_t words, uint64_t *trimmed);
/* A process object, or a thread object if @pid is not 0. */
size_t encode_object(uint64_t *w, uint32_t id, uint32_t pid, const char *name);

/* Arguments of records of the kernel's provider, whose name is in the argument */
struct fxt_arg encode_number(const char *name, uint64_t value);
struct fxt_arg encode_uint32(const char *name, uint32_t value);
struct fxt_arg encode_koid(const char *name, uint32_t id);
struct fxt_arg encode_flag(const char *name);
struct fxt_arg encode_text(const char *name, const char *text);
/* One argument at @w. Returns words. */
size_t encode_arg(uint64_t *w, const struct fxt_arg *arg);

#endif /* TAIL_ENCODE_H */
