// SPDX-License-Identifier: LGPL-2.1-or-later
/* Names of system calls, from the headers that the library was built with */
#include <asm/unistd.h>

#include "composer.h"

static const char *const names[] = {
#include "syscall_names.h"
};

const char *atc_syscall_name(uint32_t number, char *text)
{
	char *end;

	if (number < sizeof(names) / sizeof(names[0]) && names[number])
		return names[number];
	end = atc_text_put(text, text + ATC_SYSCALL_MAX, "syscall_");
	*atc_text_put_number(end, text + ATC_SYSCALL_MAX, number) = 0;
	return text;
}
