/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State and functions that the parts of the reader share. */
#ifndef FXT_READER_H
#define FXT_READER_H

#include "fxt.h"
#include "table.h"

#define FXT_NS_PER_S	1000000000u

struct fxt_string {
	char *s;		/* NULL: not defined */
	uint32_t len;
};

struct fxt_thread_slot {
	bool defined;		/* both ids are below 2^32 */
	bool large;		/* one of them is not */
	uint64_t pid, tid;
};

struct fxt_provider {
	uint32_t id;
	bool introduced;
	bool init;
	bool complained;	/* FXT_RULE_INIT was reported */
	uint64_t rate;		/* ticks per second */
	struct fxt_sparse strings;	/* struct fxt_string */
	struct fxt_sparse threads;	/* struct fxt_thread_slot */
};

struct fxt_reader {
	struct fxt_input *in;	/* NULL: fxt_push() supplies the words */
	uint64_t *buf;
	size_t at, have;	/* words of buf */
	size_t room;		/* words that buf can hold */
	size_t odd;		/* bytes behind the last whole word of the file */
	uint64_t offset;	/* of buf[at] in the file, bytes */
	bool over;		/* fxt_push_end() was called */
	bool end;		/* nothing follows the buffer */
	int ended;		/* valid with .end: the value of fxt_input_end() */
	bool broke_off;		/* see fxt_broke_off() */
	bool must_end;		/* asynctrace has written the file, so it must have the mark of
				   .finished */
	bool finished;		/* the file has the mark that ends a trace */
	bool no_args;		/* see fxt_without_args() */
	fxt_complain_fn complain;
	void *arg;
	struct fxt_table providers;	/* id + 1: .a struct fxt_provider */
	struct fxt_provider *current;
};

/* The record being decoded, and its words that are still to be read. */
struct fxt_cursor {
	struct fxt_reader *r;
	struct fxt_record *rec;
	const uint64_t *w;
	size_t left;
	bool large_koid;	/* FXT_RULE_KOID was reported */
};

void fxt_breach(struct fxt_reader *r, struct fxt_record *rec, enum fxt_rule rule,
		const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Slow path of fxt_word(): reports a breach and returns 0. */
uint64_t fxt_no_word(struct fxt_cursor *c);

/* Returns the next word of the record. If none is left, reports a breach and returns 0. */
static inline uint64_t fxt_word(struct fxt_cursor *c)
{
	if (!c->left)
		return fxt_no_word(c);
	c->left--;
	return *c->w++;
}

/* Returns the string of @p with index @ref, or NULL if it is not defined. */
static inline const struct fxt_string *fxt_string(const struct fxt_provider *p, unsigned int ref)
{
	const struct fxt_string *s = p ? fxt_element(&p->strings, ref, sizeof(*s)) : NULL;

	return s && s->s ? s : NULL;
}

/* Slow path of fxt_time(): converts @ticks that are not nanoseconds, or reports a breach. */
uint64_t fxt_odd_time(struct fxt_cursor *c, uint64_t ticks);

/* Returns a time in ns. Fast path: asynctrace writes nanoseconds, which need no division. */
static inline uint64_t fxt_time(struct fxt_cursor *c)
{
	const struct fxt_provider *p = c->r->current;
	uint64_t ticks = fxt_word(c);

	return p && p->init && p->rate == FXT_NS_PER_S && ticks <= INT64_MAX ? ticks :
	       fxt_odd_time(c, ticks);
}

void fxt_bytes(struct fxt_cursor *c, size_t len, struct fxt_text *t);
/* fxt_bytes() for text that must be UTF-8 of a permitted length */
void fxt_text_stream(struct fxt_cursor *c, size_t len, struct fxt_text *t);

/* Slow paths of fxt_string_ref() and fxt_thread_ref(): the reference is inline or undefined. */
void fxt_odd_string(struct fxt_cursor *c, unsigned int ref, struct fxt_text *t);
void fxt_odd_thread(struct fxt_cursor *c, unsigned int ref, struct fxt_thread *t);

static inline void fxt_string_ref(struct fxt_cursor *c, unsigned int ref, struct fxt_text *t)
{
	const struct fxt_string *s = NULL;

	if (!(ref & ASYNCTRACE_FXT_INLINE))
		s = fxt_string(c->r->current, ref);
	if (s)
		*t = (struct fxt_text){ .s = s->s, .len = s->len, .index = ref };
	else
		fxt_odd_string(c, ref, t);
}

static inline void fxt_thread_ref(struct fxt_cursor *c, unsigned int ref, struct fxt_thread *t)
{
	const struct fxt_provider *p = c->r->current;
	const struct fxt_thread_slot *slot;

	slot = p ? fxt_element(&p->threads, ref, sizeof(*slot)) : NULL;
	if (ref && slot && slot->defined)
		*t = (struct fxt_thread){ .pid = slot->pid, .tid = slot->tid, .index = ref };
	else
		fxt_odd_thread(c, ref, t);
}

void fxt_koid(struct fxt_cursor *c, uint64_t koid);
void fxt_args(struct fxt_cursor *c, unsigned int nargs);
void fxt_zero(struct fxt_cursor *c, uint64_t bits);

/* tables.c: return 0 or -ENOMEM */
int fxt_read_metadata(struct fxt_cursor *c, uint64_t head);
int fxt_read_string(struct fxt_cursor *c, uint64_t head);
int fxt_read_thread(struct fxt_cursor *c, uint64_t head);
void fxt_read_init(struct fxt_cursor *c, uint64_t head);
void fxt_free_provider(struct fxt_provider *p);

/* records.c */
void fxt_read_event(struct fxt_cursor *c, uint64_t head);
void fxt_read_object(struct fxt_cursor *c, uint64_t head);
void fxt_read_sched(struct fxt_cursor *c, uint64_t head);
void fxt_read_blob(struct fxt_cursor *c, uint64_t head);
void fxt_read_large(struct fxt_cursor *c, uint64_t head);
void fxt_read_log(struct fxt_cursor *c, uint64_t head);

#endif /* FXT_READER_H */
