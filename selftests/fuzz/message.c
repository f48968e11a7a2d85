// SPDX-License-Identifier: GPL-2.0
/*
 * Attributes as bytes, valid or not
 */
#include <string.h>

#include <linux/netlink.h>

#include "fuzz.h"

/* Names, patterns, categories and exclusions, some of them not quite valid */
const char *const texts[] = {
	"fuzz", "fuzz two", "*", "f*", "fuzz*", "?uzz", "[f]uzz", "[!a-f]*", "[", "[a", "[a-", "[]", "\\",
	"\\*", "***", "*a*a*a*a*a*a*a*b", "", "-", "-*", "cat", "-cat", "cat*", "fuzz/cat", "f*/cat*",
	"-fuzz/cat", "-f*/*", "/", "//", "fuzz/", "/cat", "-/", "*/*", "a/b/c", "\xff\xfe", "\n", " ",
};
const unsigned int nr_texts = ARRAY(texts);

struct out {
	char *at;
	size_t used, size;
};

static void *room(struct out *out, size_t bytes)
{
	void *at = out->at + out->used;

	if (bytes > out->size - out->used)
		return NULL;
	out->used += bytes;
	memset(at, 0, bytes);
	return at;
}

static size_t payload_len(const struct attr *a)
{
	switch (a->form) {
	case FORM_TEXT:
		return strlen(texts[a->value % nr_texts]) + (a->len & 1);
	case FORM_FILL:
		return a->len + !!(a->value & FILL_ENDED);
	default:
		return a->len;
	}
}

static void payload(const struct attr *a, char *to, size_t len, resolve_fn resolve)
{
	uint64_t value = a->ref ? resolve(a->ref, a->slot) : a->value;
	struct rng noise = { a->value };

	switch (a->form) {
	case FORM_NUMBER:
		memcpy(to, &value, len < sizeof(value) ? len : sizeof(value));
		break;
	case FORM_TEXT:
		memcpy(to, texts[a->value % nr_texts], len);
		break;
	case FORM_FILL:
		memset(to, a->value & 0xff, a->len);
		if (a->value & FILL_HOLED && a->len)
			to[a->len / 2] = 0;
		break;
	case FORM_NOISE:
		for (size_t i = 0; i < len; i++)
			to[i] = rnd(&noise);
		break;
	}
}

/* Puts one attribute with the attributes inside it. Returns the index of the next one. */
static unsigned int put(const struct op *op, unsigned int i, struct out *out, resolve_fn resolve)
{
	const struct attr *a = &op->attrs[i];
	size_t len = a->form == FORM_NEST ? 0 : payload_len(a);
	struct nlattr *nla = room(out, NLA_HDRLEN + NLA_ALIGN(len));
	unsigned int next = i + 1;
	size_t all;

	if (!nla)
		return op->nr_attrs;
	if (len)
		payload(a, (char *)nla + NLA_HDRLEN, len, resolve);
	all = NLA_HDRLEN + len;
	if (a->form == FORM_NEST) {
		while (next < op->nr_attrs && op->attrs[next].depth > a->depth)
			next = put(op, next, out, resolve);
		all = out->at + out->used - (char *)nla;
	}
	nla->nla_type = a->type;
	nla->nla_len = all + a->lie;
	return next;
}

size_t message_attrs(const struct op *op, void *buf, size_t size, resolve_fn resolve)
{
	struct out out = { buf, 0, size };
	unsigned int i = 0;

	while (i < op->nr_attrs) {
		unsigned int next = i + 1, times = op->attrs[i].repeat;

		for (unsigned int n = 0; n < (times ? times : 1); n++)
			next = put(op, i, &out, resolve);
		i = next;
	}
	return out.used;
}
