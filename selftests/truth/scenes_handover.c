// SPDX-License-Identifier: GPL-2.0
/* Operations that wait for other threads: queued, divided, or sent to another process */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "truth.h"

/* --- a queue behind one worker -------------------------------------------------- */

#define JOBS	4

struct queue {
	struct {
		uint64_t id, ns;
		/*
		 * Times: @before and @begun around the record of the begin, @taken and @works
		 * around the worker's first record
		 */
		uint64_t before, begun, taken, works;
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

void scene_queue(void)
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

/* --- fan-out and join ----------------------------------------------------------- */

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

void scene_fan(void)
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

/* --- another process, by a pipe and by a socket --------------------------------- */

struct call {
	uint64_t id, ns;
};

struct answer {
	int tid;
	uint64_t took;
};

/* Answers calls until no more come. */
static void serve(int in, int out)
{
	struct call c;

	while (read(in, &c, sizeof(c)) == sizeof(c)) {
		struct answer a = { .tid = tid() };

		{
			TRACE_DURATION("truth", "serve");
			TRACE_FLOW_STEP("truth", "call", c.id);
			/* Take the time now, after the process has become a provider. */
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

void scene_pipe(void)
{
	call("pipe", pipe_in[0], pipe_out[1]);
}

void scene_socket(void)
{
	call("socket", pair[0], pair[0]);
}

static pid_t servers[2];

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

void servers_start(void)
{
	must(!pipe2(pipe_in, O_CLOEXEC) && !pipe2(pipe_out, O_CLOEXEC));
	must(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	servers[0] = fork_server(false);
	servers[1] = fork_server(true);
	close(pipe_in[1]);
	close(pipe_out[0]);
	close(pair[1]);
}

void servers_stop(void)
{
	close(pipe_out[1]);
	close(pair[0]);
	for (int i = 0; i < 2; i++)
		must(waitpid(servers[i], NULL, 0) == servers[i]);
}
