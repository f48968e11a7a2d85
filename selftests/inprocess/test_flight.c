// SPDX-License-Identifier: GPL-2.0
/*
 * The flight recorder: the records in its files, its counts, its start and stop, and descriptors
 * that cannot be written
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <asynctrace/inprocess.h>
#include <asynctrace/trace.h>

#include "flown.h"
#include "inprocess/flight.h"
#include "tape.h"

#define HOUR	3600000000000ull
#define u(x)	((unsigned long long)(x))

static uint64_t number;		/* of writer 0 */

static int memory(void)
{
	return memfd_create("flight", MFD_CLOEXEC);
}

static void write_many(uint64_t n)
{
	while (n--)
		flown_write(0, number++);
}

static int start(uint64_t min_age, uint64_t max_bytes)
{
	number = 0;
	return at_flight_start(min_age, max_bytes);
}

/* Writes a file and checks what must be true for each file. */
static void fly(struct at_flight_result *r, struct flown *f)
{
	int fd = memory();
	struct stat st;

	*r = (struct at_flight_result){ .size = sizeof(*r) };
	check(!at_flight_write(fd, r), "%d", r->error);
	flown_read(fd, f);
	check(!f->broken);
	check(f->events == r->delivered, "%llu in the file, %llu delivered", u(f->events),
	      u(r->delivered));
	check(!fstat(fd, &st) && (uint64_t)st.st_size == r->bytes);
	check(!r->malformed && !r->unwritten && !r->error);
	check(flown_valid(fd));
	close(fd);
}

/* --- start, write, stop ---------------------------------------------------------------- */

static void empty(void)
{
	struct at_flight_result r;
	struct flown f;

	check(!start(0, 0));
	fly(&r, &f);
	check(!flown_attempted(&r));
	check(!at_flight_stop());
	done("G74_file_without_events_is_valid");
}

static void twice(void)
{
	struct at_flight_result r;
	struct flown f;

	check(at_flight_stop() == -ESRCH);
	check(!start(0, 0));
	check(at_flight_start(0, 0) == -EBUSY);
	write_many(1000);
	fly(&r, &f);
	check(r.delivered == 1000 && flown_whole(&f, 0));
	check(!at_flight_stop() && at_flight_stop() == -ESRCH);
	check(at_flight_start(0, 1ull << 60) == -EINVAL);
	done("G71_second_start_is_busy");
}

static void not_running(void)
{
	struct at_flight_result r = { .size = sizeof(r), .bytes = 7, .delivered = 7 };
	int fd = memory();
	struct stat st;

	check(at_flight_write(fd, &r) == -ESRCH);
	check(r.error == -ESRCH && !r.bytes && !flown_attempted(&r));
	check(at_flight_write(fd, NULL) == -ESRCH);
	check(!fstat(fd, &st) && !st.st_size);
	r.size = 4;
	check(at_flight_write(fd, &r) == -EINVAL);
	close(fd);
	done("G72_write_without_recorder_is_refused");
}

static void repeated(void)
{
	struct at_flight_result r;
	struct flown f;

	check(!start(HOUR, 0));
	for (uint64_t i = 1; i <= 20; i++) {
		write_many(100);
		fly(&r, &f);
		check(r.delivered == 100 * i && flown_attempted(&r) == 100 * i);
		check(flown_whole(&f, 0) && !f.first[0] && f.last[0] == number - 1);
	}
	check(!at_flight_stop());
	done("repeated_writes_take_nothing_away");
}

static void sessions(void)
{
	struct at_flight_result r;
	struct flown f;

	for (int i = 0; i < 50; i++) {
		check(!start(0, 1 << 20));
		write_many(10 + i);
		fly(&r, &f);
		check(r.delivered == 10u + i && f.last[0] == 9u + i);
		check(!at_flight_stop());
		write_many(1);
	}
	done("start_and_stop_many_times");
}

/* --- records that a snapshot contains --------------------------------------------------- */

static void overwritten(void)
{
	const uint64_t n = 200000;
	struct at_flight_result r;
	struct flown f;

	pin(nth_cpu(0));
	check(!start(HOUR, 256 << 10));
	write_many(n);
	fly(&r, &f);
	check(flown_attempted(&r) == n, "%llu", u(flown_attempted(&r)));
	check(r.overwritten && r.delivered && !r.older && !r.dropped);
	check(flown_whole(&f, 0) && f.last[0] == n - 1 && f.first[0] == r.overwritten);
	check(f.lost == r.overwritten, "%llu", u(f.lost));
	check(!at_flight_stop());
	done("ledger_of_a_wrapped_ring_is_exact");
}

static void bytes(void)
{
	/* The file's limit. Each ring has 16 KiB, so the rings contain more than this. */
	const uint64_t max = 8 << 10, n = 100000;
	struct at_flight_result r;
	struct flown f;

	check(!start(HOUR, max));
	for (int cpu = 0; cpu < nr_cpus(); cpu++) {
		pin(nth_cpu(cpu));
		write_many(n);
	}
	fly(&r, &f);
	check(flown_attempted(&r) == n * nr_cpus());
	check(r.delivered && f.last[0] == number - 1);
	if (nr_cpus() > 1)
		check(r.older);
	check(f.lost == r.older + r.overwritten, "%llu", u(f.lost));
	/* The newest sub-buffer of each ring always stays in the file. */
	check(r.delivered * FLOWN_WORDS * 8 <= max + 4096ull * nr_cpus());
	check(!at_flight_stop());
	done("G70_max_bytes_wins_over_min_age");
}

static uint64_t boottime(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void age(void)
{
	const struct timespec wait = { .tv_nsec = 50000000 };
	const uint64_t n = 20000, min_age = 10000000;
	uint64_t *at = calloc(2 * n, sizeof(*at)), end;
	struct at_flight_result r;
	struct flown f;

	pin(nth_cpu(0));
	check(!start(min_age, 16 << 20));
	write_many(n);
	nanosleep(&wait, NULL);
	while (number < 2 * n) {
		at[number] = boottime();
		write_many(1);
	}
	fly(&r, &f);
	end = boottime();
	check(flown_attempted(&r) == 2 * n && !r.overwritten && !r.dropped);
	check(flown_whole(&f, 0) && f.last[0] == 2 * n - 1 && f.first[0] == r.older);
	/* The file says that they are missing, as it does of overwritten ones. */
	check(f.lost == r.older, "%llu", u(f.lost));
	/* The file may contain one sub-buffer of the first half. */
	check(r.older > n / 2, "%llu", u(r.older));
	for (uint64_t i = n; i < r.older; i++)
		if (!check(at[i] < end - min_age, "%llu", u(i)))
			break;
	check(!at_flight_stop());
	free(at);

	check(!start(HOUR, 16 << 20));
	write_many(n);
	nanosleep(&wait, NULL);
	write_many(n);
	fly(&r, &f);
	check(r.delivered == 2 * n && !r.older);
	check(!at_flight_stop());
	done("G75_records_of_min_age_are_there");
}

/* --- several threads ------------------------------------------------------------------- */

#define WRITERS	8

static struct {
	uint64_t begun;
	uint64_t ended;
} counts[WRITERS];
static bool stop_writers;

static void *write_on(void *arg)
{
	const uintptr_t writer = (uintptr_t)arg;

	for (uint64_t i = 0; !__atomic_load_n(&stop_writers, __ATOMIC_RELAXED); i++) {
		__atomic_store_n(&counts[writer].begun, i + 1, __ATOMIC_RELEASE);
		flown_write(writer, i);
		__atomic_store_n(&counts[writer].ended, i + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void start_writers(pthread_t *threads)
{
	memset(counts, 0, sizeof(counts));
	stop_writers = false;
	for (uintptr_t i = 0; i < WRITERS; i++)
		pthread_create(&threads[i], NULL, write_on, (void *)i);
}

static void end_writers(pthread_t *threads)
{
	__atomic_store_n(&stop_writers, true, __ATOMIC_RELAXED);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
}

static uint64_t begun(void)
{
	uint64_t n = 0;

	for (int i = 0; i < WRITERS; i++)
		n += __atomic_load_n(&counts[i].begun, __ATOMIC_ACQUIRE);
	return n;
}

static uint64_t ended(void)
{
	uint64_t n = 0;

	for (int i = 0; i < WRITERS; i++)
		n += __atomic_load_n(&counts[i].ended, __ATOMIC_ACQUIRE);
	return n;
}

static void busy_writers(void)
{
	const long rounds = scale("FLIGHTS", 30);
	pthread_t threads[WRITERS];
	struct at_flight_result r;
	struct flown f;
	uint64_t before;

	check(!start(HOUR, 1 << 20));
	start_writers(threads);
	for (long i = 0; i < rounds; i++) {
		before = ended();
		fly(&r, &f);
		check(flown_attempted(&r) >= before && flown_attempted(&r) <= begun());
	}
	end_writers(threads);
	fly(&r, &f);
	check(flown_attempted(&r) == ended(), "%llu of %llu", u(flown_attempted(&r)), u(ended()));
	for (int i = 0; i < WRITERS; i++)
		check(!f.of[i] || f.last[i] < counts[i].ended);
	check(!at_flight_stop());
	done("ledger_beside_8_writers_is_exact: %ld files", rounds);
}

/* A reader copies to this memory. The first store there faults, and the signal handler traces. */
static uint64_t *landing;
static size_t landing_bytes;

static void on_fault(int sig)
{
	(void)sig;
	/* Write so many records that the ring wraps. */
	write_many(1000);
	mprotect(landing, landing_bytes, PROT_READ | PROT_WRITE);
}

/* Does the extent have whole records with ascending numbers? */
static bool in_order(const struct at_extent *x)
{
	const uint64_t *w = x->words;

	if (x->nwords != x->records * FLOWN_WORDS)
		return false;
	for (uint64_t i = 1; i < x->records; i++)
		if (w[(i + 1) * FLOWN_WORDS - 1] != w[FLOWN_WORDS - 1] + i)
			return false;
	return true;
}

static void overtaken(void)
{
	struct sigaction sa = { .sa_handler = on_fault }, old;
	struct at_area *area = at_rings_area();
	struct at_reader rd;
	struct at_extent x;
	uint32_t ring;

	pin(nth_cpu(0));
	check(!start(HOUR, 1));
	write_many(500);
	ring = area->shape.nr_rings ? (uint32_t)nth_cpu(0) : 0;
	/* Without rseq or a trusted counter, there is one ring. */
	at_reader_init(&rd, area, ring);
	if (!at_reader_next(&rd, &x))
		ring = area->shape.nr_rings;
	landing_bytes = area->shape.sub_words * 8;
	landing = mmap(NULL, landing_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGSEGV, &sa, &old);
	at_reader_init(&rd, area, ring);
	check(at_reader_copy(&rd, &x, landing));
	sigaction(SIGSEGV, &old, NULL);
	check(number == 1500);
	check(in_order(&x), "%llu words, %llu records", u(x.nwords), u(x.records));
	check(x.words[FLOWN_WORDS - 1] == rd.overwritten, "%llu, %llu overwritten",
	      u(x.words[FLOWN_WORDS - 1]), u(rd.overwritten));
	munmap(landing, landing_bytes);
	check(!at_flight_stop());
	done("overtaken_copy_is_made_again");
}

/* --- a call of at_flight_write() that waits ----------------------------------------------- */

static int pipe_in, write_result, stopped;

static void *write_to_pipe(void *arg)
{
	(void)arg;
	__atomic_store_n(&write_result, at_flight_write(pipe_in, NULL) ?: 1, __ATOMIC_RELEASE);
	return NULL;
}

static void *stop_it(void *arg)
{
	(void)arg;
	at_flight_stop();
	__atomic_store_n(&stopped, 1, __ATOMIC_RELEASE);
	return NULL;
}

static int bytes_in(int fd)
{
	int n = 0;

	ioctl(fd, FIONREAD, &n);
	return n;
}

static int handler_result;

static void write_again(int sig)
{
	struct at_flight_result r = { .size = sizeof(r) };

	(void)sig;
	at_flight_write(pipe_in, &r);
	check(!r.bytes && !flown_attempted(&r));
	__atomic_store_n(&handler_result, r.error, __ATOMIC_RELEASE);
}

/* A handler that waits for the call that it has interrupted would wait for ever. */
static void interrupted_write(void)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	struct sigaction sa = { .sa_handler = write_again, .sa_flags = SA_RESTART };
	pthread_t writer;
	char buf[4096];
	int pair[2];

	check(!pipe2(pair, O_CLOEXEC));
	pipe_in = pair[1];
	check(!sigaction(SIGUSR1, &sa, NULL));
	check(!start(HOUR, 0));
	write_many(20000);
	pthread_create(&writer, NULL, write_to_pipe, NULL);
	while (!bytes_in(pair[0]))
		nanosleep(&ms, NULL);
	pthread_kill(writer, SIGUSR1);
	while (!__atomic_load_n(&handler_result, __ATOMIC_ACQUIRE))
		nanosleep(&ms, NULL);
	check(handler_result == -EDEADLK, "%d", handler_result);
	while (!__atomic_load_n(&write_result, __ATOMIC_ACQUIRE))
		check(!bytes_in(pair[0]) || read(pair[0], buf, sizeof(buf)) > 0);
	pthread_join(writer, NULL);
	check(write_result == 1, "%d", write_result);
	write_result = 0;
	check(!at_flight_stop());
	close(pair[0]);
	close(pair[1]);
	done("write_in_handler_of_a_write_is_a_deadlock");
}

static void waiting(void)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	struct at_flight_result r = { .size = sizeof(r) };
	pthread_t writer, stopper;
	int pair[2], fd = memory();
	struct stat st;
	char buf[4096];
	ssize_t n;

	check(!pipe2(pair, O_CLOEXEC));
	pipe_in = pair[1];
	check(!start(HOUR, 0));
	write_many(20000);
	pthread_create(&writer, NULL, write_to_pipe, NULL);
	while (!bytes_in(pair[0]))
		nanosleep(&ms, NULL);
	check(at_flight_write(fd, &r) == -EBUSY);
	check(r.error == -EBUSY && !r.bytes && !flown_attempted(&r));
	check(!fstat(fd, &st) && !st.st_size);
	done("G72_write_beside_another_is_busy");

	pthread_create(&stopper, NULL, stop_it, NULL);
	/* When the stop has begun, the result changes from -EBUSY to -ESRCH. */
	while (at_flight_write(fd, &r) == -EBUSY)
		nanosleep(&ms, NULL);
	check(r.error == -ESRCH);
	check(at_flight_start(0, 0) == -EBUSY);
	nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	check(!__atomic_load_n(&stopped, __ATOMIC_ACQUIRE));
	check(!__atomic_load_n(&write_result, __ATOMIC_ACQUIRE));
	while (!__atomic_load_n(&write_result, __ATOMIC_ACQUIRE)) {
		n = bytes_in(pair[0]) ? read(pair[0], buf, sizeof(buf)) : 0;
		if (n > 0)
			check(write(fd, buf, n) == n);
	}
	pthread_join(writer, NULL);
	pthread_join(stopper, NULL);
	check(write_result == 1, "%d", write_result);
	while (bytes_in(pair[0]) && (n = read(pair[0], buf, sizeof(buf))) > 0)
		check(write(fd, buf, n) == n);
	check(flown_valid(fd));
	check(!at_flight_start(0, 0) && !at_flight_stop());
	close(pair[0]);
	close(pair[1]);
	close(fd);
	done("G73_stop_waits_for_write");
}

/* --- a thread that may not read the counter ---------------------------------------------- */

static int write_forbidden(void)
{
	struct at_status_info st = { .size = sizeof(st) };
	struct at_flight_result r = { .size = sizeof(r) };
	const int fd = memory();
	int bad;

	bad = start(HOUR, 1 << 20) != 0;
	write_many(1);
	at_status(&st);
	if (st.clock != ASYNCTRACE_CLOCK_COUNTER || prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0))
		return 0;	/* the recorder does not use it, or it cannot be forbidden */
	errno = 77;
	bad |= (at_flight_write(fd, &r) != -EPERM || errno != 77) << 1;
	prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
	bad |= (at_flight_write(fd, &r) || r.delivered != 1) << 2;
	return bad;
}

static void forbidden(void)
{
	int status;
	pid_t pid;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	printf("# PR_SET_TSC: not tested, because the sanitizer's runtime reads the counter\n");
	return;
#endif
	pid = fork();
	if (!pid)
		_exit(write_forbidden());
	check(waitpid(pid, &status, 0) == pid && !status, "%#x", status);
	done("write_without_counter_is_refused");
}

/* --- descriptors ------------------------------------------------------------------------- */

static void check_failed(int fd, int error, const char *what)
{
	struct at_flight_result r = { .size = sizeof(r) };
	sigset_t pending;

	check(at_flight_write(fd, &r) == error, "%s: %d", what, r.error);
	check(r.error == error, "%s", what);
	check(flown_attempted(&r) == number, "%s: %llu", what, u(flown_attempted(&r)));
	check(r.unwritten, "%s", what);
	sigpending(&pending);
	check(!sigismember(&pending, SIGPIPE) && !sigismember(&pending, SIGXFSZ), "%s", what);
}

static void descriptors(void)
{
	struct rlimit unlimited, few;
	int pair[2], full = open("/dev/full", O_WRONLY | O_CLOEXEC), fd = memory();
	struct at_flight_result r;
	struct flown f;

	check(!pipe2(pair, O_CLOEXEC));
	check(!start(HOUR, 0));
	write_many(30000);
	check_failed(full, -ENOSPC, "/dev/full");
	check_failed(pair[0], -EBADF, "for reading only");
	close(pair[0]);
	check_failed(pair[1], -EPIPE, "no reader");
	close(pair[1]);
	check_failed(pair[1], -EBADF, "closed");
	check_failed(-1, -EBADF, "negative");
	getrlimit(RLIMIT_FSIZE, &unlimited);
	few = unlimited;
	few.rlim_cur = 300001;
	setrlimit(RLIMIT_FSIZE, &few);
	check_failed(fd, -EFBIG, "RLIMIT_FSIZE");
	setrlimit(RLIMIT_FSIZE, &unlimited);
	/* The file must contain whole records only. */
	flown_read(fd, &f);
	check(!f.broken && f.events && f.events < number);
	/* The failed write must not lose records of the next file. */
	fly(&r, &f);
	check(r.delivered == number && flown_whole(&f, 0));
	check(!at_flight_stop());
	close(full);
	close(fd);
	done("failing_descriptor_is_accounted_for");
}

/* --- fork -------------------------------------------------------------------------------- */

static int child(void)
{
	struct at_flight_result r = { .size = sizeof(r) };
	int fd = memory(), bad;
	struct flown f;

	bad = at_flight_write(fd, NULL) != -ESRCH;
	bad |= (at_flight_stop() != -ESRCH) << 1;
	bad |= (start(0, 0) != 0) << 2;
	write_many(100);
	bad |= (at_flight_write(fd, &r) != 0) << 3;
	flown_read(fd, &f);
	bad |= (f.broken || f.events != 100 || r.delivered != 100) << 4;
	return bad | (at_flight_stop() != 0) << 5;
}

static void forks(void)
{
	const int rounds = scale("FORKS", 50);
	pthread_t threads[WRITERS];
	struct at_flight_result r;
	struct flown f;
	int status;
	pid_t pid;

	check(!start(HOUR, 1 << 20));
	start_writers(threads);
	for (int i = 0; i < rounds; i++) {
		pid = fork();
		if (!pid) {
			alarm(120);
			_exit(child());
		}
		check(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status),
		      "%#x", status);
	}
	end_writers(threads);
	fly(&r, &f);
	check(flown_attempted(&r) == ended());
	check(!at_flight_stop());
	done("fork_child_has_no_recorder: %d forks", rounds);
}

int main(void)
{
	empty();
	twice();
	not_running();
	repeated();
	sessions();
	overwritten();
	bytes();
	age();
	busy_writers();
	overtaken();
	interrupted_write();
	waiting();
	forbidden();
	descriptors();
	forks();
	return finish();
}
