// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The gate: one word that every trace site checks.
 *
 * The gate has a page of its own. While the process is registered, the control page is mapped over
 * that page, and the kernel writes the gate. During an in-process trace, this process writes it.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

/*
 * The control page replaces the gate's page, so no other variable may be in it. Therefore the gate
 * is in .data: the linker may place other variables in the last page of .bss.
 */
AT_PUBLIC union at_gate_ at_gate_ __attribute__((aligned(TRACE_GATE_SIZE_))) = {
	.gate = ASYNCTRACE_GATE_ATTACH,
};

/*
 * May a control page be mapped over the gate? Protected by the back end's lock. A forked child
 * inherits the mapping and this variable.
 */
static bool shown;

extern union at_gate_ at_gate_own __attribute__((alias("at_gate_"), visibility("hidden")));

/*
 * The gate of the copy that exports this variable. Another copy of the library in the process can
 * override the variable, like at_gate_, but not the functions of a plug-in that is linked with
 * -Bsymbolic-functions. Must not be in a header: a copy relocation of at_gate_ into a program that
 * uses the shared library must not move this variable, too.
 */
AT_PUBLIC const void *const at_copy_ = &at_gate_own;

_Static_assert(sizeof(at_gate_) == TRACE_GATE_SIZE_, "the gate's page is its own");

/*
 * Must be right before the library's constructor has run, because the constructors of a plug-in may
 * trace, too. The compiler must not know which variable this is, because it knows the value of its
 * own.
 */
bool at_library_mixed(void)
{
	const void *const *copy = &at_copy_;

	__asm__("" : "+r"(copy));
	return *copy != &at_gate_own;
}

int at_gate_prepare(void)
{
	if (at_page_size() > TRACE_GATE_SIZE_)
		return -ENOTSUP;
	if (at_library_mixed())
		return -EBUSY;
	shown = true;
	return 0;
}

int at_gate_map(int fd)
{
	int err = at_gate_prepare();

	if (err)
		return err;
	if (at_mmap(&at_gate_, at_page_size(), PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) ==
	    MAP_FAILED)
		return -errno;
	return 0;
}

static void store_gate(uint32_t value)
{
	__atomic_store_n(&at_gate_.gate, value, __ATOMIC_RELEASE);
}

int at_gate_reset(uint32_t value)
{
	if (at_library_mixed())
		return -EBUSY;
	if (shown) {
		if (!at_page_replace(&at_gate_, value) && !at_void_map(&at_gate_, at_page_size()))
			return -ENOMEM;
		shown = false;
	}
	store_gate(value);
	return 0;
}

/* The constructor is in this file, because each program that traces is linked with this file. */
static __attribute__((constructor)) void library_loaded(void)
{
	at_library_loaded();
}
