// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What happens when a program or a plug-in that contains the library is loaded
 */
#include <dlfcn.h>
#include <link.h>

#include "internal.h"

/* A program without a dynamic linker has neither. */
#pragma weak dladdr1
#pragma weak dlopen

/* Exported, so that another copy of the library in the process may take its place. */
AT_PUBLIC void at_loaded_(void)
{
}

/* The one of this copy. */
extern void own_loaded(void) __attribute__((alias("at_loaded_"), visibility("hidden")));

/*
 * A program that contains the static library and exports its symbols takes the
 * place of a plug-in's copy: the plug-in's macros call the program's functions.
 */
static bool replaced(void)
{
	void (*volatile exported)(void) = at_loaded_;

	return exported != own_loaded;
}

/*
 * Keeps the plug-in that contains the library loaded until the process ends. The
 * kernel remembers the last critical section of each thread and reads its
 * description after dlclose(3), too: a thread gets SIGSEGV if that is unmapped.
 * False: impossible.
 */
static bool stay_loaded(void)
{
	struct link_map *object;
	Dl_info info;

	if (!dladdr1 || !dlopen)
		return true;
	if (!dladdr1((void *)own_loaded, &info, (void **)&object, RTLD_DL_LINKMAP))
		return true;
	/* The program itself has an empty name. */
	if (!*object->l_name)
		return true;
	return dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

void at_library_loaded(void)
{
	if (replaced())
		return;
	if (!stay_loaded()) {
		at_gate_reset(ASYNCTRACE_GATE_OFF);
		return;
	}
	at_trace_from_environment();
}
