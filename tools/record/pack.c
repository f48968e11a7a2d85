// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compresses a trace while it is recorded.
 *
 * Each buffer of whole records becomes one zstd frame or one gzip member ("frame" below). In both
 * formats, a file may have many frames. So if the recorder is killed, all whole frames can be read.
 * A failed write loses one frame, and the composer counts its records as lost.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "record/pack.h"

/* The fastest level of gzip, because the recorder must keep up with the programs. */
#define GZIP_LEVEL	1
#define GZIP_WINDOW	(15 + 16)	/* zlib: largest window, and a gzip header */
#define GZIP_MEMORY	8		/* zlib's default */

struct pack {
	enum pack_form form;
	int fd;
	ssize_t (*write)(void *arg, const void *buf, size_t len);
	void *arg;
	z_stream gzip;
	ZSTD_CCtx *zstd;
	char *frame;
	size_t room;
	uint64_t stored;
	uint64_t taken;
};

enum pack_form pack_form_of(const char *path)
{
	const char *dot = strrchr(path, '.');

	if (dot && !strcmp(dot, ".gz"))
		return PACK_GZIP;
	if (dot && !strcmp(dot, ".zst"))
		return PACK_ZSTD;
	return PACK_NONE;
}

/* Writes to the file of the pack, like the write function of pack_new(). */
static ssize_t write_file(void *arg, const void *buf, size_t len)
{
	struct pack *p = arg;
	ssize_t n;

	do {
		n = write(p->fd, buf, len);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* Removes an incomplete frame from the end of a regular file. */
static void remove_partial_frame(const struct pack *p)
{
	if (p->write == write_file && !ftruncate(p->fd, p->stored))
		lseek(p->fd, p->stored, SEEK_SET);
}

struct pack *pack_new(enum pack_form form, int fd,
		      ssize_t (*write)(void *arg, const void *buf, size_t len), void *arg)
{
	struct pack *p = calloc(1, sizeof(*p));
	bool ready;

	if (!p)
		return NULL;
	p->form = form;
	p->fd = fd;
	p->write = write ? write : write_file;
	p->arg = write ? arg : p;
	if (form == PACK_GZIP) {
		ready = deflateInit2(&p->gzip, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
				     Z_DEFAULT_STRATEGY) == Z_OK;
	} else {
		p->zstd = ZSTD_createCCtx();
		ready = p->zstd &&
			!ZSTD_isError(ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_checksumFlag, 1));
	}
	if (!ready) {
		pack_free(p);
		return NULL;
	}
	return p;
}

void pack_free(struct pack *p)
{
	if (!p)
		return;
	if (p->form == PACK_GZIP)
		deflateEnd(&p->gzip);
	ZSTD_freeCCtx(p->zstd);
	free(p->frame);
	free(p);
}

/* Allocates memory for the frame of @len bytes, also if compression does not reduce them. */
static int make_room(struct pack *p, size_t len)
{
	size_t room = p->form == PACK_GZIP ? deflateBound(&p->gzip, len) :
					     ZSTD_compressBound(len);
	char *frame;

	if (room <= p->room)
		return 0;
	frame = realloc(p->frame, room);
	if (!frame)
		return -ENOMEM;
	p->frame = frame;
	p->room = room;
	return 0;
}

/* Compresses @len bytes into p->frame. Returns the size of the frame, or a negative errno. */
static ssize_t compress_gzip(struct pack *p, const void *buf, size_t len)
{
	z_stream *z = &p->gzip;

	if (deflateReset(z) != Z_OK)
		return -EIO;
	z->next_in = (void *)buf;
	z->avail_in = len;
	z->next_out = (void *)p->frame;
	z->avail_out = p->room;
	return deflate(z, Z_FINISH) == Z_STREAM_END ? (ssize_t)(p->room - z->avail_out) : -EIO;
}

static ssize_t compress_zstd(struct pack *p, const void *buf, size_t len)
{
	size_t size = ZSTD_compress2(p->zstd, p->frame, p->room, buf, len);

	return ZSTD_isError(size) ? -ENOMEM : (ssize_t)size;
}

ssize_t pack_write(void *pack, const void *buf, size_t len)
{
	struct pack *p = pack;
	ssize_t size = make_room(p, len), done = 0;

	if (!size)
		size = p->form == PACK_GZIP ? compress_gzip(p, buf, len) :
					      compress_zstd(p, buf, len);
	if (size < 0)
		return size;
	while (done < size) {
		ssize_t n = p->write(p->arg, p->frame + done, size - done);

		if (n <= 0) {
			if (done)
				remove_partial_frame(p);
			return n ? n : -EIO;
		}
		done += n;
	}
	p->stored += size;
	p->taken += len;
	return len;
}

uint64_t pack_stored(const struct pack *p)
{
	return p->stored;
}

uint64_t pack_taken(const struct pack *p)
{
	return p->taken;
}
