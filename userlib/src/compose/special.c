// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Special records of providers: blobs and kernel objects.
 *
 * A provider must not write a blob of Perfetto packets. Viewers take such a blob for a trace of
 * its own, which can rename any process.
 *
 * If a kernel object names a process or a thread, the file's object gets the kernel's name, not the
 * provider's. The file's object has no type, and viewers ignore it, if the kernel has not reported
 * that process or thread, the thread is of another process, or the ids are of another pid
 * namespace.
 */
#include <string.h>

#include "args.h"
#include "times.h"

/* Words of a kernel object before its name: those of all records, its id, the writer's process */
#define OBJECT_WORDS	(ATC_HEAD_WORDS + 2)
/* Largest number of words by which the file's record of an object exceeds the provider's record */
#define OBJECT_GROWTH	(ASYNCTRACE_FXT_TEXT_WORDS(ATC_COMM_MAX) + 3)

/* The argument by which a thread object names its process */
#define PROCESS		"process"

static bool is_large(const uint64_t *w)
{
	return ASYNCTRACE_FXT_TYPE(w[0]) == ASYNCTRACE_FXT_LARGE;
}

static bool is_attachment(const uint64_t *w)
{
	return w[0] >> 40 == ASYNCTRACE_FXT_BLOB_ATTACHMENT;
}

/* --- checks --------------------------------------------------------------- */

/* Is the rest of the record a blob of @size bytes? */
static bool ends_in_blob(const struct atc_check *k, const uint64_t *w, size_t words, uint64_t size)
{
	return size <= ASYNCTRACE_FXT_BLOB_MAX &&
	       words == k->words + ASYNCTRACE_FXT_TEXT_WORDS(size) &&
	       atc_zero_padded(w + k->words, size);
}

static bool check_blob(const struct atc_provider *p, const uint64_t *w, size_t words,
		       struct atc_check *k)
{
	unsigned int type = w[0] >> 48;

	if ((type != ASYNCTRACE_FXT_BLOB_DATA && type != ASYNCTRACE_FXT_BLOB_LAST_BRANCH) ||
	    w[0] >> 47 & 1)
		return false;
	return atc_ref_check(p, w[0] >> 16 & 0xffff, w + k->words, words - k->words, k) &&
	       ends_in_blob(k, w, words, w[0] >> 32 & 0x7fff) &&
	       atc_fits(k, words);
}

static bool check_large(const struct atc_provider *p, const uint64_t *w, size_t words,
			struct atc_check *k)
{
	unsigned int nargs;
	uint64_t format;

	/* Reject other types and formats, and sizes above 4095 words. */
	if (w[0] >> 16 & ~(1ULL << 24) || words < ATC_HEAD_WORDS + 2)
		return false;
	format = w[k->words++];
	nargs = format >> 32;
	if (format >> 36 || (is_attachment(w) && nargs))
		return false;
	if (!atc_ref_check(p, format & 0xffff, w + k->words, words - k->words, k) ||
	    !atc_ref_check(p, format >> 16 & 0xffff, w + k->words, words - k->words, k) ||
	    !atc_args_check(p, nargs, w + k->words, words - k->words, k) || words == k->words)
		return false;
	k->words++;
	/*
	 * The file's record is one word shorter than @w if it uses the thread table, and one word
	 * longer if it has the thread's ids inline. The shorter record must fit.
	 */
	return ends_in_blob(k, w, words, w[k->words - 1]) &&
	       atc_fits(k, words - 1);
}

static bool check_object(const struct atc_provider *p, const uint64_t *w, size_t words,
			 struct atc_check *k)
{
	unsigned int type = w[0] >> 16 & 0xff, nargs = w[0] >> 40 & 0xf;
	size_t args;

	if (w[0] >> 44 || words < OBJECT_WORDS)
		return false;
	k->words = OBJECT_WORDS;
	if (!atc_ref_check(p, w[0] >> 24 & 0xffff, w + k->words, words - k->words, k))
		return false;
	args = k->words;
	if (!atc_args_check(p, nargs, w + args, words - args, k) || words != k->words ||
	    !atc_fits(k, words + OBJECT_GROWTH))
		return false;
	if (type != ASYNCTRACE_FXT_OBJ_PROCESS && type != ASYNCTRACE_FXT_OBJ_THREAD)
		return !w[4];
	if (!w[3] || w[3] > INT32_MAX)
		return false;
	return type == ASYNCTRACE_FXT_OBJ_PROCESS ||
	       (nargs < ASYNCTRACE_FXT_ARGS_MAX && !atc_args_have(p, nargs, w + args, PROCESS));
}

bool atc_special_check(struct at_compose *c, const struct atc_context *x, const uint64_t *w,
		       size_t words, struct atc_item *it)
{
	const struct atc_provider *p = x->ring->provider;
	struct atc_check k = { .words = ATC_HEAD_WORDS };
	bool good;

	switch (ASYNCTRACE_FXT_TYPE(w[0])) {
	case ASYNCTRACE_FXT_BLOB:
		good = check_blob(p, w, words, &k);
		break;
	case ASYNCTRACE_FXT_LARGE:
		good = check_large(p, w, words, &k);
		break;
	default:
		good = check_object(p, w, words, &k);
	}
	if (!good || !atc_time_published(c, x, w[1], &it->ns))
		return false;
	it->form = ASYNCTRACE_FXT_TYPE(w[0]) == ASYNCTRACE_FXT_KERNELOBJ ? ATC_OBJECT : ATC_BLOB;
	it->cut = k.cut;
	it->table = words + k.growth + 1 > ASYNCTRACE_FXT_WORDS_MAX;
	return true;
}

/* --- identity of an object ------------------------------------------------ */

/* Are the record's ids those of the file? A process in another pid namespace writes other ids. */
static bool ids_are_ours(const struct atc_provider *p, const uint64_t *w)
{
	return p->pid && w[4] == (uint32_t)p->pid;
}

static const struct atc_process *process_of(struct at_compose *c, const struct atc_provider *p,
					    const uint64_t *w)
{
	const struct atc_process *process;

	if ((w[0] >> 16 & 0xff) != ASYNCTRACE_FXT_OBJ_PROCESS || !ids_are_ours(p, w))
		return NULL;
	process = atc_map_get(&c->processes, w[3]);
	return process && process->rank ? process : NULL;
}

/*
 * Returns the thread that an object names, or NULL for a thread of another process: a provider
 * must not rename it.
 */
static struct atc_task *thread_of(struct at_compose *c, const struct atc_provider *p,
				  const uint64_t *w)
{
	struct atc_task *t;

	if ((w[0] >> 16 & 0xff) != ASYNCTRACE_FXT_OBJ_THREAD || !ids_are_ours(p, w))
		return NULL;
	t = atc_map_get(&c->tasks, w[3]);
	return t && t->named && t->pid == p->pid ? t : NULL;
}

void atc_object_introduce(struct at_compose *c, const struct atc_provider *p,
		      const struct atc_item *it)
{
	struct atc_task *t = thread_of(c, p, it->at);

	if (t)
		atc_task_introduce(c, t);
	else if (process_of(c, p, it->at))
		atc_process_introduce(c, it->at[3]);
}

/* --- writing -------------------------------------------------------------- */

static size_t put_blob(uint64_t *w, const uint64_t *from, size_t size)
{
	memcpy(w, from, 8 * ASYNCTRACE_FXT_TEXT_WORDS(size));
	return ASYNCTRACE_FXT_TEXT_WORDS(size);
}

static void emit_blob(struct at_compose *c, struct atc_ring *r, const struct atc_item *it)
{
	const uint64_t *from = it->at + ATC_HEAD_WORDS;
	unsigned int name = it->at[0] >> 16 & 0xffff;
	uint64_t *w = atc_out_record(&c->out);
	size_t n = 1 + atc_ref_copy(w + 1, &name, &from, it->cut);

	n += put_blob(w + n, from, it->at[0] >> 32 & 0x7fff);
	w[0] = ASYNCTRACE_FXT_HEAD(ASYNCTRACE_FXT_BLOB, n) | (uint64_t)name << 16 |
	       it->at[0] >> 32 << 32;
	atc_out_deliver(&c->out, r, n);
}

static void emit_large(struct at_compose *c, struct atc_ring *r, const struct atc_item *it)
{
	const bool attachment = is_attachment(it->at);
	const uint64_t format = it->at[ATC_HEAD_WORDS], *from = it->at + ATC_HEAD_WORDS + 1;
	unsigned int category = format & 0xffff, name = format >> 16 & 0xffff;
	unsigned int nargs = format >> 32;
	unsigned int thread = attachment ? 0 : atc_thread_ref(c, r->provider, it->slot, it->table);
	uint64_t *w = atc_out_record(&c->out);
	size_t n = 2;

	n += atc_ref_copy(w + n, &category, &from, it->cut);
	n += atc_ref_copy(w + n, &name, &from, it->cut);
	if (!attachment)
		w[n++] = it->ns;
	if (!attachment && !thread) {
		w[n++] = it->slot->pid;
		w[n++] = it->slot->task->tid;
	}
	n += atc_args_copy(w + n, nargs, &from, it->cut);
	w[n++] = *from;
	n += put_blob(w + n, from + 1, *from);
	w[0] = ASYNCTRACE_FXT_HEAD(ASYNCTRACE_FXT_LARGE, n) | it->at[0] >> 40 << 40;
	w[1] = category | (uint64_t)name << 16 | (uint64_t)nargs << 32 | (uint64_t)thread << 36;
	atc_out_deliver(&c->out, r, n);
}

static void emit_object(struct at_compose *c, struct atc_ring *r, const struct atc_item *it)
{
	const uint64_t *from = it->at + OBJECT_WORDS;
	unsigned int type = it->at[0] >> 16 & 0xff, nargs = it->at[0] >> 40 & 0xf;
	unsigned int name = it->at[0] >> 24 & 0xffff;
	const struct atc_process *process = process_of(c, r->provider, it->at);
	const struct atc_task *task = thread_of(c, r->provider, it->at);
	const char *known = process ? process->name : task ? task->name : NULL;
	uint64_t *w = atc_out_record(&c->out);
	size_t n = 2;

	n += atc_ref_copy(w + n, &name, &from, it->cut);
	if (known) {
		n = 2 + atc_put_text(w + 2, known, strlen(known));
		name = *known ? ASYNCTRACE_FXT_INLINE | strlen(known) : 0;
	} else if (type == ASYNCTRACE_FXT_OBJ_PROCESS || type == ASYNCTRACE_FXT_OBJ_THREAD) {
		type = ASYNCTRACE_FXT_OBJ_NONE;
	}
	if (task) {
		w[n++] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_KOID, 3,
					    ASYNCTRACE_FXT_INLINE | strlen(PROCESS), 0);
		n += atc_put_text(w + n, PROCESS, strlen(PROCESS));
		w[n++] = task->pid;
	}
	n += atc_args_copy(w + n, nargs, &from, it->cut);
	nargs += !!task;
	w[0] = ASYNCTRACE_FXT_HEAD(ASYNCTRACE_FXT_KERNELOBJ, n) | (uint64_t)type << 16 |
	       (uint64_t)name << 24 | (uint64_t)nargs << 40;
	w[1] = it->at[3];
	atc_out_deliver(&c->out, r, n);
}

void atc_special_emit(struct at_compose *c, struct atc_ring *r, const struct atc_item *it)
{
	if (it->form == ATC_OBJECT)
		emit_object(c, r, it);
	else if (is_large(it->at))
		emit_large(c, r, it);
	else
		emit_blob(c, r, it);
}
