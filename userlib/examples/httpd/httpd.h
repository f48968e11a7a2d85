/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * httpd: a small HTTP/1.1 server that shows how to instrument a program with several threads. The
 * life of a request:
 *
 *   accept thread      worker threads           disk thread
 *   -------------      --------------           -----------
 *   read, parse  --->  work  -----------------> read a piece, or
 *                      write <----------------- store and fsync
 *   wait (socket <---  (full)
 *   writable)    --->  write, end
 *
 * A request belongs to one thread at a time: the thread that takes it out of a queue owns the
 * request and its connection, until it puts the request into a queue. So neither needs a lock.
 *
 * Events, always in the category "http":
 *   async     "request"  from the parsed head to the last byte of the answer,
 *                        with an instant for each phase. Begins on the accept
 *                        thread and ends on a worker, on every path.
 *   duration  "parse", "work", "read", ...: work of a thread. A duration that
 *                        serves a request contains an event of the request, or
 *                        is inside of one that does ("read lock", "fsync", ...).
 *   flow      "handoff"  connects the durations of one request. Each flow event
 *                        is inside of a duration, because viewers connect these.
 *   counter   "worker queue", "disk queue": number of waiting requests.
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
#define UPLOAD_MAX	(8u << 20)	/* bytes; longer bodies: status 413 */
#define INLINE_MAX	(64u << 10)	/* bytes; the disk thread reads longer files */
#define CHUNK		(256u << 10)	/* bytes of a piece of a longer file */
#define CONNS_MAX	1024
#define WORKERS_MAX	256

struct config {
	const char *addr, *root, *uploads, *log;
	int port;
	int workers;
	int timeout_ms;
	int root_fd;		/* descriptor of the directory with files */
	/* Descriptor of the directory for uploads; -1: uploads are not allowed. */
	int upload_fd;
};

extern struct config config;

/* Next step of a worker with a request. */
enum stage {
	STAGE_WORK,		/* find the answer; if the status is known, compose the answer */
	STAGE_WRITE,		/* continue writing */
	STAGE_ABORT,		/* drop the request: the client cannot be answered */
};

struct request {
	struct request *next;	/* next request in the queue */
	struct conn *conn;
	int fd;			/* descriptor of the connection */
	uint64_t async_id;	/* id of the operation in the trace */
	uint64_t flow_id;	/* id of the flow between the threads */
	enum stage stage;
	int status;		/* status of the answer; 0: not known yet */
	bool keep;		/* keep the connection after the answer */
	struct http_head head;

	char *body;
	size_t body_len;

	int file;		/* the file to send, or -1 */
	uint64_t file_pos, file_size;
	const char *media;

	char out[512];		/* head of the answer; @out_len: its length */
	size_t out_len;
	char *data;		/* bytes to send after the head, a piece of the file at a time */
	size_t data_len;
	size_t sent;		/* bytes of @out and @data that were sent */
	uint64_t bytes;		/* bytes sent in total */
	uint64_t etag;		/* checksum of the file */

	/* For the log. Times are in nanoseconds of CLOCK_BOOTTIME. */
	/* When the request was last put into a queue, and taken out. */
	uint64_t queued_at, taken_at;
	uint64_t lock_ns;	/* time waited for the lock of etag.c */
	uint64_t lock_holder;	/* async_id of the request that last locked it for writing */
	uint64_t fsync_ns;
};

/* Result of a worker: next step of the accept thread with the connection. */
enum verdict {
	CONN_KEEP,		/* answered; read the next request */
	CONN_CLOSE,		/* answered; close */
	CONN_GONE,		/* the client has closed */
	CONN_FULL,		/* wait until the socket is writable */
};

/*
 * pool.c: queues and their threads. A thread that puts a request into a queue must not use it
 * afterwards, so durations that serve the request must have ended.
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
struct request *queue_pop(struct queue *q);	/* NULL: the queue is closed and empty */
int pool_start(void);				/* 0 or -errno */
void pool_stop(void);

/* conn.c: the accept thread and all connections */
int conn_listen(void);				/* returns the port or -errno */
int conn_start(void);				/* 0 or -errno */
void conn_stop(void);				/* stops accepting; present requests are finished */
/*
 * Closes descriptors of conn.c. To be called after the workers have ended, because a worker that
 * returns a connection writes to one of them.
 */
void conn_free(void);
void conn_return(struct conn *c, enum verdict v);

/* respond.c: the workers */
/* Status of a request whose body is not needed, or 0. */
int respond_early(const struct http_head *h);
void respond(struct request *req);
void request_free(struct request *req);

/* disk.c: the disk thread */
void disk_serve(struct request *req);

/* etag.c: checksums of files */
int etag_find(struct request *req, const struct stat *st);	/* 0 or -errno */

/* log.c: a line for each request */
int log_open(const char *file);			/* 0 or -errno */
uint64_t log_clock(void);			/* nanoseconds of CLOCK_BOOTTIME */
void log_request(const struct request *req, uint64_t done);
void log_close(void);

/* files.c: opening files below a directory */
int file_open(int dirfd, const char *path);	/* fd or -errno; never a file outside of dirfd */
int file_status(int err);			/* status of the answer for an errno */
/* Is @path the path of an upload? *name: its file name; NULL if it is not allowed. */
bool file_upload_name(const char *path, const char **name);

#endif
