// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions, and this process as a provider
 */
#include <errno.h>
#include <string.h>

#include "proto.h"

struct at_ctl *ctl;
struct raw_nl wire;

uint32_t next_number;

void proto_init(void)
{
	const struct at_provider_options opts = { .size = sizeof(opts), .name = PROTO };

	if (at_ctl_open(&ctl))
		ktap_bail("%s", at_ctl_error(ctl));
	must(!raw_nl_open(&wire));
	must(!at_provider_register(&opts));
	pin(0);
}

uint32_t session_ready(const struct at_session_options *opts)
{
	static const char *const mine[] = { PROTO };
	struct at_session_options o = { 0 };
	uint32_t id;

	if (opts)
		o = *opts;
	o.size = sizeof(o);
	o.name = o.name ?: PROTO;
	o.mode = o.mode ?: ASYNCTRACE_MODE_ONESHOT;
	o.ring_size = o.ring_size ?: 64 << 10;
	if (!o.nr_providers) {
		o.nr_providers = 1;
		o.providers = mine;
	}
	if (at_session_create(ctl, &o, &id))
		ktap_bail("%s", at_ctl_error(ctl));
	return id;
}

void session_make(struct run *run, const struct at_session_options *opts)
{
	int fd;

	run->ctl = ctl;
	run->id = session_ready(opts);
	if (at_session_init(ctl, run->id))
		ktap_bail("%s", at_ctl_error(ctl));
	fd = at_session_open_stream(ctl, run->id);
	if (fd < 0)
		ktap_bail("%s", at_ctl_error(ctl));
	nu_seen_init(&run->seen);
	rd_open(&run->rd, fd, nu_event, &run->seen);
}

uint32_t my_provider(void)
{
	struct at_status_info status = { .size = sizeof(status) };

	must(!at_status(&status));
	return status.provider;
}

static bool gate_is_open(void *arg)
{
	(void)arg;
	return nu_gate();
}

void session_start(struct run *run)
{
	session_start_with(run, NULL);
}

void session_start_with(struct run *run, const struct at_start_options *o)
{
	struct at_start_options opts = { 0 };

	if (o)
		opts = *o;
	opts.size = sizeof(opts);
	if (o ? at_session_start(ctl, run->id, &opts) : at_session_start(ctl, run->id, NULL))
		ktap_bail("%s", at_ctl_error(ctl));
	if (my_provider() && provider_session(my_provider()) == (int)run->id &&
	    !soon(gate_is_open, NULL))
		ktap_bail("session %u does not open the gate", run->id);
}

void session_finish(struct run *run)
{
	run_stop(run);
	rd_drain(&run->rd);
	run_check(run);
}

void session_end(struct run *run)
{
	run_terminate(run);
	rd_drain(&run->rd);
	run_check(run);
	run_close(run);
}

static int take_session(const struct at_session_info *s, void *arg)
{
	struct session_seen *seen = arg;

	seen->state = s->state;
	seen->mode = s->mode;
	seen->providers = s->providers;
	seen->late = s->late;
	seen->nr_categories = s->nr_categories;
	seen->ring_size = s->ring_size;
	seen->pages = s->pages;
	if (s->nr_categories)
		strncpy(seen->category, s->categories[0], sizeof(seen->category) - 1);
	return 0;
}

bool session_see(uint32_t id, struct session_seen *seen)
{
	int err;

	memset(seen, 0, sizeof(*seen));
	err = at_session_get(ctl, id, take_session, seen);
	if (err && err != -ENOENT)
		ktap_bail("%s", at_ctl_error(ctl));
	return !err;
}

uint32_t session_state(uint32_t id)
{
	struct session_seen seen;

	return session_see(id, &seen) ? seen.state : 0;
}

static int add_ring(const struct at_ring_info *r, void *arg)
{
	struct law *law = arg;

	if (!r->provider)
		return 0;
	law->committed += r->committed;
	law->delivered += r->delivered;
	law->overwritten += r->overwritten;
	law->dropped += r->dropped;
	law->cleared += r->cleared;
	law->pages += r->pages;
	return 0;
}

struct law law_of(uint32_t session)
{
	struct law law = { 0 };

	if (at_for_each_ring(ctl, session, add_ring, &law))
		ktap_bail("%s", at_ctl_error(ctl));
	return law;
}

uint32_t emit(uint32_t n)
{
	uint32_t tried = 0;

	while (n--) {
		if (nu_emit(1, next_number, 1)) {
			next_number++;
			tried++;
		}
	}
	return tried;
}

uint32_t emit_until_full(struct run *run)
{
	uint32_t n = 0;
	struct law law;

	do {
		n += emit(100);
		law = law_of(run->id);
		if (n > 10 << 20)
			ktap_bail("the ring does not fill");
	} while (!law.dropped);
	return n;
}

void wire_says(uint8_t cmd, uint32_t session, int error)
{
	int ret = raw_session_do(&wire, cmd, session);

	ktap_check(ret == error, "request %u: %s (%s), not %s", cmd, strerror(-ret), wire.text,
		   strerror(-error));
	ktap_check(!error == !wire.text[0], "request %u: the ack says '%s'", cmd, wire.text);
}

unsigned int events_told(struct at_notifications *events, uint32_t kind,
			 struct at_notification *last)
{
	struct at_notification ev = { .size = sizeof(ev) };
	unsigned int n = 0;
	int err;

	while (!(err = at_notifications_next(events, &ev))) {
		ktap_check(!ev.lost, "%u events were missed", ev.lost);
		if (ev.kind != kind)
			continue;
		n++;
		if (last)
			*last = ev;
	}
	if (err != -EAGAIN)
		ktap_bail("%s", at_notifications_error(events));
	return n;
}

int provider_session(uint32_t provider)
{
	int err;

	mnl_attr_put_u32(raw_nl_begin(&wire, ASYNCTRACE_CMD_PROVIDER_GET, 0),
			 ASYNCTRACE_A_PROVIDER_ID, provider);
	err = raw_nl_ask(&wire);
	return err ? err : (int)raw_nl_u32(&wire, ASYNCTRACE_A_PROVIDER_SESSION);
}
