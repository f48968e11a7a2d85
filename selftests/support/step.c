// SPDX-License-Identifier: GPL-2.0
/*
 * The accounting invariant with a writer killed at each instruction
 *
 * The victim is killed at each instruction of each critical section, and at some or all of the
 * other instructions. Each kind of record is written into a sub-buffer with room. A few kinds are
 * also written at the end of a sub-buffer and into a full ring. Then another writer goes on in the
 * same ring.
 *
 * The kernel restarts a critical section at each stop, so the section cannot be stepped through.
 * For stepping, the victim's struct rseq is therefore not registered with the kernel. At each
 * instruction the victim leaves the same in memory as with a registered one. Then each instruction
 * of a section is reached once more with a registered struct rseq and a breakpoint.
 *
 * Without rseq (GLIBC_TUNABLES=glibc.pthread.rseq=0, or no trusted counter) the tests step
 * through the code that holds the fallback ring's lock.
 */
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/rseq.h>
#include <unistd.h>

#include <asynctrace/provider.h>
#include <asynctrace/trace.h>

#include "../../userlib/src/writer/destination.h"
#include "../../userlib/src/writer/internal.h"
#include "borrow.h"
#include "step.h"
#include "stepper.h"

#define MAIN		0	/* the writer that goes on */
/* Victims of a session: each has its own number. */
#define VICTIMS		(NU_WRITERS - 2)
#define STEPS_MAX	20000
/* Limit of victims that miss the breakpoint: a preempted victim takes another path. */
#define MISSES_MAX	1000
#define SUB_WORDS	(ASYNCTRACE_SUBBUF_MIN / 8)

/* Kinds of records: those of nu_emit(), and some without a number. */
enum { KIND_TEXT = NU_SHAPES - 1, KIND_3, KIND_D4, KIND_D5, KIND_D_TEXT, KIND_INLINE, KINDS };
static const char *const kind_names[] = {
	"4 words", "5 words", "5 words, counter", "6 words", "8 words", "text", "3 words",
	"4 words, duration", "5 words, duration", "text, duration", "inline names",
};

enum place { ROOM, EDGE, FULL };
static const char *const place_names[] = { "", ", end", ", full" };

/* The kernel's struct rseq_cs. The linker defines the limits of their section. */
struct section {
	uint32_t version, flags;
	uint64_t start, length, abort;
};

extern const struct section __start___rseq_cs[] __attribute__((weak, visibility("hidden")));
extern const struct section __stop___rseq_cs[] __attribute__((weak, visibility("hidden")));
static bool covered[64];

static struct at_ctl *ctl;
static struct borrow borrow;
static struct run run;
static bool fallback;
static uint64_t known;		/* records that must be accounted for */
static uint32_t main_seq, victims;
static unsigned int kills;

static struct {
	int kind;
	bool warm;
	uint32_t id;
	volatile uint32_t go, done;
} victim;

/* --- the victim ------------------------------------------------------------------ */

/*
 * Writes an event like TRACE_INSTANT(), as if there were no room for its names in the durable
 * ring.
 */
static void write_inline(void)
{
	const uint32_t gate = nu_gate();
	struct at_here_ here;
	uint64_t found;

	if (!gate)
		return;
	here = TRACE_SITE_("law", "plain inline", 0, "i", TA_INT32(1));
	found = at_site_test_(here.site, gate);
	if (found >> 32)
		at_event_(here.site, here.refs,
			  TRACE_FOUND_(TRACE_SITE_INLINE_, (uint32_t)found),
			  ASYNCTRACE_FXT_INSTANT, 0, TRACE_ARGS_(0, "i", TA_INT32(1)), 1);
}

static void emit_kind(uint32_t id, uint32_t seq, int kind)
{
	switch (kind) {
	case KIND_TEXT:
		TRACE_INSTANT("law", "plain", TRACE_SCOPE_THREAD, "n", TA_UINT64(seq), "t",
			      TA_STRING("a text of forty-one bytes, that is of six"));
		break;
	case KIND_3:
		TRACE_INSTANT("law", "plain3", TRACE_SCOPE_THREAD);
		break;
	case KIND_D4: {
		TRACE_DURATION("law", "plain4");
		break;
	}
	case KIND_D5: {
		TRACE_DURATION("law", "plain5", "i", TA_INT32(1));
		break;
	}
	case KIND_D_TEXT: {
		TRACE_DURATION("law", "plain text", "t", TA_STRING("a text"));
		break;
	}
	case KIND_INLINE:
		write_inline();
		break;
	default:
		nu_emit(id, seq, kind);
	}
}

static void victim_fn(void *arg)
{
	(void)arg;
	if (victim.warm)
		emit_kind(victim.id, 0, victim.kind);
	while (!victim.go)
		sched_yield();
	STEPPER_TRAP();
	emit_kind(victim.id, 1, victim.kind);
	victim.done = 1;
	STEPPER_TRAP();
}

static void on_event(const struct rd_event *ev, void *seen)
{
	if (strncmp(ev->name, "plain", 5))
		nu_event(ev, seen);
	else
		((struct nu_seen *)seen)->events++;
}

static pid_t victim_start(int kind, bool warm, enum borrow_rseq rseq)
{
	pid_t pid;

	victim.kind = kind;
	victim.warm = warm;
	victim.id = 1 + victims++;
	victim.go = victim.done = 0;
	pid = borrow_spawn(&borrow, rseq, victim_fn, NULL);
	stepper_seize(pid, &victim.go);
	known += warm;
	return pid;
}

static void victim_kill(pid_t pid)
{
	stepper_kill(pid);
	kills++;
}

/* --- the ring ---------------------------------------------------------------------- */

static const struct asynctrace_ring_header *line(void)
{
	const volatile struct asynctrace_control *c = at_control();
	const uint32_t ring = fallback ? c->nr_rings : (uint32_t)nth_cpu(nr_cpus() - 1);

	return (void *)(at_hot.rw + c->headers + (uint64_t)ring * ASYNCTRACE_LINE);
}

static void write_one(int shape)
{
	/* The gate opens late if both ranges of the provider are still in use. */
	for (int i = 0; !nu_emit(MAIN, main_seq, shape); i++) {
		if (i == 10000)
			ktap_bail("the gate is shut");
		usleep(1000);
	}
	main_seq++;
	known++;
}

/* Returns the words left in the sub-buffer that is being written. */
static uint32_t left(void)
{
	const uint64_t pos = line()->position;
	const uint64_t lin = pos & (fallback ? ASYNCTRACE_FALLBACK_POS_MASK : ASYNCTRACE_POS_MASK);

	return (SUB_WORDS - lin % SUB_WORDS) % SUB_WORDS;
}

static void bring_to(enum place place)
{
	/* By words left: a shape of 4, 5 or 6 words, so that in the end fewer than 3 remain. */
	static const int fill[] = { [3] = 1, [5] = 1, [6] = 3, [7] = 1, [11] = 1 };
	const uint64_t dropped = line()->dropped;

	write_one(0);
	switch (place) {
	case ROOM:
		while (left() < 100)
			write_one(0);
		break;
	case EDGE:
		/* The smallest record has three words. */
		while (left() >= 3)
			write_one(fill[left() < 12 ? left() : 0]);
		break;
	case FULL:
		while (line()->dropped == dropped)
			write_one(0);
		break;
	}
}

static void session_begin(enum place place, int kind)
{
	const struct run_options opts = {
		.name = "step", .ring_size = ASYNCTRACE_RING_MIN, .provider = STEP_PROVIDER,
		.mode = place == FULL ? ASYNCTRACE_MODE_ONESHOT : ASYNCTRACE_MODE_CIRCULAR,
	};

	run_open(&run, ctl, &opts);
	run.rd.event = on_event;
	run_start(&run);
	known = main_seq = victims = 0;
	/* Write one record first, so that each victim's site knows the session. */
	if (kind < KIND_TEXT)
		write_one(kind);
}

static void session_end(uint64_t committed)
{
	run_stop(&run);
	run_drain(&run);
	ktap_check(run_total(&run) == known + committed, "%llu were written, %llu accounted for",
		   (unsigned long long)(known + committed), (unsigned long long)run_total(&run));
	run_check(&run);
	run_terminate(&run);
	run_close(&run);
}

/*
 * Lets other writers write. Returns how many of the victim's records are accounted for, 0 or 1.
 * The test fails if their writing changes that number.
 */
static unsigned int aftermath(uint64_t committed)
{
	const uint64_t left = run_attempted(&run) - known - committed;
	uint64_t total;

	for (int i = 0; i < 3; i++)
		write_one(i);
	total = run_attempted(&run) - known - committed;
	/*
	 * The victim may have been killed with the fallback ring's lock held, so the writes above
	 * were dropped. Release the lock.
	 */
	at_fallback_forked();
	if (left != total || total > 1) {
		ktap_fail("the difference is %lld, and %lld after others wrote", (long long)left,
			  (long long)total);
		return 0;
	}
	return total;
}

/* --- the tests --------------------------------------------------------------------- */

struct kind {
	int kind;
	enum place place;
	bool warm;
	uint32_t steps;
	uint64_t at[STEPS_MAX];	/* address of the next instruction, by step */
	uint32_t enters;	/* first step in at_fallback_put() */
	uint32_t leaves;	/* first step after it */
};

static int section_of(uint64_t rip)
{
	const struct section *s;

	for (s = __start___rseq_cs; s < __stop___rseq_cs; s++)
		if (rip - s->start < s->length)
			return s - __start___rseq_cs;
	return -1;
}

/*
 * After @i steps, is the victim within a critical section, or does it hold the fallback ring's
 * lock?
 */
static bool critical(const struct kind *k, uint32_t i)
{
	return fallback ? i >= k->enters && i < k->leaves : section_of(k->at[i]) >= 0;
}

/* Steps through the whole path once and notes it. */
static void explore(struct kind *k)
{
	enum borrow_rseq rseq = fallback ? BORROW_NONE : BORROW_FAKE;
	const struct section *s;
	uint64_t back = 0;
	pid_t pid;

	session_begin(k->place, k->kind);
	bring_to(k->place);
	pid = victim_start(k->kind, k->warm, rseq);
	bring_to(k->place);
	for (k->steps = 0; !victim.done; k->steps++) {
		must(k->steps < STEPS_MAX - 1);
		k->at[k->steps] = stepper_where(pid);
		if (k->at[k->steps] == (uintptr_t)at_fallback_put) {
			k->enters = k->steps;
			back = stepper_return_address(pid);
		} else if (back && k->at[k->steps] == back) {
			k->leaves = k->steps;
			back = 0;
		}
		stepper_step(pid);
	}
	ktap_check(!fallback || k->leaves, "the victim does not write to the fallback ring");
	k->at[k->steps] = stepper_where(pid);
	for (uint32_t i = 0; i < k->steps; i++) {
		int in = section_of(k->at[i]);

		s = &__start___rseq_cs[in];
		if (in >= 0 && k->at[i + 1] == s->start + s->length)
			covered[in] = true;
	}
	victim_kill(pid);
	ktap_check(aftermath(0) == 1, "the record of a victim that was not killed is not there");
	session_end(1);
}

/* Will a victim be killed after @i steps? */
static bool wanted(const struct kind *k, uint32_t i)
{
	if (k->steps <= amount("KT_STEPS", 130))
		return true;
	if (critical(k, i) || (i && critical(k, i - 1)))
		return true;
	return !(i % (k->steps / 25));
}

/*
 * Runs the victim to the instruction that it reaches after @to steps, without single steps up to
 * the first critical instruction.
 */
static void go_to(const struct kind *k, pid_t pid, uint32_t to)
{
	uint32_t first = 0, n = 0;

	while (first < to && !critical(k, first))
		first++;
	if (first && first < to) {
		ktap_check(stepper_run_to(pid, k->at[first]),
			   "a victim does not come to step %u", first);
		n = first;
	}
	for (; n < to && !victim.done; n++)
		stepper_step(pid);
	ktap_check(n == to, "a victim takes another path than the one before");
}

static void begin_again(const struct kind *k, uint64_t *committed)
{
	session_end(*committed);
	session_begin(k->place, k->kind);
	*committed = 0;
}

static void kill_at_steps(struct kind *k)
{
	enum borrow_rseq rseq = fallback ? BORROW_NONE : BORROW_FAKE;
	uint64_t committed = 0;
	bool before = false;

	session_begin(k->place, k->kind);
	for (uint32_t i = 0; i <= k->steps && !ktap_failed(); i++) {
		bool there;
		pid_t pid;

		if (!wanted(k, i))
			continue;
		if (victims == VICTIMS)
			begin_again(k, &committed);
		bring_to(k->place);
		pid = victim_start(k->kind, k->warm, rseq);
		bring_to(k->place);
		go_to(k, pid, i);
		victim_kill(pid);
		there = aftermath(committed);
		committed += there;
		ktap_check(there || !before,
			   "after %u steps the record is not there, but was earlier", i);
		before = there;
		if (!i)
			ktap_check(!there, "the record is there before the first step");
	}
	ktap_check(before, "the record is not there after the last step");
	session_end(committed);
}

/* Kills a victim with a registered struct rseq once at each instruction of its sections. */
static unsigned int kill_at_breakpoints(struct kind *k)
{
	unsigned int n = 0, misses = 0;
	uint64_t committed = 0;

	session_begin(k->place, k->kind);
	for (uint32_t i = 0; i < k->steps && !ktap_failed(); i++) {
		uint64_t rip = k->at[i];
		uint32_t j = 0;
		bool hit;
		pid_t pid;

		while (k->at[j] != rip)
			j++;
		if (j < i || section_of(rip) < 0)
			continue;
		if (victims == VICTIMS)
			begin_again(k, &committed);
		bring_to(k->place);
		pid = victim_start(k->kind, k->warm, BORROW_RSEQ);
		bring_to(k->place);
		hit = stepper_run_to(pid, rip);
		victim_kill(pid);
		committed += aftermath(committed);
		if (hit)
			n++;
		else if (++misses < MISSES_MAX)
			/* The victim was preempted and took another path. */
			i--;
		else
			ktap_fail("the breakpoint at 0x%llx is never hit", (unsigned long long)rip);
	}
	session_end(committed);
	return n;
}

static void test(int kind, enum place place, bool warm)
{
	static struct kind k;
	unsigned int breakpoints = 0, sections = 0;

	memset(&k, 0, sizeof(k));
	k.kind = kind;
	k.place = place;
	k.warm = warm;
	kills = 0;
	ktap_begin("I8_kill_at_each_step: %s%s%s%s",
		   kind_names[kind], place_names[place], warm ? "" : ", first",
		   fallback ? ", fallback" : "");
	explore(&k);
	kill_at_steps(&k);
	if (!fallback)
		breakpoints = kill_at_breakpoints(&k);
	for (uint32_t i = 0; i < k.steps; i++)
		sections += critical(&k, i);
	ktap_note("%u instructions, %u of them in critical sections; %u kills, %u at breakpoints",
		  k.steps, sections, kills, breakpoints);
	ktap_end();
}

static void test_covered(void)
{
	const long n = __stop___rseq_cs - __start___rseq_cs;

	ktap_begin("I8_all_critical_sections_are_stepped");
	must(n <= (long)(sizeof(covered) / sizeof(*covered)));
	ktap_check(n > 0, "there are no critical sections");
	for (long i = 0; i < n; i++)
		ktap_check(covered[i], "no victim went through the section at 0x%llx",
			   (unsigned long long)__start___rseq_cs[i].start);
	ktap_note("%ld critical sections", n);
	ktap_end();
}

void step_tests(struct at_ctl *with, bool to_fallback, bool few)
{
	ctl = with;
	fallback = to_fallback;
	ktap_plan(few ? 1 : fallback ? 5 : KINDS + 5);
	pin(nth_cpu(nr_cpus() - 1));
	borrow_make(&borrow);
	if (few) {
		test(1, ROOM, true);
	} else if (fallback) {
		test(1, ROOM, true);
		test(KIND_TEXT, ROOM, true);
		test(1, EDGE, true);
		test(1, FULL, true);
		test(1, ROOM, false);
	} else {
		for (int kind = 0; kind < KINDS; kind++)
			test(kind, ROOM, true);
		test(3, EDGE, true);
		test(KIND_TEXT, EDGE, true);
		test(1, FULL, true);
		test(1, ROOM, false);
		test_covered();
	}
}
