// SPDX-License-Identifier: LGPL-2.1-or-later
/* State that a thread learns once per run: its slot and its path. Reading the run's clock. */
#include <errno.h>
#include <sys/prctl.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "rseq.h"
#include "sys.h"

/* Absent in C libraries before 2.35. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

void at_rseq_init(void)
{
	const ptrdiff_t rseq = &__rseq_size && &__rseq_offset && __rseq_size ? __rseq_offset : 0;

	if (at_hot.rseq != rseq)
		at_hot.rseq = rseq;
}

/* Does PR_SET_TSC forbid this thread to read the counter? Reading would then be fatal. */
static bool counter_forbidden(void)
{
#ifdef __x86_64__
	int mode = PR_TSC_ENABLE;

	if (at_sys_prctl(PR_GET_TSC, &mode))
		return false;
	return mode == PR_TSC_SIGSEGV;
#else
	return false;
#endif
}

/* Caches the answer for each thread, because PR_GET_TSC is a system call. */
static bool counter_known_forbidden(void)
{
	/* 0: not asked yet; otherwise 1 + the answer */
	static __thread unsigned char known __attribute__((tls_model("initial-exec")));

	if (!known)
		known = 1 + counter_forbidden();
	return known == 2;
}

static void learn_slot(uint32_t epoch)
{
	struct at_thread *t = &at_thread;
	const bool forbidden = counter_forbidden();
	const bool inprocess = at_backend() == ASYNCTRACE_BACKEND_INPROCESS;
	int slot = inprocess ? at_inproc_slot() : at_module_slot();
	enum at_path path = ASYNCTRACE_PATH_FALLBACK;
	enum at_reason reason = ASYNCTRACE_REASON_OK;
	uint64_t signals;

	if (slot <= 0) {
		path = ASYNCTRACE_PATH_NONE;
		reason = ASYNCTRACE_REASON_NO_SLOT;
	} else if (forbidden && at_control()->clock == ASYNCTRACE_CLOCK_COUNTER) {
		path = ASYNCTRACE_PATH_NONE;
		reason = ASYNCTRACE_REASON_TSC_FORBIDDEN;
	} else if (at_control()->clock != ASYNCTRACE_CLOCK_COUNTER) {
		reason = ASYNCTRACE_REASON_CLOCK;
	} else if (!at_hot.rseq || at_rseq_cpu() < 0) {
		reason = ASYNCTRACE_REASON_NO_RSEQ;
	} else {
		path = ASYNCTRACE_PATH_RSEQ;
	}
	/*
	 * A signal handler may have learned a later epoch since @epoch was read. Block signals, so
	 * that a handler sees all of these fields or none, and invalidate the handler's binding.
	 */
	at_signals_block(&signals);
	t->raw_clock = forbidden;
	t->path = path;
	t->reason = reason;
	t->rseq = at_hot.rseq ? at_rseq_area() : NULL;
	t->slot = slot > 0 ? slot : 0;
	t->epoch = epoch;
	t->gate = ASYNCTRACE_GATE_OFF;
	at_signals_restore(&signals);
}

AT_COLD bool at_thread_learn(uint32_t gate)
{
	struct at_thread *t = &at_thread;
	const uint32_t epoch = at_epoch();
	const int saved = errno;

	if (t->epoch != epoch)
		learn_slot(epoch);
	else if (t->path != ASYNCTRACE_PATH_NONE)
		/* The next run may have another clock. */
		t->path = at_control()->clock == ASYNCTRACE_CLOCK_COUNTER && at_hot.rseq &&
			  at_rseq_cpu() >= 0 ? ASYNCTRACE_PATH_RSEQ : ASYNCTRACE_PATH_FALLBACK;
	errno = saved;
	if (!at_gate_still(gate))
		return false;
	return true;
}

uint64_t at_clock(uint64_t boottime_offset, uint32_t clock)
{
	struct timespec ts;

	if (clock == ASYNCTRACE_CLOCK_COUNTER)
		return at_counter();
	if (at_thread.raw_clock)
		syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &ts);
	else
		clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec - boottime_offset;
}

AT_PUBLIC uint64_t at_ticks_(uint32_t gate)
{
	const volatile struct asynctrace_control *c = at_control();
	bool cut;

	if (likely(at_thread.gate == gate))
		return at_counter();
	while (!at_thread_learn(gate)) {
		gate = at_gate_same_run(gate, &cut);
		/* at_scope_end_() notices the same change and counts the record. */
		if (gate == ASYNCTRACE_GATE_OFF || gate == ASYNCTRACE_GATE_ATTACH || cut)
			return 0;
	}
	if (at_thread.path == ASYNCTRACE_PATH_NONE)
		return 0;
	return at_clock(c->clock_offset, c->clock);
}

AT_PUBLIC uint64_t at_ticks(void)
{
	const volatile struct asynctrace_control *c = at_control();
	uint32_t gate = at_gate_now();
	const int saved = errno;
	bool forbidden;

	if (likely(gate != ASYNCTRACE_GATE_OFF && at_thread.gate == gate))
		return at_counter();
	/* Only a registered process knows the clock of the module's sessions. */
	if (gate == ASYNCTRACE_GATE_ATTACH && !at_library_mixed())
		at_attach();
	forbidden = counter_known_forbidden();
	errno = saved;
	if (c->clock == ASYNCTRACE_CLOCK_COUNTER)
		return forbidden ? 0 : at_counter();
	/* at_clock() must then call the kernel, because the vDSO also reads the counter. */
	if (forbidden)
		at_thread.raw_clock = true;
	return at_clock(c->clock_offset, c->clock);
}
