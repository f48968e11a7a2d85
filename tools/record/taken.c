// SPDX-License-Identifier: GPL-2.0-or-later
/* Reports providers that a session matches but does not get. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "record/taken.h"
#include "tool.h"

/* Messages name at most this many providers. taken_close() tells the number of the others. */
#define TAKEN_MAX	8

int taken_open(struct taken *t, uint32_t session)
{
	int err = at_notifications_open(&t->notifications, ASYNCTRACE_NOTIFICATION_KINDS_STARTED,
					session);

	if (err) {
		tool_error("cannot monitor providers held by other sessions: %s",
			   at_notifications_error(t->notifications));
		taken_close(t);
	}
	return err;
}

/* Prints how many providers were only counted. Lost notifications may have been of more of them. */
static void tell_more(const struct taken *t)
{
	if (t->more)
		fprintf(stderr, "%s%u more provider%s not recorded by this session; see asynctrace providers\n",
			t->lost ? "at least " : "", t->more, t->more == 1 ? " is" : "s are");
	else if (t->lost)
		fputs("more providers may not be recorded by this session; see asynctrace providers\n",
		      stderr);
}

void taken_close(struct taken *t)
{
	tell_more(t);
	t->more = 0;
	t->lost = false;
	at_notifications_close(t->notifications);
	t->notifications = NULL;
}

int taken_fd(const struct taken *t)
{
	return t->notifications ? at_notifications_fd(t->notifications) : -1;
}

struct holder {
	uint32_t provider;
	uint32_t session;	/* 0: a session that the user may not see */
	bool held;
};

static int find_holder(const struct at_provider_info *p, void *arg)
{
	struct holder *h = arg;

	if (p->id != h->provider)
		return 0;
	h->session = p->session;
	h->held = p->session || p->flags & ASYNCTRACE_PROVIDER_F_HELD;
	return 0;
}

static void tell(struct at_ctl *ctl, const struct at_notification *e)
{
	struct holder h = { .provider = e->provider };

	if (e->status == EBUSY) {
		/* Provider and session may have ended meanwhile. */
		at_for_each_provider(ctl, find_holder, &h);
		fprintf(stderr, "the provider %s (process %u) is recorded by ",
			tool_text(e->name), e->pid);
		if (h.session)
			fprintf(stderr, "session %u; see asynctrace session list\n",
				h.session);
		else if (h.held)
			fputs("a session that you may not see\n", stderr);
		else
			fputs("another session\n", stderr);
		return;
	}
	fprintf(stderr, "the provider %s (process %u) is not recorded: ", tool_text(e->name),
		e->pid);
	if (e->status == ENOSPC)
		fputs("its rings would exceed the memory limit; use a smaller --buffer-size\n",
		      stderr);
	else if (e->status == ENOMEM)
		fputs("there is no memory for its rings; use a smaller --buffer-size\n", stderr);
	else
		fprintf(stderr, "%s\n", strerror(e->status));
}

void taken_tell(struct taken *t, struct at_ctl *ctl)
{
	struct at_notification notification = { .size = sizeof(notification) };
	int err = t->notifications ? 0 : -EAGAIN;

	while (!err) {
		err = at_notifications_next(t->notifications, &notification);
		if (!err && notification.lost)
			t->lost = true;
		if (err || !notification.provider || !notification.status)
			continue;
		if (t->told < TAKEN_MAX) {
			t->told++;
			tell(ctl, &notification);
		} else {
			t->more++;
		}
	}
	if (err != -EAGAIN) {
		tool_error("cannot monitor providers held by other sessions any more: %s",
			   at_notifications_error(t->notifications));
		taken_close(t);
	}
}
