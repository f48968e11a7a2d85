// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the bytes of a trace and unpacks gzip and zstd. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "fxt.h"

#define PACKED_SIZE	(256 * 1024)

/* The largest window of zstd, of --long=31. Without this, zstd refuses windows above 2^27 bytes. */
#define WINDOW_LOG_MAX	31

enum packing { PLAIN, GZIP, ZSTD };

struct fxt_input {
	int fd;
	enum packing packing;
	bool end;		/* the file has ended */
	bool within;		/* the reader is within a compressed frame */
	size_t step;		/* bytes that zstd wants next */
	int error;		/* a negative errno: reading has failed for good */
	z_stream gzip;
	ZSTD_DStream *zstd;
	size_t at, have;	/* bytes of .packed */
	unsigned char packed[PACKED_SIZE];
};

/* Returns up to @len bytes of the file, 0 at its end, or a negative errno. */
static ssize_t read_file(struct fxt_input *in, void *buf, size_t len)
{
	ssize_t n;

	if (in->end)
		return 0;
	do
		n = read(in->fd, buf, len);
	while (n < 0 && errno == EINTR);
	in->end = !n;
	return n < 0 ? -errno : n;
}

/* Refills .packed from the file if it is used up. Returns 0 or a negative errno. */
static int refill(struct fxt_input *in)
{
	ssize_t n;

	if (in->at < in->have)
		return 0;
	n = read_file(in, in->packed, PACKED_SIZE);
	if (n < 0)
		return n;
	in->at = 0;
	in->have = n;
	return 0;
}

static bool is_gzip(const unsigned char *begin)
{
	return !memcmp(begin, "\x1f\x8b", 2);
}

/* A file of zstd may begin with a skippable frame, which zstd passes over. */
static bool is_zstd(const unsigned char *begin)
{
	return !memcmp(begin, "\x28\xb5\x2f\xfd", 4) ||
	       ((begin[0] & 0xf0) == 0x50 && !memcmp(begin + 1, "\x2a\x4d\x18", 3));
}

bool fxt_is_packed(const void *begin)
{
	return is_gzip(begin) || is_zstd(begin);
}

/*
 * Detects the packing by the first bytes. Reads until it has 4 of them, because a pipe may
 * return fewer.
 */
static int detect(struct fxt_input *in)
{
	while (in->have < 4) {
		ssize_t n = read(in->fd, in->packed + in->have, PACKED_SIZE - in->have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		in->have += n;
	}
	if (in->have >= 2 && is_gzip(in->packed)) {
		in->packing = GZIP;
		return inflateInit2(&in->gzip, 15 + 16) == Z_OK ? 0 : -ENOMEM;
	}
	if (in->have >= 4 && is_zstd(in->packed)) {
		in->packing = ZSTD;
		in->zstd = ZSTD_createDStream();
		in->step = 1;
		if (!in->zstd)
			return -ENOMEM;
		ZSTD_DCtx_setParameter(in->zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
	}
	return 0;
}

struct fxt_input *fxt_input_open(const char *path, int *error)
{
	struct fxt_input *in = calloc(1, sizeof(*in));

	*error = -ENOMEM;
	if (!in)
		return NULL;
	in->fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC)
				   : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
	*error = in->fd < 0 ? -errno : detect(in);
	if (*error) {
		fxt_input_close(in);
		return NULL;
	}
	return in;
}

void fxt_input_close(struct fxt_input *in)
{
	if (!in)
		return;
	if (in->packing == GZIP)
		inflateEnd(&in->gzip);
	ZSTD_freeDStream(in->zstd);
	if (in->fd >= 0)
		close(in->fd);
	free(in);
}

/* Returns the bytes that detect() has read, and then those of the file. */
static long read_plain(struct fxt_input *in, void *buf, size_t len)
{
	size_t n = in->have - in->at;

	if (!n)
		return read_file(in, buf, len);
	if (n > len)
		n = len;
	memcpy(buf, in->packed + in->at, n);
	in->at += n;
	return n;
}

static long read_gzip(struct fxt_input *in, void *buf, size_t len)
{
	z_stream *z = &in->gzip;
	int err;

	if (!in->within && in->at == in->have)
		return 0;
	z->next_in = in->packed + in->at;
	z->avail_in = in->have - in->at;
	z->next_out = buf;
	z->avail_out = len;
	/* A gzip file may consist of several members. */
	if (!in->within && z->avail_in)
		inflateReset(z);
	err = inflate(z, Z_NO_FLUSH);
	/* Bytes that were unpacked before the damage are returned. */
	if (err != Z_OK && err != Z_STREAM_END && err != Z_BUF_ERROR)
		in->error = err == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
	in->within = err != Z_STREAM_END;
	in->at = in->have - z->avail_in;
	return len - z->avail_out;
}

static int error_of(size_t result)
{
	switch (ZSTD_getErrorCode(result)) {
	case ZSTD_error_memory_allocation:
		return -ENOMEM;
	case ZSTD_error_dictionary_wrong:
		return -ENOKEY;
	default:
		return -EBADMSG;
	}
}

/*
 * Passes at most the bytes that zstd wants to one call, which is one block: a call that finds
 * damage returns no bytes of the blocks before it.
 */
static long read_zstd(struct fxt_input *in, void *buf, size_t len)
{
	const size_t left = in->have - in->at;
	ZSTD_inBuffer from = { in->packed, in->at + (left < in->step ? left : in->step), in->at };
	ZSTD_outBuffer to = { buf, len, 0 };
	size_t err;

	/* After a whole frame, zstd asks for another one, which need not exist. */
	if (!in->within && in->at == in->have)
		return 0;
	err = ZSTD_decompressStream(in->zstd, &to, &from);
	if (ZSTD_isError(err))
		return error_of(err);
	in->within = err;
	in->step = err ? err : 1;
	in->at = from.pos;
	return to.pos;
}

size_t fxt_input_read(struct fxt_input *in, void *buf, size_t len)
{
	size_t done = 0;

	while (done < len && !in->error) {
		long n;

		in->error = in->packing == PLAIN ? 0 : refill(in);
		if (in->error)
			break;
		if (in->packing == PLAIN)
			n = read_plain(in, (char *)buf + done, len - done);
		else if (in->packing == GZIP)
			n = read_gzip(in, (char *)buf + done, len - done);
		else
			n = read_zstd(in, (char *)buf + done, len - done);
		if (n < 0) {
			in->error = n;
			break;
		}
		done += n;
		/* The file has ended, and the decompressor holds nothing back. */
		if (!n && in->end && in->at == in->have)
			break;
	}
	return done;
}

int fxt_input_end(const struct fxt_input *in)
{
	return in->error ? in->error : in->packing != PLAIN && in->within;
}
