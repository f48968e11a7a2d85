/* SPDX-License-Identifier: GPL-2.0 */
#ifndef AT_SPACE_H
#define AT_SPACE_H

struct inode;

struct inode *at_space_new(void);
void at_space_free(struct inode *inode);

#endif /* AT_SPACE_H */
