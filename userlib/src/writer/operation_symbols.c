// SPDX-License-Identifier: LGPL-2.1-or-later
/* The inline functions of asynctrace/operation.h as symbols, for bindings of other languages */
#include <asynctrace/operation.h>

#include "internal.h"

AT_PUBLIC uint64_t at_symbol_current(void) __asm__("at_operation_current");
AT_PUBLIC struct at_entered at_symbol_here(void) __asm__("at_operation_here");
AT_PUBLIC void at_symbol_leave(struct at_entered *entered) __asm__("at_operation_leave");
AT_PUBLIC void at_symbol_region_end(struct at_entered *entered) __asm__("at_region_end");

uint64_t at_symbol_current(void)
{
	return at_operation_current();
}

struct at_entered at_symbol_here(void)
{
	return at_operation_here();
}

void at_symbol_leave(struct at_entered *entered)
{
	at_operation_leave(entered);
}

void at_symbol_region_end(struct at_entered *entered)
{
	at_region_end(entered);
}
