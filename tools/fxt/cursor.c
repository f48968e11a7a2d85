// SPDX-License-Identifier: GPL-2.0-or-later
/* Parts of a record: words, times, texts, references. Reports breaches of their rules. */
#include <stdarg.h>
#include <stdio.h>

#include "reader.h"

void fxt_breach(struct fxt_reader *r, struct fxt_record *rec, enum fxt_rule rule,
		const char *fmt, ...)
{
	char detail[160];
	va_list ap;

	if (!r->complain)
		return;
	va_start(ap, fmt);
	vsnprintf(detail, sizeof(detail), fmt, ap);
	va_end(ap);
	r->complain(r->arg, rule, rec->offset, detail);
}

uint64_t fxt_no_word(struct fxt_cursor *c)
{
	if (!c->rec->damaged)
		fxt_breach(c->r, c->rec, FXT_RULE_SIZE, "its content needs more than %llu words",
			   (unsigned long long)c->rec->words);
	c->rec->damaged = true;
	return 0;
}

void fxt_zero(struct fxt_cursor *c, uint64_t bits)
{
	if (bits)
		fxt_breach(c->r, c->rec, FXT_RULE_RESERVED, "0x%llx",
			   (unsigned long long)bits);
}

void fxt_koid(struct fxt_cursor *c, uint64_t koid)
{
	if (koid <= UINT32_MAX)
		return;
	fxt_breach(c->r, c->rec, FXT_RULE_KOID, "0x%llx", (unsigned long long)koid);
	c->large_koid = true;
}

uint64_t fxt_odd_time(struct fxt_cursor *c, uint64_t ticks)
{
	struct fxt_provider *p = c->r->current;
	uint64_t rate = p && p->rate ? p->rate : FXT_NS_PER_S;
	unsigned __int128 ns = (unsigned __int128)ticks * FXT_NS_PER_S / rate;

	if (p && !p->init && !p->complained) {
		fxt_breach(c->r, c->rec, FXT_RULE_INIT, "provider %u", p->id);
		p->complained = true;
	}
	if (ns > INT64_MAX) {
		fxt_breach(c->r, c->rec, FXT_RULE_TIME_RANGE, "%llu ticks",
			   (unsigned long long)ticks);
		c->rec->damaged = true;
		return INT64_MAX;
	}
	return ns;
}

void fxt_bytes(struct fxt_cursor *c, size_t len, struct fxt_text *t)
{
	size_t words = ASYNCTRACE_FXT_TEXT_WORDS(len);

	*t = (struct fxt_text){ .s = "" };
	if (words > c->left) {
		c->left = 0;
		fxt_no_word(c);
		return;
	}
	t->s = (const char *)c->w;
	t->len = len;
	c->w += words;
	c->left -= words;
	for (size_t i = len; i < words * 8; i++) {
		if (t->s[i]) {
			fxt_breach(c->r, c->rec, FXT_RULE_PADDING, "byte %zu of a text of %zu",
				   i, len);
			break;
		}
	}
}

void fxt_text_stream(struct fxt_cursor *c, size_t len, struct fxt_text *t)
{
	fxt_bytes(c, len, t);
	if (len > ASYNCTRACE_FXT_STRING_MAX)
		fxt_breach(c->r, c->rec, FXT_RULE_STRING_LENGTH, "%zu bytes", len);
	if (!fxt_utf8(t->s, t->len))
		fxt_breach(c->r, c->rec, FXT_RULE_UTF8, "%zu bytes", len);
}

void fxt_odd_string(struct fxt_cursor *c, unsigned int ref, struct fxt_text *t)
{
	*t = (struct fxt_text){ .s = "" };
	if (ref & ASYNCTRACE_FXT_INLINE) {
		fxt_text_stream(c, ref & ~ASYNCTRACE_FXT_INLINE, t);
	} else if (ref) {
		t->index = ref;
		c->rec->damaged = true;
		fxt_breach(c->r, c->rec, FXT_RULE_STRING_INDEX, "%u", ref);
	}
}

void fxt_odd_thread(struct fxt_cursor *c, unsigned int ref, struct fxt_thread *t)
{
	const struct fxt_provider *p = c->r->current;
	const struct fxt_thread_slot *slot;

	slot = ref && p ? fxt_element(&p->threads, ref, sizeof(*slot)) : NULL;
	*t = (struct fxt_thread){ .index = ref };
	if (!ref) {
		t->pid = fxt_word(c);
		t->tid = fxt_word(c);
	} else if (slot && slot->large) {
		t->pid = slot->pid;
		t->tid = slot->tid;
	} else {
		c->rec->damaged = true;
		fxt_breach(c->r, c->rec, FXT_RULE_THREAD_INDEX, "%u", ref);
	}
	fxt_koid(c, t->pid);
	fxt_koid(c, t->tid);
}
