// SPDX-License-Identifier: GPL-2.0
/*
 * Invalid ways to map the device, and changes of its mappings
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ktap.h"
#include "raw.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ	22
#define MADV_POPULATE_WRITE	23
#endif

#define STRIDE	(64 * 1024)

static struct raw_provider p;
static struct raw_nl nl;
static int session;

/* Returns 0 after mmap(2) and munmap(2), or a negative errno. */
static int map(size_t size, int prot, int flags, int fd, off_t offset)
{
	void *at = mmap(NULL, size, prot, flags, fd, offset);

	if (at == MAP_FAILED)
		return -errno;
	munmap(at, size);
	return 0;
}

#define RET(call)	((call) < 0 ? -errno : 0)

static void begin(void)
{
	NEED(!raw_provider(&p, "mapped", STRIDE));
}

static void end(void)
{
	raw_provider_end(&p);
}

/* Starts a session that records the provider, so that its pages are rings. */
static void record(void)
{
	NEED(!raw_nl_open(&nl));
	session = raw_session(&nl, "mmap", ASYNCTRACE_MODE_ONESHOT, ASYNCTRACE_SCHED_OFF,
			      STRIDE, "mapped");
	NEED(session > 0);
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, session));
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, session));
}

static uint64_t pages(void)
{
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_GET, session));
	return raw_nl_u64(&nl, ASYNCTRACE_A_SESSION_PAGES);
}

static bool recorded(void)
{
	if (raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_GET, session))
		return false;
	return raw_nl_u32(&nl, ASYNCTRACE_A_SESSION_PROVIDERS) && p.control->gate > 1;
}

static void end_recording(void)
{
	raw_nl_close(&nl);
}

static void nothing_is_mapped_before_registration(void)
{
	int fd = raw_open();

	NEED(fd >= 0);
	EXPECT_IS(map(4096, PROT_READ, MAP_SHARED, fd, 0), -ENXIO);
	EXPECT_IS(raw_hello(fd, NULL), 0);
	EXPECT_IS(map(4096, PROT_READ, MAP_SHARED, fd, 0), -ENXIO);
	close(fd);
}

static void I4_control_area_is_read_only(void)
{
	size_t size;
	void *at;

	begin();
	size = p.control->control_size;
	EXPECT_IS(map(size, PROT_READ | PROT_WRITE, MAP_SHARED, p.fd, 0), -EACCES);
	EXPECT_IS(map(size, PROT_WRITE, MAP_SHARED, p.fd, 0), -EACCES);
	EXPECT_IS(map(size, PROT_READ, MAP_PRIVATE, p.fd, 0), -EINVAL);
	EXPECT_IS(map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE, p.fd, 0), -EINVAL);
	EXPECT_IS(map(size, PROT_READ | PROT_EXEC, MAP_SHARED, p.fd, 0), -EINVAL);
	EXPECT_IS(map(size + 4096, PROT_READ, MAP_SHARED, p.fd, 0), -EINVAL);
	EXPECT_IS(map(4096, PROT_READ, MAP_SHARED, p.fd, 4096), -EINVAL);
	/* Any part from the beginning can be mapped, any number of times. */
	EXPECT_IS(map(size, PROT_READ, MAP_SHARED, p.fd, 0), 0);
	EXPECT_IS(map(4096, PROT_READ, MAP_SHARED, p.fd, 0), 0);

	at = (void *)p.control;
	EXPECT_IS(RET(mprotect(at, size, PROT_READ | PROT_WRITE)), -EACCES);
	EXPECT_IS(RET(mprotect(at, size, PROT_READ | PROT_EXEC)), -EACCES);
	EXPECT_IS(RET(mprotect(at, 4096, PROT_NONE)), -EINVAL);	/* a split */
	EXPECT_IS(RET(mprotect(at, size, PROT_READ)), 0);
	EXPECT_IS(p.control->magic, ASYNCTRACE_CONTROL_MAGIC);
	end();
}

static void read_write_area_is_mapped_once_and_whole(void)
{
	off_t offset;
	size_t size;

	begin();
	offset = p.control->rw_offset;
	size = p.control->rw_size;
	EXPECT_IS(map(size, PROT_READ | PROT_WRITE, MAP_SHARED, p.fd, offset), -EBUSY);
	EXPECT_IS(map(size - 4096, PROT_READ | PROT_WRITE, MAP_SHARED, p.fd, offset), -EINVAL);
	EXPECT_IS(map(size + 4096, PROT_READ | PROT_WRITE, MAP_SHARED, p.fd, offset), -EINVAL);
	EXPECT_IS(map(4096, PROT_READ | PROT_WRITE, MAP_SHARED, p.fd, offset), -EINVAL);
	EXPECT_IS(map(size - 4096, PROT_READ | PROT_WRITE, MAP_SHARED, p.fd, offset + 4096),
		  -EINVAL);
	EXPECT_IS(map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE, p.fd, offset), -EINVAL);
	EXPECT_IS(map(size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED, p.fd, offset),
		  -EINVAL);
	/*
	 * Offsets far beyond the areas, with the ids of the next provider and of this one in the
	 * high bits. Each provider has an address space of its own, so they have no meaning.
	 */
	EXPECT_IS(map(4096, PROT_READ, MAP_SHARED, p.fd, (off_t)(p.id + 1) << 43), -EINVAL);
	EXPECT_IS(map(size, PROT_READ | PROT_WRITE, MAP_SHARED, p.fd,
		      ((off_t)p.id << 43) + offset), -EINVAL);
	end();
}

/* Without the right to write, mmap(2) treats even MAP_SHARED as private. */
static void a_descriptor_opened_for_reading_maps_nothing(void)
{
	int fd;

	begin();
	fd = open("/dev/" ASYNCTRACE_DEVICE, O_RDONLY | O_CLOEXEC);
	NEED(fd >= 0 && raw_register(fd, "reader", STRIDE) > 0);
	EXPECT_IS(map(4096, PROT_READ, MAP_SHARED, fd, 0), -EINVAL);
	EXPECT_IS(map(p.control->rw_size, PROT_READ, MAP_SHARED, fd, p.control->rw_offset),
		  -EINVAL);
	EXPECT_IS(map(p.control->rw_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		      p.control->rw_offset), -EACCES);
	close(fd);
	end();
}

static void the_rings_are_not_executable_split_or_moved(void)
{
	size_t size;

	begin();
	record();
	size = p.rw_size;
	EXPECT_IS(RET(mprotect(p.rw, size, PROT_READ | PROT_WRITE | PROT_EXEC)), -EACCES);
	EXPECT_IS(RET(mprotect(p.rw, 4096, PROT_READ)), -EINVAL);
	EXPECT_IS(RET(mprotect(p.rw + 4096, size - 4096, PROT_READ)), -EINVAL);
	EXPECT_IS(RET(munmap(p.rw, 4096)), -EINVAL);
	EXPECT_IS(RET(munmap(p.rw + size - 4096, 4096)), -EINVAL);
	EXPECT_IS(RET(munmap(p.rw + 4096, 4096)), -EINVAL);
	/* Map other memory over a part of the area. */
	EXPECT(mmap(p.rw + 4096, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		    0) == MAP_FAILED);
	/* The area cannot be moved, grown, shrunk or mapped a second time. */
	EXPECT(mremap(p.rw, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, p.rw - 2 * size) ==
	       MAP_FAILED);
	EXPECT(mremap(p.rw, size, 2 * size, MREMAP_MAYMOVE) == MAP_FAILED);
	EXPECT(mremap(p.rw, size, size / 2, MREMAP_MAYMOVE) == MAP_FAILED);
	EXPECT(mremap(p.rw, 0, size, MREMAP_MAYMOVE) == MAP_FAILED);
	EXPECT(mremap(p.rw, size, size, MREMAP_MAYMOVE | 4 /* DONTUNMAP */) == MAP_FAILED);
	EXPECT(syscall(SYS_remap_file_pages, p.rw, 4096, 0, 0, 0) < 0);
	/* The provider is unchanged and works. */
	usleep(100000);
	EXPECT(recorded());
	raw_write(&p, 0, 10);
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_STOP, session), 0);
	{
		struct raw_ledger sum;

		EXPECT_IS(raw_ledger(&nl, session, p.id, &sum), 0);
		EXPECT_IS(sum.committed, 10);
	}
	end_recording();
	end();
}

static void untouched_pages_are_never_populated(void)
{
	struct raw_provider q;
	uint64_t before;
	void *at;
	char byte;

	/*
	 * raw_provider() maps the read-write area, but the test must map it by MAP_POPULATE. So use
	 * this provider only to learn the area's size.
	 */
	NEED(!raw_provider(&q, "mapped", STRIDE));
	munmap(q.rw, q.rw_size);
	close(q.fd);
	/* Wait until this provider has ended, because the session must not record it. */
	usleep(100000);
	q.fd = raw_open();
	NEED(q.fd >= 0 && raw_register(q.fd, "mapped", STRIDE) > 0);
	p = q;
	NEED((p.control = mmap(NULL, 4096, PROT_READ, MAP_SHARED, p.fd, 0)) != MAP_FAILED);
	record();
	NEED(p.control->gate > 1);
	before = pages();
	at = mmap(NULL, q.rw_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, p.fd,
		  p.control->rw_offset);
	NEED(at != MAP_FAILED);
	p.rw = at;
	EXPECT_IS(pages(), before);
	EXPECT(madvise(at, q.rw_size, MADV_POPULATE_READ) < 0);
	EXPECT(madvise(at, q.rw_size, MADV_POPULATE_WRITE) < 0);
	/* These calls may succeed or fail, but must not create pages. */
	madvise(at, q.rw_size, MADV_WILLNEED);
	mlock(at, q.rw_size);
	EXPECT_IS(pages(), before);
	EXPECT_IS(RET(mlockall(MCL_CURRENT | MCL_FUTURE)), 0);
	EXPECT_IS(pages(), before);
	munlockall();
	/* Touching one page creates one. */
	byte = *(volatile char *)raw_ring(&p, 0);
	(void)byte;
	EXPECT_IS(pages(), before + 1);
	EXPECT(madvise(at, q.rw_size, MADV_DODUMP) < 0);
	EXPECT(madvise(at, q.rw_size, MADV_DOFORK) < 0);
	EXPECT(madvise(at, q.rw_size, MADV_REMOVE) < 0);
	end_recording();
	munmap(at, q.rw_size);
	munmap((void *)p.control, 4096);
	munmap((void *)q.control, q.control->control_size);
	close(p.fd);
}

/* A thread that was migrated off its CPU may look at that CPU's ring once more. */
static void ring_of_offline_cpu_keeps_its_pages(void)
{
	static const char online[] = "/sys/devices/system/cpu/cpu1/online";
	struct raw_ledger sum;
	uint64_t before;

	if (raw_put(online, "1"))
		ktap_skip("no second CPU that can go offline");
	begin();
	record();
	before = pages();
	NEED(!raw_put(online, "0"));
	EXPECT_IS(*raw_ring(&p, 1), 0);
	NEED(!raw_put(online, "1"));
	raw_write(&p, 1, 10);
	EXPECT_IS(pages(), before + 1);
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_STOP, session), 0);
	EXPECT_IS(raw_ledger(&nl, session, p.id, &sum), 0);
	EXPECT_IS(sum.committed, 10);
	end_recording();
	end();
}

static void ring_is_not_readable_from_other_process(void)
{
	struct iovec to = { .iov_len = 64 }, from = { .iov_len = 64 };
	char buf[64], path[64];
	int fd, pid, status;

	begin();
	record();
	raw_write(&p, 0, 10);
	to.iov_base = buf;
	from.iov_base = (void *)raw_ring(&p, 0);
	EXPECT_IS(RET(process_vm_readv(getpid(), &to, 1, &from, 1, 0)), -EFAULT);
	EXPECT_IS(RET(process_vm_writev(getpid(), &to, 1, &from, 1, 0)), -EFAULT);
	snprintf(path, sizeof(path), "/proc/self/mem");
	fd = open(path, O_RDWR | O_CLOEXEC);
	NEED(fd >= 0);
	EXPECT(pread(fd, buf, 64, (off_t)(uintptr_t)from.iov_base) < 0);
	EXPECT(pwrite(fd, buf, 64, (off_t)(uintptr_t)from.iov_base) < 0);
	close(fd);
	/* A child process attaches to this process as a debugger. */
	pid = fork();
	if (!pid) {
		pid_t parent = getppid();

		if (ptrace(PTRACE_SEIZE, parent, 0, 0) || ptrace(PTRACE_INTERRUPT, parent, 0, 0))
			_exit(2);
		waitpid(parent, &status, 0);
		errno = 0;
		ptrace(PTRACE_PEEKDATA, parent, from.iov_base, 0);
		_exit(errno != EIO);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	EXPECT_IS(status, 0);
	end_recording();
	end();
}

static int child_maps(void *arg)
{
	const struct raw_provider *q = arg;
	int err = map(4096, PROT_READ, MAP_SHARED, q->fd, 0);

	if (err != -EACCES)
		return 1;
	err = map(q->rw_size, PROT_READ | PROT_WRITE, MAP_SHARED, q->fd, q->control->rw_offset);
	return err == -EACCES ? 0 : 2;
}

/* A forked child finds the gate "attach". Its writes do not reach its parent's rings. */
static int child_writes(void *arg)
{
	struct raw_provider *q = arg;
	uint32_t gate = q->control->gate;
	volatile uint64_t *ring = raw_ring(q, 0);

	/* The child sees another page instead of the control page: all zeros except the gate. */
	if (gate != ASYNCTRACE_GATE_ATTACH || q->control->headers || q->control->magic)
		return 1;
	for (size_t i = 0; i < q->rw_size; i += 4096)
		q->rw[i] = 'x';
	if (ring[0] == 0)
		return 2;
	for (size_t i = 0; i < q->rw_size; i += 4096)
		if (q->rw[i] != 'x')
			return 3;
	return 0;
}

static void child_cannot_map_or_write_parents_rings(void)
{
	struct raw_ledger sum;
	uint64_t before;

	begin();
	record();
	raw_write(&p, 0, 10);
	before = pages();
	EXPECT_IS(raw_child(child_maps, &p, -1), 0);
	EXPECT_IS(raw_child(child_writes, &p, -1), 0);
	EXPECT_IS(pages(), before);
	EXPECT(recorded());
	EXPECT_IS(raw_ledger(&nl, session, p.id, &sum), 0);
	EXPECT_IS(sum.committed, 10);
	EXPECT_IS(sum.dropped, 0);
	EXPECT(raw_ring(&p, 0)[0] == (ASYNCTRACE_SUBBUF_MAGIC | (uint64_t)p.control->gate << 32));
	end_recording();
	end();
}

static bool listed(int id)
{
	mnl_attr_put_u32(raw_nl_begin(&nl, ASYNCTRACE_CMD_PROVIDER_GET, 0),
			 ASYNCTRACE_A_PROVIDER_ID, id);
	return !raw_nl_ask(&nl);
}

static bool gone_soon(int id)
{
	for (int i = 0; i < 24000 && listed(id); i++)
		usleep(10000);
	return !listed(id);
}

/* A provider ends when its read-write area is unmapped or replaced by another mapping. */
static void a_provider_ends_with_its_mapping(void)
{
	begin();
	NEED(!raw_nl_open(&nl));
	EXPECT(listed(p.id));
	EXPECT_IS(RET(munmap(p.rw, p.rw_size)), 0);
	EXPECT(gone_soon(p.id));
	p.rw = NULL;
	/* The descriptor cannot register again. */
	EXPECT_IS(raw_register(p.fd, "again", STRIDE), -EBUSY);
	end();

	begin();
	EXPECT(listed(p.id));
	EXPECT(mmap(p.rw, p.rw_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
	       p.rw);
	EXPECT(gone_soon(p.id));
	end();
	raw_nl_close(&nl);
}

static void a_second_control_mapping_keeps_nothing_alive(void)
{
	const volatile struct asynctrace_control *c;

	begin();
	record();
	c = mmap(NULL, 4096, PROT_READ, MAP_SHARED, p.fd, 0);
	NEED(c != MAP_FAILED);
	EXPECT(c->gate > 1);
	munmap(p.rw, p.rw_size);
	p.rw = NULL;
	EXPECT(gone_soon(p.id));
	EXPECT_IS(c->gate, ASYNCTRACE_GATE_OFF);
	munmap((void *)c, 4096);
	end_recording();
	end();
}

static const struct ktap_test tests[] = {
	KTAP_TEST(nothing_is_mapped_before_registration),
	KTAP_TEST(I4_control_area_is_read_only),
	KTAP_TEST(read_write_area_is_mapped_once_and_whole),
	KTAP_TEST(a_descriptor_opened_for_reading_maps_nothing),
	KTAP_TEST(the_rings_are_not_executable_split_or_moved),
	KTAP_TEST(untouched_pages_are_never_populated),
	KTAP_TEST(ring_of_offline_cpu_keeps_its_pages),
	KTAP_TEST(ring_is_not_readable_from_other_process),
	KTAP_TEST(child_cannot_map_or_write_parents_rings),
	KTAP_TEST(a_provider_ends_with_its_mapping),
	KTAP_TEST(a_second_control_mapping_keeps_nothing_alive),
};

KTAP_MAIN(tests)
