/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Do not edit: uapi/generate made it from uapi/asynctrace.yaml. */
#include <linux/asynctrace_netlink.h>

static const char *const at_attr_names_info[] = {
	[ASYNCTRACE_A_INFO_ABI] = "abi",
	[ASYNCTRACE_A_INFO_CLOCK] = "clock",
	[ASYNCTRACE_A_INFO_NR_CPUS] = "nr-cpus",
	[ASYNCTRACE_A_INFO_ONLINE_CPUS] = "online-cpus",
	[ASYNCTRACE_A_INFO_MEMORY_LIMIT] = "memory-limit",
	[ASYNCTRACE_A_INFO_PRIVILEGED] = "privileged",
};

static const char *const at_attr_names_provider[] = {
	[ASYNCTRACE_A_PROVIDER_ID] = "id",
	[ASYNCTRACE_A_PROVIDER_COOKIE] = "cookie",
	[ASYNCTRACE_A_PROVIDER_NAME] = "name",
	[ASYNCTRACE_A_PROVIDER_VERSION] = "version",
	[ASYNCTRACE_A_PROVIDER_RING_STRIDE] = "ring-stride",
	[ASYNCTRACE_A_PROVIDER_STARTED] = "started",
	[ASYNCTRACE_A_PROVIDER_PID] = "pid",
	[ASYNCTRACE_A_PROVIDER_UID] = "uid",
	[ASYNCTRACE_A_PROVIDER_SESSION] = "session",
	[ASYNCTRACE_A_PROVIDER_FLAGS] = "flags",
	[ASYNCTRACE_A_PROVIDER_RINGS] = "rings",
	[ASYNCTRACE_A_PROVIDER_KNOWN] = "known",
	[ASYNCTRACE_A_PROVIDER_SCHED_DROPPED] = "sched-dropped",
	[ASYNCTRACE_A_PROVIDER_NAMES_DROPPED] = "names-dropped",
	[ASYNCTRACE_A_PROVIDER_SERIAL] = "serial",
	[ASYNCTRACE_A_PROVIDER_CELLS_MISSING] = "cells-missing",
};

static const char *const at_attr_names_known[] = {
	[ASYNCTRACE_A_KNOWN_NAME] = "name",
	[ASYNCTRACE_A_KNOWN_DESCRIPTION] = "description",
};

static const char *const at_attr_names_buffer[] = {
	[ASYNCTRACE_A_BUFFER_PROVIDER] = "provider",
	[ASYNCTRACE_A_BUFFER_RING_SIZE] = "ring-size",
};

static const char *const at_attr_names_session[] = {
	[ASYNCTRACE_A_SESSION_ID] = "id",
	[ASYNCTRACE_A_SESSION_NAME] = "name",
	[ASYNCTRACE_A_SESSION_MODE] = "mode",
	[ASYNCTRACE_A_SESSION_SCHED] = "sched",
	[ASYNCTRACE_A_SESSION_FLAGS] = "flags",
	[ASYNCTRACE_A_SESSION_RING_SIZE] = "ring-size",
	[ASYNCTRACE_A_SESSION_SUB_SIZE] = "sub-size",
	[ASYNCTRACE_A_SESSION_CATEGORY] = "category",
	[ASYNCTRACE_A_SESSION_PROVIDER] = "provider",
	[ASYNCTRACE_A_SESSION_STATE] = "state",
	[ASYNCTRACE_A_SESSION_UID] = "uid",
	[ASYNCTRACE_A_SESSION_CONSUMED] = "consumed",
	[ASYNCTRACE_A_SESSION_PROVIDERS] = "providers",
	[ASYNCTRACE_A_SESSION_LATE] = "late",
	[ASYNCTRACE_A_SESSION_PAGES] = "pages",
	[ASYNCTRACE_A_SESSION_REFUSED] = "refused",
	[ASYNCTRACE_A_SESSION_PROBE_CALLS] = "probe-calls",
	[ASYNCTRACE_A_SESSION_PROBE_RECORDS] = "probe-records",
	[ASYNCTRACE_A_SESSION_REFUSED_PROVIDERS] = "refused-providers",
	[ASYNCTRACE_A_SESSION_DISPOSITION] = "disposition",
	[ASYNCTRACE_A_SESSION_ADDITIONAL] = "additional",
	[ASYNCTRACE_A_SESSION_PID] = "pid",
	[ASYNCTRACE_A_SESSION_USER] = "user",
	[ASYNCTRACE_A_SESSION_CGROUP] = "cgroup",
	[ASYNCTRACE_A_SESSION_BUFFER] = "buffer",
	[ASYNCTRACE_A_SESSION_GENERATION] = "generation",
	[ASYNCTRACE_A_SESSION_THREADS_MISSED] = "threads-missed",
	[ASYNCTRACE_A_SESSION_MORE] = "more",
	[ASYNCTRACE_A_SESSION_ENDED] = "ended",
};

static const char *const at_attr_names_notification[] = {
	[ASYNCTRACE_A_NOTIFICATION_KINDS] = "kinds",
	[ASYNCTRACE_A_NOTIFICATION_SESSION] = "session",
	[ASYNCTRACE_A_NOTIFICATION_PROVIDER] = "provider",
	[ASYNCTRACE_A_NOTIFICATION_NAME] = "name",
	[ASYNCTRACE_A_NOTIFICATION_PID] = "pid",
	[ASYNCTRACE_A_NOTIFICATION_UID] = "uid",
	[ASYNCTRACE_A_NOTIFICATION_STATUS] = "status",
	[ASYNCTRACE_A_NOTIFICATION_GENERATION] = "generation",
	[ASYNCTRACE_A_NOTIFICATION_ALERT] = "alert",
	[ASYNCTRACE_A_NOTIFICATION_RING] = "ring",
	[ASYNCTRACE_A_NOTIFICATION_POSITION] = "position",
	[ASYNCTRACE_A_NOTIFICATION_DURABLE] = "durable",
	[ASYNCTRACE_A_NOTIFICATION_LOST] = "lost",
};

static const char *const at_attr_names_ring[] = {
	[ASYNCTRACE_A_RING_SESSION] = "session",
	[ASYNCTRACE_A_RING_PROVIDER] = "provider",
	[ASYNCTRACE_A_RING_RING] = "ring",
	[ASYNCTRACE_A_RING_KIND] = "kind",
	[ASYNCTRACE_A_RING_COMMITTED] = "committed",
	[ASYNCTRACE_A_RING_DELIVERED] = "delivered",
	[ASYNCTRACE_A_RING_OVERWRITTEN] = "overwritten",
	[ASYNCTRACE_A_RING_DROPPED] = "dropped",
	[ASYNCTRACE_A_RING_PAGES] = "pages",
	[ASYNCTRACE_A_RING_CLEARED] = "cleared",
};
