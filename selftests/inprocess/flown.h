/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Numbered events, and what of them is in a file of the flight recorder or of a trace
 */
#ifndef FLOWN_H
#define FLOWN_H

#include <stdbool.h>
#include <stdint.h>

#include <asynctrace/flight.h>

#define FLOWN_WRITERS	16
/* Words of the record that flown_write() makes in a ring. */
#define FLOWN_WORDS	5

/**
 * struct flown - the events of flown_write() in one file
 * @events: how many
 * @of: how many, by writer
 * @first: the lowest number, by writer
 * @last: the highest number, by writer
 * @broken: the file is not a row of whole records
 */
struct flown {
	uint64_t events;
	uint64_t of[FLOWN_WRITERS];
	uint64_t first[FLOWN_WRITERS];
	uint64_t last[FLOWN_WRITERS];
	bool broken;
};

/* Attempts one event. */
void flown_write(unsigned int writer, uint64_t number);
void flown_read(int fd, struct flown *f);
/* Does asynctrace validate find the file clean? */
bool flown_valid(int fd);
/* The number of attempted records by the ledger. */
uint64_t flown_attempted(const struct at_flight_result *r);
/* All events of one file that are between its first and its last are there. */
bool flown_whole(const struct flown *f, unsigned int writer);

#endif /* FLOWN_H */
