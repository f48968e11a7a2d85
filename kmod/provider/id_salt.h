/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Salts: numbers that make the operation ids of different processes distinct.
 */
#ifndef AT_ID_SALT_H
#define AT_ID_SALT_H

#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/types.h>

struct at_charge;
struct at_user_salts;

/**
 * struct at_salt - bits 44..63 of operation ids that a process makes
 * @nr: the salt
 * @providers: number of the process's providers that use the salt and whose contents are not
 *	freed; 0: the salt is kept for the process
 * @mm: mm of the process, with a reference to the structure; only compared
 * @kept: node in the table of kept salts
 * @user: kept salts of the user who is charged for the salt, with a reference; NULL if the salt
 *	is in use, or if the user has CAP_SYS_RESOURCE
 * @of_user: node in @user
 */
struct at_salt {
	u32 nr;
	u32 providers;
	struct mm_struct *mm;
	struct hlist_node kept;
	struct at_user_salts *user;
	struct list_head of_user;
};

struct at_salt *at_salt_get(u32 wanted);
void at_salt_put(struct at_salt *salt, const struct at_charge *charge);
void at_salts_exit(void);

#endif /* AT_ID_SALT_H */
