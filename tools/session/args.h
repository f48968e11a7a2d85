/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options that describe a session */
#ifndef AT_SESSION_ARGS_H
#define AT_SESSION_ARGS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <asynctrace/session.h>

#define SESSION_LIST_MAX	ASYNCTRACE_CATEGORIES_MAX

/* Texts from repeated options and from lists with commas */
struct session_list {
	const char *of[SESSION_LIST_MAX];
	size_t nr;
};

/**
 * struct session_args - a session as the command line describes it
 * @name: name of the session
 * @ring_size: bytes of each ring
 * @size_text: the size as the user wrote it
 * @mode: enum asynctrace_mode
 * @sched: enum asynctrace_sched
 * @categories: patterns
 * @patterns: names of providers
 * @pids: processes to record
 * @nr_pids: number of processes
 * @uids: users to record
 * @nr_uids: number of users
 * @cgroups: inodes of cgroups to record
 * @nr_cgroups: number of cgroups
 * @follow: also record descendants of @pids
 * @buffers: patterns of providers whose rings have another size
 * @nr_buffers: number of patterns
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

/* Values of long options without a letter begin here. */
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

/*
 * Lines of a help text about these options, without SESSION_OPT_FOLLOW: each command describes
 * that option in its own words.
 */
#define SESSION_OPTIONS_HELP \
	"  -c, --categories LIST   only these categories, separated by commas; 'net*' means\n" \
	"                          all that begin with net, -NAME excludes NAME\n" \
	"                          (default: all)\n" \
	"  -p, --providers LIST    only these providers, separated by commas; 'http*' means\n" \
	"                          all that begin with http (default: all that you may\n" \
	"                          record)\n" \
	"  -b, --buffer-size SIZE  size of each CPU's ring, for each provider and the kernel: a\n" \
	"                          power of two from 16K to 1G (default: 1M); programs have\n" \
	"                          up to 16M unless they reserve more addresses;\n" \
	"                          PATTERN=SIZE: for matching providers\n" \
	"  -s, --sched WHICH       scheduling of targets (the providers' threads, and their\n" \
	"                          wakers; default), all (all threads), or off\n" \
	"      --pid LIST          only providers in these processes\n" \
	"      --uid LIST          only providers of these users, names or numbers\n" \
	"      --cgroup PATH       only providers in this cgroup and below it\n"

void session_args_init(struct session_args *a);
/*
 * Takes an option of SESSION_LONG_OPTIONS. Returns false after a message if its value is wrong.
 * Returns false without a message for any other option.
 */
bool session_args_take(struct session_args *a, int opt, char *value);
bool session_args_name(struct session_args *a, const char *name);
/*
 * Adds the parts of @text, which commas separate, to @l. Splits @text in place. @longest: limit of
 * bytes of a part. @what: name of the option. Returns false after a message if @text is wrong.
 */
bool session_list_take(struct session_list *l, char *text, size_t longest, const char *what);

/*
 * Makes the session. Returns 0, or a negative errno after a message, which names a remedy if an
 * option is the cause. @info: limits of the module
 */
int session_args_create(const struct session_args *a, struct at_ctl *ctl,
			const struct at_info *info, uint32_t flags, uint32_t *id);
/*
 * Initializes the session. Returns 0, or a negative errno after a message. If memory is short, the
 * message names the ring size in @a.
 */
int session_args_init_session(const struct session_args *a, struct at_ctl *ctl,
			      const struct at_info *info, uint32_t id);
/* Returns how many rings a provider has, or the kernel: one of each CPU, and a spare one. */
static inline uint64_t session_args_rings(const struct at_info *info)
{
	return info->online_cpus + UINT64_C(1);
}

/*
 * Prints that the ring size is too large, why, and the largest size that fits. @reason: the
 * module's message; NULL: prints how the needed memory is computed
 */
void session_args_too_large(const struct session_args *a, struct at_ctl *ctl,
			    const struct at_info *info, const char *reason);

/*
 * Returns true if the rings of the provider cannot have the size that the options ask for, unless
 * session_args_tell_small() was called before.
 */
bool session_args_is_small(const struct session_args *a, const struct at_provider_info *p);
/* Prints that the provider's rings are smaller than the options ask for, and how to change that. */
void session_args_tell_small(const struct session_args *a, const struct at_provider_info *p);

/* find.c */

/*
 * Finds the session that @text names: one of the caller's by its name, or any by its id.
 * Returns 0, or a negative errno after a message.
 */
int session_find(struct at_ctl *ctl, const char *text, uint32_t *id);

struct json_doc;
/* Adds the properties of a session to the open object of @j. */
void session_json(struct json_doc *j, const struct at_session_info *s);

#endif /* AT_SESSION_ARGS_H */
