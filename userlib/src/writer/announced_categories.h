/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Announced categories in the module's format */
#ifndef AT_ANNOUNCED_CATEGORIES_H
#define AT_ANNOUNCED_CATEGORIES_H

#include <stddef.h>

#include <asynctrace/provider.h>

/**
 * struct at_announced - netlink attributes of an announcement
 * @room: size of @attrs, bytes
 * @len: used bytes of @attrs
 * @attrs: attributes for ASYNCTRACE_IOC_ANNOUNCE
 */
struct at_announced {
	size_t room;
	size_t len;
	_Alignas(8) char attrs[];
};

/*
 * Makes the attributes of an announcement. The caller frees *@out with free(3). Returns 0, or an
 * error of at_provider_announce().
 */
int at_announced_make(const struct at_category *list, size_t n, struct at_announced **out)
	__attribute__((visibility("hidden")));

#endif /* AT_ANNOUNCED_CATEGORIES_H */
