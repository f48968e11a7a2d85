// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions and providers by the library, with the module: what is allowed, what is refused, and the
 * messages. Needs the module and root.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>

#include <asynctrace/session.h>

#include "../../userlib/src/writer/register.h"

static struct at_ctl *ctl;

static struct at_session_options options(const char *name)
{
	return (struct at_session_options){
		.size = sizeof(struct at_session_options), .name = name,
		.mode = ASYNCTRACE_MODE_ONESHOT, .sched = ASYNCTRACE_SCHED_OFF,
		.ring_size = ASYNCTRACE_RING_MIN,
	};
}

static int setup(void **state)
{
	(void)state;
	if (!at_ctl_open(&ctl))
		return 0;
	fprintf(stderr, "%s\n", at_ctl_error(ctl));
	return -1;
}

static int teardown(void **state)
{
	(void)state;
	at_ctl_close(ctl);
	return 0;
}

/* Checks that the last error contains @text. */
static void says(const char *text)
{
	if (!strstr(at_ctl_error(ctl), text))
		fail_msg("'%s' does not say '%s'", at_ctl_error(ctl), text);
}

static bool before_6_3(void)
{
	unsigned int major = 0, minor = 0;
	struct utsname u;

	return !uname(&u) && sscanf(u.release, "%u.%u", &major, &minor) == 2 &&
	       (major < 6 || (major == 6 && minor < 3));
}

static int copy_session(const struct at_session_info *s, void *arg)
{
	*(struct at_session_info *)arg = *s;
	return 0;
}

/* If the session is called @arg, checks that its lists are full and have only entries @arg. */
static int check_session(const struct at_session_info *s, void *arg)
{
	if (strcmp(s->name, arg))
		return 0;
	assert_int_equal(s->nr_categories, ASYNCTRACE_CATEGORIES_MAX);
	assert_int_equal(s->nr_patterns, ASYNCTRACE_CATEGORIES_MAX);
	for (int i = 0; i < ASYNCTRACE_CATEGORIES_MAX; i++) {
		assert_string_equal(s->categories[i], arg);
		assert_string_equal(s->patterns[i], arg);
	}
	return 0;
}

static int find_session(const struct at_session_info *s, void *arg)
{
	return !strcmp(s->name, arg) ? (int)s->id : 0;
}

static int find_provider(const struct at_provider_info *p, void *arg)
{
	return p->id == *(uint32_t *)arg;
}

/* --- limits of a session -------------------------------------------------------- */

static void session_limits_are_enforced(void **state)
{
	char longest[ASYNCTRACE_NAME_MAX + 1], longer[ASYNCTRACE_NAME_MAX + 2];
	const char *many[ASYNCTRACE_CATEGORIES_MAX + 1];
	struct at_session_options o;
	uint32_t id;

	(void)state;
	memset(longest, 'n', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	memset(longer, 'n', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	for (int i = 0; i < ASYNCTRACE_CATEGORIES_MAX + 1; i++)
		many[i] = longest;

	o = options(longest);
	o.categories = many;
	o.nr_categories = ASYNCTRACE_CATEGORIES_MAX;
	o.providers = many;
	o.nr_providers = ASYNCTRACE_CATEGORIES_MAX;
	o.ring_size = ASYNCTRACE_RING_MIN;
	o.sub_size = ASYNCTRACE_SUBBUF_MIN;
	assert_int_equal(at_session_create(ctl, &o, &id), 0);
	assert_int_equal(at_for_each_session(ctl, find_session, longest), id);
	/* The lists of this session are larger than one message can hold. */
	assert_int_equal(at_session_get(ctl, id, check_session, longest), 0);
	assert_int_equal(at_for_each_session(ctl, check_session, longest), 0);
	assert_int_equal(at_session_destroy(ctl, id), 0);

	o.nr_categories++;
	assert_int_equal(at_session_create(ctl, &o, &id), -ERANGE);
	says("category: ");
	o.nr_categories = 0;
	o.nr_providers++;
	assert_int_equal(at_session_create(ctl, &o, &id), -ERANGE);
	says("provider: ");

	o = options(longer);
	assert_int_equal(at_session_create(ctl, &o, &id), -EINVAL);
	says("name: ");
	o = options("");
	assert_int_equal(at_session_create(ctl, &o, &id), -EINVAL);
	says("name: ");
	o = options("x");
	o.nr_categories = 1;
	many[0] = longer;
	o.categories = many;
	assert_int_equal(at_session_create(ctl, &o, &id), -ERANGE);
	says("category: ");
	many[0] = "";
	assert_int_equal(at_session_create(ctl, &o, &id), -EINVAL);
	says("category: ");
}

static void every_size_is_checked(void **state)
{
	static const struct {
		uint64_t ring, sub;
		int err;
		const char *text;
	} cases[] = {
		{ ASYNCTRACE_RING_MIN / 2, 0, -ERANGE, "ring-size: " },
		{ 2 * ASYNCTRACE_RING_MAX, 0, -ERANGE, "ring-size: " },
		{ UINT64_MAX, 0, -ERANGE, "ring-size: " },
		{ 3 * ASYNCTRACE_RING_MIN, 0, -EINVAL, "ring-size: a size must be a power of two" },
		{ ASYNCTRACE_RING_MIN, 2048, -EINVAL, "sub-size: " },
		{ ASYNCTRACE_RING_MIN, 8192, -EINVAL, "sub-size: " },
		{ ASYNCTRACE_RING_MAX, 3 * 4096, -EINVAL, "sub-size: " },
		{ ASYNCTRACE_RING_MAX, 2 * ASYNCTRACE_SUBBUF_MAX, -ERANGE, "sub-size: " },
	};
	uint32_t id;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct at_session_options o = options("sizes");

		o.ring_size = cases[i].ring;
		o.sub_size = cases[i].sub;
		assert_int_equal(at_session_create(ctl, &o, &id), cases[i].err);
		says(cases[i].text);
	}
}

static void unknown_modes_and_flags_are_refused(void **state)
{
	struct at_session_options o = options("modes");
	uint32_t id;

	(void)state;
	o.mode = 0;
	assert_int_equal(at_session_create(ctl, &o, &id), -ERANGE);
	says("mode: ");
	o.mode = ASYNCTRACE_MODE_STREAMING + 1;
	assert_int_equal(at_session_create(ctl, &o, &id), -ERANGE);
	says("mode: ");
	o = options("modes");
	o.sched = ASYNCTRACE_SCHED_ALL + 1;
	assert_int_equal(at_session_create(ctl, &o, &id), -ERANGE);
	says("sched: ");
	o = options("modes");
	o.flags = 1u << 31;
	assert_int_equal(at_session_create(ctl, &o, &id), -EINVAL);
	says("flags: ");
}

static void session_over_memory_limit_gets_arithmetic(void **state)
{
	struct at_info info = { .size = sizeof(info) };
	struct at_session_options o = options("large");
	char limit[32];
	uint32_t id;
	int err;

	(void)state;
	assert_int_equal(at_info(ctl, &info), 0);
	o.ring_size = ASYNCTRACE_RING_MAX;
	/* The kernel's scheduling rings count for the limit, and alone exceed it here. */
	assert_true(info.memory_limit < info.online_cpus * o.ring_size);
	o.sched = ASYNCTRACE_SCHED_TARGETS;
	err = at_session_create(ctl, &o, &id);
	if (!err)
		err = at_session_init(ctl, id);
	assert_int_equal(err, -ENOSPC);
	snprintf(limit, sizeof(limit), "limit %llu MiB",
		 (unsigned long long)info.memory_limit >> 20);
	says("CPUs");
	/* Kernels before 6.3 report no numbers. */
	if (!before_6_3())
		says(limit);
}

static void a_name_is_taken_until_its_session_ends(void **state)
{
	struct at_session_options o = options("taken");
	uint32_t id, other;

	(void)state;
	assert_int_equal(at_session_create(ctl, &o, &id), 0);
	assert_int_equal(at_session_create(ctl, &o, &other), -EEXIST);
	assert_int_equal(at_session_destroy(ctl, id), 0);
	assert_int_equal(at_session_create(ctl, &o, &other), 0);
	assert_int_not_equal(id, other);
	assert_int_equal(at_session_destroy(ctl, other), 0);
}

/* --- states of a session --------------------------------------------------------- */

static void states_follow_each_other(void **state)
{
	struct at_session_options o = options("states");
	struct at_session_info s;
	uint32_t id;

	(void)state;
	o.mode = ASYNCTRACE_MODE_STREAMING;
	assert_int_equal(at_session_create(ctl, &o, &id), 0);
	assert_int_equal(at_session_get(ctl, id, copy_session, &s), 0);
	assert_int_equal(s.state, ASYNCTRACE_SESSION_STATE_READY);
	assert_int_equal(s.mode, ASYNCTRACE_MODE_STREAMING);
	assert_int_equal(s.ring_size, ASYNCTRACE_RING_MIN);
	assert_int_equal(s.uid, getuid());
	assert_int_equal(at_session_start(ctl, id, NULL), -EINVAL);
	assert_string_not_equal(at_ctl_error(ctl), "");

	for (int i = 0; i < 2; i++) {
		assert_int_equal(at_session_init(ctl, id), 0);
		assert_int_equal(at_session_get(ctl, id, copy_session, &s), 0);
		assert_int_equal(s.state, ASYNCTRACE_SESSION_STATE_INITIALIZED);
	}
	for (int i = 0; i < 4; i++) {
		for (int twice = 0; twice < 2; twice++)
			assert_int_equal(at_session_start(ctl, id, NULL), 0);
		assert_int_equal(at_session_get(ctl, id, copy_session, &s), 0);
		assert_int_equal(s.state, ASYNCTRACE_SESSION_STATE_STARTED);
		for (int twice = 0; twice < 2; twice++)
			assert_int_equal(at_session_stop(ctl, id), 0);
		assert_int_equal(at_session_get(ctl, id, copy_session, &s), 0);
		assert_int_equal(s.state, ASYNCTRACE_SESSION_STATE_STOPPED);
	}
	assert_int_equal(at_session_destroy(ctl, id), 0);
	assert_int_equal(at_session_get(ctl, id, copy_session, &s), -ENOENT);
	assert_int_equal(at_session_start(ctl, id, NULL), -ENOENT);
	says("id: ");
}

static void one_consumer_at_a_time(void **state)
{
	struct at_session_options o = options("consumer");
	struct at_session_info s;
	uint32_t id;
	int fd;

	(void)state;
	assert_int_equal(at_session_create(ctl, &o, &id), 0);
	assert_int_equal(at_session_init(ctl, id), 0);
	fd = at_session_open_stream(ctl, id);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(at_session_open_stream(ctl, id), -EBUSY);
	says("somebody else");
	assert_int_equal(at_session_get(ctl, id, copy_session, &s), 0);
	assert_true(s.consumed);
	close(fd);
	assert_int_equal(at_session_get(ctl, id, copy_session, &s), 0);
	assert_false(s.consumed);
	fd = at_session_open_stream(ctl, id);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(at_session_open_stream(ctl, id + 1000), -ENOENT);
	assert_int_equal(at_session_destroy(ctl, id), 0);
}

static void session_ends_with_socket_unless_detached(void **state)
{
	struct at_session_options bound = options("bound"), kept = options("kept");
	struct at_ctl *other;
	uint32_t bound_id, kept_id;

	(void)state;
	kept.flags = ASYNCTRACE_SESSION_FLAGS_DETACHED;
	assert_int_equal(at_ctl_open(&other), 0);
	assert_int_equal(at_session_create(other, &bound, &bound_id), 0);
	assert_int_equal(at_session_create(other, &kept, &kept_id), 0);
	/* Another socket of the same user may control the session meanwhile. */
	assert_int_equal(at_session_init(ctl, bound_id), 0);
	at_ctl_close(other);
	assert_int_equal(at_for_each_session(ctl, find_session, "bound"), 0);
	assert_int_equal(at_for_each_session(ctl, find_session, "kept"), kept_id);
	assert_int_equal(at_session_destroy(ctl, kept_id), 0);
}

static void a_killed_owner_takes_its_session_along(void **state)
{
	int pipe_fds[2], status;
	char byte;
	pid_t child;

	(void)state;
	assert_int_equal(pipe(pipe_fds), 0);
	child = fork();
	if (!child) {
		struct at_session_options o = options("orphan");
		struct at_ctl *own;
		uint32_t id;

		if (at_ctl_open(&own) || at_session_create(own, &o, &id) ||
		    at_session_init(own, id) || at_session_start(own, id, NULL) ||
		    write(pipe_fds[1], "x", 1) != 1)
			_exit(1);
		pause();
	}
	assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
	assert_true(at_for_each_session(ctl, find_session, "orphan") > 0);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(at_for_each_session(ctl, find_session, "orphan"), 0);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

/* --- providers --------------------------------------------------------------------- */

static int hello(uint64_t *cookie)
{
	struct asynctrace_hello h = { .size = sizeof(h), .abi = ASYNCTRACE_ABI_VERSION };
	int fd = open("/dev/" ASYNCTRACE_DEVICE, O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ioctl(fd, ASYNCTRACE_IOC_HELLO, &h), 0);
	assert_int_not_equal(h.cookie, 0);
	*cookie = h.cookie;
	return fd;
}

static int register_by_ioctl(int fd, const char *name, uint64_t stride, uint32_t *id)
{
	char buf[AT_REGISTER_ATTRS_MAX] __attribute__((aligned(8)));
	struct asynctrace_attrs a = { .size = sizeof(a), .attrs = (uintptr_t)buf };
	int len = at_register_attrs(buf, sizeof(buf), name, 3, stride);

	assert_true(len > 0);
	a.len = len;
	if (ioctl(fd, ASYNCTRACE_IOC_REGISTER, &a))
		return -errno;
	*id = a.id;
	return 0;
}

static int check_provider(const struct at_provider_info *p, void *arg)
{
	if (p->id != *(uint32_t *)arg)
		return 0;
	assert_string_equal(p->name, "prov");
	assert_int_equal(p->version, 3);
	assert_int_equal(p->pid, getpid());
	assert_int_equal(p->uid, getuid());
	assert_int_equal(p->ring_stride, 1 << 20);
	assert_false(p->started);
	return 1;
}

static void netlink_and_ioctl_register_the_same(void **state)
{
	(void)state;
	for (int by_ioctl = 0; by_ioctl < 2; by_ioctl++) {
		bool started = true;
		uint64_t cookie;
		uint32_t id = 0;
		int fd = hello(&cookie);

		if (by_ioctl)
			assert_int_equal(register_by_ioctl(fd, "prov", 1 << 20, &id), 0);
		else
			assert_int_equal(at_genl_register(cookie, "prov", 3, 1 << 20, &id,
							  &started), 0);
		assert_false(!by_ioctl && started);
		assert_int_equal(at_for_each_provider(ctl, check_provider, &id), 1);
		/* A descriptor can register one provider, by netlink or ioctl. */
		assert_int_equal(at_genl_register(cookie, "prov", 3, 1 << 20, &id, NULL), -EBUSY);
		assert_int_equal(register_by_ioctl(fd, "prov", 1 << 20, &id), -EBUSY);
		close(fd);
		assert_int_equal(at_for_each_provider(ctl, find_provider, &id), 0);
	}
}

static int count_provider(const struct at_provider_info *p, void *arg)
{
	uint32_t *seen = arg;

	if (!strcmp(p->name, "many")) {
		assert_true(p->id > seen[1]);
		seen[1] = p->id;
		seen[0]++;
	}
	return 0;
}

/* The list is larger than one message can hold, so the dump continues in further messages. */
static void long_list_is_complete_and_in_order(void **state)
{
	enum { MANY = 200 };
	uint32_t id, seen[2] = { 0 };
	int fds[MANY];
	uint64_t cookie;

	(void)state;
	for (int i = 0; i < MANY; i++) {
		fds[i] = hello(&cookie);
		assert_int_equal(at_genl_register(cookie, "many", 0, ASYNCTRACE_RING_MIN, &id,
						  NULL), 0);
	}
	assert_int_equal(at_for_each_provider(ctl, count_provider, seen), 0);
	assert_int_equal(seen[0], MANY);
	for (int i = 0; i < MANY; i++)
		close(fds[i]);
	memset(seen, 0, sizeof(seen));
	assert_int_equal(at_for_each_provider(ctl, count_provider, seen), 0);
	assert_int_equal(seen[0], 0);
}

/* --- other users --------------------------------------------------------------------- */

/* Runs in a child without rights. Returns 0, or the line number of a failure. */
#define EXPECT(what) do { if (!(what)) return __LINE__; } while (0)

static int as_nobody(uint32_t session, uint32_t provider)
{
	struct at_session_options o = options("nobody's");
	struct at_info info = { .size = sizeof(info) };
	struct at_session_info s;
	struct at_ctl *own;
	uint64_t cookie;
	uint32_t id, own_id;
	int fd;

	/* PR_SET_DUMPABLE, as exec(2) would set it for the user's program. */
	if (setgid(65534) || setuid(65534) || prctl(PR_SET_DUMPABLE, 1))
		return __LINE__;
	/* The user inherited a socket of root, and must not use it. */
	EXPECT(at_session_stop(ctl, session) == -EPERM);
	EXPECT(at_for_each_session(ctl, copy_session, &s) == -EPERM);

	EXPECT(!at_ctl_open(&own));
	EXPECT(!at_info(own, &info) && !info.privileged);
	EXPECT(!at_for_each_session(own, find_session, "root's"));
	EXPECT(!at_for_each_provider(own, find_provider, &provider));
	EXPECT(at_session_get(own, session, copy_session, &s) == -ENOENT);
	EXPECT(at_session_stop(own, session) == -ENOENT);
	EXPECT(at_session_destroy(own, session) == -ENOENT);
	EXPECT(at_for_each_ring(own, session, NULL, NULL) == -ENOENT);
	fd = at_session_open_stream(own, session);
	EXPECT(fd == -EPERM || fd == -ENOENT);

	o.sched = ASYNCTRACE_SCHED_ALL;
	EXPECT(at_session_create(own, &o, &id) == -EPERM);
	EXPECT(strstr(at_ctl_error(own), "CAP_PERFMON"));
	o.sched = ASYNCTRACE_SCHED_TARGETS;
	EXPECT(!at_session_create(own, &o, &id));
	EXPECT(at_for_each_session(own, find_session, "nobody's") == (int)id);
	EXPECT(!at_session_init(own, id));
	EXPECT(!at_session_get(own, id, copy_session, &s));
	EXPECT(!s.providers && s.uid == 65534);
	EXPECT(!at_session_start(own, id, NULL));

	/* The user may see and record the user's own provider. */
	fd = hello(&cookie);
	EXPECT(!at_genl_register(cookie, "own", 0, 1 << 20, &own_id, NULL));
	EXPECT(at_for_each_provider(own, find_provider, &own_id) == 1);
	EXPECT(!at_session_get(own, id, copy_session, &s) && s.providers == 1);
	close(fd);
	at_ctl_close(own);
	return 0;
}

static void users_do_not_see_each_other(void **state)
{
	struct at_session_options o = options("root's");
	uint32_t session, provider;
	uint64_t cookie;
	int status, fd;
	pid_t child;

	(void)state;
	fd = hello(&cookie);
	assert_int_equal(at_genl_register(cookie, "prov", 0, 1 << 20, &provider, NULL), 0);
	assert_int_equal(at_session_create(ctl, &o, &session), 0);
	child = fork();
	if (!child)
		_exit(as_nobody(session, provider) % 256);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (status)
		fail_msg("line %d (modulo 256) of the child", WEXITSTATUS(status));
	assert_int_equal(at_for_each_session(ctl, find_session, "root's"), session);
	assert_int_equal(at_session_destroy(ctl, session), 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(session_limits_are_enforced),
		cmocka_unit_test(every_size_is_checked),
		cmocka_unit_test(unknown_modes_and_flags_are_refused),
		cmocka_unit_test(session_over_memory_limit_gets_arithmetic),
		cmocka_unit_test(a_name_is_taken_until_its_session_ends),
		cmocka_unit_test(states_follow_each_other),
		cmocka_unit_test(one_consumer_at_a_time),
		cmocka_unit_test(session_ends_with_socket_unless_detached),
		cmocka_unit_test(a_killed_owner_takes_its_session_along),
		cmocka_unit_test(netlink_and_ioctl_register_the_same),
		cmocka_unit_test(long_list_is_complete_and_in_order),
		cmocka_unit_test(users_do_not_see_each_other),
	};
	int total = sizeof(tests) / sizeof(tests[0]);
	int failed = cmocka_run_group_tests(tests, setup, teardown);

	/* If the setup failed, no test has passed. */
	if (failed < 0 || failed > total || !ctl)
		failed = total;
	printf("%d passed, %d failed, 0 skipped\n", total - failed, failed);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
