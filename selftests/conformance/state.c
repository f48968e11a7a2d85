// SPDX-License-Identifier: GPL-2.0
/*
 * P1 to P13: the states of a session
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "proto.h"

static void P1_init_prepares_and_does_not_start(void)
{
	struct run run;

	session_make(&run, NULL);
	ktap_check(session_state(run.id) == ASYNCTRACE_SESSION_STATE_INITIALIZED, "state %u",
		   session_state(run.id));
	ktap_check(!nu_gate(), "the gate is open");
	ktap_check(!emit(100), "an event found the gate open");
	rd_drain(&run.rd);
	ktap_check(!run.seen.events && !law_of(run.id).committed, "an event was recorded");
	session_start(&run);
	ktap_check(emit(100) == 100, "the gate is closed");
	session_finish(&run);
	ktap_check(run.seen.events == 100, "%llu events", (unsigned long long)run.seen.events);
	session_end(&run);
}

/* Sends a request that must be ignored: the kernel returns -EALREADY, the library 0. */
static void ignored(uint8_t cmd, int (*call)(struct at_ctl *, uint32_t), uint32_t id)
{
	struct session_seen before, after;
	const uint32_t gate = nu_gate();

	must(session_see(id, &before));
	wire_says(cmd, id, -EALREADY);
	ktap_check(!call(ctl, id), "the library: %s", at_ctl_error(ctl));
	must(session_see(id, &after));
	/* A provider may join late at any moment; then its rings have pages. */
	before.late = after.late;
	before.pages = after.pages;
	ktap_check(!memcmp(&before, &after, sizeof(before)), "the session has changed");
	ktap_check(gate == nu_gate(), "the gate has changed: %u, then %u", gate, nu_gate());
}

static void P2_second_init_is_ignored(void)
{
	static const char *const law[] = { "law" };
	const struct at_session_options opts = {
		.mode = ASYNCTRACE_MODE_CIRCULAR, .ring_size = 32 << 10,
		.nr_categories = 1, .categories = law,
	};
	struct session_seen seen;
	struct run run;

	session_make(&run, &opts);
	ignored(ASYNCTRACE_CMD_SESSION_INIT, at_session_init, run.id);
	session_start(&run);
	emit(10);
	ignored(ASYNCTRACE_CMD_SESSION_INIT, at_session_init, run.id);
	emit(10);
	run_stop(&run);
	ignored(ASYNCTRACE_CMD_SESSION_INIT, at_session_init, run.id);
	must(session_see(run.id, &seen));
	ktap_check(seen.mode == opts.mode && seen.ring_size == opts.ring_size &&
		   seen.nr_categories == 1 && !strcmp(seen.category, "law"),
		   "mode %u, %llu bytes, %u categories", seen.mode,
		   (unsigned long long)seen.ring_size, seen.nr_categories);
	session_finish(&run);
	ktap_check(run.seen.events == 20 && run.seen.nr_generations == 1, "%llu events, %u runs",
		   (unsigned long long)run.seen.events, run.seen.nr_generations);
	session_end(&run);
}

static int start(struct at_ctl *ctl, uint32_t id)
{
	return at_session_start(ctl, id, NULL);
}

#define KINDS	(ASYNCTRACE_NOTIFICATION_KINDS_STARTED | ASYNCTRACE_NOTIFICATION_KINDS_STOPPED)

static struct at_notifications *listen_to(uint32_t session)
{
	struct at_notifications *events;

	if (at_notifications_open(&events, KINDS, session))
		ktap_bail("%s", at_notifications_error(events));
	return events;
}

static void P3_second_start_is_ignored(void)
{
	struct at_notifications *events;
	struct run run;

	session_make(&run, NULL);
	session_start(&run);
	emit(10);
	events = listen_to(run.id);
	ignored(ASYNCTRACE_CMD_SESSION_START, start, run.id);
	ktap_check(!events_told(events, ASYNCTRACE_NOTIFICATION_KINDS_STARTED, NULL), "the ignored start was notified");
	at_notifications_close(events);
	emit(10);
	session_finish(&run);
	ktap_check(run.seen.events == 20 && run.seen.nr_generations == 1, "%llu events, %u runs",
		   (unsigned long long)run.seen.events, run.seen.nr_generations);
	session_end(&run);
}

static void P4_start_is_notified(void)
{
	struct at_notifications *events;
	struct at_notification ev = { 0 };
	struct run run;
	unsigned int n;

	session_make(&run, NULL);
	events = listen_to(0);
	wire_says(ASYNCTRACE_CMD_SESSION_START, run.id, 0);
	ktap_check(!wire.replies, "%u messages besides the ack", wire.replies);
	n = events_told(events, ASYNCTRACE_NOTIFICATION_KINDS_STARTED, &ev);
	ktap_check(n == 1 && ev.session == run.id && !ev.status && ev.generation,
		   "%u events, the last of session %u with status %u", n, ev.session, ev.status);
	session_finish(&run);
	session_end(&run);
	at_notifications_close(events);
}

/*
 * Fuchsia sends STARTED when each observer has acknowledged the start. The module sends it at once.
 */
static void P5_started_waits_for_no_acknowledgement(void)
{
	const uint64_t stride = 1 << 20;
	static const char *const all[] = { PROTO "*" };
	const struct at_session_options opts = { .nr_providers = 1, .providers = all };
	struct at_observed seen = { .size = sizeof(seen) };
	struct at_info info = { .size = sizeof(info) };
	struct at_notification ev = { 0 };
	struct at_notifications *events;
	struct raw_provider p;
	struct run run;

	/* A provider that never looks at its session */
	must(!raw_provider(&p, PROTO "-raw", stride));
	session_make(&run, &opts);
	events = listen_to(run.id);
	must(!at_provider_observe(&seen) && !seen.recording);
	session_start(&run);
	ktap_check(events_told(events, ASYNCTRACE_NOTIFICATION_KINDS_STARTED, &ev) >= 1, "the start was not notified");
	ktap_check(p.control->gate == ev.generation, "the gate is %u, the notification has %u", p.control->gate,
		   ev.generation);
	must(!at_provider_observe(&seen));
	ktap_check(seen.recording && seen.generation == nu_gate() &&
		   seen.state == ASYNCTRACE_SESSION_STATE_STARTED, "observed: %u, state %u",
		   seen.recording, seen.state);
	/* The module's ABI version is the version of the protocol. */
	ktap_check(!at_info(ctl, &info) && info.abi == ASYNCTRACE_ABI_VERSION, "version %u", info.abi);
	run.rd.event = NULL;
	session_end(&run);
	at_notifications_close(events);
	raw_provider_end(&p);
}

static void P6_second_stop_is_ignored(void)
{
	struct at_notifications *events;
	struct run run;
	unsigned int n;

	session_make(&run, NULL);
	events = listen_to(run.id);
	ignored(ASYNCTRACE_CMD_SESSION_STOP, at_session_stop, run.id);
	session_start(&run);
	emit(10);
	run_stop(&run);
	ignored(ASYNCTRACE_CMD_SESSION_STOP, at_session_stop, run.id);
	n = events_told(events, ASYNCTRACE_NOTIFICATION_KINDS_STOPPED, NULL);
	ktap_check(n == 1, "the stop was notified %u times", n);
	at_notifications_close(events);
	session_finish(&run);
	ktap_check(run.seen.events == 10, "%llu events", (unsigned long long)run.seen.events);
	session_end(&run);
}

/* Publishes @records more records behind those of raw_write(). */
static void write_more(const struct raw_provider *p, uint64_t at, unsigned int from,
		       unsigned int records)
{
	volatile uint64_t *words = raw_ring(p, 0);
	const uint64_t *first = (const uint64_t *)words + ASYNCTRACE_SUBBUF_WORDS;

	for (unsigned int i = 0; i < records; i++) {
		for (int w = 0; w < 5; w++)
			words[at + w] = first[w];
		words[at + 1] += at;
		at += 5;
	}
	__atomic_store_n(&raw_header(p, 0)->position,
			 at | (uint64_t)(from + records) << ASYNCTRACE_POS_BITS, __ATOMIC_RELEASE);
}

static void P7_record_after_stop_is_dropped_and_counted(void)
{
	static const char *const other[] = { PROTO "-raw" };
	const struct at_session_options opts = { .nr_providers = 1, .providers = other };
	struct raw_provider p;
	struct rd_ring sum;
	struct run run;
	uint64_t at;

	must(!raw_provider(&p, PROTO "-raw", 1 << 20));
	session_make(&run, &opts);
	run.rd.event = NULL;
	session_start(&run);
	at = raw_write(&p, 0, 10);
	run_stop(&run);
	/* Write like a thread that read the gate before the stop, or like one that ignores it. */
	write_more(&p, at, 10, 3);
	rd_drain(&run.rd);
	sum = rd_sum(&run.rd, ASYNCTRACE_CHUNK_EVENTS, p.id);
	ktap_check(sum.delivered == 10 && sum.parsed == 10, "%llu of 10 are delivered",
		   (unsigned long long)sum.delivered);
	run_terminate(&run);
	rd_drain(&run.rd);
	sum = rd_sum(&run.rd, ASYNCTRACE_CHUNK_EVENTS, p.id);
	ktap_check(sum.delivered == 10 && sum.dropped == 3 && sum.last,
		   "at the end %llu delivered, %llu dropped", (unsigned long long)sum.delivered,
		   (unsigned long long)sum.dropped);
	run_close(&run);
	raw_provider_end(&p);
}

static void P8_start_and_stop_many_times(void)
{
	struct run run;

	session_make(&run, NULL);
	for (unsigned int i = 0; i < 50; i++) {
		session_start(&run);
		ktap_check(emit(10) == 10, "run %u: the gate is closed", i);
		run_stop(&run);
		ktap_check(!emit(10), "run %u: the gate is open afterwards", i);
		if (i % 3)
			rd_drain(&run.rd);
	}
	session_finish(&run);
	ktap_check(run.seen.events == 500 && run.seen.nr_generations == 50,
		   "%llu events of %u runs", (unsigned long long)run.seen.events,
		   run.seen.nr_generations);
	session_end(&run);
}

/* Fuchsia's InitializeWithoutProviders and InitToFiniWithNoProviders */
static void P8_session_without_providers_starts(void)
{
	static const char *const none[] = { PROTO "-of-no-process" };
	const struct at_session_options opts = { .nr_providers = 1, .providers = none };
	struct session_seen seen;
	struct run run;

	session_make(&run, &opts);
	must(session_see(run.id, &seen));
	ktap_check(seen.state == ASYNCTRACE_SESSION_STATE_INITIALIZED && !seen.providers,
		   "state %u, %u providers", seen.state, seen.providers);
	for (int i = 0; i < 2; i++) {
		session_start(&run);
		ktap_check(session_state(run.id) == ASYNCTRACE_SESSION_STATE_STARTED && !nu_gate(),
			   "start %d: state %u", i, session_state(run.id));
		ktap_check(!at_session_stop(ctl, run.id), "stop: %s", at_ctl_error(ctl));
		ktap_check(session_state(run.id) == ASYNCTRACE_SESSION_STATE_STOPPED,
			   "stop %d: state %u", i, session_state(run.id));
	}
	rd_drain(&run.rd);
	ktap_check(!run.rd.malformed && !run.seen.events, "%llu events",
		   (unsigned long long)run.seen.events);
	run_terminate(&run);
	ktap_check(!session_state(run.id), "the session still exists");
	run_close(&run);
}

static void P9_terminate_stops_and_can_be_repeated(void)
{
	struct pollfd pfd = { .events = POLLIN };
	struct run run, next;

	session_make(&run, NULL);
	session_start(&run);
	emit(100);
	run_terminate(&run);
	ktap_check(!nu_gate() && !emit(10), "the gate is open");
	ktap_check(!session_state(run.id), "the session still exists");
	/* The reader gets all published records and then the end. */
	rd_drain(&run.rd);
	run_check(&run);
	ktap_check(run.seen.events == 100, "%llu events", (unsigned long long)run.seen.events);
	pfd.fd = run.rd.fd;
	ktap_check(poll(&pfd, 1, 0) == 1 && pfd.revents & POLLHUP, "poll(2) says 0x%x",
		   pfd.revents);
	ktap_check(!read(run.rd.fd, run.rd.buf, ASYNCTRACE_READ_MIN), "read(2) does not report the end");
	/* Terminate again while another session exists, which must not be affected. */
	session_make(&next, NULL);
	session_start(&next);
	ktap_check(!at_session_destroy(ctl, run.id), "terminate again: %s", at_ctl_error(ctl));
	ktap_check(emit(10) == 10, "another session was ended");
	run_close(&run);
	ktap_check(!at_session_destroy(ctl, run.id), "and again: %s", at_ctl_error(ctl));
	session_finish(&next);
	ktap_check(next.seen.events == 10, "%llu events", (unsigned long long)next.seen.events);
	session_end(&next);
}

static void P10_session_after_terminate(void)
{
	struct run run;
	uint32_t last = 0;

	for (unsigned int i = 1; i <= 5; i++) {
		session_make(&run, NULL);
		ktap_check(run.id != last, "two sessions have the same id");
		session_start(&run);
		emit(10 * i);
		session_finish(&run);
		ktap_check(run.seen.events == 10 * i, "session %u: %llu events", i,
			   (unsigned long long)run.seen.events);
		last = run.id;
		session_end(&run);
	}
}

static void P11_dead_owner_ends_session_not_provider(void)
{
	const struct run_options opts = {
		.name = PROTO "-orphan", .mode = ASYNCTRACE_MODE_ONESHOT, .ring_size = 64 << 10,
		.provider = PROTO,
	};
	struct at_ctl *other;
	struct run run;

	must(!at_ctl_open(&other));
	run_open(&run, other, &opts);
	session_start(&run);
	ktap_check(emit(10) == 10, "the gate is closed");
	/* Close both descriptors of the owner, the reader and the socket: the session ends. */
	run_close(&run);
	at_ctl_close(other);
	ktap_check(!nu_gate() && !emit(10), "the gate is open");
	ktap_check(!session_state(run.id), "the session still exists");
	session_make(&run, NULL);
	session_start(&run);
	ktap_check(emit(10) == 10, "the gate is closed in the next session");
	session_finish(&run);
	ktap_check(run.seen.events == 10, "%llu events: events in flight must be gone",
		   (unsigned long long)run.seen.events);
	session_end(&run);
}

static void P12_start_before_init_has_its_own_error(void)
{
	const uint32_t id = session_ready(NULL);

	wire_says(ASYNCTRACE_CMD_SESSION_START, id, -EINVAL);
	ktap_check(at_session_start(ctl, id, NULL) == -EINVAL, "the library does not return -EINVAL");
	ktap_check(session_state(id) == ASYNCTRACE_SESSION_STATE_READY && !nu_gate(), "state %u",
		   session_state(id));
	must(!at_session_init(ctl, id) && !at_session_start(ctl, id, NULL));
	wire_says(ASYNCTRACE_CMD_SESSION_START, id, -EALREADY);
	must(!at_session_destroy(ctl, id));
}

static void P13_ring_size_is_a_power_of_two_in_limits(void)
{
	static const uint64_t bad[] = {
		0, 1, 4096, ASYNCTRACE_RING_MIN / 2, ASYNCTRACE_RING_MIN - 1,
		ASYNCTRACE_RING_MIN + 1, ASYNCTRACE_RING_MIN * 3, ASYNCTRACE_RING_MAX - 4096,
		ASYNCTRACE_RING_MAX + 1, ASYNCTRACE_RING_MAX * 2, 1ULL << 63, ~0ULL,
	};
	static const uint64_t good[] = { ASYNCTRACE_RING_MIN, ASYNCTRACE_RING_MIN * 2, 1 << 20 };
	struct session_seen seen;
	uint32_t id;
	int err;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err = raw_session(&wire, PROTO, ASYNCTRACE_MODE_ONESHOT, ASYNCTRACE_SCHED_OFF,
				  bad[i], NULL);
		ktap_check((err == -ERANGE || err == -EINVAL) && wire.text[0], "%llu bytes: %d",
			   (unsigned long long)bad[i], err);
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		id = session_ready(&(struct at_session_options){ .ring_size = good[i] });
		must(session_see(id, &seen));
		ktap_check(seen.ring_size == good[i], "%llu bytes of %llu",
			   (unsigned long long)seen.ring_size, (unsigned long long)good[i]);
		must(!at_session_destroy(ctl, id));
	}
}

static void P13_ring_size_of_some_providers(void)
{
	static const uint64_t sizes[] = { 12288, 4096, 1 << 17 };
	struct run run;

	for (int i = 0; i < 3; i++) {
		const struct at_buffer_size own = { PROTO, sizes[i] };
		const char *const mine[] = { PROTO };
		const struct at_session_options opts = {
			.size = sizeof(opts), .name = PROTO, .mode = ASYNCTRACE_MODE_ONESHOT,
			.ring_size = 16 << 10, .nr_buffers = 1, .buffers = &own,
			.nr_providers = 1, .providers = mine,
		};
		uint32_t id;
		int err;

		if (i < 2) {
			err = at_session_create(ctl, &opts, &id);
			ktap_check(err == -ERANGE || err == -EINVAL, "%llu bytes: %d",
				   (unsigned long long)sizes[i], err);
			continue;
		}
		session_make(&run, &opts);
		session_start(&run);
		/* Write four times as much as rings of the session's size have room for. */
		ktap_check(emit(1600) == 1600 && !law_of(run.id).dropped, "%llu dropped",
			   (unsigned long long)law_of(run.id).dropped);
		session_finish(&run);
		session_end(&run);
	}
}

const struct statement state_statements[] = {
	STATEMENT(P1_init_prepares_and_does_not_start),
	STATEMENT(P2_second_init_is_ignored),
	STATEMENT(P3_second_start_is_ignored),
	STATEMENT(P4_start_is_notified),
	STATEMENT(P5_started_waits_for_no_acknowledgement),
	STATEMENT(P6_second_stop_is_ignored),
	STATEMENT(P7_record_after_stop_is_dropped_and_counted),
	STATEMENT(P8_start_and_stop_many_times),
	STATEMENT(P8_session_without_providers_starts),
	STATEMENT(P9_terminate_stops_and_can_be_repeated),
	STATEMENT(P10_session_after_terminate),
	STATEMENT(P11_dead_owner_ends_session_not_provider),
	STATEMENT(P12_start_before_init_has_its_own_error),
	STATEMENT(P13_ring_size_is_a_power_of_two_in_limits),
	STATEMENT(P13_ring_size_of_some_providers),
	{ 0 }
};
