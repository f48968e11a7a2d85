// SPDX-License-Identifier: GPL-2.0
/*
 * A provider's share of the kernel's rings
 *
 * The flood is a provider whose threads switch, start and rename themselves as fast as they can. No
 * reader empties the rings. An honest provider that does little is recorded completely, and drops
 * are counted for the provider that caused them.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <asynctrace/provider.h>

#include "../../userlib/src/writer/internal.h"
#include "run.h"

#define ROUNDS		3	/* of the honest provider */
#define SLEEPS		6	/* in each round */
#define RENAMES		3
#define PAIRS		2	/* pairs of threads of the flood */
#define FLOODING	(2 * PAIRS + 2)
#define RING		(256 << 10)

/* How often a thread was switched out between two moments, by getrusage(2) */
struct report {
	int32_t tid;
	uint64_t from, to;
	uint64_t switches;
};

static struct shared {
	volatile uint32_t ready, flood, stop, done, leave;
	struct report flooding[FLOODING];
	struct report honest[2 * ROUNDS];
	struct asynctrace_task_name renamed[ROUNDS * RENAMES];
	int32_t honest_tid[ROUNDS];	/* threads that the honest provider started */
} *sh;

static struct at_ctl *ctl;
static uint32_t clock_used;

static void register_as(const char *name)
{
	const struct at_provider_options opts = { .size = sizeof(opts), .name = name };

	must(!at_provider_register(&opts));
	__atomic_add_fetch(&sh->ready, 1, __ATOMIC_SEQ_CST);
}

/* --- counting ------------------------------------------------------------------- */

static uint64_t ticks(void)
{
	return at_clock(0, clock_used);
}

static uint64_t switches(void)
{
	struct rusage r;

	must(!getrusage(RUSAGE_THREAD, &r));
	return r.ru_nvcsw + r.ru_nivcsw;
}

/* Returns how often the thread was switched out. Stores in *at a time at which this count held. */
static uint64_t moment(uint64_t *at)
{
	uint64_t before;

	do {
		before = switches();
		*at = ticks();
	} while (switches() != before);
	return before;
}

static void report_begin(struct report *r)
{
	r->tid = gettid();
	r->switches = moment(&r->from);
}

static void report_end(struct report *r)
{
	r->switches = moment(&r->to) - r->switches;
}

/* --- the flood -------------------------------------------------------------------- */

struct player {
	struct report *report;
	int cpu, from, to;
};

static void *player(void *arg)
{
	struct player *p = arg;
	char c = 0;

	pin(p->cpu);
	wait_for(&sh->flood, 1, "flood");
	report_begin(p->report);
	while (!sh->stop) {
		must(write(p->to, &c, 1) == 1);
		must(read(p->from, &c, 1) == 1);
	}
	report_end(p->report);
	must(write(p->to, &c, 1) == 1);
	__atomic_add_fetch(&sh->done, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void *nothing(void *arg)
{
	return arg;
}

static void *starter(void *arg)
{
	struct report *r = arg;
	pthread_t thread;

	pin(0);
	wait_for(&sh->flood, 1, "flood");
	report_begin(r);
	while (!sh->stop) {
		must(!pthread_create(&thread, NULL, nothing, NULL));
		pthread_join(thread, NULL);
	}
	report_end(r);
	__atomic_add_fetch(&sh->done, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void rename_all_the_time(const char *what)
{
	char name[ASYNCTRACE_COMM_LEN];

	for (unsigned int i = 0; !sh->stop; i++) {
		snprintf(name, sizeof(name), "%s-%u", what, i % 100000);
		prctl(PR_SET_NAME, name);
		if (i % 16 == 0)
			sched_yield();
	}
}

static void *renamer(void *arg)
{
	struct report *r = arg;

	pin(0);
	wait_for(&sh->flood, 1, "flood");
	report_begin(r);
	rename_all_the_time("flood");
	report_end(r);
	__atomic_add_fetch(&sh->done, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void start(void *(*fn)(void *), void *arg)
{
	pthread_t thread;

	must(!pthread_create(&thread, NULL, fn, arg));
	pthread_detach(thread);
}

static void flood(void)
{
	static struct player players[2 * PAIRS];
	int ab[2], ba[2];

	register_as("share-flood");
	for (int i = 0; i < PAIRS; i++) {
		struct player *a = &players[2 * i], *b = a + 1;

		must(!pipe(ab) && !pipe(ba));
		*a = (struct player){ &sh->flooding[2 * i], i % cpus_online(), ba[0], ab[1] };
		*b = (struct player){ &sh->flooding[2 * i + 1], i % cpus_online(), ab[0], ba[1] };
		start(player, a);
		start(player, b);
	}
	start(starter, &sh->flooding[2 * PAIRS]);
	start(renamer, &sh->flooding[2 * PAIRS + 1]);
	wait_for(&sh->leave, 1, "leave");
}

/* This process is no provider, but its tasks are recorded beside the flood. */
static void stranger(void)
{
	pin(0);
	wait_for(&sh->flood, 1, "flood");
	rename_all_the_time("stranger");
}

/* --- the honest provider ------------------------------------------------------------- */

static void *worker(void *arg)
{
	struct report *r = arg;

	report_begin(r);
	/* Repeat: if the machine stands still, a timer may expire before the thread sleeps. */
	do
		sleep_us(1000);
	while (switches() == r->switches);
	report_end(r);
	return NULL;
}

static void honest_round(int round)
{
	struct report *r = &sh->honest[2 * round];
	pthread_t thread;

	report_begin(r);
	for (int i = 0; i < SLEEPS; i++)
		sleep_us(1000);
	for (int i = 0; i < RENAMES; i++) {
		struct asynctrace_task_name *name = &sh->renamed[round * RENAMES + i];

		name->tid = gettid();
		snprintf(name->comm, sizeof(name->comm), "honest-%d-%d", round, i);
		must(!prctl(PR_SET_NAME, name->comm));
	}
	must(!pthread_create(&thread, NULL, worker, r + 1));
	pthread_join(thread, NULL);
	report_end(r);
	sh->honest_tid[round] = r[1].tid;
}

/* Between rounds the honest provider sleeps until it reads a byte. */
static int asked[2], answered[2];

static void honest(void)
{
	const struct sched_param real_time = { .sched_priority = 1 };
	char c;

	close(asked[1]);
	pin(0);
	/*
	 * The flood must not preempt this provider: each preemption is a switch, and a slow machine
	 * has so many that they use up the provider's quota.
	 */
	must(!sched_setscheduler(0, SCHED_FIFO, &real_time));
	register_as("share-honest");
	for (int round = 0; read(asked[0], &c, 1) == 1; round++) {
		honest_round(round);
		must(write(answered[1], &c, 1) == 1);
	}
}

/* --- what was recorded ------------------------------------------------------------------ */

struct seen {
	size_t nr_switches, nr_names;
	struct { uint64_t ticks; int32_t out, in; } *switches;
	struct asynctrace_task_name *names;
};

static void *grown(void *array, size_t nr, size_t size)
{
	if (nr & (nr - 1))
		return array;
	array = reallocarray(array, nr ? 2 * nr : 1, size);
	must(array);
	return array;
}

static void record(uint32_t kind, const void *rec, void *arg)
{
	const uint64_t *w = rec;
	struct seen *s = arg;

	if (kind == ASYNCTRACE_CHUNK_NAMES) {
		s->names = grown(s->names, s->nr_names, sizeof(*s->names));
		s->names[s->nr_names++] = *(const struct asynctrace_task_name *)rec;
	} else if (*w >> 60 == ASYNCTRACE_FXT_SCHED_SWITCH) {
		s->switches = grown(s->switches, s->nr_switches, sizeof(*s->switches));
		s->switches[s->nr_switches].ticks = w[1];
		s->switches[s->nr_switches].out = w[2];
		s->switches[s->nr_switches++].in = w[3];
	}
}

static uint64_t count(const struct seen *s, const struct report *r, bool in)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->nr_switches; i++)
		n += (in ? s->switches[i].in : s->switches[i].out) == r->tid &&
		     s->switches[i].ticks > r->from && s->switches[i].ticks < r->to;
	return n;
}

static bool is_named(const struct seen *s, int32_t tid, const char *comm)
{
	for (size_t i = 0; i < s->nr_names; i++)
		if (s->names[i].tid == tid && (!comm || !strcmp(s->names[i].comm, comm)))
			return true;
	return false;
}

static void check_honest(const struct seen *s)
{
	uint64_t all = 0;

	for (int i = 0; i < ROUNDS; i++)
		all += sh->honest[2 * i].switches + sh->honest[2 * i + 1].switches;
	ktap_note("the honest provider's: %llu switches", (unsigned long long)all);
	for (int i = 0; i < 2 * ROUNDS; i++) {
		const struct report *r = &sh->honest[i];
		uint64_t out = count(s, r, false), in = count(s, r, true);

		ktap_check(r->switches, "part %d of the honest provider never slept", i);
		ktap_check(out == r->switches && in == r->switches,
			   "part %d of the honest provider: %llu switches out, %llu in, of %llu",
			   i, (unsigned long long)out, (unsigned long long)in,
			   (unsigned long long)r->switches);
	}
	for (int i = 0; i < ROUNDS * RENAMES; i++)
		ktap_check(is_named(s, sh->renamed[i].tid, sh->renamed[i].comm),
			   "its name %s is missing", sh->renamed[i].comm);
	for (int i = 0; i < ROUNDS; i++)
		ktap_check(is_named(s, sh->honest_tid[i], NULL), "thread %d has no name",
			   sh->honest_tid[i]);
}

/* Missing records of the flood's threads were dropped and counted for the flood. */
static void check_flood(const struct seen *s, const struct rd_provider *p)
{
	uint64_t missing = 0, there = 0;

	for (int i = 0; i < FLOODING; i++) {
		uint64_t out = count(s, &sh->flooding[i], false);

		ktap_check(out <= sh->flooding[i].switches, "thread %d: %llu switches out, of %llu",
			   sh->flooding[i].tid, (unsigned long long)out,
			   (unsigned long long)sh->flooding[i].switches);
		missing += sh->flooding[i].switches - out;
		there += out;
	}
	ktap_note("the flood's: %llu switches delivered, %llu missing; %llu records and %llu names dropped",
		  (unsigned long long)there, (unsigned long long)missing,
		  (unsigned long long)p->sched_dropped, (unsigned long long)p->names_dropped);
	ktap_check(there, "no switch of the flood was delivered");
	ktap_check(p->names_dropped, "the flood lost no names");
	ktap_check(missing && missing <= p->sched_dropped, "%llu missing, %llu dropped",
		   (unsigned long long)missing, (unsigned long long)p->sched_dropped);
}

/* --- the rings ------------------------------------------------------------------------------ */

struct rings {
	bool full[2];			/* of the first CPU's rings: records, names */
	uint64_t dropped[2];
};

static int look_at_ring(const struct at_ring_info *r, void *arg)
{
	struct rings *sum = arg;
	const bool names = r->kind == ASYNCTRACE_RING_KIND_NAMES;

	if (!names && r->kind != ASYNCTRACE_RING_KIND_SCHED)
		return 0;
	sum->dropped[names] += r->dropped;
	sum->full[names] |= !r->ring && r->dropped;
	return 0;
}

static struct rings rings(const struct run *run)
{
	struct rings sum = {};

	if (at_for_each_ring(ctl, run->id, look_at_ring, &sum))
		ktap_bail("%s", at_ctl_error(ctl));
	return sum;
}

static bool flooded(void *run)
{
	const struct rings now = rings(run);

	return now.full[0] && now.full[1];
}

static int check_committed(const struct at_ring_info *r, void *arg)
{
	(void)arg;
	ktap_check(r->committed == r->delivered + r->overwritten,
		   "ring %u, kind %u: %llu committed, %llu delivered, %llu overwritten", r->ring,
		   r->kind, (unsigned long long)r->committed, (unsigned long long)r->delivered,
		   (unsigned long long)r->overwritten);
	return 0;
}

static int check_view(const struct at_provider_info *p, void *arg)
{
	const struct rd_provider *told = rd_provider(&((struct run *)arg)->rd, p->id);

	ktap_check(told && told->sched_dropped == p->sched_dropped &&
		   told->names_dropped == p->names_dropped,
		   "of %s the stream and the query report different drops", p->name);
	return 0;
}

static void check_law(struct run *run, const struct rd_provider *p, bool targets)
{
	const struct rd_ring sched = rd_sum(&run->rd, ASYNCTRACE_CHUNK_SCHED, 0);
	const struct rd_ring names = rd_sum(&run->rd, ASYNCTRACE_CHUNK_NAMES, 0);
	const struct rings is = rings(run);

	if (at_for_each_ring(ctl, run->id, check_committed, NULL) ||
	    at_for_each_provider(ctl, check_view, run))
		ktap_bail("%s", at_ctl_error(ctl));
	ktap_check(!run->rd.malformed, "%llu things malformed: %s",
		   (unsigned long long)run->rd.malformed, run->rd.first);
	ktap_check(sched.dropped == is.dropped[0] && names.dropped == is.dropped[1] &&
		   sched.last && names.last, "the last chunk does not have the final counts");
	ktap_check(targets ? p->sched_dropped == sched.dropped : p->sched_dropped <= sched.dropped,
		   "%llu records dropped, %llu the flood's", (unsigned long long)sched.dropped,
		   (unsigned long long)p->sched_dropped);
	/* The remaining names are the stranger's. */
	ktap_check(p->names_dropped <= names.dropped, "%llu names dropped, %llu the flood's",
		   (unsigned long long)names.dropped, (unsigned long long)p->names_dropped);
}

/* --- the tests ------------------------------------------------------------------------------- */

struct scenario {
	const char *name;
	uint32_t mode;
	uint32_t sched;
	bool read;	/* the test reads a little between the rounds */
};

static pid_t child(void (*fn)(void))
{
	pid_t pid = fork();

	must(pid >= 0);
	if (pid)
		return pid;
	fn();
	_exit(0);
}

static struct rd_provider *provider(struct run *run, pid_t pid)
{
	for (uint32_t i = 0; i < run->rd.nr_providers; i++)
		if (run->rd.provider[i]->pid == pid)
			return run->rd.provider[i];
	ktap_bail("process %d is not in the session", pid);
}

static void share(const struct scenario *sc)
{
	const struct run_options opts = {
		.name = "share", .mode = sc->mode, .sched = sc->sched, .ring_size = RING,
		.provider = "share-*",
	};
	pid_t flooding, being_honest, strange;
	struct rd_provider *f, *h;
	struct seen seen = {};
	struct run run;
	char c = 0;

	ktap_begin("share: %s, %s", sc->name,
		   sc->sched == ASYNCTRACE_SCHED_ALL ? "all tasks" : "tasks of providers");
	memset(sh, 0, sizeof(*sh));
	must(!pipe(asked) && !pipe(answered));
	being_honest = child(honest);
	close(asked[0]);
	flooding = child(flood);
	strange = child(stranger);
	wait_for(&sh->ready, 2, "ready");
	run_open(&run, ctl, &opts);
	run.rd.record = record;
	run.rd.record_arg = &seen;
	run_start(&run);
	sh->flood = 1;
	ktap_check(soon(flooded, &run), "the kernel's rings do not fill");
	for (int i = 0; i < ROUNDS; i++) {
		must(write(asked[1], &c, 1) == 1);
		must(read(answered[0], &c, 1) == 1);
		if (sc->read)
			rd_read(&run.rd, 20);
	}
	sh->stop = 1;
	wait_for(&sh->done, FLOODING, "done");
	run_stop(&run);
	rd_drain(&run.rd);
	f = provider(&run, flooding);
	h = provider(&run, being_honest);
	check_honest(&seen);
	ktap_check(!h->sched_dropped && !h->names_dropped,
		   "of the honest provider %llu records and %llu names were dropped",
		   (unsigned long long)h->sched_dropped, (unsigned long long)h->names_dropped);
	check_flood(&seen, f);
	check_law(&run, f, sc->sched == ASYNCTRACE_SCHED_TARGETS);
	run_terminate(&run);
	run_close(&run);
	sh->leave = 1;
	close(asked[1]);
	close(answered[0]);
	close(answered[1]);
	reap(flooding);
	reap(being_honest);
	reap(strange);
	free(seen.switches);
	free(seen.names);
	ktap_end();
}

int main(void)
{
	static const struct scenario scenarios[] = {
		{ "one-shot", ASYNCTRACE_MODE_ONESHOT, ASYNCTRACE_SCHED_TARGETS, false },
		{ "streaming, not read", ASYNCTRACE_MODE_STREAMING, ASYNCTRACE_SCHED_TARGETS, false },
		{ "streaming", ASYNCTRACE_MODE_STREAMING, ASYNCTRACE_SCHED_TARGETS, true },
		{ "one-shot", ASYNCTRACE_MODE_ONESHOT, ASYNCTRACE_SCHED_ALL, false },
	};
	struct at_info info = { .size = sizeof(info) };

	ktap_plan(sizeof(scenarios) / sizeof(*scenarios));
	sh = shared_memory(sizeof(*sh));
	if (at_ctl_open(&ctl) || at_info(ctl, &info))
		ktap_bail("%s", at_ctl_error(ctl));
	clock_used = info.clock;
	for (unsigned int i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++)
		share(&scenarios[i]);
	at_ctl_close(ctl);
	return ktap_exit();
}
