// SPDX-License-Identifier: GPL-2.0
/*
 * A slow registration: in open(2), the registering thread sleeps until the test releases it, or
 * uses CPU time
 *
 * Meanwhile other threads write. They wait, or if it takes too long, their records count as
 * dropped, by category. They wait longer for a thread that uses CPU time. Signals for the
 * registering thread are handled afterwards. A forked child registers itself.
 */
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <asynctrace/operation.h>
#include <asynctrace/provider.h>
#include <asynctrace/trace.h>

#include "ledger.h"
#include "sandbox.h"

#define OTHERS_MAX	64
#define RECORDS		50

/*
 * Number of the other threads, from PATIENCE_THREADS. It must be small enough that all of them are
 * waiting before the first one gives up.
 */
static unsigned int others;

/* Seconds of CPU time used in open(2): longer than others wait for a thread that sleeps there */
#define WORK_S		3

static struct {
	uint32_t listener;	/* descriptor of the registering thread's filter, plus 1 */
	uint32_t registered;
	uint32_t tid[OTHERS_MAX];
	uint32_t done;		/* number of other threads that have finished */
	uint32_t wakeups;	/* how often they slept until their first records were written */
	bool until_they_give_up;
} now;

/* Results of the forked child, shared with it */
static struct {
	int32_t pid;
	int32_t forked;
} *shared;

static void wanted(unsigned int n)
{
	/* A question whether a category is enabled does not count as a record. */
	for (unsigned int i = 0; i < n; i++) {
		(void)TRACE_CATEGORY_ENABLED("wanted");
		TRACE_INSTANT("wanted", "record", TRACE_SCOPE_THREAD, "i", i);
	}
}

static void unwanted(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		TRACE_INSTANT("other", "record", TRACE_SCOPE_THREAD, "i", i);
		TRACE_DURATION("another", "record");
	}
}

static void on_signal(int sig)
{
	(void)sig;
	wanted(1);
}

static void *first(void *arg)
{
	/* scene() receives each open(2) of this thread and decides when it returns. */
	const int fd = sandbox(SYS_openat, SECCOMP_RET_USER_NOTIF,
			       SECCOMP_FILTER_FLAG_NEW_LISTENER);

	must(fd >= 0);
	__atomic_store_n(&now.listener, fd + 1, __ATOMIC_RELEASE);
	wanted(RECORDS);
	__atomic_store_n(&now.registered, 1, __ATOMIC_RELEASE);
	return arg;
}

/* Uses CPU time until @done has the value @goal, or for WORK_S seconds. */
static void work(const uint32_t *done, uint32_t goal)
{
	struct timespec used;

	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	} while (done ? __atomic_load_n(done, __ATOMIC_ACQUIRE) != goal : used.tv_sec < WORK_S);
}

/* Handles SIGSYS for openat(2): works, and then opens the file by a call that is allowed. */
static void on_openat(int sig, siginfo_t *info, void *context)
{
	ucontext_t *c = context;
#ifdef __x86_64__
	greg_t *r = c->uc_mcontext.gregs;
	long dir = r[REG_RDI], path = r[REG_RSI], flags = r[REG_RDX];
#else
	unsigned long long *r = c->uc_mcontext.regs;
	long dir = r[0], path = r[1], flags = r[2];
#endif
	struct open_how how = { .flags = (uint32_t)flags };
	long ret;

	(void)sig;
	(void)info;
	/* Use CPU time only in the first open(2): registering may open more files. */
	if (!__atomic_exchange_n(&now.listener, 1, __ATOMIC_RELEASE))
		work(now.until_they_give_up ? &now.done : NULL, others);
	ret = syscall(SYS_openat2, dir, path, &how, sizeof(how));
#ifdef __x86_64__
	r[REG_RAX] = ret;
#else
	r[0] = ret;
#endif
}

static void *first_works(void *arg)
{
	struct sigaction sa = { .sa_sigaction = on_openat, .sa_flags = SA_SIGINFO };

	must(!sigaction(SIGSYS, &sa, NULL));
	must(!sandbox(SYS_openat, SECCOMP_RET_TRAP, 0));
	wanted(RECORDS);
	__atomic_store_n(&now.registered, 1, __ATOMIC_RELEASE);
	return arg;
}

static void *other(void *arg)
{
	const uintptr_t number = (uintptr_t)arg;
	struct rusage before, used;

	/* A new thread may sleep before it traces: many are created at once. */
	must(!getrusage(RUSAGE_THREAD, &before));
	__atomic_store_n(&now.tid[number], syscall(SYS_gettid), __ATOMIC_RELEASE);
	wanted(RECORDS);
	must(!getrusage(RUSAGE_THREAD, &used));
	__atomic_fetch_add(&now.wakeups, used.ru_nvcsw - before.ru_nvcsw, __ATOMIC_RELAXED);
	{
		TRACE_REGION("wanted", "both ends");
	}
	unwanted(RECORDS);
	__atomic_fetch_add(&now.done, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Does the thread wait in a futex, as it does for the registration? */
static bool waits(void *tid)
{
	char path[64], text[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%u/syscall", *(uint32_t *)tid);
	f = fopen(path, "re");
	if (f) {
		if (!fgets(text, sizeof(text), f))
			text[0] = 0;
		fclose(f);
	}
	return strtol(text, NULL, 10) == SYS_futex;
}

static void forked_child(void)
{
	pid_t pid = fork();

	must(pid >= 0);
	if (!pid) {
		wanted(RECORDS);
		_exit(0);
	}
	shared->forked = pid;
	reap(pid);
}

/*
 * Lets one thread register slowly while other threads write. @works: the registering thread uses
 * CPU time; otherwise it sleeps. @late: the registration goes on only after the other threads have
 * given up.
 */
static void scene(bool works, bool late)
{
	struct seccomp_notif_resp resp = { .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
	struct sigaction sa = { .sa_handler = on_signal };
	struct seccomp_notif req = { 0 };
	pthread_t thread, of_others[OTHERS_MAX];
	struct at_status_info s = { .size = sizeof(s) };
	struct pollfd p = { .events = POLLIN };

	shared->pid = getpid();
	now.until_they_give_up = late;
	must(!sigaction(SIGUSR1, &sa, NULL));
	must(!pthread_create(&thread, NULL, works ? first_works : first, NULL));
	while (!__atomic_load_n(&now.listener, __ATOMIC_ACQUIRE))
		sched_yield();
	p.fd = now.listener - 1;
	if (!works)
		must(poll(&p, 1, -1) == 1 && !ioctl(p.fd, SECCOMP_IOCTL_NOTIF_RECV, &req));
	/* The signal is handled when the registration has finished. */
	pthread_kill(thread, SIGUSR1);
	for (uintptr_t i = 0; i < others; i++)
		must(!pthread_create(&of_others[i], NULL, other, (void *)i));
	if (late) {
		wait_for(&now.done, others, "the others to give up");
		/*
		 * Waiters that wake up too often would take the CPU from the registering thread.
		 * One waiter may wake up ten times more, to check whether the registering thread
		 * makes progress.
		 */
		ktap_check(works || now.wakeups <= 3 * others + 10,
			   "%u waiting threads slept %u times", others, now.wakeups);
		must(!at_status(&s));
		ktap_check(s.reason == ASYNCTRACE_REASON_REGISTERING, "reason: %s",
			   at_reason_text(s.reason));
		forked_child();
	} else if (!works) {
		for (unsigned int i = 0; i < others; i++) {
			while (!__atomic_load_n(&now.tid[i], __ATOMIC_ACQUIRE))
				sched_yield();
			must(soon(waits, &now.tid[i]));
		}
	}
	ktap_check(works || !now.registered, "the registration was not held");
	resp.id = req.id;
	must(works || !ioctl(p.fd, SECCOMP_IOCTL_NOTIF_SEND, &resp));
	pthread_join(thread, NULL);
	for (unsigned int i = 0; i < others; i++)
		pthread_join(of_others[i], NULL);
}

static void one(struct at_ctl *ctl, const char *name, bool works, bool late)
{
	const char *category = "wanted";
	const struct at_session_options opts = {
		.size = sizeof(opts), .name = "patience", .mode = ASYNCTRACE_MODE_ONESHOT,
		.ring_size = 1 << 20, .nr_categories = 1, .categories = &category,
	};
	const uint64_t theirs = others * (RECORDS + 2), dropped = late ? theirs : 0;
	static struct ledger l;
	struct rd_ring sum;
	pid_t pid;

	ktap_begin("%s", name);
	memset(shared, 0, sizeof(*shared));
	ledger_open(&l, ctl, &opts);
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		scene(works, late);
		_exit(ktap_failed());
	}
	reap(pid);
	ledger_end(&l);
	sum = ledger_of(&l, shared->pid);
	/* The sum includes one event of the signal handler. */
	ktap_check(sum.delivered == RECORDS + 1 + theirs - dropped, "%llu delivered",
		   (unsigned long long)sum.delivered);
	ktap_check(sum.dropped == dropped, "%llu dropped", (unsigned long long)sum.dropped);
	if (late) {
		sum = ledger_of(&l, shared->forked);
		ktap_check(sum.delivered == RECORDS && !sum.dropped, "the child: %llu delivered, %llu dropped",
			   (unsigned long long)sum.delivered, (unsigned long long)sum.dropped);
	}
	ledger_close(&l);
	ktap_end();
}

int main(void)
{
	struct at_ctl *ctl;

	others = amount("PATIENCE_THREADS", OTHERS_MAX);
	must(others <= OTHERS_MAX);
	shared = shared_memory(sizeof(*shared));
	if (at_ctl_open(&ctl))
		ktap_bail("%s", at_ctl_error(ctl));
	ktap_plan(4);
	one(ctl, "I20_others_wait_for_the_registration", false, false);
	one(ctl, "I20_others_give_up_records_count_by_category", false, true);
	one(ctl, "I20_others_wait_longer_for_a_working_thread", true, false);
	one(ctl, "I20_others_give_up_on_a_working_thread", true, true);
	at_ctl_close(ctl);
	return ktap_exit();
}
