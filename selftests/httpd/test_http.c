// SPDX-License-Identifier: GPL-2.0
/*
 * The request parser of the example server: a table of heads and their answers, and rules that hold
 * for any bytes:
 *
 *   - the answer is 0, a length up to what was given, or a known status;
 *   - the answer does not depend on how the bytes were split: if a prefix has an answer, every
 *     longer prefix has the same;
 *   - an accepted path is shorter than its head; it begins with '/', unless the server does not
 *     allow the method;
 *   - the parser reads nothing beyond the given length (each buffer is an allocation of that size,
 *     so that the address sanitizer notices one byte too many).
 *
 * usage: test_http [SEED [ROUNDS]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "http.h"

static int passed, failed;

static void check(bool ok, const char *what)
{
	if (ok) {
		passed++;
	} else {
		failed++;
		printf("FAIL: %s\n", what);
	}
}

static int parse(struct http_head *h, const char *bytes, size_t len)
{
	char *exact = malloc(len ? len : 1);
	int ret;

	memcpy(exact, bytes, len);
	/* Fields that an earlier head set must not remain. */
	memset(h, 0xa5, sizeof(*h));
	ret = http_parse(h, exact, len);
	free(exact);
	return ret;
}

#define OK	1
#define HOST	"Host: a\r\n"

static const struct {
	const char *head;
	int answer;		/* OK: accepted; 0: incomplete; negative: minus the status */
	const char *path;
} table[] = {
	{ "GET / HTTP/1.1\r\n" HOST "\r\n", OK, "/" },
	{ "\r\nGET / HTTP/1.1\r\n" HOST "\r\n", OK, "/" },
	{ "\r\n\r\nGET / HTTP/1.1\r\n" HOST "\r\n", -400, NULL },
	{ "GET /a%20b?c=%zz HTTP/1.1\r\n" HOST "\r\n", OK, "/a b" },
	{ "GET /%2e%2E/x HTTP/1.1\r\n" HOST "\r\n", OK, "/../x" },
	{ "GET http://a/b HTTP/1.1\r\n" HOST "\r\n", OK, "/b" },
	{ "GET HTTP://a:80?q HTTP/1.1\r\n" HOST "\r\n", OK, "/" },
	{ "GET http://a HTTP/1.1\r\n" HOST "\r\n", OK, "/" },
	{ "GET http:///b HTTP/1.1\r\n" HOST "\r\n", -400, NULL },
	{ "GET http:// HTTP/1.1\r\n" HOST "\r\n", -400, NULL },
	{ "GET / HTTP/1.0\r\n\r\n", OK, "/" },
	{ "HEAD / HTTP/1.9\r\n" HOST "\r\n", OK, "/" },
	{ "OPTIONS * HTTP/1.1\r\n" HOST "\r\n", OK, "-" },
	{ "CONNECT a:1 HTTP/1.1\r\n" HOST "\r\n", OK, "-" },
	{ "DELETE /x HTTP/1.1\r\n" HOST "\r\n", OK, "/x" },
	{ "PUT /x HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\n", OK, "/x" },
	{ "GET / HTTP/1.1\r\n" HOST "Expect: 100-Continue\r\n\r\n", OK, "/" },
	{ "GET / HTTP/1.1\r\n" HOST "X:\r\n\r\n", OK, "/" },
	{ "GET / HTTP/1.1\r\n" HOST "X: \t \r\n\r\n", OK, "/" },
	{ "GET / HTTP/1.1\r\n" HOST "X: \xff\r\n\r\n", OK, "/" },
	/* incomplete */
	{ "", 0, NULL },
	{ "\r", 0, NULL },
	{ "GET / HTT", 0, NULL },
	{ "GET / HTTP/1.1\r\n" HOST, 0, NULL },
	{ "GET / HTTP/1.1\r\n" HOST "\r", 0, NULL },
	/* malformed request lines */
	{ "GET /\r\n", -400, NULL },
	{ "GET / HTTP/1.1\n", -400, NULL },
	{ "GET / HTTP/1.1 \r\n", -400, NULL },
	{ "GET  / HTTP/1.1\r\n", -400, NULL },
	{ " GET / HTTP/1.1\r\n", -400, NULL },
	{ "GET / http/1.1\r\n", -400, NULL },
	{ "GET / HTTP/1.x\r\n", -400, NULL },
	{ "GET / HTTP/11.1\r\n", -400, NULL },
	{ "G(T / HTTP/1.1\r\n", -400, NULL },
	{ "GET /\x01 HTTP/1.1\r\n", -400, NULL },
	{ "GET /\xc3\xa4 HTTP/1.1\r\n", -400, NULL },
	{ "GET /a\rb HTTP/1.1\r\n", -400, NULL },
	{ "GET /% HTTP/1.1\r\n", -400, NULL },
	{ "GET /%4 HTTP/1.1\r\n", -400, NULL },
	{ "GET /%4g HTTP/1.1\r\n", -400, NULL },
	{ "GET /%00 HTTP/1.1\r\n", -400, NULL },
	{ "GET /#a HTTP/1.1\r\n", -400, NULL },
	{ "GET x HTTP/1.1\r\n", -400, NULL },
	{ "GET * HTTP/1.1\r\n", -400, NULL },
	{ "GET / HTTP/2.0\r\n", -505, NULL },
	{ "GET / HTTP/0.9\r\n", -505, NULL },
	{ "get / HTTP/1.1\r\n", -501, NULL },
	{ "BREW / HTTP/1.1\r\n", -501, NULL },
	/* malformed fields */
	{ "GET / HTTP/1.1\r\n\r\n", -400, NULL },
	{ "GET / HTTP/1.1\r\n" HOST HOST "\r\n", -400, NULL },
	{ "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", -400, NULL },
	{ "GET / HTTP/1.1\r\nHost : a\r\n\r\n", -400, NULL },
	{ "GET / HTTP/1.1\r\n" HOST " folded\r\n\r\n", -400, NULL },
	{ "GET / HTTP/1.1\r\n" HOST "no colon\r\n\r\n", -400, NULL },
	{ "GET / HTTP/1.1\r\n" HOST ": x\r\n\r\n", -400, NULL },
	{ "GET / HTTP/1.1\r\n" HOST "X: \x01\r\n\r\n", -400, NULL },
	{ "GET / HTTP/1.1\r\n" HOST "X: a\n\r\n", -400, NULL },
	{ "PUT / HTTP/1.1\r\n" HOST "\r\n", -411, NULL },
	{ "POST / HTTP/1.0\r\n\r\n", -411, NULL },
	{ "PUT / HTTP/1.1\r\n" HOST "Content-Length: \r\n\r\n", -400, NULL },
	{ "PUT / HTTP/1.1\r\n" HOST "Content-Length: -1\r\n\r\n", -400, NULL },
	{ "PUT / HTTP/1.1\r\n" HOST "Content-Length: +1\r\n\r\n", -400, NULL },
	{ "PUT / HTTP/1.1\r\n" HOST "Content-Length: 1, 1\r\n\r\n", -400, NULL },
	{ "PUT / HTTP/1.1\r\n" HOST "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", -400, NULL },
	{ "PUT / HTTP/1.1\r\n" HOST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
	  -400, NULL },
	{ "PUT / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n", -501, NULL },
	{ "PUT / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", -400, NULL },
	{ "GET / HTTP/1.1\r\n" HOST "Expect: a cake\r\n\r\n", -417, NULL },
};

static void test_table(void)
{
	struct http_head h;
	char what[200];

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		size_t len = strlen(table[i].head);
		int ret = parse(&h, table[i].head, len);
		int want = table[i].answer == OK ? (int)len : table[i].answer;

		snprintf(what, sizeof(what), "head %zu: %d expected, got %d", i, want, ret);
		check(ret == want && (!table[i].path || !strcmp(h.path, table[i].path)), what);
	}
}

static void test_fields(void)
{
	struct http_head h;

#define PARSE(s) parse(&h, s, sizeof(s) - 1)
	check(PARSE("GET / HTTP/1.1\r\n" HOST "\r\n") > 0 && h.keep_alive && !h.http10 &&
	      !h.has_length && !h.length && h.method == HTTP_GET && !strcmp(h.method_name, "GET"),
	      "HTTP/1.1 keeps the connection");
	check(PARSE("GET / HTTP/1.1\r\n" HOST "connection: Close\r\n\r\n") > 0 && !h.keep_alive,
	      "Connection: close");
	check(PARSE("GET / HTTP/1.1\r\n" HOST "Connection: keep-alive, x , close\r\n\r\n") > 0 &&
	      !h.keep_alive, "close in a list wins");
	check(PARSE("GET / HTTP/1.0\r\n\r\n") > 0 && !h.keep_alive && h.http10,
	      "HTTP/1.0 closes");
	check(PARSE("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n") > 0 && h.keep_alive,
	      "HTTP/1.0 with keep-alive");
	check(PARSE("PUT / HTTP/1.1\r\n" HOST "Content-Length:  0012\t\r\n\r\n") > 0 &&
	      h.has_length && h.length == 12, "Content-Length");
	check(PARSE("PUT / HTTP/1.1\r\n" HOST "Content-Length: 99999999999999999999999\r\n\r\n") > 0 &&
	      h.length > UINT64_MAX / 20, "a Content-Length beyond 64 bits is huge, not small");
	check(PARSE("PUT / HTTP/1.1\r\n" HOST "Content-Length: 18446744073709551617\r\n\r\n") > 0 &&
	      h.length > UINT64_MAX / 20, "2^64 + 1 is not 1");
	check(PARSE("PUT / HTTP/1.1\r\n" HOST "Content-Length: 1\r\nExpect: 100-continue\r\n\r\n") > 0 &&
	      h.expect_continue, "Expect");
	check(PARSE("PUT / HTTP/1.0\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n") > 0 &&
	      !h.expect_continue, "Expect means nothing in HTTP/1.0");
	check(PARSE("GET / HTTP/1.1\r\n" HOST "\r\nGET ") ==
	      sizeof("GET / HTTP/1.1\r\n" HOST "\r\n") - 1, "the next request is left alone");
}

static int parse_long(size_t path, size_t field, int fields)
{
	size_t size = path + (field + 8) * fields + 64;
	char *buf = malloc(size), *at = buf;
	struct http_head h;
	int ret;

	at += sprintf(at, "GET /");
	memset(at, 'p', path);
	at += path;
	at += sprintf(at, " HTTP/1.1\r\n" HOST);
	for (int i = 0; i < fields; i++) {
		at += sprintf(at, "X: ");
		memset(at, 'f', field);
		at += field;
		at += sprintf(at, "\r\n");
	}
	at += sprintf(at, "\r\n");
	ret = parse(&h, buf, at - buf);
	ret = ret == at - buf ? OK : ret;
	free(buf);
	return ret;
}

static void test_limits(void)
{
	size_t path = HTTP_LINE_MAX - strlen("GET / HTTP/1.1\r\n");
	size_t field = HTTP_HEAD_MAX - strlen("GET / HTTP/1.1\r\n" HOST "X: \r\n\r\n");

	check(parse_long(path, 0, 0) == OK, "the longest request line");
	check(parse_long(path + 1, 0, 0) == -414, "a byte more: 414");
	check(parse_long(1000000, 0, 0) == -414, "far more: 414");
	check(parse_long(0, field, 1) == OK, "the longest head");
	check(parse_long(0, field + 1, 1) == -431, "a byte more: 431");
	check(parse_long(0, 1000000, 1) == -431, "far more: 431");
	check(parse_long(0, 1, HTTP_FIELDS_MAX - 1) == OK, "as many fields as allowed");
	check(parse_long(0, 1, HTTP_FIELDS_MAX) == -431, "a field more: 431");
}

static void test_paths(void)
{
	static const char *const climbs[] = { "..", "/..", "/../", "/a/..", "/a/../b", "//..", "../a" };
	static const char *const stays[] = { "", "/", "/...", "/..a", "/a..", "/.", "/a/.b/.", "/. ./" };

	for (size_t i = 0; i < sizeof(climbs) / sizeof(*climbs); i++)
		check(http_path_climbs(climbs[i]), climbs[i]);
	for (size_t i = 0; i < sizeof(stays) / sizeof(*stays); i++)
		check(!http_path_climbs(stays[i]), stays[i]);
	check(!strcmp(http_media_type("/a.b/c.HTML"), "text/html; charset=utf-8"), "media type");
	check(!strcmp(http_media_type("/a.html/c"), "application/octet-stream"),
	      "a directory's ending is not the file's");
}

static bool known(int status)
{
	return strcmp(http_reason(status), "Unknown") && status >= 400 && status != 500;
}

/* Checks all rules for one input. @step: distance between the tested prefixes. */
static bool laws(const char *bytes, size_t len, size_t step)
{
	struct http_head h, last;
	int whole = parse(&last, bytes, len);
	int before = 0;

	if (whole > 0 && ((size_t)whole > len || whole > HTTP_HEAD_MAX))
		return false;
	if (whole < 0 && !known(-whole))
		return false;
	if (whole > 0 && (strlen(last.path) >= (size_t)whole ||
			  (last.path[0] != '/' && last.method != HTTP_OTHER)))
		return false;
	for (size_t n = 0; n < len; n += step) {
		int ret = parse(&h, bytes, n);

		if (ret != before && before)
			return false;
		if (ret && ret != whole)
			return false;
		if (ret > 0 && (strcmp(h.path, last.path) || h.length != last.length ||
				h.keep_alive != last.keep_alive || h.method != last.method))
			return false;
		before = ret;
	}
	return true;
}

static size_t garbage(char *to, size_t max)
{
	static const char *const bits[] = {
		"GET ", "PUT ", "/", " HTTP/1.1\r\n", "HTTP/1.0", "Host: a\r\n", "\r\n", "\r", "\n", ":",
		"Content-Length: ", "9999999999", "Transfer-Encoding: chunked\r\n", "%2e", "%", "..",
		"Expect: 100-continue\r\n", "Connection: close\r\n", " ", "\t", "http://", "?", "#", ",",
	};
	size_t n = 0, want = random() % (random() % 8 ? 300 : max);

	while (n < want) {
		const char *bit = bits[random() % (sizeof(bits) / sizeof(*bits))];
		size_t len = strlen(bit);

		if (random() % 6 == 0) {
			to[n++] = random();
		} else if (random() % 40 == 0) {
			size_t run = random() % 5000;

			if (run > max - n)
				run = max - n;
			memset(to + n, "a/% \r"[random() % 5], run);
			n += run;
		} else if (n + len <= max) {
			memcpy(to + n, bit, len);
			n += len;
		} else {
			break;
		}
	}
	return n;
}

/* A head of the table, with some bytes changed, removed or doubled */
static size_t mutant(char *to)
{
	const char *from = table[random() % (sizeof(table) / sizeof(*table))].head;
	size_t n = strlen(from);

	memcpy(to, from, n);
	for (int i = random() % 4; i > 0 && n > 1; i--) {
		size_t at = random() % n;

		switch (random() % 3) {
		case 0:
			to[at] = random();
			break;
		case 1:
			memmove(to + at, to + at + 1, --n - at);
			break;
		case 2:
			memmove(to + at + 1, to + at, n++ - at);
			break;
		}
	}
	return n;
}

int main(int argc, char **argv)
{
	unsigned int seed = argc > 1 ? strtoul(argv[1], NULL, 0) :
				       (unsigned int)time(NULL) ^ getpid();
	int rounds = argc > 2 ? atoi(argv[2]) : 50000;
	static char buf[3 * HTTP_HEAD_MAX];
	bool held = true;
	int answers[2] = { 0, 0 };

	printf("seed %u, %d rounds\n", seed, rounds);
	srandom(seed);
	test_table();
	test_fields();
	test_limits();
	test_paths();
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		held = held && laws(table[i].head, strlen(table[i].head), 1);
	check(held, "the laws hold for each prefix of each head in the table");
	for (int i = 0; held && i < rounds; i++) {
		struct http_head h;
		size_t n = i % 2 ? garbage(buf, sizeof(buf)) : mutant(buf);

		held = laws(buf, n, n < 400 ? 1 + n / 40 : 997);
		answers[http_parse(&h, buf, n) > 0]++;
		if (!held) {
			printf("round %d breaks a law, %zu bytes:\n", i, n);
			fwrite(buf, 1, n, stdout);
			putchar('\n');
		}
	}
	check(held, "the laws hold for random bytes");
	check(rounds < 1000 || (answers[0] && answers[1]), "random bytes were both accepted and not");
	printf("%d passed, %d failed, 0 skipped\n", passed, failed);
	return failed ? 1 : 0;
}
