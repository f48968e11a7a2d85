// SPDX-License-Identifier: LGPL-2.1-or-later
/* Providers: their names, strings, slots and rings. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "composer.h"

struct atc_provider *atc_provider(struct at_compose *c, uint32_t id)
{
	return atc_map_get(&c->providers, id);
}

struct atc_provider *atc_provider_new(struct at_compose *c, uint32_t id)
{
	struct atc_provider *p = atc_calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->earlier = atc_provider(c, id);
	if (atc_map_set(&c->providers, id, p)) {
		atc_free(p);
		return NULL;
	}
	p->id = id;
	p->file_id = ++c->nr_providers;
	return p;
}

static uint64_t ring_key(const struct atc_provider *p, uint32_t index)
{
	return (uint64_t)p->file_id << 32 | index;
}

struct atc_ring *atc_ring_find(struct at_compose *c, const struct atc_provider *p, uint32_t index)
{
	return atc_map_get(&c->rings, ring_key(p, index));
}

struct atc_ring *atc_ring(struct at_compose *c, struct atc_provider *p, uint32_t index)
{
	struct atc_ring *r = atc_map_make(&c->rings, ring_key(p, index), sizeof(*r));

	if (r) {
		r->provider = p;
		r->index = index;
	}
	return r;
}

int atc_provider_info(struct at_compose *c, const struct asynctrace_provider_info *info)
{
	struct atc_provider *p = atc_provider(c, info->id);
	bool known;

	/* Id 0 is the kernel's own provider. */
	if (!info->id || info->pid < 0)
		return -EPROTO;
	/* The kernel reuses the id of a provider that has ended, but not its serial number. */
	known = p && p->serial == info->serial;
	if (!known)
		p = atc_provider_new(c, info->id);
	if (!p)
		return -ENOMEM;
	p->flags = info->flags;
	p->pid = info->pid;
	p->salt = info->salt;
	p->sched_dropped = info->sched_dropped;
	p->names_dropped = info->names_dropped;
	if (!known) {
		p->serial = info->serial;
		p->name[atc_text_repair(p->name, 255, info->name,
					strnlen(info->name, ASYNCTRACE_NAME_MAX))] = 0;
		atc_provider_introduce(c, p);
	}
	if (p->salt && atc_map_set(&c->salts, p->salt, p))
		return -ENOMEM;
	if (!p->pid)
		return 0;
	return atc_process_name(c, p->pid, ATC_RANK_PROVIDER, p->name, strlen(p->name));
}

int atc_provider_threads(struct at_compose *c, struct atc_provider *p,
			 const struct asynctrace_thread *t, size_t nr)
{
	for (size_t i = 0; i < nr; i++, t++) {
		/* The kernel reports tid 0 if the session's owner must not see the thread. */
		int32_t tid = t->tid ? t->tid : ASYNCTRACE_TID_OTHER;
		struct atc_task *task;
		struct atc_slot *s;
		int err;

		if (!t->slot || t->tid < 0 || t->pid < 0)
			return -EPROTO;
		err = atc_task_name(c, tid, t->pid, t->comm);
		if (err)
			return err;
		task = atc_task(c, tid);
		s = atc_map_make(&p->slots, t->slot, sizeof(*s));
		if (!task || !s)
			return -ENOMEM;
		if (!s->slot)
			p->nr_slots++;
		/* A slot may pass to another thread. Its table entry must then be rewritten. */
		s->moved = s->task != task || s->pid != task->pid;
		s->slot = t->slot;
		s->task = task;
		s->pid = task->pid;
	}
	return 0;
}

static int keep_text(struct atc_provider *p, unsigned int index, const char *text, size_t len)
{
	struct atc_text *old = atc_map_get(&p->texts, index);
	struct atc_text *t = atc_malloc(sizeof(*t) + len);

	if (!t || atc_map_set(&p->texts, index, t)) {
		atc_free(t);
		return -ENOMEM;
	}
	atc_free(old);
	t->len = len;
	memcpy(t->text, text, len);
	return 0;
}

/*
 * Reads the words of a durable ring. Only this provider's records use these strings, so false
 * strings can only misname the provider's own events.
 */
ssize_t atc_provider_strings(struct at_compose *c, struct atc_provider *p,
			     const uint64_t *w, size_t nr)
{
	char *const clean = c->text;
	ssize_t good = 0;
	size_t words;

	for (size_t i = 0; i < nr; i += words) {
		uint64_t head = w[i];
		unsigned int index = head >> 16 & 0xffff;
		size_t len = head >> 32 & 0xffff;

		words = ASYNCTRACE_FXT_WORDS(head);
		if (!words || words > nr - i) {
			p->bad_strings++;
			break;
		}
		if (ASYNCTRACE_FXT_TYPE(head) != ASYNCTRACE_FXT_STRING || head >> 48 ||
		    !index || index > ASYNCTRACE_FXT_INDEX_MAX ||
		    len > ASYNCTRACE_FXT_STRING_MAX ||
		    words != 1 + ASYNCTRACE_FXT_TEXT_WORDS(len) ||
		    !atc_zero_padded(w + i + 1, len)) {
			p->bad_strings++;
			continue;
		}
		len = atc_text_repair(clean, sizeof(c->text), w + i + 1, len);
		if (keep_text(p, index, clean, len))
			return -ENOMEM;
		atc_section(c, p);
		atc_string_record(c, index, clean, len);
		if (!(p->strings[index / 64] >> index % 64 & 1))
			p->nr_strings++;
		p->strings[index / 64] |= 1ULL << index % 64;
		good++;
	}
	return good;
}

void atc_provider_destroy(void *v)
{
	struct atc_provider *earlier;

	for (struct atc_provider *p = v; p; p = earlier) {
		earlier = p->earlier;
		atc_map_free(&p->slots, atc_free);
		atc_map_free(&p->virtuals, atc_free);
		atc_map_free(&p->texts, atc_free);
		atc_free(p);
	}
}
