// SPDX-License-Identifier: GPL-2.0-or-later
/* JSON output: a document is built value by value and written at its end. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "fxt/utf8.h"
#include "tool.h"

/*
 * Makes a JSON string. Names may be invalid UTF-8, which JSON does not allow: malformed bytes
 * become U+FFFD.
 */
static json_t *doc_text(const char *text)
{
	size_t left = strlen(text);
	char *clean = malloc(3 * left + 1), *to = clean;
	json_t *value;

	if (!clean)
		return NULL;
	while (left) {
		uint32_t code;
		const size_t n = fxt_char(text, left, &code), bytes = n ? n : 1;

		to = n ? mempcpy(to, text, n) : mempcpy(to, "\xef\xbf\xbd", 3);
		text += bytes;
		left -= bytes;
	}
	*to = 0;
	value = json_string_nocheck(clean);
	free(clean);
	return value;
}

/* Takes ownership of @value. If memory is missing, the whole document fails. */
static void doc_add(struct json_doc *d, const char *key, json_t *value)
{
	json_t *in = d->depth ? d->open[d->depth - 1] : NULL;
	bool added = value;

	if (!in && !d->depth)
		d->document = value;
	else
		added = key ? !json_object_set_new(in, key, value) :
			      !json_array_append_new(in, value);
	d->failed |= !added;
}

static void doc_open(struct json_doc *d, const char *key, json_t *value)
{
	doc_add(d, key, value);
	assert(d->depth < JSON_DOC_DEPTH);
	d->open[d->depth++] = d->failed ? NULL : value;
}

void doc_object(struct json_doc *d, const char *key)
{
	doc_open(d, key, json_object());
}

void doc_array(struct json_doc *d, const char *key)
{
	doc_open(d, key, json_array());
}

void doc_close(struct json_doc *d)
{
	d->depth--;
}

void doc_string(struct json_doc *d, const char *key, const char *value)
{
	doc_add(d, key, doc_text(value));
}

/*
 * Adds an unsigned number. jansson has no unsigned integers, so numbers above INT64_MAX are
 * stored as negative ones, which have no other use. write_numbers() prints them as unsigned.
 */
void doc_number(struct json_doc *d, const char *key, uint64_t value)
{
	doc_add(d, key, json_integer((int64_t)value));
}

void doc_bool(struct json_doc *d, const char *key, bool value)
{
	doc_add(d, key, json_boolean(value));
}

/* Returns the next negative number outside of strings, or the end of @at. */
static const char *next_negative(const char *at)
{
	bool text = false;

	for (; *at && (text || *at != '-'); at++) {
		if (*at == '"')
			text = !text;
		else if (text && *at == '\\')
			at++;
	}
	return at;
}

/* Prints negative numbers as the unsigned ones that doc_number() was given. */
static void write_numbers(const char *json)
{
	for (;;) {
		const char *at = next_negative(json);
		char *end;

		fwrite(json, 1, at - json, stdout);
		if (!*at)
			break;
		fprintf(stdout, "%" PRIu64, (uint64_t)strtoll(at, &end, 10));
		json = end;
	}
	fputc('\n', stdout);
}

/*
 * Prints ASCII, because jansson does not escape U+0080 to U+009F otherwise, and terminals obey
 * these.
 */
bool doc_write(struct json_doc *d)
{
	char *json = d->failed ? NULL : json_dumps(d->document, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	const bool built = json;
	int err;

	if (built)
		write_numbers(json);
	else
		tool_error("not enough memory for the JSON document");
	/* tool_end() prints the message of a write that failed. */
	err = tool_flush();
	free(json);
	json_decref(d->document);
	memset(d, 0, sizeof(*d));
	return built && (!err || err == EPIPE);
}
