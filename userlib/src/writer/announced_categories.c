// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Categories that the program announces
 *
 * The library stores them as netlink attributes. So a later registration, in a forked child or a
 * signal handler, can send them without allocating memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/asynctrace.h>
#include <linux/asynctrace_netlink.h>
#include <linux/netlink.h>

#include "announced_categories.h"
#include "genl.h"

/* Bytes of the attributes of a category with the longest texts. */
#define AT_CATEGORY_BYTES \
	(3 * NLA_HDRLEN + NLA_ALIGN(ASYNCTRACE_CATEGORY_MAX + 1) + \
	 NLA_ALIGN(ASYNCTRACE_DESCRIPTION_MAX + 1))

static int check_categories(const struct at_category *list, size_t n)
{
	if (n > ASYNCTRACE_CATEGORIES_MAX)
		return -ERANGE;
	if (n && !list)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		const struct at_category *c = &list[i];

		if (!c->name || !*c->name ||
		    strnlen(c->name, ASYNCTRACE_CATEGORY_MAX + 1) > ASYNCTRACE_CATEGORY_MAX)
			return -EINVAL;
		if (c->description &&
		    strnlen(c->description, ASYNCTRACE_DESCRIPTION_MAX + 1) >
		    ASYNCTRACE_DESCRIPTION_MAX)
			return -EINVAL;
		for (size_t k = 0; k < i; k++)
			if (!strcmp(list[k].name, c->name))
				return -EINVAL;
	}
	return 0;
}

/* Puts one category as a nest. There is room, because the texts have been checked. */
static void put_category(struct at_announced *a, const struct at_category *c)
{
	char nest[AT_CATEGORY_BYTES];
	size_t len = 0;

	at_attr_put(nest, sizeof(nest), &len, ASYNCTRACE_A_KNOWN_NAME, c->name,
		    strlen(c->name) + 1);
	if (c->description && *c->description)
		at_attr_put(nest, sizeof(nest), &len, ASYNCTRACE_A_KNOWN_DESCRIPTION,
			    c->description, strlen(c->description) + 1);
	at_attr_put(a->attrs, a->room, &a->len, ASYNCTRACE_A_PROVIDER_KNOWN | NLA_F_NESTED,
		    nest, len);
}

int at_announced_make(const struct at_category *list, size_t n, struct at_announced **out)
{
	const size_t room = n * AT_CATEGORY_BYTES;
	struct at_announced *a;
	int err;

	err = check_categories(list, n);
	if (err)
		return err;
	a = malloc(sizeof(*a) + room);
	if (!a)
		return -ENOMEM;
	a->room = room;
	a->len = 0;
	for (size_t i = 0; i < n; i++)
		put_category(a, &list[i]);
	*out = a;
	return 0;
}
