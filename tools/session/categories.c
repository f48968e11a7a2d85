// SPDX-License-Identifier: GPL-2.0-or-later
/* asynctrace categories: lists the categories that providers announce */
#include <string.h>

#include <asynctrace/session.h>

#include "tool.h"

static const char usage[] =
	"usage: asynctrace categories [--json]\n"
	"\n"
	"Lists the categories that providers have announced, with their descriptions.\n"
	"A category that a program does not announce can be recorded all the same.\n"
	"\n"
	"      --json  print JSON\n"
	"  -h, --help  print this text\n"
	"\n"
	"Examples:\n"
	"  asynctrace categories\n"
	"  asynctrace categories --json | jq '.providers[].categories[].name'\n";

struct listing {
	struct json_doc json;
	bool as_json;
	uint32_t provider;	/* of the previous category; 0: none yet */
};

static int print_row(const struct at_category_info *c, struct listing *l)
{
	if (c->provider != l->provider)
		printf("%s%s (provider %u)\n", l->provider ? "\n" : "", tool_text(c->provider_name),
		       c->provider);
	l->provider = c->provider;
	printf("  %-24s %s\n", tool_text(c->name), tool_text(c->description));
	return 0;
}

static int print_category(const struct at_category_info *c, void *arg)
{
	struct listing *l = arg;
	struct json_doc *j = &l->json;

	if (!l->as_json)
		return print_row(c, l);
	if (c->provider != l->provider) {
		if (l->provider) {
			doc_close(j);
			doc_close(j);
		}
		doc_object(j, NULL);
		doc_number(j, "id", c->provider);
		doc_string(j, "name", c->provider_name);
		doc_array(j, "categories");
	}
	l->provider = c->provider;
	doc_object(j, NULL);
	doc_string(j, "name", c->name);
	doc_string(j, "description", c->description);
	doc_close(j);
	return 0;
}

static int list(struct listing *l)
{
	struct json_doc *j = &l->json;
	struct at_ctl *ctl;
	int err;

	err = at_ctl_open(&ctl);
	if (!err && l->as_json) {
		doc_object(j, NULL);
		doc_array(j, "providers");
	}
	if (!err)
		err = at_for_each_category(ctl, print_category, l);
	if (err) {
		tool_error("%s", at_ctl_error(ctl));
	} else if (l->as_json) {
		if (l->provider) {
			doc_close(j);
			doc_close(j);
		}
		doc_close(j);
		doc_close(j);
		err = !doc_write(j);
	} else if (!l->provider) {
		puts("No program has announced its categories.");
	}
	at_ctl_close(ctl);
	return err ? TOOL_FAILED : TOOL_OK;
}

int categories_main(int argc, char **argv)
{
	struct listing l = {};
	int status;

	status = tool_listing_options(argc, argv, usage, &l.as_json);
	if (status >= 0)
		return status;
	return list(&l);
}
