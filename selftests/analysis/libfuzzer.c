// SPDX-License-Identifier: GPL-2.0
/* A target of libFuzzer: eight bytes that choose options, then records without the magic. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t words = size / 8;
	uint64_t *copy = malloc(words * 8 + 1);
	struct fxt_reader *r = fxt_open_pushed();

	if (!copy || !r)
		abort();
	memcpy(copy, data, words * 8);
	if (words && (fxt_push(r, copy + 1, words - 1) || fuzz_rows(r, copy[0])))
		abort();
	fxt_close(r);
	free(copy);
	return 0;
}
