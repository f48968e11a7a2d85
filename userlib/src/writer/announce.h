/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Announced categories, as the module wants them
 */
#ifndef AT_ANNOUNCE_H
#define AT_ANNOUNCE_H

#include <stddef.h>

#include <asynctrace/provider.h>

/**
 * struct at_announced - the attributes of an announcement
 * @room: bytes of @attrs
 * @len: of them in use
 * @attrs: for ASYNCTRACE_IOC_ANNOUNCE
 */
struct at_announced {
	size_t room;
	size_t len;
	_Alignas(8) char attrs[];
};

/* As at_provider_announce(). What it makes is to be freed by free(). */
int at_announced_make(const struct at_category *list, size_t n, struct at_announced **out)
	__attribute__((visibility("hidden")));

#endif /* AT_ANNOUNCE_H */
