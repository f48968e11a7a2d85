// SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause)
/* Do not edit directly, auto-generated from: */
/*	uapi/asynctrace.yaml */
/* YNL-GEN kernel source, policies only */

#include "control/policy.h"

/* Integer value ranges */
static struct netlink_range_validation asynctrace_a_provider_ring_stride_range = {
	.min	= ASYNCTRACE_RING_MIN,
	.max	= ASYNCTRACE_RING_MAX,
};

static struct netlink_range_validation asynctrace_a_buffer_ring_size_range = {
	.min	= ASYNCTRACE_RING_MIN,
	.max	= ASYNCTRACE_RING_MAX,
};

static struct netlink_range_validation asynctrace_a_session_ring_size_range = {
	.min	= ASYNCTRACE_RING_MIN,
	.max	= ASYNCTRACE_RING_MAX,
};

static struct netlink_range_validation asynctrace_a_session_sub_size_range = {
	.max	= ASYNCTRACE_SUBBUF_MAX,
};

/* Common nested types */
const struct nla_policy asynctrace_buffer_nl_policy[ASYNCTRACE_A_BUFFER_RING_SIZE + 1] = {
	[ASYNCTRACE_A_BUFFER_PROVIDER] = { .type = NLA_NUL_STRING, .len = ASYNCTRACE_NAME_MAX, },
	[ASYNCTRACE_A_BUFFER_RING_SIZE] = NLA_POLICY_FULL_RANGE(NLA_U64, &asynctrace_a_buffer_ring_size_range),
};

const struct nla_policy asynctrace_known_nl_policy[ASYNCTRACE_A_KNOWN_DESCRIPTION + 1] = {
	[ASYNCTRACE_A_KNOWN_NAME] = { .type = NLA_NUL_STRING, .len = ASYNCTRACE_CATEGORY_MAX, },
	[ASYNCTRACE_A_KNOWN_DESCRIPTION] = { .type = NLA_NUL_STRING, .len = ASYNCTRACE_DESCRIPTION_MAX, },
};

/* ASYNCTRACE_CMD_PROVIDER_REGISTER - do */
const struct nla_policy asynctrace_provider_register_nl_policy[ASYNCTRACE_A_PROVIDER_RING_STRIDE + 1] = {
	[ASYNCTRACE_A_PROVIDER_COOKIE] = { .type = NLA_U64, },
	[ASYNCTRACE_A_PROVIDER_NAME] = { .type = NLA_NUL_STRING, .len = ASYNCTRACE_NAME_MAX, },
	[ASYNCTRACE_A_PROVIDER_VERSION] = { .type = NLA_U32, },
	[ASYNCTRACE_A_PROVIDER_RING_STRIDE] = NLA_POLICY_FULL_RANGE(NLA_U64, &asynctrace_a_provider_ring_stride_range),
};

/* ASYNCTRACE_CMD_PROVIDER_GET - do */
const struct nla_policy asynctrace_provider_get_nl_policy[ASYNCTRACE_A_PROVIDER_ID + 1] = {
	[ASYNCTRACE_A_PROVIDER_ID] = { .type = NLA_U32, },
};

/* ASYNCTRACE_CMD_SESSION_CREATE - do */
const struct nla_policy asynctrace_session_create_nl_policy[ASYNCTRACE_A_SESSION_BUFFER + 1] = {
	[ASYNCTRACE_A_SESSION_NAME] = { .type = NLA_NUL_STRING, .len = ASYNCTRACE_NAME_MAX, },
	[ASYNCTRACE_A_SESSION_MODE] = NLA_POLICY_RANGE(NLA_U32, 1, 3),
	[ASYNCTRACE_A_SESSION_SCHED] = NLA_POLICY_MAX(NLA_U32, 2),
	[ASYNCTRACE_A_SESSION_FLAGS] = NLA_POLICY_MASK(NLA_U32, 0x7),
	[ASYNCTRACE_A_SESSION_RING_SIZE] = NLA_POLICY_FULL_RANGE(NLA_U64, &asynctrace_a_session_ring_size_range),
	[ASYNCTRACE_A_SESSION_SUB_SIZE] = NLA_POLICY_FULL_RANGE(NLA_U64, &asynctrace_a_session_sub_size_range),
	[ASYNCTRACE_A_SESSION_CATEGORY] = { .type = NLA_STRING, .len = ASYNCTRACE_CATEGORY_MAX, },
	[ASYNCTRACE_A_SESSION_PROVIDER] = { .type = NLA_STRING, .len = ASYNCTRACE_NAME_MAX, },
	[ASYNCTRACE_A_SESSION_PID] = { .type = NLA_U32, },
	[ASYNCTRACE_A_SESSION_USER] = { .type = NLA_U32, },
	[ASYNCTRACE_A_SESSION_CGROUP] = { .type = NLA_U64, },
	[ASYNCTRACE_A_SESSION_BUFFER] = NLA_POLICY_NESTED(asynctrace_buffer_nl_policy),
};

/* ASYNCTRACE_CMD_SESSION_INIT - do */
const struct nla_policy asynctrace_session_init_nl_policy[ASYNCTRACE_A_SESSION_ID + 1] = {
	[ASYNCTRACE_A_SESSION_ID] = { .type = NLA_U32, },
};

/* ASYNCTRACE_CMD_SESSION_START - do */
const struct nla_policy asynctrace_session_start_nl_policy[ASYNCTRACE_A_SESSION_ADDITIONAL + 1] = {
	[ASYNCTRACE_A_SESSION_ID] = { .type = NLA_U32, },
	[ASYNCTRACE_A_SESSION_DISPOSITION] = NLA_POLICY_RANGE(NLA_U32, 1, 3),
	[ASYNCTRACE_A_SESSION_ADDITIONAL] = { .type = NLA_STRING, .len = ASYNCTRACE_CATEGORY_MAX, },
};

/* ASYNCTRACE_CMD_SESSION_STOP - do */
const struct nla_policy asynctrace_session_stop_nl_policy[ASYNCTRACE_A_SESSION_ID + 1] = {
	[ASYNCTRACE_A_SESSION_ID] = { .type = NLA_U32, },
};

/* ASYNCTRACE_CMD_SESSION_TERMINATE - do */
const struct nla_policy asynctrace_session_terminate_nl_policy[ASYNCTRACE_A_SESSION_ID + 1] = {
	[ASYNCTRACE_A_SESSION_ID] = { .type = NLA_U32, },
};

/* ASYNCTRACE_CMD_SESSION_GET - do, dump */
const struct nla_policy asynctrace_session_get_nl_policy[ASYNCTRACE_A_SESSION_ID + 1] = {
	[ASYNCTRACE_A_SESSION_ID] = { .type = NLA_U32, },
};

/* ASYNCTRACE_CMD_RING_GET - dump */
const struct nla_policy asynctrace_ring_get_nl_policy[ASYNCTRACE_A_RING_SESSION + 1] = {
	[ASYNCTRACE_A_RING_SESSION] = { .type = NLA_U32, },
};

/* ASYNCTRACE_CMD_PROVIDER_ANNOUNCE - do */
const struct nla_policy asynctrace_provider_announce_nl_policy[ASYNCTRACE_A_PROVIDER_KNOWN + 1] = {
	[ASYNCTRACE_A_PROVIDER_COOKIE] = { .type = NLA_U64, },
	[ASYNCTRACE_A_PROVIDER_KNOWN] = NLA_POLICY_NESTED(asynctrace_known_nl_policy),
};

/* ASYNCTRACE_CMD_SESSION_UPDATE - do */
const struct nla_policy asynctrace_session_update_nl_policy[ASYNCTRACE_A_SESSION_CATEGORY + 1] = {
	[ASYNCTRACE_A_SESSION_ID] = { .type = NLA_U32, },
	[ASYNCTRACE_A_SESSION_CATEGORY] = { .type = NLA_STRING, .len = ASYNCTRACE_CATEGORY_MAX, },
};

/* ASYNCTRACE_CMD_SUBSCRIBE - do */
const struct nla_policy asynctrace_subscribe_nl_policy[ASYNCTRACE_A_NOTIFICATION_SESSION + 1] = {
	[ASYNCTRACE_A_NOTIFICATION_KINDS] = NLA_POLICY_MASK(NLA_U32, 0x7f),
	[ASYNCTRACE_A_NOTIFICATION_SESSION] = { .type = NLA_U32, },
};
