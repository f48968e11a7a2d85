// SPDX-License-Identifier: GPL-2.0
/*
 * SIGKILL of a provider, the controller or the recorder, in each state of the session. As long as
 * the session exists, what providers have published is delivered. The next session works, and
 * another session that runs at the same time is not affected.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asynctrace/provider.h>

#include "cast.h"
#include "run.h"

#define CGROUP		"/sys/fs/cgroup/death"
#define BYSTANDER	"bystander"
/* number of the bystander as a writer */
#define BYSTANDING	9
/*
 * Limit of the records in one sub-buffer. A reader that is killed right after read(2) loses at most
 * these.
 */
#define IN_FLIGHT	(ASYNCTRACE_SUBBUF_MIN / 32)

static const struct {
	enum cast_role role;
	const char *name;
} victims[] = {
	{ CAST_WRITER, "a provider that writes" },
	{ CAST_OBSERVER, "a provider that waits for changes" },
	{ CAST_CONTROLLER, "the controller" },
	{ CAST_RECORDER, "the recorder" },
};

#define VICTIMS	(sizeof(victims) / sizeof(victims[0]))

static const char *const states[] = { "", "ready", "initialized", "started", "stopped" };

static struct at_ctl *ctl;
static uint32_t rng;
static pid_t pids[CAST_ROLES];

/* State of one round */
static struct {
	struct cast_plan plan;
	enum cast_role victim;
	uint32_t state;		/* state of the session when the participant dies */
	bool anytime;		/* the participant may die on the way to .state */
	bool cut;		/* a stop came while writers wrote */
	uint32_t in_read;	/* a recorder was killed in read(2) */
	uint32_t taken[CAST_WRITERS];	/* events that the second reader got */
} round;

static bool lives(enum cast_role role)
{
	return pids[role];
}

static void say_round(unsigned int n)
{
	ktap_note("round %u: %s, %s, scheduling %u, mode %u, reader %u, %s%s: '%s'", n,
		  victims[n % VICTIMS].name, states[round.state], round.plan.sched,
		  round.plan.mode, round.plan.reading,
		  round.plan.detached ? "detached" : "attached",
		  round.anytime ? ", on the way" : "", cast->report.why);
}

/* --- the bystander: a session beside the rounds ------------------------------------------ */

static struct run beside;
static volatile uint32_t *beside_wrote;
static pid_t beside_pid;

static void beside_begin(void)
{
	const struct at_provider_options opts = { .size = sizeof(opts), .name = BYSTANDER };
	const struct run_options run = {
		.name = BYSTANDER, .mode = ASYNCTRACE_MODE_STREAMING, .ring_size = 256 << 10,
		.provider = BYSTANDER,
	};

	beside_wrote = shared_memory(sizeof(*beside_wrote));
	run_open(&beside, ctl, &run);
	run_start(&beside);
	beside_pid = fork();
	must(beside_pid >= 0);
	if (beside_pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	must(!at_provider_register(&opts));
	while (nu_emit(BYSTANDING, *beside_wrote, -1)) {
		++*beside_wrote;
		sleep_us(CAST_PAUSE);
	}
	_exit(0);
}

static void beside_end(void)
{
	run_stop(&beside);
	reap(beside_pid);
	rd_drain(&beside.rd);
	run_check(&beside);
	ktap_check(beside.seen.of[BYSTANDING] == *beside_wrote && *beside_wrote &&
		   run_total(&beside) == *beside_wrote, "%u of %u events, %llu accounted for",
		   beside.seen.of[BYSTANDING], *beside_wrote,
		   (unsigned long long)run_total(&beside));
	run_terminate(&beside);
	run_close(&beside);
}

/* --- state of the session and counts of its writers ---------------------------------- */

static int take_state(const struct at_session_info *s, void *state)
{
	*(uint32_t *)state = s->state;
	return 0;
}

static uint32_t session_state(void)
{
	uint32_t state = 0;
	int err = at_session_get(ctl, cast->session, take_state, &state);

	must(!err || err == -ENOENT);
	return state;
}

static bool no_session(void *arg)
{
	(void)arg;
	return !session_state();
}

/* Counts by writer */
struct ledger {
	uint64_t committed[CAST_WRITERS], delivered[CAST_WRITERS], dropped[CAST_WRITERS];
	uint64_t lost[CAST_WRITERS];
};

static int add_ring(const struct at_ring_info *r, void *arg)
{
	struct ledger *l = arg;

	for (int i = 0; i < CAST_WRITERS; i++) {
		if (r->provider != cast->provider[i])
			continue;
		l->committed[i] += r->committed;
		l->delivered[i] += r->delivered;
		l->dropped[i] += r->dropped;
		l->lost[i] += r->overwritten + r->cleared;
	}
	return 0;
}

/* --- actions -------------------------------------------------------------------------- */

static void end(enum cast_role role)
{
	if (!lives(role))
		return;
	must(!kill(pids[role], SIGKILL) && waitpid(pids[role], NULL, 0) == pids[role]);
	pids[role] = 0;
}

/* Takes the session to the state @to, by the controller or, if it is dead, by this process. */
static void advance(uint32_t to)
{
	uint32_t state;

	if (lives(CAST_CONTROLLER)) {
		cast->target = to;
		wait_for(&cast->state, to, "the session's state");
		return;
	}
	for (state = session_state(); state < to; state++)
		if (cast_step(ctl, cast->session, state))
			ktap_bail("%s", at_ctl_error(ctl));
}

static uint32_t written_from[CAST_WRITERS];

static bool wrote(void *least)
{
	for (int i = 0; i < CAST_WRITERS; i++)
		if (lives(i) && cast->written[i] < written_from[i] + *(uint32_t *)least &&
		    cast->written[i] < CAST_EVENTS)
			return false;
	return true;
}

/* Waits until each living writer has written @least more events. */
static void have_written(uint32_t least)
{
	ktap_check(soon(wrote, &least), "a writer does not find the gate open");
}

static void note_written(void)
{
	for (int i = 0; i < CAST_WRITERS; i++)
		written_from[i] = cast->written[i];
}

/* Stops the writers: from now on their own counts are final. */
static void hush(void)
{
	cast->hush = 1;
	for (int i = 0; i < CAST_WRITERS; i++)
		if (lives(i))
			wait_for(&cast->silent[i], 1, "a writer");
}

/* --- checks ------------------------------------------------------------------------------ */

/*
 * Are @n events of this writer correct? A killed writer may not have counted its last event. A
 * writer that found the gate closed amid an event has counted one that was not written.
 */
static bool is_count(int writer, uint64_t n)
{
	return n == cast->written[writer] ||
	       (!lives(writer) && n == cast->written[writer] + 1) ||
	       (round.cut && n + 1 == cast->written[writer]);
}

/* Checks the module's accounting of living providers. */
static void judge_ledger(struct ledger *l)
{
	memset(l, 0, sizeof(*l));
	if (at_for_each_ring(ctl, cast->session, add_ring, l))
		ktap_bail("%s", at_ctl_error(ctl));
	for (int i = 0; i < CAST_WRITERS; i++) {
		if (!lives(i))
			continue;
		ktap_check(is_count(i, l->committed[i] + l->dropped[i]),
			   "writer %d: %llu committed and %llu dropped, of %u", i,
			   (unsigned long long)l->committed[i], (unsigned long long)l->dropped[i],
			   cast->written[i]);
	}
}

/*
 * Checks the counts of a recorder that lives and has read to the end. @l: NULL if its session was
 * ended meanwhile.
 */
static void judge_recorder(const struct ledger *l)
{
	const struct cast_report *r = &cast->report;

	ktap_check(!r->malformed && !r->spoiled, "%llu things malformed, %llu spoiled",
		   (unsigned long long)r->malformed, (unsigned long long)r->spoiled);
	ktap_check(r->last, "the recorder was not told the end of each ring");
	for (int i = 0; i < CAST_WRITERS; i++) {
		const struct cast_sums *of = &r->of[i];
		const uint64_t committed = of->delivered + of->overwritten + of->cleared;

		ktap_check(of->parsed == of->delivered && cast->took[i] == of->delivered,
			   "writer %d: %llu delivered, %u there", i,
			   (unsigned long long)of->delivered, cast->took[i]);
		ktap_check(round.plan.mode == ASYNCTRACE_MODE_CIRCULAR || !of->overwritten,
			   "writer %d: %llu overwritten", i, (unsigned long long)of->overwritten);
		if (!lives(i))
			ktap_check(is_count(i, committed + of->dropped),
				   "writer %d, killed: %llu of %u accounted for", i,
				   (unsigned long long)(committed + of->dropped), cast->written[i]);
		else if (l)
			ktap_check(committed == l->committed[i] && of->dropped <= l->dropped[i],
				   "writer %d: %llu of %llu committed, %llu of %llu dropped", i,
				   (unsigned long long)committed,
				   (unsigned long long)l->committed[i],
				   (unsigned long long)of->dropped,
				   (unsigned long long)l->dropped[i]);
		else
			ktap_check(is_count(i, committed + of->dropped),
				   "writer %d: %llu of %u accounted for", i,
				   (unsigned long long)(committed + of->dropped),
				   cast->written[i]);
	}
}

/* A second reader gets the remaining records, and none that the first one had. */
static void take_over(const struct rd_event *ev, void *seen)
{
	uint32_t writer, seq;

	nu_event(ev, seen);
	if (!cast_event(ev, &writer, &seq))
		return;
	round.taken[writer]++;
	ktap_check(!(cast->has[writer][seq / 8] & 1 << seq % 8), "writer %u: %u once more", writer,
		   seq);
}

static void open_second(struct run *run)
{
	const int fd = at_session_open_stream(ctl, cast->session);

	if (fd < 0)
		ktap_bail("%s", at_ctl_error(ctl));
	run->ctl = ctl;
	run->id = cast->session;
	nu_seen_init(&run->seen);
	rd_open(&run->rd, fd, take_over, &run->seen);
	run->rd.second = true;
	rd_drain(&run->rd);
}

/* Checks the counts after the recorder was killed and @run has read the rest. */
static void judge_second(const struct run *run, const struct ledger *l)
{
	uint64_t in_flight = 0;

	run_check(run);
	for (int i = 0; i < CAST_WRITERS; i++) {
		const uint64_t took = cast->took[i] + (uint64_t)round.taken[i];

		ktap_check(took <= l->delivered[i] &&
			   l->delivered[i] + l->lost[i] == l->committed[i],
			   "writer %d: %u and %u taken, %llu delivered, %llu lost, of %llu", i,
			   cast->took[i], round.taken[i], (unsigned long long)l->delivered[i],
			   (unsigned long long)l->lost[i], (unsigned long long)l->committed[i]);
		in_flight += l->delivered[i] - took;
	}
	ktap_check(in_flight <= (round.in_read ? IN_FLIGHT : 0), "%llu events are missing",
		   (unsigned long long)in_flight);
}

/* Runs a session over the remaining providers. */
static void next_session(void)
{
	const struct run_options opts = {
		.name = "next", .mode = ASYNCTRACE_MODE_STREAMING, .ring_size = 256 << 10,
		.sched = round.plan.sched, .provider = CAST "*",
	};
	uint64_t before[CAST_WRITERS];
	struct run run;

	for (int i = 0; i < CAST_WRITERS; i++)
		before[i] = cast->written[i];
	note_written();
	run_open(&run, ctl, &opts);
	run_start(&run);
	cast->hush = 0;
	have_written(20);
	hush();
	run_stop(&run);
	rd_drain(&run.rd);
	for (int i = 0; i < CAST_WRITERS; i++) {
		const struct rd_ring sum = rd_sum(&run.rd, ASYNCTRACE_CHUNK_EVENTS,
						  cast->provider[i]);

		if (lives(i))
			ktap_check(sum.delivered + sum.dropped == cast->written[i] - before[i] &&
				   !sum.overwritten && sum.delivered,
				   "the next session: %llu delivered, %llu dropped of writer %d, of %llu",
				   (unsigned long long)sum.delivered,
				   (unsigned long long)sum.dropped, i,
				   (unsigned long long)(cast->written[i] - before[i]));
	}
	run_check(&run);
	run_terminate(&run);
	run_close(&run);
}

/* --- pages --------------------------------------------------------------------------- */

/*
 * Returns the pages charged to the group that only the module can hold: without slabs, stacks and
 * page tables. Other processes of the group have ended.
 */
static long pages_held(void)
{
	static const char *const others[] = {
		"kernel_stack", "pagetables", "sec_pagetables", "slab",
	};
	char line[128], name[64];
	unsigned long bytes;
	long held = 0;
	FILE *f;

	f = fopen(CGROUP "/memory.stat", "r");
	must(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%63s %lu", name, &bytes) != 2)
			continue;
		if (!strcmp(name, "kernel"))
			held += bytes;
		for (unsigned int i = 0; i < sizeof(others) / sizeof(others[0]); i++)
			if (!strcmp(name, others[i]))
				held -= bytes;
	}
	fclose(f);
	return held / sysconf(_SC_PAGESIZE);
}

/* Largest pages_held() between rounds. 0 at the end: pages_held() does not work. */
static long most_held;

/* Each CPU may cache the charge of a page for small objects. Allow one more page. */
static bool nothing_held(void *arg)
{
	(void)arg;
	return pages_held() <= cpus_online() + 1;
}

static void note_held(void)
{
	const long held = pages_held();

	if (held > most_held)
		most_held = held;
}

/* --- a round --------------------------------------------------------------------------------- */

/*
 * Resets the shared memory for the next round, after hush(). Waits until the living writers have
 * seen that they may write again.
 */
static void forget_round(void)
{
	for (int i = 0; i <= CAST_OBSERVER; i++)
		if (!lives(i))
			cast->provider[i] = 0;
	for (int i = 0; i < CAST_WRITERS; i++)
		cast->written[i] = cast->took[i] = 0;
	memset(cast->has, 0, sizeof(cast->has));
	memset(&cast->report, 0, sizeof(cast->report));
	cast->target = cast->read_on = cast->session = cast->state = 0;
	cast->consuming = cast->in_read = 0;
	cast->hush = 0;
	for (int i = 0; i < CAST_WRITERS; i++)
		if (lives(i))
			wait_for(&cast->silent[i], 0, "a writer");
}

static void cast_all(void)
{
	forget_round();
	for (enum cast_role role = CAST_WRITER; role <= CAST_OBSERVER; role++)
		if (!lives(role))
			pids[role] = cast_fork(role, &round.plan);
	for (enum cast_role role = CAST_WRITER; role <= CAST_OBSERVER; role++)
		while (!cast->provider[role])
			sleep_us(1000);
	pids[CAST_CONTROLLER] = cast_fork(CAST_CONTROLLER, &round.plan);
	wait_for(&cast->state, ASYNCTRACE_SESSION_STATE_READY, "the session's state");
	pids[CAST_RECORDER] = cast_fork(CAST_RECORDER, &round.plan);
	if (round.victim != CAST_RECORDER || !round.anytime)
		wait_for(&cast->consuming, 1, "the recorder");
}

static void kill_victim(void)
{
	note_written();
	if (round.anytime) {
		cast->target = round.state;
	} else {
		/* Write something into the rings before the participant dies. */
		if (round.state >= ASYNCTRACE_SESSION_STATE_STARTED) {
			advance(ASYNCTRACE_SESSION_STATE_STARTED);
			have_written(1 + rnd(&rng, 1500));
		}
		advance(round.state);
	}
	round.cut = round.state == ASYNCTRACE_SESSION_STATE_STOPPED;
	sleep_us(rnd(&rng, 3000));
	end(round.victim);
	round.in_read = cast->in_read;
}

/* Takes the session through its remaining states to its end, and checks the counts. */
static void go_on(void)
{
	struct ledger l;
	struct run second;

	advance(ASYNCTRACE_SESSION_STATE_STARTED > round.state ? ASYNCTRACE_SESSION_STATE_STARTED :
		round.state);
	note_written();
	if (round.state <= ASYNCTRACE_SESSION_STATE_STARTED)
		have_written(20);
	hush();
	advance(ASYNCTRACE_SESSION_STATE_STOPPED);
	if (!lives(CAST_RECORDER)) {
		open_second(&second);
		judge_ledger(&l);
		judge_second(&second, &l);
		advance(ASYNCTRACE_SESSION_STATE_TERMINATED);
		run_close(&second);
	} else {
		judge_ledger(&l);
		advance(ASYNCTRACE_SESSION_STATE_TERMINATED);
		cast->read_on = 1;
		reap(pids[CAST_RECORDER]);
		pids[CAST_RECORDER] = 0;
		judge_recorder(&l);
	}
	if (lives(CAST_CONTROLLER)) {
		reap(pids[CAST_CONTROLLER]);
		pids[CAST_CONTROLLER] = 0;
	}
}

/*
 * Ends a round in which the session ended with its controller. The recorder must have the records
 * that were published before the session ended.
 */
static void end_with_it(void)
{
	if (!soon(no_session, NULL))
		ktap_bail("the session of a dead controller still exists");
	round.cut = true;
	hush();
	cast->read_on = 1;
	reap(pids[CAST_RECORDER]);
	pids[CAST_RECORDER] = 0;
	judge_recorder(NULL);
}

static void play(unsigned int n)
{
	static const uint32_t scheds[] = { ASYNCTRACE_SCHED_OFF, ASYNCTRACE_SCHED_TARGETS };

	memset(&round, 0, sizeof(round));
	round.plan.mode = ASYNCTRACE_MODE_ONESHOT + rnd(&rng, 3);
	round.plan.sched = scheds[rnd(&rng, 2)];
	round.plan.detached = rnd(&rng, 2);
	round.plan.reading = rnd(&rng, CAST_READINGS);
	round.victim = victims[n % VICTIMS].role;
	/* Kill each participant in each state, one after the other. */
	round.state = ASYNCTRACE_SESSION_STATE_READY + n / VICTIMS % 4;
	round.anytime = !rnd(&rng, 4);
	cast_all();
	kill_victim();
	if (round.victim == CAST_CONTROLLER && !round.plan.detached)
		end_with_it();
	else
		go_on();
	next_session();
	rd_drain(&beside.rd);
	note_held();
}

/* --- leftovers after all rounds ---------------------------------------------------- */

static int count_provider(const struct at_provider_info *p, void *n)
{
	*(unsigned int *)n += strcmp(p->name, BYSTANDER) != 0;
	return 0;
}

static int count_session(const struct at_session_info *s, void *n)
{
	*(unsigned int *)n += strcmp(s->name, BYSTANDER) != 0;
	return 0;
}

static void test_leftovers(void)
{
	unsigned int providers = 0, sessions = 0;

	ktap_begin("deaths_leave_nothing_and_harm_no_session");
	beside_end();
	for (int role = 0; role < CAST_ROLES; role++)
		end(role);
	must(at_for_each_provider(ctl, count_provider, &providers) >= 0);
	must(at_for_each_session(ctl, count_session, &sessions) >= 0);
	ktap_check(!providers && !sessions, "%u providers, %u sessions", providers, sessions);
	ktap_check(soon(nothing_held, NULL), "%ld pages are still held", pages_held());
	ktap_check(most_held > 0, "pages are not counted");
	ktap_note("at most %ld pages were held", most_held);
	ktap_end();
}

/*
 * Moves this process into the group once, because entering a group waits for a grace period. All
 * later processes begin in the group.
 */
static void join_group(void)
{
	write_to("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	must(!mkdir(CGROUP, 0755) || errno == EEXIST);
	write_to(CGROUP "/cgroup.procs", "0");
}

int main(void)
{
	const unsigned int rounds = amount("KT_DEATHS", 30);

	ktap_plan(2);
	rng = seed();
	join_group();
	if (at_ctl_open(&ctl))
		ktap_bail("%s", at_ctl_error(ctl));
	cast_init();
	beside_begin();

	ktap_begin("deaths_in_each_state_%u_rounds", rounds);
	for (unsigned int n = 0; n < rounds && !ktap_failed(); n++) {
		play(n);
		if (ktap_failed())
			say_round(n);
		else if ((n + 1) % 100 == 0)
			ktap_note("%u rounds", n + 1);
	}
	ktap_end();
	test_leftovers();
	at_ctl_close(ctl);
	return ktap_exit();
}
