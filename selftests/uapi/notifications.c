// SPDX-License-Identifier: GPL-2.0
/* Subscribes to notifications, and waits for them */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/genetlink.h>

#include "notifications.h"

int notification_subscribe(struct raw_nl *nl, uint32_t kinds, uint32_t session)
{
	struct nlmsghdr *nlh = raw_nl_begin(nl, ASYNCTRACE_CMD_SUBSCRIBE, 0);

	mnl_attr_put_u32(nlh, ASYNCTRACE_A_NOTIFICATION_KINDS, kinds);
	if (session)
		mnl_attr_put_u32(nlh, ASYNCTRACE_A_NOTIFICATION_SESSION, session);
	return raw_nl_ask(nl);
}

static void take(struct notification *note, const struct nlmsghdr *nlh)
{
	uint32_t *to[] = {
		[ASYNCTRACE_A_NOTIFICATION_KINDS] = &note->kind,
		[ASYNCTRACE_A_NOTIFICATION_SESSION] = &note->session,
		[ASYNCTRACE_A_NOTIFICATION_PROVIDER] = &note->provider,
		[ASYNCTRACE_A_NOTIFICATION_PID] = &note->pid,
		[ASYNCTRACE_A_NOTIFICATION_UID] = &note->uid,
		[ASYNCTRACE_A_NOTIFICATION_STATUS] = &note->status,
		[ASYNCTRACE_A_NOTIFICATION_GENERATION] = &note->generation,
		[ASYNCTRACE_A_NOTIFICATION_RING] = &note->ring,
		[ASYNCTRACE_A_NOTIFICATION_DURABLE] = &note->durable,
		[ASYNCTRACE_A_NOTIFICATION_LOST] = &note->lost,
	};
	const struct nlattr *attr;

	memset(note, 0, sizeof(*note));
	mnl_attr_for_each(attr, nlh, GENL_HDRLEN) {
		uint16_t type = mnl_attr_get_type(attr);

		note->has |= 1u << type;
		if (type == ASYNCTRACE_A_NOTIFICATION_NAME)
			strncpy(note->name, mnl_attr_get_str(attr), sizeof(note->name) - 1);
		else if (type == ASYNCTRACE_A_NOTIFICATION_ALERT)
			strncpy(note->alert, mnl_attr_get_str(attr), sizeof(note->alert) - 1);
		else if (type == ASYNCTRACE_A_NOTIFICATION_POSITION)
			note->position = mnl_attr_get_u64(attr);
		else if (type < sizeof(to) / sizeof(to[0]) && to[type])
			*to[type] = mnl_attr_get_u32(attr);
	}
}

int notification_next(struct raw_nl *nl, struct notification *note, int ms, size_t *bytes)
{
	struct pollfd p = { mnl_socket_get_fd(nl->socket), POLLIN, 0 };

	for (;;) {
		const struct nlmsghdr *nlh = (void *)nl->reply;
		const struct genlmsghdr *genl;
		ssize_t n;

		if (poll(&p, 1, ms) <= 0)
			return -EAGAIN;
		n = recv(p.fd, nl->reply, sizeof(nl->reply), MSG_DONTWAIT);
		if (n < 0)
			return -errno;
		if (bytes)
			*bytes = n;
		genl = mnl_nlmsg_get_payload(nlh);
		/* A message answers no request: its sequence number and port are 0. */
		if (nlh->nlmsg_len != n || nlh->nlmsg_type != nl->family || nlh->nlmsg_pid ||
		    nlh->nlmsg_seq || genl->cmd != ASYNCTRACE_CMD_NOTIFICATION)
			return -EBADMSG;
		take(note, nlh);
		return 0;
	}
}

int notification_wait(struct raw_nl *nl, struct notification *note, uint32_t kind)
{
	int err;

	do {
		err = notification_next(nl, note, NOTIFICATION_PATIENCE, NULL);
	} while (!err && note->kind != kind);
	return err;
}
