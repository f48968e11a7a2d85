// SPDX-License-Identifier: GPL-2.0-or-later
/* asynctrace providers: lists the programs that can be recorded */
#include <string.h>

#include <asynctrace/session.h>

#include "tool.h"

static const char usage[] =
	"usage: asynctrace providers [--json]\n"
	"\n"
	"Lists the providers that you may record: those of your own user that ptrace(2)\n"
	"permits, or, with CAP_PERFMON or CAP_SYS_ADMIN, all. A program that uses\n"
	"libasynctrace becomes a provider when it first traces something.\n"
	"\n"
	"  --json      print JSON\n"
	"  -h, --help  print this text\n"
	"\n"
	"Columns: ID as in other commands; PID of the process; VERSION that the program\n"
	"gave; SESSION that it is in; RINGS that hold memory; NOTES: recorded (now), late\n"
	"(joined after the session's start), held (in a session that you may not see).\n"
	"\n"
	"asynctrace list is another name of this command.\n"
	"\n"
	"Examples:\n"
	"  asynctrace providers\n"
	"  asynctrace providers --json | jq '.providers[].name'\n";

struct listing {
	struct json_doc json;
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
	printf("%6u %8u %-12s %8u %8s %6u  %-20s%s%s%s\n", p->id, p->pid, tool_user(p->uid),
	       p->version, session, p->rings, tool_text(p->name),
	       p->started ? " recorded" : "",
	       p->flags & ASYNCTRACE_PROVIDER_F_LATE ? " late" : "",
	       p->flags & ASYNCTRACE_PROVIDER_F_HELD ? " held" : "");
	return 0;
}

static int print_json(const struct at_provider_info *p, void *arg)
{
	struct listing *l = arg;
	struct json_doc *j = &l->json;

	l->count++;
	doc_object(j, NULL);
	doc_number(j, "id", p->id);
	doc_string(j, "name", p->name);
	doc_number(j, "pid", p->pid);
	doc_number(j, "uid", p->uid);
	doc_number(j, "version", p->version);
	doc_number(j, "ring_stride", p->ring_stride);
	doc_number(j, "rings", p->rings);
	if (p->session)
		doc_number(j, "session", p->session);
	doc_number(j, "sched_dropped", p->sched_dropped);
	doc_number(j, "names_dropped", p->names_dropped);
	doc_bool(j, "recorded", p->started);
	doc_bool(j, "late", p->flags & ASYNCTRACE_PROVIDER_F_LATE);
	doc_bool(j, "held", p->flags & ASYNCTRACE_PROVIDER_F_HELD);
	doc_close(j);
	return 0;
}

int providers_main(int argc, char **argv)
{
	struct listing l = {};
	struct at_ctl *ctl;
	int err, status;

	status = tool_listing_options(argc, argv, usage, &l.as_json);
	if (status >= 0)
		return status;

	err = at_ctl_open(&ctl);
	if (!err && l.as_json) {
		doc_object(&l.json, NULL);
		doc_array(&l.json, "providers");
	}
	if (!err)
		err = at_for_each_provider(ctl, l.as_json ? print_json : print_row, &l);
	if (err)
		tool_error("%s", at_ctl_error(ctl));
	else if (l.as_json) {
		doc_close(&l.json);
		doc_close(&l.json);
		err = !doc_write(&l.json);
	} else if (!l.count) {
		puts("No providers: no program that you may record has traced anything yet. A program that\n"
		     "traced before the module was loaded is not a provider: start it again.");
	}
	at_ctl_close(ctl);
	return err ? TOOL_FAILED : TOOL_OK;
}
