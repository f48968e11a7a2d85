// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Reading attributes of the kernel's messages, and writing attributes of requests
 *
 * A newer kernel may have more attributes, or values of another size. An attribute with an
 * unexpected size is treated as absent.
 */
#include <errno.h>
#include <string.h>

#include "ctl.h"

void at_parse(const struct nlmsghdr *nlh, struct at_attrs *attrs)
{
	const struct nlattr *attr;

	memset(attrs, 0, sizeof(*attrs));
	mnl_attr_for_each(attr, nlh, GENL_HDRLEN)
		if (mnl_attr_get_type(attr) < AT_ATTRS_MAX)
			attrs->at[mnl_attr_get_type(attr)] = attr;
}

/* Returns an attribute's value, 0 if it is absent or has another size. */
uint32_t at_attr_u32(const struct at_attrs *attrs, int type)
{
	const struct nlattr *attr = attrs->at[type];

	return attr && mnl_attr_get_payload_len(attr) == 4 ? mnl_attr_get_u32(attr) : 0;
}

uint64_t at_attr_u64(const struct at_attrs *attrs, int type)
{
	const struct nlattr *attr = attrs->at[type];

	return attr && mnl_attr_get_payload_len(attr) == 8 ? mnl_attr_get_u64(attr) : 0;
}

/* Returns the text of an attribute, "" if it is absent or no string. */
const char *at_string(const struct nlattr *attr)
{
	size_t len = attr ? mnl_attr_get_payload_len(attr) : 0;
	const char *text = attr ? mnl_attr_get_str(attr) : NULL;

	return len && !text[len - 1] ? text : "";
}

/* Returns the text of an attribute, "" if it is absent. */
const char *at_attr_str(const struct at_attrs *attrs, int type)
{
	return at_string(attrs->at[type]);
}

/* Appends a list of strings. Returns false if they do not fit into @room. */
bool at_put_strings(struct nlmsghdr *nlh, size_t room, uint16_t type, const char *const *list,
		    size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!mnl_attr_put_strz_check(nlh, room, type, list[i]))
			return false;
	return true;
}

static bool at_put_filters(struct nlmsghdr *nlh, size_t room,
			   const struct at_session_options *opts)
{
	for (size_t i = 0; i < opts->nr_pids; i++)
		if (!mnl_attr_put_u32_check(nlh, room, ASYNCTRACE_A_SESSION_PID, opts->pids[i]))
			return false;
	for (size_t i = 0; i < opts->nr_users; i++)
		if (!mnl_attr_put_u32_check(nlh, room, ASYNCTRACE_A_SESSION_USER, opts->users[i]))
			return false;
	for (size_t i = 0; i < opts->nr_cgroups; i++)
		if (!mnl_attr_put_u64_check(nlh, room, ASYNCTRACE_A_SESSION_CGROUP,
					    opts->cgroups[i]))
			return false;
	return true;
}

static bool at_put_buffers(struct nlmsghdr *nlh, size_t room,
			   const struct at_session_options *opts)
{
	for (size_t i = 0; i < opts->nr_buffers; i++) {
		const struct at_buffer_size *b = &opts->buffers[i];
		struct nlattr *nest;

		nest = mnl_attr_nest_start_check(nlh, room, ASYNCTRACE_A_SESSION_BUFFER);
		if (!nest ||
		    !mnl_attr_put_strz_check(nlh, room, ASYNCTRACE_A_BUFFER_PROVIDER,
					     b->provider) ||
		    !mnl_attr_put_u64_check(nlh, room, ASYNCTRACE_A_BUFFER_RING_SIZE,
					    b->ring_size))
			return false;
		mnl_attr_nest_end(nlh, nest);
	}
	return true;
}

/* Appends the attributes of a session. Returns -E2BIG if they do not fit into @room. */
int at_put_session(struct nlmsghdr *nlh, size_t room, const struct at_session_options *opts)
{
	if (!mnl_attr_put_strz_check(nlh, room, ASYNCTRACE_A_SESSION_NAME, opts->name) ||
	    !mnl_attr_put_u32_check(nlh, room, ASYNCTRACE_A_SESSION_MODE, opts->mode) ||
	    !mnl_attr_put_u32_check(nlh, room, ASYNCTRACE_A_SESSION_SCHED, opts->sched) ||
	    !mnl_attr_put_u32_check(nlh, room, ASYNCTRACE_A_SESSION_FLAGS, opts->flags) ||
	    !mnl_attr_put_u64_check(nlh, room, ASYNCTRACE_A_SESSION_RING_SIZE,
				    opts->ring_size) ||
	    (opts->sub_size &&
	     !mnl_attr_put_u64_check(nlh, room, ASYNCTRACE_A_SESSION_SUB_SIZE,
				     opts->sub_size)) ||
	    !at_put_strings(nlh, room, ASYNCTRACE_A_SESSION_CATEGORY,
			    opts->categories, opts->nr_categories) ||
	    !at_put_strings(nlh, room, ASYNCTRACE_A_SESSION_PROVIDER,
			    opts->providers, opts->nr_providers) ||
	    !at_put_filters(nlh, room, opts) || !at_put_buffers(nlh, room, opts))
		return -E2BIG;
	return 0;
}

/* Filters and buffer sizes of a session, in addition to the names of providers. */
struct at_filters {
	uint32_t pids[ASYNCTRACE_CATEGORIES_MAX];
	uint32_t users[ASYNCTRACE_CATEGORIES_MAX];
	uint64_t cgroups[ASYNCTRACE_CATEGORIES_MAX];
	struct at_buffer_size buffers[ASYNCTRACE_CATEGORIES_MAX];
};

static void at_parse_buffer(const struct nlattr *nest, struct at_buffer_size *buffer)
{
	const struct nlattr *attr;

	*buffer = (struct at_buffer_size){ .provider = "" };
	mnl_attr_for_each_nested(attr, nest) {
		uint16_t type = mnl_attr_get_type(attr);

		if (type == ASYNCTRACE_A_BUFFER_PROVIDER)
			buffer->provider = at_string(attr);
		if (type == ASYNCTRACE_A_BUFFER_RING_SIZE && mnl_attr_get_payload_len(attr) == 8)
			buffer->ring_size = mnl_attr_get_u64(attr);
	}
}

static void at_parse_filter(const struct nlattr *attr, struct at_session_info *s,
			    struct at_filters *f)
{
	const size_t len = mnl_attr_get_payload_len(attr), max = ASYNCTRACE_CATEGORIES_MAX;

	switch (mnl_attr_get_type(attr)) {
	case ASYNCTRACE_A_SESSION_PID:
		if (len == 4 && s->nr_pids < max)
			f->pids[s->nr_pids++] = mnl_attr_get_u32(attr);
		break;
	case ASYNCTRACE_A_SESSION_USER:
		if (len == 4 && s->nr_users < max)
			f->users[s->nr_users++] = mnl_attr_get_u32(attr);
		break;
	case ASYNCTRACE_A_SESSION_CGROUP:
		if (len == 8 && s->nr_cgroups < max)
			f->cgroups[s->nr_cgroups++] = mnl_attr_get_u64(attr);
		break;
	case ASYNCTRACE_A_SESSION_BUFFER:
		if (s->nr_buffers < max)
			at_parse_buffer(attr, &f->buffers[s->nr_buffers++]);
		break;
	}
}

/* Reads a session, and calls @fn with it. */
int at_parse_session(const struct nlmsghdr *nlh, at_session_fn fn, void *arg)
{
	const char *categories[ASYNCTRACE_CATEGORIES_MAX];
	const char *patterns[ASYNCTRACE_CATEGORIES_MAX];
	struct at_filters f;
	struct at_session_info s = {
		.categories = categories, .patterns = patterns, .pids = f.pids, .users = f.users,
		.cgroups = f.cgroups, .buffers = f.buffers,
	};
	const struct nlattr *attr;
	struct at_attrs a;

	at_parse(nlh, &a);
	s.id = at_attr_u32(&a, ASYNCTRACE_A_SESSION_ID);
	s.state = at_attr_u32(&a, ASYNCTRACE_A_SESSION_STATE);
	s.mode = at_attr_u32(&a, ASYNCTRACE_A_SESSION_MODE);
	s.sched = at_attr_u32(&a, ASYNCTRACE_A_SESSION_SCHED);
	s.flags = at_attr_u32(&a, ASYNCTRACE_A_SESSION_FLAGS);
	s.uid = at_attr_u32(&a, ASYNCTRACE_A_SESSION_UID);
	s.providers = at_attr_u32(&a, ASYNCTRACE_A_SESSION_PROVIDERS);
	s.late = at_attr_u32(&a, ASYNCTRACE_A_SESSION_LATE);
	s.refused_providers = at_attr_u32(&a, ASYNCTRACE_A_SESSION_REFUSED_PROVIDERS);
	s.consumed = a.at[ASYNCTRACE_A_SESSION_CONSUMED];
	s.ring_size = at_attr_u64(&a, ASYNCTRACE_A_SESSION_RING_SIZE);
	s.sub_size = at_attr_u64(&a, ASYNCTRACE_A_SESSION_SUB_SIZE);
	s.pages = at_attr_u64(&a, ASYNCTRACE_A_SESSION_PAGES);
	s.refused = at_attr_u64(&a, ASYNCTRACE_A_SESSION_REFUSED);
	s.probe_calls = at_attr_u64(&a, ASYNCTRACE_A_SESSION_PROBE_CALLS);
	s.probe_records = at_attr_u64(&a, ASYNCTRACE_A_SESSION_PROBE_RECORDS);
	s.generation = at_attr_u32(&a, ASYNCTRACE_A_SESSION_GENERATION);
	s.threads_missed = at_attr_u64(&a, ASYNCTRACE_A_SESSION_THREADS_MISSED);
	s.ended = at_attr_u32(&a, ASYNCTRACE_A_SESSION_ENDED);
	s.name = at_attr_str(&a, ASYNCTRACE_A_SESSION_NAME);
	mnl_attr_for_each(attr, nlh, GENL_HDRLEN) {
		uint16_t type = mnl_attr_get_type(attr);

		if (type == ASYNCTRACE_A_SESSION_CATEGORY &&
		    s.nr_categories < ASYNCTRACE_CATEGORIES_MAX)
			categories[s.nr_categories++] = at_string(attr);
		if (type == ASYNCTRACE_A_SESSION_PROVIDER &&
		    s.nr_patterns < ASYNCTRACE_CATEGORIES_MAX)
			patterns[s.nr_patterns++] = at_string(attr);
		at_parse_filter(attr, &s, &f);
	}
	return fn(&s, arg);
}
