/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For the tests of the races between writers and the end of a session: windows
 * that can be widened, and fixes that can be switched off, one at a time. And limits
 * that can be lowered, because to reach them takes minutes on a kernel with checkers.
 * Empty unless the module is built with CONFIG_ASYNCTRACE_RACES.
 */
#ifndef AT_RACE_H
#define AT_RACE_H

#include <linux/bug.h>
#include <linux/irqflags.h>
#include <linux/lockdep.h>
#include <linux/types.h>

enum at_race {
	AT_RACE_FAULT,		/* between a ring page's look-up and its mapping */
	AT_RACE_SINK,		/* the same of the sink page */
	AT_RACE_ZAP,		/* between the zap of a range's headers and that of its rings */
	AT_RACE_SWITCH,		/* before CPUs are made to switch */
	AT_RACE_PROBE,		/* before a probe publishes its record; interrupts are off */
	AT_RACE_LOCK,		/* while a request holds its session's lock */
	AT_RACE_NAMES,		/* between a look for kept names and one at the provider's */
	AT_RACES,
};

enum at_fix {
	AT_FIX_RWSEM,		/* faults wait for a zap */
	AT_FIX_LOCK_RING,	/* ring pages are mapped under their lock */
	AT_FIX_LOCK_SINK,	/* so is the sink */
	AT_FIX_SWITCH,		/* every CPU switches before a range is used again */
	AT_FIX_RANGES,		/* a range that is not done is not used */
	AT_FIX_CLEARING,	/* nothing is read of a ring that is still being cleared */
	AT_FIX_PROBES,		/* who reads a session to its end waits for probes */
	AT_FIX_NAMES,		/* names that were kept meanwhile are looked for again */
	AT_FIXES,
};

enum at_limit {
	AT_LIMIT_SLOTS,		/* slots of ended threads that a provider keeps */
	AT_LIMIT_PROVIDERS,	/* of an unprivileged user */
	AT_LIMITS,
};

#ifdef CONFIG_ASYNCTRACE_RACES
void at_race(enum at_race race);
void at_race_spin(enum at_race race);
bool at_fixed(enum at_fix fix);
u32 at_limit(enum at_limit limit, u32 normal);
void at_race_init(void);
void at_race_exit(void);
#else
static inline void at_race(enum at_race race) { }
static inline void at_race_spin(enum at_race race) { }
static inline bool at_fixed(enum at_fix fix) { return true; }
static inline u32 at_limit(enum at_limit limit, u32 normal) { return normal; }
static inline void at_race_init(void) { }
static inline void at_race_exit(void) { }
#endif

/*
 * Complain if interrupts are on. Kernels with lockdep check it, and modules with the knobs of
 * the race tests, so that the tests prove it on kernels without lockdep.
 */
static inline void at_assert_irqs_off(void)
{
	lockdep_assert_irqs_disabled();
	if (IS_ENABLED(CONFIG_ASYNCTRACE_RACES))
		WARN_ON_ONCE(!irqs_disabled());
}

#endif /* AT_RACE_H */
