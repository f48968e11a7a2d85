/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums of numbers that cannot be trusted */
#ifndef AT_SUM_H
#define AT_SUM_H

#include <stdint.h>

/*
 * Adds @n to *@sum, at most up to the largest number, because a provider or a trace may claim any
 * number of losses.
 */
static inline void sum_add(uint64_t *sum, uint64_t n)
{
	if (__builtin_add_overflow(*sum, n, sum))
		*sum = UINT64_MAX;
}

#endif /* AT_SUM_H */
