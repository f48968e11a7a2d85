// SPDX-License-Identifier: GPL-2.0
/*
 * Filters of sessions by process, ancestor, user and cgroup, and ring sizes by provider (P13)
 *
 * The providers are children of this process.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asynctrace/provider.h>

#include "run.h"

#define PROVIDER	"filter"
#define CGROUP		"/sys/fs/cgroup/asynctrace-filter"
#define NOBODY		65534

static struct shared {
	volatile uint32_t ready, leave, grandchild, grand_ready;
} *sh;

static struct at_ctl *ctl;

/* --- providers ------------------------------------------------------------------ */

struct kind {
	const char *name;
	uid_t uid;
	const char *cgroup;
	bool fork;		/* the provider is a grandchild of this process */
};

static void move_to(const char *cgroup)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	write_to(path, "0");
}

static void be_provider(const struct kind *k)
{
	const struct at_provider_options opts = { .size = sizeof(opts), .name = k->name };

	if (k->cgroup)
		move_to(k->cgroup);
	/* PR_SET_DUMPABLE, as exec(2) would set it for a program that the user starts */
	if (k->uid)
		must(!setresuid(k->uid, k->uid, k->uid) && !prctl(PR_SET_DUMPABLE, 1));
	must(!at_provider_register(&opts));
	__atomic_add_fetch(&sh->ready, 1, __ATOMIC_SEQ_CST);
	wait_for(&sh->leave, 1, "leave");
	_exit(0);
}

/* Starts a provider. Returns its pid; with ->fork, the pid of its parent. */
static pid_t provider(const struct kind *k)
{
	const uint32_t ready = sh->ready + 1;
	pid_t pid = fork();

	must(pid >= 0);
	if (!pid) {
		if (!k->fork)
			be_provider(k);
		pid = fork();
		must(pid >= 0);
		if (!pid) {
			/* Before it is ready: the test reads the number then. */
			sh->grandchild = getpid();
			be_provider(k);
		}
		must(waitpid(pid, NULL, 0) == pid);
		_exit(0);
	}
	wait_for(&sh->ready, ready, "ready");
	return pid;
}

static void begin(void)
{
	memset(sh, 0, sizeof(*sh));
}

/* --- sessions --------------------------------------------------------------------- */

static uint32_t create(struct at_ctl *on, struct at_session_options *opts)
{
	static const char *const pattern = PROVIDER "*";
	uint32_t id;

	opts->size = sizeof(*opts);
	opts->name = PROVIDER;
	opts->mode = ASYNCTRACE_MODE_ONESHOT;
	if (!opts->ring_size)
		opts->ring_size = 64 << 10;
	opts->nr_providers = 1;
	opts->providers = &pattern;
	if (at_session_create(on, opts, &id))
		ktap_bail("%s", at_ctl_error(on));
	return id;
}

static void init(uint32_t id)
{
	if (at_session_init(ctl, id))
		ktap_bail("%s", at_ctl_error(ctl));
}

static void end(uint32_t id)
{
	if (at_session_destroy(ctl, id))
		ktap_bail("%s", at_ctl_error(ctl));
}

struct found {
	uint32_t session;
	uint32_t pid;
	bool is;
};

static int find(const struct at_provider_info *p, void *arg)
{
	struct found *f = arg;

	if (p->pid == f->pid)
		f->is = p->session == f->session;
	return 0;
}

static bool has(uint32_t session, pid_t pid)
{
	struct found f = { .session = session, .pid = pid };

	if (at_for_each_provider(ctl, find, &f))
		ktap_bail("%s", at_ctl_error(ctl));
	return f.is;
}

static struct at_session_info shown;
static uint32_t shown_pids[4], shown_users[4];
static uint64_t shown_cgroups[4], shown_sizes[4];
static char shown_names[4][ASYNCTRACE_NAME_MAX + 1];

static int take(const struct at_session_info *s, void *arg)
{
	(void)arg;
	shown = *s;
	for (size_t i = 0; i < s->nr_pids && i < 4; i++)
		shown_pids[i] = s->pids[i];
	for (size_t i = 0; i < s->nr_users && i < 4; i++)
		shown_users[i] = s->users[i];
	for (size_t i = 0; i < s->nr_cgroups && i < 4; i++)
		shown_cgroups[i] = s->cgroups[i];
	for (size_t i = 0; i < s->nr_buffers && i < 4; i++) {
		shown_sizes[i] = s->buffers[i].ring_size;
		snprintf(shown_names[i], sizeof(shown_names[i]), "%s", s->buffers[i].provider);
	}
	return 0;
}

static void show(uint32_t id)
{
	if (at_session_get(ctl, id, take, NULL))
		ktap_bail("%s", at_ctl_error(ctl));
}

/* --- the tests -------------------------------------------------------------------- */

static void test_pids(void)
{
	const struct kind one = { .name = PROVIDER " one" }, two = { .name = PROVIDER " two" };
	pid_t a, b, c;
	uint32_t id, pids[2];

	ktap_begin("filter_selects_processes");
	begin();
	a = provider(&one);
	b = provider(&two);
	pids[0] = a;
	pids[1] = getpid();	/* is no provider */
	id = create(ctl, &(struct at_session_options){ .nr_pids = 2, .pids = pids });
	init(id);
	c = provider(&one);	/* matches the session's name, but registers too late */
	ktap_check(has(id, a) && !has(id, b) && !has(id, c), "session %u has %d%d%d", id,
		   has(id, a), has(id, b), has(id, c));
	show(id);
	ktap_check(shown.nr_pids == 2 && shown_pids[0] == (uint32_t)a &&
		   shown_pids[1] == (uint32_t)getpid(), "%zu processes are shown, %u and %u",
		   shown.nr_pids, shown_pids[0], shown_pids[1]);
	ktap_check(!shown.nr_users && !shown.nr_cgroups && !shown.nr_buffers, "more is shown");
	end(id);
	sh->leave = 1;
	reap(a);
	reap(b);
	reap(c);
	ktap_end();
}

/*
 * Starts a provider and tries to give it the id @pid of a process that has ended. Returns its id,
 * which differs from @pid if another process got @pid first.
 */
static pid_t provider_with_pid(const struct kind *k, pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", pid - 1);
	write_to("/proc/sys/kernel/ns_last_pid", text);
	return provider(k);
}

static void test_reused(void)
{
	const struct kind k = { .name = PROVIDER " again" };
	uint32_t id, nr;
	pid_t a, b;
	int tries;

	ktap_begin("filter_reused_pid_is_another_process");
	begin();
	a = provider(&k);
	nr = a;
	id = create(ctl, &(struct at_session_options){ .nr_pids = 1, .pids = &nr });
	sh->leave = 1;
	reap(a);
	for (tries = 0; tries < 20; tries++) {
		begin();
		b = provider_with_pid(&k, a);
		if (a == b)
			break;
		sh->leave = 1;
		reap(b);
	}
	must(tries < 20);
	init(id);
	ktap_check(!has(id, b), "provider with the reused pid is in session %u", id);
	show(id);
	ktap_check(shown.nr_pids == 1 && !shown_pids[0], "%u is shown", shown_pids[0]);
	end(id);
	sh->leave = 1;
	reap(b);
	ktap_end();
}

static void test_follow(void)
{
	const struct kind k = { .name = PROVIDER " grandchild", .fork = true };
	const struct kind other = { .name = PROVIDER " other" };
	uint32_t id, late, pids[1];
	pid_t a, b;

	ktap_begin("filter_follows_descendants_if_asked");
	for (int follow = 0; follow < 2; follow++) {
		begin();
		a = provider(&k);
		b = provider(&other);
		pids[0] = a;
		id = create(ctl, &(struct at_session_options){
			.flags = follow ? ASYNCTRACE_SESSION_FLAGS_FOLLOW : 0,
			.nr_pids = 1, .pids = pids,
		});
		init(id);
		ktap_check(has(id, sh->grandchild) == follow && !has(id, b),
			   "follow %d: session %u has %d%d", follow, id, has(id, sh->grandchild),
			   has(id, b));
		end(id);
		sh->leave = 1;
		reap(a);
		reap(b);
	}
	/* With this process as the ancestor, also providers that register later are recorded. */
	begin();
	pids[0] = getpid();
	id = create(ctl, &(struct at_session_options){
		.flags = ASYNCTRACE_SESSION_FLAGS_FOLLOW, .nr_pids = 1, .pids = pids,
	});
	init(id);
	a = provider(&k);
	late = sh->grandchild;
	ktap_check(has(id, late), "a provider that registers late is not followed");
	end(id);
	sh->leave = 1;
	reap(a);
	ktap_end();
}

static void test_users(void)
{
	const struct kind mine = { .name = PROVIDER " root" };
	const struct kind his = { .name = PROVIDER " nobody", .uid = NOBODY };
	const uint32_t users[2] = { NOBODY, 12345 };
	uint32_t id;
	pid_t a, b;

	ktap_begin("filter_selects_users");
	begin();
	a = provider(&mine);
	b = provider(&his);
	id = create(ctl, &(struct at_session_options){ .nr_users = 2, .users = users });
	init(id);
	ktap_check(!has(id, a) && has(id, b), "session %u has %d%d", id, has(id, a), has(id, b));
	show(id);
	ktap_check(shown.nr_users == 2 && shown_users[0] == NOBODY && shown_users[1] == 12345,
		   "%zu users are shown", shown.nr_users);
	end(id);
	sh->leave = 1;
	reap(a);
	reap(b);
	ktap_end();
}

/* A filter cannot select processes that its user may not record. */
static void test_unprivileged(void)
{
	const struct kind mine = { .name = PROVIDER " root" };
	const struct kind his = { .name = PROVIDER " nobody", .uid = NOBODY };
	pid_t a, b, user;

	ktap_begin("I6_filter_widens_no_rights");
	begin();
	a = provider(&mine);
	b = provider(&his);
	user = fork();
	must(user >= 0);
	if (!user) {
		const uint32_t pids[2] = { a, b }, users[2] = { 0, NOBODY };
		struct at_ctl *own;
		uint32_t id;

		must(!setresuid(NOBODY, NOBODY, NOBODY));
		must(!at_ctl_open(&own));
		id = create(own, &(struct at_session_options){
			.nr_pids = 2, .pids = pids, .nr_users = 2, .users = users });
		must(!at_session_init(own, id) && !at_session_get(own, id, take, NULL));
		_exit(shown.providers == 1 ? 0 : 2);
	}
	reap(user);
	sh->leave = 1;
	reap(a);
	reap(b);
	ktap_end();
}

static uint64_t cgroup_number(const char *path)
{
	struct stat st;

	must(!stat(path, &st));
	return st.st_ino;
}

static void test_cgroups(void)
{
	const struct kind in = { .name = PROVIDER " in", .cgroup = CGROUP };
	const struct kind below = { .name = PROVIDER " below", .cgroup = CGROUP "/below" };
	const struct kind out = { .name = PROVIDER " out" };
	struct at_session_options o = { .nr_cgroups = 1 };
	uint64_t nr;
	uint32_t id;
	pid_t a, b, c;

	ktap_begin("filter_selects_cgroups_and_their_children");
	mkdir("/sys/fs/cgroup", 0755);
	must(!mkdir(CGROUP, 0755) || errno == EEXIST);
	must(!mkdir(CGROUP "/below", 0755) || errno == EEXIST);
	begin();
	a = provider(&in);
	b = provider(&below);
	c = provider(&out);
	nr = cgroup_number(CGROUP);
	o.cgroups = &nr;
	id = create(ctl, &o);
	init(id);
	ktap_check(has(id, a) && has(id, b) && !has(id, c), "session %u has %d%d%d", id,
		   has(id, a), has(id, b), has(id, c));
	show(id);
	ktap_check(shown.nr_cgroups == 1 && shown_cgroups[0] == nr, "%zu cgroups are shown",
		   shown.nr_cgroups);
	end(id);
	nr = cgroup_number(CGROUP "/below");
	id = create(ctl, &o);
	init(id);
	ktap_check(!has(id, a) && has(id, b) && !has(id, c), "session %u has %d%d%d", id,
		   has(id, a), has(id, b), has(id, c));
	end(id);
	sh->leave = 1;
	reap(a);
	reap(b);
	reap(c);
	must(!rmdir(CGROUP "/below") && !rmdir(CGROUP));
	ktap_end();
}

static void expect(struct at_session_options *o, int err, const char *text)
{
	uint32_t id;
	int ret;

	o->size = sizeof(*o);
	o->name = PROVIDER;
	o->mode = ASYNCTRACE_MODE_ONESHOT;
	o->ring_size = 64 << 10;
	ret = at_session_create(ctl, o, &id);
	ktap_check(ret == err && strstr(at_ctl_error(ctl), text), "%d, not %d: %s", ret, err,
		   ret ? at_ctl_error(ctl) : "");
	if (!ret)
		end(id);
}

static void test_refused(void)
{
	static const uint32_t no_process[] = { 0, 4194303, 1u << 31, ~0u };
	static const uint32_t no_user = ~0u;
	static const uint64_t no_cgroup = ~0ULL;
	uint32_t pids[ASYNCTRACE_CATEGORIES_MAX + 1];
	struct at_buffer_size sizes[ASYNCTRACE_CATEGORIES_MAX + 1];

	ktap_begin("P13_filter_bad_requests_are_refused");
	for (int i = 0; i < 4; i++)
		expect(&(struct at_session_options){ .nr_pids = 1, .pids = &no_process[i] },
		       -ESRCH, "pid: no process");
	expect(&(struct at_session_options){ .nr_users = 1, .users = &no_user }, -EINVAL, "user: ");
	expect(&(struct at_session_options){ .nr_cgroups = 1, .cgroups = &no_cgroup }, -ENOENT,
	       "cgroup: ");
	for (int i = 0; i <= ASYNCTRACE_CATEGORIES_MAX; i++) {
		pids[i] = getpid();
		sizes[i] = (struct at_buffer_size){ "*", ASYNCTRACE_RING_MIN };
	}
	expect(&(struct at_session_options){ .nr_pids = ASYNCTRACE_CATEGORIES_MAX, .pids = pids },
	       0, "");
	expect(&(struct at_session_options){ .nr_pids = ASYNCTRACE_CATEGORIES_MAX + 1,
					     .pids = pids }, -ERANGE, "pid: at most 100");
	expect(&(struct at_session_options){ .nr_buffers = ASYNCTRACE_CATEGORIES_MAX,
					     .buffers = sizes }, 0, "");
	expect(&(struct at_session_options){ .nr_buffers = ASYNCTRACE_CATEGORIES_MAX + 1,
					     .buffers = sizes }, -ERANGE, "buffer: at most 100");
	sizes[0].ring_size = ASYNCTRACE_RING_MIN / 2;
	expect(&(struct at_session_options){ .nr_buffers = 1, .buffers = sizes }, -ERANGE, "");
	sizes[0].ring_size = ASYNCTRACE_RING_MIN + 4096;
	expect(&(struct at_session_options){ .nr_buffers = 1, .buffers = sizes }, -EINVAL,
	       "power of two");
	sizes[0] = (struct at_buffer_size){ "", ASYNCTRACE_RING_MIN };
	expect(&(struct at_session_options){ .nr_buffers = 1, .buffers = sizes }, -EINVAL,
	       "must not be empty");
	ktap_end();
}

/* --- sizes ------------------------------------------------------------------------- */

struct sized {
	const char *name;
	uint64_t bytes;		/* size of its ring in the session */
	uint32_t id;
	uint64_t committed;
};

static int sum_of(const struct at_ring_info *r, void *arg)
{
	struct sized *s = arg;

	if (r->provider == s->id)
		s->committed += r->committed;
	return 0;
}

static int id_of(const struct at_provider_info *p, void *arg)
{
	struct sized *s = arg;

	if (!strcmp(p->name, s->name))
		s->id = p->id;
	return 0;
}

static void fill_ring(const char *name)
{
	const struct at_provider_options opts = { .size = sizeof(opts), .name = name };

	pin(0);
	must(!at_provider_register(&opts));
	__atomic_add_fetch(&sh->ready, 1, __ATOMIC_SEQ_CST);
	while (!nu_gate())
		sleep_us(500);
	/* Records of at least five words fill each of the rings. */
	for (uint32_t i = 0; i < (2 << 20) / 40; i++)
		must(nu_emit(0, i, 0));
	__atomic_add_fetch(&sh->ready, 1, __ATOMIC_SEQ_CST);
	wait_for(&sh->leave, 1, "leave");
	_exit(0);
}

static int rings_held(const struct at_session_info *s, void *arg)
{
	*(uint64_t *)arg = s->pages;
	return 0;
}

static void test_sizes(void)
{
	static const struct at_buffer_size sizes[] = {
		{ PROVIDER " small", 16 << 10 },
		{ PROVIDER " l*", 1 << 20 },
		{ PROVIDER " last", 16 << 10 },	/* the previous pattern matches first */
	};
	struct sized all[] = {
		{ .name = PROVIDER " small", .bytes = 16 << 10 },
		{ .name = PROVIDER " large", .bytes = 1 << 20 },
		{ .name = PROVIDER " last", .bytes = 1 << 20 },
		{ .name = PROVIDER " other", .bytes = 64 << 10 },
	};
	const unsigned int n = sizeof(all) / sizeof(all[0]);
	uint64_t pages = 0;
	pid_t pid[4];
	uint32_t id;

	ktap_begin("P13_first_matching_ring_size_holds");
	begin();
	id = create(ctl, &(struct at_session_options){ .nr_buffers = 3, .buffers = sizes });
	init(id);
	for (unsigned int i = 0; i < n; i++) {
		pid[i] = fork();
		must(pid[i] >= 0);
		if (!pid[i])
			fill_ring(all[i].name);
		wait_for(&sh->ready, i + 1, "ready");
	}
	if (at_session_start(ctl, id, NULL))
		ktap_bail("%s", at_ctl_error(ctl));
	for (unsigned int i = 0; i < n; i++) {
		if (at_for_each_provider(ctl, id_of, &all[i]))
			ktap_bail("%s", at_ctl_error(ctl));
	}
	wait_for(&sh->ready, 2 * n, "full rings");
	for (unsigned int i = 0; i < n; i++)
		if (at_for_each_ring(ctl, id, sum_of, &all[i]))
			ktap_bail("%s", at_ctl_error(ctl));
	for (unsigned int i = 1; i < n; i++) {
		const double ratio = (double)all[i].committed / all[0].committed;
		const double expected = (double)all[i].bytes / all[0].bytes;

		ktap_check(ratio > expected * 0.9 && ratio < expected * 1.1,
			   "%s: %llu records; the ring of 16 KiB has %llu", all[i].name,
			   (unsigned long long)all[i].committed,
			   (unsigned long long)all[0].committed);
	}
	if (at_session_get(ctl, id, rings_held, &pages))
		ktap_bail("%s", at_ctl_error(ctl));
	/* The header pages of four providers are counted, too. */
	ktap_check(pages >= (16 + 1024 + 1024 + 64) / 4 && pages <= (16 + 2048 + 64) / 4 + 8,
		   "%llu pages", (unsigned long long)pages);
	show(id);
	ktap_check(shown.nr_buffers == 3 && !strcmp(shown_names[1], sizes[1].provider) &&
		   shown_sizes[0] == sizes[0].ring_size && shown_sizes[1] == sizes[1].ring_size,
		   "%zu sizes are shown", shown.nr_buffers);
	end(id);
	sh->leave = 1;
	for (unsigned int i = 0; i < n; i++)
		reap(pid[i]);
	ktap_end();
}

static bool before_6_3(void)
{
	unsigned int major = 0, minor = 0;
	struct utsname u;

	return !uname(&u) && sscanf(u.release, "%u.%u", &major, &minor) == 2 &&
	       (major < 6 || (major == 6 && minor < 3));
}

static void test_sum(void)
{
	struct at_info info = { .size = sizeof(info) };
	struct at_buffer_size size = { PROVIDER " *", 16 << 10 };
	struct at_session_options o = { .ring_size = 1 << 30 };
	const struct kind k = { .name = PROVIDER " sum" };
	uint32_t id;
	pid_t pid;

	ktap_begin("P13_session_memory_follows_ring_sizes");
	must(!at_info(ctl, &info));
	begin();
	pid = provider(&k);
	o.nr_buffers = 1;
	o.buffers = &size;
	id = create(ctl, &o);
	init(id);
	end(id);
	/* The kernel's own rings have the session's size. */
	o.sched = ASYNCTRACE_SCHED_TARGETS;
	id = create(ctl, &o);
	/* Kernels before 6.3 report no numbers. */
	ktap_check(at_session_init(ctl, id) == -ENOSPC &&
		   (strstr(at_ctl_error(ctl), " * 2 rings of several sizes = ") ||
		    (before_6_3() && strstr(at_ctl_error(ctl), "above the memory limit"))), "%s",
		   at_ctl_error(ctl));
	end(id);
	sh->leave = 1;
	reap(pid);
	ktap_end();
}

int main(void)
{
	ktap_plan(9);
	sh = shared_memory(sizeof(*sh));
	if (at_ctl_open(&ctl))
		ktap_bail("%s", at_ctl_error(ctl));
	test_pids();
	test_reused();
	test_follow();
	test_users();
	test_unprivileged();
	test_cgroups();
	test_refused();
	test_sizes();
	test_sum();
	at_ctl_close(ctl);
	return ktap_exit();
}
