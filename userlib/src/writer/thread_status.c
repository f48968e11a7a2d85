// SPDX-License-Identifier: LGPL-2.1-or-later
/* Diagnosis: tells where the records of a thread go, and why. */
#include <errno.h>

#include "internal.h"

AT_PUBLIC int at_status(struct at_status_info *status)
{
	const volatile struct asynctrace_control *c = at_control();
	struct at_status_info st = { .size = sizeof(st) };
	uint32_t gate = at_gate_now();

	if (!status || status->size < sizeof(st.size))
		return -EINVAL;
	/* The gate is that of another copy: it says nothing about this copy. */
	if (at_library_mixed()) {
		st.reason = ASYNCTRACE_REASON_MIXED;
		goto out;
	}
	st.reason = at_backend_reason(&st.error);
	if (gate == ASYNCTRACE_GATE_ATTACH && st.reason == ASYNCTRACE_REASON_UNREGISTERED &&
	    at_backend_held())
		st.reason = ASYNCTRACE_REASON_REGISTERING;
	st.backend = at_backend();
	st.recording = gate != ASYNCTRACE_GATE_OFF && gate != ASYNCTRACE_GATE_ATTACH;
	if (st.backend != ASYNCTRACE_BACKEND_NONE) {
		st.provider = c->provider;
		st.clock = c->clock;
		at_names_count(&st.names, &st.names_refused);
	}
	/* Learn how this thread writes records, as its first record would. */
	if (st.recording && at_thread_learn(gate)) {
		st.path = at_thread.path;
		if (at_thread.reason != ASYNCTRACE_REASON_OK)
			st.reason = at_thread.reason;
	}
	/*
	 * at_trace_stop() leaves ASYNCTRACE_REASON_OK, which is wrong for a thread that is not
	 * recorded.
	 */
	if (st.path == ASYNCTRACE_PATH_NONE && st.reason == ASYNCTRACE_REASON_OK)
		st.reason = ASYNCTRACE_REASON_NOT_RECORDED;
out:
	for (uint32_t i = sizeof(st.size); i < sizeof(st) && i < status->size; i++)
		((char *)status)[i] = ((char *)&st)[i];
	return 0;
}

AT_PUBLIC const char *at_reason_text(enum at_reason reason)
{
	switch (reason) {
	case ASYNCTRACE_REASON_OK:
		return "records take the fast path";
	case ASYNCTRACE_REASON_UNREGISTERED:
		return "not registered: nothing was traced yet, or at_provider_unregister()";
	case ASYNCTRACE_REASON_NO_MODULE:
		return "/dev/asynctrace cannot be opened: load the module, or see to its permissions; without the module, a program started with ASYNCTRACE_OUT=FILE writes its own trace";
	case ASYNCTRACE_REASON_ABI:
		return "library and module are of different versions: install both from one release";
	case ASYNCTRACE_REASON_REFUSED:
		return "the module refused to register this process";
	case ASYNCTRACE_REASON_NO_RSEQ:
		return "this thread has no rseq (glibc.pthread.rseq=0, a C library before 2.35, valgrind): records go through the fallback ring";
	case ASYNCTRACE_REASON_CLOCK:
		return "the machine's counter is not trusted: records carry CLOCK_BOOTTIME and go through the fallback ring";
	case ASYNCTRACE_REASON_TSC_FORBIDDEN:
		return "PR_SET_TSC forbids this thread to read the counter: its records are dropped";
	case ASYNCTRACE_REASON_NO_MEMBARRIER:
		return "membarrier(2) cannot restart sequences here: records go through the fallback ring";
	case ASYNCTRACE_REASON_FORKED:
		return "a forked child is not part of its parent's trace: with %p in ASYNCTRACE_OUT, each child writes its own";
	case ASYNCTRACE_REASON_MIXED:
		return "this plug-in has its own copy of the library, and the program's gate (-Bsymbolic-functions): link both with the shared library";
	case ASYNCTRACE_REASON_NO_SLOT:
		return "this thread could not be given a slot: its records are dropped";
	case ASYNCTRACE_REASON_NOT_RECORDED:
		return "no session records this process now: start one with asynctrace record";
	case ASYNCTRACE_REASON_REGISTERING:
		return "another thread is registering this process: to avoid losses, call at_provider_register() before other threads start";
	}
	return "unknown";
}
