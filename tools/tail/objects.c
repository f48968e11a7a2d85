// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of threads and processes. The recorder names each once, before its first use. That use
 * may be filtered out, so the last name of each is kept here until the file uses it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "priv.h"

#define OTHER_PROCESS	0x70000002u	/* ATC_KOID_OTHER: tasks that the owner may not see */

struct object {
	uint32_t pid;		/* process of a thread */
	bool told;		/* the file has this name */
	bool used;		/* the file uses it */
	uint16_t words;
	uint64_t of[];
};

static uint64_t key_of(uint32_t id, bool is_thread)
{
	return (uint64_t)id << 2 | (is_thread ? 3 : 1);
}

static struct object *find(const struct tail *t, uint32_t id, bool is_thread)
{
	struct fxt_entry *e = fxt_find(&t->objects, key_of(id, is_thread));

	return e ? (struct object *)(uintptr_t)e->a : NULL;
}

static void tell(struct tail *t, struct object *o)
{
	o->told = true;
	emit_section(t, KERNEL_PROVIDER);
	out_put(t, o->of, o->words, NULL);
}

/*
 * Uses the process @pid and its main thread, because a viewer makes a thread of the same id for
 * a process object.
 */
static void use_process(struct tail *t, uint32_t pid)
{
	struct object *process = find(t, pid, false), *main = find(t, pid, true);

	if (!process)
		return;
	process->used = true;
	if (!process->told)
		tell(t, process);
	if (!main)
		return;
	main->used = true;
	if (!main->told)
		tell(t, main);
}

void objects_use(struct tail *t, uint32_t tid)
{
	struct object *o = tid ? find(t, tid, true) : NULL;
	struct fxt_entry *e;

	if (o) {
		o->used = true;
		if (o->told)
			return;
		use_process(t, o->pid);
		if (!o->told)
			tell(t, o);
		return;
	}
	/*
	 * The recorder names this thread only at the end of the trace. Note that the file uses the
	 * thread, so that objects_take() writes the name then. Without memory for this note, the
	 * thread stays without a name.
	 */
	e = tid ? fxt_make(&t->objects, key_of(tid, true)) : NULL;
	o = e ? calloc(1, sizeof(*o)) : NULL;
	if (!o)
		return;
	o->used = true;
	o->told = true;
	e->a = (uintptr_t)o;
}

static int put(struct tail *t, uint32_t id, uint32_t pid, bool is_thread, const uint64_t *words,
	       size_t nr)
{
	struct fxt_entry *e = fxt_make(&t->objects, key_of(id, is_thread));
	struct object *old = e ? (struct object *)(uintptr_t)e->a : NULL, *o;

	if (old && old->words == nr && !memcmp(old->of, words, nr * 8))
		return 0;
	o = e ? malloc(sizeof(*o) + nr * 8) : NULL;
	if (!o)
		return -ENOMEM;
	*o = (struct object){ .pid = pid, .words = nr, .used = old && old->used };
	memcpy(o->of, words, nr * 8);
	e->a = (uintptr_t)o;
	free(old);
	if (!o->used)
		return 0;
	if (is_thread)
		objects_use(t, id);
	else
		use_process(t, id);
	return 0;
}

int objects_take(struct tail *t, const struct tail_entry *e, const uint64_t *words)
{
	if (e->type != ASYNCTRACE_FXT_OBJ_THREAD && e->type != ASYNCTRACE_FXT_OBJ_PROCESS)
		return 0;
	return put(t, e->tid, e->other, e->type == ASYNCTRACE_FXT_OBJ_THREAD, words, e->words);
}

static int put_other(struct tail *t, uint32_t id, uint32_t pid)
{
	uint64_t w[8];

	if (find(t, id, pid))
		return 0;
	return put(t, id, pid, pid, w, encode_object(w, id, pid, "other"));
}

int objects_use_other(struct tail *t, uint32_t tid)
{
	int err = put_other(t, OTHER_PROCESS, 0);

	if (!err)
		err = put_other(t, OTHER_PROCESS, OTHER_PROCESS);
	if (!err)
		err = put_other(t, tid, OTHER_PROCESS);
	if (!err)
		objects_use(t, tid);
	return err;
}

void objects_free(struct tail *t)
{
	fxt_each(&t->objects, e)
		free((struct object *)(uintptr_t)e->a);
	fxt_table_free(&t->objects);
}
