// SPDX-License-Identifier: LGPL-2.1-or-later
/* The workers: find the answer to a request, write it, end the request. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <asynctrace/trace.h>

#include "httpd.h"

void request_free(struct request *req)
{
	if (req->file >= 0)
		close(req->file);
	free(req->body);
	free(req->data);
	free(req);
}

int respond_early(const struct http_head *h)
{
	const char *name;
	bool upload = file_upload_name(h->path, &name);

	switch (h->method) {
	case HTTP_GET:
	case HTTP_HEAD:
		break;
	case HTTP_PUT:
	case HTTP_POST:
		if (upload)
			break;
		/* fall through */
	default:
		return 405;
	}
	if (upload && !name)
		return 403;
	return h->length > UPLOAD_MAX ? 413 : 0;
}

/* Opens the file to send, or the index of a directory. Returns 0 or a status. */
static int find_file(struct request *req, struct stat *st)
{
	const char *name;
	int dir;

	if (file_upload_name(req->head.path, &name)) {
		req->file = file_open(config.upload_fd, name);
	} else {
		name = req->head.path;
		req->file = file_open(config.root_fd, name);
		if (req->file >= 0 && !fstat(req->file, st) && S_ISDIR(st->st_mode)) {
			dir = req->file;
			name = "index.html";
			req->file = file_open(dir, name);
			close(dir);
		}
	}
	req->media = http_media_type(name);
	if (req->file < 0)
		return file_status(-req->file);
	if (fstat(req->file, st))
		return 500;
	return S_ISREG(st->st_mode) ? 0 : 403;
}

/* Returns the status, or 0 if the disk thread must work first. */
static int find_answer(struct request *req)
{
	struct stat st;
	ssize_t n;
	int status;

	if (req->head.method != HTTP_GET && req->head.method != HTTP_HEAD)
		return 0;
	status = find_file(req, &st);
	if (status)
		return status;
	if (etag_find(req, &st))
		return 500;
	req->file_size = st.st_size;
	if (req->head.method == HTTP_HEAD || !req->file_size)
		return 200;
	if (req->file_size > INLINE_MAX)
		return 0;
	req->data = malloc(req->file_size);
	if (!req->data)
		return 500;
	n = pread(req->file, req->data, req->file_size, 0);
	if (n < 0)
		return 500;
	req->data_len = req->file_pos = req->file_size = n;
	return 200;
}

/* Appends to the head of the answer, which has room for all fields of this server. */
__attribute__((format(printf, 2, 3)))
static void put(struct request *req, const char *format, ...)
{
	size_t room = sizeof(req->out) - req->out_len;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(req->out + req->out_len, room, format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= room)
		abort();
	req->out_len += n;
}

/* Without a file, the body of an answer is the reason phrase of its status. */
static void compose_body(struct request *req)
{
	const size_t size = 64;

	free(req->data);
	req->data = NULL;
	req->file_size = 0;
	req->media = "text/plain; charset=utf-8";
	if (req->status >= 400)
		req->data = malloc(size);
	if (req->data)
		req->file_size = snprintf(req->data, size, "%d %s\n", req->status,
					  http_reason(req->status));
	req->data_len = req->file_pos = req->file_size;
}

static void compose(struct request *req)
{
	time_t t = time(NULL);
	const char *name;
	char date[40];
	struct tm tm;

	if (req->status != 200)
		compose_body(req);
	strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&t, &tm));
	put(req, "HTTP/1.1 %d %s\r\nDate: %s\r\n", req->status, http_reason(req->status), date);
	if (req->status != 204)
		put(req, "Content-Length: %llu\r\n", (unsigned long long)req->file_size);
	if (req->status == 200)
		put(req, "ETag: \"%016llx\"\r\n", (unsigned long long)req->etag);
	if (req->status == 200 || req->status >= 400)
		put(req, "Content-Type: %s\r\n", req->media);
	if (req->status == 405)
		put(req, "Allow: GET, HEAD%s\r\n",
		    file_upload_name(req->head.path, &name) ? ", PUT, POST" : "");
	if (!req->keep)
		put(req, "Connection: close\r\n");
	else if (req->head.http10)
		put(req, "Connection: keep-alive\r\n");
	put(req, "\r\n");
	if (req->head.method == HTTP_HEAD) {
		req->data_len = 0;
		req->file_pos = req->file_size;
	}
	req->stage = STAGE_WRITE;
}

/* Returns false if the disk thread must continue with the request. */
static bool work(struct request *req)
{
	TRACE_DURATION("http", "work");
	TRACE_FLOW_STEP("http", "handoff", req->flow_id);
	TRACE_ASYNC_INSTANT("http", "request", req->async_id, "phase", TA_STRING("working"));
	if (!req->status)
		req->status = find_answer(req);
	if (!req->status)
		return false;
	compose(req);
	return true;
}

/* Ends a request. No other function does. The caller must be in a duration. */
static void end(struct request *req)
{
	uint64_t done = log_clock();

	TRACE_FLOW_END("http", "handoff", req->flow_id);
	TRACE_ASYNC_END("http", "request", req->async_id, "status", TA_INT32(req->status),
			"bytes", TA_UINT64(req->bytes));
	log_request(req, done);
}

/* Sends the bytes in memory. Returns 0 or -errno; -EAGAIN: the socket is full. */
static int send_all(struct request *req)
{
	while (req->sent < req->out_len + req->data_len) {
		size_t head = req->sent < req->out_len ? req->sent : req->out_len;
		size_t body = req->sent - head;
		struct iovec iov[2] = {
			{ req->out + head, req->out_len - head },
			{ req->data ? req->data + body : NULL, req->data_len - body },
		};
		struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
		ssize_t n = sendmsg(req->fd, &msg, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			req->sent += n;
			req->bytes += n;
		}
	}
	return 0;
}

/*
 * Returns what to do with the connection. Sets *more if the file has more pieces; then the caller
 * must ignore the result.
 */
static enum verdict write_answer(struct request *req, bool *more)
{
	int err;

	TRACE_DURATION("http", "write");
	TRACE_ASYNC_INSTANT("http", "request", req->async_id, "phase", TA_STRING("writing"));
	err = send_all(req);
	*more = !err && req->file_pos < req->file_size;
	if (*more || err == -EAGAIN) {
		TRACE_FLOW_STEP("http", "handoff", req->flow_id);
		return CONN_FULL;
	}
	if (err)
		req->status = 499;	/* the client has closed */
	end(req);
	return err ? CONN_GONE : req->keep ? CONN_KEEP : CONN_CLOSE;
}

static void abandon(struct request *req)
{
	TRACE_DURATION("http", "abandon");
	end(req);
}

void respond(struct request *req)
{
	struct conn *c = req->conn;
	enum verdict v = CONN_GONE;
	bool more = false;

	if (req->stage == STAGE_WORK && !work(req)) {
		queue_push(&disk_queue, req);
		return;
	}
	if (req->stage == STAGE_ABORT)
		abandon(req);
	else
		v = write_answer(req, &more);
	if (more) {
		queue_push(&disk_queue, req);
		return;
	}
	if (v != CONN_FULL)
		request_free(req);
	conn_return(c, v);
}
