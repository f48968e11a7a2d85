// SPDX-License-Identifier: LGPL-2.1-or-later
/* at_nonce(), unique in the process, and at_flow_id(), unique on the machine */
#include "internal.h"

#define AT_SALT_SHIFT	44

static uint64_t nonces;
static uint64_t flows;

AT_PUBLIC uint64_t at_nonce(void)
{
	return __atomic_add_fetch(&nonces, 1, __ATOMIC_RELAXED);
}

AT_PUBLIC uint64_t at_flow_id(void)
{
	const uint64_t n = __atomic_add_fetch(&flows, 1, __ATOMIC_RELAXED);

	if (at_gate_load_() == ASYNCTRACE_GATE_ATTACH && !at_library_mixed())
		at_attach();
	return (uint64_t)at_salt() << AT_SALT_SHIFT | (n & ((1ULL << AT_SALT_SHIFT) - 1));
}
