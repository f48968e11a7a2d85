// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * asynctrace categories: what providers say that they can record
 */
#include <getopt.h>
#include <string.h>

#include <asynctrace/session.h>

#include "tool.h"

static const char usage[] =
	"usage: asynctrace categories [--json]\n"
	"\n"
	"Lists the categories that providers have announced, with their descriptions.\n"
	"What a program does not announce can be recorded all the same.\n"
	"\n"
	"      --json  as JSON\n"
	"  -h, --help  this\n"
	"\n"
	"Examples:\n"
	"  asynctrace categories\n"
	"  asynctrace categories --json | jq '.providers[].categories[].name'\n";

struct listing {
	struct json json;
	bool as_json;
	uint32_t provider;	/* that the last one was of; 0: none yet */
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
	struct json *j = &l->json;

	if (!l->as_json)
		return print_row(c, l);
	if (c->provider != l->provider) {
		if (l->provider) {
			json_close(j, ']');
			json_close(j, '}');
		}
		json_open(j, NULL, '{');
		json_number(j, "id", c->provider);
		json_string(j, "name", c->provider_name);
		json_open(j, "categories", '[');
	}
	l->provider = c->provider;
	json_open(j, NULL, '{');
	json_string(j, "name", c->name);
	json_string(j, "description", c->description);
	json_close(j, '}');
	return 0;
}

static int list(struct listing *l)
{
	struct json *j = &l->json;
	struct at_ctl *ctl;
	int err;

	err = at_ctl_open(&ctl);
	if (!err && l->as_json) {
		json_open(j, NULL, '{');
		json_open(j, "providers", '[');
	}
	if (!err)
		err = at_categories(ctl, print_category, l);
	if (err) {
		tool_error("%s", at_ctl_error(ctl));
	} else if (l->as_json) {
		if (l->provider) {
			json_close(j, ']');
			json_close(j, '}');
		}
		json_close(j, ']');
		json_close(j, '}');
		json_end(j);
	} else if (!l->provider) {
		puts("No program has announced its categories.");
	}
	at_ctl_close(ctl);
	return err ? TOOL_FAILED : TOOL_OK;
}

int categories_main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct listing l = { .json.out = stdout };
	int opt;

	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (opt) {
		case 'j':
			l.as_json = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return TOOL_OK;
		default:
			fputs("Try 'asynctrace categories --help'.\n", stderr);
			return TOOL_USAGE;
		}
	}
	if (optind < argc) {
		tool_error("unexpected argument '%s'; see asynctrace categories --help",
			   argv[optind]);
		return TOOL_USAGE;
	}
	return list(&l);
}
