/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * asynctrace doctor: what its checks share
 */
#ifndef AT_DOCTOR_H
#define AT_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include <asynctrace/session.h>

enum doctor_level {
	DOCTOR_OK,
	DOCTOR_WARN,		/* less than there could be */
	DOCTOR_FAIL,		/* this user cannot record his own programs */
};

/**
 * struct finding - what a check has to say
 * @name: of the check
 * @level: enum doctor_level
 * @text: what is so
 * @remedy: what to do about it; empty: nothing
 */
struct finding {
	const char *name;
	enum doctor_level level;
	char text[512];
	char remedy[512];
};

/**
 * struct doctor - see above
 * @findings: so far
 * @nr: of them
 * @no_netlink: no socket can be made to talk to the module
 * @absent: there is no module
 * @no_device: its device cannot be opened
 * @ctl: connection to the module; of no use unless @err is 0
 * @err: of opening it
 * @reason: of that
 * @info: of the module
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

/* Adds a finding; doctor_remedy() is about the last one. */
void __attribute__((format(printf, 4, 5)))
doctor_say(struct doctor *d, const char *name, enum doctor_level level, const char *fmt, ...);
void __attribute__((format(printf, 2, 3)))
doctor_remedy(struct doctor *d, const char *fmt, ...);
/* That for an error, an errno, that says itself what is wrong. */
void doctor_remedy_error(struct doctor *d, int err);

/*
 * The first line of a file, or what of it fits, without its newline; false where
 * it cannot be read.
 */
bool doctor_read(const char *path, char *text, size_t size);

/* doctor_module.c */
void doctor_kernel(struct doctor *d);
void doctor_module(struct doctor *d);
void doctor_device(struct doctor *d);

/* doctor_signature.c */
enum doctor_signature {
	DOCTOR_SIGNED,		/* by whomever */
	DOCTOR_UNSIGNED,
	DOCTOR_UNTOLD,
};

/* Why the kernel would load no module that has no signature it trusts; NULL: it would. */
const char *doctor_enforced(void);
/* Of a module's file. @why: out: what cannot be told */
enum doctor_signature doctor_signature(const char *path, const char **why);

/* doctor_machine.c */
void doctor_clock(struct doctor *d);
void doctor_rseq(struct doctor *d);
void doctor_emulation(struct doctor *d);
void doctor_memory(struct doctor *d);

#endif /* AT_DOCTOR_H */
