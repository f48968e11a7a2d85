/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Objects of a running program. Operations choose objects by random numbers, so an operation may
 * get an object that does not exist.
 */
#ifndef SELFTESTS_EXECUTE_H
#define SELFTESTS_EXECUTE_H

#include <setjmp.h>
#include <stdbool.h>
#include <sys/types.h>

#include "fuzz.h"

#define NOBODY	65534

/**
 * struct map - a mapping of the device
 * @at: address, or NULL: no mapping
 * @size: bytes of the mapping
 * @rw: the mapping is of the read-write area
 * @geometry: of its provider, from the control page when it was mapped
 */
struct map {
	char *at;
	size_t size;
	bool rw;
	struct {
		uint32_t gate;
		uint32_t slot;
		uint64_t headers, rings, stride, durable;
		uint32_t nr_rings;
	} geometry;
};

struct env {
	int fds[FDS];
	uint64_t cookies[FDS];
	uint32_t providers[FDS];
	int sockets[SOCKETS];
	uint32_t sessions[SESSIONS];
	unsigned int nr_sessions;	/* created so far */
	struct map maps[MAPS];
	int family;
	int fail_nth;
};

extern struct env env;
extern __thread sigjmp_buf trap;

uint64_t resolve(enum ref ref, unsigned int slot);
void run_op(const struct op *op);

void device_op(const struct op *op);
void memory_op(const struct op *op);
void netlink_op(const struct op *op);
/* Finds the family's number, or exits. */
void netlink_init(void);
/* Ends the program's detached sessions, which outlive their sockets. */
void netlink_end_detached(void);
/* Ends all sessions. */
void netlink_end_all(void);

#endif /* SELFTESTS_EXECUTE_H */
