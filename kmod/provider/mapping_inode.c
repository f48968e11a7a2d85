// SPDX-License-Identifier: GPL-2.0
/*
 * Creates an address space for each provider's mapping, as graphics drivers do for each device.
 * So a zap in the mapping of one provider takes no lock that faults, forks or exits of another
 * provider need.
 */
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/pseudo_fs.h>

#include "provider/mapping_inode.h"

#define AT_SPACE_MAGIC	0x61737472	/* "rtsa" */

static struct vfsmount *at_space_mount;
static int at_space_users;

static int at_space_init_context(struct fs_context *fc)
{
	return init_pseudo(fc, AT_SPACE_MAGIC) ? 0 : -ENOMEM;
}

static struct file_system_type at_space_type = {
	.name = "asynctrace",
	.owner = THIS_MODULE,
	.init_fs_context = at_space_init_context,
	.kill_sb = kill_anon_super,
};

/**
 * at_space_new - make an address space
 *
 * Return: an inode that owns the address space, for at_space_free(), or an ERR_PTR().
 */
struct inode *at_space_new(void)
{
	struct inode *inode;
	int err;

	err = simple_pin_fs(&at_space_type, &at_space_mount, &at_space_users);
	if (err)
		return ERR_PTR(err);
	inode = alloc_anon_inode(at_space_mount->mnt_sb);
	if (IS_ERR(inode))
		simple_release_fs(&at_space_mount, &at_space_users);
	return inode;
}

/* Free an address space that has no mapping left. */
void at_space_free(struct inode *inode)
{
	iput(inode);
	simple_release_fs(&at_space_mount, &at_space_users);
}
