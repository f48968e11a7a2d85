/* SPDX-License-Identifier: GPL-2.0-or-later */
/* asynctrace doctor: state and functions that its checks share */
#ifndef AT_DOCTOR_H
#define AT_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include <asynctrace/session.h>

enum doctor_level {
	DOCTOR_OK,
	DOCTOR_WARN,		/* recording works, but is limited or expensive */
	DOCTOR_FAIL,		/* this user cannot record any program */
};

/**
 * struct finding - the result of a check
 * @name: name of the check
 * @level: severity
 * @text: the observation
 * @remedy: the action to take; empty: none
 */
struct finding {
	const char *name;
	enum doctor_level level;
	char text[512];
	char remedy[512];
};

/**
 * struct doctor - the state of all checks
 * @findings: results so far
 * @nr: number of results
 * @no_netlink: generic netlink sockets cannot be opened
 * @absent: the module is not loaded
 * @no_device: the module's device cannot be opened
 * @ctl: connection to the module; usable only if @err is 0
 * @err: result of opening @ctl
 * @reason: message for @err
 * @info: limits and version of the module
 */
struct doctor {
	struct finding findings[32];
	size_t nr;
	bool no_netlink, absent, no_device;
	struct at_ctl *ctl;
	int err;
	char reason[512];
	struct at_info info;
};

/* Adds a finding. doctor_remedy() adds the remedy to the last one. */
void __attribute__((format(printf, 4, 5)))
doctor_say(struct doctor *d, const char *name, enum doctor_level level, const char *fmt, ...);
void __attribute__((format(printf, 2, 3)))
doctor_remedy(struct doctor *d, const char *fmt, ...);
/* Adds the remedy for the errno @err. */
void doctor_remedy_error(struct doctor *d, int err);

/*
 * Reads the first line of a file without its newline, cut to @size. Returns false if the file
 * cannot be read.
 */
bool doctor_read(const char *path, char *text, size_t size);

/* module.c */
void doctor_kernel(struct doctor *d);
void doctor_module(struct doctor *d);
void doctor_device(struct doctor *d);

/* signature.c */
enum doctor_signature {
	DOCTOR_SIGNED,		/* by any key */
	DOCTOR_UNSIGNED,
	DOCTOR_UNTOLD,		/* the file cannot be read */
};

/*
 * Returns why the kernel rejects modules without a signature that it trusts; NULL: it accepts
 * them.
 */
const char *doctor_enforced(void);
/*
 * Looks for a signature in the file of a module. *@why: the reason if the result is
 * DOCTOR_UNTOLD
 */
enum doctor_signature doctor_signature(const char *path, const char **why);

/* machine.c */
void doctor_clock(struct doctor *d);
void doctor_rseq(struct doctor *d);
void doctor_emulation(struct doctor *d);
void doctor_memory(struct doctor *d);

#endif /* AT_DOCTOR_H */
