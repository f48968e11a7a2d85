// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Numbers for operations: unique in the process, unique on the machine
 */
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

#define AT_SALT_SHIFT	44
#define AT_SALT_MASK	0xfffffu

static uint64_t nonces;
static uint64_t flows;
static uint64_t own_salt;	/* and, above, the process it was drawn for */

AT_PUBLIC uint64_t at_nonce(void)
{
	return __atomic_add_fetch(&nonces, 1, __ATOMIC_RELAXED);
}

/*
 * Where the module has not given this process a number of its own: one of a
 * million, which is not unique, but never mind.
 */
uint32_t at_random_salt(void)
{
	uint64_t own = __atomic_load_n(&own_salt, __ATOMIC_RELAXED);
	const uint32_t pid = getpid();
	uint32_t salt;

	/* A forked child counts on from where its parent was. */
	if (own >> 32 == pid)
		return (uint32_t)own;
	if (getrandom(&salt, sizeof(salt), GRND_NONBLOCK) != sizeof(salt)) {
		struct timespec ts;

		clock_gettime(CLOCK_MONOTONIC, &ts);
		salt = (uint32_t)ts.tv_nsec * 2654435761u ^ pid << 7;
	}
	salt = (salt & AT_SALT_MASK) ?: 1;
	if (!__atomic_compare_exchange_n(&own_salt, &own, (uint64_t)pid << 32 | salt, false,
					 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		salt = (uint32_t)own;
	return salt;
}

AT_PUBLIC uint64_t at_flow_id(void)
{
	uint64_t salt = 0, n = __atomic_add_fetch(&flows, 1, __ATOMIC_RELAXED);

	if (at_gate_load_() == ASYNCTRACE_GATE_ATTACH && !at_library_mixed())
		at_attach();
	if (at_backend() != AT_BACKEND_NONE)
		salt = at_control()->salt & AT_SALT_MASK;
	if (!salt)
		salt = at_random_salt();
	return salt << AT_SALT_SHIFT | (n & ((1ULL << AT_SALT_SHIFT) - 1));
}
