// SPDX-License-Identifier: GPL-2.0
/*
 * Allocates in advance what a session needs, within the limit of memory. places.h explains why.
 */
#include <linux/mutex.h>
#include <linux/sched.h>

#include "provider/directory.h"
#include "provider/provider.h"
#include "sched/sched.h"
#include "sched/task_names.h"
#include "session/assign.h"
#include "session/budget.h"
#include "session/filter.h"
#include "session/member.h"
#include "session/places.h"
#include "session/session.h"

/* Rounds of counting, because more providers may register during a round */
#define AT_PREPARE_ROUNDS	4

struct at_member *at_prepared_take(struct at_prepared *prep)
{
	struct at_member *m;

	m = list_first_entry_or_null(&prep->members, struct at_member, node);
	if (m) {
		list_del(&m->node);
		prep->nr--;
	}
	return m;
}

void at_prepared_put(struct at_prepared *prep, struct at_member *m)
{
	list_add(&m->node, &prep->members);
	prep->nr++;
}

/* Free what was not used. */
void at_prepared_free(struct at_prepared *prep)
{
	struct at_member *m;

	while ((m = at_prepared_take(prep)))
		at_member_drop(m);
	at_ksched_free(prep->ks);
	at_task_names_free(prep->names);
}

/* Count the providers that a session can take. */
static struct at_wanted at_prepare_count(const struct at_session *s, bool start)
{
	struct at_walk walk = { .caller = &s->owner, .patterns = s->providers };
	struct at_wanted wanted = {};
	struct at_provider *p;
	bool free;

	while ((p = at_walk_next(&walk))) {
		if (!at_filter_wants(s->filter, p))
			continue;
		spin_lock(&at_lock);
		free = at_offer_free(s, p, start);
		spin_unlock(&at_lock);
		if (free)
			at_memory_want(s, p, &wanted);
	}
	return wanted;
}

/* May the session have rings for the providers that it can take? */
static int at_prepare_check(struct at_session *s, struct netlink_ext_ack *extack)
{
	struct at_wanted wanted = at_prepare_count(s, false);
	int err;

	spin_lock(&at_lock);
	err = at_memory_check(s, &wanted, extack);
	spin_unlock(&at_lock);
	return err;
}

static int at_prepare_sched(struct at_session *s, struct at_prepared *prep)
{
	prep->ks = at_ksched_new(s);
	if (prep->ks)
		prep->names = at_task_names_new(s);
	return prep->names ? 0 : -ENOMEM;
}

/**
 * at_prepare_members - allocate places for all providers that a session can take
 * @s: the session, with a reference: its state may change meanwhile
 * @prep: output
 * @start: @s is about to be started, see at_offer_free()
 *
 * Called without locks. Providers that register meanwhile get a place, too, unless more
 * keep registering in each round.
 */
void at_prepare_members(struct at_session *s, struct at_prepared *prep, bool start)
{
	u32 i, wanted;

	for (i = 0; i < AT_PREPARE_ROUNDS; i++) {
		wanted = at_prepare_count(s, start).all;
		if (wanted <= prep->nr)
			break;
		while (prep->nr < wanted && !prep->failed) {
			struct at_member *m = at_member_new(s);

			if (m)
				at_prepared_put(prep, m);
			else
				prep->failed = true;
			cond_resched();
		}
		if (prep->failed || READ_ONCE(s->state) == ASYNCTRACE_SESSION_STATE_TERMINATED)
			break;
	}
}

/**
 * at_prepare - allocate what is needed to initialize a session
 * @s: the session, with a reference
 * @prep: from at_prepared_init(), and for at_prepared_free()
 * @extack: for the reason of a failure
 *
 * Called without locks, so that a session that waits for memory delays no other request.
 *
 * Return: 0, also if there was no memory for the places of some providers; -ENOSPC beyond the
 * memory limit; -ENOMEM if there is no memory for the kernel's rings.
 */
int at_prepare(struct at_session *s, struct at_prepared *prep, struct netlink_ext_ack *extack)
{
	int err;

	/* Check the limit before allocating memory for a request that must fail. */
	err = at_prepare_check(s, extack);
	if (!err && s->sched != ASYNCTRACE_SCHED_OFF) {
		err = at_prepare_sched(s, prep);
		if (err)
			NL_SET_ERR_MSG(extack,
				       "no memory for the kernel's rings: use a smaller buffer size");
	}
	if (err)
		return err;
	at_prepare_members(s, prep, false);
	/* Check again: more providers may have registered. */
	return at_prepare_check(s, extack);
}
