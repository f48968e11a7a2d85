/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that the subcommands share */
#ifndef AT_TOOL_H
#define AT_TOOL_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifndef ASYNCTRACE_VERSION
#define ASYNCTRACE_VERSION "0.1.0"
#endif

/* Exit statuses. */
enum {
	TOOL_OK		= 0,
	TOOL_FAILED	= 1,
	TOOL_USAGE	= 2,
	TOOL_INCOMPLETE	= 3,	/* the end of a trace is missing; the rest was used */
};

/*
 * The subcommands. tool_begin() has set argv[0], and optind is 1. They return an exit status.
 */
int record_main(int argc, char **argv);
int session_main(int argc, char **argv);
int providers_main(int argc, char **argv);
int categories_main(int argc, char **argv);
int doctor_main(int argc, char **argv);
int status_main(int argc, char **argv);
int dump_main(int argc, char **argv);
int validate_main(int argc, char **argv);
int why_main(int argc, char **argv);
int report_main(int argc, char **argv);
int top_main(int argc, char **argv);

/* Prefix of messages: "asynctrace SUBCOMMAND: message" */
extern const char *tool_name;
/*
 * Sets the subcommand, such as "record" or "session start", for tool_error() and for messages
 * of getopt.
 */
void tool_begin(const char *name, char **argv);
void __attribute__((format(printf, 1, 2))) tool_error(const char *fmt, ...);
/* Reports that the trace @path cannot be read because of @why. */
void tool_cannot_read(const char *path, const char *why);

/* Prints a text that may be longer than the buffer of standard output. */
void tool_help(const char *text);
/*
 * Flushes standard output. Returns 0, or the errno of the first call that failed, or -1 if that is
 * unknown.
 */
int tool_flush(void);
/* Prints @len bytes and flushes standard output. Returns the same as tool_flush(). */
int tool_print(const char *text, size_t len);
/*
 * Flushes standard output. Returns the exit status of a command that would exit with @status: if
 * some output could not be written, prints a message and returns a status that is not 0. EPIPE is
 * no failure: head(1), for example, closes a pipe when it needs no more.
 */
int tool_end(int status);

/* Is getopt_long(), but its messages have no text that a terminal could obey. */
int tool_getopt(int argc, char **argv, const char *letters, const struct option *options);
/*
 * Parses the options of a command that has only --json and --help, and no arguments. Returns -1
 * to continue, or an exit status.
 */
int tool_listing_options(int argc, char **argv, const char *usage, bool *as_json);

/*
 * Parses a whole number of digits. Returns false if the text is wrong or the number overflows.
 */
bool tool_parse_number(const char *text, uint64_t *number);

/*
 * Parses a size such as "64K", "1M", "2G" or "4096": bytes, with a suffix in powers of 1024,
 * also as "64KiB". Returns false if the text is wrong or the number overflows.
 */
bool tool_parse_size(const char *text, uint64_t *bytes);

/* Return text in one of a few static buffers, enough for the arguments of one printf(). */
const char *tool_size(uint64_t bytes);		/* "1.5 MiB" */
const char *tool_short_size(uint64_t bytes);	/* "1536K", as options are written */
const char *tool_count(uint64_t n);		/* "1,234,567" */
const char *tool_text(const char *text);	/* control characters and malformed UTF-8
						   become '?'; if memory for a long
						   text is short, "..." ends its begin */
const char *tool_user(uint32_t uid);

/* Names of values in linux/asynctrace_netlink.h; "?" if unknown */
const char *tool_mode(uint32_t mode);
const char *tool_sched(uint32_t sched);
const char *tool_state(uint32_t state);
const char *tool_ring_kind(uint32_t kind);
/* Return the value of a name, or -1. */
int tool_parse_mode(const char *text);
int tool_parse_sched(const char *text);

/*
 * A JSON document that is built value by value. A document filled with zeros is valid and empty.
 * @key is NULL in an array and for the outermost value. Text may be invalid UTF-8.
 */
#define JSON_DOC_DEPTH	8

struct json_doc {
	struct json_t *document, *open[JSON_DOC_DEPTH];
	int depth;
	bool failed;
};

void doc_object(struct json_doc *d, const char *key);
void doc_array(struct json_doc *d, const char *key);
void doc_close(struct json_doc *d);
void doc_string(struct json_doc *d, const char *key, const char *value);
void doc_number(struct json_doc *d, const char *key, uint64_t value);
void doc_bool(struct json_doc *d, const char *key, bool value);
/*
 * Prints the document on standard output and empties it. Returns false if that failed; tool_end()
 * then prints a message, unless memory was missing, which doc_write() has said.
 */
bool doc_write(struct json_doc *d);

#endif /* AT_TOOL_H */
