// SPDX-License-Identifier: GPL-2.0
/*
 * The counts of struct at_trace_result: their sum is the number of attempted records, also if
 * records are malformed or the file cannot be written
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <asynctrace/inprocess.h>
#include <asynctrace/provider.h>
#include <asynctrace/trace.h>

#include "common.h"
#include "flown.h"
#include "tape.h"

#define VTHREADS_MAX	16384
#define u(x)		((unsigned long long)(x))

static int memory(void)
{
	return memfd_create("accounts", MFD_CLOEXEC);
}

static uint64_t attempted(const struct at_trace_result *r)
{
	return r->delivered + r->overwritten + r->dropped + r->malformed + r->unwritten;
}

static void start(int fd, uint32_t mode, uint64_t ring_size)
{
	const struct at_trace_options o = {
		.size = sizeof(o), .mode = mode, .ring_size = ring_size,
	};

	check(!at_trace_start(fd, &o));
}

static struct at_trace_result stop(int err)
{
	struct at_trace_result r = { .size = sizeof(r) };

	check(at_trace_stop(&r) == err && r.error == err, "%d", r.error);
	return r;
}

static void too_many_virtual_threads(void)
{
	const uint64_t before = at_ticks();
	const int fd = memory();
	struct at_trace_result r;

	start(fd, ASYNCTRACE_MODE_ONESHOT, 64 << 20);
	for (uint64_t id = 1; id <= VTHREADS_MAX + 100; id++)
		TRACE_VTHREAD_DURATION_BEGIN("v", "begin", "queue", id, before);
	r = stop(0);
	check(attempted(&r) == VTHREADS_MAX + 100, "%llu", u(attempted(&r)));
	check(r.delivered == VTHREADS_MAX && r.malformed == 100, "%llu, %llu", u(r.delivered),
	      u(r.malformed));
	close(fd);
	done("result_surplus_virtual_threads_are_malformed");
}

static void malformed(void)
{
	const int fd = memory();
	struct at_trace_result r;
	struct flown f;

	start(fd, ASYNCTRACE_MODE_STREAMING, 1 << 20);
	for (uint64_t i = 0; i < 50; i++) {
		flown_write(0, i);
		TRACE_VTHREAD_DURATION_BEGIN("v", "future", "queue", 1, UINT64_MAX >> 1);
	}
	TRACE_BLOB((trace_blob_type_t)77, "unknown", "12345678", 8);
	/* The text is repaired, so the record is in the file. */
	TRACE_INSTANT("v", "text", TRACE_SCOPE_THREAD, "wrong", TA_STRING("\xff"), "n", 1);
	r = stop(0);
	flown_read(fd, &f);
	check(f.events == 50, "%llu in the file", u(f.events));
	check(r.delivered == 51 && r.malformed == 51 && attempted(&r) == 102, "%llu, %llu of %llu",
	      u(r.delivered), u(r.malformed), u(attempted(&r)));
	close(fd);
	done("result_malformed_records_are_not_delivered");
}

/* The members behind @size keep their values. */
static void short_result(void)
{
	struct at_trace_result r = {
		.size = offsetof(struct at_trace_result, malformed), .malformed = 7, .unwritten = 8,
	};
	const int fd = memory();

	start(fd, 0, 0);
	flown_write(0, 0);
	check(!at_trace_stop(&r));
	check(r.delivered == 1 && r.malformed == 7 && r.unwritten == 8);
	close(fd);
	done("result_of_earlier_size_is_not_exceeded");
}

static void full_disk(void)
{
	const int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct at_trace_result r;

	start(fd, 0, 0);
	for (uint64_t i = 0; i < 100; i++)
		flown_write(0, i);
	TRACE_BLOB((trace_blob_type_t)77, "unknown", "12345678", 8);
	r = stop(-ENOSPC);
	check(!r.delivered && r.malformed + r.unwritten == 101 && attempted(&r) == 101,
	      "%llu delivered, %llu unwritten", u(r.delivered), u(r.unwritten));
	close(fd);
	done("result_full_disk_nothing_is_delivered");
}

/* The file has the first part of the records. */
static void full_in_the_middle(uint32_t mode)
{
	const struct rlimit limit = { 100000, RLIM_INFINITY };
	const int fd = memory();
	struct rlimit old;
	struct at_trace_result r;
	struct flown f;

	getrlimit(RLIMIT_FSIZE, &old);
	setrlimit(RLIMIT_FSIZE, &limit);
	start(fd, mode, 16 << 10);
	for (uint64_t i = 0; i < 30000; i++) {
		flown_write(0, i);
		if (i % 100 == 0)
			sleep_us(100);
	}
	r = stop(mode == ASYNCTRACE_MODE_CIRCULAR ? 0 : -EFBIG);
	setrlimit(RLIMIT_FSIZE, &old);
	flown_read(fd, &f);
	check(!f.broken && f.events && f.events == r.delivered, "%llu in the file, %llu delivered",
	      u(f.events), u(r.delivered));
	check(attempted(&r) == 30000, "%llu", u(attempted(&r)));
	check(mode == ASYNCTRACE_MODE_CIRCULAR ? r.overwritten : r.unwritten);
	close(fd);
}

int main(void)
{
	too_many_virtual_threads();
	malformed();
	short_result();
	full_disk();
	full_in_the_middle(ASYNCTRACE_MODE_STREAMING);
	full_in_the_middle(ASYNCTRACE_MODE_CIRCULAR);
	done("result_delivered_records_are_in_the_file");
	return finish();
}
