/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Encodes records without tables: names and threads are inline. */
#ifndef TAIL_ENCODE_H
#define TAIL_ENCODE_H

#include "fxt/fxt.h"

/* Name of the argument that marks records whose neighbours were left out */
#define FILTERED	"asynctrace filtered"

/*
 * True if category and name of the event @rec fit into one record. Each has up to 32000 bytes,
 * and a record has at most ASYNCTRACE_FXT_WORDS_MAX words, so both may be too long together.
 */
bool encode_fits(const struct fxt_record *rec);
/*
 * Writes the event @rec to @w, which must have room for ASYNCTRACE_FXT_WORDS_MAX words.
 * Arguments that do not fit are left out, the last ones first, and *@trimmed grows by their
 * number. Returns the number of words, or 0 if encode_fits() is false.
 */
size_t encode_event(uint64_t *w, const struct fxt_record *rec, uint64_t *trimmed);
/*
 * Adds the argument FILTERED to the async event of @words words at @w, which must have room for
 * ASYNCTRACE_FXT_WORDS_MAX words. Arguments that do not fit are left out. Returns the number of
 * words.
 */
size_t encode_apart(uint64_t *w, size_t words, uint64_t *trimmed);
/* Writes a process object, or a thread object if @pid is not 0. Returns the number of words. */
size_t encode_object(uint64_t *w, uint32_t id, uint32_t pid, const char *name);

/* Make arguments for records of the kernel's provider. */
struct fxt_arg encode_number(const char *name, uint64_t value);
struct fxt_arg encode_uint32(const char *name, uint32_t value);
struct fxt_arg encode_koid(const char *name, uint32_t id);
struct fxt_arg encode_flag(const char *name);
struct fxt_arg encode_text(const char *name, const char *text);
/* Writes one argument to @w. Returns the number of words. */
size_t encode_arg(uint64_t *w, const struct fxt_arg *arg);

#endif /* TAIL_ENCODE_H */
