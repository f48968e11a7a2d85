// SPDX-License-Identifier: GPL-2.0-or-later
/* Framing of records: the buffer, and the dispatch to the decoder of each type. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"

#define BUFFER_WORDS	(128 * 1024)

/* Refills the buffer. At the end of the file, notes how it ended. */
static void refill(struct fxt_reader *r)
{
	size_t room, n;

	memmove(r->buf, r->buf + r->at, (r->have - r->at) * 8);
	r->have -= r->at;
	r->at = 0;
	room = (r->room - r->have) * 8;
	n = fxt_input_read(r->in, r->buf + r->have, room);
	r->end = n < room;
	if (r->end)
		r->ended = fxt_input_end(r->in);
	r->odd = n % 8;
	r->have += n / 8;
}

/* Reads until @words words are available, or the file ends. Without effect if words are pushed. */
static void fill(struct fxt_reader *r, size_t words)
{
	if (r->have - r->at < words && r->in && !r->end)
		refill(r);
}

/* Returns 0 if the file begins with the magic or ends within it, or a negative errno. */
static int check_magic(const struct fxt_reader *r)
{
	const uint64_t magic = ASYNCTRACE_FXT_MAGIC;

	if (r->have)
		return r->buf[0] == magic ? 0 : -EILSEQ;
	if (r->ended < 0)
		return r->ended;
	if (!r->odd)
		return r->ended ? 0 : -ENODATA;
	return memcmp(r->buf, &magic, r->odd) ? -EILSEQ : 0;
}

const char *fxt_error_text(int error)
{
	switch (error) {
	case -EILSEQ:
		return "it is not a Fuchsia trace (it does not begin with its magic)";
	case -ENODATA:
		return "it is empty";
	case -EBADMSG:
		return "its compressed data is damaged";
	case -ENOKEY:
		return "it is compressed with a dictionary; decompress it first with zstd -d -D DICT";
	default:
		return strerror(-error);
	}
}

struct fxt_reader *fxt_open(const char *path, int *error)
{
	struct fxt_reader *r = calloc(1, sizeof(*r));

	*error = -ENOMEM;
	if (!r)
		return NULL;
	r->buf = malloc(BUFFER_WORDS * 8);
	r->room = BUFFER_WORDS;
	if (r->buf)
		r->in = fxt_input_open(path, error);
	if (r->in) {
		fill(r, 1);
		*error = check_magic(r);
	}
	if (*error) {
		fxt_close(r);
		return NULL;
	}
	return r;
}

struct fxt_reader *fxt_open_pushed(void)
{
	return calloc(1, sizeof(struct fxt_reader));
}

int fxt_push(struct fxt_reader *r, const uint64_t *buf, size_t words)
{
	uint64_t *more;
	size_t room;

	/* The buffer may be NULL here, and memcpy() must not get a NULL pointer. */
	if (!words)
		return 0;
	if (r->at) {
		memmove(r->buf, r->buf + r->at, (r->have - r->at) * 8);
		r->have -= r->at;
		r->at = 0;
	}
	if (words > r->room - r->have) {
		room = 2 * (r->have + words);
		more = realloc(r->buf, room * 8);
		if (!more)
			return -ENOMEM;
		r->buf = more;
		r->room = room;
	}
	memcpy(r->buf + r->have, buf, words * 8);
	r->have += words;
	return 0;
}

void fxt_without_args(struct fxt_reader *r)
{
	r->no_args = true;
}

void fxt_push_end(struct fxt_reader *r)
{
	r->over = true;
}

void fxt_with_args(struct fxt_reader *r)
{
	r->no_args = false;
}

void fxt_on_breach(struct fxt_reader *r, fxt_complain_fn complain, void *arg)
{
	r->complain = complain;
	r->arg = arg;
}

bool fxt_broke_off(const struct fxt_reader *r)
{
	return r->broke_off;
}

void fxt_close(struct fxt_reader *r)
{
	if (!r)
		return;
	fxt_each(&r->providers, e)
		fxt_free_provider((struct fxt_provider *)(uintptr_t)e->a);
	fxt_table_free(&r->providers);
	if (r->in)
		fxt_input_close(r->in);
	free(r->buf);
	free(r);
}

/* --- records --------------------------------------------------------------------- */

static int decode(struct fxt_cursor *c)
{
	struct fxt_record *rec = c->rec;
	uint64_t head = fxt_word(c);
	int err = 0;

	if (!c->r->current && ASYNCTRACE_FXT_TYPE(head) != ASYNCTRACE_FXT_METADATA)
		fxt_breach(c->r, rec, FXT_RULE_PROVIDER_NONE, "type %u",
			   ASYNCTRACE_FXT_TYPE(head));
	rec->kind = FXT_OTHER;
	rec->number = ASYNCTRACE_FXT_TYPE(head);
	switch (ASYNCTRACE_FXT_TYPE(head)) {
	case ASYNCTRACE_FXT_METADATA:
		err = fxt_read_metadata(c, head);
		break;
	case ASYNCTRACE_FXT_INIT:
		fxt_read_init(c, head);
		break;
	case ASYNCTRACE_FXT_STRING:
		err = fxt_read_string(c, head);
		break;
	case ASYNCTRACE_FXT_THREAD:
		err = fxt_read_thread(c, head);
		break;
	case ASYNCTRACE_FXT_EVENT:
		fxt_read_event(c, head);
		break;
	case ASYNCTRACE_FXT_BLOB:
		fxt_read_blob(c, head);
		break;
	case ASYNCTRACE_FXT_LARGE:
		fxt_read_large(c, head);
		break;
	case ASYNCTRACE_FXT_KERNELOBJ:
		fxt_read_object(c, head);
		break;
	case ASYNCTRACE_FXT_SCHED:
		fxt_read_sched(c, head);
		break;
	case ASYNCTRACE_FXT_LOG:
		fxt_read_log(c, head);
		break;
	case ASYNCTRACE_FXT_USEROBJ:
	case ASYNCTRACE_FXT_PROFILER:
		return 0;	/* legal, but not decoded */
	default:
		fxt_breach(c->r, rec, FXT_RULE_TYPE, "type %u", rec->number);
		return 0;
	}
	if (c->left && rec->kind != FXT_OTHER && !rec->damaged) {
		fxt_breach(c->r, rec, FXT_RULE_SIZE, "%zu words behind its content", c->left);
		rec->damaged = true;
	}
	/* Threads are known by 32 bits, so this record would count for another thread. */
	rec->damaged |= c->large_koid;
	return err;
}

/*
 * Called when no whole record is left. @words: size of the incomplete record, or 0 if not even its
 * first word is there. Reports an incomplete record or a missing "trace end" once.
 */
static int at_end(struct fxt_reader *r, struct fxt_record *rec, size_t words)
{
	size_t bytes = (r->have - r->at) * 8 + r->odd;

	rec->words = 0;
	/* The rest of the record may still be pushed. */
	if (!r->in && !r->over)
		return 0;
	if (r->ended < 0 && r->ended != -EBADMSG)
		return r->ended;
	r->broke_off |= r->ended < 0;
	if (r->ended < 0)
		fxt_breach(r, rec, FXT_RULE_PACKED, "%zu bytes of the next record were unpacked",
			   bytes);
	else if (words)
		fxt_breach(r, rec, FXT_RULE_TRUNCATED, "%zu of %zu bytes are there", bytes,
			   words * 8);
	else if (bytes)
		fxt_breach(r, rec, FXT_RULE_TRUNCATED, "%zu bytes of its first word are there",
			   bytes);
	else if (r->ended)
		fxt_breach(r, rec, FXT_RULE_TRUNCATED, "the compressed data is cut");
	else if (r->must_end && !r->finished)
		fxt_breach(r, rec, FXT_RULE_NO_END, "after the last whole record");
	r->at = r->have;
	r->odd = 0;
	r->ended = 0;
	r->must_end = false;
	return 0;
}

/*
 * Skips a record of 4096 words or more. Such a record is a breach, because viewers read only 12
 * bits of its size.
 */
static int skip_large(struct fxt_reader *r, struct fxt_record *rec, uint64_t head)
{
	uint64_t left = head >> 4 & 0xffffffff;

	rec->kind = FXT_OTHER;
	rec->number = ASYNCTRACE_FXT_LARGE;
	rec->words = left;
	fxt_breach(r, rec, FXT_RULE_LARGE, "%llu words", (unsigned long long)left);
	while (left) {
		size_t n;

		fill(r, 1);
		n = r->have - r->at;
		if (!n && r->ended < 0)
			return at_end(r, rec, 0);
		if (!n && !r->in)
			return -ENODATA;
		if (!n) {
			r->must_end = false;
			fxt_breach(r, rec, FXT_RULE_TRUNCATED, "%llu words are missing",
				   (unsigned long long)left);
			return 0;
		}
		if (n > left)
			n = left;
		r->at += n;
		r->offset += n * 8;
		left -= n;
	}
	return 1;
}

/*
 * Notes what tells that asynctrace has written the file: the name of its first provider, or the
 * mark of a session's start. Notes the mark that asynctrace writes last, too.
 */
static void note_mark(struct fxt_reader *r, const struct fxt_record *rec)
{
	r->must_end |= fxt_is_own(rec);
	if (!fxt_is_clock(rec))
		return;
	r->must_end |= fxt_text_is(&rec->name, "session start") ||
		       fxt_text_is(&rec->name, "session continued");
	r->finished |= fxt_text_is(&rec->name, "trace end");
}

int fxt_next(struct fxt_reader *r, struct fxt_record *rec)
{
	struct fxt_cursor c = { .r = r, .rec = rec };
	uint64_t head;
	size_t words;
	int err;

	fill(r, ASYNCTRACE_FXT_WORDS_MAX);
	rec->offset = r->offset;
	rec->provider = r->current ? r->current->id : 0;
	rec->damaged = false;
	rec->nargs = 0;
	if (r->at == r->have)
		return at_end(r, rec, 0);
	head = r->buf[r->at];
	words = ASYNCTRACE_FXT_WORDS(head);
	rec->words = words;
	if (ASYNCTRACE_FXT_TYPE(head) == ASYNCTRACE_FXT_LARGE &&
	    (head >> 4 & 0xffffffff) > ASYNCTRACE_FXT_WORDS_MAX)
		return skip_large(r, rec, head);
	if (!words) {
		r->broke_off = true;
		fxt_breach(r, rec, FXT_RULE_SIZE, "0 words");
		return 0;
	}
	if (words > r->have - r->at)
		return at_end(r, rec, words);
	c.w = r->buf + r->at;
	c.left = words;
	r->at += words;
	r->offset += words * 8;
	err = decode(&c);
	if (err)
		return err;
	note_mark(r, rec);
	return 1;
}
