// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A program that crashes. Its crash handler writes a trace of the last second.
 *
 *	$ build/examples/crash crash.fxt
 *	$ asynctrace dump --events crash.fxt | tail
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <asynctrace/flight.h>
#include <asynctrace/trace.h>

#define WORKERS	3
#define REQUESTS 20000

static int file;

/*
 * This handler must call only async-signal-safe functions. -EBUSY: another thread crashed first
 * and is writing the file. Wait, because the process must live until the file is written.
 */
static void write_last_second(int sig)
{
	/* Another thread may be writing. Wait for it, but at most ten seconds. */
	for (int i = 0; i < 10000 && at_flight_write(file, NULL) == -EBUSY; i++)
		usleep(1000);
	/*
	 * SA_RESETHAND has restored the default action: the signal ends the process with a core
	 * dump.
	 */
	raise(sig);
}

/* Handlers need their own stack, because the crash may be an overflow of the thread's stack. */
static void use_own_stack(void)
{
	stack_t stack = { .ss_size = 64 << 10 };

	stack.ss_sp = malloc(stack.ss_size);
	if (stack.ss_sp)
		sigaltstack(&stack, NULL);
}

static void catch_crashes(void)
{
	static const int crashes[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };
	struct sigaction sa = {
		.sa_handler = write_last_second,
		.sa_flags = SA_ONSTACK | SA_RESETHAND,
	};

	sigfillset(&sa.sa_mask);
	for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
		sigaction(crashes[i], &sa, NULL);
}

static int *volatile missing;
static volatile unsigned int sum;

static void serve(unsigned int worker, unsigned int request)
{
	TRACE_DURATION("app", "request", "worker", TA_UINT32(worker), "number", TA_UINT32(request));
	for (unsigned int i = 0; i < 10000; i++)
		sum += i;
	if (worker == 0 && request == REQUESTS - 1) {
		TRACE_INSTANT("app", "about to crash", TRACE_SCOPE_PROCESS);
		*missing = 1;
	}
}

static void *work(void *worker)
{
	use_own_stack();
	for (unsigned int i = 0; i < REQUESTS; i++)
		serve((uintptr_t)worker, i);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[WORKERS];
	int err;

	if (argc != 2) {
		fprintf(stderr, "usage: %s FILE\n", argv[0]);
		return 2;
	}
	file = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (file < 0) {
		fprintf(stderr, "%s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	err = at_flight_start(1000000000, 0);
	if (err) {
		fprintf(stderr, "cannot start the flight recorder: %s\n", strerror(-err));
		return 1;
	}
	catch_crashes();
	for (uintptr_t i = 0; i < WORKERS; i++) {
		err = pthread_create(&threads[i], NULL, work, (void *)i);
		if (err) {
			fprintf(stderr, "cannot create a thread: %s\n", strerror(err));
			return 1;
		}
	}
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
