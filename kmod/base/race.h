/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Knobs for tests of races between writers and the end of a session. They widen race windows
 * and switch off fixes, one at a time. They also lower limits, because reaching the normal
 * ones takes minutes on a debug kernel. Without CONFIG_ASYNCTRACE_RACES they do nothing.
 */
#ifndef AT_RACE_H
#define AT_RACE_H

#include <linux/bug.h>
#include <linux/irqflags.h>
#include <linux/lockdep.h>
#include <linux/types.h>

/* Places at which a test can delay the kernel */
enum at_race {
	AT_RACE_FAULT,		/* between the look-up and the mapping of a ring page */
	AT_RACE_SINK,		/* between the look-up and the mapping of the sink page */
	AT_RACE_ZAP,		/* between the zap of a range's headers and that of its rings */
	AT_RACE_SWITCH,		/* before CPUs are made to switch tasks */
	AT_RACE_PROBE,		/* before a probe publishes its record; interrupts are off */
	AT_RACE_LOCK,		/* while a request holds its session's request_lock */
	AT_RACE_JOIN,		/* after a provider has joined a session by INIT or START */
	AT_RACE_NAMES,		/* between a check for saved names and a read of the live ones */
	AT_RACES,
};

/* Fixes of races that a test can switch off. The comments describe the kernel with each fix on. */
enum at_fix {
	AT_FIX_RWSEM,		/* faults wait for a zap */
	AT_FIX_LOCK_RING,	/* ring pages are mapped under their lock */
	AT_FIX_LOCK_SINK,	/* the sink page is mapped under its lock */
	AT_FIX_SWITCH,		/* CPUs switch tasks before a range is reused */
	AT_FIX_RANGES,		/* a range is not reused before its writers have left */
	AT_FIX_CLEARING,	/* a ring is not read while it is being cleared */
	AT_FIX_PROBES,		/* reading a session to its end waits for probes */
	AT_FIX_NAMES,		/* if names are saved while they are read, they are read again */
	AT_FIXES,
};

/* Limits that a test can lower */
enum at_limit {
	AT_LIMIT_SLOTS,		/* new slots after which slots of ended threads are pruned */
	AT_LIMIT_PROVIDERS,	/* providers of an unprivileged user */
	AT_LIMIT_SALTS,		/* salts that must end before older ones are reused */
	AT_LIMIT_KEPT,		/* salts kept for the processes of an unprivileged user */
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
 * Warn if interrupts are on. With CONFIG_ASYNCTRACE_RACES this is checked on kernels without
 * lockdep, too.
 */
static inline void at_assert_irqs_off(void)
{
	lockdep_assert_irqs_disabled();
	if (IS_ENABLED(CONFIG_ASYNCTRACE_RACES))
		WARN_ON_ONCE(!irqs_disabled());
}

#endif /* AT_RACE_H */
