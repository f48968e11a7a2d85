/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The composer's parts. compose.c takes chunks and hands their payload to
 *
 *	compose_events.c	records of providers: check, convert
 *	special.c		those of them that are no events of a thread
 *	vthread.c		events of virtual threads
 *	compose_order.c		durations before what they enclose
 *	compose_sched.c		records of the kernel
 *	compose_loss.c		what shows losses
 *
 * which stand on
 *
 *	compose_clock.c		ticks to nanoseconds
 *	compose_names.c		processes, threads, thread tables
 *	compose_provider.c	providers, their strings and slots, rings
 *	compose_args.c		text and arguments of records
 *	compose_record.c	records that the composer makes
 *	compose_text.c		UTF-8
 *	compose_out.c		whole records to a descriptor
 *	compose_map.c		tables
 *	mem.c			memory
 */
#ifndef COMPOSE_PRIV_H
#define COMPOSE_PRIV_H

#include <stdbool.h>
#include <stdint.h>

#include <asynctrace/compose.h>
#include <linux/asynctrace_fxt.h>

#include "mem.h"

#pragma GCC visibility push(hidden)

/* --- compose_map.c ------------------------------------------------------- */

/* 64-bit keys to pointers; nothing is ever removed */
struct atc_map {
	struct atc_entry {
		uint64_t key;
		void *value;		/* NULL: free */
	} *entries;
	size_t mask;
	size_t used;
};

void *atc_map_get(const struct atc_map *m, uint64_t key);
int atc_map_set(struct atc_map *m, uint64_t key, void *value);
/* The value of @key; where there is none, a new one of @size zero bytes. */
void *atc_map_make(struct atc_map *m, uint64_t key, size_t size);
void atc_map_free(struct atc_map *m, void (*destroy)(void *value));
uint64_t atc_mix(uint64_t x);

#define atc_map_each(m, e) \
	for (struct atc_entry *e = (m)->entries; e && e <= (m)->entries + (m)->mask; e++) \
		if (e->value)

/* --- compose_out.c --------------------------------------------------------- */

struct atc_ring;

/* Records of a ring in the buffer, one behind the other, which may yet not reach the file */
struct atc_mark {
	struct atc_ring *ring;
	size_t at;		/* word of the first one */
	size_t end;		/* word behind the last one */
};

struct atc_out {
	ssize_t (*write)(void *arg, const void *buf, size_t len);
	void *arg;
	int fd;
	int (*begin_write)(void *arg);	/* called around each write(2), or NULL */
	void (*end_write)(void *arg);
	void *around;		/* their argument */
	int error;		/* of the first write that failed */
	bool shut;		/* nothing is written any more, but counted */
	uint64_t *buf;
	size_t words;		/* room */
	size_t used;
	struct atc_mark *marks;	/* room for as many as the buffer holds */
	size_t nr_marks;
	uint64_t flushed;	/* bytes */
	uint64_t before;	/* bytes of the files before this one */
};

int atc_out_init(struct atc_out *o, const struct at_compose_options *opts);
/* The next file; what is buffered is written to the old one before. */
int atc_out_next(struct atc_out *o, const struct at_compose_options *opts);
/* The record got @words words. */
void atc_out_done(struct atc_out *o, size_t words);
int atc_out_flush(struct atc_out *o);

/* Room for a record of up to ASYNCTRACE_FXT_WORDS_MAX words. Never fails. */
static inline uint64_t *atc_out_record(struct atc_out *o)
{
	if (o->used + ASYNCTRACE_FXT_WORDS_MAX > o->words)
		atc_out_flush(o);
	return o->buf + o->used;
}

/* Writes what there is; what comes from now on is not. */
int atc_out_shut(struct atc_out *o);
void atc_out_free(struct atc_out *o);

/* --- compose_text.c --------------------------------------------------------- */

bool atc_text_valid(const void *text, size_t len);
/* Bytes that atc_text_repair() makes of @len bytes. */
size_t atc_text_repaired(const void *text, size_t len);
/*
 * Copy @len bytes, each sequence that is not UTF-8 replaced by U+FFFD; at most
 * @max bytes, whole characters. Returns how many.
 */
size_t atc_text_repair(char *to, size_t max, const void *text, size_t len);
/* Append to a string that ends before @end, as much as fits. Return the new end. */
char *atc_text_put(char *to, const char *end, const char *text);
char *atc_text_put_number(char *to, const char *end, uint32_t n);

/* --- compose_clock.c -------------------------------------------------------- */

struct atc_pair {
	uint64_t ticks;
	uint64_t ns;
};

struct atc_segment {
	uint32_t number;
	size_t nr, room;
	struct atc_pair *pairs;	/* both members ascend */
	uint64_t fixed;		/* ticks up to which times were given out */
};

/*
 * The line that the last time was read from. It does not go stale: atc_clock_pair() adds
 * no pair up to the end of a line from which a time was given out.
 */
struct atc_line {
	size_t segment;		/* index */
	uint64_t from, to;	/* ticks; empty: no line yet */
	uint64_t ns;		/* at @from */
	uint64_t rise;		/* ns from @from to @to; (@to - @from) * @rise fits in 64 bits */
};

struct atc_clock {
	size_t nr, room;
	struct atc_segment *segments;	/* numbers ascend */
	struct atc_line line;
};

/* A moment on both clocks. The index of its segment, or negative errno. */
ssize_t atc_clock_pair(struct atc_clock *k, uint32_t segment, uint64_t ticks, uint64_t ns);
/*
 * The time of @ticks in the segment with index @s. Returns 0, or -1 where that
 * is before the segment, 1 where it is after it.
 */
int atc_clock_find(struct atc_clock *k, size_t s, uint64_t ticks, uint64_t *ns);

/* As atc_clock_find(): nearly all records of a chunk lie on the same line. */
static inline int atc_clock_ns(struct atc_clock *k, size_t s, uint64_t ticks, uint64_t *ns)
{
	const struct atc_line *l = &k->line;

	if (s != l->segment || ticks < l->from || ticks >= l->to)
		return atc_clock_find(k, s, ticks, ns);
	*ns = l->ns + (ticks - l->from) * l->rise / (l->to - l->from);
	return 0;
}

uint64_t atc_clock_start(const struct atc_clock *k);
uint64_t atc_clock_end(const struct atc_clock *k);
void atc_clock_free(struct atc_clock *k);

/* --- compose_names.c ---------------------------------------------------------- */

#define ATC_COMM_MAX	(3 * ASYNCTRACE_NAME_MAX)	/* repaired */
/*
 * What a thread did that a duration yet to come may enclose: one after the
 * other, none within another. See compose_order.c.
 */
struct atc_node {
	uint64_t from;		/* when it began */
	uint64_t begin;		/* when the file says it did */
	uint64_t end;
	uint32_t item;		/* of the chunk in hand, its first in the file */
	bool open;		/* begun, not ended */
	bool weighs;		/* for viewers, it matters what encloses it */
	bool async;		/* an async event: for the analysis, it does */
};

struct atc_task {
	int32_t tid;
	int32_t pid;
	bool named;
	uint32_t seen;		/* number of the last file that schedules it */
	uint32_t told;		/* number of the last file that has its name */
	char name[3 * ASYNCTRACE_COMM_LEN + 1];
	const char *virtual_name;	/* of a virtual thread; NULL: it is a real one */
	struct atc_task *owner;		/* of a virtual thread: a thread of its process */

	struct atc_node *nodes;
	size_t nr_nodes, room_nodes;
	uint64_t epoch;		/* of the last chunk with an event of it */
};

struct atc_process {
	int32_t pid;
	unsigned int rank;	/* how good a name that is */
	uint32_t told;		/* number of the last file that has it */
	char name[ATC_COMM_MAX + 1];
};

enum { ATC_RANK_NONE, ATC_RANK_THREAD, ATC_RANK_PROVIDER, ATC_RANK_MAIN };

/* Virtual threads of providers: above any real thread, below the pseudo threads */
#define ATC_KOID_VIRTUAL	0x40000000
#define ATC_VIRTUAL_MAX		16384		/* of one provider */
/* Pseudo threads: above any real one, below ASYNCTRACE_TID_OTHER */
#define ATC_KOID_PROCESS	0x70000000	/* "asynctrace" */
#define ATC_KOID_CLOCK		0x70000001	/* "clock" */
#define ATC_KOID_OTHER		0x70000002	/* "other": what the owner may not see */
#define ATC_KOID_LOSSES		0x70000003	/* "cpu-N losses", from here on */

struct atc_provider;

/* A slot of a provider, and its place in the provider's thread table */
struct atc_slot {
	uint32_t slot;
	uint32_t index;		/* in the thread table; 0: in none */
	uint64_t used;
	struct atc_task *task;
	int32_t pid;
	bool moved;		/* the entry in the file is another thread's */
};

struct atc_threads {
	struct atc_slot *of[ASYNCTRACE_FXT_THREADS_MAX + 1];
	uint8_t older[ASYNCTRACE_FXT_THREADS_MAX + 1];
	uint8_t newer[ASYNCTRACE_FXT_THREADS_MAX + 1];
	unsigned int nr;
	uint64_t uses;
};

struct atc_task *atc_task(struct at_compose *c, int32_t tid);
int atc_task_name(struct at_compose *c, int32_t tid, int32_t pid, const char *comm);
int atc_process_name(struct at_compose *c, int32_t pid, unsigned int rank,
		     const void *name, size_t len);
void atc_names_pseudo(struct at_compose *c);
int atc_names_seen(struct at_compose *c, uint64_t tid);
/* The file names @t, here at the latest. */
void atc_names_used(struct at_compose *c, struct atc_task *t);
/* The file names process @pid and its main thread. No effect if the process is unknown. */
void atc_process_used(struct at_compose *c, int32_t pid);
/* @goes_on: the session, in another file */
int atc_names_finish(struct at_compose *c, bool goes_on);
/* The thread reference for @s, written into the table if need be; 0: inline */
unsigned int atc_thread_ref(struct at_compose *c, struct atc_provider *p,
			    struct atc_slot *s, bool table);

/* --- compose_provider.c ---------------------------------------------------------- */

struct atc_provider {
	uint32_t id;
	uint32_t salt;
	int32_t pid;
	uint32_t flags;
	uint32_t nr_strings;
	uint32_t bad_strings;
	uint32_t nr_slots;
	uint64_t sched_dropped;
	uint64_t names_dropped;
	uint32_t told;		/* number of the last file that introduces it */
	char name[3 * ASYNCTRACE_NAME_MAX + 1];
	struct atc_map slots;
	struct atc_slot *last_slot;	/* that a record named: the next one often names it, too */
	struct atc_map virtuals;	/* struct atc_virtual, by the provider's number */
	uint32_t nr_virtuals;
	struct atc_threads threads;
	uint64_t names;		/* the generation of @strings */
	uint64_t strings[(ASYNCTRACE_FXT_INDEX_MAX + 1) / 64];
	struct atc_map texts;	/* struct atc_text, by index */
};

/* A string, for the files to come */
struct atc_text {
	size_t len;
	char text[];
};

struct atc_ring {
	struct atc_provider *provider;
	uint32_t index;
	uint32_t flags;
	struct at_compose_counts counts;

	size_t segment;		/* index; of the last record */
	uint64_t last_ticks;
	uint64_t last_ns;
	uint64_t chunk_ns;	/* when the last chunk was read */
	uint64_t first_ns;	/* of the first record of the chunk in hand; 0: none yet */
	uint32_t losses;	/* koid of its pseudo thread; 0: none yet */
	uint32_t idle;		/* koid of the idle task's pseudo thread, if tracepoints need it */
	uint32_t idle_told;	/* number of the last file that names it */

	/* of a CPU: who runs there, if known */
	bool running;
	bool lossy;		/* something is missing since the last switch */
	int32_t tid;
	int32_t weight;
};

static inline uint64_t *atc_count_of(struct atc_ring *r, uint64_t head)
{
	if (ASYNCTRACE_FXT_TYPE(head) != ASYNCTRACE_FXT_SCHED)
		return &r->counts.events;
	return head >> 60 == ASYNCTRACE_FXT_SCHED_WAKEUP ? &r->counts.wakeups :
							   &r->counts.switches;
}

/* As atc_out_done(), for a record of @r: counted as delivered, or as unwritten. */
static inline void atc_out_deliver(struct atc_out *o, struct atc_ring *r, size_t words)
{
	struct atc_mark *m = o->marks + o->nr_marks;

	if (o->shut) {
		r->counts.unwritten++;
		return;
	}
	++*atc_count_of(r, o->buf[o->used]);
	r->counts.delivered++;
	if (!o->nr_marks || m[-1].ring != r || m[-1].end != o->used)
		o->marks[o->nr_marks++] = (struct atc_mark){ r, o->used, o->used };
	o->used += words;
	o->marks[o->nr_marks - 1].end = o->used;
}

struct atc_provider *atc_provider(struct at_compose *c, uint32_t id);
struct atc_ring *atc_ring(struct at_compose *c, struct atc_provider *p, uint32_t index);
int atc_provider_info(struct at_compose *c, const struct asynctrace_provider_info *info);
int atc_provider_threads(struct at_compose *c, struct atc_provider *p,
			 const struct asynctrace_thread *t, size_t nr);
/* Returns how many records were well formed, or negative errno. */
ssize_t atc_provider_strings(struct at_compose *c, struct atc_provider *p,
			     const uint64_t *words, size_t nr);
static inline bool atc_string_known(const struct atc_provider *p, unsigned int index)
{
	return !index || p->strings[index / 64] >> index % 64 & 1;
}

/* Introduce @p to the file, and all that it is known by. */
void atc_provider_tell(struct at_compose *c, struct atc_provider *p);
void atc_provider_destroy(void *p);

static inline uint32_t atc_file_id(const struct atc_provider *p)
{
	return p->id + 1;
}

/* --- compose_record.c ---------------------------------------------------------- */

/* Strings of the kernel's section that are the composer's own */
enum {
	ATC_STR_ASYNCTRACE = ASYNCTRACE_FXT_STR_KERNEL_END,
	ATC_STR_LOST,
	ATC_STR_DROPPED,
	ATC_STR_OVERWRITTEN,
	ATC_STR_MALFORMED,
	ATC_STR_PROVIDER,
	ATC_STR_INFERRED,
	ATC_STR_TICKS,
	ATC_STR_REALTIME,
	ATC_STR_SEGMENT,
	ATC_STR_START,
	ATC_STR_STOP,
	ATC_STR_RESUME,
	ATC_STR_END,
	ATC_STR_CONTINUED,
	ATC_STR_CONTINUES,
	ATC_STR_END_OF_FIXED,
};

void atc_head(struct at_compose *c);
void atc_section(struct at_compose *c, struct atc_provider *p);
void atc_provider_record(struct at_compose *c, struct atc_provider *p);
void atc_string_record(struct at_compose *c, unsigned int index, const void *text, size_t len);
void atc_process_record(struct at_compose *c, int32_t pid, const char *name);
void atc_thread_record(struct at_compose *c, int32_t pid, int32_t tid, const char *name);
void atc_clock_record(struct at_compose *c, unsigned int name, uint64_t ns,
		      const struct asynctrace_clock_pair *pair);
/* The first of a file that continues a session, and the last of one that does not end it */
void atc_continued_record(struct at_compose *c, const struct asynctrace_clock_pair *pair);
void atc_continues_record(struct at_compose *c);
void atc_inferred_switch(struct at_compose *c, struct atc_ring *r, uint64_t ns,
			 int32_t tid, int32_t weight);
/* Text at @w, padded with zeros to whole words. Returns the words. */
size_t atc_put_text(uint64_t *w, const void *text, size_t len);
bool atc_zero_padded(const void *words, size_t bytes);

/* --- compose_args.c, compose_events.c, compose_sched.c --------------------------------------------- */

/* What is known of the chunk in hand */
struct atc_context {
	struct atc_ring *ring;
	size_t segment;		/* index */
	uint64_t ticks;		/* when it was read */
	uint64_t limit;		/* records it claims */
};

/* What checking text, and arguments, found out */
struct atc_check {
	size_t words;
	size_t growth;		/* words that repairing text adds */
	bool repair;		/* some text is not UTF-8 */
	bool numeric;		/* all arguments are numbers */
};

/* Check @len bytes of text in the @nr words at @w: adds to what @k says. False: malformed. */
bool atc_text_check(size_t len, const uint64_t *w, size_t nr, struct atc_check *k);

/* Checks the text that @ref refers to: inline text or an index of the string table. */
static inline bool atc_ref_check(const struct atc_provider *p, unsigned int ref,
				 const uint64_t *w, size_t nr, struct atc_check *k)
{
	if (ref & ASYNCTRACE_FXT_INLINE)
		return atc_text_check(ref & ~ASYNCTRACE_FXT_INLINE, w, nr, k);
	return atc_string_known(p, ref);
}

/* The same for @nargs arguments */
bool atc_args_check(const struct atc_provider *p, unsigned int nargs, const uint64_t *w,
		    size_t nr, struct atc_check *k);
/* Copy inline text, repaired; @ref becomes what it is now. Returns words written. */
size_t atc_ref_copy(uint64_t *to, unsigned int *ref, const uint64_t **from);
size_t atc_args_copy(uint64_t *to, unsigned int nargs, const uint64_t **from);
/*
 * The text of reference @ref, which atc_ref_check() has found good; @w: where its inline
 * text is. Returns its length.
 */
size_t atc_ref_text(const struct atc_provider *p, unsigned int ref, const uint64_t *w,
		    const char **text);
/* Whether one of @nargs arguments at @w, which are good, has the name @name */
bool atc_args_have(const struct atc_provider *p, unsigned int nargs, const uint64_t *w,
		   const char *name);
/* When in its ring a record was published; see atc_clock_ns(). */
bool atc_stamp(struct at_compose *c, const struct atc_context *x, uint64_t ticks, uint64_t *ns);

/*
 * When something was that a provider gives the time of, and published at @end, @end_ns:
 * that is data, and may be in an older segment, or before the session. False: it is in
 * the future.
 */
bool atc_time_given(struct at_compose *c, const struct atc_context *x, uint64_t ticks,
		    uint64_t end, uint64_t end_ns, uint64_t *ns);

/*
 * Both take the records that are well formed, and tell how many: where they return
 * a negative errno, up to there.
 */
int atc_events(struct at_compose *c, const struct atc_context *x,
	       const uint64_t *words, size_t nr, uint64_t *good);
int atc_sched(struct at_compose *c, const struct atc_context *x,
	      const uint64_t *words, size_t nr, uint64_t *good);
void atc_sched_lost(struct at_compose *c, struct atc_ring *r);
void atc_sched_finish(struct at_compose *c);
/* A file begins: say who is running. */
int atc_sched_begin(struct at_compose *c);

/* --- compose_order.c --------------------------------------------------------------- */

#define ATC_NONE	UINT32_MAX

/* Forms of records of providers */
enum atc_form {
	ATC_EVENT,		/* an event of a thread */
	ATC_VIRTUAL,		/* of a virtual thread */
	ATC_BLOB,		/* a blob record, or a large blob */
	ATC_OBJECT,		/* a kernel object */
};

/* Words of a provider's record before what it has in common with the file's */
#define ATC_HEAD_WORDS	3	/* head, time, slot */

/* A record of the chunk in hand that will be written */
struct atc_item {
	const uint64_t *at;
	struct atc_slot *slot;
	uint64_t ns;
	uint64_t end;		/* of a complete duration */
	uint32_t next, prev;	/* in the order of writing */
	uint8_t form;		/* enum atc_form */
	uint8_t type;		/* of an event: ASYNCTRACE_FXT_INSTANT, ... */
	bool table;		/* only fits with a thread table entry */
	bool repair;		/* some text is not UTF-8 */
};

struct atc_items {
	struct atc_item *of;
	size_t nr, room;
	uint32_t head, tail;
	struct atc_task **tasks;	/* that have an item */
	size_t nr_tasks, room_tasks;
};

int atc_order(struct at_compose *c, struct atc_items *items);

/* --- vthread.c, special.c ------------------------------------------------------------ */

/*
 * Check a record of @words words, of the slot in @it, as events.c checks events. False:
 * malformed. *@err: negative errno, no memory.
 */
bool atc_virtual_check(struct at_compose *c, const struct atc_context *x, const uint64_t *w,
		       size_t words, struct atc_item *it, int *err);
bool atc_special_check(struct at_compose *c, const struct atc_context *x, const uint64_t *w,
		       size_t words, struct atc_item *it);
/* Write it, converted; the names that it needs have been written. */
void atc_virtual_emit(struct at_compose *c, struct atc_ring *r, const struct atc_item *it);
void atc_special_emit(struct at_compose *c, struct atc_ring *r, const struct atc_item *it);
/* The file has the names that @it, an object, refers to. */
void atc_object_names(struct at_compose *c, const struct atc_provider *p,
		      const struct atc_item *it);

/* --- compose_loss.c ---------------------------------------------------------------- */

/* Note a chunk's counts; show what grew since the chunk before it. */
void atc_loss(struct at_compose *c, struct atc_ring *r, const struct asynctrace_chunk *chunk,
	      uint64_t malformed);

/* --- compose.c ---------------------------------------------------------------------- */

struct at_compose {
	struct atc_out out;
	struct atc_clock clock;
	struct atc_map providers;	/* by id */
	struct atc_map rings;		/* by provider << 32 | index */
	struct atc_map tasks;		/* by tid */
	struct atc_map processes;	/* by pid */
	struct atc_map texts;		/* struct atc_name, by hash: see tracepoint.c */
	struct atc_provider *kernel;
	struct atc_provider *section;
	uint32_t file;			/* number of the present one, from 1 on */
	uint32_t next_losses;
	uint32_t next_virtual;
	bool pseudo;			/* the pseudo process has its name */
	bool other;			/* so has that of tasks that are not shown */
	bool started;			/* there was a clock pair */
	bool continued;			/* the file begins within the session */
	bool begun;			/* it has its first clock record */
	bool finished;
	struct asynctrace_clock_pair pair;	/* the last one */

	uint64_t unnamed, inferred, overlaps, protocol;
	struct at_compose_ended ended;

	uint64_t *copy;			/* of the payload in hand */
	size_t copy_bytes;
	/* of the string in hand: the stack of a signal handler may be small */
	char text[ASYNCTRACE_FXT_STRING_MAX];
	struct atc_items items;
	uint64_t epoch;

	struct at_compose_stats stats;
	struct at_compose_provider *stat_providers;
	struct at_compose_ring *stat_rings;
};

#pragma GCC visibility pop

#endif /* COMPOSE_PRIV_H */
