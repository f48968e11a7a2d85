// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The access log: a line for each request, with the id of the request in the trace. Pass that id
 * to asynctrace why to explain a slow request.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "httpd.h"

static int log_fd = -1;

/* The clock of traces. */
uint64_t log_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

int log_open(const char *file)
{
	log_fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	return log_fd < 0 ? -errno : 0;
}

/*
 * Escapes blanks, control bytes and bytes above 0x7e, which could break lines and fields of the
 * log. Escapes '%', too, so that the path can be decoded.
 */
static void put_path(char *to, const char *path)
{
	static const char digits[] = "0123456789ABCDEF";

	for (; *path; path++) {
		unsigned char c = *path;

		if (c > ' ' && c < 0x7f && c != '%') {
			*to++ = c;
		} else {
			*to++ = '%';
			*to++ = digits[c >> 4];
			*to++ = digits[c & 15];
		}
	}
	*to = '\0';
}

/* Each line is one write(2), so that lines of several workers do not mix. */
void log_request(const struct request *req, uint64_t done)
{
	char path[3 * HTTP_LINE_MAX + 1], line[sizeof(path) + 256];
	int n;

	if (log_fd < 0)
		return;
	put_path(path, req->head.path);
	n = snprintf(line, sizeof(line), "id=0x%" PRIx64 " thread=%ld status=%d queued=%" PRIu64
		     " taken=%" PRIu64 " done=%" PRIu64 " lock=%" PRIu64 " holder=0x%" PRIx64
		     " fsync=%" PRIu64 " path=%s\n", req->async_id, syscall(SYS_gettid),
		     req->status, req->queued_at, req->taken_at, done, req->lock_ns,
		     req->lock_holder, req->fsync_ns, path);
	while (write(log_fd, line, n) < 0 && errno == EINTR)
		;
}

void log_close(void)
{
	if (log_fd >= 0)
		close(log_fd);
}
