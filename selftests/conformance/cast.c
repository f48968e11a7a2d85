// SPDX-License-Identifier: GPL-2.0
/*
 * The participants of a session: each acts only on the commands in struct cast, until it is killed
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <asynctrace/provider.h>

#include "cast.h"
#include "run.h"
#include "raw.h"

struct cast *cast;

void cast_init(void)
{
	cast = shared_memory(sizeof(*cast));
}

/* --- providers ------------------------------------------------------------------ */

static void writer(uint32_t id)
{
	char name[] = CAST "-0";
	const struct at_provider_options opts = { .size = sizeof(opts), .name = name };
	struct at_status_info status = { .size = sizeof(status) };
	uint32_t n;

	name[sizeof(name) - 2] += id;
	pin(id % cpus_online());
	must(!at_provider_register(&opts) && !at_status(&status));
	cast->provider[id] = status.provider;
	for (;;) {
		cast->silent[id] = cast->hush;
		/* Read the counter again each time: the test resets it while @hush is set. */
		n = cast->written[id];
		if (cast->hush || n == CAST_EVENTS || !nu_emit(id, n, -1)) {
			sleep_us(CAST_PAUSE);
			continue;
		}
		cast->written[id] = ++n;
		if (!(n % 64))
			sleep_us(CAST_PAUSE);
	}
}

/* Waits in the kernel for a change of the session, and ignores its contents. */
static void observer(void)
{
	struct asynctrace_observed o;
	struct raw_provider p;

	must(!raw_provider(&p, CAST "-observer", 1 << 20));
	cast->provider[CAST_OBSERVER] = p.id;
	while (read(p.fd, &o, sizeof(o)) == sizeof(o))
		;
	_exit(1);
}

/* --- the controller ----------------------------------------------------------------- */

int cast_step(struct at_ctl *ctl, uint32_t session, uint32_t state)
{
	switch (state) {
	case ASYNCTRACE_SESSION_STATE_READY:
		return at_session_init(ctl, session);
	case ASYNCTRACE_SESSION_STATE_INITIALIZED:
		return at_session_start(ctl, session, NULL);
	case ASYNCTRACE_SESSION_STATE_STARTED:
		return at_session_stop(ctl, session);
	default:
		return at_session_destroy(ctl, session);
	}
}

static void controller(const struct cast_plan *plan)
{
	static const char *const all[] = { CAST "*" };
	const struct at_session_options opts = {
		.size = sizeof(opts), .name = CAST, .mode = plan->mode, .sched = plan->sched,
		.flags = plan->detached ? ASYNCTRACE_SESSION_FLAGS_DETACHED : 0,
		.ring_size = 64 << 10, .nr_providers = 1, .providers = all,
	};
	struct at_ctl *ctl;
	uint32_t id;

	if (at_ctl_open(&ctl) || at_session_create(ctl, &opts, &id))
		ktap_bail("%s", at_ctl_error(ctl));
	cast->session = id;
	cast->state = ASYNCTRACE_SESSION_STATE_READY;
	while (cast->state != ASYNCTRACE_SESSION_STATE_TERMINATED) {
		if (cast->state >= cast->target)
			sleep_us(CAST_PAUSE);
		else if (cast_step(ctl, id, cast->state))
			ktap_bail("%s", at_ctl_error(ctl));
		else
			cast->state++;
	}
}

/* --- the recorder -------------------------------------------------------------------- */

bool cast_event(const struct rd_event *ev, uint32_t *writer, uint32_t *seq)
{
	const bool arg = !strcmp(ev->name, "w5") || !strcmp(ev->name, "wn");
	const uint64_t n = arg ? ev->arg[0].value : ev->extra;

	*writer = NU_WRITER(n);
	*seq = NU_SEQ(n);
	return *writer < CAST_WRITERS && *seq < CAST_EVENTS;
}

static void take(const struct rd_event *ev, void *seen)
{
	uint32_t writer, seq;

	/* Counts events that are not intact, for report(). */
	nu_event(ev, seen);
	if (!cast_event(ev, &writer, &seq))
		return;
	cast->has[writer][seq / 8] |= 1 << seq % 8;
	cast->took[writer]++;
}

static void before_read(struct rd *rd)
{
	(void)rd;
	cast->in_read = 1;
}

static void report(const struct rd *rd, const struct nu_seen *seen)
{
	struct cast_report *r = &cast->report;

	for (int i = 0; i < CAST_WRITERS; i++) {
		const struct rd_ring sum = rd_sum(rd, ASYNCTRACE_CHUNK_EVENTS, cast->provider[i]);

		r->of[i] = (struct cast_sums){
			sum.delivered, sum.overwritten, sum.cleared, sum.dropped, sum.parsed
		};
	}
	r->last = rd_sum(rd, ASYNCTRACE_CHUNK_EVENTS, 0).last;
	r->malformed = rd->malformed;
	r->spoiled = seen->spoiled;
	snprintf(r->why, sizeof(r->why), "%s %s", rd->first, seen->first);
}

static bool has_ended(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && p.revents & POLLHUP;
}

/* Reads until the session has ended and nothing is left. */
static void recorder(const struct cast_plan *plan)
{
	static struct nu_seen seen;
	static struct rd rd;
	struct at_ctl *ctl;
	bool ended;
	int fd;

	must(!at_ctl_open(&ctl));
	fd = at_session_open_stream(ctl, cast->session);
	if (fd < 0)
		ktap_bail("%s", at_ctl_error(ctl));
	must(!fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK));
	cast->consuming = 1;
	nu_seen_init(&seen);
	rd_open(&rd, fd, take, &seen);
	rd.before = before_read;
	do {
		ended = has_ended(fd);
		while (rd_read(&rd, 1)) {
			cast->in_read = 0;
			if (plan->reading == CAST_LINGERS && !cast->read_on)
				sleep_us(2000);
			while (plan->reading == CAST_RESTS && rd.chunks >= 6 && !cast->read_on)
				sleep_us(CAST_PAUSE);
		}
		cast->in_read = 0;
		/* read(2) waits only while the session runs. */
		sleep_us(CAST_PAUSE);
	} while (!ended);
	report(&rd, &seen);
}

pid_t cast_fork(enum cast_role role, const struct cast_plan *plan)
{
	pid_t pid = fork();

	must(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	switch (role) {
	case CAST_WRITER:
	case CAST_WRITER_TWO:
		writer(role);
		break;
	case CAST_OBSERVER:
		observer();
		break;
	case CAST_CONTROLLER:
		controller(plan);
		break;
	default:
		recorder(plan);
		break;
	}
	_exit(0);
}
