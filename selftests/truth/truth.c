// SPDX-License-Identifier: GPL-2.0
/*
 * Operations that are slow for a known reason.
 *
 *	truth SEED PLAN DIRECTORY
 *
 * Runs each scene once, in an order and with durations that SEED decides. Writes to PLAN
 * what asynctrace why must find out: a JSON object a line, for one operation each. All
 * times are the program's own, of CLOCK_BOOTTIME: an emulated CPU's time is no measure. DIRECTORY is on a disk.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <asynctrace/trace.h>

#define MS	1000000ULL

#define must(x) do { \
	if (!(x)) { \
		fprintf(stderr, "truth: line %d: not so: %s\n", __LINE__, #x); \
		exit(1); \
	} \
} while (0)

static FILE *plan;
static pthread_mutex_t plan_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t state;
static const char *directory;

static uint64_t rnd(uint64_t from, uint64_t to)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return from + state % (to - from + 1);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	must(!clock_gettime(clock, &ts));
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static uint64_t now(void)
{
	return clock_ns(CLOCK_BOOTTIME);
}

static uint64_t cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static int tid(void)
{
	return syscall(SYS_gettid);
}

static void burn(uint64_t ns)
{
	const uint64_t end = cpu_ns() + ns;

	while (cpu_ns() < end)
		;
}

static void nap(uint64_t ns)
{
	struct timespec ts = { ns / 1000000000, ns % 1000000000 };

	must(!nanosleep(&ts, NULL));
}

/* One line of the plan. @fmt: the members that tell what to find */
static void expect(uint64_t id, const char *scene, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void expect(uint64_t id, const char *scene, const char *fmt, ...)
{
	va_list args;

	pthread_mutex_lock(&plan_lock);
	fprintf(plan, "{\"id\":\"0x%" PRIx64 "\",\"scene\":\"%s\",", id, scene);
	va_start(args, fmt);
	vfprintf(plan, fmt, args);
	va_end(args);
	fputs("}\n", plan);
	must(!fflush(plan));
	pthread_mutex_unlock(&plan_lock);
}

static void start(pthread_t *t, void *(*fn)(void *), void *arg)
{
	must(!pthread_create(t, NULL, fn, arg));
}

/* --- a lock that another operation holds; a convoy is ten of them ----------------------- */

#define CONVOY_MAX	10

struct convoy {
	pthread_mutex_t lock;
	sem_t taken;
	uint64_t ns[CONVOY_MAX];
	int last_tid;		/* of who released the lock last */
	uint64_t last_id, released;
	unsigned int waiting;	/* that are about to ask for it */
	int next;
};

static void *waits_for_lock(void *arg)
{
	struct convoy *c = arg;
	const int me = __atomic_fetch_add(&c->next, 1, __ATOMIC_SEQ_CST);
	uint64_t id = at_flow_id(), by_id, asked, released, got;
	int by_tid;

	TRACE_DURATION("truth", "request");
	TRACE_ASYNC_BEGIN("truth", "request", id);
	asked = now();
	{
		TRACE_DURATION("truth", "lock");
		TRACE_ASYNC_INSTANT("truth", "request", id);
		__atomic_fetch_add(&c->waiting, 1, __ATOMIC_SEQ_CST);
		pthread_mutex_lock(&c->lock);
	}
	got = now();
	by_tid = c->last_tid;
	by_id = c->last_id;
	released = c->released;
	if (!me)
		sem_post(&c->taken);
	nap(c->ns[me]);
	c->last_tid = tid();
	c->last_id = id;
	c->released = now();
	pthread_mutex_unlock(&c->lock);
	TRACE_ASYNC_END("truth", "request", id);
	if (by_tid)
		expect(id, "lock", "\"duration\":\"lock\",\"thread\":%d,\"other\":%d,"
		       "\"other_id\":\"0x%" PRIx64 "\",\"asleep_ns\":%" PRIu64
		       ",\"spent_ns\":%" PRIu64,
		       tid(), by_tid, by_id, released - asked, got - asked);
	return NULL;
}

static void queue_for_lock(unsigned int nr)
{
	struct convoy c = { .lock = PTHREAD_MUTEX_INITIALIZER };
	pthread_t threads[CONVOY_MAX];

	sem_init(&c.taken, 0, 0);
	for (unsigned int i = 0; i < nr; i++)
		c.ns[i] = rnd(2 * MS, 10 * MS);
	/* All threads ask for the lock before the first releases it, so none overtakes another. */
	c.ns[0] = 30 * MS + nr * 10 * MS;
	start(&threads[0], waits_for_lock, &c);
	sem_wait(&c.taken);
	for (unsigned int i = 1; i < nr; i++)
		start(&threads[i], waits_for_lock, &c);
	for (unsigned int i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
}

static void scene_lock(void)
{
	queue_for_lock(2);
}

static void scene_convoy(void)
{
	queue_for_lock(CONVOY_MAX);
}

/* --- a thread that spins on the CPU ------------------------------------------------------- */

struct spin {
	bool over;
	int tid;
	uint64_t ns;
	sem_t spins;
};

static void stay_on_cpu0(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	must(!sched_setaffinity(0, sizeof(set), &set));
}

static void *spins(void *arg)
{
	struct spin *s = arg;

	stay_on_cpu0();
	s->tid = tid();
	TRACE_INSTANT("truth", "spins", TRACE_SCOPE_THREAD);
	sem_post(&s->spins);
	while (!__atomic_load_n(&s->over, __ATOMIC_SEQ_CST))
		;
	return NULL;
}

static void *is_delayed(void *arg)
{
	struct spin *s = arg;
	uint64_t id = at_flow_id(), wall;

	stay_on_cpu0();
	sem_wait(&s->spins);
	TRACE_DURATION("truth", "request");
	TRACE_ASYNC_BEGIN("truth", "request", id);
	wall = now();
	while (now() < wall + s->ns)
		;
	wall = now() - wall;
	TRACE_ASYNC_END("truth", "request", id);
	expect(id, "spinner", "\"runnable_behind\":%d,\"busy_at_least_ns\":%" PRIu64, s->tid, wall);
	return NULL;
}

static void scene_spinner(void)
{
	/* Longer than the scheduler lets one of two run, on any kernel */
	struct spin s = { .ns = rnd(100 * MS, 200 * MS) };
	pthread_t threads[2];

	sem_init(&s.spins, 0, 0);
	start(&threads[0], spins, &s);
	start(&threads[1], is_delayed, &s);
	pthread_join(threads[1], NULL);
	__atomic_store_n(&s.over, true, __ATOMIC_SEQ_CST);
	pthread_join(threads[0], NULL);
}

/* --- a disk, a timer ------------------------------------------------------------------------ */

static void scene_fsync(void)
{
	static char block[65536];
	uint64_t id = at_flow_id(), wall;
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/truth", directory);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	must(fd >= 0);
	for (uint64_t i = rnd(2, 10); i; i--)
		must(write(fd, block, sizeof(block)) == sizeof(block));
	{
		TRACE_DURATION("truth", "request");
		TRACE_ASYNC_BEGIN("truth", "request", id);
		wall = now();
		{
			TRACE_DURATION("truth", "fsync");
			TRACE_ASYNC_INSTANT("truth", "request", id);
			must(!fsync(fd));
		}
		wall = now() - wall;
		TRACE_ASYNC_END("truth", "request", id);
	}
	close(fd);
	unlink(path);
	expect(id, "fsync", "\"duration\":\"fsync\",\"thread\":%d,\"spent_ns\":%" PRIu64, tid(),
	       wall);
}

static void scene_timer(void)
{
	uint64_t id = at_flow_id(), ns = rnd(3 * MS, 20 * MS);

	{
		TRACE_DURATION("truth", "request");
		TRACE_ASYNC_BEGIN("truth", "request", id);
		{
			TRACE_DURATION("truth", "wait");
			TRACE_ASYNC_INSTANT("truth", "request", id);
			nap(ns);
		}
		TRACE_ASYNC_END("truth", "request", id);
	}
	expect(id, "timer", "\"duration\":\"wait\",\"thread\":%d,\"other\":\"interrupt\","
	       "\"asleep_ns\":%" PRIu64, tid(), ns);
}

/* --- a queue behind one worker ----------------------------------------------------------------- */

#define JOBS	4

struct queue {
	struct {
		uint64_t id, ns;
		uint64_t before, begun;		/* before and after the record of the begin */
		uint64_t taken, works;		/* before and after the worker's record */
	} jobs[JOBS];
	sem_t ready;
	int tid;
};

static void *works_off(void *arg)
{
	struct queue *q = arg;

	q->tid = tid();
	sem_wait(&q->ready);
	for (int i = 0; i < JOBS; i++) {
		q->jobs[i].taken = now();
		TRACE_DURATION("truth", "job");
		TRACE_ASYNC_INSTANT("truth", "request", q->jobs[i].id);
		q->jobs[i].works = now();
		burn(q->jobs[i].ns);
		TRACE_ASYNC_END("truth", "request", q->jobs[i].id);
	}
	return NULL;
}

static void scene_queue(void)
{
	struct queue q;
	pthread_t worker;

	sem_init(&q.ready, 0, 0);
	for (int i = 0; i < JOBS; i++) {
		q.jobs[i].ns = rnd(3 * MS, 10 * MS);
		q.jobs[i].id = at_flow_id();
	}
	start(&worker, works_off, &q);
	for (int i = 0; i < JOBS; i++) {
		q.jobs[i].before = now();
		TRACE_ASYNC_BEGIN("truth", "request", q.jobs[i].id);
		q.jobs[i].begun = now();
	}
	sem_post(&q.ready);
	pthread_join(worker, NULL);
	for (int i = 1; i < JOBS; i++)
		expect(q.jobs[i].id, "queue", "\"queued_behind\":%d,\"before\":\"0x%" PRIx64
		       "\",\"queued_at_least_ns\":%" PRIu64 ",\"queued_at_most_ns\":%" PRIu64,
		       q.tid, q.jobs[i - 1].id, q.jobs[i].taken - q.jobs[i].begun,
		       q.jobs[i].works - q.jobs[i].before);
}

/* --- fan-out and join ------------------------------------------------------------------------------ */

#define PARTS	4

struct fan {
	uint64_t id, ns[PARTS], took[PARTS];
	int next, tids[PARTS];
};

static void *does_part(void *arg)
{
	struct fan *f = arg;
	const int me = __atomic_fetch_add(&f->next, 1, __ATOMIC_SEQ_CST);

	TRACE_DURATION("truth", "part");
	TRACE_ASYNC_INSTANT("truth", "request", f->id);
	f->tids[me] = tid();
	f->took[me] = now();
	burn(f->ns[me]);
	f->took[me] = now() - f->took[me];
	return NULL;
}

static void scene_fan(void)
{
	struct fan f = { .id = at_flow_id() };
	pthread_t threads[PARTS];
	uint64_t longest = 0;

	for (int i = 0; i < PARTS; i++)
		f.ns[i] = rnd(3 * MS, 10 * MS);
	{
		TRACE_DURATION("truth", "request");
		TRACE_ASYNC_BEGIN("truth", "request", f.id);
		for (int i = 0; i < PARTS; i++)
			start(&threads[i], does_part, &f);
		for (int i = 0; i < PARTS; i++)
			pthread_join(threads[i], NULL);
		TRACE_ASYNC_END("truth", "request", f.id);
	}
	for (int i = 0; i < PARTS; i++)
		if (f.took[i] > longest)
			longest = f.took[i];
	expect(f.id, "fan", "\"threads\":[%d,%d,%d,%d,%d],\"busy_at_least_ns\":%" PRIu64, tid(),
	       f.tids[0], f.tids[1], f.tids[2], f.tids[3], longest);
}

/* --- another process, by a pipe and by a socket ------------------------------------------------------- */

struct call {
	uint64_t id, ns;
};

struct answer {
	int tid;
	uint64_t took;
};

/* Answers calls until there are none. */
static void serve(int in, int out)
{
	struct call c;

	while (read(in, &c, sizeof(c)) == sizeof(c)) {
		struct answer a = { .tid = tid() };

		{
			TRACE_DURATION("truth", "serve");
			TRACE_FLOW_STEP("truth", "call", c.id);
			/* Before that, the process became a provider. */
			a.took = now();
			burn(c.ns);
			a.took = now() - a.took;
		}
		must(write(out, &a, sizeof(a)) == sizeof(a));
	}
}

static void call(const char *scene, int in, int out)
{
	struct call c = { .id = at_flow_id(), .ns = rnd(5 * MS, 20 * MS) };
	struct answer a;

	{
		TRACE_DURATION("truth", "request");
		TRACE_ASYNC_BEGIN("truth", "request", c.id);
		{
			TRACE_DURATION("truth", "call");
			TRACE_FLOW_BEGIN("truth", "call", c.id);
			must(write(out, &c, sizeof(c)) == sizeof(c));
			must(read(in, &a, sizeof(a)) == sizeof(a));
			TRACE_FLOW_END("truth", "call", c.id);
		}
		TRACE_ASYNC_END("truth", "request", c.id);
	}
	expect(c.id, scene, "\"threads\":[%d,%d],\"busy_at_least_ns\":%" PRIu64, tid(), a.tid,
	       a.took);
}

static int pipe_in[2], pipe_out[2], pair[2];

static void scene_pipe(void)
{
	call("pipe", pipe_in[0], pipe_out[1]);
}

static void scene_socket(void)
{
	call("socket", pair[0], pair[0]);
}

static pid_t fork_server(bool socket)
{
	pid_t pid = fork();

	must(pid >= 0);
	if (pid)
		return pid;
	close(pair[0]);
	close(pipe_in[0]);
	close(pipe_out[1]);
	serve(socket ? pair[1] : pipe_out[0], socket ? pair[1] : pipe_in[1]);
	_exit(0);
}

/* --- all of them ------------------------------------------------------------------------------------------ */

int main(int argc, char **argv)
{
	void (*scenes[])(void) = {
		scene_lock, scene_convoy, scene_spinner, scene_fsync, scene_timer, scene_queue,
		scene_fan, scene_pipe, scene_socket,
	};
	const size_t nr = sizeof(scenes) / sizeof(scenes[0]);
	pid_t servers[2];

	must(argc == 4);
	state = strtoull(argv[1], NULL, 0) * 2 + 1;
	for (int i = 0; i < 10; i++)
		rnd(0, 1);
	plan = fopen(argv[2], "we");
	must(plan);
	directory = argv[3];
	must(!pipe2(pipe_in, O_CLOEXEC) && !pipe2(pipe_out, O_CLOEXEC));
	must(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	servers[0] = fork_server(false);
	servers[1] = fork_server(true);
	close(pipe_in[1]);
	close(pipe_out[0]);
	close(pair[1]);
	for (size_t i = nr - 1; i > 0; i--) {
		size_t k = rnd(0, i);
		void (*swap)(void) = scenes[i];

		scenes[i] = scenes[k];
		scenes[k] = swap;
	}
	for (size_t i = 0; i < nr; i++)
		scenes[i]();
	close(pipe_out[1]);
	close(pair[0]);
	for (int i = 0; i < 2; i++)
		must(waitpid(servers[i], NULL, 0) == servers[i]);
	must(!fclose(plan));
	return 0;
}
