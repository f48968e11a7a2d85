/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a session is made of, as a command line says it
 */
#ifndef AT_SESSION_ARGS_H
#define AT_SESSION_ARGS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <asynctrace/session.h>

#define SESSION_LIST_MAX	ASYNCTRACE_CATEGORIES_MAX

/* A list of texts, each once given with an option, or between commas. */
struct session_list {
	const char *of[SESSION_LIST_MAX];
	size_t nr;
};

/**
 * struct session_args - see above
 * @name: of the session
 * @ring_size: bytes
 * @size_text: as it was written
 * @mode: enum asynctrace_mode
 * @sched: enum asynctrace_sched
 * @categories: patterns
 * @patterns: names of providers
 * @pids: processes wanted
 * @nr_pids: of them
 * @uids: users wanted
 * @nr_uids: of them
 * @cgroups: inodes of cgroups wanted
 * @nr_cgroups: of them
 * @follow: their descendants, too
 * @buffers: providers whose rings have another size
 * @nr_buffers: of them
 */
struct session_args {
	const char *name;
	uint64_t ring_size;
	const char *size_text;
	uint32_t mode;
	uint32_t sched;
	struct session_list categories;
	struct session_list patterns;
	uint32_t pids[SESSION_LIST_MAX];
	size_t nr_pids;
	uint32_t uids[SESSION_LIST_MAX];
	size_t nr_uids;
	uint64_t cgroups[SESSION_LIST_MAX];
	size_t nr_cgroups;
	bool follow;
	struct at_buffer_size buffers[SESSION_LIST_MAX];
	size_t nr_buffers;
};

/* Long options without a letter, from here on. */
enum {
	SESSION_OPT_PID = 0x100,
	SESSION_OPT_UID,
	SESSION_OPT_CGROUP,
	SESSION_OPT_FOLLOW,
	SESSION_OPT_END,
};

#define SESSION_SHORT_OPTIONS	"c:p:m:b:s:"
#define SESSION_LONG_OPTIONS \
	{ "categories", required_argument, NULL, 'c' }, \
	{ "providers", required_argument, NULL, 'p' }, \
	{ "mode", required_argument, NULL, 'm' }, \
	{ "buffer-size", required_argument, NULL, 'b' }, \
	{ "sched", required_argument, NULL, 's' }, \
	{ "pid", required_argument, NULL, SESSION_OPT_PID }, \
	{ "uid", required_argument, NULL, SESSION_OPT_UID }, \
	{ "cgroup", required_argument, NULL, SESSION_OPT_CGROUP }, \
	{ "follow", no_argument, NULL, SESSION_OPT_FOLLOW }

/* The lines of a help text about these; %s is about --follow. */
#define SESSION_OPTIONS_HELP \
	"  -c, --categories LIST   only these categories, separated by commas; 'net*' is\n" \
	"                          all that begin with net, -NAME what is left out\n" \
	"                          (default: all)\n" \
	"  -p, --providers LIST    only these providers, separated by commas; 'http*' is\n" \
	"                          all that begin with http (default: all that you may\n" \
	"                          record)\n" \
	"  -b, --buffer-size SIZE  of each CPU's ring, for each provider and the kernel: a\n" \
	"                          power of two from 16K to 1G (default: 1M);\n" \
	"                          PATTERN=SIZE: of those providers\n" \
	"  -s, --sched WHOSE       scheduling of targets (the providers' threads, and who\n" \
	"                          wakes them; default), all (everybody's), or off\n" \
	"      --pid LIST          only providers in these processes\n" \
	"      --uid LIST          only those of these users, names or numbers\n" \
	"      --cgroup PATH       only those in this cgroup and below it\n"

void session_args_init(struct session_args *a);
/*
 * Takes an option of SESSION_LONG_OPTIONS. False, and a message, where its value
 * is wrong; also for an option that is none of these, without a message.
 */
bool session_args_take(struct session_args *a, int opt, char *value);
bool session_args_name(struct session_args *a, const char *name);
/* Splits a list at its commas, in place. False, and a message, where it is wrong. */
bool session_list_take(struct session_list *l, char *text, size_t longest, const char *what);

/*
 * Makes the session. 0, or a negative errno, and a message that names the
 * remedy. @info: of the module.
 */
int session_args_create(const struct session_args *a, struct at_ctl *ctl,
			const struct at_info *info, uint32_t flags, uint32_t *id);
/* Initializes it, with messages about @a's sizes. */
int session_args_init_session(const struct session_args *a, struct at_ctl *ctl,
			      const struct at_info *info, uint32_t id);
/* The arithmetic, and the largest size that fits. @reason: the module's, or NULL */
void session_args_too_large(const struct session_args *a, struct at_ctl *ctl,
			    const struct at_info *info, const char *reason);

/* session_find.c */

/*
 * The id of the session that @text names: one of the caller's by its name, or
 * any by its id. 0, or a negative errno, and a message.
 */
int session_find(struct at_ctl *ctl, const char *text, uint32_t *id);

struct json_doc;
/* What a list tells of a session, within an object. */
void session_json(struct json_doc *j, const struct at_session_info *s);

#endif /* AT_SESSION_ARGS_H */
