// SPDX-License-Identifier: GPL-2.0
/*
 * A scene: many threads, signal handlers and forked children begin to trace at the same moment.
 * Uses public macros only.
 */
#include <errno.h>
#include <linux/futex.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asynctrace/provider.h>
#include <asynctrace/trace.h>

#include "scene.h"

#define STACK	(64 * 1024)
#define LATE	3	/* threads that begin in a child, or after descriptors were closed */

/* Counts of this process; a forked child resets them. */
static struct tally *tally;
static unsigned int self;
static uint32_t go, ready, written_all, finish;

static void die(const char *what)
{
	perror(what);
	_exit(9);
}

static uint32_t next(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

struct scene scene_of(uint64_t seed, unsigned int max_threads)
{
	uint64_t state = seed * 2 + 1;
	struct scene s = { .seed = seed };

	for (int i = 0; i < 4; i++)
		next(&state);
	/* Each power of two is as likely as the others, so that few scenes are large. */
	s.threads = 1u << next(&state) % 8;
	if (next(&state) % 16 == 0)
		s.threads <<= next(&state) % 6;
	s.threads = s.threads > 1 ? s.threads - next(&state) % (s.threads / 2) : 1;
	if (s.threads > max_threads)
		s.threads = max_threads;
	s.records = 1 + next(&state) % (s.threads > 128 ? 8 : 256);
	s.signals = next(&state) % 2 ? 1 + next(&state) % 64 : 0;
	s.children = next(&state) % 3 ? 0 : 1 + next(&state) % 4;
	s.closes = next(&state) % 3 ? 0 : 1 + next(&state) % 3;
	s.registers = next(&state) % 4 == 0;
	return s;
}

void scene_print(const struct scene *s)
{
	printf("# seed %llu: %u threads, %u records each, %u signals, %u children, descriptors closed %u times%s\n",
	       (unsigned long long)s->seed, s->threads, s->records, s->signals, s->children,
	       s->closes, s->registers ? ", registers" : "");
}

static void count(unsigned int n)
{
	__atomic_fetch_add(&tally->process[self].written, n, __ATOMIC_RELAXED);
}

static void futex_wait(uint32_t *word, uint32_t value)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value)
		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_set(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Adds 1 and wakes the threads that wait for the number to become @all. */
static void futex_add(uint32_t *word, uint32_t all)
{
	if (__atomic_add_fetch(word, 1, __ATOMIC_ACQ_REL) == all)
		syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void futex_until(uint32_t *word, uint32_t all)
{
	uint32_t now;

	while ((now = __atomic_load_n(word, __ATOMIC_ACQUIRE)) != all)
		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, now, NULL, NULL, 0);
}

/* Writes one to three records, of kinds that take different paths into the ring. */
static unsigned int write_some(uint32_t i)
{
	switch (i % 6) {
	case 0:
		TRACE_INSTANT("starts", "instant", TRACE_SCOPE_THREAD);
		return 1;
	case 1: {
		TRACE_DURATION("starts", "duration", "i", i);
		TRACE_COUNTER("starts.counter", "counter", 1, "i", i);
		return 2;
	}
	case 2:
		TRACE_ASYNC_BEGIN("starts", "async", at_flow_id(), "text", "a text");
		return 1;
	case 3:
		TRACE_DURATION_BEGIN("starts", "outer");
		TRACE_INSTANT("starts", "inner", TRACE_SCOPE_THREAD, "a", 1u, "b", 2.5, "c", "d");
		TRACE_DURATION_END("starts", "outer");
		return 3;
	case 4: {
		TRACE_DURATION("starts", "with text", "text", "kept until the end");
		return 1;
	}
	default:
		TRACE_INSTANT("starts.other", "one argument", TRACE_SCOPE_THREAD, "i", i);
		return 1;
	}
}

static void write_records(unsigned int records, uint32_t kind)
{
	unsigned int n = 0;

	while (n < records)
		n += write_some(kind++);
	count(n);
}

static void on_signal(int sig)
{
	const int saved = errno;

	write_records(1 + sig % 3, sig);
	errno = saved;
}

struct crew {
	unsigned int threads;
	unsigned int records;
	bool registers;
};

static void *member(void *arg)
{
	const struct crew *crew = arg;
	const uint32_t kind = __atomic_fetch_add(&ready, 1, __ATOMIC_ACQ_REL);

	syscall(SYS_futex, &ready, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
	futex_wait(&go, 0);
	if (crew->registers && kind == 0)
		at_provider_register(NULL);
	write_records(crew->records, kind);
	futex_add(&written_all, crew->threads);
	/* The thread lives until the last signal has been sent. */
	futex_wait(&finish, 0);
	return NULL;
}

/* Starts threads, which get ready and wait for go. */
static pthread_t *muster(struct crew *crew)
{
	pthread_t *threads = calloc(crew->threads, sizeof(*threads));
	pthread_attr_t attr;

	go = ready = written_all = finish = 0;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	for (unsigned int i = 0; i < crew->threads; i++) {
		errno = pthread_create(&threads[i], &attr, member, crew);
		if (errno)
			die("pthread_create");
	}
	pthread_attr_destroy(&attr);
	futex_until(&ready, crew->threads);
	return threads;
}

static void dismiss(struct crew *crew, pthread_t *threads)
{
	futex_until(&written_all, crew->threads);
	futex_set(&finish, 1);
	for (unsigned int i = 0; i < crew->threads; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}

static void begin_at_once(unsigned int threads, unsigned int records)
{
	struct crew crew = { .threads = threads, .records = records };
	pthread_t *list = muster(&crew);

	futex_set(&go, 1);
	dismiss(&crew, list);
}

static void in_child(unsigned int number, uint64_t (*child)(bool starts))
{
	self = number;
	tally->process[self].pid = getpid();
	if (child)
		child(true);
	write_records(5, number);
	begin_at_once(LATE, 20);
	if (child)
		tally->process[self].accounted = child(false);
	_exit(0);
}

/* Sets a timer with @period microseconds; 0 stops it. */
static void set_timer(unsigned int period)
{
	const struct itimerval t = { { 0, period }, { 0, period } };

	setitimer(ITIMER_REAL, &t, NULL);
}

void scene_play(const struct scene *s, struct tally *t, void (*begin)(void),
		uint64_t (*child)(bool starts))
{
	struct crew crew = { s->threads, s->records, s->registers };
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	pid_t children[SCENE_PROCESSES] = { 0 };
	uint64_t state = s->seed;
	pthread_t *threads;
	int status;

	tally = t;
	self = 0;
	tally->process[0].pid = getpid();
	tally->processes = 1;
	threads = muster(&crew);
	if (begin)
		begin();
	sigaction(SIGALRM, &sa, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGUSR2, &sa, NULL);
	if (s->signals)
		set_timer(500);
	futex_set(&go, 1);
	for (unsigned int i = 0; i < s->signals; i++) {
		pthread_kill(threads[next(&state) % s->threads],
			     next(&state) % 2 ? SIGUSR1 : SIGUSR2);
		if (i < 8)
			write_records(2, i);
	}
	for (unsigned int i = 0; i < s->children; i++) {
		children[i] = fork();
		if (children[i] < 0)
			die("fork");
		if (!children[i])
			in_child(i + 1, child);
		tally->processes++;
	}
	write_records(3, 0);
	dismiss(&crew, threads);
	for (unsigned int i = 0; i < s->closes; i++) {
		if (syscall(SYS_close_range, 3, ~0u, 0))
			die("close_range");
		begin_at_once(LATE, 10);
		write_records(4, i);
	}
	set_timer(0);
	for (unsigned int i = 0; i < s->children; i++) {
		while (waitpid(children[i], &status, 0) < 0 && errno == EINTR)
			;
		if (!WIFEXITED(status) || WEXITSTATUS(status)) {
			fprintf(stderr, "child %u: status %#x\n", i, status);
			_exit(8);
		}
	}
}
