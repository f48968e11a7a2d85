// SPDX-License-Identifier: GPL-2.0
/*
 * The session library against a fake kernel: requests, errors, notifications
 *
 * test_listings.c tests its lists.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../../userlib/src/writer/register.h"
#include "fake_kernel.h"

/* --- opening ------------------------------------------------------------------ */

static void missing_module_is_reported_with_remedy(void **state)
{
	struct at_ctl *ctl;

	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	kernel.no_family = true;
	assert_int_equal(at_ctl_open(&ctl), -ENOENT);
	assert_non_null(strstr(at_ctl_error(ctl), "not loaded"));
	assert_non_null(strstr(at_ctl_error(ctl), "modprobe asynctrace"));
	at_ctl_close(ctl);
}

static void another_abi_is_refused_with_both_versions(void **state)
{
	char text[32];
	struct at_ctl *ctl;

	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	kernel.abi = 4711;
	assert_int_equal(at_ctl_open(&ctl), -EPROTO);
	assert_non_null(strstr(at_ctl_error(ctl), "4711"));
	snprintf(text, sizeof(text), "version %d", ASYNCTRACE_ABI_VERSION);
	assert_non_null(strstr(at_ctl_error(ctl), text));
	at_ctl_close(ctl);
	at_ctl_close(NULL);
}

static int no_provider(const struct at_provider_info *p, void *arg)
{
	(void)p;
	(void)arg;
	fail_msg("a provider was invented");
	return 0;
}

/* Checks that a request failed with the error of at_ctl_open(), and its message. */
static void refused(struct at_ctl *ctl, int got, int err, const char *text)
{
	assert_int_equal(got, err);
	if (!strstr(at_ctl_error(ctl), text))
		fail_msg("'%s' does not say '%s'", at_ctl_error(ctl), text);
}

/* Makes each kind of request on a connection that could not be opened. None must be sent. */
static void refuse_all(struct at_ctl *ctl, int err, const char *text)
{
	struct at_session_options o = { .size = sizeof(o), .name = "one" };
	struct at_info old = { 0 }, info = { .size = sizeof(info) };
	uint32_t id;

	kernel.no_family = false;
	memset(kernel.sent, 0, sizeof(kernel.sent));
	assert_int_equal(at_info(ctl, &old), -EINVAL);
	refused(ctl, at_info(ctl, &info), err, text);
	refused(ctl, at_for_each_provider(ctl, no_provider, NULL), err, text);
	refused(ctl, at_for_each_category(ctl, NULL, NULL), err, text);
	refused(ctl, at_for_each_ring(ctl, SESSION, NULL, NULL), err, text);
	refused(ctl, at_for_each_session(ctl, NULL, NULL), err, text);
	refused(ctl, at_session_get(ctl, SESSION, NULL, NULL), err, text);
	refused(ctl, at_session_create(ctl, &o, &id), err, text);
	refused(ctl, at_session_init(ctl, SESSION), err, text);
	refused(ctl, at_session_start(ctl, SESSION, NULL), err, text);
	refused(ctl, at_session_update(ctl, SESSION, 0, NULL), err, text);
	refused(ctl, at_session_stop(ctl, SESSION), err, text);
	refused(ctl, at_session_destroy(ctl, SESSION), err, text);
	refused(ctl, at_session_open_stream(ctl, SESSION), err, text);
	refused(ctl, at_session_open_snapshot(ctl, SESSION), err, text);
	assert_int_equal(((const struct nlmsghdr *)kernel.sent)->nlmsg_len, 0);
}

static void unopened_connection_sends_no_request(void **state)
{
	struct at_notification n = { .size = sizeof(n) };
	struct at_notifications *events;
	struct at_ctl *ctl;

	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	kernel.no_family = true;
	assert_int_equal(at_ctl_open(&ctl), -ENOENT);
	refuse_all(ctl, -ENOENT, "not loaded");
	at_ctl_close(ctl);
	kernel.abi = 4711;
	assert_int_equal(at_ctl_open(&ctl), -EPROTO);
	refuse_all(ctl, -EPROTO, "4711");
	at_ctl_close(ctl);
	kernel.no_family = true;
	assert_int_equal(at_notifications_open(&events, 9, SESSION), -ENOENT);
	assert_int_equal(at_notifications_next(events, &n), -ENOENT);
	assert_int_equal(at_notifications_fd(events), -ENOENT);
	assert_non_null(strstr(at_notifications_error(events), "not loaded"));
	at_notifications_close(events);
}

static void open_without_memory_fails(void **state)
{
	struct at_notifications *events;
	struct at_ctl *ctl;

	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	kernel.callocs = 1;
	assert_int_equal(at_ctl_open(&ctl), -ENOMEM);
	assert_null(ctl);
	/* A subscription has memory of its own and that of its connection. */
	for (int n = 1; n <= 2; n++) {
		kernel.callocs = n;
		assert_int_equal(at_notifications_open(&events, 1, 0), -ENOMEM);
		assert_int_equal(kernel.callocs, 0);
		assert_null(events);
		assert_non_null(at_notifications_error(events));
		at_notifications_close(events);
	}
}

static void info_is_what_the_module_says(void **state)
{
	struct at_info info = { .size = sizeof(info) };
	struct at_ctl *ctl = open_ctl(NULL);

	(void)state;
	assert_int_equal(at_info(ctl, &info), 0);
	assert_int_equal(info.abi, ASYNCTRACE_ABI_VERSION);
	assert_int_equal(info.nr_cpus, 8);
	assert_int_equal(info.memory_limit, 1ULL << 33);
	assert_int_equal(info.privileged, 1);
	assert_int_equal(info.online_cpus, 0);	/* the answer does not have it */
	info.size--;
	assert_int_equal(at_info(ctl, &info), -EINVAL);
	at_ctl_close(ctl);
}

/* --- requests ------------------------------------------------------------------- */

static void answer_id(const struct nlmsghdr *request)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(request);
	struct nlmsghdr *nlh = new_answer(genl->cmd);

	mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_ID, SESSION);
	queue_message(nlh);
	ack(0);
}

static void new_session_request_has_all_options(void **state)
{
	static const char *const categories[] = { "http", "disk*" };
	static const char *const providers[] = { "srv?" };
	struct at_session_options o = {
		.size = sizeof(o), .name = "one", .mode = ASYNCTRACE_MODE_CIRCULAR,
		.sched = ASYNCTRACE_SCHED_OFF, .flags = ASYNCTRACE_SESSION_FLAGS_DETACHED,
		.ring_size = 1ULL << 30, .sub_size = 4096, .nr_categories = 2,
		.categories = categories, .nr_providers = 1, .providers = providers,
	};
	struct at_ctl *ctl = open_ctl(answer_id);
	unsigned int seen = 0, texts = 0;
	const struct nlattr *attr;
	uint32_t id = 0;

	(void)state;
	assert_int_equal(at_session_create(ctl, &o, &id), 0);
	assert_int_equal(id, SESSION);
	mnl_attr_for_each(attr, (const struct nlmsghdr *)kernel.sent, GENL_HDRLEN) {
		seen |= 1u << mnl_attr_get_type(attr);
		switch (mnl_attr_get_type(attr)) {
		case ASYNCTRACE_A_SESSION_NAME:
			assert_string_equal(mnl_attr_get_str(attr), "one");
			break;
		case ASYNCTRACE_A_SESSION_MODE:
			assert_int_equal(mnl_attr_get_u32(attr), ASYNCTRACE_MODE_CIRCULAR);
			break;
		case ASYNCTRACE_A_SESSION_SCHED:
			assert_int_equal(mnl_attr_get_u32(attr), ASYNCTRACE_SCHED_OFF);
			break;
		case ASYNCTRACE_A_SESSION_FLAGS:
			assert_int_equal(mnl_attr_get_u32(attr), ASYNCTRACE_SESSION_FLAGS_DETACHED);
			break;
		case ASYNCTRACE_A_SESSION_RING_SIZE:
			assert_int_equal(mnl_attr_get_u64(attr), 1ULL << 30);
			break;
		case ASYNCTRACE_A_SESSION_SUB_SIZE:
			assert_int_equal(mnl_attr_get_u64(attr), 4096);
			break;
		case ASYNCTRACE_A_SESSION_CATEGORY:
			assert_string_equal(mnl_attr_get_str(attr), categories[texts++]);
			break;
		case ASYNCTRACE_A_SESSION_PROVIDER:
			assert_string_equal(mnl_attr_get_str(attr), "srv?");
			break;
		default:
			fail();
		}
	}
	assert_int_equal(texts, 2);
	/* Types 2 to 9 were sent; the kernel chooses the id. */
	assert_int_equal(seen, 0x3fc);
	at_ctl_close(ctl);
}

static void answer_nothing(const struct nlmsghdr *request)
{
	(void)request;
	fail();
}

static void patterns_above_a_message_are_refused(void **state)
{
	static const char *categories[1000];
	struct at_session_options o = {
		.size = sizeof(o), .name = "one", .ring_size = 4096,
		.nr_categories = 1000, .categories = categories,
	};
	struct at_ctl *ctl = open_ctl(answer_nothing);
	uint32_t id;

	(void)state;
	for (int i = 0; i < 1000; i++)
		categories[i] = "0123456789012345678901234567890123456789"
				"0123456789012345678901234567890123456789";
	assert_int_equal(at_session_create(ctl, &o, &id), -E2BIG);
	at_ctl_close(ctl);
}

static void answer_already(const struct nlmsghdr *request)
{
	(void)request;
	ack(-EALREADY);
}

static void repeated_requests_are_no_error(void **state)
{
	struct at_ctl *ctl = open_ctl(answer_already);

	(void)state;
	assert_int_equal(at_session_init(ctl, SESSION), 0);
	assert_int_equal(at_session_start(ctl, SESSION, NULL), 0);
	assert_int_equal(at_session_stop(ctl, SESSION), 0);
	at_ctl_close(ctl);
}

/* --- errors ----------------------------------------------------------------------- */

/* Returns the offset in the request of its attribute of this type. */
static uint32_t offset_of(const struct nlmsghdr *request, int type)
{
	const struct nlattr *attr;

	mnl_attr_for_each(attr, request, GENL_HDRLEN)
		if (mnl_attr_get_type(attr) == type)
			return (const char *)attr - (const char *)request;
	fail();
	return 0;
}

/* Returns the offset of the attribute @type nested in the attribute @outer. */
static uint32_t offset_within(const struct nlmsghdr *request, int outer, int type)
{
	const struct nlattr *attr, *nest;

	nest = (const void *)((const char *)request + offset_of(request, outer));
	mnl_attr_for_each_nested(attr, nest)
		if (mnl_attr_get_type(attr) == type)
			return (const char *)attr - (const char *)request;
	fail();
	return 0;
}

/* Answers as Linux does if a value exceeds its policy's range. */
static void put_out_of_range(uint32_t offset)
{
	struct nlmsghdr *nlh = new_message(NLMSG_ERROR, NLM_F_CAPPED | NLM_F_ACK_TLVS);
	struct nlmsgerr *e = mnl_nlmsg_put_extra_header(nlh, sizeof(*e));
	struct nlattr *nest;

	e->error = -ERANGE;
	mnl_attr_put_strz(nlh, NLMSGERR_ATTR_MSG, "integer out of range");
	mnl_attr_put_u32(nlh, NLMSGERR_ATTR_OFFS, offset);
	nest = mnl_attr_nest_start(nlh, NLMSGERR_ATTR_POLICY);
	mnl_attr_put_u64(nlh, NL_POLICY_TYPE_ATTR_MIN_VALUE_U, ASYNCTRACE_RING_MIN);
	mnl_attr_put_u64(nlh, NL_POLICY_TYPE_ATTR_MAX_VALUE_U, ASYNCTRACE_RING_MAX);
	mnl_attr_nest_end(nlh, nest);
	queue_message(nlh);
}

static void answer_out_of_range(const struct nlmsghdr *request)
{
	put_out_of_range(offset_of(request, ASYNCTRACE_A_SESSION_RING_SIZE));
}

static void answer_nested_out_of_range(const struct nlmsghdr *request)
{
	put_out_of_range(offset_within(request, ASYNCTRACE_A_SESSION_BUFFER,
				       ASYNCTRACE_A_BUFFER_RING_SIZE));
}

static void an_error_names_attribute_reason_and_range(void **state)
{
	struct at_session_options o = { .size = sizeof(o), .name = "one" };
	struct at_ctl *ctl = open_ctl(answer_out_of_range);
	uint32_t id;

	(void)state;
	assert_int_equal(at_session_create(ctl, &o, &id), -ERANGE);
	assert_string_equal(at_ctl_error(ctl),
			    "ring-size: integer out of range (16384 to 1073741824)");
	at_ctl_close(ctl);
}

static void create_with_buffer(struct at_ctl *ctl, int error)
{
	const struct at_buffer_size buffers[] = { { "http", ASYNCTRACE_RING_MAX * 2 } };
	struct at_session_options o = {
		.size = sizeof(o), .name = "one", .buffers = buffers, .nr_buffers = 1,
	};
	uint32_t id;

	assert_int_equal(at_session_create(ctl, &o, &id), error);
}

/* Nested attributes have types of their own: 2 is ring-size there, and name outside. */
static void an_error_names_a_nested_attribute(void **state)
{
	struct at_ctl *ctl = open_ctl(answer_nested_out_of_range);

	(void)state;
	create_with_buffer(ctl, -ERANGE);
	assert_string_equal(at_ctl_error(ctl),
			    "buffer: ring-size: integer out of range (16384 to 1073741824)");
	at_ctl_close(ctl);
}

static void answer_missing_in_nest(const struct nlmsghdr *request)
{
	struct nlmsghdr *nlh = new_message(NLMSG_ERROR, NLM_F_CAPPED | NLM_F_ACK_TLVS);
	struct nlmsgerr *e = mnl_nlmsg_put_extra_header(nlh, sizeof(*e));

	e->error = -EINVAL;
	mnl_attr_put_u32(nlh, NLMSGERR_ATTR_MISS_NEST,
			 offset_of(request, ASYNCTRACE_A_SESSION_BUFFER));
	mnl_attr_put_u32(nlh, NLMSGERR_ATTR_MISS_TYPE, ASYNCTRACE_A_BUFFER_PROVIDER);
	queue_message(nlh);
}

static void an_attribute_missing_in_a_nest_is_named(void **state)
{
	struct at_ctl *ctl = open_ctl(answer_missing_in_nest);

	(void)state;
	create_with_buffer(ctl, -EINVAL);
	assert_string_equal(at_ctl_error(ctl), "buffer: provider: Invalid argument");
	at_ctl_close(ctl);
}

/* Quotes the whole request, as the kernel does for sockets without NETLINK_CAP_ACK. */
static void answer_missing(const struct nlmsghdr *request)
{
	struct nlmsghdr *nlh = new_message(NLMSG_ERROR, NLM_F_ACK_TLVS);
	struct nlmsgerr *e = mnl_nlmsg_put_extra_header(nlh, sizeof(*e));

	e->error = -EINVAL;
	e->msg = *request;
	memcpy(mnl_nlmsg_put_extra_header(nlh, request->nlmsg_len - NLMSG_HDRLEN),
	       request + 1, request->nlmsg_len - NLMSG_HDRLEN);
	mnl_attr_put_u32(nlh, NLMSGERR_ATTR_MISS_TYPE, ASYNCTRACE_A_SESSION_ID);
	queue_message(nlh);
}

static void a_missing_attribute_is_named(void **state)
{
	struct at_ctl *ctl = open_ctl(answer_missing);

	(void)state;
	assert_int_equal(at_session_destroy(ctl, SESSION), -EINVAL);
	assert_string_equal(at_ctl_error(ctl), "id: Invalid argument");
	at_ctl_close(ctl);
}

/* Sends an offset outside of the request and a text without a NUL. */
static void answer_nonsense(const struct nlmsghdr *request)
{
	struct nlmsghdr *nlh = new_message(NLMSG_ERROR, NLM_F_CAPPED | NLM_F_ACK_TLVS);
	struct nlmsgerr *e = mnl_nlmsg_put_extra_header(nlh, sizeof(*e));

	e->error = -EPERM;
	mnl_attr_put(nlh, NLMSGERR_ATTR_MSG, 4, "text");
	mnl_attr_put_u32(nlh, NLMSGERR_ATTR_OFFS, 1u << 30);
	queue_message(nlh);
	(void)request;
}

static void nonsense_ack_is_an_error(void **state)
{
	struct at_ctl *ctl = open_ctl(answer_nonsense);

	(void)state;
	assert_int_equal(at_session_destroy(ctl, SESSION), -EPERM);
	assert_string_equal(at_ctl_error(ctl), strerror(EPERM));
	at_ctl_close(ctl);
}

/* --- notifications -------------------------------------------------------------------- */

static void new_event(uint32_t kind, const char *name, uint32_t lost)
{
	struct nlmsghdr *nlh = new_answer(ASYNCTRACE_CMD_NOTIFICATION);

	nlh->nlmsg_seq = nlh->nlmsg_pid = 0;
	mnl_attr_put_u32(nlh, ASYNCTRACE_A_NOTIFICATION_KINDS, kind);
	mnl_attr_put_strz(nlh, ASYNCTRACE_A_NOTIFICATION_NAME, name);
	mnl_attr_put_u64(nlh, ASYNCTRACE_A_NOTIFICATION_POSITION, 1ULL << 40);
	if (lost)
		mnl_attr_put_u32(nlh, ASYNCTRACE_A_NOTIFICATION_LOST, lost);
	queue_message(nlh);
}

/* Queues notifications before the answer, which comes only if the request asks for it. */
static void answer_subscribe(const struct nlmsghdr *request)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(request);
	const struct nlattr *attr;
	uint32_t values[3] = { 0 };

	assert_int_equal(genl->cmd, ASYNCTRACE_CMD_SUBSCRIBE);
	mnl_attr_for_each(attr, request, GENL_HDRLEN) {
		assert_in_range(mnl_attr_get_type(attr), 1, 2);
		values[mnl_attr_get_type(attr)] = mnl_attr_get_u32(attr);
	}
	assert_int_equal(values[ASYNCTRACE_A_NOTIFICATION_KINDS], 9);
	assert_int_equal(values[ASYNCTRACE_A_NOTIFICATION_SESSION], SESSION);
	new_event(1, "early", 0);
	new_event(1, "less early", 0);
	if (request->nlmsg_flags & NLM_F_ACK)
		ack(0);
}

static struct at_notifications *open_events(void (*answer)(const struct nlmsghdr *request), int err)
{
	struct at_notifications *events;

	memset(&kernel, 0, sizeof(kernel));
	kernel.abi = ASYNCTRACE_ABI_VERSION;
	kernel.answer = answer;
	assert_int_equal(at_notifications_open(&events, 9, SESSION), err);
	return events;
}

static bool is_readable(const struct at_notifications *events)
{
	struct pollfd p = { at_notifications_fd(events), POLLIN, 0 };

	return poll(&p, 1, 0) == 1 && p.revents == POLLIN;
}

static void notifications_come_in_order_also_early(void **state)
{
	struct at_notification e = { .size = sizeof(e) };
	struct at_notifications *events = open_events(answer_subscribe, 0);

	(void)state;
	assert_int_equal(at_notifications_fd(events), kernel.fd);
	new_event(8, "late", 5);
	assert_int_equal(at_notifications_next(events, &e), 0);
	assert_string_equal(e.name, "early");
	assert_int_equal(e.kind, 1);
	assert_int_equal(e.lost, 0);
	assert_int_equal(at_notifications_next(events, &e), 0);
	assert_string_equal(e.name, "less early");
	/* The library must skip messages that are no notifications. */
	ack(0);
	assert_int_equal(at_notifications_next(events, &e), 0);
	assert_string_equal(e.name, "late");
	assert_int_equal(e.kind, 8);
	assert_int_equal(e.lost, 5);
	assert_int_equal(e.position, 1ULL << 40);
	assert_string_equal(e.alert, "");
	assert_int_equal(at_notifications_next(events, &e), -EAGAIN);
	e.size = 4;
	assert_int_equal(at_notifications_next(events, &e), -EINVAL);
	at_notifications_close(events);
}

static void poll_reports_early_notifications(void **state)
{
	struct at_notification e = { .size = sizeof(e) };
	struct at_notifications *events = open_events(answer_subscribe, 0);

	(void)state;
	assert_true(is_readable(events));
	assert_int_equal(at_notifications_next(events, &e), 0);
	assert_true(is_readable(events));
	assert_int_equal(at_notifications_next(events, &e), 0);
	assert_false(is_readable(events));
	at_notifications_close(events);
}

static void answer_no_session(const struct nlmsghdr *request)
{
	(void)request;
	ack(-ENOENT);
}

static void failed_subscription_is_reported(void **state)
{
	struct at_notifications *events = open_events(answer_no_session, -ENOENT);

	(void)state;
	assert_string_equal(at_notifications_error(events), strerror(ENOENT));
	at_notifications_close(events);
}

/* --- registration -------------------------------------------------------------------- */

static void registration_has_exactly_these_attributes(void **state)
{
	struct {
		struct nlattr head;
		char name[8];
		struct nlattr version_head;
		uint32_t version;
		struct nlattr stride_head;
		uint64_t stride;
	} __attribute__((packed)) want = {
		{ 4 + 5, ASYNCTRACE_A_PROVIDER_NAME }, "four",
		{ 4 + 4, ASYNCTRACE_A_PROVIDER_VERSION }, 9,
		{ 4 + 8, ASYNCTRACE_A_PROVIDER_RING_STRIDE }, 1ULL << 40,
	};
	char name[ASYNCTRACE_NAME_MAX + 2], buf[AT_REGISTER_ATTRS_MAX] __attribute__((aligned(8)));

	(void)state;
	assert_int_equal(at_register_attrs(buf, sizeof(buf), "four", 9, 1ULL << 40), sizeof(want));
	assert_memory_equal(buf, &want, sizeof(want));
	assert_int_equal(at_register_attrs(buf, sizeof(want), "four", 9, 1ULL << 40), sizeof(want));
	assert_int_equal(at_register_attrs(buf, sizeof(want) - 1, "four", 9, 1), -EMSGSIZE);

	memset(name, 'n', sizeof(name));
	name[ASYNCTRACE_NAME_MAX + 1] = '\0';
	assert_int_equal(at_register_attrs(buf, sizeof(buf), name, 9, 1), -EINVAL);
	name[ASYNCTRACE_NAME_MAX] = '\0';
	assert_true(at_register_attrs(buf, sizeof(buf), name, 9, 1) > ASYNCTRACE_NAME_MAX);
	assert_int_equal(at_register_attrs(buf, sizeof(buf), "", 9, 1), -EINVAL);
}

/* Uses a real socket. No provider has the cookie 1, so this registers nothing. */
static void registration_tells_refusal_from_absence(void **state)
{
	bool module = !access("/dev/" ASYNCTRACE_DEVICE, F_OK);
	struct rlimit no_files = { 0 }, files;
	uint32_t id = 4711;
	int err;

	(void)state;
	errno = 12345;
	err = at_genl_register(1, "nobody", 0, ASYNCTRACE_RING_MIN, &id, NULL);
	assert_int_equal(errno, 12345);
	assert_int_equal(err, module ? -ENOENT : -EAFNOSUPPORT);
	assert_int_equal(id, 4711);

	/* Without a free descriptor, the call must fail and keep errno. */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	no_files.rlim_max = files.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &no_files), 0);
	err = at_genl_register(1, "nobody", 0, ASYNCTRACE_RING_MIN, &id, NULL);
	assert_int_equal(errno, 12345);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	assert_int_equal(err, -EAFNOSUPPORT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(missing_module_is_reported_with_remedy),
		cmocka_unit_test(another_abi_is_refused_with_both_versions),
		cmocka_unit_test(unopened_connection_sends_no_request),
		cmocka_unit_test(open_without_memory_fails),
		cmocka_unit_test(info_is_what_the_module_says),
		cmocka_unit_test(new_session_request_has_all_options),
		cmocka_unit_test(patterns_above_a_message_are_refused),
		cmocka_unit_test(repeated_requests_are_no_error),
		cmocka_unit_test(an_error_names_attribute_reason_and_range),
		cmocka_unit_test(an_error_names_a_nested_attribute),
		cmocka_unit_test(an_attribute_missing_in_a_nest_is_named),
		cmocka_unit_test(a_missing_attribute_is_named),
		cmocka_unit_test(nonsense_ack_is_an_error),
		cmocka_unit_test(notifications_come_in_order_also_early),
		cmocka_unit_test(poll_reports_early_notifications),
		cmocka_unit_test(failed_subscription_is_reported),
		cmocka_unit_test(registration_has_exactly_these_attributes),
		cmocka_unit_test(registration_tells_refusal_from_absence),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	printf("%d passed, %d failed, 0 skipped\n",
	       (int)(sizeof(tests) / sizeof(tests[0])) - failed, failed);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
