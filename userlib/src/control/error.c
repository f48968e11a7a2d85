// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The kernel's extended acks, as sentences
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "attr_names.h"
#include "ctl.h"

/* An attribute's name as asynctrace.yaml has it, or NULL. */
static const char *at_attr_name(uint8_t cmd, unsigned int type)
{
#define NAME(set) \
	(type < MNL_ARRAY_SIZE(at_attr_names_##set) ? at_attr_names_##set[type] : NULL)
	switch (cmd) {
	case ASYNCTRACE_CMD_INFO_GET:
		return NAME(info);
	case ASYNCTRACE_CMD_PROVIDER_REGISTER:
	case ASYNCTRACE_CMD_PROVIDER_GET:
	case ASYNCTRACE_CMD_PROVIDER_ANNOUNCE:
	case ASYNCTRACE_CMD_CATEGORY_GET:
		return NAME(provider);
	case ASYNCTRACE_CMD_RING_GET:
		return NAME(ring);
	case ASYNCTRACE_CMD_SUBSCRIBE:
		return NAME(event);
	default:
		return NAME(session);
	}
#undef NAME
}

/* The range that a value has missed, as text; empty where none is told. */
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
 * Where the attributes of an ack begin: after the error and what is quoted of
 * the request, or, at the end of a dump, after the error alone.
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

/*
 * Keeps what an answer, NLMSG_ERROR or NLMSG_DONE, says about its error, and
 * returns the error.
 */
int at_ctl_explain(struct at_ctl *ctl, const struct nlmsghdr *request,
		   const struct nlmsghdr *answer)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(request);
	int err = *(const int *)mnl_nlmsg_get_payload(answer);
	const char *message = NULL, *name = NULL;
	const struct nlattr *attr;
	char range[64] = "";

	if (!(answer->nlmsg_flags & NLM_F_ACK_TLVS))
		return at_ctl_fail(ctl, err, "%s", strerror(-err));

	mnl_attr_for_each(attr, answer, at_ack_attrs(answer)) {
		uint16_t len = mnl_attr_get_payload_len(attr);
		uint32_t at;

		switch (mnl_attr_get_type(attr)) {
		case NLMSGERR_ATTR_MSG:
			if (len && !mnl_attr_get_str(attr)[len - 1])
				message = mnl_attr_get_str(attr);
			break;
		case NLMSGERR_ATTR_OFFS:
			at = len == 4 ? mnl_attr_get_u32(attr) : 0;
			if (at >= NLMSG_HDRLEN + GENL_HDRLEN &&
			    at + NLA_HDRLEN <= request->nlmsg_len)
				name = at_attr_name(genl->cmd, mnl_attr_get_type(
					(const void *)((const char *)request + at)));
			break;
		case NLMSGERR_ATTR_MISS_TYPE:
			if (len == 4)
				name = at_attr_name(genl->cmd, mnl_attr_get_u32(attr));
			break;
		case NLMSGERR_ATTR_POLICY:
			at_policy_text(attr, range, sizeof(range));
			break;
		}
	}
	return at_ctl_fail(ctl, err, "%s%s%s%s", name ? name : "", name ? ": " : "",
			   message ? message : strerror(-err), range);
}
