// SPDX-License-Identifier: GPL-2.0
/*
 * A program that a session of the module records writes events of each kind while it may neither
 * make a system call nor allocate. The session's accounts must have each record.
 *
 * Runs in the test machine. inprocess/test_quiet.c is the same without the module.
 */
#include <errno.h>
#include <unistd.h>

#include <asynctrace/session.h>

#include "common.h"
#include "quiet.h"

#define u(x)	((unsigned long long)(x))

static struct at_ctl *ctl;

/* --- a session and its accounts ------------------------------------------------------------ */

static uint32_t start(uint32_t mode)
{
	const struct at_session_options o = {
		.size = sizeof(o), .name = "quiet", .mode = mode, .ring_size = 64 << 10,
	};
	uint32_t id;

	if (at_session_create(ctl, &o, &id) || at_session_init(ctl, id) ||
	    at_session_start(ctl, id, NULL))
		ktap_bail("%s", at_ctl_error(ctl));
	return id;
}

/* Sums up the rings of providers, also of ended ones. */
static int add_ring(const struct at_ring_info *r, void *arg)
{
	struct at_ring_info *sum = arg;

	if (!r->provider && r->kind != ASYNCTRACE_RING_KIND_ENDED)
		return 0;
	sum->committed += r->committed;
	sum->delivered += r->delivered;
	sum->overwritten += r->overwritten;
	sum->cleared += r->cleared;
	sum->dropped += r->dropped;
	return 0;
}

static void read_all(int fd)
{
	static char chunk[ASYNCTRACE_READ_MIN];
	ssize_t n;

	do
		n = read(fd, chunk, sizeof(chunk));
	while (n > 0 || (n < 0 && errno == EINTR));
	ktap_check(!n || errno == EAGAIN, "%m");
}

/* Stops the session, reads what its rings have, and ends it. Returns its accounts. */
static struct at_ring_info end(uint32_t id)
{
	const int fd = at_session_open_stream(ctl, id);
	struct at_ring_info sum = { 0 };

	must(fd >= 0);
	if (at_session_stop(ctl, id))
		ktap_bail("%s", at_ctl_error(ctl));
	read_all(fd);
	if (at_for_each_ring(ctl, id, add_ring, &sum) || at_session_destroy(ctl, id))
		ktap_bail("%s", at_ctl_error(ctl));
	close(fd);
	ktap_check(sum.committed == sum.delivered + sum.overwritten && !sum.cleared,
		   "%llu published, %llu delivered, %llu overwritten, %llu cleared",
		   u(sum.committed), u(sum.delivered), u(sum.overwritten), u(sum.cleared));
	return sum;
}

/* --- the test ------------------------------------------------------------------------------ */

/*
 * The rings are not read meanwhile, so a ring that is not circular becomes full and drops records.
 * In the test machine, dropping takes longer than overwriting: these modes have one event of a
 * hundred.
 */
static const struct mode {
	const char *name;
	uint32_t mode;
	unsigned int part;
} modes[] = {
	{ "I9_circular_no_system_call_or_malloc", ASYNCTRACE_MODE_CIRCULAR, 1 },
	{ "I9_oneshot_no_system_call_or_malloc", ASYNCTRACE_MODE_ONESHOT, 100 },
	{ "I9_streaming_no_system_call_or_malloc", ASYNCTRACE_MODE_STREAMING, 100 },
};

#define MODES	(sizeof(modes) / sizeof(*modes))

/* Returns the number of records of one event of each kind. */
static uint64_t records_of_one_round(void)
{
	const uint32_t id = start(ASYNCTRACE_MODE_ONESHOT);
	struct at_ring_info sum;

	quiet_child(1);
	sum = end(id);
	ktap_check(sum.delivered >= quiet_kinds - 2 && !sum.dropped, "%llu records of %zu kinds",
		   u(sum.delivered), quiet_kinds);
	return sum.delivered;
}

static void quiet(const struct mode *m, long n)
{
	struct at_ring_info sum;
	uint64_t want;
	uint32_t id;

	ktap_begin("%s", m->name);
	want = records_of_one_round() * n;
	id = start(m->mode);
	quiet_child(n);
	sum = end(id);
	ktap_check(sum.committed + sum.dropped == want &&
		   !sum.dropped == (m->mode == ASYNCTRACE_MODE_CIRCULAR),
		   "%llu published, %llu dropped, of %llu", u(sum.committed), u(sum.dropped),
		   u(want));
	ktap_end();
}

int main(void)
{
	const unsigned int n = amount("EVENTS", 1000000);

	if (at_ctl_open(&ctl))
		ktap_bail("%s", at_ctl_error(ctl));
	quiet_prepare(true);
	ktap_plan(MODES);
	for (const struct mode *m = modes; m < modes + MODES; m++)
		quiet(m, n / m->part);
	at_ctl_close(ctl);
	return ktap_exit();
}
