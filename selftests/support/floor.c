// SPDX-License-Identifier: GPL-2.0
/* Checks that no event of a generation that has been cleared is delivered */
#include "floor.h"

static uint32_t floor_generation;
static bool has_floor;
static uint64_t too_old;

void floor_watch(struct run *run)
{
	run->rd.event = floor_event;
	has_floor = false;
	too_old = 0;
}

void floor_raise(uint32_t generation)
{
	floor_generation = generation;
	has_floor = true;
}

void floor_event(const struct rd_event *ev, void *arg)
{
	struct nu_seen *seen = arg;

	nu_event(ev, seen);
	/*
	 * nu_event() lists up to 64 generations and fails beyond that. This test has more, and does
	 * not use the list.
	 */
	seen->nr_generations = 0;
	/* An event has the lower 16 bits of its generation. */
	if (has_floor &&
	    (int16_t)(NU_GENERATION(nu_number(ev)) - (floor_generation & 0xffff)) <= 0)
		too_old++;
}

void floor_check(void)
{
	ktap_check(!too_old, "%llu events were written before the clear", (unsigned long long)too_old);
}
