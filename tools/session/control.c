// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * asynctrace session init, start, stop, update, destroy
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "session/session.h"
#include "session/args.h"
#include "record/taken.h"
#include "tool.h"

static const char init_usage[] =
	"usage: asynctrace session init [OPTION...] SESSION\n"
	"\n"
	"Fixes the buffers and providers of a session that was made with\n"
	"asynctrace session create --no-init. Changes nothing if that has been done.\n"
	"\n"
	"      --json  print the session as JSON\n"
	"  -h, --help  print this text\n"
	"\n"
	"Examples:\n"
	"  asynctrace session init flight\n";

static const char start_usage[] =
	"usage: asynctrace session start [OPTION...] SESSION\n"
	"\n"
	"Starts recording. Changes nothing if the session is started already.\n"
	"\n"
	"      --clear WHAT       clear from earlier runs: entire (records and names),\n"
	"                         nondurable (records), or retain (nothing; default)\n"
	"  -c, --categories LIST  record these categories, too, in this run only\n"
	"      --json             print the session as JSON\n"
	"  -h, --help             print this text\n"
	"\n"
	"Examples:\n"
	"  asynctrace session start --clear nondurable -c verbose flight\n";

static const char stop_usage[] =
	"usage: asynctrace session stop [OPTION...] SESSION\n"
	"\n"
	"Stops recording until the session is started again. Its records stay. Changes\n"
	"nothing if the session is not started.\n"
	"\n"
	"      --json  print the session as JSON\n"
	"  -h, --help  print this text\n"
	"\n"
	"Examples:\n"
	"  asynctrace session stop flight\n";

static const char update_usage[] =
	"usage: asynctrace session update [OPTION...] SESSION\n"
	"\n"
	"Replaces the session's categories, also while it runs. No record is lost by\n"
	"that.\n"
	"\n"
	"  -c, --categories LIST  new categories, separated by commas; 'net*' means all that\n"
	"                         begin with net, -NAME excludes NAME, '*' means all\n"
	"      --json             print the session as JSON\n"
	"  -h, --help             print this text\n"
	"\n"
	"Examples:\n"
	"  asynctrace session update -c http,disk flight\n";

static const char destroy_usage[] =
	"usage: asynctrace session destroy [OPTION...] SESSION\n"
	"\n"
	"Ends a session. Records that have not been read are lost.\n"
	"\n"
	"      --json  print the last state of the session as JSON\n"
	"  -h, --help  print this text\n"
	"\n"
	"Examples:\n"
	"  asynctrace session destroy flight\n";

enum { OPT_CLEAR = SESSION_OPT_END };

/**
 * struct control - a verb and its options
 * @usage: help text
 * @options: long options
 * @short_options: letters of options
 * @act: performs the verb; returns 0 or a negative errno
 * @categories: argument of -c
 * @clear: enum asynctrace_disposition of --clear, or 0
 * @json: print the session as JSON
 */
struct control {
	const char *usage;
	const struct option *options;
	const char *short_options;
	int (*act)(const struct control *c, struct at_ctl *ctl, uint32_t id);
	struct session_list categories;
	uint32_t clear;
	bool json;
};

static bool take_clear(struct control *c, const char *text)
{
	static const struct {
		const char *name;
		uint32_t value;
	} known[] = {
		{ "entire", ASYNCTRACE_DISPOSITION_CLEAR_ENTIRE },
		{ "nondurable", ASYNCTRACE_DISPOSITION_CLEAR_NONDURABLE },
		{ "retain", ASYNCTRACE_DISPOSITION_RETAIN },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(text, known[i].name))
			continue;
		c->clear = known[i].value;
		return true;
	}
	tool_error("--clear cannot be '%s'; use entire, nondurable or retain",
		   tool_text(text));
	return false;
}

static int control(struct control *c, int argc, char **argv)
{
	struct at_ctl *ctl;
	const char *text;
	uint32_t id = 0;
	int err, opt;

	while ((opt = tool_getopt(argc, argv, c->short_options, c->options)) != -1) {
		switch (opt) {
		case 'c':
			if (!session_list_take(&c->categories, optarg, ASYNCTRACE_CATEGORY_MAX,
					       "categories"))
				return TOOL_USAGE;
			break;
		case OPT_CLEAR:
			if (!take_clear(c, optarg))
				return TOOL_USAGE;
			break;
		case 'j':
			c->json = true;
			break;
		case 'h':
			fputs(c->usage, stdout);
			return TOOL_OK;
		default:
			return session_wrong_usage();
		}
	}
	if (c->usage == update_usage && !c->categories.nr) {
		tool_error("name the categories: -c LIST; '*' means all");
		return TOOL_USAGE;
	}
	text = session_argument(argc, argv);
	if (!text)
		return session_wrong_usage();
	err = session_open(text, &ctl, &id);
	if (!err)
		err = c->act(c, ctl, id);
	/* destroy() has printed the session before it destroyed it. */
	return session_close(ctl, id, c->json && c->usage != destroy_usage, err);
}

static int told(struct at_ctl *ctl, int err)
{
	if (err)
		tool_error("%s", at_ctl_error(ctl));
	return err;
}

static int init(const struct control *c, struct at_ctl *ctl, uint32_t id)
{
	(void)c;
	return told(ctl, at_session_init(ctl, id));
}

int session_init_main(int argc, char **argv)
{
	static const struct option options[] = { SESSION_COMMON_OPTIONS };
	struct control c = {
		.usage = init_usage, .options = options, .short_options = "h", .act = init,
	};

	return control(&c, argc, argv);
}

static int start(const struct control *c, struct at_ctl *ctl, uint32_t id)
{
	struct at_start_options opts = {
		.size = sizeof(opts),
		.disposition = c->clear,
		.nr_additional = c->categories.nr,
		.additional = c->categories.of,
	};

	struct taken taken = { };
	int err;

	/*
	 * Ignore an error: it only disables messages about providers that the session does not
	 * get.
	 */
	taken_open(&taken, id);
	err = told(ctl, at_session_start(ctl, id, &opts));
	if (!err)
		taken_tell(&taken, ctl);
	taken_close(&taken);
	return err;
}

int session_start_main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "clear", required_argument, NULL, OPT_CLEAR },
		{ "categories", required_argument, NULL, 'c' },
		SESSION_COMMON_OPTIONS
	};
	struct control c = {
		.usage = start_usage, .options = options, .short_options = "c:h", .act = start,
	};

	return control(&c, argc, argv);
}

static int stop(const struct control *c, struct at_ctl *ctl, uint32_t id)
{
	(void)c;
	return told(ctl, at_session_stop(ctl, id));
}

int session_stop_main(int argc, char **argv)
{
	static const struct option options[] = { SESSION_COMMON_OPTIONS };
	struct control c = {
		.usage = stop_usage, .options = options, .short_options = "h", .act = stop,
	};

	return control(&c, argc, argv);
}

static int update(const struct control *c, struct at_ctl *ctl, uint32_t id)
{
	return told(ctl, at_session_update(ctl, id, c->categories.nr, c->categories.of));
}

int session_update_main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "categories", required_argument, NULL, 'c' },
		SESSION_COMMON_OPTIONS
	};
	struct control c = {
		.usage = update_usage, .options = options, .short_options = "c:h", .act = update,
	};

	return control(&c, argc, argv);
}

static int print_last(const struct at_session_info *s, void *arg)
{
	struct json_doc j = {};

	doc_object(&j, NULL);
	session_json(&j, s);
	doc_close(&j);
	*(bool *)arg = doc_write(&j);
	return 0;
}

static int destroy(const struct control *c, struct at_ctl *ctl, uint32_t id)
{
	bool written = true;
	int err = c->json ? at_session_get(ctl, id, print_last, &written) : 0;

	err = told(ctl, err ? err : at_session_destroy(ctl, id));
	return err || written ? err : -EIO;
}

int session_destroy_main(int argc, char **argv)
{
	static const struct option options[] = { SESSION_COMMON_OPTIONS };
	struct control c = {
		.usage = destroy_usage, .options = options, .short_options = "h", .act = destroy,
	};

	return control(&c, argc, argv);
}
