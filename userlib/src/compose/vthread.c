// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Events of virtual threads.
 *
 * A provider numbers its virtual threads as it likes. In the file, each virtual thread has an id
 * that no real thread can have, under the provider's own process.
 */
#include <errno.h>
#include <string.h>

#include "args.h"
#include "times.h"

struct atc_virtual {
	struct atc_slot slot;	/* for functions that take the slot of a real thread */
	struct atc_task task;
	char name[ATC_COMM_MAX + 1];
};

/* Words before the texts: those of all records, time, number of the virtual thread, name */
#define VIRTUAL_WORDS	(ATC_HEAD_WORDS + 3)

static bool may_be_virtual(unsigned int type)
{
	return type == ASYNCTRACE_FXT_DURATION_BEGIN || type == ASYNCTRACE_FXT_DURATION_END ||
	       (type >= ASYNCTRACE_FXT_FLOW_BEGIN && type <= ASYNCTRACE_FXT_FLOW_END);
}

static size_t id_words(unsigned int type)
{
	return type >= ASYNCTRACE_FXT_FLOW_BEGIN;
}

/*
 * Finds or makes the provider's virtual thread @number. Returns NULL if the provider has too
 * many, or if there is no memory (*@err).
 */
static struct atc_virtual *find_or_make(struct at_compose *c, struct atc_provider *p,
					struct atc_slot *writer, uint64_t number, int *err)
{
	struct atc_virtual *v = atc_map_get(&p->virtuals, number);

	if (v)
		return v;
	if (p->nr_virtuals == ATC_VIRTUAL_MAX || c->next_virtual == ATC_KOID_PROCESS)
		return NULL;
	v = atc_map_make(&p->virtuals, number, sizeof(*v));
	if (!v) {
		*err = -ENOMEM;
		return NULL;
	}
	p->nr_virtuals++;
	v->task.tid = c->next_virtual++;
	v->task.pid = writer->pid;
	v->task.named = true;
	v->task.virtual_name = v->name;
	v->task.owner = writer->task;
	v->slot.task = &v->task;
	v->slot.pid = writer->pid;
	return v;
}

/* Sets the name. If it has changed, the file gets a new kernel object. */
static void set_name(struct atc_virtual *v, const char *text, size_t len)
{
	char clean[sizeof(v->name)];

	if (!len) {
		text = "virtual thread";
		len = strlen(text);
	}
	clean[atc_text_repair(clean, sizeof(clean) - 1, text, strnlen(text, len))] = 0;
	if (!strcmp(v->name, clean))
		return;
	strcpy(v->name, clean);
	v->task.in_file = 0;
}

bool atc_virtual_check(struct at_compose *c, const struct atc_context *x, const uint64_t *w,
		       size_t words, struct atc_item *it, int *err)
{
	struct atc_provider *p = x->ring->provider;
	unsigned int type = w[0] >> 16 & 0xf, nargs = w[0] >> 20 & 0xf;
	struct atc_check k = { .words = VIRTUAL_WORDS };
	const uint64_t *name_words;
	struct atc_virtual *v;
	const char *name;
	uint64_t stamp_ns;
	size_t len;

	if (!may_be_virtual(type) || words < VIRTUAL_WORDS + id_words(type) || w[5] >> 16)
		return false;
	if (!atc_ref_check(p, w[0] >> 32 & 0xffff, w + k.words, words - k.words, &k) ||
	    !atc_ref_check(p, w[0] >> 48, w + k.words, words - k.words, &k))
		return false;
	name_words = w + k.words;
	if (!atc_ref_check(p, w[5], w + k.words, words - k.words, &k) ||
	    !atc_args_check(p, nargs, w + k.words, words - k.words, &k) ||
	    words != k.words + id_words(type))
		return false;
	/*
	 * In the file, the record is two words shorter than here, even with inline thread ids. But
	 * repaired text may be longer.
	 */
	if (!atc_fits(&k, words - 2))
		return false;
	if (w[3] > w[1] && !x->segment)
		return false;
	if (!atc_time_published(c, x, w[1], &stamp_ns) ||
	    !atc_time_given(c, x, w[3], w[1], stamp_ns, &it->ns))
		return false;
	v = find_or_make(c, p, it->slot, w[4], err);
	if (!v)
		return false;
	len = atc_ref_text(p, w[5], name_words, &name);
	set_name(v, name, len);
	it->form = ATC_VIRTUAL;
	it->type = type;
	it->slot = &v->slot;
	it->table = false;
	it->cut = k.cut;
	return true;
}

void atc_virtual_emit(struct at_compose *c, struct atc_ring *r, const struct atc_item *it)
{
	const uint64_t *from = it->at + VIRTUAL_WORDS;
	unsigned int category = it->at[0] >> 32 & 0xffff, name = it->at[0] >> 48;
	unsigned int own = it->at[5], nargs = it->at[0] >> 20 & 0xf;
	unsigned int thread = atc_thread_ref(c, r->provider, it->slot, false);
	uint64_t *w = atc_out_record(&c->out);
	size_t n = 1;

	w[n++] = it->ns;
	if (!thread) {
		w[n++] = it->slot->pid;
		w[n++] = it->slot->task->tid;
	}
	n += atc_ref_copy(w + n, &category, &from, it->cut);
	n += atc_ref_copy(w + n, &name, &from, it->cut);
	if (own & ASYNCTRACE_FXT_INLINE)
		from += ASYNCTRACE_FXT_TEXT_WORDS(own & ~ASYNCTRACE_FXT_INLINE);
	n += atc_args_copy(w + n, nargs, &from, it->cut);
	if (id_words(it->type))
		w[n++] = *from;
	w[0] = ASYNCTRACE_FXT_EVENT_HEAD(it->type, n, nargs, category, name) |
	       (uint64_t)thread << 24;
	atc_out_deliver(&c->out, r, n);
}
