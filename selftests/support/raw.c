// SPDX-License-Identifier: GPL-2.0
/* The device and the netlink family without the library */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/genetlink.h>
#include <linux/netlink.h>

#include "raw.h"

int raw_open(void)
{
	int fd = open("/dev/" ASYNCTRACE_DEVICE, O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int raw_ioctl(int fd, unsigned long cmd, void *arg)
{
	int ret = ioctl(fd, cmd, arg);

	return ret < 0 ? -errno : ret;
}

int raw_hello(int fd, uint64_t *cookie)
{
	struct asynctrace_hello h = { .size = sizeof(h), .abi = ASYNCTRACE_ABI_VERSION };
	int err = raw_ioctl(fd, ASYNCTRACE_IOC_HELLO, &h);

	if (cookie)
		*cookie = h.cookie;
	return err;
}

int raw_register(int fd, const char *name, uint64_t stride)
{
	char buf[1024] __attribute__((aligned(8)));
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct asynctrace_attrs a = { .size = sizeof(a) };
	int err;

	mnl_attr_put_strz(nlh, ASYNCTRACE_A_PROVIDER_NAME, name);
	mnl_attr_put_u64(nlh, ASYNCTRACE_A_PROVIDER_RING_STRIDE, stride);
	a.attrs = (uintptr_t)mnl_nlmsg_get_payload(nlh);
	a.len = mnl_nlmsg_get_payload_len(nlh);
	err = raw_ioctl(fd, ASYNCTRACE_IOC_REGISTER, &a);
	return err ? err : (int)a.id;
}

int raw_consume(int fd, uint32_t session)
{
	struct asynctrace_consume c = { .size = sizeof(c), .session = session };

	return raw_ioctl(fd, ASYNCTRACE_IOC_CONSUME, &c);
}

int raw_provider(struct raw_provider *p, const char *name, uint64_t stride)
{
	struct asynctrace_control c;
	void *at;
	int err;

	memset(p, 0, sizeof(*p));
	p->fd = raw_open();
	if (p->fd < 0)
		return p->fd;
	err = raw_hello(p->fd, NULL);
	if (err)
		return err;
	p->id = raw_register(p->fd, name, stride);
	if (p->id < 0)
		return p->id;
	at = mmap(NULL, getpagesize(), PROT_READ, MAP_SHARED, p->fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	memcpy(&c, at, sizeof(c));
	munmap(at, getpagesize());
	at = mmap(NULL, c.control_size, PROT_READ, MAP_SHARED, p->fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	p->control = at;
	at = mmap(NULL, c.rw_size, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, c.rw_offset);
	if (at == MAP_FAILED)
		return -errno;
	p->rw = at;
	p->rw_size = c.rw_size;
	p->slot = raw_ioctl(p->fd, ASYNCTRACE_IOC_THREAD, NULL);
	return p->slot < 0 ? p->slot : 0;
}

int raw_slot(const struct raw_provider *p, struct asynctrace_slot *slot)
{
	*slot = (struct asynctrace_slot){ .size = sizeof(*slot) };
	return raw_ioctl(p->fd, ASYNCTRACE_IOC_THREAD, slot);
}

struct asynctrace_cell *raw_cells(const struct raw_provider *p)
{
	void *at = mmap(NULL, p->control->nr_cells * sizeof(struct asynctrace_cell),
			PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, p->control->cells);

	return at == MAP_FAILED ? NULL : at;
}

void raw_provider_end(struct raw_provider *p)
{
	if (p->rw)
		munmap(p->rw, p->rw_size);
	if (p->control)
		munmap((void *)p->control, p->control->control_size);
	close(p->fd);
}

volatile struct asynctrace_ring_header *raw_header(const struct raw_provider *p, uint32_t ring)
{
	return (void *)(p->rw + p->control->headers + (uint64_t)ring * ASYNCTRACE_LINE);
}

volatile uint64_t *raw_ring(const struct raw_provider *p, uint32_t ring)
{
	return (void *)(p->rw + p->control->rings + ring * p->control->ring_stride);
}

uint64_t raw_stamp(const struct raw_provider *p)
{
	if (p->control->clock == ASYNCTRACE_CLOCK_BOOTTIME)
		return raw_boottime() - p->control->clock_offset;
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	uint64_t v;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
	return v;
#endif
}

uint64_t raw_write(const struct raw_provider *p, uint32_t ring, unsigned int records)
{
	/* The words of a record: head, time, slot, and a category and a name of one byte, inline */
	const uint64_t head = ASYNCTRACE_FXT_EVENT_HEAD(ASYNCTRACE_FXT_INSTANT, 5, 0,
							ASYNCTRACE_FXT_INLINE | 1,
							ASYNCTRACE_FXT_INLINE | 1);
	volatile uint64_t *words = raw_ring(p, ring);
	uint64_t at = ASYNCTRACE_SUBBUF_WORDS;

	words[0] = ASYNCTRACE_SUBBUF_MAGIC | (uint64_t)p->control->gate << 32;
	words[1] = words[2] = words[3] = 0;
	for (unsigned int i = 0; i < records; i++) {
		words[at++] = head;
		words[at++] = raw_stamp(p);
		words[at++] = p->slot;
		words[at++] = 'c';
		words[at++] = 'n';
	}
	__atomic_store_n(&raw_header(p, ring)->position,
			 at | (uint64_t)records << ASYNCTRACE_POS_BITS, __ATOMIC_RELEASE);
	return at;
}

/* --- netlink --------------------------------------------------------------- */

static int find_family(struct raw_nl *nl)
{
	const struct nlattr *attr;
	struct genlmsghdr *genl;
	ssize_t n;

	nl->request = mnl_nlmsg_put_header(nl->buf);
	nl->request->nlmsg_type = GENL_ID_CTRL;
	nl->request->nlmsg_flags = NLM_F_REQUEST;
	genl = mnl_nlmsg_put_extra_header(nl->request, sizeof(*genl));
	genl->cmd = CTRL_CMD_GETFAMILY;
	mnl_attr_put_strz(nl->request, CTRL_ATTR_FAMILY_NAME, ASYNCTRACE_FAMILY_NAME);
	if (mnl_socket_sendto(nl->socket, nl->request, nl->request->nlmsg_len) < 0)
		return -errno;
	n = mnl_socket_recvfrom(nl->socket, nl->reply, sizeof(nl->reply));
	if (n < 0)
		return -errno;
	if (((struct nlmsghdr *)nl->reply)->nlmsg_type == NLMSG_ERROR)
		return -ENOENT;
	mnl_attr_for_each(attr, (struct nlmsghdr *)nl->reply, GENL_HDRLEN)
		if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID)
			nl->family = mnl_attr_get_u16(attr);
	return nl->family ? 0 : -ENOENT;
}

int raw_nl_open(struct raw_nl *nl)
{
	int one = 1;

	memset(nl, 0, sizeof(*nl));
	nl->socket = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC);
	if (!nl->socket)
		return -errno;
	if (mnl_socket_bind(nl->socket, 0, MNL_SOCKET_AUTOPID) ||
	    mnl_socket_setsockopt(nl->socket, NETLINK_EXT_ACK, &one, sizeof(one)) ||
	    mnl_socket_setsockopt(nl->socket, NETLINK_GET_STRICT_CHK, &one, sizeof(one)))
		return -errno;
	return find_family(nl);
}

void raw_nl_close(struct raw_nl *nl)
{
	mnl_socket_close(nl->socket);
	nl->socket = NULL;
}

struct nlmsghdr *raw_nl_begin(struct raw_nl *nl, uint8_t cmd, uint16_t flags)
{
	struct genlmsghdr *genl;

	memset(nl->buf, 0, sizeof(nl->buf));
	nl->request = mnl_nlmsg_put_header(nl->buf);
	nl->request->nlmsg_type = nl->family;
	nl->request->nlmsg_flags = NLM_F_REQUEST | flags;
	nl->request->nlmsg_seq = ++nl->seq;
	genl = mnl_nlmsg_put_extra_header(nl->request, sizeof(*genl));
	genl->cmd = cmd;
	genl->version = ASYNCTRACE_FAMILY_VERSION;
	return nl->request;
}

static uint16_t type_at(const struct raw_nl *nl, uint32_t offset)
{
	struct nlattr attr;

	if (offset < NLMSG_HDRLEN + GENL_HDRLEN || offset + sizeof(attr) > nl->request->nlmsg_len)
		return 0;
	memcpy(&attr, (const char *)nl->request + offset, sizeof(attr));
	return attr.nla_type & NLA_TYPE_MASK;
}

/* Takes text and attribute from an extended ack. */
static void take_ack(struct raw_nl *nl, const struct nlmsghdr *nlh)
{
	size_t at = sizeof(int);
	const struct nlattr *attr;

	if (!(nlh->nlmsg_flags & NLM_F_ACK_TLVS))
		return;
	if (nlh->nlmsg_type == NLMSG_ERROR) {
		const struct nlmsgerr *e = mnl_nlmsg_get_payload(nlh);

		at = sizeof(*e);
		if (!(nlh->nlmsg_flags & NLM_F_CAPPED))
			at += MNL_ALIGN(e->msg.nlmsg_len) - NLMSG_HDRLEN;
	}
	mnl_attr_for_each(attr, nlh, at) {
		if (mnl_attr_get_type(attr) == NLMSGERR_ATTR_MSG)
			strncpy(nl->text, mnl_attr_get_str(attr), sizeof(nl->text) - 1);
		if (mnl_attr_get_type(attr) == NLMSGERR_ATTR_OFFS)
			nl->bad = type_at(nl, mnl_attr_get_u32(attr));
		if (mnl_attr_get_type(attr) == NLMSGERR_ATTR_MISS_TYPE)
			nl->missing = mnl_attr_get_u32(attr);
	}
}

/* Receives all messages up to the ack, the end of the dump, or an error. */
int raw_nl_take_each(struct raw_nl *nl, int (*fn)(const struct nlmsghdr *nlh, void *arg), void *arg)
{
	char buf[65536];

	for (;;) {
		ssize_t n = mnl_socket_recvfrom(nl->socket, buf, sizeof(buf));
		const struct nlmsghdr *nlh = (void *)buf;
		int left = n;

		if (n < 0)
			return -errno;
		for (; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left)) {
			if (nlh->nlmsg_seq != nl->seq)
				continue;
			if (nlh->nlmsg_type == NLMSG_ERROR || nlh->nlmsg_type == NLMSG_DONE) {
				take_ack(nl, nlh);
				return *(const int *)mnl_nlmsg_get_payload(nlh);
			}
			nl->replies++;
			memcpy(nl->reply, nlh, nlh->nlmsg_len);
			if (fn)
				fn(nlh, arg);
		}
	}
}

int raw_nl_send(struct raw_nl *nl)
{
	nl->text[0] = 0;
	nl->bad = nl->missing = 0;
	nl->replies = 0;
	/* Ask for an ack, which ends the answer. A dump has an end message of its own. */
	if (!(nl->request->nlmsg_flags & NLM_F_DUMP))
		nl->request->nlmsg_flags |= NLM_F_ACK;
	return mnl_socket_sendto(nl->socket, nl->request, nl->request->nlmsg_len) < 0 ? -errno : 0;
}

int raw_nl_take(struct raw_nl *nl)
{
	return raw_nl_take_each(nl, NULL, NULL);
}

int raw_nl_each(struct raw_nl *nl, int (*fn)(const struct nlmsghdr *nlh, void *arg), void *arg)
{
	int err = raw_nl_send(nl);

	return err ? err : raw_nl_take_each(nl, fn, arg);
}

int raw_nl_ask(struct raw_nl *nl)
{
	return raw_nl_each(nl, NULL, NULL);
}

const struct nlattr *raw_nl_attr(const struct raw_nl *nl, uint16_t type)
{
	const struct nlattr *attr;

	if (!nl->replies)
		return NULL;
	mnl_attr_for_each(attr, (const struct nlmsghdr *)nl->reply, GENL_HDRLEN)
		if (mnl_attr_get_type(attr) == type)
			return attr;
	return NULL;
}

uint32_t raw_nl_u32(const struct raw_nl *nl, uint16_t type)
{
	const struct nlattr *attr = raw_nl_attr(nl, type);

	return attr ? mnl_attr_get_u32(attr) : 0;
}

uint64_t raw_nl_u64(const struct raw_nl *nl, uint16_t type)
{
	const struct nlattr *attr = raw_nl_attr(nl, type);

	return attr ? mnl_attr_get_u64(attr) : 0;
}

int raw_session_with(struct raw_nl *nl, const char *name, uint32_t mode, uint32_t sched,
		     uint64_t ring_size, const char *provider, uint32_t flags)
{
	struct nlmsghdr *nlh = raw_nl_begin(nl, ASYNCTRACE_CMD_SESSION_CREATE, 0);
	int err;

	mnl_attr_put_strz(nlh, ASYNCTRACE_A_SESSION_NAME, name);
	mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_MODE, mode);
	mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_SCHED, sched);
	if (flags)
		mnl_attr_put_u32(nl->request, ASYNCTRACE_A_SESSION_FLAGS, flags);
	mnl_attr_put_u64(nlh, ASYNCTRACE_A_SESSION_RING_SIZE, ring_size);
	if (provider)
		mnl_attr_put_strz(nlh, ASYNCTRACE_A_SESSION_PROVIDER, provider);
	err = raw_nl_ask(nl);
	return err ? err : (int)raw_nl_u32(nl, ASYNCTRACE_A_SESSION_ID);
}

int raw_session(struct raw_nl *nl, const char *name, uint32_t mode, uint32_t sched,
		uint64_t ring_size, const char *provider)
{
	return raw_session_with(nl, name, mode, sched, ring_size, provider, 0);
}

int raw_session_do(struct raw_nl *nl, uint8_t cmd, uint32_t id)
{
	mnl_attr_put_u32(raw_nl_begin(nl, cmd, 0), ASYNCTRACE_A_SESSION_ID, id);
	return raw_nl_ask(nl);
}

/*
 * Selects the rings to add: those of @kind if it is not 0; otherwise those of @provider; all rings
 * if both are 0.
 */
struct sum {
	struct raw_ledger *ledger;
	uint32_t provider;
	uint32_t kind;
};

static int add_ring(const struct nlmsghdr *nlh, void *arg)
{
	const struct sum *sum = arg;
	uint64_t *to[] = {
		[ASYNCTRACE_A_RING_COMMITTED] = &sum->ledger->committed,
		[ASYNCTRACE_A_RING_DELIVERED] = &sum->ledger->delivered,
		[ASYNCTRACE_A_RING_OVERWRITTEN] = &sum->ledger->overwritten,
		[ASYNCTRACE_A_RING_DROPPED] = &sum->ledger->dropped,
		[ASYNCTRACE_A_RING_CLEARED] = &sum->ledger->cleared,
		[ASYNCTRACE_A_RING_PAGES] = &sum->ledger->pages,
	};
	const struct nlattr *attr;
	uint32_t provider = 0, kind = 0;
	bool wanted;

	mnl_attr_for_each(attr, nlh, GENL_HDRLEN) {
		if (mnl_attr_get_type(attr) == ASYNCTRACE_A_RING_PROVIDER)
			provider = mnl_attr_get_u32(attr);
		if (mnl_attr_get_type(attr) == ASYNCTRACE_A_RING_KIND)
			kind = mnl_attr_get_u32(attr);
	}
	if (sum->kind)
		wanted = kind == sum->kind;
	else if (sum->provider)
		wanted = provider == sum->provider;
	else
		wanted = provider || kind == ASYNCTRACE_RING_KIND_ENDED;
	sum->ledger->changed |= nlh->nlmsg_flags & NLM_F_DUMP_INTR;
	if (!wanted)
		return 0;
	sum->ledger->lines++;
	mnl_attr_for_each(attr, nlh, GENL_HDRLEN) {
		uint16_t type = mnl_attr_get_type(attr);

		if (type < sizeof(to) / sizeof(to[0]) && to[type])
			*to[type] += mnl_attr_get_u64(attr);
	}
	return 0;
}

static int raw_sum(struct raw_nl *nl, uint32_t session, struct sum *sum)
{
	memset(sum->ledger, 0, sizeof(*sum->ledger));
	mnl_attr_put_u32(raw_nl_begin(nl, ASYNCTRACE_CMD_RING_GET, NLM_F_DUMP),
			 ASYNCTRACE_A_RING_SESSION, session);
	return raw_nl_each(nl, add_ring, sum);
}

int raw_ledger(struct raw_nl *nl, uint32_t session, uint32_t provider,
	       struct raw_ledger *ledger)
{
	struct sum sum = { .ledger = ledger, .provider = provider };

	return raw_sum(nl, session, &sum);
}

int raw_ended(struct raw_nl *nl, uint32_t session, struct raw_ledger *ledger)
{
	struct sum sum = { .ledger = ledger, .kind = ASYNCTRACE_RING_KIND_ENDED };

	return raw_sum(nl, session, &sum);
}

int raw_sched_ledger(struct raw_nl *nl, uint32_t session, struct raw_ledger *ledger)
{
	struct sum sum = { .ledger = ledger, .kind = ASYNCTRACE_RING_KIND_SCHED };

	return raw_sum(nl, session, &sum);
}

int raw_names_ledger(struct raw_nl *nl, uint32_t session, struct raw_ledger *ledger)
{
	struct sum sum = { .ledger = ledger, .kind = ASYNCTRACE_RING_KIND_NAMES };

	return raw_sum(nl, session, &sum);
}

int64_t raw_boottime(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int raw_put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	err = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return err;
}

int raw_become(int uid)
{
	if (uid == -1)
		return 0;
	/* PR_SET_DUMPABLE, as exec(2) would set it for a program that the user starts. */
	return setgroups(0, NULL) || setgid(uid) || setuid(uid) || prctl(PR_SET_DUMPABLE, 1);
}

int raw_child(int (*fn)(void *arg), void *arg, int uid)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return -errno;
	if (!pid) {
		if (raw_become(uid))
			_exit(255);
		_exit(fn(arg));
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

bool raw_sleeps_in(int tid, const char *function)
{
	char path[64], stack[4096];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stack", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, stack, sizeof(stack) - 1);
	close(fd);
	stack[n > 0 ? n : 0] = 0;
	return strstr(stack, function);
}

int raw_memory_limit(struct raw_nl *nl, uint64_t *limit, uint64_t *cpus)
{
	int err;

	raw_nl_begin(nl, ASYNCTRACE_CMD_INFO_GET, 0);
	err = raw_nl_ask(nl);
	if (err)
		return err;
	*limit = raw_nl_u64(nl, ASYNCTRACE_A_INFO_MEMORY_LIMIT);
	*cpus = raw_nl_u32(nl, ASYNCTRACE_A_INFO_ONLINE_CPUS);
	return 0;
}
