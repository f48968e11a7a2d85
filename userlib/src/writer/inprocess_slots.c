// SPDX-License-Identifier: LGPL-2.1-or-later
/* Slot numbers of threads, for in-process traces */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

/* Limit of threads that trace in the life of a process. Unused entries take only address space. */
#define AT_SLOTS_MAX	(1u << 20)

struct slot {
	struct asynctrace_thread thread;
	uint32_t ready;
};

static struct slot *slots;
static uint32_t last;
static uint32_t table = 1;	/* number of the table; a forked child begins a new one */

static __thread struct {
	uint32_t slot;
	uint32_t table;
} mine __attribute__((tls_model("initial-exec")));

int at_slots_init(void)
{
	void *p;

	if (slots)
		return 0;
	p = mmap(NULL, AT_SLOTS_MAX * sizeof(*slots), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return -errno;
	slots = p;
	return 0;
}

/* Returns the calling thread's slot, which stays the same from one trace to the next. */
int at_inproc_slot(void)
{
	uint32_t n = __atomic_load_n(&last, __ATOMIC_RELAXED);
	struct slot *s;

	if (mine.table == table)
		return mine.slot;
	do {
		if (n >= AT_SLOTS_MAX - 1)
			return -ENOSPC;
	} while (!__atomic_compare_exchange_n(&last, &n, n + 1, true, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	s = &slots[n + 1];
	s->thread.slot = n + 1;
	s->thread.pid = getpid();
	s->thread.tid = syscall(SYS_gettid);
	prctl(PR_GET_NAME, s->thread.comm, 0, 0, 0);
	__atomic_store_n(&s->ready, 1, __ATOMIC_RELEASE);
	mine.slot = n + 1;
	mine.table = table;
	return n + 1;
}

uint32_t at_slots_last(void)
{
	return __atomic_load_n(&last, __ATOMIC_ACQUIRE);
}

bool at_slots_get(uint32_t slot, struct asynctrace_thread *t)
{
	if (!slots || !__atomic_load_n(&slots[slot].ready, __ATOMIC_ACQUIRE))
		return false;
	*t = slots[slot].thread;
	return true;
}

void at_slots_forked(void)
{
	for (uint32_t i = 1; i <= last; i++)
		slots[i].ready = 0;
	last = 0;
	table++;
}
