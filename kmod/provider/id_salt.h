/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Salts: numbers that make the operation ids of different processes distinct.
 */
#ifndef AT_ID_SALT_H
#define AT_ID_SALT_H

#include <linux/kref.h>
#include <linux/mm_types.h>
#include <linux/types.h>

/**
 * struct at_salt - bits 44..63 of the operation ids that a process makes
 * @ref: held by each provider of the process until the provider's contents are freed
 * @nr: the salt
 * @mm: mm of the process; only compared
 */
struct at_salt {
	struct kref ref;
	u32 nr;
	const struct mm_struct *mm;
};

struct at_salt *at_salt_get(u32 wanted);
void at_salt_put(struct at_salt *salt);

#endif /* AT_ID_SALT_H */
