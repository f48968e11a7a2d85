// SPDX-License-Identifier: GPL-2.0
/*
 * A writer killed at each instruction of each critical section
 *
 * A child writes until it comes to a section, is stepped k instructions into it,
 * and killed there. What it was about to publish is not there before the last
 * instruction and is there after it; another process goes on in the same ring;
 * nothing is torn, and all is counted. For all sections, and all k.
 *
 * A step is a preemption, after which the kernel would restart the section: so
 * the child's rseq_cs is cleared first. No other thread is on that CPU meanwhile.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <elf.h>

#include "numbers.h"
#include "writer/rseq.h"

#define OWN		64
#define ENOUGH		900	/* records: more than the rings hold */
#define STEPS_MAX	1000
#define VISITS_MAX	20

/* Of those that publish a record; at_cs_put() is inlined twice. */
#if defined(__x86_64__)
#define SECTIONS	12
#else
#define SECTIONS	9
#endif

struct section {
	uint32_t version, flags;
	uint64_t start, length, abort;
};

extern const struct section __start___rseq_cs[], __stop___rseq_cs[];

static struct shared {
	uint64_t written[3];
} *shared;

#if defined(__x86_64__)
typedef struct user_regs_struct regs_t;
#define PC(r)		((r).rip)
#define BREAK_BYTES	1
#define BREAK		0xccul
#define AFTER_BREAK	1
#elif defined(__aarch64__)
typedef struct user_regs_struct regs_t;
#define PC(r)		((r).pc)
#define BREAK_BYTES	4
#define BREAK		0xd4200000ul
#define AFTER_BREAK	0
#endif

static bool get_regs(pid_t pid, regs_t *r)
{
	struct iovec iov = { r, sizeof(*r) };

	return !ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &iov);
}

static bool set_regs(pid_t pid, regs_t *r)
{
	struct iovec iov = { r, sizeof(*r) };

	return !ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &iov);
}

/* In circular mode, go round first: what is entered next holds the oldest records. */
static void writer(bool go_round)
{
	pin(nth_cpu(1));
	for (int i = 0; go_round && i < ENOUGH; i++) {
		nb_write(3, i);
		shared->written[2]++;
	}
	at_thread.gate = 0;	/* so that it has to find its ring first */
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	for (int i = 0; i < ENOUGH; i++) {
		nb_write(0, i);
		shared->written[0]++;
	}
	_exit(0);
}

static bool wait_stopped(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFSTOPPED(status);
}

/* Lets the child run to the section. False: it ended. */
static bool run_to(pid_t pid, const struct section *s)
{
	const unsigned long mask = (1ul << (8 * BREAK_BYTES)) - 1;
	unsigned long word;
	regs_t regs;

	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, pid, s->start, 0);
	ptrace(PTRACE_POKETEXT, pid, s->start, (word & ~mask) | BREAK);
	ptrace(PTRACE_CONT, pid, 0, 0);
	if (!wait_stopped(pid))
		return false;
	ptrace(PTRACE_POKETEXT, pid, s->start, word);
	get_regs(pid, &regs);
	check(PC(regs) == s->start + AFTER_BREAK);
	PC(regs) = s->start;
	set_regs(pid, &regs);
	/* At the same place in a forked child. */
	ptrace(PTRACE_POKEDATA, pid, at_rseq_area() + AT_RSEQ_CS, 0);
	return true;
}

static bool step(pid_t pid)
{
	ptrace(PTRACE_SINGLESTEP, pid, 0, 0);
	return wait_stopped(pid);
}

/*
 * Steps k instructions into the section, at the visit-th time that the child comes
 * there, and kills. Returns the address of the next instruction; 0: the child
 * ended before.
 */
static uint64_t kill_at(const struct section *s, int k, int visit, bool go_round)
{
	regs_t regs;
	pid_t pid;

	pid = fork();
	if (!pid)
		writer(go_round);
	if (!wait_stopped(pid) || !run_to(pid, s))
		return 0;
	while (visit--)
		if (!step(pid) || !run_to(pid, s))
			return 0;
	/* Another visit's record may be shorter: not beyond the section's end. */
	get_regs(pid, &regs);
	for (int i = 0; i < k && PC(regs) != s->start + s->length; i++) {
		if (!step(pid))
			return 0;
		get_regs(pid, &regs);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return PC(regs);
}

static void successor(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		pin(nth_cpu(1));
		for (int i = 0; i < 40; i++) {
			nb_write(1, i);
			shared->written[1]++;
		}
		_exit(0);
	}
	waitpid(pid, &status, 0);
	check(WIFEXITED(status) && !WEXITSTATUS(status));
}

struct tally {
	uint64_t kills;
	uint64_t published;	/* killed after the last instruction, and counted */
};

enum outcome { INSIDE, AT_END, LEFT, NEVER };

/* LEFT: it was left by a branch before so many instructions. */
static enum outcome one(const struct section *s, int k, int visit, uint32_t mode, bool after,
			struct tally *tally)
{
	const struct tape_options o = { .mode = mode, .ring_size = 16384 };
	uint64_t pc, sum, known;
	enum outcome what;
	struct numbers n;
	struct tape t;

	memset(shared, 0, sizeof(*shared));
	nb_init(&n);
	tape_new(&t, &o, nb_take, &n);
	tape_attach(&t);
	tape_gate(&t, true);
	for (int i = 0; i < OWN; i++)
		nb_write(2, i);
	pc = kill_at(s, k, visit, mode == ASYNCTRACE_MODE_CIRCULAR);
	what = !pc ? NEVER : pc == s->start + s->length ? AT_END :
	       pc >= s->start && pc < s->start + s->length ? INSIDE : LEFT;
	/* If nobody comes after, what it left is what is read. */
	if (after)
		successor();
	tape_end(&t, true);
	t.strangers = 0;
	tape_check(&t);
	nb_check(&n);
	sum = t.result.delivered + t.result.overwritten + t.result.dropped;
	known = OWN + shared->written[0] + shared->written[1] + shared->written[2];
	if (what == INSIDE)
		check(sum == known, "at +%llu of %llu: %llu counted, %llu written",
		      (unsigned long long)(pc - s->start), (unsigned long long)s->length,
		      (unsigned long long)sum, (unsigned long long)known);
	else
		check(sum == known || sum == known + 1);
	if (what == INSIDE || what == AT_END)
		tally->kills++;
	if (what == AT_END)
		tally->published += sum == known + 1;
	tape_free(&t);
	nb_free(&n);
	return what;
}

int main(void)
{
	const struct section *s;
	const long only = scale("SECTION", -1);
	int sections = 0, publishing = 0;
	uint64_t kills = 0;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (!at_membarrier_init() || at_rseq_cpu() < 0) {
		skip("critical sections", "no rseq in this process");
		return finish();
	}
	for (uint32_t mode = ASYNCTRACE_MODE_ONESHOT; mode <= ASYNCTRACE_MODE_CIRCULAR; mode++) {
		for (s = __start___rseq_cs; s < __stop___rseq_cs; s++) {
			struct tally tally = { 0 }, alone = { 0 };
			enum outcome what = INSIDE;
			int k, visit = 0, tries = 0;

			if (only >= 0 && s - __start___rseq_cs != only)
				continue;
			for (k = 0; k < STEPS_MAX; k++) {
				what = one(s, k, visit, mode, true, &tally);
				if (what == INSIDE || what == AT_END)
					one(s, k, visit, mode, false, &alone);
				/*
				 * The way there may be another each time: a preemption
				 * restarts sections. So look for a visit that gets as far.
				 */
				if (what == LEFT && tries++ < 5 * VISITS_MAX) {
					visit = (visit + 1) % VISITS_MAX;
					k--;
				} else if (what != INSIDE) {
					break;
				} else {
					tries = 0;
				}
			}
			/* Nothing is dropped in circular mode. */
			if (mode == ASYNCTRACE_MODE_CIRCULAR && what == NEVER)
				continue;
			check(what == AT_END, "section was not reached, or not run through");
			if (mode == ASYNCTRACE_MODE_ONESHOT)
				publishing += tally.published;
			kills += tally.kills + alone.kills;
			sections++;
			done("%s, section %d of %llu bytes: killed at each of %d instructions and after them, %s",
			     mode == ASYNCTRACE_MODE_ONESHOT ? "one-shot" : "circular",
			     (int)(s - __start___rseq_cs), (unsigned long long)s->length, k,
			     tally.published ? "published by the last" : "nothing published");
		}
	}
	check(only >= 0 || publishing >= SECTIONS, "%d", publishing);
	done("%llu kills in %d sections, %d of which publish or count a record",
	     (unsigned long long)kills, sections, publishing);
	return finish();
}
