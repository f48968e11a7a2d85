/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A small event loop, as an example of asynctrace/context.h. Each object with a callback has a
 * context. So programs that use this loop can be traced, and can use listeners and local storage,
 * without changes.
 *
 * A loop belongs to the thread that runs it. Only this thread may call these functions for the
 * loop. A callback returns a negative number for an error: see at_context_run(). Functions that
 * return int return 0 or a negative errno. Functions that return a pointer return NULL and set
 * errno after an error.
 */
#ifndef LOOP_H
#define LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loop;

typedef int loop_fn(void *arg);

struct loop *loop_new(void);
/* Runs the loop until no object is left whose callback could be called. */
void loop_run(struct loop *loop);
/* Frees a loop that has no objects. */
void loop_free(struct loop *loop);

/* Calls @fn right after the current callback. */
int loop_tick(struct loop *loop, loop_fn *fn, void *arg);

/* Calls @fn in the current turn of the loop, after the callbacks for input and output. */
struct loop_immediate *loop_immediate(struct loop *loop, loop_fn *fn, void *arg);
void loop_immediate_cancel(struct loop_immediate *immediate);

/* Calls @fn after @ms milliseconds. @repeat: again after each @ms, until loop_timer_stop(). */
struct loop_timer *loop_timer(struct loop *loop, unsigned int ms, bool repeat, loop_fn *fn,
			      void *arg);
void loop_timer_stop(struct loop_timer *timer);

/*
 * Calls @work on a thread of the pool, then @done on the loop's thread. Both may be NULL.
 * @provider: one of ASYNCTRACE_ASYNC_*. An error in @work is reported on the pool's thread.
 */
int loop_work(struct loop *loop, uint32_t provider, loop_fn *work, loop_fn *done, void *arg);
/* Calls stat(2) on a thread of the pool. @path must stay valid until @done is called. */
int loop_stat(struct loop *loop, const char *path, loop_fn *done, void *arg);

/* --- sockets: TCP and UDP on the loopback interface, and Unix sockets ------------------ */

struct loop_server;
struct loop_conn;

/**
 * struct loop_conn_calls - callbacks of a connection; each may be NULL
 * @open: the connection is connected or accepted
 * @data: bytes were received
 * @close: the connection is closed. Called last
 */
struct loop_conn_calls {
	int (*open)(struct loop_conn *conn, void *arg);
	int (*data)(struct loop_conn *conn, const char *data, size_t bytes, void *arg);
	int (*close)(struct loop_conn *conn, void *arg);
};

/*
 * Makes a server on a free port. @listening: NULL, or called when the server accepts connections.
 * @calls: callbacks of accepted connections. open() runs in the server's context.
 */
struct loop_server *loop_listen(struct loop *loop, loop_fn *listening,
				const struct loop_conn_calls *calls, void *arg);
/* Like loop_listen(), on a Unix socket. @path must not exist; loop_server_close() removes it. */
struct loop_server *loop_listen_path(struct loop *loop, const char *path, loop_fn *listening,
				     const struct loop_conn_calls *calls, void *arg);
uint16_t loop_server_port(const struct loop_server *server);
/* Closes the server. @closed: NULL, or called when the server is closed */
void loop_server_close(struct loop_server *server, loop_fn *closed);

struct loop_conn *loop_connect(struct loop *loop, uint16_t port,
			       const struct loop_conn_calls *calls, void *arg);
struct loop_conn *loop_connect_path(struct loop *loop, const char *path,
				    const struct loop_conn_calls *calls, void *arg);
/*
 * Sends bytes. Copies those that cannot be sent at once, and sends them later. Returns 0; -ENOMEM;
 * -EPIPE: the connection is closed.
 */
int loop_write(struct loop_conn *conn, const void *data, size_t bytes);
/* Closes a connection when all bytes of loop_write() have been sent. */
void loop_conn_close(struct loop_conn *conn);
/* Set and return a pointer for the program's own use, which is NULL at first. */
void loop_conn_set(struct loop_conn *conn, void *user);
void *loop_conn_user(const struct loop_conn *conn);

struct loop_udp;

typedef int loop_udp_fn(struct loop_udp *udp, const char *data, size_t bytes, void *arg);

struct loop_udp *loop_udp(struct loop *loop, loop_udp_fn *message, void *arg);
uint16_t loop_udp_port(const struct loop_udp *udp);
int loop_udp_send(struct loop_udp *udp, uint16_t port, const void *data, size_t bytes);
void loop_udp_close(struct loop_udp *udp);

#endif /* LOOP_H */
