// SPDX-License-Identifier: GPL-2.0
/* Operations that wait for a lock, a CPU, the disk or a timer */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include <asynctrace/operation.h>

#include "truth.h"

/* --- a lock that another operation holds; a convoy is ten of them ----------------------- */

#define CONVOY_MAX	10

struct convoy {
	pthread_mutex_t lock;
	sem_t taken;
	uint64_t ns[CONVOY_MAX];
	int last_tid;		/* the thread that released the lock last */
	uint64_t last_id, released;
	unsigned int nr, asking;	/* threads, and those that have asked or are about to ask */
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
		__atomic_fetch_add(&c->asking, 1, __ATOMIC_SEQ_CST);
		pthread_mutex_lock(&c->lock);
	}
	got = now();
	by_tid = c->last_tid;
	by_id = c->last_id;
	released = c->released;
	if (!me) {
		sem_post(&c->taken);
		/* If all ask before the lock is first released, no thread overtakes another. */
		while (__atomic_load_n(&c->asking, __ATOMIC_SEQ_CST) < c->nr)
			nap(MS);
	}
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
		       tid(), by_tid, by_id, released > asked ? released - asked : 0,
		       got - asked);
	return NULL;
}

static void queue_for_lock(unsigned int nr)
{
	struct convoy c = { .lock = PTHREAD_MUTEX_INITIALIZER, .nr = nr };
	pthread_t threads[CONVOY_MAX];

	sem_init(&c.taken, 0, 0);
	for (unsigned int i = 0; i < nr; i++)
		c.ns[i] = rnd(2 * MS, 10 * MS);
	/*
	 * The first thread keeps the lock for 30 ms after the others have started, so that they ask
	 * for it meanwhile.
	 */
	c.ns[0] = 30 * MS;
	start(&threads[0], waits_for_lock, &c);
	sem_wait(&c.taken);
	for (unsigned int i = 1; i < nr; i++)
		start(&threads[i], waits_for_lock, &c);
	for (unsigned int i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
}

void scene_lock(void)
{
	queue_for_lock(2);
}

void scene_convoy(void)
{
	queue_for_lock(CONVOY_MAX);
}

/* --- a thread that spins on the CPU ------------------------------------------------------- */

struct spin {
	bool over;
	int tid;
	clockid_t cpu_clock;
	uint64_t id, ns;
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
	must(!pthread_getcpuclockid(pthread_self(), &s->cpu_clock));
	TRACE_ASYNC_BEGIN("truth", "spin", s->id);
	{
		TRACE_OPERATION_SCOPE(s->id, "truth", "spins");
		sem_post(&s->spins);
		while (!__atomic_load_n(&s->over, __ATOMIC_SEQ_CST))
			;
	}
	TRACE_ASYNC_END("truth", "spin", s->id);
	return NULL;
}

/* Upper bound of the time that a thread was off its CPU, measured by the thread itself */
struct absence {
	long switches;	/* switches of the thread so far */
	uint64_t from;	/* right before @switches was read */
	uint64_t ns;	/* total of the intervals between look() calls in which @switches grew */
};

static void look(struct absence *a)
{
	const uint64_t from = now();
	struct rusage used;

	must(!getrusage(RUSAGE_THREAD, &used));
	if (used.ru_nivcsw + used.ru_nvcsw != a->switches)
		a->ns += now() - a->from;
	a->switches = used.ru_nivcsw + used.ru_nvcsw;
	a->from = from;
}

/*
 * Both threads are on CPU 0, so the delayed thread is runnable behind the spinner. The trace must
 * show this for at least half of the spinner's CPU time, and for at most the time in
 * struct absence.
 *
 * A virtual CPU may stand still between the time that the kernel accounts from and the time of the
 * record. So only half is required, and CPU times give no upper bound.
 */
static void *is_delayed(void *arg)
{
	struct spin *s = arg;
	uint64_t id = at_flow_id(), begin, busy, behind;
	struct absence a = { 0 };

	stay_on_cpu0();
	sem_wait(&s->spins);
	look(&a);
	a.ns = 0;
	TRACE_DURATION("truth", "request");
	TRACE_ASYNC_BEGIN("truth", "request", id);
	begin = now();
	behind = clock_ns(s->cpu_clock);
	do {
		look(&a);
	} while (now() < begin + s->ns || clock_ns(s->cpu_clock) < behind + s->ns / 4);
	behind = clock_ns(s->cpu_clock) - behind;
	busy = now() - begin;
	TRACE_ASYNC_END("truth", "request", id);
	look(&a);
	expect(id, "spinner", "\"runnable_behind\":%d,\"behind_id\":\"0x%" PRIx64
	       "\",\"behind_at_least_ns\":%" PRIu64 ",\"behind_at_most_ns\":%" PRIu64
	       ",\"busy_at_least_ns\":%" PRIu64,
	       s->tid, s->id, behind / 2, a.ns, busy);
	return NULL;
}

void scene_spinner(void)
{
	/* A time that is longer than the scheduler's time slice on any kernel */
	struct spin s = { .id = at_flow_id(), .ns = rnd(100 * MS, 200 * MS) };
	pthread_t threads[2];

	sem_init(&s.spins, 0, 0);
	start(&threads[0], spins, &s);
	start(&threads[1], is_delayed, &s);
	pthread_join(threads[1], NULL);
	__atomic_store_n(&s.over, true, __ATOMIC_SEQ_CST);
	pthread_join(threads[0], NULL);
}

/* --- a disk, a timer ------------------------------------------------------------------------ */

void scene_fsync(void)
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
		{
			TRACE_DURATION("truth", "fsync");
			TRACE_ASYNC_INSTANT("truth", "request", id);
			wall = now();
			must(!fsync(fd));
			wall = now() - wall;
		}
		TRACE_ASYNC_END("truth", "request", id);
	}
	close(fd);
	unlink(path);
	expect(id, "fsync", "\"duration\":\"fsync\",\"thread\":%d,\"other\":\"kernel\","
	       "\"asleep_ns\":%" PRIu64 ",\"spent_ns\":%" PRIu64, tid(), wall, wall);
}

void scene_timer(void)
{
	uint64_t id = at_flow_id(), ns = rnd(3 * MS, 20 * MS), spent;

	{
		TRACE_DURATION("truth", "request");
		TRACE_ASYNC_BEGIN("truth", "request", id);
		{
			TRACE_DURATION("truth", "wait");
			TRACE_ASYNC_INSTANT("truth", "request", id);
			spent = now();
			nap(ns);
			spent = now() - spent;
		}
		TRACE_ASYNC_END("truth", "request", id);
	}
	expect(id, "timer", "\"duration\":\"wait\",\"thread\":%d,\"other\":\"interrupt\","
	       "\"asleep_ns\":%" PRIu64 ",\"spent_ns\":%" PRIu64, tid(), ns, spent);
}
