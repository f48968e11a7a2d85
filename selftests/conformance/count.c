// SPDX-License-Identifier: GPL-2.0
/* The machine's clock, which may count instructions, and costs of requests */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common.h"
#include "count.h"

uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

bool instructions_are_counted(void)
{
	const uint64_t turns = 10 << 20;
	uint64_t least = UINT64_MAX;

	/* Another process may run in between: take the shortest of some tries. */
	for (int i = 0; i < 5; i++) {
		uint64_t left = turns, begin = now(), ns;

		/* Two instructions per turn */
		__asm__ volatile("1: dec %0; jnz 1b" : "+r" (left) : : "cc");
		ns = now() - begin;
		if (ns < least)
			least = ns;
	}
	return least >= 2 * turns && least < 2 * turns + turns / 8;
}

uint64_t busy(void)
{
	FILE *f = fopen("/proc/schedstat", "r");
	uint64_t sum = 0, ns;
	char line[512];

	if (!f)
		err(1, "/proc/schedstat");
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "cpu%*u %*u %*u %*u %*u %*u %*u %lu", &ns) == 1)
			sum += ns;
	fclose(f);
	return sum;
}

void costs_add(struct costs *c, uint64_t instructions)
{
	must(c->nr < ROUNDS_MAX);
	c->of[c->nr++] = instructions;
}

int costs_compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

uint64_t costs_typical(struct costs *c)
{
	qsort(c->of, c->nr, sizeof(c->of[0]), costs_compare);
	return c->of[c->nr / 4];
}
