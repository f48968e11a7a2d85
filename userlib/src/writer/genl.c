// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Requests over a raw netlink socket
 *
 * libmnl would allocate memory. The kernel answers a request before send(2) returns. So an answer
 * that is not there yet will never come, and nothing here waits.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/asynctrace.h>
#include <linux/asynctrace_netlink.h>

#include "sys.h"
#include "genl.h"

bool at_attr_put(char *buf, size_t room, size_t *len, uint16_t type, const void *data,
		 size_t size)
{
	struct nlattr head = { .nla_len = NLA_HDRLEN + size, .nla_type = type };
	size_t padded = NLA_HDRLEN + NLA_ALIGN(size);

	if (room - *len < padded)
		return false;
	memset(buf + *len, 0, padded);
	memcpy(buf + *len, &head, sizeof(head));
	memcpy(buf + *len + NLA_HDRLEN, data, size);
	*len += padded;
	return true;
}

const void *at_genl_find(const struct at_message *m, uint16_t type, size_t size)
{
	size_t len = m->nl.nlmsg_len - offsetof(struct at_message, attrs);
	const char *at = m->attrs;
	struct nlattr head;

	while (len >= NLA_HDRLEN) {
		memcpy(&head, at, sizeof(head));
		if (head.nla_len < NLA_HDRLEN || head.nla_len > len)
			break;
		if ((head.nla_type & NLA_TYPE_MASK) == type &&
		    head.nla_len >= NLA_HDRLEN + size)
			return at + NLA_HDRLEN;
		if ((size_t)NLA_ALIGN(head.nla_len) >= len)
			break;
		len -= NLA_ALIGN(head.nla_len);
		at += NLA_ALIGN(head.nla_len);
	}
	return NULL;
}

static int at_send(int fd, struct at_message *m, uint16_t family, uint8_t cmd, size_t len,
		   uint16_t flags)
{
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	ssize_t sent;

	m->nl = (struct nlmsghdr){
		.nlmsg_len = offsetof(struct at_message, attrs) + len,
		.nlmsg_type = family,
		.nlmsg_flags = NLM_F_REQUEST | flags,
		.nlmsg_seq = cmd,
	};
	m->genl = (struct genlmsghdr){
		.cmd = cmd,
		.version = family == GENL_ID_CTRL ? 1 : ASYNCTRACE_FAMILY_VERSION,
	};
	do {
		sent = at_sys_sendto(fd, m, m->nl.nlmsg_len, MSG_NOSIGNAL, &kernel,
				     sizeof(kernel));
	} while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

/* Any process may send to this socket: ignore messages that are not from the kernel. */
static int at_receive(int fd, struct at_message *m)
{
	struct sockaddr_nl from;
	socklen_t from_len;
	ssize_t got;

	do {
		memset(&from, 0, sizeof(from));
		from_len = sizeof(from);
		got = at_sys_recvfrom(fd, m, sizeof(*m), MSG_DONTWAIT | MSG_TRUNC, &from,
				      &from_len);
	} while ((got < 0 && errno == EINTR) || (got >= 0 && from.nl_pid));
	if (got < 0)
		return -errno;
	if (got < (ssize_t)offsetof(struct at_message, attrs) || got > (ssize_t)sizeof(*m) ||
	    m->nl.nlmsg_len > (size_t)got ||
	    m->nl.nlmsg_len < offsetof(struct at_message, attrs))
		return -EBADMSG;
	return 0;
}

static int at_error_of(const struct at_message *m)
{
	int error;

	memcpy(&error, (const char *)m + NLMSG_HDRLEN, sizeof(error));
	return error;
}

int at_genl_ask(int fd, struct at_message *m, uint16_t family, uint8_t cmd, size_t len,
		bool *reached)
{
	int err;

	*reached = false;
	err = at_send(fd, m, family, cmd, len, 0);
	if (!err)
		err = at_receive(fd, m);
	if (err)
		return err;
	*reached = true;
	if (m->nl.nlmsg_type != NLMSG_ERROR)
		return 0;
	return at_error_of(m) ?: -EBADMSG;
}

int at_genl_do(int fd, struct at_message *m, uint16_t family, uint8_t cmd, size_t len,
	       struct at_message *answer)
{
	int err;

	err = at_send(fd, m, family, cmd, len, NLM_F_ACK);
	while (!err) {
		err = at_receive(fd, m);
		if (!err && m->nl.nlmsg_type == NLMSG_ERROR)
			return at_error_of(m);
		if (!err && answer)
			*answer = *m;
	}
	return err;
}

int at_genl_family(int fd, struct at_message *m, uint16_t *family)
{
	const void *attr;
	size_t len = 0;
	bool reached;

	at_attr_put(m->attrs, sizeof(m->attrs), &len, CTRL_ATTR_FAMILY_NAME,
		    ASYNCTRACE_FAMILY_NAME, sizeof(ASYNCTRACE_FAMILY_NAME));
	if (at_genl_ask(fd, m, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, len, &reached))
		return -EAFNOSUPPORT;
	attr = at_genl_find(m, CTRL_ATTR_FAMILY_ID, sizeof(*family));
	if (!attr)
		return -EAFNOSUPPORT;
	memcpy(family, attr, sizeof(*family));
	return 0;
}
