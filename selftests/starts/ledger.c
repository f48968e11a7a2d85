// SPDX-License-Identifier: GPL-2.0
/*
 * A session that records a test case, and the accounting of each process in it
 */
#include <string.h>

#include "ledger.h"

static void ignore(const struct rd_event *ev, void *arg)
{
	(void)ev;
	(void)arg;
}

void ledger_open(struct ledger *l, struct at_ctl *ctl, const struct at_session_options *opts)
{
	memset(l, 0, sizeof(*l));
	l->ctl = ctl;
	if (at_session_create(ctl, opts, &l->id) || at_session_init(ctl, l->id))
		ktap_bail("%s", at_ctl_error(ctl));
	rd_open(&l->rd, at_session_open_stream(ctl, l->id), ignore, NULL);
	if (at_session_start(ctl, l->id, NULL))
		ktap_bail("%s", at_ctl_error(ctl));
}

void ledger_end(struct ledger *l)
{
	if (at_session_stop(l->ctl, l->id))
		ktap_bail("%s", at_ctl_error(l->ctl));
	rd_drain(&l->rd);
	if (at_session_destroy(l->ctl, l->id))
		ktap_bail("%s", at_ctl_error(l->ctl));
	rd_drain(&l->rd);
	ktap_check(!l->rd.malformed, "malformed: %s", l->rd.first);
}

struct rd_ring ledger_of(const struct ledger *l, pid_t pid)
{
	struct rd_ring all = { 0 };

	for (uint32_t i = 0; i < l->rd.nr_providers; i++) {
		const struct rd_provider *p = l->rd.provider[i];
		struct rd_ring sum;

		if (p->pid != pid)
			continue;
		sum = rd_sum(&l->rd, ASYNCTRACE_CHUNK_EVENTS, p->id);
		all.delivered += sum.delivered;
		all.overwritten += sum.overwritten;
		all.dropped += sum.dropped;
	}
	return all;
}

void ledger_close(struct ledger *l)
{
	rd_close(&l->rd);
}
