// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes a profile for pprof: protobuf messages, compressed by gzip */
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "pprof.h"
#include "tool.h"

#define GZIP_WINDOW	(15 + 16)	/* for zlib: use the largest window, write a gzip header */

/* Field numbers of profile.proto */
enum { PROFILE_TYPE = 1, PROFILE_SAMPLE = 2, PROFILE_LOCATION = 4, PROFILE_FUNCTION = 5,
       PROFILE_STRING = 6, PROFILE_DURATION = 10, PROFILE_DEFAULT_TYPE = 14 };
enum { TYPE_NAME = 1, TYPE_UNIT = 2 };
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES = 2 };
enum { LOCATION_ID = 1, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2 };

/* Wire types of protobuf */
enum { WIRE_NUMBER = 0, WIRE_BYTES = 2 };

struct bytes {
	unsigned char *of;
	size_t nr, room;
	bool failed;
};

struct profile {
	struct bytes out;
	struct fxt_names strings;	/* their numbers are indexes of the string table */
	struct fxt_names frames;	/* their numbers + 1 are ids of locations and functions */
	bool failed;
};

/* --- protobuf --------------------------------------------------------------------- */

static void put_byte(struct bytes *b, unsigned char byte)
{
	if (b->failed || !more_room(&b->of, b->nr, &b->room, 1))
		b->failed = true;
	else
		b->of[b->nr++] = byte;
}

/* Appends a number, seven bits in each byte, the lowest first. */
static void put_varint(struct bytes *b, uint64_t n)
{
	for (; n >= 0x80; n >>= 7)
		put_byte(b, n | 0x80);
	put_byte(b, n);
}

static void put_number(struct bytes *b, unsigned int field, uint64_t n)
{
	put_varint(b, field << 3 | WIRE_NUMBER);
	put_varint(b, n);
}

static void put_bytes(struct bytes *b, unsigned int field, const void *data, size_t len)
{
	put_varint(b, field << 3 | WIRE_BYTES);
	put_varint(b, len);
	for (size_t i = 0; i < len; i++)
		put_byte(b, ((const unsigned char *)data)[i]);
}

/* Appends the message or list @in as a field of @b, and empties @in. */
static void put_message(struct bytes *b, unsigned int field, struct bytes *in)
{
	b->failed |= in->failed;
	put_bytes(b, field, in->of, in->nr);
	free(in->of);
	*in = (struct bytes){ 0 };
}

/* --- the profile -------------------------------------------------------------------- */

static uint32_t intern(struct profile *p, struct fxt_names *names, const char *text)
{
	uint32_t n = fxt_name(names, text, strlen(text));

	p->failed |= n == UINT32_MAX;
	return n;
}

static void put_type(struct profile *p, const char *name, const char *unit)
{
	struct bytes type = { 0 };

	put_number(&type, TYPE_NAME, intern(p, &p->strings, name));
	put_number(&type, TYPE_UNIT, intern(p, &p->strings, unit));
	put_message(&p->out, PROFILE_TYPE, &type);
}

static void put_sample(struct profile *p, const struct blame_row *row)
{
	struct bytes locations = { 0 }, values = { 0 }, sample = { 0 };
	const char *frames[BLAME_FRAMES];
	/* The format's numbers have a sign. */
	const uint64_t ns = row->ns < INT64_MAX ? row->ns : INT64_MAX;

	/* The format lists the innermost frame first. */
	for (size_t i = blame_frames(row, frames); i; i--)
		put_varint(&locations, intern(p, &p->frames, tool_text(frames[i - 1])) + 1);
	put_varint(&values, row->count);
	put_varint(&values, ns);
	for (int s = 0; s < ANALYSIS_STATES; s++)
		put_varint(&values, row->state == (enum analysis_state)s ? ns : 0);
	put_message(&sample, SAMPLE_LOCATIONS, &locations);
	put_message(&sample, SAMPLE_VALUES, &values);
	put_message(&p->out, PROFILE_SAMPLE, &sample);
}

/* Writes a frame as a location with one line, in a function with the frame's name. */
static void put_frame(struct profile *p, uint32_t frame)
{
	struct bytes line = { 0 }, location = { 0 }, function = { 0 };
	const uint64_t id = (uint64_t)frame + 1;

	put_number(&line, LINE_FUNCTION, id);
	put_number(&location, LOCATION_ID, id);
	put_message(&location, LOCATION_LINE, &line);
	put_message(&p->out, PROFILE_LOCATION, &location);
	put_number(&function, FUNCTION_ID, id);
	put_number(&function, FUNCTION_NAME, intern(p, &p->strings, p->frames.of[frame]));
	put_message(&p->out, PROFILE_FUNCTION, &function);
}

static void put_profile(struct profile *p, const struct blame *b, uint64_t duration_ns)
{
	/* The format requires the empty string at index 0. */
	intern(p, &p->strings, "");
	put_type(p, "count", "count");
	put_type(p, "time", "nanoseconds");
	for (int s = 0; s < ANALYSIS_STATES; s++)
		put_type(p, analysis_state_name(s), "nanoseconds");
	for (size_t i = 0; i < b->nr; i++)
		put_sample(p, &b->of[i]);
	for (uint32_t i = 0; i < p->frames.nr && !p->failed; i++)
		put_frame(p, i);
	put_number(&p->out, PROFILE_DURATION, duration_ns);
	put_number(&p->out, PROFILE_DEFAULT_TYPE, intern(p, &p->strings, "time"));
	for (uint32_t i = 0; i < p->strings.nr; i++)
		put_bytes(&p->out, PROFILE_STRING, p->strings.of[i], strlen(p->strings.of[i]));
}

static bool write_compressed(FILE *f, const struct bytes *b)
{
	z_stream z = { .next_in = b->of, .avail_in = b->nr };
	unsigned char *out;
	size_t room;

	if (b->nr > UINT32_MAX / 2 ||
	    deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return false;
	room = deflateBound(&z, b->nr);
	out = malloc(room);
	if (out) {
		z.next_out = out;
		z.avail_out = room;
		/* deflateBound() made room for all output, so one call is enough. */
		deflate(&z, Z_FINISH);
		fwrite(out, 1, room - z.avail_out, f);
	}
	deflateEnd(&z);
	free(out);
	return out;
}

bool pprof_write(FILE *f, const struct blame *b, uint64_t duration_ns)
{
	struct profile p = { 0 };
	bool done;

	put_profile(&p, b, duration_ns);
	done = !p.failed && !p.out.failed && write_compressed(f, &p.out);
	free(p.out.of);
	fxt_names_free(&p.strings);
	fxt_names_free(&p.frames);
	return done;
}
