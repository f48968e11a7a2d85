// SPDX-License-Identifier: GPL-2.0
/*
 * at_trace_start() and at_trace_stop(): descriptors that processes share, threads that are
 * cancelled inside these functions, signals raised by writing, and fork() with an allocator that
 * has no fork handler (those of sanitizers have none)
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <asynctrace/flight.h>
#include <asynctrace/inprocess.h>
#include <asynctrace/trace.h>

#include "tape.h"

/* --- an allocator with one lock ------------------------------------------------------ */

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define OWN_ALLOCATOR 1

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);
void __libc_free(void *p);

static uint32_t allocator_lock;
static bool slow;		/* all threads but the first hold the lock for long */
static uint64_t slow_calls;
static pid_t first_thread;

static void lock_allocator(void)
{
	while (__atomic_exchange_n(&allocator_lock, 1, __ATOMIC_ACQUIRE))
		sched_yield();
	if (__atomic_load_n(&slow, __ATOMIC_RELAXED) && gettid() != first_thread) {
		__atomic_fetch_add(&slow_calls, 1, __ATOMIC_RELEASE);
		for (int i = 0; i < 100; i++)
			sched_yield();
	}
}

static void unlock_allocator(void)
{
	__atomic_store_n(&allocator_lock, 0, __ATOMIC_RELEASE);
}

void *malloc(size_t bytes)
{
	void *p;

	lock_allocator();
	p = __libc_malloc(bytes);
	unlock_allocator();
	return p;
}

void *calloc(size_t n, size_t bytes)
{
	void *p;

	lock_allocator();
	p = __libc_calloc(n, bytes);
	unlock_allocator();
	return p;
}

void *realloc(void *old, size_t bytes)
{
	void *p;

	lock_allocator();
	p = __libc_realloc(old, bytes);
	unlock_allocator();
	return p;
}

void free(void *p)
{
	lock_allocator();
	__libc_free(p);
	unlock_allocator();
}
#endif

/* ------------------------------------------------------------------------------------- */

static void event(void)
{
	TRACE_INSTANT("trace", "event", TRACE_SCOPE_THREAD);
}

static int memory(void)
{
	return memfd_create("trace", MFD_CLOEXEC);
}

/* Runs @fn(@arg) in a child. Returns its status, or -1 if a signal or the alarm ended it. */
static int in_child(int (*fn)(int arg), int arg)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		alarm(120);
		_exit(fn(arg));
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int start_is_busy(int fd)
{
	return at_trace_start(fd, NULL) != -EBUSY;
}

static int starts(int fd)
{
	return at_trace_start(fd, NULL) || at_trace_stop(NULL);
}

static void shared_descriptors(void)
{
	int fds[4], other[2], pair[2];

	check(!pipe2(pair, O_CLOEXEC));
	fds[0] = pair[1];
	fds[1] = memory();
	check(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, other));
	fds[2] = other[0];
	fds[3] = open("/dev/null", O_WRONLY | O_CLOEXEC);
	for (int i = 0; i < 4; i++) {
		check(!at_trace_start(fds[i], NULL), "%d", i);
		if (i < 3)
			check(!in_child(start_is_busy, fds[i]), "%d", i);
		else
			check(!in_child(starts, fds[i]));
		event();
		check(!at_trace_stop(NULL), "%d", i);
		check(!in_child(starts, fds[i]), "%d", i);
	}
	check(at_trace_start(pair[0], NULL) == -EBADF, "the end of a pipe for reading");
	check(at_trace_start(-1, NULL) == -EBADF);
	for (int i = 0; i < 4; i++)
		close(fds[i]);
	check(at_trace_start(fds[0], NULL) == -EBADF, "closed");
	close(pair[0]);
	close(other[1]);
	done("start_descriptor_of_other_process_is_busy");
}

static void closed_descriptor(void)
{
	struct at_trace_result r = { .size = sizeof(r) };
	int fd = memory(), other = memory();
	struct stat st;

	check(!at_trace_start(fd, NULL));
	event();
	check(dup2(other, fd) == fd);
	check(at_trace_stop(&r) == -EBADF && r.unwritten == 1);
	check(!fstat(other, &st) && !st.st_size);
	close(fd);
	close(other);
	done("stop_replaced_descriptor_is_not_written");
}

/*
 * Returns a new file of this directory, without a name. On file systems such as ext4 it gets the
 * number of the inode that was freed last.
 */
static int unnamed_file(void)
{
	char name[] = "unnamed.XXXXXX";
	const int fd = mkostemp(name, O_CLOEXEC);

	check(fd >= 0 && !unlink(name));
	return fd;
}

static void reused_inode(void)
{
	struct at_trace_result r = { .size = sizeof(r) };
	int fd = unnamed_file();
	struct stat st;

	check(!at_trace_start(fd, NULL));
	event();
	close(fd);
	check(unnamed_file() == fd);
	check(at_trace_stop(&r) == -EBADF && r.unwritten == 1);
	check(!fstat(fd, &st) && !st.st_size, "%d bytes", (int)st.st_size);
	close(fd);
	done("stop_reused_inode_is_not_written");
}

/* Closes the library's duplicate, whose number is at least 512, as closefrom(3) does. */
static void closed_duplicate(void)
{
	struct at_trace_result r = { .size = sizeof(r) };
	int fd = memory();

	check(!at_trace_start(fd, NULL));
	event();
	check(fcntl(512, F_GETFD) >= 0);
	check(!syscall(SYS_close_range, 512, ~0u, 0));
	event();
	check(!at_trace_stop(&r) && r.delivered == 2);
	check(fcntl(512, F_GETFD) < 0, "a duplicate is left");
	close(fd);
	done("trace_goes_on_after_closefrom");
}

static void no_descriptor_left(void)
{
	struct rlimit old, rl;
	int fd = memory();

	check(!getrlimit(RLIMIT_NOFILE, &old));
	rl = old;
	rl.rlim_cur = fd + 1;
	check(!setrlimit(RLIMIT_NOFILE, &rl));
	check(at_trace_start(fd, NULL) == -EMFILE);
	check(!setrlimit(RLIMIT_NOFILE, &old));
	check(!in_child(starts, fd), "the lock was released");
	close(fd);
	done("start_without_free_descriptor_fails");
}

static void *trace_twice(void *fd)
{
	const int first = memory();

	pthread_setname_np(pthread_self(), "old name");
	check(!at_trace_start(first, NULL));
	event();
	check(!at_trace_stop(NULL));
	close(first);
	pthread_setname_np(pthread_self(), "new name");
	check(!at_trace_start((intptr_t)fd, NULL));
	event();
	return NULL;
}

/* The thread ends before the trace: at its end, the library could no longer read the name. */
static void renamed_between_traces(void)
{
	const int fd = memory();
	char file[4096];
	pthread_t thread;
	ssize_t n;

	check(!pthread_create(&thread, NULL, trace_twice, (void *)(intptr_t)fd));
	pthread_join(thread, NULL);
	check(!at_trace_stop(NULL));
	n = pread(fd, file, sizeof(file), 0);
	check(n > 0 && n < (ssize_t)sizeof(file) && memmem(file, n, "new name", 8));
	check(!memmem(file, n, "old name", 8));
	close(fd);
	done("second_trace_has_the_new_name_of_a_thread");
}

static void wrong_categories(void)
{
	struct at_trace_options o = { .size = sizeof(o) };
	char text[4096] = "";
	int fd = memory();

	o.categories = "a,-,b";
	check(at_trace_start(fd, &o) == -EINVAL);
	memset(text, 'x', ASYNCTRACE_CATEGORY_MAX + 1);
	o.categories = text;
	check(at_trace_start(fd, &o) == -EINVAL);
	text[ASYNCTRACE_CATEGORY_MAX] = '\0';
	check(!at_trace_start(fd, &o) && !at_trace_stop(NULL));
	for (int i = 0; i <= ASYNCTRACE_CATEGORIES_MAX; i++)
		strcpy(text + 2 * i, "x,");
	check(at_trace_start(fd, &o) == -EINVAL);
	text[2 * ASYNCTRACE_CATEGORIES_MAX] = '\0';
	check(!at_trace_start(fd, &o) && !at_trace_stop(NULL));
	close(fd);
	done("start_wrong_categories_are_refused");
}

static unsigned int in_pattern(void)
{
	return TRACE_CATEGORY_ENABLED("a") + 2 * TRACE_CATEGORY_ENABLED("b") +
	       4 * TRACE_CATEGORY_ENABLED("c");
}

static void empty_patterns(void)
{
	static const struct {
		const char *categories;
		unsigned int recorded;
	} cases[] = {
		{ "a,,b", 3 }, { ",a", 1 }, { "b,,", 2 }, { "", 7 }, { ",", 7 }, { ",,-c,", 3 },
	};
	struct at_trace_options o = { .size = sizeof(o) };
	int fd = memory();

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		o.categories = cases[i].categories;
		check(!at_trace_start(fd, &o));
		check(in_pattern() == cases[i].recorded, "\"%s\": %u", o.categories, in_pattern());
		check(!at_trace_stop(NULL));
	}
	/* A trace of all categories can share its rings with the recorder. */
	o.categories = ",";
	check(!at_flight_start(0, 0) && !at_trace_start(fd, &o));
	check(!at_trace_stop(NULL) && !at_flight_stop());
	close(fd);
	done("start_empty_patterns_are_ignored");
}

/* --- cancellation ------------------------------------------------------------------- */

static void *start_cancelled(void *fd)
{
	pthread_cancel(pthread_self());
	at_trace_start(*(int *)fd, NULL);
	pthread_testcancel();
	return NULL;
}

static void *stop_cancelled(void *fd)
{
	(void)fd;
	pthread_cancel(pthread_self());
	at_trace_stop(NULL);
	pthread_testcancel();
	return NULL;
}

/* If a cancelled thread did not release a lock, the next start or stop would block. */
static int cancelled(int fd)
{
	struct at_trace_result r = { .size = sizeof(r) };
	pthread_t thread;
	void *ret;
	int bad = 0;

	pthread_create(&thread, NULL, start_cancelled, &fd);
	pthread_join(thread, &ret);
	bad |= ret != PTHREAD_CANCELED;
	event();
	bad |= (at_trace_stop(&r) || r.delivered != 1) << 1;
	bad |= (at_trace_start(fd, NULL) != 0) << 2;
	pthread_create(&thread, NULL, stop_cancelled, &fd);
	pthread_join(thread, &ret);
	bad |= (ret != PTHREAD_CANCELED) << 3;
	bad |= (at_trace_stop(NULL) != -ESRCH) << 4;
	bad |= starts(fd) << 5;
	return bad;
}

static void cancellation(void)
{
	int fd = memory(), bad = in_child(cancelled, fd);

	check(!bad, "%#x", bad);
	close(fd);
	done("start_cancelled_thread_leaves_no_lock");
}

/* --- signals ------------------------------------------------------------------------ */

static int without_reader(int fd)
{
	struct at_trace_result r = { .size = sizeof(r) };
	sigset_t pending;
	int bad;

	bad = at_trace_start(fd, NULL) != 0;
	event();
	bad |= (at_trace_stop(&r) != -EPIPE) << 1;
	/* The failed write must not leave a SIGPIPE pending. */
	sigpending(&pending);
	bad |= sigismember(&pending, SIGPIPE) << 2;
	return bad;
}

static int own_signal_stays(int fd)
{
	sigset_t set, pending;
	int bad;

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	sigprocmask(SIG_BLOCK, &set, NULL);
	bad = at_trace_start(fd, NULL) != 0;
	raise(SIGPIPE);
	bad |= (at_trace_stop(NULL) != -EPIPE) << 1;
	sigpending(&pending);
	return bad | (sigismember(&pending, SIGPIPE) != 1) << 2;
}

static int beyond_file_size(int fd)
{
	const struct rlimit none = { 0, 0 };
	int bad;

	setrlimit(RLIMIT_FSIZE, &none);
	bad = at_trace_start(fd, NULL) != 0;
	event();
	return bad | (at_trace_stop(NULL) != -EFBIG) << 1;
}

static void signals(void)
{
	int pair[2], fd = memory(), bad;

	check(!pipe2(pair, O_CLOEXEC));
	close(pair[0]);
	bad = in_child(without_reader, pair[1]);
	check(!bad, "%#x", bad);
	bad = in_child(own_signal_stays, pair[1]);
	check(!bad, "%#x", bad);
	bad = in_child(beyond_file_size, fd);
	check(!bad, "%#x", bad);
	close(pair[1]);
	close(fd);
	done("stop_failing_write_raises_no_signal");
}

/* --- fork --------------------------------------------------------------------------- */

#ifdef OWN_ALLOCATOR
static void *trace_one(void *arg)
{
	event();
	return arg;
}

/* Forks at a moment at which the thread of the trace holds the allocator's lock. */
static void fork_while_allocating(void)
{
	const int rounds = scale("FORKS", 50);
	int fd = memory(), held = 0;
	pthread_t thread;

	first_thread = gettid();
	check(!at_trace_start(fd, NULL));
	for (int i = 0; i < rounds; i++) {
		uint64_t calls;
		int status;
		pid_t pid;

		/* The composer allocates for each new thread in the trace. */
		__atomic_store_n(&slow, true, __ATOMIC_RELAXED);
		calls = __atomic_load_n(&slow_calls, __ATOMIC_ACQUIRE);
		pthread_create(&thread, NULL, trace_one, NULL);
		pthread_join(thread, NULL);
		while (__atomic_load_n(&slow_calls, __ATOMIC_ACQUIRE) == calls)
			sched_yield();
		pid = fork();
		if (!pid)
			_exit(__atomic_load_n(&allocator_lock, __ATOMIC_ACQUIRE));
		__atomic_store_n(&slow, false, __ATOMIC_RELAXED);
		check(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
		held += WEXITSTATUS(status);
	}
	check(!held, "%d of %d children", held, rounds);
	check(!at_trace_stop(NULL));
	close(fd);
	done("fork_child_finds_allocator_unlocked: %d forks", rounds);
}
#else
/* Allocates in a forked child: the sanitizer's allocator must not be locked there. */
static int allocates(int arg)
{
	(void)arg;
	for (int i = 0; i < 300; i++)
		free(memset(malloc(16 << i % 16), 1, 16));
	return 0;
}

/* The trace's thread allocates most when a trace begins: fork at that time. */
static void fork_while_allocating(void)
{
	const int rounds = scale("FORKS", 50);
	int fd = memory();

	for (int i = 0; i < rounds; i++) {
		check(!at_trace_start(fd, NULL));
		for (int k = 0; k < 5; k++) {
			event();
			check(!in_child(allocates, 0));
		}
		check(!at_trace_stop(NULL));
	}
	close(fd);
	done("fork_child_of_sanitized_program_allocates: %d traces", rounds);
}
#endif

/* A full pipe without a reader blocks the trace's thread in write(2). fork() must not block. */
static int fork_with_full_pipe(int fd)
{
	struct at_trace_options o = { .size = sizeof(o), .ring_size = 1 << 20 };
	struct timespec begin, end;
	int status, bad;
	pid_t pid;

	bad = at_trace_start(fd, &o) != 0;
	/* Writes many times the bytes that the pipe and the composer's buffer hold. */
	for (int i = 0; i < 200000; i++)
		event();
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int i = 0; i < 20; i++) {
		pid = fork();
		if (!pid)
			_exit(0);
		bad |= (waitpid(pid, &status, 0) != pid || status) << 1;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("# 20 forks beside a full pipe: %ld ms\n",
	       (end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000);
	fflush(stdout);
	return bad;
}

static void full_pipe(void)
{
	int pair[2], bad;

	check(!pipe2(pair, O_CLOEXEC));
	bad = in_child(fork_with_full_pipe, pair[1]);
	check(!bad, "%#x", bad);
	close(pair[0]);
	close(pair[1]);
	done("fork_beside_full_pipe_returns");
}

int main(void)
{
	shared_descriptors();
	closed_descriptor();
	reused_inode();
	closed_duplicate();
	no_descriptor_left();
	renamed_between_traces();
	wrong_categories();
	empty_patterns();
	cancellation();
	signals();
	fork_while_allocating();
	full_pipe();
	return finish();
}
