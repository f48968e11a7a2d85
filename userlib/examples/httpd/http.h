/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Parsing the head of an HTTP/1.x request. All functions are pure: no I/O, no state, no
 * allocation. So they can be tested and fuzzed alone.
 */
#ifndef HTTPD_HTTP_H
#define HTTPD_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_LINE_MAX	4096	/* bytes of the request line; longer: status 414 */
#define HTTP_HEAD_MAX	8192	/* bytes of request line and fields; longer: status 431 */
#define HTTP_FIELDS_MAX	100	/* number of fields; more: status 431 */

enum http_method {
	HTTP_NONE,		/* not known, or not known yet */
	HTTP_GET,
	HTTP_HEAD,
	HTTP_PUT,
	HTTP_POST,
	HTTP_OTHER,		/* a method of HTTP that this server does not allow */
};

struct http_head {
	enum http_method method;
	const char *method_name;	/* a literal, "-" if not known */
	bool http10;
	bool keep_alive;
	bool expect_continue;
	bool has_length;
	uint64_t length;		/* bytes of the body */
	char path[HTTP_LINE_MAX];	/* decoded path, begins with '/'; "-" if not known */
};

/*
 * Returns the length of a complete head; 0 if bytes are missing; or minus the status of the
 * answer to a wrong head. The result does not depend on how the bytes arrive: if a prefix is
 * rejected, the whole is rejected with the same status.
 */
int http_parse(struct http_head *h, const char *buf, size_t len);

/* Does a decoded path have a ".." segment? */
bool http_path_climbs(const char *path);

/* Returns the reason phrase of a status. */
const char *http_reason(int status);

/* Returns the media type of a file name, by its ending. */
const char *http_media_type(const char *name);

#endif
