// SPDX-License-Identifier: GPL-2.0-or-later
/* asynctrace session: sessions that outlive the command that made them */
#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "session/session.h"
#include "session/args.h"
#include "tool.h"

static const struct {
	const char *name;
	int (*main)(int argc, char **argv);
	const char *help;
} verbs[] = {
	{ "create", session_create_main, "make a session, and fix its buffers and providers" },
	{ "init", session_init_main, "fix buffers and providers after create --no-init" },
	{ "start", session_start_main, "start recording" },
	{ "stop", session_stop_main, "stop recording until the next start" },
	{ "update", session_update_main, "replace the categories" },
	{ "snapshot", session_snapshot_main, "write the records that a circular session holds" },
	{ "attach", session_attach_main, "write the records of a session while it runs" },
	{ "destroy", session_destroy_main, "end a session; records that were not read are lost" },
	{ "list", session_list_main, "show the sessions that you may see" },
};

#define NR_VERBS (sizeof(verbs) / sizeof(verbs[0]))

static void help(FILE *out)
{
	fputs("usage: asynctrace session VERB [OPTION...] [SESSION]\n"
	      "\n"
	      "Makes and drives sessions that outlive the command. SESSION is the name of one\n"
	      "of your sessions, or the id of any that you may control.\n"
	      "\n"
	      "Verbs:\n", out);
	for (size_t i = 0; i < NR_VERBS; i++)
		fprintf(out, "  %-10s %s\n", verbs[i].name, verbs[i].help);
	fputs("\n"
	      "  -h, --help  print this text; asynctrace session VERB --help tells more\n"
	      "\n"
	      "Exit status: 0; 1 if the verb failed; 2 for wrong usage.\n"
	      "\n"
	      "Examples:\n"
	      "  asynctrace session create -m circular -b 8M flight\n"
	      "  asynctrace session start flight\n"
	      "  asynctrace session snapshot flight -o before-the-crash.fxt\n"
	      "  asynctrace session destroy flight\n", out);
}

int session_main(int argc, char **argv)
{
	static char name[32];

	if (argc < 2) {
		help(stderr);
		return TOOL_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		help(stdout);
		return TOOL_OK;
	}
	for (size_t i = 0; i < NR_VERBS; i++) {
		if (strcmp(argv[1], verbs[i].name))
			continue;
		snprintf(name, sizeof(name), "session %s", verbs[i].name);
		tool_begin(name, argv + 1);
		return verbs[i].main(argc - 1, argv + 1);
	}
	tool_error("there is no verb '%s'; see asynctrace session --help", tool_text(argv[1]));
	return TOOL_USAGE;
}

/* --- list ------------------------------------------------------------------------- */

static const char list_usage[] =
	"usage: asynctrace session list [--json]\n"
	"\n"
	"Lists the sessions that you may see: your own, or, with CAP_PERFMON, all.\n"
	"\n"
	"      --json  print JSON\n"
	"  -h, --help  print this text\n"
	"\n"
	"Columns: ID and NAME as in other commands; USER, its owner; STATE ready,\n"
	"initialized, started or stopped; PROVIDERS in it; SIZE of one ring; NOTES:\n"
	"detached (outlives the command that made it), read (a process reads it).\n"
	"\n"
	"Examples:\n"
	"  asynctrace session list --json | jq '.sessions[] | select(.state == \"started\").name'\n";

struct listing {
	struct json_doc json;
	bool as_json;
	unsigned int count;
};

static int print_row(const struct at_session_info *s, void *arg)
{
	struct listing *l = arg;

	if (l->as_json)
		return session_print(s, &l->json);
	if (!l->count++)
		printf("%6s %-12s %-12s %-10s %-8s %9s %8s  %-20s %s\n", "ID", "USER", "STATE",
		       "MODE", "SCHED", "PROVIDERS", "SIZE", "NAME", "NOTES");
	printf("%6u %-12s %-12s %-10s %-8s %9u %8s  %-20s%s%s\n", s->id, tool_user(s->uid),
	       tool_state(s->state), tool_mode(s->mode), tool_sched(s->sched), s->providers,
	       tool_short_size(s->ring_size), tool_text(s->name),
	       s->flags & ASYNCTRACE_SESSION_FLAGS_DETACHED ? " detached" : "",
	       s->consumed ? " read" : "");
	return 0;
}

int session_list_main(int argc, char **argv)
{
	struct listing l = {};
	struct at_ctl *ctl;
	int err, status;

	status = tool_listing_options(argc, argv, list_usage, &l.as_json);
	if (status >= 0)
		return status;
	err = at_ctl_open(&ctl);
	if (!err && l.as_json) {
		doc_object(&l.json, NULL);
		doc_array(&l.json, "sessions");
	}
	if (!err)
		err = at_for_each_session(ctl, print_row, &l);
	if (err) {
		tool_error("%s", at_ctl_error(ctl));
	} else if (l.as_json) {
		doc_close(&l.json);
		doc_close(&l.json);
		err = !doc_write(&l.json);
	} else if (!l.count) {
		puts("No sessions.");
	}
	at_ctl_close(ctl);
	return err ? TOOL_FAILED : TOOL_OK;
}
