// SPDX-License-Identifier: GPL-2.0
/*
 * Requests, whose attributes may be invalid
 *
 * Sockets are plain and nonblocking: the family answers before sendto() returns.
 */
#include <err.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/genetlink.h>
#include <linux/netlink.h>

#include "execute.h"
#include "raw.h"

static __thread char received[1 << 16];

void netlink_init(void)
{
	static struct raw_nl nl;
	int ret = raw_nl_open(&nl);

	if (ret)
		errx(1, "no netlink family: %s", strerror(-ret));
	env.family = nl.family;
	raw_nl_close(&nl);
}

/* Learns ids of sessions from any answer. */
static void learn(const struct nlmsghdr *nlh)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *attr;

	if (genl->cmd != ASYNCTRACE_CMD_SESSION_CREATE)
		return;
	mnl_attr_for_each(attr, nlh, GENL_HDRLEN)
		if (mnl_attr_get_type(attr) == ASYNCTRACE_A_SESSION_ID)
			env.sessions[env.nr_sessions++ % SESSIONS] = mnl_attr_get_u32(attr);
}

/* A request's sequence number is its command, so that an answer tells which one succeeded. */
static void take(const struct nlmsghdr *nlh)
{
	uint8_t cmd = nlh->nlmsg_seq;
	int error;

	if (nlh->nlmsg_type == env.family) {
		learn(nlh);
		cover_signal->done[cmd] = true;
		return;
	}
	if (nlh->nlmsg_len < NLMSG_HDRLEN + sizeof(error))
		return;
	error = *(const int *)mnl_nlmsg_get_payload(nlh);
	if (error == -EOPNOTSUPP)
		cover_signal->unsupported[cmd] = true;
	else if (!error)
		cover_signal->done[cmd] = true;
}

static void receive(int fd)
{
	for (int i = 0; i < 64; i++) {
		ssize_t n = recv(fd, received, sizeof(received), MSG_DONTWAIT);
		const struct nlmsghdr *nlh = (void *)received;
		int left = n;

		if (n <= 0)
			break;
		for (; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left))
			take(nlh);
	}
}

static void request(const struct op *op, int fd)
{
	static __thread char buf[1 << 17] __attribute__((aligned(8)));
	struct nlmsghdr *nlh = (void *)buf;
	struct genlmsghdr *genl = (void *)(buf + NLMSG_HDRLEN);
	size_t len = NLMSG_HDRLEN + GENL_HDRLEN;

	memset(buf, 0, len);
	len += message_attrs(op, buf + len, sizeof(buf) - len, resolve);
	len -= op->cut < len - NLMSG_HDRLEN ? op->cut : 0;
	nlh->nlmsg_len = len;
	nlh->nlmsg_type = env.family;
	nlh->nlmsg_flags = op->flags | NLM_F_REQUEST;
	nlh->nlmsg_seq = op->cmd;
	nlh->nlmsg_pid = 0;
	genl->cmd = op->cmd;
	genl->version = ASYNCTRACE_FAMILY_VERSION;
	if (send(fd, buf, len, MSG_DONTWAIT) >= 0)
		receive(fd);
}

static int opened(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_GENERIC);
	int one = 1;

	if (fd >= 0) {
		setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one));
		setsockopt(fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &one, sizeof(one));
	}
	return fd;
}

void netlink_op(const struct op *op)
{
	int *fd = &env.sockets[op->slot % SOCKETS];

	switch (op->kind) {
	case OP_SOCKET:
		if (*fd < 0)
			*fd = opened();
		break;
	case OP_SOCKET_CLOSE:
		if (*fd >= 0)
			close(*fd);
		*fd = -1;
		break;
	case OP_NETLINK:
		if (*fd < 0)
			*fd = opened();
		request(op, *fd);
		break;
	case OP_RECEIVE:
		receive(*fd);
		break;
	}
}

void netlink_end_detached(void)
{
	static struct raw_nl nl;

	if (!env.nr_sessions || raw_nl_open(&nl))
		return;
	for (unsigned int i = 0; i < SESSIONS; i++)
		if (env.sessions[i])
			raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, env.sessions[i]);
	raw_nl_close(&nl);
}

void netlink_end_all(void)
{
	static struct raw_nl nl;

	if (raw_nl_open(&nl))
		return;
	for (;;) {
		raw_nl_begin(&nl, ASYNCTRACE_CMD_SESSION_GET, NLM_F_DUMP);
		if (raw_nl_ask(&nl) || !nl.replies ||
		    raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE,
				   raw_nl_u32(&nl, ASYNCTRACE_A_SESSION_ID)))
			break;
	}
	raw_nl_close(&nl);
}
