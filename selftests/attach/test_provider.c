// SPDX-License-Identifier: GPL-2.0
/*
 * The library and the module: forms of registration (P20 to P25), alerts, announced categories,
 * observing, and notifications about them
 */
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asynctrace/inprocess.h>
#include <asynctrace/session.h>
#include <asynctrace/trace.h>

#include "ktap.h"

static struct at_ctl *ctl;
static struct at_notifications *events;
static struct at_notification ev;
static uint32_t id;

static void session(const char *provider, const char *category)
{
	const struct at_session_options o = {
		.size = sizeof(o), .name = provider, .mode = ASYNCTRACE_MODE_ONESHOT,
		.ring_size = 64 * 1024, .providers = &provider, .nr_providers = 1,
		.categories = &category, .nr_categories = category ? 1 : 0,
	};

	NEED(!at_session_create(ctl, &o, &id));
	NEED(!at_session_init(ctl, id));
}

static void begin(void)
{
	NEED(!at_ctl_open(&ctl));
	NEED(!at_notifications_open(&events, 0x7f, 0));
}

static void end(void)
{
	at_provider_unregister();
	at_notifications_close(events);
	at_ctl_close(ctl);
}

/* Milliseconds to wait for a notification that must come. A slow machine needs long. */
#define PATIENCE_MS	240000

static int next(int ms)
{
	struct pollfd p = { at_notifications_fd(events), POLLIN, 0 };

	ev = (struct at_notification){ .size = sizeof(ev) };
	poll(&p, 1, ms);
	return at_notifications_next(events, &ev);
}

#define NEXT(what) do {							\
	NEED(!next(PATIENCE_MS));						\
	EXPECT_IS(ev.kind, ASYNCTRACE_NOTIFICATION_KINDS_##what);		\
	EXPECT_IS(ev.lost, 0);						\
} while (0)
#define NO_MORE()	EXPECT_IS(next(100), -EAGAIN)

static int child_is(int (*fn)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(fn());
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int count_provider(const struct at_provider_info *p, void *arg)
{
	int *n = arg;

	*n += p->pid == (uint32_t)getpid();
	return 0;
}

static int providers_of_mine(void)
{
	int n = 0;

	return at_for_each_provider(ctl, count_provider, &n) ?: n;
}

static int sockets(void)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	struct stat st;
	int n = 0;

	while (d && (e = readdir(d)))
		n += !fstatat(dirfd(d), e->d_name, &st, 0) && S_ISSOCK(st.st_mode);
	closedir(d);
	return n;
}

/* --- registration --------------------------------------------------------------- */

static int first_macro(void)
{
	if (at_ctl_open(&ctl) || providers_of_mine())
		return 1;
	TRACE_INSTANT("test", "first", TRACE_SCOPE_THREAD);
	if (providers_of_mine() != 1 || at_provider_fd() < 0)
		return 2;
	return 0;
}

static void P20_first_macro_registers(void)
{
	EXPECT_IS(child_is(first_macro), 0);
}

static void P21_registration_tells_if_a_session_records(void)
{
	uint32_t started = 7;
	struct at_provider_options o = { .size = sizeof(o), .name = "p21", .started = &started };

	begin();
	EXPECT_IS(at_provider_register(&o), 0);
	EXPECT_IS(started, 0);
	NEXT(PROVIDER_CAME);
	EXPECT(!strcmp(ev.name, "p21") && ev.pid == (uint32_t)getpid());
	EXPECT_IS(providers_of_mine(), 1);
	session("p21", NULL);
	/* An initialized session does not record yet. */
	EXPECT_IS(at_provider_register(&o), 0);
	EXPECT_IS(started, 0);
	EXPECT_IS(at_session_start(ctl, id, NULL), 0);
	EXPECT_IS(at_provider_register(&o), 0);
	EXPECT_IS(started, 1);
	EXPECT(TRACE_ENABLED());
	/* A session that names another provider does not record this one. */
	o.name = "p21x";
	EXPECT_IS(at_provider_register(&o), 0);
	EXPECT_IS(started, 0);
	/* Callers with an older structure, and unknown flags */
	o.size = offsetof(struct at_provider_options, flags);
	started = 7;
	EXPECT_IS(at_provider_register(&o), 0);
	EXPECT_IS(started, 7);
	o.size = sizeof(o);
	o.flags = 2;
	EXPECT_IS(at_provider_register(&o), -EINVAL);
	end();
}

static bool polled_without_end;

/* The library's poll(3). Notes a timeout that has no end. */
int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	const struct timespec ts = {
		.tv_sec = timeout / 1000, .tv_nsec = timeout % 1000 * 1000000,
	};

	polled_without_end |= timeout < 0;
	return ppoll(fds, n, timeout < 0 ? NULL : &ts, NULL);
}

static void *start_soon(void *arg)
{
	usleep(200000);
	return (void *)(intptr_t)at_session_start(arg, id, NULL);
}

static void P21_registration_can_wait_for_a_start(void)
{
	uint32_t started = 7;
	struct at_provider_options o = { .size = sizeof(o), .name = "waits", .started = &started,
				      .flags = ASYNCTRACE_PROVIDER_WAIT_START, .wait_ms = 50 };
	pthread_t t;
	void *err;

	begin();
	/* Waits in vain: no session starts. */
	EXPECT_IS(at_provider_register(&o), 0);
	EXPECT_IS(started, 0);
	session("waits", NULL);
	/* As a signed number, this would be negative. */
	o.wait_ms = UINT32_MAX;
	NEED(!pthread_create(&t, NULL, start_soon, ctl));
	EXPECT_IS(at_provider_register(&o), 0);
	EXPECT_IS(started, 1);
	EXPECT(TRACE_ENABLED());
	EXPECT(!polled_without_end);
	pthread_join(t, &err);
	EXPECT(!err);
	/* If a session runs, registering does not wait. */
	started = 7;
	o.wait_ms = 0;
	EXPECT_IS(at_provider_register(&o), 0);
	EXPECT_IS(started, 1);
	end();
}

static int register_and_exit(void)
{
	const struct at_provider_options o = { .size = sizeof(o), .name = "p22" };

	if (at_provider_register(&o))
		return 1;
	kill(getpid(), SIGKILL);
	return 2;
}

static void P22_death_unregisters(void)
{
	const struct at_provider_options o = { .size = sizeof(o), .name = "p22" };
	uint32_t provider;

	begin();
	EXPECT_IS(child_is(register_and_exit), -1);
	NEXT(PROVIDER_CAME);
	provider = ev.provider;
	NEXT(PROVIDER_WENT);
	EXPECT_IS(ev.provider, provider);
	EXPECT_IS(at_provider_register(&o), 0);
	NEXT(PROVIDER_CAME);
	EXPECT_IS(at_provider_unregister(), 0);
	NEXT(PROVIDER_WENT);
	NO_MORE();
	EXPECT_IS(at_provider_fd(), -ESRCH);
	end();
}

static void P23_registered_provider_needs_no_socket(void)
{
	const struct at_provider_options o = { .size = sizeof(o), .name = "p23" };
	int before;

	begin();
	before = sockets();
	EXPECT_IS(at_provider_register(&o), 0);
	EXPECT_IS(sockets(), before);
	NEXT(PROVIDER_CAME);
	/* The provider still exists and can be recorded. */
	session("p23", NULL);
	EXPECT_IS(at_session_start(ctl, id, NULL), 0);
	NEXT(STARTED);
	EXPECT(TRACE_ENABLED());
	EXPECT_IS(providers_of_mine(), 1);
	end();
}

static void P24_name_of_101_bytes_is_refused(void)
{
	char name[102] = "";
	const struct at_provider_options o = { .size = sizeof(o), .name = name };

	begin();
	memset(name, 'n', 101);
	EXPECT_IS(at_provider_register(&o), -EINVAL);
	name[100] = 0;
	EXPECT_IS(at_provider_register(&o), 0);
	NEXT(PROVIDER_CAME);
	EXPECT(!strcmp(ev.name, name));
	end();
}

static void P25_late_provider_is_recorded_at_once(void)
{
	const struct at_provider_options o = { .size = sizeof(o), .name = "p25" };

	begin();
	session("p25", "only");
	EXPECT_IS(at_session_start(ctl, id, NULL), 0);
	NEXT(STARTED);
	EXPECT_IS(ev.provider, 0);
	EXPECT_IS(at_provider_register(&o), 0);
	NEXT(PROVIDER_CAME);
	NEXT(STARTED);
	EXPECT_IS(ev.session, id);
	EXPECT_IS(ev.status, 0);
	EXPECT(ev.provider && !strcmp(ev.name, "p25"));
	/* The session's categories are enabled. */
	EXPECT(TRACE_CATEGORY_ENABLED("only") && !TRACE_CATEGORY_ENABLED("others"));
	end();
}

/* --- alerts ------------------------------------------------------------------------ */

static void on_signal(int sig)
{
	(void)sig;
	errno = 77;
	TRACE_ALERT("alerts", "in a handler");
	EXPECT_IS(errno, 77);
}

static void alerts_reach_the_controller(void)
{
	const struct at_provider_options o = { .size = sizeof(o), .name = "alerts" };
	struct at_trace_result r = { .size = sizeof(r) };
	char path[] = "/tmp/alertXXXXXX";
	int fd;

	begin();
	/* Without a session there is no alert. */
	EXPECT_IS(at_provider_register(&o), 0);
	TRACE_ALERT("alerts", "too early");
	NEXT(PROVIDER_CAME);
	session("alerts", "alerts");
	TRACE_ALERT("alerts", "not started");
	EXPECT_IS(at_session_start(ctl, id, NULL), 0);
	NEXT(STARTED);
	for (int i = 0; i < 2; i++)
		if (i)
			TRACE_ALERT("alerts", "fourteen bytes");
		else
			TRACE_ALERT("off", "not this");
	NEXT(ALERT);
	EXPECT(!strcmp(ev.alert, "fourteen bytes") && !strcmp(ev.name, "alerts"));
	EXPECT_IS(ev.session, id);
	EXPECT_IS(ev.pid, getpid());
	/* Alerts that are not read at once stay in order. */
	TRACE_ALERT("alerts", "A");
	TRACE_ALERT("alerts", "alert-nameB");
	TRACE_ALERT("alerts", "alert-nameC");
	for (int i = 0; i < 3; i++) {
		NEXT(ALERT);
		EXPECT(!strcmp(ev.alert, i == 0 ? "A" : i == 1 ? "alert-nameB" : "alert-nameC"));
	}
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	NEXT(ALERT);
	EXPECT(!strcmp(ev.alert, "in a handler"));
	/* A program that traces itself has no controller. */
	EXPECT_IS(at_session_stop(ctl, id), 0);
	NEXT(STOPPED);
	fd = mkstemp(path);
	unlink(path);
	NEED(fd >= 0 && !at_trace_start(fd, NULL));
	EXPECT(TRACE_CATEGORY_ENABLED("alerts"));
	TRACE_ALERT("alerts", "to nobody");
	EXPECT_IS(at_trace_stop(&r), 0);
	close(fd);
	NO_MORE();
	EXPECT_IS(at_session_start(ctl, id, NULL), 0);
	NEXT(STARTED);
	TRACE_ALERT("alerts", "again");
	NEXT(ALERT);
	end();
}

/* --- announced categories -------------------------------------------------------------- */

static int add_category(const struct at_category_info *c, void *arg)
{
	char *text = arg;

	sprintf(text + strlen(text), "%s:%s=%s;", c->provider_name, c->name, c->description);
	return 0;
}

static const char *announced(void)
{
	static char text[65536];

	text[0] = 0;
	return at_for_each_category(ctl, add_category, text) ? "failed" : text;
}

static int announces_in_child(void)
{
	TRACE_INSTANT("test", "child", TRACE_SCOPE_THREAD);
	return strcmp(announced(), "parent:net=packets;parent:disk=;parent:net=packets;parent:disk=;");
}

static void announced_categories_are_listed(void)
{
	static const struct at_category list[] = { { "net", "packets" }, { "disk", NULL } };
	struct at_category many[ASYNCTRACE_CATEGORIES_MAX + 1], bad = { "", NULL };
	struct at_provider_options o = { .size = sizeof(o), .name = "first" };
	char text[102] = "", description[402] = "";

	begin();
	/* An announcement before registering holds for each later registration. */
	EXPECT_IS(at_provider_announce(list, 2), 0);
	EXPECT(!strcmp(announced(), ""));
	EXPECT_IS(at_provider_register(&o), 0);
	EXPECT(!strcmp(announced(), "first:net=packets;first:disk=;"));
	o.name = "parent";
	EXPECT_IS(at_provider_register(&o), 0);
	EXPECT(!strcmp(announced(), "parent:net=packets;parent:disk=;"));
	EXPECT_IS(child_is(announces_in_child), 0);
	/* A second announcement replaces the first. */
	EXPECT_IS(at_provider_announce(list + 1, 1), 0);
	EXPECT(!strcmp(announced(), "parent:disk=;"));
	/* Invalid lists change nothing. */
	EXPECT_IS(at_provider_announce(&bad, 1), -EINVAL);
	bad.name = NULL;
	EXPECT_IS(at_provider_announce(&bad, 1), -EINVAL);
	bad.name = memset(text, 'c', 101);
	EXPECT_IS(at_provider_announce(&bad, 1), -EINVAL);
	bad.name = "c";
	bad.description = memset(description, 'd', 401);
	EXPECT_IS(at_provider_announce(&bad, 1), -EINVAL);
	many[0] = many[1] = list[0];
	EXPECT_IS(at_provider_announce(many, 2), -EINVAL);
	EXPECT_IS(at_provider_announce(many, ASYNCTRACE_CATEGORIES_MAX + 1), -ERANGE);
	EXPECT(!strcmp(announced(), "parent:disk=;"));
	/* The largest number of categories, with the longest names and descriptions */
	description[400] = 0;
	for (int i = 0; i < ASYNCTRACE_CATEGORIES_MAX; i++) {
		static char names[ASYNCTRACE_CATEGORIES_MAX][101];

		memset(names[i], 'c', 100);
		names[i][i] = 'x';
		many[i] = (struct at_category){ names[i], description };
	}
	EXPECT_IS(at_provider_announce(many, ASYNCTRACE_CATEGORIES_MAX), 0);
	EXPECT_IS(strlen(announced()), ASYNCTRACE_CATEGORIES_MAX * (7 + 100 + 1 + 400 + 1));
	EXPECT_IS(at_provider_announce(NULL, 0), 0);
	EXPECT(!strcmp(announced(), ""));
	end();
}

/* --- observing --------------------------------------------------------------------------- */

static bool readable(int ms)
{
	struct pollfd p = { at_provider_fd(), POLLIN, 0 };

	return poll(&p, 1, ms) == 1 && p.revents == POLLIN;
}

static int observed_in_child(void)
{
	struct at_observed o = { .size = sizeof(o) };

	return at_provider_fd() != -ESRCH || at_provider_observe(&o) != -ESRCH;
}

static void P5_program_observes_start_and_stop(void)
{
	const struct at_provider_options opts = { .size = sizeof(opts), .name = "observes" };
	struct at_observed o = { .size = sizeof(o) };
	uint32_t run;

	begin();
	EXPECT_IS(at_provider_observe(&o), -ESRCH);
	EXPECT_IS(at_provider_register(&opts), 0);
	EXPECT_IS(at_provider_observe(&o), 0);
	EXPECT(!o.recording && !o.state && !o.generation);
	EXPECT(!readable(50));
	session("observes", NULL);
	EXPECT(readable(PATIENCE_MS));
	EXPECT_IS(at_provider_observe(&o), 0);
	EXPECT(!o.recording && o.state == ASYNCTRACE_SESSION_STATE_INITIALIZED);
	EXPECT(!readable(0));
	EXPECT_IS(at_session_start(ctl, id, NULL), 0);
	EXPECT(readable(PATIENCE_MS));
	/* Observing twice returns the same. */
	for (int i = 0; i < 3; i++) {
		EXPECT_IS(at_provider_observe(&o), 0);
		EXPECT(o.recording && o.state == ASYNCTRACE_SESSION_STATE_STARTED && o.generation);
	}
	run = o.generation;
	EXPECT_IS(child_is(observed_in_child), 0);
	EXPECT_IS(at_session_stop(ctl, id), 0);
	EXPECT_IS(at_session_start(ctl, id, NULL), 0);
	EXPECT(readable(PATIENCE_MS));
	EXPECT_IS(at_provider_observe(&o), 0);
	EXPECT(o.recording && o.generation != run);
	EXPECT_IS(at_session_destroy(ctl, id), 0);
	EXPECT(readable(PATIENCE_MS));
	EXPECT_IS(at_provider_observe(&o), 0);
	EXPECT(!o.recording && !o.state && !o.generation);
	/* A program that was compiled for an older library passes a smaller structure. */
	o.size = sizeof(o.size) + sizeof(o.recording);
	o.state = 7;
	EXPECT_IS(at_provider_observe(&o), 0);
	EXPECT_IS(o.state, 7);
	EXPECT_IS(at_provider_observe(NULL), -EINVAL);
	end();
}

/* --- ids ----------------------------------------------------------------------------------- */

#define SALT(id)	((unsigned int)((id) >> 44))

static uint64_t parents;

static int has_parents_salt(void)
{
	return SALT(at_flow_id()) == SALT(parents);
}

static int unregistered_first(void)
{
	uint64_t before;

	at_provider_unregister();
	before = at_flow_id();
	return at_provider_register(NULL) || SALT(at_flow_id()) != SALT(before) ||
	       at_flow_id() == before;
}

static void I5_salt_survives_registering_anew(void)
{
	const struct at_provider_options other = { .size = sizeof(other), .name = "other" };
	uint64_t first;

	NEED(!at_provider_register(NULL));
	first = at_flow_id();
	NEED(!at_provider_register(&other));
	EXPECT_IS(SALT(at_flow_id()), SALT(first));
	at_provider_unregister();
	EXPECT_IS(SALT(at_flow_id()), SALT(first));
	NEED(!at_provider_register(NULL));
	EXPECT_IS(SALT(at_flow_id()), SALT(first));
	at_provider_unregister();
}

static void I5_salt_before_registration_stays(void)
{
	EXPECT_IS(child_is(unregistered_first), 0);
}

static void I5_forked_child_has_another_salt(void)
{
	NEED(!at_provider_register(NULL));
	parents = at_flow_id();
	EXPECT_IS(child_is(has_parents_salt), 0);
	at_provider_unregister();
}

/* --- the subscription ---------------------------------------------------------------------- */

static void a_subscription_is_refused_with_a_reason(void)
{
	EXPECT_IS(at_notifications_open(&events, 0x7f, ~0u), -ENOENT);
	EXPECT(strstr(at_notifications_error(events), "session: "));
	at_notifications_close(events);
	EXPECT_IS(at_notifications_open(&events, 0, 0), -EINVAL);
	EXPECT(at_notifications_error(events)[0]);
	at_notifications_close(events);
	EXPECT_IS(at_notifications_open(&events, 0x80, 0), -EINVAL);
	EXPECT(strstr(at_notifications_error(events), "kinds: "));
	at_notifications_close(events);
	at_notifications_close(NULL);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(P20_first_macro_registers),
	KTAP_TEST(P21_registration_tells_if_a_session_records),
	KTAP_TEST(P21_registration_can_wait_for_a_start),
	KTAP_TEST(P22_death_unregisters),
	KTAP_TEST(P23_registered_provider_needs_no_socket),
	KTAP_TEST(P24_name_of_101_bytes_is_refused),
	KTAP_TEST(P25_late_provider_is_recorded_at_once),
	KTAP_TEST(alerts_reach_the_controller),
	KTAP_TEST(announced_categories_are_listed),
	KTAP_TEST(P5_program_observes_start_and_stop),
	KTAP_TEST(a_subscription_is_refused_with_a_reason),
	KTAP_TEST(I5_salt_survives_registering_anew),
	KTAP_TEST(I5_salt_before_registration_stays),
	KTAP_TEST(I5_forked_child_has_another_salt),
};

KTAP_MAIN(tests)
