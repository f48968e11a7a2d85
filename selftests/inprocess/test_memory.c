// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of sizes of the heap, and of collections that a runtime reports
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asynctrace/inprocess.h>
#include <asynctrace/memory.h>

#include "kept.h"

#define MIB	(1ull << 20)
#define NONE	0xabcdefULL	/* value for a missing argument */

static void collect(const char *type)
{
	at_collection_begin(type, 7, NULL);
	at_collection_end(NULL);
}

/* --- sizes -------------------------------------------------------------------------------- */

static uint64_t limit_in_child(uint64_t limit)
{
	int ends[2], status;
	uint64_t got = 0;
	pid_t pid;

	if (pipe(ends))
		return 0;
	pid = fork();
	if (!pid) {
		const struct rlimit rl = { limit, limit };
		struct at_heap s;

		_exit(setrlimit(RLIMIT_AS, &rl) || at_heap_stats(&s) ||
		      write(ends[1], &s.heap_size_limit, sizeof(got)) != sizeof(got));
	}
	waitpid(pid, &status, 0);
	if (status || read(ends[0], &got, sizeof(got)) != sizeof(got))
		got = 0;
	close(ends[0]);
	close(ends[1]);
	return got;
}

static void sizes(void)
{
	struct at_heap before, after;
	char *block;

	check(sizeof(before) == 5 * sizeof(uint64_t));
	check(at_heap_stats(NULL) == -EINVAL);
	check(!at_heap_stats(&before));
	block = malloc(64 * MIB);
	memset(block, 1, 64 * MIB);
	/* Otherwise the compiler removes malloc() and memset(). */
	__asm__ volatile("" : : "r"(block) : "memory");
	check(!at_heap_stats(&after));
	check(after.used_heap_size >= before.used_heap_size + 64 * MIB &&
	      after.total_heap_size >= before.total_heap_size + 64 * MIB);
	check(after.total_physical_size >= before.total_physical_size + 60 * MIB);
	check(after.used_heap_size <= after.total_heap_size);
	free(block);
	check(!at_heap_stats(&after));
	check(after.used_heap_size < before.used_heap_size + MIB);
	check(after.total_heap_size_executable >= 4096);
	check(after.heap_size_limit >= after.total_physical_size);
	check(limit_in_child(64ull << 30) <= 64ull << 30 && limit_in_child(64ull << 30));
	check(limit_in_child(32ull << 30) <= 32ull << 30 && limit_in_child(32ull << 30));
	done("N74_heap_stats_are_five_numbers");
}

/* --- listeners ---------------------------------------------------------------------------- */

static int calls, hooked, hook_changes;
static struct at_collection seen_before, seen_after;

static void count(const struct at_collection *before, const struct at_collection *after, void *arg)
{
	(void)arg;
	calls++;
	seen_before = *before;
	seen_after = *after;
}

static void on_hook(int on, void *arg)
{
	(void)arg;
	hooked = on;
	hook_changes++;
}

static void both_sides(void)
{
	const struct at_heap heap = { .used_heap_size = 1000, .heap_size_limit = 5000 };
	const struct at_heap less = { .used_heap_size = 600, .heap_size_limit = 5000 };

	calls = 0;
	at_collection_listen(count, NULL);
	at_collection_begin("mark-sweep-compact", 3, &heap);
	check(!calls);
	at_collection_end(&less);
	at_collection_unlisten(count, NULL);
	check(calls == 1 && seen_before.time && seen_before.time <= seen_after.time);
	check(!strcmp(seen_before.type, "mark-sweep-compact") && seen_before.flags == 3 &&
	      !strcmp(seen_after.type, "mark-sweep-compact") && seen_after.flags == 3);
	check(!memcmp(&seen_before.heap, &heap, sizeof(heap)) &&
	      !memcmp(&seen_after.heap, &less, sizeof(less)));
	done("N70_N71_listener_has_both_sides");
}

static void only_while_listening(void)
{
	calls = 0;
	check(!at_collection_hook(on_hook, NULL));
	check(at_collection_hook(on_hook, NULL) == -EBUSY);
	collect("scavenge");
	check(!hooked && !hook_changes);
	check(!at_collection_listen(count, NULL));
	check(at_collection_listen(count, NULL) == -EEXIST);
	check(!at_collection_listen(count, &calls));
	check(hooked && hook_changes == 1);
	check(!at_collection_unlisten(count, &calls));
	check(hooked && hook_changes == 1);
	collect("scavenge");
	check(calls == 1);
	check(!at_collection_unlisten(count, NULL));
	check(at_collection_unlisten(count, NULL) == -ENOENT);
	check(!hooked && hook_changes == 2);
	collect("scavenge");
	check(calls == 1, "%d calls", calls);
	/* No listener is called for a collection that began before it was added. */
	at_collection_begin("scavenge", 0, NULL);
	at_collection_listen(count, NULL);
	at_collection_end(NULL);
	check(calls == 1);
	at_collection_begin("scavenge", 0, NULL);
	at_collection_unlisten(count, NULL);
	at_collection_end(NULL);
	check(calls == 1 && hook_changes == 4);
	at_collection_hook(NULL, NULL);
	done("N72_hooks_are_there_only_while_listening");
}

static char order[64];

static void note_call(void *arg)
{
	strcat(order, arg);
}

static void plain(const struct at_collection *before, const struct at_collection *after, void *arg)
{
	(void)before;
	(void)after;
	note_call(arg);
}

/* Removes itself and "c", and adds "d". */
static void remover(const struct at_collection *before, const struct at_collection *after,
		    void *arg)
{
	plain(before, after, arg);
	check(!at_collection_unlisten(remover, arg));
	check(!at_collection_unlisten(plain, "c"));
	check(!at_collection_listen(plain, "d"));
}

static void removal_within(void)
{
	at_collection_listen(plain, "a");
	at_collection_listen(remover, "b");
	at_collection_listen(plain, "c");
	at_collection_listen(plain, "e");
	collect("scavenge");
	check(!strcmp(order, "abe"), "%s", order);
	*order = 0;
	collect("scavenge");
	check(!strcmp(order, "aed"), "%s", order);
	check(!at_collection_unlisten(plain, "a") && !at_collection_unlisten(plain, "e") &&
	      !at_collection_unlisten(plain, "d"));
	done("N73_listener_removes_itself_and_others");
}

/* Replaces itself, while there are as many listeners as possible. */
static void replacer(const struct at_collection *before, const struct at_collection *after,
		     void *arg)
{
	(void)before;
	(void)after;
	check(at_collection_listen(plain, "z") == -ENOSPC);
	check(!at_collection_unlisten(replacer, arg));
	check(!at_collection_listen(plain, "z"));
	check(at_collection_listen(plain, "y") == -ENOSPC);
}

static void replacement_within(void)
{
	static char names[ASYNCTRACE_COLLECTION_LISTENERS - 1][2];

	*order = 0;
	check(!at_collection_listen(replacer, NULL));
	for (int i = 0; i < ASYNCTRACE_COLLECTION_LISTENERS - 1; i++) {
		*names[i] = 'a' + i;
		check(!at_collection_listen(plain, names[i]));
	}
	collect("scavenge");
	*order = 0;
	collect("scavenge");
	check(!strcmp(order, "abcdefghijklmnoz"), "%s", order);
	for (int i = 0; i < ASYNCTRACE_COLLECTION_LISTENERS - 1; i++)
		check(!at_collection_unlisten(plain, names[i]));
	check(!at_collection_unlisten(plain, "z"));
	done("N73_listener_replaces_itself_at_the_limit");
}

static void recursive(const struct at_collection *before, const struct at_collection *after,
		      void *arg)
{
	(void)arg;
	calls++;
	collect("within");
	check(!strcmp(before->type, "outer") && !strcmp(after->type, "outer"));
}

static void collection_within(void)
{
	calls = 0;
	kept_begin(NULL);
	at_collection_listen(recursive, NULL);
	collect("outer");
	collect("outer");
	at_collection_unlisten(recursive, NULL);
	kept_end();
	check(calls == 2, "%d calls", calls);
	check(kept_count(ASYNCTRACE_FXT_DURATION_BEGIN, "within") == 2 &&
	      kept_count(ASYNCTRACE_FXT_DURATION_END, "within") == 2);
	done("N75_collection_in_a_listener_calls_none");
}

/*
 * Without listeners, collections must not call at_heap_stats(). It opens a file, and strict seccomp
 * kills a process that does this.
 */
static void without_listeners(void)
{
	int status;
	pid_t pid;

	collect("scavenge");
	pid = fork();
	if (!pid) {
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
			_exit(2);
		for (int i = 0; i < 1000; i++)
			collect("scavenge");
		syscall(SYS_exit, 0);
	}
	waitpid(pid, &status, 0);
	check(WIFEXITED(status) && !WEXITSTATUS(status), "status %#x", status);
	done("N76_without_listeners_nothing_is_read");
}

static int in_listener, leave;

static void slow(const struct at_collection *before, const struct at_collection *after, void *arg)
{
	(void)before;
	(void)after;
	__atomic_store_n(&in_listener, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&leave, __ATOMIC_ACQUIRE))
		usleep(1000);
	__atomic_store_n((int *)arg, 1, __ATOMIC_RELEASE);
}

static void *collect_once(void *unused)
{
	(void)unused;
	collect("scavenge");
	return NULL;
}

static void *leave_soon(void *unused)
{
	(void)unused;
	usleep(20000);
	__atomic_store_n(&leave, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void removal_waits(void)
{
	pthread_t collector, other;
	int over = 0;

	at_collection_listen(slow, &over);
	pthread_create(&collector, NULL, collect_once, NULL);
	while (!__atomic_load_n(&in_listener, __ATOMIC_ACQUIRE))
		usleep(1000);
	pthread_create(&other, NULL, leave_soon, NULL);
	check(!at_collection_unlisten(slow, &over));
	check(__atomic_load_n(&over, __ATOMIC_ACQUIRE));
	pthread_join(collector, NULL);
	pthread_join(other, NULL);
	/* A child can add a listener even if another thread held the lock during the fork. */
	if (!fork())
		_exit(at_collection_listen(count, NULL));
	int status;

	wait(&status);
	check(!status);
	done("removal_waits_for_a_listener_that_runs");
}

static int forking;

static void before_fork(void)
{
	__atomic_store_n(&forking, 1, __ATOMIC_RELEASE);
}

static void stops_trace(const struct at_collection *before, const struct at_collection *after,
			void *arg)
{
	(void)before;
	(void)after;
	__atomic_store_n(&in_listener, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&forking, __ATOMIC_ACQUIRE))
		usleep(1000);
	/* Let fork(2) call the library's handlers. */
	usleep(100000);
	*(int *)arg = at_trace_stop(NULL);
}

/*
 * Run it before a trace: whichever handlers of fork(2) the library has registered first, a fork
 * must wait for the listener.
 */
static void fork_waits(void)
{
	const int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int stopped = 1, status;
	pthread_t collector;

	alarm(600);
	check(!at_collection_listen(stops_trace, &stopped));
	check(!at_trace_start(fd, NULL));
	pthread_atfork(before_fork, NULL, NULL);
	pthread_create(&collector, NULL, collect_once, NULL);
	while (!__atomic_load_n(&in_listener, __ATOMIC_ACQUIRE))
		usleep(1000);
	/* TSan would report that the collector exists in the child at its exit(2). */
	if (!fork())
		syscall(SYS_exit_group, 0);
	wait(&status);
	pthread_join(collector, NULL);
	in_listener = 0;
	check(!stopped);
	check(!at_collection_unlisten(stops_trace, &stopped));
	close(fd);
	alarm(0);
	done("fork_waits_for_a_listener_that_stops_a_trace");
}

static void may_end_thread(const struct at_collection *before, const struct at_collection *after,
			   void *arg)
{
	(void)before;
	(void)after;
	pthread_testcancel();
	++*(int *)arg;
}

static void *collect_cancelled(void *arg)
{
	struct at_heap s;

	pthread_cancel(pthread_self());
	++*(int *)arg;
	at_heap_stats(&s);
	at_collection_begin("scavenge", 0, &s);
	at_collection_end(&s);
	++*(int *)arg;
	pthread_testcancel();
	return NULL;
}

/* A thread that were cancelled in a listener would leave the lock locked. */
static void cancelled_collector(void)
{
	pthread_t thread;
	void *result;
	int steps = 0;

	alarm(600);
	at_collection_listen(may_end_thread, &steps);
	pthread_create(&thread, NULL, collect_cancelled, &steps);
	pthread_join(thread, &result);
	check(result == PTHREAD_CANCELED);
	check(steps == 3, "%d", steps);
	check(!at_collection_unlisten(may_end_thread, &steps));
	alarm(0);
	done("collector_cancelled_listener_returns");
}

/* --- the trace ---------------------------------------------------------------------------- */

static void records(void)
{
	const struct at_heap heap = { .used_heap_size = 1000, .total_heap_size = 3000 };
	const struct at_heap less = { .used_heap_size = 600, .total_heap_size = 2000 };

	kept_begin(NULL);
	at_collection_begin("mark-sweep-compact", 3, &heap);
	collect("within");
	at_collection_end(&less);
	at_heap_trim(0);
	kept_end();
	check(nr_kept == 6);
	check(nr_kept == 6 &&
	      kept_is(&kept[0], ASYNCTRACE_FXT_DURATION_BEGIN, "mark-sweep-compact") &&
	      !strcmp(kept[0].category, "memory") && kept_number(&kept[0], "flags", NONE) == 3);
	check(nr_kept == 6 && kept_is(&kept[1], ASYNCTRACE_FXT_COUNTER, "heap") &&
	      kept_number(&kept[1], "used", NONE) == 600 &&
	      kept_number(&kept[1], "total", NONE) == 2000 &&
	      kept_number(&kept[1], "used before", NONE) == 1000);
	check(nr_kept == 6 && kept_is(&kept[2], ASYNCTRACE_FXT_DURATION_END, "mark-sweep-compact"));
	check(kept_count(ASYNCTRACE_FXT_DURATION_BEGIN, "trim") == 1 &&
	      kept_count(ASYNCTRACE_FXT_DURATION_END, "trim") == 1);
	/* The end of a collection is recorded only if the trace has recorded its begin. */
	at_collection_begin("scavenge", 0, NULL);
	kept_begin(NULL);
	at_collection_end(NULL);
	at_collection_begin("scavenge", 0, NULL);
	kept_end();
	at_collection_end(NULL);
	check(nr_kept == 1 && kept_is(&kept[0], ASYNCTRACE_FXT_DURATION_BEGIN, "scavenge"));
	done("N70_trace_has_a_duration_and_sizes");
}

int main(void)
{
	if (!SANITIZED)
		sizes();
	both_sides();
	fork_waits();
	only_while_listening();
	removal_within();
	replacement_within();
	collection_within();
	/* TSan has a thread of its own, which strict seccomp does not let exit. */
	if (!HAS_TSAN)
		without_listeners();
	removal_waits();
	/* ASan considers frames of a cancelled thread as in use. */
	if (!SANITIZED)
		cancelled_collector();
	records();
	return finish();
}
