// SPDX-License-Identifier: GPL-2.0
/* Writes numbered events, and finds them in files of the flight recorder and of traces */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <asynctrace/trace.h>
#include <linux/asynctrace_fxt.h>

#include "flown.h"

#define WRITER_SHIFT	40
#define NUMBER_MASK	((1ull << WRITER_SHIFT) - 1)

void flown_write(unsigned int writer, uint64_t number)
{
	TRACE_INSTANT("flown", "event", TRACE_SCOPE_THREAD, "n",
		      TA_UINT64((uint64_t)writer << WRITER_SHIFT | number));
}

static void take(struct flown *f, uint64_t id)
{
	const unsigned int writer = id >> WRITER_SHIFT & (FLOWN_WRITERS - 1);
	const uint64_t number = id & NUMBER_MASK;

	if (!f->of[writer]++)
		f->first[writer] = number;
	if (number < f->first[writer])
		f->first[writer] = number;
	if (number > f->last[writer])
		f->last[writer] = number;
	f->events++;
}

void flown_read(int fd, struct flown *f)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	const uint64_t *w, *end;
	struct stat st;

	*f = (struct flown){ 0 };
	if (fstat(fd, &st) || !st.st_size) {
		f->broken = true;
		return;
	}
	w = mmap(NULL, st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (w == MAP_FAILED) {
		f->broken = true;
		return;
	}
	f->broken = st.st_size % 8 || *w != ASYNCTRACE_FXT_MAGIC;
	for (end = w + st.st_size / 8; w < end && !f->broken; w += ASYNCTRACE_FXT_WORDS(*w)) {
		const uint64_t words = ASYNCTRACE_FXT_WORDS(*w);

		f->broken = !words || words > (uint64_t)(end - w);
		if (f->broken)
			break;
		/* Skip instant events of the composer, which have other numbers of arguments. */
		if (ASYNCTRACE_FXT_TYPE(*w) == ASYNCTRACE_FXT_EVENT &&
		    (*w >> 16 & 0xf) == ASYNCTRACE_FXT_INSTANT && (*w >> 20 & 0xf) == 1)
			take(f, w[words - 1]);
		/* "lost records": the arguments are dropped, overwritten, malformed, provider. */
		if (ASYNCTRACE_FXT_TYPE(*w) == ASYNCTRACE_FXT_EVENT &&
		    (*w >> 16 & 0xf) == ASYNCTRACE_FXT_DURATION && (*w >> 20 & 0xf) == 4)
			f->lost += w[7];
	}
	/*
	 * Name whole pages. Otherwise, the thread sanitizer remembers the accesses to the last
	 * page, and reports a race when the library's own system call maps memory there.
	 */
	munmap((void *)(end - st.st_size / 8), (st.st_size + page - 1) / page * page);
}

static bool valid(int fd, const char *options)
{
	char command[256];

	snprintf(command, sizeof(command),
		 "said=$(build/asynctrace validate %s /proc/%d/fd/%d 2>&1) && case $said in *': clean: '*) exit 0;; esac; echo \"# $said\"; exit 1",
		 options, getpid(), fd);
	fflush(stdout);
	return !system(command);
}

bool flown_valid(int fd)
{
	return valid(fd, "");
}

bool flown_valid_but_lossy(int fd)
{
	return valid(fd, "--allow-open");
}

uint64_t flown_attempted(const struct at_flight_result *r)
{
	return r->delivered + r->older + r->overwritten + r->dropped + r->malformed + r->unwritten;
}

bool flown_whole(const struct flown *f, unsigned int writer)
{
	return f->of[writer] && f->of[writer] == f->last[writer] - f->first[writer] + 1;
}
