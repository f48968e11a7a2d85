/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compressed traces: .gz and .zst */
#ifndef AT_PACK_H
#define AT_PACK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum pack_form { PACK_NONE, PACK_GZIP, PACK_ZSTD };

struct pack;

/* Returns the form that the end of @path asks for: .gz or .zst. */
enum pack_form pack_form_of(const char *path);

/*
 * Returns a compressor, or NULL if there is no memory. It calls @write, which returns the number
 * of bytes that it wrote, or a negative errno. @write NULL: it writes to the regular file @fd.
 */
struct pack *pack_new(enum pack_form form, int fd,
		      ssize_t (*write)(void *arg, const void *buf, size_t len), void *arg);
void pack_free(struct pack *p);

/*
 * A write function for the composer: writes @len bytes as one frame, which can be unpacked
 * without the frames after it. Returns @len or a negative errno. After an error, cuts an
 * incomplete frame off a regular file.
 */
ssize_t pack_write(void *pack, const void *buf, size_t len);

/* Return the size of all frames written, and the size of their contents before compression. */
uint64_t pack_stored(const struct pack *p);
uint64_t pack_taken(const struct pack *p);

#endif /* AT_PACK_H */
