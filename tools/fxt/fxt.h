/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a trace in the Fuchsia trace format (FXT), record by record. Memory is constant except for
 * the tables of strings, threads and providers, and for words that were pushed. The reader trusts
 * no byte of the file and shares no code with the writers of traces, so that it finds their
 * mistakes.
 */
#ifndef FXT_H
#define FXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/asynctrace_fxt.h>

#include "rules.h"
#include "utf8.h"

/* --- input: bytes of a file, "-" for standard input, gzip and zstd unpacked --- */

struct fxt_input;

/* Returns NULL and sets *@error to a negative errno if the file cannot be opened. */
struct fxt_input *fxt_input_open(const char *path, int *error);
/*
 * Returns the number of bytes read, which is less than @len only at the end of the file or
 * before an error.
 */
size_t fxt_input_read(struct fxt_input *in, void *buf, size_t len);
/*
 * Call this after fxt_input_read() returned fewer bytes than @len. Returns 0 at the end of the
 * file, 1 if the file ends within compressed data, or a negative errno if reading failed.
 * -EBADMSG means that compressed data is damaged, -ENOKEY that a dictionary is needed.
 */
int fxt_input_end(const struct fxt_input *in);
void fxt_input_close(struct fxt_input *in);
/* Do the first 4 bytes of a file belong to compressed data? */
bool fxt_is_packed(const void *begin);

/* --- records ------------------------------------------------------------------- */

/* A text in the reader's memory, which a NUL need not end. It is valid until the next record. */
struct fxt_text {
	const char *s;
	uint32_t len;
	uint32_t index;		/* in the string table; 0: inline or empty */
};

struct fxt_thread {
	uint64_t pid, tid;
	unsigned int index;	/* in the thread table; 0: inline */
};

struct fxt_arg {
	unsigned int type;	/* ASYNCTRACE_FXT_ARG_*, FXT_ARG_BLOB */
	struct fxt_text name;
	union {
		int64_t i;	/* int32, int64 */
		uint64_t u;	/* uint32, uint64, pointer, koid, bool */
		double d;
		struct fxt_text text;	/* string, blob */
	};
};

#define FXT_ARG_BLOB	10

enum fxt_kind {
	FXT_TRACE_INFO,
	FXT_PROVIDER_INFO,	/* .provider, .name */
	FXT_PROVIDER_SECTION,	/* .provider */
	FXT_PROVIDER_EVENT,	/* .id: provider, .number: event */
	FXT_INIT,		/* .id: ticks per second */
	FXT_STRING,		/* .number: index, .name */
	FXT_THREAD,		/* .number: index, .thread */
	FXT_EVENT,		/* .number: type, .ns, .end_ns, .thread, .category,
				   .name, .id, arguments */
	FXT_BLOB,		/* .number: type, .name, .text */
	FXT_BLOB_EVENT,		/* an event with a blob: .ns, .thread, .category, .name,
				   arguments, .text */
	FXT_ATTACHMENT,		/* a blob without a time: .category, .name, .text */
	FXT_OBJECT,		/* .number: type, .id: koid, .name, arguments */
	FXT_SWITCH,		/* .ns, .cpu, .number: state, .out, .in, arguments */
	FXT_WAKEUP,		/* .ns, .cpu, .in, arguments */
	FXT_LOG,		/* .ns, .thread, .text */
	FXT_OTHER,		/* a record that the reader does not decode: .number: type */
};

struct fxt_record {
	enum fxt_kind kind;
	uint64_t offset;	/* in the unpacked file */
	uint64_t words;
	uint32_t provider;	/* 0: the record is in no section of a known provider */
	bool damaged;		/* a breach makes the content unreliable */

	unsigned int number;
	uint64_t id;
	uint64_t ns, end_ns;	/* CLOCK_BOOTTIME in ns */
	struct fxt_thread thread;
	struct fxt_text category, name, text;

	unsigned int cpu;
	uint64_t out, in;	/* thread ids */

	unsigned int nargs;
	struct fxt_arg args[ASYNCTRACE_FXT_ARGS_MAX];
};

struct fxt_reader;

typedef void (*fxt_complain_fn)(void *arg, enum fxt_rule rule, uint64_t offset,
				const char *detail);

/*
 * Returns NULL and sets *@error to a negative errno if @path cannot be read. -EILSEQ: the file
 * does not begin with the magic of a trace. -ENODATA: the file is empty.
 */
struct fxt_reader *fxt_open(const char *path, int *error);
/*
 * Returns a reader of the words that fxt_push() appends, for traces that are still being
 * written, or NULL if there is no memory. fxt_next() returns 0 while the next record is
 * incomplete. It returns -ENODATA within a record of 4096 words or more, which asynctrace does
 * not write.
 */
struct fxt_reader *fxt_open_pushed(void);
/* Appends @words words. Returns 0 or -ENOMEM. */
int fxt_push(struct fxt_reader *r, const uint64_t *buf, size_t words);
/*
 * Declares that no more words follow: fxt_next() then reports a missing end, as it does at the end
 * of a file.
 */
void fxt_push_end(struct fxt_reader *r);
/* Calls @complain for every breach of the format. @detail is valid during the call only. */
void fxt_on_breach(struct fxt_reader *r, fxt_complain_fn complain, void *arg);
/*
 * Stops decoding arguments, for speed: .nargs is 0 in most events of real threads. The reader
 * still checks the arguments. It goes on decoding them in events of the types of fxt_has_args(): in
 * counters to check them, in others because they tell which operation the event belongs to.
 */
void fxt_without_args(struct fxt_reader *r);
/* Returns true if events of @type have their arguments even after fxt_without_args(). */
bool fxt_has_args(unsigned int type);
/* Decodes all arguments from the next record on. */
void fxt_with_args(struct fxt_reader *r);
/*
 * Returns 1 and fills @rec, 0 at the end, or a negative errno if reading failed. All whole
 * records before a failure have been returned then. A record of size 0 (FXT_RULE_SIZE) and damaged
 * compressed data (FXT_RULE_PACKED) end the reading, after a breach is reported. A missing end is
 * also a breach: the file ends within a record (FXT_RULE_TRUNCATED), or it was written by
 * asynctrace and lacks the mark that the recorder writes last (FXT_RULE_NO_END).
 */
int fxt_next(struct fxt_reader *r, struct fxt_record *rec);
/*
 * True after a breach behind which nothing can be read: a record of size 0, or compressed data that
 * is damaged. Is true already when the callback of fxt_on_breach() is called for it.
 */
bool fxt_broke_off(const struct fxt_reader *r);
/* Returns text for an error of fxt_open() or fxt_next(), to follow "cannot read FILE: ". */
const char *fxt_error_text(int error);
void fxt_close(struct fxt_reader *r);

/*
 * The largest thread id that Linux gives out. Larger ids are virtual threads of programs and pseudo
 * threads of the recorder, which the scheduler does not know.
 */
#define FXT_TID_REAL_MAX	(4u << 20)

/* The provider that stands for the kernel. Programs write nothing in its sections. */
#define FXT_KERNEL_PROVIDER	1

/* The count of a ring to which a record belongs. FXT_NOT_COUNTED: the recorder made the record. */
enum fxt_counted {
	FXT_NOT_COUNTED,
	FXT_COUNTED_EVENT,
	FXT_COUNTED_SWITCH,
	FXT_COUNTED_WAKEUP,
};

enum fxt_counted fxt_counted(const struct fxt_record *rec);
/* True if the recorder inferred this context switch. */
bool fxt_is_inferred(const struct fxt_record *rec);
/* True if this record introduces the provider that is the first one in each file of asynctrace. */
bool fxt_is_own(const struct fxt_record *rec);
/* True if the recorder wrote this event about its own clock or session. */
bool fxt_is_clock(const struct fxt_record *rec);
/* True if this is an event of a tracepoint of the kernel. */
bool fxt_is_tracepoint(const struct fxt_record *rec);
/* True if the recorder wrote this counter about a CPU quota that throttled a process. */
bool fxt_is_throttling(const struct fxt_record *rec);
const struct fxt_arg *fxt_arg(const struct fxt_record *rec, const char *name);
bool fxt_text_is(const struct fxt_text *t, const char *s);
/* Names of event types and argument types; never NULL */
const char *fxt_event_name(unsigned int type);
const char *fxt_arg_name(unsigned int type);

#endif /* FXT_H */
