// SPDX-License-Identifier: GPL-2.0-or-later
/* Runs the check: feeds records to its parts, and answers questions about the result. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check_priv.h"

static void on_breach(void *arg, enum fxt_rule rule, uint64_t offset, const char *detail)
{
	fxt_found(arg, rule, offset, "%s", detail);
}

struct fxt_check *fxt_check_new(size_t window)
{
	struct fxt_check *c = calloc(1, sizeof(*c));

	if (c)
		c->window = window;
	return c;
}

void fxt_check_free(struct fxt_check *c)
{
	if (!c)
		return;
	fxt_time_free(c);
	fxt_table_free(&c->threads);
	fxt_table_free(&c->owners);
	fxt_table_free(&c->processes);
	fxt_table_free(&c->active);
	fxt_table_free(&c->interrupted);
	fxt_table_free(&c->scheduled);
	fxt_table_free(&c->cpus);
	free(c);
}

static int expect(struct fxt_check *c, const char *name, struct fxt_expected x)
{
	struct fxt_expected *p = realloc(c->expected, (c->nr_expected + 1) * sizeof(*p));

	if (!p)
		return -ENOMEM;
	c->expected = p;
	x.name = fxt_name(&c->names, name, strlen(name));
	if (x.name == UINT32_MAX)
		return -ENOMEM;
	p[c->nr_expected++] = x;
	return 0;
}

int fxt_expect_async(struct fxt_check *c, const char *name, uint64_t count)
{
	return expect(c, name, (struct fxt_expected){ .count = count });
}

int fxt_cross_thread(struct fxt_check *c, const char *name)
{
	return expect(c, name, (struct fxt_expected){ .cross = true });
}

int fxt_check_all(struct fxt_check *c, struct fxt_reader *r)
{
	struct fxt_record rec;
	int err;

	fxt_on_breach(r, on_breach, c);
	while ((err = fxt_next(r, &rec)) > 0) {
		err = fxt_stream_record(c, &rec);
		if (err)
			return err;
	}
	c->broke_off = fxt_broke_off(r);
	if (!err)
		err = fxt_window_end(c);
	if (!err)
		err = fxt_stream_end(c);
	if (!err)
		err = fxt_time_end(c);
	return err;
}

const struct fxt_finding *fxt_findings(const struct fxt_check *c)
{
	return c->findings;
}

const struct fxt_tally *fxt_tally(const struct fxt_check *c)
{
	return &c->tally;
}

bool fxt_is_part(const struct fxt_check *c)
{
	return c->part;
}

bool fxt_is_selection(const struct fxt_check *c)
{
	return c->selection;
}

bool fxt_is_incomplete(const struct fxt_check *c)
{
	return c->broke_off || c->findings[FXT_RULE_TRUNCATED].count ||
	       c->findings[FXT_RULE_NO_END].count;
}

bool fxt_excused(const struct fxt_check *c, enum fxt_rule rule, bool loss)
{
	switch (fxt_rules[rule].excuse) {
	case FXT_EXCUSE_LOSS:
		return loss || c->part || fxt_is_incomplete(c);
	case FXT_EXCUSE_PART:
		return c->part || fxt_is_incomplete(c);
	case FXT_EXCUSE_CUT:
		return fxt_is_incomplete(c);
	case FXT_EXCUSE_END:
		return true;
	default:
		return false;
	}
}
