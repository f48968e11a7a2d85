// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Registering with the module
 *
 * The first macro that a process executes registers it, in any thread, also in a signal handler.
 * So registration uses only system calls: it does not allocate memory and is no cancellation
 * point. Other threads wait until it is done.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <linux/asynctrace.h>

#include "announced_categories.h"
#include "beside.h"
#include "child_trace.h"
#include "register.h"
#include "internal.h"
#include "registration.h"
#include "sys.h"

#define AT_DEVICE_PATH	"/dev/" ASYNCTRACE_DEVICE
/*
 * Lowest descriptor number of the device. Programs use low numbers: some close them all, some
 * expect the lowest number to be free.
 */
#define AT_FD_MIN	512
#define AT_STRIDE	(16u << 20)

static int open_device(void)
{
	int fd = at_sys_open(AT_DEVICE_PATH, O_RDWR | O_CLOEXEC | O_NONBLOCK), high;

	if (fd < 0)
		return -errno;
	high = at_sys_fcntl(fd, F_DUPFD_CLOEXEC, AT_FD_MIN);
	if (high < 0)
		return fd;
	at_sys_close(fd);
	return high;
}

/* Registers over generic netlink, or by ioctl if a sandbox forbids sockets. */
static int say_hello(int fd, uint64_t stride)
{
	struct asynctrace_hello hello = {
		.size = sizeof(hello),
		.abi = ASYNCTRACE_ABI_VERSION,
		.salt = __atomic_load_n(at_salt_word(), __ATOMIC_RELAXED),
	};
	struct asynctrace_attrs attrs = { .size = sizeof(attrs) };
	_Alignas(8) char buf[AT_REGISTER_ATTRS_MAX];
	uint32_t id;
	int ret;

	if (at_sys_ioctl(fd, ASYNCTRACE_IOC_HELLO, &hello))
		return -errno;
	at_backend_step();
	ret = at_genl_register(hello.cookie, at_module.name, at_module.version, stride, &id, NULL);
	if (ret != -EAFNOSUPPORT)
		return ret;
	ret = at_register_attrs(buf, sizeof(buf), at_module.name, at_module.version, stride);
	if (ret < 0)
		return ret;
	attrs.attrs = (uintptr_t)buf;
	attrs.len = ret;
	return at_sys_ioctl(fd, ASYNCTRACE_IOC_REGISTER, &attrs) ? -errno : 0;
}

/*
 * Maps @bytes at @offset of the device. Reuses the old address if the size is the same. Otherwise,
 * the old address stays mapped to empty memory, because a thread may still use it.
 */
static int map_area(int fd, char **addr, size_t *had, size_t bytes, int prot, off_t offset)
{
	const bool reuse = *addr && *had == bytes;
	void *p = at_mmap(reuse ? *addr : NULL, bytes, prot, MAP_SHARED | (reuse ? MAP_FIXED : 0),
		       fd, offset);

	if (p == MAP_FAILED)
		return -errno;
	*addr = p;
	*had = bytes;
	return 0;
}

/*
 * Maps the cells at a new address. After a new registration, a thread stores into its old cell
 * until it traces again. At the old address, it could overwrite another thread's new cell. Without
 * cells, scheduling records name no operations.
 */
static void map_cells(int fd, const struct asynctrace_control *c)
{
	void *p;

	at_module.nr_cells = c->nr_cells;
	__atomic_store_n(&at_module.cells, NULL, __ATOMIC_RELEASE);
	if (!c->cells)
		return;
	p = at_mmap(NULL, c->nr_cells * sizeof(*at_module.cells), PROT_READ | PROT_WRITE,
		    MAP_SHARED, fd, c->cells);
	/* Pairs with the load-acquires in at_module_slot(). */
	if (p != MAP_FAILED)
		__atomic_store_n(&at_module.cells, p, __ATOMIC_RELEASE);
}

static int map_module(int fd)
{
	struct asynctrace_control c;
	void *first = at_mmap(NULL, at_page_size(), PROT_READ, MAP_SHARED, fd, 0);
	int err;

	if (first == MAP_FAILED)
		return -errno;
	memcpy(&c, first, sizeof(c));
	at_sys_munmap(first, at_page_size());
	if (c.magic != ASYNCTRACE_CONTROL_MAGIC || c.abi != ASYNCTRACE_ABI_VERSION)
		return -EPROTO;
	err = map_area(fd, &at_module.control, &at_module.control_size, c.control_size, PROT_READ,
		       0);
	if (err)
		return err;
	__atomic_store_n(at_salt_word(), c.salt, __ATOMIC_RELAXED);
	err = map_area(fd, &at_module.rw, &at_module.rw_size, c.rw_size,
		       PROT_READ | PROT_WRITE, c.rw_offset);
	if (!err)
		map_cells(fd, &c);
	return err;
}

static int hand_over(int fd, const struct at_announced *a)
{
	struct asynctrace_attrs attrs = {
		.size = sizeof(attrs),
		.len = a->len,
		.attrs = (uintptr_t)a->attrs,
	};

	return at_sys_ioctl(fd, ASYNCTRACE_IOC_ANNOUNCE, &attrs) ? -errno : 0;
}

static int try_register(uint64_t stride)
{
	int fd = open_device(), err;
	struct stat st;

	if (fd < 0)
		return fd;
	at_backend_step();
	err = say_hello(fd, stride);
	at_backend_step();
	if (!err)
		err = map_module(fd);
	at_backend_step();
	if (!err && at_sys_fstat(fd, &st))
		err = -errno;
	if (err) {
		/* Remove all mappings, because each would keep the process registered. */
		at_module_unmap();
		at_sys_close(fd);
		return err;
	}
	at_module.fd = fd;
	at_module.rdev = st.st_rdev;
	memset(&at_module.seen, 0, sizeof(at_module.seen));
	/* Ignore errors: a recording without descriptions is still useful. */
	if (at_module.announced)
		hand_over(fd, at_module.announced);
	return 0;
}

static enum at_reason reason_of(int err)
{
	switch (err) {
	case -ENOENT:
	case -ENODEV:
	case -ENXIO:
	case -EACCES:
	case -EPERM:
		return ASYNCTRACE_REASON_NO_MODULE;
	case -EPROTO:
		return ASYNCTRACE_REASON_ABI;
	default:
		return ASYNCTRACE_REASON_REFUSED;
	}
}

/*
 * Registers the process. The caller holds the lock. The gate is closed, or at ATTACH so that
 * other threads wait.
 */
static int do_register(void)
{
	uint64_t stride = at_module.stride ?: AT_STRIDE;
	int err;

	at_beside_hold();
	at_module_forget();
	if (!at_module.name[0])
		memcpy(at_module.name, at_default_name(),
		       strnlen(at_default_name(), ASYNCTRACE_NAME_MAX));
	/* If the address space is too small for the rings, try smaller rings. */
	do {
		err = try_register(stride);
		stride /= 4;
	} while (err == -ENOMEM && stride >= ASYNCTRACE_RING_MIN);
	at_module.tried = true;
	if (!err) {
		at_module.registered = true;
		at_module_enter_run();
		err = at_beside_registered(&at_module);
		if (err)
			at_module_forget();
	}
	if (err) {
		at_beside_refuse();
		if (at_backend() == ASYNCTRACE_BACKEND_NONE) {
			at_gate_reset(ASYNCTRACE_GATE_OFF);
			at_backend_why(reason_of(err), err);
		}
		return err;
	}
	if (at_backend() == ASYNCTRACE_BACKEND_NONE)
		err = at_module_resume();
	return err;
}

uint32_t at_attach(void)
{
	const int saved = errno;
	uint32_t gate;

	while ((gate = at_gate_now()) == ASYNCTRACE_GATE_ATTACH) {
		/*
		 * A registration may wait until no thread is in the fallback ring. So a thread in
		 * that ring must not wait for a registration.
		 */
		if (at_thread.in_fallback)
			break;
		if (at_child_trace_pending()) {
			if (!at_child_trace_start())
				break;
		} else if (at_backend_trylock()) {
			if (at_gate_now() == ASYNCTRACE_GATE_ATTACH)
				do_register();
			at_backend_unlock();
		} else if (!at_backend_wait()) {
			break;
		}
	}
	errno = saved;
	return gate;
}

void at_module_join(void)
{
	/* The gate is that of another copy, which registers the process itself. */
	if (at_library_mixed())
		return;
	at_backend_lock();
	if (at_gate_now() == ASYNCTRACE_GATE_ATTACH)
		do_register();
	at_backend_unlock();
}

bool at_module_attach(void)
{
	const int saved = errno;
	bool waited;

	if (at_thread.in_fallback)
		return false;
	waited = at_backend_trylock();
	if (waited) {
		if (at_beside_gate() == ASYNCTRACE_GATE_ATTACH)
			do_register();
		at_backend_unlock();
	} else {
		waited = at_backend_wait();
	}
	errno = saved;
	return waited;
}

int at_module_resume(void)
{
	int err;

	if (!at_module.registered) {
		at_gate_reset(at_module.tried ? ASYNCTRACE_GATE_OFF : ASYNCTRACE_GATE_ATTACH);
		at_backend_set(ASYNCTRACE_BACKEND_NONE, NULL, NULL);
		return 0;
	}
	at_backend_set(ASYNCTRACE_BACKEND_MODULE, at_module.rw, at_module.control);
	if (!at_module_fd_is_ours()) {
		at_gate_reset(ASYNCTRACE_GATE_ATTACH);
		return 0;
	}
	err = at_gate_map(at_module.fd);
	if (err) {
		at_gate_reset(ASYNCTRACE_GATE_OFF);
		at_module_forget();
		at_beside_refuse();
		at_backend_why(ASYNCTRACE_REASON_REFUSED, err);
	}
	return err;
}

int at_module_slot(uint64_t **cell)
{
	struct asynctrace_cell *cells = __atomic_load_n(&at_module.cells, __ATOMIC_ACQUIRE);
	struct asynctrace_slot slot = { .size = sizeof(slot) };
	int number;

	*cell = NULL;
	if (at_module_fd_is_ours()) {
		number = at_sys_ioctl(at_module.fd, ASYNCTRACE_IOC_THREAD, &slot);
		if (number < 0)
			return -errno;
		/*
		 * If another thread has registered the process anew meanwhile, the mapping is
		 * another one, and may have no page at that cell: a store would raise SIGBUS.
		 * Each registration maps its cells at other addresses. The thread learns its
		 * cell when it traces again.
		 */
		if (slot.cell && cells &&
		    __atomic_load_n(&at_module.cells, __ATOMIC_ACQUIRE) == cells)
			*cell = (uint64_t *)&cells[slot.cell - 1].operation;
		return number;
	}
	/* The program closed all descriptors, as daemons do: register again. */
	while (!at_backend_trylock()) {
		if (at_thread.in_fallback || !at_backend_wait())
			return -EBADF;
	}
	if (!at_module_fd_is_ours()) {
		at_beside_hold();
		if (at_backend() == ASYNCTRACE_BACKEND_MODULE)
			at_gate_reset(ASYNCTRACE_GATE_ATTACH);
	}
	at_backend_unlock();
	return -EBADF;
}

/*
 * Raises an alert. Takes no lock, because a signal handler may call it. The kernel rejects the
 * ioctl of a forked child.
 */
AT_PUBLIC AT_COLD void at_alert_(const char *name)
{
	struct asynctrace_alert alert = { .size = sizeof(alert) };
	const size_t n = strlen(name);
	const int saved = errno;

	memcpy(alert.name, name, n < ASYNCTRACE_ALERT_MAX ? n : ASYNCTRACE_ALERT_MAX);
	if ((at_backend() == ASYNCTRACE_BACKEND_MODULE || at_beside_on()) &&
	    at_module_fd_is_ours())
		at_sys_ioctl(at_module.fd, ASYNCTRACE_IOC_ALERT, &alert);
	errno = saved;
}

AT_PUBLIC int at_provider_announce(const struct at_category *list, size_t n)
{
	struct at_announced *a, *old;
	int err;

	err = at_announced_make(list, n, &a);
	if (err)
		return err;
	at_backend_lock();
	old = at_module.announced;
	if (at_module_is_ours())
		err = hand_over(at_module.fd, a);
	if (!err)
		at_module.announced = a;
	at_backend_unlock();
	free(err ? a : old);
	return err;
}

AT_PUBLIC int at_provider_fd(void)
{
	int fd;

	at_backend_lock();
	fd = at_module_is_ours() ? at_module.fd : -ESRCH;
	at_backend_unlock();
	return fd;
}

AT_PUBLIC int at_provider_observe(struct at_observed *observed)
{
	struct at_observed o = { .size = sizeof(o) };
	struct asynctrace_observed now;
	int err = -ESRCH;

	if (!observed || observed->size < sizeof(o.size))
		return -EINVAL;
	at_backend_lock();
	if (at_module_is_ours()) {
		/* read(2) fails with EAGAIN if the state has not changed since the last read. */
		if (read(at_module.fd, &now, sizeof(now)) == sizeof(now))
			at_module.seen = now;
		o.recording = at_module.seen.gate > ASYNCTRACE_GATE_ATTACH;
		o.state = at_module.seen.state;
		o.generation = o.recording ? at_module.seen.gate : 0;
		err = 0;
	}
	at_backend_unlock();
	if (err)
		return err;
	for (uint32_t i = sizeof(o.size); i < sizeof(o) && i < observed->size; i++)
		((char *)observed)[i] = ((char *)&o)[i];
	return 0;
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void close_poll_fd(void *arg)
{
	const struct pollfd *p = arg;

	if (p->fd >= 0)
		close(p->fd);
}

/*
 * Waits until the process is recorded, at most @ms. Polls a duplicate of the descriptor, because
 * another thread may unregister meanwhile. A cancellation point.
 */
static bool recorded_within(uint32_t ms)
{
	const int64_t end = now_ms() + ms;
	struct at_observed o = { .size = sizeof(o) };
	struct pollfd p = { .fd = -1, .events = POLLIN };
	int64_t left;

	pthread_cleanup_push(close_poll_fd, &p);
	while (!at_provider_observe(&o) && !o.recording) {
		left = end - now_ms();
		if (left <= 0 || p.revents & (POLLHUP | POLLERR))
			break;
		if (p.fd < 0)
			p.fd = fcntl(at_provider_fd(), F_DUPFD_CLOEXEC, AT_FD_MIN);
		if (p.fd < 0)
			break;
		/* For poll(2), a negative timeout has no end. */
		poll(&p, 1, left < INT_MAX ? left : INT_MAX);
	}
	pthread_cleanup_pop(true);
	return o.recording;
}

AT_PUBLIC int at_provider_register(const struct at_provider_options *opts)
{
	struct at_provider_options o = { .size = sizeof(o) };
	const char *name;
	bool wait;
	int err = 0;

	if (opts) {
		if (opts->size < offsetof(struct at_provider_options, ring_reserve))
			return -EINVAL;
		memcpy(&o, opts, opts->size < sizeof(o) ? opts->size : sizeof(o));
	}
	if (o.started)
		*o.started = 0;
	if (o.flags & ~ASYNCTRACE_PROVIDER_WAIT_START)
		return -EINVAL;
	wait = o.flags & ASYNCTRACE_PROVIDER_WAIT_START;
	name = o.name ?: at_default_name();
	if (!*name || strlen(name) > ASYNCTRACE_NAME_MAX)
		return -EINVAL;
	if (o.ring_reserve && (o.ring_reserve < ASYNCTRACE_RING_MIN ||
			       o.ring_reserve > ASYNCTRACE_RING_MAX ||
			       o.ring_reserve & (o.ring_reserve - 1)))
		return -EINVAL;

	/* Otherwise the child would be registered instead of traced. */
	if (at_child_trace_pending())
		at_attach();
	at_backend_lock();
	if (at_backend() != ASYNCTRACE_BACKEND_INPROCESS)
		err = at_gate_reset(ASYNCTRACE_GATE_ATTACH);
	if (err) {
		at_backend_unlock();
		return err;
	}
	memset(at_module.name, 0, sizeof(at_module.name));
	strcpy(at_module.name, name);
	at_module.version = o.version;
	at_module.stride = o.ring_reserve;
	err = do_register();
	at_backend_unlock();
	if (!err && (o.started || wait)) {
		const bool started = recorded_within(wait ? o.wait_ms : 0);

		if (o.started)
			*o.started = started;
	}
	return err;
}

AT_PUBLIC int at_provider_unregister(void)
{
	int err = -ESRCH;

	at_backend_lock();
	if (at_module.registered) {
		err = 0;
		if (at_backend() == ASYNCTRACE_BACKEND_MODULE)
			err = at_gate_reset(ASYNCTRACE_GATE_OFF);
		if (!err) {
			at_module_forget();
			at_beside_refuse();
			at_module_forget_run();
			at_backend_why(ASYNCTRACE_REASON_UNREGISTERED, 0);
		}
	}
	at_module.tried = true;
	at_backend_unlock();
	return err;
}
