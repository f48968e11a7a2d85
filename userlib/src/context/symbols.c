// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Exports the inline functions of asynctrace/context.h, because bindings of other languages cannot
 * use inline functions
 */
#include <asynctrace/context.h>

#include "writer/internal.h"

AT_PUBLIC void at_symbol_init(struct at_context *context, uint32_t provider, void *object)
	__asm__("at_context_init");
AT_PUBLIC void at_symbol_enter(struct at_context *context) __asm__("at_context_enter");
AT_PUBLIC void at_symbol_leave(struct at_context *context) __asm__("at_context_leave");
AT_PUBLIC void at_symbol_destroy(struct at_context *context) __asm__("at_context_destroy");
AT_PUBLIC struct at_context *at_symbol_current(void) __asm__("at_context_current");
AT_PUBLIC uint64_t at_symbol_execution(void) __asm__("at_context_execution");
AT_PUBLIC uint64_t at_symbol_trigger(const struct at_context *context)
	__asm__("at_context_trigger");

void at_symbol_init(struct at_context *context, uint32_t provider, void *object)
{
	at_context_init(context, provider, object);
}

void at_symbol_enter(struct at_context *context)
{
	at_context_enter(context);
}

void at_symbol_leave(struct at_context *context)
{
	at_context_leave(context);
}

void at_symbol_destroy(struct at_context *context)
{
	at_context_destroy(context);
}

struct at_context *at_symbol_current(void)
{
	return at_context_current();
}

uint64_t at_symbol_execution(void)
{
	return at_context_execution();
}

uint64_t at_symbol_trigger(const struct at_context *context)
{
	return at_context_trigger(context);
}
