// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * asynctrace session: what its verbs share: wrong usage, finding the session that the arguments
 * name, and answers as JSON
 */
#include <getopt.h>
#include <stdio.h>

#include "session/session.h"
#include "session/args.h"
#include "tool.h"

int session_wrong_usage(void)
{
	fprintf(stderr, "Try 'asynctrace %s --help'.\n", tool_name);
	return TOOL_USAGE;
}

const char *session_argument(int argc, char **argv)
{
	if (optind + 1 == argc)
		return argv[optind];
	if (optind == argc)
		tool_error("name the session; see asynctrace session list");
	else
		tool_error("too many arguments: '%s'; name one session", tool_text(argv[optind + 1]));
	return NULL;
}

int session_open(const char *text, struct at_ctl **ctl, uint32_t *id)
{
	int err = at_ctl_open(ctl);

	if (!err)
		return session_find(*ctl, text, id);
	tool_error("%s", at_ctl_error(*ctl));
	return err;
}

int session_print(const struct at_session_info *s, void *arg)
{
	struct json_doc *j = arg;

	doc_object(j, NULL);
	session_json(j, s);
	doc_close(j);
	return 0;
}

int session_close(struct at_ctl *ctl, uint32_t id, bool as_json, int err)
{
	struct json_doc json = {};

	if (!err && as_json) {
		err = at_session_get(ctl, id, session_print, &json);
		if (err)
			tool_error("%s", at_ctl_error(ctl));
		else
			err = !doc_write(&json);
	}
	at_ctl_close(ctl);
	return err ? TOOL_FAILED : TOOL_OK;
}
