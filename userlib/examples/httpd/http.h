/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The head of an HTTP/1.x request, parsed. Pure functions: no I/O, no state,
 * no allocation, so they can be tested and fuzzed alone.
 */
#ifndef HTTPD_HTTP_H
#define HTTPD_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_LINE_MAX	4096	/* request line; longer: 414 */
#define HTTP_HEAD_MAX	8192	/* request line and fields; longer: 431 */
#define HTTP_FIELDS_MAX	100	/* more: 431 */

enum http_method {
	HTTP_NONE,		/* not known (yet) */
	HTTP_GET,
	HTTP_HEAD,
	HTTP_PUT,
	HTTP_POST,
	HTTP_OTHER,		/* a method of HTTP's that nothing here allows */
};

struct http_head {
	enum http_method method;
	const char *method_name;	/* a literal, "-" if not known */
	bool http10;
	bool keep_alive;
	bool expect_continue;
	bool has_length;
	uint64_t length;		/* of the body to come */
	char path[HTTP_LINE_MAX];	/* decoded, begins with '/'; "-" if not known */
};

/*
 * Returns the length of a complete head, 0 when it goes on beyond @len, or the
 * negative status that answers it. The result does not depend on how the bytes
 * were split: what a prefix was answered with, the whole is answered with.
 */
int http_parse(struct http_head *h, const char *buf, size_t len);

/* Whether a decoded path has a ".." segment. */
bool http_path_climbs(const char *path);

/* The words that go with a status. */
const char *http_reason(int status);

/* The media type for a file name, by its ending. */
const char *http_media_type(const char *name);

#endif
