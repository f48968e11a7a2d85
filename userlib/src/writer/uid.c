// SPDX-License-Identifier: LGPL-2.1-or-later
/* struct at_uid: it gets its number, a new operation id, when the program first uses it. */
#include <asynctrace/operation.h>
#include <asynctrace/probe.h>

#include "internal.h"

/* If two threads make a number at once, both return the number that is stored first. */
AT_PUBLIC AT_COLD uint64_t at_uid_make_(struct at_uid *uid)
{
	struct at_operation op;
	uint64_t old = 0;

	at_operation_start_(&op, 0);
	return __atomic_compare_exchange_n(&uid->number_, &old, op.id, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED) ? op.id : old;
}

/* Inline functions of asynctrace/probe.h, exported for bindings of other languages */
AT_PUBLIC uint64_t at_symbol_uid_get(struct at_uid *uid) __asm__("at_uid_get");
AT_PUBLIC struct at_uid at_symbol_uid_share(struct at_uid *uid) __asm__("at_uid_share");

uint64_t at_symbol_uid_get(struct at_uid *uid)
{
	return at_uid_get(uid);
}

struct at_uid at_symbol_uid_share(struct at_uid *uid)
{
	return at_uid_share(uid);
}
