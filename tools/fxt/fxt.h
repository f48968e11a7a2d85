/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Read a trace (FXT), record by record, in constant memory but for the tables
 * that the format has. It takes nothing for granted and shares no code with
 * what writes traces.
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

/* NULL: *error is a negative errno */
struct fxt_input *fxt_input_open(const char *path, int *error);
/* Up to @len bytes; fewer only at the end, and before an error. */
size_t fxt_input_read(struct fxt_input *in, void *buf, size_t len);
/*
 * After a read that brought fewer bytes. 0: the file has ended. 1: it has ended within
 * compressed data. Negative errno: reading failed; -EBADMSG: compressed data is damaged.
 */
int fxt_input_end(const struct fxt_input *in);
void fxt_input_close(struct fxt_input *in);

/* --- records ------------------------------------------------------------------- */

/* Not ended by a NUL. Valid until the next record. */
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
	FXT_OBJECT,		/* .number: type, .id: koid, .name, arguments */
	FXT_SWITCH,		/* .ns, .cpu, .number: state, .out, .in, arguments */
	FXT_WAKEUP,		/* .ns, .cpu, .in, arguments */
	FXT_LOG,		/* .ns, .thread, .text */
	FXT_OTHER,		/* not understood: .number: type */
};

struct fxt_record {
	enum fxt_kind kind;
	uint64_t offset;	/* in the unpacked file */
	uint64_t words;
	uint32_t provider;	/* whose it is; 0 where none was introduced */
	bool damaged;		/* its content cannot be relied on */

	unsigned int number;
	uint64_t id;
	uint64_t ns, end_ns;	/* CLOCK_BOOTTIME, as this project writes it */
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
 * Open @path. NULL: *error is a negative errno. -EILSEQ: the file is no trace, because
 * it does not begin with the magic. -ENODATA: it is empty.
 */
struct fxt_reader *fxt_open(const char *path, int *error);
/*
 * A reader of the bytes that fxt_push() gives it, for traces that are still being written.
 * NULL: no memory. fxt_next() returns 0 if the next record is not there as a whole yet, and
 * -ENODATA in the middle of a large record, which this project does not write.
 */
struct fxt_reader *fxt_open_pushed(void);
/* Append @words words to what the reader has. 0 or -ENOMEM */
int fxt_push(struct fxt_reader *r, const uint64_t *buf, size_t words);
/* No more is pushed: fxt_next() complains of a missing end, as at the end of a file. */
void fxt_push_end(struct fxt_reader *r);
/* Tell of every breach of the format. @detail is valid during the call. */
void fxt_on_breach(struct fxt_reader *r, fxt_complain_fn complain, void *arg);
/*
 * Check arguments of events of real threads, but do not decode them: .nargs is 0. Arguments of
 * counters are decoded to be checked. For the analysis, which asks for none of these.
 */
void fxt_without_args(struct fxt_reader *r);
/* From the next record on, decode all arguments. */
void fxt_with_args(struct fxt_reader *r);
/*
 * The next record: 1. At the end: 0. Negative errno: reading failed; all whole records
 * before the failure have been returned. A record of size 0 ends the reading after a
 * complaint. So does a missing end: a file that ends within a record
 * (FXT_RULE_TRUNCATED), or without the mark that the recorder writes last
 * (FXT_RULE_NO_END).
 */
int fxt_next(struct fxt_reader *r, struct fxt_record *rec);
/* Text for an error of fxt_open() or fxt_next(), to follow "cannot read FILE: " */
const char *fxt_error_text(int error);
void fxt_close(struct fxt_reader *r);

/*
 * Thread ids above those that Linux gives out are pseudo threads of the recorder. The
 * scheduler does not know them.
 */
#define FXT_TID_REAL_MAX	(4u << 20)

/* Whether the recorder wrote this event about its own clock or session. */
bool fxt_is_clock(const struct fxt_record *rec);
const struct fxt_arg *fxt_arg(const struct fxt_record *rec, const char *name);
bool fxt_text_is(const struct fxt_text *t, const char *s);
/* What an event type, an argument type is called; never NULL */
const char *fxt_event_name(unsigned int type);
const char *fxt_arg_name(unsigned int type);

#endif /* FXT_H */
