// SPDX-License-Identifier: GPL-2.0
/*
 * A malicious provider: it registers and maps as it must, then writes invalid data from two threads
 * until it is killed
 *
 * usage: hostile ATTACK [SEED]
 *
 * scribble	random words all over the mapping
 * positions	positions backwards, far ahead, at each edge; counts; drops
 * forge	well-formed sub-buffers of forged records, and forged names
 * flood		endless new data for the recorder: drops, threads, names
 * cells	random words in the cells of the threads, which switch meanwhile
 * all		each of these, in turns
 * exact		each forged record once among good ones, in a valid sub-buffer; prints
 *		"exact: GOOD good, BAD bad" and waits
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "forge.h"
#include "raw.h"

static struct raw_provider p;
static __thread uint64_t state;
static __thread bool second;	/* this is the second of the two threads */

static uint64_t rnd(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Returns a random ring of this machine, or the fallback ring. */
static uint32_t any_ring(void)
{
	return rnd() % (p.control->nr_rings + 1);
}

/* Returns a position that could confuse the reader. */
static uint64_t any_position(void)
{
	const uint64_t sub = p.control->sub_mask + 1ULL, ring = p.control->ring_mask + 1ULL;
	const uint64_t edges[] = {
		0, 1, 3, 4, 5, sub - 1, sub, sub + 1, sub + 4, ring - 1, ring, ring + 1,
		ring + sub, 2 * ring, 3 * ring - 1, 1ULL << 31, 1ULL << 32, (1ULL << 36) - 1,
		1ULL << 36, 1ULL << 47, ASYNCTRACE_POS_MASK - sub, ASYNCTRACE_POS_MASK - 1,
		ASYNCTRACE_POS_MASK,
	};
	const uint64_t counts[] = { 0, 1, 2, 0x7fff, 0x8000, 0xfffe, 0xffff };
	uint64_t pos = edges[rnd() % (sizeof(edges) / sizeof(edges[0]))];

	switch (rnd() % 4) {
	case 0:
		pos += rnd() % (4 * ring);
		break;
	case 1:
		pos = rnd();
		break;
	}
	return (pos & ASYNCTRACE_POS_MASK) |
	       counts[rnd() % (sizeof(counts) / sizeof(counts[0]))] << ASYNCTRACE_POS_BITS;
}

static void scribble(void)
{
	volatile uint64_t *words = (void *)p.rw;

	for (int i = 0; i < 4096; i++) {
		uint64_t at = rnd() % (p.rw_size / 8);

		/*
		 * Write every second word into the header lines, which are a small part of the
		 * memory.
		 */
		if (i & 1)
			at = p.control->headers / 8 + rnd() % (8 * (p.control->nr_rings + 1));
		words[at] = rnd() & 1 ? rnd() : rnd() % 8192;
	}
	/* Write a random position of the names, and random words over the names. */
	words = (void *)(p.rw + p.control->durable);
	words[0] = rnd() % (2ULL * p.control->durable_words);
	for (int i = 0; i < 64; i++)
		words[8 + rnd() % p.control->durable_words] = rnd();
}

static void positions(void)
{
	for (int i = 0; i < 256; i++) {
		volatile struct asynctrace_ring_header *h = raw_header(&p, any_ring());

		h->position = any_position();
		if (!(i % 16))
			h->dropped = rnd() & 1 ? rnd() : h->dropped - 1;
	}
}

/* Writes the head of a sub-buffer, correct or with one wrong word. */
static void forge_head(volatile uint64_t *w, uint64_t sequence, uint64_t records, uint64_t end)
{
	w[0] = ASYNCTRACE_SUBBUF_MAGIC | (uint64_t)p.control->gate << 32;
	w[1] = sequence;
	w[2] = records;
	w[3] = end;
	if (!(rnd() % 4))
		w[rnd() % 4] = rnd();
}

static void forge_ring(uint32_t ring, unsigned int subs)
{
	const uint64_t sub = p.control->sub_mask + 1ULL, mask = p.control->ring_mask;
	volatile uint64_t *data = raw_ring(&p, ring);
	uint64_t at = 0, end = 0, records = 0, w[FORGE_WORDS_MAX];
	struct forge f = { .slot = p.slot };
	unsigned int count = 0;

	for (unsigned int s = 0; s < subs; s++) {
		forge_head(data + (s * sub & mask), s, records, end);
		count = 0;
		for (at = s * sub + 4; at + FORGE_WORDS_MAX < (s + 1) * sub && count < 500;) {
			size_t n;

			f.now = raw_stamp(&p);
			f.foreign = rnd() & 1 ? rnd() % 8 + 3 : rnd();
			if (rnd() % 8)
				n = forge(rnd(), &f, w);
			else
				n = rnd() & 1 ? forge_good(&f, w) : forge_good_duration(&f, w);
			for (size_t i = 0; i < n; i++)
				data[(at + i) & mask] = w[i];
			at += n;
			count++;
			if (!(rnd() % 400))	/* lost framing: a size of 0, or too large */
				data[at++ & mask] = rnd() & 1 ? 4 : 0xfff4;
		}
		end = at;
		records += count;
	}
	__atomic_store_n(&raw_header(&p, ring)->position,
			 at | (uint64_t)count << ASYNCTRACE_POS_BITS, __ATOMIC_RELEASE);
}

static void forge_names(void)
{
	volatile uint64_t *line = (void *)(p.rw + p.control->durable), *names = line + 8;
	uint32_t at = 0;

	while (at + 8 < p.control->durable_words && at < 2000) {
		unsigned int words = rnd() % 5, bytes = rnd() % 40;

		names[at] = ASYNCTRACE_FXT_STRING_HEAD(rnd() % 4 ? rnd() % 64 : rnd(), bytes);
		if (rnd() & 1)
			names[at] = ASYNCTRACE_FXT_HEAD(rnd() & 15, words) | rnd() << 16;
		for (unsigned int i = 1; i < 8; i++)
			names[at + i] = rnd();
		at += words ? words : 1;
	}
	line[0] = at | (uint64_t)p.control->durable_generation << 32;
}

static void *thread_of_flood(void *arg)
{
	raw_ioctl(p.fd, ASYNCTRACE_IOC_THREAD, NULL);
	prctl(PR_SET_NAME, "flood", 0, 0, 0);
	return arg;
}

static void flood(void)
{
	volatile uint64_t *line = (void *)(p.rw + p.control->durable);
	pthread_t thread;

	for (uint32_t i = 0; i <= p.control->nr_rings; i++)
		raw_header(&p, i)->position = 4;
	/* Let one thread do only this, so that the data changes between any two reads. */
	for (int n = 0; n < 100000 || (second && n < 10000000); n++)
		for (uint32_t i = 0; i <= p.control->nr_rings; i++)
			raw_header(&p, i)->dropped++;
	line[0] = (line[0] + 1) % p.control->durable_words;
	for (int n = 0; n < 5; n++)
		if (!pthread_create(&thread, NULL, thread_of_flood, NULL))
			pthread_join(thread, NULL);
}

/* The kernel reads the first word of a cell at each switch. */
static void scribble_cells(void)
{
	static volatile uint64_t *words;

	/* Both threads of this process have got a cell in the first page. */
	if (!words)
		words = (void *)raw_cells(&p);
	for (int i = 0; words && i < 200; i++) {
		const uint64_t word = rnd(), id = word >> 1 & 15;

		/* Some words look like an id of any process, or of none. */
		words[rnd() % 512] = word & 1 ? word : rnd() << 44 | (word & 32) << 37 | id;
		if (i % 50 == 0)
			usleep(100);
	}
}

static void forge_some(void)
{
	forge_ring(any_ring(), rnd() % 6 + 1);
	forge_names();
}

static void (*const attacks[])(void) = { scribble, positions, forge_some, flood, scribble_cells };
static const char *const names[] = { "scribble", "positions", "forge", "flood", "cells" };

#define ATTACKS	(sizeof(attacks) / sizeof(attacks[0]))

static int attack = -1;
static uint64_t seed = 1;

static void *run(void *arg)
{
	struct asynctrace_slot slot;

	second = arg;
	state = seed * 0x9e3779b97f4a7c15ULL + second + 1;
	raw_slot(&p, &slot);
	for (;;) {
		if (p.control->gate <= ASYNCTRACE_GATE_ATTACH) {
			usleep(1000);
			continue;
		}
		attacks[attack < 0 ? rnd() % ATTACKS : (unsigned int)attack]();
	}
	return arg;
}

/* Writes one sub-buffer with a correct head. Its records are good and forged ones in turn. */
static void exact(void)
{
	struct forge f = { .slot = p.slot, .foreign = 12345 };
	volatile uint64_t *data;
	uint64_t at = 4, w[FORGE_WORDS_MAX];
	unsigned int good = 0, bad = 0;

	while (p.control->gate <= ASYNCTRACE_GATE_ATTACH)
		usleep(1000);
	data = raw_ring(&p, 0);
	data[0] = ASYNCTRACE_SUBBUF_MAGIC | (uint64_t)p.control->gate << 32;
	data[1] = data[2] = data[3] = 0;
	for (unsigned int i = 0; i <= forge_kinds; i++) {
		size_t n;

		f.now = raw_stamp(&p);
		n = i & 1 ? forge_good_duration(&f, w) : forge_good(&f, w);
		for (size_t j = 0; j < n; j++)
			data[at++] = w[j];
		good++;
		if (i == forge_kinds)
			break;
		n = forge(i, &f, w);
		for (size_t j = 0; j < n; j++)
			data[at++] = w[j];
		bad++;
	}
	/* Write this record last, because readers find nothing behind lost framing. */
	data[at++] = ASYNCTRACE_FXT_EVENT;	/* of size 0 */
	forge_good(&f, w);
	for (size_t j = 0; j < 5; j++)
		data[at++] = w[j];
	bad += 2;
	__atomic_store_n(&raw_header(&p, 0)->position,
			 at | (uint64_t)(good + bad) << ASYNCTRACE_POS_BITS, __ATOMIC_RELEASE);
	printf("exact: %u good, %u bad\n", good, bad);
	fflush(stdout);
	pause();
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int err;

	if (argc < 2)
		return 2;
	for (size_t i = 0; i < ATTACKS; i++)
		if (!strcmp(argv[1], names[i]))
			attack = i;
	if (argc > 2)
		seed = strtoull(argv[2], NULL, 0);
	err = raw_provider(&p, "hostile", 256 * 1024);
	if (err) {
		fprintf(stderr, "hostile: %s\n", strerror(-err));
		return 1;
	}
	prctl(PR_SET_NAME, "hostile", 0, 0, 0);
	if (!strcmp(argv[1], "exact")) {
		exact();
		return 0;
	}
	printf("hostile: %s, seed %llu\n", argv[1], (unsigned long long)seed);
	fflush(stdout);
	if (pthread_create(&thread, NULL, run, (void *)1))
		return 1;
	run(NULL);
	return 0;
}
