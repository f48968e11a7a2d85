/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The device and the netlink family without the library, to make requests that the library never
 * makes
 *
 * Functions return 0 or more, or a negative errno.
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
/* Returns what ioctl(2) returns, or a negative errno. */
int raw_ioctl(int fd, unsigned long cmd, void *arg);
int raw_hello(int fd, uint64_t *cookie);
/* Registers by ioctl. Returns the provider's id. */
int raw_register(int fd, const char *name, uint64_t stride);
int raw_consume(int fd, uint32_t session);

/**
 * struct raw_provider - a registered and mapped provider
 * @fd: the device
 * @id: its id
 * @control: the control area
 * @rw: the read-write area
 * @rw_size: bytes of the read-write area
 * @slot: slot of the thread that called raw_provider()
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
/* Gets slot and cell of the calling thread. Returns the slot, or a negative errno. */
int raw_slot(const struct raw_provider *p, struct asynctrace_slot *slot);
/* Maps all cells. Returns NULL, with errno, if that fails. */
struct asynctrace_cell *raw_cells(const struct raw_provider *p);
void raw_provider_end(struct raw_provider *p);
/* Returns the header line of a ring of the run that the control page names. */
volatile struct asynctrace_ring_header *raw_header(const struct raw_provider *p, uint32_t ring);
/* Returns the words of a ring. */
volatile uint64_t *raw_ring(const struct raw_provider *p, uint32_t ring);
/* Returns the time in ticks of the clock that the control page names. */
uint64_t raw_stamp(const struct raw_provider *p);
/*
 * Writes a sub-buffer's head and @records instant events of five words at the beginning of a ring
 * that has no other writer, so that the kernel accepts them. Returns the number of words.
 */
uint64_t raw_write(const struct raw_provider *p, uint32_t ring, unsigned int records);

/* --- netlink --------------------------------------------------------------- */

/**
 * struct raw_nl - a socket, a request and its answer
 * @socket: of libmnl
 * @family: number of the family
 * @seq: sequence number of the last request
 * @request: the request that is being built
 * @buf: memory of the request
 * @text: of the extended ack, or empty
 * @bad: type of the attribute that the ack blames; 0: none
 * @missing: type of the attribute that the request lacks by the ack; 0: none
 * @replies: number of messages in the answer, without the ack
 * @reply: the last message
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
/* Sends the request and receives the answer. */
int raw_nl_ask(struct raw_nl *nl);
/* Does what raw_nl_ask() does in two steps: the kernel acts in the first one. */
int raw_nl_send(struct raw_nl *nl);
int raw_nl_take(struct raw_nl *nl);
int raw_nl_take_each(struct raw_nl *nl, int (*fn)(const struct nlmsghdr *nlh, void *arg),
		     void *arg);
/* Does what raw_nl_ask() does, and calls @fn for each message of the answer. */
int raw_nl_each(struct raw_nl *nl, int (*fn)(const struct nlmsghdr *nlh, void *arg), void *arg);
/* An upper limit of the kernel's NLMSG_GOODSIZE, which no message of a dump may exceed */
static inline size_t raw_nl_most(void)
{
	return getpagesize() < 8192 ? getpagesize() : 8192;
}

/* Returns an attribute of the last reply, or NULL. */
const struct nlattr *raw_nl_attr(const struct raw_nl *nl, uint16_t type);
uint32_t raw_nl_u32(const struct raw_nl *nl, uint16_t type);
uint64_t raw_nl_u64(const struct raw_nl *nl, uint16_t type);

/* Creates a session. Returns its id or a negative errno. */
int raw_session(struct raw_nl *nl, const char *name, uint32_t mode, uint32_t sched,
		uint64_t ring_size, const char *provider);
/* Does the same with flags, enum asynctrace_session_flags. */
int raw_session_with(struct raw_nl *nl, const char *name, uint32_t mode, uint32_t sched,
		     uint64_t ring_size, const char *provider, uint32_t flags);
/* Sends a request whose only attribute is a session's id. */
int raw_session_do(struct raw_nl *nl, uint8_t cmd, uint32_t id);

/*
 * Sums over a session's rings of one provider, or of all providers including ended ones if
 * @provider is 0. @lines: number of rings. @changed: a provider ended during the query.
 */
struct raw_ledger {
	uint64_t committed, delivered, overwritten, dropped, cleared, pages;
	unsigned int lines;
	bool changed;
};
int raw_ledger(struct raw_nl *nl, uint32_t session, uint32_t provider,
	       struct raw_ledger *sum);
/* Sums over the rings of ended providers, which the session keeps only as sums. */
int raw_ended(struct raw_nl *nl, uint32_t session, struct raw_ledger *sum);
/* Sums over the rings with the kernel's scheduling records. */
int raw_sched_ledger(struct raw_nl *nl, uint32_t session, struct raw_ledger *sum);
/* Sums over the rings with names of threads. */
int raw_names_ledger(struct raw_nl *nl, uint32_t session, struct raw_ledger *sum);

/* --- other ------------------------------------------------------------------ */

/* Returns CLOCK_BOOTTIME in nanoseconds. */
int64_t raw_boottime(void);
/* Writes @text with one call to an existing file. Returns 0 or a negative errno. */
int raw_put(const char *path, const char *text);

/*
 * Does the thread @tid, which may be one of the kernel, sleep in @function of the kernel, or in a
 * function called by it?
 */
bool raw_sleeps_in(int tid, const char *function);

/*
 * Asks for the memory limit of the user's sessions in bytes, and for the number of online CPUs.
 * Returns 0 or a negative errno.
 */
int raw_memory_limit(struct raw_nl *nl, uint64_t *limit, uint64_t *cpus);

/*
 * Changes to user @uid, as if that user had started this program; -1 changes nothing. Returns
 * nonzero on failure.
 */
int raw_become(int uid);

/*
 * Runs @fn in a child, as user @uid unless that is -1. Returns its result (0..255), or 256 + the
 * signal that killed the child.
 */
int raw_child(int (*fn)(void *arg), void *arg, int uid);

#endif /* SELFTESTS_RAW_H */
