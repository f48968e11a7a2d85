// SPDX-License-Identifier: LGPL-2.1-or-later
/* A netlink socket for requests and their answers */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "ctl.h"

/*
 * Returns the error of at_ctl_open(), with its message, or 0. A connection without the family of
 * the module must send no request: the kernel would give it to another family.
 */
int at_ctl_check(struct at_ctl *ctl)
{
	return ctl->refusal ? at_ctl_fail(ctl, ctl->refusal, "%s", ctl->refused) : 0;
}

/* Begins a request in the connection's buffer. */
struct nlmsghdr *at_ctl_request(struct at_ctl *ctl, uint8_t cmd, uint16_t flags)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(ctl->request);
	struct genlmsghdr *genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));

	nlh->nlmsg_type = ctl->family;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	genl->cmd = cmd;
	genl->version = ASYNCTRACE_FAMILY_VERSION;
	ctl->error[0] = '\0';
	return nlh;
}

/* Sends a request of at_ctl_request(). */
int at_ctl_send(struct at_ctl *ctl, struct nlmsghdr *nlh)
{
	const int err = at_ctl_check(ctl);

	if (err)
		return err;
	nlh->nlmsg_seq = ++ctl->seq;
	while (mnl_socket_sendto(ctl->socket, nlh, nlh->nlmsg_len) < 0)
		if (errno != EINTR)
			return at_ctl_fail(ctl, -errno, "cannot send: %s", strerror(errno));
	return 0;
}

/*
 * Reads the answer to a request of at_ctl_send(). Calls @fn for each message of the answer, until
 * @fn returns a value other than 0. Returns that value, or the kernel's error. Reads the answer to
 * its end in any case, so that the socket is empty for the next request.
 */
int at_ctl_receive(struct at_ctl *ctl, const struct nlmsghdr *nlh, at_answer_fn fn, void *arg)
{
	int ret = 0;

	for (;;) {
		ssize_t got = mnl_socket_recvfrom(ctl->socket, ctl->answer, sizeof(ctl->answer));
		const struct nlmsghdr *at = (const void *)ctl->answer;
		int len = got;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return at_ctl_fail(ctl, -errno, "no answer: %s", strerror(errno));
		for (; mnl_nlmsg_ok(at, len); at = mnl_nlmsg_next(at, &len)) {
			if (!mnl_nlmsg_seq_ok(at, nlh->nlmsg_seq) ||
			    !mnl_nlmsg_portid_ok(at, ctl->portid))
				continue;
			if (at->nlmsg_type == NLMSG_ERROR || at->nlmsg_type == NLMSG_DONE) {
				int err = 0;

				if (mnl_nlmsg_get_payload_len(at) >= sizeof(int))
					err = *(const int *)mnl_nlmsg_get_payload(at);
				if (err < 0)
					err = at_ctl_explain(ctl, nlh, at);
				return ret ? ret : err;
			}
			if (!ret && fn && mnl_nlmsg_get_payload_len(at) >= GENL_HDRLEN)
				ret = fn(at, arg);
		}
	}
}

/* Sends a request of at_ctl_request(), and reads the answer like at_ctl_receive(). */
int at_ctl_talk(struct at_ctl *ctl, struct nlmsghdr *nlh, at_answer_fn fn, void *arg)
{
	int err;

	if (!(nlh->nlmsg_flags & NLM_F_DUMP))
		nlh->nlmsg_flags |= NLM_F_ACK;
	err = at_ctl_send(ctl, nlh);
	return err ? err : at_ctl_receive(ctl, nlh, fn, arg);
}

static int at_got_family(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *attr;

	mnl_attr_for_each(attr, nlh, GENL_HDRLEN)
		if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID &&
		    mnl_attr_get_payload_len(attr) == 2)
			*(uint16_t *)arg = mnl_attr_get_u16(attr);
	return 0;
}

static int at_find_family(struct at_ctl *ctl)
{
	struct nlmsghdr *nlh;
	uint16_t family = 0;
	int err;

	ctl->family = GENL_ID_CTRL;
	nlh = at_ctl_request(ctl, CTRL_CMD_GETFAMILY, 0);
	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, ASYNCTRACE_FAMILY_NAME);
	err = at_ctl_talk(ctl, nlh, at_got_family, &family);
	if (err == -ENOENT || (!err && !family))
		return at_ctl_fail(ctl, -ENOENT,
				   "the asynctrace module is not loaded; load it as root: modprobe asynctrace, or insmod asynctrace.ko from where it was built");
	ctl->family = family;
	return err;
}

static int at_got_info(const struct nlmsghdr *nlh, void *arg)
{
	struct at_info *info = arg;
	struct at_attrs a;

	at_parse(nlh, &a);
	info->abi = at_attr_u32(&a, ASYNCTRACE_A_INFO_ABI);
	info->clock = at_attr_u32(&a, ASYNCTRACE_A_INFO_CLOCK);
	info->nr_cpus = at_attr_u32(&a, ASYNCTRACE_A_INFO_NR_CPUS);
	info->online_cpus = at_attr_u32(&a, ASYNCTRACE_A_INFO_ONLINE_CPUS);
	info->privileged = !!a.at[ASYNCTRACE_A_INFO_PRIVILEGED];
	info->memory_limit = at_attr_u64(&a, ASYNCTRACE_A_INFO_MEMORY_LIMIT);
	return 0;
}

int at_info(struct at_ctl *ctl, struct at_info *info)
{
	struct nlmsghdr *nlh = at_ctl_request(ctl, ASYNCTRACE_CMD_INFO_GET, 0);

	if (info->size < sizeof(*info))
		return at_ctl_fail(ctl, -EINVAL, "struct at_info is older than the library");
	return at_ctl_talk(ctl, nlh, at_got_info, info);
}

static int at_check_abi(struct at_ctl *ctl)
{
	struct at_info info = { .size = sizeof(info) };
	int err = at_info(ctl, &info);

	if (err || info.abi == ASYNCTRACE_ABI_VERSION)
		return err;
	return at_ctl_fail(ctl, -EPROTO,
			   "the loaded module speaks version %u of its interface, this program version %u; load the module that was built with it",
			   info.abi, ASYNCTRACE_ABI_VERSION);
}

static int at_connect(struct at_ctl *ctl)
{
	int err, one = 1;

	ctl->socket = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC);
	if (!ctl->socket || mnl_socket_bind(ctl->socket, 0, MNL_SOCKET_AUTOPID))
		return at_ctl_fail(ctl, -errno, "cannot open a netlink socket: %s", strerror(errno));
	ctl->portid = mnl_socket_get_portid(ctl->socket);
	/* Ignore failures: then errors come without the kernel's messages. */
	mnl_socket_setsockopt(ctl->socket, NETLINK_EXT_ACK, &one, sizeof(one));
	mnl_socket_setsockopt(ctl->socket, NETLINK_CAP_ACK, &one, sizeof(one));
	err = at_find_family(ctl);
	return err ? err : at_check_abi(ctl);
}

int at_ctl_open(struct at_ctl **out)
{
	struct at_ctl *ctl = calloc(1, sizeof(*ctl));

	*out = ctl;
	if (!ctl)
		return -ENOMEM;
	ctl->refusal = at_connect(ctl);
	memcpy(ctl->refused, ctl->error, sizeof(ctl->refused));
	return ctl->refusal;
}

void at_ctl_close(struct at_ctl *ctl)
{
	if (!ctl)
		return;
	if (ctl->socket)
		mnl_socket_close(ctl->socket);
	free(ctl->ended);
	free(ctl);
}
