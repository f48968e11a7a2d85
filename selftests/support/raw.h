/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The device and the netlink family without the library: what a program could
 * say that the library never would. Functions return 0 or more, or a negative
 * errno.
 */
#ifndef SELFTESTS_RAW_H
#define SELFTESTS_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <libmnl/libmnl.h>
#include <linux/asynctrace.h>
#include <linux/asynctrace_fxt.h>
#include <linux/asynctrace_netlink.h>

/* --- the device ----------------------------------------------------------- */

int raw_open(void);
/* ioctl(2) with a negative errno */
int raw_ioctl(int fd, unsigned long cmd, void *arg);
int raw_hello(int fd, uint64_t *cookie);
/* By ioctl. Returns the provider's id. */
int raw_register(int fd, const char *name, uint64_t stride);
int raw_consume(int fd, uint32_t session);

/**
 * struct raw_provider - a registered and mapped provider
 * @fd: of the device
 * @id: its id
 * @control: the control area
 * @rw: the read-write area
 * @rw_size: bytes of it
 * @slot: of the thread that called raw_provider()
 */
struct raw_provider {
	int fd;
	int id;
	const volatile struct asynctrace_control *control;
	char *rw;
	size_t rw_size;
	int slot;
};

int raw_provider(struct raw_provider *p, const char *name, uint64_t stride);
void raw_provider_end(struct raw_provider *p);
/* The line of a ring in the run that the control page names. */
volatile struct asynctrace_ring_header *raw_header(const struct raw_provider *p, uint32_t ring);
/* Its words. */
volatile uint64_t *raw_ring(const struct raw_provider *p, uint32_t ring);
/* Now, in ticks of the clock that the control page says records are to have. */
uint64_t raw_stamp(const struct raw_provider *p);
/*
 * Writes a sub-buffer's head and @records instants of five words into a ring
 * that nobody else writes, from its beginning, as the kernel believes them.
 * Returns the words.
 */
uint64_t raw_write(const struct raw_provider *p, uint32_t ring, unsigned int records);

/* --- netlink --------------------------------------------------------------- */

/**
 * struct raw_nl - a socket, a request, its answer
 * @socket: libmnl's
 * @family: number of the family
 * @seq: of the last request
 * @request: being built
 * @buf: of the request
 * @text: of the extended ack, or empty
 * @bad: type of the attribute that it blames, 0: none
 * @missing: type of the attribute that it misses, 0: none
 * @replies: messages of the answer, but the ack
 * @reply: the last of them
 */
struct raw_nl {
	struct mnl_socket *socket;
	uint16_t family;
	uint32_t seq;
	struct nlmsghdr *request;
	char buf[65536];
	char text[256];
	uint16_t bad;
	uint16_t missing;
	unsigned int replies;
	char reply[65536];
};

int raw_nl_open(struct raw_nl *nl);
void raw_nl_close(struct raw_nl *nl);
/* Begins a request; attributes are put into nl->request by libmnl. */
struct nlmsghdr *raw_nl_begin(struct raw_nl *nl, uint8_t cmd, uint16_t flags);
/* Sends it, takes the answer. */
int raw_nl_ask(struct raw_nl *nl);
/* The same in two steps: all that is done is done in the first. */
int raw_nl_send(struct raw_nl *nl);
int raw_nl_take(struct raw_nl *nl);
int raw_nl_take_each(struct raw_nl *nl, int (*fn)(const struct nlmsghdr *nlh, void *arg), void *arg);
/* The same, and @fn is called for each message of the answer. */
int raw_nl_each(struct raw_nl *nl, int (*fn)(const struct nlmsghdr *nlh, void *arg), void *arg);
/* The kernel's NLMSG_GOODSIZE is less: bytes that no message of a dump may exceed. */
static inline size_t raw_nl_most(void)
{
	return getpagesize() < 8192 ? getpagesize() : 8192;
}

/* An attribute of the last reply, or NULL. */
const struct nlattr *raw_nl_attr(const struct raw_nl *nl, uint16_t type);
uint32_t raw_nl_u32(const struct raw_nl *nl, uint16_t type);
uint64_t raw_nl_u64(const struct raw_nl *nl, uint16_t type);

/* A session; its id, or a negative errno. */
int raw_session(struct raw_nl *nl, const char *name, uint32_t mode, uint32_t sched,
		uint64_t ring_size, const char *provider);
/* A request that takes a session's id and nothing else. */
int raw_session_do(struct raw_nl *nl, uint8_t cmd, uint32_t id);

/*
 * The sums of a session's rings of one provider (0: all providers' rings, also those that are
 * no more). @lines: of the answer that they are sums of. @changed: a provider ended meanwhile.
 */
struct raw_ledger {
	uint64_t committed, delivered, overwritten, dropped, cleared, pages;
	unsigned int lines;
	bool changed;
};
int raw_ledger(struct raw_nl *nl, uint32_t session, uint32_t provider,
	       struct raw_ledger *sum);
/* The same of providers that have ended and whose rings are no more. */
int raw_ended(struct raw_nl *nl, uint32_t session, struct raw_ledger *sum);
/* The same of the rings with the kernel's scheduling records. */
int raw_sched_ledger(struct raw_nl *nl, uint32_t session, struct raw_ledger *sum);
/* The same of the rings with names of threads. */
int raw_names_ledger(struct raw_nl *nl, uint32_t session, struct raw_ledger *sum);

/* --- other ------------------------------------------------------------------ */

/* CLOCK_BOOTTIME, in nanoseconds */
int64_t raw_boottime(void);
/* Writes @text, in one piece, to a file that is there. 0, or a negative errno. */
int raw_put(const char *path, const char *text);

/* Becomes user @uid, whose program this is from now on; -1: stays who it is. 0, or not. */
int raw_become(int uid);

/*
 * Runs @fn in a child, as user @uid where that is not -1, and returns what it
 * returned (0..255), or 256 + the signal that ended it.
 */
int raw_child(int (*fn)(void *arg), void *arg, int uid);

#endif /* SELFTESTS_RAW_H */
