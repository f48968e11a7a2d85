// SPDX-License-Identifier: GPL-2.0
/*
 * Creates the knobs of race.h as files in the directory asynctrace of debugfs. A file delay_*
 * is in microseconds, fix_* is on or off, and limit_* is 0 for the normal limit.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/minmax.h>

#include "base/race.h"

static const char *const at_race_names[AT_RACES] = {
	[AT_RACE_FAULT] = "delay_fault",
	[AT_RACE_SINK] = "delay_sink",
	[AT_RACE_ZAP] = "delay_zap",
	[AT_RACE_SWITCH] = "delay_switch",
	[AT_RACE_PROBE] = "delay_probe",
	[AT_RACE_LOCK] = "delay_lock",
	[AT_RACE_JOIN] = "delay_join",
	[AT_RACE_NAMES] = "delay_names",
};

static const char *const at_fix_names[AT_FIXES] = {
	[AT_FIX_RWSEM] = "fix_rwsem",
	[AT_FIX_LOCK_RING] = "fix_lock_ring",
	[AT_FIX_LOCK_SINK] = "fix_lock_sink",
	[AT_FIX_SWITCH] = "fix_switch",
	[AT_FIX_RANGES] = "fix_ranges",
	[AT_FIX_CLEARING] = "fix_clearing",
	[AT_FIX_PROBES] = "fix_probes",
	[AT_FIX_NAMES] = "fix_names",
};

static const char *const at_limit_names[AT_LIMITS] = {
	[AT_LIMIT_SLOTS] = "limit_slots",
	[AT_LIMIT_PROVIDERS] = "limit_providers",
	[AT_LIMIT_SALTS] = "limit_salts",
	[AT_LIMIT_KEPT] = "limit_kept",
};

static u32 at_race_delays[AT_RACES];
static bool at_fixes[AT_FIXES];
static u32 at_limits[AT_LIMITS];
static struct dentry *at_race_dir;

void at_race(enum at_race race)
{
	u32 delay = READ_ONCE(at_race_delays[race]);

	if (delay)
		usleep_range(delay, delay + 50);
}

/* For atomic context; delays by at most a millisecond. */
void at_race_spin(enum at_race race)
{
	u32 delay = READ_ONCE(at_race_delays[race]);

	if (delay)
		udelay(min_t(u32, delay, 1000));
}

bool at_fixed(enum at_fix fix)
{
	return READ_ONCE(at_fixes[fix]);
}

u32 at_limit(enum at_limit limit, u32 normal)
{
	return READ_ONCE(at_limits[limit]) ?: normal;
}

void at_race_init(void)
{
	int i;

	at_race_dir = debugfs_create_dir("asynctrace", NULL);
	for (i = 0; i < AT_RACES; i++)
		debugfs_create_u32(at_race_names[i], 0600, at_race_dir, &at_race_delays[i]);
	for (i = 0; i < AT_FIXES; i++) {
		at_fixes[i] = true;
		debugfs_create_bool(at_fix_names[i], 0600, at_race_dir, &at_fixes[i]);
	}
	for (i = 0; i < AT_LIMITS; i++)
		debugfs_create_u32(at_limit_names[i], 0600, at_race_dir, &at_limits[i]);
}

void at_race_exit(void)
{
	debugfs_remove_recursive(at_race_dir);
}
