// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Sockets on this machine: servers and connections of TCP and of Unix sockets, datagrams
 *
 * When an object is closed, its last callback is called at the end of the turn. Only then is the
 * object destroyed and freed, because the loop may still have an event for it in this turn.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "priv.h"

#define DATAGRAM	65536

/* An address of TCP, UDP or a Unix socket */
struct address {
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_un un;
	};
	socklen_t bytes;
};

/* watch comes first in each of these structures, because the loop passes only its address. */
struct loop_server {
	struct watch watch;
	struct at_context context;
	struct later later;
	struct loop *loop;
	const struct loop_conn_calls *calls;
	void *arg;
	loop_fn *closed;
	struct loop_conn *accepted;	/* in the current callback */
	struct address at;
};

struct loop_conn {
	struct watch watch;
	struct at_context context;
	struct later later;
	struct loop *loop;
	const struct loop_conn_calls *calls;
	void *arg, *user;
	char *unwritten;
	size_t bytes;		/* size of unwritten */
	bool connecting, closing;
	const char *data;	/* in the current callback */
	size_t length;
};

struct loop_udp {
	struct watch watch;
	struct at_context context;
	struct later later;
	struct loop *loop;
	loop_udp_fn *message;
	void *arg;
	const char *data;
	size_t length;
};

static struct address loopback(uint16_t port)
{
	return (struct address){
		.in.sin_family = AF_INET, .in.sin_port = htons(port),
		.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK), .bytes = sizeof(struct sockaddr_in),
	};
}

/* The address of a Unix socket; its family is 0 if the path is too long. */
static struct address path_address(const char *path)
{
	struct address a = { .un.sun_family = AF_UNIX, .bytes = sizeof(struct sockaddr_un) };
	const size_t bytes = strlen(path);

	if (bytes >= sizeof(a.un.sun_path))
		return (struct address){ .bytes = 0 };
	memcpy(a.un.sun_path, path, bytes);
	return a;
}

static uint32_t provider_of(const struct address *a)
{
	return a->any.sa_family == AF_UNIX ? ASYNCTRACE_ASYNC_PIPE : ASYNCTRACE_ASYNC_TCP;
}

/* Returns a socket for @a, bound to it if @bound, or -1 with errno set. */
static int make_socket(int type, const struct address *a, bool bound)
{
	const int fd = socket(a->any.sa_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int err;

	if (fd < 0 || !bound || !bind(fd, &a->any, a->bytes))
		return fd;
	err = errno;
	close(fd);
	errno = err;
	return -1;
}

static uint16_t port_of(int fd)
{
	struct sockaddr_in a = { .sin_port = 0 };
	socklen_t bytes = sizeof(a);

	return getsockname(fd, (struct sockaddr *)&a, &bytes) ? 0 : ntohs(a.sin_port);
}

static void shut(struct watch *w)
{
	close(w->fd);
	w->fd = -1;
}

/* --- connections ----------------------------------------------------------------------- */

static int call_open(void *arg)
{
	struct loop_conn *c = arg;

	return c->calls->open(c, c->arg);
}

static int call_data(void *arg)
{
	struct loop_conn *c = arg;

	return c->calls->data(c, c->data, c->length, c->arg);
}

static int call_close(void *arg)
{
	struct loop_conn *c = arg;

	return c->calls->close(c, c->arg);
}

static int conn_gone(void *arg)
{
	struct loop_conn *c = arg;

	if (c->calls->close)
		loop_call(c->loop, &c->context, call_close, c);
	at_context_destroy(&c->context);
	c->loop->active--;
	free(c->unwritten);
	free(c);
	return 0;
}

static void conn_end(struct loop_conn *c)
{
	if (c->watch.fd < 0)
		return;
	shut(&c->watch);
	loop_free_later(c->loop, &c->later, conn_gone, c);
}

/* Sends as many unwritten bytes as possible. Returns false if the connection has ended. */
static bool conn_flush(struct loop_conn *c)
{
	size_t done = 0;

	while (done < c->bytes) {
		const ssize_t n = send(c->watch.fd, c->unwritten + done, c->bytes - done,
				       MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN) {
			conn_end(c);
			return false;
		}
		if (n < 0)
			break;
		done += (size_t)n;
	}
	c->bytes -= done;
	if (c->bytes)
		memmove(c->unwritten, c->unwritten + done, c->bytes);
	if (!c->bytes && c->closing) {
		conn_end(c);
		return false;
	}
	loop_rewatch(c->loop, &c->watch, EPOLLIN | (c->bytes ? EPOLLOUT : 0));
	return true;
}

static void conn_input(struct loop_conn *c)
{
	char data[4096];
	ssize_t n;

	do {
		n = recv(c->watch.fd, data, sizeof(data), 0);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		conn_end(c);
		return;
	}
	c->data = data;
	c->length = (size_t)n;
	if (c->calls->data && !c->closing)
		loop_call(c->loop, &c->context, call_data, c);
}

static void conn_ready(struct watch *w, uint32_t events)
{
	struct loop_conn *c = (struct loop_conn *)w;

	if (c->connecting && events & (EPOLLERR | EPOLLHUP)) {
		conn_end(c);
		return;
	}
	if (c->connecting) {
		c->connecting = false;
		if (c->calls->open)
			loop_call(c->loop, &c->context, call_open, c);
		if (c->watch.fd < 0 || !conn_flush(c))
			return;
	} else if (events & EPOLLOUT && !conn_flush(c)) {
		return;
	}
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		conn_input(c);
}

/* Makes a connection that owns @fd. @parent: the server that accepted it, or NULL */
static struct loop_conn *conn_new(struct loop *loop, int fd, uint32_t provider,
				  const struct loop_conn_calls *calls, void *arg,
				  struct at_context *parent)
{
	struct loop_conn *c = calloc(1, sizeof(*c));

	if (c) {
		c->watch = (struct watch){ fd, conn_ready };
		c->loop = loop;
		c->calls = calls;
		c->arg = arg;
		c->connecting = !parent;
	}
	if (!c || loop_watch(loop, &c->watch, EPOLLIN | (parent ? 0 : EPOLLOUT))) {
		close(fd);
		free(c);
		return NULL;
	}
	loop->active++;
	if (parent)
		at_context_init_under(&c->context, provider, c, parent);
	else
		at_context_init(&c->context, provider, c);
	return c;
}

static struct loop_conn *connect_to(struct loop *loop, struct address to,
				    const struct loop_conn_calls *calls, void *arg)
{
	const int fd = make_socket(SOCK_STREAM, &to, false);
	int err;

	if (fd < 0)
		return NULL;
	if (connect(fd, &to.any, to.bytes) && errno != EINPROGRESS) {
		err = errno;
		close(fd);
		errno = err;
		return NULL;
	}
	return conn_new(loop, fd, provider_of(&to), calls, arg, NULL);
}

struct loop_conn *loop_connect(struct loop *loop, uint16_t port,
			       const struct loop_conn_calls *calls, void *arg)
{
	return connect_to(loop, loopback(port), calls, arg);
}

struct loop_conn *loop_connect_path(struct loop *loop, const char *path,
				    const struct loop_conn_calls *calls, void *arg)
{
	return connect_to(loop, path_address(path), calls, arg);
}

int loop_write(struct loop_conn *c, const void *data, size_t bytes)
{
	char *all;

	if (c->watch.fd < 0 || c->closing)
		return -EPIPE;
	all = realloc(c->unwritten, c->bytes + bytes + 1);
	if (!all)
		return -ENOMEM;
	memcpy(all + c->bytes, data, bytes);
	c->unwritten = all;
	c->bytes += bytes;
	if (!c->connecting)
		conn_flush(c);
	return 0;
}

void loop_conn_close(struct loop_conn *c)
{
	if (c->watch.fd < 0 || c->closing)
		return;
	c->closing = true;
	if (!c->bytes)
		conn_end(c);
}

void loop_conn_set(struct loop_conn *c, void *user)
{
	c->user = user;
}

void *loop_conn_user(const struct loop_conn *c)
{
	return c->user;
}

/* --- servers --------------------------------------------------------------------------- */

static int call_accepted(void *arg)
{
	struct loop_server *s = arg;

	return s->calls->open(s->accepted, s->arg);
}

static void server_ready(struct watch *w, uint32_t events)
{
	struct loop_server *s = (struct loop_server *)w;
	const int fd = accept4(w->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	(void)events;
	if (fd < 0)
		return;
	s->accepted = conn_new(s->loop, fd, provider_of(&s->at), s->calls, s->arg, &s->context);
	if (s->accepted && s->calls->open)
		loop_call(s->loop, &s->context, call_accepted, s);
}

static int server_gone(void *arg)
{
	struct loop_server *s = arg;

	if (s->closed)
		loop_call(s->loop, &s->context, s->closed, s->arg);
	at_context_destroy(&s->context);
	s->loop->active--;
	free(s);
	return 0;
}

static struct loop_server *listen_at(struct loop *loop, struct address at, loop_fn *listening,
				     const struct loop_conn_calls *calls, void *arg)
{
	const int fd = make_socket(SOCK_STREAM, &at, true);
	struct loop_server *s = fd < 0 ? NULL : calloc(1, sizeof(*s));
	int err;

	if (s) {
		s->watch = (struct watch){ fd, server_ready };
		s->loop = loop;
		s->calls = calls;
		s->arg = arg;
		s->at = at;
	}
	if (!s || listen(fd, SOMAXCONN) || loop_watch(loop, &s->watch, EPOLLIN)) {
		err = errno;
		if (fd >= 0)
			close(fd);
		free(s);
		errno = err;
		return NULL;
	}
	loop->active++;
	at_context_init(&s->context, provider_of(&at), s);
	if (listening)
		loop_tick(loop, listening, arg);
	return s;
}

struct loop_server *loop_listen(struct loop *loop, loop_fn *listening,
				const struct loop_conn_calls *calls, void *arg)
{
	return listen_at(loop, loopback(0), listening, calls, arg);
}

struct loop_server *loop_listen_path(struct loop *loop, const char *path, loop_fn *listening,
				     const struct loop_conn_calls *calls, void *arg)
{
	return listen_at(loop, path_address(path), listening, calls, arg);
}

uint16_t loop_server_port(const struct loop_server *s)
{
	return port_of(s->watch.fd);
}

void loop_server_close(struct loop_server *s, loop_fn *closed)
{
	if (s->watch.fd < 0)
		return;
	shut(&s->watch);
	if (s->at.any.sa_family == AF_UNIX)
		unlink(s->at.un.sun_path);
	s->closed = closed;
	loop_free_later(s->loop, &s->later, server_gone, s);
}

/* --- datagrams ------------------------------------------------------------------------- */

static int call_message(void *arg)
{
	struct loop_udp *u = arg;

	return u->message(u, u->data, u->length, u->arg);
}

static void udp_ready(struct watch *w, uint32_t events)
{
	struct loop_udp *u = (struct loop_udp *)w;
	char data[DATAGRAM];
	const ssize_t n = recv(w->fd, data, sizeof(data), 0);

	(void)events;
	if (n < 0)
		return;
	u->data = data;
	u->length = (size_t)n;
	loop_call(u->loop, &u->context, call_message, u);
}

static int udp_gone(void *arg)
{
	struct loop_udp *u = arg;

	at_context_destroy(&u->context);
	u->loop->active--;
	free(u);
	return 0;
}

struct loop_udp *loop_udp(struct loop *loop, loop_udp_fn *message, void *arg)
{
	const struct address any = loopback(0);
	const int fd = make_socket(SOCK_DGRAM, &any, true);
	struct loop_udp *u = fd < 0 ? NULL : calloc(1, sizeof(*u));

	if (u) {
		u->watch = (struct watch){ fd, udp_ready };
		u->loop = loop;
		u->message = message;
		u->arg = arg;
	}
	if (!u || loop_watch(loop, &u->watch, EPOLLIN)) {
		if (fd >= 0)
			close(fd);
		free(u);
		return NULL;
	}
	loop->active++;
	at_context_init(&u->context, ASYNCTRACE_ASYNC_UDP, u);
	return u;
}

uint16_t loop_udp_port(const struct loop_udp *u)
{
	return port_of(u->watch.fd);
}

int loop_udp_send(struct loop_udp *u, uint16_t port, const void *data, size_t bytes)
{
	const struct address to = loopback(port);

	return sendto(u->watch.fd, data, bytes, 0, &to.any, to.bytes) < 0 ? -errno : 0;
}

void loop_udp_close(struct loop_udp *u)
{
	if (u->watch.fd < 0)
		return;
	shut(&u->watch);
	loop_free_later(u->loop, &u->later, udp_gone, u);
}
