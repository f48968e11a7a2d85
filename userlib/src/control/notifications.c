// SPDX-License-Identifier: LGPL-2.1-or-later
/* Notifications, on a socket of their own */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "ctl.h"

struct at_notifications {
	struct at_ctl *ctl;
};

static int at_is_notification(const struct nlmsghdr *nlh)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);

	return mnl_nlmsg_get_payload_len(nlh) >= GENL_HDRLEN &&
	       nlh->nlmsg_type >= NLMSG_MIN_TYPE && genl->cmd == ASYNCTRACE_CMD_NOTIFICATION;
}

static int at_subscribe(struct at_notifications *ev, uint32_t kinds, uint32_t session)
{
	struct at_ctl *ctl = ev->ctl;
	const int fd = mnl_socket_get_fd(ctl->socket);
	struct nlmsghdr *nlh, first;
	int err, one = 1;
	ssize_t got;

	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK))
		return at_ctl_fail(ctl, -errno, "cannot subscribe: %s", strerror(errno));
	/* The module counts lost notifications, and puts the count into the next one. */
	mnl_socket_setsockopt(ctl->socket, NETLINK_NO_ENOBUFS, &one, sizeof(one));
	nlh = at_ctl_request(ctl, ASYNCTRACE_CMD_SUBSCRIBE, 0);
	mnl_attr_put_u32(nlh, ASYNCTRACE_A_NOTIFICATION_KINDS, kinds);
	if (session)
		mnl_attr_put_u32(nlh, ASYNCTRACE_A_NOTIFICATION_SESSION, session);
	/*
	 * Do not set NLM_F_ACK: poll(2) does not report notifications that were read in search of
	 * the ack. The kernel handles the request during sendto(2). It queues a message if the
	 * request fails, and then no notifications. So peeking at the first message suffices.
	 */
	err = at_ctl_send(ctl, nlh);
	if (err)
		return err;
	do {
		got = recv(fd, &first, sizeof(first), MSG_PEEK);
	} while (got < 0 && errno == EINTR);
	if (got < 0 && errno != EAGAIN)
		return at_ctl_fail(ctl, -errno, "cannot subscribe: %s", strerror(errno));
	if (got == sizeof(first) && first.nlmsg_type == NLMSG_ERROR)
		return at_ctl_receive(ctl, nlh, NULL, NULL);
	return 0;
}

int at_notifications_open(struct at_notifications **out, uint32_t kinds, uint32_t session)
{
	struct at_notifications *ev = calloc(1, sizeof(*ev));
	int err;

	*out = NULL;
	if (!ev)
		return -ENOMEM;
	err = at_ctl_open(&ev->ctl);
	if (!ev->ctl) {
		free(ev);
		return err;
	}
	*out = ev;
	if (!err && !kinds)
		err = at_ctl_fail(ev->ctl, -EINVAL, "no kind of notification is wanted");
	return err ? err : at_subscribe(ev, kinds, session);
}

void at_notifications_close(struct at_notifications *ev)
{
	if (!ev)
		return;
	at_ctl_close(ev->ctl);
	free(ev);
}

const char *at_notifications_error(const struct at_notifications *ev)
{
	return at_ctl_error(ev ? ev->ctl : NULL);
}

int at_notifications_fd(const struct at_notifications *ev)
{
	/* If at_ctl_open() failed, there may be no socket. */
	return ev->ctl->refusal ? ev->ctl->refusal : mnl_socket_get_fd(ev->ctl->socket);
}

/* Reads the next message into the connection's buffer. Returns its length or a negative errno. */
static ssize_t at_next_message(struct at_notifications *ev)
{
	ssize_t got;

	do {
		got = mnl_socket_recvfrom(ev->ctl->socket, ev->ctl->answer,
					  sizeof(ev->ctl->answer));
	} while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

static void at_parse_notification(const struct nlmsghdr *nlh, struct at_notification *to)
{
	struct at_attrs a;
	struct at_notification e;

	at_parse(nlh, &a);
	e = (struct at_notification){
		.size = to->size,
		.kind = at_attr_u32(&a, ASYNCTRACE_A_NOTIFICATION_KINDS),
		.session = at_attr_u32(&a, ASYNCTRACE_A_NOTIFICATION_SESSION),
		.provider = at_attr_u32(&a, ASYNCTRACE_A_NOTIFICATION_PROVIDER),
		.pid = at_attr_u32(&a, ASYNCTRACE_A_NOTIFICATION_PID),
		.uid = at_attr_u32(&a, ASYNCTRACE_A_NOTIFICATION_UID),
		.status = at_attr_u32(&a, ASYNCTRACE_A_NOTIFICATION_STATUS),
		.generation = at_attr_u32(&a, ASYNCTRACE_A_NOTIFICATION_GENERATION),
		.ring = at_attr_u32(&a, ASYNCTRACE_A_NOTIFICATION_RING),
		.durable = at_attr_u32(&a, ASYNCTRACE_A_NOTIFICATION_DURABLE),
		.lost = at_attr_u32(&a, ASYNCTRACE_A_NOTIFICATION_LOST),
		.position = at_attr_u64(&a, ASYNCTRACE_A_NOTIFICATION_POSITION),
		.name = at_attr_str(&a, ASYNCTRACE_A_NOTIFICATION_NAME),
		.alert = at_attr_str(&a, ASYNCTRACE_A_NOTIFICATION_ALERT),
	};
	*to = e;
}

int at_notifications_next(struct at_notifications *ev, struct at_notification *to)
{
	const struct nlmsghdr *nlh = (const void *)ev->ctl->answer;
	int err;

	ev->ctl->error[0] = '\0';
	if (to->size < sizeof(*to))
		return at_ctl_fail(ev->ctl, -EINVAL, "struct at_notification is older than the library");
	err = at_ctl_check(ev->ctl);
	if (err)
		return err;
	for (;;) {
		ssize_t got = at_next_message(ev);

		if (got < 0)
			return at_ctl_fail(ev->ctl, got, "no notification: %s", strerror(-got));
		/* Each message has one notification. */
		if (!mnl_nlmsg_ok(nlh, got) || nlh->nlmsg_type != ev->ctl->family ||
		    !at_is_notification(nlh))
			continue;
		at_parse_notification(nlh, to);
		return 0;
	}
}
