/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Open async operations. asynctrace validate and the analysis use this table, so that both pair
 * begins and ends by the same rule, which is Perfetto's:
 *
 * - A begin opens an operation, even if one with the same id, category and name is open.
 * - An end ends the newest open operation with the same id, category and name.
 * - An instant belongs to the open operations with its id, of any category and name.
 *
 * asynctrace makes ids unique among processes. If another program wrote the file, operations of two
 * processes may have the same id, so the process counts, too.
 */
#ifndef FXT_ASYNCS_H
#define FXT_ASYNCS_H

#include "fxt.h"
#include "table.h"

/* The part of an operation that the table needs. The caller allocates it. */
struct fxt_async {
	uint64_t key, id;	/* set by the caller, by fxt_async_key() and fxt_async_id() */
	struct fxt_async *same_key, *same_key_newer;	/* open operations with the same key,
							   begun before and after */
	struct fxt_async *same_id, *same_id_newer;	/* open operations with the same id,
							   begun before and after */
};

/* A table filled with zeros is valid and empty. */
struct fxt_asyncs {
	struct fxt_table by_key, by_id;	/* .a newest struct fxt_async */
	bool introduced;	/* the first provider of the file is known */
	bool foreign;		/* it is not one of asynctrace */
};

/* Notes which program wrote the file. @rec introduces a provider. */
void fxt_asyncs_provider(struct fxt_asyncs *t, const struct fxt_record *rec);
/* Returns the id of an operation of the process @pid, which no other process uses. */
uint64_t fxt_async_id(const struct fxt_asyncs *t, uint64_t id, uint32_t pid);

/*
 * Returns the key of an operation. @id is from fxt_async_id(), @category and @name are numbers from
 * names.h.
 */
uint64_t fxt_async_key(uint64_t id, uint32_t category, uint32_t name);
/* Adds @async, which begins. Returns 0 or -ENOMEM. */
int fxt_async_begin(struct fxt_asyncs *t, struct fxt_async *async);
/* Returns the open operation that an end with the key @key ends, or NULL. */
struct fxt_async *fxt_async_ended(const struct fxt_asyncs *t, uint64_t key);
/*
 * Returns the newest open operation with the id @id of fxt_async_id(), or NULL; .same_id links the
 * older ones.
 */
struct fxt_async *fxt_async_newest(const struct fxt_asyncs *t, uint64_t id);
/* Removes @async, which ends. */
void fxt_async_end(struct fxt_asyncs *t, struct fxt_async *async);
/* Frees the table, but not its operations. */
void fxt_asyncs_free(struct fxt_asyncs *t);

#endif /* FXT_ASYNCS_H */
