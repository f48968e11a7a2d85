// SPDX-License-Identifier: GPL-2.0
/* Tests the accounting invariant with threads and signal handlers that write fast */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "law.h"

/* The signal handler of thread i is writer HANDLER(i). */
#define HANDLER(i)	(LAW_THREADS + (i))
/* Least number of events that each signal handler writes, however fast the threads are */
#define HANDLED_MIN	20

static struct shared {
	volatile uint32_t threads, handlers;
	volatile uint32_t ready, go, done, enough, left, leave;
	volatile uint32_t written[2 * LAW_THREADS];
} *sh;

static struct at_ctl *ctl;
static uint32_t events;

void law_init(struct at_ctl *with, uint32_t events_of_a_thread)
{
	ctl = with;
	events = events_of_a_thread;
	sh = shared_memory(sizeof(*sh));
}

/* --- the writers ----------------------------------------------------------------- */

static __thread struct {
	volatile bool writing;
	uint32_t id;
} self;

/* Writes an event. The handler may interrupt its thread in the middle of a record. */
static void on_signal(int sig)
{
	const uint32_t id = HANDLER(self.id), n = load(&sh->written[id]);

	(void)sig;
	if (self.writing && nu_emit(id, n, NU_ANY))
		store(&sh->written[id], n + 1);
}

static void *writer(void *arg)
{
	const uint32_t id = (uintptr_t)arg;
	uint32_t state = id;

	self.id = id;
	/* Threads with an odd number share one CPU, the others change theirs. */
	if (id & 1)
		pin(nth_cpu(nr_cpus() - 1));
	__atomic_add_fetch(&sh->ready, 1, __ATOMIC_SEQ_CST);
	wait_for(&sh->go, 1, "go");
	self.writing = true;
	for (uint32_t i = 0; i < events || !load(&sh->enough) ||
	     (sh->handlers && load(&sh->written[HANDLER(id)]) < HANDLED_MIN); i++) {
		if (i == events)
			__atomic_add_fetch(&sh->done, 1, __ATOMIC_SEQ_CST);
		if (!nu_emit(id, i, NU_ANY))
			ktap_bail("the gate is closed while threads write");
		store(&sh->written[id], i + 1);
		if (!(id & 1) && !rnd(&state, 500))
			pin(nth_cpu(rnd(&state, nr_cpus())));
	}
	self.writing = false;
	__atomic_add_fetch(&sh->left, 1, __ATOMIC_SEQ_CST);
	/* Keep the thread alive until no more signals are sent to it. */
	wait_for(&sh->leave, 1, "leave");
	return NULL;
}

static void writers(void)
{
	const struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	pthread_t thread[LAW_THREADS];

	must(!sigaction(SIGUSR1, &sa, NULL));
	for (uintptr_t i = 0; i < sh->threads; i++)
		must(!pthread_create(&thread[i], NULL, writer, (void *)i));
	wait_for(&sh->go, 1, "go");
	while (load(&sh->left) != sh->threads) {
		for (uint32_t i = 0; sh->handlers && i < sh->threads; i++)
			pthread_kill(thread[i], SIGUSR1);
		sleep_us(100);
	}
	for (uint32_t i = 0; i < sh->threads; i++)
		pthread_join(thread[i], NULL);
}

/* --- a test ---------------------------------------------------------------------- */

static void read_some(struct run *run, enum law_reading reading)
{
	switch (reading) {
	case AT_END:
		break;
	case MEANWHILE:
		run_read(run, 100);
		break;
	case SLOWLY:
		run_read(run, 1);
		sleep_us(2000);
		break;
	}
	sleep_us(200);
}

/* The threads write until a ring has lost events, unless law->keeps_up allows that none has. */
static void write_and_read(struct run *run, const struct law *law, pid_t pid)
{
	store(&sh->go, 1);
	while (load(&sh->done) != law->threads) {
		read_some(run, law->reading);
		if (pid && waitpid(pid, NULL, WNOHANG))
			ktap_bail("the provider is gone");
	}
	for (int i = 0; !law->keeps_up && !run_has_lost(run, law->run.ring_size); i++) {
		if (i == 24000)
			ktap_bail("no ring loses an event");
		sleep_us(10000);
	}
	store(&sh->enough, 1);
	wait_for(&sh->left, law->threads, "left");
}

static void check(struct run *run, const struct law *law)
{
	const struct rd_ring sum = rd_sum(&run->rd, ASYNCTRACE_CHUNK_EVENTS, 0);
	uint64_t written = 0;

	for (int i = 0; i < 2 * LAW_THREADS; i++)
		written += load(&sh->written[i]);
	ktap_note("%llu written = %llu delivered + %llu overwritten + %llu dropped",
		  (unsigned long long)written, (unsigned long long)sum.delivered,
		  (unsigned long long)sum.overwritten, (unsigned long long)sum.dropped);
	ktap_check(run_total(run) == written, "the difference is %lld",
		   (long long)(written - run_total(run)));
	ktap_check(run->seen.events == sum.delivered, "%llu delivered, %llu seen",
		   (unsigned long long)sum.delivered, (unsigned long long)run->seen.events);
	ktap_check(sum.delivered, "no event was delivered");
	ktap_check(law->keeps_up || sum.overwritten || sum.dropped, "no event was lost");
	if (law->run.mode != ASYNCTRACE_MODE_CIRCULAR)
		ktap_check(!sum.overwritten, "%llu overwritten in mode %u",
			   (unsigned long long)sum.overwritten, law->run.mode);
	else
		ktap_check(sum.overwritten || sum.fallback, "nothing was overwritten");
	for (int i = 0; i < 2 * LAW_THREADS; i++)
		ktap_check(run->seen.max[i] <= load(&sh->written[i]), "writer %d: number %u, of %u",
			   i, run->seen.max[i], load(&sh->written[i]));
	ktap_check(run->seen.nr_generations == 1, "%u generations", run->seen.nr_generations);
	ktap_check(sum.fallback == run_uses_fallback(run), "the fallback ring is %s",
		   sum.fallback ? "used" : "not used");
	run_check(run);
}

void law_test(const struct law *law)
{
	struct run run;
	uint64_t total;
	pid_t pid;

	memset(sh, 0, sizeof(*sh));
	sh->threads = law->threads;
	sh->handlers = law->handlers;
	ktap_begin("%s", law->name);
	pid = run_tracing(LAW_PROVIDER, writers);
	wait_for(&sh->ready, law->threads, "ready");
	run_open(&run, ctl, &law->run);
	if (law->extra)
		law->extra->started(&run);
	run_start(&run);
	write_and_read(&run, law, pid);
	if (law->extra)
		law->extra->written(&run);
	run_stop(&run);
	run_drain(&run);
	check(&run, law);
	if (law->extra)
		law->extra->read(&run);
	total = run_total(&run);
	run_terminate(&run);
	run_drain(&run);
	ktap_check(run_total(&run) == total, "the end of the session adds %lld records",
		   (long long)(run_total(&run) - total));
	run_close(&run);
	store(&sh->leave, 1);
	run_join(pid);
	ktap_end();
}
