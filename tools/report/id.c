// SPDX-License-Identifier: GPL-2.0-or-later
/* Formats and parses ids of operations */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "id.h"

const char *id_text(const struct analysis_id *id, char number[ID_TEXT])
{
	if (id->key)
		return id->key;
	snprintf(number, ID_TEXT, "0x%" PRIx64, id->id);
	return number;
}

bool id_parse(const char *text, uint64_t *id)
{
	const bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	char *end;

	errno = 0;
	*id = strtoull(text, &end, hex ? 16 : 10);
	return *text >= '0' && *text <= '9' && !*end && !errno;
}

bool id_is(const struct analysis_id *id, const char *text)
{
	uint64_t number;

	return id->key ? !strcmp(id->key, text) : id_parse(text, &number) && number == id->id;
}
