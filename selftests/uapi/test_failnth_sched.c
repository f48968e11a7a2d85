// SPDX-License-Identifier: GPL-2.0
/*
 * Threads for which the module has no memory: it must count their scheduling that it does not
 * record. Sessions for which it has no memory: it must not charge their owner.
 *
 * Needs a kernel with fault injection.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/genetlink.h>

#include "child.h"
#include "failnth.h"
#include "ktap.h"

#define STRIDE	(64 * 1024)
#define MOST	400	/* allocations of one operation */

static struct raw_nl nl;
static struct raw_provider p;
static int session;

static void initialized(uint32_t mode)
{
	NEED(!raw_nl_open(&nl));
	NEED(!raw_provider(&p, "fail", STRIDE));
	session = raw_session(&nl, "fail", mode, ASYNCTRACE_SCHED_TARGETS, STRIDE, "fail");
	NEED(session > 0 && !raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, session));
}

static int start(void)
{
	return raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, session);
}

static int stop(void)
{
	return raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_STOP, session);
}

static void started(uint32_t mode)
{
	initialized(mode);
	NEED(!start());
}

static void ended(void)
{
	raw_provider_end(&p);
	raw_nl_close(&nl);
}

static uint64_t missed(void)
{
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_GET, session), 0);
	return raw_nl_u64(&nl, ASYNCTRACE_A_SESSION_THREADS_MISSED);
}

static uint64_t recorded(void)
{
	struct raw_ledger sum;

	EXPECT_IS(raw_sched_ledger(&nl, session, &sum), 0);
	return sum.committed;
}

/* --- threads that exist when the session starts --------------------------------------- */

#define OTHERS	3
#define BEFORE	40	/* allocations of a start before its first table entry, at most */
#define ROUNDS	20

static int pipes[2];

/* Sleeps until the pipe is closed. */
static void *sleeper(void *arg)
{
	char byte;

	(void)arg;
	return read(pipes[0], &byte, 1) ? (void *)1 : NULL;
}

/*
 * Starts a session so that its first table entry cannot be allocated: then all threads are missed.
 * Tries each allocation, because the number of that one differs from run to run. Returns the
 * number, or 0 if no start missed threads.
 */
static int start_without_memory(void)
{
	int err;

	for (int n = 1; n < BEFORE; n++) {
		initialized(ASYNCTRACE_MODE_CIRCULAR);
		fail_one(n, start, &err);
		EXPECT(!err || fail_clean(err));
		if (missed())
			return n;
		ended();
	}
	return 0;
}

static void threads_without_memory_are_counted_once(void)
{
	pthread_t others[OTHERS];
	bool found = false;
	int err, n = 0;

	fail_need();
	NEED(!pipe(pipes));
	for (int i = 0; i < OTHERS; i++)
		NEED(!pthread_create(&others[i], NULL, sleeper, NULL));
	for (int i = 0; !n && i < ROUNDS && !ktap_failed(); i++)
		n = start_without_memory();
	NEED(n);
	EXPECT_IS(missed(), 1 + OTHERS);
	/* The next start looks for the same threads again. */
	EXPECT_IS(stop(), 0);
	fail_one(n, start, &err);
	EXPECT(!err || fail_clean(err));
	EXPECT_IS(missed(), 1 + OTHERS);
	if (err)
		EXPECT(start() == 0 || start() == -EALREADY);
	/* With memory, the module finds the threads. */
	for (int i = 0; !found && i < 24000; i++) {
		usleep(10000);
		found = recorded();
	}
	EXPECT(found);
	EXPECT_IS(missed(), 1 + OTHERS);
	close(pipes[1]);
	for (int i = 0; i < OTHERS; i++)
		pthread_join(others[i], NULL);
	close(pipes[0]);
	ended();
}

/* --- a thread that shares the provider's memory, but is of another process --------- */

/* The child's results, in shared memory */
static struct {
	int err, first, again;
	bool injected, injected_again;
} seen;
static int nth;

static int do_slot(void)
{
	return raw_ioctl(p.fd, ASYNCTRACE_IOC_THREAD, NULL);
}

static int borrower(void *arg)
{
	(void)arg;
	seen.err = fail_again();
	if (seen.err)
		return 0;
	seen.injected = fail_one(nth, do_slot, &seen.first);
	/* Now the thread has a slot, and is traced or counted as missed. */
	do_slot();
	seen.injected_again = fail_one(1, do_slot, &seen.again);
	return 0;
}

static void borrow(void)
{
	static char stack[256 * 1024] __attribute__((aligned(16)));
	int status;
	pid_t pid;

	memset(&seen, 0, sizeof(seen));
	pid = clone(borrower, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
	NEED(pid > 0 && waitpid(pid, &status, 0) == pid && !status && !seen.err);
}

/*
 * Lets each allocation fail that a thread of another process makes when it asks for its slot: one
 * allocation for each thread. The last allocation is the thread's entry in the task table. Without
 * it the thread is counted and not traced, and gets an entry when it asks again. Returns the number
 * of counted threads.
 */
static uint64_t sweep(void)
{
	const uint64_t first = missed();
	uint64_t before = first, now;

	seen.injected = true;
	for (nth = 1; seen.injected && nth < MOST && !ktap_failed(); nth++) {
		borrow();
		now = missed();
		/* The thread got its slot, or an error that a lack of memory may cause. */
		EXPECT(seen.first > 0 || fail_clean(seen.first));
		EXPECT(now == before || (now == before + 1 && seen.injected && seen.first > 0));
		EXPECT(seen.again > 0 && !seen.injected_again);
		before = now;
	}
	printf("# %d failures, %llu missed\n", nth - 2, (unsigned long long)(before - first));
	EXPECT(nth > 2 && nth < MOST);
	return before - first;
}

/*
 * Repeats the sweep, because not every sweep lets the allocation of an entry fail. The table of
 * slots needs a node for some threads only. So the entry may be the third allocation of one thread
 * and the second of the next thread.
 */
static void a_thread_without_memory_is_counted_once(void)
{
	uint64_t counted = 0;

	fail_need();
	started(ASYNCTRACE_MODE_ONESHOT);
	for (int i = 0; i < ROUNDS && !counted && !ktap_failed(); i++)
		counted = sweep();
	EXPECT(counted);
	ended();
}

/* --- a session without memory ------------------------------------------------------- */

#define TRIES	6000
#define NOBODY	65534

static int init(void)
{
	return raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, session);
}

/*
 * Initializes another session of the user, with rings of @ring bytes, and ends it. Its memory is
 * charged until a work item has freed it.
 */
static int init_another(uint64_t ring)
{
	int id = raw_session(&nl, "another", ASYNCTRACE_MODE_ONESHOT, ASYNCTRACE_SCHED_TARGETS,
			     ring, "x");
	int err = id < 0 ? id : raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id);

	if (id > 0 && raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, id))
		return -EIO;
	return err;
}

/*
 * Initializes a session with each allocation failing. It takes more than half of the user's limit,
 * so the user can have another one only if the failed one is not charged.
 */
static int init_without_memory(void *arg)
{
	uint64_t limit, cpus, ring = ASYNCTRACE_RING_MIN;
	int n, err = -ENOMEM, tries = 0;

	(void)arg;
	SO(!fail_again() && !raw_nl_open(&nl));
	SO(!raw_memory_limit(&nl, &limit, &cpus));
	while (ring * (cpus + 1) * 2 <= limit)
		ring *= 2;
	session = raw_session(&nl, "fail", ASYNCTRACE_MODE_CIRCULAR, ASYNCTRACE_SCHED_TARGETS, ring,
			      "x");
	SO(session > 0);
	for (n = 1; n < MOST; n++) {
		do {
			fail_one(n, init, &err);
		} while (err == -ENOSPC && tries++ < TRIES && !usleep(10000));
		/* The answer of a successful request may be lost. */
		if (!err || err == -EALREADY)
			break;
		SO(fail_clean(err) && err != -ENOSPC);
		do {
			err = init_another(ring);
		} while (err == -ENOSPC && tries++ < TRIES && !usleep(10000));
		if (err == -ENOSPC && init() == -EALREADY)
			break;
		if (err) {
			printf("# allocation %d failed, then another session got %d: %s\n", n, err,
			       nl.text);
			return 1;
		}
	}
	printf("# %d failures\n", n - 1);
	SO(n > 1 && n < MOST);
	/*
	 * Check what the test relies on: the limit has no room for a second session of this size.
	 */
	SO(init_another(ring) == -ENOSPC);
	return 0;
}

static void I19_session_without_memory_is_not_charged(void)
{
	fail_need();
	EXPECT_IS(raw_child(init_without_memory, NULL, NOBODY), 0);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(threads_without_memory_are_counted_once),
	KTAP_TEST(a_thread_without_memory_is_counted_once),
	KTAP_TEST(I19_session_without_memory_is_not_charged),
};

KTAP_MAIN(tests)
