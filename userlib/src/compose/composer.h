/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The parts of the composer, which turns chunks of a session into an FXT file.
 *
 * compose.c takes chunks and hands their payload to
 *
 *	events.c	checks and converts records of providers
 *	special.c	checks and converts blobs and kernel objects of providers
 *	vthread.c	checks and converts events of virtual threads
 *	order.c		moves a duration before the events that it encloses
 *	sched.c		checks and converts scheduling records of the kernel
 *	loss.c		writes the markers of lost records
 *
 * These files use
 *
 *	clock.c		ticks to nanoseconds
 *	names.c		processes, threads, thread tables
 *	provider.c	providers, their strings, slots and rings
 *	section.c	sections of the file
 *	moments.c	begin, end and clock records
 *	times.c		times of records
 *	args.c		text and arguments of records
 *	record.c	head of the file, records of providers and strings
 *	syscalls.c	names of system calls
 *	text.c		UTF-8
 *	out.c		whole records to a descriptor
 *	map.c		hash tables
 *	mem.c		memory
 *
 * tracepoint.c adds events of the kernel's tracepoints and counters, states.c adds states of
 * threads, and stats.c sums up.
 */
#ifndef COMPOSE_COMPOSER_H
#define COMPOSE_COMPOSER_H

#include <stdbool.h>
#include <stdint.h>

#include <asynctrace/compose.h>
#include <linux/asynctrace_fxt.h>

#include "clock.h"
#include "map.h"
#include "mem.h"
#include "pauses.h"
#include "text.h"

#pragma GCC visibility push(hidden)

/* --- out.c: whole records to a descriptor --------------------------------- */

struct atc_ring;

/*
 * Consecutive records of one ring in the buffer. If the write fails, they must be subtracted from
 * the ring's counts.
 */
struct atc_mark {
	struct atc_ring *ring;
	size_t at;		/* index of the first record's first word in the buffer */
	size_t end;		/* index behind the last record */
};

struct atc_out {
	ssize_t (*write)(void *arg, const void *buf, size_t len);
	void *arg;
	int fd;
	int (*begin_write)(void *arg);	/* called before and after each write(2), or NULL */
	void (*end_write)(void *arg);
	void *around;		/* argument of begin_write() and end_write() */
	int error;		/* negative errno of the first write that failed */
	bool shut;		/* later records are counted but not written */
	uint64_t *buf;
	size_t words;		/* size of @buf */
	size_t used;
	struct atc_mark *marks;	/* room for one mark per record in the buffer */
	size_t nr_marks;
	uint64_t flushed;	/* bytes written to this file */
	uint64_t before;	/* bytes written to earlier files */
};

int atc_out_init(struct atc_out *o, const struct at_compose_options *opts);
/*
 * Writes the buffer to the present file, then switches to the file of @opts; NULL: there is no next
 * file. Returns 0 or a negative errno.
 */
int atc_out_next(struct atc_out *o, const struct at_compose_options *opts);
/* Ends the record that atc_out_record() began. It has @words words. */
void atc_out_done(struct atc_out *o, size_t words);
int atc_out_flush(struct atc_out *o);

/*
 * Returns room for a record of up to ASYNCTRACE_FXT_WORDS_MAX words. Never fails: after an error,
 * the buffer is reused.
 */
static inline uint64_t *atc_out_record(struct atc_out *o)
{
	if (o->used + ASYNCTRACE_FXT_WORDS_MAX > o->words)
		atc_out_flush(o);
	return o->buf + o->used;
}

/*
 * Writes the buffer. Later records are counted but not written. Returns 0, or the negative errno of
 * the first write that failed.
 */
int atc_out_shut(struct atc_out *o);
void atc_out_free(struct atc_out *o);

/* --- names.c: processes, threads, thread tables --------------------------- */

/* Repairing text makes a name up to three times as long. */
#define ATC_COMM_MAX	(3 * ASYNCTRACE_NAME_MAX)

/*
 * An event of a thread that a later duration may enclose. The nodes of a thread follow one another
 * and do not nest. See order.c.
 */
struct atc_node {
	uint64_t from;		/* begin of the event */
	uint64_t begin;		/* begin of the event in the file */
	uint64_t end;
	uint32_t item;		/* index of its item in the present chunk; ATC_NONE: written */
	bool open;		/* begun, not ended */
	bool nests;		/* viewers depend on the duration that encloses this event */
	bool async;		/* an async event: the analysis depends on the enclosing duration */
	uint32_t names;		/* of a begin: references to category and name; 0: none */
	uint32_t provider;	/* file id of the provider whose string table .names refers to */
	uint64_t generation;	/* generation of that string table */
};

struct atc_state;

struct atc_task {
	int32_t tid;
	int32_t pid;
	bool named;
	bool suggested;			/* atc_task_suggest() has given the name */
	uint32_t seen;			/* number of the last file with a record of the kernel
					   that has its tid */
	uint32_t in_file;		/* number of the last file with its kernel object */
	char name[3 * ASYNCTRACE_COMM_LEN + 1];
	const char *virtual_name;	/* name of a virtual thread; NULL: a real thread */
	struct atc_task *owner;		/* for a virtual thread: a real thread of its process */
	struct atc_state *state;	/* to be written to its kernel object; NULL: unknown */

	struct atc_node *nodes;
	size_t nr_nodes, room_nodes;
	size_t nr_settled;	/* number of leading nodes that the present chunk left unchanged */
	uint64_t epoch;		/* at_compose.epoch at the last chunk with its events */
};

struct atc_process {
	int32_t pid;
	/* Source of the name, ATC_RANK_*; a higher one replaces a lower one. */
	unsigned int rank;
	uint32_t in_file;		/* number of the last file with its kernel object */
	uint64_t followed_since;	/* see atc_states_begin() */
	char name[ATC_COMM_MAX + 1];
};

enum { ATC_RANK_NONE, ATC_RANK_THREAD, ATC_RANK_PROVIDER, ATC_RANK_MAIN };

/* Ids of providers' virtual threads: above all real threads, below the pseudo threads. */
#define ATC_KOID_VIRTUAL	0x40000000
#define ATC_VIRTUAL_MAX		16384		/* virtual threads of one provider */
/* Ids of pseudo threads: above all real threads, below ASYNCTRACE_TID_OTHER. */
#define ATC_KOID_PROCESS	0x70000000	/* pseudo process and thread "asynctrace" */
#define ATC_KOID_CLOCK		0x70000001	/* thread "clock" */
/* Thread "other": tasks that the owner may not see. */
#define ATC_KOID_OTHER		0x70000002
#define ATC_KOID_LOSSES		0x70000003	/* first of the threads "cpu-N losses" */

/* Salts have 20 bits: see struct asynctrace_control. */
#define ATC_SALT_MAX	0xfffff

struct atc_provider;

/* A slot of a provider, and its entry in the provider's thread table. */
struct atc_slot {
	uint32_t slot;
	uint32_t index;		/* entry in the thread table; 0: none */
	uint64_t used;
	struct atc_task *task;
	int32_t pid;
	bool moved;		/* the table entry must be written to the file again */
};

struct atc_threads {
	struct atc_slot *of[ASYNCTRACE_FXT_THREADS_MAX + 1];
	uint8_t older[ASYNCTRACE_FXT_THREADS_MAX + 1];
	uint8_t newer[ASYNCTRACE_FXT_THREADS_MAX + 1];
	unsigned int nr;
	uint64_t uses;
};

void atc_process_record(struct at_compose *c, int32_t pid, const char *name);
void atc_thread_record(struct at_compose *c, int32_t pid, int32_t tid, const char *name);
struct atc_task *atc_task(struct at_compose *c, int32_t tid);
int atc_task_name(struct at_compose *c, int32_t tid, int32_t pid, const char *comm);
/*
 * Sets the name and process of a thread that the session has not named. @comm: NULL if the name is
 * not known
 */
int atc_task_suggest(struct at_compose *c, struct atc_task *t, int32_t pid, const char *comm);
int atc_process_name(struct at_compose *c, int32_t pid, unsigned int rank,
		     const void *name, size_t len);
void atc_introduce_pseudo(struct at_compose *c);
/*
 * Notes that a record names @tid, and introduces the thread. Returns the thread in *@task, if @task
 * is not NULL; the idle task has none.
 */
int atc_task_seen(struct at_compose *c, uint64_t tid, struct atc_task **task);
/* Writes the kernel object of @t, unless the file has it. */
void atc_task_introduce(struct at_compose *c, struct atc_task *t);
/*
 * Writes the kernel objects of process @pid and its main thread, unless the file has them. No
 * effect if the process is unknown.
 */
void atc_process_introduce(struct at_compose *c, int32_t pid);
/*
 * Writes kernel objects for the threads that this file's records name and whose names are not
 * known. @goes_on: the session continues in another file, so their names may still arrive.
 */
int atc_names_finish(struct at_compose *c, bool goes_on);
/*
 * Returns the index of the thread @s in the file's thread table. May add the thread to the table.
 * Returns 0 if the caller must write the ids of the thread into the record instead. @table: the
 * ids do not fit into the record, so never return 0.
 */
unsigned int atc_thread_ref(struct at_compose *c, struct atc_provider *p,
			    struct atc_slot *s, bool table);

/* --- provider.c: providers, their strings, slots and rings ---------------- */

struct atc_provider {
	uint32_t id;			/* of the session; a later provider may get it again */
	uint32_t file_id;		/* the id in files, of this provider only */
	uint64_t serial;
	struct atc_provider *earlier;	/* an ended provider that had the same id, or NULL */
	uint32_t salt;
	int32_t pid;
	uint32_t flags;
	uint32_t nr_strings;
	uint32_t bad_strings;
	uint32_t nr_slots;
	uint64_t sched_dropped;
	uint64_t names_dropped;
	uint64_t recorded_since;	/* time of its first record; 0: none */
	uint64_t read_since;	/* first time at which the caller read states; 0: none */
	uint32_t in_file;		/* number of the last file with its provider record */
	char name[3 * ASYNCTRACE_NAME_MAX + 1];
	struct atc_map slots;
	/* Slot of the last record; the next record often has the same. */
	struct atc_slot *last_slot;
	struct atc_map virtuals;	/* struct atc_virtual, by the provider's number for it */
	uint32_t nr_virtuals;
	struct atc_threads threads;
	uint64_t names;		/* generation of @strings */
	uint64_t strings[(ASYNCTRACE_FXT_INDEX_MAX + 1) / 64];
	struct atc_map texts;	/* struct atc_text, by index */
};

/* A string of a provider. Later files repeat it, and atc_ref_text() returns it. */
struct atc_text {
	size_t len;
	char text[];
};

struct atc_ring {
	struct atc_provider *provider;
	uint32_t index;
	uint32_t flags;
	struct at_compose_counts counts;

	size_t segment;		/* index of the last record's segment */
	uint64_t last_ticks;
	uint64_t last_ns;
	uint64_t chunk_ns;	/* time at which the last chunk was read, ns */
	uint64_t first_ns;	/* time of the present chunk's first record; 0: none yet */
	uint32_t losses;	/* id of its pseudo thread for losses; 0: none yet */
	uint32_t idle;		/* id of its CPU's pseudo thread for the idle task; 0: none yet */
	uint32_t idle_in_file;	/* number of the last file that introduces @idle */

	/* For a ring of scheduling records: the thread that runs on the CPU. */
	bool running;
	bool lossy;		/* records are missing since the last switch */
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

/* Ends a record of @r, as atc_out_done() does, and counts it as delivered or unwritten. */
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

/* Returns the provider that has the id now, or NULL. */
struct atc_provider *atc_provider(struct at_compose *c, uint32_t id);
/* Makes a provider that has the id from now on. Returns NULL if there is no memory. */
struct atc_provider *atc_provider_new(struct at_compose *c, uint32_t id);
/* atc_ring() makes the ring if it is new; atc_ring_find() returns NULL then. */
struct atc_ring *atc_ring(struct at_compose *c, struct atc_provider *p, uint32_t index);
struct atc_ring *atc_ring_find(struct at_compose *c, const struct atc_provider *p, uint32_t index);
int atc_provider_info(struct at_compose *c, const struct asynctrace_provider_info *info);
int atc_provider_threads(struct at_compose *c, struct atc_provider *p,
			 const struct asynctrace_thread *t, size_t nr);
/* Returns how many records were well formed, or a negative errno. */
ssize_t atc_provider_strings(struct at_compose *c, struct atc_provider *p,
			     const uint64_t *words, size_t nr);
static inline bool atc_string_known(const struct atc_provider *p, unsigned int index)
{
	return !index || p->strings[index / 64] >> index % 64 & 1;
}

void atc_provider_destroy(void *p);

/* --- record.c: records that the composer makes ---------------------------- */

/* Indexes of the composer's own strings in the kernel's section. */
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
	ATC_STR_STATE_SINCE,
	ATC_STR_READ_FROM,
	ATC_STR_READ_UNTIL,
	ATC_STR_TRACEPOINTS,
	ATC_STR_END_OF_FIXED,
};

void atc_head(struct at_compose *c);
void atc_provider_record(struct at_compose *c, struct atc_provider *p);
void atc_string_record(struct at_compose *c, unsigned int index, const void *text, size_t len);
/* Writes text at @w, padded with zeros to whole words. Returns the number of words. */
size_t atc_put_text(uint64_t *w, const void *text, size_t len);
static inline bool atc_zero_padded(const void *words, size_t bytes)
{
	const uint64_t *w = words;

	/* Little endian: the bytes behind the text are the upper bytes of its last word. */
	return !(bytes % 8) || !(w[bytes / 8] >> bytes % 8 * 8);
}

/* --- section.c: sections of the file -------------------------------------- */

/*
 * Writes the provider record of @p and its strings. Its threads are written when records use them.
 */
void atc_provider_introduce(struct at_compose *c, struct atc_provider *p);
/* Makes the section of @p the present one, and introduces @p if the file does not have it. */
void atc_section(struct at_compose *c, struct atc_provider *p);

/* --- moments.c: begin, end and clock records ------------------------------ */

void atc_clock_record(struct at_compose *c, unsigned int name, uint64_t ns,
		      const struct asynctrace_clock_pair *pair);
/*
 * atc_continued_record() writes the first clock record of a file that continues a session.
 * atc_continues_record() writes the last one of a file that another file continues.
 */
void atc_continued_record(struct at_compose *c, const struct asynctrace_clock_pair *pair);
void atc_continues_record(struct at_compose *c);

/* --- syscalls.c: names of system calls -------------------------------------------------- */

#define ATC_SYSCALL_MAX	24	/* room for a name made from a number: "syscall_999" */

/*
 * Returns the name of a system call. @text: room for ATC_SYSCALL_MAX bytes, which may be used for
 * the name.
 */
const char *atc_syscall_name(uint32_t number, char *text);

/* --- events.c: records of a provider's ring ------------------------------- */

/* The present chunk of a ring. */
struct atc_context {
	struct atc_ring *ring;
	size_t segment;		/* index of the segment in which the chunk was read */
	uint64_t ticks;		/* when the chunk was read */
	uint64_t limit;		/* number of records that the chunk claims */
};

/*
 * Returns the id that @id, from the process with salt @salt, has in files. Viewers take async ids
 * as global. So an id that a program chose gets the process's salt, which the library's own ids
 * have.
 */
uint64_t atc_global_id(uint32_t salt, uint64_t id);

/* --- events.c, sched.c: converting records -------------------------------- */

/*
 * atc_events() and atc_sched() convert the records that are well formed, and count them in
 * *@good. If they return a negative errno, *@good has the number of records converted before.
 */
int atc_events(struct at_compose *c, const struct atc_context *x,
	       const uint64_t *words, size_t nr, uint64_t *good);
int atc_sched(struct at_compose *c, const struct atc_context *x,
	      const uint64_t *words, size_t nr, uint64_t *good);
void atc_sched_lost(struct at_compose *c, struct atc_ring *r);
void atc_sched_finish(struct at_compose *c);
/* Writes into a new file which threads are running. */
int atc_sched_begin(struct at_compose *c);

/* --- order.c: durations before the events that they enclose --------------- */

#define ATC_NONE	UINT32_MAX

/* Forms of providers' records. */
enum atc_form {
	ATC_EVENT,		/* an event of a thread */
	ATC_VIRTUAL,		/* an event of a virtual thread */
	ATC_BLOB,		/* a blob record or a large blob */
	ATC_OBJECT,		/* a kernel object */
};

/* Words at the begin of a provider's record. They are not copied to the file's record. */
#define ATC_HEAD_WORDS	3	/* header, time, slot */

/* A record of the present chunk that will be written. */
struct atc_item {
	const uint64_t *at;
	struct atc_slot *slot;
	uint64_t ns;
	uint64_t end;		/* end of a complete duration */
	uint32_t next, prev;	/* neighbours in the order of writing */
	uint32_t names;		/* references that replace those of the record; 0: none */
	uint8_t form;		/* enum atc_form */
	uint8_t type;		/* for an event: ASYNCTRACE_FXT_INSTANT, ... */
	bool table;		/* fits only with a thread table entry */
	bool repair;		/* some text is not UTF-8 */
	bool cut;		/* repaired texts are cut: see struct atc_check */
};

struct atc_items {
	struct atc_item *of;
	size_t nr, room;
	uint32_t head;		/* the first in the order of writing */
	bool others;		/* some items may have other forms than ATC_EVENT */
	const struct atc_provider *provider;
	struct atc_task **tasks;	/* tasks that have an item */
	size_t nr_tasks, room_tasks;
};

int atc_order(struct at_compose *c, struct atc_items *items);

/* --- vthread.c, special.c: virtual threads, blobs, kernel objects --------- */

/*
 * Check a record @w of @words words. The caller has set .at and .slot of @it; the functions fill in
 * the rest. Return false if the record is malformed. *@err: -ENOMEM if there is no memory.
 */
bool atc_virtual_check(struct at_compose *c, const struct atc_context *x, const uint64_t *w,
		       size_t words, struct atc_item *it, int *err);
bool atc_special_check(struct at_compose *c, const struct atc_context *x, const uint64_t *w,
		       size_t words, struct atc_item *it);
/* Writes the converted record. The names that it needs must have been written. */
void atc_virtual_emit(struct at_compose *c, struct atc_ring *r, const struct atc_item *it);
void atc_special_emit(struct at_compose *c, struct atc_ring *r, const struct atc_item *it);
/* Writes the kernel objects that @it, a kernel object of the provider, refers to. */
void atc_object_introduce(struct at_compose *c, const struct atc_provider *p,
		      const struct atc_item *it);

/* --- loss.c: markers of lost records -------------------------------------- */

/*
 * Takes over the counts of a chunk. Writes a marker if losses have grown since the ring's
 * previous chunk.
 */
void atc_loss(struct at_compose *c, struct atc_ring *r, const struct asynctrace_chunk *chunk,
	      uint64_t malformed);

/* --- compose.c: the composer ---------------------------------------------- */

struct at_compose {
	struct atc_out out;
	struct atc_clock clock;
	struct atc_map providers;	/* struct atc_provider, by id: the one that has it now */
	uint32_t nr_providers;		/* number of all providers; the last one's file id */
	struct atc_map rings;		/* struct atc_ring, by file id << 32 | index */
	struct atc_map tasks;		/* struct atc_task, by tid */
	struct atc_map processes;	/* struct atc_process, by pid */
	struct atc_map texts;		/* struct atc_name, by hash; see tracepoint.c */
	struct atc_map salts;		/* struct atc_provider, by salt: one of that process */
	struct atc_provider *kernel;
	struct atc_provider *section;
	uint32_t file;			/* number of the present file, from 1 on */
	uint32_t next_losses;
	uint32_t next_virtual;
	bool pseudo;			/* the file has the pseudo process "asynctrace" */
	bool other;			/* the file has the pseudo process "other", which stands
					   for tasks that the owner may not see */
	bool started;			/* a clock pair has arrived */
	/* The file continues a session that an earlier file began. */
	bool continued;
	bool begun;			/* the file has its first clock record */
	bool finished;
	bool follows_all;		/* the session records all threads */
	bool joins;			/* see at_compose_join() */
	struct asynctrace_clock_pair pair;	/* the last clock pair */
	struct atc_pauses pauses;

	uint64_t sched_lost_until;	/* scheduling records before this time may be missing */
	uint64_t unnamed, inferred, overlaps, protocol;
	struct at_compose_ended ended;

	uint64_t *copy;			/* copy of the present payload */
	size_t copy_bytes;
	/*
	 * The present string. Not on the stack, because the stack of a signal handler may be small.
	 */
	char text[ASYNCTRACE_FXT_STRING_MAX];
	struct atc_items items;
	uint64_t epoch;			/* number of chunks of events that were ordered */

	struct at_compose_stats stats;
	struct at_compose_provider *stat_providers;
	struct at_compose_ring *stat_rings;
};

#pragma GCC visibility pop

#endif /* COMPOSE_COMPOSER_H */
