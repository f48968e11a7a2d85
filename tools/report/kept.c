// SPDX-License-Identifier: GPL-2.0-or-later
/* Keeps copies of the slowest operations, in a heap */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fxt/table.h"
#include "kept.h"

/* True if @x is slower than @y, or as slow and begun earlier. */
static bool before(const struct analysis_operation *x, const struct analysis_operation *y)
{
	uint64_t a = x->end - x->begin, b = y->end - y->begin;

	if (a != b)
		return a > b;
	return x->begin != y->begin ? x->begin < y->begin : x->id.id < y->id.id;
}

static int by_latency(const void *a, const void *b)
{
	const struct analysis_operation *x = *(struct analysis_operation *const *)a;
	const struct analysis_operation *y = *(struct analysis_operation *const *)b;

	return before(x, y) ? -1 : before(y, x);
}

static size_t copy_size(const struct analysis_operation *op)
{
	return sizeof(*op) + sizeof(*op->open_part) + op->nr_threads * sizeof(*op->threads) +
	       (op->nr_intervals + op->nr_path) *
	       (sizeof(struct analysis_interval) + sizeof(struct analysis_id));
}

/*
 * Copies @nr rows to *@to and their other ids to *@ids, because the originals are freed after
 * the callback. Advances both pointers.
 */
static const struct analysis_interval *copy_rows(struct analysis_interval **to,
						 struct analysis_id **ids,
						 const struct analysis_interval *from, size_t nr)
{
	struct analysis_interval *rows = *to;

	for (size_t i = 0; i < nr; i++) {
		rows[i] = from[i];
		if (!from[i].other_id)
			continue;
		**ids = *from[i].other_id;
		rows[i].other_id = (*ids)++;
	}
	*to += nr;
	return rows;
}

/* Copies @op into one block of memory. */
static struct analysis_operation *copy(const struct analysis_operation *op)
{
	struct analysis_operation *k = malloc(copy_size(op));
	struct analysis_interval *rows;
	struct analysis_id *ids;

	if (!k)
		return NULL;
	*k = *op;
	rows = (struct analysis_interval *)(k + 1);
	ids = (struct analysis_id *)(rows + op->nr_intervals + op->nr_path);
	k->threads = (const struct analysis_thread **)(ids + op->nr_intervals + op->nr_path + 1);
	if (op->nr_threads)
		memcpy(k->threads, op->threads, op->nr_threads * sizeof(*op->threads));
	k->intervals = copy_rows(&rows, &ids, op->intervals, op->nr_intervals);
	k->path = copy_rows(&rows, &ids, op->path, op->nr_path);
	if (op->open_part) {
		*ids = *op->open_part;
		k->open_part = ids;
	}
	return k;
}

static void sift_down(struct kept *k, size_t i)
{
	for (;;) {
		size_t child = 2 * i + 1;
		struct analysis_operation *swap = k->of[i];

		if (child >= k->nr)
			return;
		if (child + 1 < k->nr && before(k->of[child], k->of[child + 1]))
			child++;
		if (!before(k->of[i], k->of[child]))
			return;
		k->of[i] = k->of[child];
		k->of[child] = swap;
		i = child;
	}
}

static void sift_up(struct kept *k, size_t i)
{
	while (i && before(k->of[(i - 1) / 2], k->of[i])) {
		struct analysis_operation *swap = k->of[i];

		k->of[i] = k->of[(i - 1) / 2];
		k->of[(i - 1) / 2] = swap;
		i = (i - 1) / 2;
	}
}

int kept_add(struct kept *k, const struct analysis_operation *op)
{
	struct analysis_operation *row;

	if (!k->max || (k->nr == k->max && !before(op, k->of[0])))
		return 0;
	row = copy(op);
	if (!row)
		return -ENOMEM;
	if (k->nr == k->max) {
		free(k->of[0]);
		k->of[0] = row;
		sift_down(k, 0);
		return 0;
	}
	if (!more_room(&k->of, k->nr, &k->room, sizeof(*k->of))) {
		free(row);
		return -ENOMEM;
	}
	k->of[k->nr++] = row;
	sift_up(k, k->nr - 1);
	return 0;
}

void kept_sort(struct kept *k)
{
	if (k->nr)
		qsort(k->of, k->nr, sizeof(*k->of), by_latency);
}

void kept_clear(struct kept *k)
{
	while (k->nr)
		free(k->of[--k->nr]);
}

void kept_free(struct kept *k)
{
	kept_clear(k);
	free(k->of);
	*k = (struct kept){ 0 };
}
