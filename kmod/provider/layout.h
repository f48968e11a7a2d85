/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Layout of a provider's mapping, in pages:
 *
 *	control area | headers 0 | headers 1 | durable | rings 0 | rings 1 | cells
 *
 * Shared by the fault handler and by the code that fills in the control page, so that both use
 * the same offsets.
 */
#ifndef AT_LAYOUT_H
#define AT_LAYOUT_H

#include <linux/asynctrace.h>
#include <linux/bits.h>
#include <linux/limits.h>
#include <linux/math.h>
#include <linux/mm.h>
#include <linux/types.h>

#include "session/categories.h"

#define AT_RANGES	2

/* Capacity of the durable ring */
#define AT_DURABLE_WORDS	((ASYNCTRACE_DURABLE_SIZE - ASYNCTRACE_LINE) / sizeof(u64))

/* Maximum number of pages that a provider may map */
#define AT_PAGES_MAX	BIT_ULL(31)

/* Maximum number of cells of a provider. Threads beyond this number have no cell. */
#define AT_CELLS_MAX	16384
#define AT_CELL_PAGES	(AT_CELLS_MAX * sizeof(struct asynctrace_cell) / PAGE_SIZE)

#define AT_ID_MIN	2	/* trace files use 1 for the kernel */
#define AT_ID_MAX	((1 << 20) - 1)

/*
 * Bytes of one copy of the wanted categories. There are two: sites may still read one
 * while the other is written.
 */
#define AT_CATEGORIES_AREA \
	ALIGN(sizeof(struct asynctrace_categories) + AT_CATEGORIES_BYTES, ASYNCTRACE_LINE)

struct at_layout {
	u32 nr_rings;		/* CPU rings; the fallback ring comes after them */
	u32 limits;		/* byte offset in the control area of the limits of range 0 */
	u32 categories;		/* byte offset in the control area of the wanted categories */
	u32 control_pages;
	u32 header_pages;	/* of one range */
	u32 durable_pages;
	u32 ring_pages;		/* of one ring: the stride */
	u64 pages;		/* total */
};

enum at_area {
	AT_AREA_NONE, AT_AREA_CONTROL, AT_AREA_HEADER, AT_AREA_DURABLE, AT_AREA_RING, AT_AREA_CELL,
};

/**
 * struct at_place - meaning of one page of the mapping
 * @area: part of the mapping
 * @range: for a header or ring page
 * @ring: for a ring page
 * @page: index within the control area, the headers, the durable ring, the ring or the cells
 */
struct at_place {
	enum at_area area;
	u32 range;
	u32 ring;
	u32 page;
};

static inline u64 at_layout_headers(const struct at_layout *l, u32 range)
{
	return l->control_pages + (u64)range * l->header_pages;
}

static inline u64 at_layout_durable(const struct at_layout *l)
{
	return at_layout_headers(l, AT_RANGES);
}

static inline u64 at_layout_rings(const struct at_layout *l, u32 range)
{
	return at_layout_durable(l) + l->durable_pages +
	       (u64)range * (l->nr_rings + 1) * l->ring_pages;
}

/* First page of the cells. The read-write area ends there: the cells are mapped separately. */
static inline u64 at_layout_cells(const struct at_layout *l)
{
	return at_layout_rings(l, AT_RANGES);
}

/* Byte offset in the control area of the limits of a range's rings */
static inline u32 at_layout_limits(const struct at_layout *l, u32 range)
{
	return l->limits + range * ALIGN((l->nr_rings + 1) * sizeof(u64), ASYNCTRACE_LINE);
}

/* Pages for the header lines of @nr_rings CPU rings and of the fallback ring */
static inline u32 at_layout_header_pages(u32 nr_rings)
{
	return DIV_ROUND_UP((nr_rings + 1) * ASYNCTRACE_LINE, PAGE_SIZE);
}

/* Returns false if the rings need too much address space, or @stride is less than a page. */
static inline bool at_layout_init(struct at_layout *l, u32 nr_rings, u64 stride)
{
	l->nr_rings = nr_rings;
	l->limits = ALIGN(sizeof(struct asynctrace_control), ASYNCTRACE_LINE);
	l->categories = at_layout_limits(l, AT_RANGES);
	l->control_pages = DIV_ROUND_UP(l->categories + 2 * AT_CATEGORIES_AREA, PAGE_SIZE);
	l->header_pages = at_layout_header_pages(nr_rings);
	l->durable_pages = ASYNCTRACE_DURABLE_SIZE / PAGE_SIZE;
	l->ring_pages = stride / PAGE_SIZE;
	l->pages = at_layout_cells(l) + AT_CELL_PAGES;
	return stride >= PAGE_SIZE && l->pages <= AT_PAGES_MAX;
}

static inline struct at_place at_layout_find(const struct at_layout *l, u64 page)
{
	struct at_place at = { .area = AT_AREA_NONE };
	u64 rings = (u64)(l->nr_rings + 1) * l->ring_pages;

	if (page >= l->pages)
		return at;
	if (page < at_layout_headers(l, 0)) {
		at.area = AT_AREA_CONTROL;
		at.page = page;
	} else if (page < at_layout_durable(l)) {
		page -= at_layout_headers(l, 0);
		at.area = AT_AREA_HEADER;
		at.range = page / l->header_pages;
		at.page = page % l->header_pages;
	} else if (page < at_layout_rings(l, 0)) {
		at.area = AT_AREA_DURABLE;
		at.page = page - at_layout_durable(l);
	} else if (page >= at_layout_cells(l)) {
		at.area = AT_AREA_CELL;
		at.page = page - at_layout_cells(l);
	} else {
		page -= at_layout_rings(l, 0);
		at.area = AT_AREA_RING;
		at.range = page / rings;
		at.ring = page % rings / l->ring_pages;
		at.page = page % l->ring_pages;
	}
	return at;
}

#endif /* AT_LAYOUT_H */
