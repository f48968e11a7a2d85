// SPDX-License-Identifier: LGPL-2.1-or-later
/* Unique numbers: at_nonce() within the process, at_flow_id() on the machine */
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

#define AT_SALT_SHIFT	44
#define AT_SALT_MASK	0xfffffu

static uint64_t nonces;
static uint64_t flows;

AT_PUBLIC uint64_t at_nonce(void)
{
	return __atomic_add_fetch(&nonces, 1, __ATOMIC_RELAXED);
}

/*
 * The first id or the first registration fixes the salt. A registration proposes the salt to the
 * module, which makes sure that no two registered processes have the same salt. A process gets a
 * new salt only if it made ids before it registered, and another process has the salt of these
 * ids.
 */
uint32_t at_salt(void)
{
	uint32_t *word = at_salt_word(), salt = __atomic_load_n(word, __ATOMIC_RELAXED), old = 0;

	if (salt)
		return salt;
	if (getrandom(&salt, sizeof(salt), GRND_NONBLOCK) != sizeof(salt)) {
		struct timespec ts;

		clock_gettime(CLOCK_MONOTONIC, &ts);
		salt = (uint32_t)ts.tv_nsec * 2654435761u ^ (uint32_t)getpid() << 7;
	}
	salt = (salt & AT_SALT_MASK) ?: 1;
	return __atomic_compare_exchange_n(word, &old, salt, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED) ? salt : old;
}

AT_PUBLIC uint64_t at_flow_id(void)
{
	const uint64_t n = __atomic_add_fetch(&flows, 1, __ATOMIC_RELAXED);

	if (at_gate_load_() == ASYNCTRACE_GATE_ATTACH && !at_library_mixed())
		at_attach();
	return (uint64_t)at_salt() << AT_SALT_SHIFT | (n & ((1ULL << AT_SALT_SHIFT) - 1));
}
