// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of rules, from the list in rules.h */
#include "rules.h"

const struct fxt_rule_info fxt_rules[FXT_RULE_COUNT] = {
#define FXT_RULE_INFO(id, name, text, excuse) \
	[FXT_RULE_##id] = { name, text, FXT_EXCUSE_##excuse },
	FXT_RULES(FXT_RULE_INFO)
#undef FXT_RULE_INFO
};
