// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * JSON output
 */
#include <inttypes.h>

#include "tool.h"

/*
 * A string as JSON has it. Names need not be UTF-8: a byte that is not part of
 * a well-formed character becomes U+FFFD.
 */
static void json_quote(FILE *out, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	fputc('"', out);
	while (*at) {
		unsigned int len = *at < 0x80 ? 1 : *at < 0xc2 ? 0 : *at < 0xe0 ? 2 :
				   *at < 0xf0 ? 3 : *at < 0xf5 ? 4 : 0;
		unsigned int have = 1;

		while (have < len && (at[have] & 0xc0) == 0x80)
			have++;
		/* Overlong forms, surrogates and what is beyond U+10FFFF. */
		if (!len || have < len || (at[0] == 0xe0 && at[1] < 0xa0) ||
		    (at[0] == 0xed && at[1] > 0x9f) || (at[0] == 0xf0 && at[1] < 0x90) ||
		    (at[0] == 0xf4 && at[1] > 0x8f)) {
			fputs("\\ufffd", out);
			at++;
			continue;
		}
		if (*at < 0x20 || *at == 0x7f || *at == '"' || *at == '\\')
			fprintf(out, "\\u%04x", *at);
		else
			fwrite(at, 1, len, out);
		at += len;
	}
	fputc('"', out);
}

static void json_begin(struct json *j, const char *key)
{
	if (j->comma)
		fputc(',', j->out);
	if (j->depth)
		fprintf(j->out, "\n%*s", 2 * j->depth, "");
	if (key) {
		json_quote(j->out, key);
		fputs(": ", j->out);
	}
	j->comma = true;
}

void json_open(struct json *j, const char *key, char bracket)
{
	json_begin(j, key);
	fputc(bracket, j->out);
	j->depth++;
	j->comma = false;
}

void json_close(struct json *j, char bracket)
{
	j->depth--;
	if (j->comma)
		fprintf(j->out, "\n%*s", 2 * j->depth, "");
	fputc(bracket, j->out);
	j->comma = true;
}

void json_string(struct json *j, const char *key, const char *value)
{
	json_begin(j, key);
	json_quote(j->out, value);
}

void json_number(struct json *j, const char *key, uint64_t value)
{
	json_begin(j, key);
	fprintf(j->out, "%" PRIu64, value);
}

void json_bool(struct json *j, const char *key, bool value)
{
	json_begin(j, key);
	fputs(value ? "true" : "false", j->out);
}

bool json_end(struct json *j)
{
	fputc('\n', j->out);
	return !fflush(j->out) && !ferror(j->out);
}
