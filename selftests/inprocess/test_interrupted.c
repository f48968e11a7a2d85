// SPDX-License-Identifier: GPL-2.0
/*
 * A signal handler that writes a record when a thread is at any instruction of its first record
 *
 * The handler's record is then the thread's first one. The interrupted code may have read fields of
 * the thread that the handler's record has changed. Each process of this test traces itself and is
 * stopped one instruction later than the process before it.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asynctrace/inprocess.h>
#include <asynctrace/trace.h>

#include "common.h"
#include "ktap.h"
#include "stepper.h"

/*
 * Number of a record's instructions that are tried. The kernel restarts a critical section at each
 * stop, so stepping never gets past the first section.
 */
#define STEPS	200

static volatile uint32_t *go;

static void write_small(void)
{
	TRACE_INSTANT("interrupted", "small", TRACE_SCOPE_THREAD);
}

static void write_text(void)
{
	TRACE_INSTANT("interrupted", "text", TRACE_SCOPE_THREAD, "t", TA_STRING("a text"));
}

static void write_scope(void)
{
	TRACE_DURATION("interrupted", "scope", "i", TA_INT32(1));
}

static void (*write_one)(void);

static void handle(int sig)
{
	(void)sig;
	write_one();
}

static void *write_first(void *arg)
{
	write_one();
	return arg;
}

/*
 * Exits with 0 if the trace has accounted for three records: one of another thread, after which the
 * process knows the category and the name, the interrupted one, and the handler's.
 */
static void trace_three(void)
{
	const struct sigaction sa = { .sa_handler = handle };
	struct at_trace_result r = { .size = sizeof(r) };
	int fd = memfd_create("trace", MFD_CLOEXEC);
	pthread_t other;

	if (sigaction(SIGUSR1, &sa, NULL) || at_trace_start(fd, NULL))
		_exit(2);
	if (pthread_create(&other, NULL, write_first, NULL) || pthread_join(other, NULL))
		_exit(3);
	while (!*go)
		;
	STEPPER_TRAP();
	write_one();
	if (at_trace_stop(&r))
		_exit(4);
	_exit(r.delivered + r.dropped + r.overwritten == 3 ? 0 : 5);
}

/* Returns the wait status of a process that gets the signal after @steps instructions. */
static int interrupted_after(unsigned int steps)
{
	int status = -1;
	pid_t pid;

	*go = 0;
	pid = fork();
	must(pid >= 0);
	if (!pid)
		trace_three();
	stepper_seize(pid, go);
	for (unsigned int i = 0; i < steps; i++)
		stepper_step(pid);
	must(!ptrace(PTRACE_DETACH, pid, 0, SIGUSR1));
	must(waitpid(pid, &status, 0) == pid);
	return status;
}

static void test(const char *kind, void (*writer)(void))
{
	int status;

	write_one = writer;
	ktap_begin("I20_handler_at_each_step_of_a_record: %s", kind);
	for (unsigned int i = 0; i < STEPS && !ktap_failed(); i++) {
		status = interrupted_after(i);
		ktap_check(!status, "after %u instructions: wait status %#x", i, status);
	}
	ktap_end();
}

int main(void)
{
	go = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(go != MAP_FAILED);
	ktap_plan(3);
	test("3 words", write_small);
	test("text", write_text);
	test("scope", write_scope);
	return ktap_exit();
}
