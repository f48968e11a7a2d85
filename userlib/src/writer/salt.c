// SPDX-License-Identifier: LGPL-2.1-or-later
/* The salt, which makes the ids of this process unique on the machine */
#include <errno.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>

#include <asynctrace/operation.h>

#include "internal.h"
#include "sys.h"

#define AT_SALT_MASK	0xfffffu

/* In .bss, because MADV_WIPEONFORK works only on private memory that maps no file. */
AT_PUBLIC union at_salted_ at_salted_ __attribute__((aligned(TRACE_GATE_SIZE_)));

_Static_assert(sizeof(at_salted_) == TRACE_GATE_SIZE_, "the salt's page is its own");

/*
 * How the salt is cleared in a forked child: by the kernel (MADV_WIPEONFORK), or by a comparison of
 * process ids. A child inherits the effect of madvise(2) and this variable.
 */
static enum { AT_UNKNOWN, AT_BY_KERNEL, AT_BY_PID } cleared;

/* The process that has the salt, if the kernel does not clear it */
static uint32_t salted_pid;

/* Signal handlers and other threads may call this at the same time, with the same result. */
static uint32_t find_out_how_cleared(void)
{
	const int saved = errno;
	const bool wiped = at_page_size() <= sizeof(at_salted_) &&
			   !at_sys_madvise(&at_salted_, sizeof(at_salted_), MADV_WIPEONFORK);
	const uint32_t how = wiped ? AT_BY_KERNEL : AT_BY_PID;

	if (!wiped)
		__atomic_store_n(&salted_pid, at_sys_getpid(), __ATOMIC_RELAXED);
	__atomic_store_n(&cleared, how, __ATOMIC_RELEASE);
	errno = saved;
	return how;
}

uint32_t *at_salt_word(void)
{
	uint32_t how = __atomic_load_n(&cleared, __ATOMIC_ACQUIRE), pid;

	if (how == AT_UNKNOWN)
		how = find_out_how_cleared();
	if (how == AT_BY_PID) {
		pid = __atomic_load_n(&salted_pid, __ATOMIC_RELAXED);
		if (pid != (uint32_t)at_sys_getpid() &&
		    __atomic_compare_exchange_n(&salted_pid, &pid, at_sys_getpid(), false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			at_salt_forget();
	}
	return &at_salted_.of.salt;
}

void at_salt_forget(void)
{
	__atomic_store_n(&at_salted_.of.inlined, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&at_salted_.of.salt, 0, __ATOMIC_RELAXED);
}

/*
 * The first id or the first registration fixes the salt. A registration proposes the salt to the
 * module, which makes sure that no two registered processes have the same salt. A process gets a
 * new salt only if it made ids before it registered, and another process has the salt of these
 * ids.
 */
static uint32_t draw_salt(uint32_t *word)
{
	const int saved = errno;
	uint32_t salt, old = 0;

	if (at_sys_getrandom(&salt, sizeof(salt), GRND_NONBLOCK) != sizeof(salt)) {
		struct timespec ts;

		clock_gettime(CLOCK_MONOTONIC, &ts);
		salt = (uint32_t)ts.tv_nsec * 2654435761u ^ (uint32_t)getpid() << 7;
	}
	errno = saved;
	salt = (salt & AT_SALT_MASK) ?: 1;
	return __atomic_compare_exchange_n(word, &old, salt, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED) ? salt : old;
}

uint32_t at_salt(void)
{
	uint32_t *const word = at_salt_word();
	const uint32_t salt = __atomic_load_n(word, __ATOMIC_RELAXED) ?: draw_salt(word);

	/*
	 * Inline functions use the salt without a check of the process id. So they may use it only
	 * if the kernel clears its page in a forked child.
	 */
	if (__atomic_load_n(&cleared, __ATOMIC_RELAXED) == AT_BY_KERNEL)
		__atomic_store_n(&at_salted_.of.inlined, 1, __ATOMIC_RELEASE);
	return salt;
}
