// SPDX-License-Identifier: GPL-2.0
/*
 * No user waits long for another user. Descriptors and sockets can be closed while a request holds
 * the session's lock. A provider can register and end while the pages of another provider
 * are unmapped (zapped), and unmapping does not wait for threads of the provider. A session that is
 * being initialized keeps the memory for its providers.
 *
 * Needs a module with the knobs of the race tests.
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "ktap.h"
#include "raw.h"

#define STRIDE	(64 * 1024)

static struct raw_nl nl;

/* Delay of a request after it has taken its session's lock, microseconds */
#define HELD_KNOB	"/sys/kernel/debug/asynctrace/delay_lock"
#define HELD_US		"3000000"
/* Microseconds that unmapping a provider's pages takes */
#define ZAP_KNOB	"/sys/kernel/debug/asynctrace/delay_zap"
#define ZAP_US		"10000000"
/* Microseconds between the look-up and the mapping of a page without a ring */
#define SINK_KNOB	"/sys/kernel/debug/asynctrace/delay_sink"
#define SINK_US		"20000000"
/* Microseconds before a range can be used again after a session */
#define SWITCH_KNOB	"/sys/kernel/debug/asynctrace/delay_switch"
#define SWITCH_US	"3000000"

static volatile int begun, answered;

static void *init_session(void *id)
{
	begun = 1;
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, *(int *)id), 0);
	answered = 1;
	return NULL;
}

/* Is a socket with this port closed before the request is answered? */
static bool closed_meanwhile(unsigned int port)
{
	struct mnl_socket *other = mnl_socket_open(NETLINK_GENERIC);
	pthread_t thread;
	bool quick;
	int id;

	NEED(other && !mnl_socket_bind(other, 0, port));
	id = raw_session(&nl, "slow", ASYNCTRACE_MODE_ONESHOT, 0, STRIDE, "slow");
	NEED(id > 0);
	begun = answered = 0;
	NEED(!raw_put(HELD_KNOB, HELD_US));
	NEED(!pthread_create(&thread, NULL, init_session, &id));
	while (!begun)
		usleep(1000);
	usleep(500000);
	mnl_socket_close(other);
	quick = !answered;
	NEED(!pthread_join(thread, NULL));
	NEED(!raw_put(HELD_KNOB, "0"));
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, id));
	return quick;
}

static void foreign_socket_is_closed_at_once(void)
{
	struct raw_provider p;
	bool quick = false;

	NEED(!access(HELD_KNOB, W_OK));
	NEED(!raw_nl_open(&nl) && !raw_provider(&p, "slow", STRIDE));
	/*
	 * A socket whose port has the same hash as the port of nl may have to wait. So one of three
	 * ports must be quick.
	 */
	for (unsigned int port = 1u << 30; port < (1u << 30) + 3 && !quick; port++)
		quick = closed_meanwhile(port);
	EXPECT(quick);
	raw_provider_end(&p);
	raw_nl_close(&nl);
}

/* Starts a session that records all providers of this name. Returns its id. */
static int running(const char *name)
{
	int id = raw_session(&nl, name, ASYNCTRACE_MODE_ONESHOT, 0, STRIDE, name);

	NEED(id > 0 && !raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id) &&
	     !raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id));
	return id;
}

static void terminate(int id)
{
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, id));
}

/* --- a request that holds its session's lock ----------------------------------- */

static volatile pid_t holder;
static pthread_t holding;

static void *stop_session(void *id)
{
	holder = gettid();
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_STOP, *(int *)id), 0);
	return NULL;
}

/* Stops the session in a thread. Returns while the thread holds the session's lock. */
static void hold(int *id)
{
	NEED(!raw_put(HELD_KNOB, HELD_US));
	holder = 0;
	NEED(!pthread_create(&holding, NULL, stop_session, id));
	while (!holder || !raw_sleeps_in(holder, "at_session_stop"))
		usleep(1000);
	/* Other requests hold the lock no longer than usual. */
	NEED(!raw_put(HELD_KNOB, "0"));
}

static void closing_does_not_wait_for_requests(void)
{
	struct raw_nl owner;
	int fd, id, ret;

	NEED(!access(HELD_KNOB, W_OK));
	NEED(!raw_nl_open(&nl) && !raw_nl_open(&owner));
	id = raw_session(&owner, "held", ASYNCTRACE_MODE_CIRCULAR, 0, STRIDE, "held");
	NEED(id > 0 && !raw_session_do(&owner, ASYNCTRACE_CMD_SESSION_INIT, id));
	NEED(!raw_session_do(&owner, ASYNCTRACE_CMD_SESSION_START, id));
	fd = raw_open();
	NEED(fd >= 0 && !raw_consume(fd, id));

	hold(&id);
	NEED(!close(fd));
	raw_nl_close(&owner);
	EXPECT(raw_sleeps_in(holder, "at_session_stop"));
	NEED(!pthread_join(holding, NULL));
	do {
		ret = raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_GET, id);
		usleep(1000);
	} while (!ret);
	EXPECT_IS(ret, -ENOENT);
	raw_nl_close(&nl);
}

static int is_snapshot;

static int consume(int fd, uint32_t id)
{
	struct asynctrace_consume c = {
		.size = sizeof(c),
		.session = id,
		.flags = is_snapshot ? ASYNCTRACE_CONSUME_F_SNAPSHOT : 0,
	};

	return raw_ioctl(fd, ASYNCTRACE_IOC_CONSUME, &c);
}

/* The next consumer waits for the request, but never gets EBUSY. */
static void closed_consumer_can_be_replaced_at_once(void)
{
	struct raw_nl get;
	int fd, id;

	NEED(!access(HELD_KNOB, W_OK));
	NEED(!raw_nl_open(&nl) && !raw_nl_open(&get));
	id = raw_session(&nl, "held", ASYNCTRACE_MODE_CIRCULAR, 0, STRIDE, "held");
	NEED(id > 0 && !raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id));
	for (is_snapshot = 0; is_snapshot < 2; is_snapshot++) {
		NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id));
		fd = raw_open();
		NEED(fd >= 0 && !consume(fd, id));
		hold(&id);
		NEED(!close(fd));
		NEED(!raw_session_do(&get, ASYNCTRACE_CMD_SESSION_GET, id));
		EXPECT(!raw_nl_attr(&get, ASYNCTRACE_A_SESSION_CONSUMED));
		EXPECT(raw_sleeps_in(holder, "at_session_stop"));
		fd = raw_open();
		NEED(fd >= 0);
		EXPECT_IS(consume(fd, id), 0);
		NEED(!pthread_join(holding, NULL));
		/* Work for the closed descriptor must not end the role of the new consumer. */
		usleep(100000);
		NEED(!raw_session_do(&get, ASYNCTRACE_CMD_SESSION_GET, id));
		EXPECT(raw_nl_attr(&get, ASYNCTRACE_A_SESSION_CONSUMED));
		NEED(!close(fd));
	}
	raw_nl_close(&get);
	raw_nl_close(&nl);
}

/* --- zaps ---------------------------------------------------------------------- */

/* Waits until the provider's gate is open. */
static bool opens(const struct raw_provider *p)
{
	for (int i = 0; i < 6000 && p->control->gate <= ASYNCTRACE_GATE_ATTACH; i++)
		usleep(10000);
	return p->control->gate > ASYNCTRACE_GATE_ATTACH;
}

/*
 * A provider has two ranges for rings. While both are being unmapped, the provider is in a session,
 * but its gate is closed. So a closed gate shows that unmapping still goes on.
 */
static void slow_zap_delays_no_other_provider(void)
{
	struct raw_provider slow, other;
	int id;

	NEED(!access(ZAP_KNOB, W_OK));
	NEED(!raw_nl_open(&nl) && !raw_provider(&slow, "slow", STRIDE));
	NEED(!raw_put(ZAP_KNOB, ZAP_US));
	for (int i = 0; i < 2; i++) {
		id = running("slow");
		NEED(slow.control->gate > ASYNCTRACE_GATE_ATTACH);
		raw_write(&slow, 0, 1);
		terminate(id);
	}
	id = running("slow");
	EXPECT_IS(slow.control->gate, ASYNCTRACE_GATE_OFF);

	NEED(!raw_provider(&other, "other", STRIDE));
	terminate(running("other"));
	raw_provider_end(&other);
	EXPECT_IS(slow.control->gate, ASYNCTRACE_GATE_OFF);

	NEED(!raw_put(ZAP_KNOB, "0"));
	EXPECT(opens(&slow));
	terminate(id);
	raw_provider_end(&slow);
	raw_nl_close(&nl);
}

static bool anything_sleeps_in(const char *function)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	bool found = false;

	NEED(proc);
	while (!found && (entry = readdir(proc)))
		found = isdigit(entry->d_name[0]) && raw_sleeps_in(atoi(entry->d_name), function);
	closedir(proc);
	return found;
}

/*
 * Memory that this process shares with a provider that it forked. @touched: offset of the rings
 * that the provider's threads write to. @rings: offset of the rings of the last session
 */
static struct toucher {
	struct {
		pid_t tid;
		bool go;
	} thread[2];
	uint64_t touched;
	uint64_t rings;
	uint32_t gate;
	bool end;
} volatile *toucher;

static volatile uint64_t *touched;

static void *touch(void *arg)
{
	const long i = (long)arg;

	toucher->thread[i].tid = gettid();
	while (!toucher->thread[i].go)
		usleep(1000);
	/* Each thread writes to a page of its own. */
	touched[i * 512] = 0;
	return NULL;
}

/* The provider begins its threads before the first fault, which delays mmap(2) and fork(2). */
static int touch_pages(void *arg)
{
	struct raw_provider p;
	pthread_t thread[2];

	(void)arg;
	SO(!raw_provider(&p, "touches", STRIDE));
	while (p.control->gate <= ASYNCTRACE_GATE_ATTACH)
		usleep(1000);
	touched = raw_ring(&p, 0);
	toucher->touched = p.control->rings;
	for (long i = 0; i < 2; i++)
		SO(!pthread_create(&thread[i], NULL, touch, (void *)i));
	while (!toucher->end) {
		toucher->rings = p.control->rings;
		toucher->gate = p.control->gate;
		usleep(1000);
	}
	SO(!pthread_join(thread[0], NULL) && !pthread_join(thread[1], NULL));
	raw_provider_end(&p);
	return 0;
}

static bool touches(int i)
{
	return raw_sleeps_in(toucher->thread[i].tid, "at_vm_fault");
}

static bool touching_provider_opens(void)
{
	for (int i = 0; i < 6000 && toucher->gate <= ASYNCTRACE_GATE_ATTACH; i++)
		usleep(10000);
	return toucher->gate > ASYNCTRACE_GATE_ATTACH;
}

static void run_touching_provider(void)
{
	int id = running("touches");

	EXPECT(touching_provider_opens());
	terminate(id);
	while (toucher->gate > ASYNCTRACE_GATE_ATTACH)
		usleep(1000);
}

/*
 * One thread holds the lock of a page during its fault. Another one waits for that lock, and keeps
 * the range from being zapped. If the module's worker waited for them, a user with many providers
 * could occupy all workers.
 */
static void I18_zap_waits_for_no_fault(void)
{
	int status, seen = 0;
	pid_t child;

	NEED(!access(SINK_KNOB, W_OK) && !access(SWITCH_KNOB, W_OK));
	toucher = mmap(NULL, sizeof(*toucher), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	NEED(toucher != MAP_FAILED && !raw_nl_open(&nl));
	child = fork();
	if (!child)
		_exit(raw_child(touch_pages, NULL, -1));
	/* Both ranges are empty after this, so that a fault finds no ring. */
	for (int i = 0; i < 3; i++)
		run_touching_provider();
	NEED(!raw_put(SINK_KNOB, SINK_US));
	for (int i = 0; i < 2; i++) {
		toucher->thread[i].go = true;
		while (!touches(i))
			usleep(1000);
	}
	/*
	 * The second start finds one range in use, and pages mapped in the other one. It lets a
	 * worker clean that range.
	 */
	NEED(!raw_put(SWITCH_KNOB, SWITCH_US));
	for (int i = 0; i < 2; i++)
		terminate(running("touches"));
	/* A worker may be seen while it works, but not each time. */
	for (int i = 0; i < 20; i++) {
		seen += anything_sleeps_in("at_range_work");
		usleep(10000);
	}
	EXPECT(seen < 10);
	EXPECT(touches(0) && touches(1));
	NEED(!raw_put(SINK_KNOB, "0") && !raw_put(SWITCH_KNOB, "0"));
	while (touches(0) || touches(1))
		usleep(1000);
	/* Then a worker cleans the range, so that a session can use it. */
	for (int i = 0; i < 100 && toucher->rings != toucher->touched; i++)
		run_touching_provider();
	EXPECT_IS(toucher->rings, toucher->touched);
	toucher->end = true;
	NEED(waitpid(child, &status, 0) == child);
	EXPECT_IS(status, 0);
	raw_nl_close(&nl);
	munmap((void *)toucher, sizeof(*toucher));
}

/* --- memory of a session that is being initialized --------------------------------- */

/* Delay of an initialization after each provider has joined, microseconds */
#define JOIN_KNOB	"/sys/kernel/debug/asynctrace/delay_join"
#define JOIN_US		"1000000"
/* A session of one provider is within the limit of a user for this number of sessions, or more. */
#define JOIN_LEAST	2
#define JOIN_MOST	3

static struct raw_nl beside;

/*
 * Initializes a session whose providers take nearly all memory of the user. While they join one by
 * one, another session of the user asks for the memory of one provider.
 */
static int init_two_sessions(void *arg)
{
	uint64_t limit, cpus, ring = ASYNCTRACE_RING_MIN, sets;
	struct raw_provider p[JOIN_MOST], other;
	pthread_t thread;
	int id, second;

	(void)arg;
	SO(!raw_nl_open(&nl) && !raw_nl_open(&beside) && !raw_memory_limit(&nl, &limit, &cpus));
	while (2 * ring * (cpus + 1) * JOIN_LEAST <= limit)
		ring *= 2;
	sets = limit / (ring * (cpus + 1));
	SO(sets >= JOIN_LEAST && sets <= JOIN_MOST);
	for (uint64_t i = 0; i < sets; i++)
		SO(!raw_provider(&p[i], "joins", ring));
	SO(!raw_provider(&other, "other", ring));
	id = raw_session(&nl, "first", ASYNCTRACE_MODE_ONESHOT, 0, ring, "joins");
	second = raw_session(&beside, "second", ASYNCTRACE_MODE_ONESHOT, 0, ring, "other");
	SO(id > 0 && second > 0);
	answered = 0;
	SO(!pthread_create(&thread, NULL, init_session, &id));
	do {
		usleep(1000);
		SO(!raw_session_do(&beside, ASYNCTRACE_CMD_SESSION_GET, id) && !answered);
	} while (!raw_nl_u32(&beside, ASYNCTRACE_A_SESSION_PROVIDERS));
	SO(raw_session_do(&beside, ASYNCTRACE_CMD_SESSION_INIT, second) == -ENOSPC);
	SO(!answered && !pthread_join(thread, NULL));
	SO(!raw_session_do(&beside, ASYNCTRACE_CMD_SESSION_GET, id));
	SO(raw_nl_u32(&beside, ASYNCTRACE_A_SESSION_PROVIDERS) == sets);
	SO(!raw_nl_u32(&beside, ASYNCTRACE_A_SESSION_REFUSED_PROVIDERS));
	return 0;
}

static void memory_of_init_is_kept_for_its_providers(void)
{
	NEED(!raw_put(JOIN_KNOB, JOIN_US));
	EXPECT_IS(raw_child(init_two_sessions, NULL, 1234), 0);
	NEED(!raw_put(JOIN_KNOB, "0"));
}

static const struct ktap_test tests[] = {
	KTAP_TEST(slow_zap_delays_no_other_provider),
	KTAP_TEST(I18_zap_waits_for_no_fault),
	KTAP_TEST(foreign_socket_is_closed_at_once),
	KTAP_TEST(closing_does_not_wait_for_requests),
	KTAP_TEST(closed_consumer_can_be_replaced_at_once),
	KTAP_TEST(memory_of_init_is_kept_for_its_providers),
};

KTAP_MAIN(tests)
