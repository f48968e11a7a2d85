/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions of cell.c and operation.c for other files of the library */
#ifndef AT_OPERATION_H
#define AT_OPERATION_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

/* --- cell.c -------------------------------------------------------------- */

/*
 * Sets the memory in which the kernel reads the calling thread's operation; NULL: none. The
 * memory must stay mapped until the thread ends or gets another cell.
 */
void at_cell_set(uint64_t *cell);

/* --- operation.c ---------------------------------------------------------- */

/*
 * Like at_site_learn_(), for a category without a site. Records that use the result carry their
 * names inline.
 */
uint64_t at_category_find(const char *category);
/*
 * Like at_category_find(), for a caller that writes @records records with the result. If the
 * process is not registered in time, that many count as missed.
 */
uint64_t at_category_find_for(const char *category, uint32_t records);

#pragma GCC visibility pop

#endif /* AT_OPERATION_H */
