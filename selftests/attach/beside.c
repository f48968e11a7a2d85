// SPDX-License-Identifier: GPL-2.0
/* A session that records the calling process, and its accounts: see beside.h */
#include <sys/mman.h>
#include <unistd.h>

#include <asynctrace/provider.h>

#include "beside.h"
#include "tape.h"

#define u(x)	((unsigned long long)(x))

struct at_ctl *ctl;

int memory(void)
{
	return memfd_create("beside", MFD_CLOEXEC);
}

enum at_backend backend(void)
{
	struct at_status_info st = { .size = sizeof(st) };

	at_status(&st);
	return st.backend;
}

static int add_ring(const struct at_ring_info *ring, void *arg)
{
	struct counts *c = arg;

	if (!ring->provider && ring->kind != ASYNCTRACE_RING_KIND_ENDED)
		return 0;
	c->committed += ring->committed;
	c->dropped += ring->dropped;
	return 0;
}

struct counts counts_of(uint32_t session)
{
	struct counts c = { 0 };

	check(!at_for_each_ring(ctl, session, add_ring, &c), "%s", at_ctl_error(ctl));
	return c;
}

bool recorded(void)
{
	struct at_observed o = { .size = sizeof(o) };

	return !at_provider_observe(&o) && o.recording;
}

uint32_t start_session_of(const char *const *categories, uint32_t n, uint64_t ring_size)
{
	const struct at_session_options o = {
		.size = sizeof(o), .mode = ASYNCTRACE_MODE_ONESHOT, .name = "beside",
		.ring_size = ring_size, .categories = categories, .nr_categories = n,
	};
	uint32_t id = 0;

	check(!at_session_create(ctl, &o, &id) && !at_session_init(ctl, id) &&
	      !at_session_start(ctl, id, NULL), "%s", at_ctl_error(ctl));
	/* If the rings of the last session are still being unmapped, the gate opens later. */
	while (!recorded())
		usleep(1000);
	return id;
}

uint32_t start_session(void)
{
	return start_session_of(NULL, 0, 1 << 20);
}

void end_session(uint32_t id)
{
	check(!at_session_destroy(ctl, id), "%s", at_ctl_error(ctl));
}

void expect_in_session(uint32_t id, uint64_t events)
{
	const struct counts c = counts_of(id);

	check(c.committed == events && !c.dropped, "%llu in the session, %llu dropped, of %llu",
	      u(c.committed), u(c.dropped), u(events));
}
