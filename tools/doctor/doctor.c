// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * asynctrace doctor: checks whether this user can record on this machine, and names a remedy for
 * each problem
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/netlink.h>

#include "doctor/doctor.h"
#include "tool.h"

static const char usage[] =
	"usage: asynctrace doctor [--json]\n"
	"\n"
	"Checks what would not work for you on this machine, and names the remedy. Each\n"
	"check is a line: ok; warn, if recording is limited or expensive; FAIL, if\n"
	"you cannot record your own programs.\n"
	"\n"
	"      --json  print JSON\n"
	"  -h, --help  print this text\n"
	"\n"
	"Exit status: 0 if you can record your own programs, 1 if not, 2 for wrong\n"
	"usage.\n"
	"\n"
	"Examples:\n"
	"  asynctrace doctor\n"
	"  asynctrace doctor --json | jq '.checks[] | select(.level != \"ok\")'\n";

/* Checks netlink sockets: some sandboxes do not allow this family. */
static void netlink(struct doctor *d)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	int err;

	if (fd >= 0) {
		close(fd);
		doctor_say(d, "netlink", DOCTOR_OK, "generic netlink sockets can be opened");
		return;
	}
	err = errno;
	d->no_netlink = true;
	doctor_say(d, "netlink", DOCTOR_FAIL, "no generic netlink socket: %s", strerror(err));
	if (err == EMFILE || err == ENFILE || err == ENOMEM || err == ENOBUFS)
		doctor_remedy_error(d, err);
	else
		doctor_remedy(d, "a sandbox forbids it (seccomp; RestrictAddressFamilies= of systemd): run the command outside; programs inside can be recorded if they can open the device");
}

static void connection(struct doctor *d)
{
	d->info.size = sizeof(d->info);
	d->err = at_ctl_open(&d->ctl);
	if (!d->err)
		d->err = at_info(d->ctl, &d->info);
	if (d->err)
		snprintf(d->reason, sizeof(d->reason), "%s", at_ctl_error(d->ctl));
}

/*
 * Checks the version of the interface. Other checks report a missing module and a missing socket.
 */
static void interface(struct doctor *d)
{
	if (!d->err) {
		doctor_say(d, "interface", DOCTOR_OK, "command and module agree on version %u",
			   d->info.abi);
	} else if (d->err == -EPROTO) {
		doctor_say(d, "interface", DOCTOR_FAIL, "%s", d->reason);
		doctor_remedy(d, "build and install both from the same sources: make && make install install-module, then rmmod asynctrace && modprobe asynctrace");
	} else if (!d->absent && !d->no_netlink) {
		doctor_say(d, "interface", DOCTOR_FAIL, "the module does not answer: %s", d->reason);
		doctor_remedy_error(d, -d->err);
	}
}

static void privilege(struct doctor *d)
{
	if (d->err)
		return;
	if (d->info.privileged) {
		doctor_say(d, "privilege", DOCTOR_OK,
			   "programs of all users can be recorded, and the scheduling of all threads");
		return;
	}
	doctor_say(d, "privilege", DOCTOR_WARN,
		   "only your own programs can be recorded, and no --sched all");
	doctor_remedy(d, "use sudo, or give the command the capability: sudo setcap cap_perfmon+ep \"$(command -v asynctrace)\"");
}

/* Reports that the trial session failed. @unread: only reading failed, which needs the device. */
static void trial_failed(struct doctor *d, int err, bool unread)
{
	doctor_say(d, "session", DOCTOR_FAIL, "a session cannot be made and driven: %s",
		   at_ctl_error(d->ctl));
	if (unread && d->no_device)
		doctor_remedy(d, "repair the device first, see above");
	else
		doctor_remedy_error(d, -err);
}

/* Tries a session. A provider pattern without a match makes it harmless. */
static void trial(struct doctor *d)
{
	const char *nobody = "no such provider";
	char name[32];
	struct at_session_options opts = {
		.size = sizeof(opts), .name = name, .mode = ASYNCTRACE_MODE_STREAMING,
		.sched = ASYNCTRACE_SCHED_TARGETS, .ring_size = ASYNCTRACE_RING_MIN,
		.nr_providers = 1, .providers = &nobody,
	};
	bool unread = false;
	uint32_t id = 0;
	int err, fd = -1;

	if (d->err)
		return;
	snprintf(name, sizeof(name), "doctor-%d", (int)getpid());
	err = at_session_create(d->ctl, &opts, &id);
	if (!err)
		err = at_session_init(d->ctl, id);
	if (!err) {
		fd = at_session_open_stream(d->ctl, id);
		unread = fd < 0;
		err = unread ? fd : 0;
	}
	if (!err)
		err = at_session_start(d->ctl, id, NULL);
	if (!err)
		err = at_session_stop(d->ctl, id);
	if (!err)
		doctor_say(d, "session", DOCTOR_OK, "a session could be made, started and stopped");
	else
		trial_failed(d, err, unread);
	if (fd >= 0)
		close(fd);
	if (id)
		at_session_destroy(d->ctl, id);
}

static int count_provider(const struct at_provider_info *p, void *arg)
{
	unsigned int *count = arg;

	(void)p;
	++*count;
	return 0;
}

static void providers(struct doctor *d)
{
	unsigned int count = 0;

	if (d->err || at_for_each_provider(d->ctl, count_provider, &count))
		return;
	doctor_say(d, "providers", DOCTOR_OK, "%u program%s can be recorded at the moment", count,
		   count == 1 ? "" : "s");
	if (!count)
		doctor_remedy(d, "programs that use libasynctrace appear when they first trace something");
}

static const char *const levels[] = {
	[DOCTOR_OK] = "ok", [DOCTOR_WARN] = "warn", [DOCTOR_FAIL] = "FAIL",
};

static void print_text(const struct doctor *d, bool can)
{
	for (size_t i = 0; i < d->nr; i++) {
		const struct finding *f = &d->findings[i];

		printf("%-4s  %-10s  %s\n", levels[f->level], f->name, tool_text(f->text));
		if (*f->remedy)
			printf("%18s-> %s\n", "", f->remedy);
	}
	puts(can ? "\nYou can record your own programs: asynctrace record -- CMD. Open traces at https://ui.perfetto.dev." :
		   "\nYou cannot record yet.");
}

static bool print_json(const struct doctor *d, bool can)
{
	struct json_doc j = {};

	doc_object(&j, NULL);
	doc_bool(&j, "can_record", can);
	doc_array(&j, "checks");
	for (size_t i = 0; i < d->nr; i++) {
		const struct finding *f = &d->findings[i];

		doc_object(&j, NULL);
		doc_string(&j, "name", f->name);
		doc_string(&j, "level", f->level == DOCTOR_FAIL ? "fail" : levels[f->level]);
		doc_string(&j, "text", f->text);
		doc_string(&j, "remedy", f->remedy);
		doc_close(&j);
	}
	doc_close(&j);
	doc_close(&j);
	return doc_write(&j);
}

static void examine(struct doctor *d)
{
	doctor_kernel(d);
	netlink(d);
	/* Opening the connection loads the module, if it is installed and loading is allowed. */
	connection(d);
	doctor_module(d);
	interface(d);
	doctor_device(d);
	trial(d);
	privilege(d);
	doctor_clock(d);
	doctor_rseq(d);
	doctor_memory(d);
	doctor_emulation(d);
	providers(d);
}

int doctor_main(int argc, char **argv)
{
	static struct doctor d;
	bool as_json = false, can = true;
	int status;

	status = tool_listing_options(argc, argv, usage, &as_json);
	if (status >= 0)
		return status;
	examine(&d);
	at_ctl_close(d.ctl);
	for (size_t i = 0; i < d.nr; i++)
		can &= d.findings[i].level != DOCTOR_FAIL;
	if (as_json)
		can &= print_json(&d, can);
	else
		print_text(&d, can);
	return can ? TOOL_OK : TOOL_FAILED;
}
