// SPDX-License-Identifier: GPL-2.0
/*
 * P20 to P25: registration
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asynctrace/trace.h>

#include "proto.h"

#define OTHER	PROTO "-other"

static const char *const others[] = { OTHER };
static const struct at_session_options over_others = { .nr_providers = 1, .providers = others };

/* Opens the device and gets a cookie. */
static int device(uint64_t *cookie)
{
	int fd = raw_open();

	must(fd >= 0 && !raw_hello(fd, cookie));
	return fd;
}

static int register_on(struct raw_nl *nl, uint64_t cookie, const char *name)
{
	struct nlmsghdr *nlh = raw_nl_begin(nl, ASYNCTRACE_CMD_PROVIDER_REGISTER, 0);

	mnl_attr_put_u64(nlh, ASYNCTRACE_A_PROVIDER_COOKIE, cookie);
	mnl_attr_put_strz(nlh, ASYNCTRACE_A_PROVIDER_NAME, name);
	mnl_attr_put_u64(nlh, ASYNCTRACE_A_PROVIDER_RING_STRIDE, 1 << 20);
	return raw_nl_ask(nl);
}

static int is_other(const struct at_provider_info *p, void *arg)
{
	(void)arg;
	return !strcmp(p->name, OTHER);
}

static bool is_known(uint32_t provider)
{
	return provider_session(provider) != -ENOENT;
}

static bool other_is_there(void *arg)
{
	(void)arg;
	return at_for_each_provider(ctl, is_other, NULL) == 1;
}

static void P20_registration_need_not_wait(void)
{
	struct nlmsghdr *nlh;
	uint64_t cookie;
	struct raw_nl nl;
	int fd;

	/* Send the request without NLM_F_ACK, and read no answer. */
	must(!raw_nl_open(&nl));
	fd = device(&cookie);
	nlh = raw_nl_begin(&nl, ASYNCTRACE_CMD_PROVIDER_REGISTER, 0);
	mnl_attr_put_u64(nlh, ASYNCTRACE_A_PROVIDER_COOKIE, cookie);
	mnl_attr_put_strz(nlh, ASYNCTRACE_A_PROVIDER_NAME, OTHER);
	mnl_attr_put_u64(nlh, ASYNCTRACE_A_PROVIDER_RING_STRIDE, 1 << 20);
	ktap_check(!other_is_there(NULL), "the provider exists before");
	must(mnl_socket_sendto(nl.socket, nlh, nlh->nlmsg_len) > 0);
	ktap_check(soon(other_is_there, NULL), "the provider is not registered");
	close(fd);
	ktap_check(!other_is_there(NULL), "the provider exists after");
	raw_nl_close(&nl);
}

/* If the program has not registered, its first event does. */
static void P20_first_event_registers(void)
{
	struct run run;
	pid_t pid;

	session_make(&run, &over_others);
	session_start(&run);
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		must(!setenv("ASYNCTRACE_NAME", OTHER, 1));
		/* A forked child does not have its parent's registration. */
		must(at_provider_unregister() == -ESRCH);
		execl("/proc/self/exe", "table", "--first-event", NULL);
		_exit(9);
	}
	reap(pid);
	session_finish(&run);
	ktap_check(run.seen.events == 10, "%llu events", (unsigned long long)run.seen.events);
	session_end(&run);
}

static void P21_reply_tells_if_a_session_runs(void)
{
	struct run run;
	uint64_t cookie;
	int fd;

	fd = device(&cookie);
	must(!register_on(&wire, cookie, OTHER));
	ktap_check(is_known(raw_nl_u32(&wire, ASYNCTRACE_A_PROVIDER_ID)), "the provider is not registered");
	close(fd);

	fd = device(&cookie);
	must(!register_on(&wire, cookie, OTHER));
	ktap_check(!raw_nl_attr(&wire, ASYNCTRACE_A_PROVIDER_STARTED), "nothing runs");
	close(fd);

	session_make(&run, &over_others);
	fd = device(&cookie);
	must(!register_on(&wire, cookie, OTHER));
	ktap_check(!raw_nl_attr(&wire, ASYNCTRACE_A_PROVIDER_STARTED),
		   "a session runs that was not started");
	close(fd);

	session_start(&run);
	fd = device(&cookie);
	must(!register_on(&wire, cookie, OTHER));
	ktap_check(raw_nl_attr(&wire, ASYNCTRACE_A_PROVIDER_STARTED), "a session runs");
	close(fd);
	fd = device(&cookie);
	must(!register_on(&wire, cookie, PROTO "-of-no-session"));
	ktap_check(!raw_nl_attr(&wire, ASYNCTRACE_A_PROVIDER_STARTED),
		   "a session runs that does not select this provider");
	/* A failure is reported: the descriptor is in use. */
	ktap_check(register_on(&wire, cookie, OTHER) == -EBUSY && wire.text[0], "twice: '%s'",
		   wire.text);
	close(fd);
	session_finish(&run);
	session_end(&run);
}

static bool is_gone(void *id)
{
	return !is_known(*(uint32_t *)id);
}

static void P22_close_munmap_and_death_unregister(void)
{
	uint32_t *id = shared_memory(sizeof(*id));
	struct raw_provider p;
	pid_t pid;

	/* The last close of a descriptor without a mapping ends the provider at once. */
	p = (struct raw_provider){ .fd = raw_open() };
	must(!raw_hello(p.fd, NULL));
	p.id = raw_register(p.fd, OTHER, 1 << 20);
	must(p.id > 0);
	ktap_check(is_known(p.id), "the provider is not registered");
	close(p.fd);
	ktap_check(!is_known(p.id), "still registered after close");

	/* The end of the mapping ends the provider. */
	must(!raw_provider(&p, OTHER, 1 << 20));
	must(!munmap(p.rw, p.rw_size));
	*id = p.id;
	ktap_check(soon(is_gone, id), "still registered after munmap");
	p.rw = NULL;
	raw_provider_end(&p);

	/* A crash ends the provider. */
	*id = 0;
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		must(!raw_provider(&p, OTHER, 1 << 20));
		*(volatile uint32_t *)id = p.id;
		for (;;)
			pause();
	}
	while (!*(volatile uint32_t *)id)
		sleep_us(500);
	ktap_check(is_known(*id), "the child's provider is not registered");
	must(!kill(pid, SIGKILL) && waitpid(pid, NULL, 0) == pid);
	ktap_check(soon(is_gone, id), "still registered after SIGKILL");
	munmap(id, sizeof(*id));
}

static void P23_socket_can_be_closed_after_registration(void)
{
	struct raw_nl nl;
	uint64_t cookie;
	struct run run;
	uint32_t id;
	int fd;

	must(!raw_nl_open(&nl));
	fd = device(&cookie);
	must(!register_on(&nl, cookie, OTHER));
	id = raw_nl_u32(&nl, ASYNCTRACE_A_PROVIDER_ID);
	raw_nl_close(&nl);
	ktap_check(is_known(id), "the provider ended with the socket");
	session_make(&run, &over_others);
	session_start(&run);
	ktap_check(provider_session(id) == (int)run.id, "the session does not get the provider");
	session_end(&run);
	close(fd);
}

/* Returns a name of @n bytes. */
static const char *name_of(char *buf, size_t n)
{
	memset(buf, 'n', n);
	buf[n] = 0;
	return buf;
}

static void P24_pid_and_name_of_100_bytes_are_listed(void)
{
	char buf[ASYNCTRACE_NAME_MAX + 2];
	const struct nlattr *name;
	uint64_t cookie;
	uint32_t id;
	int fd;

	fd = device(&cookie);
	ktap_check(!register_on(&wire, cookie, name_of(buf, ASYNCTRACE_NAME_MAX)), "100 bytes: %s",
		   wire.text);
	id = raw_nl_u32(&wire, ASYNCTRACE_A_PROVIDER_ID);
	must(provider_session(id) == 0);
	name = raw_nl_attr(&wire, ASYNCTRACE_A_PROVIDER_NAME);
	ktap_check(name && !strcmp(mnl_attr_get_str(name), buf), "the name differs");
	ktap_check(raw_nl_u32(&wire, ASYNCTRACE_A_PROVIDER_PID) == (uint32_t)getpid(), "pid %u",
		   raw_nl_u32(&wire, ASYNCTRACE_A_PROVIDER_PID));
	close(fd);
}

static void late_provider(void)
{
	const struct at_provider_options opts = { .size = sizeof(opts), .name = OTHER };

	must(!at_provider_register(&opts));
	/* The session must record all events, from the first one on. */
	must(emit(100) == 100);
}

static void P25_late_provider_is_started_at_once(void)
{
	static const char *const law[] = { "law" };
	struct at_session_options opts = over_others;
	struct session_seen seen;
	struct run run;
	pid_t pid;

	opts.nr_categories = 1;
	opts.categories = law;
	opts.mode = ASYNCTRACE_MODE_CIRCULAR;
	session_make(&run, &opts);
	session_start(&run);
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		late_provider();
		_exit(0);
	}
	reap(pid);
	must(session_see(run.id, &seen));
	ktap_check(seen.providers == 1 && seen.late == 1, "%u providers, %u late", seen.providers,
		   seen.late);
	session_finish(&run);
	ktap_check(run.seen.events == 100, "%llu events", (unsigned long long)run.seen.events);
	ktap_check(run.rd.nr_providers == 1 &&
		   run.rd.provider[0]->flags & ASYNCTRACE_PROVIDER_F_LATE, "the provider is not marked as late");
	session_end(&run);
}

#define LAPS		20000
#define SMALL_RING	16384

static void late_busy_provider(void)
{
	const struct at_provider_options opts = { .size = sizeof(opts), .name = OTHER };

	must(!at_provider_register(&opts));
	for (uint32_t i = 0; i < LAPS; i++) {
		TRACE_INSTANT("refused", "event", TRACE_SCOPE_THREAD, "i", i);
		must(emit(1) == 1);
	}
}

/* The provider's ring wraps many times. One record of the refused category would change the sum. */
static void P25_late_provider_overwrites_and_refuses(void)
{
	static const char *const law_only[] = { "law", "-refused" };
	struct at_session_options opts = over_others;
	struct rd_ring sum;
	struct run run;
	pid_t pid;

	opts.nr_categories = 2;
	opts.categories = law_only;
	opts.mode = ASYNCTRACE_MODE_CIRCULAR;
	opts.ring_size = SMALL_RING;
	session_make(&run, &opts);
	session_start(&run);
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		late_busy_provider();
		_exit(0);
	}
	reap(pid);
	session_finish(&run);
	sum = rd_sum(&run.rd, ASYNCTRACE_CHUNK_EVENTS, 0);
	ktap_check(sum.delivered + sum.overwritten == LAPS && !sum.dropped,
		   "%llu delivered, %llu overwritten, %llu dropped",
		   (unsigned long long)sum.delivered, (unsigned long long)sum.overwritten,
		   (unsigned long long)sum.dropped);
	ktap_check(sum.overwritten > sum.delivered && run.seen.events == sum.delivered,
		   "%llu events", (unsigned long long)run.seen.events);
	session_end(&run);
}

const struct statement provider_statements[] = {
	STATEMENT(P20_registration_need_not_wait),
	STATEMENT(P20_first_event_registers),
	STATEMENT(P21_reply_tells_if_a_session_runs),
	STATEMENT(P22_close_munmap_and_death_unregister),
	STATEMENT(P23_socket_can_be_closed_after_registration),
	STATEMENT(P24_pid_and_name_of_100_bytes_are_listed),
	STATEMENT(P25_late_provider_is_started_at_once),
	STATEMENT(P25_late_provider_overwrites_and_refuses),
	{ 0 }
};
