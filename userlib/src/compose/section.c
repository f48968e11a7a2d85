// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Sections of the file. A section begins with a record that names a provider. The following
 * records use the strings and threads of that provider.
 */
#include "composer.h"

/*
 * Writes the provider record once for each file, because readers empty the provider's tables at
 * this record. Strings and table entries that an earlier file has must be written again.
 */
void atc_provider_introduce(struct at_compose *c, struct atc_provider *p)
{
	p->in_file = c->file;
	atc_provider_record(c, p);
	atc_map_each(&p->texts, e) {
		const struct atc_text *t = e->value;

		atc_string_record(c, e->key, t->text, t->len);
	}
	for (unsigned int i = 1; i <= p->threads.nr; i++)
		p->threads.of[i]->moved = true;
}

void atc_section(struct at_compose *c, struct atc_provider *p)
{
	uint64_t *w;

	if (p->in_file != c->file)
		atc_provider_introduce(c, p);
	if (c->section == p)
		return;
	w = atc_out_record(&c->out);
	w[0] = ASYNCTRACE_FXT_HEAD(ASYNCTRACE_FXT_METADATA, 1) |
	       ASYNCTRACE_FXT_META_SECTION << 16 | (uint64_t)p->file_id << 20;
	atc_out_done(&c->out, 1);
	c->section = p;
}
