// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Checksums of files, for the field ETag of answers. Each checksum is computed once and kept in a
 * table. If a file changes twice in one tick of the file system's clock and keeps its size, its
 * old checksum may stay in the table.
 *
 * The lock is a mistake, made on purpose. A worker holds it while it reads a whole file. So all
 * other workers wait, even for checksums in the table. asynctrace why names that worker and its
 * request.
 */
#include <errno.h>
#include <unistd.h>
#include <asynctrace/trace.h>

#include "httpd.h"

#define TABLE_SIZE	256

/* An entry is free if its inode number is 0. */
static struct known {
	dev_t dev;
	ino_t inode;
	off_t size;
	struct timespec changed;
	uint64_t sum;
} table[TABLE_SIZE];
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static uint64_t writer;		/* the last request that locked for writing */

static bool is_known(const struct known *k, const struct stat *st)
{
	return k->inode == st->st_ino && k->dev == st->st_dev && k->size == st->st_size &&
	       k->changed.tv_sec == st->st_mtim.tv_sec && k->changed.tv_nsec == st->st_mtim.tv_nsec;
}

static void lock_for_reading(struct request *req)
{
	uint64_t asked;

	TRACE_DURATION("http", "read lock");
	if (!pthread_rwlock_tryrdlock(&lock))
		return;
	asked = log_clock();
	pthread_rwlock_rdlock(&lock);
	req->lock_ns = log_clock() - asked;
	req->lock_holder = writer;
}

static void lock_for_writing(struct request *req)
{
	TRACE_DURATION("http", "write lock");
	pthread_rwlock_wrlock(&lock);
	writer = req->async_id;
}

/* Computes FNV-1a of the whole file. Returns 0 or -errno. */
static int checksum(int fd, uint64_t *sum)
{
	unsigned char piece[16384];
	off_t at = 0;
	ssize_t n;

	TRACE_DURATION("http", "checksum");
	*sum = 0xcbf29ce484222325;
	while ((n = pread(fd, piece, sizeof(piece), at))) {
		if (n < 0 && errno != EINTR)
			return -errno;
		for (ssize_t i = 0; i < n; i++)
			*sum = (*sum ^ piece[i]) * 0x100000001b3;
		at += n > 0 ? n : 0;
	}
	return 0;
}

static int learn(struct request *req, const struct stat *st, struct known *k)
{
	int err;

	k->inode = 0;
	err = checksum(req->file, &k->sum);
	if (err)
		return err;
	*k = (struct known){ st->st_dev, st->st_ino, st->st_size, st->st_mtim, k->sum };
	return 0;
}

int etag_find(struct request *req, const struct stat *st)
{
	struct known *k = &table[st->st_ino % TABLE_SIZE];
	bool known;
	int err = 0;

	lock_for_reading(req);
	known = is_known(k, st);
	req->etag = k->sum;
	pthread_rwlock_unlock(&lock);
	if (known)
		return 0;

	lock_for_writing(req);
	/* Another worker may have added the checksum in the meantime. */
	if (!is_known(k, st))
		err = learn(req, st, k);
	req->etag = k->sum;
	pthread_rwlock_unlock(&lock);
	return err;
}
