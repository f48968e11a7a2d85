/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Cells: words through which a thread tells the scheduler's probes what it works on.
 *
 * A provider's cells are in pages that the provider maps, and that are allocated when a thread
 * is given the first cell of a page. Probes access them through the kernel's own mapping. When
 * a thread has ended, another thread of the provider may get its cell. A page of cells is never
 * given to another provider.
 */
#ifndef AT_CELLS_H
#define AT_CELLS_H

#include <linux/asynctrace.h>
#include <linux/types.h>

#include "provider/layout.h"

struct at_cell_page;
struct at_provider;
struct page;
struct pid;

/* Cells of one page */
#define AT_CELLS_EACH	(PAGE_SIZE / sizeof(struct asynctrace_cell))

/**
 * struct at_cells - a provider's cells
 * @nr: number of pages in @page; changed under slots_lock
 * @needed: number of threads that needed a cell after the last search for cells of ended
 *	threads; under slots_lock
 * @in_use: number of cells in use after that search; under slots_lock
 * @page: the pages in the order of their allocation
 */
struct at_cells {
	u32 nr;
	u32 needed;
	u32 in_use;
	struct at_cell_page *page[AT_CELLS_MAX / AT_CELLS_EACH];
};

/**
 * struct at_cell_hold - a cell that a traced task holds, so that no other thread gets it
 * @page: the page, with a reference; NULL: no cell
 * @i: index of the cell in the page
 */
struct at_cell_hold {
	struct at_cell_page *page;
	u32 i;
};

struct at_cells *at_cells_new(void);
void at_cells_destroy(struct at_cells *cells);
u32 at_cell_give(struct at_provider *p, struct pid *pid);
struct asynctrace_cell *at_cell_hold(struct at_provider *p, u32 number, const struct pid *pid,
				     struct at_cell_hold *hold);
void at_cell_drop(struct at_cell_hold *hold);
struct page *at_cells_page(const struct at_provider *p, u32 i);

#endif /* AT_CELLS_H */
