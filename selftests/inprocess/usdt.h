/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A tracer of the process's own probes: it reads the ELF notes as bpftrace and perf do, counts
 * itself in the semaphores, puts breakpoints on the probes, and reads the arguments that the
 * notes describe.
 */
#ifndef USDT_H
#define USDT_H

#include <stdbool.h>
#include <stdint.h>

#define USDT_ARGS	12
#define USDT_SITES	1024

struct usdt_site {
	char provider[32], name[32];
	char args[256];			/* such as "8@%rdi -4@16(%rsp)" */
	uintptr_t pc;
	unsigned short *semaphore;
};

/* Arguments of a probe that fired, extended to 64 bits by their sizes and signs */
struct usdt_hit {
	const struct usdt_site *site;
	unsigned int nargs;
	int64_t arg[USDT_ARGS];
};

typedef void (*usdt_fn)(const struct usdt_hit *hit);

extern struct usdt_site usdt_sites[USDT_SITES];
extern unsigned int usdt_nr_sites;

/* Reads the notes of the program, or of a loaded object whose path contains @object. */
void usdt_read(const char *object);
/* Attaches to all matching sites, and returns their number. @name: NULL: all names */
unsigned int usdt_attach(const char *provider, const char *name, usdt_fn fn);
void usdt_detach(const char *provider, const char *name);
/* Number of hits whose arguments the tracer did not understand */
extern unsigned int usdt_strange;

#endif /* USDT_H */
