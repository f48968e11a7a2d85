// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * asynctrace session create
 */
#include <stdio.h>
#include <string.h>

#include "session/session.h"
#include "session/args.h"
#include "tool.h"

static const char usage[] =
	"usage: asynctrace session create [OPTION...] NAME\n"
	"\n"
	"Makes a session that exists until asynctrace session destroy, fixes its buffers\n"
	"and providers, and prints its id and name. Recording begins with\n"
	"asynctrace session start.\n"
	"\n"
	"  -m, --mode MODE         streaming: for asynctrace session attach (default);\n"
	"                          circular: keep the last records, for snapshots;\n"
	"                          oneshot: keep the first records, for attach\n"
	SESSION_OPTIONS_HELP
	"      --follow            with --pid: also the descendants of these processes\n"
	"      --no-init           do not fix buffers and providers yet; use\n"
	"                          asynctrace session init for that\n"
	"      --json              print the session as JSON\n"
	"  -h, --help              print this text\n"
	"\n"
	"Examples:\n"
	"  asynctrace session create -m circular -b 8M -p 'http*' flight\n"
	"  asynctrace session create --pid 4711 --follow -s off job\n";

enum { OPT_NO_INIT = SESSION_OPT_END };

static const struct option options[] = {
	SESSION_LONG_OPTIONS,
	{ "no-init", no_argument, NULL, OPT_NO_INIT },
	SESSION_COMMON_OPTIONS
};

/**
 * struct create - the options of the verb
 * @args: the session
 * @init: also initialize the session
 * @json: print the session as JSON
 */
struct create {
	struct session_args args;
	bool init;
	bool json;
};

static int make_new(const struct create *c, struct at_ctl *ctl, const struct at_info *info,
		    uint32_t *id)
{
	int err;

	err = session_args_create(&c->args, ctl, info, ASYNCTRACE_SESSION_FLAGS_DETACHED |
				  ASYNCTRACE_SESSION_FLAGS_REASONS, id);
	if (err || !c->init)
		return err;
	err = session_args_init_session(&c->args, ctl, info, *id);
	/* A failed create must leave nothing behind. */
	if (err)
		at_session_destroy(ctl, *id);
	return err;
}

static int create(const struct create *c)
{
	struct at_info info = { .size = sizeof(info) };
	struct at_ctl *ctl;
	uint32_t id = 0;
	int err;

	err = at_ctl_open(&ctl);
	if (!err)
		err = at_info(ctl, &info);
	if (err)
		tool_error("%s", at_ctl_error(ctl));
	else
		err = make_new(c, ctl, &info, &id);
	if (!err && !c->json)
		printf("%u %s\n", id, tool_text(c->args.name));
	return session_close(ctl, id, c->json, err);
}

int session_create_main(int argc, char **argv)
{
	struct create c = { .init = true };
	int opt;

	session_args_init(&c.args);
	while ((opt = tool_getopt(argc, argv, "h" SESSION_SHORT_OPTIONS, options)) != -1) {
		switch (opt) {
		case OPT_NO_INIT:
			c.init = false;
			break;
		case 'j':
			c.json = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return TOOL_OK;
		case '?':
			return session_wrong_usage();
		default:
			if (!session_args_take(&c.args, opt, optarg))
				return TOOL_USAGE;
		}
	}
	if (optind + 1 != argc) {
		if (optind == argc)
			tool_error("give the session a name");
		else
			tool_error("unexpected argument '%s'; options come first, one name last",
				   tool_text(argv[optind + 1]));
		return session_wrong_usage();
	}
	if (!session_args_name(&c.args, argv[optind]))
		return TOOL_USAGE;
	if (c.args.follow && !c.args.nr_pids) {
		tool_error("--follow needs --pid, whose descendants to record");
		return TOOL_USAGE;
	}
	return create(&c);
}
