// SPDX-License-Identifier: GPL-2.0-or-later
/* Introductions of providers, and sections of the file */
#include <stdlib.h>

#include "priv.h"

struct tail_provider *emit_provider(struct tail *t, uint32_t id)
{
	struct fxt_entry *e = fxt_make(&t->providers, (uint64_t)id + 1);

	if (e && !e->a)
		e->a = (uintptr_t)calloc(1, sizeof(struct tail_provider));
	return e ? (struct tail_provider *)(uintptr_t)e->a : NULL;
}

void emit_introduction(struct tail *t, uint32_t id)
{
	struct fxt_entry *e = fxt_find(&t->providers, (uint64_t)id + 1);
	struct tail_provider *p = e ? (struct tail_provider *)(uintptr_t)e->a : NULL;
	uint64_t init[2] = { ASYNCTRACE_FXT_HEAD(ASYNCTRACE_FXT_INIT, 2) };

	if (!p || p->told)
		return;
	p->told = true;
	init[1] = p->rate;
	out_put(t, p->info, p->words, NULL);
	out_put(t, init, 2, NULL);
	t->section = id;
}

void emit_section(struct tail *t, uint32_t provider)
{
	uint64_t head = ASYNCTRACE_FXT_HEAD(ASYNCTRACE_FXT_METADATA, 1) |
			ASYNCTRACE_FXT_META_SECTION << 16 | (uint64_t)provider << 20;

	emit_introduction(t, provider);
	if (t->section == provider)
		return;
	out_put(t, &head, 1, NULL);
	t->section = provider;
}
