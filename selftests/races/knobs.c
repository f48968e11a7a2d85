// SPDX-License-Identifier: GPL-2.0
/* Sets knobs of the module, which are files in debugfs */
#include <stdio.h>

#include "../support/common.h"
#include "knobs.h"

#define KNOBS	"/sys/kernel/debug/asynctrace/"

void knob_set(const char *knob, const char *value)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), KNOBS "%s", knob);
	f = fopen(path, "w");
	if (!f)
		ktap_bail("%s: %m: is the module built with CONFIG_ASYNCTRACE_RACES=y?", path);
	must(fputs(value, f) >= 0);
	must(!fclose(f));
}
