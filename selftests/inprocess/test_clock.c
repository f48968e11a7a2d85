// SPDX-License-Identifier: GPL-2.0
/*
 * Times of a trace whose thread is interrupted each time after it has read CLOCK_BOOTTIME: with
 * some readings of the counter, it then gets a time that is too early
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <asynctrace/inprocess.h>
#include <asynctrace/trace.h>
#include <linux/asynctrace_fxt.h>

#include "tape.h"

#define EVENTS		400
#define INTERRUPTED_NS	100000000	/* longer than a busy machine makes a thread wait */
#define ALLOWED_NS	(INTERRUPTED_NS / 4)
#define ull(x)		((unsigned long long)(x))

static uint32_t interrupts;
static pid_t first_thread;

/* Replaces the function of the C library, with which the library reads clocks. */
long syscall(long nr, ...)
{
	static long (*real)(long nr, ...);
	static uint32_t readings;
	long a[6], result;
	va_list args;

	va_start(args, nr);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (!real)
		real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	result = real(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (nr == SYS_clock_gettime && a[0] == CLOCK_BOOTTIME && load(&interrupts) &&
	    gettid() != first_thread && !(++readings % 4))
		nanosleep(&(struct timespec){ .tv_nsec = INTERRUPTED_NS }, NULL);
	return result;
}

static uint64_t boottime(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* Returns how much earlier than the time in its argument an event of the file is, at most. */
static uint64_t earliest(int fd, unsigned int *events)
{
	const uint64_t *w, *end;
	uint64_t most = 0;
	struct stat st;

	*events = 0;
	check(!fstat(fd, &st));
	w = mmap(NULL, st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	check(w != MAP_FAILED);
	for (end = w + st.st_size / 8; w < end; w += ASYNCTRACE_FXT_WORDS(*w)) {
		const uint64_t words = ASYNCTRACE_FXT_WORDS(*w);

		check(words && words <= (uint64_t)(end - w));
		/* Events of the composer have other numbers of arguments. */
		if (ASYNCTRACE_FXT_TYPE(*w) != ASYNCTRACE_FXT_EVENT ||
		    (*w >> 16 & 0xf) != ASYNCTRACE_FXT_INSTANT || (*w >> 20 & 0xf) != 1)
			continue;
		++*events;
		if (w[words - 1] > w[1] && w[words - 1] - w[1] > most)
			most = w[words - 1] - w[1];
	}
	return most;
}

int main(void)
{
	const int fd = memfd_create("clock", MFD_CLOEXEC);
	unsigned int events;
	uint64_t early;

	first_thread = gettid();
	check(!at_trace_start(fd, NULL));
	store(&interrupts, 1);
	for (int i = 0; i < EVENTS; i++) {
		TRACE_INSTANT("clock", "event", TRACE_SCOPE_THREAD, "now", TA_UINT64(boottime()));
		sleep_us(4000);
	}
	store(&interrupts, 0);
	check(!at_trace_stop(NULL));
	early = earliest(fd, &events);
	check(events == EVENTS && early < ALLOWED_NS, "%u events, up to %llu ns too early",
	      events, ull(early));
	done("times_are_right_if_the_reader_is_interrupted");
	return finish();
}
