// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of open async operations */
#include <errno.h>

#include "asyncs.h"

void fxt_asyncs_provider(struct fxt_asyncs *t, const struct fxt_record *rec)
{
	if (!t->introduced)
		t->foreign = !fxt_is_own(rec);
	t->introduced = true;
}

uint64_t fxt_async_id(const struct fxt_asyncs *t, uint64_t id, uint32_t pid)
{
	return t->foreign ? fxt_hash(id, pid) : id;
}

uint64_t fxt_async_key(uint64_t id, uint32_t category, uint32_t name)
{
	return fxt_hash(fxt_hash(id, category), name);
}

static struct fxt_async *async_of(const struct fxt_entry *e)
{
	return e ? (struct fxt_async *)(uintptr_t)e->a : NULL;
}

struct fxt_async *fxt_async_ended(const struct fxt_asyncs *t, uint64_t key)
{
	return async_of(fxt_find(&t->by_key, key));
}

struct fxt_async *fxt_async_newest(const struct fxt_asyncs *t, uint64_t id)
{
	return async_of(fxt_find(&t->by_id, fxt_hash(id, 0)));
}

int fxt_async_begin(struct fxt_asyncs *t, struct fxt_async *async)
{
	struct fxt_entry *key = fxt_make(&t->by_key, async->key);
	struct fxt_entry *id = fxt_make(&t->by_id, fxt_hash(async->id, 0));

	if (!key || !id)
		return -ENOMEM;
	async->same_key = async_of(key);
	async->same_id = async_of(id);
	async->same_key_newer = async->same_id_newer = NULL;
	if (async->same_key)
		async->same_key->same_key_newer = async;
	if (async->same_id)
		async->same_id->same_id_newer = async;
	key->a = (uintptr_t)async;
	id->a = (uintptr_t)async;
	return 0;
}

/* Makes @older the newest operation of the entry @key of @t. @older NULL: removes the entry */
static void set_newest(struct fxt_table *t, uint64_t key, struct fxt_async *older)
{
	struct fxt_entry *e = fxt_find(t, key);

	if (older)
		e->a = (uintptr_t)older;
	else
		fxt_remove(t, e);
}

void fxt_async_end(struct fxt_asyncs *t, struct fxt_async *async)
{
	if (async->same_key)
		async->same_key->same_key_newer = async->same_key_newer;
	if (async->same_key_newer)
		async->same_key_newer->same_key = async->same_key;
	else
		set_newest(&t->by_key, async->key, async->same_key);
	if (async->same_id)
		async->same_id->same_id_newer = async->same_id_newer;
	if (async->same_id_newer)
		async->same_id_newer->same_id = async->same_id;
	else
		set_newest(&t->by_id, fxt_hash(async->id, 0), async->same_id);
}

void fxt_asyncs_free(struct fxt_asyncs *t)
{
	fxt_table_free(&t->by_key);
	fxt_table_free(&t->by_id);
}
