// SPDX-License-Identifier: GPL-2.0-or-later
/* Messages, numbers and names for the command line */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <linux/asynctrace_netlink.h>

#include "fxt/utf8.h"
#include "tool.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

const char *tool_name = "asynctrace";

void tool_begin(const char *name, char **argv)
{
	static char whole[64];

	tool_name = name;
	snprintf(whole, sizeof(whole), "asynctrace %s", name);
	argv[0] = whole;
}

/*
 * Remembers the errno of the first call that failed, because stdio drops data that it cannot
 * write and reports no error later.
 */
static int note_failure(bool failed)
{
	static int first;

	if (failed && !first)
		first = errno;
	return first;
}

static bool reader_is_gone(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };

	return poll(&out, 1, 0) > 0 && out.revents & (POLLERR | POLLHUP);
}

int tool_flush(void)
{
	const int err = note_failure(fflush(stdout));

	if (err || !ferror(stdout))
		return err;
	/* An earlier call of stdio failed, and its errno is lost. */
	return reader_is_gone() ? EPIPE : -1;
}

int tool_print(const char *text, size_t len)
{
	const int err = note_failure(fwrite(text, 1, len, stdout) != len);

	return err ? err : tool_flush();
}

int tool_end(int status)
{
	const int err = tool_flush();

	if (!err || err == EPIPE)
		return status;
	tool_error("cannot write to standard output: %s",
		   err > 0 ? strerror(err) : "some of it is missing");
	return status == TOOL_OK || status == TOOL_INCOMPLETE ? TOOL_FAILED : status;
}

void tool_help(const char *text)
{
	note_failure(fputs(text, stdout) < 0);
}

void tool_error(const char *fmt, ...)
{
	va_list ap;

	tool_flush();
	fprintf(stderr, "asynctrace%s%s: ", *tool_name ? " " : "", tool_name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

void tool_cannot_read(const char *path, const char *why)
{
	if (*path)
		tool_error("cannot read %s: %s", tool_text(path), why);
	else
		tool_error("the name of the trace is empty: name a file, or - for the standard input");
}

static bool is_for_terminals(const char *text)
{
	uint32_t code;

	for (size_t left = strlen(text), n; left; text += n, left -= n) {
		n = fxt_char(text, left, &code);
		if (!n || fxt_is_control(code))
			return false;
	}
	return true;
}

/* Returns the first argument that a terminal must not get, or NULL. */
static const char *raw_text(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!is_for_terminals(argv[i]))
			return argv[i];
	return NULL;
}

int tool_getopt(int argc, char **argv, const char *letters, const struct option *options)
{
	const char *raw = opterr ? raw_text(argc, argv) : NULL;
	const int shown = opterr;
	int opt;

	/* getopt prints arguments as they are, so print another message if one has such text. */
	opterr &= !raw;
	opt = getopt_long(argc, argv, letters, options, NULL);
	opterr = shown;
	if (opt == '?' && raw)
		tool_error("unrecognized option, or one without its argument: see '%s'",
			   tool_text(raw));
	return opt;
}

int tool_listing_options(int argc, char **argv, const char *usage, bool *as_json)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int opt;

	while ((opt = tool_getopt(argc, argv, "h", options)) != -1) {
		if (opt == 'h') {
			fputs(usage, stdout);
			return TOOL_OK;
		}
		if (opt != 'j')
			goto wrong;
		*as_json = true;
	}
	if (optind == argc)
		return -1;
	tool_error("unexpected argument '%s'", tool_text(argv[optind]));
wrong:
	fprintf(stderr, "Try 'asynctrace %s --help'.\n", tool_name);
	return TOOL_USAGE;
}

/*
 * Parses digits. Rejects a sign, which strtoull() would accept: -1 would become the largest
 * number.
 */
static bool parse_digits(const char *text, uint64_t *number, char **end)
{
	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*number = strtoull(text, end, 10);
	return !errno;
}

bool tool_parse_number(const char *text, uint64_t *number)
{
	char *end;

	return parse_digits(text, number, &end) && !*end;
}

bool tool_parse_size(const char *text, uint64_t *bytes)
{
	static const char suffixes[] = "KMGT";
	const char *suffix;
	unsigned int shift = 0;
	char *end;

	if (!parse_digits(text, bytes, &end))
		return false;
	if (*end) {
		suffix = strchr(suffixes, toupper((unsigned char)*end));
		if (!suffix)
			return false;
		shift = 10 * (suffix - suffixes + 1);
		end++;
		if (strcasecmp(end, "") && strcasecmp(end, "B") && strcasecmp(end, "iB"))
			return false;
	}
	if (*bytes > UINT64_MAX >> shift)
		return false;
	*bytes <<= shift;
	return true;
}

/* Enough for numbers and for most names */
#define TOOL_BUFFER	384

struct buffer {
	char fixed[TOOL_BUFFER];
	char *grown;		/* NULL: not needed yet */
	size_t size;		/* of .grown */
};

/* Returns one of 16 buffers, enough for the arguments of one printf(). */
static struct buffer *next_buffer(void)
{
	static struct buffer buffers[16];
	static unsigned int next;

	return &buffers[next++ % ARRAY_SIZE(buffers)];
}

static char *tool_buffer(void)
{
	return next_buffer()->fixed;
}

/* Returns a buffer of @size bytes, or a smaller one if memory is short. Sets *@size. */
static char *text_buffer(size_t *size)
{
	struct buffer *b = next_buffer();

	if (*size > b->size && *size > TOOL_BUFFER) {
		free(b->grown);
		b->grown = malloc(*size);
		b->size = b->grown ? *size : 0;
	}
	if (*size <= b->size)
		return b->grown;
	*size = TOOL_BUFFER;
	return b->fixed;
}

const char *tool_size(uint64_t bytes)
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
	char *text = tool_buffer();
	double value = bytes;
	unsigned int u = 0;

	while (value >= 1024 && u < ARRAY_SIZE(units) - 1) {
		value /= 1024;
		u++;
	}
	sprintf(text, u && value != (uint64_t)value ? "%.1f %s" : "%.0f %s", value, units[u]);
	return text;
}

const char *tool_short_size(uint64_t bytes)
{
	char *text = tool_buffer();
	unsigned int u = 0;

	for (; bytes && bytes % 1024 == 0 && u < 4; u++)
		bytes /= 1024;
	sprintf(text, "%" PRIu64 "%.1s", bytes, &"\0KMGT"[u]);
	return text;
}

const char *tool_count(uint64_t n)
{
	char *text = tool_buffer(), *at = text + 40;
	unsigned int digits = 0;

	*at = '\0';
	do {
		if (digits && digits % 3 == 0)
			*--at = ',';
		*--at = '0' + n % 10;
		n /= 10;
		digits++;
	} while (n);
	return at;
}

/*
 * Replaces control characters and malformed UTF-8, because names come from programs and a terminal
 * must not obey them.
 */
const char *tool_text(const char *text)
{
	static const char cut[] = "...";
	size_t left = strlen(text), size = left + sizeof(cut);
	char *copy = text_buffer(&size), *at = copy;

	while (left) {
		uint32_t code;
		const size_t n = fxt_char(text, left, &code), bytes = n ? n : 1;

		if (at + bytes + sizeof(cut) > copy + size) {
			at = mempcpy(at, cut, sizeof(cut) - 1);
			break;
		}
		if (!n || fxt_is_control(code))
			*at++ = '?';
		else
			at = mempcpy(at, text, n);
		text += bytes;
		left -= bytes;
	}
	*at = '\0';
	return copy;
}

const char *tool_user(uint32_t uid)
{
	const struct passwd *user = getpwuid(uid);
	char *text;

	if (user)
		return tool_text(user->pw_name);
	text = tool_buffer();
	sprintf(text, "%" PRIu32, uid);
	return text;
}

static const char *const modes[] = {
	[ASYNCTRACE_MODE_ONESHOT] = "oneshot",
	[ASYNCTRACE_MODE_CIRCULAR] = "circular",
	[ASYNCTRACE_MODE_STREAMING] = "streaming",
};

static const char *const scheds[] = {
	[ASYNCTRACE_SCHED_OFF] = "off",
	[ASYNCTRACE_SCHED_TARGETS] = "targets",
	[ASYNCTRACE_SCHED_ALL] = "all",
};

static const char *const states[] = {
	[ASYNCTRACE_SESSION_STATE_READY] = "ready",
	[ASYNCTRACE_SESSION_STATE_INITIALIZED] = "initialized",
	[ASYNCTRACE_SESSION_STATE_STARTED] = "started",
	[ASYNCTRACE_SESSION_STATE_STOPPED] = "stopped",
	[ASYNCTRACE_SESSION_STATE_TERMINATED] = "terminated",
};

static const char *const kinds[] = {
	[ASYNCTRACE_RING_KIND_EVENTS] = "events",
	[ASYNCTRACE_RING_KIND_FALLBACK] = "fallback",
	[ASYNCTRACE_RING_KIND_SCHED] = "sched",
	[ASYNCTRACE_RING_KIND_NAMES] = "names",
	[ASYNCTRACE_RING_KIND_ENDED] = "ended",
};

#define NAME_OF(table, value) \
	((value) < ARRAY_SIZE(table) && (table)[value] ? (table)[value] : "?")

const char *tool_mode(uint32_t mode)
{
	return NAME_OF(modes, mode);
}

const char *tool_sched(uint32_t sched)
{
	return NAME_OF(scheds, sched);
}

const char *tool_state(uint32_t state)
{
	return NAME_OF(states, state);
}

const char *tool_ring_kind(uint32_t kind)
{
	return NAME_OF(kinds, kind);
}

static int tool_find(const char *const *table, size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++)
		if (table[i] && !strcmp(table[i], text))
			return i;
	return -1;
}

int tool_parse_mode(const char *text)
{
	return tool_find(modes, ARRAY_SIZE(modes), text);
}

int tool_parse_sched(const char *text)
{
	return tool_find(scheds, ARRAY_SIZE(scheds), text);
}
