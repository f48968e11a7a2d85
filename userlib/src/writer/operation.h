/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libasynctrace: what operation.c has for its other files
 */
#ifndef AT_OPERATION_H
#define AT_OPERATION_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

/*
 * The kernel reads the calling thread's operation at @cell from now on; NULL: nowhere. The
 * memory stays mapped until the thread ends or is given another cell.
 */
void at_cell_set(uint64_t *cell);

/*
 * As at_site_learn_(), for a category of which there is no site. Records that follow carry their
 * names.
 */
uint64_t at_category_find(const char *category);

#pragma GCC visibility pop

#endif /* AT_OPERATION_H */
