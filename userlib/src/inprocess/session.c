// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A session of the module that records only this process
 *
 * Uses raw netlink messages, because programs that only write events are not linked with libmnl.
 * Reading uses only system calls, because a signal handler may read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <linux/asynctrace.h>
#include <linux/asynctrace_netlink.h>

#include <asynctrace/compose.h>

#include "compose/internal.h"
#include "compose/mem.h"
#include "compose/text.h"
#include "writer/genl.h"
#include "writer/register.h"
#include "writer/internal.h"
#include "writer/sys.h"
#include "session.h"

#define AT_FD_MIN	512

bool at_session_possible(void)
{
	if (at_gate_now() == ASYNCTRACE_GATE_ATTACH)
		at_attach();
	return at_backend() == ASYNCTRACE_BACKEND_MODULE;
}

bool at_session_records(void)
{
	return at_backend() == ASYNCTRACE_BACKEND_MODULE && at_gate_now() > ASYNCTRACE_GATE_ATTACH;
}

static int open_socket(struct at_session *s)
{
	int fd = at_sys_socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC), high;
	struct stat st;
	int err;

	s->socket = -1;
	if (fd < 0)
		return -errno;
	if (at_sys_fstat(fd, &st)) {
		err = -errno;
		at_sys_close(fd);
		return err;
	}
	s->inode = st.st_ino;
	/* Programs expect low descriptor numbers to be free for themselves. */
	high = at_sys_fcntl(fd, F_DUPFD_CLOEXEC, AT_FD_MIN);
	if (high >= 0)
		at_sys_close(fd);
	s->socket = high >= 0 ? high : fd;
	return 0;
}

/* Closes the socket, unless the program has closed it and uses its number for another file. */
static void close_socket(struct at_session *s)
{
	struct stat st;

	if (s->socket >= 0 && !at_sys_fstat(s->socket, &st) && S_ISSOCK(st.st_mode) &&
	    st.st_ino == s->inode)
		at_sys_close(s->socket);
	s->socket = -1;
}

static void put_u32(struct at_message *m, size_t *len, uint16_t type, uint32_t value)
{
	at_attr_put(m->attrs, sizeof(m->attrs), len, type, &value, sizeof(value));
}

static int create_session(struct at_session *s, struct at_message *m, uint16_t family,
			  uint32_t mode, uint64_t ring_size)
{
	struct at_message answer;
	char name[64], *at = name;
	const char *end = name + sizeof(name);
	const void *id;
	size_t len = 0;
	int err;

	at = atc_text_put(at, end, mode == ASYNCTRACE_MODE_CIRCULAR ? "flight-" : "trace-");
	at = atc_text_put_number(at, end, at_sys_getpid());
	/* A process of another pid namespace may have the same pid. */
	at = atc_text_put(at, end, "-");
	atc_text_put_number(at, end, at_salt());
	at_attr_put(m->attrs, sizeof(m->attrs), &len, ASYNCTRACE_A_SESSION_NAME, name,
		    strlen(name) + 1);
	put_u32(m, &len, ASYNCTRACE_A_SESSION_MODE, mode);
	put_u32(m, &len, ASYNCTRACE_A_SESSION_SCHED, ASYNCTRACE_SCHED_TARGETS);
	put_u32(m, &len, ASYNCTRACE_A_SESSION_FLAGS, ASYNCTRACE_SESSION_FLAGS_REASONS);
	at_attr_put(m->attrs, sizeof(m->attrs), &len, ASYNCTRACE_A_SESSION_RING_SIZE, &ring_size,
		    sizeof(ring_size));
	put_u32(m, &len, ASYNCTRACE_A_SESSION_PID, at_sys_getpid());
	answer.nl.nlmsg_len = 0;
	err = at_genl_do(s->socket, m, family, ASYNCTRACE_CMD_SESSION_CREATE, len, &answer);
	if (err)
		return err;
	id = answer.nl.nlmsg_len ? at_genl_find(&answer, ASYNCTRACE_A_SESSION_ID, 4) : NULL;
	if (!id)
		return -EBADMSG;
	memcpy(&s->id, id, sizeof(s->id));
	return 0;
}

static int command(const struct at_session *s, struct at_message *m, uint16_t family, uint8_t cmd)
{
	size_t len = 0;

	put_u32(m, &len, ASYNCTRACE_A_SESSION_ID, s->id);
	return at_genl_do(s->socket, m, family, cmd, len, NULL);
}

/* Returns -EBUSY if another session has taken this process in the meantime. */
static int check_provider(const struct at_session *s, struct at_message *m, uint16_t family)
{
	struct at_message answer;
	const void *attr;
	uint32_t providers;
	size_t len = 0;
	int err;

	put_u32(m, &len, ASYNCTRACE_A_SESSION_ID, s->id);
	answer.nl.nlmsg_len = 0;
	err = at_genl_do(s->socket, m, family, ASYNCTRACE_CMD_SESSION_GET, len, &answer);
	if (err)
		return err;
	attr = answer.nl.nlmsg_len ?
	       at_genl_find(&answer, ASYNCTRACE_A_SESSION_PROVIDERS, 4) : NULL;
	if (!attr)
		return -EBADMSG;
	memcpy(&providers, attr, sizeof(providers));
	return providers ? 0 : -EBUSY;
}

/*
 * Waits for the gate, a second at most. If a thread may still be writing for the previous
 * session, the module opens the gate later. Events before that would be lost.
 */
static void wait_for_gate(void)
{
	const struct timespec moment = { .tv_nsec = 1000 * 1000 };

	/* nanosleep(3) is a cancellation point; the system call is not. */
	for (int i = 0; i < 1000 && !at_session_records(); i++)
		syscall(SYS_nanosleep, &moment, NULL);
}

static int begin_session(struct at_session *s, uint32_t mode, uint64_t ring_size)
{
	struct at_message m;
	uint16_t family;
	int err;

	err = at_genl_family(s->socket, &m, &family);
	if (!err)
		err = create_session(s, &m, family, mode, ring_size);
	if (!err)
		err = command(s, &m, family, ASYNCTRACE_CMD_SESSION_INIT);
	if (!err)
		err = command(s, &m, family, ASYNCTRACE_CMD_SESSION_START);
	if (!err)
		err = check_provider(s, &m, family);
	if (!err)
		wait_for_gate();
	return err;
}

int at_session_begin(struct at_session *s, uint32_t mode, uint64_t ring_size)
{
	int err;

	/* A provider can be in only one session at a time. */
	if (at_session_records())
		return -EBUSY;
	s->buffer = malloc(ASYNCTRACE_READ_MIN);
	if (!s->buffer)
		return -ENOMEM;
	err = open_socket(s);
	if (!err)
		err = begin_session(s, mode, ring_size);
	if (err)
		at_session_end(s);
	return err;
}

void at_session_end(struct at_session *s)
{
	close_socket(s);
	free(s->buffer);
	s->buffer = NULL;
}

void at_session_forked(struct at_session *s)
{
	/* A copy of the socket in the child would keep the session alive. */
	close_socket(s);
	s->buffer = NULL;
}

static int open_snapshot(const struct at_session *s)
{
	struct asynctrace_consume consume = {
		.size = sizeof(consume),
		.session = s->id,
		.flags = ASYNCTRACE_CONSUME_F_SNAPSHOT,
	};
	int fd = at_sys_open("/dev/" ASYNCTRACE_DEVICE, O_RDWR | O_CLOEXEC | O_NONBLOCK), err;

	if (fd < 0)
		return -errno;
	if (!at_sys_ioctl(fd, ASYNCTRACE_IOC_CONSUME, &consume))
		return fd;
	err = -errno;
	at_sys_close(fd);
	return err;
}

/* A chunk that was read, with its payload. */
struct chunk {
	struct chunk *next;
	char data[];
};

/*
 * Reads all chunks before the first is composed. Composing is slow, and threads would overwrite
 * the rings meanwhile.
 */
static int read_all(const struct at_session *s, int fd, struct chunk **last)
{
	struct chunk *k;
	ssize_t got;

	for (;;) {
		got = syscall(SYS_read, fd, s->buffer, ASYNCTRACE_READ_MIN);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : 0;
		k = atc_malloc(sizeof(*k) + got);
		if (!k)
			return -ENOMEM;
		k->next = NULL;
		memcpy(k->data, s->buffer, got);
		*last = k;
		last = &k->next;
	}
}

static int compose_chunk(struct at_compose *c, const struct chunk *k, uint64_t *taken)
{
	struct asynctrace_chunk head;
	int err, first = 0;

	for (; k; k = k->next) {
		memcpy(&head, k->data, sizeof(head));
		if (head.kind == ASYNCTRACE_CHUNK_EVENTS)
			*taken += head.records;
		err = at_compose_chunk(c, &head, k->data + head.size);
		if (!first)
			first = err;
	}
	err = at_compose_finish(c);
	return first ? first : err;
}

void at_session_write(const struct at_session *s, struct at_compose *c,
		      struct at_flight_result *res)
{
	struct at_compose_counts total;
	struct chunk *chunks = NULL;
	uint64_t taken = 0;
	int fd, err;

	fd = open_snapshot(s);
	if (fd < 0) {
		res->error = fd;
		return;
	}
	res->error = read_all(s, fd, &chunks);
	at_sys_close(fd);
	err = compose_chunk(c, chunks, &taken);
	if (!res->error)
		res->error = err;
	at_compose_totals(c, &total);
	res->bytes = at_compose_written(c);
	res->delivered = total.delivered;
	res->older = total.cleared;
	res->overwritten = total.overwritten;
	res->dropped = total.dropped;
	res->malformed = total.malformed;
	res->unwritten = taken - total.delivered - total.malformed;
}
