// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The accept thread: accepts connections, reads requests, passes them to the workers, and waits
 * for sockets. epoll reports one event of a connection at a time. While other threads have the
 * request, epoll ignores its connection.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <asynctrace/trace.h>

#include "httpd.h"

#define LINGER_MS	2000	/* time for a client to close its side */
#define RETRY_MS	100	/* time until the next accept() if there were no descriptors */
#define BODY_RATE	64	/* slowest body, bytes per millisecond */
#define NEVER		INT64_MAX

enum state {
	READING,		/* reading the head of a request, or waiting for one */
	BODY,			/* reading a body */
	BUSY,			/* other threads have the request */
	WRITABLE,		/* waiting until the socket is writable */
	LINGERING,		/* answered; waiting for the client to close */
};

struct conn {
	struct conn *prev, *next;
	struct conn *next_back;		/* next in the list of returned connections */
	struct request *req;
	int fd;
	enum state state;
	enum verdict verdict;
	int64_t deadline;
	size_t len;
	char buf[HTTP_HEAD_MAX];
};

static struct conn all = { .prev = &all, .next = &all };
static int conns;
static int listen_fd = -1, epoll_fd = -1, wake_fd = -1;
static bool accepting;		/* epoll reports listen_fd */
static int64_t now, next_sweep = NEVER;
static atomic_bool stopping;
static pthread_t thread;

static pthread_mutex_t back_lock = PTHREAD_MUTEX_INITIALIZER;
static struct conn *back;

static void wake(void)
{
	uint64_t one = 1;

	while (write(wake_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

void conn_return(struct conn *c, enum verdict v)
{
	bool first;

	c->verdict = v;
	pthread_mutex_lock(&back_lock);
	first = !back;
	c->next_back = back;
	back = c;
	pthread_mutex_unlock(&back_lock);
	if (first)
		wake();
}

static void update_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

static void set_deadline(struct conn *c, int64_t ms)
{
	c->deadline = now + ms;
	if (c->deadline < next_sweep)
		next_sweep = c->deadline;
}

/* epoll is level-triggered here: it also reports data that arrived before this call. */
static void arm(struct conn *c, enum state state, uint32_t events)
{
	struct epoll_event ev = { .events = events | EPOLLONESHOT, .data.ptr = c };

	c->state = state;
	epoll_ctl(epoll_fd, EPOLL_CTL_MOD, c->fd, &ev);
}

static void arm_listener(bool on)
{
	struct epoll_event ev = { .events = on ? EPOLLIN : 0, .data.ptr = &listen_fd };

	accepting = on;
	epoll_ctl(epoll_fd, EPOLL_CTL_MOD, listen_fd, &ev);
}

static void drop(struct conn *c)
{
	close(c->fd);
	c->prev->next = c->next;
	c->next->prev = c->prev;
	free(c);
	conns--;
	if (listen_fd >= 0 && !accepting)
		arm_listener(true);
}

/*
 * If a socket with unread bytes is closed, TCP resets the connection, and the client may not get
 * the answer. So close only the sending side first.
 */
static void linger(struct conn *c)
{
	shutdown(c->fd, SHUT_WR);
	set_deadline(c, LINGER_MS);
	arm(c, LINGERING, EPOLLIN);
}

static void submit(struct conn *c, enum stage stage, int status)
{
	c->state = BUSY;
	c->deadline = NEVER;
	c->req->stage = stage;
	if (status) {
		c->req->status = status;
		c->req->keep = false;	/* the unread bytes may not be a request */
	}
	if (atomic_load_explicit(&stopping, memory_order_relaxed))
		c->req->keep = false;
	queue_push(&worker_queue, c->req);
}

static void consume(struct conn *c, size_t n)
{
	c->len -= n;
	memmove(c->buf, c->buf + n, c->len);
}

static struct request *request_new(struct conn *c, const struct http_head *head)
{
	struct request *req = calloc(1, sizeof(*req));

	if (!req)
		return NULL;
	req->conn = c;
	req->fd = c->fd;
	/*
	 * The log must show the same id as the trace. The trace has ids of at_flow_id() unchanged,
	 * unlike those of TRACE_NONCE().
	 */
	req->async_id = at_flow_id();
	req->flow_id = at_flow_id();
	req->head = *head;
	req->keep = head->keep_alive;
	req->file = -1;
	return req;
}

/* Returns true if more bytes must come. Otherwise sets *stage to the next stage of the request. */
static bool receive(struct conn *c, enum stage *stage)
{
	struct request *req = c->req;
	ssize_t n = 1;

	TRACE_DURATION("http", "receive");
	TRACE_ASYNC_INSTANT("http", "request", req->async_id, "phase", TA_STRING("receiving"));
	while (n > 0 && req->body_len < req->head.length) {
		n = recv(c->fd, req->body + req->body_len, req->head.length - req->body_len, 0);
		req->body_len += n > 0 ? n : 0;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	TRACE_FLOW_STEP("http", "handoff", req->flow_id);
	*stage = n > 0 ? STAGE_WORK : STAGE_ABORT;
	return false;
}

static void body_readable(struct conn *c)
{
	enum stage stage;

	if (receive(c, &stage))
		arm(c, BODY, EPOLLIN);
	else
		submit(c, stage, stage == STAGE_ABORT ? 499 : 0);
}

static void start_body(struct conn *c)
{
	static const char invitation[] = "HTTP/1.1 100 Continue\r\n\r\n";
	struct request *req = c->req;
	size_t n = c->len < req->head.length ? c->len : req->head.length;

	set_deadline(c, config.timeout_ms + req->head.length / BODY_RATE);
	req->body = malloc(req->head.length);	/* uses memory only as bytes arrive */
	if (!req->body) {
		submit(c, STAGE_WORK, 500);
		return;
	}
	memcpy(req->body, c->buf, n);
	req->body_len = n;
	consume(c, n);
	if (!n && req->head.expect_continue &&
	    send(c->fd, invitation, sizeof(invitation) - 1, MSG_NOSIGNAL) != sizeof(invitation) - 1)
		submit(c, STAGE_ABORT, 499);	/* the client does not read or has closed */
	else
		body_readable(c);
}

/*
 * Begins a request when its head is complete. Also begins a request that can only be rejected,
 * because the answer takes the same path. Returns 0 if there is no request yet. @status: status
 * of the answer, if it is already known.
 */
static int begin(struct conn *c, int *status)
{
	struct http_head head;
	int n;

	TRACE_DURATION("http", "parse");
	n = http_parse(&head, c->buf, c->len);
	if (!n && !*status)
		return 0;
	c->req = request_new(c, &head);
	if (!c->req)
		return -ENOMEM;
	if (n > 0) {
		consume(c, n);
		*status = respond_early(&head);
	} else if (n < 0) {
		*status = -n;
	}
	TRACE_ASYNC_BEGIN("http", "request", c->req->async_id,
			  "method", TA_STRING(head.method_name), "path", TA_STRING(head.path));
	TRACE_ASYNC_INSTANT("http", "request", c->req->async_id, "phase", TA_STRING("parsed"));
	TRACE_FLOW_BEGIN("http", "handoff", c->req->flow_id);
	return 1;
}

static void next_request(struct conn *c, int status)
{
	int ret = c->len || status ? begin(c, &status) : 0;

	if (ret < 0)
		drop(c);
	else if (!ret)
		arm(c, READING, EPOLLIN);
	else if (status)
		submit(c, STAGE_WORK, status);
	else if (c->req->head.length)
		start_body(c);
	else
		submit(c, STAGE_WORK, 0);
}

static void head_readable(struct conn *c)
{
	bool first = !c->len;
	ssize_t n = recv(c->fd, c->buf + c->len, sizeof(c->buf) - c->len, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		arm(c, READING, EPOLLIN);
		return;
	}
	if (n <= 0) {
		drop(c);
		return;
	}
	if (first)	/* set once, because the whole head must come in time */
		set_deadline(c, config.timeout_ms);
	c->len += n;
	next_request(c, 0);
}

static void discard(struct conn *c)
{
	ssize_t n = recv(c->fd, c->buf, sizeof(c->buf), 0);

	if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		arm(c, LINGERING, EPOLLIN);
	else
		drop(c);
}

/* The socket was full, and is now writable. A worker writes the rest of the answer. */
static void resume(struct conn *c)
{
	TRACE_DURATION("http", "resume");
	TRACE_ASYNC_INSTANT("http", "request", c->req->async_id, "phase", TA_STRING("writable"));
	TRACE_FLOW_STEP("http", "handoff", c->req->flow_id);
}

/* Handles an event of a connection, or its timeout if @late is true. */
static void go_on(struct conn *c, bool late)
{
	switch (c->state) {
	case READING:
		if (!late)
			head_readable(c);
		else if (c->len)
			next_request(c, 408);
		else
			drop(c);
		break;
	case BODY:
		if (late)
			submit(c, STAGE_WORK, 408);
		else
			body_readable(c);
		break;
	case WRITABLE:
		if (!late)
			resume(c);
		submit(c, late ? STAGE_ABORT : STAGE_WRITE, late ? 499 : 0);
		break;
	case LINGERING:
		if (late)
			drop(c);
		else
			discard(c);
		break;
	case BUSY:	/* an event after a timeout, for which epoll was still armed */
		break;
	}
}

static void sweep(void)
{
	next_sweep = NEVER;
	if (listen_fd >= 0 && !accepting && conns < CONNS_MAX)
		arm_listener(true);
	for (struct conn *c = all.next, *next; c != &all; c = next) {
		next = c->next;
		if (c->deadline <= now)
			go_on(c, true);
		else if (c->deadline < next_sweep)
			next_sweep = c->deadline;
	}
}

static void accept_one(void)
{
	int fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct epoll_event ev = { .events = EPOLLIN | EPOLLONESHOT };
	struct conn *c;
	int one = 1;

	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
			arm_listener(false);
			if (now + RETRY_MS < next_sweep)
				next_sweep = now + RETRY_MS;
		}
		return;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	c = malloc(sizeof(*c));
	ev.data.ptr = c;
	if (!c || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &ev)) {
		close(fd);
		free(c);
		return;
	}
	c->fd = fd;
	c->len = 0;
	c->req = NULL;
	c->state = READING;
	c->next = &all;
	c->prev = all.prev;
	c->prev->next = c;
	all.prev = c;
	set_deadline(c, config.timeout_ms);
	if (++conns == CONNS_MAX)
		arm_listener(false);
}

static void take_back(void)
{
	struct conn *c, *next;

	pthread_mutex_lock(&back_lock);
	c = back;
	back = NULL;
	pthread_mutex_unlock(&back_lock);
	for (; c; c = next) {
		next = c->next_back;
		set_deadline(c, config.timeout_ms);
		switch (c->verdict) {
		case CONN_FULL:
			arm(c, WRITABLE, EPOLLOUT);
			break;
		case CONN_KEEP:
			if (!stopping) {
				next_request(c, 0);
				break;
			}
			/* fall through */
		case CONN_CLOSE:
			linger(c);
			break;
		case CONN_GONE:
			drop(c);
			break;
		}
	}
}

static void stop_accepting(void)
{
	close(listen_fd);
	listen_fd = -1;
	for (struct conn *c = all.next, *next; c != &all; c = next) {
		next = c->next;
		if (c->state == READING)
			drop(c);
	}
}

static void *accept_main(void *arg)
{
	struct epoll_event events[64];
	uint64_t count;

	(void)arg;
	pthread_setname_np(pthread_self(), "accept");
	while (listen_fd >= 0 || conns) {
		int64_t wait = next_sweep == NEVER ? -1 : next_sweep > now ? next_sweep - now : 0;
		int n = epoll_wait(epoll_fd, events, 64, wait > 60000 ? 60000 : wait);

		update_clock();
		for (int i = 0; i < n; i++) {
			if (events[i].data.ptr == &listen_fd)
				accept_one();
			else if (events[i].data.ptr != &wake_fd)
				go_on(events[i].data.ptr, false);
			else if (read(wake_fd, &count, sizeof(count)) < 0)
				continue;
		}
		/*
		 * take_back() and sweep() may free any connection. Call them only after all events
		 * were handled, because an event may refer to the connection.
		 */
		take_back();
		if (now >= next_sweep)
			sweep();
		if (stopping && listen_fd >= 0)
			stop_accepting();
	}
	return NULL;
}

int conn_listen(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(config.port) };
	socklen_t len = sizeof(sin);
	int one = 1;

	if (inet_pton(AF_INET, config.addr, &sin.sin_addr) != 1)
		return -EINVAL;
	listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (listen_fd < 0 ||
	    setsockopt(listen_fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(listen_fd, (struct sockaddr *)&sin, len) || listen(listen_fd, SOMAXCONN) ||
	    getsockname(listen_fd, (struct sockaddr *)&sin, &len))
		return -errno;
	return ntohs(sin.sin_port);
}

int conn_start(void)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int err;

	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (epoll_fd < 0 || wake_fd < 0)
		return -errno;
	ev.data.ptr = &wake_fd;
	err = epoll_ctl(epoll_fd, EPOLL_CTL_ADD, wake_fd, &ev);
	ev.data.ptr = &listen_fd;
	if (err || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listen_fd, &ev))
		return -errno;
	accepting = true;
	update_clock();
	return -pthread_create(&thread, NULL, accept_main, NULL);
}

void conn_stop(void)
{
	stopping = true;
	wake();
	pthread_join(thread, NULL);
}

void conn_free(void)
{
	close(epoll_fd);
	close(wake_fd);
}
