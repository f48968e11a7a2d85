// SPDX-License-Identifier: GPL-2.0
/*
 * at_flight_write() in signal handlers: while the interrupted code holds the allocator's lock, at
 * any instruction of the library's code, and on a small stack
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asynctrace/inprocess.h>
#include <asynctrace/trace.h>

#include "flown.h"
#include "tape.h"

#define HOUR	3600000000000ull
/* The stack that asynctrace/flight.h promises to be enough, and the kernel's signal frame */
#define STACK	(16 << 10)
#define FRAME	(4 << 10)
#ifdef __SANITIZE_ADDRESS__
#define OWN_STACK_BYTES	(256 << 10)
#else
#define OWN_STACK_BYTES	(STACK + FRAME)
#endif

/* --- an allocator that can crash with its lock held --------------------------------------- */

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define OWN_ALLOCATOR 1

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);
void __libc_free(void *p);

static bool crash;	/* the next call crashes */
static bool forbidden;	/* a call now would wait for the lock, which is held */
static unsigned int calls;

static void enter(void)
{
	if (forbidden)
		calls++;
	if (crash) {
		crash = false;
		*(volatile int *)NULL = 1;
	}
}

void *malloc(size_t bytes)
{
	enter();
	return __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
	enter();
	return __libc_calloc(n, bytes);
}

void *realloc(void *old, size_t bytes)
{
	enter();
	return __libc_realloc(old, bytes);
}

void free(void *p)
{
	enter();
	__libc_free(p);
}
#else
static bool crash, forbidden;
static unsigned int calls;
#endif

/* --- a crash ------------------------------------------------------------------------------- */

static int file;
static unsigned char *stack;

static void on_crash(int sig)
{
	struct at_flight_result r = { .size = sizeof(r) };
	size_t unused = 0;

	(void)sig;
	forbidden = true;
	if (at_flight_write(file, &r))
		_exit(2);
	forbidden = false;
	while (unused < FRAME + STACK && stack[unused] == 0xa5)
		unused++;
	/* Skip this with a sanitizer, whose functions need more stack. */
#ifdef OWN_ALLOCATOR
	if (!unused)
		_exit(3);
#endif
	_exit(calls ? 4 : r.delivered == 10001 ? 0 : 5);
}

static void catch(void (*handler)(int sig), int sig, size_t bytes)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
	stack_t st = { .ss_size = bytes };

	stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(stack, 0xa5, bytes);
	st.ss_sp = stack;
	sigaltstack(&st, NULL);
	sigaction(sig, &sa, NULL);
}

static void *use_names(void *arg)
{
	for (int i = 0; i < 2000; i++)
		flown_write(1, i);
	return arg;
}

/* Runs in a child: fills the recorder with several threads, then crashes in malloc(). */
static int crashes(void)
{
	pthread_t threads[5];

	if (at_flight_start(HOUR, 0))
		return 10;
	for (int i = 0; i < 5; i++)
		pthread_create(&threads[i], NULL, use_names, NULL);
	for (int i = 0; i < 5; i++)
		pthread_join(threads[i], NULL);
	{
		TRACE_DURATION("flown", "the last one");
	}
	catch(on_crash, SIGSEGV, OWN_STACK_BYTES);
	crash = true;
	free(malloc(1));
	/* With a sanitizer the allocator is not ours: raise the signal. */
	raise(SIGSEGV);
	return 11;
}

static void in_malloc(void)
{
	struct flown f;
	int status;
	pid_t pid;

	file = memfd_create("crash", MFD_CLOEXEC);
	pid = fork();
	if (!pid) {
		alarm(120);
		_exit(crashes());
	}
	check(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status), "%#x",
	      status);
	flown_read(file, &f);
	check(!f.broken && f.of[1] == 10000);
	check(flown_valid(file));
	close(file);
	done("crash_in_malloc_leaves_a_whole_file");
}

/* --- at any instruction --------------------------------------------------------------------- */

static unsigned int flights, busy, failures;
static uint64_t delivered;
static volatile sig_atomic_t timer_on;

/*
 * The next interrupt comes a millisecond of CPU time after the handler. With a fixed interval, a
 * handler that takes longer would be followed by the next one, and the program would hang.
 */
static void start_timer(void)
{
	const struct itimerval soon = { .it_value.tv_usec = 1000 };

	setitimer(ITIMER_PROF, &soon, NULL);
}

static void on_timer(int sig)
{
	struct at_flight_result r = { .size = sizeof(r) };
	const int saved = errno;
	int err;

	(void)sig;
	if (lseek(file, 0, SEEK_SET) || ftruncate(file, 0))
		failures++;
	err = at_flight_write(file, &r);
	flights += !err;
	busy += err == -EDEADLK;
	failures += err && err != -EDEADLK;
	failures += errno != saved || r.malformed || r.unwritten;
	if (!err)
		delivered = r.delivered;
	if (timer_on)
		start_timer();
}

/*
 * Allocates, writes events or writes a file, at random, while the timer interrupts it. A file takes
 * about as long as all the rest.
 */
static void work(uint32_t *x)
{
	static uint64_t number;
	const uint32_t what = rnd(x, 100);
	int fd;

	if (!what) {
		fd = memfd_create("own", MFD_CLOEXEC);
		at_flight_write(fd, NULL);
		close(fd);
	} else if (what < 25) {
		free(malloc(rnd(x, 100000)));
	} else {
		for (int i = 0; i < 200; i++)
			flown_write(0, number++);
	}
}

static void at_random(void)
{
	const long rounds = scale("FLIGHTS", 30);
	const struct itimerval never = { 0 };
	uint32_t x = seed();
	struct flown f;

	file = memfd_create("flight", MFD_CLOEXEC);
	catch(on_timer, SIGPROF, 256 << 10);
	check(!at_flight_start(HOUR, 256 << 10));
	timer_on = true;
	start_timer();
	while (flights < rounds * 3 && !failures)
		work(&x);
	timer_on = false;
	setitimer(ITIMER_PROF, &never, NULL);
	check(!failures, "%u", failures);
	/* The last handler may have found the recorder busy and left no file. */
	on_timer(0);
	flown_read(file, &f);
	check(!f.broken && f.events == delivered);
	check(flown_valid(file));
	check(!at_flight_stop());
	close(file);
	done("handler_writes_at_any_instruction: %u files, %u busy", flights, busy);
}

int main(void)
{
	in_malloc();
	at_random();
	return finish();
}
