// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The library's constructor: it finds out whether the process uses another copy of the library,
 * keeps the plug-in that contains the library loaded, and starts the trace of ASYNCTRACE_OUT.
 */
#include <dlfcn.h>
#include <link.h>

#include <asynctrace/context.h>
#include <asynctrace/detail/special.h>
#include <asynctrace/loop.h>
#include <asynctrace/operation.h>
#include <asynctrace/probe.h>

#include "internal.h"

/* In a static program, the addresses of both functions are NULL. */
#pragma weak dladdr1
#pragma weak dlsym

/*
 * This function is exported, so that another copy of the library in the process can override it:
 * see replaced().
 */
AT_PUBLIC void at_loaded_(void)
{
}

/*
 * Makes the linker take these functions from the static library, even if the program does not
 * call them. If a program exports its symbols, its plug-ins use the program's gate. The plug-ins
 * must then find all functions that use the gate in the program, too.
 */
static void (*const linked[])(void) __attribute__((used)) = {
	(void (*)(void))at_write_texts_,
	(void (*)(void))at_duration_texts_,
	(void (*)(void))at_blob_,
	(void (*)(void))at_vthread_event_,
	(void (*)(void))at_object_,
	(void (*)(void))at_named_event_,
	(void (*)(void))at_ticks,
	(void (*)(void))at_operation_start_,
	(void (*)(void))at_entered_run_,
	(void (*)(void))at_scope_learn_,
	(void (*)(void))at_entered_end_,
	(void (*)(void))at_logf_,
	(void (*)(void))at_context_init_,
	(void (*)(void))at_context_enter_,
	(void (*)(void))at_context_leave_,
	(void (*)(void))at_context_destroy_,
	(void (*)(void))at_context_complete_,
	(void (*)(void))at_context_left_,
	(void (*)(void))at_uid_make_,
	(void (*)(void))at_probe_learn_,
	(void (*)(void))at_loop_wait_,
	(void (*)(void))at_loop_work_,
};

/*
 * The address of the symbol that the dynamic linker chose. The compiler must not know where it
 * comes from: with link-time optimisation, GCC 12 takes the two names of one variable for two
 * variables, and a comparison of their addresses for a constant.
 */
static const void *chosen(const void *symbol)
{
	__asm__("" : "+r"(symbol));
	return symbol;
}

/* The at_loaded_() of this copy, not subject to symbol interposition. */
extern void own_loaded(void) __attribute__((alias("at_loaded_"), visibility("hidden")));

/*
 * Is this copy unused? If a program contains the static library and exports its symbols, its
 * plug-ins' macros call the program's functions.
 */
static bool replaced(void)
{
	return chosen((void *)at_loaded_) != (void *)own_loaded;
}

/*
 * Keeps the plug-in that contains the library loaded until the process ends. The kernel remembers
 * the last critical section of each thread and reads its descriptor, even after dlclose(3). If
 * the descriptor is unmapped, the thread gets SIGSEGV. Returns false if dlopen() fails.
 */
static bool stay_loaded(void)
{
	void *(*open)(const char *name, int flags);
	struct link_map *object;
	Dl_info info;

	/* Find dlopen() by dlsym(): the linker warns if static programs call it directly. */
	if (!dladdr1 || !dlsym)
		return true;
	*(void **)&open = dlsym(RTLD_DEFAULT, "dlopen");
	if (!open)
		return true;
	if (!dladdr1((void *)own_loaded, &info, (void **)&object, RTLD_DL_LINKMAP))
		return true;
	/* The program itself has an empty name. */
	if (!*object->l_name)
		return true;
	return open(object->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

void at_library_loaded(void)
{
	if (replaced())
		return;
	if (at_library_mixed())
		return;
	if (!stay_loaded()) {
		at_gate_reset(ASYNCTRACE_GATE_OFF);
		return;
	}
	at_trace_from_environment();
}
