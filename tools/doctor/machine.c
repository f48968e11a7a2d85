// SPDX-License-Identifier: GPL-2.0-or-later
/* asynctrace doctor: checks of clock, rseq, memory and emulation */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif
#if defined(__has_include) && __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#define HAVE_RSEQ
#endif

#include "doctor/doctor.h"
#include "session/args.h"
#include "tool.h"

/* Ring size that asynctrace record uses by default */
#define DEFAULT_RING	(1u << 20)

void doctor_clock(struct doctor *d)
{
	char source[64] = "?";

	if (d->err)
		return;
	doctor_read("/sys/devices/system/clocksource/clocksource0/current_clocksource", source,
		    sizeof(source));
	if (d->info.clock == ASYNCTRACE_CLOCK_COUNTER) {
		doctor_say(d, "clock", DOCTOR_OK, "the CPUs' counter is trusted (clocksource %s)",
			   source);
		return;
	}
	doctor_say(d, "clock", DOCTOR_WARN,
		   "the kernel does not trust the CPUs' counter (clocksource %s): records go through one ring of each program, which costs more and drops more",
		   source);
	doctor_remedy(d, "dmesg | grep -i tsc says why; if you know the counter to be fine, boot with tsc=reliable");
}

void doctor_rseq(struct doctor *d)
{
#ifdef HAVE_RSEQ
	const char *tunables = getenv("GLIBC_TUNABLES");

	if (__rseq_size) {
		doctor_say(d, "rseq", DOCTOR_OK, "the C library has registered rseq");
		return;
	}
	doctor_say(d, "rseq", DOCTOR_WARN,
		   "the C library has not registered rseq: records of programs go through one ring each, which costs more and drops more");
	if (tunables && strstr(tunables, "glibc.pthread.rseq=0"))
		doctor_remedy(d, "remove glibc.pthread.rseq=0 from GLIBC_TUNABLES");
	else
		doctor_remedy(d, "use a kernel with CONFIG_RSEQ, outside of sandboxes that forbid rseq; valgrind does not support it");
#else
	doctor_say(d, "rseq", DOCTOR_WARN,
		   "this C library does not register rseq: records of programs go through one ring each, which costs more and drops more");
	doctor_remedy(d, "use glibc 2.35 or later");
#endif
}

/*
 * Returns the smallest limit of this process's memory cgroups, and its file in @where. Returns
 * UINT64_MAX if there is no limit or if it cannot be read.
 */
static uint64_t cgroup_limit(char where[512])
{
	char own[256], path[512], text[64], *end;
	uint64_t least = UINT64_MAX;

	if (!doctor_read("/proc/self/cgroup", own, sizeof(own)) || strncmp(own, "0::/", 4))
		return least;
	for (;;) {
		snprintf(path, sizeof(path), "/sys/fs/cgroup%s/memory.max", own + 3);
		if (doctor_read(path, text, sizeof(text)) && strcmp(text, "max")) {
			uint64_t limit = strtoull(text, NULL, 10);

			if (limit < least) {
				least = limit;
				snprintf(where, 512, "%s", path);
			}
		}
		end = strrchr(own + 3, '/');
		if (!end || end == own + 3)
			return least;
		*end = '\0';
	}
}

void doctor_memory(struct doctor *d)
{
	uint64_t rings, want, limit, fits = DEFAULT_RING;
	char where[512] = "";

	if (d->err)
		return;
	/* Those of one program and those of the kernel */
	rings = 2 * session_args_rings(&d->info);
	want = rings * DEFAULT_RING;
	limit = cgroup_limit(where);
	while (fits > ASYNCTRACE_RING_MIN && rings * fits > d->info.memory_limit)
		fits /= 2;
	if (d->info.memory_limit < want) {
		doctor_say(d, "memory", DOCTOR_WARN,
			   "%s of rings at most; by default one program takes %s on %u CPUs",
			   tool_size(d->info.memory_limit), tool_size(want), d->info.online_cpus);
		doctor_remedy(d, "use --buffer-size %s", tool_short_size(fits));
	} else if (limit < 2 * want) {
		doctor_say(d, "memory", DOCTOR_WARN,
			   "%s is %s, and rings are charged to it; by default one program takes %s",
			   where, tool_size(limit), tool_size(want));
		doctor_remedy(d, "use a smaller --buffer-size; records that do not fit are dropped and counted");
	} else {
		doctor_say(d, "memory", DOCTOR_OK,
			   "%s of rings at most; by default one program takes %s",
			   tool_size(d->info.memory_limit), tool_size(want));
	}
}

/* Writes the name that the hypervisor gives itself, or "". */
static void hypervisor(char who[13])
{
	memset(who, 0, 13);
#ifdef __x86_64__
	unsigned int a, b, c, d;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 31))
		return;
	__cpuid(0x40000000, a, b, c, d);
	memcpy(who, &b, 4);
	memcpy(who + 4, &c, 4);
	memcpy(who + 8, &d, 4);
#endif
}

void doctor_emulation(struct doctor *d)
{
	char who[13];

	hypervisor(who);
	if (!strncmp(who, "TCG", 3)) {
		doctor_say(d, "machine", DOCTOR_WARN,
			   "emulated (QEMU without KVM): everything takes at least ten times as long, so times say little about real machines");
		doctor_remedy(d, "use it to try things, not to measure");
	} else if (*who) {
		doctor_say(d, "machine", DOCTOR_OK, "virtual (%s): time that its CPUs wait for the host is not visible",
			   tool_text(who));
	} else {
		doctor_say(d, "machine", DOCTOR_OK, "no hypervisor is known");
	}
}
