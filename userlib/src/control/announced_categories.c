// SPDX-License-Identifier: LGPL-2.1-or-later
/* Lists the categories that providers have announced */
#include "ctl.h"

struct at_category_each {
	at_category_fn fn;
	void *arg;
};

static int at_got_categories(const struct nlmsghdr *nlh, void *arg)
{
	const struct at_category_each *each = arg;
	const struct nlattr *nest, *attr;
	struct at_attrs a;
	int ret = 0;

	at_parse(nlh, &a);
	mnl_attr_for_each(nest, nlh, GENL_HDRLEN) {
		struct at_category_info c = {
			.provider = at_attr_u32(&a, ASYNCTRACE_A_PROVIDER_ID),
			.provider_name = at_attr_str(&a, ASYNCTRACE_A_PROVIDER_NAME),
			.name = "",
			.description = "",
		};

		if (mnl_attr_get_type(nest) != ASYNCTRACE_A_PROVIDER_KNOWN)
			continue;
		mnl_attr_for_each_nested(attr, nest) {
			if (mnl_attr_get_type(attr) == ASYNCTRACE_A_KNOWN_NAME)
				c.name = at_string(attr);
			else if (mnl_attr_get_type(attr) == ASYNCTRACE_A_KNOWN_DESCRIPTION)
				c.description = at_string(attr);
		}
		ret = each->fn(&c, each->arg);
		if (ret)
			break;
	}
	return ret;
}

int at_for_each_category(struct at_ctl *ctl, at_category_fn fn, void *arg)
{
	struct at_category_each each = { .fn = fn, .arg = arg };
	struct nlmsghdr *nlh = at_ctl_request(ctl, ASYNCTRACE_CMD_CATEGORY_GET, NLM_F_DUMP);

	return at_ctl_talk(ctl, nlh, at_got_categories, &each);
}
