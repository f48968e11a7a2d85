// SPDX-License-Identifier: LGPL-2.1-or-later
/* The head of an HTTP/1.x request (RFC 9112), parsed line by line. */
#include <string.h>
#include <strings.h>

#include "http.h"

/* A part of the buffer. It does not end in a NUL. */
struct span {
	const char *at;
	size_t len;
};

static bool is_token_char(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z') || (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_token(struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!is_token_char(s.at[i]))
			return false;
	return s.len > 0;
}

static bool span_is(struct span s, const char *word)
{
	return s.len == strlen(word) && !strncasecmp(s.at, word, s.len);
}

static struct span trim(struct span s)
{
	while (s.len && (*s.at == ' ' || *s.at == '\t'))
		s.at++, s.len--;
	while (s.len && (s.at[s.len - 1] == ' ' || s.at[s.len - 1] == '\t'))
		s.len--;
	return s;
}

/* Removes and returns the part of @s before the first @c; the whole of @s if there is no @c. */
static struct span cut(struct span *s, char c)
{
	const char *end = memchr(s->at, c, s->len);
	struct span first = { s->at, end ? (size_t)(end - s->at) : s->len };
	size_t skip = end ? first.len + 1 : first.len;

	s->at += skip;
	s->len -= skip;
	return first;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int parse_target(struct http_head *h, struct span t)
{
	size_t n = 0;

	for (size_t i = 0; i < t.len; i++) {
		unsigned char c = t.at[i];

		if (c <= ' ' || c >= 0x7f || c == '#')
			return -400;
	}
	if (h->method == HTTP_OTHER && *t.at != '/')
		return 0;	/* "*" or "host:port", which is rejected later */
	if (t.len > 7 && !strncasecmp(t.at, "http://", 7)) {
		t.at += 7;
		t.len -= 7;
		if (*t.at == '/')
			return -400;
		while (t.len && *t.at != '/' && *t.at != '?')
			t.at++, t.len--;
		if (!t.len || *t.at == '?')
			t = (struct span){ "/", 1 };
	}
	t = cut(&t, '?');
	if (!t.len || *t.at != '/')
		return -400;
	/* The decoded path is shorter than the request line, so it fits. */
	for (size_t i = 0; i < t.len; i++) {
		char c = t.at[i];

		if (c == '%') {
			if (t.len - i < 3 || hex(t.at[i + 1]) < 0 || hex(t.at[i + 2]) < 0)
				goto bad;
			c = hex(t.at[i + 1]) << 4 | hex(t.at[i + 2]);
			i += 2;
			if (!c)
				goto bad;
		}
		h->path[n++] = c;
	}
	h->path[n] = '\0';
	return 0;
bad:
	strcpy(h->path, "-");
	return -400;
}

static int parse_request_line(struct http_head *h, struct span line)
{
	static const char *const methods[] = {	/* order of enum http_method */
		"-", "GET", "HEAD", "PUT", "POST",
		"DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT",
	};
	struct span name = cut(&line, ' ');
	struct span target = cut(&line, ' ');

	if (!is_token(name) || !target.len)
		return -400;
	if (line.len != 8 || memcmp(line.at, "HTTP/", 5) || line.at[6] != '.' ||
	    line.at[5] < '0' || line.at[5] > '9' || line.at[7] < '0' || line.at[7] > '9')
		return -400;
	if (line.at[5] != '1')
		return -505;
	h->http10 = line.at[7] == '0';
	h->keep_alive = !h->http10;
	for (size_t i = HTTP_GET; i < sizeof(methods) / sizeof(*methods); i++)
		if (name.len == strlen(methods[i]) && !memcmp(name.at, methods[i], name.len)) {
			h->method = i < HTTP_OTHER ? i : HTTP_OTHER;
			h->method_name = methods[i];
			return parse_target(h, target);
		}
	return -501;
}

static int parse_length(struct http_head *h, struct span v)
{
	if (h->has_length || !v.len)
		return -400;
	for (size_t i = 0; i < v.len; i++) {
		if (v.at[i] < '0' || v.at[i] > '9')
			return -400;
		/* Stop at a maximum: such a body is too long in any case. */
		if (h->length > UINT64_MAX / 10 - 1)
			h->length = UINT64_MAX / 10 - 1;
		h->length = h->length * 10 + (v.at[i] - '0');
	}
	h->has_length = true;
	return 0;
}

/* State while the fields of one head are parsed. */
struct seen {
	unsigned int fields, hosts;
	bool coding, wants_close;
};

static int parse_field(struct http_head *h, struct seen *seen, struct span line)
{
	struct span name, value = line;

	if (++seen->fields > HTTP_FIELDS_MAX)
		return -431;
	name = cut(&value, ':');
	if (name.len == line.len || !is_token(name))
		return -400;	/* also a folded line, or a blank before the colon */
	value = trim(value);
	for (size_t i = 0; i < value.len; i++) {
		unsigned char c = value.at[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return -400;
	}
	if (span_is(name, "Host")) {
		if (seen->hosts++ || memchr(value.at, ' ', value.len) ||
		    memchr(value.at, '/', value.len) || memchr(value.at, '@', value.len))
			return -400;
	} else if (span_is(name, "Content-Length")) {
		return parse_length(h, value);
	} else if (span_is(name, "Transfer-Encoding")) {
		seen->coding = true;
	} else if (span_is(name, "Expect")) {
		if (!span_is(value, "100-continue"))
			return -417;
		h->expect_continue = !h->http10;
	} else if (span_is(name, "Connection")) {
		while (value.len) {
			struct span option = trim(cut(&value, ','));

			if (span_is(option, "close"))
				seen->wants_close = true;
			else if (span_is(option, "keep-alive"))
				h->keep_alive = true;
		}
	}
	return 0;
}

static int check(struct http_head *h, const struct seen *seen)
{
	if (!h->http10 && !seen->hosts)
		return -400;
	/*
	 * If a head gives the body's end in two ways, another server may use the other way.
	 * Attackers use this to smuggle requests.
	 */
	if (seen->coding)
		return h->has_length || h->http10 ? -400 : -501;
	if ((h->method == HTTP_PUT || h->method == HTTP_POST) && !h->has_length)
		return -411;
	if (seen->wants_close)
		h->keep_alive = false;
	return 0;
}

int http_parse(struct http_head *h, const char *buf, size_t len)
{
	struct seen seen = { 0 };
	bool first = true;
	size_t pos = 0;

	memset(h, 0, offsetof(struct http_head, path));
	h->method_name = "-";
	strcpy(h->path, "-");

	/* Ignore bytes beyond the limit, so that they cannot change the answer. */
	if (len > HTTP_HEAD_MAX)
		len = HTTP_HEAD_MAX;
	if (len >= 2 && !memcmp(buf, "\r\n", 2))
		pos = 2;	/* accept one empty line before the request */
	for (;;) {
		size_t limit = first && len - pos > HTTP_LINE_MAX ? HTTP_LINE_MAX : len - pos;
		const char *end = memchr(buf + pos, '\n', limit);
		struct span line = { buf + pos, 0 };
		int err;

		if (!end) {
			if (first && limit == HTTP_LINE_MAX)
				return -414;
			return len == HTTP_HEAD_MAX ? -431 : 0;
		}
		line.len = end - line.at;
		pos += line.len + 1;
		if (!line.len || line.at[--line.len] != '\r' ||
		    memchr(line.at, '\r', line.len))
			return -400;
		if (!first && !line.len) {
			err = check(h, &seen);
			return err ? err : (int)pos;
		}
		err = first ? parse_request_line(h, line) : parse_field(h, &seen, line);
		if (err)
			return err;
		first = false;
	}
}

bool http_path_climbs(const char *path)
{
	while (*path) {
		size_t n = strcspn(path, "/");

		if (n == 2 && path[0] == '.' && path[1] == '.')
			return true;
		path += n;
		path += *path == '/';
	}
	return false;
}

const char *http_reason(int status)
{
	static const struct {
		int status;
		const char *reason;
	} reasons[] = {
		{ 200, "OK" },			{ 201, "Created" },
		{ 204, "No Content" },		{ 400, "Bad Request" },
		{ 403, "Forbidden" },		{ 404, "Not Found" },
		{ 405, "Method Not Allowed" },	{ 408, "Request Timeout" },
		{ 409, "Conflict" },		{ 411, "Length Required" },
		{ 413, "Content Too Large" },	{ 414, "URI Too Long" },
		{ 417, "Expectation Failed" },	{ 431, "Request Header Fields Too Large" },
		{ 500, "Internal Server Error" }, { 501, "Not Implemented" },
		{ 505, "HTTP Version Not Supported" }, { 507, "Insufficient Storage" },
	};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "Unknown";
}

const char *http_media_type(const char *name)
{
	static const char *const types[][2] = {
		{ "html", "text/html; charset=utf-8" },	{ "txt", "text/plain; charset=utf-8" },
		{ "css", "text/css; charset=utf-8" },	{ "js", "text/javascript; charset=utf-8" },
		{ "json", "application/json" },		{ "wasm", "application/wasm" },
		{ "svg", "image/svg+xml" },		{ "png", "image/png" },
		{ "jpg", "image/jpeg" },		{ "gif", "image/gif" },
	};
	const char *slash = strrchr(name, '/');
	const char *dot = strrchr(slash ? slash : name, '.');

	for (size_t i = 0; dot && i < sizeof(types) / sizeof(*types); i++)
		if (!strcasecmp(dot + 1, types[i][0]))
			return types[i][1];
	return "application/octet-stream";
}
