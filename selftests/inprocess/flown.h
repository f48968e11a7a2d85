/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Numbered events in files of the flight recorder and of traces
 */
#ifndef FLOWN_H
#define FLOWN_H

#include <stdbool.h>
#include <stdint.h>

#include <asynctrace/flight.h>

#define FLOWN_WRITERS	16
/* Words in a ring of a record of flown_write() */
#define FLOWN_WORDS	5

/**
 * struct flown - the events of flown_write() in one file
 * @events: their number
 * @of: their number, by writer
 * @first: the lowest number, by writer
 * @last: the highest number, by writer
 * @lost: records that the file's marks of losses count as overwritten
 * @broken: the file does not consist of whole records
 */
struct flown {
	uint64_t events;
	uint64_t of[FLOWN_WRITERS];
	uint64_t first[FLOWN_WRITERS];
	uint64_t last[FLOWN_WRITERS];
	uint64_t lost;
	bool broken;
};

/* Attempts one event. */
void flown_write(unsigned int writer, uint64_t number);
void flown_read(int fd, struct flown *f);
/* Does asynctrace validate accept the file as clean? */
bool flown_valid(int fd);
/* Same, but records may have been dropped, so that ends may be missing */
bool flown_valid_but_lossy(int fd);
/* Returns the number of attempted records by the recorder's counts. */
uint64_t flown_attempted(const struct at_flight_result *r);
/* Does the file have all events of the writer between its first and its last one? */
bool flown_whole(const struct flown *f, unsigned int writer);

#endif /* FLOWN_H */
