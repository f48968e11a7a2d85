/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A small event loop, as an example of asynctrace/context.h: each object that calls back has a
 * context. Programs on this loop are traced, and can use listeners and local storage, without code
 * for that.
 *
 * One thread runs a loop and calls these functions, but for those that say otherwise. A callback
 * returns a negative number for an error: see at_context_run(). Errors of these functions are
 * negative errnos, or NULL with errno.
 */
#ifndef LOOP_H
#define LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loop;

typedef int loop_fn(void *arg);

struct loop *loop_new(void);
/* Runs until nothing is left that could call back. */
void loop_run(struct loop *loop);
/* Nothing may be left. */
void loop_free(struct loop *loop);

/* Calls @fn after the present callback, before all others. */
int loop_tick(struct loop *loop, loop_fn *fn, void *arg);

/* Calls @fn in this turn of the loop, after input and output. */
struct loop_immediate *loop_immediate(struct loop *loop, loop_fn *fn, void *arg);
void loop_immediate_cancel(struct loop_immediate *immediate);

/* Calls @fn after @ms; @repeat: and again and again, until loop_timer_stop(). */
struct loop_timer *loop_timer(struct loop *loop, unsigned int ms, bool repeat, loop_fn *fn,
			      void *arg);
void loop_timer_stop(struct loop_timer *timer);

/*
 * Calls @work on a thread of the pool, then @done on the loop's. Either may be NULL. @provider: one
 * of ASYNCTRACE_ASYNC_*. An error in @work is reported on the pool's thread.
 */
int loop_work(struct loop *loop, uint32_t provider, loop_fn *work, loop_fn *done, void *arg);
/* Calls stat(2) on the pool. @path stays until @done is called. */
int loop_stat(struct loop *loop, const char *path, loop_fn *done, void *arg);

/* --- sockets, on the loopback interface ------------------------------------------------ */

struct loop_server;
struct loop_conn;

/**
 * struct loop_conn_calls - callbacks of a connection; each may be NULL
 * @open: it is connected, or accepted
 * @data: bytes have come
 * @close: it is closed; the last one
 */
struct loop_conn_calls {
	int (*open)(struct loop_conn *conn, void *arg);
	int (*data)(struct loop_conn *conn, const char *data, size_t bytes, void *arg);
	int (*close)(struct loop_conn *conn, void *arg);
};

/*
 * @listening: NULL, or called when connections can come. @calls->open runs in the server's context.
 */
struct loop_server *loop_listen(struct loop *loop, loop_fn *listening,
				const struct loop_conn_calls *calls, void *arg);
uint16_t loop_server_port(const struct loop_server *server);
/* @closed: NULL, or called afterwards */
void loop_server_close(struct loop_server *server, loop_fn *closed);

struct loop_conn *loop_connect(struct loop *loop, uint16_t port,
			       const struct loop_conn_calls *calls, void *arg);
/* Keeps what cannot be written at once. -ENOMEM, -EPIPE: it is closed */
int loop_write(struct loop_conn *conn, const void *data, size_t bytes);
/* Closes it after what is kept has been written. */
void loop_conn_close(struct loop_conn *conn);
/* For the user: NULL at first */
void loop_conn_set(struct loop_conn *conn, void *user);
void *loop_conn_user(const struct loop_conn *conn);

struct loop_udp;

typedef int loop_udp_fn(struct loop_udp *udp, const char *data, size_t bytes, void *arg);

struct loop_udp *loop_udp(struct loop *loop, loop_udp_fn *message, void *arg);
uint16_t loop_udp_port(const struct loop_udp *udp);
int loop_udp_send(struct loop_udp *udp, uint16_t port, const void *data, size_t bytes);
void loop_udp_close(struct loop_udp *udp);

#endif /* LOOP_H */
