// SPDX-License-Identifier: GPL-2.0
/*
 * A thread whose binding to a ring was interrupted, and that then loses rseq
 *
 * The kernel then writes RSEQ_CPU_ID_UNINITIALIZED into its struct rseq. No critical
 * section may take that for the CPU of the interrupted binding.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <asynctrace/trace.h>

#include "writer/rseq.h"
#include "tape.h"

#ifndef AT_RSEQ_FEATURE_SIZE
#define AT_RSEQ_FEATURE_SIZE	27
#endif

static volatile uint32_t gate;
static volatile bool interrupted, unregistered;

/* The C library registered either 32 bytes, or the bytes of all fields that the kernel knows. */
static void unregister_rseq(void)
{
	const unsigned int sizes[] = { 32, (getauxval(AT_RSEQ_FEATURE_SIZE) + 31) & ~31u };

	for (int i = 0; i < 2 && !unregistered; i++)
		unregistered = !syscall(SYS_rseq, at_rseq_area(), sizes[i], RSEQ_FLAG_UNREGISTER,
					RSEQ_SIG);
}

static void interrupt(int sig)
{
	(void)sig;
	/* at_cs_bind() has stored the gate, and waits before it stores the CPU. */
	if (interrupted || at_thread.gate != gate)
		return;
	interrupted = true;
	unregister_rseq();
	at_race_delay = 0;
}

static void take(const struct tape_event *ev, void *arg)
{
	uint32_t *rings = arg;

	if (ev->nargs == 1 && ev->args[0].value < 2)
		rings[ev->args[0].value] = ev->ring;
}

static void event(int i)
{
	TRACE_ASYNC_INSTANT("binding", "event", 1, "i", TA_INT32(i));
}

int main(void)
{
	const struct itimerval every_ms = { { 0, 1000 }, { 0, 1000 } }, never = { 0 };
	const struct tape_options o = { .mode = ASYNCTRACE_MODE_ONESHOT, .ring_size = 65536 };
	uint32_t rings[2] = { UINT32_MAX, UINT32_MAX }, fallback;
	struct tape t;

	if (!at_membarrier_init() || at_rseq_cpu() < 0) {
		skip("half_bound_without_rseq_uses_fallback", "no rseq in this process");
		return finish();
	}
	tape_new(&t, &o, take, rings);
	tape_attach(&t);
	tape_gate(&t, true);
	fallback = t.area.shape.nr_rings;
	pin(nth_cpu(0));
	/*
	 * Write an event, so that the CPU's ring has room. Without room, a critical section that
	 * mistakes the CPU would write nothing there, and the test would miss the mistake.
	 */
	event(2);
	at_thread.gate = ASYNCTRACE_GATE_OFF;
	gate = at_gate_now();
	signal(SIGALRM, interrupt);
	at_race_delay = UINT64_MAX;
	setitimer(ITIMER_REAL, &every_ms, NULL);
	event(0);
	setitimer(ITIMER_REAL, &never, NULL);
	check(interrupted && unregistered);
	check(at_rseq_cpu() == (int32_t)RSEQ_CPU_ID_UNINITIALIZED, "%d", at_rseq_cpu());
	event(1);
	tape_end(&t, true);
	tape_check(&t);
	check(rings[0] == fallback, "%u", rings[0]);
	check(rings[1] == fallback, "%u", rings[1]);
	tape_free(&t);
	done("half_bound_without_rseq_uses_fallback");
	return finish();
}
