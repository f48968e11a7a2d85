/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* State of the registration: provider.c makes it, and registration.c ends it */
#ifndef AT_REGISTRATION_H
#define AT_REGISTRATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/asynctrace.h>

struct at_announced;

/**
 * struct at_module - the registration of this process with the module
 * @registered: the process is registered, or has inherited a registration
 * @tried: registering failed; it is not retried until the program asks for it
 * @fd: descriptor of the device, or -1
 * @rdev: device number of @fd
 * @control: mapping of the control area
 * @control_size: bytes of @control
 * @rw: mapping of the read-write area
 * @rw_size: bytes of @rw
 * @cells: mapping of the cells; NULL if there is none
 * @nr_cells: number of cells in @cells
 * @version: the program's version, as passed to at_provider_register()
 * @stride: address space of each ring in bytes; 0 for the default
 * @name: the provider's name
 * @announced: categories that the program has described, or NULL
 * @seen: the last state that read(2) returned
 *
 * Only the holder of the back end's lock changes this.
 */
struct at_module {
	bool registered;
	bool tried;
	int fd;
	dev_t rdev;
	char *control;
	size_t control_size;
	char *rw;
	size_t rw_size;
	struct asynctrace_cell *cells;
	uint32_t nr_cells;
	uint32_t version;
	uint64_t stride;
	char name[ASYNCTRACE_NAME_MAX + 1];
	struct at_announced *announced;
	struct asynctrace_observed seen;
};

#pragma GCC visibility push(hidden)

extern struct at_module at_module;

/*
 * Returns true if at_module.fd is still the device. The program may have closed the descriptor,
 * and its number may belong to another file.
 */
bool at_module_fd_is_ours(void);
/* Is this process registered, and is its descriptor valid? The caller holds the lock. */
bool at_module_is_ours(void);
/* Replaces all mappings by empty memory. */
void at_module_unmap(void);
/*
 * Ends the registration, or drops the registration that a forked child has inherited. The caller
 * holds the lock, and the gate is closed.
 */
void at_module_forget(void);
/*
 * Must be called after a registration. If a session records the process already, notes its run for
 * at_module_cut().
 */
void at_module_enter_run(void);
/* Forgets the run that the last registration was in: at_module_cut() returns false. */
void at_module_forget_run(void);

#pragma GCC visibility pop

#endif /* AT_REGISTRATION_H */
