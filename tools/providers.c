// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * asynctrace providers: who can be recorded
 */
#include <getopt.h>
#include <string.h>

#include <asynctrace/session.h>

#include "tool.h"

static const char usage[] =
	"usage: asynctrace providers [--json]\n"
	"\n"
	"Lists the providers that you may record: those of your own user, or, with\n"
	"CAP_PERFMON or CAP_SYS_ADMIN, all. A program that uses libasynctrace becomes\n"
	"one when it first traces something.\n"
	"\n"
	"  --json      as JSON\n"
	"  -h, --help  this\n"
	"\n"
	"Columns: ID as in other commands; PID of the process; VERSION that the program\n"
	"gave; SESSION that it is in; RINGS that hold memory; NOTES: recorded (now), late\n"
	"(joined after the session's start), gone (ended, but not drained), held (in a\n"
	"session that you may not see).\n"
	"\n"
	"asynctrace list is the same.\n"
	"\n"
	"Examples:\n"
	"  asynctrace providers\n"
	"  asynctrace providers --json | jq '.providers[].name'\n";

struct listing {
	struct json json;
	bool as_json;
	unsigned int count;
};

static int print_row(const struct at_provider_info *p, void *arg)
{
	struct listing *l = arg;
	char session[16] = "-";

	if (!l->count++)
		printf("%6s %8s %-12s %8s %8s %6s  %-20s %s\n", "ID", "PID", "USER", "VERSION",
		       "SESSION", "RINGS", "NAME", "NOTES");
	if (p->session)
		snprintf(session, sizeof(session), "%u", p->session);
	printf("%6u %8u %-12s %8u %8s %6u  %-20s%s%s%s%s\n", p->id, p->pid, tool_user(p->uid),
	       p->version, session, p->rings, tool_text(p->name),
	       p->started ? " recorded" : "",
	       p->flags & ASYNCTRACE_PROVIDER_F_LATE ? " late" : "",
	       p->flags & ASYNCTRACE_PROVIDER_F_GONE ? " gone" : "",
	       p->flags & ASYNCTRACE_PROVIDER_F_HELD ? " held" : "");
	return 0;
}

static int print_json(const struct at_provider_info *p, void *arg)
{
	struct listing *l = arg;
	struct json *j = &l->json;

	l->count++;
	json_open(j, NULL, '{');
	json_number(j, "id", p->id);
	json_string(j, "name", p->name);
	json_number(j, "pid", p->pid);
	json_number(j, "uid", p->uid);
	json_number(j, "version", p->version);
	json_number(j, "ring_stride", p->ring_stride);
	json_number(j, "rings", p->rings);
	if (p->session)
		json_number(j, "session", p->session);
	json_number(j, "sched_dropped", p->sched_dropped);
	json_number(j, "names_dropped", p->names_dropped);
	json_bool(j, "recorded", p->started);
	json_bool(j, "late", p->flags & ASYNCTRACE_PROVIDER_F_LATE);
	json_bool(j, "gone", p->flags & ASYNCTRACE_PROVIDER_F_GONE);
	json_bool(j, "held", p->flags & ASYNCTRACE_PROVIDER_F_HELD);
	json_close(j, '}');
	return 0;
}

int providers_main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct listing l = { .json.out = stdout };
	struct at_ctl *ctl;
	int err, opt;

	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (opt) {
		case 'j':
			l.as_json = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return TOOL_OK;
		default:
			fputs(usage, stderr);
			return TOOL_USAGE;
		}
	}
	if (optind < argc) {
		tool_error("unexpected argument '%s'; see asynctrace providers --help", argv[optind]);
		return TOOL_USAGE;
	}

	err = at_ctl_open(&ctl);
	if (!err && l.as_json) {
		json_open(&l.json, NULL, '{');
		json_open(&l.json, "providers", '[');
	}
	if (!err)
		err = at_providers(ctl, l.as_json ? print_json : print_row, &l);
	if (err)
		tool_error("%s", at_ctl_error(ctl));
	else if (l.as_json) {
		json_close(&l.json, ']');
		json_close(&l.json, '}');
		json_end(&l.json);
	} else if (!l.count) {
		puts("No providers: no program that you may record has traced anything yet.");
	}
	at_ctl_close(ctl);
	return err ? TOOL_FAILED : TOOL_OK;
}
