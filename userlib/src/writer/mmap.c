// SPDX-License-Identifier: LGPL-2.1-or-later
/* Mapping memory. */
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"
#include "sys.h"

size_t at_page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

void *at_mmap(void *addr, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	return (void *)syscall(SYS_mmap, addr, bytes, prot, flags, fd, offset);
}

bool at_void_map(void *addr, size_t bytes)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;

	return at_mmap(addr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED;
}

/*
 * Replaces the page at @to by a new page that already has @value. If the value were stored
 * afterwards, sites would see a closed gate in between, and lose records without counting them.
 */
bool at_page_replace(void *to, uint32_t value)
{
	const size_t bytes = at_page_size();
	uint32_t *page = at_mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return false;
	*page = value;
	if ((void *)syscall(SYS_mremap, page, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
			    to) != MAP_FAILED)
		return true;
	at_sys_munmap(page, bytes);
	return false;
}
