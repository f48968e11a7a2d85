// SPDX-License-Identifier: GPL-2.0
/* Operations that wait in page faults */
#include <fcntl.h>
#include <inttypes.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "truth.h"

#define PAGES	16

static struct rusage used(void)
{
	struct rusage usage;

	must(!getrusage(RUSAGE_THREAD, &usage));
	return usage;
}

static size_t page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

/* Reads each page in a duration. Returns the operation's id; *spent: the time it took. */
static uint64_t touch(const volatile char *pages, size_t nr, uint64_t *spent)
{
	uint64_t id = at_flow_id();

	TRACE_DURATION("truth", "request");
	TRACE_ASYNC_BEGIN("truth", "request", id);
	{
		TRACE_DURATION("truth", "touch");
		*spent = now();
		for (size_t i = 0; i < nr; i++)
			(void)pages[i * page_size()];
		*spent = now() - *spent;
	}
	TRACE_ASYNC_END("truth", "request", id);
	return id;
}

/* Creates a file whose pages are on the disk, but not in memory. Returns a descriptor. */
static int uncached_file(size_t size)
{
	char path[256], *content = calloc(1, size);
	int fd;

	snprintf(path, sizeof(path), "%s/pages", directory);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	must(content && fd >= 0);
	must(write(fd, content, size) == (ssize_t)size);
	must(!fsync(fd) && !posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
	must(!unlink(path));
	free(content);
	return fd;
}

/*
 * Touches pages of a file that only the disk has. Returns true if the thread slept meanwhile. With
 * a fast disk it may not sleep.
 */
static bool touch_file(void)
{
	const size_t nr = rnd(PAGES / 2, PAGES), size = nr * page_size();
	int fd = uncached_file(size);
	char *pages = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	struct rusage before = used();
	uint64_t id, spent;
	bool slept;

	must(pages != MAP_FAILED);
	must(!madvise(pages, size, MADV_RANDOM));	/* no readahead */
	id = touch(pages, nr, &spent);
	must(used().ru_majflt > before.ru_majflt);
	slept = used().ru_nvcsw > before.ru_nvcsw;
	munmap(pages, size);
	close(fd);
	expect(id, "file fault", "\"duration\":\"touch\",\"thread\":%d,\"other\":\"kernel\","
	       "\"asleep_ns\":%" PRIu64 ",\"spent_ns\":%" PRIu64, tid(), spent, spent);
	return slept;
}

void scene_file_fault(void)
{
	while (!touch_file())
		;
}

/* A thread that works on its own operation and fills pages that others touch */
struct filler {
	int fd, tid;
	uint64_t id, ns;
};

static void *fills(void *arg)
{
	struct filler *f = arg;
	struct uffd_msg msg;
	struct uffdio_zeropage zero = { .range.len = page_size() };

	f->tid = tid();
	must(read(f->fd, &msg, sizeof(msg)) == sizeof(msg));
	must(msg.event == UFFD_EVENT_PAGEFAULT);
	TRACE_DURATION("truth", "fill");
	TRACE_ASYNC_BEGIN("truth", "request", f->id);
	nap(f->ns);
	zero.range.start = msg.arg.pagefault.address & -page_size();
	must(!ioctl(f->fd, UFFDIO_ZEROPAGE, &zero));
	TRACE_ASYNC_END("truth", "request", f->id);
	return NULL;
}

void scene_user_fault(void)
{
	struct filler f = { .id = at_flow_id(), .ns = rnd(3 * MS, 20 * MS) };
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .range.len = page_size(),
					 .mode = UFFDIO_REGISTER_MODE_MISSING };
	char *page = mmap(NULL, page_size(), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t id, spent;
	pthread_t filler;

	must(page != MAP_FAILED);
	f.fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	must(f.fd >= 0 && !ioctl(f.fd, UFFDIO_API, &api));
	range.range.start = (uintptr_t)page;
	must(!ioctl(f.fd, UFFDIO_REGISTER, &range));
	start(&filler, fills, &f);
	id = touch(page, 1, &spent);
	pthread_join(filler, NULL);
	close(f.fd);
	munmap(page, page_size());
	expect(id, "user fault", "\"duration\":\"touch\",\"thread\":%d,\"other\":%d,"
	       "\"other_id\":\"0x%" PRIx64 "\",\"asleep_ns\":%" PRIu64
	       ",\"spent_ns\":%" PRIu64, tid(), f.tid, f.id, spent, spent);
}
