// SPDX-License-Identifier: LGPL-2.1-or-later
/* Error messages: storing a message, and making one from an extended ack of the kernel */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "attr_names.h"
#include "ctl.h"

/* Stores a message about @err, and returns @err. */
int at_ctl_fail(struct at_ctl *ctl, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(ctl->error, sizeof(ctl->error), fmt, ap);
	va_end(ap);
	return err;
}

const char *at_ctl_error(const struct at_ctl *ctl)
{
	return ctl ? ctl->error : "out of memory";
}

/*
 * A set of attributes and their names, as in asynctrace.yaml. The set of an unknown nest has no
 * names.
 */
struct at_attr_set {
	const char *const *names;
	size_t nr;
};

#define AT_ATTR_SET(set) \
	((struct at_attr_set){ at_attr_names_##set, MNL_ARRAY_SIZE(at_attr_names_##set) })

/* Returns the attribute set of a request. */
static struct at_attr_set at_attrs_of(uint8_t cmd)
{
	switch (cmd) {
	case ASYNCTRACE_CMD_INFO_GET:
		return AT_ATTR_SET(info);
	case ASYNCTRACE_CMD_PROVIDER_REGISTER:
	case ASYNCTRACE_CMD_PROVIDER_GET:
	case ASYNCTRACE_CMD_PROVIDER_ANNOUNCE:
	case ASYNCTRACE_CMD_CATEGORY_GET:
		return AT_ATTR_SET(provider);
	case ASYNCTRACE_CMD_RING_GET:
		return AT_ATTR_SET(ring);
	case ASYNCTRACE_CMD_SUBSCRIBE:
		return AT_ATTR_SET(notification);
	default:
		return AT_ATTR_SET(session);
	}
}

/* Returns the attribute set of the nest that an attribute of @set contains. */
static struct at_attr_set at_attrs_within(struct at_attr_set set, unsigned int type)
{
	if (set.names == at_attr_names_session && type == ASYNCTRACE_A_SESSION_BUFFER)
		return AT_ATTR_SET(buffer);
	if (set.names == at_attr_names_provider && type == ASYNCTRACE_A_PROVIDER_KNOWN)
		return AT_ATTR_SET(known);
	return (struct at_attr_set){ 0 };
}

/*
 * Appends the name of one attribute and ": " to @path. Must be called for the outermost attribute
 * first. Two calls make "buffer: ring-size: ".
 */
static void at_path_add(char *path, size_t size, struct at_attr_set set, unsigned int type)
{
	const size_t len = strlen(path);

	if (type < set.nr && set.names[type])
		snprintf(path + len, size - len, "%s: ", set.names[type]);
}

/* Appends the names of the attributes around @offset. Returns the set of the innermost nest. */
static struct at_attr_set at_path_to(const struct nlmsghdr *request, uint32_t offset,
				     struct at_attr_set set, char *path, size_t size)
{
	size_t at = NLMSG_HDRLEN + GENL_HDRLEN, end = request->nlmsg_len;

	while (set.nr && at <= offset && at + NLA_HDRLEN <= end) {
		const struct nlattr *attr = (const void *)((const char *)request + at);
		const unsigned int type = mnl_attr_get_type(attr);

		if (attr->nla_len < NLA_HDRLEN || attr->nla_len > end - at)
			break;
		if (offset >= at + MNL_ALIGN(attr->nla_len)) {
			at += MNL_ALIGN(attr->nla_len);
			continue;
		}
		at_path_add(path, size, set, type);
		set = at_attrs_within(set, type);
		if (offset == at)
			break;
		end = at + attr->nla_len;
		at += NLA_HDRLEN;
	}
	return set;
}

/* Writes the allowed range of a value to @text. Changes nothing if the kernel gave no range. */
static void at_policy_text(const struct nlattr *policy, char *text, size_t size)
{
	const struct nlattr *attr, *min = NULL, *max = NULL;

	mnl_attr_for_each_nested(attr, policy) {
		if (mnl_attr_get_payload_len(attr) != 8)
			continue;
		if (mnl_attr_get_type(attr) == NL_POLICY_TYPE_ATTR_MIN_VALUE_U)
			min = attr;
		if (mnl_attr_get_type(attr) == NL_POLICY_TYPE_ATTR_MAX_VALUE_U)
			max = attr;
	}
	if (min && max)
		snprintf(text, size, " (%" PRIu64 " to %" PRIu64 ")",
			 mnl_attr_get_u64(min), mnl_attr_get_u64(max));
}

/*
 * Returns the offset of the attributes in the payload of an ack. In NLMSG_ERROR, they follow the
 * error and the quoted part of the request. In NLMSG_DONE, they follow the error.
 */
static size_t at_ack_attrs(const struct nlmsghdr *answer)
{
	const struct nlmsgerr *e = mnl_nlmsg_get_payload(answer);

	if (answer->nlmsg_type == NLMSG_DONE)
		return MNL_ALIGN(sizeof(int));
	if (answer->nlmsg_flags & NLM_F_CAPPED)
		return sizeof(*e);
	return sizeof(*e) + MNL_ALIGN(e->msg.nlmsg_len) - NLMSG_HDRLEN;
}

/* Stores a message about the error of an answer, NLMSG_ERROR or NLMSG_DONE. Returns the error. */
int at_ctl_explain(struct at_ctl *ctl, const struct nlmsghdr *request,
		   const struct nlmsghdr *answer)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(request);
	int err = *(const int *)mnl_nlmsg_get_payload(answer);
	struct at_attr_set set = at_attrs_of(genl->cmd);
	const char *message = NULL;
	const struct nlattr *attr;
	/*
	 * offset of the wrong attribute in the request, and type of a missing attribute; 0: not
	 * given
	 */
	uint32_t at = 0, missing = 0;
	char range[64] = "", path[64] = "";

	if (!(answer->nlmsg_flags & NLM_F_ACK_TLVS))
		return at_ctl_fail(ctl, err, "%s", strerror(-err));

	mnl_attr_for_each(attr, answer, at_ack_attrs(answer)) {
		uint16_t len = mnl_attr_get_payload_len(attr);

		switch (mnl_attr_get_type(attr)) {
		case NLMSGERR_ATTR_MSG:
			if (len && !mnl_attr_get_str(attr)[len - 1])
				message = mnl_attr_get_str(attr);
			break;
		case NLMSGERR_ATTR_OFFS:
		case NLMSGERR_ATTR_MISS_NEST:
			at = len == 4 ? mnl_attr_get_u32(attr) : 0;
			break;
		case NLMSGERR_ATTR_MISS_TYPE:
			missing = len == 4 ? mnl_attr_get_u32(attr) : 0;
			break;
		case NLMSGERR_ATTR_POLICY:
			at_policy_text(attr, range, sizeof(range));
			break;
		}
	}
	if (at)
		set = at_path_to(request, at, set, path, sizeof(path));
	if (missing)
		at_path_add(path, sizeof(path), set, missing);
	return at_ctl_fail(ctl, err, "%s%s%s", path, message ? message : strerror(-err), range);
}
