// SPDX-License-Identifier: GPL-2.0
/*
 * Tests the categories that a session records: of all providers or of one, and for one run or for
 * all runs. Updates the categories while the session runs: no event may get lost, doubled or
 * miscounted.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asynctrace/provider.h>
#include <asynctrace/trace.h>

#include "run.h"

#define THREADS		4
/* The signal handler of thread i is writer HANDLER(i). */
#define HANDLER(i)	(THREADS + (i))

static struct shared {
	volatile uint32_t leave, go, done, ready;	/* @go and @done count turns */
	volatile uint32_t running;
	volatile uint32_t leisure;	/* microseconds of sleep between some events */
	volatile uint32_t written[2 * THREADS];
	volatile uint32_t durations[2 * THREADS];
} *sh;

static struct at_ctl *ctl;

/* --- a provider that writes one event of each category -------------------------------- */

static const char *const categories[] = { "net", "fs", "fs:read", "fs:write", "db", "-odd", "" };

#define CATEGORIES	(sizeof(categories) / sizeof(*categories))

/*
 * Writes an event of each category, with the category as its name. Returns a bit for each that was
 * on.
 */
static uint32_t write_each(void)
{
	uint32_t on = 0;

#define EACH(i, cat) \
	do { \
		TRACE_INSTANT(cat, "of " cat, TRACE_SCOPE_THREAD); \
		on |= (uint32_t)TRACE_CATEGORY_ENABLED(cat) << (i); \
	} while (0)
	EACH(0, "net");
	EACH(1, "fs");
	EACH(2, "fs:read");
	EACH(3, "fs:write");
	EACH(4, "db");
	EACH(5, "-odd");
	EACH(6, "");
#undef EACH
	return on;
}

static pid_t provider(struct shared *s, const char *name)
{
	const struct at_provider_options opts = { .size = sizeof(opts), .name = name };
	pid_t pid = fork();

	must(pid >= 0);
	if (pid) {
		wait_for(&s->ready, 1, "ready");
		return pid;
	}
	must(!at_provider_register(&opts));
	s->ready = 1;
	for (uint32_t turn = 0; !s->leave; ) {
		/* After a clear the gate may open a moment later. */
		if (s->go == turn || (s->running && !nu_gate())) {
			sleep_us(100);
			continue;
		}
		turn = s->go;
		s->written[0] = write_each();
		s->done = turn;
	}
	_exit(0);
}

/*
 * Makes the provider write an event of each category. Returns the categories that its sites call
 * enabled.
 */
static uint32_t turn(struct shared *s)
{
	s->go++;
	wait_for(&s->done, s->go, "a turn");
	return s->written[0];
}

static uint32_t seen[2][CATEGORIES];

static void event(const struct rd_event *ev, void *rd)
{
	const int beta = !strcmp(rd_provider(rd, ev->provider)->name, "beta");

	for (uint32_t i = 0; i < CATEGORIES; i++)
		if (!strncmp(ev->name, "of ", 3) && !strcmp(ev->name + 3, categories[i]))
			seen[beta][i]++;
}

/* --- patterns ------------------------------------------------------------------------------ */

struct wish {
	const char *own[4];
	const char *additional[4];
	uint32_t alpha, beta;	/* NET, ...: what these providers must have enabled */
};

#define NET	(1 << 0)
#define FS	(1 << 1)
#define READ	(1 << 2)
#define WRITE	(1 << 3)
#define DB	(1 << 4)
#define ODD	(1 << 5)
#define ALL	(NET | FS | READ | WRITE | DB | ODD)

static size_t count_of(const char *const *list)
{
	size_t n = 0;

	while (n < 4 && list[n])
		n++;
	return n;
}

static void expect(const char *what, uint32_t is, uint32_t should)
{
	ktap_check(is == should, "%s: 0x%x are on, not 0x%x", what, is, should);
}

static uint32_t session(const char *const *own)
{
	const struct at_session_options opts = {
		.size = sizeof(opts), .name = "wishes", .mode = ASYNCTRACE_MODE_CIRCULAR,
		.ring_size = 1 << 20, .nr_categories = count_of(own), .categories = own,
	};
	uint32_t id;

	if (at_session_create(ctl, &opts, &id) || at_session_init(ctl, id))
		ktap_bail("%s", at_ctl_error(ctl));
	return id;
}

static void start(uint32_t id, const char *const *additional, uint32_t disposition)
{
	const struct at_start_options opts = {
		.size = sizeof(opts), .disposition = disposition,
		.nr_additional = count_of(additional), .additional = additional,
	};

	if (at_session_start(ctl, id, &opts))
		ktap_bail("%s", at_ctl_error(ctl));
	sh[0].running = sh[1].running = 1;
}

static void stop(uint32_t id)
{
	sh[0].running = sh[1].running = 0;
	if (at_session_stop(ctl, id))
		ktap_bail("%s", at_ctl_error(ctl));
}

static void wishes(void)
{
	static const struct wish table[] = {
		{ { NULL }, { NULL }, ALL, ALL },
		{ { "net" }, { NULL }, NET, NET },
		{ { "net" }, { "fs*" }, NET | FS | READ | WRITE, NET | FS | READ | WRITE },
		{ { NULL }, { "fs" }, ALL, ALL },
		{ { "fs*", "-fs:read" }, { NULL }, FS | WRITE, FS | WRITE },
		{ { "-fs*" }, { NULL }, NET | DB | ODD, NET | DB | ODD },
		{ { "alpha/net", "beta/fs" }, { NULL }, NET, FS },
		{ { "alpha/net" }, { NULL }, NET, 0 },
		{ { "alpha/net" }, { "b*/db" }, NET, DB },
		{ { "alpha/*" }, { "-beta/*" }, ALL, 0 },
		{ { "fs*", "-be*/fs" }, { NULL }, FS | READ | WRITE, READ | WRITE },
		{ { "net" }, { "-net" }, 0, 0 },
		{ { "gamma/net" }, { NULL }, 0, 0 },
	};
	static const char *const none[4];

	for (unsigned int i = 0; i < sizeof(table) / sizeof(*table); i++) {
		const struct wish *w = &table[i];
		uint32_t id = session(w->own), own[2];

		start(id, w->additional, 0);
		expect("alpha, P31 P32", turn(&sh[0]), w->alpha);
		expect("beta, P31 P32", turn(&sh[1]), w->beta);
		stop(id);
		/*
		 * P33: after a clear, the sites find out again whether they are enabled. P32: the
		 * additional categories of the last run are no longer recorded.
		 */
		start(id, none, ASYNCTRACE_DISPOSITION_CLEAR_ENTIRE);
		own[0] = turn(&sh[0]);
		own[1] = turn(&sh[1]);
		stop(id);
		if (!w->additional[0]) {
			expect("alpha, once more", own[0], w->alpha);
			expect("beta, once more", own[1], w->beta);
		} else if (w->own[0] && !strcmp(w->own[0], "net")) {
			expect("alpha, without additional ones", own[0], NET);
		}
		if (ktap_failed())
			ktap_note("row %u", i);
		if (at_session_destroy(ctl, id))
			ktap_bail("%s", at_ctl_error(ctl));
	}
}

/* Each event of an enabled category is recorded, also if updates change the categories. */
static void updates(void)
{
	static const char *const none[4], *const net[] = { "net", NULL };
	static const struct {
		const char *list[4];
		uint32_t alpha, beta;
	} table[] = {
		{ { "fs*" }, FS | READ | WRITE, FS | READ | WRITE },
		{ { "beta/db" }, 0, DB },
		{ { NULL }, ALL, ALL },
		{ { "-*" }, 0, 0 },
		{ { "net", "alpha/db" }, NET | DB, NET },
	};
	uint32_t want[2][CATEGORIES] = {}, id = session(net);
	struct rd rd;
	int fd;

	memset(seen, 0, sizeof(seen));
	fd = at_session_open_stream(ctl, id);
	if (fd < 0)
		ktap_bail("%s", at_ctl_error(ctl));
	rd_open(&rd, fd, event, &rd);
	start(id, none, 0);
	for (unsigned int k = 0; k < 3; k++) {
		for (unsigned int i = 0; i < sizeof(table) / sizeof(*table); i++) {
			if (at_session_update(ctl, id, count_of(table[i].list), table[i].list))
				ktap_bail("%s", at_ctl_error(ctl));
			expect("alpha, updated", turn(&sh[0]), table[i].alpha);
			expect("beta, updated", turn(&sh[1]), table[i].beta);
			for (uint32_t c = 0; c < CATEGORIES; c++) {
				want[0][c] += table[i].alpha >> c & 1;
				want[1][c] += table[i].beta >> c & 1;
			}
		}
	}
	/* An update of a stopped session takes effect at the next start. */
	stop(id);
	if (at_session_update(ctl, id, 1, (const char *const[]){ "db" }))
		ktap_bail("%s", at_ctl_error(ctl));
	start(id, none, 0);
	expect("alpha, updated while stopped", turn(&sh[0]), DB);
	want[0][4]++;
	stop(id);
	rd_drain(&rd);
	for (uint32_t c = 0; c < CATEGORIES; c++)
		ktap_check(seen[0][c] == want[0][c] && seen[1][c] == want[1][c],
			   "'%s': %u of alpha, not %u; %u of beta, not %u", categories[c],
			   seen[0][c], want[0][c], seen[1][c], want[1][c]);
	ktap_check(!rd.malformed, "%s", rd.first);
	rd_close(&rd);
	if (at_session_destroy(ctl, id))
		ktap_bail("%s", at_ctl_error(ctl));
}

/* --- P30: limits ----------------------------------------------------------------------------- */

static void refused(int err, int should, const char *word)
{
	ktap_check(err == should && strstr(at_ctl_error(ctl), word), "%d, not %d: %s", err, should,
		   at_ctl_error(ctl));
}

static void limits(void)
{
	static char text[101][ASYNCTRACE_CATEGORY_MAX + 2];
	static const char *list[101], *const one[] = { "a" };
	static const char *const wrong[] = { "", "-", "a/", "/a", "a/-b" };
	struct at_session_options opts = {
		.size = sizeof(opts), .name = "limits", .mode = ASYNCTRACE_MODE_CIRCULAR,
		.ring_size = 1 << 20, .categories = list,
	};
	struct at_start_options how = { .size = sizeof(how), .additional = list };
	uint32_t id = 0;

	for (int i = 0; i < 101; i++) {
		memset(text[i], 'a' + i % 26, ASYNCTRACE_CATEGORY_MAX);
		list[i] = text[i];
	}
	opts.nr_categories = 100;
	if (at_session_create(ctl, &opts, &id) || at_session_init(ctl, id))
		ktap_bail("%s", at_ctl_error(ctl));
	refused(at_session_update(ctl, id, 101, list), -ERANGE, "category");
	/* 100 categories of the session and 100 additional ones */
	how.nr_additional = 100;
	ktap_check(!at_session_start(ctl, id, &how), "%s", at_ctl_error(ctl));
	ktap_check(!at_session_update(ctl, id, 100, list), "%s", at_ctl_error(ctl));
	text[3][ASYNCTRACE_CATEGORY_MAX] = 'x';
	refused(at_session_update(ctl, id, 4, list), -ERANGE, "category");
	ktap_check(!at_session_stop(ctl, id), "%s", at_ctl_error(ctl));
	how.nr_additional = 4;
	refused(at_session_start(ctl, id, &how), -ERANGE, "additional");
	for (unsigned int i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		list[0] = wrong[i];
		how.nr_additional = 1;
		refused(at_session_update(ctl, id, 1, list), -EINVAL, "category");
		refused(at_session_start(ctl, id, &how), -EINVAL, "additional");
	}
	ktap_check(!at_session_destroy(ctl, id), "%s", at_ctl_error(ctl));
	ktap_check(at_session_update(ctl, id, 1, one) == -ENOENT, "updated a session that does not exist");
}

/* P12, P2, P3: a refused or ignored request changes nothing. */
static void ignored(void)
{
	static const char *const net[] = { "net", NULL }, *const db[] = { "db", NULL };
	const struct at_session_options opts = {
		.size = sizeof(opts), .name = "ignored", .mode = ASYNCTRACE_MODE_CIRCULAR,
		.ring_size = 1 << 20, .nr_categories = 1, .categories = net,
	};
	const struct at_start_options how = {
		.size = sizeof(how), .nr_additional = 1, .additional = db,
	};
	uint32_t id;

	if (at_session_create(ctl, &opts, &id))
		ktap_bail("%s", at_ctl_error(ctl));
	refused(at_session_start(ctl, id, &how), -EINVAL, "initialized");
	ktap_check(!at_session_init(ctl, id) && !at_session_init(ctl, id), "%s", at_ctl_error(ctl));
	start(id, (const char *const[4]){ NULL }, 0);
	expect("P12: a start before the init", turn(&sh[0]), NET);
	start(id, (const char *const[4]){ "db" }, ASYNCTRACE_DISPOSITION_CLEAR_ENTIRE);
	expect("P3: a second start", turn(&sh[0]), NET);
	stop(id);
	if (at_session_destroy(ctl, id))
		ktap_bail("%s", at_ctl_error(ctl));
}

/* --- accounting during a storm of updates ------------------------------------------------- */

static __thread struct {
	volatile bool writing;
	uint32_t id;
} self;

/*
 * Writes events of the category "law", numbered by the writer. Every update of the storm keeps
 * "law" enabled, so each of these events must be accounted for. Only "flip" is switched on and off.
 */
static void write_one(uint32_t id)
{
	const uint64_t n = (uint64_t)id << 32 | sh->written[id];

	if (sh->written[id] % 8 == 7) {
		TRACE_DURATION("law", "duration", "n", TA_UINT64(n));
		sh->durations[id]++;
	}
	TRACE_INSTANT("flip", "now and then", TRACE_SCOPE_THREAD);
	TRACE_ASYNC_INSTANT("law", "w4", n);
	sh->written[id]++;
}

static void on_alarm(int sig)
{
	(void)sig;
	if (self.writing)
		write_one(HANDLER(self.id));
}

static void *storm_writer(void *arg)
{
	static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
	const uint32_t id = (uintptr_t)arg;
	const int cpus = cpus_online();
	uint32_t rng = id;

	self.id = id;
	if (id & 1)
		pin(cpus - 1);
	wait_for(&sh->go, 1, "go");
	self.writing = !sh->leisure;
	while (!sh->leave) {
		/*
		 * The fallback ring drops an event if another thread holds the ring's lock. Take
		 * turns if no event may get lost.
		 */
		if (sh->leisure)
			pthread_mutex_lock(&turn);
		write_one(id);
		if (sh->leisure)
			pthread_mutex_unlock(&turn);
		if (!(id & 1) && !rnd(&rng, 500))
			pin(rnd(&rng, cpus));
		if (sh->leisure && !rnd(&rng, 8))
			sleep_us(sh->leisure);
	}
	self.writing = false;
	return NULL;
}

static pid_t storm_provider(void)
{
	const struct at_provider_options opts = { .size = sizeof(opts), .name = "storm" };
	const struct itimerval every = { { 0, 1500 }, { 0, 1500 } }, never = {};
	struct sigaction sa = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	pthread_t thread[THREADS];
	pid_t pid = fork();

	must(pid >= 0);
	if (pid)
		return pid;
	must(!at_provider_register(&opts));
	must(!sigaction(SIGALRM, &sa, NULL));
	for (uintptr_t i = 0; i < THREADS; i++)
		must(!pthread_create(&thread[i], NULL, storm_writer, (void *)i));
	sh->ready = 1;
	wait_for(&sh->go, 1, "go");
	must(!setitimer(ITIMER_REAL, &every, NULL));
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	must(!setitimer(ITIMER_REAL, &never, NULL));
	sh->done = 1;
	/* The test must stop the session before the provider ends. */
	wait_for(&sh->running, 2, "the end");
	_exit(0);
}

static uint64_t flips, durations;

static void storm_event(const struct rd_event *ev, void *arg)
{
	if (!strcmp(ev->name, "now and then"))
		flips++;
	else if (!strcmp(ev->name, "duration"))
		durations++;
	else
		nu_event(ev, arg);
}

/*
 * Updates the session again and again while threads write. @us: microseconds that the reader and
 * the writers sleep, so that nothing is lost; 0: they do not sleep. Attempts of the category "flip"
 * are not counted. Therefore no update enables "flip" if events may be lost.
 */
static void storm(uint32_t mode, const char *how, uint64_t ring_size, unsigned int us)
{
	static const char *const lists[][3] = {
		{ "law" }, { "law", "flip" }, { "-flip" }, { "storm/la*", "other/*" }, { "law", "-f*" },
	};
	const struct run_options opts = {
		.name = "storm", .mode = mode, .ring_size = ring_size, .provider = "storm",
	};
	const unsigned int updates = amount("KT_UPDATES", 2000);
	uint64_t written = 0;
	struct rd_ring sum;
	struct run run;
	pid_t pid;

	ktap_begin("P32_storm_of_updates_%s", how);
	memset(sh, 0, 2 * sizeof(*sh));
	flips = durations = 0;
	sh->leisure = us;
	pid = storm_provider();
	wait_for(&sh->ready, 1, "ready");
	run_open(&run, ctl, &opts);
	run.rd.event = storm_event;
	if (at_session_update(ctl, run.id, 1, lists[0]))
		ktap_bail("%s", at_ctl_error(ctl));
	run_start(&run);
	sh->go = 1;
	for (unsigned int i = 0; i < updates; i++) {
		const unsigned int k = us ? i % 5 : (i % 4 ? i % 4 + 1 : 0);

		if (at_session_update(ctl, run.id, 1 + !!lists[k][1], lists[k]))
			ktap_bail("%s", at_ctl_error(ctl));
		if (us) {
			rd_read(&run.rd, 50);
			if (i % 4 == 0)
				sleep_us(us);
		} else if (i % 16 == 0) {
			sleep_us(50);
		}
	}
	sh->leave = 1;
	while (!sh->done) {
		if (us)
			rd_read(&run.rd, 50);
		sleep_us(100);
	}
	run_stop(&run);
	sh->running = 2;
	rd_drain(&run.rd);
	for (int i = 0; i < 2 * THREADS; i++)
		written += sh->written[i] + sh->durations[i];
	sum = rd_sum(&run.rd, ASYNCTRACE_CHUNK_EVENTS, 0);
	ktap_note("%llu written and some flips = %llu delivered, with %llu flips, + %llu overwritten + %llu dropped",
		  (unsigned long long)written, (unsigned long long)sum.delivered,
		  (unsigned long long)flips, (unsigned long long)sum.overwritten,
		  (unsigned long long)sum.dropped);
	if (us)
		ktap_check(sum.delivered == written + flips && !sum.dropped && flips,
			   "the difference is %lld, %llu dropped, %llu flips",
			   (long long)(written + flips - sum.delivered),
			   (unsigned long long)sum.dropped, (unsigned long long)flips);
	else
		ktap_check(run_total(&run) == written && !flips, "the difference is %lld, %llu flips",
			   (long long)(written - run_total(&run)), (unsigned long long)flips);
	ktap_check(run.seen.events + flips + durations == sum.delivered, "%llu delivered, %llu seen",
		   (unsigned long long)sum.delivered,
		   (unsigned long long)(run.seen.events + flips + durations));
	ktap_check(written, "no event was written");
	run_check(&run);
	run_terminate(&run);
	run_close(&run);
	reap(pid);
	ktap_end();
}

int main(void)
{
	pid_t alpha, beta;

	ktap_plan(4 + 4);
	sh = shared_memory(2 * sizeof(*sh));
	if (at_ctl_open(&ctl))
		ktap_bail("%s", at_ctl_error(ctl));
	alpha = provider(&sh[0], "alpha");
	beta = provider(&sh[1], "beta");

	ktap_begin("P31_P32_P33_patterns_select_categories");
	wishes();
	ktap_end();
	ktap_begin("P32_P33_updates_take_effect_at_once");
	updates();
	ktap_end();
	ktap_begin("P2_P3_P12_refused_requests_change_nothing");
	ignored();
	ktap_end();
	ktap_begin("P30_100_patterns_of_100_bytes_and_no_more");
	limits();
	ktap_end();
	sh[0].leave = sh[1].leave = 1;
	reap(alpha);
	reap(beta);

	storm(ASYNCTRACE_MODE_ONESHOT, "one-shot", 64 << 10, 0);
	storm(ASYNCTRACE_MODE_CIRCULAR, "circular", 16 << 10, 0);
	storm(ASYNCTRACE_MODE_STREAMING, "streaming", 16 << 10, 0);
	storm(ASYNCTRACE_MODE_STREAMING, "nothing is lost", 4 << 20, 100);
	at_ctl_close(ctl);
	return ktap_exit();
}
