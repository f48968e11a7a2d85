// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds sessions by name or id */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session/args.h"
#include "tool.h"

struct search {
	const char *text;
	uint32_t number;	/* the text as an id; 0: the text is not an id */
	uint32_t uid;
	uint32_t mine;		/* id of the caller's session with that name; 0: none */
	uint32_t by_id;		/* .number, if there is such a session; 0: none */
	uint32_t others;	/* id of another user's session with that name; 0: none */
	uint32_t others_uid;
	unsigned int nr_others;
};

static int look(const struct at_session_info *s, void *arg)
{
	struct search *f = arg;

	if (s->id == f->number)
		f->by_id = s->id;
	if (strcmp(s->name, f->text))
		return 0;
	if (s->uid == f->uid) {
		f->mine = s->id;
		return 0;
	}
	f->nr_others++;
	f->others = s->id;
	f->others_uid = s->uid;
	return 0;
}

int session_find(struct at_ctl *ctl, const char *text, uint32_t *id)
{
	struct search f = { .text = text, .uid = geteuid() };
	char *end;
	int err;

	if (isdigit((unsigned char)*text)) {
		unsigned long long number = strtoull(text, &end, 10);

		if (!*end && number <= UINT32_MAX)
			f.number = number;
	}
	err = at_for_each_session(ctl, look, &f);
	if (err) {
		tool_error("%s", at_ctl_error(ctl));
		return err;
	}
	*id = f.mine ? f.mine : f.by_id;
	if (*id)
		return 0;
	if (f.nr_others == 1)
		tool_error("session '%s' belongs to %s; use its id, %u", tool_text(text),
			   tool_user(f.others_uid), f.others);
	else if (f.nr_others)
		tool_error("%u other users have a session '%s'; use the id that asynctrace session list shows",
			   f.nr_others, tool_text(text));
	else
		tool_error("there is no session '%s' that you may see; try asynctrace session list",
			   tool_text(text));
	return -ENOENT;
}

static void json_list(struct json_doc *j, const char *key, const char *const *list, size_t nr)
{
	doc_array(j, key);
	for (size_t i = 0; i < nr; i++)
		doc_string(j, NULL, list[i]);
	doc_close(j);
}

static void json_numbers(struct json_doc *j, const char *key, const uint32_t *list, size_t nr)
{
	doc_array(j, key);
	for (size_t i = 0; i < nr; i++)
		doc_number(j, NULL, list[i]);
	doc_close(j);
}

void session_json(struct json_doc *j, const struct at_session_info *s)
{
	doc_number(j, "id", s->id);
	doc_string(j, "name", s->name);
	doc_number(j, "uid", s->uid);
	doc_string(j, "state", tool_state(s->state));
	doc_string(j, "mode", tool_mode(s->mode));
	doc_string(j, "sched", tool_sched(s->sched));
	doc_bool(j, "detached", s->flags & ASYNCTRACE_SESSION_FLAGS_DETACHED);
	doc_bool(j, "consumed", s->consumed);
	doc_number(j, "providers", s->providers);
	doc_number(j, "ended", s->ended);
	doc_number(j, "late", s->late);
	doc_number(j, "refused_providers", s->refused_providers);
	doc_number(j, "ring_size", s->ring_size);
	doc_number(j, "sub_size", s->sub_size);
	doc_number(j, "memory", s->pages * sysconf(_SC_PAGESIZE));
	doc_number(j, "refused_rings", s->refused);
	doc_number(j, "threads_missed", s->threads_missed);
	doc_number(j, "probe_calls", s->probe_calls);
	doc_number(j, "probe_records", s->probe_records);
	if (s->categories)
		json_list(j, "categories", s->categories, s->nr_categories);
	if (s->patterns)
		json_list(j, "provider_patterns", s->patterns, s->nr_patterns);
	doc_bool(j, "follow", s->flags & ASYNCTRACE_SESSION_FLAGS_FOLLOW);
	if (s->pids)
		json_numbers(j, "pids", s->pids, s->nr_pids);
	if (s->users)
		json_numbers(j, "uids", s->users, s->nr_users);
	if (s->cgroups) {
		doc_array(j, "cgroups");
		for (size_t i = 0; i < s->nr_cgroups; i++)
			doc_number(j, NULL, s->cgroups[i]);
		doc_close(j);
	}
	if (!s->buffers)
		return;
	doc_array(j, "buffers");
	for (size_t i = 0; i < s->nr_buffers; i++) {
		doc_object(j, NULL);
		doc_string(j, "provider", s->buffers[i].provider);
		doc_number(j, "ring_size", s->buffers[i].ring_size);
		doc_close(j);
	}
	doc_close(j);
}
