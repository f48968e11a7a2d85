/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For tests of the file format: makes chunks like those that a session delivers, gives them to the
 * composer, and reads the file that the composer writes
 */
#ifndef FORMAT_STREAM_H
#define FORMAT_STREAM_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <asynctrace/compose.h>
#include <linux/asynctrace_fxt.h>

#include "../../tools/fxt/check.h"
#include "random.h"

/* --- words ------------------------------------------------------------------------ */

struct words {
	uint64_t *w;
	size_t nr, room;
	uint64_t records;
};

uint64_t *words_add(struct words *b, size_t nr);
void words_push(struct words *b, uint64_t w);
void words_text(struct words *b, const void *text, size_t len);
void words_free(struct words *b);
/* Changes or deletes a random word of @b, from number @first on. */
void words_spoil(struct words *b, size_t first);

/* A string reference as in an event: by index, or inline (index 0) */
struct ref {
	unsigned int index;
	const char *text;	/* NULL and index 0: the empty string */
	size_t len;		/* length of .text; 0: its strlen() */
};

#define IDX(i)	((struct ref){ .index = (i) })
#define TXT(s)	((struct ref){ .text = (s) })

struct arg {
	unsigned int type;
	struct ref name;
	uint64_t value;
	struct ref text;
};

#define ARG_U64(n, v)	((struct arg){ ASYNCTRACE_FXT_ARG_UINT64, n, v, { 0 } })
#define ARG_I32(n, v)	((struct arg){ ASYNCTRACE_FXT_ARG_INT32, n, (uint32_t)(v), { 0 } })
#define ARG_KOID(n, v)	((struct arg){ ASYNCTRACE_FXT_ARG_KOID, n, v, { 0 } })
#define ARG_STR(n, t)	((struct arg){ ASYNCTRACE_FXT_ARG_STRING, n, 0, t })

struct event {
	unsigned int type;
	uint64_t ticks;
	uint64_t slot;
	struct ref category, name;
	uint64_t extra;		/* id or end; not written if the type has none */
	unsigned int nargs;
	struct arg args[ASYNCTRACE_FXT_ARGS_MAX];
};

/* Puts the record as a provider writes it. Returns its position in @b. */
size_t put_event(struct words *b, const struct event *e);
void put_switch(struct words *b, unsigned int cpu, uint64_t ticks, uint64_t out, uint64_t in,
		unsigned int state);
void put_wakeup(struct words *b, unsigned int cpu, uint64_t ticks, uint64_t tid, uint64_t waker);
void put_string(struct words *b, unsigned int index, const void *text, size_t len);

/* --- a composer with a file in memory ------------------------------------------------ */

struct stream {
	struct at_compose *c;
	int fd;
	char path[32];
	uint64_t ticks;		/* time in the next chunk's header */
	uint32_t segment;
	uint64_t (*ns)(uint64_t ticks);	/* the clock; NULL: the identity */
	/* Takes chunks instead of the composer, if not NULL */
	int (*take)(void *arg, const struct asynctrace_chunk *h, const void *payload);
	void *arg;
	struct {
		uint64_t delivered, overwritten, dropped, cleared;
	} rings[16][16];		/* by provider, ring */
};

void stream_open(struct stream *s);
void stream_finish(struct stream *s);	/* at_compose_finish(), which must succeed */
void stream_close(struct stream *s);
/* Finishes and closes @s. Returns the words of its file. */
struct words stream_words(struct stream *s);

int give(struct stream *s, struct asynctrace_chunk *h, const void *payload);
void give_clock(struct stream *s, unsigned int what);
void give_info(struct stream *s, const struct asynctrace_provider_info *info);
void give_provider(struct stream *s, uint32_t id, int32_t pid, uint32_t salt, const char *name);
void give_thread(struct stream *s, uint32_t provider, uint32_t slot, int32_t pid, int32_t tid,
		 const char *comm);
void give_name(struct stream *s, int32_t pid, int32_t tid, const char *comm);
void give_strings(struct stream *s, uint32_t provider, const struct words *b);
/* Gives all of @b as one chunk of that ring; @b is empty afterwards. */
void give_events(struct stream *s, uint32_t provider, uint32_t ring, struct words *b);
void give_sched(struct stream *s, uint32_t cpu, struct words *b);
/* Adds losses that the ring's next chunk will report. */
void lose(struct stream *s, uint32_t provider, uint32_t ring, uint64_t overwritten,
	  uint64_t dropped);
/* Gives one provider, one thread (slot 1: 100/101) and the strings 1 "cat", 2 "work", 3 "n". */
void stream_introduce(struct stream *s);
/* Opens a session and calls stream_introduce(). */
void stream_simple(struct stream *s);

/* --- the file ------------------------------------------------------------------------ */

struct file {
	struct fxt_reader *r;
	struct fxt_record rec;
	uint64_t breaches;	/* violations of the format, printed to stderr */
};

void file_open(struct file *f, const char *path);
bool file_next(struct file *f);		/* reads a record */
bool file_event(struct file *f, uint32_t provider);	/* reads an event of that provider */
void file_close(struct file *f);	/* fails the test if there were violations */

/* Fails the test if the file breaks a rule, except those in @but (ended by -1). */
void assert_clean(const char *path, ...);
uint64_t findings(const char *path, enum fxt_rule rule);
const struct at_compose_counts *ring_counts(struct at_compose *c, uint32_t provider,
					    uint32_t ring);

#endif /* FORMAT_STREAM_H */
