/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	uapi/asynctrace.yaml */
/* YNL-GEN kernel header, policies only */

#ifndef AT_POLICY_H
#define AT_POLICY_H

#include <net/netlink.h>
#include <linux/asynctrace_netlink.h>
#include <linux/asynctrace.h>

extern const struct nla_policy asynctrace_buffer_nl_policy[ASYNCTRACE_A_BUFFER_RING_SIZE + 1];
extern const struct nla_policy asynctrace_known_nl_policy[ASYNCTRACE_A_KNOWN_DESCRIPTION + 1];
extern const struct nla_policy asynctrace_provider_register_nl_policy[ASYNCTRACE_A_PROVIDER_RING_STRIDE + 1];
extern const struct nla_policy asynctrace_provider_get_nl_policy[ASYNCTRACE_A_PROVIDER_ID + 1];
extern const struct nla_policy asynctrace_session_create_nl_policy[ASYNCTRACE_A_SESSION_BUFFER + 1];
extern const struct nla_policy asynctrace_session_init_nl_policy[ASYNCTRACE_A_SESSION_ID + 1];
extern const struct nla_policy asynctrace_session_start_nl_policy[ASYNCTRACE_A_SESSION_ADDITIONAL + 1];
extern const struct nla_policy asynctrace_session_stop_nl_policy[ASYNCTRACE_A_SESSION_ID + 1];
extern const struct nla_policy asynctrace_session_terminate_nl_policy[ASYNCTRACE_A_SESSION_ID + 1];
extern const struct nla_policy asynctrace_session_get_nl_policy[ASYNCTRACE_A_SESSION_ID + 1];
extern const struct nla_policy asynctrace_ring_get_nl_policy[ASYNCTRACE_A_RING_SESSION + 1];
extern const struct nla_policy asynctrace_provider_announce_nl_policy[ASYNCTRACE_A_PROVIDER_KNOWN + 1];
extern const struct nla_policy asynctrace_session_update_nl_policy[ASYNCTRACE_A_SESSION_CATEGORY + 1];
extern const struct nla_policy asynctrace_subscribe_nl_policy[ASYNCTRACE_A_NOTIFICATION_SESSION + 1];

#endif /* AT_POLICY_H */
