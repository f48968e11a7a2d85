// SPDX-License-Identifier: GPL-2.0-or-later
/* Encodes records without tables: names and threads are inline */
#include <string.h>

#include "encode.h"

static struct fxt_text text_of(const char *s)
{
	return (struct fxt_text){ .s = s, .len = strlen(s) };
}

static unsigned int reference(const struct fxt_text *t)
{
	return t->len ? ASYNCTRACE_FXT_INLINE | t->len : 0;
}

static size_t put_text(uint64_t *w, const struct fxt_text *t)
{
	size_t words = ASYNCTRACE_FXT_TEXT_WORDS(t->len);

	if (words) {
		w[words - 1] = 0;
		memcpy(w, t->s, t->len);
	}
	return words;
}

static bool has_text(const struct fxt_arg *arg)
{
	return arg->type == ASYNCTRACE_FXT_ARG_STRING || arg->type == FXT_ARG_BLOB;
}

static bool has_word(const struct fxt_arg *arg)
{
	switch (arg->type) {
	case ASYNCTRACE_FXT_ARG_INT64:
	case ASYNCTRACE_FXT_ARG_UINT64:
	case ASYNCTRACE_FXT_ARG_DOUBLE:
	case ASYNCTRACE_FXT_ARG_POINTER:
	case ASYNCTRACE_FXT_ARG_KOID:
		return true;
	default:
		return false;
	}
}

static size_t arg_words(const struct fxt_arg *arg)
{
	return 1 + ASYNCTRACE_FXT_TEXT_WORDS(arg->name.len) +
	       (has_text(arg) ? ASYNCTRACE_FXT_TEXT_WORDS(arg->text.len) : has_word(arg));
}

size_t encode_arg(uint64_t *w, const struct fxt_arg *arg)
{
	const size_t words = arg_words(arg);
	size_t n = 1 + put_text(w + 1, &arg->name);
	uint32_t value = 0;

	if (has_text(arg)) {
		value = arg->type == FXT_ARG_BLOB ? arg->text.len : reference(&arg->text);
		put_text(w + n, &arg->text);
	} else if (has_word(arg)) {
		memcpy(w + n, &arg->u, sizeof(*w));
	} else if (arg->type != ASYNCTRACE_FXT_ARG_NULL) {
		value = arg->u;
	}
	w[0] = ASYNCTRACE_FXT_ARG(arg->type, words, reference(&arg->name), value);
	return words;
}

static bool has_extra(const struct fxt_record *rec)
{
	return rec->number == ASYNCTRACE_FXT_COUNTER || rec->number >= ASYNCTRACE_FXT_DURATION;
}

bool encode_fits(const struct fxt_record *rec)
{
	const struct fxt_arg flag = encode_flag(FILTERED);

	/* Reserves room for the argument that encode_apart() adds. */
	return 4 + ASYNCTRACE_FXT_TEXT_WORDS(rec->category.len) +
	       ASYNCTRACE_FXT_TEXT_WORDS(rec->name.len) + arg_words(&flag) + has_extra(rec) <=
	       ASYNCTRACE_FXT_WORDS_MAX;
}

size_t encode_event(uint64_t *w, const struct fxt_record *rec, uint64_t *trimmed)
{
	const bool extra = has_extra(rec);
	unsigned int nargs = 0;
	size_t n = 4;

	if (!encode_fits(rec))
		return 0;
	w[1] = rec->ns;
	w[2] = rec->thread.pid;
	w[3] = rec->thread.tid;
	n += put_text(w + n, &rec->category);
	n += put_text(w + n, &rec->name);
	while (nargs < rec->nargs &&
	       n + arg_words(&rec->args[nargs]) + extra <= ASYNCTRACE_FXT_WORDS_MAX)
		n += encode_arg(w + n, &rec->args[nargs++]);
	*trimmed += rec->nargs - nargs;
	if (extra)
		w[n++] = rec->number == ASYNCTRACE_FXT_DURATION ? rec->end_ns : rec->id;
	w[0] = ASYNCTRACE_FXT_EVENT_HEAD(rec->number, n, nargs, reference(&rec->category),
					 reference(&rec->name));
	return n;
}

size_t encode_apart(uint64_t *w, size_t words, uint64_t *trimmed)
{
	const struct fxt_arg flag = encode_flag(FILTERED);
	const size_t room = ASYNCTRACE_FXT_WORDS_MAX - arg_words(&flag) - 1;
	const unsigned int nargs = w[0] >> 20 & 0xf;
	const uint64_t id = w[words - 1];
	size_t end = 4 + ASYNCTRACE_FXT_TEXT_WORDS(w[0] >> 32 & 0x7fff) +
		     ASYNCTRACE_FXT_TEXT_WORDS(w[0] >> 48 & 0x7fff);
	unsigned int kept = 0;

	while (kept < nargs && kept < ASYNCTRACE_FXT_ARGS_MAX - 1 &&
	       end + (w[end] >> 4 & 0xfff) <= room) {
		end += w[end] >> 4 & 0xfff;
		kept++;
	}
	*trimmed += nargs - kept;
	end += encode_arg(w + end, &flag);
	w[end++] = id;
	w[0] &= ~(0xfffULL << 4 | 0xfULL << 20);
	w[0] |= (uint64_t)end << 4 | (uint64_t)(kept + 1) << 20;
	return end;
}

size_t encode_object(uint64_t *w, uint32_t id, uint32_t pid, const char *name)
{
	const struct fxt_text text = text_of(name);
	size_t n = 2 + put_text(w + 2, &text);

	if (pid) {
		w[n++] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_KOID, 2,
					    ASYNCTRACE_FXT_STR_PROCESS, 0);
		w[n++] = pid;
	}
	w[0] = ASYNCTRACE_FXT_HEAD(ASYNCTRACE_FXT_KERNELOBJ, n) |
	       (pid ? ASYNCTRACE_FXT_OBJ_THREAD : ASYNCTRACE_FXT_OBJ_PROCESS) << 16 |
	       (uint64_t)reference(&text) << 24 | (uint64_t)!!pid << 40;
	w[1] = id;
	return n;
}

struct fxt_arg encode_number(const char *name, uint64_t value)
{
	return (struct fxt_arg){
		.type = ASYNCTRACE_FXT_ARG_UINT64, .name = text_of(name), .u = value,
	};
}

struct fxt_arg encode_uint32(const char *name, uint32_t value)
{
	return (struct fxt_arg){
		.type = ASYNCTRACE_FXT_ARG_UINT32, .name = text_of(name), .u = value,
	};
}

struct fxt_arg encode_koid(const char *name, uint32_t id)
{
	return (struct fxt_arg){
		.type = ASYNCTRACE_FXT_ARG_KOID, .name = text_of(name), .u = id,
	};
}

struct fxt_arg encode_flag(const char *name)
{
	return (struct fxt_arg){ .type = ASYNCTRACE_FXT_ARG_BOOL, .name = text_of(name), .u = 1 };
}

struct fxt_arg encode_text(const char *name, const char *text)
{
	return (struct fxt_arg){
		.type = ASYNCTRACE_FXT_ARG_STRING, .name = text_of(name), .text = text_of(text),
	};
}
