/* SPDX-License-Identifier: GPL-2.0 */
/* /dev/asynctrace */
#ifndef AT_CHARDEV_H
#define AT_CHARDEV_H

int at_chardev_init(void);
void at_chardev_exit(void);

#endif /* AT_CHARDEV_H */
