/* SPDX-License-Identifier: GPL-2.0 */
/* An inode for each provider's mapping, so that each has an address space of its own */
#ifndef AT_MAPPING_INODE_H
#define AT_MAPPING_INODE_H

struct inode;

struct inode *at_space_new(void);
void at_space_free(struct inode *inode);

#endif /* AT_MAPPING_INODE_H */
