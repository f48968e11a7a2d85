// SPDX-License-Identifier: GPL-2.0
/*
 * Operations under load: many threads that hand them over, signal handlers, forked children,
 * cancelled threads, and a sandbox that kills for any system call
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asynctrace/operation.h>

#include "tape.h"

#define BEGIN	ASYNCTRACE_FXT_DURATION_BEGIN
#define END	ASYNCTRACE_FXT_DURATION_END

/* --- recorded events --------------------------------------------------------------------- */

/* Counts of records by type. The argument "number" identifies an operation. */
static struct {
	uint64_t of[ASYNCTRACE_FXT_EVENT_TYPES];
	uint8_t *begun, *ended;	/* by number of the operation */
	uint64_t nr, twice, strange;
} came;

/* Returns the operation's argument "number". */
static uint64_t number_of(const struct tape_event *ev)
{
	for (uint32_t i = 0; i < ev->nargs; i++)
		if (ev->args[i].name_len == 6 && !memcmp(ev->args[i].name, "number", 6))
			return ev->args[i].value;
	return UINT64_MAX;
}

static void take(const struct tape_event *ev, void *unused)
{
	uint8_t *of = ev->type == ASYNCTRACE_FXT_ASYNC_BEGIN ? came.begun :
		      ev->type == ASYNCTRACE_FXT_ASYNC_END ? came.ended : NULL;
	const uint64_t n = of ? number_of(ev) : 0;

	(void)unused;
	came.of[ev->type]++;
	if (!of || !came.nr)
		return;
	if (n >= came.nr)
		came.strange++;
	else if (of[n]++)
		came.twice++;
}

static struct tape tape;

static void begin(uint32_t mode, uint64_t ring_size)
{
	const struct tape_options o = { .mode = mode, .ring_size = ring_size };

	memset(&came, 0, sizeof(came));
	tape_new(&tape, &o, take, NULL);
	tape_attach(&tape);
	tape_gate(&tape, true);
}

/* --- 64 threads ----------------------------------------------------------------------------- */

#define THREADS		64
#define HOPS		4

/* HOPS threads work on a job, one after the other. The last one ends it. */
struct job {
	struct at_operation op;
	uint32_t number;
	int hops;
	struct job *next;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t some;
	struct job *first, **last;
	long open;
} queue = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, &queue.first, 0 };

static void put(struct job *j)
{
	j->next = NULL;
	pthread_mutex_lock(&queue.lock);
	*queue.last = j;
	queue.last = &j->next;
	pthread_cond_signal(&queue.some);
	pthread_mutex_unlock(&queue.lock);
}

/* Returns NULL if all jobs are done. */
static struct job *get(void)
{
	struct job *j;

	pthread_mutex_lock(&queue.lock);
	while (!queue.first && queue.open)
		pthread_cond_wait(&queue.some, &queue.lock);
	j = queue.first;
	if (j && !(queue.first = j->next))
		queue.last = &queue.first;
	pthread_mutex_unlock(&queue.lock);
	return j;
}

static void *worker(void *wrong)
{
	struct job *j;

	while ((j = get())) {
		TRACE_OPERATION_SCOPE(j->op.id, "handover", "hop", "hops", j->hops);
		TRACE_REGION("handover", "region");
		*(int *)wrong += at_operation_current() != j->op.id;
		if (++j->hops < HOPS) {
			put(j);
			continue;
		}
		TRACE_OPERATION_END(&j->op, "handover", "job", "number", j->number);
		pthread_mutex_lock(&queue.lock);
		if (!--queue.open)
			pthread_cond_broadcast(&queue.some);
		pthread_mutex_unlock(&queue.lock);
	}
	*(int *)wrong += at_operation_current() != 0;
	return NULL;
}

static void handovers(long jobs)
{
	struct job *of = calloc(jobs, sizeof(*of));
	int wrong[THREADS] = { 0 }, sum = 0;
	pthread_t th[THREADS];

	begin(ASYNCTRACE_MODE_ONESHOT, 64 << 20);
	came.nr = jobs;
	came.begun = calloc(jobs, 1);
	came.ended = calloc(jobs, 1);
	queue.open = jobs;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&th[i], NULL, worker, &wrong[i]);
	for (long i = 0; i < jobs; i++) {
		of[i].number = i;
		TRACE_OPERATION_BEGIN(&of[i].op, "handover", "job", "number", of[i].number);
		put(&of[i]);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(th[i], NULL);
		sum += wrong[i];
	}
	tape_end(&tape, true);
	tape_check(&tape);
	check(!sum, "%d threads worked on another operation", sum);
	check(!came.twice && !came.strange && !tape.result.dropped);
	check(came.of[ASYNCTRACE_FXT_ASYNC_BEGIN] == (uint64_t)jobs &&
	      came.of[ASYNCTRACE_FXT_ASYNC_END] == (uint64_t)jobs);
	check(came.of[BEGIN] == 2ull * HOPS * jobs && came.of[END] == came.of[BEGIN]);
	tape_free(&tape);
	free(came.begun);
	free(came.ended);
	free(of);
	done("G27_64_threads_hand_%ld_operations_over", jobs);
}

/* --- signal handlers -------------------------------------------------------------------- */

/*
 * Ids that signals() and its signal handler took. They are not in the order in which they were
 * taken, because the handler may interrupt take_id().
 */
static uint64_t *ids;
static long nr_ids, max_ids;
static uint64_t handlers;

static void take_id(void)
{
	struct at_operation op;

	TRACE_OPERATION_BEGIN(&op, "handover", "id");
	ids[__atomic_fetch_add(&nr_ids, 1, __ATOMIC_RELAXED)] = op.id;
}

static void handler(int sig)
{
	(void)sig;
	if (__atomic_load_n(&nr_ids, __ATOMIC_RELAXED) > max_ids - 8)
		return;
	TRACE_OPERATION_SCOPE(99, "handover", "handler");
	TRACE_REGION("handover", "in the handler");
	take_id();
	handlers++;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void signals(long events)
{
	const struct itimerval every = { { 0, 50 }, { 0, 50 } }, never = { { 0, 0 }, { 0, 0 } };
	uint64_t twice = 0, others = 0, scopes = 0;

	max_ids = 4 * events;
	ids = calloc(max_ids, sizeof(*ids));
	begin(ASYNCTRACE_MODE_ONESHOT, 64 << 20);
	signal(SIGALRM, handler);
	setitimer(ITIMER_REAL, &every, NULL);
	while (__atomic_load_n(&nr_ids, __ATOMIC_RELAXED) < max_ids - 16 &&
	       scopes < (uint64_t)events) {
		TRACE_OPERATION_SCOPE(7, "handover", "scope");
		take_id();
		others += at_operation_current() != 7;
		scopes++;
	}
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_DFL);
	tape_end(&tape, true);
	tape_check(&tape);
	qsort(ids, nr_ids, sizeof(*ids), by_number);
	for (long i = 1; i < nr_ids; i++)
		twice += ids[i] == ids[i - 1];
	check(handlers > 0 && !twice && !others, "%llu twice, %llu others",
	      (unsigned long long)twice, (unsigned long long)others);
	check(!tape.result.dropped && came.of[BEGIN] == scopes + 2 * handlers &&
	      came.of[END] == came.of[BEGIN]);
	check(!at_operation_current() && !at_current_.depth);
	tape_free(&tape);
	free(ids);
	done("signal_handlers_take_ids_and_nest_scopes (%llu)", (unsigned long long)handlers);
}

/* --- cancellation ------------------------------------------------------------------------- */

static void leave(void *e)
{
	at_operation_leave(e);
}

static void *cancelled(void *arg)
{
	struct at_entered e;

	(void)arg;
	TRACE_OPERATION_ENTER(&e, 5, "handover", "cancelled");
	pthread_cleanup_push(leave, &e);
	for (;;)
		poll(NULL, 0, -1);
	pthread_cleanup_pop(0);
	return NULL;
}

/* Scopes are no cancellation points: the thread runs on until poll(). */
static void *not_cancelled(void *written)
{
	pthread_testcancel();
	while (!__atomic_load_n((uint32_t *)written, __ATOMIC_ACQUIRE))
		;
	for (int i = 0; i < 100; i++) {
		struct at_operation op;

		TRACE_OPERATION_BEGIN(&op, "handover", "point");
		TRACE_OPERATION_SCOPE(op.id, "handover", "point");
		TRACE_LOGF("handover", "%d", i);
	}
	*(uint32_t *)written = 2;
	poll(NULL, 0, -1);
	return NULL;
}

static void cancellations(void)
{
	uint32_t written = 0;
	pthread_t th;
	void *result;

	begin(ASYNCTRACE_MODE_ONESHOT, 8 << 20);
	pthread_create(&th, NULL, cancelled, NULL);
	pthread_cancel(th);
	pthread_join(th, &result);
	/* The thread may have been cancelled before it began. */
	check(result == PTHREAD_CANCELED);
	pthread_create(&th, NULL, not_cancelled, &written);
	usleep(1000);
	pthread_cancel(th);
	__atomic_store_n(&written, 1, __ATOMIC_RELEASE);
	pthread_join(th, &result);
	check(result == PTHREAD_CANCELED && (written == 2 || written == 1));
	tape_end(&tape, true);
	tape_check(&tape);
	check(came.of[BEGIN] == came.of[END]);
	check(written != 2 || came.of[ASYNCTRACE_FXT_INSTANT] == 100);
	tape_free(&tape);
	done("cancellation_ends_scopes_and_scopes_are_no_points");
}

/* --- children ------------------------------------------------------------------------------ */

static uint64_t *from_child;

static void forks(void)
{
	struct at_operation op, mine;
	int status;
	pid_t pid;

	TRACE_OPERATION_BEGIN(&op, "handover", "forked");
	TRACE_OPERATION_SCOPE(op.id, "handover", "forking");
	pid = fork();
	if (!pid) {
		TRACE_OPERATION_BEGIN(&mine, "handover", "child");
		from_child[0] = mine.id;
		from_child[1] = mine.parent;
		_exit(0);
	}
	waitpid(pid, &status, 0);
	TRACE_OPERATION_BEGIN(&mine, "handover", "parent");
	check(WIFEXITED(status) && from_child[1] == op.id && mine.parent == op.id);
	check(from_child[0] >> 44 != op.id >> 44 && mine.id >> 44 == op.id >> 44 && from_child[0]);
	done("forked_child_works_on_its_parents_operation");
}

/* --- no system calls ---------------------------------------------------------------------- */

/*
 * Forbids all system calls except exit(2). SECCOMP_MODE_STRICT would also forbid reading the
 * counter. Returns 0, or -1 after an error.
 */
static int forbid_all(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog);
}

static void one_of_each(struct at_operation *op, long i)
{
	struct at_entered e;

	TRACE_OPERATION_BEGIN(op, "strict", "operation", "i", i);
	TRACE_OPERATION_ENTER(&e, op->id, "strict", "work", "text", TA_STRING("text"));
	{
		TRACE_REGION("strict", "region");
	}
	TRACE_LOG("strict", "plain");
	TRACE_LOGF("strict", "%ld %s", i, "formatted");
	at_logf("strict", "%ld", i);
	TRACE_OPERATION_FOLLOWS(op->id, "strict", 1);
	at_operation_leave(&e);
	TRACE_OPERATION_END(op, "strict", "operation");
}

/* begin, enter, region begin and end, three logs, follows, leave, end */
#define RECORDS	10

static void strict(long events)
{
	struct at_operation op;
	int status;
	pid_t pid;

	begin(ASYNCTRACE_MODE_CIRCULAR, 64 << 10);
	/* The first events of a process make system calls to register it and its threads. */
	one_of_each(&op, 0);
	pid = fork();
	if (!pid) {
		one_of_each(&op, 0);
		if (forbid_all())
			_exit(2);
		for (long i = 0; i < events; i++)
			one_of_each(&op, i);
		syscall(SYS_exit, at_operation_current() ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	check(WIFEXITED(status) && !WEXITSTATUS(status), "status %#x", status);
	tape_end(&tape, true);
	tape.strangers = 0;
	tape_check(&tape);
	check(tape.result.delivered + tape.result.overwritten == (uint64_t)RECORDS * (events + 2) &&
	      !tape.result.dropped, "%llu of %llu",
	      (unsigned long long)(tape.result.delivered + tape.result.overwritten),
	      (unsigned long long)RECORDS * (events + 2));
	tape_free(&tape);
	done("%ld_events_of_each_kind_make_no_system_call", events);
}

int main(void)
{
	const long events = scale("EVENTS", 50000);

	from_child = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	handovers(events / 10);
	signals(events);
	forks();
	/*
	 * Skip these tests with a sanitizer: ASan considers frames of a cancelled thread as in use,
	 * and sanitizers make system calls.
	 */
	if (!SANITIZED) {
		cancellations();
		strict(scale("STRICT", 1000000));
	}
	return finish();
}
