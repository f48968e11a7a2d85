// SPDX-License-Identifier: GPL-2.0
/* A fake kernel that sends the session library the answers that a test chooses */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fake_kernel.h"

struct fake_kernel kernel;

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

void *__wrap_calloc(size_t n, size_t size)
{
	return kernel.callocs && !--kernel.callocs ? NULL : __real_calloc(n, size);
}

struct nlmsghdr *new_message(uint16_t type, uint16_t flags)
{
	const struct nlmsghdr *request = (const void *)kernel.sent;
	struct nlmsghdr *nlh;

	memset(kernel.message, 0, sizeof(kernel.message));
	nlh = mnl_nlmsg_put_header(kernel.message);
	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = flags;
	nlh->nlmsg_seq = request->nlmsg_seq;
	nlh->nlmsg_pid = PORTID;
	return nlh;
}

void queue_message(const struct nlmsghdr *nlh)
{
	assert_int_equal(send(kernel.peer, nlh, nlh->nlmsg_len, MSG_DONTWAIT), nlh->nlmsg_len);
	kernel.tail++;
}

struct nlmsghdr *new_answer(uint8_t cmd)
{
	struct nlmsghdr *nlh = new_message(FAMILY, 0);
	struct genlmsghdr *genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));

	genl->cmd = cmd;
	return nlh;
}

void ack(int error)
{
	struct nlmsghdr *nlh = new_message(NLMSG_ERROR, NLM_F_CAPPED);
	struct nlmsgerr *e = mnl_nlmsg_put_extra_header(nlh, sizeof(*e));

	e->error = error;
	queue_message(nlh);
}

void done(void)
{
	struct nlmsghdr *nlh = new_message(NLMSG_DONE, NLM_F_MULTI);

	*(int *)mnl_nlmsg_put_extra_header(nlh, sizeof(int)) = 0;
	queue_message(nlh);
}

struct mnl_socket *__wrap_mnl_socket_open2(int bus, int flags);
int __wrap_mnl_socket_bind(struct mnl_socket *nl, unsigned int groups, pid_t pid);
unsigned int __wrap_mnl_socket_get_portid(const struct mnl_socket *nl);
int __wrap_mnl_socket_setsockopt(const struct mnl_socket *nl, int type, void *buf, socklen_t len);
int __wrap_mnl_socket_close(struct mnl_socket *nl);
int __wrap_mnl_socket_get_fd(const struct mnl_socket *nl);
ssize_t __wrap_mnl_socket_sendto(const struct mnl_socket *nl, const void *req, size_t siz);
ssize_t __wrap_mnl_socket_recvfrom(const struct mnl_socket *nl, void *buf, size_t siz);

struct mnl_socket *__wrap_mnl_socket_open2(int bus, int flags)
{
	int pair[2];

	assert_int_equal(bus, NETLINK_GENERIC);
	assert_true(flags & SOCK_CLOEXEC);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | flags, 0, pair), 0);
	kernel.fd = pair[0];
	kernel.peer = pair[1];
	return (struct mnl_socket *)&kernel;
}

int __wrap_mnl_socket_bind(struct mnl_socket *nl, unsigned int groups, pid_t pid)
{
	(void)nl;
	assert_int_equal(groups, 0);
	assert_int_equal(pid, MNL_SOCKET_AUTOPID);
	return 0;
}

unsigned int __wrap_mnl_socket_get_portid(const struct mnl_socket *nl)
{
	(void)nl;
	return PORTID;
}

int __wrap_mnl_socket_setsockopt(const struct mnl_socket *nl, int type, void *buf, socklen_t len)
{
	(void)nl;
	(void)type;
	(void)buf;
	(void)len;
	return 0;
}

int __wrap_mnl_socket_close(struct mnl_socket *nl)
{
	(void)nl;
	close(kernel.fd);
	close(kernel.peer);
	return 0;
}

int __wrap_mnl_socket_get_fd(const struct mnl_socket *nl)
{
	(void)nl;
	return kernel.fd;
}

ssize_t __wrap_mnl_socket_sendto(const struct mnl_socket *nl, const void *req, size_t siz)
{
	const struct nlmsghdr *nlh = (const void *)kernel.sent;
	const struct genlmsghdr *genl;
	struct nlmsghdr *answer;

	(void)nl;
	/* An unread message would be taken for the answer to this request. */
	assert_int_equal(kernel.head, kernel.tail);
	memcpy(kernel.sent, req, siz);
	assert_int_equal(nlh->nlmsg_len, siz);
	assert_true(nlh->nlmsg_flags & NLM_F_REQUEST);
	genl = mnl_nlmsg_get_payload(nlh);
	if (nlh->nlmsg_type == GENL_ID_CTRL) {
		if (kernel.no_family) {
			ack(-ENOENT);
			return siz;
		}
		answer = new_answer(CTRL_CMD_NEWFAMILY);
		answer->nlmsg_type = GENL_ID_CTRL;
		mnl_attr_put_u16(answer, CTRL_ATTR_FAMILY_ID, FAMILY);
		queue_message(answer);
		ack(0);
		return siz;
	}
	assert_int_equal(nlh->nlmsg_type, FAMILY);
	assert_int_equal(genl->version, ASYNCTRACE_FAMILY_VERSION);
	if (genl->cmd == ASYNCTRACE_CMD_INFO_GET) {
		answer = new_answer(genl->cmd);
		mnl_attr_put_u32(answer, ASYNCTRACE_A_INFO_ABI, kernel.abi);
		mnl_attr_put_u32(answer, ASYNCTRACE_A_INFO_NR_CPUS, 8);
		mnl_attr_put_u64(answer, ASYNCTRACE_A_INFO_MEMORY_LIMIT, 1ULL << 33);
		mnl_attr_put(answer, ASYNCTRACE_A_INFO_PRIVILEGED, 0, NULL);
		queue_message(answer);
		ack(0);
		return siz;
	}
	kernel.answer(nlh);
	return siz;
}

ssize_t __wrap_mnl_socket_recvfrom(const struct mnl_socket *nl, void *buf, size_t siz)
{
	ssize_t got = recv(kernel.fd, buf, siz, MSG_DONTWAIT | MSG_TRUNC);

	(void)nl;
	if (got < 0) {
		/* The real kernel would block here. */
		assert_true(fcntl(kernel.fd, F_GETFL) & O_NONBLOCK);
		return -1;
	}
	kernel.head++;
	assert_true((size_t)got <= siz);
	return got;
}

struct at_ctl *open_ctl(void (*answer)(const struct nlmsghdr *request))
{
	struct at_ctl *ctl;

	memset(&kernel, 0, sizeof(kernel));
	kernel.abi = ASYNCTRACE_ABI_VERSION;
	kernel.answer = answer;
	assert_int_equal(at_ctl_open(&ctl), 0);
	return ctl;
}
