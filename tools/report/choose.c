// SPDX-License-Identifier: GPL-2.0-or-later
/* Parses types and times by which a user chooses operations */
#include <stdlib.h>
#include <string.h>

#include "choose.h"

bool choose_type(const char *type, const struct analysis_id *id)
{
	size_t len = strlen(id->category);

	if (!strcmp(type, id->name) || !strcmp(type, "*"))
		return true;
	return !strncmp(type, id->category, len) && type[len] == '/' &&
	       !strcmp(type + len + 1, id->name);
}

bool choose_time(const char *text, uint64_t *ns)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
	char *end;
	double x;

	if (*text < '0' || *text > '9')
		return false;
	x = strtod(text, &end);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].unit))
			continue;
		x *= units[i].ns;
		if (!(x < 1e18))
			return false;
		/*
		 * Round to the nearest number, because 2.01 times 1e3 is a little less than 2010
		 * as a double.
		 */
		*ns = x;
		*ns += x - *ns >= 0.5;
		return true;
	}
	return false;
}
