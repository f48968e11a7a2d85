/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * httpd: a small HTTP/1.1 server that shows how a program with several threads
 * is instrumented. A request's life:
 *
 *   accept thread      worker threads           disk thread
 *   -------------      --------------           -----------
 *   read, parse  --->  work  -----------------> read a piece, or
 *                      write <----------------- store and fsync
 *   wait (socket <---  (full)
 *   writable)    --->  write, end
 *
 * A request belongs to one thread at a time: whoever pops it from a queue owns
 * it and its connection until pushing it on. So neither needs a lock.
 *
 * What is traced, always in the category "http":
 *   async     "request"  from the parsed head to the last byte of the answer,
 *                        with an instant for each phase. Begins on the accept
 *                        thread and ends on a worker, on every path.
 *   duration  "parse", "work", "read", ...: what a thread does meanwhile. One
 *                        that serves a request has an event of it inside, or
 *                        lies in one that has ("read lock", "fsync", ...).
 *   flow      "handoff"  ties the durations of one request together. Every flow
 *                        event lies in a duration: that is what it points at.
 *   counter   "worker queue", "disk queue": how many wait.
 */
#ifndef HTTPD_H
#define HTTPD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "http.h"

#define UPLOAD_PREFIX	"/upload/"
#define UPLOAD_MAX	(8u << 20)	/* bytes; longer bodies: 413 */
#define INLINE_MAX	(64u << 10)	/* longer files are read by the disk thread, */
#define CHUNK		(256u << 10)	/* in pieces of this size */
#define CONNS_MAX	1024
#define WORKERS_MAX	256

struct config {
	const char *addr, *root, *uploads, *log;
	int port;
	int workers;
	int timeout_ms;
	int root_fd;		/* directories, opened once */
	int upload_fd;		/* -1: uploads are not allowed */
};

extern struct config config;

/* What a worker does with a request it pops. */
enum stage {
	STAGE_WORK,		/* find the answer, or compose it if the status is known */
	STAGE_WRITE,		/* go on writing */
	STAGE_ABORT,		/* nothing more can be said to the client */
};

struct request {
	struct request *next;	/* in a queue */
	struct conn *conn;
	int fd;			/* of the connection */
	uint64_t async_id;	/* the operation's id in the trace */
	uint64_t flow_id;	/* of its way from thread to thread */
	enum stage stage;
	int status;		/* 0: not known yet */
	bool keep;		/* keep the connection afterwards */
	struct http_head head;

	char *body;
	size_t body_len;

	int file;		/* what is sent, or -1 */
	uint64_t file_pos, file_size;
	const char *media;

	char out[512];		/* the head of the answer, and its length */
	size_t out_len;
	char *data;		/* then this, of which the file's pieces pass */
	size_t data_len;
	size_t sent;		/* of out and data together */
	uint64_t bytes;		/* sent in all */
	uint64_t etag;		/* of the file */

	/* For the log, in nanoseconds of CLOCK_BOOTTIME */
	uint64_t queued_at, taken_at;	/* when it was last queued, and taken from there */
	uint64_t lock_ns;	/* waited for the lock of etag.c, */
	uint64_t lock_holder;	/* which this request had */
	uint64_t fsync_ns;
};

/* What the accept thread does with a connection a worker gives back. */
enum verdict {
	CONN_KEEP,		/* answered, next request */
	CONN_CLOSE,		/* answered, close */
	CONN_GONE,		/* nobody is there any more */
	CONN_FULL,		/* tell when the socket is writable */
};

/*
 * pool.c: queues, and the threads behind them. Once pushed, a request is another
 * thread's; durations that serve it end before the push.
 */
struct queue {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct request *head, **tail;
	int depth;
	bool closed;
};

extern struct queue worker_queue, disk_queue;

void queue_push(struct queue *q, struct request *req);
struct request *queue_pop(struct queue *q);	/* NULL: closed and empty */
int pool_start(void);				/* 0 or -errno */
void pool_stop(void);

/* conn.c: the accept thread, and all connections */
int conn_listen(void);				/* the port or -errno */
int conn_start(void);				/* 0 or -errno */
void conn_stop(void);				/* stops accepting, finishes what runs */
/* When the workers have ended: the last of them may still wake the thread that has. */
void conn_free(void);
void conn_return(struct conn *c, enum verdict v);

/* respond.c: what workers do */
int respond_early(const struct http_head *h);	/* a status that needs no body, or 0 */
void respond(struct request *req);
void request_free(struct request *req);

/* disk.c: what the disk thread does */
void disk_serve(struct request *req);

/* etag.c: checksums of files */
int etag_find(struct request *req, const struct stat *st);	/* 0 or -errno */

/* log.c: a line for each request */
int log_open(const char *file);			/* 0 or -errno */
uint64_t log_clock(void);			/* nanoseconds of CLOCK_BOOTTIME */
void log_request(const struct request *req, uint64_t done);
void log_close(void);

/* files.c: names below a directory */
int file_open(int dirfd, const char *path);	/* fd or -errno; never leaves dirfd */
int file_status(int err);			/* what an errno is answered with */
/* Whether a path is an upload's; *name: its file name, NULL if not allowed. */
bool file_upload_name(const char *path, const char **name);

#endif
