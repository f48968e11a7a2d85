// SPDX-License-Identifier: GPL-2.0
/*
 * The loss law: with rings far too small, in each mode, whatever the threads
 * write is delivered, overwritten or dropped, exactly; and what is delivered is
 * intact and in order. The same for the kernel's own rings.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asynctrace/provider.h>

#include "common.h"

#define PROVIDER	"law"
#define THREADS		6
/* The writers of a thread's signal handler come after those of the threads. */
#define HANDLER(i)	(THREADS + (i))

static struct shared {
	volatile uint32_t ready, go, done, enough, left, leave;
	volatile uint32_t written[2 * THREADS];
} *sh;

static unsigned int events;	/* of a thread */
static struct at_ctl *ctl;

/* --- the provider -------------------------------------------------------------- */

static __thread struct {
	volatile bool writing;
	uint32_t id;
} self;

/* A signal handler may trace, wherever it interrupts. */
static void on_alarm(int sig)
{
	const uint32_t id = HANDLER(self.id);

	(void)sig;
	if (self.writing && nu_emit(id, sh->written[id], -1))
		sh->written[id]++;
}

static void *writer(void *arg)
{
	const uint32_t id = (uintptr_t)arg;
	const int cpus = cpus_online();
	uint32_t state = id;

	self.id = id;
	/* Half of them on one CPU; the others wander. */
	if (id & 1)
		pin(cpus - 1);
	__atomic_add_fetch(&sh->ready, 1, __ATOMIC_SEQ_CST);
	wait_for(&sh->go, 1, "go");
	self.writing = true;
	for (uint32_t i = 0; i < events || !sh->enough; i++) {
		if (i == events)
			__atomic_add_fetch(&sh->done, 1, __ATOMIC_SEQ_CST);
		if (!nu_emit(id, i, -1))
			_exit(3);
		sh->written[id] = i + 1;
		if (!(id & 1) && !rnd(&state, 500))
			pin(rnd(&state, cpus));
	}
	self.writing = false;
	__atomic_add_fetch(&sh->left, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static pid_t provider(void)
{
	const struct at_provider_options opts = { .size = sizeof(opts), .name = PROVIDER };
	const struct itimerval every = { { 0, 1500 }, { 0, 1500 } };
	struct sigaction sa = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	pthread_t thread[THREADS];
	pid_t pid = fork();

	must(pid >= 0);
	if (pid)
		return pid;
	must(!at_provider_register(&opts));
	must(!sigaction(SIGALRM, &sa, NULL));
	for (uintptr_t i = 0; i < THREADS; i++)
		must(!pthread_create(&thread[i], NULL, writer, (void *)i));
	wait_for(&sh->go, 1, "go");
	must(!setitimer(ITIMER_REAL, &every, NULL));
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	wait_for(&sh->leave, 1, "leave");
	_exit(0);
}

/* --- the tests ------------------------------------------------------------------- */

enum reading { AT_END, ALL_THE_WHILE, SLOWLY };

struct law {
	const char *name;
	uint32_t mode;
	enum reading reading;
	uint64_t ring_size;
	uint32_t sched;
};

static int check_ring(const struct at_ring_info *r, void *arg)
{
	struct rd_ring *sum = arg;

	ktap_check(r->committed == r->delivered + r->overwritten && !r->cleared,
		   "ring %u of %u, kind %u: %llu committed, %llu delivered, %llu overwritten",
		   r->ring, r->provider, r->kind, (unsigned long long)r->committed,
		   (unsigned long long)r->delivered, (unsigned long long)r->overwritten);
	if (r->kind == ASYNCTRACE_RING_KIND_SCHED) {
		sum->delivered += r->delivered;
		sum->overwritten += r->overwritten;
		sum->dropped += r->dropped;
		sum->claimed += r->committed;
	}
	return 0;
}

static int probe_records(const struct at_session_info *s, void *arg)
{
	*(uint64_t *)arg = s->probe_records;
	return 0;
}

/* Words of the smallest records: an instant event, and a wakeup. */
#define EVENT_WORDS	3
#define SCHED_WORDS	6

struct loss {
	uint32_t id;		/* of the session */
	uint32_t kind[2];	/* of its rings; the second may be 0 */
	uint64_t capacity;	/* records that a ring holds at most */
};

/*
 * A ring that is not circular is full if it dropped a record. A circular one that
 * has more records than it can hold will report the others as overwritten.
 */
static int has_lost(const struct at_ring_info *r, void *arg)
{
	const struct loss *l = arg;

	return (r->kind == l->kind[0] || r->kind == l->kind[1]) &&
	       (r->dropped || r->overwritten || r->committed - r->delivered > l->capacity);
}

static bool rings_lost(struct loss *l)
{
	int lost = at_for_each_ring(ctl, l->id, has_lost, l);

	if (lost < 0)
		ktap_bail("%s", at_ctl_error(ctl));
	return lost;
}

static bool events_lost(void *arg)
{
	return rings_lost(arg);
}

/* Each sleep makes the scheduler write records. */
static bool sched_lost(void *arg)
{
	for (int i = 0; i < 50; i++)
		sleep_us(50);
	return rings_lost(arg);
}

static void check_sched(struct run *run, uint64_t before)
{
	struct rd_ring told = rd_sum(&run->rd, ASYNCTRACE_CHUNK_SCHED, 0), is = {};
	uint64_t after = 0;

	if (at_for_each_ring(ctl, run->id, check_ring, &is) ||
	    at_session_get(ctl, run->id, probe_records, &after))
		ktap_bail("%s", at_ctl_error(ctl));
	ktap_check(told.delivered == is.delivered && told.overwritten == is.overwritten &&
		   told.dropped == is.dropped,
		   "kernel rings: %llu, %llu, %llu were told; %llu, %llu, %llu is",
		   (unsigned long long)told.delivered, (unsigned long long)told.overwritten,
		   (unsigned long long)told.dropped, (unsigned long long)is.delivered,
		   (unsigned long long)is.overwritten, (unsigned long long)is.dropped);
	ktap_check(told.parsed == told.delivered, "kernel rings: %llu delivered, %llu found",
		   (unsigned long long)told.delivered, (unsigned long long)told.parsed);
	ktap_check(is.claimed == after - before,
		   "the probes wrote %llu records, the rings have %llu",
		   (unsigned long long)(after - before), (unsigned long long)is.claimed);
	ktap_check(!told.backwards, "time goes backwards in a kernel ring");
	ktap_check(told.delivered && told.overwritten + told.dropped,
		   "kernel rings: %llu delivered, %llu overwritten, %llu dropped: no test",
		   (unsigned long long)told.delivered, (unsigned long long)told.overwritten,
		   (unsigned long long)told.dropped);
	ktap_note("kernel rings: %llu committed = %llu delivered + %llu overwritten; %llu dropped",
		  (unsigned long long)is.claimed, (unsigned long long)told.delivered,
		  (unsigned long long)told.overwritten, (unsigned long long)told.dropped);
}

static void read_some(struct run *run, enum reading reading)
{
	switch (reading) {
	case AT_END:
		break;
	case ALL_THE_WHILE:
		rd_read(&run->rd, 100);
		break;
	case SLOWLY:
		rd_read(&run->rd, 1);
		sleep_us(2000);
		break;
	}
	sleep_us(200);
}

static void law(const struct law *l)
{
	const struct run_options opts = {
		.name = "law", .mode = l->mode, .sched = l->sched, .ring_size = l->ring_size,
		.provider = PROVIDER,
	};
	struct loss events_loss = {
		.kind = { ASYNCTRACE_RING_KIND_EVENTS, ASYNCTRACE_RING_KIND_FALLBACK },
		.capacity = l->ring_size / 8 / EVENT_WORDS,
	};
	struct loss sched_loss = {
		.kind = { ASYNCTRACE_RING_KIND_SCHED },
		.capacity = l->ring_size / 8 / SCHED_WORDS,
	};
	uint64_t written = 0, before = 0;
	struct rd_ring sum;
	struct run run;
	pid_t pid;

	memset(sh, 0, sizeof(*sh));
	ktap_begin("I13_%s, %llu KiB%s", l->name, (unsigned long long)l->ring_size >> 10,
		   l->sched ? ", with scheduling" : "");
	pid = provider();
	wait_for(&sh->ready, THREADS, "ready");
	run_open(&run, ctl, &opts);
	if (l->sched && at_session_get(ctl, run.id, probe_records, &before))
		ktap_bail("%s", at_ctl_error(ctl));
	run_start(&run);
	sh->go = 1;
	while (sh->done != THREADS) {
		read_some(&run, l->reading);
		if (waitpid(pid, NULL, WNOHANG))
			ktap_bail("the provider is gone");
	}
	/* The writers go on until the rings are full, at whatever speed. */
	events_loss.id = sched_loss.id = run.id;
	if (!soon(events_lost, &events_loss))
		ktap_fail("the rings do not fill");
	sh->enough = 1;
	wait_for(&sh->left, THREADS, "left");
	if (l->sched && !soon(sched_lost, &sched_loss))
		ktap_fail("the kernel's rings do not fill");
	run_stop(&run);
	rd_drain(&run.rd);

	for (int i = 0; i < 2 * THREADS; i++)
		written += sh->written[i];
	sum = rd_sum(&run.rd, ASYNCTRACE_CHUNK_EVENTS, 0);
	ktap_note("%llu written = %llu delivered + %llu overwritten + %llu dropped",
		  (unsigned long long)written, (unsigned long long)sum.delivered,
		  (unsigned long long)sum.overwritten, (unsigned long long)sum.dropped);
	ktap_check(run_total(&run) == written, "the difference is %lld",
		   (long long)(written - run_total(&run)));
	ktap_check(run.seen.events == sum.delivered, "%llu delivered, %llu seen",
		   (unsigned long long)sum.delivered, (unsigned long long)run.seen.events);
	ktap_check(sum.delivered && (sum.overwritten || sum.dropped), "nothing was lost: no test");
	ktap_check((l->mode == ASYNCTRACE_MODE_CIRCULAR) == !!sum.overwritten ||
		   sum.fallback, "overwritten in the wrong mode");
	for (int i = 0; i < 2 * THREADS; i++)
		ktap_check(run.seen.max[i] <= sh->written[i], "writer %d: number %u, of %u", i,
			   run.seen.max[i], sh->written[i]);
	ktap_check(run.seen.nr_generations == 1, "%u generations", run.seen.nr_generations);
	ktap_check(sum.fallback == fallback_expected(ctl), "the fallback ring is %s",
		   sum.fallback ? "used" : "not used");
	run_check(&run);
	if (l->sched)
		check_sched(&run, before);
	else if (at_for_each_ring(ctl, run.id, check_ring, &sum))
		ktap_bail("%s", at_ctl_error(ctl));
	run_terminate(&run);
	rd_drain(&run.rd);
	ktap_check(run_total(&run) == written, "after the end, the difference is %lld",
		   (long long)(written - run_total(&run)));
	run_close(&run);
	sh->leave = 1;
	reap(pid);
	ktap_end();
}

int main(void)
{
	static const struct law laws[] = {
		{ "one-shot", ASYNCTRACE_MODE_ONESHOT, AT_END, 16 << 10, 0 },
		{ "one-shot, read meanwhile", ASYNCTRACE_MODE_ONESHOT, ALL_THE_WHILE, 64 << 10, 0 },
		{ "circular", ASYNCTRACE_MODE_CIRCULAR, AT_END, 16 << 10, 0 },
		{ "circular, read meanwhile", ASYNCTRACE_MODE_CIRCULAR, ALL_THE_WHILE, 16 << 10, 0 },
		{ "circular, read slowly", ASYNCTRACE_MODE_CIRCULAR, SLOWLY, 64 << 10, 0 },
		{ "streaming, read slowly", ASYNCTRACE_MODE_STREAMING, SLOWLY, 16 << 10, 0 },
		{ "streaming, read meanwhile", ASYNCTRACE_MODE_STREAMING, ALL_THE_WHILE, 64 << 10, 0 },
		{ "one-shot", ASYNCTRACE_MODE_ONESHOT, AT_END, 16 << 10, ASYNCTRACE_SCHED_ALL },
		{ "circular, read slowly", ASYNCTRACE_MODE_CIRCULAR, SLOWLY, 16 << 10,
		  ASYNCTRACE_SCHED_ALL },
		{ "streaming, read slowly", ASYNCTRACE_MODE_STREAMING, SLOWLY, 16 << 10,
		  ASYNCTRACE_SCHED_ALL },
	};

	events = amount("KT_EVENTS", 40000);
	ktap_plan(sizeof(laws) / sizeof(*laws));
	sh = shared_memory(sizeof(*sh));
	if (at_ctl_open(&ctl))
		ktap_bail("%s", at_ctl_error(ctl));
	for (unsigned int i = 0; i < sizeof(laws) / sizeof(*laws); i++)
		law(&laws[i]);
	at_ctl_close(ctl);
	return ktap_exit();
}
