// SPDX-License-Identifier: GPL-2.0-or-later
/* Decodes the records that define providers, tick rates, strings and threads. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"

static void clear_string(void *string)
{
	free(((struct fxt_string *)string)->s);
}

static void clear_tables(struct fxt_provider *p)
{
	fxt_sparse_clear(&p->strings, sizeof(struct fxt_string), clear_string);
	fxt_sparse_free(&p->threads);
}

void fxt_free_provider(struct fxt_provider *p)
{
	if (p)
		clear_tables(p);
	free(p);
}

static struct fxt_provider *find_provider(struct fxt_reader *r, uint32_t id)
{
	const struct fxt_entry *e = fxt_find(&r->providers, (uint64_t)id + 1);

	return e ? (struct fxt_provider *)(uintptr_t)e->a : NULL;
}

static int new_provider(struct fxt_reader *r, struct fxt_record *rec, uint32_t id)
{
	struct fxt_provider *p = find_provider(r, id);
	struct fxt_entry *e;

	if (p) {
		fxt_breach(r, rec, FXT_RULE_PROVIDER_TWICE, "%u", id);
		clear_tables(p);
		p->init = false;
	} else {
		e = fxt_make(&r->providers, (uint64_t)id + 1);
		p = e ? calloc(1, sizeof(*p)) : NULL;
		if (!p)
			return -ENOMEM;
		e->a = (uintptr_t)p;
	}
	p->id = id;
	p->introduced = true;
	p->rate = FXT_NS_PER_S;
	r->current = p;
	return 0;
}

int fxt_read_metadata(struct fxt_cursor *c, uint64_t head)
{
	struct fxt_record *rec = c->rec;
	struct fxt_reader *r = c->r;
	uint32_t id = head >> 20;
	int err;

	switch (head >> 16 & 0xf) {
	case ASYNCTRACE_FXT_META_PROVIDER:
		rec->kind = FXT_PROVIDER_INFO;
		fxt_zero(c, head >> 60);
		fxt_text_stream(c, head >> 52 & 0xff, &rec->name);
		err = new_provider(r, rec, id);
		if (err)
			return err;
		break;
	case ASYNCTRACE_FXT_META_SECTION:
		rec->kind = FXT_PROVIDER_SECTION;
		fxt_zero(c, head >> 52);
		r->current = find_provider(r, id);
		if (!r->current)
			fxt_breach(r, rec, FXT_RULE_PROVIDER_UNKNOWN, "section of %u", id);
		break;
	case ASYNCTRACE_FXT_META_EVENT:
		rec->kind = FXT_PROVIDER_EVENT;
		fxt_zero(c, head >> 56);
		rec->id = id;
		rec->number = head >> 52 & 0xf;
		if (!find_provider(r, id))
			fxt_breach(r, rec, FXT_RULE_PROVIDER_UNKNOWN, "event of %u", id);
		return 0;
	case ASYNCTRACE_FXT_META_TRACE:
		rec->kind = FXT_TRACE_INFO;
		if (head != ASYNCTRACE_FXT_MAGIC)
			fxt_breach(r, rec, FXT_RULE_MAGIC, "0x%016llx",
				   (unsigned long long)head);
		return 0;
	default:
		fxt_breach(r, rec, FXT_RULE_TYPE, "metadata of type %u",
			   (unsigned int)(head >> 16 & 0xf));
		c->left = 0;
		return 0;
	}
	rec->provider = id;
	return 0;
}

void fxt_read_init(struct fxt_cursor *c, uint64_t head)
{
	struct fxt_provider *p = c->r->current;

	c->rec->kind = FXT_INIT;
	fxt_zero(c, head >> 16);
	c->rec->id = fxt_word(c);
	if (c->rec->id != FXT_NS_PER_S)
		fxt_breach(c->r, c->rec, FXT_RULE_RATE, "%llu ticks a second",
			   (unsigned long long)c->rec->id);
	if (p) {
		p->init = true;
		p->rate = c->rec->id;
	}
}

int fxt_read_string(struct fxt_cursor *c, uint64_t head)
{
	struct fxt_provider *p = c->r->current;
	unsigned int index = head >> 16 & 0x7fff;
	struct fxt_text *t = &c->rec->name;
	struct fxt_string *string;
	char *s;

	c->rec->kind = FXT_STRING;
	c->rec->number = index;
	fxt_zero(c, (head >> 31 & 1) | head >> 47);
	fxt_text_stream(c, head >> 32 & 0x7fff, t);
	if (!index)
		fxt_breach(c->r, c->rec, FXT_RULE_STRING_INDEX, "0 cannot be defined");
	if (!p || !index || c->rec->damaged)
		return 0;
	string = fxt_make_element(&p->strings, index, sizeof(*string));
	s = malloc(t->len + 1);
	if (!string || !s) {
		free(s);
		return -ENOMEM;
	}
	memcpy(s, t->s, t->len);
	s[t->len] = 0;
	free(string->s);
	*string = (struct fxt_string){ .s = s, .len = t->len };
	return 0;
}

int fxt_read_thread(struct fxt_cursor *c, uint64_t head)
{
	struct fxt_provider *p = c->r->current;
	unsigned int index = head >> 16 & 0xff;
	struct fxt_thread_slot *slot;

	c->rec->kind = FXT_THREAD;
	c->rec->number = index;
	fxt_zero(c, head >> 24);
	fxt_thread_ref(c, 0, &c->rec->thread);
	if (!index)
		fxt_breach(c->r, c->rec, FXT_RULE_THREAD_INDEX, "0 cannot be defined");
	if (!p || !index || c->rec->damaged)
		return 0;
	slot = fxt_make_element(&p->threads, index, sizeof(*slot));
	if (!slot)
		return -ENOMEM;
	*slot = (struct fxt_thread_slot){
		.defined = !c->large_koid, .large = c->large_koid,
		.pid = c->rec->thread.pid, .tid = c->rec->thread.tid,
	};
	return 0;
}
