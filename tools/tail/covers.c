// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Covers: times in which all records of a thread, of a CPU, or of the whole trace are kept. At the
 * begin of each cover of a thread or a CPU stands a mark: a record of its state.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "priv.h"

/* Returns the index of the first cover that ends at or after @ns. */
static size_t first_after(const struct tail_covers *c, uint64_t ns)
{
	size_t low = 0, high = c->nr;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (c->of[middle].to < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool covers_overlap(const struct tail_covers *c, uint64_t from, uint64_t to)
{
	size_t i = first_after(c, from);

	return i < c->nr && c->of[i].from <= to;
}

static int room(struct tail_covers *c)
{
	size_t more = c->room ? 2 * c->room : 4;
	struct tail_cover *of;

	if (c->nr < c->room)
		return 0;
	of = realloc(c->of, more * sizeof(*of));
	if (!of)
		return -ENOMEM;
	c->of = of;
	c->room = more;
	return 0;
}

static void replace(struct tail_covers *c, size_t first, size_t last, const struct tail_cover *by)
{
	/*
	 * The new cover replaces [first, last). Covers that have begun come first among these.
	 */
	const size_t begun = c->begun < last ? c->begun : last;

	if (begun > first)
		c->begun -= begun - first - 1;
	else if (c->begun > first)
		c->begun++;
	for (size_t i = first; i < last; i++)
		free(c->of[i].mark);
	memmove(c->of + first + 1, c->of + last, (c->nr - last) * sizeof(*c->of));
	c->of[first] = *by;
	c->nr -= last - first;
	c->nr++;
}

/*
 * Covers that touch become one, because no record lies between them. Only the mark of the first
 * remains: the states at the other begins follow from records.
 */
int covers_add(struct tail_covers *c, uint64_t from, uint64_t to, const uint64_t *mark,
	       size_t words)
{
	size_t first = first_after(c, from - 1), last = first;
	struct tail_cover new = { .from = from, .to = to };

	while (last < c->nr && c->of[last].from <= to + 1)
		last++;
	if (first < last && c->of[first].from <= from) {
		new = c->of[first];
		c->of[first].mark = NULL;
	} else {
		if (room(c))
			return -ENOMEM;
		new.mark = words ? malloc(words * 8) : NULL;
		if (words && !new.mark)
			return -ENOMEM;
		if (words)
			memcpy(new.mark, mark, words * 8);
		new.words = words;
	}
	new.to = to;
	if (first < last && c->of[last - 1].to > to)
		new.to = c->of[last - 1].to;
	replace(c, first, last, &new);
	return 0;
}

void covers_forget(struct tail_covers *c, uint64_t ns)
{
	size_t n = 0;

	while (n < c->begun && c->of[n].to < ns)
		free(c->of[n++].mark);
	c->nr -= n;
	c->begun -= n;
	if (n)
		memmove(c->of, c->of + n, c->nr * sizeof(*c->of));
}

void covers_free(struct tail_covers *c)
{
	for (size_t i = 0; i < c->nr; i++)
		free(c->of[i].mark);
	free(c->of);
	*c = (struct tail_covers){ 0 };
}
