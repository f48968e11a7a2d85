// SPDX-License-Identifier: LGPL-2.1-or-later
/* The disk thread: work that may sleep for a long time. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <asynctrace/trace.h>

#include "httpd.h"

/* Reads the next piece of a long file. */
static void read_piece(struct request *req)
{
	uint64_t left = req->file_size - req->file_pos;
	size_t want = left < CHUNK ? left : CHUNK;
	size_t got = 0;

	TRACE_DURATION("http", "read", "bytes", TA_UINT64(want));
	TRACE_FLOW_STEP("http", "handoff", req->flow_id);
	TRACE_ASYNC_INSTANT("http", "request", req->async_id, "phase", TA_STRING("disk"));
	if (!req->data)
		req->data = malloc(want);
	while (req->data && got < want) {
		ssize_t n = pread(req->file, req->data + got, want - got, req->file_pos + got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		got += n;
	}
	req->file_pos += got;
	req->data_len = got;
	req->sent = req->out_len;
	if (got == want) {
		req->stage = req->out_len ? STAGE_WRITE : STAGE_WORK;
		req->status = 200;
	} else {
		/*
		 * If the head with the length has been sent, it is too late to report that the file
		 * became shorter.
		 */
		req->stage = req->out_len ? STAGE_ABORT : STAGE_WORK;
		req->status = 500;
	}
}

static int sync_file(struct request *req, int fd)
{
	uint64_t begin;
	int err;

	TRACE_DURATION("http", "fsync", "bytes", TA_UINT64(req->body_len));
	begin = log_clock();
	err = fsync(fd) ? -errno : 0;
	req->fsync_ns = log_clock() - begin;
	return err;
}

static int write_synced(struct request *req, int fd)
{
	for (size_t done = 0; done < req->body_len;) {
		ssize_t n = write(fd, req->body + done, req->body_len - done);

		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? n : 0;
	}
	return sync_file(req, fd);
}

/*
 * Writes the upload to a temporary name and renames it, so that a reader sees either the old or
 * the whole new file. Syncs the directory, too, before the answer.
 */
static int store(struct request *req, const char *name)
{
	static unsigned int count;	/* not shared: there is one disk thread */
	bool existed;
	char temp[48];
	int fd, err;

	snprintf(temp, sizeof(temp), ".upload-%d-%u", (int)getpid(), count++);
	fd = openat(config.upload_fd, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	err = write_synced(req, fd);
	if (close(fd) && !err)
		err = -errno;
	existed = !faccessat(config.upload_fd, name, F_OK, AT_SYMLINK_NOFOLLOW);
	if (!err && renameat(config.upload_fd, temp, config.upload_fd, name))
		err = -errno;
	if (err) {
		unlinkat(config.upload_fd, temp, 0);
		return err;
	}
	if (fsync(config.upload_fd))
		return -errno;
	return existed ? 204 : 201;
}

void disk_serve(struct request *req)
{
	const char *name;
	int ret;

	if (req->file >= 0) {
		read_piece(req);
		return;
	}
	TRACE_DURATION("http", "store", "bytes", TA_UINT64(req->body_len));
	TRACE_FLOW_STEP("http", "handoff", req->flow_id);
	TRACE_ASYNC_INSTANT("http", "request", req->async_id, "phase", TA_STRING("disk"));
	ret = file_upload_name(req->head.path, &name) && name ? store(req, name) : -EACCES;
	req->status = ret > 0 ? ret : file_status(-ret);
	req->stage = STAGE_WORK;
}
