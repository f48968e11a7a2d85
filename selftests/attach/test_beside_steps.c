// SPDX-License-Identifier: GPL-2.0
/*
 * A process that registers again while another thread is at any instruction of a record
 *
 * An in-process trace runs beside a session of the module. The thread that writes the record is
 * stopped one instruction later each time. There it lets another thread begin to register. The
 * record goes on in the middle of that registration. This test needs the module, and the trap flag
 * of x86-64, so it is not built for other machines.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <asynctrace/inprocess.h>
#include <asynctrace/operation.h>
#include <asynctrace/provider.h>
#include <asynctrace/trace.h>

#include "beside.h"
#include "sandbox.h"
#include "tape.h"

/*
 * Limit of instructions. The events of this test begin to write into a ring after fewer. A critical
 * section starts again at each stop, so stepping does not get past the first one.
 */
#define STEPS	700

/*
 * Every how many instructions the writer is stopped: fewer than there are between two looks at the
 * gate. The environment variable BESIDE_STRIDE overrides it.
 */
static long stride;

static struct {
	long steps;		/* instructions until the stop */
	uint32_t wanted;	/* registrations that the other thread must make */
	uint32_t begun, ended;	/* registrations that it has begun and ended */
	bool written;		/* the record is complete */
	bool over;
	int syscall;		/* descriptor of the file that tells the writer's system call */
} now;

/* Like wait_for(), but may be called by a signal handler. */
static void sleep_until(const uint32_t *word, uint32_t value)
{
	while (load(word) != value)
		usleep(50);
}

/* --- the thread that registers ------------------------------------------------------------- */

/* Does the writer wait in a futex, as it does for the registration? */
static bool writer_waits(void)
{
	char text[32] = "";

	return pread(now.syscall, text, sizeof(text) - 1, 0) > 0 &&
	       strtol(text, NULL, 10) == SYS_futex;
}

/* Handles SIGSYS for openat(2), by which the registration opens the device. */
static void on_openat(int sig, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	struct open_how how = { .flags = (uint32_t)r[REG_RDX] };
	int fd;

	(void)sig;
	(void)info;
	__atomic_store_n(&now.begun, now.wanted, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&now.written, __ATOMIC_ACQUIRE) && !writer_waits())
		usleep(50);
	fd = syscall(SYS_openat2, (int)r[REG_RDI], r[REG_RSI], &how, sizeof(how));
	r[REG_RAX] = fd < 0 ? -errno : fd;
}

static void *register_on(void *arg)
{
	must(!sandbox(SYS_openat, SECCOMP_RET_TRAP, 0));
	while (!__atomic_load_n(&now.over, __ATOMIC_ACQUIRE)) {
		if (load(&now.wanted) == now.ended) {
			usleep(100);
			continue;
		}
		check(!at_provider_register(NULL));
		__atomic_store_n(&now.ended, now.ended + 1, __ATOMIC_RELEASE);
	}
	return arg;
}

/* --- the thread that writes ---------------------------------------------------------------- */

#define TRAP_FLAG	0x100

/* Runs after each instruction. The last time, it returns in the middle of a registration. */
static void on_step(int sig, siginfo_t *info, void *context)
{
	greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];

	(void)sig;
	(void)info;
	if (now.steps-- > 0)
		return;
	*flags &= ~TRAP_FLAG;
	/* A registration waits for threads that use the fallback ring or hold the lock. */
	if (at_thread.in_fallback || at_backend_held())
		return;
	__atomic_store_n(&now.wanted, now.wanted + 1, __ATOMIC_RELEASE);
	sleep_until(&now.begun, now.wanted);
}

/* Steps over the red zone, which may have local variables. */
#define SET_FLAGS(change) \
	__asm__ volatile("sub $128, %%rsp\n\tpushf\n\t" change ", (%%rsp)\n\tpopf\n\t" \
			 "sub $-128, %%rsp" : : : "memory", "cc")

static void begin_steps(long steps)
{
	now.steps = steps;
	__atomic_store_n(&now.written, false, __ATOMIC_RELEASE);
	SET_FLAGS("orq $0x100");
}

/* Returns false if the record was complete before the thread was stopped. */
static bool end_steps(void)
{
	SET_FLAGS("andq $~0x100");
	__atomic_store_n(&now.written, true, __ATOMIC_RELEASE);
	sleep_until(&now.ended, now.wanted);
	return now.steps < 0;
}

/* The trace does not record the events of this test. */
static void start_trace(int fd)
{
	const struct at_trace_options o = { .size = sizeof(o), .categories = "others" };

	check(!at_trace_start(fd, &o));
}

static bool event(int fd, long steps)
{
	start_trace(fd);
	begin_steps(steps);
	TRACE_INSTANT("steps", "event", TRACE_SCOPE_THREAD);
	return end_steps();
}

/* The scope begins in an earlier registration. */
static bool scope(int fd, long steps)
{
	start_trace(fd);
	{
		TRACE_DURATION("steps", "scope");
		check(!at_provider_register(NULL));
		begin_steps(steps);
	}
	return end_steps();
}

/* The scope begins before the trace. */
static bool old_scope(int fd, long steps)
{
	{
		TRACE_DURATION("steps", "scope");
		start_trace(fd);
		begin_steps(steps);
	}
	return end_steps();
}

static void test(bool (*write)(int fd, long steps))
{
	struct at_trace_result r = { .size = sizeof(r) };
	bool stopped = true;
	struct counts c;
	uint32_t id;
	long i;

	for (i = 0; i < STEPS && stopped && !ktap_failed(); i += stride) {
		const int fd = memory();

		id = start_session();
		stopped = write(fd, i);
		check(!at_trace_stop(&r) && !r.delivered);
		c = counts_of(id);
		check(c.committed + c.dropped == 1, "%llu + %llu after %ld instructions",
		      (unsigned long long)c.committed, (unsigned long long)c.dropped, i);
		end_session(id);
		close(fd);
	}
	printf("# stopped at %ld instructions\n", i);
}

int main(void)
{
	const struct sigaction step = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };
	const struct sigaction openat = { .sa_sigaction = on_openat, .sa_flags = SA_SIGINFO };
	pthread_t other;

	stride = scale("BESIDE_STRIDE", 12);
	must(!sigaction(SIGTRAP, &step, NULL) && !sigaction(SIGSYS, &openat, NULL));
	now.syscall = open("/proc/thread-self/syscall", O_RDONLY | O_CLOEXEC);
	must(now.syscall >= 0);
	check(!at_ctl_open(&ctl));
	check(!at_provider_register(NULL));
	must(!pthread_create(&other, NULL, register_on, NULL));
	test(event);
	done("I20_event_counts_if_registering_midway");
	test(scope);
	done("I20_scope_counts_if_registering_midway");
	test(old_scope);
	done("I20_old_scope_counts_if_registering_midway");
	__atomic_store_n(&now.over, true, __ATOMIC_RELEASE);
	pthread_join(other, NULL);
	at_ctl_close(ctl);
	return finish();
}
