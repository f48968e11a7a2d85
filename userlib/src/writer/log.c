// SPDX-License-Identifier: LGPL-2.1-or-later
/* Logs: lines of text about the current operation */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <asynctrace/operation.h>

#include "internal.h"
#include "operation.h"

#define AT_LOG_BYTES	1023	/* documented in asynctrace/operation.h */

static void write_log(uint64_t found, const struct at_site_ *site, const char *text, size_t bytes)
{
	const struct at_arg_ args[] = {
		at_arg_text_(text, bytes), at_arg_u64_(at_operation_current()),
	};

	at_write_args_(found, site, found >> 32, ASYNCTRACE_FXT_INSTANT, 0, args, 2);
}

/* Writes a line of text. If @format is NULL, the text is empty. */
__attribute__((format(printf, 3, 0)))
static void write_formatted(uint64_t found, const struct at_site_ *site, const char *format,
			    va_list list)
{
	/* One byte more than is written, because at_text_cut() reads it. */
	char text[AT_LOG_BYTES + 2];
	const int saved = errno;
	int bytes;

	if (!format) {
		write_log(found, site, "", 0);
		return;
	}
	bytes = vsnprintf(text, sizeof(text), format, list);
	errno = saved;
	/* If printf() rejects the format, log the format itself. */
	if (bytes < 0)
		write_log(found, site, format, strlen(format));
	else
		write_log(found, site, text, at_text_cut(text, bytes, AT_LOG_BYTES));
}

AT_PUBLIC void at_logf_(struct at_site_ *site, const uint64_t *refs, uint64_t found,
			const char *format, ...)
{
	va_list list;

	(void)refs;
	va_start(list, format);
	write_formatted(found, site, format, list);
	va_end(list);
}

static const char *const keys[] = { "message", "operation" };

AT_PUBLIC void at_log(const char *category, const char *message)
{
	const struct at_site_ site = { .keys = keys, .category = category, .name = "log" };
	const uint64_t found = at_category_find(category);

	if (found >> 32)
		write_log(found, &site, message ?: "", message ? strlen(message) : 0);
}

AT_PUBLIC void at_logf(const char *category, const char *format, ...)
{
	const struct at_site_ site = { .keys = keys, .category = category, .name = "log" };
	const uint64_t found = at_category_find(category);
	va_list list;

	if (!(found >> 32))
		return;
	va_start(list, format);
	write_formatted(found, &site, format, list);
	va_end(list);
}
