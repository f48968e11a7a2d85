// SPDX-License-Identifier: GPL-2.0
/*
 * Dispositions: a start decides what happens to the records of earlier runs
 *
 * No record from before a clear is delivered after it, and no later record is lost. committed =
 * delivered + overwritten + cleared holds in each mode, however slow the reader is.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asynctrace/compose.h>
#include <asynctrace/provider.h>
#include <asynctrace/trace.h>

#include "run.h"
#include "floor.h"

#define PROVIDER	"starts"
#define THREADS		4

static struct shared {
	volatile uint32_t ready, leave;
	volatile uint32_t go;		/* the round in which threads write */
	volatile uint32_t count;	/* events of each thread in this round; 0: until @pause */
	volatile uint32_t pause;	/* ends the round */
	volatile uint32_t done[THREADS];	/* the last round that the thread has ended */
	volatile uint32_t tried[THREADS];
	volatile uint32_t gate[THREADS];	/* generation of its latest event */
} *sh;

static struct at_ctl *ctl;
static uint32_t state;		/* of the random numbers */

static const char *const mode_names[] = { "", "one-shot", "circular", "streaming" };

/* --- the provider ------------------------------------------------------------------ */

/*
 * The fallback ring drops events that find its lock taken. Threads that write a certain number, and
 * may lose none, take turns.
 */
static uint32_t emit(uint32_t id, uint32_t seq)
{
	static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
	const bool counted = sh->count;
	uint32_t gate;

	if (counted)
		pthread_mutex_lock(&turn);
	gate = nu_emit(id, seq, -1);
	if (counted)
		pthread_mutex_unlock(&turn);
	return gate;
}

static void *writer(void *arg)
{
	const uint32_t id = (uintptr_t)arg;
	const int cpus = cpus_online();
	uint32_t rng = id, round = 0, seq = 0, gate;

	if (id & 1)
		pin(cpus - 1);
	__atomic_add_fetch(&sh->ready, 1, __ATOMIC_SEQ_CST);
	while (!sh->leave) {
		if (sh->go == round) {
			sleep_us(200);
			continue;
		}
		round = sh->go;
		for (uint32_t n = 0; !sh->pause && (!sh->count || n < sh->count); ) {
			gate = nu_gate();
			if (!gate) {
				sleep_us(50);
				continue;
			}
			sh->gate[id] = gate;
			if (!emit(id, seq))
				continue;
			sh->tried[id] = ++seq;
			n++;
			if (!(id & 1) && !rnd(&rng, 500))
				pin(rnd(&rng, cpus));
		}
		sh->done[id] = round;
	}
	return NULL;
}

static pid_t provider(void)
{
	const struct at_provider_options opts = { .size = sizeof(opts), .name = PROVIDER };
	pid_t pid;

	memset(sh, 0, sizeof(*sh));
	pid = fork_provider(&opts, THREADS, writer);
	wait_for(&sh->ready, THREADS, "ready");
	return pid;
}

static void leave(pid_t pid)
{
	sh->leave = 1;
	reap(pid);
}

/* Has each thread write @count events, or write until write_end() if @count is 0. */
static void write_begin(uint32_t count)
{
	sh->pause = 0;
	sh->count = count;
	__atomic_add_fetch(&sh->go, 1, __ATOMIC_SEQ_CST);
}

static void write_end(void)
{
	if (!sh->count)
		sh->pause = 1;
	for (int i = 0; i < THREADS; i++)
		wait_for(&sh->done[i], sh->go, "done");
}

static void write_some(uint32_t count)
{
	write_begin(count);
	write_end();
}

static uint64_t tried(void)
{
	uint64_t n = 0;

	for (int i = 0; i < THREADS; i++)
		n += sh->tried[i];
	return n;
}

/* --- the kernel's accounting --------------------------------------------------------- */

/* Records that slow writers published after the last stop. They stay in the rings. */
static unsigned int late;

static int check_ring(const struct at_ring_info *r, void *arg)
{
	const uint64_t accounted = r->delivered + r->overwritten + r->cleared;
	struct rd_ring *sum = arg;

	if (r->kind == ASYNCTRACE_RING_KIND_NAMES)
		return 0;
	ktap_check(r->committed >= accounted &&
		   r->committed <= accounted + (r->provider ? late : 0),
		   "ring %u of %u: %llu committed, %llu delivered, %llu overwritten, %llu cleared",
		   r->ring, r->provider, (unsigned long long)r->committed,
		   (unsigned long long)r->delivered, (unsigned long long)r->overwritten,
		   (unsigned long long)r->cleared);
	if (r->kind == ASYNCTRACE_RING_KIND_SCHED) {
		sum->cleared += r->cleared;
		sum->delivered += r->delivered;
	}
	return 0;
}

static struct rd_ring check_rings(struct run *run)
{
	struct rd_ring sched = {};

	if (at_for_each_ring(ctl, run->id, check_ring, &sched))
		ktap_bail("%s", at_ctl_error(ctl));
	return sched;
}

static void open_run(struct run *run, uint32_t mode, uint64_t ring_size, uint32_t sched)
{
	const struct run_options opts = {
		.name = PROVIDER, .mode = mode, .ring_size = ring_size, .provider = PROVIDER,
		.sched = sched,
	};

	run_open(run, ctl, &opts);
	floor_watch(run);
}

/*
 * Starts the session. A clear removes all events of the generations that threads wrote under so
 * far.
 */
static void start_with(struct run *run, uint32_t disposition)
{
	uint32_t gate = 0;

	for (int i = 0; i < THREADS; i++)
		if (sh->gate[i] > gate)
			gate = sh->gate[i];
	run_start_with(run, disposition);
	if (disposition != ASYNCTRACE_DISPOSITION_RETAIN && gate)
		floor_raise(gate);
}

static void close_run(struct run *run)
{
	run_terminate(run);
	rd_drain(&run->rd);
	run_close(run);
}

/* --- each disposition, one run after the other --------------------------------------- */

static void disposition(uint32_t mode, uint32_t how, bool read_before)
{
	static const char *const names[] = { "", "P44 clear-entire", "P45 clear-nondurable",
					     "P46 retain" };
	const bool retain = how == ASYNCTRACE_DISPOSITION_RETAIN;
	const uint64_t first = 100 * THREADS, second = 60 * THREADS;
	struct rd_provider *p = NULL;
	uint64_t before = 0;
	struct rd_ring sum;
	struct run run;
	pid_t pid;

	ktap_begin("disposition_%s_%s%s", names[how], mode_names[mode], read_before ? "_partly_read" : "");
	pid = provider();
	open_run(&run, mode, 1 << 20, 0);
	start_with(&run, how);
	write_some(100);
	if (read_before) {
		rd_read(&run.rd, 12);
		before = run.seen.events;
	}
	run_stop(&run);
	start_with(&run, how);
	write_some(60);
	run_stop(&run);
	rd_drain(&run.rd);
	sum = rd_sum(&run.rd, ASYNCTRACE_CHUNK_EVENTS, 0);
	ktap_check(sum.delivered == (retain ? first : before) + second,
		   "%llu delivered, not %llu or %llu; %llu before", (unsigned long long)sum.delivered,
		   (unsigned long long)first, (unsigned long long)second,
		   (unsigned long long)before);
	ktap_check(sum.cleared == (retain ? 0 : first - before), "%llu cleared",
		   (unsigned long long)sum.cleared);
	ktap_check(!sum.overwritten && !sum.dropped, "%llu overwritten, %llu dropped",
		   (unsigned long long)sum.overwritten, (unsigned long long)sum.dropped);
	ktap_check(run_total(&run) == tried(), "%llu in total, %llu tried",
		   (unsigned long long)run_total(&run), (unsigned long long)tried());
	floor_check();
	/* Is each name that the reader got still valid? */
	if (run.rd.nr_providers)
		p = run.rd.provider[0];
	ktap_check(p && p->generations == (how == ASYNCTRACE_DISPOSITION_CLEAR_ENTIRE && before ?
					   2 : 1),
		   "names came in %u generations", p ? p->generations : 0);
	run_check(&run);
	check_rings(&run);
	close_run(&run);
	leave(pid);
	ktap_end();
}

/* --- P3: a second start changes nothing ------------------------------------------------- */

static void again(void)
{
	struct run run;
	pid_t pid;

	ktap_begin("P3_second_start_clears_nothing");
	pid = provider();
	open_run(&run, ASYNCTRACE_MODE_CIRCULAR, 1 << 20, 0);
	run_start(&run);
	write_some(50);
	run_start_with(&run, ASYNCTRACE_DISPOSITION_CLEAR_ENTIRE);
	write_some(50);
	run_stop(&run);
	rd_drain(&run.rd);
	ktap_check(run.seen.events == 100 * THREADS, "%llu events",
		   (unsigned long long)run.seen.events);
	run_check(&run);
	close_run(&run);
	leave(pid);
	ktap_end();
}

/* --- P40: a cleared ring has its room again ------------------------------------------------- */

static void room(void)
{
	const uint64_t ring = 64 << 10;
	uint64_t delivered[4], last = 0;
	struct rd_ring sum;
	struct run run;
	pid_t pid;

	ktap_begin("P40_clear_gives_writers_a_whole_ring");
	pid = provider();
	open_run(&run, ASYNCTRACE_MODE_ONESHOT, ring, 0);
	for (int i = 0; i < 4; i++) {
		start_with(&run, i < 3 ? ASYNCTRACE_DISPOSITION_CLEAR_NONDURABLE :
					 ASYNCTRACE_DISPOSITION_RETAIN);
		write_some(4000);
		run_stop(&run);
		/* Do not read after run 1, so that the clear of run 2 finds unread records. */
		if (i != 1)
			rd_drain(&run.rd);
		sum = rd_sum(&run.rd, ASYNCTRACE_CHUNK_EVENTS, 0);
		delivered[i] = sum.delivered - last;
		last = sum.delivered;
	}
	/*
	 * All rings were full in the first run. After a clear, a ring has room again, except for
	 * the rest of the sub-buffer in which its writer is.
	 */
	ktap_check(delivered[0] && delivered[2] > delivered[0] / 2, "%llu, then %llu fit",
		   (unsigned long long)delivered[0], (unsigned long long)delivered[2]);
	ktap_check(!delivered[1] && sum.cleared > delivered[0] / 2, "%llu cleared",
		   (unsigned long long)sum.cleared);
	/* A CPU that no thread ran on in earlier runs may have room. */
	ktap_check(delivered[3] < delivered[0] / 2, "%llu fit into a full ring that is retained",
		   (unsigned long long)delivered[3]);
	ktap_check(!sum.overwritten && sum.dropped, "%llu overwritten, %llu dropped",
		   (unsigned long long)sum.overwritten, (unsigned long long)sum.dropped);
	ktap_check(run_total(&run) == tried(), "the difference is %lld",
		   (long long)(tried() - run_total(&run)));
	floor_check();
	run_check(&run);
	check_rings(&run);
	close_run(&run);
	leave(pid);
	ktap_end();
}

/* --- accounting with clears at random moments -------------------------------------------- */

/* One reader during the whole test, which may be slow */
struct reading {
	pthread_t thread;
	struct run *run;
	volatile bool stop;
	unsigned int chunks, us;
	pthread_mutex_t lock;
};

static void *read_on(void *arg)
{
	struct reading *r = arg;

	while (!r->stop) {
		pthread_mutex_lock(&r->lock);
		rd_read(&r->run->rd, r->chunks);
		pthread_mutex_unlock(&r->lock);
		sleep_us(r->us);
	}
	return NULL;
}

/*
 * @pausing: no writer is amid an event when a run ends, so that the sum is exactly what was
 *	attempted. Otherwise an event may belong to no run.
 */
static void law(uint32_t mode, uint32_t us, bool pausing, uint32_t sched)
{
	const unsigned int cycles = amount("KT_CYCLES", 60);
	struct reading reading = { .chunks = 2, .us = us, .lock = PTHREAD_MUTEX_INITIALIZER };
	struct rd_ring sum, kernel;
	uint64_t total, n;
	struct run run;
	pid_t pid;

	ktap_begin("I13_%s_%s_random_clears%s%s", mode_names[mode],
		   us == 0 ? "read_at_end" : us < 1000 ? "read_meanwhile" : "read_slowly",
		   pausing ? "" : "_amid_events", sched ? "_sched" : "");
	pid = provider();
	open_run(&run, mode, 64 << 10, sched);
	reading.run = &run;
	if (us)
		must(!pthread_create(&reading.thread, NULL, read_on, &reading));
	/*
	 * On a slow machine a run may end before a writer wrote, and the reader may read all before
	 * a clear. So write events now, and lock out the reader until the first clear finds them.
	 */
	pthread_mutex_lock(&reading.lock);
	start_with(&run, ASYNCTRACE_DISPOSITION_RETAIN);
	write_some(100);
	run_stop(&run);
	for (unsigned int i = 0; i < cycles; i++) {
		/* The floor must not rise while the reader is between two events. */
		if (i)
			pthread_mutex_lock(&reading.lock);
		start_with(&run, i ? 1 + rnd(&state, 3) : ASYNCTRACE_DISPOSITION_CLEAR_ENTIRE);
		pthread_mutex_unlock(&reading.lock);
		if (pausing)
			write_begin(0);
		else if (!i)
			write_begin(0);
		sleep_us(rnd(&state, rnd(&state, 4) ? 3000 : 20000));
		if (pausing)
			write_end();
		run_stop(&run);
		if (rnd(&state, 2))
			sleep_us(rnd(&state, 2000));
	}
	write_end();
	/* In a short test the clears may have left nothing to read. */
	start_with(&run, ASYNCTRACE_DISPOSITION_RETAIN);
	write_some(100);
	run_stop(&run);
	if (us) {
		reading.stop = true;
		pthread_join(reading.thread, NULL);
	}
	rd_drain(&run.rd);
	n = tried();
	total = run_total(&run);
	sum = rd_sum(&run.rd, ASYNCTRACE_CHUNK_EVENTS, 0);
	ktap_note("%llu tried; %llu delivered, %llu overwritten, %llu cleared, %llu dropped",
		  (unsigned long long)n, (unsigned long long)sum.delivered,
		  (unsigned long long)sum.overwritten, (unsigned long long)sum.cleared,
		  (unsigned long long)sum.dropped);
	ktap_check(pausing ? total == n : total <= n && total >= n - (uint64_t)cycles * THREADS,
		   "%llu attempted, %llu accounted for", (unsigned long long)n,
		   (unsigned long long)total);
	ktap_check(sum.cleared && (sum.delivered || !us), "%llu cleared, %llu delivered",
		   (unsigned long long)sum.cleared, (unsigned long long)sum.delivered);
	ktap_check(!sum.overwritten || mode == ASYNCTRACE_MODE_CIRCULAR,
		   "%llu overwritten", (unsigned long long)sum.overwritten);
	ktap_check(run.seen.events == sum.delivered, "%llu delivered, %llu seen",
		   (unsigned long long)sum.delivered, (unsigned long long)run.seen.events);
	floor_check();
	run_check(&run);
	late = pausing ? 0 : THREADS;
	kernel = check_rings(&run);
	late = 0;
	ktap_check(!sched || (kernel.cleared && kernel.delivered),
		   "kernel rings: %llu cleared, %llu delivered", (unsigned long long)kernel.cleared,
		   (unsigned long long)kernel.delivered);
	close_run(&run);
	leave(pid);
	ktap_end();
}

/* --- names of another session ----------------------------------------------------------------- */

static void other_session(void)
{
	struct run old, new;
	pid_t pid;

	ktap_begin("P44_cleared_names_stay_for_ended_session");
	pid = provider();
	open_run(&old, ASYNCTRACE_MODE_CIRCULAR, 1 << 20, 0);
	run_start(&old);
	write_some(100);
	run_terminate(&old);
	open_run(&new, ASYNCTRACE_MODE_CIRCULAR, 1 << 20, 0);
	run_start_with(&new, ASYNCTRACE_DISPOSITION_CLEAR_ENTIRE);
	write_some(70);
	run_stop(&new);
	rd_drain(&new.rd);
	rd_drain(&old.rd);
	ktap_check(old.seen.events == 100 * THREADS, "%llu of the ended session",
		   (unsigned long long)old.seen.events);
	ktap_check(new.seen.events == 70 * THREADS, "%llu of the new session",
		   (unsigned long long)new.seen.events);
	run_check(&old);
	run_check(&new);
	run_close(&old);
	close_run(&new);
	leave(pid);
	ktap_end();
}

/* --- P47: the file -------------------------------------------------------------------------- */

struct file {
	uint64_t *words;
	size_t bytes, room;
};

static ssize_t to_memory(void *arg, const void *data, size_t bytes)
{
	struct file *f = arg;

	if (f->bytes + bytes > f->room) {
		f->room = 2 * (f->bytes + bytes);
		f->words = realloc(f->words, f->room);
		must(f->words);
	}
	memcpy((char *)f->words + f->bytes, data, bytes);
	f->bytes += bytes;
	return bytes;
}

static void compose_all(struct at_compose *c, int fd)
{
	char *buf = malloc(ASYNCTRACE_READ_MIN);
	struct asynctrace_chunk h;

	must(buf);
	while (read(fd, buf, ASYNCTRACE_READ_MIN) > 0) {
		memcpy(&h, buf, sizeof(h));
		ktap_check(!at_compose_chunk(c, &h, buf + sizeof(h)), "the composer refuses a chunk");
	}
	free(buf);
}

/* A provider's first record after its metadata must be the initialization: the ticks per second. */
static void check_file(const struct file *f, uint32_t *events)
{
	const uint64_t *w = f->words, *end = w + f->bytes / 8;
	uint64_t init = 0;	/* bit @id % 64: the initialization of the provider was read */
	uint32_t id = 0;

	for (; w < end; w += ASYNCTRACE_FXT_WORDS(*w)) {
		const uint32_t type = ASYNCTRACE_FXT_TYPE(*w), meta = *w >> 16 & 0xf;

		must(ASYNCTRACE_FXT_WORDS(*w) || *w == ASYNCTRACE_FXT_MAGIC);
		if (*w == ASYNCTRACE_FXT_MAGIC)
			continue;
		if (type == ASYNCTRACE_FXT_METADATA) {
			if (meta == ASYNCTRACE_FXT_META_PROVIDER ||
			    meta == ASYNCTRACE_FXT_META_SECTION)
				id = *w >> 20 & 0xffffffff;
			continue;
		}
		if (type == ASYNCTRACE_FXT_INIT) {
			ktap_check(w[1] == 1000000000, "%llu ticks per second",
				   (unsigned long long)w[1]);
			init |= 1ULL << id % 64;
			continue;
		}
		ktap_check(init >> id % 64 & 1, "provider %u: no ticks before a record", id);
		*events += type == ASYNCTRACE_FXT_EVENT && id > 1;
	}
}

static void ticks(uint32_t how)
{
	struct file file = {};
	const struct at_compose_options opts = {
		.size = sizeof(opts), .fd = -1, .write = to_memory, .arg = &file,
	};
	struct at_compose *c = at_compose_new(&opts);
	const struct at_compose_stats *stats;
	uint32_t events = 0;
	struct run run;
	pid_t pid;

	must(c);
	ktap_begin("P47_ticks_come_first_after_%s", how == ASYNCTRACE_DISPOSITION_RETAIN ?
		   "retain" : "clear");
	pid = provider();
	open_run(&run, ASYNCTRACE_MODE_STREAMING, 1 << 20, 0);
	for (int i = 0; i < 3; i++) {
		start_with(&run, how);
		write_some(40);
		run_stop(&run);
		compose_all(c, run.rd.fd);
	}
	must(!at_compose_finish(c));
	check_file(&file, &events);
	ktap_check(events >= 3 * 40 * THREADS, "%u events in the file", events);
	stats = at_compose_stats(c);
	must(stats);
	for (uint32_t i = 0; i < stats->nr_providers; i++)
		ktap_check(!stats->providers[i].counts.malformed, "%llu malformed",
			   (unsigned long long)stats->providers[i].counts.malformed);
	at_compose_free(c);
	free(file.words);
	run_terminate(&run);
	run_close(&run);
	leave(pid);
	ktap_end();
}

int main(void)
{
	ktap_plan(6 * 3 + 2 + 8 + 1 + 2);
	sh = shared_memory(sizeof(*sh));
	state = seed();
	if (at_ctl_open(&ctl))
		ktap_bail("%s", at_ctl_error(ctl));
	for (uint32_t mode = ASYNCTRACE_MODE_ONESHOT; mode <= ASYNCTRACE_MODE_STREAMING; mode++) {
		for (uint32_t how = ASYNCTRACE_DISPOSITION_CLEAR_ENTIRE;
		     how <= ASYNCTRACE_DISPOSITION_RETAIN; how++) {
			disposition(mode, how, false);
			disposition(mode, how, true);
		}
	}
	again();
	room();
	law(ASYNCTRACE_MODE_ONESHOT, 0, true, 0);
	law(ASYNCTRACE_MODE_ONESHOT, 100, false, 0);
	law(ASYNCTRACE_MODE_CIRCULAR, 100, true, 0);
	law(ASYNCTRACE_MODE_CIRCULAR, 3000, false, 0);
	law(ASYNCTRACE_MODE_CIRCULAR, 100, true, ASYNCTRACE_SCHED_ALL);
	law(ASYNCTRACE_MODE_STREAMING, 100, false, 0);
	law(ASYNCTRACE_MODE_STREAMING, 3000, true, 0);
	law(ASYNCTRACE_MODE_STREAMING, 100, false, ASYNCTRACE_SCHED_ALL);
	other_session();
	ticks(ASYNCTRACE_DISPOSITION_CLEAR_ENTIRE);
	ticks(ASYNCTRACE_DISPOSITION_RETAIN);
	at_ctl_close(ctl);
	return ktap_exit();
}
