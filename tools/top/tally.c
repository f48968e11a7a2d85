// SPDX-License-Identifier: GPL-2.0-or-later
/* Counts operations by type: since the start, and of the last seconds */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tally.h"

const char *top_type_text(const struct top_type *t, char text[TYPE_TEXT_SIZE])
{
	snprintf(text, TYPE_TEXT_SIZE, "%s%s%s", t->category, t->category[0] ? "/" : "", t->name);
	return text;
}

size_t tally_name_len(const char *s, size_t len)
{
	if (len <= TYPE_NAME_MAX)
		return len;
	len = TYPE_NAME_MAX;
	/* Leave out a character of UTF-8 that would be cut. */
	while (len && (s[len] & 0xc0) == 0x80)
		len--;
	return len;
}

static size_t name_len(const char *s)
{
	return tally_name_len(s, strnlen(s, TYPE_NAME_MAX + 1));
}

static uint64_t name_key(const char *s)
{
	return fxt_name_key(s, name_len(s));
}

static const char *keep_name(struct tally *m, const char *s)
{
	const uint32_t number = fxt_name(&m->names, s, name_len(s));

	return number == UINT32_MAX ? NULL : m->names.of[number];
}

/* Returns the row of number @i, which is made if it is the next one. NULL: no memory */
static struct top_type *row_at(struct tally *m, size_t i, const char *provider,
			       const char *category, const char *name)
{
	struct top_type *t = m->of[i];

	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->provider = provider;
	t->category = category;
	t->name = name;
	m->of[i] = t;
	m->nr = i + 1;
	return t;
}

static struct top_type *new_type(struct tally *m, uint64_t key, const char *provider,
				 const char *category, const char *name)
{
	struct fxt_entry *e;
	struct top_type *t;

	/*
	 * Names of types without a row of their own are not stored, because their number is not
	 * bounded.
	 */
	if (m->nr >= TYPES_MAX)
		return row_at(m, TYPES_MAX, "", "", "(other types)");
	provider = keep_name(m, provider);
	category = keep_name(m, category);
	name = keep_name(m, name);
	if (!provider || !category || !name)
		return NULL;
	e = fxt_make(&m->index, key);
	if (!e)
		return NULL;
	t = row_at(m, m->nr, provider, category, name);
	if (t)
		e->a = (uintptr_t)t;
	else
		fxt_remove(&m->index, e);
	return t;
}

struct top_type *tally_type(struct tally *m, const char *provider, const char *category,
			    const char *name)
{
	const uint64_t key = fxt_hash(fxt_hash(name_key(provider), name_key(category)),
				      name_key(name));
	const struct fxt_entry *e = fxt_find(&m->index, key);

	return e ? (struct top_type *)(uintptr_t)e->a :
		   new_type(m, key, provider, category, name);
}

static void add(struct sums *s, const struct analysis_operation *op)
{
	buckets_add(&s->latencies, op->end - op->begin);
	s->sum_ns += op->end - op->begin;
	for (int i = 0; i < ANALYSIS_STATES; i++)
		s->ns[i] += op->ns[i];
}

void tally_add(struct top_type *t, const struct analysis_operation *op)
{
	const uint64_t number = op->end / SLICE_NS;

	add(&t->all, op);
	if (t->slices[number % SLICES].number < number) {
		memset(&t->slices[number % SLICES], 0, sizeof(t->slices[0]));
		t->slices[number % SLICES].number = number;
	}
	/* The slice of an operation that ended longer ago has been reused. */
	if (t->slices[number % SLICES].number == number)
		add(&t->slices[number % SLICES].sums, op);
}

void tally_settled(struct tally *m, uint64_t ns)
{
	if (ns > m->now)
		m->now = ns;
}

void tally_rates(struct tally *m, uint64_t begin)
{
	const uint64_t from = m->previous ? m->previous : begin;

	if (m->now <= from)
		return;
	m->interval = m->now - from;
	m->previous = m->now;
	for (size_t i = 0; i < m->nr; i++) {
		struct top_type *t = m->of[i];

		t->rate = (t->all.latencies.nr - t->before) * 1e9 / m->interval;
		t->before = t->all.latencies.nr;
	}
}

void tally_recent(const struct tally *m, const struct top_type *t, struct sums *sum)
{
	const uint64_t last = m->now / SLICE_NS;

	for (size_t i = 0; i < SLICES; i++) {
		const struct sums *s = &t->slices[i].sums;

		if (t->slices[i].number + SLICES <= last)
			continue;
		buckets_merge(&sum->latencies, &s->latencies);
		sum->sum_ns += s->sum_ns;
		for (int k = 0; k < ANALYSIS_STATES; k++)
			sum->ns[k] += s->ns[k];
	}
}

void tally_reset(struct tally *m)
{
	for (size_t i = 0; i < m->nr; i++) {
		struct top_type *t = m->of[i];

		memset(&t->all, 0, sizeof(t->all));
		memset(t->slices, 0, sizeof(t->slices));
		t->before = 0;
		t->rate = 0;
	}
	m->now = m->previous = m->interval = 0;
}

void tally_free(struct tally *m)
{
	for (size_t i = 0; i < m->nr; i++)
		free(m->of[i]);
	fxt_table_free(&m->index);
	fxt_names_free(&m->names);
	*m = (struct tally){ 0 };
}
