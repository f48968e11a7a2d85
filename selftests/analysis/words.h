/* SPDX-License-Identifier: GPL-2.0 */
/* Records of a trace as the words of a file */
#ifndef ANALYSIS_WORDS_H
#define ANALYSIS_WORDS_H

#include "build.h"
#include "fxt/check.h"

struct words {
	uint64_t *of;
	size_t nr, room;
	uint32_t section;
	uint64_t events, switches, wakeups;	/* numbers of records of rings */
};

/* Returns room for @nr more words. */
uint64_t *more_words(struct words *w, size_t nr);
/* Puts the magic, tables of strings, the kernel and the provider "server". */
void put_head(struct words *w);
void put_process(struct words *w, uint32_t pid, const char *name);
void put_record(struct words *w, const struct fxt_record *rec);
/* Returns a whole file. */
struct words words_of(const struct trace *t);
/* Counts the rings' records in @w. */
void count_words(struct words *w);
/* Checks the file @w by the rules of the format. fxt_check_free() frees the result. */
struct fxt_check *check_of(const struct words *w);

#endif /* ANALYSIS_WORDS_H */
